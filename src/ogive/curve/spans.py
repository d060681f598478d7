"""Rows of a summarised curve: where each begins and ends, and its score.

The score of a row is the mean tail of its samples, which the integers of a summary give to the last
bit or so; sums of scores are then those of the samples. Rows of a coarse summary can be
replaced, range by range, by those of finer ones: that is how a second reading of a log makes a
measure exact where it matters.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ogive.curve.keys import EVEN, ONE
from ogive.curve.summary import MANTISSA, Summary
from ogive.curve.ties import Groups, frozen

if TYPE_CHECKING:
    from ogive._typing import AnyArray, BoolArray, FloatArray, IntArray

_LAST = (1 << 63) - 1
MIDDLE = 1 << 62  # places from here up are on the high side
_LIMB = float(1 << 32)


@dataclass(frozen=True, slots=True)
class Spans:
    """Rows of a summarised curve, in order of score; (m,) each.

    first, last : the smallest and the largest place; equal where all samples have one score
    groups : counts, hits, and cells at the mean tail
    tail_hits : the mean tail of the hits, 0 where there are none
    """

    first: IntArray
    last: IntArray
    groups: Groups
    tail_hits: FloatArray

    @property
    def high(self) -> BoolArray:
        """Whether the scores exceed ½."""
        return self.first >= MIDDLE

    @property
    def ends(self) -> tuple[FloatArray, FloatArray]:
        """The smallest and the largest tail of each row."""
        a, b = tail_at(self.first), tail_at(self.last)
        return np.minimum(a, b), np.maximum(a, b)


@dataclass(frozen=True, slots=True)
class Finer:
    """A finer summary of all samples in some ranges of places, (k, 2): from, to below."""

    ranges: IntArray
    summary: Summary


def tail_at(place: IntArray) -> FloatArray:
    """Return the tail of each place.

    >>> tail_at(np.array([0, (1 << 63) - 1]))
    array([0., 0.])
    """
    bits: IntArray = np.where(place >= MIDDLE, _LAST - place, place)
    return bits.view(np.float64)


def spans_of(summary: Summary, finer: tuple[Finer, ...] = ()) -> Spans:
    """Return the rows of one curve: of the finest summary that holds each range."""
    parts = []
    levels = [summary, *(level.summary for level in finer)]
    for level, inner in zip(levels, [*finer, None], strict=True):
        parts.append(_spans(level if inner is None else level.take(~level.within(inner.ranges))))
    if len(parts) == 1:
        return parts[0]
    first = np.concatenate([part.first for part in parts])
    order = np.argsort(first, kind="stable")

    def join(columns: list[AnyArray]) -> AnyArray:
        return frozen(np.concatenate(columns)[order])

    names = ("cell", "count", "hits", "square", "square_hits")
    groups = Groups(*(join([getattr(part.groups, name) for part in parts]) for name in names))
    last = np.concatenate([part.last for part in parts])
    return Spans(first[order], last[order], groups, join([part.tail_hits for part in parts]))


def _spans(summary: Summary) -> Spans:
    sums = summary.sums
    if summary.weighted:
        count, hits, square, square_hits, offset, offset_hits = sums
    else:
        count, hits = square, square_hits = sums[0].astype(np.float64), sums[1].astype(np.float64)
        offset, offset_hits = (sums[i + 1] * _LIMB + sums[i] for i in (2, 4))
    tail = _mean_tail(summary, offset, count)
    tail_hits = np.where(hits > 0, _mean_tail(summary, offset_hits, np.where(hits > 0, hits, 1)), 0)
    cell = tail.view(np.uint64) << ONE
    cell ^= (summary.first >= MIDDLE) * EVEN
    columns = (frozen(np.asarray(column)) for column in (count, hits, square, square_hits))
    return Spans(summary.first, summary.last, Groups(frozen(cell), *columns), tail_hits)


def _mean_tail(summary: Summary, offset: FloatArray, count: FloatArray) -> FloatArray:
    """Return the mean tail of each row: its bucket's first tail, and the mean offset in ulps."""
    width = (1 << (MANTISSA - summary.bits)) - 1
    base = summary.bucket << (MANTISSA - summary.bits)
    high = summary.first >= MIDDLE
    least = np.where(high, _LAST - base - width, base)  # the bits of the bucket's smallest tail
    mean = offset / count
    mean = np.where(high, width - mean, mean)
    ulp = np.ldexp(1.0, np.maximum(least >> MANTISSA, 1).astype(np.int32) - 1075)
    tail = least.view(np.float64) + ulp * mean
    a, b = tail_at(summary.first), tail_at(summary.last)
    clipped: FloatArray = np.clip(tail, np.minimum(a, b), np.maximum(a, b))
    return clipped
