"""Tables on disk, opened without reading them: their columns, their pieces, and batches of rows.

A *piece* is what one worker reads from beginning to end: some row groups of a Parquet file, or
a file of text. Pieces are small, can be pickled, and are read in batches.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from ogive.readers.arrow import checked, first_length, is_list, pa, parquet
from ogive.readers.csv_text import check_rows, header, scan
from ogive.readers.guard import JSON_LINES, check_regular, guarded, suffix_of
from ogive.readers.json_lines import blocks, parsed, schema_of
from ogive.readers.sizes import row_group_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from ogive.readers.columns import Layout

#: Columns of JSON lines are known by reading all of a file, and asked for several times.
MAX_SCHEMAS_KEPT = 1000
#: Rows of a piece, if the file can be cut: about a second of work.
PIECE = 1 << 20


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a file that is read by one worker.

    path : the file
    parts : row groups in it; None for the whole file
    first : the row in the file of the first one
    rows : how many there are, if the file stores it
    size : bytes, of a whole file
    partition : columns with one value for the whole file, from the names of its folders
    """

    path: Path
    parts: tuple[int, ...] | None
    first: int
    rows: int | None
    size: int
    partition: tuple[tuple[str, str], ...] = ()


class Table:
    """A table on disk; one whose columns have types sets `schema`."""

    #: A pyarrow.Schema; None where cells decide, one by one.
    schema: Any = None

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def names(self) -> Sequence[str]:
        """The columns' names."""
        names: Sequence[str] = self.schema.names
        return names

    def pieces(self) -> list[Piece]:
        """Cut the file into pieces."""
        return [Piece(self.path, None, 0, None, self.path.stat().st_size)]

    def kind(self, column: str) -> str:
        """Return what a column holds: numbers, text, lists or other values; "" if unknown."""
        return "" if self.schema is None else _kind(self.schema.field(column).type)

    def width(self, column: str) -> int:  # noqa: ARG002 - where there are no lists
        """Return the length of the first list of a column of lists, 0 if there is none."""
        return 0

    def largest(self, columns: Sequence[str]) -> int:  # noqa: ARG002 - text comes in blocks
        """Return the bytes of these columns that are unpacked at once."""
        return 0

    @abstractmethod
    def batches(
        self, piece: Piece, columns: Sequence[str], rows: int, layout: Layout | None = None
    ) -> Iterator[Any]:
        """Yield record batches of at most the given number of rows, with some columns.

        With a layout, columns of CSV other than those of the predictions stay text.
        """


def open_table(path: Path) -> Table:
    """Open a table by its suffix."""
    check_regular(path)
    with guarded(path):
        return FORMATS[suffix_of(path)](path)


def column_names(path: Path) -> list[str]:
    """Return the names of a table's columns."""
    with guarded(path):
        return list(open_table(path).names)


class _Parquet(Table):
    def __init__(self, path: Path) -> None:
        super().__init__(path)
        # Without pre-buffering, a row group of any length is read in batches.
        self._file = parquet.ParquetFile(path, pre_buffer=False, buffer_size=1 << 20)
        self.schema = self._file.schema_arrow

    def pieces(self) -> list[Piece]:
        meta = self._file.metadata
        counts = [meta.row_group(i).num_rows for i in range(meta.num_row_groups)]
        return _cut(self.path, counts)

    def width(self, column: str) -> int:
        return first_length(self._file.iter_batches(1, columns=[column]), column)

    def largest(self, columns: Sequence[str]) -> int:
        stored = [name for name in columns if name in self.names]  # others are names of folders
        return row_group_bytes(self._file, stored)

    def batches(
        self,
        piece: Piece,
        columns: Sequence[str],
        rows: int,
        layout: Layout | None = None,  # noqa: ARG002 - columns have their types
    ) -> Iterator[Any]:
        groups = list(piece.parts or ())
        for batch in self._file.iter_batches(
            rows, row_groups=groups, columns=list(columns), use_threads=False
        ):
            yield checked(batch, self.path)


class _Csv(Table):
    @property
    def names(self) -> Sequence[str]:
        return header(self.path)

    def batches(
        self, piece: Piece, columns: Sequence[str], rows: int, layout: Layout | None = None
    ) -> Iterator[Any]:
        from ogive.engines.csv import as_text, csv_batches  # noqa: PLC0415 - CSV alone needs it

        how: dict[str, Any] = {} if layout is None else as_text(piece.path, columns, layout)
        seen = 0
        for batch in csv_batches(piece.path, columns, rows, **how):
            seen += batch.num_rows
            yield batch
        check_rows(piece.path, scan(piece.path), seen)


class _JsonLines(Table):
    def __init__(self, path: Path) -> None:
        super().__init__(path)
        status = path.stat()
        self.schema = _json_schema(path, status.st_size, status.st_mtime_ns)

    def width(self, column: str) -> int:
        return first_length(self.batches(self.pieces()[0], [column], PIECE), column)

    def batches(
        self,
        piece: Piece,
        columns: Sequence[str],
        rows: int,
        layout: Layout | None = None,  # noqa: ARG002 - dates are text anyway
    ) -> Iterator[Any]:
        for lines in blocks(piece.path):
            table = parsed(piece.path, *lines, self.schema).select(list(columns))
            yield from table.combine_chunks().to_batches(max_chunksize=rows)


@lru_cache(maxsize=MAX_SCHEMAS_KEPT)
def _json_schema(path: Path, size: int, modified: int) -> Any:  # noqa: ANN401, ARG001
    """Return the columns of a file, which is read for them once while it stays the same."""
    return schema_of(path)


#: How each suffix is opened.
FORMATS: dict[str, type[Table]] = {
    ".parquet": _Parquet,
    ".csv": _Csv,
    ".tsv": _Csv,
    ".csv.gz": _Csv,
    ".tsv.gz": _Csv,
    **dict.fromkeys(JSON_LINES, _JsonLines),
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


def _kind(kind: Any) -> str:  # noqa: ANN401 - a pyarrow.DataType
    """Return what a type holds, as errors call it; all numbers are alike."""
    types = pa.types
    if types.is_dictionary(kind):
        return _kind(kind.value_type)
    if is_list(kind):
        return "lists"
    if types.is_null(kind):
        return ""
    number = (types.is_integer, types.is_floating, types.is_boolean, types.is_decimal)
    text = (types.is_string, types.is_large_string, types.is_binary, types.is_large_binary)
    for word, checks in (("numbers", number), ("text", text)):
        if any(check(kind) for check in checks):
            return word
    return "text" if str(kind) == "string_view" else str(kind)
