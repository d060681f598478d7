r"""KDE-ECE: the expected calibration error with kernel densities in place of bins.

With :math:`\hat f` the density of all scores, :math:`\hat f_1` that of scores of outcome 1, and
:math:`\pi` the share of outcomes that are 1,

.. math:: \hat a(x) = \min(\pi \hat f_1(x) / \hat f(x), 1), \qquad
          \text{KDE-ECE} = \frac{\int_0^1 |x - \hat a(x)| \hat f(x) dx}{\int_0^1 \hat f(x) dx} .

Both densities use the triweight kernel :math:`\tfrac{35}{32} (1 - u^2)^3 / r`, u = (x − s) / r,
each score mirrored at the nearer end of [0, 1], and one bandwidth: the standard deviation of the
scores of outcome 1 times :math:`(2N)^{-1/5}`. The bandwidth is the standard deviation of the
kernel, as in KDEpy, which the authors' code calls: a triweight of reach r has the deviation r / 3,
so that r is three bandwidths. The integrals are trapezoids over the points in [0, 1] of a grid
of :math:`2^{14}` points on [−0.6, 1.6]; points where both densities are below 1e-6 count 0.

The kernel is a polynomial, so that a density at x is a combination of the power sums of the
scores within r of x: differences of running sums. Scores are taken relative to the centre of
their cell, which is about 2 r wide, so that the powers stay small. Up to 200,000 rows nothing is
binned; beyond, rows are first joined in 2^16 cells at their mean score, which moves the value by
less than 1e-6.

References
----------
Zhang, Kailkhura, Han (2020), Mix-n-Match: ensemble and compositional methods for uncertainty
calibration in deep learning, ICML.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from math import ceil, sqrt
from typing import TYPE_CHECKING, Literal

import numpy as np

from ogive._numerics.blas import one_blas_thread
from ogive.curve.curve import as_curve, check_curve

if TYPE_CHECKING:
    from ogive._typing import ArrayLike, ComplexArray, FloatArray, IntArray, WeightKind
    from ogive.curve import Curve
    from ogive.curve.keys import Run

_GRID = np.linspace(-0.6, 1.6, 2**14)
_INSIDE = _GRID[(_GRID >= 0.0) & (_GRID <= 1.0)]
_STEP = float(_GRID[1] - _GRID[0])
_POINTS_AT_ONCE = 2**15  # scores: seven running sums of both weights are 4 MB
_BLOCK = 768  # points of the grid at a time: their sums stay in the cache
_NEGLIGIBLE_DENSITY = 1e-6  # grid points where both densities are smaller count 0
_MIN_ROWS_FOR_CELLS = 200_000  # more rows than this are joined in cells, to save time
_CELLS = 2**16
_REACH = 3.0  # of the triweight kernel, in its standard deviations
_ROUNDING = 1e-12  # a standard deviation below this is rounding error


@dataclass(frozen=True, slots=True)
class KernelError:
    """The KDE-ECE and how it was found.

    Attributes
    ----------
    value : float
    bandwidth : float
        The kernel's standard deviation (`bw` of KDEpy), or 0 where there is none.
    method : {"kernel", "groups"}
        ``"groups"`` if the scores of outcome 1 have no spread (none, one, or all equal), or so
        little that the kernel reaches less than one step of the grid, which then misses scores:
        the value is the L1 gap over groups of equal scores, the mean of |outcomes − count · score|.
    """

    value: float
    bandwidth: float
    method: Literal["kernel", "groups"]


@one_blas_thread()
def kde_error(curve: Curve) -> KernelError:
    """Return the KDE-ECE with its bandwidth.

    >>> from ogive import Curve
    >>> kde_error(Curve.from_scores([0.7, 0.7, 0.2], [1, 0, 0])).method
    'groups'
    """
    rows = _rows(check_curve(curve))
    h = _bandwidth(curve, rows)
    if _REACH * h < _STEP:
        return KernelError(l1_gap(curve), 0.0, "groups")
    both, hits = _densities(rows, _REACH * h)
    share = curve.total_hits / curve.n
    seen = np.maximum(both, hits) > _NEGLIGIBLE_DENSITY
    x, f = _INSIDE[seen], both[seen]
    gap = np.zeros(_INSIDE.size)
    gap[seen] = np.abs(x - np.minimum(share * hits[seen] / f, 1.0)) * f
    value = float(np.trapezoid(gap, _INSIDE) / np.trapezoid(both, _INSIDE))
    return KernelError(value, h, "kernel")


def kde_ece(
    curve: Curve | ArrayLike,
    outcomes: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
    weight_kind: WeightKind = "repetition",
) -> float:
    """Return the KDE-ECE; see `kde_error` for what it falls back to.

    >>> import numpy as np
    >>> from ogive import Curve
    >>> scores = (np.arange(1000) + 0.5) / 1000
    >>> round(kde_ece(Curve.from_scores(scores, scores > 0.5)), 3)
    0.224
    """
    curve = as_curve(curve, outcomes, sample_weight=sample_weight, weight_kind=weight_kind)
    return kde_error(curve).value


def l1_gap(curve: Curve) -> float:
    """Return the mean over rows of the |gap| of their group of equal scores.

    It is the ECE with one bin for each score: right for scores of few values, and nothing but
    noise for continuous ones.

    >>> from ogive import Curve
    >>> round(l1_gap(Curve.from_scores([0.7, 0.7, 0.2], [1, 0, 0])), 3)
    0.2
    """
    check_curve(curve)
    return float(sum(np.abs(run.surplus).sum() for run in curve.runs()) / curve.n)


@dataclass(frozen=True, slots=True)
class _Rows:
    """Scores, rising, with the weight of the rows and of the hits at each: (m,) each."""

    score: FloatArray
    count: FloatArray
    hits: FloatArray


def _rows(curve: Curve) -> _Rows:
    """Return the rows of the curve, or, if they are many, of its cells."""
    if curve.n <= _MIN_ROWS_FOR_CELLS:
        return _Rows(curve.score, curve.count, curve.hits)
    cells = CellReader()
    for run in curve.runs():
        cells.add(run)
    return cells.rows()


class CellReader:
    """Joins rows that fall into one of even cells, keeping their mean score."""

    def __init__(self, cells: int = _CELLS) -> None:
        self.cells = cells
        self.sums = np.zeros((3, cells + 1))  # count, hits, and count · score

    def add(self, run: Run) -> None:
        """Take in the next rows: sorted, so that those of a cell stand together."""
        score = run.score
        cell = (score * self.cells).astype(np.intp)
        first = np.flatnonzero(np.diff(cell, prepend=-1))
        count = np.broadcast_to(run.count, score.shape)
        for total, column in zip(self.sums, (count, run.hits, count * score), strict=True):
            total[cell[first]] += np.add.reduceat(column, first)

    def rows(self) -> _Rows:
        """Return the cells that hold anything."""
        count, hits, scores = self.sums[:, self.sums[0] > 0]
        return _Rows(scores / count, count, hits)


def _bandwidth(curve: Curve, rows: _Rows) -> float:
    """Return std(scores of hits) (2N)^(−1/5); with sampling weights N is the effective number."""
    total = rows.hits.sum()
    if total == 0.0:
        return 0.0
    centred = rows.score - rows.hits @ rows.score / total
    spread = sqrt(float(rows.hits @ centred**2 / total))
    return spread * float(2.0 * curve.effective_n) ** -0.2 if spread > _ROUNDING else 0.0


def _densities(rows: _Rows, reach: float) -> tuple[FloatArray, FloatArray]:
    """Return the densities of all scores and of the hits' at the grid's points in [0, 1].

    Each score has one mirror image, at its nearer end, as far as the kernel reaches.
    """
    s = rows.score
    low = int(np.searchsorted(s, min(reach, 0.5)))
    high = int(np.searchsorted(s, max(1.0 - reach, 0.5)))
    points = np.concatenate([-s[:low][::-1], s, 2.0 - s[high:][::-1]])
    weights = [np.concatenate([w[:low][::-1], w, w[high:][::-1]]) for w in (rows.count, rows.hits)]
    sums = _triweight_sums(points, weights, reach)
    both, hits = np.maximum(sums, 0.0) * (35.0 / 32.0 / reach)
    return both / rows.count.sum(), hits / rows.hits.sum()


def _triweight_sums(points: FloatArray, weights: list[FloatArray], r: float) -> FloatArray:
    """Return the sums of w (1 − ((x − s) / r)²)³ over |x − s| < r, at each x: (2, grid).

    Points are in cells that are at least 2 r wide, so that those within r of x are in one or two
    of them, one after the other. Each cell has its own centre.
    """
    width = max(1, ceil(2.0 * r / _STEP)) * _STEP
    origin = _INSIDE[0] - 0.5 * _STEP - width  # below all points
    z, cell = _in_cells(points, origin, width)
    u, of = _in_cells(_INSIDE - r, origin, width)
    start = np.searchsorted(cell, np.arange(int(of[-1]) + 3))
    # A point that rounding puts on the wrong side of an end counts nothing: the kernel is 0 there.
    first = np.maximum(_passed(points + r), start[of])
    last = np.minimum(_passed(points - r), start[of + 2])
    cut = np.clip(start[of + 1], first, last)
    u *= width / r
    u += 1.0
    z *= width / r
    z.clip(-2.0, 2.0, out=z)  # beyond, no x is near
    result = np.empty((2, _INSIDE.size))
    parts = np.arange(0, _INSIDE.size, _INSIDE.size // -(-points.size // _POINTS_AT_ONCE) + 1)
    for begin, end in pairwise([*parts.tolist(), _INSIDE.size]):
        near = slice(int(first[begin]), int(last[end - 1]))
        running = _running_powers(z[near], [weight[near] for weight in weights])
        for start_at in range(begin, end, _BLOCK):
            at = slice(start_at, min(start_at + _BLOCK, end))
            low, high, middle = (
                running.take(i[at] - near.start, axis=1) for i in (first, last, cut)
            )
            high -= middle
            middle -= low
            result[:, at] = _polynomials(u[at], middle) + _polynomials(u[at] - width / r, high)
    return result


def _in_cells(places: FloatArray, origin: float, width: float) -> tuple[FloatArray, IntArray]:
    """Return how far places are from the centre of their cell, in its width, and the cell."""
    apart = places - origin
    apart /= width
    cell = apart.astype(np.intp)
    apart -= cell
    apart -= 0.5
    return apart, cell


def _passed(places: FloatArray) -> IntArray:
    """Return how many of the rising places are at most x, at each x, (grid,)."""
    steps = places - _INSIDE[0]
    steps /= _STEP
    np.ceil(steps, out=steps).clip(0, _INSIDE.size, out=steps)
    result: IntArray = np.bincount(steps.astype(np.intp), minlength=_INSIDE.size + 1)[:-1].cumsum()
    return result


def _running_powers(z: FloatArray, weights: list[FloatArray]) -> ComplexArray:
    """Return the running sums of w z^k, k from 0 to 6, both weights as one number, (7, m + 1)."""
    running = np.zeros((7, z.size + 1), dtype=np.complex128)
    powers = running[:, 1:]
    powers.real[0], powers.imag[0] = weights
    for k in range(6):  # np.power would call pow for each
        np.multiply(powers.real[k], z, out=powers.real[k + 1])
        np.multiply(powers.imag[k], z, out=powers.imag[k + 1])
    np.cumsum(powers, axis=1, out=powers)  # of two numbers in the time of one
    return running


def _polynomials(u: FloatArray, sums: ComplexArray) -> FloatArray:
    """Return the sums of w (1 − (u − z)²)³ from those of w z^k, (7, grid), for both weights."""
    coefficients = _coefficients(u)
    return np.stack([np.einsum("kx,kx->x", coefficients, part) for part in (sums.real, sums.imag)])


def _coefficients(u: FloatArray) -> FloatArray:
    """Return (1 − (u − z)²)³ as coefficients of 1, z, …, z⁶: (7, points)."""
    a, b = 1.0 - u * u, 2.0 * u  # 1 − (u − z)² = a + b z − z²
    aa, bb = a * a, b * b  # products: cubes as powers take many times as long
    return np.stack(
        [
            a * aa,
            3.0 * aa * b,
            3.0 * a * bb - 3.0 * aa,
            b * bb - 6.0 * a * b,
            3.0 * a - 3.0 * bb,
            3.0 * b,
            np.full(u.shape, -1.0),
        ]
    )
