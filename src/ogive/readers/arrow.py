"""pyarrow, loaded when it is first used; its columns as arrays, and back, without pandas.

pyarrow's own conversions import pandas wherever it is installed, only to ask it whether a column is
one of its kinds: half a second and 40 MB that are not needed.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

import numpy as np

from ogive.errors import FileFormatError, need

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ogive._typing import AnyArray, IntArray

_CHOICE = "ARROW_DEFAULT_MEMORY_POOL"


class _Module:
    """A module of pyarrow, imported when something of it is asked for, or an error that says how.

    At the first import the system's allocator is chosen: Arrow's own ones keep freed memory, and
    the system's shares it with NumPy. If the environment names one, or pyarrow was imported before,
    that choice stands. Arrow reads the environment once, so it is put back
    (``docs/design/global-state.md``).
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever pyarrow has
        if name.startswith("__"):  # asked by those who copy or pickle it
            raise AttributeError(name)
        chosen = "pyarrow" in sys.modules or _CHOICE in os.environ
        if chosen:
            return getattr(need(self._name, extra="files"), name)
        os.environ[_CHOICE] = "system"
        try:
            return getattr(need(self._name, extra="files"), name)
        finally:
            del os.environ[_CHOICE]


pa, pc = _Module("pyarrow"), _Module("pyarrow.compute")
arrow_csv, arrow_json = _Module("pyarrow.csv"), _Module("pyarrow.json")
parquet = _Module("pyarrow.parquet")


def to_numpy(column: Any) -> AnyArray:  # noqa: ANN401 - a pyarrow.Array
    """Return an array of the values: of numbers the memory itself, read-only.

    >>> import pyarrow as pa
    >>> to_numpy(pa.array([1.5, 2.5])), to_numpy(pa.array([True, False]))
    (array([1.5, 2.5]), array([ True, False]))
    >>> to_numpy(pa.array([1, None])), to_numpy(pa.array(["a"]))
    (array([ 1., nan]), array(['a'], dtype=object))
    """
    types = pa.types
    array: AnyArray
    if column.null_count == 0 and len(column):
        if types.is_floating(column.type) or types.is_integer(column.type):
            array = np.from_dlpack(column)
            return array
        if types.is_boolean(column.type):
            array = np.from_dlpack(column.cast("int8"))
            return array.view(np.bool_)
    array = column.to_numpy(zero_copy_only=False)
    return array


def from_indices(index: IntArray) -> Any:  # noqa: ANN401
    """Return an Arrow array of 64-bit integers in the memory of an array.

    >>> import numpy as np
    >>> from_indices(np.array([2, 0])).to_pylist()
    [2, 0]
    """
    whole = np.ascontiguousarray(index, dtype=np.int64)
    return pa.Array.from_buffers(pa.int64(), whole.size, [None, pa.py_buffer(whole)])


def checked(data: Any, path: object) -> Any:  # noqa: ANN401 - a pyarrow.Table or RecordBatch
    """Return a table or a batch whose offsets, lengths, indices and text are all inside its memory.

    pyarrow does not check what it has read, and uses offsets as addresses in memory.
    """
    try:
        data.validate(full=True)
    except pa.ArrowException as error:
        reason = (str(error).splitlines() or [""])[0][:200]
        msg = f"{path} is damaged ({reason}). Write it again, or take the copy it was made from."
        raise FileFormatError(msg) from error
    return data


def numbers_of(column: Any) -> AnyArray | None:  # noqa: ANN401 - a pyarrow.Array
    """Return a column of any kind of numbers as an array, NaN where there is none; else None.

    >>> import pyarrow as pa, decimal
    >>> numbers_of(pa.array([decimal.Decimal("0.25")])), numbers_of(pa.array(["a"]))
    (array([0.25]), None)
    """
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    kind = column.type
    if pa.types.is_null(kind):
        return np.full(len(column), np.nan)
    if pa.types.is_boolean(kind):
        return to_numpy(column.cast(pa.int8()))
    if pa.types.is_decimal(kind):
        return to_numpy(column.cast(pa.float64()))
    if pa.types.is_floating(kind) or pa.types.is_integer(kind):
        return to_numpy(column)
    return None


def is_list(kind: Any) -> bool:  # noqa: ANN401 - a pyarrow.DataType
    """Return whether a type is one of lists."""
    types = pa.types
    kinds = (types.is_list, types.is_large_list, types.is_fixed_size_list)
    return any(check(kind) for check in kinds)


def list_lengths(column: Any) -> AnyArray:  # noqa: ANN401 - a pyarrow.Array of lists
    """Return the length of every list of a column, 0 where there is none."""
    return to_numpy(pc.fill_null(pc.list_value_length(column), 0))


def first_length(batches: Iterator[Any], column: str) -> int:
    """Return the length of the first list of a column that is not empty, 0 if there is none."""
    for batch in batches:
        values = batch.column(column)
        lengths = list_lengths(values) if is_list(values.type) else np.zeros(0)
        if lengths.any():
            return int(lengths[np.flatnonzero(lengths)[0]])
    return 0
