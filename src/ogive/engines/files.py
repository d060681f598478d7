"""Prediction logs: files, folders and globs of tables, cut into pieces that one worker reads."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from ogive.curve.summary import MANTISSA
from ogive.engines.agree import check_column, common_layout
from ogive.engines.formats import FORMATS, PIECE, Piece, column_names, open_table
from ogive.engines.grouping import chosen_columns
from ogive.engines.pieces import piece_batches
from ogive.engines.plan import CLASSWISE, Options, group_bits, make_plan
from ogive.errors import FileFormatError, UnknownName, printable
from ogive.readers.folders import find_files, is_glob
from ogive.readers.guard import check_regular, suffix_of
from ogive.readers.memory import check_fits
from ogive.readers.source import Columns

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from ogive.engines.plan import Plan, ReadOptions
    from ogive.readers.columns import Layout

#: Days of a log, where their number is not known before it is read: a year.
DAYS_EXPECTED = 365
#: Up to this many rows (or bytes of CSV, over 16) every score has a bucket of its own.
MAX_ROWS_WITH_OWN_BUCKETS = 1 << 19


@dataclass(frozen=True)
class Log:
    """Files that hold one prediction log.

    files : in order of name
    columns : names of columns that are not the usual ones
    """

    files: tuple[Path, ...]
    columns: Columns

    @property
    def name(self) -> str:
        """The name used in errors."""
        first = str(self.files[0])
        return first if len(self.files) == 1 else f"{first} (of {len(self.files)} files)"

    @cached_property
    def names_of(self) -> dict[Path, list[str]]:
        """The columns of each file, those in the names of its folders included."""
        return {file: _names(file) for file in self.files}

    @property
    def names(self) -> list[str]:
        """The columns of the first file."""
        return self.names_of[self.files[0]]

    @cached_property
    def _held(self) -> tuple[Layout, int]:
        return common_layout(self.names_of, self.columns)

    @property
    def layout(self) -> Layout:
        """Which columns hold what, in all files alike."""
        return self._held[0]

    @property
    def classes(self) -> int:
        """How many classes the rows have: 2 for scores."""
        layout, classes = self._held
        if layout.kind == "scores":
            return 2
        if not classes:
            msg = f"{self.name}: no row of `{layout.values[0]}` has numbers."
            raise FileFormatError(msg)
        return classes

    @cached_property
    def pieces(self) -> tuple[Piece, ...]:
        """What workers read, in the order of the files."""
        found: list[Piece] = []
        for file in self.files:
            parts = tuple(partition_of(file).items())
            found += [replace(piece, partition=parts) for piece in open_table(file).pieces()]
        return tuple(found)

    @property
    def rows(self) -> int | None:
        """How many rows there are; None if the files do not store it."""
        counts = [piece.rows for piece in self.pieces]
        return None if None in counts else sum(n for n in counts if n is not None)

    @property
    def size(self) -> int:
        """How many bytes the files have."""
        return sum(file.stat().st_size for file in self.files)

    def plan(self, view: str | Sequence[str] | None = None, **options: Unpack[ReadOptions]) -> Plan:
        """Return the plan of reading this log; `default_part` is taken where there are parts."""
        asked = Options(**options)
        by, bits, part = asked.by, asked.bits, asked.part
        columns = group_columns(by, self.names)
        for name in columns:
            if name not in self.names:
                what = f"column of {self.name}:"
                raise UnknownName.among(what, name, map(printable, self.names))
            check_column(self.names_of, name)
        blunt = bits
        if by is not None and bits is None:
            sizes = [self.groups(name) for name in columns]
            if asked.every is not None:
                sizes[0] = DAYS_EXPECTED
            choices = chosen_columns(len(columns), asked.depth)
            blunt = group_bits(sum(prod(sizes[i] for i in some) for some in choices))
        if part is None and self.layout.part is not None:
            part = asked.default_part
        plan = make_plan(
            self.layout,
            self.classes,
            view,
            by=by,
            part=part,
            bits=blunt,
            skip_bad=asked.skip_bad,
            weight_kind=asked.weight_kind,
            unlabelled=asked.unlabelled,
            what=self.name,
        )
        short = bits is None and self._is_short(plan)
        return replace(
            plan,
            bits=MANTISSA if short else plan.bits,
            vectors=asked.vectors,
            by_columns=columns,
            depth=None if asked.depth is None else min(asked.depth, len(columns)),
            every=asked.every,
        )

    def check_memory(self, columns: Sequence[str], limit: int) -> None:
        """Refuse a log with a row group that does not fit the memory limit once it is unpacked."""
        for file in self.files:
            check_fits(
                file,
                open_table(file).largest(columns),
                limit,
                "or write it with smaller row groups",
            )

    def groups(self, by: str) -> int:
        """Return how many groups there are among the first rows, or in the names of folders."""
        folders = {partition_of(file).get(by) for file in self.files} - {None}
        for piece in self.pieces if not folders else ():
            for batch in piece_batches(piece, [by], PIECE):
                return len(batch.column(by).unique())
        return len(folders)

    def _is_short(self, plan: Plan) -> bool:
        """Whether the log is short enough for a bucket for every score."""
        each = self.classes if CLASSWISE in plan.views else 1
        rows = self.rows
        return each * (self.size / 16 if rows is None else rows) <= MAX_ROWS_WITH_OWN_BUCKETS


def open_log(
    paths: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    columns: Columns | None = None,
    *,
    skip_bad: bool = False,
) -> Log:
    """Open a log: a file, a folder, a glob, or several of them.

    With `skip_bad`, folders and files that cannot be opened are left out, with a warning.
    """
    several: Any = paths
    if isinstance(paths, str | Path) or hasattr(paths, "__fspath__"):
        several = [paths]
    known = " ".join(FORMATS)
    for file in map(Path, several):
        if file.is_file() and suffix_of(file) not in FORMATS:
            check_regular(file)
            msg = f"{file}: files of a log must end in {known}, not in {file.suffix!r}."
            raise FileFormatError(msg)
    files = find_files(several, FORMATS, "files of a prediction log", skip_bad=skip_bad)
    return Log(tuple(files), columns or Columns())


def is_log(path: str | os.PathLike[str]) -> bool:
    """Return whether a path is a folder, a glob, or a kind of table."""
    file = Path(path)
    return file.is_dir() or is_glob(str(path)) or suffix_of(file) in FORMATS


def group_columns(by: str | None, names: Sequence[str]) -> tuple[str, ...]:
    """Return the columns that `by` names: one, or several with commas between.

    >>> group_columns("country, device", ["score", "country", "device"])
    ('country', 'device')
    """
    if by is None or by in names:
        return () if by is None else (by,)
    return tuple(name.strip() for name in by.split(","))


def _names(file: Path) -> list[str]:
    inside = column_names(file)
    return inside + [name for name in partition_of(file) if name not in inside]


def partition_of(file: Path) -> dict[str, str]:
    """Return the columns in the names of a file's folders.

    >>> partition_of(Path("log/country=DE/day=7/part-0.parquet"))
    {'country': 'DE', 'day': '7'}
    """
    pairs: list[Any] = [part.split("=", 1) for part in file.parts[:-1] if "=" in part]
    return {name: value for name, value in pairs if name}
