r"""An interval of a mean whose terms come from few rows: costs, benefits and what is saved.

Let :math:`x_i \ge 0` be what row i adds to a *part* of the mean (zero for most rows). A part is a
share of rows times a size: with :math:`W = \sum w_i x_i` and :math:`V = \sum w_i^2 x_i^2` it counts
:math:`k = W^2 / V` rows of the size :math:`V / W`, which has the mean and the variance of the x, so
that it is treated as k of n rows (n is the effective number of rows). The ends of the share k / n
are quantiles of Beta(k + ¼, n − k + ¾) and Beta(k + ¾, n − k + ¼): halfway between those of
Jeffreys, which cover too seldom for a few rows, and of Clopper and Pearson, which are too wide.

A mean is the sum of parts of different rows, each with its sign. Its interval has the distances
:math:`d` of the parts to their ends (method of variance estimates recovery; Zou and Donner 2008),
with the correlation of two shares of the same n rows,

.. math:: \sqrt{\sum_i d_i^2 \pm 2 \sum_{i < j} r_{ij} d_i d_j}, \qquad
          r_{ij} = -\sqrt{\frac{p_i p_j}{(1 - p_i) (1 - p_j)}} .

**Clusters.** The design effect of this very mean is the variance of its cluster sums over that of
independent rows, at least 1. k and n count so many rows fewer, and the ends of a share are those of
Clopper and Pearson, since k is an estimate then. The distances are longer by t / z, t of
Student's law. Its degrees of freedom are one less than Kish's number of clusters, or than
Satterthwaite's: with c the cluster sums less their share of the mean, their variance is known as
well as that of

.. math:: 2 \Big/ \Bigl( \sum_g c_g^4 \Big/ \bigl(\sum_g c_g^2\bigr)^2 - 1 / G \Bigr)

normal sums: G of them if the sums are normal, and a few where a few clusters hold most of the cost.
Few clusters often lack those with the largest sums, and then both the mean and its variance are too
low. The distance on the side of the longer tail is therefore longer by the skewness term of a
studentised mean (Johnson 1978), with z = 1.96 for 95 %:

.. math:: 1 + \frac{2 z^2 + 1}{6 z}\, |\gamma| , \qquad
          \gamma = \sum_g c_g^3 \Big/ \bigl(\sum_g c_g^2\bigr)^{3 / 2} .
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ogive._typing import ArrayLike, FloatArray

#: The level of every test, interval and verdict, and of each tail of an interval.
LEVEL, TAIL = 0.05, 0.025
#: Half of an interval of a normal with these tails, in standard errors.
HALF_WIDTH_95 = 1.959963984540054
#: What an interval should hold.
COVERAGE = 1.0 - LEVEL
#: Beta quantiles halfway between those of Jeffreys (0) and of Clopper and Pearson (½).
BEYOND_JEFFREYS = 0.25
#: With clusters the number of rows is estimated, and the ends are those of Clopper and Pearson.
BEYOND_JEFFREYS_IN_CLUSTERS = 0.5
_ROUNDING = 1e-12  # a share of a sum: below, rows do not differ


class Part(NamedTuple):
    """What some rows add to a mean: (t,) sums of w x and of w² x², and the size where none do."""

    total: ArrayLike
    square: ArrayLike
    size: ArrayLike


class Mean(NamedTuple):
    """A mean and its interval, (t,) each."""

    value: FloatArray
    low: FloatArray
    high: FloatArray


class ByCluster(NamedTuple):
    """Sums of each cluster, (G,): of w x, x with its sign, and of w."""

    total: FloatArray
    weight: FloatArray

    def wider(self, level: float = COVERAGE) -> float:
        """Return how much longer an interval is because clusters are few."""
        from scipy.special import stdtrit  # noqa: PLC0415 - only clusters need it

        kish = float(self.weight.sum() ** 2 / (self.weight @ self.weight))
        freedom = min(kish, self._freedom) - 1.0
        return float(stdtrit(max(freedom, 1.0), (1.0 + level) / 2.0)) / _half_width(level)

    @property
    def _rest(self) -> FloatArray:
        """The sum of each cluster less its share of the mean."""
        rest: FloatArray = self.total - self.weight * (self.total.sum() / self.weight.sum())
        return rest

    @property
    def _freedom(self) -> float:
        """As many clusters with normal sums would show the variance as well: Satterthwaite's."""
        square = self._rest**2
        total = float(square.sum())
        if not total > 0.0:
            return float(self.weight.size)
        return 2.0 / max(float(square @ square) / total**2 - 1.0 / self.weight.size, _ROUNDING)

    @property
    def skewness(self) -> float:
        """The skewness of the sum over clusters, as they show it."""
        rest = self._rest
        square = float(rest @ rest)
        return float((rest**3).sum()) / square**1.5 if square > 0.0 else 0.0

    def design_effect(self, independent: float) -> float:
        """Return the variance of the sum of w x over that of independent rows, at least 1."""
        size = self.weight.size
        rest = self._rest
        return max(float(rest @ rest) * size / (size - 1.0) / independent, 1.0)


