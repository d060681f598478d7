"""The verdict: one sentence on whether the probabilities can be trusted, and what it rests on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from ogive.plotting.panels import percent

if TYPE_CHECKING:
    from ogive.report.model import Repair
    from ogive.studies.measurement import Measurement

_LEVEL = 0.05


Tone: TypeAlias = Literal["fine", "slight", "repaired", "off"]

#: Where the upper end of the 95 % interval of KS is below this, a model is "slightly off".
SLIGHT = 0.02


@dataclass(frozen=True, slots=True)
class Verdict:
    """A sentence, what it rests on, and its tone."""

    sentence: str
    detail: str
    tone: Tone


def verdict(before: Measurement, repair: Repair | None) -> Verdict:
    """Judge a model from its test part, and its repair from what remains there."""
    ks = before.ks_test
    if before.fitted_rows:
        return Verdict(before.verdict, "", "slight")
    if ks.sigma == 0.0:
        return Verdict(before.verdict, "", "fine" if ks.value == 0.0 else "off")
    if ks.pvalue >= _LEVEL:
        sentence = (
            f"These probabilities can be trusted as far as {before.n:,} rows can tell: "
            f"KS is {percent(ks.value)}, no more than chance explains."
        )
        return Verdict(sentence, before.verdict, "fine")
    slight = ks.high < SLIGHT
    start = "are slightly off" if slight else "cannot be trusted as they are"
    sentence = f"These probabilities {start}: {_how(before)}"
    tone: Tone = "slight" if slight else "off"
    if repair is None:
        return Verdict(f"{sentence}.", before.verdict, tone)
    return _after(sentence, tone, before, repair)


def _after(sentence: str, tone: Tone, before: Measurement, repair: Repair) -> Verdict:
    """Say what the repair did: what remains, and whether that is more than noise."""
    after = repair.after.ks
    if any(row.method == "none" and row.tied_with_best for row in repair.comparison.methods):
        sentence += f"; no repair gains more than noise on {before.n:,} rows."
        return Verdict(sentence, before.verdict, tone)
    if after >= before.ks:
        return Verdict(f"{sentence}; {repair.method} does not help.", before.verdict, tone)
    within = after <= repair.allowed
    remains = (
        f"What remains after the repair is {'within' if within else 'above'} what a map fitted on "
        f"{repair.n:,} rows leaves: a KS of up to {percent(repair.allowed)} in 19 of 20 cases."
    )
    change = f"from a KS of {percent(before.ks)} to {percent(after)}"
    detail = f"{before.verdict} {remains}"
    if within:
        return Verdict(f"{sentence}; {repair.method} repairs them, {change}.", detail, "repaired")
    return Verdict(
        f"{sentence}; {repair.method} helps, {change}, but something is left.", detail, tone
    )


def _how(before: Measurement) -> str:
    """Say in which way they are off."""
    gap = before.accuracy - before.mean_score
    if abs(gap) > 0.5 * before.ks:
        return (
            f"on average they promise {percent(before.mean_score, 1)}, "
            f"and {percent(before.accuracy, 1)} came true"
        )
    return "they are too high for some rows and too low for others"
