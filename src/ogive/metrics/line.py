r"""What clinicians and lenders report: the O/E ratio, and a line through the outcomes in log-odds.

With rows of weight w, score p, log-odds :math:`\eta` and outcome y:

- **O/E ratio**, outcomes observed over outcomes expected: :math:`R = \sum w y / \sum w p`.
- **Intercept**, calibration-in-the-large: the shift a of all log-odds that makes the mean right,
  :math:`\sum w\,\mathrm{sigmoid}(a + \eta) = \sum w y`; the slope is fixed at 1.
- **Slope**, of Cox (1958): b of the likeliest line :math:`\mathrm{sigmoid}(a + b \eta)`.

**Intervals**, 95 %, of what all rows of the same kind would give. None of them takes the line to be
the truth: the noise is measured by the residuals r = y − p of each fit.

O/E ratio and intercept are functions of one sum, the weight of outcomes 1. A sum of few outcomes is
skewed, so it has the interval of a gamma distribution (`sum_interval`), with the variance
:math:`\sum w^2 r^2`: for rare outcomes that is close to Jeffreys' interval of a Poisson count, for
many the normal one. Where outcomes 0 are rare, their sum has it; between, both are averaged, each
weighted by how rare its outcome is.

The slope has the interval of its profile likelihood, widened where the residuals vary more than
the line expects (Kent 1982): all b whose log-likelihood is within :math:`k\,t^2 / 2` of the best,
k = max(1, robust variance / variance of the line). A few outcomes of one kind show neither their
variance nor the shape of the likelihood well, so that t is of Student's law, with four degrees of
freedom for each row of the rarer outcome; with many, :math:`t^2 / 2 = 1.92`.

With clusters the variance of the sum of outcomes is multiplied by their design effect
(`Curve.as_independent`) and by :math:`(t / z)^2`, t of Student's law: few clusters show little of
how they vary. The robust variance of the slope is the jackknife's over clusters, times
:math:`(t / z)^2`. It is never below that of independent rows times 1 + a (d − 1), d the design
effect and a how alike the scores of a cluster are (Moulton 1986): where they are not, what rows of
a cluster have in common moves the mean and hardly the slope. The side of the longer tail of what
clusters add to the slope is longer, as of a mean (`ogive._numerics.mean_interval`).
"""

from __future__ import annotations

from functools import partial
from math import inf, log, nan, sqrt
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ogive._html import record_form
from ogive._numerics.blas import one_blas_thread
from ogive._numerics.logistic import expit, intercept_for_share, logistic_fit, same_score
from ogive._numerics.mean_interval import TAIL, ByCluster, longer_tail
from ogive.curve.coarse import coarse
from ogive.curve.curve import as_curve

if TYPE_CHECKING:
    from collections.abc import Callable

    from ogive._typing import ArrayLike, FloatArray, WeightKind
    from ogive.curve import Curve
    from ogive.curve.clusters import Clusters

LOW, HIGH = TAIL, 1.0 - TAIL
FREEDOM = 4.0  # degrees of freedom that a row of the rarer outcome is worth, for the slope
JEFFREYS = 0.5  # rows added to a count, so that its interval is right on average
#: A fitted line is read off this many rows at most; more are joined, which moves it by under 1e-6.
MAX_ROWS = 1 << 14
_DOUBLINGS = 40  # of the first step away from the slope: beyond, that end of the interval is open


class Estimate(NamedTuple):
    """A number with its 95 % interval; an end that the rows leave open is infinite."""

    value: float
    low: float
    high: float

    def _repr_html_(self) -> str:
        return record_form(self)


def sum_interval(total: float, variance: float, unit: float) -> tuple[float, float]:
    """Return the interval of the mean of a sum that cannot be negative.

    Parameters
    ----------
    total, variance : float
        The sum that was seen, and an estimate of its variance; below that of a single row it is
        taken to be that of one.
    unit : float
        The weight of a row.

    >>> [round(end, 2) for end in sum_interval(10.0, 10.0, 1.0)]
    [5.14, 17.74]
    """
    from scipy.special import gammaincinv  # noqa: PLC0415 - keep `import ogive` light

    if total <= 0.0:
        return 0.0, -unit * log(LOW)  # exact: a Poisson count of that mean is 0 in 2.5 %
    scale = max(variance, unit * unit) / total
    low, high = gammaincinv(total / scale + JEFFREYS, (LOW, HIGH))
    return scale * float(low), scale * float(high)


