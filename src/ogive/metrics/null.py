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
score, but no single weight. A group of equal scores, hits and misses together, is drawn as W² / V
rows of weight V / W: they have its total and its variance, whatever the outcomes were. It is exact
for one row and for rows of equal weight.

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
    """The null of a curve: rows of equal weight at each score.

    Attributes
    ----------
    tail, rows, unit : (m,) arrays
        min(p, 1 − p) of each score that can vary, how many rows have it, and the weight of each.
    high : (m,) array
        Whether the score exceeds ½.
    heaviest : float
        No row can weigh more: for Bennett's bound.
    """

    def __init__(self, curve: Curve, *, least_tail: float = 0.0) -> None:
        """Read a curve; tails below `least_tail` count as that."""
        runs = list(curve.runs())
        high = np.repeat([run.high for run in runs], [run.tail.size for run in runs])
        tail = np.maximum(np.concatenate([run.tail for run in runs]), least_tail)
        count = np.concatenate([np.broadcast_to(run.count, run.tail.shape) for run in runs])
        open_ = (tail > 0.0) & (count > 0.0)  # the others cannot vary
        weighted = runs[0].square is not None and not np.array_equal(curve.square, curve.count)
        square = curve.square[open_] if weighted else count[open_]
        self.high: BoolArray = high[open_]
        self.tail: FloatArray = tail[open_]
        self.unit: FloatArray = square / count[open_]
        self.rows: FloatArray = count[open_] / self.unit
        self.heaviest = float(np.sqrt(square.max(initial=0.0))) if weighted else 1.0

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
        # N times the gap at the end of each group if every outcome is the likely one; the
        # first entry is the start.
        steps = np.where(null.high, 1.0, -1.0) * null.rows * null.unit * null.tail
        self.drift: FloatArray = np.concatenate([[0.0], np.cumsum(steps)])
        self.middle = int(np.searchsorted(null.high, True))

    def draw(self, rng: np.random.Generator, draws: int) -> Extremes:
        return self._extremes(*self.events.draw(rng, draws))

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
        share = null.variance / total
        alone = share >= CELL
        # A new cell where a lone group is, after one, and where lumped rows fill a cell.
        filled = np.floor(np.cumsum(np.where(alone, 0.0, share)) / CELL)
        new = np.ones(share.size, dtype=np.bool_)
        new[1:] = alone[1:] | alone[:-1] | (filled[1:] != filled[:-1])
        self.lumped: BoolArray = ~alone[new]
        cell = np.cumsum(new) - 1  # of each score
        spread = null.rows * null.tail * (1.0 - null.tail)
        coins = alone & (spread < _MIN_VARIANCE_FOR_NORMAL)
        jumps = ~alone & (null.unit**2 * _MAX_EVENTS_TO_PLACE >= total)
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
