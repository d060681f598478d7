"""A measurement in words.

What is said about all scores together comes from the tests. What is said about a range of
scores ("overconfident above 0.9") comes from the band of a calibration map, never from where the
cumulative gap peaks.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from ogive.calibrators import METHODS
from ogive.errors import FallbackWarning
from ogive.studies.layout import told_pvalue

if TYPE_CHECKING:
    from ogive._typing import FloatArray
    from ogive.curve import Curve
    from ogive.metrics.significance import CalibrationTest

LEVEL = 0.05
_WORTH_SAYING = 0.05


def verdict(curve: Curve, ks: CalibrationTest, accuracy: float, mean_score: float) -> str:
    """Say in words what a test found, and what it could not have found."""
    if ks.sigma == 0.0:
        return _certain(ks)
    p = told_pvalue(ks.pvalue)
    against = f"a perfectly calibrated model would show about {ks.expected:.2g} ({p})"
    if ks.pvalue >= LEVEL:
        unseen = f"A true error below {ks.detectable:.2g} would often go unseen."
        return f"No miscalibration found: KS is {ks.value:.2g}; {against}. {unseen}"
    gap = accuracy - mean_score
    if abs(gap) > 0.5 * ks.value:
        way = "too high" if gap < 0 else "too low"
        means = f"On average the scores are {way}: {mean_score:.4g}, and {accuracy:.4g} came true."
    else:
        means = "Too high for some scores and too low for others: the mean hides it."
    return f"Miscalibrated: KS is {ks.value:.2g}; {against}. {means}{about_scores(curve)}"


def about_scores(curve: Curve) -> str:
    """Say which scores are off: where the band of the default calibrator leaves the score out.

    Ranges that hold less than 5 % of the rows are not worth a sentence.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FallbackWarning)  # too few rows: its band is wide
        gamma: Any = METHODS["spline"].fit(curve)
    place = curve.at_fractiles(np.arange(1, 201) / 200)
    score = np.where(place.high, 1.0 - place.tail, place.tail)
    low, high = gamma.band(score)
    side = np.sign((low > score) * 1.0 - (high < score))  # 1 where hits exceed the score
    starts = np.flatnonzero(np.diff(side, prepend=np.nan))
    said = []
    for first, stop in zip(starts, [*starts[1:], side.size], strict=True):
        share = place.after[stop - 1] - place.before[first]
        if side[first] and share >= _WORTH_SAYING:
            where = _range(score, int(first), int(stop))
            said.append(f"{'overconfident' if side[first] < 0 else 'underconfident'} {where}")
    if not said:
        return ""
    text = "; ".join(said)
    return f" {text[0].upper()}{text[1:]}."


def _range(score: FloatArray, first: int, stop: int) -> str:
    """Word a range of consecutive scores."""
    if first == 0 and stop == score.size:
        return "at all scores"
    if first == 0:
        return f"below {score[stop - 1]:.2g}"
    if stop == score.size:
        return f"above {score[first]:.2g}"
    return f"from {score[first]:.2g} to {score[stop - 1]:.2g}"


def _certain(ks: CalibrationTest) -> str:
    """All scores are 0 or 1: they leave nothing to chance."""
    if ks.value == 0.0:
        return "All scores are 0 or 1, and all of them came true."
    return "All scores are 0 or 1, and not all came true: miscalibrated beyond doubt."
