r"""The sizes of many parameters, from the data: evidence for a `ClassRegression`.

Each group g of parameters has the prior N(0, 1/λ_g). With H the Hessian of the loss at its
minimum, :math:`\Lambda` the diagonal of the precisions and
:math:`e_g = \mathrm{tr}\,[H (H + \Lambda)^{-1}]_{gg}` the effective number of parameters, the
evidence (Laplace's approximation) is largest where

.. math:: \lambda_g = \frac{e_g}{|\theta_g|^2} .

A hyperprior worth one parameter of the size :math:`1/\lambda^0_g` keeps λ finite where the data
say nothing: :math:`\lambda_g = (e_g + 1) / (|\theta_g|^2 + 1 / \lambda^0_g)`.

Up to 12 classes all of this is exact (`dense_curvature`), and the parameters are found to their
last digits. With more classes λ comes from held-out rows (`class_validation`), and Newton's steps
are computed by conjugate gradients, with `Nearly` as preconditioner.
"""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ogive._numerics.class_regression import SINGLE
from ogive._numerics.dense_curvature import DenseCurvature, is_small

if TYPE_CHECKING:
    from ogive._numerics.class_regression import ClassRegression, State
    from ogive._typing import FloatArray, IntArray

_RELAXATION, _RELAXED_ROUNDS = 1.8, 3  # over-relaxation of log λ, in the first rounds
_MAX_CHANGE = np.log(30.0)  # of log λ in a round
_STEP_RESIDUAL = 0.3  # relative residual of Newton's steps but the last: the next is another
_STEPS = 60
#: Columns of either matrix in the blocks of the preconditioner: the first ones vary most.
COLUMNS_IN_BLOCKS = 8
_MOST_NEWTON = 30
ROUNDS_WITH_FULL_HESSIAN = 9  # then log λ is within 0.06 of where it ends, on real models
ROUNDS_WITH_NEW_HESSIAN = (0, 1, 2, 3, 6)  # in between it hardly changes, and costs most
LARGEST_GAIN_LEFT_BY_OLD_HESSIAN = 0.01  # of a step's gain: else H is formed anew
_GAIN_OF_ROUNDING = 1e-25  # a step that gains less, in nats for each row, is only rounding
_GAIN_NEAR_ROUNDING = 1e-20  # below this, so is a step that is no shorter than the last
#: Nats for each row: a step that gains less is the last. Few numbers cost little, and get more.
LAST_GAIN = {np.float64: 1e-5, np.float32: 3e-3}
_SHARE_OF_LAST_PRODUCT = 0.03  # of that: a product with H that gains less is not worth its time


class Shrunk(NamedTuple):
    """The fit: parameters, the precision of each group, and effective numbers of parameters."""

    theta: FloatArray  # (K, 3 + 2 r)
    precision: FloatArray  # (5,)
    edf: FloatArray  # (5,)
    curvature: DenseCurvature | None  # near these parameters, if the problem is small
    #: The fits of either half, if it is not: where they are, and their guides.
    halves: tuple[tuple[State, Nearly], ...] = ()


class Pull:
    """The prior's precision as an operator.

    v and u have a mean over the classes and deviations from it. Only the deviations are shrunk
    by λ; the mean has a weak prior of its own.
    """

    def __init__(self, precision: FloatArray, group: IntArray) -> None:
        self.each = precision[group]
        self.diagonal = self.each

    def __call__(self, theta: FloatArray) -> FloatArray:
        """Return Λ θ, of one θ or of a stack of them, (..., K, d)."""
        K = theta.shape[-2]
        result = self.each * theta
        mean = theta[..., :2].mean(axis=-2, keepdims=True)
        result[..., :2] += (MEAN / K - self.each[:2]) * mean
        return result

    def matrix(self, shape: tuple[int, int]) -> FloatArray:
        """Return Λ in full, the parameters in the order of θ.ravel()."""
        size = shape[0] * shape[1]
        return self(np.eye(size).reshape(size, *shape)).reshape(size, size)

    def apart(self, theta: FloatArray) -> FloatArray:
        apart = theta.copy()
        apart[:, :2] -= theta[:, :2].mean(axis=0)
        return apart


MEAN = np.array([1.0, 0.1])


