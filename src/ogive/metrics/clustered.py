r"""The noise of the gap where rows come in clusters: sign flips for tests, t for intervals.

Rows of one cluster may depend on each other in any way; clusters are independent. With
:math:`Z_g(j)` the surplus of outcomes over scores of cluster g up to the score j, N times the gap
is :math:`\sum_g Z_g`, a sum of independent processes with mean 0 if the scores are calibrated.

**Tests.** The null law is that of :math:`\sum_g \pm Z_g` with random signs. If a cluster's process
is as likely as its negative this is exact for any number of clusters, since the data are then one
of the equally likely flips. It is not where outcomes are rare, so that the p-value is never below
that of independent rows (dependence adds noise), nor below that of clusters whose rows share draws
(`ogive.metrics.shared_draws`: a cluster that might have had many outcomes and had none).

**Intervals.** With :math:`N_g` the rows of a cluster and D the gap, the noise of D is
:math:`\sum_g (Z_g - N_g D) / N`. Normal processes with the covariance of these are divided by the
root of a chi-squared over its degrees of freedom, as in Student's t: one less than Kish's number of
clusters. The interval is at least that of independent rows.

The gap is read at the ends of 256 cells of equal variance. The 1,000 largest clusters have signs
of their own; the others are together normal.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ogive._numerics.covariance import root_of
from ogive.metrics.shared_draws import (
    MAX_JUMPS,
    MIN_SKEWNESS,
    SharedDraws,
    warn_if_few_decide,
)

if TYPE_CHECKING:
    from ogive._typing import FloatArray, IntArray
    from ogive.curve import Curve
    from ogive.curve.clusters import Clusters
    from ogive.metrics.significance import CalibrationTest

CELLS = 256
DRAWS = 1999  # the least p-value is 1 / 2,000, and 5 % are good to 0.5 %
MAX_CLUSTERS_WITH_SIGNS = 1000  # of the others none is a large part of the noise


class ClusterNoise:
    """Draws of the surplus of cells, under calibration or about the observed surplus.

    total : (c,) the surplus of each cell
    """

    def __init__(self, clusters: Clusters, cell: IntArray) -> None:
        """Sum the entries by cluster and cell; cell : (m,) the cell of each row of the curve."""
        from scipy.sparse import csr_array  # noqa: PLC0415 - only clusters need it

        shape = (clusters.size, int(cell[-1]) + 1)
        steps = csr_array((clusters.surplus, (clusters.code, cell[clusters.row])), shape=shape)
        largest = np.argsort(-clusters.weight, kind="stable")
        own, rest = np.split(largest, [MAX_CLUSTERS_WITH_SIGNS])
        self.total: FloatArray = np.asarray(steps.sum(axis=0))
        self._drawn: dict[int, list[tuple[FloatArray, FloatArray]]] = {}
        self.freedom = max(clusters.effective - 1.0, 1.0)
        self._largest = np.sort(own)
        self._clusters, self._cell = clusters, cell
        self._own: FloatArray = steps[self._largest].toarray()
        others = steps[np.sort(rest)]
        self._others: FloatArray = (others.T @ others).toarray()
        # About the observed gap: each cluster less its share of the total.
        share = clusters.weight / clusters.weight.sum()
        few = clusters.size / max(clusters.size - 1.0, 1.0)
        self._about: FloatArray = self._own - np.outer(share[np.sort(own)], self.total)
        self._about *= np.sqrt(few)
        cross = np.outer(others.T @ share[np.sort(rest)], self.total)
        square = float(share[rest] @ share[rest]) * np.outer(self.total, self.total)
        self._about_others: FloatArray = few * (self._others - cross - cross.T + square)

    @property
    def covariance(self) -> FloatArray:
        """The covariance of the cells under calibration, (c, c)."""
        result: FloatArray = self._own.T @ self._own + self._others
        return result

    def seen(self, random_state: int, *, kuiper: bool) -> Seen:
        """Return draws of N times the KS or the Kuiper error; both are of the same draws."""
        if random_state not in self._drawn:
            rng = np.random.default_rng(random_state)
            self._drawn[random_state] = [
                _extremes(self.total[None]),
                _extremes(self.flips(rng, DRAWS)),
                _extremes(self.noise(rng, DRAWS)),
                _extremes(self.shared(rng, DRAWS)),
            ]
        observed, flips, off, shared = (
            high - low if kuiper else np.maximum(high, -low)
            for low, high in self._drawn[random_state]
        )
        return Seen(float(observed[0]), flips, off, shared)

    def flips(self, rng: np.random.Generator, draws: int) -> FloatArray:
        """Draw surpluses of all cells under calibration, (draws, c)."""
        signs = 1.0 - 2.0 * rng.integers(0, 2, (draws, self._own.shape[0]))
        return _with(signs @ self._own, self._others, rng)

    def shared(self, rng: np.random.Generator, draws: int) -> FloatArray:
        """Draw surpluses under calibration with shared draws, (draws, c); none if signs do."""
        if self._clusters.skewness < MIN_SKEWNESS:
            return np.empty((0, self.total.size))
        warn_if_few_decide(self._clusters)
        entries = SharedDraws(self._clusters, self._cell)
        if entries.jumps <= MAX_JUMPS:
            return entries.draw(rng, draws)
        entries = SharedDraws(self._clusters, self._cell, self._largest)
        return _with(entries.draw(rng, draws), self._others, rng)

    def noise(self, rng: np.random.Generator, draws: int) -> FloatArray:
        """Draw what the surpluses differ from their means by, (draws, c)."""
        normal = rng.standard_normal((draws, self._about.shape[0]))
        steps = _with(normal @ self._about, self._about_others, rng)
        result: FloatArray = steps / np.sqrt(rng.chisquare(self.freedom, (draws, 1)) / self.freedom)
        return result


def _with(steps: FloatArray, covariance: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Add normal steps with a covariance."""
    if not covariance.any():
        return steps
    result: FloatArray = steps + rng.standard_normal(steps.shape) @ root_of(covariance).T
    return result


