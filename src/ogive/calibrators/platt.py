r"""Platt's method: a logistic curve in the log-odds of the score.

.. math:: \gamma = \mathrm{sigmoid}(a + b \eta), \qquad \eta = \log\frac{p}{1 - p} .

a and b maximise the likelihood of Platt's targets (1999): with P hits and M misses, a hit counts
as (P + 1)/(P + 2) of one and a miss as 1/(M + 2). It is as if each class had been seen twice
more, once on either side; the fit then exists even where the scores separate the two classes.

Unlike Platt's (and scikit-learn's, where a model has no decision function) the abscissa is the
log-odds, not the score: a = 0, b = 1 leaves the scores as they are.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ogive._numerics.logistic import expit, intercept_for_share, logistic_fit, same_score
from ogive.calibrators.log_odds import LogOddsMap, places
from ogive.errors import FallbackWarning

if TYPE_CHECKING:
    from ogive._numerics.binomial import Trials
    from ogive._typing import FloatArray
    from ogive.curve import Curve


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class PlattMap(LogOddsMap):
    """sigmoid(intercept + slope * log-odds)."""

    method = "platt"

    intercept: float
    slope: float

    def _of_log_odds(self, eta: FloatArray) -> FloatArray:
        return expit(self.intercept + self.slope * eta)


def fit_platt(curve: Curve) -> PlattMap:
    """Fit Platt's method to a curve.

    If all outcomes, or all scores (up to rounding), are equal, the slope cannot be estimated:
    it stays 1, the scores are shifted to the right mean, and a `FallbackWarning` says so.

    >>> from ogive import Curve
    >>> calibrator = fit_platt(Curve.from_scores([0.1, 0.4, 0.6, 0.9], [0, 1, 0, 1]))
    >>> calibrator([0.2, 0.5, 0.8]).round(3)
    array([0.372, 0.5  , 0.628])
    """
    reason = no_slope_reason(curve)
    if reason:
        warnings.warn(
            f"{reason}, so 'platt' cannot fit a slope: the scores are only shifted.",
            FallbackWarning,
            stacklevel=2,
        )
        return shifted(curve)
    return _map(curve, *_line(curve.log_odds, curve.count, smoothed_hits(curve)))


def platt_line(trials: Trials, near: tuple[float, float] | None = None) -> tuple[float, float]:
    """Return the intercept and the slope that `fit_platt` gives to trials, without a warning.

    near : the intercept and the slope of a line from which the search may start
    """
    eta, count = trials.offset, trials.count
    hits = float(trials.hits.sum())
    misses = float(count.sum()) - hits
    targets = _targets(trials.hits, count, hits, misses)
    first, last = float(eta[0]), float(eta[-1])
    if min(hits, misses) > 0 and last - first > same_score(first, last):
        return _line(eta, count, targets, near)
    return intercept_for_share(eta, count, float(targets.sum()) / float(count.sum())), 1.0


def _line(
    eta: FloatArray,
    count: FloatArray,
    targets: FloatArray,
    near: tuple[float, float] | None = None,
) -> tuple[float, float]:
    start = None if near is None else (near[0], np.array(near[1:]))
    fit = logistic_fit(eta[:, None], count, targets, start)
    return fit.intercept, float(fit.slopes[0])


def has_one_outcome(curve: Curve) -> bool:
    """Return whether all outcomes of a curve are equal."""
    return curve.total_hits in {0.0, float(curve.n)}


def no_slope_reason(curve: Curve) -> str:
    """Return why a curve has no slope to fit, as text; empty if it has one."""
    if has_one_outcome(curve):
        return "all outcomes of the curve are " + ("1" if curve.total_hits else "0")
    first, last = float(curve.log_odds[0]), float(curve.log_odds[-1])
    if last - first <= same_score(first, last):
        return "the curve has a single score" + (", up to rounding" if last > first else "")
    return ""


def smoothed_hits(curve: Curve) -> FloatArray:
    """Return the sum of Platt's targets in each row, (m,).

    P and M are numbers of rows: sampling weights count as Kish's effective size.
    """
    worth = curve.independent_n / curve.n
    hits, misses = worth * curve.total_hits, worth * (curve.n - curve.total_hits)
    return _targets(curve.hits, curve.count, hits, misses)


def _targets(hits: FloatArray, count: FloatArray, P: float, M: float) -> FloatArray:
    return hits * (P + 1.0) / (P + 2.0) + (count - hits) / (M + 2.0)


def shifted(curve: Curve) -> PlattMap:
    """Fit the intercept alone, so that the mean is that of Platt's targets."""
    share = float(smoothed_hits(curve).sum()) / float(curve.n)
    return _map(curve, intercept_for_share(curve.log_odds, curve.count, share), 1.0)


def fall_back(curve: Curve, method: str) -> PlattMap:
    """Return what `method` falls back to on a curve of one class, with a warning."""
    warnings.warn(
        f"{no_slope_reason(curve)}, and {method!r} would predict that with certainty: "
        "'platt' is fitted instead, and the scores are shifted.",
        FallbackWarning,
        stacklevel=3,
    )
    return shifted(curve)


def _map(curve: Curve, intercept: float, slope: float) -> PlattMap:
    def formula(eta: FloatArray) -> FloatArray:
        return expit(intercept + slope * np.asarray(eta))

    ends = places(curve, formula)
    return PlattMap(view=curve.view, n=curve.n, intercept=intercept, slope=slope, **ends)
