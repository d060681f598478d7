r"""Minimising a softmax regression in coordinates that do not depend on the scale.

With :math:`H_k = L_k L_k^\top` the block of the Hessian that belongs to class k
(`softmax_regression`), the coordinates :math:`\varphi_k = L_k^\top \theta_k` make
these blocks unit matrices whatever the scale, the correlation or the penalty. L-BFGS needs a few
steps there, where it needs hundreds in the plain coordinates. With few parameters the whole
Hessian takes the place of its blocks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from ogive._numerics.softmax_regression import Objective
    from ogive._typing import FloatArray

_RIDGE = 1e-7  # of the mean curvature: bounds the step in a flat direction
_MEMORY = 20  # steps that L-BFGS stores
_MOST_STEPS = 500
_MOST_HALVINGS = 30
#: Twice the gain of a Newton step: below the first, the loss has no digits left to
#: show it, and steps are taken as long as they shrink; below the second, nothing is left to do.
_GAIN_BELOW_ROUNDING, _NO_GAIN_LEFT = 1e-13, 1e-32


def whitening(
    curvature: FloatArray, penalty: FloatArray
) -> tuple[Callable[[FloatArray], FloatArray], Callable[[FloatArray], FloatArray]]:
    """Return φ ↦ θ and the same for gradients, ∂θ ↦ ∂φ.

    Parameters
    ----------
    curvature : the Hessian, (K d, K d), its blocks, (K, d, d), or their diagonals, (K, d)
    penalty : (K, d)
    """
    if curvature.shape == (penalty.size, penalty.size):
        return _whole_whitening(curvature, penalty)
    if curvature.shape == penalty.shape:
        diagonal = curvature + 2.0 * penalty
        scale = 1.0 / np.sqrt(diagonal + _RIDGE * diagonal.mean())
        return (lambda phi: scale * phi), (lambda gradient: scale * gradient)
    d = penalty.shape[1]
    H = curvature.copy()
    diagonal = H[:, np.arange(d), np.arange(d)]
    ridge = _RIDGE * diagonal.mean(axis=1, keepdims=True) + np.finfo(np.float64).tiny
    H[:, np.arange(d), np.arange(d)] += 2.0 * penalty + np.maximum(ridge, _RIDGE * diagonal.mean())
    inverse = np.linalg.inv(np.linalg.cholesky(H))  # L⁻¹; θ = L⁻ᵀ φ, ∂φ = L⁻¹ ∂θ
    return (
        lambda phi: np.matmul(phi[:, None, :], inverse)[:, 0],
        lambda gradient: np.matmul(inverse, gradient[:, :, None])[:, :, 0],
    )


def _whole_whitening(
    curvature: FloatArray, penalty: FloatArray
) -> tuple[Callable[[FloatArray], FloatArray], Callable[[FloatArray], FloatArray]]:
    """Do the same with the whole Hessian."""
    H = curvature.copy()
    diagonal = np.arange(penalty.size)
    H[diagonal, diagonal] += 2.0 * penalty.ravel() + _RIDGE * H[diagonal, diagonal].mean()
    inverse = np.linalg.inv(np.linalg.cholesky(H))
    shape = penalty.shape
    return (
        lambda phi: (phi.ravel() @ inverse).reshape(shape),
        lambda gradient: (inverse @ gradient.ravel()).reshape(shape),
    )


def minimise(
    objective: Objective,
    start: FloatArray,
    curvature: FloatArray,
    penalty: FloatArray,
    *,
    tolerance: float = 1e-10,
) -> FloatArray:
    """Return the parameters (K, d) that minimise a softmax regression, by whitened L-BFGS.

    Where the loss has no minimum and only flattens out (a class that is never seen, rows
    that are separable), it stops once a step gains less than `tolerance`.
    """
    from scipy.optimize import minimize  # noqa: PLC0415 - heavy

    to_theta, to_phi = whitening(curvature, penalty)

    def whitened(phi: FloatArray) -> tuple[float, FloatArray]:
        loss, gradient = objective(start + to_theta(phi.reshape(start.shape)))
        return loss, to_phi(gradient).ravel()

    found = minimize(
        whitened,
        np.zeros(start.size),
        jac=True,
        method="L-BFGS-B",
        options={
            "ftol": tolerance,
            # In these coordinates half the squared gradient is about what is left to gain.
            "gtol": np.sqrt(tolerance / start.size),
            "maxiter": _MOST_STEPS,
            "maxcor": _MEMORY,
        },
    )
    return start + to_theta(found.x.reshape(start.shape))


def polished(
    objective: Objective,
    start: FloatArray,
    hessian: Callable[[FloatArray], FloatArray],
    penalty: FloatArray,
) -> FloatArray:
    """Return the minimum to the last digits, by Newton's method with the whole Hessian, (K d, K d).

    With separable rows the loss is almost flat far out, and L-BFGS stops too early.
    """
    theta, before = start, np.inf
    loss, gradient = objective(theta)
    for _ in range(_MOST_STEPS):
        H = hessian(theta) + np.diag(2.0 * penalty.ravel())
        step = np.linalg.solve(H, gradient.ravel()).reshape(theta.shape)
        gain = float((step * gradient).sum())
        unseen = abs(gain) < _GAIN_BELOW_ROUNDING
        if abs(gain) < _NO_GAIN_LEFT or (unseen and abs(gain) >= before):
            return theta
        for _ in range(_MOST_HALVINGS):
            new = objective(theta - step)
            if unseen or new[0] < loss:
                break
            step = step / 2.0
        else:
            return theta
        before = abs(gain)
        theta, (loss, gradient) = theta - step, new
    return theta