def oe_ratio(
    curve: Curve | ArrayLike,
    outcomes: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
    weight_kind: WeightKind = "repetition",
) -> Estimate:
    """Return outcomes observed over outcomes expected: 1 if the scores are right on average.

    Above 1 the scores are too low, below 1 too high.

    Parameters
    ----------
    curve : Curve, or array-like (N,)
        A curve, or scores in [0, 1].
    outcomes, sample_weight, weight_kind : optional
        Of scores, as in `Curve.from_scores`.

    Returns
    -------
    Estimate
        ``value``, ``low`` and ``high``; infinite, or NaN, where all scores are 0.

    >>> found = oe_ratio([0.2, 0.4, 0.6, 0.8] * 50, [0, 0, 1, 0] * 50)
    >>> round(found.value, 3), round(found.low, 3), round(found.high, 3)
    (0.5, 0.391, 0.623)
    """
    given = as_curve(curve, outcomes, sample_weight=sample_weight, weight_kind=weight_kind)
    curve = given.as_independent()
    expected = float(curve.count @ curve.score)
    if expected < np.finfo(np.float64).tiny:
        return Estimate(inf if curve.total_hits else nan, 0.0, inf)
    ratio = curve.total_hits / expected
    p = ratio * curve.score
    low, high = _hits_interval(curve, _noise(curve, p) * _few_clusters(given, p))
    return Estimate(ratio, low / expected, high / expected)


@one_blas_thread()
def calibration_intercept(
    curve: Curve | ArrayLike,
    outcomes: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
    weight_kind: WeightKind = "repetition",
) -> Estimate:
    """Return calibration-in-the-large: the shift of all log-odds that makes the mean right.

    0 is right, above 0 the scores are too low. The parameters are those of `oe_ratio`.

    Returns
    -------
    Estimate
        Infinite where all outcomes are equal: no finite shift makes that mean.

    >>> found = calibration_intercept([0.2, 0.4, 0.6, 0.8] * 50, [0, 0, 1, 0] * 50)
    >>> round(found.value, 3), round(found.low, 3), round(found.high, 3)
    (-1.346, -1.742, -0.955)
    """
    given = as_curve(curve, outcomes, sample_weight=sample_weight, weight_kind=weight_kind)
    curve = _short(given).as_independent()
    value = _shift_for(curve, curve.total_hits)
    p = expit(value + curve.log_odds)
    ends = _hits_interval(curve, _noise(curve, p) * _few_clusters(given, p))
    return Estimate(value, *(_shift_for(curve, end) for end in ends))


@one_blas_thread()
def calibration_slope(
    curve: Curve | ArrayLike,
    outcomes: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
    weight_kind: WeightKind = "repetition",
) -> Estimate:
    """Return Cox's calibration slope: that of the likeliest line in log-odds.

    1 is right; below 1 the scores are too extreme, above 1 not extreme enough. The parameters are
    those of `oe_ratio`. Scores of exactly 0 and 1 are placed as in `Curve.log_odds`.

    Returns
    -------
    Estimate
        NaN with open ends where all outcomes, or all scores, are equal; infinite where a score
        separates the outcomes.

    >>> found = calibration_slope([0.2, 0.4, 0.6, 0.8] * 50, [0, 0, 1, 0] * 50)
    >>> round(found.value, 3), round(found.low, 3), round(found.high, 3)
    (0.543, 0.213, 0.893)
    """
    given = as_curve(curve, outcomes, sample_weight=sample_weight, weight_kind=weight_kind)
    curve = _short(given)
    eta = curve.log_odds
    if curve.total_hits in {0.0, float(curve.n)} or _same(float(eta[0]), float(eta[-1])):
        return Estimate(nan, -inf, inf)
    lines = _Lines(curve)
    side = _separated(curve)
    if side:
        inside = side * _first(lambda b: lines.worse(side * b, lines.tied_loss()))
        end = _crossing(lambda b: lines.worse(b, lines.tied_loss()), inside, -side)
        return Estimate(side * inf, *((end, inf) if side > 0 else (-inf, end)))
    return lines.slope()


