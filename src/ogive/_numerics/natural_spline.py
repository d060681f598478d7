r"""Natural cubic splines, given by their values at knots: basis, penalty, slopes, pieces.

A natural spline f on knots :math:`\kappa_1 < \dots < \kappa_K` goes on straight beyond the ends.
With :math:`M` its second derivatives at the knots (`cubic.second_derivatives`), :math:`w` the
width of a piece and :math:`y \in [0, 1]` the place in it,

.. math:: f = (1 - y) v_j + y v_{j+1}
          + \frac{w^2}{6} \bigl( ((1-y)^3 - (1-y)) M_j + (y^3 - y) M_{j+1} \bigr) ,

linear in the values v. Outside, y leaves [0, 1] in the straight part only, and the cubic part
goes on along its tangent.
"""

from __future__ import annotations

from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ogive._numerics.cubic import second_derivatives

if TYPE_CHECKING:
    from ogive._typing import FloatArray, IntArray


class Pieces(NamedTuple):
    """K + 1 polynomials, of a spline cubics, in x − start: below, between and above the knots."""

    start: FloatArray  # (K + 1,)
    powers: FloatArray  # (degree + 1, K + 1), the constant first


@lru_cache(maxsize=4)
def _second(knots: bytes) -> FloatArray:
    """Return second derivatives of natural splines, once for a fit and the map it makes."""
    matrix = second_derivatives(np.frombuffer(knots), "natural")
    matrix.setflags(write=False)
    return matrix


class NaturalSpline:
    """The natural cubic splines on given knots, (K,) strictly rising, K >= 3."""

    def __init__(self, knots: FloatArray) -> None:
        self.knots = knots
        self.width = np.diff(knots)

    @cached_property
    def second(self) -> FloatArray:
        """The matrix (K, K) from values to second derivatives, both at the knots."""
        return _second(self.knots.tobytes())

    def basis(self, x: FloatArray) -> FloatArray:
        """Return the matrix (m, K) from values at the knots to values at x, (m,)."""
        j, y, at_left, at_right = self._places(x)
        matrix: FloatArray = at_left[:, None] * self.second[j]
        matrix += at_right[:, None] * self.second[j + 1]
        rows = np.arange(x.size)
        matrix[rows, j] += 1.0 - y
        matrix[rows, j + 1] += y
        return matrix

    def basis_sum(self, x: FloatArray, weight: FloatArray) -> FloatArray:
        """Return weight @ basis(x), (K,), without the matrix."""
        j, y, at_left, at_right = self._places(x)
        size = self.knots.size
        value, bend = (
            np.bincount(j, weight * left, size) + np.bincount(j + 1, weight * right, size)
            for left, right in ((1.0 - y, y), (at_left, at_right))
        )
        result: FloatArray = value + bend @ self.second
        return result

    def _places(self, x: FloatArray) -> tuple[IntArray, FloatArray, FloatArray, FloatArray]:
        """Return the pieces of x, the places y in them, and what the bends at their ends count."""
        j = np.searchsorted(self.knots[1:-1], x, side="right")  # the ends hold what lies outside
        w = self.width[j]
        y = (x - self.knots[j]) / w
        below, above = np.minimum(y, 0.0), np.maximum(y - 1.0, 0.0)  # how far outside
        inside = y - below - above
        rest = 1.0 - inside
        scale = w * w / 6  # products, not powers: those take many times as long
        at_left = scale * (rest * rest * rest - rest - 2 * below + above)
        at_right = scale * (inside * inside * inside - inside - below + 2 * above)
        return j, y, at_left, at_right

    def penalty(self) -> FloatArray:
        r"""Return P (K, K) with :math:`v'Pv = \sum_j w_j \int_j f''^2`.

        f'' is linear on a piece, so the integral is w (M_j² + M_j M_{j+1} + M_{j+1}²) / 3. The
        factor w_j measures bends against the local distance of the knots: where knots are
        close the function may turn more quickly.
        """
        c = self.width**2
        left = np.arange(c.size)
        mass = np.zeros((c.size + 1, c.size + 1))
        mass[left, left] += c / 3
        mass[left + 1, left + 1] += c / 3
        mass[left, left + 1] += c / 6
        mass[left + 1, left] += c / 6
        result: FloatArray = self.second.T @ mass @ self.second
        return result

    def slopes(self) -> FloatArray:
        """Return the matrix (4 K − 3, K) from values to bounds of the derivative.

        The rows are Bernstein coefficients of the derivative, a parabola on each piece: if all
        are >= c, so is the derivative everywhere, also outside. Each piece is halved once,
        because the coefficients of the halves are closer to the derivative itself.
        """
        w = self.width[:, None]
        value = np.eye(self.knots.size)
        chord = (value[1:] - value[:-1]) / w
        left, right = self.second[:-1], self.second[1:]
        first = chord - w * (2 * left + right) / 6
        last = chord + w * (left + 2 * right) / 6
        middle = 3 * chord - first - last
        quarter, three = (first + middle) / 2, (middle + last) / 2
        return np.vstack([first, last[-1:], quarter, three, (quarter + three) / 2])

    def pieces(self, values: FloatArray) -> Pieces:
        """Return the spline through (knots, values) as cubics; of (K, m) values, m at once."""
        w = self.width.reshape(-1, *(1,) * (values.ndim - 1))
        bend = self.second @ values
        chord = np.diff(values, axis=0) / w
        slope = chord - w * (2 * bend[:-1] + bend[1:]) / 6
        last = chord[-1:] + w[-1:] * (bend[-2:-1] + 2 * bend[-1:]) / 6
        none = np.zeros_like(values[:1])
        powers = [
            np.concatenate([values[:1], values]),
            np.concatenate([slope[:1], slope, last]),
            np.concatenate([none, bend[:-1] / 2, none]),
            np.concatenate([none, np.diff(bend, axis=0) / (6 * w), none]),
        ]
        return Pieces(np.concatenate([self.knots[:1], self.knots]), np.stack(powers))


