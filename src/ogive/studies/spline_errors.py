r"""How far scores are from the default spline γ: ICI, with an interval, E50, E90 and Emax.

They are the mean, median, 90 % quantile and maximum of :math:`|\gamma(p) - p|` over the rows
(Austin and Steyerberg 2019, Harrell's val.prob), without a bandwidth or a number of bins.

**The interval.** γ leans towards leaving the scores alone, also where all of them are off alike by
a few standard errors, so that it shows too little of such an error. Platt's line has no prior: that
of what γ gives, :math:`\gamma_0 = \mathrm{sigmoid}(a + b \operatorname{logit} \gamma)`, keeps γ's
bends and does not lean. Curves are drawn from the posterior of γ, and moved to lie about
:math:`\gamma_0`.

Noise makes a fitted curve rougher than the truth, hence its errors larger, and drawn curves rougher
than :math:`\gamma_0` by as much again. So the lower end lies as far below the number :math:`v_0` of
:math:`\gamma_0` as the upper quantile u of the draws lies above it. With l their lower quantile,
where a draw counts as 0 with the weight that the posterior gives to leaving the scores alone, it is

.. math:: \max(2 v_0 - u,\ l / 2), \quad \text{at most } l,

so that it is 0 only where the scores may be perfectly calibrated.

Smoothing makes bends flatter, so the truth is more often above the number than below. With d the
distance of u from the number v, and b by how much :math:`v_0` grows if every row's error grows by
the bias that the band allows for, the upper end is

.. math:: v + \sqrt{d^2 + b^2 / 2} .

Half of the squared bias, as smoothing moves some rows away from their score, not towards it.

Only ICI, a mean over all rows, has an interval that holds: those of E50, E90 and Emax held the
truth in as few as 19, 60 and 4 % of samples where part of the scores is right, the truth has a
jump, or the last few scores are off most.
``docs/theory/numbers.md`` has the coverage.
"""

from __future__ import annotations

from math import hypot, nan, sqrt
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
    """How far the scores are from the default spline, over the rows.

    They are fractions; ``ici`` has an interval, and the ends of the others are NaN.
    """

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

    γ is the default spline, fitted to the curve: there is no bandwidth to choose. Only ICI has an
    interval.

    Parameters
    ----------
    curve : Curve, or array-like (N,)
        A curve, or scores in [0, 1].
    outcomes, sample_weight, weight_kind : optional
        Of scores, as in `Curve.from_scores`.
    random_state : int
        Of the draws that the interval is made from.

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
    value, *others = _errors(np.abs(gamma.from_tails(curve.high, curve.tail) - curve.score), curve)
    trials, rng = trials_of(curve), np.random.default_rng(random_state)
    line, score, share = _without_lean(gamma, trials), expit(trials.offset), trials.count
    share = share / share.sum()
    bias = 0.0 if gamma.bias is None else np.interp(trials.offset, gamma.knots, gamma.bias)
    error, above, below = (np.abs(expit(line + b) - score) for b in (0.0, bias, -bias))
    middle = float(share @ error)
    kept = rng.random(DRAWS) < gamma.keep
    curves = drawn_curves(gamma, trials.offset, DRAWS, rng, about=line)
    drawn = np.concatenate([np.abs(expit(lines) - score) @ share for lines in curves])
    ends = _ends(drawn, kept, value, middle, float(share @ np.maximum(above, below)) - middle)
    return SplineErrors(Estimate(value, *ends), *(Estimate(one, nan, nan) for one in others))


def _errors(error: FloatArray, curve: Curve) -> list[float]:
    """Return mean, median, 90 % quantile and maximum of the rows' errors."""
    order = np.argsort(error)
    ranked, share = error[order], np.cumsum(curve.count[order]) / curve.n
    at = np.searchsorted(share, np.array([_MEDIAN, _NINETY]) - _ROUNDING)
    return [float(error @ curve.count) / curve.n, *ranked[at].tolist(), float(ranked[-1])]


def _without_lean(gamma: SplineMap, trials: Trials) -> FloatArray:
    """Return the log-odds of Platt's line of what γ gives, (m,)."""
    line = gamma.log_odds_at(trials.offset.copy())
    order = np.argsort(line)
    calibrated = Trials(line[order], trials.count[order], trials.hits[order], line[order])
    intercept, slope = platt_line(calibrated)
    found: FloatArray = intercept + slope * line
    return found


def _ends(
    drawn: FloatArray, kept: BoolArray, value: float, middle: float, growth: float
) -> tuple[float, float]:
    """Return the ends of the interval; the module's docstring says how.

    kept : draws that count as 0 for the lower end, (k,)
    middle : the number of what the draws lie about
    """
    least = float(np.quantile(np.where(kept, 0.0, drawn), LOW))
    most = float(np.quantile(drawn, HIGH))
    low = min(max(2.0 * middle - most, least / 2.0), least, value)
    high = value + hypot(max(most - value, 0.0), sqrt(0.5) * growth)
    return low, min(high, 1.0)
