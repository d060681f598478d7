r"""Brackets: guaranteed bounds of the measures of a summarised curve.

A summary keeps, for each row, n samples, Y hits, the sum of their tails, of the hits' tails, and
the smallest and the largest score lo and hi. Let L and R be N times the gap before the row and
after it; they are exact. Inside the row the gap is somewhere in

.. math:: \max(L - (n - Y)\,hi,\; R - Y (1 - lo)) \;\le\; D \;\le\;
          \min(L + Y (1 - lo),\; R + (n - Y)\,hi) ,

because each hit lifts it by at most 1 − lo and each miss lowers it by at most hi. Where lo = hi
there is nothing inside. So the KS and the Kuiper error lie between their values at the rows' ends
and the largest of these bounds. A bin of ECE whose edge cuts through a row holds some unknown part
of it, bounded likewise. With tails q in [a, b] and sum S,

.. math:: S^2 / n \le \sum q^2 \le (a + b) S - n a b

brackets the Brier score, and a convex function of q, as the log loss is, lies between its value
at the mean and the chord from a to b. All brackets contain the number that all samples would give
(up to rounding, for which `SLACK` is added).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ogive.curve.curve import Curve, as_curve
from ogive.curve.spans import tail_at
from ogive.metrics.binned import BINS, as_edges
from ogive.metrics.gap import Within, between
from ogive.metrics.proper import mean_score
from ogive.rows.tails import LOG_LOSS_CLIP as CLIP

if TYPE_CHECKING:
    from collections.abc import Callable

    from ogive._typing import ArrayLike, BoolArray, FloatArray, IntArray, WeightKind
    from ogive.curve.spans import Spans

Bracket = tuple[float, float]
#: Brackets are widened by this much, for rounding in sums of up to 2^40 terms.
SLACK = 1e-13


@dataclass(frozen=True, slots=True)
class GapBounds:
    """N times the gap: after each row, and its bounds inside the row, (m,) each.

    `inside` is whether there is anything inside: more than one score.
    """

    ends: FloatArray
    low: FloatArray
    high: FloatArray
    inside: BoolArray

    @property
    def lowest(self) -> float:
        """The lowest end, or 0."""
        return min(float(self.ends.min()), 0.0)

    @property
    def highest(self) -> float:
        """The highest end, or 0."""
        return max(float(self.ends.max()), 0.0)

    def candidates(self) -> BoolArray:
        """Return the rows in which the gap might exceed all ends, either way, (m,)."""
        wider: BoolArray = (self.high > self.highest) | (self.low < self.lowest)
        return wider & self.inside


def gap_bounds(curve: Curve) -> GapBounds:
    """Return the bounds of the gap of a summarised curve, row by row."""
    spans = _spans(curve)
    after = curve.gap * curve.n
    before = np.concatenate([[0.0], after[:-1]])
    up, down = _largest_steps(spans)
    low, high = between(Within(before, before), Within(after, after), up, down)
    ends = np.minimum(before, after), np.maximum(before, after)
    inside = spans.first != spans.last
    return GapBounds(
        after,
        np.where(inside, np.minimum(low, ends[0]), ends[0]),
        np.where(inside, np.maximum(high, ends[1]), ends[1]),
        inside,
    )


def candidate_ranges(curve: Curve) -> IntArray:
    """Return ranges of places, (k, 2): from, to below, outside which the gap has no extreme."""
    spans = _spans(curve)
    index = np.flatnonzero(gap_bounds(curve).candidates())
    if index.size == 0:
        return np.empty((0, 2), dtype=np.int64)
    new = np.flatnonzero(np.diff(index, prepend=-2) > 1)
    first, last = index[new], index[np.append(new[1:], index.size) - 1]
    return np.stack([spans.first[first], spans.last[last] + 1], axis=1)


def brackets(
    curve: Curve | ArrayLike,
    outcomes: ArrayLike | None = None,
    bins: ArrayLike | int = BINS,
    *,
    sample_weight: ArrayLike | None = None,
    weight_kind: WeightKind = "repetition",
) -> dict[str, Bracket]:
    """Return guaranteed brackets of KS, Kuiper, ECE, Brier, log loss and the mean score.

    If the curve holds every score, both ends are the value itself. Bins of
    equal mass have no bracket, since their edges depend on the samples.

    >>> import numpy as np
    >>> from ogive import Curve, ks_error
    >>> scores = np.linspace(0, 1, 1001) ** 2
    >>> curve = Curve.from_scores(scores, np.arange(1001) % 3 == 0)
    >>> low, high = brackets(curve.summarised(5))["ks"]
    >>> low <= ks_error(curve) <= high, high - low < 0.003
    (True, True)
    """
    if isinstance(curve, Curve) and outcomes is not None:
        bins, outcomes = outcomes, None  # a curve has its own: its second argument is the bins
    curve = as_curve(curve, outcomes, sample_weight=sample_weight, weight_kind=weight_kind)
    if curve.spans is None:
        curve = curve.summarised(52)
    n = curve.n
    bounds = gap_bounds(curve)
    lowest, highest = min(float(bounds.low.min()), 0.0), max(float(bounds.high.max()), 0.0)
    kuiper = bounds.highest - bounds.lowest, highest - lowest
    mean = mean_score(curve)
    found = {
        "kuiper": _over(kuiper, n),
        "ece": _over(_ece(curve, as_edges(curve, bins)), n),
        "brier": _over(_brier(_spans(curve)), n),
        "nll": _over(_nll(_spans(curve)), n),
        "mean_score": (mean, mean),
    }
    return {"ks": ks_bracket(curve)} | {key: _widened(ends) for key, ends in found.items()}


def ks_bracket(curve: Curve) -> Bracket:
    """Return the bracket of the KS error alone, of a summarised curve."""
    bounds = gap_bounds(curve)
    least = max(bounds.highest, -bounds.lowest)
    most = max(float(bounds.high.max()), -float(bounds.low.min()), 0.0)
    return _widened(_over((least, most), curve.n))


def _over(ends: Bracket, n: float) -> Bracket:
    return ends[0] / n, ends[1] / n


def _widened(ends: Bracket) -> Bracket:
    return max(ends[0] - SLACK * (1.0 + ends[0]), 0.0), ends[1] + SLACK * (1.0 + ends[1])


def _spans(curve: Curve) -> Spans:
    assert curve.spans is not None  # noqa: S101 - asked of summarised curves only
    return curve.spans


def _largest_steps(spans: Spans) -> tuple[FloatArray, FloatArray]:
    """Return how far hits can lift the gap inside each row, and how far misses lower it."""
    high, first, last = spans.high, tail_at(spans.first), tail_at(spans.last)
    hits, misses = spans.groups.hits, spans.groups.count - spans.groups.hits
    return hits * np.where(high, first, 1.0 - first), misses * np.where(high, 1.0 - last, last)


def _ece(curve: Curve, edges: FloatArray) -> Bracket:
    """Bracket N times ECE: whole rows are in one bin, others in several with unknown shares."""
    spans = _spans(curve)
    ends = [np.where(spans.high, 1.0 - t, t) for t in map(tail_at, (spans.first, spans.last))]
    first, last = (np.searchsorted(edges[1:-1], score, side="left") for score in ends)
    surplus = np.diff(curve.gap * curve.n, prepend=0.0)
    whole = first == last
    sums = np.bincount(first[whole], surplus[whole], minlength=edges.size - 1)
    least, most = sums.astype(np.float64), sums.astype(np.float64)
    up, down = _largest_steps(spans)
    for i in np.flatnonzero(~whole):
        if last[i] == first[i] + 1:
            continue
        least[first[i] : last[i] + 1] -= down[i]
        most[first[i] : last[i] + 1] += up[i]
    low, high = _cut_in_two(least, most, first, surplus, up, down, last == first + 1)
    smallest = np.where((low <= 0) & (high >= 0), 0.0, np.minimum(np.abs(low), np.abs(high)))
    return float(smallest.sum()), float(np.maximum(np.abs(low), np.abs(high)).sum())


def _cut_in_two(  # noqa: PLR0917 - columns of one table
    least: FloatArray,
    most: FloatArray,
    first: IntArray,
    surplus: FloatArray,
    up: FloatArray,
    down: FloatArray,
    cut: BoolArray,
) -> tuple[FloatArray, FloatArray]:
    """Add rows that one edge cuts: x goes to the left bin and the rest of the surplus right."""
    for i in np.flatnonzero(cut):
        low, high = max(-down[i], surplus[i] - up[i]), min(up[i], surplus[i] + down[i])
        least[first[i]] += low
        most[first[i]] += high
        least[first[i] + 1] += surplus[i] - high
        most[first[i] + 1] += surplus[i] - low
    return least, most


def _unlikely(spans: Spans) -> tuple[tuple[FloatArray, FloatArray], tuple[FloatArray, FloatArray]]:
    """Return count and sum of tails of the unlikely outcomes, and of the likely ones."""
    groups = spans.groups
    bits = np.where(spans.high, ~groups.cell, groups.cell) >> np.uint64(1)
    total, of_hits = groups.count * bits.view(np.float64), groups.hits * spans.tail_hits
    hit = groups.hits, of_hits
    miss = groups.count - groups.hits, np.maximum(total - of_hits, 0.0)
    pairs = [
        (np.where(spans.high, m, h), np.where(spans.high, h, m))
        for h, m in zip(hit, miss, strict=True)
    ]
    return (pairs[0][0], pairs[1][0]), (pairs[0][1], pairs[1][1])


def _mean(count: FloatArray, total: FloatArray, spans: Spans) -> FloatArray:
    """Return mean tails, kept inside the rows; anything where there is no sample."""
    a, b = spans.ends
    return np.clip(total / np.where(count > 0, count, 1.0), a, b)


def _brier(spans: Spans) -> Bracket:
    """Bracket the sum of squared errors: q² for all, and 1 − 2q more for the unlikely."""
    a, b = spans.ends
    (count, total), likely = _unlikely(spans)
    fixed = float(np.sum(count - 2.0 * total))
    low = high = 0.0
    for n, s in ((count, total), likely):
        mean = _mean(n, s, spans)
        low += float(np.sum(n * mean * mean))
        high += float(np.sum(n * ((a + b) * mean - a * b)))
    return fixed + low, fixed + high


def _nll(spans: Spans) -> Bracket:
    """Bracket the sum of −log(1 − q) over the likely and of −log q over the unlikely outcomes."""
    a, b = spans.ends
    unlikely, likely = _unlikely(spans)
    low, high = _convex(lambda q: -np.log1p(-np.maximum(q, CLIP)), likely, spans)
    kink = (a < CLIP) & (b > CLIP)  # −log max(q, CLIP) is not convex across the clip
    for at in (~kink, kink):
        n, total = (np.where(at, column, 0.0) for column in unlikely)
        if at is kink:
            low += float(np.sum(n * -np.log(np.maximum(b, CLIP))))
            high += float(np.sum(n * -np.log(np.maximum(a, CLIP))))
        else:
            ends = _convex(lambda q: -np.log(np.maximum(q, CLIP)), (n, total), spans)
            low, high = low + ends[0], high + ends[1]
    return low, high


def _convex(
    f: Callable[[FloatArray], FloatArray], rows: tuple[FloatArray, FloatArray], spans: Spans
) -> Bracket:
    """Bracket the sum of a convex function: at the mean, and on the chord."""
    a, b = spans.ends
    n, total = rows
    mean = _mean(n, total, spans)
    share = np.where(b > a, (mean - a) / np.where(b > a, b - a, 1.0), 0.0)
    return float(np.sum(n * f(mean))), float(np.sum(n * ((1.0 - share) * f(a) + share * f(b))))
