"""Fits to N scores: the default spline and the paper's, against the curve and against peers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from sklearn.isotonic import IsotonicRegression

import ogive
from benchmarks import samples
from benchmarks.race import Budget, Race

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

CURVE, SPLINE = "ogive: the curve", "ogive: spline from scores"
VENN_ABERS = "ogive: venn-abers from scores"
ISOTONIC, SPLINECALIB = "scikit-learn: isotonic", "splinecalib"
_NEAR = 0.03  # two good maps of the same scores differ by less on average


def races() -> Iterator[Race]:
    """Yield a race for each N."""
    for n in (5_000, 10**4, 10**5, 10**6, 10**7):
        yield _race(n)


def _race(n: int) -> Race:
    scores, hits = samples.scores(n)
    entries = {
        CURVE: lambda: ogive.Curve.from_scores(scores, hits),
        SPLINE: lambda: ogive.fit_spline(ogive.Curve.from_scores(scores, hits)),
        "ogive: paper's spline from scores": lambda: ogive.fit_paper_spline(
            ogive.Curve.from_scores(scores, hits)
        ),
        "ogive: isotonic from scores": lambda: ogive.fit_isotonic(
            ogive.Curve.from_scores(scores, hits)
        ),
        VENN_ABERS: lambda: ogive.fit_venn_abers(ogive.Curve.from_scores(scores, hits)),
        ISOTONIC: lambda: IsotonicRegression(out_of_bounds="clip").fit(scores, hits),
        **_peers(scores, hits),
    }
    reference = ogive.fit_spline(ogive.Curve.from_scores(scores, hits))
    some = scores[:5000]

    def check(entry: str, result: object) -> None:
        if entry != CURVE:
            found = _calibrated(result, some)
            assert np.abs(found - reference(some)).mean() < _NEAR, entry

    budgets = {
        5_000: (Budget(SPLINE, ISOTONIC, most=6), Budget(SPLINE, SPLINECALIB, faster=100)),
        10**6: (Budget(SPLINE, CURVE, most=3), Budget(VENN_ABERS, ISOTONIC, most=2)),
    }
    return Race("fit", f"Fits to {n:,} scores", entries, budgets.get(n, ()), check, size=n)


def _calibrated(fitted: object, scores: np.ndarray) -> np.ndarray:
    """Return what a fitted map of any package makes of the scores."""
    for name in ("calibrate", "predict"):  # splinecalib; scikit-learn and betacal
        if hasattr(fitted, name):
            return np.asarray(getattr(fitted, name)(scores))
    return np.asarray(fitted(scores))  # type: ignore[operator]


def _peers(scores: np.ndarray, hits: np.ndarray) -> dict[str, Callable[[], object]]:
    found: dict[str, Callable[[], object]] = {}
    labels = hits.astype(np.int64)
    if scores.size <= 10**4:
        try:
            from splinecalib import SplineCalib  # noqa: PLC0415

            found[SPLINECALIB] = lambda: _fitted(SplineCalib(), scores, labels)
        except ImportError:
            pass
    if scores.size <= 10**5:
        try:
            from probmetrics.calibrators.splines import CDFSplineCalibrator  # noqa: PLC0415

            both = np.stack([1 - scores, scores], axis=1)
            found["probmetrics: the paper's spline"] = lambda: _Column(
                _fitted(CDFSplineCalibrator(), both, labels)
            )
        except ImportError:
            pass
    if scores.size <= 10**6:
        try:
            from betacal import BetaCalibration  # noqa: PLC0415

            found["betacal"] = lambda: _fitted(BetaCalibration(), scores, labels)
        except ImportError:
            pass
    return found


def _fitted(model: object, scores: np.ndarray, labels: np.ndarray) -> object:
    model.fit(scores, labels)  # type: ignore[attr-defined]
    return model


class _Column:
    """The probability of class 1, of a model that gives two columns."""

    def __init__(self, model: object) -> None:
        self.model = model

    def predict(self, scores: np.ndarray) -> np.ndarray:
        both = np.stack([1 - scores, scores], axis=1)
        return np.asarray(self.model.predict_proba(both))[:, 1]  # type: ignore[attr-defined]
