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

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from ogive._numerics.covariance import root_of
from ogive._numerics.logistic import expit, expit_in_place, log_add, logit
from ogive._numerics.mean_interval import LEVEL
from ogive._numerics.natural_spline import Evaluator, Pieces
from ogive.calibrators.log_odds import LogOddsMap
from ogive.calibrators.spline_map import BAND, BAND_WITHOUT_BIAS, LIMIT, SplineMap
from ogive.calibrators.spline_summary import places_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from ogive._numerics.binomial import Trials
    from ogive._typing import FloatArray

_FAR = 2.0 * LIMIT  # a cut this far from l cuts nothing
_STEPS = 60
_NEAR = 1e-9  # of a deviance, its slope and t
_NEARLY_FLAT = 1e-300
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
    cut : (K,) array or None
        How far from l it lies at most, at the knots.
    """

    method = "spline-end"

    spline: SplineMap
    side: float
    factor: float
    cut: FloatArray | None

    def _of_log_odds(self, eta: FloatArray) -> FloatArray:
        logit = self.spline.log_odds_at(eta)
        logit += self.side * self.half(eta)
        return expit_in_place(np.clip(logit, -LIMIT, LIMIT, out=logit))

    def _of_log_odds_block(self, eta: FloatArray) -> FloatArray:
        return self._of_log_odds(np.clip(eta, self.lowest, self.highest))

    def half(self, eta: FloatArray) -> FloatArray:
        """Return how far the end lies from l at finite log-odds, (m,)."""
        square = np.minimum.reduce([at(eta) for at in self._squares])
        result: FloatArray = np.sqrt(np.maximum(square, 0.0))
        return result

    @cached_property
    def _squares(self) -> list[Evaluator]:
        return [Evaluator(*pieces) for pieces in self.squares()]

    def squares(self) -> list[tuple[FloatArray, Pieces]]:
        """Return squares of which the half width's is the least.

        Of each: where a piece ends, and polynomials of degree 6 or 2.
        """
        gamma = self.spline
        every = [gamma.square]
        if self.cut is not None and gamma.below is not None:
            every.append(gamma.to_the_ends(gamma.squared_lines(self.cut / self.factor)))
        return [
            (breaks, Pieces(start, self.factor**2 * powers)) for breaks, (start, powers) in every
        ]


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

    def end(side: float) -> SplineEnd:
        made = SplineEnd(
            view=gamma.view,
            n=gamma.n,
            lowest=gamma.lowest,
            highest=gamma.highest,
            at_one=0.5,  # to come
            spline=gamma,
            side=side,
            factor=factor,
            cut=None if gamma.cut is None else gamma.cut[int(simultaneous), int(side > 0.0)],
        )
        at_one = middle + side * made.half(np.array([gamma.one]))
        return replace(made, at_one=float(expit(np.clip(at_one, -LIMIT, LIMIT))[0]))

    return end(-1.0), end(1.0)


def _hats(gamma: SplineMap, trials: Trials) -> Callable[[FloatArray], FloatArray]:
    """Return a function: the deviance at t, (K,), and its first two derivatives, (3, K).

    It is that of rows moved by hats at the knots, each row under the hats of both knots beside it.
    """
    knots, eta = gamma.knots, trials.offset
    j = np.searchsorted(knots[1:-1], eta, side="right")
    y = ((eta - knots[j]) / np.diff(knots)[j]).clip(0.0, 1.0)
    knot, height = np.concatenate([j, j + 1]), np.concatenate([1.0 - y, y])
    rows = gamma.log_odds_at(eta.copy()), trials.count, trials.hits
    line, count, hits = (np.tile(each, 2) for each in rows)

    def deviance(t: FloatArray) -> FloatArray:
        x = line + t[knot] * height
        p = expit(x)
        parts = (
            count * log_add(0.0, x) - hits * x,
            (count * p - hits) * height,
            count * p * (1.0 - p) * height**2,
        )
        sums = [np.bincount(knot, part, t.size) for part in parts]
        return np.array(sums, dtype=np.float64) * 2.0

    return deviance


def cut_of(gamma: SplineMap, trials: Trials) -> FloatArray:
    """Return `SplineMap.cut`, (2, 2, K): where the deviance of the rows near by is (f + 1)²."""
    hats, far = _hats(gamma, trials), np.full(gamma.knots.size, _FAR)
    best = _roots(lambda t: hats(t)[1:], 0.0 * far, -far, far)
    least, _, bend = hats(best)

    def reach(factor: float, side: float) -> FloatArray:
        limit = (factor + 1.0) ** 2

        def over(t: FloatArray) -> FloatArray:
            deviance, slope, _ = hats(side * t)
            return np.stack([deviance - least - limit, side * slope])

        start = side * best + np.sqrt(limit / np.maximum(bend, limit / _FAR**2))
        found = _roots(over, np.minimum(start, far), side * best, far)
        return np.where(over(far)[0] > 0.0, np.maximum(found, 0.0), _FAR)

    factors = BAND, max(simultaneous_factor(gamma), BAND)
    return np.array([[reach(factor, side) for side in (-1.0, 1.0)] for factor in factors])


def _roots(
    function: Callable[[FloatArray], FloatArray],
    t: FloatArray,
    low: FloatArray,
    high: FloatArray,
) -> FloatArray:
    """Return where rising functions, each with its slope, are 0: Newton's steps in a bracket."""
    for _ in range(_STEPS):
        value, slope = function(t)
        low, high = np.where(value < 0.0, t, low), np.where(value > 0.0, t, high)
        new = t - value / np.maximum(slope, _NEARLY_FLAT)
        new = np.where((low < new) & (new < high), new, (low + high) / 2.0)
        done = (np.abs(value) < _NEAR) | (np.abs(new - t) < _NEAR)
        t = np.where(done, t, new)
        if done.all():
            break
    return t


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
