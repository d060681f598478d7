"""A measurement in words.

What is said about all scores together comes from the tests. What is said about a range of
scores ("overconfident above 0.9") comes from the band of a calibration map, never from where the
cumulative gap peaks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ogive.curve import Curve
    from ogive.metrics.significance import CalibrationTest

LEVEL = 0.05


def verdict(curve: Curve, ks: CalibrationTest, accuracy: float, mean_score: float) -> str:
    """Say in words what a test found, and what it could not have found."""
    if ks.sigma == 0.0:
        return _certain(ks)
    p = "p < 0.0001" if ks.pvalue < 1e-4 else f"p = {ks.pvalue:.2g}"  # noqa: PLR2004
    against = f"a perfectly calibrated model would show about {ks.expected:.2g} ({p})"
    if ks.pvalue >= LEVEL:
        unseen = f"A true error below {ks.detectable:.2g} would often go unseen."
        return f"No miscalibration found: KS is {ks.value:.2g}; {against}. {unseen}"
    gap = accuracy - mean_score
    if abs(gap) > 0.5 * ks.value:
        way = "too high" if gap < 0 else "too low"
        means = f"On average the scores are {way}: {mean_score:.4g} for {accuracy:.4g}."
    else:
        means = "Too high for some scores and too low for others: the mean hides it."
    return f"Miscalibrated: KS is {ks.value:.2g}; {against}. {means}{about_scores(curve)}"


def about_scores(curve: Curve) -> str:  # noqa: ARG001 - the seam for the band of the default spline
    """Say which scores are off, from the band of the calibration map."""
    return ""


def _certain(ks: CalibrationTest) -> str:
    """All scores are 0 or 1: they leave nothing to chance."""
    if ks.value == 0.0:
        return "All scores are 0 or 1, and all of them came true."
    return "All scores are 0 or 1, and not all came true: miscalibrated beyond doubt."