class Nearly:
    r"""An approximate inverse of H + Λ: the preconditioner of conjugate gradients.

    With B the blocks of H + Λ of each class by itself (v, u, c and the first columns of M_A and
    M_p; of the others only the diagonal), and Z the two directions in which all classes' v, or all
    classes' u, move alike, it is :math:`B^{-1} + Z (Z^\top (H + \Lambda) Z)^{-1} Z^\top`. The
    prior hardly constrains those two, and B alone is far too large there.
    """

    def __init__(self, rows: ClassRegression, state: State, pull: Pull) -> None:
        columns = min(rows.r, COLUMNS_IN_BLOCKS)
        lead = np.arange(columns)
        self._at = np.concatenate([np.arange(SINGLE), SINGLE + lead, SINGLE + rows.r + lead])
        self.diagonal = rows.diagonal(state)  # of H
        self.bends = rows.leading(state, columns), rows.shared(state)
        self.total = rows.total
        self.under(pull)

    def of(self, rows: ClassRegression, *more: Nearly) -> Nearly:
        """Return what guides other rows: the H of these, and of more, in proportion to the rows."""
        result, parts = copy(self), (self, *more)
        result.total = rows.total
        share = rows.total / sum(part.total for part in parts)
        result.diagonal = share * np.sum([part.diagonal for part in parts], axis=0)
        blocks, shared = zip(*(part.bends for part in parts), strict=True)
        result.bends = share * np.sum(blocks, axis=0), share * np.sum(shared, axis=0)
        result.under(self.pull)
        return result

    def under(self, pull: Pull) -> None:
        """Take another prior, with the H of before."""
        self.pull = pull
        blocks, shared = self.bends
        self._inverse = 1.0 / (self.diagonal + pull.diagonal)
        self._inverse[:, self._at] = 0.0
        self._blocks = np.linalg.inv(blocks + np.diag(pull.diagonal[self._at]))
        self._shared = np.linalg.inv(shared + np.diag(MEAN))

    def solve(self, right: FloatArray) -> FloatArray:
        result = self._inverse * right
        result[:, self._at] = np.matmul(self._blocks, right[:, self._at, None])[:, :, 0]
        result[:, :2] += self._shared @ right[:, :2].sum(axis=0)
        return result


def default_precision(K: int) -> FloatArray:
    """Return λ⁰ of v, u, c, M_A and M_p.

    A unit change of log-probabilities is large, one of probabilities small; M_A adds up K terms.
    """
    return np.array([2.0 * K, 2.0, 2.0 * K, float(K * K), 2.0])


def shrink(rows: ClassRegression) -> Shrunk:
    """Fit the parameters and the precisions of their priors, in a small problem.

    Always with the same number of rounds, so that rounding cannot add one.
    """
    precision = _first_precision(rows.K)
    state = rows.state(np.zeros(rows.shape))
    for i in range(ROUNDS_WITH_FULL_HESSIAN):
        pull = Pull(precision, rows.group)
        if i in ROUNDS_WITH_NEW_HESSIAN:
            curvature = DenseCurvature(rows, state)
        curvature.under(pull)
        edf = curvature.effective()
        right = -(state.gradient + pull(state.theta))
        state = newton_step(rows, state, pull, curvature.solve(right))
        move = _move(rows, pull, state, edf)
        precision = precision * _moved(move, i)
    return Shrunk(state.theta, precision, edf, curvature)


def _first_precision(K: int) -> FloatArray:
    return default_precision(K) * [0.5, 0.5, 0.5, 0.2, 0.5]


def _move(rows: ClassRegression, pull: Pull, state: State, edf: FloatArray) -> FloatArray:
    """Return how far log λ is from where the evidence is largest, for each group."""
    size = np.bincount(rows.group, weights=(pull.apart(state.theta) ** 2).sum(axis=0))
    precision = pull.each[np.searchsorted(rows.group, np.arange(5))]
    move: FloatArray = np.log((edf + 1.0) / (size + 1.0 / default_precision(rows.K)) / precision)
    return move


def _moved(move: FloatArray, i: int) -> FloatArray:
    """Return by what λ is multiplied after round i."""
    eager = _RELAXATION if i < _RELAXED_ROUNDS else 1.0
    factor: FloatArray = np.exp(np.clip(eager * move, -_MAX_CHANGE, _MAX_CHANGE))
    return factor


