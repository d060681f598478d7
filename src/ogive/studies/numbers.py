r"""Numbers that other fields ask for, beside those of every measurement.

`ogive.metrics.line` has the O/E ratio, the intercept and the slope. This file has what needs a
calibrator, always the default spline γ, so that no bandwidth or number of bins is chosen:

- **ICI, E50, E90, Emax** (Austin and Steyerberg 2019, Harrell's val.prob): mean, median, 90 %
  quantile and maximum of :math:`|\gamma(p) - p|` over the rows.
- **Refinement**: the log loss after calibration, each row calibrated by a spline fitted without it.
  No calibrator can lower it by much, so models are best selected by it.

**Intervals of ICI, E50, E90 and Emax.** The posterior of γ is drawn from: with the weight that it
gives to leaving the scores alone a draw is 0, else it is the number of a drawn curve. Noise makes
every drawn curve rougher, hence its errors larger; the lower end is therefore moved down by the
mean excess of drawn curves over γ's own number. It is 0 where the scores may be perfectly
calibrated. Smoothing makes γ's bends flatter, so the truth is more often above the number than
below: with d the distance of the drawn curves' upper quantile from the number v, and b by how much
v grows if every row's error grows by the bias that the band allows for, the upper end is

.. math:: v + \sqrt{d^2 + b^2 / 2} .

Half of the squared bias, as smoothing moves some rows away from their score, not towards it. Emax
has b = 0: it would be the bias at the very last score, of which one row says next to nothing.
γ leans towards leaving the scores alone, also where all of them are off alike by a few standard
errors, and then its draws do too. So the upper end is at least that of straight lines in log-odds,
drawn about Platt's, which has no prior. ``docs/numbers.md`` has the coverage.

**The interval of the refinement loss** is that of a mean of two parts, the losses of outcomes 1 and
of outcomes 0: each is a share of rows times a size (`ogive._numerics.mean_interval`), so that a few
rare outcomes have the interval of a count. Splines fitted to four fifths of the rows lose more than
the best one, those fitted to all rows lose less on these very rows: the lower end is moved down by
the difference.
"""

from __future__ import annotations

from math import nan
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ogive._html import record_form
from ogive._numerics.blas import one_blas_thread
from ogive._numerics.logistic import expit
from ogive._numerics.mean_interval import ByCluster, Part, mean_interval
from ogive._numerics.natural_spline import NaturalSpline
from ogive._wording import percent
from ogive.calibrators.grouped_trials import trials_of
from ogive.calibrators.platt import platt_line
from ogive.curve.curve import as_curve
from ogive.curve.folds import folds
from ogive.metrics.line import (
    HIGH,
    LOW,
    Estimate,
    calibration_intercept,
    calibration_slope,
    oe_ratio,
)
from ogive.metrics.proper import CLIP
from ogive.studies.fitted_on import FOLDS
from ogive.studies.where_off import ranges_off, spline_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ogive._numerics.binomial import Trials
    from ogive._typing import ArrayLike, FloatArray, WeightKind
    from ogive.calibrators.spline_map import SplineMap
    from ogive.curve import Curve
    from ogive.studies.where_off import RangeOff

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
    trials = trials_of(curve)
    rng = np.random.default_rng(random_state)
    drawn = _drawn(gamma, trials, rng)
    low, high = _ends(drawn, value, _growth(gamma, trials))
    high = np.maximum(high, _highest_of_lines(trials, rng))
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


def _drawn(gamma: SplineMap, trials: Trials, rng: np.random.Generator) -> FloatArray:
    """Return the numbers of curves drawn from the posterior, (DRAWS, 4); NaN for "as they are"."""
    score = expit(trials.offset)
    kept = rng.random(DRAWS) < gamma.keep
    found = [
        _errors(np.abs(expit(lines) - score), trials.count)
        for lines in drawn_curves(gamma, trials.offset, DRAWS, rng)
    ]
    return np.where(kept[:, None], np.nan, np.concatenate(found))


def drawn_curves(
    gamma: SplineMap, eta: FloatArray, draws: int, rng: np.random.Generator
) -> Iterator[FloatArray]:
    """Yield calibrated log-odds of curves drawn from the posterior, (k, m), a few MB at a time."""
    value, vector = np.linalg.eigh(gamma.covariance)
    root = vector * np.sqrt(np.maximum(value, 0.0))
    inside = np.clip(eta, gamma.knots[0], gamma.knots[-1])
    moved = NaturalSpline(gamma.knots).basis(inside) @ root
    yield from _around(gamma.log_odds_at(eta.copy()), moved, draws, rng)


