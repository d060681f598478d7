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
        every = [self.spline.square]
        if self.cut is not None and self.spline._ends:  # noqa: SLF001
            every.append(_to_the_ends(self.spline, _squared(self.spline, self.cut / self.factor)))
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
    known = {"view": gamma.view, "n": gamma.n, "lowest": gamma.lowest, "highest": gamma.highest}

    def end(side: float) -> SplineEnd:
        cut = None if gamma.cut is None else gamma.cut[int(simultaneous), int(side > 0.0)]
        made = SplineEnd(
            **known,  # type: ignore[arg-type]
            at_one=0.5,
            spline=gamma,
            side=side,
            factor=factor,
            cut=cut,
        )
        at_one = middle + side * made.half(np.array([gamma.one]))
        return replace(made, at_one=float(expit(np.clip(at_one, -LIMIT, LIMIT))[0]))

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
        powers[:3] += _squared(gamma, gamma.bias)
    return _to_the_ends(gamma, powers)


def _squared(gamma: SplineMap, at_knots: FloatArray) -> FloatArray:
    """Return the squares of straight lines between the knots, constant beyond: (3, K + 1)."""
    slope = np.concatenate([[0.0], np.diff(at_knots) / np.diff(gamma.knots), [0.0]])
    at = np.concatenate([at_knots[:1], at_knots])
    return np.stack([at**2, 2.0 * at * slope, slope**2])


def _to_the_ends(gamma: SplineMap, powers: FloatArray) -> tuple[FloatArray, Pieces]:
    """Return polynomials on the pieces of l, (degree + 1, K + 1); the slope's variance is added."""
    start = np.concatenate([gamma.knots[:1], gamma.knots])
    ends = gamma._ends  # noqa: SLF001
    if not ends:
        return gamma.knots, Pieces(start, powers)
    outer = np.zeros((powers.shape[0], 2))
    place = np.array([end.place for end in ends])
    u = place - start[[0, -1]]
    outer[0] = (powers[:, [0, -1]] * u ** np.arange(powers.shape[0])[:, None]).sum(axis=0)
    outer[2] = [gamma.slope_variance(end) for end in ends]
    start = np.concatenate([place[:1], start, place[1:]])
    breaks = np.concatenate([place[:1], gamma.knots, place[1:]])
    return breaks, Pieces(start, np.hstack([outer[:, :1], powers, outer[:, 1:]]))


class _Hats:
    """Rows moved by hats at the knots: each row is under the hats of both knots beside it."""

    def __init__(self, gamma: SplineMap, trials: Trials) -> None:
        knots, eta = gamma.knots, trials.offset
        j = np.searchsorted(knots[1:-1], eta, side="right")
        y = ((eta - knots[j]) / np.diff(knots)[j]).clip(0.0, 1.0)
        self.knot, self.height = np.concatenate([j, j + 1]), np.concatenate([1.0 - y, y])
        rows = gamma.log_odds_at(eta.copy()), trials.count, trials.hits
        self.line, self.count, self.hits = (np.tile(each, 2) for each in rows)

    def __call__(self, t: FloatArray) -> FloatArray:
        """Return the deviance at t, (K,), and its first two derivatives, (3, K)."""
        x = self.line + t[self.knot] * self.height
        p = expit(x)
        parts = (
            self.count * log_add(0.0, x) - self.hits * x,
            (self.count * p - self.hits) * self.height,
            self.count * p * (1.0 - p) * self.height**2,
        )
        sums = [np.bincount(self.knot, part, t.size) for part in parts]
        return np.array(sums, dtype=np.float64) * 2.0


def cut_of(gamma: SplineMap, trials: Trials) -> FloatArray:
    """Return `SplineMap.cut`, (2, 2, K): where the deviance of the rows near by is (f + 1)²."""
    hats, far = _Hats(gamma, trials), np.full(gamma.knots.size, _FAR)
    best = _roots(lambda t: hats(t)[1:], 0.0 * far, -far, far)
    least, _, bend = hats(best)
    factors = BAND, max(simultaneous_factor(gamma), BAND)
    result = np.full((2, 2, far.size), _FAR)
    for i, side in enumerate((-1.0, 1.0)):
        most = hats(side * far)[0] - least
        for cut, factor in zip(result[:, i], factors, strict=True):
            limit = (factor + 1.0) ** 2

            def over(t: FloatArray, side: float = side, limit: float = limit) -> FloatArray:
                deviance, slope, _ = hats(side * t)
                return np.stack([deviance - least - limit, side * slope])

            start = side * best + np.sqrt(limit / np.maximum(bend, limit / _FAR**2))
            found = _roots(over, np.minimum(start, far), side * best, far)
            cut[:] = np.where(most > limit, np.maximum(found, 0.0), _FAR)
    return result


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
