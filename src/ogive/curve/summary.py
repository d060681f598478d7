r"""Summaries: a curve of any length in a few thousand rows of integers, which add up exactly.

The *place* of a score is its key (`ogive.curve.keys`) without the hit: an integer below 2^63 that
rises with the score. Its top bits (side, exponent and `bits` bits of the tail's mantissa) name a
**bucket**, and its low bits are the *offset* o inside it. A bucket spans less than :math:`2^{-b}`
of its tail, and inside it the tail is a straight line in o, so that with :math:`\sum o` known
the sum of the tails is known exactly. A row of a summary is, for one bucket,

* how many samples fell in it, and how many hits,
* the sum of their offsets, and of the hits' offsets, each as two limbs (high · 2^32 + low),
* the smallest and the largest place.

All are integers; adding two summaries adds them (or takes the smaller and the larger), so that
the sum is the same bit for bit whatever the parts and their order. Limbs hold the sums of 2^46
samples in one row; rows of more, and weights, have sums in float64, which agree to rounding.

Rows of many curves (classes, groups) can be in one summary: the column `curve` separates them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from ogive.curve.keys import ONE
from ogive.curve.ties import squares
from ogive.errors import InvalidInput

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ogive._typing import AnyArray, BoolArray, FloatArray, IntArray, KeyArray, WeightKind

MANTISSA = 52
#: Bits of the tail's mantissa that name a bucket: for one curve, and for each of many classes.
BITS, CLASS_BITS = 12, 5
LEAST_BITS = 4
#: The sums of a row, without weights and with them.
COUNTED = ("count", "hits", "low", "high", "low_hits", "high_hits")
WEIGHED = ("count", "hits", "square", "square_hits", "offset", "offset_hits")

_LIMB = 32
_LOW = (1 << _LIMB) - 1
#: With this many samples in a row the limbs could overflow: an offset is below 2^48, so that n of
#: them add n · 2^16 to each limb (`coarsened`), and carries of up to 2^30 rows 2^62 more.
_TOO_MANY_FOR_LIMBS = 1 << 46
_SIDE_AND_EXPONENT = 11  # bits of a place above the mantissa
_KEYS_SORTED_AT_ONCE = 1 << 18  # they fit the cache


@dataclass(frozen=True, slots=True, eq=False)
class Summary:
    """Buckets of one or of many curves, in order of curve and bucket.

    Attributes
    ----------
    bits : int
        How many bits of the mantissa name a bucket; 52 is one bucket for each score.
    curve : (m,) int64
        Which curve a row is of; 0 if there is one.
    bucket : (m,) int64
    first, last : (m,) int64
        The smallest and the largest place of a row.
    sums : (6, m) int64, or float64 with weights
        Under the names of `COUNTED` or `WEIGHED`.
    """

    bits: int
    curve: IntArray
    bucket: IntArray
    first: IntArray
    last: IntArray
    sums: AnyArray

    @property
    def weighted(self) -> bool:
        """Whether the sums are of weights."""
        return self.sums.dtype.kind == "f"

    @property
    def size(self) -> int:
        """How many rows there are."""
        return self.bucket.size

    @property
    def count(self) -> AnyArray:
        """Samples in each row, (m,)."""
        count: AnyArray = self.sums[0]
        return count

    def of(self, curve: int) -> Summary:
        """Return the rows of one curve, as curve 0."""
        at = slice(*np.searchsorted(self.curve, [curve, curve + 1]))
        part = self.take(at)
        return replace(part, curve=np.zeros_like(part.curve))

    def coarsened(self, bits: int) -> Summary:
        """Return the summary with fewer bits: exactly what these samples give with that many."""
        if bits == self.bits:
            return self
        down, step = self.bits - bits, np.int64(1) << np.int64(MANTISSA - self.bits)
        inside = self.bucket & ((1 << down) - 1)  # which of the old buckets in the new one
        sums = self.sums.copy()
        if self.weighted:
            sums[4:6] += sums[0:2] * (inside * float(step))
        else:
            for low, high, n in ((2, 3, sums[0]), (4, 5, sums[1])):
                # The shift is below 2^48, and n below 2^46: multiply limb by limb.
                shift = inside * step
                sums[low] += n * (shift & 0xFFFF)
                upper = n * ((shift >> 16) & 0xFFFF)
                sums[low] += (upper & 0xFFFF) << 16
                sums[high] += (upper >> 16) + n * (shift >> _LIMB)
        moved = replace(self, bits=bits, bucket=self.bucket >> down, sums=sums)
        return added([moved])

    def normal(self) -> Summary:
        """Carry from the low limbs to the high, in place: equal sums then have equal limbs."""
        if not self.weighted:
            for low in (2, 4):
                self.sums[low + 1] += self.sums[low] >> _LIMB
                self.sums[low] &= _LOW
        return self

    @property
    def is_sum(self) -> bool:
        """Whether there is a row for each bucket, in order, and nothing to carry."""
        later = self.curve[1:] > self.curve[:-1]
        later |= (self.curve[1:] == self.curve[:-1]) & (self.bucket[1:] > self.bucket[:-1])
        low = self.sums[2:5:2]
        return bool(later.all()) and (self.weighted or not (low >> _LIMB).any())

    def within(self, ranges: IntArray) -> BoolArray:
        """Return which rows lie in ranges of places, (k, 2), each from the first to below the last.

        A row that only touches a range counts as inside.
        """
        if ranges.size == 0:
            return np.zeros(self.size, dtype=np.bool_)
        index = np.searchsorted(ranges[:, 1], self.first, side="right")
        at = np.minimum(index, ranges.shape[0] - 1)
        inside: BoolArray = (index < ranges.shape[0]) & (ranges[at, 0] <= self.last)
        return inside

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Summary):
            return NotImplemented
        return self.bits == other.bits and all(
            np.array_equal(a, b) for a, b in zip(self.columns(), other.columns(), strict=True)
        )

    __hash__ = None  # type: ignore[assignment]

    def columns(self) -> Iterator[AnyArray]:
        """Yield all columns: curve, bucket, first, last and the sums."""
        yield from (self.curve, self.bucket, self.first, self.last, *self.sums)

    def take(self, at: slice | BoolArray) -> Summary:
        """Return some of the rows."""
        curve, bucket, first, last = self.curve[at], self.bucket[at], self.first[at], self.last[at]
        return Summary(self.bits, curve, bucket, first, last, self.sums[:, at])


def check_bits(bits: int) -> int:
    """Return the number of bits, checked."""
    whole = isinstance(bits, int | np.integer) and not isinstance(bits, bool)
    if not whole or not LEAST_BITS <= bits <= MANTISSA:
        msg = f"`bits` must be a whole number from {LEAST_BITS} to {MANTISSA}, not {bits!r}."
        raise InvalidInput(msg)
    return int(bits)


def empty(bits: int, *, weighted: bool = False) -> Summary:
    """Return a summary without rows."""
    none = np.empty(0, dtype=np.int64)
    return Summary(
        bits, none, none, none, none, np.empty((6, 0), np.float64 if weighted else np.int64)
    )


def summarise(
    keys: KeyArray,
    bits: int,
    *,
    ends: IntArray | None = None,
    curves: IntArray | None = None,
) -> Summary:
    """Summarise keys, which are sorted in place.

    Parameters
    ----------
    keys : (n,) uint64
    bits : int
    ends, curves : (c,) integers, optional
        The keys of curve ``curves[i]`` are those from ``ends[i − 1]`` to below ``ends[i]``.
        Default: all are of curve 0.
    """
    if keys.size == 0:
        return empty(bits)
    if ends is None or curves is None:
        ends, curves = np.array([keys.size]), np.zeros(1, dtype=np.int64)
    starts = np.concatenate([[0], ends[:-1]])
    parts: list[Summary] = []
    piece = min(
        _KEYS_SORTED_AT_ONCE, 1 << (12 + bits)
    )  # the offsets of a piece add up to less than 2^64
    i = 0
    while i < ends.size:
        # Short curves share a piece; a long one is cut into several.
        j = max(int(np.searchsorted(ends, starts[i] + piece, side="right")), i + 1)
        for at in range(int(starts[i]), int(ends[j - 1]), piece if j == i + 1 else keys.size):
            stop = min(at + piece, int(ends[j - 1])) if j == i + 1 else int(ends[j - 1])
            cuts = starts[i:j] - at if j > i + 1 else np.zeros(1, dtype=np.int64)
            parts.append(_piece(keys[at:stop], bits, cuts, curves[i:j]))
        i = j
    return added(parts) if len(parts) != 1 else parts[0]


def _piece(keys: KeyArray, bits: int, starts: IntArray, curves: IntArray) -> Summary:
    """Summarise at most a piece of keys; curve i has those from ``starts[i]`` on."""
    if keys.size == 0:
        return empty(bits)
    for a, b in zip(starts, [*starts[1:], keys.size], strict=True):
        keys[a:b].sort()
    place = (keys >> ONE).view(np.int64)
    bucket = place >> np.int64(MANTISSA - bits)
    new = np.empty(keys.size, dtype=np.bool_)
    np.not_equal(bucket[1:], bucket[:-1], out=new[1:])
    new[starts[starts < keys.size]] = True
    new[0] = True
    first = np.flatnonzero(new)
    last = np.append(first[1:], keys.size)
    offset = place & np.int64((1 << (MANTISSA - bits)) - 1)
    hit = (keys & ONE).view(np.int64)
    count = last - first
    hits = np.add.reduceat(hit, first)
    total = np.add.reduceat(offset, first)
    offset *= hit
    total_hits = np.add.reduceat(offset, first)
    sums = np.empty((6, first.size), dtype=np.int64)
    sums[0], sums[1] = count, hits
    sums[2:4], sums[4:6] = limbs(total.view(np.uint64)), limbs(total_hits.view(np.uint64))
    which = curves[np.searchsorted(starts, first, side="right") - 1]
    return Summary(bits, which, bucket[first], place[first], place[last - 1], sums)


def limbs(total: KeyArray) -> tuple[IntArray, IntArray]:
    """Return sums as low and high limb."""
    low, high = total & np.uint64(_LOW), total >> np.uint64(_LIMB)
    return low.view(np.int64), high.view(np.int64)


def summarise_weighted(
    keys: KeyArray,
    weights: FloatArray,
    bits: int,
    kind: WeightKind = "repetition",
    *,
    curves: IntArray | None = None,
) -> Summary:
    """Summarise keys that carry weights, and are each of a curve; rows of weight 0 are left out."""
    if not (weights > 0).all():
        keep = weights > 0
        keys, weights = keys[keep], weights[keep]
        curves = None if curves is None else curves[keep]
    if keys.size == 0:
        return empty(bits, weighted=True)
    place = (keys >> ONE).view(np.int64)
    hit = (keys & ONE).astype(np.float64)
    offset = (place & np.int64((1 << (MANTISSA - bits)) - 1)).astype(np.float64)
    square = squares(weights, kind)
    sums = np.stack([weights, weights * hit, square, square * hit, weights * offset,
                     weights * hit * offset])  # fmt: skip
    which = np.zeros(keys.size, dtype=np.int64) if curves is None else curves
    bucket = place >> np.int64(MANTISSA - bits)
    return added([Summary(bits, which, bucket, place, place, sums)])


def summary_of_groups(
    cell: KeyArray, count: FloatArray, hits: FloatArray, square: FloatArray, square_hits: FloatArray
) -> Summary:
    """Return a row for each of some grouped rows; whole weights are counts, if limbs hold them."""
    place = (cell >> ONE).view(np.int64)
    zero = np.zeros_like(count)
    sums = np.stack([count, hits, square, square_hits, zero, zero])
    whole = np.array_equal(sums[0:2], sums[2:4]) and not (sums[0:2] % 1).any()
    if whole and float(count.max()) < _TOO_MANY_FOR_LIMBS:
        sums[2:4] = 0
        sums = sums.astype(np.int64)
    return Summary(MANTISSA, np.zeros_like(place), place, place, place, sums)


def added(parts: Sequence[Summary]) -> Summary:
    """Add up summaries of any curves; those with more bits are coarsened first.

    Summaries with weights and without add up to one with weights.
    """
    if not parts:
        return empty(BITS)
    parts = [part for part in parts if part.size] or list(parts[:1])
    bits = min(part.bits for part in parts)
    parts = [part.coarsened(bits) for part in parts]
    if len({part.weighted for part in parts}) > 1:
        parts = [_as_weighted(part) for part in parts]
    if parts[0].size == 0 or (len(parts) == 1 and parts[0].is_sum):
        return parts[0]
    # Column by column, so that little more than the parts and their sum is in memory.
    names = ("curve", "bucket", "first", "last")
    curve, bucket, first, last = (np.concatenate([getattr(p, c) for p in parts]) for c in names)
    order = _order(curve, bucket, bits)
    curve, bucket = curve[order], bucket[order]
    start = np.flatnonzero(_is_new(curve, bucket))
    sums = np.empty((6, start.size), dtype=parts[0].sums.dtype)
    count = np.add.reduceat(np.concatenate([part.count for part in parts])[order], start)
    if not parts[0].weighted and int(count.max()) >= _TOO_MANY_FOR_LIMBS:
        return added([_as_weighted(part) for part in parts])
    for i, row in enumerate(sums):
        np.add.reduceat(np.concatenate([part.sums[i] for part in parts])[order], start, out=row)
    return Summary(
        bits,
        curve[start],
        bucket[start],
        np.minimum.reduceat(first[order], start),
        np.maximum.reduceat(last[order], start),
        sums,
    ).normal()


def _is_new(curve: IntArray, bucket: IntArray) -> BoolArray:
    """Return which of some sorted rows are of another bucket than the row before."""
    return np.concatenate([[True], (bucket[1:] != bucket[:-1]) | (curve[1:] != curve[:-1])])


def _order(curve: IntArray, bucket: IntArray, bits: int) -> IntArray:
    """Return the order of curve, then bucket; stable, and quick on rows in sorted runs."""
    wide = bits + _SIDE_AND_EXPONENT
    if int(curve.max()) >> (63 - wide):
        return np.lexsort((bucket, curve))
    return np.argsort((curve << wide) | bucket, kind="stable")


def _as_weighted(part: Summary) -> Summary:
    """Return counted rows as rows of weight 1."""
    if part.weighted:
        return part
    count, hits, low, high, low_hits, high_hits = part.sums.astype(np.float64)
    limb = float(1 << _LIMB)
    sums = np.stack([count, hits, count, hits, high * limb + low, high_hits * limb + low_hits])
    return replace(part, sums=sums)
