"""Sides and tails: the probability that a row gives an event; equal probabilities, equal numbers.

A curve groups equal scores, so a score must depend on the exact value of the given numbers and on
nothing else. `docs/theory/curve.md` proves that these scores do:

* Probabilities are taken as they are given. The score of several classes is their exact sum,
  rounded once; rows that `Predictions` renormalises have exact quotients, rounded once.
* Logits have the exact softmax; its tail is rounded once, to 32 bits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ogive._numerics.blocks import BLOCK, blocks
from ogive._numerics.exact_shares import (
    shares,
    sides_and_tails,
    tails_of_quotients,
    tails_of_sums,
)
from ogive._numerics.softmax_tails import (
    LEAST,
    near_boundary,
    precise_shares,
    precise_tails,
    rounded,
    row_sums,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ogive._numerics.softmax_tails import Tails
    from ogive._typing import BoolArray, FloatArray, IntArray
    from ogive.rows.predictions import Predictions

#: Log losses raise smaller probabilities to this, as scikit-learn does with float64: one score
#: that is certain and wrong would otherwise make the mean infinite.
LOG_LOSS_CLIP = float(np.finfo(np.float64).eps)
_BLOCK_IN_DOUBLE_DOUBLE = BLOCK // 4  # smaller: this arithmetic needs about twenty temporaries
#: Blocks whose rows near a rounding boundary are recomputed together: each recomputation has a
#: fixed cost.
BLOCKS_PER_RECOMPUTATION = 16
#: A megabyte: eight blocks need an eighth of the calls, which saves more time than a smaller array
#: that fits the cache.
_BLOCKS_PER_SCRATCH_ARRAY = 8


def outcome_losses(
    high: BoolArray, tail: FloatArray, least: float = LOG_LOSS_CLIP
) -> tuple[FloatArray, FloatArray]:
    """Return the log loss of an outcome 1 and of an outcome 0 at each score, (m,) each.

    >>> hit, miss = outcome_losses(np.array([False, True]), np.array([0.25, 0.0]))
    >>> np.exp(-hit), np.exp(-miss)
    (array([0.25, 1.  ]), array([7.50000000e-01, 2.22044605e-16]))
    """
    q = np.maximum(tail, least)
    unlikely, likely = -np.log(q), -np.log1p(-q)
    return np.where(high, likely, unlikely), np.where(high, unlikely, likely)


def tails_of_column(preds: Predictions, at: slice, column: IntArray) -> Tails:
    """Return sides and tails of some rows, whose events are one class each: `column`, (rows,)."""
    if preds.kind == "logits":
        softmax = _Softmax(preds, at)
        softmax.fill(lambda masses, i: (_taken_out(masses, column[i]), row_sums(masses)))
        return softmax.settled(lambda i: np.arange(preds.K) == column[i, None])
    if preds.one_column:
        p = preds.values[at].reshape(-1).astype(np.float64, copy=False)
        side = np.where(column == 1, p > 0.5, p < 0.5)  # noqa: PLR2004
        return side, np.minimum(p, 1.0 - p)  # exact: 1 − p is, from ½ up
    given = preds.values[at][np.arange(column.size), column]
    high, tail = sides_and_tails(given.astype(np.float64))
    for i, p in _renormalised(preds, at):
        event = np.take_along_axis(p, column[i, None], axis=1)
        np.put_along_axis(p, column[i, None], 0.0, axis=1)
        high[i], tail[i] = tails_of_quotients(event, p)
    return high, tail


def tails_of_ranks(preds: Predictions, at: slice, first: int, last: int) -> Tails:
    """Return sides and tails where the classes ranked [first, last), from 0, are the event."""
    if preds.one_column:  # the second of two
        return tails_of_column(preds, at, 1 - preds.choice(at))
    if preds.kind == "logits":
        softmax = _Softmax(preds, at)
        softmax.fill(lambda masses, _: tuple(map(row_sums, _split_ranked(masses, first, last))))
        return softmax.settled(lambda i: _ranked(preds.logits(i + at.start), first, last))
    high, tail = np.empty(at.stop - at.start, dtype=np.bool_), np.empty(at.stop - at.start)
    for part, rows in _parts(at, preds.K):
        event, _ = _split_ranked(preds.masses(rows), first, last)
        high[part], tail[part] = tails_of_sums(event)
    for i, p in _renormalised(preds, at):
        high[i], tail[i] = tails_of_quotients(*_split_ranked(p, first, last))
    return high, tail


def tails_of_classes(preds: Predictions, at: slice, chosen: range) -> Tails:
    """Return sides and tails of each of some classes against the rest, (rows, classes)."""
    if preds.one_column:
        both = [tails_of_column(preds, at, np.full(at.stop - at.start, k)) for k in chosen]
        return np.stack([high for high, _ in both], 1), np.stack([tail for _, tail in both], 1)
    if preds.kind == "logits":
        return _softmax_classes(preds, at, chosen)
    columns = slice(chosen.start, chosen.stop)
    high, tail = sides_and_tails(preds.values[at, columns].astype(np.float64))
    for i, p in _renormalised(preds, at):
        share, largest = shares(p), p.argmax(axis=1)
        side = np.zeros(p.shape, dtype=np.bool_)
        own = np.arange(largest.size), largest
        event = p[own]
        p[own] = 0.0
        side[own], share[own] = tails_of_quotients(event[:, None], p)
        high[i], tail[i] = side[:, columns], share[:, columns]
    return high, tail


class _Softmax:
    """Tails of rows of logits: all in float64, then those near a boundary with more digits."""

    def __init__(self, preds: Predictions, at: slice) -> None:
        self.preds, self.at = preds, at
        n = at.stop - at.start
        self.high, self.tail = np.empty(n, dtype=np.bool_), np.empty(n)

    def fill(self, split: Callable[[FloatArray, slice | IntArray], tuple[FloatArray, ...]]) -> None:
        """Find all tails in float64; `split` gives an event's mass and all others', (m,) each.

        It gets masses and their rows' place. Tails that are not rounded must not depend on the
        unit of the masses: theirs are made again.
        """
        for part, masses in self.masses(any_unit=True):
            self.put(part, *split(masses, part))
        small = np.flatnonzero(self.tail < LEAST)
        if small.size:
            self.put(small, *split(self.preds.masses(small + self.at.start), small))

    def masses(self, *, any_unit: bool = False) -> Iterator[tuple[slice, FloatArray]]:
        """Yield masses block by block, in one array that is used again, with their rows' place."""
        parts = list(_parts(self.at, self.preds.K, together=_BLOCKS_PER_SCRATCH_ARRAY))
        buffer = np.empty((parts[0][0].stop, self.preds.K))
        for part, rows in parts:
            into = buffer[: part.stop - part.start]
            yield part, self.preds.masses(rows, into, any_unit=any_unit)

    def put(self, part: slice | IntArray, event: FloatArray, others: FloatArray) -> None:
        """Take in the masses of the event and of all other classes."""
        self.high[part] = event > others
        self.tail[part] = np.minimum(event, others) / (event + others)

    def settled(self, event_of: Callable[[IntArray], BoolArray]) -> Tails:
        """Return sides and tails; `event_of` gives the masks, (m, K), of some of the rows."""
        near = near_boundary(self.tail, self.preds.K)
        high, tail = self.high, rounded(self.tail)
        for part in _steps(near.size, self.preds.K):
            i = near[part]
            high[i], tail[i] = precise_tails(self.preds.logits(i + self.at.start), event_of(i))
        high &= tail < 0.5  # noqa: PLR2004 - a tail that rounds to ½ has no side
        return high, tail


