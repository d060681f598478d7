r"""What calibrated scores may show where rare outcomes come in clusters: whole clusters at once.

Random signs (`ogive.metrics.clustered`) know only of what happened. Where outcomes are rare and
alike within clusters, most clusters have none and a few have many, so that too few outcomes in all
may only mean that no cluster had its many this time: no sign tells of them, but the scores do.

**Model.** With the probability r a row takes the draw of its cluster, uniform on [0, 1], else its
own; its outcome is 1 if the draw is below its score. Every row has the probability that its score
says, and two outcomes of one score in a cluster correlate by r². Between neighbouring scores the
cluster's draw matters in the same way, so that the likelihood of the outcomes of a cluster is

.. math:: \sum_j (p_{j+1} - p_j) \prod_{i \le j} P_r(y_i \mid p_i < u)
          \prod_{i > j} P_r(y_i \mid p_i > u) ,

the product over all clusters that of r. With a flat prior, r is drawn from its posterior for every
draw of the surplus, so that what the data do not say of r is in the p-value.

**When.** With one draw for each cluster the sum of surpluses is most skewed. If even then its
skewness is below 0.1, signs are enough (a skewness of 0.1 moves a tail of 2.5 % by 0.3 %).
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import numpy as np

from ogive.curve.clusters import summed
from ogive.errors import FewClusters

if TYPE_CHECKING:
    from ogive._typing import FloatArray, IntArray
    from ogive.curve.clusters import Clusters

MIN_SKEWNESS = 0.1
#: With fewer clusters than this that can be expected to have the rarer outcome, a warning.
MIN_CLUSTERS_EXPECTED = 2.0
SHARES = (np.arange(20) + 0.5) / 20  # the values of r
#: In more clusters than this the draw is below a score: all but the largest are together normal.
MAX_JUMPS = 5000.0
_NUMBERS_AT_ONCE = 4 * 10**6
_LEAST = 1e-300  # of a score and of its distance to the next


def warn_if_few_decide(clusters: Clusters) -> None:
    """Warn where hardly a cluster can be expected to have the rarer outcome."""
    if clusters.skewness**2 * MIN_CLUSTERS_EXPECTED > 1.0:
        warnings.warn(
            "one outcome is so rare that few clusters can have it, and one more cluster with many "
            "would change the result. P-values allow for that, so that wrong scores are hardly "
            "found; intervals may be too short. Add clusters, not rows.",
            FewClusters,
            stacklevel=2,
        )


class SharedDraws:
    """Draws of the surplus of cells of calibrated scores whose clusters share their draws.

    The entries are sums over each cluster and cell, in the order of clusters and then of scores.
    """

    def __init__(self, clusters: Clusters, cell: IntArray, largest: IntArray | None = None) -> None:
        """Sum the entries of clusters by cell.

        cell : (m,) the cell of each row of the curve; largest : the clusters that count, or all
        """
        self.cells = int(cell[-1]) + 1
        some = slice(None) if largest is None else np.isin(clusters.code, largest)
        code = np.unique(clusters.code[some], return_inverse=True)[1]
        cells = cell[clusters.row[some]]
        pair, entry = np.unique(code * np.int64(self.cells) + cells, return_inverse=True)
        self.cluster, self.cell = np.divmod(pair, self.cells)
        columns = (clusters.count, clusters.hits, clusters.square, clusters.surplus)
        self.count, self.hits, self.square, surplus = (summed(entry, x[some]) for x in columns)
        self.score = np.clip((self.hits - surplus) / self.count, _LEAST, 1.0 - 1e-16)
        self.first = np.flatnonzero(np.diff(self.cluster, prepend=-1))
        self.end = np.append(self.first[1:], self.cluster.size)

    @property
    def jumps(self) -> float:
        """For how many clusters a draw is expected to be below one of their scores."""
        return float(self.score[self.end - 1].sum())

    def log_likelihood(self, share: float) -> float:
        """Return the logarithm of the likelihood of r."""
        p, rows = self.score, self.count / self.square
        hits, misses = self.hits * rows, (self.count - self.hits) * rows
        above = hits * np.log(share + (1 - share) * p) + misses * np.log((1 - share) * (1 - p))
        below = hits * np.log((1 - share) * p) + misses * np.log(share + (1 - share) * (1 - p))
        every = np.add.reduceat(above, self.first)  # the draw is below all scores of the cluster
        passed = np.cumsum(below - above)
        passed -= np.append(0.0, passed)[self.first][self.cluster]
        after = np.append(p[1:], 1.0)
        after[self.end - 1] = 1.0
        terms = np.log(np.maximum(after - p, _LEAST)) + every[self.cluster] + passed
        lowest = np.log(p[self.first]) + every
        most = np.maximum(np.maximum.reduceat(terms, self.first), lowest)
        rest = np.add.reduceat(np.exp(terms - most[self.cluster]), self.first)
        return float((np.log(rest + np.exp(lowest - most)) + most).sum())

    def draw(self, rng: np.random.Generator, draws: int) -> FloatArray:
        """Draw surpluses of all cells, (draws, c)."""
        likelihood = np.array([self.log_likelihood(share) for share in SHARES])
        weight = np.exp(likelihood - likelihood.max())
        share = rng.choice(SHARES, size=draws, p=weight / weight.sum())
        # Of the variance p (1 − p), r² is that of the mean given the draw of the cluster.
        own = self._by_cell(self.square * self.score * (1.0 - self.score))
        steps = np.sqrt(np.outer(1.0 - share**2, own)) * rng.standard_normal((draws, self.cells))
        steps -= np.outer(share, self._by_cell(self.count * self.score))
        at_once = max(_NUMBERS_AT_ONCE // self.first.size, 1)
        for start in range(0, draws, at_once):
            some = slice(start, start + at_once)
            steps[some] += share[some, None] * self._rows_above(rng, share[some].size)
        return steps

    def _by_cell(self, values: FloatArray) -> FloatArray:
        return np.bincount(self.cell, values, minlength=self.cells).astype(np.float64, copy=False)

    def _rows_above(self, rng: np.random.Generator, draws: int) -> FloatArray:
        """Return the rows of each cell whose score is above the draw of the cluster, (draws, c)."""
        uniform = rng.random((draws, self.first.size))
        draw, cluster = np.nonzero(uniform < self.score[self.end - 1])
        # Scores rise within a cluster: its entries from `start` on are above the draw.
        start = np.searchsorted(self.cluster + self.score, cluster + uniform[draw, cluster])
        size = self.end[cluster] - np.maximum(start, self.first[cluster])
        entry = np.repeat(self.end[cluster] - np.cumsum(size), size) + np.arange(size.sum())
        place = np.repeat(draw, size) * self.cells + self.cell[entry]
        sums: FloatArray = np.bincount(place, self.count[entry], draws * self.cells).astype(float)
        return sums.reshape(draws, self.cells)
