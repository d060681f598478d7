"""How much memory a table needs, from its file's headers and before its rows are read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ogive.readers.arrow import first_length, is_list, parquet
from ogive.readers.columns import find_columns
from ogive.readers.csv_text import open_bytes
from ogive.readers.guard import TEXT, check_regular, guarded, suffix_of
from ogive.readers.ipc import batches_of
from ogive.readers.memory import needed_bytes
from ogive.readers.parquet_pages import largest_pages

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
    if suffix != ".parquet":
        batches, words = batches_of(path)
        size = sum(batch.size for batch in (*batches, *words))
        return needed_bytes(size, sum(batch.rows for batch in batches), 1)
    with parquet.ParquetFile(path) as file:
        names = file.schema_arrow.names
        layout = find_columns(names, columns, path)
        width = 2 if layout.is_list or len(layout.values) > 1 else 1
        wanted = names if whole else layout.needed
        size = parquet_bytes(file, wanted)
        return needed_bytes(size, file.metadata.num_rows, width) + largest_pages(path, wanted)


def _unpacked(path: Path) -> int:
    """Return how long a packed text is, by unpacking it: what its header says may be wrong."""
    size = 0
    with open_bytes(path) as file:
        while size < _MAX_UNPACKED_COUNTED and (block := file.read(_BLOCK)):
            size += len(block)
    return size


def parquet_bytes(file: Any, columns: Sequence[str]) -> int:  # noqa: ANN401 - a ParquetFile
    """Return about how many bytes some columns of a Parquet file are as arrays.

    From their rows and types: the file stores a number that repeats a million times once. The
    headers of columns are not used, since damaged ones crash the process in pyarrow.
    """
    meta, each, has_text = file.metadata, 0, False
    for name in columns:
        kind = file.schema_arrow.field(name).type
        lists = is_list(kind)
        try:
            cell = -(-(kind.value_type if lists else kind).bit_width // 8)
        except (ValueError, AttributeError):  # no fixed width
            cell, has_text = _BYTES_PER_TEXT_CELL, True
        each += cell * (first_length(file.iter_batches(1, columns=[name]), name) if lists else 1)
    packed = sum(meta.row_group(i).total_byte_size for i in range(meta.num_row_groups))
    return int(each * meta.num_rows + (max(packed, 0) if has_text else 0))
