r"""How far scores are from the default spline γ: ICI, E50, E90 and Emax.

They are the mean, median, 90 % quantile and maximum of :math:`|\gamma(p) - p|` over the rows
(Austin and Steyerberg 2019, Harrell's val.prob), without a bandwidth or a number of bins.

**Intervals.** γ leans towards leaving the scores alone, also where all of them are off alike by a
few standard errors, so that it shows too little of such an error. Platt's line has no prior: that
of what γ gives, :math:`\gamma_0 = \mathrm{sigmoid}(a + b \operatorname{logit} \gamma)`, keeps γ's
bends and does not lean. Curves are drawn from the posterior of γ, and moved to lie about
:math:`\gamma_0`.

The lower end is the lower quantile of their numbers, where a draw counts as 0 with the weight that
the posterior gives to leaving the scores alone: so it is 0 where they may be perfectly calibrated.
Noise makes every drawn curve rougher, hence its errors larger; this end is moved down by the mean
excess of the draws over the number of :math:`\gamma_0`.

Smoothing makes bends flatter, so the truth is more often above the number than below. With d the
distance of the upper quantile of the draws from the number v, and b by how much the number of
:math:`\gamma_0` grows if every row's error grows by the bias that the band allows for, the upper
end is

.. math:: v + \sqrt{d^2 + b^2 / 2} .

Half of the squared bias, as smoothing moves some rows away from their score, not towards it. Emax
has b = 0: it would be the bias at the very last score, of which one row says next to nothing.
``docs/theory/numbers.md`` has the coverage.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ogive._html import record_form
from ogive._numerics.binomial import Trials
from ogive._numerics.blas import one_blas_thread
from ogive._numerics.logistic import expit
from ogive.calibrators.grouped_trials import trials_of
from ogive.calibrators.platt import platt_line
from ogive.calibrators.spline_draws import drawn_curves
from ogive.curve.curve import as_curve
from ogive.metrics.line import HIGH, LOW, Estimate
from ogive.studies.where_off import spline_of

if TYPE_CHECKING:
    from ogive._typing import ArrayLike, BoolArray, FloatArray, WeightKind
    from ogive.calibrators.spline_map import SplineMap
    from ogive.curve import Curve

#: Of the posterior: the ends of the intervals then vary by a few percent of their width.
DRAWS = 1000
_MEDIAN, _NINETY = 0.5, 0.9
_ROUNDING = 1e-12  # a share that should end on a row does, in spite of rounding


class SplineErrors(NamedTuple):
    """How far the scores are from the default spline, over the rows: fractions with intervals."""

    ici: Estimate
    e50: Estimate
    e90: Estimate
    emax: Estimate

    def _repr_html_(self) -> str:
        return record_form(self)


@one_blas_thread()
def spline_errors(
    curve: Curve | ArrayLike,
    outcomes: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
    weight_kind: WeightKind = "repetition",
    random_state: int = 0,
) -> SplineErrors:
    """Return ICI, E50, E90 and Emax: mean, median, 90 % quantile and maximum of |γ(p) − p|.

    γ is the default spline, fitted to the curve: there is no bandwidth to choose.

    Parameters
    ----------
    curve : Curve, or array-like (N,)
        A curve, or scores in [0, 1].
    outcomes, sample_weight, weight_kind : optional
        Of scores, as in `Curve.from_scores`.
    random_state : int
        Of the draws that the intervals are made from.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> scores = rng.random(4000)
    >>> found = spline_errors(scores, rng.random(4000) < scores**2)
    >>> round(found.ici.value, 3), found.ici.low < 1 / 6 < found.ici.high
    (0.168, True)
    """
    given = as_curve(curve, outcomes, sample_weight=sample_weight, weight_kind=weight_kind)
    curve = given.as_independent()
    gamma = spline_of(curve)
    error = np.abs(gamma.from_tails(curve.high, curve.tail) - curve.score)
    value = _errors(error[None], curve.count)[0]
    trials, rng = trials_of(curve), np.random.default_rng(random_state)
    line = _without_lean(gamma, trials)
    middle, grown = _of_line(line, gamma, trials)
    kept = rng.random(DRAWS) < gamma.keep
    low, high = _ends(_drawn(gamma, line, trials, rng), kept, value, middle, grown)
    return SplineErrors(*map(Estimate, value.tolist(), low.tolist(), high.tolist()))


def _errors(error: FloatArray, count: FloatArray) -> FloatArray:
    """Return mean, median, 90 % quantile and maximum of rows of errors (k, m): (k, 4)."""
    order = np.argsort(error, axis=1)
    ranked = np.take_along_axis(error, order, axis=1)
    share = np.cumsum(count[order], axis=1) / count.sum()
    found = [error @ count / count.sum()]
    for level in (_MEDIAN, _NINETY):
        at = (share < level - _ROUNDING).sum(axis=1, keepdims=True)
        found.append(np.take_along_axis(ranked, at, axis=1)[:, 0])
    return np.stack([*found, ranked[:, -1]], axis=1)


def _without_lean(gamma: SplineMap, trials: Trials) -> FloatArray:
    """Return the log-odds of Platt's line of what γ gives, (m,)."""
    line = gamma.log_odds_at(trials.offset.copy())
    order = np.argsort(line)
    calibrated = Trials(line[order], trials.count[order], trials.hits[order], line[order])
    intercept, slope = platt_line(calibrated)
    found: FloatArray = intercept + slope * line
    return found


def _drawn(
    gamma: SplineMap, line: FloatArray, trials: Trials, rng: np.random.Generator
) -> FloatArray:
    """Return the numbers of curves drawn from the posterior, which lie about a line, (DRAWS, 4)."""
    score = expit(trials.offset)
    found = [
        _errors(np.abs(expit(lines) - score), trials.count)
        for lines in drawn_curves(gamma, trials.offset, DRAWS, rng, about=line)
    ]
    return np.concatenate(found)


def _of_line(line: FloatArray, gamma: SplineMap, trials: Trials) -> tuple[FloatArray, FloatArray]:
    """Return the numbers of a line, and by how much they grow by the band's bias; 0 for Emax."""
    eta = trials.offset
    bias = 0.0 if gamma.bias is None else np.interp(eta, gamma.knots, gamma.bias)
    error, above, below = (np.abs(expit(line + b) - expit(eta)) for b in (0.0, bias, -bias))
    own, most = _errors(np.stack([error, np.maximum(above, below)]), trials.count)
    return own, np.append(most[:-1] - own[:-1], 0.0)


def _ends(
    drawn: FloatArray, kept: BoolArray, value: FloatArray, middle: FloatArray, growth: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return the ends of the intervals; the module's docstring says how.

    kept : draws that count as 0 for the lower end, (k,)
    middle : the numbers of what the draws lie about
    """
    excess = np.maximum(drawn.mean(axis=0) - middle, 0.0)
    low = np.quantile(np.where(kept[:, None], 0.0, drawn), LOW, axis=0) - excess
    high = np.quantile(drawn, HIGH, axis=0)
    high = value + np.hypot(np.maximum(high - value, 0.0), np.sqrt(0.5) * growth)
    return np.clip(low, 0.0, value), np.minimum(high, 1.0)
