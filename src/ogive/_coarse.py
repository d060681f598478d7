"""A coarse copy of a long curve: rows of nearly equal score joined, for what needs no more.

Rows are joined whose tails agree in exponent and the first ten bits after it, so that a joined
row spans less than 0.1 % of its tail, and stands at the mean tail of its rows. Sums of rows,
hits, weights and scores stay as they are; a smooth function of the score moves by its curvature
over that span: less than 1e-6 for every measure that is read off a coarse curve.
"""

from __future__ import annotations

import numpy as np

from ogive._groups import Groups, frozen
from ogive._keys import EVEN, ONE, Run
from ogive.curve import Curve

_DROPPED_BITS = np.uint64(52 - 10)


def coarse(curve: Curve) -> Curve:
    """Return the curve with rows of nearly equal score joined.

    >>> import numpy as np
    >>> scores = np.linspace(0.2, 0.8, 100_001)
    >>> curve = Curve.from_scores(scores, np.arange(100_001) % 2)
    >>> small = coarse(curve)
    >>> small.score.size < 5000, small.n == curve.n, small.total_hits == curve.total_hits
    (True, True, True)
    """
    parts = [_joined(run) for run in curve.runs()]
    columns = [np.concatenate([part[i] for part in parts]) for i in range(5)]
    return Curve(groups=Groups(*map(frozen, columns)), view=curve.view)


def _joined(run: Run) -> tuple[np.ndarray, ...]:
    """Join the rows of a run: cells, counts, hits and sums of squared weights."""
    first = np.flatnonzero(np.diff(run.tail.view(np.uint64) >> _DROPPED_BITS, prepend=np.uint64(0)))
    if first.size == 0 or first[0] != 0:
        first = np.append(0, first)
    count = np.broadcast_to(run.count, run.tail.shape)
    square = count if run.square is None else run.square
    square_hits = run.hits if run.square_hits is None else run.square_hits
    columns = (count, run.hits, square, square_hits, count * run.tail)
    n, hits, squares, squares_of_hits, tails = (np.add.reduceat(c, first) for c in columns)
    cell = (tails / n).view(np.uint64) << ONE
    return (cell ^ EVEN if run.high else cell), n, hits, squares, squares_of_hits
