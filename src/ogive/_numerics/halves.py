"""Rows dealt to two halves by what they hold, not by where they stand.

Each distinct row (its numbers and its label) with the total weight W gives floor(W / 2) to either
half, and what is left over to the first of them if its hash is among the lower half of those. So
permuting the rows changes nothing, weight 2 is the row twice, and where many rows are alike, as
with scores of few values, both halves see them in proportion. Numbers are hashed with six
digits: a model that was fitted to the same rows in another order differs in the sixteenth, and a
row that falls to the other half by that takes no more than one other along.

The halves are not stratified by label. Halves with equal shares of each class would repeat each
other's accidents: what the one learns of a class by chance would seem to hold in the other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from ogive._typing import FloatArray, IntArray, KeyArray

_ODD = np.uint64(0x9E3779B97F4A7C15)
_ODD_2 = np.uint64(0xBF58476D1CE4E5B9)
_SHIFT = np.uint64(31)
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
