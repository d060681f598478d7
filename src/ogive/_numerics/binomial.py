r"""The binomial log-likelihood of grouped trials, and its mode under a normal prior.

Row g stands for :math:`n_g` trials with :math:`k_g` hits and log-odds :math:`l_g = \eta_g + x_g'c`:

.. math:: ll(c) = \sum_g k_g l_g - n_g \log(1 + e^{l_g}) ,

concave in c, and Newton's method with step halving climbs to its mode from anywhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ogive._numerics.logistic import log_add

if TYPE_CHECKING:
    from ogive._typing import FloatArray

GAIN = 0.01  # Newton stops when the expected gain in log-likelihood is below half of this
MAX_STEPS = 200  # fewer than ten are usual
MAX_HALVINGS = 60  # rows that are certain and wrong have no curvature: a first step of 1e9
RIDGE = 1e-13  # of the largest diagonal entry: Cholesky must not fail from rounding


@dataclass(frozen=True, slots=True)
class Trials:
    """Grouped trials, (m,) each; hits keep their own mean offset: sum of hits x offset is exact."""

    offset: FloatArray
    count: FloatArray
    hits: FloatArray
    offset_hit: FloatArray


class Point(NamedTuple):
    """Coefficients (d,), with the log-likelihood, its gradient and the information there."""

    coef: FloatArray
    value: float
    score: FloatArray
    info: FloatArray


class Likelihood:
    """The binomial log-likelihood of l = offset + X coef, up to a constant."""

    def __init__(self, trials: Trials, columns: FloatArray, hit: FloatArray) -> None:
        """Store the columns (m, d) at the trials, and their sum (d,) over the hits.

        The sum is the sufficient statistic: hits may have other offsets than their trials.
        """
        self.offset, self.count = trials.offset, trials.count
        self.columns = np.ascontiguousarray(columns.T)  # (d, m)
        self.hit = hit
        self.at_zero = float(trials.hits @ trials.offset_hit)

    def logit(self, coef: FloatArray) -> FloatArray:
        """Return l at the trials, (m,)."""
        result: FloatArray = self.offset + coef @ self.columns
        return result

    def value(self, coef: FloatArray) -> tuple[float, FloatArray]:
        """Return the log-likelihood, and log p at the trials."""
        logit = self.logit(coef)
        softplus = log_add(0.0, logit)
        lost = self.count @ softplus
        return self.at_zero + float(self.hit @ coef - lost), np.subtract(logit, softplus, out=logit)

    def values(self, coefs: FloatArray) -> FloatArray:
        """Return the log-likelihood of each row of coefficients (k, d)."""
        lost = log_add(0.0, coefs @ self.columns + self.offset) @ self.count
        result: FloatArray = self.at_zero + coefs @ self.hit - lost
        return result

    def point(self, coef: FloatArray) -> Point:
        """Return the likelihood and its derivatives at some coefficients."""
        return self._point(coef, *self.value(coef))

    def _point(self, coef: FloatArray, value: float, log_p: FloatArray) -> Point:
        p = np.exp(log_p)
        expected = self.count * p
        root = self.columns * np.sqrt(expected * (1 - p))
        info = root @ root.T
        diagonal = diagonal_of(info)
        diagonal += RIDGE * diagonal.max()
        return Point(coef, value, self.hit - self.columns @ expected, info)

    def ascend(self, at: Point, precision: FloatArray, gain: float = GAIN) -> Point:
        """Climb to the mode under a prior N(0, diag(1 / precision)) by Newton's method."""
        from scipy.linalg.lapack import dposv  # noqa: PLC0415 - heavy, and measures do without

        for _ in range(MAX_STEPS):
            gradient = at.score - precision * at.coef
            step = dposv(stiffened(at.info, precision), gradient)[1]
            if gradient @ step < gain:
                break
            new = self.move(at, step, precision)
            if new is at:
                break
            at = new
        return at

    def move(self, at: Point, step: FloatArray, precision: FloatArray) -> Point:
        """Take the step, or the largest half of it that raises the penalised likelihood.

        The point itself is returned where rounding leaves nothing to gain.
        """
        old = at.value - 0.5 * precision @ at.coef**2
        for _ in range(MAX_HALVINGS):
            coef = at.coef + step
            value, log_p = self.value(coef)
            if value - 0.5 * precision @ coef**2 > old:
                return self._point(coef, value, log_p)
            step = step / 2
        return at


def diagonal_of(A: FloatArray) -> FloatArray:
    """Return a view of the diagonal."""
    return A.reshape(-1)[:: len(A) + 1]


def stiffened(A: FloatArray, precision: FloatArray | float) -> FloatArray:
    """Return A + diag(precision)."""
    result = A.copy()
    diagonal = diagonal_of(result)
    diagonal += precision
    return result
