r"""The ends of the spline's band, as maps.

The band is :math:`l \pm f \sqrt{C + B^2}` (``docs/theory/spline.md``). Between two knots l is a
cubic in the log-odds, so its variance C is a polynomial of degree 6, B is a line, and the square of
the half width is a polynomial on each piece.

**Pointwise** f is 2. **Simultaneous**: the band holds the whole of l, over the log-odds that were
seen, where the largest deviation of a Gaussian process stays below f standard deviations. By the
tube formula (Sun and Loader, 1994; Krivobokova, Kneib and Claeskens, 2010) it exceeds f with a
probability of at most

.. math:: \frac{\kappa}{\pi} e^{-f^2/2} + 2 (1 - \Phi(f)) ,

:math:`\kappa` the length of the path of the unit vectors :math:`C^{1/2} b / \|C^{1/2} b\|`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from ogive._numerics.covariance import root_of
from ogive._numerics.logistic import expit, expit_in_place, logit
from ogive._numerics.mean_interval import LEVEL
from ogive._numerics.natural_spline import Evaluator, Pieces
from ogive.calibrators.log_odds import LogOddsMap
from ogive.calibrators.spline_map import BAND, BAND_WITHOUT_BIAS, LIMIT, SplineMap
from ogive.calibrators.spline_summary import places_of

if TYPE_CHECKING:
    from ogive._typing import FloatArray

_MOST_DEVIATIONS = 40.0  # exp(−40² / 2) is 0 in float64: no path is so long


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class SplineEnd(LogOddsMap):
    """An end of the band of a spline.

    Attributes
    ----------
    spline : SplineMap
    side : float
        −1 for the lower end, 1 for the upper one.
    factor : float
        How many deviations the end lies from l.
    """

    method = "spline-end"

    spline: SplineMap
    side: float
    factor: float

    def _of_log_odds(self, eta: FloatArray) -> FloatArray:
        logit = self.spline.log_odds_at(eta)
        logit += self.side * np.sqrt(np.maximum(self._square(eta), 0.0))
        return expit_in_place(np.clip(logit, -LIMIT, LIMIT, out=logit))

    def _of_log_odds_block(self, eta: FloatArray) -> FloatArray:
        return self._of_log_odds(np.clip(eta, self.lowest, self.highest))

    @cached_property
    def _square(self) -> Evaluator:
        return Evaluator(*self.square_pieces())

    def square_pieces(self) -> tuple[FloatArray, Pieces]:
        """Return the square of the half width: where a piece ends, and polynomials of degree 6."""
        breaks, (start, powers) = self.spline.square
        return breaks, Pieces(start, self.factor**2 * powers)


def ends_of(gamma: SplineMap, *, simultaneous: bool) -> tuple[SplineEnd, SplineEnd]:
    """Return the lower and the upper end of the band of a spline.

    >>> from ogive import Curve, fit_spline
    >>> rng = np.random.default_rng(0)
    >>> scores = rng.random(2000)
    >>> calibrator = fit_spline(Curve.from_scores(scores, rng.random(2000) < scores))
    >>> low, high = ends_of(calibrator, simultaneous=False)
    >>> bool(low(0.3) < 0.3 < high(0.3))
    True
    """
    factor = BAND_WITHOUT_BIAS if gamma.bias is None else BAND
    if simultaneous:
        factor = max(simultaneous_factor(gamma), factor)
    middle = logit(gamma.at_one)
    half = factor * gamma.spread(np.array([gamma.one]))
    known = {"view": gamma.view, "n": gamma.n, "lowest": gamma.lowest, "highest": gamma.highest}

    def end(side: float) -> SplineEnd:
        at_one = expit(np.clip(middle + side * half, -LIMIT, LIMIT))
        return SplineEnd(**known, at_one=float(at_one[0]), spline=gamma, side=side, factor=factor)  # type: ignore[arg-type]

    return end(-1.0), end(1.0)


def variance_of(gamma: SplineMap) -> tuple[FloatArray, Pieces]:
    """Return C + B² as polynomials in the log-odds, on the pieces of l."""
    inner = gamma._spline.pieces(np.eye(gamma.knots.size))  # noqa: SLF001
    powers = np.zeros((7, inner.start.size))
    for p, one in enumerate(inner.powers):
        left = one @ gamma.covariance
        for q, other in enumerate(inner.powers):
            powers[p + q] += np.einsum("ij,ij->i", left, other)
    if gamma.bias is not None:
        slope = np.concatenate([[0.0], np.diff(gamma.bias) / np.diff(gamma.knots), [0.0]])
        at = np.concatenate([gamma.bias[:1], gamma.bias])
        powers[:3] += np.stack([at**2, 2.0 * at * slope, slope**2])
    ends = gamma._ends  # noqa: SLF001
    if not ends:
        return gamma.knots, Pieces(inner.start, powers)
    outer = np.zeros((7, 2))
    place = np.array([end.place for end in ends])
    u = place - inner.start[[0, -1]]
    outer[0] = (powers[:, [0, -1]] * u ** np.arange(7)[:, None]).sum(axis=0)
    outer[2] = [gamma.slope_variance(end) for end in ends]
    start = np.concatenate([place[:1], inner.start, place[1:]])
    breaks = np.concatenate([place[:1], gamma.knots, place[1:]])
    return breaks, Pieces(start, np.hstack([outer[:, :1], powers, outer[:, 1:]]))


def simultaneous_factor(gamma: SplineMap) -> float:
    """Return how many deviations a simultaneous 95 % band has on each side."""
    from scipy.optimize import brentq  # noqa: PLC0415 - SciPy where it is used
    from scipy.special import ndtr  # noqa: PLC0415

    rows = gamma._spline.basis(places_of(gamma))  # noqa: SLF001
    path = rows @ root_of(gamma.covariance)
    size = np.sqrt(np.einsum("ij,ij->i", path, path))
    path = path[size > 0.0] / size[size > 0.0, None]
    step = np.linalg.norm(np.diff(path, axis=0), axis=1)
    length = float((2.0 * np.arcsin(np.minimum(step / 2.0, 1.0))).sum())

    def missed(f: float) -> float:
        return length / np.pi * float(np.exp(-f * f / 2.0)) + 2.0 * float(ndtr(-f)) - LEVEL

    return float(brentq(missed, 0.0, _MOST_DEVIATIONS))
