"""The report's headline: the verdict (`ogive.studies.verdict`), split for the page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from ogive.plotting.panels import percent

if TYPE_CHECKING:
    from ogive.report.model import AfterCalibration
    from ogive.studies.measurement import Measurement
    from ogive.studies.verdict import Verdict

Tone: TypeAlias = Literal["fine", "slight", "calibrated", "off"]

#: Where the upper end of the 95 % interval of KS is below this, a model is "slightly off".
SLIGHT = 0.02


@dataclass(frozen=True, slots=True)
class Headline:
    """What the page says first, what stands below it, and the colour of both."""

    sentence: str
    detail: str
    tone: Tone
    decision: Verdict


def headline(before: Measurement, after: AfterCalibration | None) -> Headline:
    """Return the verdict of a comparison, or of the measurement where nothing was fitted."""
    decision = before.decision if after is None else after.comparison.decision
    first, *others = decision.sentences
    if before.fitted_rows:
        return Headline(before.verdict, "", "slight", before.decision)
    if decision.calibrate and after is not None:  # "Use spline.", and what that does
        first, others = f"{first} {others[0]}", others[1:]
    if after is not None and decision.calibrate:
        others.append(_what_remains(after))
    return Headline(first, " ".join(others), _tone(decision, before, after), decision)


def _what_remains(after: AfterCalibration) -> str:
    """Say what is left after calibration, beside the noise of the fit."""
    larger = "no larger" if _within(after) else "larger"
    return (
        f"After calibration with {after.method} the KS error is {percent(after.after.ks)}, "
        f"{larger} than sampling noise for {after.n:,} calibration rows "
        f"(up to {percent(after.allowed)})."
    )


def _within(after: AfterCalibration) -> bool:
    return after.after.ks <= after.allowed


def _tone(decision: Verdict, before: Measurement, after: AfterCalibration | None) -> Tone:
    if decision.too_few_rows:
        return "slight"
    if decision.calibrate and after is not None:
        return "calibrated" if _within(after) else "off"
    if not decision.miscalibrated:
        return "fine"
    return "slight" if before.ks_test.high < SLIGHT else "off"
