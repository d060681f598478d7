"""The words of a verdict, and how its numbers are written: all that speaks of one reads them here.

Nothing is decided here. A function takes what was found, and returns a word or a sentence.
"""

from __future__ import annotations

from math import floor, isnan, log10
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

Way: TypeAlias = Literal["too high", "too low"]
#: How the report's first screen is coloured, by what was found.
Tone: TypeAlias = Literal["fine", "slight", "calibrated", "off", "unknown"]

# Which way scores are off.
TOO_HIGH: Literal["too high"] = "too high"
TOO_LOW: Literal["too low"] = "too low"
MIXED = "mixed"
NONE_FOUND = "none found"
#: Of the top class only: a score of a class or of a file has no confidence.
CONFIDENCE: dict[Way, str] = {TOO_HIGH: "overconfident", TOO_LOW: "underconfident"}

# Whether scores are off.
OFF = "miscalibrated"
FOUND, LIKELY = "Miscalibrated", "Miscalibration is likely"
NOT_FOUND = "No miscalibration found"

# What to do.
CALIBRATE, LEAVE_ALONE, TOO_FEW_ROWS = "calibrate", "leave alone", "too few rows"
MAY_BE_NONE = "The gain is within two standard errors of 0: it may be none."
NOT_DIFFERENT = "Not significantly different"
REFIT = "Fit a calibrator to the model's own outputs on rows like these."
#: Whole vectors of many rows: the command is that of the fit.
TAKES_LONG = (
    "Whether to calibrate is not decided here: fitting {n:,} rows of {K:,} classes takes long. "
    "`{command}` decides it."
)

# Rows that fitted the calibrator have no verdict.
NO_VERDICT = "No verdict"
MEASURE_OTHERS = "Measure rows that the calibrator was not fitted to."
COMPARE_OTHERS = f"{NO_VERDICT}: the test rows fitted the calibrator. Compare on other rows."
WITHHELD = (
    "Their calibration error is small by construction, so no p-value, interval or verdict is "
    f"given. {MEASURE_OTHERS}"
)

#: A real minus sign: as wide as a plus.
MINUS = "\u2212"
#: Models, groups or classes that a sentence names.
MAX_NAMES = 5
_LEAST_PRINTED_PVALUE = 0.0001
_MAX_DIGITS_OF_LOSS = 6  # a change that needs more is not shown


def percent(value: float, digits: int = 2) -> str:
    """Return a fraction in percent.

    >>> percent(0.05631), percent(-0.0123, 1)
    ('5.63 %', '−1.2 %')
    """
    return f"{100 * value:.{digits}f} %".replace("-", MINUS)


def format_pvalue(pvalue: float, *, cell: bool = False) -> str:
    """Return a p-value: its size, unless that is beyond any doubt; `cell`: without its name.

    >>> format_pvalue(0.0312), format_pvalue(1e-292), format_pvalue(0.5, cell=True)
    ('p = 0.031', 'p < 0.0001', '0.5')
    """
    if isnan(pvalue):
        return "withheld" if cell else "p withheld"
    if pvalue < _LEAST_PRINTED_PVALUE:
        return f"< {_LEAST_PRINTED_PVALUE}" if cell else f"p < {_LEAST_PRINTED_PVALUE}"
    return f"{pvalue:.2g}" if cell else f"p = {pvalue:.2g}"


def listed(names: Sequence[str]) -> str:
    """Return names with commas between, the first of many.

    >>> listed(["a", "b"]), listed("abcdefgh")
    ('a, b', 'a, b, c, d, e and 3 more')
    """
    more = len(names) - MAX_NAMES
    return ", ".join(names[:MAX_NAMES]) + (f" and {more:,} more" if more > 0 else "")


def way_of(excess: float) -> Way:
    """Return which way scores are off, of outcomes minus scores."""
    return TOO_HIGH if excess < 0.0 else TOO_LOW


def joint_direction(ways: Iterable[str]) -> str:
    """Return the direction of several ranges of scores.

    >>> joint_direction(["too high", "too low"]), joint_direction([])
    ('mixed', 'none found')
    """
    distinct = set(ways)
    return MIXED if len(distinct) > 1 else distinct.pop() if distinct else NONE_FOUND


