"""Rows dealt to two halves by what they hold, not by where they stand.

Each distinct row (its numbers and its label) with the total weight W gives floor(W / 2) to either
half, and what is left over to one of them, in turn along the order of a hash. So permuting the
rows changes nothing, weight 2 is the row twice, and where many rows are alike, as with scores of
few values, both halves see them in proportion.

The halves are not stratified by label. Halves with equal shares of each class would repeat each
other's accidents: what the one learns of a class by chance would seem to hold in the other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ogive._numerics.blocks import for_each_block

if TYPE_CHECKING:
    from ogive._typing import AnyArray, FloatArray, IntArray, KeyArray

_ODD = np.uint64(0x9E3779B97F4A7C15)
_ODD_2 = np.uint64(0xBF58476D1CE4E5B9)
_SHIFT = np.uint64(31)


def row_hashes(values: AnyArray, labels: IntArray, *, threads: int | None = None) -> KeyArray:
    """Return a hash of each row's numbers, (n, K), and its label.

    >>> row_hashes(np.array([[1.0, 2.0], [1.0, 2.0]]), np.array([0, 1])).shape
    (2,)
    """
    n, K = values.shape
    factor = _mixed(np.arange(1, K + 1, dtype=np.uint64)) | np.uint64(1)
    result = np.empty(n, dtype=np.uint64)

    def work(at: slice) -> None:
        block = values[at].astype(np.float64, order="C")
        block += 0.0  # −0.0 becomes 0.0
        mixed = block.view(np.uint64)
        mixed ^= mixed >> _SHIFT
        result[at] = (mixed * factor).sum(axis=1)

    for_each_block(work, n, width=K, threads=threads)
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
    if not whole:
        order = np.lexsort((weights, hashes))
        share = np.empty(hashes.size)
        share[order] = np.arange(hashes.size) % 2 == 0
        return share
    order = np.argsort(hashes, kind="stable")
    first = np.empty(hashes.size, dtype=np.bool_)
    first[:1] = True
    np.not_equal(hashes[order[1:]], hashes[order[:-1]], out=first[1:])
    cell = np.empty(hashes.size, dtype=np.intp)
    cell[order] = np.cumsum(first) - 1
    total = np.bincount(cell, weights=weights)
    half = np.floor(total / 2.0)
    over = total - 2.0 * half
    # Only cells with something left over take a turn.
    turn = (np.cumsum(over > 0) - (over > 0)) % 2 == 0
    return ((half + over * turn) / total)[cell]
