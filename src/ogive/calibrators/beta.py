r"""Beta calibration (Kull, Silva Filho and Flach, AISTATS 2017).

If the scores of both classes have beta distributions, the calibrated probability is

.. math:: \gamma = \mathrm{sigmoid}(c + a \log p - b \log(1 - p)), \qquad a, b \ge 0 ,

a logistic regression on two columns. Where it gives a negative a or b, that one is set to 0 and
the other fitted again. With a = b it is Platt's method in the log-odds.

Both columns come from the log-odds, so they do not saturate: log p = −softplus(−η) and
−log(1 − p) = softplus(η).
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ogive._numerics.logistic import LogisticFit, expit, logistic_fit, same_score
from ogive.calibrators.log_odds import LogOddsMap, places
from ogive.calibrators.platt import fit_platt, no_slope_reason, shifted, smoothed_hits
from ogive.errors import FallbackWarning

if TYPE_CHECKING:
    from ogive._typing import FloatArray
    from ogive.curve import Curve


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class BetaMap(LogOddsMap):
    """sigmoid(c + a log p − b log(1 − p))."""

    method = "beta"

    a: float
    b: float
    c: float

    def _of_log_odds(self, eta: FloatArray) -> FloatArray:
        return _formula(eta, self.a, self.b, self.c)


def fit_beta(curve: Curve) -> BetaMap:
    """Fit beta calibration to a curve, by maximum likelihood.

    With one class or fewer than three scores it falls back to Platt's method (a = b), and where
    the scores separate the classes to Platt's targets, each time with a `FallbackWarning`.

    >>> from ogive import Curve
    >>> calibrator = fit_beta(Curve.from_scores([0.1, 0.3, 0.4, 0.6, 0.9], [0, 1, 0, 0, 1]))
    >>> calibrator([0.2, 0.5, 0.8]).round(3)
    array([0.2  , 0.347, 0.698])
    """
    reason = no_slope_reason(curve)
    if not reason and not _has_three_scores(curve.log_odds):
        reason = "the curve has two scores"
    if reason:
        _warn(f"{reason}, and 'beta' needs more: 'platt' is fitted instead.")
        platt = shifted(curve) if no_slope_reason(curve) else fit_platt(curve)
        if platt.slope < 0:  # beta never falls
            return _map(curve, 0.0, 0.0, _constant(curve, smoothed_hits(curve)))
        return _map(curve, platt.slope, platt.slope, platt.intercept)
    hits = curve.hits
    if _separated(curve):
        _warn(
            "the scores separate the outcomes 0 and 1, so the likelihood has no "
            "maximum: 'beta' is fitted to Platt's targets."
        )
        hits = smoothed_hits(curve)
    return _map(curve, *_constrained(curve, hits))


def _has_three_scores(eta: FloatArray) -> bool:
    """Whether some log-odds differ, beyond rounding, from both the first and the last."""
    first, last = float(eta[0]), float(eta[-1])
    near = same_score(first, last)
    return bool(((eta - first > near) & (last - eta > near)).any())


def _warn(message: str) -> None:
    warnings.warn(message, FallbackWarning, stacklevel=3)


def _separated(curve: Curve) -> bool:
    """Whether no miss has a higher score than any hit."""
    last_miss = int(np.flatnonzero(curve.hits < curve.count)[-1])
    first_hit = int(np.flatnonzero(curve.hits)[0])
    return last_miss <= first_hit


def _columns(eta: FloatArray) -> FloatArray:
    """Return log p and −log(1 − p), (m, 2)."""
    return np.stack([-np.logaddexp(0.0, -eta), np.logaddexp(0.0, eta)], axis=1)


def _constrained(curve: Curve, hits: FloatArray) -> tuple[float, float, float]:
    """Return the best a, b >= 0 and c.

    The likelihood is concave: if the free a is negative and b is not, the best a is 0.
    If both are, it is the better of the two; and if that is negative too, a constant.
    """
    X = _columns(curve.log_odds)
    free = logistic_fit(X, curve.count, hits)
    if (free.slopes >= 0).all():
        return float(free.slopes[0]), float(free.slopes[1]), free.intercept
    singles = [(k, logistic_fit(X[:, [k]], curve.count, hits)) for k in (0, 1)]
    allowed = [
        (fit.loss, k, fit) for k, fit in singles if free.slopes[1 - k] < 0 and fit.slopes[0] >= 0
    ]
    if not allowed:
        return 0.0, 0.0, _constant(curve, hits)
    return _single(*min(allowed, key=lambda entry: entry[0])[1:])


def _constant(curve: Curve, hits: FloatArray) -> float:
    """Return the log-odds of the share of outcomes that are 1."""
    share = float(hits.sum()) / float(curve.n)
    return float(np.log(share) - np.log1p(-share))


def _single(column: int, fit: LogisticFit) -> tuple[float, float, float]:
    """Return a, b, c of a fit to one of the columns."""
    slope = float(fit.slopes[0])
    return (slope, 0.0, fit.intercept) if column == 0 else (0.0, slope, fit.intercept)


def _formula(eta: FloatArray, a: float, b: float, c: float) -> FloatArray:
    return expit(c - a * np.logaddexp(0.0, -eta) + b * np.logaddexp(0.0, eta))


def _map(curve: Curve, a: float, b: float, c: float) -> BetaMap:
    ends = places(curve, lambda eta: _formula(eta, a, b, c))
    return BetaMap(view=curve.view, n=curve.n, a=a, b=b, c=c, **ends)
