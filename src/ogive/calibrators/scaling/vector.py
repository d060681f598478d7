r"""Vector scaling: one factor and one offset for each class.

The calibrated vector is softmax(a ∘ z + c), z the logits (or the logarithms of the probabilities)
less the mean of their row, where a and c minimise the cross-entropy. With b the factor of
temperature scaling and :math:`x_k = (z_k - m_k) / s_k`, the logits of class k by their mean and
their mean distance from it, the scores are those of the temperature and a change,

.. math:: a_k z_k + c_k = b z_k + \delta_k x_k + \gamma_k ,

and the mean cross-entropy :math:`+ \tfrac{\rho}{2} \sum_k (\delta_k^2 + \gamma_k^2)` has one
minimum whatever the rows: the penalty is in log-odds, so the scale of the logits does not matter.
With ρ = 1e-8 it moves an optimum that exists by about 1e-6 of a log-odds, and bounds one that does
not. Where the rows are completely separable, ρ is raised until they cost log 2 together, the
bound of the temperature.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from ogive._numerics.blas import one_blas_thread
from ogive._numerics.blocks import BLOCK, for_each_block
from ogive._numerics.softmax_regression import MOST_PARAMETERS, cross_entropy, softmax_columns
from ogive._numerics.whitening import minimise, polished
from ogive.calibrators.log_values import (
    effective_rows,
    enough_digits,
    log_values,
    row_count,
    with_weight,
    zero_floor,
)
from ogive.calibrators.matrix_map import MatrixMap
from ogive.calibrators.scaling.temperature import fit_temperature
from ogive.errors import FallbackWarning
from ogive.rows.predictions import labelled

if TYPE_CHECKING:
    from collections.abc import Callable

    from ogive._numerics.softmax_regression import Objective
    from ogive._typing import FloatArray, Progress
    from ogive.rows.predictions import Predictions

#: ρ: a change of 10 log-odds raises the log loss by 1e-6, which no sample can resolve; and large
#: beside the rounding of a gradient (1e-16), so that the order of the rows does not matter.
RIDGE = 1e-8
#: Rows that cost less than this together are separable: else one of them has its label no more
#: probable than another class, and costs log 2 by itself.
_ONE_UNDECIDED_ROW = math.log(2.0)
#: The log(cost / log 2) at which the temperature itself is at its bound, but for digits.
_AT_BOUND = 1e-9
#: Logits of a class that differ by less than this share of their size do so by rounding.
_CONSTANT = 1e-13
#: With more classes, rows are summed in place: copies side by side take longer.
_MAX_CLASSES_SIDE_BY_SIDE = 64


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class VectorMap(MatrixMap):
    """softmax(factor · logits + offset), class by class: what `fit_vector` returns.

    Attributes
    ----------
    factor, offset : (K,) arrays
    floor : float
        Where the logarithm of a probability of exactly 0 is put.
    centred : bool
        Whether the mean of a row's logits is taken off them first.
    """

    method: ClassVar[str] = "vector"

    factor: FloatArray
    offset: FloatArray
    floor: float
    centred: bool = False  # in artifacts of 0.1.0

    def _block(self, preds: Predictions, at: slice) -> FloatArray:
        x = log_values(preds, at, self.floor, centred=self.centred)
        return softmax_columns((x * self.factor + self.offset).T).T


def fit_vector(
    preds: Predictions, *, n_jobs: int | None = None, progress: Progress | None = None
) -> MatrixMap:
    """Fit one factor and one offset for each class.

    Parameters
    ----------
    preds : Predictions
        With labels. A logit of −inf, or a probability of 0, is put at a floor.
    n_jobs : int, optional
    progress : function of (what, done, total), optional
        Called at each step of the search; how many there will be is not known (total 0).

    Returns
    -------
    VectorMap
        Or, with fewer rows than its 2 K parameters, a `TemperatureMap` and a warning. Repetition
        weights count as rows, sampling weights as Kish's effective size.

    Examples
    --------
    >>> from ogive import Predictions
    >>> rng = np.random.default_rng(0)
    >>> logits = rng.normal(size=(2000, 3))
    >>> labels = (3 * logits + [0.0, 1.0, 0.0] + rng.gumbel(size=(2000, 3))).argmax(axis=1)
    >>> calibrator = fit_vector(Predictions(logits, labels, kind="logits"))
    >>> calibrator.factor.round(1), calibrator.offset.round(1)
    (array([3.1, 2.9, 3. ]), array([-0.4,  0.7, -0.3]))
    """
    preds = with_weight(preds)
    labelled(preds)
    one_factor = fit_temperature(preds, n_jobs=n_jobs)
    worth = round(effective_rows(preds), 6)  # Kish's size of equal weights is not whole to the bit
    if worth < 2 * preds.K:
        warnings.warn(
            f"{worth:g} rows are too few for a factor and an offset of {preds.K} classes: "
            "a temperature was fitted instead.",
            FallbackWarning,
            stacklevel=2,
        )
        return one_factor
    with one_blas_thread():
        rows = ScaledRows(preds, one_factor.factor, n_jobs, progress)
        theta = _bounded(rows, worth)
    return rows.map_at(theta)


def _bounded(rows: ScaledRows, worth: float) -> FloatArray:
    """Return the optimum, or the point where separable rows cost log 2 together, (K, 2)."""

    def excess(theta: FloatArray) -> float:
        cost = max(worth * rows.loss(theta)[0], np.finfo(np.float64).tiny)
        return math.log(cost / _ONE_UNDECIDED_ROW)

    theta = rows.optimum(rows.start, RIDGE)
    if excess(theta) >= 0.0:
        return theta
    if excess(rows.start) <= _AT_BOUND:
        return rows.start

    def at(log_ridge: float) -> float:
        found[log_ridge] = rows.optimum(rows.start, math.exp(log_ridge))
        return excess(found[log_ridge])

    found: dict[float, FloatArray] = {}
    low = high = math.log(RIDGE)
    while at(high) < 0.0:
        low, high = high, high + math.log(100.0)
    if low == high:
        return found[high]
    from scipy.optimize import brentq  # noqa: PLC0415 - heavy, and rarely needed

    return found[brentq(at, low, high, xtol=1e-13)]


class ScaledRows:
    """The rows in blocks, each with sums of its own that are added in order.

    Parameters θ, (K, 2), are those of the scores θ_k0 x_k + θ_k1; `start` are the temperature's.
    """

    def __init__(
        self,
        preds: Predictions,
        factor: float,
        n_jobs: int | None,
        progress: Progress | None = None,
    ) -> None:
        self.preds, self.floor, self.n_jobs = preds, zero_floor(preds), n_jobs
        self.progress, self.steps = progress, 0
        self.dtype = enough_digits(preds)
        weights = np.ones(preds.n) if preds.sample_weight is None else preds.sample_weight
        self.weights = (weights / weights.sum()).astype(self.dtype)
        self.mean, self.spread = np.zeros(preds.K), np.ones(preds.K)
        self.mean = self._each(lambda at, z: (z @ self.weights[at])[None], 1)[0]
        sums = self._each(lambda at, x: (np.abs(x) @ self.weights[at])[None], 1)[0]
        self.spread = np.where(sums > _CONSTANT * np.abs(self.mean), sums, 1.0)
        level = factor * (self.mean - self.mean.mean())
        self.start: FloatArray = np.stack([factor * self.spread, level], axis=1)

    def optimum(self, start: FloatArray, ridge: float) -> FloatArray:
        """Return the minimum of the loss with the penalty ρ / 2 |θ − `self.start`|²."""
        penalty = np.full(start.shape, ridge / 2.0)
        objective = self.penalised(ridge)
        theta = minimise(objective, start, self.curvature(start), penalty, tolerance=1e-6)
        if self.dtype is np.float64 and start.size <= MOST_PARAMETERS:
            return polished(objective, theta, self.hessian, penalty)
        finest = 1e-12 if self.dtype is np.float64 else 1e-8
        return minimise(objective, theta, self.curvature(theta), penalty, tolerance=finest)

    def map_at(self, theta: FloatArray) -> VectorMap:
        """Return the map with these parameters."""
        factor = theta[:, 0] / self.spread
        offset = theta[:, 1] - factor * self.mean
        return VectorMap(
            view="vector",
            n=row_count(self.preds),
            K=self.preds.K,
            factor=factor,
            offset=offset - offset.mean(),
            floor=self.floor,
            centred=True,
        )

    def penalised(self, ridge: float) -> Objective:
        """Return the loss with the penalty, as a function of θ."""

        def objective(theta: FloatArray) -> tuple[float, FloatArray]:
            loss, gradient = self.loss(theta)
            self.steps += 1
            if self.progress is not None:
                self.progress(f"vector scaling, step {self.steps}", self.steps, 0)
            away = theta - self.start
            return loss + ridge / 2.0 * float((away * away).sum()), gradient + ridge * away

        return objective

    def _each(self, work: Callable[[slice, FloatArray], FloatArray], size: int) -> FloatArray:
        """Add up what `work(at, x)` returns, (size, K), over the blocks; x is (K, rows)."""
        n, K = self.preds.n, self.preds.K
        step = max(1, BLOCK // K)
        mean, spread = (v[:, None].astype(self.dtype) for v in (self.mean, self.spread))
        # Blocks are added up in stretches of 64, so that the partial sums stay few and ordered.
        parts = np.zeros((-(-n // (64 * step)), size, K))

        def stretch(at: slice) -> None:
            for i in range(at.start, at.stop):
                for first in range(i * 64 * step, min((i + 1) * 64 * step, n), step):
                    rows = slice(first, min(first + step, n))
                    x = log_values(self.preds, rows, self.floor, self.dtype, centred=True).T
                    x = x if K > _MAX_CLASSES_SIDE_BY_SIDE else np.ascontiguousarray(x)
                    parts[i] += work(rows, (x - mean) / spread)

        for_each_block(stretch, parts.shape[0], width=BLOCK, n_jobs=self.n_jobs)
        total: FloatArray = parts.sum(axis=0)
        return total

    def loss(self, theta: FloatArray) -> tuple[float, FloatArray]:
        """Return the mean cross-entropy and its gradient, (K, 2)."""
        labels = labelled(self.preds)
        factor, offset = np.hsplit(theta.astype(self.dtype), 2)

        def work(at: slice, x: FloatArray) -> FloatArray:
            scores = factor * x + offset
            loss = cross_entropy(scores, labels[at], self.weights[at])
            gradient = scores.sum(axis=1)
            scores *= x
            return np.stack([scores.sum(axis=1), gradient, np.full(gradient.size, loss)])

        sums = self._each(work, 3)
        return float(sums[2, 0]), sums[:2].T

    def curvature(self, theta: FloatArray) -> FloatArray:
        """Return the Hessian's blocks, (K, 2, 2)."""
        factor, offset = np.hsplit(theta.astype(self.dtype), 2)

        def work(at: slice, x: FloatArray) -> FloatArray:
            p = softmax_columns(factor * x + offset)
            p *= (1.0 - p) * self.weights[at]
            moments = [p.sum(axis=1)]
            for _ in range(2):
                p *= x
                moments.append(p.sum(axis=1))
            return np.stack(moments)

        one, first, second = self._each(work, 3)
        return np.stack([second, first, first, one], axis=1).reshape(-1, 2, 2)

    def hessian(self, theta: FloatArray) -> FloatArray:
        """Return the whole Hessian, (2 K, 2 K)."""
        factor, offset = np.hsplit(theta, 2)
        K = self.preds.K

        def work(at: slice, x: FloatArray) -> FloatArray:
            p = softmax_columns(factor * x + offset)
            features = np.stack([x, np.ones_like(x)], axis=1)  # (K, 2, rows)
            own = p[:, None] * features
            flat = own.reshape(2 * K, -1)
            H = (-(flat * self.weights[at]) @ flat.T).reshape(K, 2, K, 2)
            each = np.arange(K)
            H[each, :, each] += (own * self.weights[at]) @ features.transpose(0, 2, 1)
            sums: FloatArray = H.reshape(4 * K, K)
            return sums

        whole: FloatArray = self._each(work, 4 * K).reshape(2 * K, 2 * K)
        return whole
