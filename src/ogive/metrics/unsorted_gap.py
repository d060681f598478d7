r"""The largest gap of scores that are not sorted.

N times the gap is read between any two scores, so it can be read between *cells*, over which the
outcomes minus the scores are added up. Inside a cell of n scores from a to b, k of them hits, it
rises by at most k (1 − a) and falls by at most (n − k) b, which bounds it everywhere. Only cells
whose bound reaches the best end of a cell can hold the largest gap. There are few: the sum of all
scores below them is computed exactly, their rows are sorted, and other rows are not read again.

Cells are as fine as needed near 0 and 1 and cost little to find. With the bits of a float64, which
are its logarithm but for bends, and a floor c,

.. math:: i(s) = \mathrm{bits}(s + c) - \mathrm{bits}(1 + c - s)

is the log-odds of s but for bends. It rises with s whatever is rounded on the way, which is all
that correctness needs, and is linear between scores where s + c or 1 + c − s is a power of 2.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ogive._numerics.blocks import BLOCK, blocks
from ogive.curve.keys import runs_of_keys
from ogive.curve.packing import keys_of_scores
from ogive.metrics.gap import START, Extreme, Extremes, GapReader, Within, between
from ogive.rows.check import bad_scores

if TYPE_CHECKING:
    from ogive._typing import BoolArray, FloatArray, IntArray, KeyArray

_FLOOR = 2.0**-21
_BITS = 10  # after the exponent that count: 2^10 cells of an octave, 43,000 in all
_DROPPED = np.uint64(52 - _BITS)
_ROUNDING = 1e-13  # of the gap
_BLOCKS_COUNTED_AT_ONCE = 8  # fewer calls, and they still fit the cache
_BLOCKS_SEARCHED_AT_ONCE = 16  # a search for the rows of an interval needs few temporaries
_MAX_INTERVALS = 8  # with more intervals, sorting all rows is faster
_MIN_SHARE_BETWEEN = 1 / 16  # intervals with fewer of the rows between them are joined
_MAX_SHARE_TO_SORT = 0.25  # if more of the rows are left, sorting all is faster
_ROWS_PROBED_FOR_TIES = 1024  # rows that show whether most scores occur more than once
_FOUR = np.float64(4.0).view(np.uint64)
_UNITS = 2.0**50  # of the last bit of a float64 between 4 and 8, in 1
_TERMS_WITHOUT_CARRY = 1 << 13  # sums of this many scores, in these units, stay below 2^63


def largest_unsorted(scores: FloatArray, hits: BoolArray) -> Extreme | None:
    """Find the largest gap of scores; None if sorting all of them is quicker.

    Scores outside [0, 1] are refused, unless None is returned before they are checked.

    >>> import numpy as np
    >>> scores = np.random.default_rng(0).random(100_000)
    >>> found = largest_unsorted(scores, scores > 0.6)
    >>> round(found.score, 3), round(found.value / 100_000, 3)
    (0.6, -0.18)
    """
    probe = scores[:: max(1, scores.size // _ROWS_PROBED_FOR_TIES)]
    if 4 * np.unique(probe).size < 3 * probe.size:
        return None
    places = _places(*_summed_in_cells(scores, hits))
    if (
        len(places) > _MAX_INTERVALS
        or sum(place.rows for place in places) > _MAX_SHARE_TO_SORT * scores.size
    ):
        return None
    found = [START, *(_peak(scores, hits, place) for place in places)]
    return max(found, key=lambda extreme: abs(extreme.value))  # of two as far, the first


@cache
def edges() -> FloatArray:
    """Return where each cell begins, to within a hundredth of its width; (cells + 1,)."""
    powers = 2.0 ** -np.arange(21.0)  # 1 down to just above the floor
    bends = np.unique(np.concatenate([[0.0, 1.0], powers - _FLOOR, 1.0 + _FLOOR - powers]))
    place = (_log2(bends + _FLOOR) - _log2(1.0 + _FLOOR - bends)) * 2.0**_BITS
    number = int(np.ceil(place[-1])) + 2 - _first()
    found: FloatArray = np.interp(np.arange(number + 1.0) + _first(), place, bends)
    return found


@cache
def _first() -> int:
    """Return where the first cell begins, in i(s) without the bits that are dropped."""
    return int(np.floor((_log2(_FLOOR) - _log2(1.0 + _FLOOR)) * 2.0**_BITS)) - 1


def _log2(x: FloatArray | float) -> FloatArray:
    """Return the exponent and the linear part after it: the bits of a float64, as a number."""
    mantissa, exponent = np.frexp(x)
    return 2.0 * mantissa + exponent


def cell_of(scores: FloatArray, space: FloatArray) -> IntArray:
    """Return the cell of each score, in the (2, m) numbers of space given."""
    low, high = space
    np.add(scores, _FLOOR, out=low)
    np.subtract(1.0 + _FLOOR, scores, out=high)
    place: IntArray = low.view(np.int64)
    place -= high.view(np.int64)
    place -= _first() << int(_DROPPED)
    cell = place.view(np.uint64)  # it is not negative, and shifting those is faster
    cell >>= _DROPPED
    return place


def _summed_in_cells(scores: FloatArray, hits: BoolArray) -> tuple[IntArray, FloatArray]:
    """Count the rows of each cell, and add up outcomes minus scores; (cells,) each."""
    number = edges().size - 1
    rows: IntArray = np.zeros(number, dtype=np.int64)
    surplus = np.zeros(number)
    space = np.empty((3, min(_BLOCKS_COUNTED_AT_ONCE * BLOCK, scores.size)))
    for at in blocks(scores.size, together=_BLOCKS_COUNTED_AT_ONCE):
        block = scores[at]
        if not (block.min() >= 0.0 and block.max() <= 1.0):  # NaN is neither
            raise bad_scores(scores)
        cell = cell_of(block, space[:2, : block.size])
        np.add.at(rows, cell, 1)
        np.add.at(surplus, cell, np.subtract(hits[at], block, out=space[2, : block.size]))
    return rows, surplus


class _Place(NamedTuple):
    """An interval of scores that may hold the largest gap, and how many rows do."""

    low: float
    high: float  # not included; infinite if it ends with 1
    rows: int


def _places(rows: IntArray, surplus: FloatArray) -> list[_Place]:
    """Return the intervals that can hold the largest gap.

    Such cells are joined, unless many rows lie between. Intervals begin and end a cell farther
    out, as edges are rounded.
    """
    after, up_to = np.cumsum(surplus), np.cumsum(rows)
    rounding = _ROUNDING * float(up_to[-1])
    reached = max(float(after.max()), -float(after.min())) - 2.0 * rounding
    which = np.flatnonzero(
        np.abs(after) >= reached - rows
    )  # a cell moves it by at most its number of rows
    n, end = rows[which], after[which]
    begin = end - surplus[which]
    first, last = edges()[np.maximum(which - 1, 0)], edges()[np.minimum(which + 2, rows.size)]
    most, least = (np.clip(surplus[which] + n * at, 0, n) for at in (last, first))  # hits
    sides = Within(begin, begin), Within(end, end)
    bottom, top = between(*sides, most * (1.0 - first), (n - least) * last)
    which = which[(n > 0) & (np.maximum(top, -bottom) >= reached)]
    apart = up_to[which[1:] - 1] - up_to[which[:-1]] > _MIN_SHARE_BETWEEN * up_to[-1]
    found = []
    for part in np.split(which, np.flatnonzero(apart) + 1):
        low, high = edges()[[max(part[0] - 1, 0), min(part[-1] + 2, rows.size)]].tolist()
        inside = int(up_to[part[-1]] - up_to[max(part[0] - 1, 0)])
        found.append(_Place(low, high if high < 1.0 else np.inf, inside))
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
    for at in blocks(scores.size, together=_BLOCKS_SEARCHED_AT_ONCE):
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
    starts = np.arange(0, scores.size, _TERMS_WITHOUT_CARRY)
    sums = np.add.reduceat(scores.view(np.uint64), starts)
    sums -= np.diff(starts, append=scores.size).astype(np.uint64) * _FOUR
    return sum(sums.tolist())
