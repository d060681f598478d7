r"""The lowest and the highest point of the gap, which KS and Kuiper errors are read off.

N times the gap is a sum over rows, read where a group of equal scores ends. In the sorted keys of
single rows most of it need not be looked at. In a stretch of rows with u unlikely outcomes
(hits below ½, misses above) and tails that add up to e, it rises by at most u and falls by at
most e in all; above ½ the other way round. So between the ends l and r of a stretch it stays

.. math:: \max(l - \text{fall},\; r - \text{rise}) \;\le\; D \;\le\;
          \min(l + \text{rise},\; r + \text{fall}) ,

and only stretches whose bound beats the best end hold an extreme. There are few, and their rows
are looked at one by one. Sums of stretches take a third of the time of a running sum.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ogive._numerics.blocks import for_each_block
from ogive.curve.keys import HIGH, ONE, STRETCH
from ogive.metrics.onepass import read

if TYPE_CHECKING:
    from ogive._typing import BoolArray, FloatArray, IntArray, KeyArray
    from ogive.curve import Curve
    from ogive.curve.keys import Run

_MAX_ROWS_WITHOUT_STRETCHES = 1 << 15  # rows for which that does not pay
_WIDTH = 32  # what a stretch counts for in a block: blocks of 480 stretches
_MIN_STRETCHES_FOR_THREADS = 1 << 15  # stretches from which they are added up on all cores
_STRETCHES_READ_AT_ONCE = 1 << 9  # stretches whose rows are looked at together
_MAX_SHARE_TO_LOOK_AT = 0.25  # share of stretches up to which looking at their rows is worth it
_ROUNDING = 1e-9  # of N times the gap: 1e-12 of the gap at most, where this is used


@dataclass(frozen=True, slots=True)
class Extreme:
    """A point of N times the gap: its value, the score there, and the rows up to it."""

    value: float
    score: float
    rows: float


#: Before the first row the gap is 0, so that the lowest is <= 0 and the highest >= 0.
START = Extreme(0.0, 0.0, 0.0)


@dataclass(frozen=True, slots=True)
class Extremes:
    """The lowest and the highest point of N times the gap, and N."""

    low: Extreme
    high: Extreme
    n: float

    @property
    def farthest(self) -> Extreme:
        """The one farther from 0; of two as far, the first."""
        low, high = self.low, self.high
        sides = (low, high) if low.rows <= high.rows else (high, low)
        return max(sides, key=lambda extreme: abs(extreme.value))

    @property
    def kuiper(self) -> float:
        """The range of the gap, from lowest to highest."""
        return (self.high.value - self.low.value) / self.n


class Within(NamedTuple):
    """Bounds of N times the gap, at one place or at many; twice the same where it is known."""

    low: FloatArray
    high: FloatArray


def between(before: Within, after: Within, rise: FloatArray, fall: FloatArray) -> Within:
    """Bound N times the gap between two places, from how much it rises and falls at most."""
    return Within(
        np.maximum(before.low - fall, after.low - rise),
        np.minimum(before.high + rise, after.high + fall),
    )


def extremes(curve: Curve) -> Extremes:
    """Find the extremes of a curve's gap.

    >>> from ogive import Curve
    >>> found = extremes(Curve.from_scores([0.9, 0.8, 0.6, 0.7], [1, 0, 1, 0]))
    >>> round(found.low.value, 3), found.low.score, round(found.high.value, 3)
    (-1.1, 0.8, 0.4)
    """
    if curve.keys is not None and curve.keys.size > _MAX_ROWS_WITHOUT_STRETCHES:
        found = _skimmed(curve.keys)
        if found is not None:
            return found
    reader = GapReader()
    read(curve, reader)
    return Extremes(reader.low, reader.high, reader.rows)


class GapReader:
    """Keeps the extremes, run after run; `total` and `rows` are what came before the first."""

    def __init__(self, total: float = 0.0, rows: float = 0.0) -> None:
        self.total, self.rows = total, rows
        self.low = self.high = START

    def add(self, run: Run) -> None:
        """Take in the next rows."""
        gap = np.cumsum(run.surplus)
        gap += self.total
        lowest, highest = int(gap.argmin()), int(gap.argmax())
        if gap[lowest] < self.low.value:
            self.low = self._at(run, lowest, float(gap[lowest]))
        if gap[highest] > self.high.value:
            self.high = self._at(run, highest, float(gap[highest]))
        self.total = float(gap[-1])
        self.rows += run.size

    def _at(self, run: Run, i: int, gap: float) -> Extreme:
        tail = float(run.tail[i])
        score = 1.0 - tail if run.high else tail
        count = i + 1.0 if isinstance(run.count, float) else float(run.count[: i + 1].sum())
        return Extreme(gap, score, self.rows + count)


class StretchReader:
    """Keeps the sums of stretches, in a pass that others share; see `finish`."""

    def __init__(self) -> None:
        self._tails: list[FloatArray] = []
        self._unlikely: list[FloatArray] = []
        self._side: list[int] = [0, 0]  # rows so far below ½ and above
        self._even = True  # all rows are single, and stretches begin where `_bounded` says

    def add(self, run: Run) -> None:
        """Take in the next rows."""
        self._even &= isinstance(run.count, float) and self._side[run.high] % STRETCH == 0
        if not self._even:
            return
        self._side[run.high] += run.tail.size
        tails, hits = run.stretches
        self._tails.append(tails)
        if run.high:
            misses = STRETCH - hits
            misses[-1] -= hits.size * STRETCH - run.tail.size  # the last may be short
            hits = misses
        self._unlikely.append(hits)

    def finish(self, curve: Curve) -> Extremes:
        """Return the extremes of the curve that was read: the same as `extremes`, bit for bit."""
        keys = curve.keys
        if keys is None or not self._even or keys.size <= _MAX_ROWS_WITHOUT_STRETCHES:
            return extremes(curve)
        sums = np.concatenate(self._tails), np.concatenate(self._unlikely)
        return _found(keys, _bounded(keys, *sums)) or extremes(curve)


class _Stretches(NamedTuple):
    """Stretches of sorted keys, each on one side of ½; (m,) each."""

    first: IntArray
    stop: IntArray
    high: BoolArray
    left: FloatArray  # N times the gap before the stretch
    right: FloatArray  # and after it
    top: FloatArray  # it is nowhere above this inside
    bottom: FloatArray  # nor below this


def _skimmed(keys: KeyArray) -> Extremes | None:
    """Find the extremes of sorted keys; None if they can be in many places."""
    middle = int(np.searchsorted(keys, HIGH))
    sizes = -(-middle // STRETCH), -(-(keys.size - middle) // STRETCH)
    tails, unlikely = np.empty(sum(sizes)), np.empty(sum(sizes))
    _add_up(keys[:middle], False, tails[: sizes[0]], unlikely[: sizes[0]])
    _add_up(keys[middle:], True, tails[sizes[0] :], unlikely[sizes[0] :])
    return _found(keys, _bounded(keys, tails, unlikely))


def _found(keys: KeyArray, cut: _Stretches) -> Extremes | None:
    """Look into the stretches that may hold an extreme; None if they are many.

    They are many with few scores, each given often: most stretches end inside a group.
    """
    at_end = cut.stop == keys.size
    whole = at_end | (keys[cut.stop - 1] | ONE != keys[np.where(at_end, 0, cut.stop)] | ONE)
    ends = cut.right[whole]
    hopeful = cut.top >= max(float(ends.max()), _ROUNDING) - _ROUNDING
    hopeful |= cut.bottom <= min(float(ends.min()), -_ROUNDING) + _ROUNDING
    index = hopeful.nonzero()[0]
    if index.size > max(_MAX_SHARE_TO_LOOK_AT * hopeful.size, _STRETCHES_READ_AT_ONCE):
        return None
    low = high = START
    for start in range(0, index.size, _STRETCHES_READ_AT_ONCE):
        low, high = _look(keys, cut, index[start : start + _STRETCHES_READ_AT_ONCE], low, high)
    return Extremes(low, high, float(keys.size))


def _bounded(keys: KeyArray, tails: FloatArray, unlikely: FloatArray) -> _Stretches:
    """Bound the gap in each stretch, from the sum of its tails and its unlikely outcomes."""
    middle = int(np.searchsorted(keys, HIGH))
    sides = ((0, middle), (middle, keys.size))
    first = np.concatenate([np.arange(a, b, STRETCH) for a, b in sides])
    above = first >= middle
    stop = np.minimum(first + STRETCH, np.where(above, keys.size, middle))
    rise, fall = np.where(above, tails, unlikely), np.where(above, unlikely, tails)
    right = np.cumsum(rise - fall)
    left = np.concatenate([[0.0], right[:-1]])
    bottom, top = between(Within(left, left), Within(right, right), rise, fall)
    return _Stretches(first, stop, above, left, right, top, bottom)


def _add_up(keys: KeyArray, high: bool, tails: FloatArray, unlikely: FloatArray) -> None:
    """Write the sum of the tails and the number of unlikely outcomes of each stretch of a side."""

    def work(at: slice) -> None:
        rows = keys[at.start * STRETCH : at.stop * STRETCH]
        starts = np.arange(0, rows.size, STRETCH)
        bits = ~rows if high else rows  # on either side the low bit is now the unlikely outcome
        tail = bits >> ONE
        np.add.reduceat(tail.view(np.float64), starts, out=tails[at])
        unlikely[at] = np.add.reduceat(np.bitwise_and(bits, ONE, out=tail), starts)

    n_jobs = (
        None if tails.size > _MIN_STRETCHES_FOR_THREADS else 1
    )  # for less, they wait more than they help
    for_each_block(work, tails.size, width=_WIDTH, n_jobs=n_jobs)


def _look(
    keys: KeyArray, cut: _Stretches, which: IntArray, low: Extreme, high: Extreme
) -> tuple[Extreme, Extreme]:
    """Look at all rows of some stretches for extremes beyond those known; (m, 128) arrays."""
    rows = cut.first[which, None] + np.arange(STRETCH)
    here = keys[np.minimum(rows, keys.size - 1)]
    after = keys[np.minimum(rows + 1, keys.size - 1)]
    point = (rows < cut.stop[which, None]) & (((here ^ after) > ONE) | (rows == keys.size - 1))
    above = cut.high[which, None]
    bits = np.where(above, ~here, here)
    tail = (bits >> ONE).view(np.float64)
    step = (bits & ONE) - tail
    gap = np.cumsum(np.where(above, -step, step), axis=1)
    gap += cut.left[which, None]

    def at(i: int) -> Extreme:
        q = float(tail.flat[i])
        score = 1.0 - q if above[i // STRETCH, 0] else q
        return Extreme(float(gap.flat[i]), score, float(rows.flat[i] + 1))

    lowest = int(np.where(point, gap, np.inf).argmin())
    highest = int(np.where(point, gap, -np.inf).argmax())
    if point.flat[lowest] and gap.flat[lowest] < low.value:
        low = at(lowest)
    if point.flat[highest] and gap.flat[highest] > high.value:
        high = at(highest)
    return low, high
