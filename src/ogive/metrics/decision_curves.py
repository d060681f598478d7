r"""Decisions at every threshold or ratio of costs: net benefit (decision curve) and cost curve.

The rule and its words are those of `ogive.metrics.decisions`. With FN, FP, TP the shares of misses,
alarms and hits among all N rows (weighted), acting at the threshold t has

.. math:: \text{net benefit}(t) = TP - FP\,\frac{t}{1 - t} .

The cost curve (Drummond and Holte 2006) is the expected cost over its largest possible value,
against x = π M / (π M + (1 − π) A), the share of that value that misses have at base rate π:

.. math:: \frac{FN}{\pi}\, x + \frac{FP}{1 - \pi}\,(1 - x) .
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ogive._html import record_form
from ogive._numerics.mean_interval import Part, mean_interval
from ogive._numerics.pooling import pool_corners
from ogive.curve.curve import as_curve
from ogive.errors import InvalidInput
from ogive.metrics.decisions import cells_at, check_two_outcomes
from ogive.rows.check import as_floats

if TYPE_CHECKING:
    from ogive._typing import ArrayLike, FloatArray, WeightKind
    from ogive.curve import Curve

#: Points of a curve, unless others are asked for.
GRID = 99


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
