r"""Since when scores are off, in which way, and what to do about it.

**When.** If the scores were right up to day s − 1 and the map g has held since, the log-likelihood
exceeds that of "always right" by :math:`\ell(s) = \sum_{t \ge s} \log` of the factors of g, with g
fitted to the days since s. The change is at the start with the largest :math:`\ell`; the interval
holds all starts within :math:`\log 20` of it, and the days between them and the next start that
is kept.

**Which kind.** Since the change, a shift in log-odds (the base rate changed), a line (the slope
changed too) and the spline (the shape changed) are compared by the log loss that they save, less
:math:`\tfrac12 d \log n` for their d parameters (BIC).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log
from shlex import quote
from typing import TYPE_CHECKING, ClassVar, Literal, TypeAlias

import numpy as np

from ogive._numerics.logistic import intercept_for_share
from ogive._wording import percent
from ogive.calibrators.grouped_trials import trials_of
from ogive.calibrators.platt import platt_line
from ogive.studies.watch.starts import saved_by, since
from ogive.studies.where_off import about_scores, spline_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ogive._typing import FloatArray
    from ogive.calibrators.spline_map import SplineMap
    from ogive.curve import Curve
    from ogive.studies.watch.starts import Start
    from ogive.studies.watch.times import Time

Kind: TypeAlias = Literal["base rate", "slope", "shape", "one group"]

#: Starts whose likelihood is within this factor of the best may be the change.
LIKELIHOOD_RATIO_OF_INTERVAL = 20.0
#: The command that refits, for those who know the log and its columns to fill in.
REFIT, OF_GROUPS = "ogive fit LOG --time COL", " --by COLS"
_KINDS: dict[Kind, str] = {
    "base rate": "the base rate (a shift in log-odds)",
    "slope": "the slope (a line in log-odds)",
    "shape": "the shape (a curve in log-odds)",
}


@dataclass(frozen=True, slots=True)
class Change:
    """A change of calibration.

    Attributes
    ----------
    since : str or int
        The first day on which the scores are off, as estimated.
    since_low, since_high : str or int
        The earliest and the latest day that explain the outcomes nearly as well.
    kind : {"base rate", "slope", "shape", "one group"}
    until : str or int, or None
        The day before; None if the scores were off from the first day on.
    words : str
        All of it in words.
    advice : str
        What to do, with a command.
    """

    KEYS: ClassVar = ("since", "since_low", "since_high", "kind")

    since: Time
    since_low: Time
    since_high: Time
    kind: Kind
    until: Time | None
    words: str
    advice: str


def change_of(starts: Sequence[Start], times: Sequence[Time], group: str | None = None) -> Change:
    """Return the change that explains the outcomes best; `times` are those of all days.

    `group` is named in the words, if the rows are those of one.
    """
    rows = since(starts)
    maps = [spline_of(curve) for curve in rows]
    gains = np.array([saved_by(g, curve) for g, curve in zip(maps, rows, strict=True)])
    best = int(gains.argmax())
    near = np.flatnonzero(gains >= gains[best] - log(LIKELIHOOD_RATIO_OF_INTERVAL))
    numbers = [start.number for start in starts]
    low, high = near[0], near[-1]
    first = numbers[low - 1] + 1 if low else 1
    last = numbers[high + 1] - 1 if high + 1 < len(numbers) else numbers[high]
    day = numbers[best]
    kind = kind_of(rows[best], maps[best])
    interval = times[first - 1], times[last - 1]
    until = times[day - 2] if day > 1 else None
    scores = about_scores(rows[best], maps[best]).removesuffix(".")
    scores = scores[:1].lower() + scores[1:] or "the scores are off, each by little"
    first = times[day - 1]
    when, what = f"Calibrated until {until}; since then", "What changed"
    began = f" The change began between {interval[0]} and {interval[1]}."
    if until is None:
        when, what = f"Not calibrated since the first day, {first}:", "What is off"
        began = f" It may have begun as late as {interval[1]}."
    who = f"Group {group}: " if group is not None else ""
    words = (
        f"{who}{when} {scores} ({_example(rows[best], maps[best])})."
        f"{began if interval[0] != interval[1] else ''} {what}: {_KINDS[kind]}."
    )
    by = "" if group is None else OF_GROUPS
    advice = f"Refit on data from {first} on: {REFIT}{by} --since {quote(str(first))} -o cal.json"
    return Change(first, *interval, kind, until, words, advice)


def kind_of(curve: Curve, gamma: SplineMap) -> Kind:
    """Return what changed, by the log loss saved by a shift, a line and the spline."""
    trials = trials_of(curve)
    eta, count = trials.offset, trials.count
    rows = float(count.sum())

    def gain(line: FloatArray) -> float:
        before = trials.hits @ eta - count @ np.logaddexp(0.0, eta)
        return float(trials.hits @ line - count @ np.logaddexp(0.0, line) - before)

    shift = intercept_for_share(eta, count, float(trials.hits.sum()) / rows)
    intercept, slope = platt_line(trials)
    penalty = 0.5 * log(max(rows, 2.0))
    worth: dict[Kind, float] = {
        "base rate": gain(eta + shift) - penalty,
        "slope": gain(intercept + slope * eta) - 2.0 * penalty,
        "shape": gain(gamma.log_odds_at(eta)) - max(gamma.edf, 3.0) * penalty,
    }
    return max(worth, key=lambda kind: worth[kind])


def _example(curve: Curve, gamma: SplineMap) -> str:
    """Name the typical score that is off: of those that move more than the mean, the median."""
    p = np.where(curve.high, 1.0 - curve.tail, curve.tail)
    q = gamma.from_tails(curve.high, curve.tail)
    moved = np.abs(q - p)
    far = moved >= np.average(moved, weights=curve.count)
    below = np.cumsum(curve.count[far])
    at = np.flatnonzero(far)[int(np.searchsorted(below, 0.5 * below[-1]))]
    score = round(float(p[at]), 2)
    means = float(gamma([score])[0]) if 0.0 < score < 1.0 else float(q[at])
    return f"a score of {percent(score, 0)} means {percent(means, 0)}"
