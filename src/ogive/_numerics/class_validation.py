r"""The sizes of many parameters, from the loss of rows that were not fitted.

Each group g of parameters of a `ClassRegression` has the prior N(0, 1/λ_g). Two halves of the rows
are fitted at the same λ, :math:`\theta_1` and :math:`\theta_2`, and each is scored on the other
half. With :math:`\ell_i` the loss of half i, λ is where

.. math:: f(\lambda) = \ell_2(\theta_1) + \ell_1(\theta_2)
          + \frac{1}{2 \sigma^2} \sum_g (\log \lambda_g - \log \lambda^0_g)^2

is least; the last term keeps λ near its default where the rows say nothing. With H the Hessian of
a half's own loss at its minimum and Λ_g the part of the precisions that belongs to group g,

.. math:: \frac{\partial \ell_2(\theta_1)}{\partial \log \lambda_g} = -x^\top \Lambda_g \theta_1 ,
          \qquad (H + \Lambda)\, x = \nabla \ell_2(\theta_1) :

one solution gives the derivatives by all five. So a round costs each half a step of Newton's and
this solution, both by conjugate gradients that start from the round before. Nothing is random. The
rounds are steps of a quasi-Newton method (BFGS) in log λ.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ogive._numerics.class_evidence import (
    Nearly,
    Pull,
    Shrunk,
    default_precision,
    newton_step,
    solve,
)

if TYPE_CHECKING:
    from ogive._numerics.class_regression import ClassRegression, State
    from ogive._typing import FloatArray, IntArray

MAX_ROUNDS = 12
LEAST_GAIN = 1e-4  # nats for each row: a round that is expected to gain less is not begun
DEVIATION = 3.0  # σ: e^3 either way is the range of λ in real models
_LONGEST_STEP = 1.5  # of log λ, in a round
_RESIDUAL = 0.1  # relative residual at which conjugate gradients stop
_MAX_STEPS = 2  # of Newton's, in a round
_LEAST_GAIN_OF_STEP = 2e-4  # nats for each row: a step that gains less is the round's last
_LEAST_CURVATURE = 0.2  # share of the expected curvature to which a lower one is raised (Powell)


class _Round(NamedTuple):
    """f at some log λ, its gradient, and the fits."""

    log_precision: FloatArray
    value: float
    gradient: FloatArray
    halves: list[_Half]


class _Half(NamedTuple):
    """A half's fit: where it is, its guide, and x of its last adjoint solution."""

    state: State
    near: Nearly
    adjoint: FloatArray


def validate(first: ClassRegression, second: ClassRegression) -> Shrunk:
    """Learn the precisions from two halves of the rows, each scored by the fit to the other.

    The fits are those of the last λ, carried on, so that only gradients are compared, not values.
    """
    pair = (first, second)
    enough = LEAST_GAIN * (first.total + second.total)
    here = _evaluate(pair, np.log(default_precision(first.K)), None)
    # The first step is one log unit where the derivative is above a nat, else less.
    bend = np.diag(np.maximum(np.abs(here.gradient), 1.0))
    for _ in range(MAX_ROUNDS - 1):
        step = -np.linalg.solve(bend, here.gradient)
        if -0.5 * float(here.gradient @ step) < enough:
            break
        step *= min(1.0, _LONGEST_STEP / float(np.abs(step).max()))
        new = _evaluate(pair, here.log_precision + step, here)
        bend = _bent(bend, step, new.gradient - here.gradient)
        here = new
    theta = np.mean([half.state.theta for half in here.halves], axis=0)
    edf = _effective(here, first.group)
    fits = tuple((half.state, half.near) for half in here.halves)
    return Shrunk(theta, np.exp(here.log_precision), edf, None, fits)


def _effective(here: _Round, group: IntArray) -> FloatArray:
    """Return the effective number of parameters of each group, from the Hessian's diagonal.

    That is at least the number from the whole Hessian, since x / (x + λ) is concave.
    """
    bend = np.sum([half.near.diagonal for half in here.halves], axis=0)
    kept: FloatArray = bend / (bend + np.exp(here.log_precision)[group])
    return np.bincount(group, weights=kept.sum(axis=0)).astype(np.float64)


def _bent(bend: FloatArray, step: FloatArray, change: FloatArray) -> FloatArray:
    """Return the approximate Hessian after a step that changed the gradient (damped BFGS)."""
    expected = bend @ step
    along, found = float(step @ expected), float(step @ change)
    if found < _LEAST_CURVATURE * along:
        share = (1.0 - _LEAST_CURVATURE) * along / (along - found)
        change = share * change + (1.0 - share) * expected
        found = float(step @ change)
    return bend - np.outer(expected, expected) / along + np.outer(change, change) / found


def _evaluate(
    pair: tuple[ClassRegression, ClassRegression], log_precision: FloatArray, before: _Round | None
) -> _Round:
    """Return f and its gradient at one log λ, the fits going on from those of another."""
    pull = Pull(np.exp(log_precision), pair[0].group)
    away = (log_precision - np.log(default_precision(pair[0].K))) / DEVIATION**2
    value, gradient = 0.5 * DEVIATION**2 * float(away @ away), away
    halves = []
    for i, (own, other) in enumerate((pair, pair[::-1])):
        half = _refit(own, pull, None if before is None else before.halves[i])
        unseen = other.state(half.state.theta)
        x = solve(own, half.state, half.near, unseen.gradient, half.adjoint, close=_RESIDUAL)
        shrunk = pull.each * pull.apart(half.state.theta)
        value += unseen.loss
        gradient = gradient - np.bincount(own.group, weights=(x * shrunk).sum(axis=0))
        halves.append(half._replace(adjoint=x))
    return _Round(log_precision, value, gradient, halves)


def _refit(rows: ClassRegression, pull: Pull, before: _Half | None) -> _Half:
    """Return the fit of a half with another prior."""
    first = before is None
    if before is None:
        nothing = np.zeros(rows.shape)
        state = rows.state(nothing)
        before = _Half(state, Nearly(rows, state, pull), nothing)
    state, near = before.state, before.near
    near.under(pull)
    for _ in range(_MAX_STEPS if first else 1):
        right = -(state.gradient + pull(state.theta))
        step = solve(rows, state, near, right, close=_RESIDUAL)
        state = newton_step(rows, state, pull, step)
        if 0.5 * float((step * right).sum()) < _LEAST_GAIN_OF_STEP * rows.total:
            break
    return _Half(state, near, before.adjoint)
