"""One file, or the files of a folder or a glob as one: all of their rows, or a random sample.

What is fitted and compared row by row needs the rows in memory. Up to a million rows all are kept.
Of more, every row gets a random number, and those with the smallest numbers stay: each set of that
many rows is equally likely, whatever the files are and in which order they are read.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ogive.readers import open_unsettled
from ogive.readers.folders import is_glob
from ogive.readers.multi_file import expand
from ogive.readers.source import Part, Source, check_agree, joined, settle

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from ogive._typing import AnyArray, FloatArray
    from ogive.readers.source import Columns

#: Rows kept of each part: standard errors of a log loss or a KS error are then below 0.001.
MAX_ROWS = 1_000_000
#: Numbers of a sample: 400 MB in float64, and twice that while it is measured.
MAX_CELLS = 50_000_000


def open_sampled(
    path: Path,
    columns: Columns | None = None,
    *,
    experiment: str | None = None,
    random_state: int = 0,
    note: Callable[[str], None] | None = None,
    max_rows: int = MAX_ROWS,
) -> Source:
    """Open a file, or a folder or a glob as one file, of at most `max_rows` rows of each part.

    `note` receives which label is which column, and for several files whether all rows were kept.
    """
    whole = not (path.is_dir() or is_glob(str(path)))
    files = [path] if whole else expand([path])
    given = None if columns is None else columns.classes
    rng = np.random.default_rng(random_state)
    kept: dict[str, _Kept] = {}
    parts_of: dict[str, Part] = {}
    for file in files:
        source = open_unsettled(file, columns, experiment=experiment, whole=False)
        for name, part in source.parts.items():
            parts_of[f"{file} {name}".strip()] = part.take(np.arange(min(1, part.values.shape[0])))
            kept.setdefault(name, _Kept(None if whole else max_rows)).add(part, rng)
    check_agree(parts_of, f"{len(files)} files that are read together")
    # Which label is which column depends on all rows, not on those that happen to be kept.
    _, mapping = settle({n: k.all_labels() for n, k in kept.items()}, given, str(path))
    classes = None if mapping is None else mapping.labels
    parts = {name: replace(rows.part(), classes=classes) for name, rows in kept.items()}
    if note is not None:
        if mapping is not None and mapping.how in {"by name", "as given"}:
            note(mapping.words)
        if not whole:
            note(_words(path, len(files), kept))
    return Source(path, parts, mapping=mapping)


def _words(path: Path, files: int, kept: dict[str, _Kept]) -> str:
    seen, left = (sum(getattr(k, n) for k in kept.values()) for n in ("seen", "rows"))
    which = "all of them are used" if seen == left else f"a random sample of {left:,} is used"
    return f"{path}: {files:,} files, {seen:,} rows; {which}."


class _Kept:
    """The rows of a part that are kept, with their random numbers."""

    def __init__(self, most: int | None) -> None:
        self.most = most
        self.seen = 0
        self._parts: list[Part] = []
        self._keys: list[FloatArray] = []
        self._labels: list[AnyArray] = []

    @property
    def rows(self) -> int:
        """How many rows are kept."""
        return sum(part.values.shape[0] for part in self._parts)

    def add(self, part: Part, rng: np.random.Generator) -> None:
        """Add the rows of a file; those with the largest numbers go if there are too many."""
        n = part.values.shape[0]
        self.seen += n
        self._parts.append(part)
        if part.labels is not None and part.kind != "scores":
            self._labels.append(np.unique(part.labels))
        self._keys.append(rng.random((n,)) if self.most is not None else np.empty(0))
        width = part.values.shape[1] if part.values.ndim > 1 else 1
        if self.most is not None and self.rows > (most := min(self.most, MAX_CELLS // width)):
            keys = np.concatenate(self._keys)
            stay = np.sort(np.argpartition(keys, most)[:most])
            self._parts, self._keys = [joined(self._parts).take(stay)], [keys[stay]]

    def all_labels(self) -> Part:
        """Return a part with the distinct labels of all rows that were seen."""
        labels = np.concatenate(self._labels) if self._labels else None
        return replace(self._parts[0], labels=labels)

    def part(self) -> Part:
        """Return the rows that are kept, as one part."""
        return joined(self._parts)