def fit_at(
    rows: ClassRegression,
    precision: FloatArray,
    start: FloatArray | None = None,
    *,
    near: DenseCurvature | None = None,
) -> FloatArray:
    """Return the parameters at given precisions, by Newton's method.

    A small problem is solved to the last digits; `near` is a curvature that may guide its first
    steps. A larger one is solved until a step gains less than `LAST_GAIN`.

    Each step but the last is solved loosely, since the next one starts from another gradient. Their
    guide is the curvature at the start: it only has to be roughly right.
    """
    pull = Pull(precision, rows.group)
    if is_small(rows.logs.dtype, rows.shape):
        return _fit_exactly(rows, pull, start, near)
    state = rows.state(np.zeros(rows.shape) if start is None else start)
    return fit_on(rows, state, Nearly(rows, state, pull))


def fit_on(rows: ClassRegression, state: State, near: Nearly) -> FloatArray:
    """Do so from a state on, with its guide and the prior of that."""
    last = LAST_GAIN[rows.logs.dtype.type] * rows.total
    for _ in range(_MOST_NEWTON):
        right = -(state.gradient + near.pull(state.theta))
        step = solve(
            rows, state, near, right, close=_STEP_RESIDUAL, least=_SHARE_OF_LAST_PRODUCT * last
        )
        if 0.5 * float((step * right).sum()) < last:
            return state.theta + step
        state = newton_step(rows, state, near.pull, step)
    return state.theta


def _fit_exactly(
    rows: ClassRegression, pull: Pull, start: FloatArray | None, near: DenseCurvature | None
) -> FloatArray:
    """Return the parameters to the last digits: the last step changes nothing but those.

    A step with the H of elsewhere leaves a share of the error. So H is formed anew wherever a
    step did not divide the error by ten, which is the gain by a hundred.
    """
    state = rows.state(np.zeros(rows.shape) if start is None else start)
    fresh = near is None
    curvature = DenseCurvature(rows, state) if near is None else near
    curvature.under(pull, rows.total / curvature.total)
    before = np.inf
    for _ in range(_MOST_NEWTON):
        right = -(state.gradient + pull(state.theta))
        step = curvature.solve(right)
        gain = 0.5 * float((step * right).sum())
        if gain > LARGEST_GAIN_LEFT_BY_OLD_HESSIAN * before and not fresh:
            if gain < _GAIN_NEAR_ROUNDING * rows.total:
                break
            curvature, fresh = DenseCurvature(rows, state).under(pull), True
            step = curvature.solve(right)
            gain = 0.5 * float((step * right).sum())
        if gain < _GAIN_OF_ROUNDING * rows.total:
            return state.theta + step
        state, before, fresh = newton_step(rows, state, pull, step), gain, False
    return state.theta


def solve(
    rows: ClassRegression,
    state: State,
    near: Nearly,
    right: FloatArray,
    start: FloatArray | None = None,
    *,
    close: float,
    least: float = 0.0,
) -> FloatArray:
    """Solve (H + Λ) x = right, (K, d), by conjugate gradients.

    They end where the residual is a share `close` of the right side, or where the next of them is
    expected to gain less than `least`.
    """
    guided = near.solve(right)
    goal = max(close**2 * float((right * guided).sum()), 2.0 * least)
    x, residual = np.zeros_like(right), right
    if start is not None and start.any():
        x = start.copy()
        residual = right - rows.curve(state, x) - near.pull(x)
        guided = near.solve(residual)
    p, left = guided, float((residual * guided).sum())
    for _ in range(_STEPS):
        if left <= goal:
            break
        bent = rows.curve(state, p) + near.pull(p)
        share = left / float((p * bent).sum())
        x += share * p
        residual = residual - share * bent
        guided = near.solve(residual)
        before, left = left, float((residual * guided).sum())
        p = guided + left / before * p
    return x


def newton_step(rows: ClassRegression, state: State, pull: Pull, step: FloatArray) -> State:
    """Take Newton's step, or as much of it as lowers the penalised loss."""
    before = state.loss + 0.5 * float((pull(state.theta) * state.theta).sum())
    slack = 1e-6 if rows.logs.dtype == np.float32 else 1e-12
    share = 1.0
    for _ in range(20):
        theta = state.theta + share * step
        new = rows.state(theta)
        if new.loss + 0.5 * float((pull(theta) * theta).sum()) <= before + slack * abs(before):
            return new
        share /= 2.0
    return state
