r"""The null distribution of the gap, simulated where Brownian motion is a poor approximation.

Hits are drawn from the scores themselves and the gap is read at the ends of groups of equal
scores, as the measures do. Two ways, by how many outcomes could have gone the other way:

*Few* (`_FewSurprises`). Write q for the probability of a row's unlikely outcome. Unlikely outcomes
are rare, and a Poisson process that gives the row a stretch of time of :math:`-\log(1 - q)` has an
event in it with probability exactly q. Between events the gap only drifts, down where scores
are below ½ and up above, so that its extremes are next to events, at ½ and at the end. The cost is
that of the events, however many rows there are. This is exact.

*Many* (`_ManySteps`). Rows are lumped into cells of at most 1/500 of the variance, except that a
group of equal scores that holds more is a cell by itself. Steps are normal (binomial for a group
of variance below 10). Inside lumped cells the walk is a Brownian bridge between its ends, whose
maximum and minimum are drawn too; inside a group nothing is read. Lumped rows whose single outcome
moves the gap by more than 1/8 of its total deviation, such as a few rows of large sampling weight
and small tail, are drawn as events, as above.

**Weights.** A curve keeps the total W and the sum of squares V of the sampling weights at each
score, of the hits and of the misses, but no single weight. With u the typical weight of a row (the
median of V / W, by the number of rows W² / V), rows of one score and outcome are taken as one row
of weight m and the rest of weight u, where m keeps W and V:

.. math:: m + r u = W, \quad m^2 + r u^2 = V \quad\Rightarrow\quad
          m = \tfrac12 \bigl(u + \sqrt{u^2 + 4 (V - u W)}\bigr) .

It is exact for one row, for rows of equal weight, and for one heavy row among equal light ones.
Where V < u W they are W² / V rows of weight V / W.

Draws stop once 50 of them reach the observed value (Besag and Clifford 1991), or at 10,000.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import exp, inf, log1p
from typing import TYPE_CHECKING, Protocol

import numpy as np

if TYPE_CHECKING:
    from ogive._typing import BoolArray, FloatArray, IntArray
    from ogive.curve import Curve

_MAX_EVENTS_TO_PLACE = 60.0
#: Groups of equal scores with less than this share of the variance are lumped.
CELL = 1.0 / 500
_MIN_VARIANCE_FOR_NORMAL = 10.0  # binomials of smaller variance are drawn as such
_ROUNDING = 1e-9  # share of a total weight: a smaller remainder is rounding error


@dataclass(frozen=True, slots=True)
class Extremes:
    """The lowest and highest point of N times the gap in each draw, (draws,) each."""

    low: FloatArray
    high: FloatArray

    def statistic(self, *, kuiper: bool) -> FloatArray:
        """Return N times the Kuiper or the KS error of each draw."""
        return self.high - self.low if kuiper else np.maximum(self.high, -self.low)


class _Walk(Protocol):
    def draw(self, rng: np.random.Generator, draws: int) -> Extremes: ...


class Null:
    """The null of a curve: at each score some rows of equal weight, or of two or more weights.

    Attributes
    ----------
    tail, rows, unit : (m,) arrays
        min(p, 1 − p) of some rows with one score, how many they are, and the weight of each.
    high : (m,) array
        Whether the score exceeds ½.
    group : (m,) array
        The group of equal scores they belong to, from 0 on; the gap is read where it ends.
    heaviest : float
        No row can weigh more: for Bennett's bound.
    """

    def __init__(self, curve: Curve, *, least_tail: float = 0.0) -> None:
        """Read a curve; tails below `least_tail` count as that."""
        runs = list(curve.runs())
        high = np.repeat([run.high for run in runs], [run.tail.size for run in runs])
        tail = np.maximum(np.concatenate([run.tail for run in runs]), least_tail)
        count = np.concatenate([np.broadcast_to(run.count, run.tail.shape) for run in runs])
        group: IntArray = np.arange(tail.size)
        unit: FloatArray = np.ones(tail.size)
        self.heaviest = 1.0
        if runs[0].square is not None and not np.array_equal(curve.square, curve.count):
            group, count, unit = _by_weight(curve)
            self.heaviest = float(np.sqrt(curve.square.max()))
        open_ = (tail[group] > 0.0) & (count > 0.0)  # the others cannot vary
        group = group[open_]
        self.high: BoolArray = high[group]
        self.tail: FloatArray = tail[group]
        self.unit: FloatArray = unit[open_]
        self.rows: FloatArray = count[open_] / self.unit
        self.group: IntArray = np.cumsum(np.diff(group, prepend=group[:1]) > 0)

    @property
    def effective(self) -> float:
        """The variance in units of the heaviest row's squared weight."""
        return float(self.variance.sum()) / float(self.unit.max()) ** 2

    @cached_property
    def variance(self) -> FloatArray:
        """The variance of the steps, (m,)."""
        return self.rows * self.unit**2 * self.tail * (1.0 - self.tail)

    @cached_property
    def walk(self) -> _Walk:
        """The way of drawing that suits the curve."""
        few = float(-(self.rows * np.log1p(-self.tail)).sum()) <= _MAX_EVENTS_TO_PLACE
        return _FewSurprises(self) if few else _ManySteps(self)

    def pvalue(
        self,
        observed: float,
        *,
        kuiper: bool,
        random_state: int,
        enough: int = 50,
        most: int = 10_000,
    ) -> tuple[float, float]:
        """Return how often a draw reaches `observed` (N times the error), and the draws' mean.

        Draws come in batches, each twice the one before, and stop once `enough` of them have
        reached it or at `most`.
        """
        rng = np.random.default_rng(random_state)
        reached = draws = 0
        total, batch = 0.0, 100 * ((enough + 11) // 12)
        threshold = observed * (1.0 - 1e-9)  # a draw of the same hits may round differently
        while draws < most and reached < enough:
            values = self.walk.draw(rng, batch).statistic(kuiper=kuiper)
            reached += int((values >= threshold).sum())
            draws += batch
            total += float(values.sum())
            batch = min(2 * batch, 4000)
        return (1 + reached) / (1 + draws), total / draws

    def bound(self, observed: float) -> float:
        """Return Bennett's bound of P(N KS >= observed), in Freedman's form for walks.

        2 exp(−(x / b) ((1 + 1/t) log(1 + t) − 1)) with t = b x / v, v the variance and b the
        largest weight.
        """
        v, b = float(self.variance.sum()), self.heaviest
        t = b * observed / v if v > 0.0 else inf
        if t == 0.0:
            return 1.0
        return min(2.0 * exp(-observed / b * ((1.0 + 1.0 / t) * log1p(t) - 1.0)), 1.0)


def _by_weight(curve: Curve) -> tuple[IntArray, FloatArray, FloatArray]:
    """Return rows of equal weight, as the module's docstring says: group, total weight, weight.

    Each group has four entries: the heavy row and the rest, of its misses and of its hits.
    """
    total = np.stack([curve.count - curve.hits, curve.hits], 1)
    square = np.stack([curve.square - curve.square_hits, curve.square_hits], 1)
    some = (total > 0.0) & (square > 0.0)  # differences of sums may leave rounding errors
    total, square = np.where(some, total, 0.0), np.where(some, square, 0.0)
    unit = np.divide(square, total, out=np.zeros_like(total), where=some)
    order = np.argsort(unit[some])
    below = np.cumsum((total[some] / unit[some])[order])
    typical = float(unit[some][order][np.searchsorted(below, below[-1] / 2)])
    excess = square - typical * total
    heavy = 0.5 * (typical + np.sqrt(typical**2 + 4.0 * np.maximum(excess, 0.0)))
    split = some & (excess > 0.0)
    first = np.where(split, np.minimum(heavy, total), total)
    rest = np.where(split & (total - first > _ROUNDING * total), total - first, 0.0)
    count = np.stack([first, rest], 2).reshape(-1)
    weight = np.stack([np.where(split, first, unit), np.full(unit.shape, typical)], 2).reshape(-1)
    return np.repeat(np.arange(curve.count.size), 4), count, weight


def summed(values: FloatArray, at: IntArray, size: int) -> FloatArray:
    """Add up the values that go to each of `size` places."""
    return np.bincount(at, values, size).astype(np.float64)


class _Events:
    """Unlikely outcomes as events of a Poisson process, exact for rows of any tail."""

    def __init__(self, null: Null, chosen: BoolArray | slice) -> None:
        self.hazard: FloatArray = -np.log1p(-null.tail[chosen])  # of one row of the entry
        rows = null.rows[chosen]
        self.time: FloatArray = np.concatenate([[0.0], np.cumsum(rows * self.hazard)])
        self.jump: FloatArray = np.where(null.high, -1.0, 1.0)[chosen] * null.unit[chosen]

    def draw(self, rng: np.random.Generator, draws: int) -> tuple[IntArray, FloatArray]:
        """Return the entry of each event in order of time, (draws, events), and its jump.

        Draws have different numbers of events: the rest have the last entry and no jump.
        """
        events = rng.poisson(self.time[-1], draws)
        width = max(int(events.max()), 1)
        when = rng.random((draws, width)) * self.time[-1]
        real = np.arange(width) < events[:, None]
        when[~real] = np.inf
        when.sort(axis=1)
        entry = np.minimum(np.searchsorted(self.time, when, side="right"), self.hazard.size) - 1
        row = np.floor((np.where(real, when, 0.0) - self.time[entry]) / self.hazard[entry])
        again = np.zeros(real.shape, dtype=np.bool_)  # a second event of the same row
        again[:, 1:] = (entry[:, 1:] == entry[:, :-1]) & (row[:, 1:] == row[:, :-1])
        return entry, np.where(real & ~again, self.jump[entry], 0.0)


class _FewSurprises:
    """Draws every unlikely outcome by itself."""

    def __init__(self, null: Null) -> None:
        self.events = _Events(null, slice(None))
        self.group = null.group
        # N times the gap at the end of each group if every outcome is the likely one; the
        # first entry is the start.
        steps = np.where(null.high, 1.0, -1.0) * null.rows * null.unit * null.tail
        self.drift: FloatArray = np.concatenate([[0.0], np.cumsum(np.bincount(self.group, steps))])
        middle = int(np.searchsorted(null.high, True))
        self.middle = int(self.group[middle]) if middle < self.group.size else self.drift.size - 1

    def draw(self, rng: np.random.Generator, draws: int) -> Extremes:
        entry, jump = self.events.draw(rng, draws)
        return self._extremes(self.group[entry], jump)

    def _extremes(self, group: IntArray, jump: FloatArray) -> Extremes:
        """Read the walk next to each event, at ½, at the end and at the start."""
        after = np.cumsum(jump, axis=1)
        edge = np.ones(group.shape, dtype=np.bool_)
        edge[:, 1:] = group[:, 1:] != group[:, :-1]
        # Before the first event of a group, at the end of the group before it.
        before = np.where(edge, self.drift[group] + after - jump, 0.0)
        last = np.ones(group.shape, dtype=np.bool_)
        last[:, :-1] = edge[:, 1:]
        behind = np.where(last, self.drift[group + 1] + after, 0.0)
        half = self.drift[self.middle] + np.where(group < self.middle, jump, 0.0).sum(axis=1)
        end = self.drift[-1] + after[:, -1]
        points = np.concatenate([before, behind, half[:, None], end[:, None]], axis=1)
        return Extremes(np.minimum(points.min(axis=1), 0.0), np.maximum(points.max(axis=1), 0.0))


class _ManySteps:
    """Draws a walk of at most about 1,500 steps."""

    def __init__(self, null: Null) -> None:
        total = float(null.variance.sum())
        share = np.bincount(null.group, null.variance) / total
        alone = share >= CELL
        # A new cell where a lone group is, after one, and where lumped rows fill a cell.
        filled = np.floor(np.cumsum(np.where(alone, 0.0, share)) / CELL)
        new = np.ones(share.size, dtype=np.bool_)
        new[1:] = alone[1:] | alone[:-1] | (filled[1:] != filled[:-1])
        self.lumped: BoolArray = ~alone[new]
        cell = (np.cumsum(new) - 1)[null.group]  # of each entry
        lone, spread = alone[null.group], null.rows * null.tail * (1.0 - null.tail)
        coins = lone & (spread < _MIN_VARIANCE_FOR_NORMAL)
        jumps = ~lone & (null.unit**2 * _MAX_EVENTS_TO_PLACE >= total)
        normal = np.where(coins | jumps, 0.0, null.variance)
        self.variance = summed(normal, cell, self.lumped.size)
        self.coin_cell = cell[coins]
        self.rows = np.maximum(np.rint(null.rows[coins]), 1.0).astype(np.int64)
        self.tail: FloatArray = null.tail[coins]
        sign = np.where(null.high, -1.0, 1.0)
        # The effective number of rows is rounded; their weight corrects the variance for it.
        self.unit: FloatArray = (sign * null.unit)[coins] * np.sqrt(null.rows[coins] / self.rows)
        self.events = _Events(null, jumps) if jumps.any() else None
        self.jump_cell = cell[jumps]
        mean = np.where(jumps, sign * null.rows * null.unit * null.tail, 0.0)
        self.drift = -summed(mean, cell, self.lumped.size)

    def draw(self, rng: np.random.Generator, draws: int) -> Extremes:
        parts = [self._draw(rng, 100) for _ in range(draws // 100)]
        return Extremes(*(np.concatenate(side) for side in zip(*parts, strict=True)))

    def _steps(self, rng: np.random.Generator, draws: int) -> tuple[FloatArray, FloatArray]:
        """Return the steps of the cells, (draws, cells): by coins and events, and normal ones."""
        sudden = np.zeros((self.variance.size, draws)) + self.drift[:, None]
        if self.coin_cell.size:
            # Entry by entry: NumPy reuses the setup of a binomial with the same parameters.
            each = (self.rows[:, None], self.tail[:, None], (self.rows.size, draws))
            hits = rng.binomial(*each) - (self.rows * self.tail)[:, None]
            start = np.flatnonzero(np.diff(self.coin_cell, prepend=-1))
            sudden[self.coin_cell[start]] += np.add.reduceat(
                self.unit[:, None] * hits, start, axis=0
            )
        if self.events is not None:
            entry, jump = self.events.draw(rng, draws)
            np.add.at(sudden, (self.jump_cell[entry], np.arange(draws)[:, None]), jump)
        smooth = rng.standard_normal((draws, self.variance.size)) * np.sqrt(self.variance)
        return sudden.T, smooth

    def _draw(self, rng: np.random.Generator, draws: int) -> tuple[FloatArray, FloatArray]:
        """Return the lowest and the highest point; sudden steps come first in their cell."""
        sudden, steps = self._steps(rng, draws)
        right = np.cumsum(sudden + steps, axis=1)
        low, high = np.minimum(right.min(axis=1), 0.0), np.maximum(right.max(axis=1), 0.0)
        if self.lumped.any():
            step, end = steps[:, self.lumped], right[:, self.lumped]
            middle = end - 0.5 * step
            room = 2.0 * self.variance[self.lumped]
            for side, best in ((1.0, np.maximum), (-1.0, np.minimum)):
                reach = np.sqrt(step * step + room * rng.standard_exponential(step.shape))
                inside = middle + 0.5 * side * reach
                if side > 0:
                    high = best(high, inside.max(axis=1))
                else:
                    low = best(low, inside.min(axis=1))
        return low, high
