r"""What rows of probabilities q show once their outcomes are known: means, and their intervals.

If the q are right, the outcomes are independent with the probabilities q. With rows of weight w and
the rows that predict outcome 1:

- accuracy: the mean of q where 1 is predicted and of 1 − q elsewhere;
- precision: the mean of q over the rows that predict 1;
- AUC: the weight :math:`q_i (1 - q_j)` of all pairs that are in order, over that of all pairs
  :math:`i \ne j`; equal scores count half.

**Intervals** hold what these rows will show in 95 of 100 cases. The variances of sums are
:math:`\sum w^2 q (1 - q)`; that of the AUC follows from its derivative in each outcome, and where
few outcomes of one kind are expected, outcomes are drawn with the probabilities q and the interval
is that of the AUC of the draws.
"""

from __future__ import annotations

from math import log, nan, sqrt
from typing import TYPE_CHECKING

import numpy as np

from ogive._numerics.logistic import expit, logit
from ogive._numerics.mean_interval import HALF_WIDTH_95
from ogive._numerics.sum_interval import by_rarity, gamma_ends
from ogive.metrics.line import HIGH, LOW, Estimate

if TYPE_CHECKING:
    from ogive._typing import BoolArray, FloatArray
    from ogive.studies.unlabelled import Unlabelled

#: With fewer outcomes of one kind the AUC is far from normal, and outcomes are drawn so often.
OUTCOMES_FOR_NORMAL_AUC, DRAWS_OF_OUTCOMES = 100, 2000
_NUMBERS_AT_ONCE = 1 << 21  # of a table of draws: a few MB
_TINY = float(np.finfo(np.float64).tiny)  # less is 0: a division by it would not be finite


class Ranked:
    """Rows in the order of their scores, equal ones grouped."""

    def __init__(
        self, score: FloatArray, count: FloatArray, square: FloatArray, yes: BoolArray
    ) -> None:
        self.count, self.square, self.yes = count, square, yes
        _, self.group = np.unique(score, return_inverse=True)

    def values(self, q: FloatArray) -> tuple[float, float, float]:
        """Return accuracy, precision and AUC, if the outcomes have the probabilities q."""
        count, yes = self.count, self.yes
        accuracy = float(count @ np.where(yes, q, 1.0 - q) / count.sum())
        flagged = float(count[yes].sum())
        precision = float(count[yes] @ q[yes]) / flagged if flagged else nan
        in_order, pairs = self._pairs(q)
        # Two rounded sums: their ratio may leave [0, 1] by a digit.
        auc = min(max(in_order / pairs, 0.0), 1.0) if pairs > _TINY else nan
        return accuracy, precision, auc

    def _sums(self, q: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the expected weight of outcomes 1 and 0 at each score."""
        ones, zeros = (
            np.bincount(self.group, self.count * part).astype(np.float64) for part in (q, 1.0 - q)
        )
        return ones, zeros

    def _pairs(self, q: FloatArray) -> tuple[float, float]:
        """Return the expected weight of pairs of 1 and 0 in order, and of all such pairs."""
        ones, zeros = self._sums(q)
        itself = float(self.square @ (q * (1.0 - q)))  # a row is no pair with itself
        below = np.cumsum(zeros) - zeros
        in_order = float(ones @ below) + 0.5 * (float(ones @ zeros) - itself)
        return in_order, float(ones.sum() * zeros.sum()) - itself

    def auc_variance(self, q: FloatArray, noise: FloatArray) -> float:
        """Return the variance of the AUC over the outcomes, from its derivative in each of them."""
        ones, zeros = self._sums(q)
        in_order, pairs = self._pairs(q)
        below = np.cumsum(zeros) - 0.5 * zeros
        above = ones.sum() - np.cumsum(ones) + 0.5 * ones
        slope = below - above - in_order / pairs * (zeros.sum() - ones.sum())
        # The square of few pairs may be 0 in floats: it is divided by twice.
        return float((noise / pairs) @ slope[self.group] ** 2) / pairs


def share_interval(mean: float, variance: float, n: float, row: float) -> Estimate:
    """Return the interval of a share of the weight n, from gamma distributions of both sums.

    Half of what a row weighs is added on both sides, since a number of rows is whole.
    """
    sums = (gamma_ends(part * n, variance * n * n) for part in (mean, 1.0 - mean))
    low, high = by_rarity(mean, n, *sums)
    return Estimate(mean, max((low - 0.5 * row) / n, 0.0), min((high + 0.5 * row) / n, 1.0))


def auc_interval(value: float, variance: float) -> Estimate:
    """Return a normal interval on the scale of log-odds, which keeps it inside (0, 1)."""
    if not 0.0 < value < 1.0:
        return Estimate(value, value, value)
    half = HALF_WIDTH_95 * sqrt(variance) / (value * (1.0 - value))
    low, high = expit(log(value / (1.0 - value)) + half * np.array([-1.0, 1.0])).tolist()
    return Estimate(value, low, high)


def auc_of_drawn_outcomes(
    value: float, rows: Unlabelled, q: FloatArray, between: float, rng: np.random.Generator
) -> Estimate:
    """Return the AUC with the interval of outcomes that are drawn with the probabilities q.

    A row of weight w and squared weight v stands for w² / v outcomes of the weight v / w. The
    variance `between` of the calibrator is added on the scale of log-odds.
    """
    some = rows.weight > 0.0
    _, group = np.unique(q[some], return_inverse=True)
    order = np.argsort(group, kind="stable")
    q, weight, square = (x[some][order] for x in (q, rows.weight, rows.square))
    starts = np.flatnonzero(np.diff(group[order], prepend=-1))
    unit, times = square / weight, np.maximum(np.round(weight**2 / square), 1.0)
    found = []
    for at in np.array_split(
        np.arange(DRAWS_OF_OUTCOMES), 1 + q.size * DRAWS_OF_OUTCOMES // _NUMBERS_AT_ONCE
    ):
        hits = rng.binomial(times.astype(np.int64), q, (at.size, q.size))
        ones, zeros = (np.add.reduceat(unit * x, starts, axis=1) for x in (hits, times - hits))
        below = np.cumsum(zeros, axis=1) - 0.5 * zeros
        pairs = ones.sum(axis=1) * zeros.sum(axis=1)
        known = pairs > _TINY
        found.append((ones * below).sum(axis=1)[known] / pairs[known])
    auc = np.clip(np.concatenate(found), 0.0, 1.0)
    if not auc.size:
        return Estimate(value, 0.0, 1.0)  # no draw has both outcomes
    if between > 0.0 and 0.0 < value < 1.0:
        spread = sqrt(between) / (value * (1.0 - value))
        auc = expit(logit(auc) + spread * rng.standard_normal(auc.size))
    low, high = np.quantile(auc, (LOW, HIGH))
    return Estimate(value, min(float(low), value), max(float(high), value))
