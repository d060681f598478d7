r"""Pool adjacent violators: the pools of isotonic regression.

The best rising fit to the rates :math:`h_j / w_j` is constant on *pools* of neighbours, and its
value there is the pool's own rate. Neighbours whose rates do not rise end in one pool, whatever
else is joined. So all such neighbours can be joined at once, again and again, each time as one step
over arrays: some ten passes are usual. SciPy's compiled loop is up to three times as fast, but
``scipy.optimize`` takes a third of a second to load: it is used where it is loaded, or pays.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from ogive._typing import FloatArray, IntArray

_MAX_PASSES = 30  # beyond, a pass may join two rows only: some sequences need thousands of passes
_MIN_ROWS_TO_LOAD_SCIPY = 10_000_000  # passes over fewer take no longer than loading it


def pool_corners(weights: FloatArray, hits: FloatArray) -> IntArray:
    """Return where the pools of rows in order begin, and where the last one ends: (pools + 1,).

    Parameters
    ----------
    weights, hits : (m,) arrays
        The weight of each row, above 0, and how much of it is of outcome 1.

    >>> pool_corners(np.ones(5), np.array([0.0, 1.0, 0.0, 0.0, 1.0]))
    array([0, 1, 4, 5])
    """
    loaded = "scipy.optimize" in sys.modules
    return corners_of(weights, hits, compiled=loaded or weights.size >= _MIN_ROWS_TO_LOAD_SCIPY)


def corners_of(weights: FloatArray, hits: FloatArray, *, compiled: bool) -> IntArray:
    """Do so by SciPy's loop, or by passes over arrays.

    A pass also follows on SciPy, whose means are rounded: the pools are the same either way.
    """
    size = weights.size
    starts: IntArray = _compiled(weights, hits) if compiled else np.arange(size)
    if compiled:
        weights, hits = np.add.reduceat(weights, starts), np.add.reduceat(hits, starts)
    for _ in range(_MAX_PASSES):
        rate = hits / weights
        rises = np.concatenate([[True], rate[1:] > rate[:-1]])
        if rises.all():
            break
        first = np.flatnonzero(rises)
        starts = starts[first]
        weights, hits = np.add.reduceat(weights, first), np.add.reduceat(hits, first)
    else:
        starts = starts[_compiled(weights, hits)]
    return np.append(starts, size)


def _compiled(weights: FloatArray, hits: FloatArray) -> IntArray:
    """Return where pools begin, by SciPy's loop."""
    from scipy.optimize import isotonic_regression  # noqa: PLC0415 - heavy

    blocks = isotonic_regression(hits / weights, weights=weights).blocks
    starts: IntArray = blocks[:-1].astype(np.intp)
    return starts
