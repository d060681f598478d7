r"""A curve in about a hundred cells, for tests that simulate it thousands of times.

Rows are joined until they hold about 1/128 of the variance or span half a unit of log-odds, and
never across tenths of the rows, which are Hosmer and Lemeshow's groups; a group of equal scores is
never split. Scores nearer to 0 or 1 than 1e-7 count as 1e-7: a score of
exactly 1 that is wrong once in ten million rows is not impossible.

Of each cell: the *surplus* S of outcomes over scores, its variance v and third cumulant under
calibration, and its log-odds :math:`\eta`. Outcomes are drawn in the cells from the scores, as
binomials where the variance is small, so that ties, few outcomes and sampling weights are in the
simulated law.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ogive._numerics.logistic import log_add, log_odds_of_tails
from ogive.metrics.null import Null, summed

if TYPE_CHECKING:
    from ogive._typing import FloatArray, IntArray
    from ogive.curve import Curve

LEAST_TAIL = 1e-7  # of a score: a smaller one says nothing that a sample could show
CELLS = 128  # with twice as many the power of the omnibus test changes by less than 0.01
CELLS_PER_LOG_ODDS = 2.0
GROUPS = 10  # of equally many rows; no cell lies in two of them
POWERS = range(2, 10)  # of the clock, in the shapes
LARGEST_JUMP = 1.0 / 3.0  # of one outcome, in deviations of a sum, for a smooth law in its tail
_MIN_VARIANCE_FOR_NORMAL = 10.0  # binomials of smaller variance are drawn as such
_HEAVY = 60.0  # rows whose squared weight exceeds the variance over this are drawn separately
_DEPENDENT = 1e-9  # share of a column's squared length: a smaller remainder is rounding error


class Cells:
    """Joined rows, (c,) each: what the parts need of the data, and what draws need of the null."""

    def __init__(self, curve: Curve) -> None:
        null = Null(curve, least_tail=LEAST_TAIL)
        tail = np.maximum(curve.tail, LEAST_TAIL)
        eta = log_odds_of_tails(curve.high, tail)
        cell = self.cell = cell_of(eta, null.variance, curve.count)
        size = int(cell[-1]) + 1
        expected = curve.count * tail
        surplus = np.where(curve.high, curve.hits + expected - curve.count, curve.hits - expected)
        self.surplus = summed(surplus, cell, size)
        self.variance = summed(null.variance, cell, size)
        self.eta = summed(null.variance * eta, cell, size) / self.variance
        sign = np.where(null.high, -1.0, 1.0)
        third = sign * null.variance * null.unit * (1.0 - 2.0 * null.tail)
        self.third = summed(third, cell, size)
        self.heaviest = float(null.unit.max())
        count = summed(curve.count, cell, size)
        self.by_rows = middle(count)
        self.clock = self.by_rows + middle(self.variance) - 1.0
        self.shapes = self._orthonormal()
        self._join(null)

    def _join(self, null: Null) -> None:
        """Join the rows of each cell for the draws; heavy rows by themselves, by weight."""
        of, heavy = self.cell, null.unit**2 * _HEAVY >= null.variance.sum()
        weight = np.where(heavy, np.floor(8.0 * np.log2(null.unit)), -1e6)
        order = np.lexsort((weight, of))
        new = np.diff(of[order], prepend=-1) != 0
        new |= np.diff(weight[order], prepend=-1e9) != 0
        start = np.flatnonzero(new)
        total, square, tails = (
            np.add.reduceat((null.rows * null.unit * x)[order], start)
            for x in (np.ones_like(null.unit), null.unit, null.tail)
        )
        self._of = of[order][start]
        self._tail = tails / total
        rows = total**2 / square
        self._rows = np.maximum(np.rint(rows), 1.0)
        # The effective number of rows is rounded; their weight corrects the variance for it.
        sign = np.where(null.high, -1.0, 1.0)[order][start]
        self._unit = sign * square / total * np.sqrt(rows / self._rows)
        self._coins = self._rows * self._tail * (1.0 - self._tail) < _MIN_VARIANCE_FOR_NORMAL

    def draw(self, rng: np.random.Generator, draws: int) -> FloatArray:
        """Draw surpluses of all cells under calibration, (draws, cells)."""
        coins, size = self._coins, self.variance.size
        spread = self._rows * self._tail * (1.0 - self._tail) * self._unit**2
        normal = summed(np.where(coins, 0.0, spread), self._of, size)
        steps: FloatArray = rng.standard_normal((draws, size)) * np.sqrt(normal)
        if coins.any():
            rows, tail = self._rows[coins].astype(np.int64)[:, None], self._tail[coins][:, None]
            # Cell by cell: NumPy reuses the setup of a binomial with the same parameters.
            hits = rng.binomial(rows, tail, (rows.size, draws)) - rows * tail
            cell = self._of[coins]  # rising
            start = np.flatnonzero(np.diff(cell, prepend=-1))
            jumps = np.add.reduceat(self._unit[coins][:, None] * hits, start, axis=0)
            steps[:, cell[start]] += jumps.T
        return steps

    def cumulant(self, directions: FloatArray) -> FloatArray:
        """Return log E exp(S d) of each cell under calibration, for directions d (cells, k)."""
        step = directions[self._of] * self._unit[:, None]
        tail = self._tail[:, None]
        each = log_add(np.log1p(-tail), np.log(tail) + step) - tail * step
        start = np.flatnonzero(np.diff(self._of, prepend=-1))
        return np.add.reduceat(self._rows[:, None] * each, start, axis=0)

    @property
    def laws_hold(self) -> bool:
        """Whether no single outcome can move shift or temperature far."""
        lines = np.stack([np.ones_like(self.eta), self.eta])
        deviation = np.sqrt(lines**2 @ self.variance)
        jump = self.heaviest * np.abs(lines).max(axis=1)
        return bool((jump <= LARGEST_JUMP * deviation).all())

    def _orthonormal(self) -> FloatArray:
        """Return the shapes, orthonormal in the variance, (c, up to 10)."""
        columns = [np.ones_like(self.eta), self.eta, *(self.clock**k for k in POWERS)]
        shapes, size = np.empty((len(columns), self.eta.size)), 0
        for column in columns:
            rest, kept = column, shapes[:size]
            for _ in range(2):  # twice: once leaves rounding errors of nearly parallel columns
                rest = rest - (kept @ (self.variance * rest)) @ kept
            length = float(self.variance @ rest**2)
            if length > _DEPENDENT * float(self.variance @ column**2):
                shapes[size] = rest / np.sqrt(length)
                size += 1
        return np.ascontiguousarray(shapes[:size].T)


def cell_of(eta: FloatArray, variance: FloatArray, count: FloatArray) -> IntArray:
    """Return the cell of each row of rising log-odds, from 0 on, (m,)."""
    group = np.floor(middle(count) * GROUPS).astype(np.int64)
    of_group = np.bincount(group, variance, GROUPS)
    pieces = np.maximum(np.rint(CELLS * of_group / of_group.sum()), 1.0)
    below = np.cumsum(of_group) - of_group
    inside = np.cumsum(variance) - 0.5 * variance - below[group]
    by_variance = np.floor(inside * (pieces / np.maximum(of_group, 1e-300))[group])
    by_log_odds = np.floor(eta * CELLS_PER_LOG_ODDS)
    change = np.zeros(eta.size - 1, dtype=bool)
    for part in (group, by_variance, by_log_odds):
        change |= np.diff(part) != 0
    return np.concatenate([[0], np.cumsum(change)])


def middle(part: FloatArray) -> FloatArray:
    """Return the share of the total up to the middle of each part, (m,)."""
    result: FloatArray = (np.cumsum(part) - 0.5 * part) / part.sum()
    return result
