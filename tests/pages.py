"""The shell examples of README and docs, and the log that they read."""

import re
import shlex
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

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


def make_log(folder):
    """A prediction log, for the pages that are about them."""
    folder.mkdir()
    for seed in (1, 2):
        rng = np.random.default_rng(seed)
        scores = rng.random(500)
        hits, country = rng.random(500) < scores, rng.choice(["DE", "FR"], 500)
        customer = rng.integers(0, 60, 500)
        columns = {"score": scores, "outcome": hits, "country": country, "customer": customer}
        table = pa.table(columns)
        pq.write_table(table, folder / f"2024-0{seed}.parquet")
