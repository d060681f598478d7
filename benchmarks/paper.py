"""The tables of docs/paper.md on other nets: `python -m benchmarks.paper DIR [--write PAGE]`.

DIR is the arena. Its files of matrices are those that have both parts; methods are the paper's
that take seconds. Tables are written between the page's markers, or printed.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.tables import show
from ogive.errors import OgiveWarning
from ogive.studies.paper.study import paper_tables

METHODS = ("none", "temperature", "vector", "paper-spline")


def matrices(folder: Path) -> list[Path]:
    """Return the files of a folder that hold a column for each class, in both parts."""
    found = []
    for path in sorted(folder.glob("*.npz")):
        with np.load(path) as file:
            if {"cal_labels", "test_labels"} <= set(file.files):
                found.append(path)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--write", type=Path)
    asked = parser.parse_args()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OgiveWarning)
        tell = partial(print, file=sys.stderr)
        result = paper_tables(matrices(asked.folder), METHODS, progress=tell)
    show({"other nets": result.to_markdown()}, asked.write)


if __name__ == "__main__":
    main()
