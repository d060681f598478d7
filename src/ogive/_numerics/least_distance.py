r"""Least squares under linear inequalities, by non-negative least squares.

Minimise |y| subject to G x >= g, where x = x* + R y: the point nearest to x* in the norm that R
carries. With A = G R and b = g − G x* this is the least-distance problem of Lawson and Hanson
(1974, chapter 23), A y >= b. Solve u >= 0 minimising |E u − f|, where E = [A'; b'] and
f = (0, …, 0, 1); with r = E u − f the solution is y = −r_1..n / r_(n+1).

For the norm :math:`(x - x^*)^\top H (x - x^*)`, H = L L', take R = L'^-1; for the norm of the
inverse of a covariance C = F F', take R = F.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from ogive._typing import FloatArray


LEAST_SQUARED_DISTANCE = 1e-150  # the squares of smaller distances are 0 in float64


def constrained(
    hessian: FloatArray, optimum: FloatArray, G: FloatArray, g: FloatArray
) -> FloatArray:
    """Return the point nearest to `optimum` in the norm of `hessian` (n, n) with G x >= g."""
    from scipy.linalg import solve_triangular  # noqa: PLC0415 - heavy, and rarely needed

    if (G @ optimum >= g).all():
        return optimum
    L = np.linalg.cholesky(hessian)
    return nearest(solve_triangular(L, np.eye(len(L)), lower=True).T, optimum, G, g)


def nearest(root: FloatArray, optimum: FloatArray, G: FloatArray, g: FloatArray) -> FloatArray:
    """Return optimum + root @ y with the smallest |y| for which G x >= g.

    If `optimum` satisfies the inequalities, it is returned.
    """
    from scipy.optimize import nnls  # noqa: PLC0415 - heavy, and rarely needed

    b = g - G @ optimum
    if (b <= 0).all():
        return optimum
    A = G @ root
    scale = np.linalg.norm(A, axis=1)
    keep = scale > 1e-12 * scale.max()  # the same coefficient twice: 0 >= 0, up to rounding
    A, b = A[keep] / scale[keep, None], b[keep] / scale[keep]
    far = float(b.max(initial=0.0))  # the unit of y: then r_(n+1) does not get lost
    if far < LEAST_SQUARED_DISTANCE:  # violated by rounding only
        return optimum
    E = np.vstack([A.T, b / far])
    f = np.zeros(E.shape[0])
    f[-1] = 1.0
    u, _ = nnls(E, f, maxiter=50 * sum(E.shape) + 300)
    r = E @ u - f
    solution: FloatArray = optimum - root @ (r[:-1] * (far / r[-1]))
    return solution
