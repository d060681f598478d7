r"""The sizes of many parameters, from the data: evidence for a `ClassRegression`.

Each group g of parameters has the prior N(0, 1/λ_g). With H the Hessian of the loss at its
minimum, :math:`\Lambda` the diagonal of the precisions and
:math:`e_g = \mathrm{tr}\,[H (H + \Lambda)^{-1}]_{gg}` the effective number of parameters, the
evidence (Laplace's approximation) is largest where

.. math:: \lambda_g = \frac{e_g}{|\theta_g|^2} .

A hyperprior worth one parameter of the size :math:`1/\lambda^0_g` keeps λ finite where the data
say nothing: :math:`\lambda_g = (e_g + 1) / (|\theta_g|^2 + 1 / \lambda^0_g)`.

Up to 12 classes all of this is exact (`dense_curvature`), and the parameters are found to their
last digits. With more classes the trace is the mean over random signs z of
:math:`z^\top \Lambda^{1/2} (H + \Lambda)^{-1} H \Lambda^{-1/2} z`, group by group (Hutchinson).
The trace and Newton's step are computed by conjugate gradients, with `Nearly` as preconditioner.
The signs are drawn once, so each solution starts from that of the round before. They are
drawn in the space of classes and turned by V, so that it does not matter which basis of its span
V is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ogive._numerics.class_regression import SINGLE
from ogive._numerics.dense_curvature import DenseCurvature, is_small

if TYPE_CHECKING:
    from ogive._numerics.class_regression import ClassRegression, State
    from ogive._typing import FloatArray, IntArray

_ROUNDS = 10
_MAX_LAST_CHANGE = 0.1  # of log λ: then the rounds stop
_RELAXATION, _RELAXED_ROUNDS = 1.8, 3  # over-relaxation of log λ, in the first rounds
_MAX_CHANGE = np.log(30.0)  # of log λ in a round
_TRACE_RESIDUAL = 0.05  # relative residual at which conjugate gradients stop, for the trace
_STEP_RESIDUAL = 0.3  # for Newton's steps but the last: the next one has a new right side
_LAST_STEP_RESIDUAL = 1e-5  # for the last step: small enough not to show in the result
_LEARNING_RESIDUAL = 0.1  # while λ is learnt from the sizes of the parameters
_STEPS = 60
_MOST_NEWTON = 30
ROUNDS_WITH_FULL_HESSIAN = 9  # then log λ is within 0.06 of where it ends, on real models
ROUNDS_WITH_NEW_HESSIAN = (0, 1, 2, 3, 6)  # in between it hardly changes, and costs most
LARGEST_GAIN_LEFT_BY_OLD_HESSIAN = 0.01  # of a step's gain: else H is formed anew
_GAIN_OF_ROUNDING = 1e-25  # a step that gains less, in nats for each row, is only rounding
_GAIN_NEAR_ROUNDING = 1e-20  # below this, so is a step that is no shorter than the last
_LAST_GAIN, _LAST_GAIN_32 = 1e-13, 5e-4  # nats for each row: a step that gains less is the last


class Shrunk(NamedTuple):
    """The fit: parameters, the precision of each group, and effective numbers of parameters."""

    theta: FloatArray  # (K, 3 + 2 r)
    precision: FloatArray  # (5,)
    edf: FloatArray  # (5,)
    curvature: DenseCurvature | None  # near these parameters, if the problem is small


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

    def root(self, z: FloatArray) -> FloatArray:
        K = z.shape[0]
        root = np.sqrt(self.each)
        result = root * z
        mean = z[:, :2].mean(axis=0)
        result[:, :2] += (np.sqrt(MEAN / K) - root[:2]) * mean
        return result

    def unroot(self, z: FloatArray) -> FloatArray:
        K = z.shape[0]
        root = 1.0 / np.sqrt(self.each)
        result = root * z
        mean = z[:, :2].mean(axis=0)
        result[:, :2] += (1.0 / np.sqrt(MEAN / K) - root[:2]) * mean
        return result

    def apart(self, theta: FloatArray) -> FloatArray:
        apart = theta.copy()
        apart[:, :2] -= theta[:, :2].mean(axis=0)
        return apart


MEAN = np.array([1.0, 0.1])


class Nearly:
    r"""An approximate inverse of H + Λ: the preconditioner of conjugate gradients.

    With D the diagonal of H + Λ, and Z the two directions in which all classes' v, or all
    classes' u, move alike, it is :math:`D^{-1} + Z (Z^\top (H + \Lambda) Z)^{-1} Z^\top`. The
    prior hardly constrains those two, and D alone is far too large there: conjugate gradients took
    60 steps where they now take 10.
    """

    def __init__(self, rows: ClassRegression, state: State, pull: Pull) -> None:
        self._bends = rows.diagonal(state), rows.shared(state)
        self.under(pull)

    def under(self, pull: Pull) -> None:
        """Take another prior, with the H of before."""
        self.pull = pull
        self._inverse = 1.0 / (self._bends[0] + pull.diagonal)
        self._shared = np.linalg.inv(self._bends[1] + np.diag(MEAN))

    def solve(self, right: FloatArray) -> FloatArray:
        result = self._inverse * right
        result[:, :2] += self._shared @ right[:, :2].sum(axis=0)
        return result


def default_precision(K: int) -> FloatArray:
    """Return λ⁰ of v, u, c, M_A and M_p.

    A unit change of log-probabilities is large, one of probabilities small; M_A adds up K terms.
    """
    return np.array([2.0 * K, 2.0, 2.0 * K, float(K * K), 2.0])


def shrink(rows: ClassRegression, *, probes: int, random_state: int = 0) -> Shrunk:
    """Fit the parameters and the precisions of their priors."""
    return (
        _shrink_exactly(rows) if is_small(rows) else _shrink_by_probes(rows, probes, random_state)
    )


def _shrink_exactly(rows: ClassRegression) -> Shrunk:
    """Do so with the full H: always with the same number of rounds, so rounding cannot add one."""
    precision = _first_precision(rows.K)
    state = rows.state(np.zeros(rows.shape))
    for i in range(ROUNDS_WITH_FULL_HESSIAN):
        pull = Pull(precision, rows.group)
        if i in ROUNDS_WITH_NEW_HESSIAN:
            curvature = DenseCurvature(rows, state)
        curvature.under(pull)
        edf = curvature.effective()
        right = -(state.gradient + pull(state.theta))
        state = _step(rows, state, pull, curvature.solve(right))
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


def _shrink_by_probes(rows: ClassRegression, probes: int, random_state: int) -> Shrunk:
    """Do so by random signs and conjugate gradients."""
    precision = _first_precision(rows.K)
    state = rows.state(np.zeros(rows.shape))
    signs = _signs(rows, probes, random_state)
    solved = np.zeros((probes, *rows.shape))
    edf = np.zeros(5)
    for i in range(_ROUNDS):
        pull = Pull(precision, rows.group)
        if i <= _RELAXED_ROUNDS:
            near = Nearly(rows, state, pull)
        near.under(pull)
        step = _solve(
            rows, state, near, -(state.gradient + pull(state.theta)), close=_LEARNING_RESIDUAL
        )
        edf = np.zeros(5)
        for j, z in enumerate(signs):
            right = rows.curve(state, pull.unroot(z))
            # What is kept hardly depends on λ, and so is a good start for the next round.
            solved[j] = pull.root(_solve(rows, state, near, right, pull.unroot(solved[j])))
            edf += np.bincount(rows.group, weights=(z * solved[j]).sum(axis=0))
        edf = np.clip(edf / probes, 0.0, np.bincount(rows.group) * rows.K)
        state = _step(rows, state, pull, step)
        move = _move(rows, pull, state, edf)
        precision = precision * _moved(move, i)
        if i > _RELAXED_ROUNDS and np.abs(move).max() < _MAX_LAST_CHANGE:
            break
    return Shrunk(state.theta, precision, edf, None)


def fit_at(
    rows: ClassRegression,
    precision: FloatArray,
    start: FloatArray | None = None,
    *,
    near: DenseCurvature | None = None,
    close: float = _LAST_GAIN,
) -> FloatArray:
    """Return the parameters at given precisions, by Newton's method.

    A small problem is solved to the last digits; `near` is a curvature that may guide its first
    steps. A larger one is solved until a step gains less than `close`, in nats for each row.

    Each step but the last is solved loosely, since the next one starts from another gradient. Their
    guide is the curvature at the start: it only has to be roughly right.
    """
    pull = Pull(precision, rows.group)
    if is_small(rows):
        return _fit_exactly(rows, pull, start, near)
    close = (close if rows.logs.dtype == np.float64 else _LAST_GAIN_32) * rows.total
    state = rows.state(np.zeros(rows.shape) if start is None else start)
    guide = Nearly(rows, state, pull)
    for _ in range(_MOST_NEWTON):
        right = -(state.gradient + pull(state.theta))
        step = _solve(rows, state, guide, right, close=_STEP_RESIDUAL)
        if 0.5 * float((step * right).sum()) < close:
            if rows.logs.dtype == np.float64:
                step = _solve(rows, state, guide, right, step, close=_LAST_STEP_RESIDUAL)
            return state.theta + step
        state = _step(rows, state, pull, step)
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
        state, before, fresh = _step(rows, state, pull, step), gain, False
    return state.theta


def _signs(rows: ClassRegression, probes: int, random_state: int) -> FloatArray:
    """Return random signs, (probes, K, 3 + 2 r), those of the matrices turned by V."""
    rng = np.random.default_rng(random_state)
    signs = np.empty((probes, *rows.shape))
    for z in signs:
        flat = rng.choice([-1.0, 1.0], size=(rows.K, SINGLE + 2 * rows.K))
        z[:, :SINGLE] = flat[:, :SINGLE]
        z[:, SINGLE : SINGLE + rows.r] = flat[:, SINGLE : SINGLE + rows.K] @ rows.bases[0]
        z[:, SINGLE + rows.r :] = flat[:, SINGLE + rows.K :] @ rows.bases[1]
    return signs


def _solve(
    rows: ClassRegression,
    state: State,
    near: Nearly,
    right: FloatArray,
    start: FloatArray | None = None,
    *,
    close: float = 0.0,
) -> FloatArray:
    """Solve (H + Λ) x = right, (K, d), by conjugate gradients."""
    guided = near.solve(right)
    goal = (close or _TRACE_RESIDUAL) ** 2 * float((right * guided).sum())
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


def _step(rows: ClassRegression, state: State, pull: Pull, step: FloatArray) -> State:
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
