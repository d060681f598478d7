"""The knots of the default spline, and the coordinates in which it is fitted.

``docs/theory/spline.md`` gives the reasons for the constants.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ogive._numerics.binomial import Likelihood, Trials
from ogive._numerics.evidence import LINE
from ogive._numerics.logistic import expit, same_score
from ogive._numerics.natural_spline import NaturalSpline

if TYPE_CHECKING:
    from ogive._typing import FloatArray

PATH_SHIFT = 3.0  # o at which modes are found

#: Inner knots: 24 (rows / 25,000)^(1/4) within these, faster than smooth truths ask for.
KNOTS = (24, 64)
KNOT_ROWS = 25_000
MIN_GAP = 0.01  # least distance of knots: in log-odds or, if larger, in their deviation
MIN_ROWS = 20  # with fewer rows, or fewer scores than this, no bend is fitted
MIN_SCORES = 4
MIN_KNOTS = 3
LEAST_HALF_WIDTH = 2e-6  # of the knots of a line: artifacts hold knots that are 1e-6 apart
WITHOUT_INFORMATION = 1e-12  # of all information: a smaller share counts as none


class Problem(NamedTuple):
    """The regression: coordinates (a, d, r), and how they become values at the knots."""

    spline: NaturalSpline
    to_values: FloatArray  # (K, d)
    like: Likelihood
    line: FloatArray  # (2,) a and d of the likeliest line
    axis: Axis


class Axis(NamedTuple):
    """The coordinates of lines: l = η + a + d (η − centre) / unit."""

    centre: float  # c: the mean log-odds, weighted by information
    unit: float  # 1, or the largest distance from it where all are closer than that

    def line(self, intercept: float, slope: float) -> FloatArray:
        """Return (a, d) of the line intercept + slope η."""
        change = slope - 1.0
        return np.array([intercept + change * self.centre, change * self.unit])

    def in_log_odds(self, line: FloatArray) -> tuple[float, float]:
        """Return the intercept and the slope of the line (a, d)."""
        change = float(line[1]) / self.unit
        return float(line[0]) - change * self.centre, 1.0 + change

    def columns(self, eta: FloatArray) -> FloatArray:
        """Return what a and d count at log-odds (m,), (m, 2)."""
        return np.stack([np.ones_like(eta), (eta - self.centre) / self.unit], 1)


def rows_of(trials: Trials) -> float:
    """Return the number of rows, rounded, as scaled sampling weights add rounding errors."""
    return round(float(trials.count.sum()), 6)


def distinct_scores(eta: FloatArray) -> int:
    """Return the number of distinct log-odds; those that differ only by rounding count once."""
    return 1 + int((np.diff(eta) > same_score(float(eta[0]), float(eta[-1]))).sum())


def problem_of(trials: Trials, *, straight: bool) -> Problem:
    """Choose knots and coordinates, (a, d) alone if `straight`; write the likelihood in them."""
    info, line = _information(trials)
    axis = _axis(trials.offset, info)
    knots = _knots(trials, info)
    if straight or knots.size < MIN_KNOTS:
        eta = trials.offset
        knots = _knots_of_line(float(eta[0]), float(eta[-1]))
        spline = NaturalSpline(knots)
        to_values, columns = axis.columns(knots), axis.columns(eta)
        hit = trials.hits @ axis.columns(trials.offset_hit)
    else:
        spline = NaturalSpline(knots)
        to_values, columns = _coordinates(spline, trials, info, axis)
        hit = spline.basis_sum(trials.offset_hit, trials.hits) @ to_values
    start = axis.line(*line.tolist())
    return Problem(spline, to_values, Likelihood(trials, columns, hit), start, axis)


def _information(trials: Trials) -> tuple[FloatArray, FloatArray]:
    """Return each row's share of the information n p (1 − p), p from a line.

    And the line: its intercept and its slope.
    """
    axis = _axis(trials.offset, trials.count / trials.count.sum())
    hit = trials.hits @ axis.columns(trials.offset_hit)
    like = Likelihood(trials, axis.columns(trials.offset), hit)
    line = like.ascend(like.point(np.zeros(2)), np.full(2, PATH_SHIFT**-2)).coef
    p = expit(like.logit(line))
    info: FloatArray = trials.count * p * (1 - p) + WITHOUT_INFORMATION * trials.count
    info /= info.sum()
    return info, np.array(axis.in_log_odds(line))


def _axis(eta: FloatArray, share: FloatArray) -> Axis:
    """Return the coordinates of lines, for rows that have these shares of the whole."""
    first, last = float(eta[0]), float(eta[-1])
    centre = min(max(float(share @ eta), first), last)
    if last - first <= same_score(first, last):
        return Axis(centre, 1.0)
    return Axis(centre, min(1.0, max(last - centre, centre - first)))


def _knots(trials: Trials, info: FloatArray) -> FloatArray:
    """Return knots at both ends, and at fractiles of the mean of two clocks between them.

    The clocks are the count and the information. A natural spline is straight beyond its last knot:
    knots at the ends let it bend as far as there are rows.
    """
    eta, rows = trials.offset, rows_of(trials)
    clock = trials.count / trials.count.sum() + info
    time = (np.cumsum(clock) - clock / 2) / 2
    m = int(KNOTS[0] * (rows / KNOT_ROWS) ** 0.25)
    m = min(max(m, KNOTS[0]), KNOTS[1], max(distinct_scores(eta) - 2, 1))
    places = np.interp((np.arange(m) + 0.5) / m, time, eta)
    deviation = float(np.sqrt(info @ (eta - info @ eta) ** 2))
    gap = MIN_GAP * max(1.0, deviation)
    return _apart(float(eta[0]), places, float(eta[-1]), gap)


def _apart(first: float, places: FloatArray, last: float, gap: float) -> FloatArray:
    """Return the ends, and the places that are further than the gap from those kept before.

    Places are taken from both ends inwards, in turn: the mirror image has mirrored knots, so that
    a class and its complement get the same map. Two that meet in the middle become one.
    """
    low, high = [first], [last]
    if last - first <= gap:
        return np.array(low)
    half = (places.size + 1) // 2
    for a, b in zip(places[:half], places[::-1][:half], strict=True):
        if a >= b or (_fits(low, a, high, gap) and _fits(low, b, high, gap) and b - a <= gap):
            middle = (a + b) / 2.0
            low += [middle] if _fits(low, middle, high, gap) else []
            break
        keeps = _fits(low, a, high, gap), _fits(low, b, high, gap)
        low += [a] if keeps[0] else []
        high += [b] if keeps[1] else []
    return np.array(low + high[::-1])


def _fits(low: list[float], place: float, high: list[float], gap: float) -> bool:
    return place - low[-1] > gap and high[-1] - place > gap


def _knots_of_line(first: float, last: float) -> FloatArray:
    """Return knots for a line: close to the log-odds, so that a steep line loses no digits."""
    half = max((last - first) / 2.0, LEAST_HALF_WIDTH)
    return (first + last) / 2.0 + half * np.array([-1.0, 0.0, 1.0])


def _coordinates(
    spline: NaturalSpline, trials: Trials, info: FloatArray, axis: Axis
) -> tuple[FloatArray, FloatArray]:
    """Return matrices from coordinates (a, d, r) to values at the knots, and at the trials.

    r are the penalty's eigenvectors, each divided by the root of its eigenvalue: their prior is
    N(0, s²) alike. They are made orthogonal to lines in the information, and scaled so that the
    bend has the root mean square s.
    """
    line = axis.columns(spline.knots)
    value, vector = np.linalg.eigh(spline.penalty())
    bends = vector[:, 2:] / np.sqrt(np.maximum(value[2:], 1e-12 * value[-1]))
    matrix = np.hstack([line, bends]).T  # (d, K)
    columns = matrix @ spline.basis(trials.offset).T  # (d, m)
    # The two lines are orthogonal in the information, since the centre is its mean.
    products = columns @ (columns[:LINE] * info).T  # (d, 2)
    share = products[LINE:] / np.maximum(products.diagonal(), np.finfo(np.float64).tiny)
    for each in (matrix, columns):
        each[LINE:] -= share @ each[:LINE]
    size = np.sqrt((columns[LINE:] ** 2 @ info).sum())
    for each in (matrix, columns):
        each[LINE:] /= max(size, WITHOUT_INFORMATION)
    return matrix.T, columns.T
