r"""Rows that are not independent: the clusters of a curve (patients, customers, days).

A curve counts rows by score and so does not know which of them belong together. Where clusters are
given, it also keeps one *entry* for every score and cluster: the same sums as of a score, but of
the rows of one cluster. Clusters are independent of each other; nothing is assumed within one.

Their names do not matter: clusters are numbered by a hash of what they hold, so that permuting the
rows, or renaming the clusters, changes no random draw. Weight 2 is the row twice in its cluster.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from ogive._numerics.splits import balanced_folds, entry_hashes
from ogive.curve.keys import EVEN, HIGH, ONE, tail_of
from ogive.curve.ties import squares

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ogive._typing import BoolArray, FloatArray, IntArray, KeyArray, WeightKind

#: The design effect is read beside the observed rate of ranges of scores, so that miscalibration
#: does not count as dependence; at most this many ranges, with this many clusters for each.
RANGES, CLUSTERS_PER_RANGE = 10, 10


@dataclass(frozen=True, eq=False)  # no slots, so that cached properties work
class Clusters:
    """Sums of the rows of each score and cluster, (k,) arrays, in the order of clusters.

    row : the score, as an index of the curve's rows
    code : the cluster, from 0 on
    count, hits, square, square_hits : as of a curve
    surplus : hits minus expected hits
    score : the score itself
    """

    row: IntArray
    code: IntArray
    count: FloatArray
    hits: FloatArray
    square: FloatArray
    square_hits: FloatArray
    surplus: FloatArray
    score: FloatArray

    @property
    def size(self) -> int:
        """How many clusters there are."""
        return int(self.code[-1]) + 1

    @cached_property
    def weight(self) -> FloatArray:
        """The rows of each cluster, (G,)."""
        return summed(self.code, self.count)

    @property
    def effective(self) -> float:
        """How many clusters of equal size are worth as much: Kish's number."""
        return float(self.weight.sum() ** 2 / (self.weight @ self.weight))

    def sums(self, hit: FloatArray, miss: FloatArray) -> FloatArray:
        """Return the sum of a row's value over each cluster, (G,).

        hit, miss : (m,) the value at each score of the curve, by outcome
        """
        each = self.hits * hit[self.row] + (self.count - self.hits) * miss[self.row]
        return summed(self.code, each)

    @cached_property
    def design_effect(self) -> float:
        r"""How much more the mean surplus varies than that of independent rows, at least 1.

        .. math:: \frac{G}{G - 1} \sum_g \Bigl(\sum_{i \in g} w_i e_i\Bigr)^2 \Big/
                  \sum_i w_i^2 e_i^2 , \qquad e = y - p - \bar e ,

        with :math:`\bar e` the mean of y − p over the range of scores that the row is in.
        """
        if self.size < 2:  # noqa: PLR2004 - one cluster shows nothing of how clusters vary
            return 1.0
        count = summed(self.row, self.count)
        ranges = min(max(self.size // CLUSTERS_PER_RANGE, 1), RANGES)
        share = (np.cumsum(count) - 0.5 * count) / count.sum()
        of = np.minimum(np.floor(share * ranges), ranges - 1)
        of = np.unique(of, return_inverse=True)[1][self.row]  # one score may fill several ranges
        mean = (summed(of, self.surplus) / summed(of, self.count))[of]
        sums = summed(self.code, self.surplus - self.count * mean)
        misses = self.square - self.square_hits
        own = self.square_hits @ (1.0 - self.score - mean) ** 2 + misses @ (self.score + mean) ** 2
        if not own > 0.0:
            return 1.0
        return max(float(sums @ sums) * self.size / (self.size - 1.0) / float(own), 1.0)

    @cached_property
    def skewness(self) -> float:
        """Of the sum of surpluses if each cluster had one draw for all of its rows.

        It is 1 / √m of m clusters that are expected to have an outcome which is rare in all.
        Clusters with rare outcomes and with rare misses count alike.
        """
        mean = summed(self.code, self.count * self.score) / self.weight
        variance = mean * (1.0 - mean)
        spread = float(self.weight**2 @ variance)
        third = float(self.weight**3 @ (variance * np.abs(1.0 - 2.0 * mean)))
        return third / spread**1.5 if spread > 0.0 else 0.0

    def folds(self, k: int) -> IntArray:
        """Return the fold of each cluster, (G,): folds of about equally many rows."""
        return balanced_folds(self.weight, k)

    def part(self, kept: BoolArray, rows: BoolArray) -> Clusters:
        """Return some of the clusters, (G,), of a curve of some of the rows, (m,)."""
        some = kept[self.code]
        row, code = (np.cumsum(rows) - 1)[self.row[some]], (np.cumsum(kept) - 1)[self.code[some]]
        rest = (getattr(self, field.name)[some] for field in fields(self)[2:])
        return Clusters(row, code, *rest)

    def drawn(self, times: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Return the sums of a curve, (m,) each, if clusters are taken several times, (G,)."""
        often = times[self.code]
        columns = (self.count, self.hits, self.square, self.square_hits)
        count, hits, square, square_hits = (summed(self.row, often * column) for column in columns)
        return count, hits, square, square_hits


def clusters_of_rows(codes: IntArray, score: FloatArray, sums: Sequence[FloatArray]) -> Clusters:
    """Return the clusters of rows that are not sorted, each an entry of its own.

    sums : (N,) arrays, those of a curve: count, hits, square, square_hits
    """
    order = np.argsort(codes, kind="stable")
    code = np.unique(codes[order], return_inverse=True)[1]
    count, hits, square, square_hits = (x[order] for x in sums)
    surplus = hits - count * score[order]
    return Clusters(order, code, count, hits, square, square_hits, surplus, score[order])


def joined(parts: Sequence[tuple[Clusters, int]]) -> Clusters:
    """Return the clusters of parts put one after the other; each has a number of rows."""
    columns = [[getattr(part, field.name) for part, _ in parts] for field in fields(Clusters)]
    for place, sizes in enumerate(([rows for _, rows in parts], [part.size for part, _ in parts])):
        starts = np.cumsum([0, *sizes[:-1]])
        columns[place] = [x + start for x, start in zip(columns[place], starts, strict=True)]
    return Clusters(*map(np.concatenate, columns))


def summed(code: IntArray, values: FloatArray) -> FloatArray:
    """Return the sums of values by their codes, from 0 to the largest."""
    return np.bincount(code, values).astype(np.float64, copy=False)


def clusters_of(
    keys: KeyArray, codes: IntArray, weights: FloatArray | None, kind: WeightKind
) -> Clusters:
    """Return the clusters of unsorted keys; rows of weight 0 are left out."""
    weight = np.ones(keys.size) if weights is None else weights
    some = weight > 0.0
    keys, codes, weight = keys[some], codes[some], weight[some]
    cells, row = np.unique(keys & EVEN, return_inverse=True)
    codes = np.unique(codes, return_inverse=True)[1]
    pair, entry = np.unique(codes * np.int64(cells.size) + row, return_inverse=True)
    code, row = np.divmod(pair, cells.size)
    hit = (keys & ONE).astype(np.float64)
    square = squares(weight, kind)
    columns = (weight, weight * hit, square, square * hit)
    sums = [summed(entry, column) for column in columns]
    order, code = _numbered(code, np.stack([cells[row].view(np.float64), *sums[:2]], axis=1))
    row = row[order]
    count, hits, square, square_hits = (column[order] for column in sums)
    high = cells[row] >= HIGH
    tail = np.where(high, tail_of(cells[row], True), tail_of(cells[row], False))
    expected = count * tail
    surplus = np.where(high, hits + expected - count, hits - expected)
    score = np.where(high, 1.0 - tail, tail)
    return Clusters(row, code, count, hits, square, square_hits, surplus, score)


def _numbered(code: IntArray, contents: FloatArray) -> tuple[IntArray, IntArray]:
    """Return the order of entries by clusters numbered by what they hold, and those numbers.

    code : (k,) rising; contents : (k, 3) of each entry
    """
    starts = np.flatnonzero(np.diff(code, prepend=-1))
    rank = np.argsort(np.add.reduceat(entry_hashes(contents), starts), kind="stable")
    number = np.empty(rank.size, dtype=np.intp)
    number[rank] = np.arange(rank.size)
    order = np.argsort(number[code], kind="stable")
    return order, number[code][order]