class _Lines:
    """The likelihood of lines in log-odds."""

    def __init__(self, curve: Curve) -> None:
        self.curve, self.eta = curve, curve.log_odds
        # Sampling weights: as many rows as Kish's number.
        self.scale = float(curve.effective_n) / float(curve.n)
        self.count, self.hits = self.scale * curve.count, self.scale * curve.hits
        self.edge = 0.5 * _student(float(min(self.hits.sum(), (self.count - self.hits).sum()))) ** 2

    def loss(self, b: float) -> float:
        """Return the negative log-likelihood of the best line of slope b."""
        eta = b * self.eta
        share = float(self.hits.sum()) / float(self.count.sum())
        line = intercept_for_share(eta, self.count, share) + eta
        return float(self.count @ np.logaddexp(0.0, line) - self.hits @ line)

    def worse(self, b: float, least: float, times: float = 1.0) -> float:
        """Return how far slope b is beyond the edge of the interval: below 0 inside."""
        return self.loss(b) - least - times * self.edge

    def slope(self) -> Estimate:
        """Return the likeliest slope, with its interval."""
        fit = logistic_fit(self.eta[:, None], self.count, self.hits)
        slope = float(fit.slopes[0])
        variance, robust, skewness = self._variances(fit.intercept, slope)
        times, least = max(robust / variance, 1.0), self.loss(slope)
        ends = []
        for side in (-1.0, 1.0):
            more = times * longer_tail(side * skewness) ** 2
            step = side * sqrt(variance * more)
            ends.append(_crossing(partial(self.worse, least=least, times=more), slope, step))
        return Estimate(slope, *ends)

    def _variances(self, intercept: float, slope: float) -> tuple[float, float, float]:
        """Return the variance of the slope if the line is the truth, and by its residuals.

        And the skewness of what clusters add to the slope; 0 without clusters.
        """
        p = expit(intercept + slope * self.eta)
        X = np.stack([np.ones_like(p), self.eta])
        information = (X * (self.count * p * (1.0 - p))) @ X.T
        inverse = np.linalg.pinv(information, hermitian=True)
        # The information is of Kish's number of rows, and so must be the squares of weights.
        noise = (X * (self.scale**2 * _squares(self.curve, p))) @ X.T
        robust, skewness = float((inverse @ noise @ inverse)[1, 1]), 0.0
        clusters = self.curve.clusters
        if clusters is not None:
            own, skewness = self._without_each(clusters, p, X, information)
            alike = self._alike_in_clusters(clusters, p * (1.0 - p))
            robust = max(own, (1.0 + alike * (clusters.design_effect - 1.0)) * robust)
        return float(inverse[1, 1]), robust, skewness

    def _alike_in_clusters(self, clusters: Clusters, v: FloatArray) -> float:
        """Return how alike the scores of a cluster are, 0 to 1: Moulton's (1986) correlation.

        Residuals that are alike in pairs of rows add to the variance of their mean by the products
        v v' of the pairs, and to that of the slope by v v' x x', x the distance from the mean.
        """
        x = self.eta - float(self.count @ (v * self.eta)) / float(self.count @ v)
        pairs = []
        for each in (v * x, v):
            rows = float(self.curve.square @ each**2)
            sums = clusters.sums(each, each)
            pairs.append(float(sums @ sums) / rows - 1.0 if rows > 0.0 else 0.0)
        return min(max(pairs[0] / pairs[1], 0.0), 1.0) if pairs[1] > 0.0 else 1.0

    def _without_each(
        self, clusters: Clusters, p: FloatArray, X: FloatArray, information: FloatArray
    ) -> tuple[float, float]:
        """Return the jackknife's variance of the slope, and its skewness.

        Without a cluster the slope is a step of Newton away.
        """
        score = self.scale * np.stack([clusters.sums(x * (1.0 - p), -x * p) for x in X], axis=1)
        own = [[self.scale * clusters.sums(v, v) for v in p * (1.0 - p) * X * x] for x in X]
        rest = information - np.transpose(own, (2, 0, 1))
        moves = (np.linalg.pinv(rest, hermitian=True) @ score[:, :, None])[:, 1, 0]
        each = ByCluster(moves, clusters.weight)
        return each.wider() ** 2 * (clusters.size - 1) * float(np.var(moves)), each.skewness

    def tied_loss(self) -> float:
        """Return the loss of a line that separates the outcomes: that of a score with both."""
        both = (self.hits > 0.0) & (self.hits < self.count)
        k, n = float(self.hits[both].sum()), float(self.count[both].sum())
        return -(k * np.log(k / n) + (n - k) * np.log1p(-k / n)) if n else 0.0


