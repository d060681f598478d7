r"""Cubic splines, given by their values at knots: run-outs, least squares, slopes, chords.

Let :math:`\kappa_1 < \dots < \kappa_K` be the knots, :math:`v_k` the values there and
:math:`w_j = \kappa_{j+1} - \kappa_j`. A cubic spline is twice continuously differentiable; with
:math:`M_k` its second derivative at the knots, continuity of the first derivative reads

.. math:: \frac{w_{k-1}}{6} M_{k-1} + \frac{w_{k-1} + w_k}{3} M_k + \frac{w_k}{6} M_{k+1}
          = \frac{v_{k+1} - v_k}{w_k} - \frac{v_k - v_{k-1}}{w_{k-1}}

at the inner knots. Two more conditions, the *run-out*, settle the ends:

* natural: :math:`M_1 = M_K = 0`, straight beyond the ends;
* parabolic: :math:`M_1 = M_2`, :math:`M_K = M_{K-1}`: the end pieces are parabolas;
* cubic: M is linear over the first two and the last two pieces: each pair is one cubic. With
  three knots that leaves one cubic through three points, and we take the parabola.

So every piece is a linear function of the values v. On piece j, with y = (x − κ_j) / w_j in
[0, 1], the spline is :math:`\sum_a c_{ja} y^a`, a = 0..3, and :math:`c_{ja} = \sum_k C_{jak} v_k`.

**Least squares.** To fit a piecewise linear function h, minimise :math:`\int (v - h)^2`. The
normal equations need the Gram matrix of the basis, which is known in closed form, and the
moments :math:`\int y^a h\,dx` over each piece. Integrating by parts turns those into sums over
the *slopes* of h,

.. math:: \int y^a h\,dx = w \Bigl( \frac{h(\kappa_{j+1})}{a+1}
          - \frac{w}{(a+1)(a+2)} \sum_i h'_i \, \Delta_i y^{a+2} \Bigr),

where :math:`\Delta_i y^p` is the step of :math:`y^p` over the i-th straight part of h. One pass
over the data, five numbers per piece, and a K x K solve: no N x K matrix.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from ogive._typing import FloatArray, Runout

_POWERS = 5  # y^1 .. y^5 are needed: cubic pieces against a linear function, integrated twice
_KNOTS_WITHOUT_CUBIC_RUNOUT = 3  # a cubic through three points is not unique: take the parabola


@dataclass(frozen=True, eq=False)
class CubicSpline:
    """A cubic spline, by its values at the knots. Beyond the ends it goes on straight."""

    knots: FloatArray  # (K,) strictly rising
    values: FloatArray  # (K,)
    runout: Runout

    @cached_property
    def coefficients(self) -> FloatArray:
        """The pieces in powers of y = (x − κ_j) / w_j: (K − 1, 4)."""
        pieces: FloatArray = basis(self.knots, self.runout) @ self.values
        return pieces

    def __call__(self, x: FloatArray) -> FloatArray:
        """Return the spline at x."""
        c, y, width, beyond = self._locate(x)
        inside = c[0] + y * (c[1] + y * (c[2] + y * c[3]))
        slope = (c[1] + y * (2 * c[2] + y * 3 * c[3])) / width
        result: FloatArray = inside + beyond * slope
        return result

    def derivative(self, x: FloatArray) -> FloatArray:
        """Return the first derivative at x; constant beyond the ends."""
        c, y, width, _ = self._locate(x)
        result: FloatArray = (c[1] + y * (2 * c[2] + y * 3 * c[3])) / width
        return result

    def chord(self, a: FloatArray, b: FloatArray) -> FloatArray:
        """Return (v(b) − v(a)) / (b − a) for a < b within the knots.

        On one piece the difference is divided out by hand, so that nothing cancels however
        close a and b are.
        """
        piece = self._piece(a)
        width = np.diff(self.knots)[piece]
        c: FloatArray = self.coefficients[piece].T
        y, z = (a - self.knots[piece]) / width, (b - self.knots[piece]) / width
        same: FloatArray = (c[1] + c[2] * (y + z) + c[3] * (y * y + y * z + z * z)) / width
        across = b > self.knots[piece + 1]
        if across.any():
            same[across] = ((self(b) - self(a)) / (b - a))[across]
        return same

    def variation(self, x: FloatArray) -> FloatArray:
        """Return the total variation of the derivative from the first knot to x: ∫ |v''|."""
        c, y, width, _ = self._locate(x)
        upto = _absolute_integral(2 * c[2], 6 * c[3], y) / width
        whole = _absolute_integral(
            2 * self.coefficients[:, 2], 6 * self.coefficients[:, 3], np.ones(self.knots.size - 1)
        ) / np.diff(self.knots)
        before = np.concatenate([[0.0], np.cumsum(whole)])
        result: FloatArray = before[self._piece(x)] + upto
        return result

    def _piece(self, x: FloatArray) -> np.ndarray:
        return np.clip(np.searchsorted(self.knots, x, side="right") - 1, 0, self.knots.size - 2)

    def _locate(self, x: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Return coefficients (4, n), y within the piece, its width, and how far x is beyond."""
        piece = self._piece(x)
        width = np.diff(self.knots)[piece]
        within = np.clip(x, self.knots[0], self.knots[-1])
        return self.coefficients[piece].T, (within - self.knots[piece]) / width, width, x - within


