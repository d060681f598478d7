"""Every shell example of README and docs runs: lines ``$ ogive …`` in console blocks."""

import re
import shlex
from pathlib import Path

import pytest

from ogive.cli import main

ROOT = Path(__file__).resolve().parents[1]
BLOCK = re.compile(r"^```console\n(.*?)^```", re.DOTALL | re.MULTILINE)


def commands(page):
    """The commands of a page, in order."""
    for block in BLOCK.findall(page.read_text(encoding="utf-8")):
        for line in block.splitlines():
            if line.startswith("$ ogive "):
                yield shlex.split(line[2:], comments=True)[1:]


PAGES = [p for p in [ROOT / "README.md", *sorted(ROOT.glob("docs/**/*.md"))] if list(commands(p))]


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_shell_examples_run(page, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for words in commands(page):
        assert main(words) == 0, (words, capsys.readouterr().err)


def test_there_are_examples():
    assert ROOT / "README.md" in PAGES