def direction_words(direction: str) -> str:
    """Say in which direction scores are off, as the end of a sentence."""
    if direction == NONE_FOUND:
        return f"{NOT_FOUND.lower()}."
    if direction == MIXED:
        return f"the scores are {TOO_HIGH} in some ranges and {TOO_LOW} in others."
    subject = "the model is" if direction in CONFIDENCE.values() else "the scores are"
    return f"{subject} {direction}."


def average_words(way: str, mean: float, rate: float, rate_name: str) -> str:
    """Say which way scores are off on average, beside the share of outcomes that are 1."""
    if way == MIXED:
        return f"Some scores are {TOO_HIGH} and others {TOO_LOW}, which their mean does not show."
    means = f"mean score {percent(mean)}, {rate_name} {percent(rate)}"
    return f"On average the scores are {way}: {means}."


def ranges_words(ranges: Iterable[tuple[str, Way]], *, of_top: bool) -> str:
    """Say which ranges of scores are off, and which way; of the top class, also as confidence."""
    text = "; ".join(
        f"{words} are {way} ({CONFIDENCE[way]})" if of_top else f"{words} are {way}"
        for words, way in ranges
    )
    return f"{text[0].upper()}{text[1:]}." if text else ""


def many_words(names: Sequence[str], ways: Sequence[str], tests: str) -> str:
    """Say which of several groups or classes are miscalibrated, and in which way.

    names, ways : of each; the way is "" where nothing was found
    tests : what they are, and by which tests, in words

    >>> many_words(["a", "b", "c"], ["too high", "", "too low"], "groups (KS tests)")
    '2 of 3 groups (KS tests) are miscalibrated. Scores too high: a; too low: c.'
    """
    parts = []
    for way in (TOO_HIGH, TOO_LOW, MIXED):
        those = [name for name, w in zip(names, ways, strict=True) if w == way]
        words = f"{TOO_HIGH} for some rows, {TOO_LOW} for others" if way == MIXED else way
        parts += [f"{words}: {listed(those)}"] if those else []
    found = f"{sum(map(bool, ways)):,} of {len(names):,} {tests} are {OFF}."
    return f"{found} Scores {'; '.join(parts)}." if parts else found


def class_tests(size: int) -> str:
    """Say by which tests classes are judged."""
    return f"classes (each against the rest; KS tests at 5 %, Holm's correction for {size:,})"


def beside_chance(ks: float, expected: float, pvalue: float) -> str:
    """Say a KS error beside that of perfectly calibrated scores."""
    return (
        f"KS error {percent(ks)}, where perfectly calibrated scores would show about "
        f"{percent(expected)} (calibration test: {format_pvalue(pvalue)})."
    )


def beside_noise_of_fit(ks: float, allowed: float, rows: float, also: str = "") -> str:
    """Say whether the KS error of calibrated scores is more than the noise of the fit."""
    larger = "no larger" if ks <= allowed else "larger"
    noise = f"sampling noise for {rows:,.0f} calibration rows (up to {percent(allowed)}{also})"
    return f"{larger} than {noise}"


def what_remains(ks: float, allowed: float, rows: float, pvalue: float, *, found: bool) -> str:
    """Say what is left after calibration, where KS error and calibration test may disagree."""
    start, p = f"the remaining KS error, {percent(ks)}, is", format_pvalue(pvalue)
    if (ks <= allowed) != found:
        also = f"; calibration test with that noise: {p}"
        return f"{start} {beside_noise_of_fit(ks, allowed, rows, also)}."
    rejects = "rejects" if found else "does not reject"
    test = f"the calibration test with that noise {rejects} ({p})"
    return f"{start} {beside_noise_of_fit(ks, allowed, rows)}, but {test}."


def unseen_words(detectable: float) -> str:
    """Say which errors rows are too few to show."""
    return f"A true KS error below {percent(detectable)} would often go unseen."


def too_few_words(n: float, detectable: float, rows_needed: int | None) -> str:
    """Say that rows are too few, and how many would do."""
    unseen = f"with {n:,.0f} rows a KS error below {percent(detectable)} would often go unseen; "
    return (
        f"Too few rows to say: {unseen if detectable < 1.0 else ''}about {rows_needed:,} rows "
        "would settle it."
    )