def noise_of(curve: Curve) -> ClusterNoise:
    """Return the noise of the gap of a curve with clusters."""
    assert curve.clusters is not None  # noqa: S101 - asked of those only
    spread = curve.square * curve.tail * (1.0 - curve.tail) + 1e-12 * curve.count
    middle = (np.cumsum(spread) - 0.5 * spread) / spread.sum()
    cell = np.unique(np.floor(CELLS * middle), return_inverse=True)[1]
    return ClusterNoise(curve.clusters, cell)


class Seen(NamedTuple):
    """Draws of N times an error.

    observed : N times the error itself, read at the ends of cells as in the draws
    flips : (draws,) what it is under calibration; off : (draws,) what it may be off by
    shared : (draws,) what it is if clusters share draws; (0,) where flips are enough
    """

    observed: float
    flips: FloatArray
    off: FloatArray
    shared: FloatArray

    def interval(
        self, value: float, low: float, high: float, *, n: float, level: float, more: float = 1.0
    ) -> tuple[float, float]:
        """Return the interval of a value at a level, at least that of independent rows."""
        half = more * float(np.quantile(self.off, 1.0 - level)) / n
        return min(low, max(value - half, 0.0)), max(high, min(value + half, 1.0))

    def pvalue(self, more: float = 1.0) -> float:
        """Return how many draws, the data among them, are as large as what was observed."""
        threshold = self.observed / more * (1.0 - 1e-9)  # equal flips may round differently
        laws = [law for law in (self.flips, self.shared) if law.size]
        return max(float(1 + (law >= threshold).sum()) / (1 + law.size) for law in laws)

    def largest(self, level: float) -> float:
        """Return what calibrated scores exceed at a level."""
        return max(float(np.quantile(x, 1.0 - level)) for x in (self.flips, self.shared) if x.size)


def with_clusters(
    found: CalibrationTest, seen: Seen, n: float, *, critical: float, level: float, more: float
) -> CalibrationTest:
    """Return the test of independent rows, made to allow for clusters.

    more : the factor of a calibrator's own noise
    """
    pvalue = max(found.pvalue, seen.pvalue(more))
    sigma = max(found.sigma, seen.largest(level) / critical)
    wider = sigma / found.sigma
    ends = (found.value, found.low, found.high)
    low, high = seen.interval(*ends, n=n, level=level, more=more)
    return replace(
        found,
        pvalue=pvalue,
        low=low,
        high=high,
        expected=max(found.expected, float(seen.flips.mean()) / n),
        detectable=wider * found.detectable,
        detectable_half=wider * found.detectable_half,
        sigma=sigma,
        method="clusters",
    )


def _extremes(steps: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the lowest and the highest point of each walk, (draws, c) -> (draws,) each."""
    walk = np.cumsum(steps, axis=1)
    return np.minimum(walk.min(axis=1), 0.0), np.maximum(walk.max(axis=1), 0.0)
