r"""The map of the default spline: a natural spline in log-odds, with its uncertainty.

.. math:: \gamma = \mathrm{sigmoid}(l(\eta)), \qquad \eta = \log\frac{p}{1 - p},

l the natural cubic spline through (knots, values), straight beyond the knots. The values have a
posterior covariance C, so l has the standard deviation :math:`\sqrt{b(\eta)' C b(\eta)}`, b the
row of the spline's basis.

**Beyond the log-odds that were seen**, [first, last], l goes on from its value there with a slope
of its own: that of the spline at the end, cut to between 0 and that of the line nearest to l, b
(``docs/theory/spline.md``). At a distance d it has moved by slope · g(d), where

.. math:: g(d) = w d + (1 - w) \tau (1 - e^{-d / \tau}) ,

w the weight of a line. At a distance d the variance is that of the end, plus d² times the variance
of the slope there, the square of what was cut from it and b² / 4: the band holds every slope in
[0, b].

**Order.** A map fitted with ``monotone=True`` rises with a slope of at least `MIN_SLOPE`. Between
neighbouring floats rounding could still turn two values round, so its log-odds are first rounded
to a grid on which one step raises l by more than the rounding errors of l. Rounding, and each
operation before and after l, keeps order (log and exp as far as the C library's do): a higher
score never gets a lower value, and only scores closer than the grid can become equal.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ogive._numerics.logistic import expit_in_place
from ogive._numerics.natural_spline import Evaluator, NaturalSpline, Pieces
from ogive.calibrators.log_odds import LogOddsMap

if TYPE_CHECKING:
    from ogive._typing import FloatArray
    from ogive.calibrators.gain import Certain, Gain
    from ogive.calibrators.maps import Map
    from ogive.calibrators.spline_summary import SplineSummary

LIMIT = 36.0  # |l| is cut here: sigmoid(36) is the last step but one below 1 in float64
MIN_SLOPE = 1e-3  # least slope of l with monotone=True: far above rounding, far below any effect
#: Half width of the 95 % band, in deviations of posterior and bias together: 1.96, rounded up.
BAND = 2.0
BAND_WITHOUT_BIAS = 2.24  # wider: for calibrators saved before the bias was stored
_LIMITS = np.array(-LIMIT), np.array(LIMIT)

_ROUNDINGS = 32  # two values of l, each by Horner's rule: 16 roundings of the sum of its terms


class _Ends(NamedTuple):
    """Both ends of the log-odds seen, the slopes beyond them and their variance, (2,) each."""

    place: FloatArray
    slope: FloatArray
    variance: FloatArray


class Beyond(NamedTuple):
    """How log-odds beyond those seen, [low, high], are drawn in: a distance d from them to g(d)."""

    low: float
    high: float
    line: float
    tau: float

    def __call__(self, eta: FloatArray) -> FloatArray:
        """Return where the lines beyond the ends are read, (m,); what was seen stays."""
        result = eta.clip(self.low, self.high)
        d = eta - result
        if (far := np.flatnonzero(d)).size:
            d = d[far]
            level = np.copysign(np.expm1(-np.abs(d) / self.tau), d)
            result[far] += self.line * d + (1.0 - self.line) * self.tau * level
        return result


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class SplineMap(LogOddsMap):
    """A natural spline in log-odds.

    Attributes
    ----------
    knots, values : (K,) arrays
        Log-odds of the score, and the calibrated log-odds there.
    covariance : (K, K) array
        Posterior covariance of the values.
    edf : float
        Effective degrees of freedom: 0 leaves the scores alone, 2 is a line as Platt's.
    keep : float
        Posterior weight of "leave the scores alone".
    linear : float
        Posterior weight of a straight line, the identity included.
    bend : float
        Posterior mean of the size of the bend, in log-odds.
    monotone : bool
        Whether the map was made to rise.
    first, last : float
        The range of the log-odds that were seen.
    bias : (K,) array or None
        How far smoothing may have moved the values, at least 0; the band widens by it. None in
        calibrators saved before it was kept.
    below, above, rise : float or None
        Slopes of l below `first` and above `last`, and of the line nearest to l, all at least 0.
        None in calibrators saved before these were kept: those go on as the spline does.
    tau : float or None
        τ, in log-odds. None, in calibrators saved before it was kept, stands for infinity: those
        go on straight.
    cut : (2, 2, K) array or None
        How far from l the rows near each knot let the band go: pointwise and simultaneous, each
        below and above. None in calibrators saved before it was kept.
    one : float
        The log-odds that stand for a score of exactly 1.0 in the band.
    shift, moved : float
        Mean change of the scores of the fit, and mean absolute change.
    gain, gain_error : float or None
        Log loss saved per row left out, and its standard error (`ogive.calibrators.gain`).
        None in calibrators saved before these were kept.
    log_loss, expected_gain, expected_total : float or None
        Log loss per row of the scores as they were, and what the posterior expects to save of it on
        new rows, per row and in total over as many rows. None in calibrators saved before.
    certain : Certain or None
        The exact 0 and 1 among the scores of the fit; not saved.
    """

    method = "spline"

    knots: FloatArray
    values: FloatArray
    covariance: FloatArray
    edf: float
    keep: float
    linear: float
    bend: float
    monotone: bool
    first: float
    last: float
    one: float
    shift: float
    moved: float
    gain: float | None = None
    gain_error: float | None = None
    below: float | None = None
    above: float | None = None
    rise: float | None = None
    tau: float | None = None
    log_loss: float | None = None
    expected_gain: float | None = None
    expected_total: float | None = None
    bias: FloatArray | None = None
    certain: Certain | None = None
    cut: FloatArray | None = None

    @cached_property
    def _spline(self) -> NaturalSpline:
        return NaturalSpline(self.knots)

    @cached_property
    def _evaluator(self) -> Evaluator:
        return Evaluator(*self.pieces())

    @cached_property
    def _grid(self) -> float:
        """The grid of log-odds of a rising map: a power of two; 0 for none."""
        if not self.monotone:
            return 0.0
        slope = float((self._spline.slopes() @ self.values).min())
        if abs(slope) < MIN_SLOPE:  # the fit holds it there, but for rounding between far knots
            slope = MIN_SLOPE
        start, powers = self._spline.pieces(self.values)
        width = np.append(np.diff(start), 0.0)  # beyond the knots l is a line, and cut at LIMIT
        terms = np.abs(powers) * width ** np.arange(4)[:, None]
        largest = float(terms.sum(axis=0).max()) + LIMIT
        return float(2.0 ** np.ceil(np.log2(_ROUNDINGS * largest * 2.0**-52 / slope)))

    @cached_property
    def _ends(self) -> _Ends | None:
        """None in calibrators saved before their slopes were kept."""
        if self.below is None or self.above is None:
            return None
        place = min(self.first, self.knots[0]), max(self.last, self.knots[-1])
        slope = np.array([self.below, self.above])
        rows = self._spline.slopes()[[0, self.knots.size - 1]]
        variance = np.einsum("ij,ij->i", rows @ self.covariance, rows)
        variance += (rows @ self.values - slope) ** 2 + ((self.rise or 0.0) / 2.0) ** 2
        return _Ends(np.array(place), slope, variance)

    @cached_property
    def beyond(self) -> Beyond | None:
        """How far l goes on beyond what was seen; None where it goes on straight."""
        if self.tau is None or self._ends is None:
            return None
        low, high = self._ends.place.tolist()
        return Beyond(low, high, self.linear, self.tau)

    @cached_property
    def square(self) -> tuple[FloatArray, Pieces]:
        """Variance and squared bias of l: where a piece ends, and polynomials of degree 6."""
        inner = self._spline.pieces(np.eye(self.knots.size)).powers
        powers = np.zeros((7, self.knots.size + 1))
        for p, one in enumerate(inner):
            left = one @ self.covariance
            for q, other in enumerate(inner):
                powers[p + q] += np.einsum("ij,ij->i", left, other)
        if self.bias is not None:
            powers[:3] += self.squared_lines(self.bias)
        return self.to_the_ends(powers)

    def squared_lines(self, at_knots: FloatArray) -> FloatArray:
        """Return the squares of straight lines between the knots, constant beyond: (3, K + 1)."""
        slope = np.concatenate([[0.0], np.diff(at_knots) / np.diff(self.knots), [0.0]])
        at = np.concatenate([at_knots[:1], at_knots])
        return np.stack([at**2, 2.0 * at * slope, slope**2])

    def to_the_ends(
        self, powers: FloatArray, *, straight: bool = False
    ) -> tuple[FloatArray, Pieces]:
        """Return polynomials on pieces, (degree + 1, K + 1), from the ends on as they go on there.

        straight : as l does; if not, by the variance of the slope, as squares do
        """
        start = np.concatenate([self.knots[:1], self.knots])
        if self._ends is None:
            return self.knots, Pieces(start, powers)
        low, high = np.split(self._ends.place, 2)
        outer = np.zeros((powers.shape[0], 2))
        u = self._ends.place - start[[0, -1]]
        outer[0] = (powers[:, [0, -1]] * u ** np.arange(powers.shape[0])[:, None]).sum(axis=0)
        outer[1 if straight else 2] = self._ends.slope if straight else self._ends.variance
        powers = np.hstack([outer[:, :1], powers, outer[:, 1:]])
        start = np.concatenate([low, start, high])
        return np.concatenate([low, self.knots, high]), Pieces(start, powers)

    @property
    def own_gain(self) -> Gain | None:
        """What the map saves on rows left out of its fit; None if it was saved without."""
        from ogive.calibrators.gain import Gain  # noqa: PLC0415 - only to be read by people

        if self.gain is None or self.gain_error is None:
            return None
        known = self.log_loss, self.expected_gain, self.expected_total
        own = self.gain, self.gain_error, *known
        return Gain("spline", self.view, self.n, None, *own, certain=self.certain)

    def pieces(self) -> tuple[FloatArray, Pieces]:
        """Return l as cubics: where one ends and the next begins, and the cubics."""
        return self.to_the_ends(self._spline.pieces(self.values).powers, straight=True)

    def log_odds_at(self, eta: FloatArray) -> FloatArray:
        """Return l at finite log-odds, (m,), not cut."""
        if self._grid:
            eta = np.rint(eta / self._grid) * self._grid  # exact, but for the rounding meant
        return self._evaluator(eta if self.beyond is None else self.beyond(eta))

    def _of_log_odds(self, eta: FloatArray) -> FloatArray:
        logit = self.log_odds_at(eta)
        return expit_in_place(logit.clip(*_LIMITS, out=logit))

    def _of_log_odds_block(self, eta: FloatArray) -> FloatArray:
        return self._of_log_odds(eta.clip(self.lowest, self.highest))

    def band_ends(self, *, simultaneous: bool = False) -> tuple[Map, Map]:
        """Return the lower and the upper end of the band, as maps; see `Fitted.band_ends`."""
        from ogive.calibrators.spline_band import ends_of  # noqa: PLC0415 - it reads this file

        return ends_of(self, simultaneous=simultaneous)

    def summary(self, gain: Gain | None = None) -> SplineSummary:
        """Return a summary of what the map did to the scores.

        Parameters
        ----------
        gain : Gain, optional
            The out-of-fold gain to use, such as that of `ogive.cross_fitted_gain`. Default: that
            of the fit. `ogive.calibrators.gain.Gain` decides from it whether the
            summary says to leave the scores alone.

        Examples
        --------
        >>> from ogive import Curve, fit_spline
        >>> rng = np.random.default_rng(0)
        >>> scores = rng.random(2000)
        >>> calibrator = fit_spline(Curve.from_scores(scores, rng.random(2000) < scores))
        >>> calibrator.summary().leave_alone
        True
        """
        from ogive.calibrators.spline_summary import summarise  # noqa: PLC0415 - it reads this file

        return summarise(self, gain)

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain JSON values; of the covariance, the lower triangle."""
        values = {each.name: getattr(self, each.name) for each in fields(self)}
        values["covariance"] = self.covariance[np.tril_indices(self.knots.size)]
        del values["certain"]
        return {
            name: value.tolist() if isinstance(value, np.ndarray) else value
            for name, value in values.items()
            if value is not None
        }

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> SplineMap:
        """Rebuild a map from `to_dict`."""
        arrays = {name: np.array(x, float) for name, x in values.items() if isinstance(x, list)}
        low, size = arrays["covariance"], arrays["knots"].size
        covariance = np.zeros((size, size))
        covariance[np.tril_indices(size)] = low
        covariance += np.tril(covariance, -1).T
        return cls(**{**values, **arrays, "covariance": covariance})
