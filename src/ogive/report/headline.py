"""The report's first screen: the verdict (`ogive.studies.verdict`) in plain terms."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ogive._wording import (
    MEASURE_OTHERS,
    NO_VERDICT,
    advice_words,
    beside_noise_of_fit,
    headline_words,
    percent,
)
from ogive.diagrams import BinnedReliability
from ogive.report.series import MIN_ROWS_TO_SHOW_A_RATE
from ogive.rows.views import rate_name
from ogive.studies.fitting import VECTOR

if TYPE_CHECKING:
    from ogive._wording import Tone
    from ogive.curve import Curve
    from ogive.report.calibrated import AfterCalibration
    from ogive.studies.measurement import Measurement
    from ogive.studies.verdict import Verdict

#: Where the upper end of the 95 % interval of KS is below this, a model is "slightly off".
MAX_KS_OF_SLIGHT = 0.02
_MAX_DIGITS = 5  # of a percentage: of a million rows, or rarer
_BINS = 10  # of equal numbers of rows, one of which is put in plain terms


@dataclass(frozen=True, slots=True)
class Headline:
    """What the page says first, what stands below it, and the colour and the word of both.

    word : the verdict in a few words; sentence : what was decided and why; plain : what the scores
    were worth, in counts; detail : the other sentences of the verdict; advice : what to do
    """

    word: str
    sentence: str
    plain: tuple[str, ...]
    detail: str
    advice: str
    tone: Tone
    decision: Verdict


class Card(NamedTuple):
    """One number before and after calibration, and what it means."""

    name: str
    before: str
    after: str
    meaning: str


def headline(
    before: Measurement, after: AfterCalibration | None, plain: tuple[str, ...]
) -> Headline:
    """Return the verdict of a comparison, or of the measurement where nothing was fitted."""
    decision = before.decision if after is None else after.comparison.decision
    if before.fitted_rows:
        own = before.decision
        return Headline(NO_VERDICT, before.verdict, plain, "", MEASURE_OTHERS, "unknown", own)
    first, *others = (_of_class_1(one, before) for one in decision.sentences)
    if decision.calibrate and after is not None:  # "Use spline.", and what that does
        first, others = f"{first} {others[0]}", others[1:]
        others.append(_what_remains(after))
    tone = _tone(decision, before, after)
    found, method = bool(decision.miscalibrated), "" if after is None else after.method
    word = headline_words(tone, found=found, calibrated=bool(decision.calibrate and method))
    advice = advice_words(decision.word, decision.rows_needed, method, found=found)
    return Headline(word, first, plain, " ".join(others), advice, tone, decision)


def _of_class_1(sentence: str, before: Measurement) -> str:
    """Say of which score a KS error is, if it is not the one that the page shows.

    Two classes are judged by the score of class 1, and shown by their top class.
    """
    other = before.view == "top-1" and f"KS error {percent(before.ks)}" not in sentence
    return re.sub("KS error (?=[0-9])", "KS error of class-1 ", sentence) if other else sentence


def _what_remains(after: AfterCalibration) -> str:
    """Say what is left after calibration, beside the noise of the fit."""
    left = after.after.ks
    noise = beside_noise_of_fit(left, after.allowed, after.n)
    return f"After calibration with {after.method} the KS error is {percent(left)}, {noise}."


def _within(after: AfterCalibration) -> bool:
    return after.after.ks <= after.allowed


def _tone(decision: Verdict, before: Measurement, after: AfterCalibration | None) -> Tone:
    if decision.too_few_rows:
        return "unknown"
    if decision.calibrate and after is not None:
        return "calibrated" if _within(after) else "off"
    if not decision.miscalibrated:
        return "slight" if decision.calibrate else "fine"
    return "slight" if before.ks_test.high < MAX_KS_OF_SLIGHT else "off"


def plain_words(
    before: Curve, after: Curve | None, label: str, *, off: bool = True
) -> tuple[str, ...]:
    """Say what scores were worth, in counts: "of 100 answers given with 95 %, 88 were right".

    The scores are those of the tenth of the rows that is off by the most outcomes. If no
    miscalibration was found (`off` is false), they are all scores together: among ten tenths, one
    is far off by chance.
    label : the name of the class, of a view class-k
    There are no words for fewer rows than a rate needs.
    """
    if before.n < MIN_ROWS_TO_SHOW_A_RATE:
        return ()
    bins = int(np.clip(before.n // MIN_ROWS_TO_SHOW_A_RATE, 1, _BINS)) if off else 1
    cells = BinnedReliability.from_curve(before, bins, spacing="mass")
    at = int((np.abs(cells.share - cells.score) * cells.count).argmax())
    score = float(cells.score[at])
    lines = [_in_counts(before.view, cells, at, label, mean=not off)]
    if after is not None and off:
        later = BinnedReliability.from_curve(after, bins, spacing="mass")
        near = int(np.abs(later.score - score).argmin())
        words = _in_counts(before.view, later, near, label)
        lines.append(f"After calibration: {words[0].lower()}{words[1:]}")
    return tuple(lines)


def _in_counts(
    view: str, cells: BinnedReliability, at: int, label: str, *, mean: bool = False
) -> str:
    """Word a score and the share of its outcomes as counts of 100 rows, or of more.

    Of fewer rows than that, their own number is given: 17 of 17 does not mean 100 of 100.
    """
    score, share, rows = (float(one[at]) for one in (cells.score, cells.share, cells.count))
    rare = min(score, 1.0 - score)
    digits = next((k for k in range(_MAX_DIGITS) if rare >= 0.02 / 10**k), 0 if rare == 0.0 else 2)
    many = 100 * 10**digits
    mean, many = mean or rows < many, min(many, round(rows))
    given, seen = percent(score, digits), f"{round(share * many):,}"
    given = f"{given} on average" if mean else given
    start = f"Of {many:,} "
    if view == "top-1":
        return f"{start}answers given with {given}, {seen} were right."
    if view.startswith("top-"):
        rank = view.removeprefix("top-")
        return f"{start}rows whose class of rank {rank} was given {given}, {seen} had that class."
    if view.startswith("within-top-"):
        first = f"first {view.removeprefix('within-top-')} classes"
        return f"{start}rows whose {first} were given {given}, {seen} had one of them."
    if view.startswith("class-"):
        return f"{start}rows given {given} for class {label}, {seen} were of that class."
    return f"{start}rows with a score of {given}, {seen} had outcome 1."


def cards(before: Measurement, after: AfterCalibration | None) -> tuple[Card, ...]:
    """Return the numbers of the first screen."""
    later = None if after is None else after.after
    rate = rate_name(before.view)
    noise = f"{percent(before.ks_test.expected)} expected by chance"
    if after is not None:
        noise = f"after: up to {percent(after.allowed)} is sampling noise"
    rows = [
        ("mean score", "mean_score", 1, f"{rate}: {percent(before.accuracy, 1)}"),
        ("KS error", "ks", 2, f"largest cumulative gap; {noise}"),
        ("ECE", "ece", 2, "mean gap of bins of equal width"),
        ("log loss", "nll", None, "lower is better"),
    ]
    found = [
        Card(
            name,
            _shown(before, key, digits),
            "" if later is None else _shown(later, key, digits),
            meaning,
        )
        for name, key, digits, meaning in rows
    ]
    decision = before.decision if after is None else after.comparison.decision
    whole = decision.log_loss_before, None if after is None else after.nll_vector
    if decision.view == VECTOR and whole[0] is not None:
        shown = ["" if one is None else f"{one:.3f}" for one in whole]
        found[-1] = Card("log loss of whole vectors", shown[0], shown[1], "lower is better")
    return tuple(found)


def _shown(one: Measurement, key: str, digits: int | None) -> str:
    value = getattr(one, key)
    return f"{value:.3f}" if digits is None else percent(value, digits)