def _absolute_integral(a: FloatArray, b: FloatArray, y: FloatArray) -> FloatArray:
    """Return the integral of |a + b t| over t in [0, y]."""
    end = a + b * y
    straight = np.abs(a + end) * y / 2  # no change of sign
    with np.errstate(divide="ignore", invalid="ignore"):
        crossing = (a * a + end * end) / (2 * np.abs(b))
    result: FloatArray = np.where(a * end < 0, crossing, straight)
    return result


def second_derivatives(knots: FloatArray, runout: Runout) -> FloatArray:
    """Return the K x K matrix that takes values at the knots to second derivatives there."""
    K = knots.size
    w = np.diff(knots)
    left, right = np.zeros((K, K)), np.zeros((K, K))
    k = np.arange(1, K - 1)
    left[k, k - 1], left[k, k], left[k, k + 1] = w[:-1] / 6, (w[:-1] + w[1:]) / 3, w[1:] / 6
    right[k, k - 1], right[k, k + 1] = 1 / w[:-1], 1 / w[1:]
    right[k, k] = -1 / w[:-1] - 1 / w[1:]
    left[0, 0] = left[-1, -1] = 1.0
    if runout == "parabolic" or (runout == "cubic" and K == _KNOTS_WITHOUT_CUBIC_RUNOUT):
        left[0, 1] = left[-1, -2] = -1.0
    elif runout == "cubic":
        left[0, 1:3] = -1 - w[0] / w[1], w[0] / w[1]
        left[-1, -3:-1] = w[-1] / w[-2], -1 - w[-1] / w[-2]
    return np.asarray(np.linalg.solve(left, right), dtype=np.float64)


def basis(knots: FloatArray, runout: Runout) -> FloatArray:
    """Return C of the module's docstring: (K − 1, 4, K), powers of y on each piece."""
    K = knots.size
    w = np.diff(knots)[:, None]
    value, second = np.eye(K), second_derivatives(knots, runout)
    start, end = second[:-1], second[1:]
    slope = value[1:] - value[:-1] - w * w * (2 * start + end) / 6
    return np.stack([value[:-1], slope, w * w * start / 2, w * w * (end - start) / 6], axis=1)


class SlopeSums:
    """Sums of slopes against the steps of powers, per piece; add rows in any order and number."""

    def __init__(self, knots: FloatArray) -> None:
        self.knots = knots
        self.sums = np.zeros((knots.size - 1, _POWERS))  # [j, p−1] = sum_i h'_i Δ_i y^p

    def add(self, edges: FloatArray, slopes: FloatArray) -> None:
        """Add m straight parts of h: between consecutive edges (m + 1) it has these slopes (m)."""
        knots = self.knots
        first = max(int(np.searchsorted(knots, edges[0], side="right")) - 1, 0)
        last = min(int(np.searchsorted(knots, edges[-1])), knots.size - 1)
        for j in range(first, last):
            i0 = max(int(np.searchsorted(edges, knots[j], side="right")) - 1, 0)
            i1 = min(int(np.searchsorted(edges, knots[j + 1])), edges.size - 1)
            y = (edges[i0 : i1 + 1] - knots[j]) / (knots[j + 1] - knots[j])
            y[0], y[-1] = max(y[0], 0.0), min(y[-1], 1.0)  # a part may straddle a knot
            power = y.copy()
            for p in range(_POWERS):
                # Not np.dot: BLAS would split it over threads, and the sum with it.
                self.sums[j, p] += np.einsum("i,i->", slopes[i0:i1], power[1:] - power[:-1])
                power *= y

    def moments(self) -> FloatArray:
        """Return the integrals of y^a h over each piece, a = 0..3: (K − 1, 4). h starts at 0."""
        w = np.diff(self.knots)[:, None]
        at_end = np.cumsum(w * self.sums[:, :1], axis=0)
        a = np.arange(4)
        result: FloatArray = w * (at_end / (a + 1) - w * self.sums[:, 1:] / ((a + 1) * (a + 2)))
        return result


def normal_equations(sums: SlopeSums, runout: Runout) -> tuple[FloatArray, FloatArray]:
    """Return the Gram matrix (K, K) and the right side (K,) of the least-squares fit."""
    C = basis(sums.knots, runout)
    w = np.diff(sums.knots)
    a = np.arange(4)
    hilbert = 1.0 / (a[:, None] + a[None, :] + 1)
    gram = np.einsum("jak,ab,jbl,j->kl", C, hilbert, C, w, optimize=True)
    right = np.einsum("jak,ja->k", C, sums.moments())
    return gram, right
