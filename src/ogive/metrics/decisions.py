r"""What decisions cost: expected cost, net benefit (decision curve) and the cost curve.

**The rule** is to act on a row if its score is at least a threshold t: ``score >= t``. A *miss* is
a row with outcome 1 that is not acted on, an *alarm* a row with outcome 0 that is. With costs M of
a miss and A of an alarm, acting on a row of probability p costs (1 − p) A and leaving it costs p M,
so that for calibrated scores the best threshold is

.. math:: t = \frac{A}{M + A} .

With FN, FP, TP the shares of misses, alarms and hits among all N rows (weighted):

.. math::
    \text{expected cost} = M\,FN + A\,FP, \qquad
    \text{net benefit}(t) = TP - FP\,\frac{t}{1 - t} .

The cost curve (Drummond and Holte 2006) is the expected cost over its largest possible value,
against x = π M / (π M + (1 − π) A), the share of that value that misses have at base rate π:

.. math:: \frac{FN}{\pi}\, x + \frac{FP}{1 - \pi}\,(1 - x) .

All are read off a curve, in one pass over its distinct scores. Thresholds that are found lie
halfway between two distinct scores, so that equal scores are always treated alike.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ogive._html import record_form
from ogive._numerics.mean_interval import Mean, Part, mean_interval
from ogive._numerics.pooling import pool_corners
from ogive._validate import as_floats, as_number
from ogive.curve.curve import as_curve
from ogive.errors import InvalidInput

if TYPE_CHECKING:
    from ogive._numerics.mean_interval import ByCluster
    from ogive._typing import ArrayLike, BoolArray, FloatArray, WeightKind
    from ogive.curve import Curve

#: Points of a decision curve and of a cost curve, unless others are asked for.
GRID = 99
#: Costs between these, or 0: the squares of others could overflow, or vanish.
LEAST_COST, LARGEST_COST = 1e-100, 1e100


@dataclass(frozen=True, slots=True)
class ExpectedCost:
    """The mean cost of acting where the score is at least a threshold.

    Attributes
    ----------
    value, low, high : float
        Cost per row, with its 95 % interval.
    threshold : float
    acted : float
        The share of rows that are acted on.
    """

    value: float
    low: float
    high: float
    threshold: float
    acted: float

    _repr_html_ = record_form


@dataclass(frozen=True, slots=True, eq=False)
class NetBenefit:
    """A decision curve, (g,) arrays.

    Attributes
    ----------
    threshold : array
    value, low, high : array
        Net benefit of acting where the score is at least the threshold, and its pointwise 95 %
        interval.
    treat_all : array
        Net benefit of acting on every row; that of acting on none is 0.
    avoided : array
        Net interventions avoided per row, compared with acting on all; NaN at threshold 0.
    """

    threshold: FloatArray
    value: FloatArray
    low: FloatArray
    high: FloatArray
    treat_all: FloatArray
    avoided: FloatArray

    _repr_html_ = record_form


@dataclass(frozen=True, slots=True, eq=False)
class CostCurve:
    """A cost curve, (g,) arrays; acting on all rows costs 1 − x, on none x.

    Attributes
    ----------
    x : array
        The share of misses in the largest possible cost ("probability cost").
    value, low, high : array
        Normalised cost of acting at the threshold that is best for calibrated scores, and its
        pointwise 95 % interval.
    best : array
        The lowest that any threshold has on these very rows: the lower envelope.
    threshold : array
        The threshold of `value`.
    """

    x: FloatArray
    value: FloatArray
    low: FloatArray
    high: FloatArray
    best: FloatArray
    threshold: FloatArray

    _repr_html_ = record_form


def expected_cost(
    curve: Curve | ArrayLike,
    outcomes: ArrayLike | None = None,
    *,
    miss: float,
    alarm: float,
    threshold: float | None = None,
    sample_weight: ArrayLike | None = None,
    weight_kind: WeightKind = "repetition",
) -> ExpectedCost:
    """Return the mean cost of acting on rows whose score is at least a threshold.

    Parameters
    ----------
    curve : Curve, or array-like (N,)
        A curve, or scores in [0, 1] with their `outcomes`.
    miss, alarm : float
        Costs of an outcome 1 that is not acted on, and of an outcome 0 that is.
    threshold : float, optional
        Default: the one that is best for calibrated scores, alarm / (miss + alarm).

    >>> found = expected_cost([0.9, 0.6, 0.3, 0.1], [1, 0, 1, 0], miss=5, alarm=1, threshold=0.5)
    >>> found.value, found.acted
    (1.5, 0.5)
    """
    given = as_curve(curve, outcomes, sample_weight=sample_weight, weight_kind=weight_kind)
    curve = given.as_independent()
    miss, alarm = check_costs(miss, alarm)
    at = alarm / (miss + alarm) if threshold is None else _threshold(threshold)
    cells = cells_at(curve, np.array([at]))
    value, low, high = (float(x[0]) for x in cells.cost(miss, alarm))
    acted = float((cells.hit.weight + cells.alarm.weight)[0]) / float(curve.n)
    return ExpectedCost(value, low, high, at, acted)


def best_threshold(
    curve: Curve | ArrayLike,
    outcomes: ArrayLike | None = None,
    *,
    miss: float,
    alarm: float,
    sample_weight: ArrayLike | None = None,
    weight_kind: WeightKind = "repetition",
) -> float:
    """Return the threshold with the lowest cost on these rows, for scores of any scale.

    It lies halfway between two distinct scores; of equally good ones it is the one nearest to
    alarm / (miss + alarm). It is 0 where acting on all rows is best, and above all scores where
    acting on none is. The cost of these rows at it is too low, since it was chosen on them.

    >>> best_threshold([0.9, 0.6, 0.3, 0.1], [1, 0, 1, 0], miss=5, alarm=1)
    0.2
    """
    given = as_curve(curve, outcomes, sample_weight=sample_weight, weight_kind=weight_kind)
    curve = given.as_independent()
    miss, alarm = check_costs(miss, alarm)
    at = cuts(curve.score)
    cells = cells_at(curve, at)
    cost = miss * cells.miss.weight + alarm * cells.alarm.weight
    # Sums of weights are rounded: costs within a rounding are equal.
    ties = np.flatnonzero(cost <= cost.min() + 1e-12 * cost.max())
    return float(at[ties[np.abs(at[ties] - alarm / (miss + alarm)).argmin()]])


def net_benefit(
    curve: Curve | ArrayLike,
    outcomes: ArrayLike | None = None,
    thresholds: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
    weight_kind: WeightKind = "repetition",
) -> NetBenefit:
    """Return the net benefit of acting on scores at thresholds: the decision curve.

    Parameters
    ----------
    curve : Curve, or array-like (N,)
        A curve, or scores in [0, 1] with their `outcomes`.
    thresholds : array-like, (g,), optional
        In [0, 1). Default: 0.01 to 0.99.

    References
    ----------
    Vickers, Elkin (2006), Decision curve analysis.

    >>> found = net_benefit([0.9, 0.6, 0.3, 0.1], [1, 0, 1, 0], [0.5])
    >>> found.value, found.treat_all, found.avoided
    (array([0.]), array([0.]), array([0.]))
    """
    given = as_curve(curve, outcomes, sample_weight=sample_weight, weight_kind=weight_kind)
    curve = given.as_independent()
    t = _grid(thresholds, "thresholds")
    odds = t / (1.0 - t)
    cells, n = cells_at(curve, t), float(curve.n)
    parts = [(1.0, cells.hit.part(1.0)), (-1.0, cells.alarm.part(odds))]
    value, low, high = mean_interval(parts, n, float(curve.effective_n))
    rate = float(curve.total_hits) / n
    everyone = rate - odds * (1.0 - rate)
    with np.errstate(invalid="ignore", divide="ignore"):
        avoided = np.where(odds > 0.0, (value - everyone) / odds, np.nan)
    return NetBenefit(t, value, low, high, everyone, avoided)


def cost_curve(
    curve: Curve | ArrayLike,
    outcomes: ArrayLike | None = None,
    x: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
    weight_kind: WeightKind = "repetition",
) -> CostCurve:
    """Return the normalised cost of acting on scores, for every ratio of costs.

    Parameters
    ----------
    curve : Curve, or array-like (N,)
        A curve, or scores in [0, 1] with their `outcomes`; both outcomes must occur.
    x : array-like, (g,), optional
        In [0, 1). Default: 0.01 to 0.99.

    References
    ----------
    Drummond, Holte (2006), Cost curves: an improved method for visualizing classifier performance.

    >>> found = cost_curve([0.9, 0.6, 0.3, 0.1], [1, 0, 1, 0], [0.5])
    >>> found.value, found.best, found.threshold
    (array([0.5]), array([0.25]), array([0.5]))
    """
    given = as_curve(curve, outcomes, sample_weight=sample_weight, weight_kind=weight_kind)
    curve = given.as_independent()
    check_two_outcomes(curve)
    at, n, ones = _grid(x, "x"), float(curve.n), float(curve.total_hits)
    rate = ones / n
    t = rate * (1.0 - at) / (rate * (1.0 - at) + (1.0 - rate) * at)
    cells = cells_at(curve, t)
    value, low, high = _of_classes(curve, cells.miss.part(at), cells.alarm.part(1.0 - at))
    best = _envelope(curve, at)
    return CostCurve(at, value, np.maximum(low, 0.0), np.minimum(high, 1.0), best, t)


def _of_classes(curve: Curve, misses: Part, alarms: Part) -> tuple[FloatArray, ...]:
    """Return the sum of means over the rows of each outcome, which are independent of another."""
    ones, square = float(curve.total_hits), float(curve.square_hits.sum())
    zeros, rest = float(curve.n) - ones, float(curve.square.sum()) - square
    a = mean_interval([(1.0, misses)], ones, ones**2 / square)
    b = mean_interval([(1.0, alarms)], zeros, zeros**2 / rest)
    value = a.value + b.value
    low = value - np.hypot(a.value - a.low, b.value - b.low)
    return value, low, value + np.hypot(a.high - a.value, b.high - b.value)


def _envelope(curve: Curve, x: FloatArray) -> FloatArray:
    """Return the lowest normalised cost of any threshold, (g,): corners of the hull of the ROC.

    The corners are the pools of the isotonic regression of outcomes on scores, found in one pass.
    """
    starts = pool_corners(curve.count, curve.hits)[:-1]
    n, ones = float(curve.n), float(curve.total_hits)
    below = np.concatenate([[0.0], np.add.reduceat(curve.hits, starts).cumsum()]) / ones
    rest = np.add.reduceat(curve.count - curve.hits, starts)
    above = np.concatenate([rest[::-1].cumsum()[::-1], [0.0]]) / (n - ones)
    best: FloatArray = np.min(below * x[:, None] + above * (1.0 - x[:, None]), axis=1)
    return best


class Cell(NamedTuple):
    """Rows of one outcome on one side of thresholds: sums of weights and of their squares, (t,)."""

    weight: FloatArray
    square: FloatArray

    def part(self, size: ArrayLike) -> Part:
        """Return what the rows add to a mean if each adds `size`."""
        size = np.asarray(size, dtype=np.float64)
        return Part(self.weight * size, self.square * size**2, size)


class Cells(NamedTuple):
    """Hits, alarms and misses at thresholds, and how many rows there are."""

    hit: Cell
    alarm: Cell
    miss: Cell
    n: float
    effective_n: float

    def cost(
        self, miss: float, alarm: float, noise: float = 0.0, clusters: ByCluster | None = None
    ) -> Mean:
        """Return the mean cost and its interval, (t,) each."""
        parts = [(1.0, self.miss.part(miss)), (1.0, self.alarm.part(alarm))]
        return mean_interval(parts, self.n, self.effective_n, noise, clusters)


def cells_at(curve: Curve, thresholds: FloatArray) -> Cells:
    """Return the rows with a score >= each threshold, and the misses below, by outcome."""
    at = np.searchsorted(curve.score, thresholds, side="left")
    hit = _beyond(curve.hits, at), _beyond(curve.square_hits, at)
    alarm = (
        _beyond(curve.count - curve.hits, at),
        _beyond(curve.square - curve.square_hits, at),
    )
    miss = _before(curve.hits, at), _before(curve.square_hits, at)
    return Cells(Cell(*hit), Cell(*alarm), Cell(*miss), float(curve.n), float(curve.effective_n))


def _beyond(column: FloatArray, at: Any) -> FloatArray:  # noqa: ANN401 - indices
    """Return the sum of a column from each index on."""
    sums = np.concatenate([np.cumsum(column[::-1])[::-1], [0.0]])
    found: FloatArray = np.maximum(sums, 0.0)[at]
    return found


def _before(column: FloatArray, at: Any) -> FloatArray:  # noqa: ANN401 - indices
    """Return the sum of a column before each index."""
    found: FloatArray = np.concatenate([[0.0], np.cumsum(column)])[at]
    return found


def cuts(scores: FloatArray) -> FloatArray:
    """Return all thresholds that differ: 0, halfway between distinct scores, above the last.

    >>> cuts(np.array([0.2, 0.4, 0.4, 1.0]))
    array([0. , 0.3, 0.7, 1. ])
    """
    s = np.unique(scores)
    middle = s[:-1] + 0.5 * (s[1:] - s[:-1])
    middle = np.where(middle > s[:-1], middle, s[1:])  # neighbours in float64: the upper one
    return np.concatenate([[0.0], middle, [np.nextafter(s[-1], 2.0)]])


def is_cost(costs: FloatArray) -> BoolArray:
    """Return which numbers are costs: not negative, and finite also when squared."""
    fine: BoolArray = (costs == 0.0) | ((costs >= LEAST_COST) & (costs <= LARGEST_COST))
    return fine


def check_costs(miss: object, alarm: object) -> tuple[float, float]:
    """Return two costs: finite, not negative, and not both 0."""
    found = []
    for name, value in (("miss", miss), ("alarm", alarm)):
        cost = as_number(value, name)
        if not is_cost(np.array(cost)).all():
            msg = f"`{name}` must be a finite cost >= 0, not {cost:g}: 0, or from 1e-100 to 1e100."
            raise InvalidInput(msg)
        found.append(cost)
    if not any(found):
        msg = "`miss` and `alarm` are both 0, so that every decision costs the same. Give one > 0."
        raise InvalidInput(msg)
    return found[0], found[1]


def check_two_outcomes(curve: Curve) -> None:
    """Refuse rows of which all have the same outcome."""
    if not 0.0 < float(curve.total_hits) < float(curve.n):
        which = "1" if curve.total_hits else "0"
        msg = (
            f"all {curve.n:,} outcomes are {which}: costs of misses and alarms can be weighed only "
            "where both outcomes occur. Give rows of both."
        )
        raise InvalidInput(msg)


def _threshold(value: float) -> float:
    found = float(value)
    if not 0.0 <= found <= np.nextafter(1.0, 2.0):
        msg = f"`threshold` must lie in [0, 1], not {value!r}."
        raise InvalidInput(msg)
    return found


def _grid(values: ArrayLike | None, name: str) -> FloatArray:
    """Return points in [0, 1)."""
    if values is None:
        return np.arange(1, GRID + 1) / (GRID + 1.0)
    points = as_floats(np.atleast_1d(values), name, ndim=(1,)).astype(np.float64)
    if not (points.min() >= 0.0 and points.max() < 1.0):
        msg = (
            f"`{name}` must lie in [0, 1), but one is {points[~((points >= 0) & (points < 1))][0]}."
        )
        raise InvalidInput(msg)
    return points
