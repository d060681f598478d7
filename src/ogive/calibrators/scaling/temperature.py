r"""Temperature scaling: one factor for all logits, at its exact optimum.

With u the logits of a row minus its largest and y its true class, the factor b = 1/T minimises

.. math:: f(b) = \sum_i w_i \Big[ \log \sum_k e^{b u_{ik}} - b\, u_{i y_i} \Big],

which is convex: f' is the weighted sum of mean minus own value, f'' that of the variances, both
under softmax(b u). Newton's method in a bracket finds its only minimum whatever the scale.

Two kinds of data have no minimum inside b > 0, and get a bound that follows their scale:

* every true class is (one of) the largest of its row: f falls for ever. b is then where f is
  log 2 above its limit: the rows together are worth less than one undecided row.
* f rises from 0 on: the classes rank worse than chance. b is then 0.001 / (largest distance
  between two logits): all but uniform, and the ranking is kept.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np

from ogive._numerics.blas import one_blas_thread
from ogive._numerics.blocks import BLOCK, blocks, for_each_block
from ogive._numerics.increasing_root import increasing_root
from ogive.calibrators import log_values
from ogive.calibrators.log_values import (
    enough_digits,
    row_count,
    weight_scale,
    with_floor,
    zero_floor,
)
from ogive.calibrators.matrix_map import MatrixMap
from ogive.rows.predictions import labelled

if TYPE_CHECKING:
    from collections.abc import Callable

    from ogive._typing import AnyArray, DTypeLike, FloatArray
    from ogive.rows.predictions import Predictions

_NEARLY_UNIFORM = 1e-3
_MIN_DIFFERENCE = 1e-100  # logits that differ by less count as equal: their squares underflow
MIN_PRECISION_FOR_OPTIMUM = 100.0  # of log b: then the average is 1 % from the optimum, or nearer
_NODES, _NODES_NEAR = 49, 33  # of the sum over log b: from end to end, and around the optimum
_END_ABOVE_OPTIMUM = 3.0  # of the sum, in log b: there nearly all rows are decided
_DEVIATIONS = 6.0  # of log b on either side of the optimum
_MINUS_INFINITY = -1e30  # a finite stand-in: its mass is 0, and 0 times it is 0


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class TemperatureMap(MatrixMap):
    """softmax(factor · logits): what `fit_temperature` returns.

    Attributes
    ----------
    factor : float
        b = 1/T, always positive.
    floor : float or None
        Where the logarithm of a probability of exactly 0 is put; None leaves it at −inf.
    """

    method: ClassVar[str] = "temperature"

    factor: float
    floor: float | None

    @property
    def temperature(self) -> float:
        """T = 1 / factor: above 1 if the model was overconfident."""
        return 1.0 / self.factor

    def _block(self, preds: Predictions, at: slice) -> FloatArray:
        masses = _gaps(preds, at, self.floor)
        masses *= self.factor
        np.exp(masses, out=masses)
        masses /= masses.sum(axis=1, keepdims=True)
        return masses

    def __repr__(self) -> str:
        return f"TemperatureMap(T={self.temperature:.4g}, K={self.K}, n={self.n:,})"


def fit_temperature(preds: Predictions, *, n_jobs: int | None = None) -> TemperatureMap:
    """Fit the one factor that makes the labels most likely.

    Parameters
    ----------
    preds : Predictions
        With labels. From logits nothing saturates. In probabilities an exact 0 is read as half
        the smallest positive one. A logit of −inf stays probability 0: a row whose own class
        has it says nothing about the temperature, and is left out.
    n_jobs : int, optional

    Returns
    -------
    TemperatureMap
        Its `temperature` is T; calling it on predictions gives (N, K) probabilities.

    Examples
    --------
    >>> from ogive import Predictions
    >>> preds = Predictions([[4.0, 0.0], [4.0, 0.0], [0.0, 4.0], [0.0, 4.0]], [0, 1, 1, 1],
    ...                     kind="logits")
    >>> calibrator = fit_temperature(preds)  # three of four are right: log 3 = 4 / T
    >>> round(calibrator.temperature, 4), calibrator(preds)[0].round(4)
    (3.641, array([0.75, 0.25]))
    """
    rows = _read(preds, n_jobs)
    return TemperatureMap(
        view="vector",
        n=row_count(preds),
        K=preds.K,
        factor=_optimum(rows),
        floor=rows.floor,
    )


def careful_factor(preds: Predictions, *, n_jobs: int | None = None) -> float:
    r"""Return a factor for what is fitted next, where rows may be few: an average.

    A few rows that are all right would let the factor grow without end. So it is averaged over,
    with a prior that does not depend on the scale. Let A(b) be the mean largest probability of a
    row: the accuracy expected with the factor b. x = (A − A(0)) / (A(∞) − A(0)) has the prior
    Beta(2, ½), so the probability of more than x is ½ √m (3 − m), m = 1 − x. The
    result is the b whose vectors are nearest to the average of softmax(b u) over b given the
    labels (in Kullback and Leibler's sense): the one whose f' is the mean of f'. Hundreds of rows
    leave nothing of the prior.

    >>> from ogive import Predictions
    >>> logits = [[20.0, 1.0, 0.0], [0.0, 0.5, 0.0]] * 5 + [[0.0, 1.0, 0.0]]
    >>> one_wrong = Predictions(logits, [0, 1] * 5 + [0], kind="logits")
    >>> round(fit_temperature(one_wrong).factor, 2), round(careful_factor(one_wrong), 2)
    (2.63, 2.11)
    """
    rows = _read(preds, n_jobs)
    if rows.widest < _MIN_DIFFERENCE:
        return 1.0
    factor, scale = _optimum(rows), weight_scale(preds)
    at = rows.sums(factor)
    precision = scale * (at.curvature * factor**2 + at.slope * factor)  # of log b, there
    if precision > MIN_PRECISION_FOR_OPTIMUM:
        return factor
    target = _mean_slope(rows, _nodes(rows, factor, precision), scale)

    def above(b: float) -> tuple[float, float]:
        here = rows.sums(b)
        return here.slope - target, here.curvature

    return increasing_root(above, factor, low=_NEARLY_UNIFORM / rows.widest)


def _nodes(rows: _Rows, factor: float, precision: float) -> FloatArray:
    """Return the b of the sum, in order: in proportion to the scale of 1 / logits, all of them."""
    highest = _END_ABOVE_OPTIMUM + math.log(max(factor, 1.0 / rows.range))
    wide = np.linspace(math.log(_NEARLY_UNIFORM / rows.widest), highest, _NODES)
    reach = _DEVIATIONS / math.sqrt(max(precision, 1.0))
    near = math.log(factor) + np.linspace(-reach, reach, _NODES_NEAR)
    nodes: FloatArray = np.exp(np.sort(np.concatenate([wide, near])))
    return nodes


def _mean_slope(rows: _Rows, nodes: FloatArray, scale: float) -> float:
    """Return the mean of f' given the labels: by trapezia, in the prior's probability."""
    value, slope, _, sure = np.array([rows.sums(b) for b in nodes]).T
    most, least = rows.sure_at_most(), rows.sums(0.0).sure
    x = np.clip((sure - least) / (most - least), 0.0, 1.0)
    mass = _prior_between(np.maximum.accumulate(x))
    weight = np.exp(-scale * (value - value.min()))
    weight *= 0.5 * (mass[:-1] + mass[1:])
    weight[[0, -1]] += 0.5 * np.exp(-scale * (value[[0, -1]] - value.min())) * mass[[0, -1]]
    return float(weight @ slope / weight.sum())


def _prior_between(x: FloatArray) -> FloatArray:
    """Return the prior's mass below the first x, between neighbours and above the last one.

    With r = √(1 − x) the mass above x is ½ r (3 − r²), and that below ½ (1 − r)² (2 + r). The
    smaller of the two is subtracted, which keeps its digits where all classes are nearly alike.
    """
    r = np.sqrt(1.0 - x)
    above = np.concatenate([[1.0], 0.5 * r * (3.0 - r * r), [0.0]])
    below = np.concatenate([[0.0], 0.5 * (x / (1.0 + r)) ** 2 * (2.0 + r), [1.0]])
    mass: FloatArray = np.where(above[1:] > below[1:], np.diff(below), -np.diff(above))
    return mass


def _gaps(
    preds: Predictions, at: slice, floor: float | None, dtype: DTypeLike = np.float64
) -> AnyArray:
    """Return u, (rows, K): the logarithms below the row's largest; −inf only in logits."""
    logs = preds.log_masses(at, dtype)
    if preds.kind == "probs":
        logs = with_floor(logs, -np.inf if floor is None else floor)
        logs -= logs.max(axis=1, keepdims=True)
    return logs


@dataclass(frozen=True)
class _Rows:
    """The rows, and what is computed of them before the first step.

    own : (N,) how far the true class is below the largest of its row, <= 0
    weight : (N,) 0 for rows without information
    widest : the largest distance between two finite values of a row
    range : its mean over the rows
    zeros : whether there are logits of −inf
    """

    preds: Predictions
    floor: float | None
    dtype: DTypeLike
    own: FloatArray
    weight: FloatArray
    widest: float
    range: float
    zeros: bool
    n_jobs: int | None

    def sums(self, b: float, stride: int = 1) -> _Sums:
        """Return f, f' and f'' at b over every stride-th row, and the sum of largest parts."""
        n = -(-self.preds.n // stride)
        width = -(-self.preds.K * np.dtype(self.dtype).itemsize // 8)  # in float64 numbers
        step = max(1, BLOCK // width)
        parts = np.empty((-(-n // step), len(_Sums._fields)))

        def work(at: slice) -> None:
            rows = slice(at.start * stride, min(at.stop * stride, self.preds.n), stride)
            gaps = _gaps(self.preds, rows, self.floor, self.dtype)
            if self.zeros:
                np.maximum(gaps, _MINUS_INFINITY, out=gaps)
            parts[at.start // step] = _block_sums(gaps, self.own[rows], self.weight[rows], b)

        for_each_block(work, n, width=width, n_jobs=self.n_jobs)
        return _Sums(*parts.sum(axis=0).tolist())

    def sure_at_most(self) -> float:
        """Return the sum of largest parts as b grows: that of a row with c largest is 1/c."""
        return float(self.weight @ (1.0 / self.tied()))

    def tied(self) -> FloatArray:
        """Return how many classes are the largest of each row, (N,)."""
        tied = np.empty(self.preds.n)
        for at in blocks(self.preds.n, width=self.preds.K):
            tied[at] = (_gaps(self.preds, at, self.floor, self.dtype) == 0.0).sum(axis=1)
        return tied


class _Sums(NamedTuple):
    value: float
    slope: float
    curvature: float
    sure: float  # the sum of w times the largest probability


def _block_sums(u: AnyArray, own: FloatArray, weight: FloatArray, b: float) -> FloatArray:
    """Return the sums over one block of rows, u (rows, K); sums over rows are in float64."""
    masses = u * u.dtype.type(b)
    np.exp(masses, out=masses)
    total = (masses @ np.ones(u.shape[1], u.dtype)).astype(np.float64)
    mean = np.vecdot(masses, u) / total
    masses *= u
    square = np.vecdot(masses, u) / total
    value = weight @ (np.log(total) - b * own)
    slope, curvature = weight @ (mean - own), weight @ (square - mean * mean)
    return np.array([value, slope, curvature, weight @ (1.0 / total)])


def _read(preds: Predictions, n_jobs: int | None) -> _Rows:
    """Find the own values, the floor and the largest distance."""
    labels = labelled(preds)
    floor = zero_floor(preds) if preds.kind == "probs" else None
    dtype = enough_digits(preds)
    own, lowest = np.empty(preds.n), np.empty(preds.n)

    def work(at: slice) -> None:
        gaps = _gaps(preds, at, floor, dtype)
        own[at] = gaps[np.arange(gaps.shape[0]), labels[at]]
        lowest[at] = gaps.min(axis=1)
        if (lowest[at] == -np.inf).any():
            lowest[at] = gaps.min(axis=1, initial=0.0, where=gaps > -np.inf)
            zeros.append(True)

    zeros: list[bool] = []
    for_each_block(work, preds.n, width=preds.K, n_jobs=n_jobs)
    weight = np.ones(preds.n) if preds.sample_weight is None else preds.sample_weight.copy()
    weight[own == -np.inf] = 0.0
    own[own == -np.inf] = 0.0
    widest = -float(lowest[weight > 0].min(initial=0.0))
    mean = -float(weight @ lowest) / max(float(weight.sum()), np.finfo(np.float64).tiny)
    return _Rows(preds, floor, dtype, own, weight, widest, mean, bool(zeros), n_jobs)


@one_blas_thread()
def _optimum(rows: _Rows) -> float:
    """Return b: the first steps use some of the rows, the last ones all of them."""
    if rows.widest < _MIN_DIFFERENCE:
        return 1.0  # all classes alike, or no row to learn from: every b is as good
    low = _NEARLY_UNIFORM / rows.widest
    b = 1.0 / rows.range  # where no row is decided yet: from 1 on, large logits would underflow
    cost = rows.own * rows.weight
    if not cost.any():
        return increasing_root(_room_left(rows), b, low=low)
    stride = (
        rows.preds.n * rows.preds.K // log_values.MIN_NUMBERS_FOR_FLOAT32
    )  # the first steps look at a sample
    if stride > 1 and cost[::stride].any():
        b = increasing_root(lambda b: rows.sums(b, stride)[1:3], b, low=low, tolerance=1e-3)
    # Newton's steps square the error: this leaves 1e-12 of b, or 1e-7 where half the digits do.
    tolerance = 1e-6 if rows.dtype is np.float64 else 3e-4
    return increasing_root(lambda b: rows.sums(b)[1:3], b, low=low, tolerance=tolerance)


def _room_left(rows: _Rows) -> Callable[[float], tuple[float, float]]:
    """Return log(log 2 / (f(b) − limit)) and its slope: 0 at the bound of separable rows.

    The limit is what rows with several largest classes cost at any b.
    """
    limit = float(rows.weight @ np.log(rows.tied()))

    def log_ratio(b: float) -> tuple[float, float]:
        at = rows.sums(b)
        scale = weight_scale(rows.preds)  # sampling weights have no unit
        left = max(scale * (at.value - limit), 1e-300)
        return math.log(math.log(2.0) / left), -scale * at.slope / left

    return log_ratio
