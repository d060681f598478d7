r"""Least squares under linear inequalities, by non-negative least squares.

Minimise :math:`(x - x^*)^\top H (x - x^*)` subject to G x >= g. With H = L L', y = L'(x − x*)
this is the least-distance problem of Lawson and Hanson (1974, chapter 23): the smallest |y| with
A y >= b, A = G L'^-1, b = g − G x*. Solve u >= 0 minimising |E u − f|, where E = [A'; b'] and
f = (0, …, 0, 1); with r = E u − f the solution is y = −r_1..n / r_(n+1).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from ogive._typing import FloatArray


def constrained(
    hessian: FloatArray, optimum: FloatArray, G: FloatArray, g: FloatArray
) -> FloatArray:
    """Return the point nearest to `optimum` in the norm of `hessian` (n, n) with G x >= g."""
    from scipy.linalg import solve_triangular  # noqa: PLC0415 - heavy, and rarely needed
    from scipy.optimize import nnls  # noqa: PLC0415

    b = g - G @ optimum
    if (b <= 0).all():
        return optimum
    L = np.linalg.cholesky(hessian)
    A = solve_triangular(L, G.T, lower=True).T
    scale = np.linalg.norm(A, axis=1)
    keep = scale > 1e-12 * scale.max()  # the same coefficient twice: 0 >= 0, up to rounding
    E = np.vstack([A[keep].T, b[keep]]) / scale[keep]
    f = np.zeros(E.shape[0])
    f[-1] = 1.0
    u, _ = nnls(E, f, maxiter=30 * E.shape[0] + 300)
    r = E @ u - f
    solution: FloatArray = optimum + solve_triangular(L.T, -r[:-1] / r[-1], lower=False)
    return solution