def certain_words(*, right: bool) -> str:
    """Say what scores that are all 0 or 1 are worth: they leave nothing to chance."""
    if right:
        return "All scores are 0 or 1, and every outcome is what its score says."
    return f"All scores are 0 or 1, and some outcomes differ from them: {OFF} beyond doubt."


def decision_words(loss: str, *, leave_alone: bool) -> str:
    """Say what to do, and how the log loss changes.

    >>> decision_words("log loss falls from 0.322 to 0.201", leave_alone=False)
    'Log loss falls from 0.322 to 0.201: calibrate.'
    """
    words = f"Leave it alone: {loss}." if leave_alone else f"{loss}: {CALIBRATE}."
    return words[0].upper() + words[1:]


def loss_words(before: float | None, gain: float, *, leave_alone: bool) -> str:
    """Say how the log loss changes; lower is better.

    >>> loss_words(0.322, 0.121, leave_alone=False), loss_words(0.3, 1e-9, leave_alone=True)
    ('falls from 0.322 to 0.201', 'stays at 0.3000')
    """
    word = ("hardly falls" if leave_alone else "falls") if gain > 0.0 else "rises"
    if before is None:
        return f"{word} by {abs(gain):.2g}"
    digits = 3 if gain == 0.0 else max(3, 1 - floor(log10(abs(gain))))  # two digits of the change
    if digits > _MAX_DIGITS_OF_LOSS:
        return f"stays at {before:.4f}"
    return f"{word} from {before:.{digits}f} to {before - gain:.{digits}f}"


def certain_rows_words(
    rows: float, n: float, first: int | None, moved: str, *, vectors: bool
) -> str:
    """Say how many rows have an exact 0 or 1, and how the log loss changes without them.

    moved : as in `loss_words`

    >>> certain_rows_words(37, 19979, 812, "falls from 0.99902 to 0.99844", vectors=True)
    '37 of 19,979 rows have a probability of exactly 0 or 1 (the first is row 812): without them \
the log loss falls from 0.99902 to 0.99844.'
    """
    place = "" if first is None else f" (the first is row {first:,})"
    what = "probability" if vectors else "score"
    have = f"{rows:,.10g} of {n:,.10g} rows have a {what} of exactly 0 or 1{place}"
    return f"{have}: without them the log loss {moved}."


def others_words(
    same: Sequence[str], unsure: Sequence[str], *, calibrate: bool, noisy: bool, why: str
) -> list[str]:
    """Say which other methods may be as good as the one that is recommended.

    same, unsure : not significantly different, and too few rows to tell
    noisy : there are too few rows to tell for the recommended method itself
    why : it is preferred to those
    """
    tell = "Too few rows to tell whether"
    if calibrate and noisy:
        return [f"{tell} another method is better: {', '.join([*same, *unsure])}{why}."]
    more = [f"{NOT_DIFFERENT}: {', '.join(same)}{why}."] if calibrate and same else []
    they = "are as good" if calibrate else "would help"
    return [*more, f"{tell} these {they}: {', '.join(unsure)}."] if unsure else more


def headline_words(tone: Tone, *, found: bool, calibrated: bool) -> str:
    """Return the verdict in a few words.

    found : miscalibration was found; calibrated : a calibrator that helps was fitted
    """
    if tone == "unknown":
        return "Too few rows to say"
    if tone == "fine":
        return NOT_FOUND
    if not found:
        return f"{LIKELY}; calibration helps" if calibrated else LIKELY
    if calibrated:
        return f"{FOUND}; calibration corrects {'it' if tone == 'calibrated' else 'part of it'}"
    return f"Slightly {OFF}" if tone == "slight" else FOUND


def advice_words(decision: str | None, rows_needed: int | None, method: str, *, found: bool) -> str:
    """Say what to do, in a sentence.

    decision : `CALIBRATE`, `LEAVE_ALONE`, `TOO_FEW_ROWS` or None; method : "" where none was fitted
    """
    if decision == TOO_FEW_ROWS:
        many = "more" if rows_needed is None else f"about {rows_needed:,}"
        return f"Collect {many} labelled rows before deciding."
    if decision == CALIBRATE and method:
        return f"Calibrate the scores with {method} before they are used."
    if decision == CALIBRATE:
        return "Calibrate the scores: fit a calibrator on rows that are not measured here."
    if found and not method:
        return "Fit a calibrator on other rows, and see whether the log loss falls."
    return "Leave the scores as they are."
