"""The columns of a curve: computed from its rows on first use, and then kept."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ogive._numerics.blocks import blocks
from ogive._numerics.logistic import log_odds_of_tails
from ogive.curve.keys import HIGH, ONE, ROUNDS_TO_ONE, Run, places_of_certain, tail_of
from ogive.curve.ties import Groups, Place, find_cells, find_keys, frozen, total_rows

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ogive._typing import BoolArray, FloatArray, KeyArray
    from ogive.curve.clusters import Clusters


class Cumulative(NamedTuple):
    r"""The paper's :math:`\tilde h` and h (equation 11) over the share of rows.

    Attributes
    ----------
    fractile : the share of rows with this score or a lower one
    scores : the sum of their scores, over N
    outcomes : how many of them have outcome 1, over N
    """

    fractile: FloatArray
    scores: FloatArray
    outcomes: FloatArray


class CumulativeReader:
    """Adds up scores and outcomes while the rows of a curve go by."""

    def __init__(self) -> None:
        self.rows = self.scores = self.outcomes = 0.0

    def add(self, run: Run) -> Cumulative:
        """Take in the next rows; return the sums after each, not yet divided by N."""
        rows = self.rows + run.ends[1:]
        scores = np.cumsum(run.count * run.score)
        outcomes = np.cumsum(run.hits)
        scores += self.scores
        outcomes += self.outcomes
        self.rows, self.scores, self.outcomes = rows[-1], scores[-1], outcomes[-1]
        return Cumulative(rows, scores, outcomes)


class Derived(ABC):
    """The columns of a curve; `ogive.Curve` documents them."""

    _keys: KeyArray | None
    clusters: Clusters | None

    @property
    @abstractmethod
    def _groups(self) -> Groups:
        """The rows, grouped by score."""

    @abstractmethod
    def runs(self) -> Iterator[Run]:
        """Yield all rows in order of score."""

    @property
    def keys(self) -> KeyArray | None:
        """The sorted keys of single rows (`ogive.curve.keys`); None with weights or buckets."""
        return self._keys

    def all_rows(self) -> Place:
        """Return all rows, in order of score."""
        before = np.concatenate([[0.0], self.fractile[:-1]])
        return Place(self.high, self.tail, before, self.fractile)

    def at_fractiles(self, fractiles: FloatArray) -> Place:
        """Return the distinct rows that hold the given rising fractiles, in order of score."""
        if self._keys is not None:
            return find_keys(self._keys, fractiles)
        return find_cells(self._groups.cell, self.fractile, fractiles)

    def share_below_one(self) -> float:
        """Return the share of rows whose score does not round to 1.0 in float64."""
        first = ~(np.float64(ROUNDS_TO_ONE).view(np.uint64) << ONE | ONE)
        if self._keys is not None:
            return int(np.searchsorted(self._keys, first)) / self._keys.size
        index = int(np.searchsorted(self._groups.cell, first))
        return float(self.fractile[index - 1]) if index else 0.0

    @property
    def n(self) -> float:
        """N: the number of rows, or the sum of their weights."""
        if self._keys is not None:
            return self._keys.size
        return total_rows(self._groups.count)

    @property
    def effective_n(self) -> float:
        """The effective number of rows: N, or Kish's number for sampling weights."""
        return self.n if self._keys is not None else self.n**2 / float(self.square.sum())

    @property
    def independent_n(self) -> float:
        """How many independent rows these are worth: `effective_n` over the design effect."""
        return self.effective_n / (1.0 if self.clusters is None else self.clusters.design_effect)

    @cached_property
    def total_hits(self) -> float:
        """The number of outcomes that are 1, or the sum of their weights."""
        if self._keys is not None:
            return float(sum(int((self._keys[at] & ONE).sum()) for at in blocks(self._keys.size)))
        return float(self._groups.hits.sum())

    @cached_property
    def high(self) -> BoolArray:
        """Whether the score exceeds ½, (m,)."""
        return frozen(self._groups.cell >= HIGH)

    @cached_property
    def tail(self) -> FloatArray:
        """min(score, 1 − score), (m,)."""
        cell = self._groups.cell
        return frozen(np.where(self.high, tail_of(cell, True), tail_of(cell, False)))

    @cached_property
    def score(self) -> FloatArray:
        """The distinct scores, (m,), rising."""
        return frozen(np.where(self.high, 1.0 - self.tail, self.tail))

    @cached_property
    def log_odds(self) -> FloatArray:
        """log(p / (1 − p)) of each row, (m,), rising and always finite.

        A score of exactly 1 is placed at half the smallest positive tail of its side (of the
        other side, or at 1 / (2N + 2), if there is none), and a score of exactly 0 likewise.
        """
        places = np.where(self.high, self.placed_tail(True), self.placed_tail(False))
        # Only a tail of 0 is below its place.
        return frozen(log_odds_of_tails(self.high, np.maximum(self.tail, places)))

    def placed_tail(self, high: bool) -> float:
        """Return the tail at which a score of exactly 1 (`high`) or 0 is placed in log-odds."""
        return self._placed_tails[high]

    @cached_property
    def _placed_tails(self) -> tuple[float, float]:
        if self._keys is not None:
            return places_of_certain(self._keys, self.n)
        return places_of_certain(self._groups.cell, self.effective_n)

    @property
    def count(self) -> FloatArray:
        """Rows at each score, (m,)."""
        return self._groups.count

    @property
    def hits(self) -> FloatArray:
        """Outcomes that are 1 at each score, (m,)."""
        return self._groups.hits

    @property
    def square(self) -> FloatArray:
        """Sum of squared weights at each score, (m,); `count` unless the weights are sampling."""
        return self._groups.square

    @property
    def square_hits(self) -> FloatArray:
        """Sum of squared weights where the outcome is 1, (m,); `hits` unless sampling weights."""
        return self._groups.square_hits

    @cached_property
    def fractile(self) -> FloatArray:
        """The share of rows with this score or a lower one, (m,)."""
        total = np.cumsum(self._groups.count)
        return frozen(total / total[-1])

    @cached_property
    def gap(self) -> FloatArray:
        """Cumulative outcomes minus cumulative score, divided by N, (m,)."""
        steps = np.concatenate([run.surplus for run in self.runs()])
        return frozen(np.cumsum(steps) / self.n)

    @cached_property
    def cumulative(self) -> Cumulative:
        """Fractile, cumulative scores and cumulative outcomes, (m + 1,): (0, 0, 0) comes first."""
        reader = CumulativeReader()
        columns = zip(*(reader.add(run) for run in self.runs()), strict=True)
        sums = (np.concatenate([np.zeros(1), *column]) for column in columns)
        return Cumulative(*(frozen(column / self.n) for column in sums))
