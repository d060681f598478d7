"""The report's headline: the verdict (`ogive.studies.verdict`), split for the page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from ogive.plotting.panels import percent

if TYPE_CHECKING:
    from ogive.report.model import Repair
    from ogive.studies.measurement import Measurement
    from ogive.studies.verdict import Verdict

Tone: TypeAlias = Literal["fine", "slight", "repaired", "off"]

#: Where the upper end of the 95 % interval of KS is below this, a model is "slightly off".
SLIGHT = 0.02


@dataclass(frozen=True, slots=True)
class Headline:
    """What the page says first, what stands below it, and the colour of both."""

    sentence: str
    detail: str
    tone: Tone
    decision: Verdict


def headline(before: Measurement, repair: Repair | None) -> Headline:
    """Return the verdict of a comparison, or of the measurement where nothing was fitted."""
    decision = before.decision if repair is None else repair.comparison.decision
    first, *others = decision.sentences
    if before.fitted_rows:
        return Headline(before.verdict, "", "slight", before.decision)
    if decision.calibrate and repair is not None:  # "Use spline.", and what that does
        first, others = f"{first} {others[0]}", others[1:]
    if repair is not None and decision.calibrate:
        others.append(_what_remains(repair))
    return Headline(first, " ".join(others), _tone(decision, before, repair), decision)


def _what_remains(repair: Repair) -> str:
    """Say what is left after calibration, beside the noise of the fit."""
    larger = "no larger" if _within(repair) else "larger"
    return (
        f"After calibration with {repair.method} the KS error is {percent(repair.after.ks)}, "
        f"{larger} than sampling noise for {repair.n:,} calibration rows "
        f"(up to {percent(repair.allowed)})."
    )


def _within(repair: Repair) -> bool:
    return repair.after.ks <= repair.allowed


def _tone(decision: Verdict, before: Measurement, repair: Repair | None) -> Tone:
    if decision.too_few_rows:
        return "slight"
    if decision.calibrate and repair is not None:
        return "repaired" if _within(repair) else "off"
    if not decision.miscalibrated:
        return "fine"
    return "slight" if before.ks_test.high < SLIGHT else "off"
