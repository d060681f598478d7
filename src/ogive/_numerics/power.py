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

if TYPE_CHECKING:
    from ogive._typing import FloatArray, IntArray

_LIMITS = (1e-3, 1e3)
_STEPS = 50


def best_power(
    log_weights: FloatArray, labels: IntArray, weights: FloatArray | None = None
) -> float:
    """Return the τ of the highest likelihood, with a weak prior: a normal of mean 1, variance 1.

    Parameters
    ----------
    log_weights : (n, K) array
        −inf for classes that are out of the question; the label is not one of them.
    labels : (n,) array
    weights : (n,) array, optional

    Examples
    --------
    >>> best_power(np.zeros((0, 3)), np.zeros(0, dtype=np.intp))
    1.0
    """
    tau = 1.0
    for _ in range(_STEPS):
        slope, curvature = _derivatives(tau, log_weights, labels, weights)
        step = (slope + tau - 1.0) / (curvature + 1.0)
        # At most halve or double: the curvature may vanish where a power is far too large.
        new = min(max(tau - step, tau / 2, _LIMITS[0]), 2 * tau, _LIMITS[1])
        done = abs(new - tau) < 1e-6 * tau
        tau = new
        if done:
            break
    return float(tau)


def _derivatives(
    tau: float, log_weights: FloatArray, labels: IntArray, weights: FloatArray | None
) -> tuple[float, float]:
    """Return the slope and the curvature of the negative log-likelihood."""
    slope = curvature = 0.0
    for at in blocks(labels.size, width=log_weights.shape[1]):
        block = log_weights[at]
        finite = np.where(block > -np.inf, block, 0.0)  # 0 * inf is no number
        share = np.exp(tau * (block - block.max(axis=1, keepdims=True)))
        share /= share.sum(axis=1, keepdims=True)
        mean = np.einsum("ij,ij->i", share, finite)
        square = np.einsum("ij,ij,ij->i", share, finite, finite)
        w = 1.0 if weights is None else weights[at]
        own = block[np.arange(mean.size), labels[at]]
        slope += float(np.sum(w * (mean - own)))
        curvature += float(np.sum(w * (square - mean * mean)))
    return slope, curvature
