"""Rows split by their values, not by their position: into folds, or into two halves.

Permuting the rows changes nothing, weight 2 is the same as the row twice, and the copies of a row
are treated alike.

Folds: the distinct rows of each class go to the folds in turn, in the order of a hash of their
numbers, so that copies of a row are never split between training and calibration. Scores, of
which many may be equal without being copies, go row by row instead.

Halves: each distinct row (its numbers and its label) with the total weight W gives floor(W / 2) to
either half, and what is left over to the first of them if its hash is among the lower half of
those. Where many rows are alike, as with scores of few values, both halves see them in proportion.
Numbers are hashed with six digits: a model that was fitted to the same rows in another order
differs in the sixteenth, and a row that changes halves because of it moves at most one
other row.

The halves are not stratified by label. Halves with equal shares of each class would share their
noise: what one half learns of a class by chance would seem to hold in the other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ogive._typing import AnyArray, ArrayLike, FloatArray, IntArray, KeyArray

_ODD = np.uint64(0x9E3779B97F4A7C15)  # odd: multiplying by it loses nothing and mixes high bits
_ODD_2 = np.uint64(0xBF58476D1CE4E5B9)
_SHIFT = np.uint64(31)
_ENTRY_SHIFT = np.uint64(29)
_DROPPED = np.uint64(32)  # bits of a float64: 20 after the exponent are left, six digits
_HALF = np.uint64(1 << 31)


def row_hashes(gaps: FloatArray, labels: IntArray) -> KeyArray:
    """Return a hash of some rows: their numbers (n, K), which are <= 0, and their labels.

    >>> gaps = np.array([[-1.0, 0.0], [-1.0 + 1e-14, 0.0], [-1.1, 0.0]])
    >>> np.unique(row_hashes(gaps, np.zeros(3, dtype=int))).size
    2
    """
    factor = _mixed(np.arange(1, gaps.shape[1] + 1, dtype=np.uint64)) | np.uint64(1)
    away = np.subtract(gaps, 1.0, dtype=np.float64, order="C")  # from 0, where digits have no end
    mixed = away.view(np.uint64)
    mixed += _HALF
    mixed >>= _DROPPED
    mixed ^= mixed << _SHIFT
    result = (mixed * factor).sum(axis=1)
    return _mixed(result ^ _mixed(labels.astype(np.uint64) + np.uint64(1)))


def _mixed(keys: KeyArray) -> KeyArray:
    """Return keys in which every bit depends on every bit."""
    keys = (keys ^ (keys >> np.uint64(30))) * _ODD_2
    keys = (keys ^ (keys >> np.uint64(27))) * _ODD
    return keys ^ (keys >> _SHIFT)


def halves(hashes: KeyArray, weights: FloatArray, *, whole: bool) -> FloatArray:
    """Return what share of each row belongs to the first half, (n,), in [0, 1].

    Parameters
    ----------
    hashes : (n,) array
    weights : (n,) array
    whole : bool
        Whether weight 2 means the row twice. If not, each row goes to one half.

    Examples
    --------
    >>> same = np.zeros(3, dtype=np.uint64)
    >>> halves(same, np.ones(3), whole=True).round(3)
    array([0.667, 0.667, 0.667])
    """
    order = np.lexsort((weights, hashes))
    first = np.empty(hashes.size, dtype=np.bool_)
    first[:1] = True
    np.not_equal(hashes[order[1:]], hashes[order[:-1]], out=first[1:])
    cell = np.empty(hashes.size, dtype=np.intp)
    cell[order] = np.cumsum(first) - 1
    total = np.bincount(cell, weights=weights if whole else None)
    half = np.floor(total / 2.0)
    over = total - 2.0 * half
    left = np.cumsum(over > 0)  # only cells with something left over count
    lower = 2 * left <= left[-1] + 1
    result: FloatArray
    if whole:
        result = ((half + over * lower) / total)[cell]
        return result
    # Row by row, those of a cell in turn.
    result = np.empty(hashes.size)
    rank = np.arange(hashes.size) - np.flatnonzero(first)[cell[order]]
    result[order] = rank % 2 == np.where(lower, 0, 1)[cell[order]]
    return result


def content_folds(
    X: ArrayLike, codes: IntArray, folds: int, *, together: bool = True
) -> IntArray | None:
    """Return the fold of each row; None if the rows are not numbers.

    >>> content_folds([[1.0], [2.0], [1.0], [3.0]], np.zeros(4, dtype=int), 2)
    array([0, 0, 0, 1])
    >>> content_folds([[1.0], [1.0], [1.0], [1.0]], np.zeros(4, dtype=int), 2, together=False)
    array([0, 1, 0, 1])
    """
    hashes = exact_hashes(X)
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


def cluster_folds(
    X: FloatArray, labels: IntArray, clusters: IntArray, weights: FloatArray | None, folds: int
) -> IntArray:
    """Return the fold of each row, whole clusters together; their names do not matter.

    >>> fold = cluster_folds(np.array([[1.0], [2.0], [1.0], [3.0]]), np.zeros(4, dtype=int),
    ...                      np.array([0, 1, 0, 1]), None, 2)
    >>> bool(fold[0] == fold[2] != fold[1] == fold[3])
    True
    """
    hashes = entry_hashes(np.column_stack([X, labels]))
    weight = np.ones(labels.size) if weights is None else weights
    total = np.zeros(int(clusters.max()) + 1, dtype=np.uint64)
    np.add.at(total, clusters, hashes * weight.astype(np.uint64))
    order = np.argsort(total, kind="stable")
    fold = np.empty(order.size, dtype=np.intp)
    fold[order] = balanced_folds(np.bincount(clusters, weight)[order].astype(np.float64), folds)
    return fold[clusters]


def random_parts(
    n: int, share: float, random_state: int, clusters: AnyArray | None = None
) -> tuple[IntArray, IntArray]:
    """Return the rows of two random parts, the first with a share of them; clusters stay whole.

    >>> first, second = random_parts(4, 0.5, 0, np.array([0, 1, 1, 0]))
    >>> sorted([sorted(first.tolist()), sorted(second.tolist())])
    [[0, 3], [1, 2]]
    """
    rng = np.random.default_rng(random_state)
    if clusters is None:
        order = rng.permutation(n)
        cut = min(max(round(share * n), 1), n - 1)
        return order[:cut], order[cut:]
    codes, clusters = np.unique(clusters, return_inverse=True)
    place = rng.permutation(codes.size)[clusters]
    rows = np.cumsum(np.bincount(place))
    cut = max(min(int(np.abs(rows - share * n).argmin()), codes.size - 2), 0)
    return np.flatnonzero(place <= cut), np.flatnonzero(place > cut)


def balanced_folds(weight: FloatArray, folds: int) -> IntArray:
    """Return the fold of each cluster: the largest first, each into the fold with the fewest rows.

    >>> balanced_folds(np.array([5.0, 1.0, 4.0, 2.0]), 2)
    array([0, 0, 1, 1])
    """
    filled = np.zeros(folds)
    fold = np.empty(weight.size, dtype=np.intp)
    for cluster in np.argsort(-weight, kind="stable"):
        fold[cluster] = filled.argmin()
        filled[fold[cluster]] += weight[cluster]
    return fold


def pairs(fold: IntArray) -> Iterator[tuple[IntArray, IntArray]]:
    """Yield the training and the calibration rows of each fold."""
    for k in np.unique(fold):
        yield np.flatnonzero(fold != k), np.flatnonzero(fold == k)


def entry_hashes(columns: FloatArray) -> KeyArray:
    """Return a hash of each row of numbers, (n, k), whose sums over rows depend on all of them."""
    hashes = exact_hashes(columns)
    assert hashes is not None  # noqa: S101 - they are numbers
    return _mixed(hashes)


def exact_hashes(X: ArrayLike) -> KeyArray | None:
    """Return a hash of each row: the sum over its columns of a mix of index and number.

    A column of zeros adds nothing, so that a sparse matrix has the hashes of the dense one.
    """
    if hasattr(X, "tocoo"):
        coo = X.tocoo()
        rows, columns, values = coo.row, coo.col, coo.data.astype(np.float64)
        total = np.zeros(coo.shape[0], dtype=np.uint64)
        np.add.at(total, rows, _mixed_entries(columns.astype(np.uint64), values))
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
        total += _mixed_entries(np.full(dense.shape[0], column, dtype=np.uint64), dense[:, column])
    return total


def _mixed_entries(columns: KeyArray, values: np.ndarray) -> KeyArray:
    """Return a number for each entry that depends on all bits of its index and value."""
    bits = (values + 0.0).view(np.uint64)  # −0.0 becomes 0.0
    mixed = (bits ^ (columns + np.uint64(1)) * _ODD) * _ODD
    mixed ^= mixed >> _ENTRY_SHIFT
    mixed *= _ODD
    mixed ^= mixed >> _ENTRY_SHIFT
    return np.where(values == 0.0, np.uint64(0), mixed)
