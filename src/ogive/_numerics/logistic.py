r"""Logistic regression of few columns on many grouped rows, by maximum likelihood.

Row g stands for :math:`n_g` trials with :math:`k_g` successes (both may be fractions). With
:math:`\eta_g = \alpha + x_g'\beta` the negative log-likelihood

.. math:: f(\alpha, \beta) = \sum_g n_g \log(1 + e^{\eta_g}) - k_g \eta_g

is convex, and Newton's method with step halving finds its minimum from anywhere.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ogive._numerics.blas import one_blas_thread

if TYPE_CHECKING:
    from collections.abc import Callable

    from ogive._typing import ArrayLike, BoolArray, FloatArray

#: As arrays: to turn a Python number into one takes half a microsecond, which one score notices.
ZERO, HALF, ONE = np.array(0.0), np.array(0.5), np.array(1.0)
_MAX_STEPS = 100
#: Twice the gain of a Newton step for each trial. Below this the loss has no digits
#: left to show it: whole steps are then taken as long as they shrink, down to the last digits.
_GAIN_BELOW_ROUNDING = 1e-13
_MAX_HALVINGS = 60
#: Log-odds this close (times their own size, above 1) are one score: they differ by rounding.
#: Sums over a thousand classes in float64 err by 1e-13, and logits divided by a million still
#: differ by 1e-6.
_SAME_SCORE = 1e-9
_BISECTIONS = 64  # of at most 2 x 745 log-odds: down to the last bit


def same_score(first: float, last: float) -> float:
    """Return the distance up to which log-odds in [first, last] are one score."""
    return _SAME_SCORE * max(1.0, abs(first), abs(last))


class LogisticFit(NamedTuple):
    """The coefficients, and the minimum of f."""

    intercept: float
    slopes: FloatArray
    loss: float


def expit(eta: FloatArray) -> FloatArray:
    """Return 1 / (1 + exp(−eta)), without overflow.

    Of some thousand numbers NumPy's exponential takes half the time of `scipy.special.expit`; of a
    million, twice as long.

    >>> expit(np.array([-800.0, 0.0, 800.0]))
    array([0. , 0.5, 1. ])
    """
    odds = np.exp(-np.abs(eta))
    return np.where(eta > 0, 1.0, odds) / (1.0 + odds)


def logit(p: ArrayLike) -> FloatArray:
    """Return log(p / (1 − p)); ±inf at 1 and 0.

    >>> logit(np.array([0.0, 0.5, 1.0]))
    array([-inf,   0.,  inf])
    """
    with np.errstate(divide="ignore"):
        eta: FloatArray = np.log(p) - np.log1p(np.negative(p))
    return eta


def log_odds_of_tails(high: BoolArray, tail: FloatArray) -> FloatArray:
    """Return the log-odds of sides and tails, which do not saturate; ±inf where the tail is 0.

    >>> log_odds_of_tails(np.array([False, True]), np.array([0.2, 0.2])).round(4)
    array([-1.3863,  1.3863])
    """
    odds = logit(tail)
    return np.where(high, -odds, odds)


def expit_in_place(eta: FloatArray) -> FloatArray:
    """Return 1 / (1 + exp(−eta)) in the place of eta, which is above −700.

    >>> [f"{p:.6g}" for p in expit_in_place(np.array([-36.0, 0.0, 800.0]))]
    ['2.31952e-16', '0.5', '1']
    """
    np.negative(eta, out=eta)
    np.exp(eta, out=eta)
    eta += ONE
    return np.reciprocal(eta, out=eta)


def log_add(a: FloatArray | float, b: FloatArray) -> FloatArray:
    """Return log(exp(a) + exp(b)) of finite numbers: `np.logaddexp` takes four times as long.

    >>> log_add(0.0, np.array([-800.0, 0.0, 800.0])).round(6).tolist()
    [0.0, 0.693147, 800.0]
    """
    result: FloatArray = np.subtract(a, b)
    np.abs(result, out=result)
    np.negative(result, out=result)
    np.log1p(np.exp(result, out=result), out=result)
    result += np.maximum(a, b)
    return result


@one_blas_thread()
def logistic_fit(
    columns: FloatArray,
    count: FloatArray,
    successes: FloatArray,
    start: tuple[float, FloatArray] | None = None,
) -> LogisticFit:
    """Fit an intercept and a slope for each column.

    Parameters
    ----------
    columns : (m, d) array
        Finite, and not constant.
    count, successes : (m,) arrays
        Trials and successes of each row; neither all nor none are successes.
    start : float and (d,) array, optional
        An intercept and slopes that are near the fit.
    """
    n = float(count.sum())
    mean = count @ columns / n
    # Columns of mean 0 and variance 1: then the coefficients are alike in size. Scaled first,
    # since the square of a column near 1e-260 is 0.
    apart = columns - mean
    largest = np.abs(apart).max(axis=0)
    apart /= largest
    spread = np.sqrt(count @ apart**2 / n)
    X = np.column_stack([np.ones(count.size), apart / spread])
    spread *= largest
    share = float(successes.sum()) / n
    theta = np.zeros(X.shape[1])
    theta[0] = np.log(share) - np.log1p(-share)
    if start is not None:
        theta[0], theta[1:] = start[0] + mean @ start[1], start[1] * spread
    theta, loss = _newton(X, count, successes, theta)
    slopes = theta[1:] / spread
    return LogisticFit(float(theta[0] - mean @ slopes), slopes, loss)


def _newton(
    X: FloatArray, count: FloatArray, successes: FloatArray, theta: FloatArray
) -> tuple[FloatArray, float]:
    """Minimise f from `theta` on."""
    n = float(count.sum())

    def loss_at(theta: FloatArray) -> float:
        eta = X @ theta
        return float(count @ log_add(0.0, eta) - successes @ eta)

    loss, before = loss_at(theta), np.inf
    for _ in range(_MAX_STEPS):
        p = expit(X @ theta)
        gradient = X.T @ (count * p - successes)
        hessian = (X.T * (count * p * (1.0 - p))) @ X
        hessian.flat[:: len(theta) + 1] += 1e-14 * n  # for columns that are linearly dependent
        step: FloatArray = np.linalg.solve(hessian, gradient).astype(np.float64, copy=False)
        gain = float(gradient @ step) / n  # twice what f can still fall by, for each trial
        if gain < _GAIN_BELOW_ROUNDING:
            if gain >= before:
                break
            before, theta = gain, theta - step
            continue
        theta, new = _halved(loss_at, theta, step, loss)
        if new >= loss:
            break
        loss = new
    return theta, loss_at(theta)


def _halved(
    loss_at: Callable[[FloatArray], float], theta: FloatArray, step: FloatArray, loss: float
) -> tuple[FloatArray, float]:
    """Take the step, or the largest half of it that does not raise the loss."""
    for _ in range(_MAX_HALVINGS):
        new = loss_at(theta - step)
        if new <= loss:
            return theta - step, new
        step = step / 2
    return theta, loss


@one_blas_thread()
def intercept_for_share(eta: FloatArray, count: FloatArray, share: float) -> float:
    """Return the shift that makes the mean of expit(eta + shift) equal to `share`, in (0, 1).

    >>> round(intercept_for_share(np.array([1.0, 1.0]), np.array([1.0, 3.0]), 0.5), 12)
    -1.0
    """
    wanted = np.log(share) - np.log1p(-share)
    low, high = float(wanted - eta.max()), float(wanted - eta.min())
    target = share * float(count.sum())
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        if float(count @ expit(eta + middle)) < target:
            low = middle
        else:
            high = middle
    return (low + high) / 2
