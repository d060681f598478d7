"""A coarse copy of a long curve: rows of nearly equal score are joined, to save time.

Rows are joined whose tails agree in exponent and the first ten bits after it, so that a joined
row spans less than 0.1 % of its tail, and stands at the mean tail of its rows. Sums of rows,
hits, weights and scores stay as they are; a smooth function of the score moves by its curvature
over that span: less than 1e-6 for every measure that is read off a coarse curve.
"""

from __future__ import annotations

import numpy as np

from ogive.curve.curve import Curve
from ogive.curve.keys import EVEN, ONE, Run
from ogive.curve.ties import Groups, frozen

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
    reader = CoarseReader()
    for run in curve.runs():
        reader.add(run)
    return reader.curve(curve.view)


class CoarseReader:
    """Collects the joined rows; several readers can share one pass over the curve."""

    def __init__(self) -> None:
        self._parts: list[tuple[np.ndarray, ...]] = []

    def add(self, run: Run) -> None:
        """Take in the next rows."""
        self._parts.append(_joined(run))

    def curve(self, view: str) -> Curve:
        """Return the coarse curve of all rows."""
        columns = (frozen(np.concatenate(column)) for column in zip(*self._parts, strict=True))
        return Curve(groups=Groups(*columns), view=view)


def _joined(run: Run) -> tuple[np.ndarray, ...]:
    """Join the rows of a run: cells, counts, hits and sums of squared weights."""
    near = run.tail.view(np.uint64) >> _DROPPED_BITS
    change = (near[1:] != near[:-1]).nonzero()[0] + 1
    ends = np.concatenate([[0], change, [near.size]])
    first = ends[:-1]
    hits = np.add.reduceat(run.hits, first)
    if isinstance(run.count, float):
        n = np.diff(ends).astype(np.float64)
        tails = np.add.reduceat(run.tail, first)
    else:
        n = np.add.reduceat(run.count, first)
        tails = np.add.reduceat(run.count * run.tail, first)
    squares = n if run.square is None else np.add.reduceat(run.square, first)
    of_hits = hits if run.square_hits is None else np.add.reduceat(run.square_hits, first)
    cell = (tails / n).view(np.uint64) << ONE
    return (cell ^ EVEN if run.high else cell), n, hits, squares, of_hits
