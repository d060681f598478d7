r"""The base rate of new data without outcomes, from calibrated scores.

A calibrator fitted at the base rate π₀ gives q, the probability of class 1. If the scores within
each class are distributed as they were, the scores of new data with the base rate π have the
density (up to that of the calibration set)

.. math:: D(\pi) = \pi a + (1 - \pi) c, \qquad a = q / \pi_0, \quad c = (1 - q) / (1 - \pi_0) .

The estimate maximises Σ log D, which is concave in π: it is where the EM algorithm of Saerens,
Latinne and Decaestecker (2002) ends, found by bisection on the score

.. math:: U(\pi) = \sum_i r_i, \qquad r = (a - c) / D .

**Interval.** The π around the estimate with U² ≤ 3.84 (V + V_c); where the estimate is 0 or 1, U
is counted from its value there. V = Σ r² is what new rows vary by,
each weighted by D(π) over D at the estimate: at π they would be that much more frequent. V_c is
the calibrator's own uncertainty by the delta method. With ∂r/∂logit q = a c / D² and H_j its sum
over the new rows of bin j, weighted alike, a map that is free in each bin of the old rows has

.. math:: V_c = \sum_j H_j^2 / w_j - H^2 / (n \pi_0 (1 - \pi_0)), \qquad w_j = \sum q (1 - q),

the sum over the calibration rows of the bin; π₀, counted on the same rows, is the second term.

**Misfit.** The shares of new rows in the bins are m. If only the base rate changed, their mean is
f₀ + π (f₁ − f₀) for some π, f₁ and f₀ the shares of each class's calibration rows. The distance
from the nearest such mean, in the covariance of m, f₀ and f₁ together, is χ² with bins − 2 degrees
of freedom. The π of that mean needs no calibrated q, so that it also checks the estimate: if q is
right, the estimate is the better of the two, their difference varies less than the π of the bins
alone (Hausman 1978), and its square over that variance is at most χ² with 1. Scores that hardly
tell the classes apart make f₁ − f₀ noise, and the π of the bins seem more certain than it is: then
the variance is that of the interval of the estimate, which is the larger. The p-value is twice the
smaller of both.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ogive._numerics.covariance import multinomial
from ogive._numerics.logistic import expit, logit
from ogive._numerics.mean_interval import HALF_WIDTH_95
from ogive.errors import InvalidInput

if TYPE_CHECKING:
    from collections.abc import Callable

    from ogive._typing import FloatArray, IntArray
    from ogive.export.artifact import FittedOn

BINS = 20
_FARTHEST = 36.0  # log-odds of calibrated scores are cut here, as the spline's are
_STEPS = 80  # halvings of an interval: to the last digit
#: A bin of the misfit test holds at least this many expected rows, new and old: χ² is near then.
MIN_ROWS_IN_A_BIN = 5
_PLACES = 100  # rates at which the ends of the interval are sought, each 0.8 times the last
_LOWEST = 1e-9  # the interval is sought between this and 1 minus this


class CalibrationScores(NamedTuple):
    """Calibrated scores of the calibration set, counted in bins of their log-odds.

    edges : (bins − 1,) log-odds; a bin holds what is above the edge before it, up to its own
    class_0, class_1 : (bins,) rows of each class
    variance : (bins,) sums of q (1 − q)
    """

    edges: FloatArray
    class_0: FloatArray
    class_1: FloatArray
    variance: FloatArray


@dataclass(frozen=True, slots=True)
class BaseRate:
    """An estimated base rate.

    Attributes
    ----------
    base_rate : float, or (K,) list
    low, high : float or None
        The 95 % interval of two classes.
    misfit_pvalue : float or None
        Of the hypothesis that a change of the base rate explains the new scores; None of three
        classes or more, and where the calibrator does not say how the scores of its own rows were
        distributed.
    """

    base_rate: Any
    low: float | None
    high: float | None
    misfit_pvalue: float | None

    @property
    def log_odds_variance(self) -> float:
        """The variance of the log-odds of a single rate, by the longer side that is finite."""
        sides = np.abs(np.diff(logit(np.array([self.low, self.base_rate, self.high]))))
        half = float(sides.max(initial=0.0, where=np.isfinite(sides))) or _FARTHEST
        return (half / HALF_WIDTH_95) ** 2


def log_odds_of(q: FloatArray) -> FloatArray:
    """Return log-odds of calibrated scores, cut where float64 has no more."""
    eta: FloatArray = np.clip(logit(q), -_FARTHEST, _FARTHEST)
    return eta


def calibration_scores(
    q: FloatArray, count: FloatArray, hits: FloatArray
) -> dict[str, list[float]] | None:
    """Return calibrated scores counted in bins, as plain lists; None for a single class.

    Both classes together weigh one half each, so that the bins divide the rarer one too.
    """
    misses = count - hits
    if not (hits.sum() > 0 and misses.sum() > 0):
        return None
    eta = log_odds_of(q)
    order = np.argsort(eta, kind="stable")
    eta = eta[order]
    both = np.cumsum(hits[order] / hits.sum() + misses[order] / misses.sum()) / 2.0
    cuts = np.searchsorted(both, np.arange(1, BINS) / BINS)
    edges = np.unique(eta[cuts[cuts < eta.size]])
    edges = edges[edges < eta[-1]]
    found = CalibrationScores(
        edges,
        *(_in_bins(eta, edges, x[order]) for x in (misses, hits, count * q * (1.0 - q))),
    )
    return {name: value.tolist() for name, value in found._asdict().items()}


def _in_bins(eta: FloatArray, edges: FloatArray, weight: FloatArray) -> FloatArray:
    """Add up weights in bins of log-odds."""
    bins = np.bincount(np.searchsorted(edges, eta), weight, minlength=edges.size + 1)
    return bins.astype(np.float64)


def scores_in(info: FittedOn) -> CalibrationScores | None:
    """Return the binned scores that an artifact carries."""
    if info.scores is None:
        return None
    return CalibrationScores(**{k: np.array(v, dtype=np.float64) for k, v in info.scores.items()})


def estimate_base_rate(
    q: FloatArray,
    count: FloatArray,
    trained_at: float,
    known: CalibrationScores | None = None,
) -> BaseRate:
    """Estimate the base rate of new rows.

    Parameters
    ----------
    q, count : (m,) arrays
        Scores calibrated at the base rate `trained_at`, and how many rows have each.
    trained_at : float
    known : CalibrationScores, optional
        Without it the interval has no uncertainty of the calibrator, and there is no misfit test.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> q = rng.beta(1, 1, 4000)                 # calibrated at 0.5
    >>> y = rng.random(4000) < q
    >>> new = np.concatenate([q[y][:200], q[~y][:1800]])
    >>> found = estimate_base_rate(new, np.ones(2000), 0.5)
    >>> bool(found.low < 0.1 < found.high)
    True
    """
    if q.size == 0 or not count.sum() > 0:
        msg = "the new data has no rows: give a log with scores."
        raise InvalidInput(msg)
    eta = log_odds_of(q)
    ratios = expit(eta) / trained_at, expit(-eta) / (1.0 - trained_at)
    bins = None
    if known is not None:
        n = float((known.class_0 + known.class_1).sum())
        bins = Bins(np.searchsorted(known.edges, eta), known.variance, n)
    new = Mixture(*ratios, count, trained_at, bins)
    rate = _root(new.total, 0.0, 1.0)
    low, high = new.interval(rate)
    found = BaseRate(rate, low, high, None)
    if known is None:
        return found
    return replace(found, misfit_pvalue=_misfit(q, count, known, rate, low, high))


def _end(deviations: Callable[[float], float], rate: float) -> float:
    """Return the nearest rate below whose deviation is beyond the level; 0 if there is none."""
    above = rate
    for below in np.geomspace(rate, _LOWEST, _PLACES)[1:].tolist() if rate > _LOWEST else []:
        if deviations(below) > HALF_WIDTH_95:
            return _root(lambda p: deviations(p) - HALF_WIDTH_95, below, above)
        above = below
    return 0.0


def _root(falling: Callable[[float], float], low: float, high: float) -> float:
    """Return where a falling function crosses 0, or the end nearest to it."""
    if falling(low) <= 0.0:
        return low
    if falling(high) >= 0.0:
        return high
    for _ in range(_STEPS):
        middle = (low + high) / 2.0
        low, high = (middle, high) if falling(middle) > 0.0 else (low, middle)
    return (low + high) / 2.0


class Bins(NamedTuple):
    """Bins of new rows; sums of q (1 − q) over the calibration rows in each; their number."""

    of_row: IntArray
    variance: FloatArray
    n: float


@dataclass(frozen=True, slots=True)
class Mixture:
    """New rows as a mixture of both classes: the score function, and its variance.

    a, c : (m,) densities of class 1 and of class 0, over that of the calibration rows
    count : (m,) rows
    rate : the share of class 1 in the calibration rows
    bins : None without the uncertainty of the calibrator
    """

    a: FloatArray
    c: FloatArray
    count: FloatArray
    rate: float
    bins: Bins | None

    def interval(self, rate: float) -> tuple[float, float]:
        """Return the ends of the 95 % interval around the estimate."""
        low = _end(lambda p: self.deviations(p, rate), rate)
        return low, 1.0 - _end(lambda p: -self.deviations(1.0 - p, rate), 1.0 - rate)

    def _mixture(self, p: float) -> FloatArray:
        return p * self.a + (1.0 - p) * self.c

    def total(self, p: float) -> float:
        """Return U at a base rate."""
        return float(self.count @ ((self.a - self.c) / self._mixture(p)))

    def deviations(self, p: float, estimate: float) -> float:
        """Return U in standard deviations, those of rows with the base rate p."""
        mixture = self._mixture(p)
        r = (self.a - self.c) / mixture
        total = float(self.count @ r) - self.total(estimate)
        rows = self.count * mixture / self._mixture(estimate)
        variance = float(rows @ r**2) + self._of_calibrator(mixture, rows)
        return total / float(np.sqrt(max(variance, 1e-300)))

    def _of_calibrator(self, mixture: FloatArray, rows: FloatArray) -> float:
        if self.bins is None:
            return 0.0
        slope = rows * self.a * self.c / mixture**2
        H = np.bincount(self.bins.of_row, slope, minlength=self.bins.variance.size)
        used = self.bins.variance > 0.0
        free = float((H[used] ** 2 / self.bins.variance[used]).sum())
        known = float(H.sum()) ** 2 / (self.bins.n * self.rate * (1.0 - self.rate))
        return max(free - known, 0.0)


def _misfit(  # noqa: PLR0917 - internal
    q: FloatArray,
    count: FloatArray,
    known: CalibrationScores,
    estimate: float,
    low: float,
    high: float,
) -> float | None:
    """Return the p-value of "the base rate explains the new scores"; None with too few bins."""
    from scipy.stats import chi2  # noqa: PLC0415 - slow to load

    m = _in_bins(log_odds_of(q), known.edges, count)
    tables = _joined_bins(m, known.class_0, known.class_1)
    if tables.shape[1] < 3:  # noqa: PLR2004 - no degree of freedom is left
        return None
    n = tables.sum(axis=1)
    share, f0, f1 = (tables + 0.5) / (n + 0.5 * tables.shape[1])[:, None]
    rate = float(np.clip((share - f0) @ (f1 - f0) / ((f1 - f0) @ (f1 - f0)), 0.0, 1.0))
    for _ in range(5):  # the covariance depends on the rate
        mean = f0 + rate * (f1 - f0)
        covariance = multinomial(mean) / n[0]
        covariance += (1 - rate) ** 2 * multinomial(f0) / n[1] + rate**2 * multinomial(f1) / n[2]
        inverse = np.linalg.inv(covariance[1:, 1:])
        along, gap = (f1 - f0)[1:], (share - f0)[1:]
        rate = float(np.clip(along @ inverse @ gap / (along @ inverse @ along), 0.0, 1.0))
    left = gap - rate * along
    shape = float(chi2.sf(left @ inverse @ left, tables.shape[1] - 2))
    off = rate - estimate
    spread = (high - estimate if off > 0.0 else estimate - low) / HALF_WIDTH_95
    same = float(chi2.sf(off**2 / max(1.0 / (along @ inverse @ along), spread**2), 1))
    return min(2.0 * min(shape, same), 1.0)


def _joined_bins(*rows: FloatArray) -> FloatArray:
    """Join neighbouring bins until each has enough rows of the sum of old and of new ones."""
    old = rows[1] + rows[2]
    expected = old * (rows[0].sum() / old.sum())
    parts: list[FloatArray] = [np.zeros(3)]
    sizes = [0.0]
    for j in range(old.size):
        if sizes[-1] >= MIN_ROWS_IN_A_BIN:
            parts.append(np.zeros(3))
            sizes.append(0.0)
        parts[-1] = parts[-1] + np.array([row[j] for row in rows])
        sizes[-1] += min(old[j], max(expected[j], rows[0][j]))
    if sizes[-1] < MIN_ROWS_IN_A_BIN and len(parts) > 1:
        last = parts.pop()
        parts[-1] = parts[-1] + last
    return np.array(parts).T
