"""Labels: which class each row is of, and which column belongs to each class."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Protocol

import numpy as np

from ogive._wording import percent
from ogive.errors import InvalidInput, PermutedLabels, rows_that
from ogive.rows.check import as_array, check_length

if TYPE_CHECKING:
    from ogive._typing import AnyArray, ArrayLike, BoolArray, IntArray


_LARGEST_EXACT_LABEL = 2.0**53  # float64 cannot separate larger whole numbers
#: Standard errors below what independent labels would give, before permuted columns are suspected:
#: a chance of 3 in 100,000 for a model that knows nothing.
PERMUTED_SIGMAS = 4.0
_MAX_CLASSES_IN_ERROR = 8  # more would make the message unreadable


def index_labels(
    labels: ArrayLike | None, classes: ArrayLike | None, n: int, K: int, of: str
) -> tuple[AnyArray, IntArray | None]:
    """Return the class of each column, and the column of each label."""
    names = None if classes is None else class_names(classes, K)
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


def class_names(classes: ArrayLike, K: int) -> AnyArray:
    """Return the given label of each column, if they are K different ones."""
    names = as_array(classes, "classes")
    if names.shape != (K,) or np.unique(names).size != K:
        msg = f"`classes` must be {K} different labels, one for each column, but is {classes!r}."
        raise InvalidInput(msg)
    return names


def _whole_numbers(array: AnyArray) -> AnyArray:
    """Return whole floats (1.0, 2.0) as integers; refuse fractions and NaN."""
    whole = (np.abs(array) <= _LARGEST_EXACT_LABEL) & (np.floor(array) == array)
    if not whole.all():
        first = array[int((~whole).argmax())]
        msg = (
            f"`labels` must be whole numbers or class names: {rows_that(~whole)} ({first}). "
            "Soft labels? Repeat the row once for each class, with the share as its weight."
        )
        raise InvalidInput(msg)
    return array.astype(np.int64)


def find_labels(array: AnyArray, names: AnyArray) -> tuple[IntArray, BoolArray]:
    """Return the index of each label in distinct names, and which labels are not among them."""
    order = np.argsort(names, kind="stable")
    found = np.searchsorted(names, array, sorter=order)
    index: IntArray = order[np.minimum(found, names.size - 1)]
    return index, names[index] != array


def _positions(array: AnyArray, names: AnyArray) -> IntArray:
    """Return the index of each label in `names`."""
    index, wrong = find_labels(array, names)
    if wrong.any():
        first = array[int(wrong.argmax())]
        known = ", ".join(map(repr, names[:_MAX_CLASSES_IN_ERROR].tolist())) + (
            ", …" if names.size > _MAX_CLASSES_IN_ERROR else ""
        )
        msg = (
            f"unknown label {first.item()!r} ({rows_that(wrong)}); known classes: {known}. "
            "Pass classes=[...] (--classes) in the order of the columns."
        )
        raise InvalidInput(msg)
    return index


def _cannot_match(array: AnyArray, names: AnyArray, K: int) -> InvalidInput:
    if array.dtype.kind in "iub":
        outside = (array < 0) | (array >= K)
        first = array[int(outside.argmax())]
        msg = (
            f"`labels` must be integers in [0, {K}), one for each column: {rows_that(outside)} "
            f"({first}). Other labels? Say which column is which with classes=[...] (--classes)."
        )
    else:
        msg = (
            f"`labels` has {names.size} distinct names for {K} columns. "
            "Say which column is which with classes=[...] (--classes)."
        )
    return InvalidInput(msg)


class LabelSet:
    """The labels of a part, and what they can be.

    array : (N,) as they are, floats as integers
    """

    def __init__(self, labels: ArrayLike) -> None:
        array = as_array(labels, "labels")
        self.array: AnyArray = _whole_numbers(array) if array.dtype.kind == "f" else array

    @property
    def are_numbers(self) -> bool:
        """Whether they are integers."""
        return self.array.dtype.kind in "iub"

    @property
    def has_zero(self) -> bool:
        """Whether 0 is one of them."""
        return self.are_numbers and not self.array.all()

    def are_indices(self, K: int) -> bool:
        """Return whether they can be the numbers of K columns, from 0."""
        if not self.are_numbers or not self.array.size:
            return self.are_numbers
        return bool(self.array.min() >= 0 and self.array.max() < K)

    def outside(self, K: int) -> object:
        """Return the first one that is not the number of a column."""
        return self.array[(self.array < 0) | (self.array >= K)][0].item()


def sorted_labels(several: list[LabelSet], K: int) -> AnyArray:
    """Return the distinct labels of several parts as those of K columns; refuse more or fewer."""
    names: AnyArray = np.unique(np.concatenate([np.unique(one.array) for one in several]))
    if names.size != K:
        odd = next(one for one in several if not one.are_indices(K))
        raise _cannot_match(odd.array, names, K)
    return names


class _Labelled(Protocol):
    """The part of `Predictions` that this module uses."""

    n: int
    K: int
    one_column: bool
    labels: IntArray | None

    def choice(self, at: slice | IntArray) -> IntArray:
        """Return the class with the largest value in some rows."""


def warn_if_permuted(preds: _Labelled, name: str) -> None:
    r"""Warn if a matrix is right less often than labels that have nothing to do with it would be.

    With :math:`a_k` rows predicted as class k and :math:`b_k` rows labelled k, of N, a random
    permutation of the labels has :math:`m = \\sum a_k b_k / N` right rows on average, with variance

    .. math:: \\frac{m^2 - \\sum a_k b_k (a_k + b_k) / N + \\sum a_k b_k}{N - 1} .
    """
    if preds.labels is None or preds.one_column or preds.n == 1:
        return
    chosen, n = np.asarray(preds.choice(slice(None))), float(preds.n)
    labels = np.asarray(preds.labels)
    a, b = (np.bincount(x, minlength=preds.K).astype(np.float64) for x in (chosen, labels))
    expected = float((a * b).sum()) / n
    variance = (expected**2 - float((a * b * (a + b)).sum()) / n + float((a * b).sum())) / (n - 1)
    right = int((chosen == labels).sum())
    if expected - right <= PERMUTED_SIGMAS * np.sqrt(max(variance, 0.0)):
        return
    warnings.warn(
        f"{name}: only {percent(right / n, 1)} of the rows have their label as the largest column; "
        f"labels at random would have {percent(expected / n, 1)}. Labels and columns may be "
        "permuted: say which label is which column with classes=[...] (--classes), or check how "
        "the file was made.",
        PermutedLabels,
        stacklevel=3,
    )
