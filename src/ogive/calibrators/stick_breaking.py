"""Stick breaking: each rank gets a share of what is left, in order; all parts add up to 1."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from ogive._typing import BoolArray, FloatArray

#: No class comes nearer to the one ranked before it than this, of itself. A cast to float32
#: (6e-8) keeps the order; 1e-9 would not.
MARGIN = 1e-6


def broken(shares: FloatArray, K: int) -> tuple[FloatArray, FloatArray, BoolArray]:
    """Give the first R of K ranks their parts, from the top down.

    Rank r asks for the share h_r of what is left. It gets no more than rank r − 1, and no less
    than what lets the ranks after it hold the remainder without overtaking it.

    Parameters
    ----------
    shares : (n, R) array
        h, in [0, 1].
    K : int

    Returns
    -------
    parts : (n, R) array
    left : (n,) array
        What is left for the other K − R.
    held : (n,) array of bool
        Where the order reduced the part of rank 1 or 2.

    Examples
    --------
    >>> parts, left, held = broken(np.array([[0.5, 0.8], [0.3, 0.9]]), 10)
    >>> parts.round(3), left.round(3), held
    (array([[0.5, 0.4], [0.3, 0.3]]), array([0.1, 0.4]), array([False,  True]))
    """
    n, R = shares.shape
    parts = np.empty((n, R))
    left = np.ones(n)
    held = np.zeros(n, dtype=np.bool_)
    upper = np.ones(n)
    for r in range(R):
        after = K - 1 - r
        margin = (
            3 * MARGIN if r == 0 else MARGIN
        )  # three, so that the ranks below can keep their margins
        lower = left / (1.0 + after * (1.0 - margin))
        asked = shares[:, r] * left
        parts[:, r] = np.maximum(np.minimum(asked, upper), lower)
        if r <= 1:
            held |= parts[:, r] != asked
        left = np.maximum(left - parts[:, r], 0.0)
        upper = parts[:, r] * (1.0 - MARGIN)
    return parts, left, held


def fill(weights: FloatArray, total: FloatArray, left: FloatArray, cap: FloatArray) -> None:
    """Turn weights into parts of what is left, none above the cap; in place.

    A row x = min(s w, cap) with the sum `left`: what the cap holds back is shared by the others.

    Parameters
    ----------
    weights : (n, K) array
        Between 0 and 1, with enough positive ones in each row to hold what is left below the cap.
    total : (n,) array
        The sum of the weights of each row.
    left, cap : (n,) arrays

    Examples
    --------
    >>> w = np.array([[0.8, 0.1, 0.1]])
    >>> fill(w, np.array([1.0]), np.array([1.0]), np.array([0.4]))
    >>> w
    array([[0.4, 0.3, 0.3]])
    """
    scale = left / total
    suspect = np.flatnonzero(scale > cap)  # no weight exceeds 1
    over = suspect[scale[suspect] * weights[suspect].max(axis=1) > cap[suspect]]
    capped = _capped(weights[over], left[over], cap[over]) if over.size else None
    weights *= scale[:, None]
    if capped is not None:
        weights[over] = capped


def _capped(weights: FloatArray, left: FloatArray, cap: FloatArray) -> FloatArray:
    """Raise the scale until the parts below the cap take the excess of the others."""
    n = left.size
    full = np.zeros(weights.shape, dtype=np.bool_)
    known = np.zeros(n, dtype=np.intp)
    free = weights.sum(axis=1)
    while True:
        needed = np.maximum(left - cap * known, 0.0)
        scale = np.divide(needed, free, out=np.zeros(n), where=free > 0)
        limit = np.divide(cap, scale, out=np.full(n, np.inf), where=scale > 0)
        full |= weights > limit[:, None]
        count = np.count_nonzero(full, axis=1)
        if (count == known).all():
            return np.where(full, cap[:, None], scale[:, None] * weights)
        known = count
        free = np.where(full, 0.0, weights).sum(axis=1)
