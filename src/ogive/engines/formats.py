"""Tables on disk, opened without reading them: their columns, their pieces, and batches of rows.

A *piece* is what one worker reads from beginning to end: some row groups of a Parquet file, some
batches of an Arrow file, a CSV file. Pieces are small, can be pickled, and are read in batches.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from ogive.engines.memory import arrow
from ogive.errors import FileFormatError, need

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

#: Rows of a piece, if the file allows it.
PIECE = 1 << 20


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a file that is read by one worker.

    path : the file
    parts : row groups or batches in it; None for the whole file
    first : the row in the file of the first one
    rows : how many there are, where the file tells
    size : bytes, of a whole file
    partition : columns with one value for the whole file, from the names of its folders
    """

    path: Path
    parts: tuple[int, ...] | None
    first: int
    rows: int | None
    size: int
    partition: tuple[tuple[str, str], ...] = ()


class Table(Protocol):
    """A table on disk."""

    @property
    def names(self) -> Sequence[str]:
        """The columns' names."""

    def pieces(self) -> list[Piece]:
        """Cut the file into pieces."""

    def width(self, column: str) -> int:
        """Return the length of the first list of a column of lists, 0 if there is none."""

    def batches(self, piece: Piece, columns: Sequence[str], rows: int) -> Iterator[Any]:
        """Yield record batches of at most so many rows, with some columns."""


def open_table(path: Path) -> Table:
    """Open a table by its suffix."""
    with reading(path):
        return FORMATS[path.suffix.lower()](path)


def column_names(path: Path) -> list[str]:
    """Return the names of a table's columns."""
    with reading(path):
        return list(open_table(path).names)


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Turn pyarrow's errors about a file into ours."""
    pa = arrow()
    try:
        yield
    except (pa.ArrowException, OSError) as error:
        if isinstance(error, FileNotFoundError | PermissionError):
            raise
        reason = str(error).splitlines()[0]
        msg = f"{path} cannot be read as {path.suffix[1:]} ({reason}): foreign, or cut short."
        raise FileFormatError(msg) from error


class _Parquet:
    def __init__(self, path: Path) -> None:
        pq = need("pyarrow.parquet", extra="files")
        self.path = path
        # Without pre-buffering, a row group of any length is read in batches.
        self._file = pq.ParquetFile(path, pre_buffer=False, buffer_size=1 << 20)

    @property
    def names(self) -> Sequence[str]:
        names: Sequence[str] = self._file.schema_arrow.names
        return names

    def pieces(self) -> list[Piece]:
        meta = self._file.metadata
        counts = [meta.row_group(i).num_rows for i in range(meta.num_row_groups)]
        return _cut(self.path, counts)

    def width(self, column: str) -> int:
        return _first_length(self._file.iter_batches(1, columns=[column]), column)

    def batches(self, piece: Piece, columns: Sequence[str], rows: int) -> Iterator[Any]:
        groups = list(piece.parts or ())
        yield from self._file.iter_batches(
            rows, row_groups=groups, columns=list(columns), use_threads=False
        )


class _Arrow:
    def __init__(self, path: Path) -> None:
        pa = need("pyarrow", extra="files")
        self.path = path
        self._file = pa.ipc.open_file(pa.memory_map(str(path)))

    @property
    def names(self) -> Sequence[str]:
        names: Sequence[str] = self._file.schema.names
        return names

    def pieces(self) -> list[Piece]:
        counts = [self._file.get_batch(i).num_rows for i in range(self._file.num_record_batches)]
        return _cut(self.path, counts)

    def width(self, column: str) -> int:
        every = range(self._file.num_record_batches)
        return _first_length((self._file.get_batch(i) for i in every), column)

    def batches(self, piece: Piece, columns: Sequence[str], rows: int) -> Iterator[Any]:
        for i in piece.parts or ():
            batch = self._file.get_batch(i).select(list(columns))
            for start in range(0, batch.num_rows, rows):
                yield batch.slice(start, rows)


class _Csv:
    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def names(self) -> Sequence[str]:
        csv = need("pyarrow.csv", extra="files")
        # Broken lines are found when the rows are read, and are named then.
        skip = csv.ParseOptions(invalid_row_handler=lambda row: "skip")  # noqa: ARG005
        names: Sequence[str] = csv.open_csv(self.path, parse_options=skip).schema.names
        return names

    def pieces(self) -> list[Piece]:
        return [Piece(self.path, None, 0, None, self.path.stat().st_size)]

    def width(self, column: str) -> int:  # noqa: ARG002 - CSV has no lists
        return 0

    def batches(self, piece: Piece, columns: Sequence[str], rows: int) -> Iterator[Any]:
        from ogive.engines.text import csv_batches  # noqa: PLC0415 - CSV alone needs it

        yield from csv_batches(piece.path, columns, rows)


#: How each suffix is opened.
FORMATS: dict[str, type[_Parquet | _Arrow | _Csv]] = {
    ".parquet": _Parquet,
    ".arrow": _Arrow,
    ".feather": _Arrow,
    ".csv": _Csv,
}


def _cut(path: Path, counts: list[int]) -> list[Piece]:
    """Join neighbouring groups of rows until they are a piece."""
    size, total = path.stat().st_size, max(sum(counts), 1)
    pieces: list[Piece] = []
    parts: list[int] = []
    first = rows = 0
    for i, n in enumerate(counts):
        parts.append(i)
        rows += n
        if rows >= PIECE or i == len(counts) - 1:
            pieces.append(Piece(path, tuple(parts), first, rows, size * rows // total))
            first, rows, parts = first + rows, 0, []
    return pieces


def _first_length(batches: Iterator[Any], column: str) -> int:
    for batch in batches:
        for row in batch.column(column):
            if row.is_valid and len(row):
                return len(row)
    return 0
