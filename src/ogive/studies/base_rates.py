r"""The shares of three classes or more in new data without labels, from calibrated vectors.

A calibrator fitted where the classes have the shares π₀ gives q. With :math:`a_k = q_k / \pi_{0k}`
the likelihood of shares π is :math:`\prod_i \sum_k \pi_k a_{ik}`, concave in π; its maximum is
where the EM algorithm of Saerens, Latinne and Decaestecker (2002) ends, found here by EM and Newton
steps.

There is no interval, and no test of whether other shares explain the new rows: see
``docs/base-rate.md``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ogive.errors import InvalidInput
from ogive.studies.base_rate import BaseRate

if TYPE_CHECKING:
    from ogive._typing import FloatArray

_STEPS = 500
_CONVERGED = 1e-12  # change of a share
_LEAST_SHARE = 1e-9  # shares below this count as 0


def estimate_base_rates(q: FloatArray, count: FloatArray, trained_at: FloatArray) -> BaseRate:
    """Estimate the shares of the classes in new rows.

    Parameters
    ----------
    q, count : (N, K) and (N,) arrays
        Vectors calibrated at the shares `trained_at`, (K,), and how many rows each counts for.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> q = rng.dirichlet([0.5, 0.5, 0.5], 6000)      # calibrated where all three are as frequent
    >>> y = (q.cumsum(axis=1) < rng.random((6000, 1))).sum(axis=1)
    >>> new = np.concatenate([q[y == 0][:1200], q[y == 1][:600], q[y == 2][:200]])
    >>> found = estimate_base_rates(new, np.ones(2000), np.full(3, 1 / 3)).base_rate
    >>> bool(np.abs(np.array(found) - [0.6, 0.3, 0.1]).max() < 0.05)
    True
    """
    if q.shape[0] == 0 or not count.sum() > 0:
        msg = "the new data has no rows: give a log with probabilities."
        raise InvalidInput(msg)
    return BaseRate(_most_likely(q / trained_at, count, trained_at).tolist(), None, None, None)


def _most_likely(a: FloatArray, count: FloatArray, start: FloatArray) -> FloatArray:
    """Return the shares of the largest likelihood."""
    rates, n = start.copy(), float(count.sum())
    for _ in range(_STEPS):
        D = a @ rates
        g = a.T @ (count / D)
        new = rates * g / n  # a step of EM, which never leaves the simplex
        better = _newton(a, count, D, g, rates)
        if better is not None and _likelihood(a, count, better) >= _likelihood(a, count, new):
            new = better
        change, rates = float(np.abs(new - rates).max()), new
        if change < _CONVERGED:
            break
    rates = np.where(rates < _LEAST_SHARE, 0.0, rates)
    result: FloatArray = rates / rates.sum()
    return result


def _likelihood(a: FloatArray, count: FloatArray, rates: FloatArray) -> float:
    return float(count @ np.log(a @ rates))


def _newton(
    a: FloatArray, count: FloatArray, D: FloatArray, g: FloatArray, rates: FloatArray
) -> FloatArray | None:
    """Return the shares after a Newton step along the simplex; None if it leaves it."""
    free = rates >= _LEAST_SHARE
    Z = _along(int(free.sum()))
    own = a[:, free]
    H = Z.T @ ((own * (count / D**2)[:, None]).T @ own) @ Z
    step = Z @ np.linalg.lstsq(H, Z.T @ g[free], rcond=None)[0]
    new = rates.copy()
    new[free] += step
    return new if (new >= 0.0).all() else None


def _along(K: int) -> FloatArray:
    """Return a basis of the changes of K shares whose sum is 0, (K, K − 1)."""
    return np.eye(K)[:, 1:] - np.eye(K)[:, :1]
