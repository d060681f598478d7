"""A curve as few enough points to draw, with the numbers of its measures, in one pass.

The fractiles are cut into cells. Of each cell the lowest and the highest point of the gap are
kept, and its end: the picture of ten million rows is that of ten thousand, and its extremes are
the very numbers that the KS and Kuiper errors are.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import TYPE_CHECKING

import numpy as np

from ogive._numerics.brownian import CRITICAL
from ogive.curve.columns import CumulativeReader
from ogive.curve.curve import check_curve
from ogive.metrics.binned import BinReader, equal_width
from ogive.metrics.onepass import read
from ogive.metrics.proper import MeanReader
from ogive.metrics.significance import TestReader, ks_of

if TYPE_CHECKING:
    from ogive._typing import AnyArray, BoolArray, FloatArray, IntArray
    from ogive.curve import Curve
    from ogive.curve.keys import Run
    from ogive.metrics.binned import Bins
    from ogive.metrics.significance import CalibrationTest

#: Cells of fractiles; at most three points of each are drawn (per block of rows).
CELLS = 800
#: Bins of the density of the scores.
DENSITY_BINS = 50


@dataclass(frozen=True, slots=True, eq=False)
class Trace:
    """Points of a curve in order of score, (p,) each, the first at the origin.

    Attributes
    ----------
    fractile : share of rows with this score or a smaller one
    high, tail : the score as side and tail, see `ogive.Curve`
    cumulative_score, cumulative_hits : sums so far, over N; see `ogive.Curve.cumulative`
    gap : cumulative hits minus cumulative score
    """

    fractile: FloatArray
    high: BoolArray
    tail: FloatArray
    cumulative_score: FloatArray
    cumulative_hits: FloatArray
    gap: FloatArray

    @property
    def score(self) -> FloatArray:
        """The score at each point."""
        return np.where(self.high, 1.0 - self.tail, self.tail)

    @property
    def peak(self) -> int:
        """The point where the gap is farthest from 0: the KS error."""
        return int(np.abs(self.gap).argmax())

    def __len__(self) -> int:
        return int(self.fractile.size)


class TraceReader:
    """Keeps the points of a trace while the rows of a curve go by."""

    def __init__(self, n: float, cells: int = CELLS) -> None:
        self.per_row = cells / n
        self.sums, self.total = CumulativeReader(), 0.0
        self._kept: list[tuple[FloatArray, ...]] = []

    def add(self, run: Run) -> None:
        """Take in the next rows; the sums are those of the KS error, bit for bit."""
        gap = np.cumsum(run.surplus)
        gap += self.total
        so_far = self.sums.add(run)
        at = _landmarks(gap, np.ceil(so_far.fractile * self.per_row))
        columns = (run.tail, so_far.scores, so_far.outcomes, gap)
        high = np.full(at.size, run.high)
        self._kept.append((so_far.fractile[at], high, *(column[at] for column in columns)))
        self.total = float(gap[-1])

    def trace(self) -> Trace:
        """Return the points, from the origin on."""
        rows, high, tail, *sums = (
            np.concatenate(column) for column in zip(*self._kept, strict=True)
        )
        n = self.sums.rows
        columns = (rows / n, high, tail, *(column / n for column in sums))
        first = (np.zeros(1), high[:1], tail[:1], *np.zeros((3, 1)))
        return Trace(*(_frozen(np.concatenate(pair)) for pair in zip(first, columns, strict=True)))


def _landmarks(gap: FloatArray, cell: FloatArray) -> IntArray:
    """Return the places of the lowest, the highest and the last point of each cell, rising."""
    ends = np.append(np.flatnonzero(cell[1:] != cell[:-1]), gap.size - 1)
    kept = np.zeros(gap.size, dtype=np.bool_)
    kept[ends] = True
    start = 0
    for end in ends + 1:
        if end - start > 1:
            piece = gap[start:end]
            kept[start + piece.argmin()] = kept[start + piece.argmax()] = True
        start = end
    return np.flatnonzero(kept)


def _frozen(array: AnyArray) -> AnyArray:
    array.setflags(write=False)
    return array


@dataclass(frozen=True, slots=True, eq=False)
class Summary:
    """What every graph of a curve needs: its points, its numbers, the density of its scores."""

    view: str
    n: float
    accuracy: float
    mean_score: float
    ks: CalibrationTest
    trace: Trace
    density: Bins

    def half_width(self, fitted_on: float | None = None) -> float:
        """Return half the height of the band which the gap leaves once in twenty times.

        2.2414 sigma / N, from Brownian motion, if the scores are perfectly calibrated. Scores
        that were calibrated on `fitted_on` other rows carry the noise of those rows as well.
        """
        more = 1.0 if fitted_on is None else 1.0 + self.n / fitted_on
        return CRITICAL * self.ks.sigma / self.n * sqrt(more)


def summarise(curve: Curve, *, random_state: int = 0) -> Summary:
    """Read a curve once, for its graphs.

    >>> from ogive import Curve
    >>> summary = summarise(Curve.from_scores([0.9, 0.8, 0.6, 0.7], [1, 0, 1, 0]))
    >>> summary.trace.gap.round(3), round(summary.ks.value, 3)
    (array([ 0.   ,  0.1  , -0.075, -0.275, -0.25 ]), 0.275)
    """
    tests, means = TestReader(), MeanReader()
    points = TraceReader(check_curve(curve).n)
    bins = BinReader(equal_width(DENSITY_BINS))
    read(curve, tests, means, points, bins)
    return Summary(
        view=curve.view,
        n=curve.n,
        accuracy=means.hits / means.n,
        mean_score=means.score / means.n,
        ks=ks_of(curve, tests, random_state=random_state),
        trace=points.trace(),
        density=bins.bins(),
    )
