r"""The power that sharpens or flattens given weights to fit the labels best.

With log-weights :math:`l_{ik}` the classes of row i have the shares
:math:`e^{\tau l_{ik}} / \sum_j e^{\tau l_{ij}}`. The negative log-likelihood of the labels is
convex in τ; its slope is the sum of :math:`E_\tau[l_i] - l_{i y_i}` and its curvature that of the
variances, so Newton's method takes a few steps.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ogive._numerics.blocks import blocks
from ogive._numerics.increasing_root import increasing_root

if TYPE_CHECKING:
    from ogive._typing import FloatArray, IntArray

_LIMITS = (1e-3, 1e3)


def best_power(
    log_weights: FloatArray,
    taken: IntArray,
    labels: IntArray,
    weights: FloatArray | None = None,
) -> float:
    """Return the τ of the highest likelihood, with a weak prior: a normal of mean 1, variance 1.

    Parameters
    ----------
    log_weights : (n, K) array
        Finite, and not above 0. In float32 the sums over classes would depend on their order.
    taken : (n, R) array
        The classes of each row that are out of the question.
    labels : (n,) array
    weights : (n,) array, optional

    Examples
    --------
    >>> empty = np.zeros((0, 1), dtype=np.intp)
    >>> best_power(np.zeros((0, 3)), empty, empty[:, 0])
    1.0
    """
    own = log_weights[np.arange(labels.size), labels]

    def slope_of_penalised(tau: float) -> tuple[float, float]:
        slope, curvature = _derivatives(tau, log_weights, taken, own, weights)
        return slope + tau - 1.0, curvature + 1.0

    low, high = _LIMITS
    return increasing_root(slope_of_penalised, 1.0, low=low, high=high, tolerance=1e-4)


def _derivatives(
    tau: float,
    log_weights: FloatArray,
    taken: IntArray,
    own: FloatArray,
    weights: FloatArray | None,
) -> tuple[float, float]:
    """Return the slope and the curvature of the negative log-likelihood."""
    slope = curvature = 0.0
    for at in blocks(own.size, width=log_weights.shape[1]):
        logs = log_weights[at]
        share = np.exp(tau * logs)
        share[np.arange(logs.shape[0])[:, None], taken[at]] = 0.0
        total = share.sum(axis=1)
        mean = np.einsum("ij,ij->i", share, logs) / total
        share *= logs
        square = np.einsum("ij,ij->i", share, logs) / total
        w = 1.0 if weights is None else weights[at]
        slope += float(np.sum(w * (mean - own[at])))
        curvature += float(np.sum(w * (square - mean * mean)))
    return slope, curvature
