"""Fitted maps on N scores, and on one: the default spline against scikit-learn's maps."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from sklearn.calibration import _SigmoidCalibration
from sklearn.isotonic import IsotonicRegression

import ogive
from benchmarks import samples
from benchmarks.race import Budget, Race

if TYPE_CHECKING:
    from collections.abc import Iterator

COPY, SIGMOID, ISOTONIC = "memcpy (the limit)", "scikit-learn: sigmoid", "scikit-learn: isotonic"
SPLINE = "ogive: spline"


def races() -> Iterator[Race]:
    """Yield a race for each N, and one for a single score."""
    for n in (1, 10**4, 10**5, 10**6, 10**7):
        yield _race(n)


def _race(n: int) -> Race:
    fitted_on = samples.scores(25_000)
    curve = ogive.Curve.from_scores(*fitted_on)
    gamma, platt = ogive.fit_spline(curve), ogive.fit_platt(curve)
    isotonic = IsotonicRegression(out_of_bounds="clip").fit(*fitted_on)
    scores = samples.scores(max(n, 10))[0][:n]
    log_odds = _log_odds(scores)
    sigmoid = _SigmoidCalibration().fit(_log_odds(fitted_on[0]), fitted_on[1])
    copy = np.empty_like(scores)

    def check(entry: str, result: object) -> None:
        if entry != COPY:
            assert np.abs(np.asarray(result) - gamma(scores)).mean() < 0.06, entry

    budgets = {
        1: (Budget(SPLINE, seconds=30e-6),),
        10**6: (Budget(SPLINE, SIGMOID, most=1.5), Budget(SPLINE, ISOTONIC, faster=1)),
    }
    return Race(
        "apply",
        f"Maps applied to {n:,} score{'s' * (n > 1)}",
        {
            COPY: lambda: np.copyto(copy, scores),
            SIGMOID: lambda: sigmoid.predict(log_odds),
            ISOTONIC: lambda: isotonic.predict(scores),
            SPLINE: lambda: gamma(scores),
            "ogive: spline, from log-odds": lambda: gamma.from_log_odds(log_odds),
            "ogive: platt": lambda: platt(scores),
        },
        budgets.get(n, ()),
        check,
        size=n if n > 1 else 0,
    )


def _log_odds(scores: np.ndarray) -> np.ndarray:
    tail = np.maximum(1.0 - scores, 2.0**-53)
    return np.log(scores) - np.log(tail)