_TABLE_CELLS = 2048  # of the table that finds pieces: 16 KB, and rarely two knots in one cell


_FIRST_CELL, _LAST_CELL = np.array(0.0), np.array(_TABLE_CELLS + 1.0)
_MIN_BREAKS_FOR_OUTER = 4  # fewer leave no cells between the outer ones


class Evaluator:
    """A spline's pieces, made to be evaluated at many unsorted places.

    A table over equal cells gives the piece at the left end of a cell; what remains is one
    comparison for each further break in the fullest cell. The first and the last break, which may
    be far away, are outside the table and found by the comparison. A place within rounding of a
    break may be given to either side: the spline is the same there.
    """

    def __init__(self, breaks: FloatArray, pieces: Pieces) -> None:
        """Prepare pieces; breaks : (K,) rising, where piece 0, …, K − 1 ends."""
        self.pieces = pieces
        outer = int(breaks.size >= _MIN_BREAKS_FOR_OUTER)
        inner = breaks[outer : breaks.size - outer]
        # As arrays: see `ogive._numerics.logistic.ONE`.
        self.per_unit = np.array(_TABLE_CELLS / (inner[-1] - inner[0]))
        self.offset = np.array(1.0 - inner[0] * self.per_unit)
        edges = np.linspace(inner[0], inner[-1], _TABLE_CELLS + 1)
        passed = np.searchsorted(edges, inner, side="right")  # edges up to and with each break
        count = np.bincount(passed)  # breaks in each cell; the last one lies beyond the last edge
        at_edge = count[:-1].cumsum()  # breaks below each edge
        # cell 0 lies below the first break, cells 1.. between the breaks, the last one above
        self.table = np.concatenate([[0], at_edge[:-1] + outer, [inner.size + outer]])
        self.table[1] = 1 + outer
        self.most = int(count[1:-1].max())
        self.upper = np.append(breaks, np.inf)  # where piece j ends
        self.highest, *self.lower = pieces.powers[::-1]

    def __call__(self, x: FloatArray) -> FloatArray:
        """Return the spline at x: finite, and few enough to fit the cache."""
        scratch = x * self.per_unit
        scratch += self.offset
        scratch.clip(_FIRST_CELL, _LAST_CELL, out=scratch)  # the function takes twice as long
        piece = self.table.take(scratch.astype(np.intp))
        for _ in range(self.most):
            self.upper.take(piece, out=scratch, mode="clip")
            piece += x > scratch
        u = x - self.pieces.start.take(piece, out=scratch, mode="clip")
        result: FloatArray = self.highest.take(piece)
        for power in self.lower:
            result *= u
            result += power.take(piece, out=scratch, mode="clip")
        return result
