"""The numbers that other fields ask for, beside those of every measurement: names, order, words.

`ogive.metrics.line` has the O/E ratio, the intercept and the slope, `ogive.studies.spline_errors`
ICI, E50, E90 and Emax, and `ogive.studies.refinement` the refinement loss. What needs a calibrator
always has the default spline, so that no bandwidth or number of bins is chosen.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ogive._wording import percent
from ogive.metrics.line import calibration_intercept, calibration_slope, oe_ratio
from ogive.studies.refinement import refinement
from ogive.studies.spline_errors import spline_errors
from ogive.studies.where_off import ranges_off, spline_of

if TYPE_CHECKING:
    from ogive.curve import Curve
    from ogive.studies.where_off import RangeOff


class Number(NamedTuple):
    """One of the numbers, for people: its key in JSON, its name, and what it means."""

    key: str
    name: str
    value: float
    low: float
    high: float
    percent: bool
    meaning: str

    def shown(self) -> tuple[str, str]:
        """Return value and interval as words; rows that fitted a calibrator have no interval."""
        value = self._word(self.value)
        if np.isnan(self.low):
            why = "no interval" if self.key in WITHOUT_INTERVAL else "withheld"
            return value, "unknown" if np.isnan(self.value) else why
        return value, f"{self._word(self.low)} … {self._word(self.high)}"

    def _word(self, value: float) -> str:
        if np.isnan(value):
            return "unknown"
        if np.isinf(value):
            return "∞" if value > 0 else "-∞"
        return percent(value) if self.percent else f"{value:.4f}"


#: Key, name, whether it is a share shown in percent, and one sentence.
NUMBERS = (
    (
        "oe_ratio",
        "O/E ratio",
        False,
        "Outcomes observed over outcomes expected. 1 is right; below 1 the scores are too high.",
    ),
    (
        "intercept",
        "intercept",
        False,
        "Calibration-in-the-large: the shift of log-odds that makes the mean right. 0 is right.",
    ),
    (
        "slope",
        "slope",
        False,
        "Cox's calibration slope. 1 is right; below 1 the scores are too extreme.",
    ),
    ("ici", "ICI", True, "Mean distance of the scores from the fitted curve."),
    ("e50", "E50", True, "Median distance from the fitted curve."),
    ("e90", "E90", True, "Distance from the fitted curve that 90 % of the rows do not exceed."),
    ("emax", "Emax", True, "Largest distance at any score seen; few rows make it large."),
    (
        "refinement",
        "refinement loss",
        False,
        "Log loss after cross-fitted calibration: what calibration cannot repair.",
    ),
)
#: No interval of these holds the truth often enough: see docs/theory/numbers.md.
WITHOUT_INTERVAL = {"e50", "e90", "emax"}
#: The words where there is no number.
UNKNOWN = {
    "oe_ratio": "Unknown: all scores are 0, so that no outcome is expected.",
    "intercept": "Infinite: all outcomes are equal, and no shift makes that mean.",
    "slope": "No finite slope: all outcomes or all scores are equal, or a score separates them.",
    "refinement": "Unknown: too few rows to calibrate some by the others.",
}


def belt_of(curve: Curve) -> tuple[RangeOff, ...]:
    """Return where the calibration belt, a simultaneous band, leaves out the score itself."""
    return tuple(ranges_off(curve, spline_of(curve), simultaneous=True))


def numbers_of(curve: Curve, *, random_state: int = 0) -> tuple[Number, ...]:
    """Return all numbers of a curve, in order."""
    found = (
        oe_ratio(curve),
        calibration_intercept(curve),
        calibration_slope(curve),
        *spline_errors(curve, random_state=random_state),
        refinement(curve, random_state=random_state),
    )
    return tuple(
        Number(key, name, *one, share, meaning if np.isfinite(one.value) else UNKNOWN[key])
        for (key, name, share, meaning), one in zip(NUMBERS, found, strict=True)
    )
