r"""What decisions cost, and the threshold that costs least.

**The rule** is to act on a row if its score is at least a threshold t: ``score >= t``. A *miss* is
a row with outcome 1 that is not acted on, an *alarm* a row with outcome 0 that is. With costs M of
a miss and A of an alarm, acting on a row of probability p costs (1 − p) A and leaving it costs p M,
so that for calibrated scores the best threshold is

.. math:: t = \frac{A}{M + A} .

With FN and FP the shares of misses and alarms among all N rows (weighted), the expected cost is
M FN + A FP, read off a curve in one pass over its distinct scores. Thresholds that are found lie
halfway between two distinct scores, so that equal scores are always treated alike.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ogive._html import record_form
from ogive._numerics.mean_interval import Mean, Part, mean_interval
from ogive.curve.curve import as_curve
from ogive.errors import InvalidInput
from ogive.rows.check import as_number

if TYPE_CHECKING:
    from ogive._numerics.mean_interval import ByCluster
    from ogive._typing import ArrayLike, BoolArray, FloatArray, WeightKind
    from ogive.curve import Curve

#: Costs between these, or 0: the squares of others could overflow, or vanish.
LEAST_COST, LARGEST_COST = 1e-100, 1e100
RANGE_OF_COSTS = "0, or from 1e-100 to 1e100"


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
            rule = RANGE_OF_COSTS if cost > 0.0 else "0 or more"
            msg = f"`{name}` must be a cost of {rule}, not {cost:g}."
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
