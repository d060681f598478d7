"""Folds that depend on what the rows hold, not on their order or how often they are repeated.

The distinct rows of each class are dealt to the folds in turn, in the order of a hash of their
numbers. So permuting the rows changes nothing, weight 2 is the same as the row twice, and the
copies of a row are never split between training and calibration. Scores, of which many may be
equal without being copies, are dealt row by row instead.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ogive._typing import ArrayLike, IntArray, KeyArray

_ODD = np.uint64(0x9E3779B97F4A7C15)  # an odd constant: multiplying by it mixes the high bits
_SHIFT = np.uint64(29)


def content_folds(
    X: ArrayLike, codes: IntArray, folds: int, *, together: bool = True
) -> IntArray | None:
    """Return the fold of each row; None if the rows are not numbers.

    >>> content_folds([[1.0], [2.0], [1.0], [3.0]], np.zeros(4, dtype=int), 2)
    array([0, 0, 0, 1])
    >>> content_folds([[1.0], [1.0], [1.0], [1.0]], np.zeros(4, dtype=int), 2, together=False)
    array([0, 1, 0, 1])
    """
    hashes = _hashes(X)
    if hashes is None:
        return None
    fold = np.empty(codes.size, dtype=np.intp)
    for code in np.unique(codes):
        rows = np.flatnonzero(codes == code)
        if together:
            _, place = np.unique(hashes[rows], return_inverse=True)
        else:
            place = np.argsort(np.argsort(hashes[rows], kind="stable"), kind="stable")
        fold[rows] = place % folds
    return fold


def pairs(fold: IntArray) -> Iterator[tuple[IntArray, IntArray]]:
    """Yield the training and the calibration rows of each fold."""
    for k in np.unique(fold):
        yield np.flatnonzero(fold != k), np.flatnonzero(fold == k)


def _hashes(X: ArrayLike) -> KeyArray | None:
    """Return a hash of each row: the sum over its columns of a mix of index and number.

    A column of zeros adds nothing, so that a sparse matrix has the hashes of the dense one.
    """
    if hasattr(X, "tocoo"):
        coo = X.tocoo()
        rows, columns, values = coo.row, coo.col, coo.data.astype(np.float64)
        total = np.zeros(coo.shape[0], dtype=np.uint64)
        np.add.at(total, rows, _mixed(columns.astype(np.uint64), values))
        return total
    try:
        dense = np.asarray(X, dtype=np.float64)
    except (TypeError, ValueError):
        return None
    if dense.ndim == 0 or dense.size == 0:
        return None
    dense = dense.reshape(dense.shape[0], -1)
    total = np.zeros(dense.shape[0], dtype=np.uint64)
    for column in range(dense.shape[1]):
        total += _mixed(np.full(dense.shape[0], column, dtype=np.uint64), dense[:, column])
    return total


def _mixed(columns: KeyArray, values: np.ndarray) -> KeyArray:
    """Return a number for each entry that depends on all bits of its index and value."""
    bits = (values + 0.0).view(np.uint64)  # −0.0 becomes 0.0
    mixed = (bits ^ (columns + np.uint64(1)) * _ODD) * _ODD
    mixed ^= mixed >> _SHIFT
    mixed *= _ODD
    mixed ^= mixed >> _SHIFT
    return np.where(values == 0.0, np.uint64(0), mixed)
