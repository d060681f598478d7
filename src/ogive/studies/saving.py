r"""How much log loss perfect calibration would save, with an interval: for the gate.

With q the true probability of a row and p its score, it is the mean of KL(q || p). A smooth map of
the log-odds with d coefficients is fitted by maximum likelihood; twice the log-likelihood that it
gains, W, is close to chi-squared with d degrees of freedom and the noncentrality
:math:`\lambda = 2 N \cdot \text{saving}`. The interval holds all savings whose law does not put
W into its outer tails. Its value is :math:`(W - d) / 2N`: d is what fitting alone gains.

The law's variance is 2 d + 4 λ. Scores that are far too extreme let W vary more, by the ratio of
:math:`\sum q (1-q) \delta^2` to λ with δ the change of the log-odds; the interval is then wider by
the root of that ratio.
"""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.optimize import brentq
from scipy.stats import ncx2

from ogive._numerics.binomial import Likelihood, Trials
from ogive._numerics.logistic import expit, log_odds_of_tails
from ogive._numerics.mean_interval import LEVEL
from ogive.curve.coarse import coarse

if TYPE_CHECKING:
    from ogive._typing import FloatArray
    from ogive.curve import Curve

MIN_ROWS_FOR_COARSE_COPY = 20_000  # a copy with a few thousand rows gives the same map
DEGREE = 4  # of the polynomial in the share of rows; with the log-odds, six coefficients
LEAST_TAIL = 1e-7  # of a score: one that is certain and wrong would be all that is saved
NEWTON_GAIN = 1e-7  # in log-likelihood, expected of a further step of Newton's: it stops
RIDGE = 1e-3  # in units of one row's information: outcomes that can be separated have no maximum


class Saving(NamedTuple):
    """Log loss per row: what could be saved, and its interval."""

    value: float
    low: float
    high: float


def saving(curve: Curve, level: float = LEVEL) -> Saving:
    """Return the log loss per row that perfect calibration would save.

    >>> import numpy as np
    >>> from ogive import Curve
    >>> scores = (np.arange(5000) + 0.5) / 5000
    >>> y = np.random.default_rng(0).random(5000) < scores**2
    >>> found = saving(Curve.from_scores(scores, y))
    >>> found.low < 0.0968 < found.high   # the mean of KL(scores² || scores)
    True
    """
    n, kish = curve.n, curve.independent_n / curve.n
    rows = coarse(curve) if n > MIN_ROWS_FOR_COARSE_COPY else curve
    tail = np.maximum(rows.tail, LEAST_TAIL)
    eta = log_odds_of_tails(rows.high, tail)
    basis = _basis(eta, rows.count)
    gained, ratio = _fit(basis, eta, rows.count * kish, rows.hits * kish)
    d, size = basis.shape[1], 2.0 * n * kish
    low, high = (_noncentrality(gained, d, tail) for tail in (1.0 - level / 2.0, level / 2.0))
    value, wider = gained - d, sqrt(max(ratio, 1.0)) - 1.0
    low, high = low - wider * max(value - low, 0.0), high + wider * max(high - value, 0.0)
    return Saving(max(value, 0.0) / size, max(low, 0.0) / size, max(high, 0.0) / size)


def _basis(eta: FloatArray, count: FloatArray) -> FloatArray:
    """Return orthonormal columns: polynomials of the share of rows, and the log-odds, (m, d)."""
    share = (np.cumsum(count) - 0.5 * count) / count.sum()
    columns = [*np.polynomial.legendre.legvander(2.0 * share - 1.0, DEGREE).T, eta]
    root = np.sqrt(count / count.sum())
    q, r = np.linalg.qr(np.stack(columns, 1) * root[:, None])
    size = np.abs(np.diag(r))
    kept: FloatArray = q[:, size > 1e-9 * size.max()] / root[:, None]
    return kept


def _fit(
    basis: FloatArray, eta: FloatArray, count: FloatArray, hits: FloatArray
) -> tuple[float, float]:
    """Return twice the log-likelihood gained, and how much more it varies than its law says."""
    like = Likelihood(Trials(eta, count, hits, eta), basis, hits @ basis)
    start = like.point(np.zeros(basis.shape[1]))
    fitted = like.ascend(start, np.full(start.coef.size, RIDGE), gain=NEWTON_GAIN)
    q = expit(like.logit(fitted.coef))
    gained = max(2.0 * (fitted.value - start.value), 0.0)
    varies = float(count @ (q * (1.0 - q) * (basis @ fitted.coef) ** 2))
    return gained, varies / gained if gained else 1.0


def _noncentrality(gained: float, d: int, share: float) -> float:
    """Return the λ whose law puts this share of its mass below what was gained; 0 if none does."""

    def excess(size: float) -> float:
        return float(ncx2.cdf(gained, d, max(size, 1e-12))) - share

    if excess(0.0) <= 0.0:
        return 0.0
    return float(brentq(excess, 0.0, gained + 10.0 * sqrt(gained + d) + 50.0))