def _softmax_classes(preds: Predictions, at: slice, chosen: range) -> Tails:
    """Return sides and tails of some classes of rows of logits, (rows, classes).

    At most one class of a row has more than half of the mass, its largest: only its tail is that of
    all others, which are added up without it.
    """
    top, every = preds.choice(at), slice(chosen.start, chosen.stop)
    largest, share = _Softmax(preds, at), np.empty((top.size, len(chosen)))
    for part, masses in largest.masses():
        np.divide(masses[:, every], row_sums(masses)[:, None], out=share[part])
        largest.put(part, _taken_out(masses, top[part]), row_sums(masses))
    tail = _settled_shares(preds, at, chosen, share)
    high = np.zeros(tail.shape, dtype=np.bool_)
    here = np.flatnonzero((top >= chosen.start) & (top < chosen.stop))
    own = here, top[here] - chosen.start
    sides, tails = largest.settled(lambda i: np.arange(preds.K) == top[i, None])
    high[own], tail[own] = sides[here], tails[here]
    return high, tail


def _taken_out(masses: FloatArray, column: IntArray) -> FloatArray:
    """Return one mass of each row, (m,), and leave 0 in its place; the array is contiguous."""
    flat = masses.reshape(-1)
    own = np.arange(0, flat.size, masses.shape[1]) + column
    event: FloatArray = flat.take(own)
    flat[own] = 0.0
    return event


