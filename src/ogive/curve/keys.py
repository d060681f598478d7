"""The key: a score and its outcome in one integer.

A score p is a *side* (p > ½ or not) and a *tail* q = min(p, 1 − p). The bit pattern
of a float64 in [0, ½] orders as an integer and leaves its two top bits free, so that side, tail
and hit fit in one uint64 without loss, in the order of the scores::

    low side    key =   q << 1 | hit
    high side   key = ~(q << 1 | miss)          so the low bit is the hit again

The complement reverses the order of the tails, sets the top bit, and is its own inverse. One
sort of integers replaces an argsort and two
gathers, and a score that rounds to 1 in float64 keeps its place by its tail.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from ogive._numerics.blocks import BLOCK
from ogive.rows.tails import LOG_LOSS_CLIP

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ogive._typing import BoolArray, FloatArray, KeyArray

ONE = np.uint64(1)
EVEN = ~ONE  # clears the hit bit: what is left is the score's cell
HIGH = np.uint64(1 << 63)  # keys from here up are on the high side

#: Curves with more keys use longer runs: fewer calls, and a run still fits the cache.
_MAX_KEYS_FOR_SHORT_RUNS = 1 << 20

#: A score of 1 − q is 1.0 in float64 if q is at most this.
ROUNDS_TO_ONE = 2.0**-54


@dataclass(frozen=True)  # no slots, so that cached properties work
class Run:
    """Consecutive rows of a curve, all on one side of ½, equal scores already grouped.

    high : whether the scores exceed ½
    tail : (m,) min(score, 1 − score), in the order of the scores
    count : (m,) total weight of each row, or the number 1.0 if every row stands for one sample
    hits : (m,) weight of the hits among them
    square, square_hits : (m,) sums of squared weights, or None where they equal the weights
    """

    high: bool
    tail: FloatArray
    count: FloatArray | float
    hits: FloatArray
    square: FloatArray | None = None
    square_hits: FloatArray | None = None

    @cached_property
    def surplus(self) -> FloatArray:
        """Hits minus expected hits of each row, (m,): the steps of N times the gap.

        On the high side it is written with tails and misses, which keeps what 1 − q rounds away.
        """
        expected = self.count * self.tail
        if not self.high:
            return np.subtract(self.hits, expected, out=expected)
        expected += self.hits
        expected -= self.count
        return expected

    @property
    def score(self) -> FloatArray:
        """The score, (m,)."""
        return 1.0 - self.tail if self.high else self.tail

    @cached_property
    def size(self) -> float:
        """How many samples the run stands for."""
        return float(self.tail.size if isinstance(self.count, float) else self.count.sum())

    @cached_property
    def tails(self) -> float:
        """The sum of the tails over all samples."""
        if isinstance(self.count, float):
            return float(self.tail.sum())
        return dot(self.count, self.tail)

    @cached_property
    def squared_tails(self) -> float:
        """The sum of the squared tails over all samples."""
        q = self.tail
        return dot(q, q) if isinstance(self.count, float) else dot(self.count * q, q)

    @property
    def unlikely(self) -> FloatArray:
        """The weight of the outcomes that the scores call unlikely, (m,)."""
        return self.count - self.hits if self.high else self.hits

    @property
    def log_loss(self) -> float:
        """The log loss summed over all samples; a single row needs one logarithm, not two."""
        q, unlikely = np.maximum(self.tail, LOG_LOSS_CLIP), self.unlikely
        if isinstance(self.count, float):
            return -float(np.log(np.abs(1.0 - unlikely - q)).sum())  # 1 − q, or q
        return -float(unlikely @ np.log(q) + (self.count - unlikely) @ np.log(1.0 - q))

    @cached_property
    def total_hits(self) -> float:
        """How many of the samples were hits."""
        return float(self.hits.sum())

    @property
    def ends(self) -> FloatArray:
        """How many samples the first 0, 1, …, m rows of the run stand for, (m + 1,)."""
        if isinstance(self.count, float):
            return np.arange(self.tail.size + 1.0)
        return np.concatenate([[0.0], np.cumsum(self.count)])


def dot(a: FloatArray, b: FloatArray) -> float:
    """Return the inner product, without the threads that BLAS would start for each run."""
    return float(np.einsum("i,i->", a, b))


def pack(tail: FloatArray, high: BoolArray, hit: BoolArray, out: KeyArray) -> None:
    """Write the keys of a block of rows; the shift drops the sign of −0.0."""
    np.left_shift(tail.view(np.uint64), ONE, out=out)
    out ^= high * EVEN  # ~(q << 1 | miss) == (q << 1 ^ EVEN) | hit
    out |= hit


def tail_of(cell: KeyArray, high: bool) -> FloatArray:
    """Read the tail out of cells, or keys, of one side."""
    bits = ~cell if high else cell
    return (bits >> ONE).view(np.float64)


def smallest_tails(ordered: KeyArray) -> tuple[float | None, float | None]:
    """Return the smallest positive tail of the low and of the high side, of sorted keys or cells.

    None where a side has none. The low side's rows of tail 0 come first, the high side's last.
    """
    first = int(np.searchsorted(ordered, ONE << ONE))
    last = int(np.searchsorted(ordered, EVEN)) - 1
    low = ordered[first : first + 1]
    high = ordered[max(last, 0) : last + 1]
    return (
        float(tail_of(low, False)[0]) if (low < HIGH).any() else None,
        float(tail_of(high, True)[0]) if (high >= HIGH).any() else None,
    )


def places_of_certain(ordered: KeyArray, rows: float) -> tuple[float, float]:
    """Return the tails that stand for 0 on the low and the high side: half the smallest positive.

    If a side has none it is the other side's, and 1 / (2 rows + 2) if there is none at all;
    `rows` is how many unweighted rows they are worth (Kish's number for sampling weights).
    """
    low, high = smallest_tails(ordered)
    none = 1.0 / (rows + 1)
    least = 5e-324  # half of it is 0
    return max((low or high or none) / 2, least), max((high or low or none) / 2, least)


def runs_of_keys(keys: KeyArray) -> Iterator[Run]:
    """Cut sorted keys into runs that split neither a side nor a group of equal scores."""
    middle = int(np.searchsorted(keys, HIGH))
    size = 4 * BLOCK if keys.size > _MAX_KEYS_FOR_SHORT_RUNS else 2 * BLOCK
    yield from _runs_of_side(keys[:middle], size, high=False)
    yield from _runs_of_side(keys[middle:], size, high=True)


def _runs_of_side(keys: KeyArray, size: int, *, high: bool) -> Iterator[Run]:
    start = 0
    while start < keys.size:
        stop = min(start + size, keys.size)
        cell = keys[stop - 1] & EVEN
        group = stop
        if stop < keys.size and keys[stop] & EVEN == cell:  # the cut would split a group
            group = start + int(np.searchsorted(keys[start:stop], cell))
        if group == start:  # one group fills the block: a single row, however long it is
            stop = start + int(np.searchsorted(keys[start:], cell | ONE, side="right"))
            yield _single_group(keys[start:stop], high)
        else:
            stop = group
            yield _run(keys[start:stop], high)
        start = stop


def _run(keys: KeyArray, high: bool) -> Run:
    """Decode a block of keys, grouping equal scores if there are any."""
    tail = tail_of(keys, high)
    hits = (keys & ONE).astype(np.float64)
    changes = tail[1:] != tail[:-1]
    if changes.all():
        return Run(high, tail, 1.0, hits)
    ends = np.append(np.flatnonzero(changes), keys.size - 1)
    total = np.cumsum(hits)[ends]
    count = np.diff(ends, prepend=-1).astype(np.float64)
    return Run(high, tail[ends], count, np.diff(total, prepend=0.0))


def _single_group(keys: KeyArray, high: bool) -> Run:
    """Return one row for sorted keys of one score: the hits are those from the first odd key."""
    hits = keys.size - int(np.searchsorted(keys, keys[0] | ONE))
    return Run(high, tail_of(keys[:1], high), np.array([float(keys.size)]), np.array([float(hits)]))
