"""Grouped rows: one row for each distinct score, with sums of weights.

A curve with weights stores them, and the columns of every curve are read from them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ogive.curve.keys import EVEN, HIGH, ONE, runs_of_keys, tail_of

if TYPE_CHECKING:
    from ogive._typing import AnyArray, BoolArray, FloatArray, IntArray, KeyArray, WeightKind


@dataclass(frozen=True, slots=True)
class Groups:
    """Grouped rows: (m,) cells (keys without the hit), weights, and sums of squared weights."""

    cell: KeyArray
    count: FloatArray
    hits: FloatArray
    square: FloatArray
    square_hits: FloatArray

    @property
    def sums(self) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """The columns that are added when rows are joined."""
        return self.count, self.hits, self.square, self.square_hits


@dataclass(frozen=True, slots=True)
class Place:
    """Rows of a curve found by fractile, (m,) each; `before` and `after` are fractiles."""

    high: BoolArray
    tail: FloatArray
    before: FloatArray
    after: FloatArray


def place_of(cell: KeyArray, before: FloatArray, after: FloatArray) -> Place:
    """Return the place of some cells."""
    high = cell >= HIGH
    return Place(high, np.where(high, tail_of(cell, True), tail_of(cell, False)), before, after)


def find_keys(keys: KeyArray, fractiles: FloatArray) -> Place:
    """Return the distinct rows of sorted keys that hold the given rising fractiles."""
    n = keys.size
    index = np.clip(np.ceil(fractiles * n) - 1, 0, n - 1).astype(np.intp)
    cell = distinct(keys[index] & EVEN)
    before = np.searchsorted(keys, cell) / n
    return place_of(cell, before, np.searchsorted(keys, cell | ONE, side="right") / n)


def find_cells(cell: KeyArray, fractile: FloatArray, fractiles: FloatArray) -> Place:
    """Return the distinct rows of grouped rows that hold the given rising fractiles."""
    found = np.searchsorted(fractile, fractiles)
    index = distinct(np.minimum(found, fractile.size - 1))
    before = np.where(index > 0, fractile[index - 1], 0.0)
    return place_of(cell[index], before, fractile[index])


def groups_of_keys(keys: KeyArray) -> Groups:
    """Group all rows of sorted keys."""
    runs = list(runs_of_keys(keys))
    tail = np.concatenate([run.tail for run in runs]).view(np.uint64) << ONE
    high = np.concatenate([np.full(run.tail.size, run.high) for run in runs])
    count = frozen(np.concatenate([np.broadcast_to(run.count, run.tail.shape) for run in runs]))
    hits = frozen(np.concatenate([run.hits for run in runs]))
    return Groups(frozen(tail ^ (high * EVEN)), count, hits, count, hits)


def squares(weights: FloatArray, kind: WeightKind) -> FloatArray:
    """Return what each weight adds to the variance: w of w repetitions, w² of a sampling weight."""
    return weights * weights if kind == "sampling" else weights


def total_rows(weights: FloatArray) -> float:
    """Return the number of rows, the sum of their weights: an int if it is whole."""
    total = float(weights.sum())
    return int(total) if total.is_integer() else total


def groups_of_weighted(keys: KeyArray, weights: FloatArray, kind: WeightKind) -> Groups:
    """Group unsorted keys that carry weights; rows of weight 0 are left out."""
    hit = (keys & ONE).astype(np.float64)
    square = squares(weights, kind)
    rows = Groups(keys & EVEN, weights, weights * hit, square, square * hit)
    return grouped(rows, weights > 0)


def joined(a: Groups, b: Groups) -> Groups:
    """Add up two sets of grouped rows."""
    sums = (np.concatenate(pair) for pair in zip(a.sums, b.sums, strict=True))
    return grouped(Groups(np.concatenate([a.cell, b.cell]), *sums))


def grouped(rows: Groups, keep: BoolArray | None = None) -> Groups:
    """Sort rows by cell and add up those of equal cells, leaving out rows that are not kept."""
    if keep is not None and not keep.all():
        rows = Groups(rows.cell[keep], *(column[keep] for column in rows.sums))
    order: IntArray = np.argsort(rows.cell, kind="stable")
    cell = rows.cell[order]
    starts = np.flatnonzero(_is_new(cell))
    sums = (frozen(np.add.reduceat(column[order], starts)) for column in rows.sums)
    return Groups(frozen(cell[starts]), *sums)


def _is_new(ordered: AnyArray) -> BoolArray:
    """Return where a sorted array has a value for the first time."""
    return np.concatenate([[True], ordered[1:] != ordered[:-1]])


def distinct(ordered: AnyArray) -> AnyArray:
    """Return the distinct values of a sorted array."""
    return ordered[_is_new(ordered)]


def frozen(array: AnyArray) -> AnyArray:
    """Return the array, made read-only."""
    array.setflags(write=False)
    return array
