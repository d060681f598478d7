"""Arrow's columns as arrays, and back, without pandas.

pyarrow's own conversions import pandas wherever it is installed, only to ask it whether a column is
one of its kinds: half a second and 40 MB, for nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ogive.errors import need

if TYPE_CHECKING:
    from ogive._typing import AnyArray, IntArray


def to_numpy(column: Any) -> AnyArray:  # noqa: ANN401 - a pyarrow.Array
    """Return an array of the values: of numbers the memory itself, read-only.

    >>> import pyarrow as pa
    >>> to_numpy(pa.array([1.5, 2.5])), to_numpy(pa.array([True, False]))
    (array([1.5, 2.5]), array([ True, False]))
    >>> to_numpy(pa.array([1, None])), to_numpy(pa.array(["a"]))
    (array([ 1., nan]), array(['a'], dtype=object))
    """
    types = need("pyarrow", extra="files").types
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
    pa = need("pyarrow", extra="files")
    whole = np.ascontiguousarray(index, dtype=np.int64)
    return pa.Array.from_buffers(pa.int64(), whole.size, [None, pa.py_buffer(whole)])
