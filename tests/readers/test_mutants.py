"""Readers survive damaged files; in a process of its own, which a crash may end."""

import subprocess
import sys

import pytest

from tests.readers.mutants import FORMATS, check_reader_once, corpus, mutant

pytestmark = pytest.mark.thorough


@pytest.mark.parametrize("format", FORMATS)
def test_damaged_files_are_read_or_refused(format):  # noqa: A002
    command = [sys.executable, "-m", "tests.readers.mutants", format, "0", "250"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=240)  # noqa: S603
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.startswith(format)
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr


@pytest.mark.parametrize("format", FORMATS)
def test_the_corpus_is_good_and_mutants_are_not(format, monkeypatch):  # noqa: A002
    assert mutant(3, format) == mutant(3, format) not in corpus(format)
    for file in corpus(format):
        monkeypatch.setattr("tests.readers.mutants.mutant", lambda *_, raw=file: raw)
        assert check_reader_once(0, format).startswith("read")