def _settled_shares(preds: Predictions, at: slice, chosen: range, share: FloatArray) -> FloatArray:
    """Return rounded shares of classes; those near a boundary are recomputed exactly."""
    row, column = np.divmod(near_boundary(share, preds.K), len(chosen))
    share = rounded(share)
    if row.size == 0:
        return share
    rows, which = np.unique(row, return_inverse=True)
    cuts = _steps(rows.size, preds.K)
    ends = np.searchsorted(which, [cut.stop for cut in cuts])
    for cut, start, end in zip(cuts, [0, *ends[:-1]], ends, strict=True):
        pair, z = slice(start, end), preds.logits(rows[cut] + at.start)
        exact = precise_shares(z, which[pair] - cut.start, column[pair] + chosen.start)
        share[row[pair], column[pair]] = exact
    return share


def _renormalised(preds: Predictions, at: slice) -> Iterator[tuple[IntArray, FloatArray]]:
    """Yield the rows of probabilities that are renormalised, block by block, as float64."""
    found = preds.renormalised_rows(at)
    for part in _steps(found.size, preds.K):
        i = found[part]
        yield i, preds.values[i + at.start].astype(np.float64)


def _parts(at: slice, width: int, together: int = 1) -> Iterator[tuple[slice, slice]]:
    """Yield the blocks of some rows: their place among these, and in all predictions."""
    for rows in blocks(at.stop, start=at.start, width=width, together=together):
        yield slice(rows.start - at.start, rows.stop - at.start), rows


def _steps(n: int, width: int) -> list[slice]:
    step = max(1, _BLOCK_IN_DOUBLE_DOUBLE // width)
    return [slice(i, min(i + step, n)) for i in range(0, n, step)]


def _ranked(z: FloatArray, first: int, last: int) -> BoolArray:
    """Return which columns have a rank in [first, last)."""
    order = np.argsort(-z, axis=1, kind="stable")
    event = np.zeros(z.shape, dtype=np.bool_)
    np.put_along_axis(event, order[:, first:last], True, axis=1)
    return event


def _split_ranked(masses: FloatArray, first: int, last: int) -> tuple[FloatArray, FloatArray]:
    """Return the masses of ranks [first, last), and of all others.

    Masses rise with the values, so that partitioning them finds the ranks without sorting.
    """
    K = masses.shape[1]
    masses.partition(sorted({K - last, min(K - first, K - 1)}), axis=1)  # rank r: column K − 1 − r
    event = masses[:, K - last : K - first].copy()
    masses[:, K - last : K - first] = 0.0
    return event, masses