def _student(events: float) -> float:
    """Return half the width of an interval in standard errors, known from so many events."""
    from scipy.special import stdtrit  # noqa: PLC0415 - heavy, and only used here

    return float(stdtrit(FREEDOM * events, HIGH))


def _separated(curve: Curve) -> float:
    """Return 1 if no outcome 0 has a higher score than an outcome 1, −1 if reversed, else 0."""
    hit = np.flatnonzero(curve.hits > 0.0)
    miss = np.flatnonzero(curve.hits < curve.count)
    if miss[-1] <= hit[0]:
        return 1.0
    return -1.0 if hit[-1] <= miss[0] else 0.0


def _first(worse: Callable[[float], float]) -> float:
    """Return a positive slope inside the interval, which goes on for ever."""
    b = 1.0
    for _ in range(_DOUBLINGS):
        if worse(b) < 0.0:
            break
        b *= 2.0
    return b


def _crossing(worse: Callable[[float], float], inside: float, step: float) -> float:
    """Return where the interval ends, from a slope inside it; infinite if that is out of sight."""
    from scipy.optimize import brentq  # noqa: PLC0415 - heavy, and only used here

    for _ in range(_DOUBLINGS):
        if worse(inside + step) >= 0.0:
            return float(brentq(worse, inside, inside + step, xtol=1e-10 * abs(step)))
        step *= 2.0
    return inf if step > 0.0 else -inf


def _short(curve: Curve) -> Curve:
    """Return the curve, with rows of nearly equal score joined if there are many.

    With clusters it stays as it is: they refer to its rows.
    """
    if curve.clusters is not None or curve.n <= MAX_ROWS or curve.score.size <= MAX_ROWS:
        return curve
    return coarse(curve)


def _same(first: float, last: float) -> bool:
    return last - first <= same_score(first, last)


def _squares(curve: Curve, p: FloatArray) -> FloatArray:
    """Return the sum of w² (y − p)² at each score, (m,)."""
    hits = curve.square_hits
    return hits * (1.0 - p) ** 2 + (curve.square - hits) * p**2


def _noise(curve: Curve, p: FloatArray) -> float:
    return float(_squares(curve, p).sum())


def _few_clusters(curve: Curve, p: FloatArray) -> float:
    """Return how many times the variance of the sum of outcomes is larger as clusters are few."""
    if curve.clusters is None:
        return 1.0
    sums = curve.clusters.sums(1.0 - p, -p)
    return ByCluster(sums, curve.clusters.weight).wider() ** 2


def _hits_interval(curve: Curve, variance: float) -> tuple[float, float]:
    """Return the interval of the weight of outcomes 1: that of both sums, by their shares."""
    n, hits = float(curve.n), float(curve.total_hits)
    unit = float(curve.square.sum()) / n
    low, high = np.minimum(sum_interval(hits, variance, unit), n)
    least, most = np.minimum(sum_interval(n - hits, variance, unit), n)
    share = hits / n
    mean = [(1.0 - share) * a + share * b for a, b in ((low, n - most), (high, n - least))]
    return min(float(mean[0]), hits), max(float(mean[1]), hits)


def _shift_for(curve: Curve, hits: float) -> float:
    """Return the shift of log-odds that makes the expected weight of outcomes 1 this much."""
    share = hits / float(curve.n)
    if not 0.0 < share < 1.0:
        return inf if share >= 1.0 else -inf
    return intercept_for_share(curve.log_odds, curve.count, share)