def _around(
    middle: FloatArray, moved: FloatArray, draws: int, rng: np.random.Generator
) -> Iterator[FloatArray]:
    """Yield draws about `middle`, (m,), each moved by standard normals times `moved`, (m, d)."""
    for at in np.array_split(np.arange(draws), min(draws, max(1, middle.size // 64))):
        yield middle + rng.standard_normal((at.size, moved.shape[1])) @ moved.T


def _highest_of_lines(trials: Trials, rng: np.random.Generator) -> FloatArray:
    """Return the upper ends of the numbers of lines drawn about Platt's, (4,)."""
    eta = trials.offset
    intercept, slope = platt_line(trials)
    line = intercept + slope * eta
    p = expit(line)
    X = np.column_stack([np.ones_like(eta), eta])
    covariance = np.linalg.pinv((X.T * (trials.count * p * (1.0 - p))) @ X, hermitian=True)
    value, vector = np.linalg.eigh(covariance)
    moved = X @ (vector * np.sqrt(np.maximum(value, 0.0)))
    score = expit(eta)
    drawn = [
        _errors(np.abs(expit(lines) - score), trials.count)
        for lines in _around(line, moved, DRAWS, rng)
    ]
    result: FloatArray = np.quantile(np.concatenate(drawn), HIGH, axis=0)
    return result


def _growth(gamma: SplineMap, trials: Trials) -> FloatArray:
    """Return by how much the numbers grow if all errors grow by the band's bias; 0 for Emax."""
    eta = trials.offset
    bias = 0.0 if gamma.bias is None else np.interp(eta, gamma.knots, gamma.bias)
    line = gamma.log_odds_at(eta.copy())
    error, above, below = (np.abs(expit(line + b) - expit(eta)) for b in (0.0, bias, -bias))
    found = _errors(np.stack([error, np.maximum(above, below)]), trials.count)
    return np.append(found[1, :-1] - found[0, :-1], 0.0)


def _ends(
    drawn: FloatArray, value: FloatArray, growth: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return the ends of the intervals; the module's docstring says how."""
    kept = np.isnan(drawn[:, 0])
    excess = drawn[~kept].mean(axis=0) - value if not kept.all() else np.zeros(4)
    low, high = np.quantile(np.where(kept[:, None], 0.0, drawn), (LOW, HIGH), axis=0)
    low = np.clip(low - np.maximum(excess, 0.0), 0.0, value)
    high = value + np.hypot(np.maximum(high - value, 0.0), np.sqrt(0.5) * growth)
    return low, np.minimum(high, 1.0)


@one_blas_thread()
def refinement(
    curve: Curve | ArrayLike,
    outcomes: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
    weight_kind: WeightKind = "repetition",
    cv: int = FOLDS,
    random_state: int = 0,
) -> Estimate:
    """Return the refinement loss: the log loss after cross-fitted calibration.

    It is what calibration cannot repair. Of two models the one with the lower refinement loss is
    the better one once both are calibrated, whatever their calibration errors are now.

    Parameters
    ----------
    curve : Curve, or array-like (N,)
        A curve, or scores in [0, 1].
    outcomes, sample_weight, weight_kind : optional
        Of scores, as in `Curve.from_scores`.
    cv, random_state : int
        How many parts, and what deals the rows to them at random. Each part is calibrated by the
        default spline, fitted to the others.

    Returns
    -------
    Estimate
        NaN where the rows are too few to be dealt to two parts.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> scores = rng.random(4000)
    >>> outcomes = rng.random(4000) < scores
    >>> [round(refinement(s, outcomes).value, 2) for s in (scores, scores**4)]
    [0.51, 0.51]
    """
    curve = as_curve(curve, outcomes, sample_weight=sample_weight, weight_kind=weight_kind)
    sums = np.zeros((2, 2))  # of w loss and w² loss², of outcomes 1 and 0
    of_clusters = []  # w loss and w of each
    expected = 0.0
    for rest, part in folds(curve, cv, random_state=random_state):
        p, (hit, miss) = _losses(spline_of(rest), part)
        expected += float(part.count @ p)
        rows = (part.hits, part.count - part.hits)
        squares = (part.square_hits, part.square - part.square_hits)
        for own, loss, w, square in zip(sums, (hit, miss), rows, squares, strict=True):
            own += [w @ loss, square @ loss**2]
        if part.clusters is not None:
            of_clusters.append((part.clusters.sums(hit, miss), part.clusters.weight))
    if not expected:
        return Estimate(nan, nan, nan)
    n = float(curve.n)
    sizes = -np.log(expected / n), -np.log1p(-expected / n)
    parts = [
        (1.0, Part(own[0], own[1], size)) for own, size in zip(sums.tolist(), sizes, strict=True)
    ]
    clusters = None
    if of_clusters:
        clusters = ByCluster(*map(np.concatenate, zip(*of_clusters, strict=True)))
    how: Any = {"clusters": clusters}
    value, low, high = map(float, mean_interval(parts, n, float(curve.effective_n), **how))
    _, (hit, miss) = _losses(spline_of(curve), curve)
    seen = float(curve.hits @ hit + (curve.count - curve.hits) @ miss) / n
    return Estimate(value, max(low - max(value - seen, 0.0), 0.0), high)


def _losses(gamma: SplineMap, curve: Curve) -> tuple[FloatArray, tuple[FloatArray, FloatArray]]:
    """Return calibrated scores, and the log loss of outcomes 1 and 0 at each."""
    p = np.clip(gamma.from_tails(curve.high, curve.tail), CLIP, 1.0 - CLIP)
    return p, (-np.log(p), -np.log1p(-p))


class Number(NamedTuple):
    """One of the numbers, for people: its key in JSON, its name, and what it means."""

    key: str
    name: str
    value: float
    low: float
    high: float
    percent: bool
    meaning: str

    def shown(self) -> tuple[str, str]:
        """Return value and interval as words; rows that fitted a calibrator have no interval."""
        value = self._word(self.value)
        if np.isnan(self.low):
            return value, "unknown" if np.isnan(self.value) else "withheld"
        return value, f"{self._word(self.low)} … {self._word(self.high)}"

    def _word(self, value: float) -> str:
        if np.isnan(value):
            return "unknown"
        if np.isinf(value):
            return "∞" if value > 0 else "-∞"
        return percent(value) if self.percent else f"{value:.4f}"


#: Key, name, whether it is a share shown in percent, and one sentence.
NUMBERS = (
    (
        "oe_ratio",
        "O/E ratio",
        False,
        "Outcomes observed over outcomes expected. 1 is right; below 1 the scores are too high.",
    ),
    (
        "intercept",
        "intercept",
        False,
        "Calibration-in-the-large: the shift of log-odds that makes the mean right. 0 is right.",
    ),
    (
        "slope",
        "slope",
        False,
        "Cox's calibration slope. 1 is right; below 1 the scores are too extreme.",
    ),
    ("ici", "ICI", True, "Mean distance of the scores from the fitted curve."),
    ("e50", "E50", True, "Median distance from the fitted curve."),
    ("e90", "E90", True, "Distance from the fitted curve that 90 % of the rows do not exceed."),
    ("emax", "Emax", True, "Largest distance at any score seen; few rows make it large."),
    (
        "refinement",
        "refinement loss",
        False,
        "Log loss after cross-fitted calibration: what calibration cannot repair.",
    ),
)
#: The words where there is no number.
UNKNOWN = {
    "oe_ratio": "Unknown: all scores are 0, so that no outcome is expected.",
    "intercept": "Infinite: all outcomes are equal, and no shift makes that mean.",
    "slope": "No finite slope: all outcomes or all scores are equal, or a score separates them.",
    "refinement": "Unknown: too few rows to calibrate some by the others.",
}


def belt_of(curve: Curve) -> tuple[RangeOff, ...]:
    """Return where the calibration belt, a simultaneous band, leaves out the score itself."""
    return tuple(ranges_off(curve, spline_of(curve), simultaneous=True))


def numbers_of(curve: Curve, *, random_state: int = 0) -> tuple[Number, ...]:
    """Return all numbers of a curve, in order."""
    found = (
        oe_ratio(curve),
        calibration_intercept(curve),
        calibration_slope(curve),
        *spline_errors(curve, random_state=random_state),
        refinement(curve, random_state=random_state),
    )
    return tuple(
        Number(key, name, *one, share, meaning if np.isfinite(one.value) else UNKNOWN[key])
        for (key, name, share, meaning), one in zip(NUMBERS, found, strict=True)
    )
