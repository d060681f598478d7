r"""Pool adjacent violators: the pools of isotonic regression.

The best rising fit to the rates :math:`h_j / w_j` is constant on *pools* of neighbours, and its
value there is the pool's own rate. Neighbours whose rates do not rise end in one pool, whatever
else is joined. So all such neighbours are joined at once, again and again, each time as one step
over arrays: some ten passes are usual, as fast as SciPy's loop, and without the third of a second
that ``scipy.optimize`` takes to load.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from ogive._typing import FloatArray, IntArray

_MAX_PASSES = 30  # beyond, a pass may join two rows only: some sequences need thousands of passes


def pool_corners(weights: FloatArray, hits: FloatArray) -> IntArray:
    """Return where the pools of rows in order begin, and where the last one ends: (pools + 1,).

    Parameters
    ----------
    weights, hits : (m,) arrays
        The weight of each row, above 0, and how much of it is of outcome 1.

    >>> pool_corners(np.ones(5), np.array([0.0, 1.0, 0.0, 0.0, 1.0]))
    array([0, 1, 4, 5])
    """
    starts, size = np.arange(weights.size), weights.size
    for _ in range(_MAX_PASSES):
        rate = hits / weights
        rises = np.concatenate([[True], rate[1:] > rate[:-1]])
        if rises.all():
            break
        first = np.flatnonzero(rises)
        starts = starts[first]
        weights, hits = np.add.reduceat(weights, first), np.add.reduceat(hits, first)
    else:
        from scipy.optimize import isotonic_regression  # noqa: PLC0415 - heavy, and rarely needed

        blocks = isotonic_regression(hits / weights, weights=weights).blocks
        starts = starts[blocks[:-1].astype(np.intp)]
    return np.append(starts, size)
