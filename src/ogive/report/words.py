"""The verdict: one sentence on whether the probabilities can be trusted, and what it rests on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from ogive.plotting.panels import percent

if TYPE_CHECKING:
    from ogive.report.model import Repair
    from ogive.studies.measure import Measurement

_LEVEL = 0.05


@dataclass(frozen=True, slots=True)
class Verdict:
    """A sentence, what it rests on, and its tone: fine, repaired, or off."""

    sentence: str
    detail: str
    tone: Literal["fine", "repaired", "off"]


def verdict(before: Measurement, repair: Repair | None) -> Verdict:
    """Judge a model from its test part, and its repair from what remains there."""
    ks = before.ks_test
    if ks.sigma == 0.0:
        tone: Literal["fine", "off"] = "fine" if ks.value == 0.0 else "off"
        return Verdict(before.verdict, "", tone)
    if ks.pvalue >= _LEVEL:
        sentence = (
            f"These probabilities can be trusted as far as {before.n:,} rows can tell: "
            f"KS is {percent(ks.value)}, no more than chance explains."
        )
        return Verdict(sentence, before.verdict, "fine")
    sentence = f"Do not trust these probabilities as they are: {_how(before)}"
    if repair is None:
        return Verdict(f"{sentence}.", before.verdict, "off")
    after = repair.after.ks
    if after >= ks.value:
        return Verdict(f"{sentence}, and {repair.method} does not help.", before.verdict, "off")
    rest = "within" if after <= repair.allowed else "above"
    remains = (
        f"What remains after the repair is {rest} what a map fitted on {repair.n:,} rows leaves: "
        f"a KS of up to {percent(repair.allowed)} in 19 of 20 cases."
    )
    change = f"from a KS of {percent(ks.value)} to {percent(after)}"
    detail = f"{before.verdict} {remains}"
    if rest == "within":
        return Verdict(f"{sentence}; {repair.method} repairs them, {change}.", detail, "repaired")
    sentence += f"; {repair.method} helps, {change}, but something is left."
    return Verdict(sentence, detail, "off")


def _how(before: Measurement) -> str:
    """Say in which way they are off."""
    gap = before.accuracy - before.mean_score
    if abs(gap) > 0.5 * before.ks:
        return (
            f"on average they promise {percent(before.mean_score, 1)}, "
            f"and {percent(before.accuracy, 1)} came true"
        )
    return "they are too high for some rows and too low for others"