def mean_interval(
    parts: Sequence[tuple[float, Part]],
    n: float,
    effective_n: float,
    noise: float = 0.0,
    clusters: ByCluster | None = None,
    *,
    level: float = COVERAGE,
) -> Mean:
    """Return the mean of parts, each with its sign (1 or -1), and its interval.

    Parameters
    ----------
    parts : sequence of (sign, Part)
        Of different rows.
    n, effective_n : float
        The sum of the weights, and the effective number of rows.
    noise : float
        The variance of what else makes the mean uncertain, independent of the rows.
    clusters : ByCluster, optional
        Where rows are not independent, for parts of one number each.
    level : float
        How often the interval should hold the mean.

    >>> found = mean_interval([(1.0, Part(8, 8, 1))], 10, 10)
    >>> float(found.value), found.low.round(3), found.high.round(3)
    (0.8, np.float64(0.47), np.float64(0.966))
    """
    wider, skewness, beyond = 1.0, 0.0, BEYOND_JEFFREYS
    if clusters is not None and clusters.weight.size > 1:
        wider, skewness = clusters.wider(level), clusters.skewness
        beyond = BEYOND_JEFFREYS_IN_CLUSTERS
        squares = float(sum(np.asarray(part.square) for _, part in parts))
        alone = squares - float(clusters.total.sum()) ** 2 / effective_n
        alike = clusters.design_effect(alone) if alone > _ROUNDING * squares else 1.0
        parts = [
            (sign, part._replace(square=alike * np.asarray(part.square))) for sign, part in parts
        ]
        effective_n, noise = effective_n / alike, noise * wider**2
    ends = [_ends(part, n, effective_n, wider, beyond, level) for _, part in parts]
    signs = [sign for sign, _ in parts]
    value = sum((s * e.mean for s, e in zip(signs, ends, strict=True)), np.zeros(()))
    below = [e.down if s > 0 else e.up for s, e in zip(signs, ends, strict=True)]
    above = [e.up if s > 0 else e.down for s, e in zip(signs, ends, strict=True)]
    shares = [e.share for e in ends]
    z = _half_width(level)
    more = z**2 * noise
    return Mean(
        value,
        value - longer_tail(-skewness, level) * _joined(below, shares, signs, more),
        value + longer_tail(skewness, level) * _joined(above, shares, signs, more),
    )


def longer_tail(skewness: float, level: float = COVERAGE) -> float:
    """Return how much longer a side of an interval is by the skewness towards it."""
    z = _half_width(level)
    return 1.0 + (2.0 * z**2 + 1.0) / (6.0 * z) * max(skewness, 0.0)


class _Ends(NamedTuple):
    share: FloatArray
    mean: FloatArray
    down: FloatArray
    up: FloatArray


def _half_width(level: float) -> float:
    """Return half a normal interval, in deviations."""
    from scipy.special import ndtri  # noqa: PLC0415 - heavy, and measures do without

    return float(ndtri((1.0 + level) / 2.0))


def _ends(  # noqa: PLR0917 - internal
    part: Part, n: float, effective_n: float, wider: float, beyond: float, level: float
) -> _Ends:
    """Return a part as a share of rows, its mean, and how far the ends of the mean are from it.

    wider : the factor of the distances; beyond : of Jeffreys' quantiles, at most ½
    """
    from scipy.special import betaincinv  # noqa: PLC0415 - heavy, and measures do without

    total, square, size = (np.asarray(x, dtype=np.float64) for x in part)
    some = total > 0.0
    safe = np.where(some, square, 1.0)
    k = np.where(some, np.minimum(total * total / safe, effective_n), 0.0)
    mean = total / n
    unit = np.where(some, mean * effective_n / np.where(some, k, 1.0), size)
    rest, near, far, tail = effective_n - k, 0.5 - beyond, 0.5 + beyond, (1.0 - level) / 2.0
    low = np.where(k > 0.0, betaincinv(k + near, rest + far, tail), 0.0)
    high = np.where(rest > 0.0, betaincinv(k + far, rest + near, 1.0 - tail), 1.0)
    share = k / effective_n
    return _Ends(share, mean, wider * unit * (share - low), wider * unit * (high - share))


def _joined(
    distances: Sequence[FloatArray],
    shares: Sequence[FloatArray],
    signs: Sequence[float],
    more: float,
) -> FloatArray:
    """Return the distance of all parts together; rounding may take its square below 0."""
    square = np.sum([d * d for d in distances], axis=0) + more
    for i, j in combinations(range(len(distances)), 2):
        p, q = shares[i], shares[j]
        odds = p * q / np.maximum((1.0 - p) * (1.0 - q), np.finfo(float).tiny)
        r = -signs[i] * signs[j] * np.sqrt(np.minimum(odds, 1.0))
        square = square + 2.0 * r * distances[i] * distances[j]
    joined: FloatArray = np.sqrt(np.maximum(square, 0.0))
    return joined
