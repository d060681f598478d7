r"""Effects of many groups on log-odds, shrunk by sizes that all groups together teach.

Row i of group g stands for :math:`n_i` trials with :math:`k_i` hits and the log-odds

.. math:: l_i = L_i + x_i'\,T (u_g + m), \qquad T = \mathrm{diag}(t_1 \dots t_d),

L an offset, x some columns (d of them), u_g the effect of the group and m an effect that all
groups share, for an offset that is too flat or too steep for each of them. Both have the prior
N(0, I), so that t are the sizes of the effects, and t = 0 means that there are none.

For given sizes the mode of

.. math:: \sum_i k_i l_i - n_i \log(1 + e^{l_i}) - \tfrac12 \sum_g |u_g|^2 - \tfrac12 |m|^2

is found by Newton's method. Its second derivatives are an arrow: with
:math:`A_g = T H_g T`, H_g the information of the group, the blocks are A_g + I of each u_g,
I + Σ A_g of m, and A_g between them. The u_g are eliminated group by group, which leaves a
system of size d for m: S = I + Σ A_g − Σ A_g (A_g + I)⁻¹ A_g. The evidence of the sizes is
Laplace's: the value at the mode minus ½ Σ log|A_g + I| − ½ log|S|.

The sizes have a prior on a grid. The grid is searched from "no effects" uphill, and around the
best points until all that is left has a weight below exp(−FARTHEST) of the best; the result is
the average of the effects T (u_g + m) over what was found, weighted by evidence and prior.
"""

from __future__ import annotations

import heapq
from itertools import product
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ogive._typing import FloatArray, IntArray

#: Log weight below the best at which the search of the grid stops: 0.1 % each.
FARTHEST = 7.0
MAX_STEPS = 100  # of Newton's method; fewer than ten are usual
MAX_HALVINGS = 40
#: Newton stops when no group expects to gain more: the step that follows errs by its square.
GAIN = 1e-8

Point = tuple[int, ...]


class GroupTrials(NamedTuple):
    """Grouped trials of all groups, (m,) each, group after group.

    columns is (d, m); hit is the sum (G, d) of the columns over the hits of each group, and
    start (G,) is where each group begins. Every group has a row.
    """

    offset: FloatArray
    counts: FloatArray
    columns: FloatArray
    hit: FloatArray
    start: IntArray


class Mode(NamedTuple):
    """The mode for given sizes: u (G, d), m (d,), and the log evidence of the sizes."""

    u: FloatArray
    m: FloatArray
    evidence: float


class Effects(NamedTuple):
    """Effects averaged over sizes.

    effect : (G, d) mean of T (u_g + m)
    spread : (G, d, d) covariance of a group's own part, T u_g, given the shared one
    size : (d,) mean of the sizes
    none : (d,) weight of the size 0
    """

    effect: FloatArray
    spread: FloatArray
    size: FloatArray
    none: FloatArray


class _State(NamedTuple):
    """The log-likelihood of each group, (G,), its gradient (G, d) and information (G, d, d)."""

    value: FloatArray
    score: FloatArray
    info: FloatArray


def average_effects(
    trials: GroupTrials, sizes: list[FloatArray], weights: list[FloatArray]
) -> Effects:
    """Average the effects over a grid of sizes, each axis with its prior weights."""
    modes = _search(trials, sizes, [np.log(w) for w in weights])
    best = max(value for value, _ in modes.values())
    total, d = 0.0, len(sizes)
    groups = trials.start.size
    effect, spread = np.zeros((groups, d)), np.zeros((groups, d, d))
    size, none, square = np.zeros(d), np.zeros(d), np.zeros((groups, d, d))
    for point in sorted(modes):
        value, mode = modes[point]
        weight = float(np.exp(value - best))
        t = np.array([axis[i] for axis, i in zip(sizes, point, strict=True)])
        coef = (mode.u + mode.m) * t
        total += weight
        effect += weight * coef
        square += weight * coef[:, :, None] * coef[:, None, :]
        spread += weight * _spread(trials, coef, t)
        size += weight * t
        none += weight * (t == 0.0)
    effect /= total
    between = square / total - effect[:, :, None] * effect[:, None, :]
    return Effects(effect, spread / total + between, size / total, none / total)


def _search(
    trials: GroupTrials, sizes: list[FloatArray], log_prior: list[FloatArray]
) -> dict[Point, tuple[float, Mode]]:
    """Return the modes of the points of the grid that matter, with their log weights."""

    def at(point: Point, start: Mode) -> tuple[float, Mode]:
        t = np.array([axis[i] for axis, i in zip(sizes, point, strict=True)])
        mode = mode_of(trials, t, start)
        prior = sum(axis[i] for axis, i in zip(log_prior, point, strict=True))
        return mode.evidence + float(prior), mode

    groups, d = trials.start.size, len(sizes)
    first: Point = (0,) * d
    found = {first: at(first, Mode(np.zeros((groups, d)), np.zeros(d), 0.0))}
    best = found[first][0]
    heap = [(-best, first)]
    while heap and -heap[0][0] > best - FARTHEST:
        _, point = heapq.heappop(heap)
        for other in _neighbours(point, [axis.size for axis in sizes]):
            if other not in found:
                found[other] = at(other, found[point][1])
                heapq.heappush(heap, (-found[other][0], other))
        best = -min(-best, heap[0][0]) if heap else best
    return found


