r"""The default calibrator: a natural spline in log-odds, averaged over penalties by evidence.

Let :math:`\eta` be the log-odds of a score. Among rows with that score the hits are binomial with
the log-odds

.. math:: l(\eta) = \eta + a + d\,(\eta - c) + f(\eta) ,

a shift a, a change of slope d and a bend f. f is a natural cubic spline with the penalty
:math:`\sum_j w_j \int_j f''^2`, :math:`w_j` the width of piece j, so that it goes on straight
beyond the knots; it is scaled so that s is the root mean square of the bend over the rows,
weighted by their information n p (1 − p). a and d have the size o.

Both sizes are unknown, and all of them are averaged over, weighted by how well each explains the
outcomes (`ogive._numerics.evidence`). s = 0 is Platt's line and o = s = 0 leaves the scores as
they are: the average leans towards these unless the outcomes speak against them. As l is linear
in its coefficients, the average is one natural spline again.

``docs/theory/spline.md`` derives this from the cumulative curve, and gives the reasons for the
constants.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from ogive._numerics.blas import one_blas_thread
from ogive._numerics.evidence import LINE, Posterior, Prior, constrained_coefficients, posterior
from ogive._numerics.logistic import expit, logit
from ogive.calibrators.gain import gain_of_fit
from ogive.calibrators.grouped_trials import log_odds, trials_of
from ogive.calibrators.log_odds import NEAREST_TO_ONE, seen_ends, seen_range
from ogive.calibrators.platt import platt_line
from ogive.calibrators.spline_band import cut_of
from ogive.calibrators.spline_map import LIMIT, MIN_SLOPE, SplineMap
from ogive.calibrators.spline_problem import (
    MIN_ROWS,
    MIN_SCORES,
    PATH_SHIFT,
    WITHOUT_INFORMATION,
    distinct_scores,
    problem_of,
    rows_of,
)
from ogive.curve.curve import check_curve
from ogive.curve.keys import ROUNDS_TO_ONE
from ogive.errors import FallbackWarning, LooksLikeTrainingRows

if TYPE_CHECKING:
    from ogive._numerics.binomial import Trials
    from ogive._typing import FloatArray
    from ogive.calibrators.spline_problem import Axis, Problem
    from ogive.curve import Curve

#: Fewer rows are told apart without an error by chance, or by a good model.
MIN_ROWS_TO_SUSPECT = 100
# The prior of the sizes. Steps of 2 in s, of about 3 in o: with half the steps the error on
# simulated truths changes by less than 0.3 %, and by less than 0.2 % with PATH_SHIFT = 10.
BEND = np.concatenate([[0.0], 0.03 * 2.0 ** np.arange(10)])  # s: 0, 0.03 … 15.4 log-odds
SHIFT = np.array([0.0, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0])  # o, in log-odds
P_LINEAR = 0.3  # prior weight of s = 0: lines are common, but not more than bends
P_KEEP = 0.3  # prior weight of o = 0: so are calibrated scores
LARGE_BEND = 0.5  # log-odds; beyond, the weight of s falls as s^-3
LARGE_SHIFT = 1.0  # beyond, the weight of o falls as 1/o
LARGE_SHIFT_AGAIN = 0.3  # of scores fitted before: beyond, the weight of o falls as o^-3

ROWS_WORTH_PLATT = 20.0  # of the rarer outcome: with as many, Platt's line has half of the weight
NONE_SEEN_IS_WORTH = 0.5  # of a rarer outcome: Jeffreys' estimate of a count, where it was 0
# A rougher map shows most of the bias, not all of it. What its own noise hides of it is within
# that noise, or as much beyond as the distances of all knots are, or nearly those of a few.
BIAS_PER_DISTANCE = 1.4
BIAS_PER_DEVIATION = 0.8
NEAR_PER_ALL = 0.8
NEAR_KNOTS = 5
TAU = 1.0  # log-odds: how far beyond what was seen a slope is believed, unless of a line
EXACT = float(-logit(np.finfo(np.float64).eps))  # log-odds of the last score that is not exact
STEEP = 3.0  # a steeper line is treated as a matter of units, not as underconfidence


@cache
def _prior(bends: int, again: bool) -> Prior:
    """Return the prior with the first sizes of the bend.

    Flat in log s with a tail s^-3: without the tail, small separable samples, whose likelihood
    is flat in s, would choose wild bends. Flat in log o with a tail 1/o; or o^-3 if the scores
    were fitted before: then three errors that happen to have the lowest scores, which any
    steep line explains, are no reason for one.
    """
    tail = (1 + (BEND[1:] / LARGE_BEND) ** 2) ** -1.5
    if again:
        far = (1 + (SHIFT[1:] / LARGE_SHIFT_AGAIN) ** 2) ** -1.5
    else:
        far = (1 + (SHIFT[1:] / LARGE_SHIFT) ** 2) ** -0.5
    bend = np.concatenate([[P_LINEAR], (1 - P_LINEAR) * tail / tail.sum()])
    shift = np.concatenate([[P_KEEP], (1 - P_KEEP) * far / far.sum()])
    return Prior(BEND[:bends], bend[:bends], SHIFT, shift, PATH_SHIFT)


def fit_spline(curve: Curve, *, monotone: bool = False) -> SplineMap:
    """Fit the default calibrator to a curve.

    It has nothing to tune. The result lies strictly inside (0, 1) for every score, also for
    those never seen; it is the same for any order of the rows; and where the outcomes give no
    reason to change the scores, it nearly leaves them alone.

    Parameters
    ----------
    curve : Curve
    monotone : bool
        Make the map rise everywhere: it then keeps the order of the scores, up to ties.

    Returns
    -------
    SplineMap
        With a 95 % band (`band`), and a `summary` in words, which says to leave the scores alone
        where calibrating them gains nothing on rows left out. With fewer than 20 rows or 4
        distinct scores it is a line in log-odds, and a `FallbackWarning` says so.

    Examples
    --------
    >>> import numpy as np
    >>> from ogive import Curve
    >>> rng = np.random.default_rng(0)
    >>> truth = rng.uniform(size=5000)
    >>> scores = np.sqrt(truth)                         # too high
    >>> gamma = fit_spline(Curve.from_scores(scores, rng.uniform(size=5000) < truth))
    >>> gamma([0.5, 0.8]).round(2)                      # the truth is 0.25, 0.64
    array([0.24, 0.63])
    """
    with one_blas_thread():
        return _fit(check_curve(curve), monotone=monotone, again=False)


def fit_spline_again(curve: Curve, *, monotone: bool = False) -> SplineMap:
    """Fit scores that come from an earlier fit to the same outcomes.

    They are near the identity: the prior expects a smaller line than that of `fit_spline`, and
    there is no share of Platt's line, which would undo what was learnt from few rows.
    """
    with one_blas_thread():
        return _fit(check_curve(curve), monotone=monotone, again=True)


def _fit(curve: Curve, *, monotone: bool, again: bool) -> SplineMap:
    trials = trials_of(curve)
    rows, scores = rows_of(trials), distinct_scores(trials.offset)
    few = scores < MIN_SCORES or rows < MIN_ROWS
    if few:
        _warn_of(rows, scores)
    hit, missed = trials.offset[trials.hits > 0.0], trials.offset[trials.hits < trials.count]
    apart = hit.size > 0 and missed.size > 0 and hit.min() > missed.max()
    if apart and rows >= MIN_ROWS_TO_SUSPECT and not again:
        warnings.warn(
            f"{rows:,.10g} rows are told apart without an error, as the rows that a model was "
            "trained on are: what is fitted on them is wrong on others. Fit on rows that the model "
            "has not seen.",
            LooksLikeTrainingRows,
            stacklevel=3,
        )
    problem = problem_of(trials, straight=few)
    straight = problem.like.columns.shape[0] == LINE
    prior = _prior(1 if straight else BEND.size, again)
    found = posterior(problem.like, prior, problem.line)
    if monotone:
        rise = problem.spline.slopes() @ problem.to_values
        least = np.full(len(rise), MIN_SLOPE - 1.0)  # the identity has the slope 1
        found = found._replace(
            mean=constrained_coefficients(problem.like, found, prior, rise, least)
        )
    if not again:
        found = _with_platt(found, trials, problem, monotone=monotone)
    return _map(curve, trials, problem, found, monotone=monotone)


def _with_platt(found: Posterior, trials: Trials, problem: Problem, *, monotone: bool) -> Posterior:
    r"""Average the map with Platt's line, which counts for much where one outcome is rare.

    With few rows of one outcome, the prior decides where the line lies, and a model far from the
    identity is only half corrected. Platt's line needs no prior. The log loss is convex in l: that
    of the average exceeds Platt's by at most the share 1 − w of what the spline's does.
    """
    axis = problem.axis
    intercept, slope = platt_line(trials, axis.in_log_odds(problem.line))
    if monotone and slope < MIN_SLOPE:
        return found
    share = _share_of_platt(trials)
    line = np.zeros_like(found.mean)
    line[:LINE] = axis.line(intercept, slope)
    moved = share * (line - found.mean)
    spread: FloatArray = (1.0 - share) * found.spread
    spread[:LINE, :LINE] += share * _line_covariance(trials, intercept, slope, axis)
    covariance = found.covariance.copy()
    covariance += np.outer(moved, moved)  # it is about the mean
    return found._replace(mean=found.mean + moved, covariance=covariance, spread=spread)


def _line_covariance(trials: Trials, intercept: float, slope: float, axis: Axis) -> FloatArray:
    """Return the covariance (2, 2) of (a, d) of a line: the inverse of their information."""
    p = expit(intercept + slope * trials.offset)
    X = axis.columns(trials.offset)
    info = (X.T * (trials.count * p * (1.0 - p))) @ X
    return np.linalg.pinv(info, rcond=WITHOUT_INFORMATION, hermitian=True).astype(np.float64)


def _share_of_platt(trials: Trials) -> float:
    """Return w = 20 / (20 + r), r the rows of the rarer outcome.

    If there are none, a shift is all that Platt's method can find, and it is right only where
    the scores expected some: with e of them expected, w = (e + ½) / (e + ½ + 1).
    """
    hits, rows = float(trials.hits.sum()), float(trials.count.sum())
    rarer = min(hits, rows - hits)
    if rarer > 0:
        return ROWS_WORTH_PLATT / (ROWS_WORTH_PLATT + rarer)
    expected = float(trials.count @ expit(-trials.offset if hits else trials.offset))
    odds = expected + NONE_SEEN_IS_WORTH
    return odds / (1.0 + odds)


def _warn_of(rows: float, scores: int) -> None:
    what = f"{rows:.4g} rows" if rows < MIN_ROWS else f"{scores} distinct scores"
    warnings.warn(
        f"the curve has {what}, and a bend needs {MIN_ROWS} rows and {MIN_SCORES} scores: "
        "'spline' fits a line in log-odds.",
        FallbackWarning,
        stacklevel=4,
    )


def _map(
    curve: Curve, trials: Trials, problem: Problem, found: Posterior, *, monotone: bool
) -> SplineMap:
    """Build the map."""
    knots, to_values = problem.spline.knots, problem.to_values
    ends, seen = seen_ends(curve), seen_range(curve)
    low = np.tril(to_values @ found.covariance @ to_values.T)
    draft = SplineMap(
        view=curve.view,
        n=curve.n,
        knots=knots,
        values=knots + to_values @ found.mean,
        covariance=low + np.tril(low, -1).T,
        bias=_bias(problem, found),
        certain=None,
        cut=None,  # to come
        edf=max(found.edf, 0.0),  # rounding may leave a trace below 0
        keep=float(found.weight[0, 0]),
        linear=min(float(found.weight[0].sum()), 1.0),
        bend=float(found.weight.sum(axis=1) @ BEND[: len(found.weight)]),
        monotone=bool(monotone),
        **seen,
        **_slopes_beyond(problem, found, monotone=monotone),
        tau=TAU,
        # An exact 0 or 1 that was not seen counts as `EXACT`.
        lowest=max(ends["lowest"], min(seen["first"], -EXACT)),
        highest=min(ends["highest"], max(seen["last"], EXACT)),
        one=0.0,  # this and what follows: to come
        at_one=0.5,
        shift=0.0,
        moved=0.0,
    )
    one, at_one = _at_one(curve, draft)
    gain = gain_of_fit(problem.like, trials, found.mean, found.spread, curve)
    change = expit(problem.like.logit(found.mean)) - expit(trials.offset)
    rows = float(trials.count.sum())
    shift, moved = (float(trials.count @ part) / rows for part in (change, np.abs(change)))
    cut = cut_of(draft, trials)
    return replace(draft, cut=cut, one=one, at_one=at_one, shift=shift, moved=moved, **gain)


def _bias(problem: Problem, found: Posterior) -> FloatArray:
    """Return how far smoothing may have moved the map, (K,), at each knot.

    A rougher map has a smaller bias. What it shows is its distance from the map; where waves cross
    0, the root mean square over a knot and its neighbours. It counts as far as the outcomes speak
    against a line, which has no such bias. What it hides lies within its deviation; or beyond, if
    the distances in deviations are larger, on average over all knots or over those near by.
    """
    if len(found.weight) == 1:
        return np.zeros(problem.spline.knots.size)
    to_values, rougher = problem.to_values, found.rougher
    square = (to_values @ (found.mean - rougher.mean)) ** 2
    known, hidden = (
        np.einsum("ij,ij->i", to_values @ part, to_values)
        for part in (found.covariance, rougher.covariance)
    )
    real = np.finfo(np.float64)
    ratio = square / (hidden + real.eps * square + real.tiny)
    ratio = np.maximum(ratio.mean(), NEAR_PER_ALL * _means_around(ratio, NEAR_KNOTS))
    hidden *= np.maximum(BIAS_PER_DEVIATION**2, BIAS_PER_DISTANCE**2 * ratio)
    bent = max(1.0 - float(found.weight[0].sum()) / P_LINEAR, 0.0)
    shown = bent * BIAS_PER_DISTANCE**2 * np.maximum(square, _means_around(square, 3))
    result: FloatArray = np.sqrt(np.maximum(hidden - known, shown))
    return result


def _means_around(values: FloatArray, width: int) -> FloatArray:
    """Return means over so many neighbours, (K,); at the ends over those that there are."""
    ones = np.ones(min(width, values.size))
    sums = np.convolve(values, ones, "same")
    result: FloatArray = sums / np.convolve(np.ones_like(values), ones, "same")
    return result


def _slopes_beyond(problem: Problem, found: Posterior, *, monotone: bool) -> dict[str, float]:
    """Return `below`, `above` and `rise`: the slopes at the ends, cut to [0, most], and the line's.

    The bend is orthogonal to lines in the information: 1 + d / unit is the slope b of the line
    nearest to the map, and `most` = min(b, max(1, b / 3)).
    """
    least = MIN_SLOPE if monotone else 0.0
    rise = max(1.0 + float(found.mean[1]) / problem.axis.unit, least)
    most = min(rise, max(1.0, rise / STEEP))
    slopes = problem.spline.slopes()[[0, problem.spline.knots.size - 1]] @ problem.to_values
    below, above = np.clip(1.0 + slopes @ found.mean, least, most).tolist()
    return {"below": below, "above": above, "rise": rise}


def _at_one(curve: Curve, gamma: SplineMap) -> tuple[float, float]:
    """Return the log-odds and the probability that a score of exactly 1.0 stands for.

    They are means over the rows that round to 1.0, or belong to the nearest log-odds that does.
    """
    rows, total, above, least = 0.0, 0.0, 0.0, None
    if curve.share_below_one() < 1.0:
        place = curve.placed_tail(True)
        for run in curve.runs():
            if run.high and run.tail[-1] <= ROUNDS_TO_ONE:
                ones = run.tail <= ROUNDS_TO_ONE
                count = np.broadcast_to(run.count, ones.shape)[ones]
                eta = log_odds(run, place)[ones]
                value = gamma.from_log_odds(eta)
                least = float(value[0]) if least is None else least
                rows += float(count.sum())
                total += float(count @ eta)
                above += float(count @ (value - least))
    if least is None:
        one = min(max(NEAREST_TO_ONE, gamma.lowest), gamma.highest)
        return one, float(gamma.from_log_odds(one))
    # The mean as a rise over the first: exact where all are equal, and never below it in order.
    inside = np.clip(least + above / rows, *expit(np.array([-LIMIT, LIMIT])))
    return total / rows, float(inside)
