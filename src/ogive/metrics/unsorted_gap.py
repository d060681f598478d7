r"""The largest gap of scores that are not sorted.

N times the gap is read between any two scores, so it can be read between *cells*, into which the
rows are counted. With n rows and k hits in a cell of scores from a to b, the gap moves by k minus
the sum of the scores, which lies between n a and n b; inside the cell it rises by at most
k (1 − a) and falls by at most (n − k) b. Added up from the left, where it is 0, and from the right,
where it is all hits minus the sum of all scores, this bounds the gap everywhere. Only cells whose
bound reaches the best end of a cell can hold the largest gap. There are few: the sum of all scores
below them is taken exactly, their rows are sorted, and the rest is never looked at again.

Cells are as fine as needed near 0 and 1 and cost little to find. With the bits of a float64, which
are its logarithm but for bends, and a floor c,

.. math:: i(s) = \mathrm{bits}(s + c) - \mathrm{bits}(1 + c - s)

is the log-odds of s but for bends. It rises with s whatever is rounded on the way, which is all
that correctness needs, and is linear between scores where s + c or 1 + c − s is a power of 2.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ogive._numerics.blocks import BLOCK, blocks
from ogive._validate import bad_scores
from ogive.curve.keys import runs_of_keys
from ogive.curve.packing import keys_of_scores
from ogive.metrics.gap import START, Extreme, Extremes, GapReader, Within, between

if TYPE_CHECKING:
    from ogive._typing import BoolArray, FloatArray, IntArray, KeyArray

_FLOOR = 2.0**-21
_FEWEST, _MOST = 10, 13  # bits after the exponent that count: 2^bits cells of an octave
_ROWS = 9  # so many fewer of them than binary digits of N
_GROUP = 64  # cells that are judged together first
_CHUNK = 128  # groups whose cells are judged at a time
_SLOPPY = 1 / 64  # share of its width by which a cell may miss its edges
_ROUNDING = 1e-13  # of the gap
_BLOCKS_COUNTED_AT_ONCE = 8  # blocks that are counted at a time
_BLOCKS_TOGETHER = 16  # blocks that are looked into at a time
_PLACES = 3  # at most so many intervals are looked into,
_FAR = 1 / 16  # with this share of the rows between two of them
_MAX_SHARE_TO_SORT = 0.25  # share of rows up to which sorting those alone is worth it
_PROBE = 1024  # rows that tell whether most scores are given more than once
_FOUR = np.float64(4.0).view(np.uint64)
_UNITS = 2.0**50  # of the last bit of a float64 between 4 and 8, in 1
_NO_CARRY = 1 << 13  # sums of so many of them from 0 to 1 stay below 2^63


def largest_unsorted(scores: FloatArray, hits: BoolArray) -> Extreme | None:
    """Find the largest gap of scores; None if sorting all of them is quicker.

    Scores outside [0, 1] are refused, unless None is returned before they are looked at.

    >>> import numpy as np
    >>> scores = np.random.default_rng(0).random(100_000)
    >>> found = largest_unsorted(scores, scores > 0.6)
    >>> round(found.score, 3), round(found.value / 100_000, 3)
    (0.6, -0.18)
    """
    probe = scores[:: max(1, scores.size // _PROBE)]
    if 4 * np.unique(probe).size < 3 * probe.size:
        return None
    cells = _cells_for(min(max(scores.size.bit_length() - _ROWS, _FEWEST), _MOST))
    places = _places(cells, *cells.count(scores, hits))
    if (
        len(places) > _PLACES
        or sum(place.rows for place in places) > _MAX_SHARE_TO_SORT * scores.size
    ):
        return None
    found = [START, *(_peak(scores, hits, place) for place in places)]
    return max(found, key=lambda extreme: abs(extreme.value))  # of two as far, the first


@dataclass(frozen=True, slots=True)
class _Cells:
    """Cells of [0, 1], a multiple of `_GROUP`.

    dropped : bits of i(s) that do not count
    first : where in i(s) the first cell begins
    edges : (cells + 2,) where each begins, to within a hundredth of its width
    """

    dropped: np.uint64
    first: int
    edges: FloatArray

    @property
    def number(self) -> int:
        """How many cells there are."""
        return self.edges.size - 2

    def count(self, scores: FloatArray, hits: BoolArray) -> tuple[IntArray, float]:
        """Count the misses and the hits of each cell, (cells, 2), and add up the scores."""
        kind = np.uint32 if scores.size < 1 << 32 else np.uint64
        table: IntArray = np.zeros(2 * self.number, dtype=kind)
        space = np.empty((2, min(_BLOCKS_COUNTED_AT_ONCE * BLOCK, scores.size)))
        total = 0.0
        for at in blocks(scores.size, together=_BLOCKS_COUNTED_AT_ONCE):
            block = scores[at]
            if not (block.min() >= 0.0 and block.max() <= 1.0):  # NaN is neither
                raise bad_scores(scores)
            cell = self.find(block, space[:, : block.size])
            cell <<= 1
            cell += hits[at]
            np.add.at(table, cell, kind(1))
            total += float(block.sum())  # its last digits are the order's: only bounds use it
        return table.reshape(-1, 2), total

    def find(self, scores: FloatArray, space: FloatArray) -> IntArray:
        """Return the cell of each score, in the (2, m) numbers of space given."""
        low, high = space
        np.add(scores, _FLOOR, out=low)
        np.subtract(1.0 + _FLOOR, scores, out=high)
        place: IntArray = low.view(np.int64)
        place -= high.view(np.int64)
        place -= self.first
        cell = place.view(np.uint64)  # it is not negative, and shifting those is faster
        cell >>= self.dropped
        return place


@lru_cache(maxsize=4)
def _cells_for(bits: int) -> _Cells:
    """Return cells as fine as so many bits after the exponent tell."""
    powers = 2.0 ** -np.arange(21.0)  # 1 down to just above the floor
    bends = np.unique(np.concatenate([[0.0, 1.0], powers - _FLOOR, 1.0 + _FLOOR - powers]))
    place = (_log2(bends + _FLOOR) - _log2(1.0 + _FLOOR - bends)) * 2.0**bits
    first = int(np.floor(place[0])) - 1
    number = -(-(int(np.ceil(place[-1])) + 2 - first) // _GROUP) * _GROUP
    edges = np.interp(np.arange(number + 2.0) + first, place, bends)
    dropped = 52 - bits
    return _Cells(np.uint64(dropped), first << dropped, edges)


def _log2(x: FloatArray) -> FloatArray:
    """Return the exponent and the linear part after it: the bits of a float64, as a number."""
    mantissa, exponent = np.frexp(x)
    return 2.0 * mantissa + exponent


class _Counted(NamedTuple):
    """Consecutive cells, or groups of them, along the last axis of arrays of one shape."""

    n: FloatArray
    hits: FloatArray
    least: FloatArray  # sum of the scores, if each is where its cell begins
    greatest: FloatArray  # or ends
    first: FloatArray  # where each begins
    last: FloatArray  # and ends


class _Bounds(NamedTuple):
    """What is known of N times the gap, in arrays of the shape of the cells."""

    before: Within
    after: Within
    most: FloatArray  # it is nowhere in the cell farther from 0 than this

    @property
    def reached(self) -> float:
        """How far from 0 it certainly is after some cell."""
        return float(np.maximum(self.after.low, -self.after.high).max())


def _bounded(some: _Counted, left: Within, right: Within) -> _Bounds:
    """Bound the gap over cells, given what it is before the first and after the last, (…, 1)."""
    sloppy = (some.greatest - some.least) * _SLOPPY
    down, up = some.hits - some.greatest - sloppy, some.hits - some.least + sloppy
    downs, ups = np.cumsum(down, axis=-1), np.cumsum(up, axis=-1)
    after = Within(
        np.maximum(left.low + downs, right.low - (ups[..., -1:] - ups)),
        np.minimum(left.high + ups, right.high - (downs[..., -1:] - downs)),
    )
    before = Within(
        *(
            np.concatenate([start, ends[..., :-1]], axis=-1)
            for start, ends in zip(left, after, strict=True)
        )
    )
    rise = some.hits * (1.0 - some.first) + sloppy
    fall = (some.n - some.hits) * some.last + sloppy
    bottom, top = between(before, after, rise, fall)
    most = np.where(some.n > 0, np.maximum(top, -bottom), -np.inf)
    return _Bounds(before, after, most)


class _Place(NamedTuple):
    """An interval of scores that may hold the largest gap, and how many rows do."""

    low: float
    high: float  # not included; infinite if it ends with 1
    rows: int


def _places(cells: _Cells, table: IntArray, total: float) -> list[_Place]:
    """Return the intervals that can hold the largest gap of scores that add up to a total."""
    counted = _grouped(cells, table)
    end = np.array([float(counted.hits.sum()) - total])
    rounding = _ROUNDING * float(counted.n.sum())
    groups = _bounded(
        counted, Within(np.zeros(1), np.zeros(1)), Within(end - rounding, end + rounding)
    )
    reached = groups.reached
    hopeful = np.flatnonzero(groups.most >= reached - rounding)
    most = []
    for start in range(0, hopeful.size, _CHUNK):
        some = hopeful[start : start + _CHUNK]
        ends = (Within(*(x[some, None] for x in side)) for side in (groups.before, groups.after))
        found = _bounded(_single(cells, table, some), *ends)
        reached = max(reached, found.reached)
        most.append(found.most)
    rows, columns = np.nonzero(np.concatenate(most) >= reached - rounding)
    return _joined(cells, table, hopeful[rows] * _GROUP + columns)


def _single(cells: _Cells, table: IntArray, groups: IntArray) -> _Counted:
    """Return the cells of some groups; (groups, cells of a group) each."""
    counts = table.reshape(-1, _GROUP, 2)[groups].astype(np.float64)
    n, hits = counts[:, :, 0] + counts[:, :, 1], counts[:, :, 1]
    edges = cells.edges[groups[:, None] * _GROUP + np.arange(_GROUP + 1)]
    first, last = edges[:, :-1], edges[:, 1:]
    return _Counted(n, hits, n * first, n * last, first, last)


def _grouped(cells: _Cells, table: IntArray) -> _Counted:
    """Add up the cells of each group; (groups,) each."""
    counts = table.reshape(-1, _GROUP, 2)
    number = counts.shape[0]
    first, last = (cells.edges[i : i + number * _GROUP].reshape(-1, _GROUP) for i in (0, 1))
    n, hits, least, greatest = np.empty((4, number))
    for start in range(0, number, _CHUNK):
        at = slice(start, start + _CHUNK)
        both = (counts[at, :, 0] + counts[at, :, 1]).astype(np.float64)
        np.sum(both, axis=1, out=n[at])
        np.sum(counts[at, :, 1], axis=1, out=hits[at])
        np.einsum("gc,gc->g", both, first[at], out=least[at])
        np.einsum("gc,gc->g", both, last[at], out=greatest[at])
    return _Counted(n, hits, least, greatest, first[:, 0], last[:, -1])


def _joined(cells: _Cells, table: IntArray, which: IntArray) -> list[_Place]:
    """Join rising cells to intervals, cut where there are many rows between.

    They begin and end a cell farther out, as edges are rounded.
    """
    before = np.add(table[:, 0], table[:, 1], dtype=np.int64)
    np.cumsum(before, out=before)
    between = before[which[1:] - 1] - before[which[:-1]]
    cuts = np.flatnonzero(between > _FAR * before[-1]) + 1
    found = []
    for part in np.split(which, cuts):
        low, high = cells.edges[[max(part[0] - 1, 0), part[-1] + 2]].tolist()
        rows = int(before[part[-1]] - before[max(part[0] - 1, 0)])
        found.append(_Place(low, high if high < 1.0 else np.inf, rows))
    return found


def _peak(scores: FloatArray, hits: BoolArray, place: _Place) -> Extreme:
    """Return the largest gap at the scores of an interval."""
    keys, reader = _looked_into(scores, hits, place.low, place.high)
    keys.sort()
    for run in runs_of_keys(keys):
        reader.add(run)
    return Extremes(reader.low, reader.high, scores.size).farthest


def _looked_into(
    scores: FloatArray, hits: BoolArray, low: float, high: float
) -> tuple[KeyArray, GapReader]:
    """Return the keys of the rows between two scores, and a reader that knows what is below."""
    below = hits_below = units_below = 0
    some, outcomes = [], []
    for at in blocks(scores.size, together=_BLOCKS_TOGETHER):
        block, hit = scores[at], hits[at]
        under = block < low
        below += int(np.count_nonzero(under))
        hits_below += int(np.count_nonzero(under & hit))
        units_below += _summed(np.minimum(block, low))
        under ^= block < high
        chosen = under.nonzero()[0]
        some.append(block[chosen])
        outcomes.append(hit[chosen])
    keys = keys_of_scores(np.concatenate(some), np.concatenate(outcomes))
    sum_below = units_below / _UNITS - low * (scores.size - below)
    return keys, GapReader(hits_below - sum_below, below)


def _summed(scores: FloatArray) -> int:
    """Add up scores, rounded to multiples of 1 / `_UNITS`; they are overwritten.

    Plus 4, the last bit of each is worth that much. Sums of integers do not depend on the order
    of the rows. The fours overflow, and are taken away again.
    """
    scores += 4.0
    starts = np.arange(0, scores.size, _NO_CARRY)
    sums = np.add.reduceat(scores.view(np.uint64), starts)
    sums -= np.diff(starts, append=scores.size).astype(np.uint64) * _FOUR
    return sum(sums.tolist())
