r"""The extremes of the gap from scores as they come, without sorting them.

[0, 1] is cut into M equal cells. With n rows, Y hits and the sum of the scores in each, the gap
is known at the ends of all cells. Inside a cell [lo, hi) each hit lifts N times the gap by at most
1 − lo and each miss lowers it by at most hi, so that from its ends l and r it stays between

.. math:: \max(l - (n - Y)\,hi,\; r - Y (1 - lo)) \quad\text{and}\quad
          \min(l + Y (1 - lo),\; r + (n - Y)\,hi) .

Only cells whose bound beats the best end can hold an extreme. They hold a few rows, which alone are
sorted. Scores near 0 or 1 crowd in the outermost cells, where the bounds are tight.

A score is (i + x) / M with the cell i and x in [0, 1). x is rounded to a multiple of a power of two
so large that sums of all x are exact: less than 1e-13 in a score, and the result does not depend
on the order of the rows or on the number of threads.
"""

from __future__ import annotations

from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING

import numpy as np

from ogive._numerics.blocks import BLOCK, for_each_block
from ogive._validate import bad_scores
from ogive.curve import Curve
from ogive.metrics.gap import START, Extreme, Extremes, extremes

if TYPE_CHECKING:
    from ogive._typing import AnyArray, BoolArray, FloatArray, IntArray

_CELLS = 1 << 14
_FEW = 1 << 16  # rows for which sorting is as fast
_MOST = 1 << 25  # rows of which x has the digits promised
_ROUNDING = 1e-9  # of N times the gap
_PIECE = 4 * BLOCK  # rows that are counted at a time, into tables as long as half of them


def extremes_of_scores(scores: AnyArray, hit: BoolArray) -> Extremes:
    """Find the extremes of the gap of scores in [0, 1] and their outcomes.

    >>> import numpy as np
    >>> scores = np.linspace(0.0, 1.0, 100_001)
    >>> found = extremes_of_scores(scores, scores > 0.5)
    >>> round(found.low.value / found.n, 3), round(found.low.score, 3), found.high.value
    (-0.125, 0.5, 0.0)
    """
    n = scores.size
    if not _FEW < n <= _MOST:
        return extremes(Curve.from_scores(scores, hit))
    sums, cell = _counted(scores, hit)
    hopeful = _hopeful(sums)
    inside = np.flatnonzero(np.take(hopeful, cell))
    if inside.size > n // 2:  # few scores, each given often
        return extremes(Curve.from_scores(scores, hit))
    return _among(scores[inside].astype(np.float64), hit[inside], sums)


@dataclass(frozen=True, slots=True)
class _Cells:
    """What is known of the cells, (M + 1,) each; the last holds scores of 1."""

    count: FloatArray
    hits: FloatArray
    right: FloatArray  # N times the gap after the cell

    @property
    def left(self) -> FloatArray:
        """N times the gap before the cell."""
        return np.concatenate([[0.0], self.right[:-1]])


def _counted(scores: AnyArray, hit: BoolArray) -> tuple[_Cells, AnyArray]:
    """Count the rows of each cell, and add up their scores; also return the cell of each row."""
    n = scores.size
    # Adding and taking away 1.5 · 2^(52 − b) leaves a multiple of 2^-b; n < 2^(53 − b).
    magic = 1.5 * 2.0 ** int(n).bit_length()
    cell = np.empty(n, dtype=np.uint16)
    length = 2 * _CELLS + 2
    counts, rests = np.zeros(length, dtype=np.int64), np.zeros(length)
    lock = Lock()

    def count(pieces: slice) -> None:
        for start in range(pieces.start * _PIECE, min(pieces.stop * _PIECE, n), _PIECE):
            at = slice(start, start + _PIECE)
            index, x = _cells_of(scores[at])
            cell[at] = index
            index <<= 1
            index |= hit[at]
            x += magic
            x -= magic
            if int(index.view(np.uint64).max()) >= length:  # negative, above 1 or NaN
                raise bad_scores(scores)
            found = np.bincount(index, minlength=length)
            rest = np.bincount(index, weights=x, minlength=length)
            with lock:
                np.add(counts, found, out=counts)
                np.add(rests, rest, out=rests)  # exact, so in any order

    for_each_block(count, -(-n // _PIECE), width=BLOCK)
    if not np.isfinite(rests.sum()) or (counts[-2:].any() and scores.max() > 1.0):
        raise bad_scores(scores)
    pairs = counts.reshape(-1, 2)
    rows, hits = pairs.sum(axis=1), pairs[:, 1]
    # Whole cells and parts of cells are added apart: both sums are exact.
    places = np.cumsum(rows * np.arange(rows.size)) + np.cumsum(rests.reshape(-1, 2).sum(axis=1))
    right = np.cumsum(hits) - places / _CELLS
    return _Cells(rows.astype(np.float64), hits.astype(np.float64), right), cell


def _cells_of(scores: AnyArray) -> tuple[IntArray, FloatArray]:
    """Return the cell of each score, and how far into it the score is."""
    with np.errstate(invalid="ignore"):  # NaN and infinity have no cell
        x = scores * np.float64(_CELLS)
        whole = np.floor(x)
        x -= whole
        return whole.astype(np.int64), x


def _hopeful(cells: _Cells) -> BoolArray:
    """Return which cells can hold an extreme, (M + 1,)."""
    low = np.arange(_CELLS + 1) / _CELLS
    high = np.minimum(low + 1.0 / _CELLS, 1.0)
    rise, fall = cells.hits * (1.0 - low), (cells.count - cells.hits) * high
    left, right = cells.left, cells.right
    top, bottom = np.minimum(left + rise, right + fall), np.maximum(left - fall, right - rise)
    highest, lowest = float(right.max()), float(right.min())
    hopeful: BoolArray = top >= max(highest, _ROUNDING) - _ROUNDING
    hopeful |= bottom <= min(lowest, -_ROUNDING) + _ROUNDING
    return hopeful & (cells.count > 0)


def _among(scores: FloatArray, hit: BoolArray, cells: _Cells) -> Extremes:
    """Return the extremes of all rows, given all rows of the cells that may hold them."""
    n = float(cells.count.sum())
    if not scores.size:
        return Extremes(START, START, n)
    curve = Curve.from_scores(scores, hit)
    at, _ = _cells_of(curve.score)
    first = np.flatnonzero(np.diff(at, prepend=-1))
    own = np.diff(np.append(first, at.size))
    steps = curve.hits - curve.count * curve.score
    gap, rows = np.cumsum(steps), np.cumsum(curve.count)
    before = np.concatenate([[0.0], np.cumsum(cells.count)[:-1]])
    gap += np.repeat(cells.left[at[first]] - (gap - steps)[first], own)
    rows += np.repeat(before[at[first]] - (rows - curve.count)[first], own)

    def extreme(i: int) -> Extreme:
        return Extreme(float(gap[i]), float(curve.score[i]), float(rows[i]))

    low, high = extreme(int(gap.argmin())), extreme(int(gap.argmax()))
    return Extremes(low if low.value < 0 else START, high if high.value > 0 else START, n)