def _neighbours(point: Point, sizes: list[int]) -> Iterator[Point]:
    for axis, step in product(range(len(point)), (-1, 1)):
        moved = point[axis] + step
        if 0 <= moved < sizes[axis]:
            yield (*point[:axis], moved, *point[axis + 1 :])


def mode_of(trials: GroupTrials, t: FloatArray, start: Mode | None = None) -> Mode:
    """Return the mode for the sizes t, (d,), by Newton's method from a start."""
    groups, d = trials.start.size, t.size
    u, m = (np.zeros((groups, d)), np.zeros(d)) if start is None else (start.u, start.m)
    u, m = np.where(t > 0, u, 0.0), np.where(t > 0, m, 0.0)
    state = _state(trials, (u + m) * t)
    for _ in range(MAX_STEPS):
        step_u, step_m, gain, log_det = _newton(state, u, m, t)
        old = _value(state, u, m)
        if gain < GAIN:
            return Mode(u + step_u, m + step_m, old + 0.5 * gain - 0.5 * log_det)
        for _ in range(MAX_HALVINGS):
            moved = _state(trials, (u + step_u + m + step_m) * t)
            if _value(moved, u + step_u, m + step_m) > old:
                break
            step_u, step_m = step_u / 2.0, step_m / 2.0
        else:
            break  # rounding leaves nothing to gain
        u, m, state = u + step_u, m + step_m, moved
    return Mode(u, m, old - 0.5 * log_det)


def _value(state: _State, u: FloatArray, m: FloatArray) -> float:
    return float((state.value - 0.5 * (u**2).sum(axis=1)).sum()) - 0.5 * float(m @ m)


def _newton(
    state: _State, u: FloatArray, m: FloatArray, t: FloatArray
) -> tuple[FloatArray, FloatArray, float, float]:
    """Return Newton's step of u and m, twice what it expects to gain, and log|curvature|."""
    one = np.eye(t.size)
    A = state.info * (t[:, None] * t)
    gradient = state.score * t
    of_u, of_m = gradient - u, gradient.sum(axis=0) - m
    inner = A + one
    solved = np.linalg.solve(inner, np.concatenate([A, of_u[:, :, None]], axis=2))
    AB = A.transpose(0, 2, 1) @ solved
    d = t.size
    S = one + (A - AB[:, :, :d]).sum(axis=0)
    step_m = np.linalg.solve(S, of_m - AB[:, :, d].sum(axis=0))
    step_u = solved[:, :, d] - solved[:, :, :d] @ step_m
    gain = float((step_u * of_u).sum() + step_m @ of_m)
    log_det = float(np.linalg.slogdet(inner)[1].sum() + np.linalg.slogdet(S)[1])
    return step_u, step_m, gain, log_det


def _state(trials: GroupTrials, coef: FloatArray) -> _State:
    """Return the likelihood of each group and its derivatives at coefficients (G, d)."""
    X, start, d = trials.columns, trials.start, coef.shape[1]
    rows = np.diff(np.append(start, trials.offset.size))
    logit = trials.offset + np.einsum("dm,dm->m", X, np.repeat(coef.T, rows, axis=1))
    odds = np.exp(-np.abs(logit))
    softplus = np.log1p(odds) + np.maximum(logit, 0.0)
    p = np.where(logit > 0, 1.0, odds) / (1.0 + odds)
    value = (trials.hit * coef).sum(axis=1) - _sum(trials.counts * softplus, start)
    expected = trials.counts * p
    score = trials.hit - _sum(X * expected, start).T
    weight = trials.counts * odds / (1.0 + odds) ** 2
    info = np.empty((start.size, d, d))
    for i in range(d):
        product_i = _sum(X[: i + 1] * (X[i] * weight), start)
        info[:, i, : i + 1] = product_i.T
        info[:, : i + 1, i] = product_i.T
    return _State(value, score, info)


def _sum(values: FloatArray, start: IntArray) -> FloatArray:
    result: FloatArray = np.add.reduceat(values, start, axis=-1)
    return result


def _spread(trials: GroupTrials, coef: FloatArray, t: FloatArray) -> FloatArray:
    """Return the covariance of T u_g given m, (G, d, d): T (A_g + I)⁻¹ T."""
    A = _state(trials, coef).info * (t[:, None] * t)
    result: FloatArray = np.linalg.inv(A + np.eye(t.size)) * (t[:, None] * t)
    return result
