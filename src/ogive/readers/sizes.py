"""How much memory a table needs, from its file's headers and before its rows are read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ogive.readers.arrow import first_length, is_list, parquet
from ogive.readers.columns import find_columns
from ogive.readers.csv_text import open_bytes
from ogive.readers.guard import TEXT, check_regular, guarded, suffix_of
from ogive.readers.memory import needed_bytes

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from ogive.readers.source import Columns

_BYTES_PER_TEXT_CELL = 16  # beside its characters
# The shortest rows of two numbers, such as "0.5,1", take six letters, and 40 bytes when measured.
_MEMORY_PER_CSV_BYTE = 8
_MAX_UNPACKED_COUNTED = 1 << 33  # bytes; eight times this exceeds any memory limit
_BLOCK = 1 << 22


def table_bytes(path: Path, columns: Columns, *, whole: bool) -> int:
    """Return about how many bytes it takes to read a table at once and to measure it.

    `whole` is with all columns, not only those of the predictions.
    """
    check_regular(path)
    with guarded(path):
        return _table_bytes(path, columns, whole=whole)


def _table_bytes(path: Path, columns: Columns, *, whole: bool) -> int:
    suffix = suffix_of(path)
    if suffix in TEXT:
        size = _unpacked(path) if suffix.endswith(".gz") else path.stat().st_size
        return _MEMORY_PER_CSV_BYTE * size
    with parquet.ParquetFile(path) as file:
        names = file.schema_arrow.names
        layout = find_columns(names, columns, path)
        width = 2 if layout.is_list or len(layout.values) > 1 else 1
        size = parquet_bytes(file, names if whole else layout.needed)
        return needed_bytes(size, file.metadata.num_rows, width)


def _unpacked(path: Path) -> int:
    """Return how long a packed text is, by unpacking it: what its header says may be wrong."""
    size = 0
    with open_bytes(path) as file:
        while size < _MAX_UNPACKED_COUNTED and (block := file.read(_BLOCK)):
            size += len(block)
    return size


def parquet_bytes(file: Any, columns: Sequence[str]) -> int:  # noqa: ANN401 - a ParquetFile
    """Return about how many bytes some columns of a Parquet file are as arrays.

    From their rows and types: the file stores a number that repeats a million times once.
    """
    each, has_text = _bytes_of_a_row(file, columns)
    return int(each * file.metadata.num_rows) + (sum(_unpacked_groups(file)) if has_text else 0)


def row_group_bytes(file: Any, columns: Sequence[str]) -> int:  # noqa: ANN401 - a ParquetFile
    """Return what unpacking a row group for some columns takes at most, by the file's footer.

    A page is unpacked as a whole, and a column of a row group may be one page.
    """
    each, has_text = _bytes_of_a_row(file, columns)
    rows = [file.metadata.row_group(i).num_rows for i in range(file.metadata.num_row_groups)]
    most = (
        size if has_text else min(size, each * n)
        for size, n in zip(_unpacked_groups(file), rows, strict=True)
    )
    return max(most, default=0)


def _unpacked_groups(file: Any) -> list[int]:  # noqa: ANN401 - a ParquetFile
    """Return the unpacked bytes of all columns of each row group, as the footer has them.

    Those of one column are not asked for: damaged ones end the process in pyarrow.
    """
    groups = (file.metadata.row_group(i) for i in range(file.metadata.num_row_groups))
    return [max(group.total_byte_size, 0) for group in groups]


def _bytes_of_a_row(file: Any, columns: Sequence[str]) -> tuple[int, bool]:  # noqa: ANN401
    """Return the bytes of a row as arrays, and whether columns of text add their characters."""
    each, has_text = 0, False
    for name in columns:
        kind = file.schema_arrow.field(name).type
        lists = is_list(kind)
        try:
            cell = -(-(kind.value_type if lists else kind).bit_width // 8)
        except (ValueError, AttributeError):  # no fixed width
            cell, has_text = _BYTES_PER_TEXT_CELL, True
        each += cell * (first_length(file.iter_batches(1, columns=[name]), name) if lists else 1)
    return each, has_text
