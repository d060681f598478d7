"""Labels: which class each row is of, and which column belongs to each class."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ogive._validate import as_array, check_length
from ogive.errors import InvalidInput, rows_that

if TYPE_CHECKING:
    from ogive._typing import AnyArray, ArrayLike, BoolArray, IntArray


_EXACT = 2.0**53  # whole numbers beyond are not told apart


def index_labels(
    labels: ArrayLike | None, classes: ArrayLike | None, n: int, K: int, of: str
) -> tuple[AnyArray, IntArray | None]:
    """Return the class of each column, and the column of each label."""
    names = None if classes is None else _class_names(classes, K)
    if labels is None:
        return (np.arange(K) if names is None else names), None
    array = as_array(labels, "labels")
    check_length(array, "labels", n, of)
    if array.dtype.kind == "f":
        array = _whole_numbers(array)
    if names is not None:
        return names, _positions(array, names)
    if array.dtype.kind in "iub" and int(array.max()) < K and int(array.min()) >= 0:
        return np.arange(K), _as_index(array)
    names = np.unique(array)
    if names.size != K:
        raise _cannot_match(array, names, K)
    return names, np.searchsorted(names, array)


def _as_index(array: AnyArray) -> IntArray:
    """Return integers as they are, so that a byte per label stays a byte; booleans likewise."""
    if array.dtype == np.bool_:
        return array.view(np.int8)
    return array.astype(np.intp) if array.dtype == np.uint64 else array


def _class_names(classes: ArrayLike, K: int) -> AnyArray:
    names = as_array(classes, "classes")
    if names.shape != (K,) or np.unique(names).size != K:
        msg = f"`classes` must be {K} different labels, one for each column, but is {classes!r}."
        raise InvalidInput(msg)
    return names


def _whole_numbers(array: AnyArray) -> AnyArray:
    """Labels that came as floats (1.0, 2.0) are integers; fractions and NaN are no labels."""
    whole = (np.abs(array) <= _EXACT) & (np.floor(array) == array)
    if not whole.all():
        first = array[int((~whole).argmax())]
        msg = (
            f"`labels` must be whole numbers or class names: {rows_that(~whole)} ({first}). "
            "Soft labels? Repeat the row once for each class, with the share as its weight."
        )
        raise InvalidInput(msg)
    return array.astype(np.int64)


def find_labels(array: AnyArray, names: AnyArray) -> tuple[IntArray, BoolArray]:
    """Return the index of each label in distinct names, and which labels are none of them."""
    order = np.argsort(names, kind="stable")
    found = np.searchsorted(names, array, sorter=order)
    index: IntArray = order[np.minimum(found, names.size - 1)]
    return index, names[index] != array


def _positions(array: AnyArray, names: AnyArray) -> IntArray:
    """Return the index of each label in `names`."""
    index, wrong = find_labels(array, names)
    if wrong.any():
        first = array[int(wrong.argmax())]
        msg = f"`labels` must be among `classes`: {rows_that(wrong)} is not ({first!r})."
        raise InvalidInput(msg)
    return index


def _cannot_match(array: AnyArray, names: AnyArray, K: int) -> InvalidInput:
    if array.dtype.kind in "iub":
        outside = (array < 0) | (array >= K)
        first = array[int(outside.argmax())]
        msg = (
            f"`labels` must be integers in [0, {K}), one for each column: {rows_that(outside)} "
            f"({first}). Other labels? Say which column is which with classes=[...]."
        )
    else:
        msg = (
            f"`labels` has {names.size} distinct names for {K} columns. "
            "Say which column is which with classes=[...]."
        )
    return InvalidInput(msg)
