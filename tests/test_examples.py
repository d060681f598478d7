"""Every shell example of README and docs runs: lines ``$ ogive …`` in console blocks.

Those of a cluster run in `tests/engines`, where there is one.
"""

import re
import shlex
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ogive.cli import main

ROOT = Path(__file__).resolve().parents[1]
BLOCK = re.compile(r"^```console\n(.*?)^```", re.DOTALL | re.MULTILINE)


def commands(page, engine=None):
    """The commands of a page, in order: those of a cluster's engine, or those of none."""
    for words in _all_commands(page):
        named = words[words.index("--engine") + 1] if "--engine" in words else None
        if named == engine:
            yield words


def _all_commands(page):
    for block in BLOCK.findall(page.read_text(encoding="utf-8")):
        for line in block.splitlines():
            if line.startswith("$ ogive "):
                yield shlex.split(line[2:], comments=True)[1:]


PAGES = [p for p in [ROOT / "README.md", *sorted(ROOT.glob("docs/**/*.md"))] if list(commands(p))]


def make_log(folder):
    """A prediction log, for the pages that are about them."""
    folder.mkdir()
    for seed in (1, 2):
        rng = np.random.default_rng(seed)
        scores = rng.random(500)
        hits, country = rng.random(500) < scores, rng.choice(["DE", "FR"], 500)
        table = pa.table({"score": scores, "outcome": hits, "country": country})
        pq.write_table(table, folder / f"2024-0{seed}.parquet")


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_shell_examples_run(page, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    make_log(tmp_path / "log")
    for words in commands(page):
        assert main(words) == 0, (words, capsys.readouterr().err)


def test_there_are_examples():
    assert ROOT / "README.md" in PAGES
