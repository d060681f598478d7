r"""The null distribution of the gap, simulated where Brownian motion is not a fair picture of it.

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
maximum and minimum are drawn too; inside a group nothing is read.

Draws stop once 50 of them reach the observed value (Besag and Clifford 1991), or at 10,000.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import exp, log1p
from typing import TYPE_CHECKING, Protocol

import numpy as np

if TYPE_CHECKING:
    from ogive._typing import BoolArray, FloatArray
    from ogive.curve import Curve

_FEW_EVENTS = 60.0
#: Groups of equal scores with less than this share of the variance are lumped.
CELL = 1.0 / 500
_NORMAL = 10.0  # a binomial of this variance is taken to be normal


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
    """The null of a curve. Rows of sampling weights that share a score count by their moments.

    A group of total weight W and sum of squares V is W² / V rows of weight V / W each.
    """

    def __init__(self, curve: Curve) -> None:
        runs = list(curve.runs())
        size = [run.tail.size for run in runs]
        tail = np.concatenate([run.tail for run in runs])
        count = np.concatenate([np.broadcast_to(run.count, run.tail.shape) for run in runs])
        square = count
        if runs[0].square is not None:
            square = np.concatenate([run.square for run in runs if run.square is not None])
        open_ = tail > 0.0  # nothing is left to chance in the others
        self.high: BoolArray = np.repeat([run.high for run in runs], size)[open_]
        self.tail: FloatArray = tail[open_]
        self.unit: FloatArray = square[open_] / count[open_]
        self.rows: FloatArray = count[open_] / self.unit

    @cached_property
    def variance(self) -> FloatArray:
        """The variance of each group's step, (groups,)."""
        return self.rows * self.unit**2 * self.tail * (1.0 - self.tail)

    @cached_property
    def walk(self) -> _Walk:
        """The way of drawing that suits the curve."""
        few = float(-(self.rows * np.log1p(-self.tail)).sum()) <= _FEW_EVENTS
        return _FewSurprises(self) if few else _ManySteps(self)

    def pvalue(
        self, observed: float, *, kuiper: bool, seed: int, enough: int = 50, most: int = 10_000
    ) -> tuple[float, float]:
        """Return how often a draw reaches `observed` (N times the error), and the draws' mean.

        Draws come in batches, each twice the one before, and stop once `enough` of them have
        reached it or at `most`.
        """
        rng = np.random.default_rng(seed)
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

        2 exp(−(v / b²) g(b x / v)) with g(t) = (1 + t) log(1 + t) − t, v the variance and b the
        largest weight.
        """
        v, b = float(self.variance.sum()), float(self.unit.max())
        t = b * observed / v
        return min(2.0 * exp(-v / (b * b) * ((1.0 + t) * log1p(t) - t)), 1.0)


class _FewSurprises:
    """Draws unlikely outcomes as events of a Poisson process."""

    def __init__(self, null: Null) -> None:
        sign = np.where(null.high, -1.0, 1.0)
        self.hazard: FloatArray = -np.log1p(-null.tail)  # of one row of the group
        self.time: FloatArray = np.concatenate([[0.0], np.cumsum(null.rows * self.hazard)])
        self.jump: FloatArray = sign * null.unit
        # N times the gap at the end of each group if every outcome is the likely one; the
        # first entry is the start.
        steps = -sign * null.rows * null.unit * null.tail
        self.drift: FloatArray = np.concatenate([[0.0], np.cumsum(steps)])
        self.middle = int(np.searchsorted(null.high, True))

    def draw(self, rng: np.random.Generator, draws: int) -> Extremes:
        events = rng.poisson(self.time[-1], draws)
        width = max(int(events.max()), 1)
        when = rng.random((draws, width)) * self.time[-1]
        real = np.arange(width) < events[:, None]
        when[~real] = np.inf
        when.sort(axis=1)
        group = np.minimum(np.searchsorted(self.time, when, side="right"), self.hazard.size) - 1
        row = np.floor((np.where(real, when, 0.0) - self.time[group]) / self.hazard[group])
        again = np.zeros(real.shape, dtype=np.bool_)  # a second event of the same row
        again[:, 1:] = (group[:, 1:] == group[:, :-1]) & (row[:, 1:] == row[:, :-1])
        jump = np.where(real & ~again, self.jump[group], 0.0)
        return self._extremes(group, jump)

    def _extremes(self, group: FloatArray, jump: FloatArray) -> Extremes:
        """Look next to each event, at ½, at the end and at the start."""
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
        share = null.variance / null.variance.sum()
        alone = share >= CELL
        # A new cell where a lone group is, after one, and where lumped rows fill a cell.
        filled = np.floor(np.cumsum(np.where(alone, 0.0, share)) / CELL)
        new = np.ones(share.size, dtype=np.bool_)
        new[1:] = alone[1:] | alone[:-1] | (filled[1:] != filled[:-1])
        starts = np.flatnonzero(new)
        self.variance: FloatArray = np.add.reduceat(null.variance, starts)
        self.lumped: BoolArray = ~alone[starts]
        spread = null.rows * null.tail * (1.0 - null.tail)
        self.coins: BoolArray = alone[starts] & (spread[starts] < _NORMAL)
        at = starts[self.coins]
        self.rows = np.maximum(np.rint(null.rows[at]), 1.0).astype(np.int64)
        self.tail: FloatArray = null.tail[at]
        self.unit: FloatArray = np.where(null.high[at], -1.0, 1.0) * null.unit[at]

    def draw(self, rng: np.random.Generator, draws: int) -> Extremes:
        parts = [self._draw(rng, 100) for _ in range(draws // 100)]
        return Extremes(*(np.concatenate(side) for side in zip(*parts, strict=True)))

    def _draw(self, rng: np.random.Generator, draws: int) -> tuple[FloatArray, FloatArray]:
        steps = rng.standard_normal((draws, self.variance.size)) * np.sqrt(self.variance)
        if self.coins.any():
            coins = rng.binomial(self.rows, self.tail, (draws, self.rows.size))
            steps[:, self.coins] = self.unit * (coins - self.rows * self.tail)
        right = np.cumsum(steps, axis=1)
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
