r"""A binomial regression whose prior sizes are averaged over by their evidence.

**Model.** Row g stands for :math:`n_g` trials with :math:`k_g` hits and log-odds

.. math:: l_g = \eta_g + x_g' c , \qquad c = (c_0, c_r), \quad
          c_0 \sim N(0, o^2 I_2), \quad c_r \sim N(0, s^2 I) .

The first two coefficients are a line, the rest a bend. Both sizes, o and s, are unknown. They
have a prior on a grid, with an atom at 0 each (s = 0: no bend; o = s = 0: no change at all).

**Mode.** For each s on the grid, from stiff to soft, Newton's method finds the mode of c at a fixed
o (`binomial`), warm-started from the s before.

**Evidence.** With the log-likelihood ll, its gradient g and the information A = X'diag(n p (1−p))X
at the mode x, let q = A x + g. The quadratic through that point is Gaussian in c, and its integral
against the prior of precision :math:`\Lambda` (Laplace) is

.. math:: \log Z = ll - g'x - \tfrac12 x'Ax + \tfrac12 q'(A + \Lambda)^{-1} q
          + \tfrac12 \log|\Lambda| - \tfrac12 \log|A + \Lambda| .

All o share one factorisation of the block of the bend, :math:`W = (A_{rr} + s^{-2} I)^{-1}`. The
bend follows the line, :math:`c_r = W q_r + L c_0` with :math:`L = -W A_{r0}`. What is left for the
line is its information :math:`S = A_{00} + A_{0r} L` and the pull :math:`u = q_0 + L' q_r`, two
numbers. In the directions in which S is diagonal, :math:`\lambda` its eigenvalues, the line has
for every o the variances :math:`v = o^2 / (1 + o^2 \lambda)`, the mean v u, and adds
:math:`\tfrac12 \sum (v u^2 - \log(1 + o^2 \lambda))` to the evidence.

**Far from the mode** the quadratic may be wrong without bound: rows that are certain at the mode
have no curvature there, and cost nothing however far the line moves. The mean c of each (s, o) is
therefore put into the likelihood itself, and log Z changes by ll(c) minus the quadratic there. At
the mode that is 0. Where o leads to a mean against the outcomes, it takes the weight away.

**Average.** l is linear in c: the average over (s, o), weighted by Z times the prior, has the
average coefficients. Nothing is selected.
"""

from __future__ import annotations

from math import atan2, cos, log, sin
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotri, dpotrs

from ogive._numerics.binomial import GAIN, MAX_STEPS, diagonal_of, stiffened
from ogive._numerics.covariance import root_of
from ogive._numerics.least_distance import nearest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ogive._numerics.binomial import Likelihood, Point
    from ogive._typing import FloatArray

DROP = 8.0  # the path over s stops this far below the best log evidence: e^-8 is negligible
STIFF = 1e12  # precision of the bend's coefficients where s = 0
FLOOR = 1e-9  # of the largest eigenvalue: constraints can move nearly fixed directions too
LINE = 2  # the first two coefficients are the line
# Sizes of a map whose own smoothing bias is far smaller: from 4 to 8 times the average, in steps of
# the grid of s, each a factor of 2; above 4 times up to LARGEST_ROUGHER only.
ROUGHER_STEPS = 2, 3
LARGEST_ROUGHER = 2.5  # log-odds: rows that say little of s must not widen a band without end


class Prior(NamedTuple):
    """Grids of the two sizes, rising from 0, with their prior weights; and o for the path."""

    bend: FloatArray
    bend_weight: FloatArray
    shift: FloatArray
    shift_weight: FloatArray
    path_shift: float


class Node(NamedTuple):
    """One s of the grid: what the bend leaves to the line, in directions that S keeps apart."""

    precision: float  # of the bend: s^-2, and 0 where there is none
    value: FloatArray  # (2,): the eigenvalues of S
    pull: FloatArray  # (2,): u
    lift: FloatArray  # (d, 2): how the coefficients move with the line: I above L, turned
    bend: FloatArray  # (d,): the coefficients with the line at 0: 0 above W q_r
    factor: FloatArray | None  # (d − 2, d − 2): W^-1 = F F', F lower triangular
    log_weight: FloatArray  # (o,): log evidence and log prior


class Rougher(NamedTuple):
    """The posterior at one size s of the bend, larger than the average: mean (d,), covariance."""

    mean: FloatArray
    covariance: FloatArray


class Posterior(NamedTuple):
    """The mixture: mean (d,), covariances (d, d), degrees of freedom, weights (s, o).

    ``covariance`` leaves out the atoms at 0 and weighs each s by s² as well; ``spread`` is that
    of the whole mixture. ``rougher`` is what a size well above that average finds.
    """

    mean: FloatArray
    rougher: Rougher
    covariance: FloatArray
    spread: FloatArray
    edf: float
    weight: FloatArray


def posterior(like: Likelihood, prior: Prior, line: FloatArray | None = None) -> Posterior:
    """Average over the grid of sizes, by evidence; `line`: where the search may start, (2,)."""
    return _average(_path(like, prior, line), prior)


def _path(like: Likelihood, prior: Prior, line: FloatArray | None) -> list[Node]:
    """Find the modes along s, from stiff to soft, until the evidence has clearly fallen."""
    size = like.columns.shape[0]
    start = np.zeros(size)
    if line is not None:
        start[:LINE] = line
    at = like.point(start)
    precision = np.full(size, prior.path_shift**-2)
    nodes: list[Node] = []
    best = -np.inf
    for s, weight in zip(prior.bend.tolist(), prior.bend_weight.tolist(), strict=True):
        precision[LINE:] = s**-2 if s > 0 else STIFF
        at = like.ascend(at, precision)
        nodes.append(_corrected(_node(at, s, log(weight), prior), like, at, prior))
        top = float(nodes[-1].log_weight.max())
        best = max(best, top)
        if top < best - DROP:
            break
    return nodes


def _node(at: Point, s: float, log_prior: float, prior: Prior) -> Node:
    """Take the bend out of the quadratic at a mode, and weigh what is left with every o."""
    A, size = at.info, at.coef.size
    Ax = A @ at.coef
    q = Ax + at.score
    base = at.value - float((at.score + 0.5 * Ax) @ at.coef) + log_prior
    S, pull = A[:LINE, :LINE], q[:LINE]
    lift, bend, factor = np.eye(size, LINE), np.zeros(size), None
    if s > 0:
        sides = np.column_stack([A[LINE:, :LINE], q[LINE:]])
        factor = dpotrf(stiffened(A[LINE:, LINE:], s**-2), lower=1)[0]
        solved = dpotrs(factor, sides, lower=1)[0]
        lift[LINE:] = -solved[:, :LINE]
        bend[LINE:] = solved[:, LINE]
        taken = sides.T @ solved  # (3, 3)
        S, pull = S - taken[:LINE, :LINE], pull - taken[:LINE, LINE]
        base += 0.5 * float(taken[LINE, LINE]) - float(np.log(s * factor.diagonal()).sum())
    value, turn = _directions(S)
    pull = pull @ turn
    spread = np.log1p(np.multiply.outer(prior.shift**2, value)).sum(axis=1)
    log_weight = base + 0.5 * (_variances(value, prior) @ pull**2 - spread)
    log_weight += np.log(prior.shift_weight)
    precision = s**-2 if s > 0 else 0.0
    return Node(precision, value, pull, lift @ turn, bend, factor, log_weight)


def _corrected(node: Node, like: Likelihood, at: Point, prior: Prior) -> Node:
    """Move the log weights of a node by ll(c) minus the quadratic at c, where they count."""
    log_weight = node.log_weight.copy()
    coef = _means(node.value, node.pull, node.lift, node.bend, prior)
    step = coef - at.coef
    quadratic = at.value + step @ at.score - 0.5 * ((step @ at.info) * step).sum(axis=1)
    rest = np.ones(log_weight.size, dtype=bool)
    while (now := rest & (log_weight > log_weight.max() - DROP)).any():
        log_weight[now] += like.values(coef[now]) - quadratic[now]
        rest &= ~now
    return node._replace(log_weight=log_weight)


def _means(
    value: FloatArray, pull: FloatArray, lift: FloatArray, bend: FloatArray, prior: Prior
) -> FloatArray:
    """Return the mean coefficients for every o, (..., o, d)."""
    line = _variances(value, prior) * pull[..., None, :]
    result: FloatArray = line @ lift.swapaxes(-1, -2) + bend[..., None, :]
    return result


def _directions(S: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return eigenvalues (2,) and eigenvectors (2, 2) of a matrix that has none below 0.

    A formula: LAPACK takes five times as long for two rows. Rounding may leave a trace below 0.
    """
    (a, b), (_, d) = S.tolist()
    angle = atan2(2 * b, a - d) / 2
    c, s = cos(angle), sin(angle)
    cross = 2 * b * c * s
    values = (a * c * c + cross + d * s * s, a * s * s - cross + d * c * c)
    return np.maximum(values, 0.0), np.array([[c, -s], [s, c]])


def _variances(value: FloatArray, prior: Prior) -> FloatArray:
    """Return those of the line for every o, (..., o, 2), from the eigenvalues of S, (..., 2)."""
    o2 = prior.shift[:, None] ** 2
    result: FloatArray = o2 / (1 + o2 * value[..., None, :])
    return result


def _average(nodes: Sequence[Node], prior: Prior) -> Posterior:
    """Mix the nodes by weight.

    The covariance is about the mean but leaves out the atoms s = 0 and o = 0: it must not be
    small only because the simpler map is likely. And each s counts with s²: what an average that
    is too stiff misses of a bend grows with its size, and its square with s².
    """
    log_weight = np.array([node.log_weight for node in nodes])
    weight = np.exp(log_weight - log_weight.max())
    weight /= weight.sum()
    free = weight.copy()
    free[:, 0] = 0.0
    if len(nodes) > 1 and free[1:].sum() > 0:
        free *= prior.bend[: len(nodes), None] ** 2
    free = free / free.sum() if free.sum() > 0 else weight
    grid = _grid(nodes, prior)
    mean = weight.ravel() @ grid.coef.reshape(weight.size, -1)
    covariance, spread = (_covariance(grid, way, mean) for way in (free, weight))
    rougher = _rougher(grid, prior, weight, free)
    return Posterior(mean, rougher, covariance, spread, _degrees(grid, weight), weight)


def _rougher(grid: _Grid, prior: Prior, weight: FloatArray, free: FloatArray) -> Rougher:
    """Return the posterior at a size s above its average in `free`, both weights (s, o).

    It is over all o but 0. The average of s is geometric, on the grid's steps, and a size between
    two steps is a mixture of both.
    """
    last = len(weight) - 1
    average = float(free.sum(axis=1) @ np.arange(last + 1))
    least, most = (average + steps for steps in ROUGHER_STEPS)
    largest = float(np.interp(LARGEST_ROUGHER, prior.bend, np.arange(prior.bend.size)))
    most = max(least, min(most, largest))
    at = np.maximum(0.0, 1.0 - np.abs(np.arange(last + 1) - min(most, last)))
    over_o = weight.copy()
    over_o[:, 0] = 0.0
    over_o *= (at / np.maximum(over_o.sum(axis=1), np.finfo(np.float64).tiny))[:, None]
    mean = over_o.ravel() @ grid.coef.reshape(over_o.size, -1)
    return Rougher(mean, _covariance(grid, over_o, mean))


class _Grid(NamedTuple):
    """The posterior for every s and o."""

    precision: FloatArray  # (s,): of the bend, 0 where there is none
    coef: FloatArray  # (s, o, d): mean
    value: FloatArray  # (s, 2): information of the line
    variance: FloatArray  # (s, o, 2): of the line
    lift: FloatArray  # (s, d, 2)
    W: FloatArray  # (s, d − 2, d − 2): covariance of the bend, given the line; lower triangles


def _grid(nodes: Sequence[Node], prior: Prior) -> _Grid:
    parts = list(zip(*nodes, strict=True))[:5]
    precision, value, pull, lift, bend = map(np.array, parts)
    variance = _variances(value, prior)
    coef = _means(value, pull, lift, bend, prior)
    none = np.zeros((bend.shape[1] - LINE,) * 2)
    W = [none if node.factor is None else dpotri(node.factor, lower=1)[0] for node in nodes]
    return _Grid(precision, coef, value, variance, lift, np.array(W))


def _covariance(grid: _Grid, weight: FloatArray, mean: FloatArray) -> FloatArray:
    """Return the covariance (d, d) of the grid about a mean: between its nodes, and within."""
    size = mean.size
    apart = (grid.coef - mean).reshape(-1, size)  # (s o, d)
    covariance: FloatArray = (apart.T * weight.ravel()) @ apart
    variance = weight[:, None] @ grid.variance  # (s, 1, 2)
    along = (grid.lift * np.sqrt(variance)).swapaxes(0, 1).reshape(size, -1)  # (d, 2 s)
    covariance += along @ along.T
    bend = weight.sum(axis=1) @ grid.W.reshape(len(weight), -1)
    covariance[LINE:, LINE:] += _mirrored(bend.reshape(grid.W.shape[1:]))
    return covariance


def _degrees(grid: _Grid, weight: FloatArray) -> float:
    """Return the effective degrees of freedom, trace of (A + Λ)^-1 A, on average.

    With the bend's precision t they are tr(I − t W) for the bend, and v (λ − t |L|²), summed
    over both directions, for the line.
    """
    t, L = grid.precision, grid.lift[:, LINE:]
    line = grid.variance @ (grid.value - t[:, None] * (L * L).sum(axis=1))[..., None]  # (s, o, 1)
    bend = (t > 0) * L.shape[1] - t * grid.W.trace(axis1=1, axis2=2)
    return float(np.vdot(weight, line) + weight.sum(axis=1) @ bend)


def constrained_coefficients(
    like: Likelihood, found: Posterior, prior: Prior, G: FloatArray, g: FloatArray
) -> FloatArray:
    """Return coefficients with G c >= g: the average moved, then improved, within them.

    First the point nearest to the average in the metric of the posterior; from there sequential
    quadratic steps at the likeliest s and o, each a least-distance problem again.
    """
    coef = nearest(root_of(found.covariance, FLOOR), found.mean, G, g)
    if coef is found.mean:
        return coef
    o = prior.shift[1 + int(found.weight.sum(axis=0)[1:].argmax())]
    precision = np.full(coef.size, o**-2)
    if coef.size > LINE:
        s = prior.bend[max(1, int(found.weight.sum(axis=1).argmax()))]
        precision[LINE:] = s**-2
    at = like.point(coef)
    for _ in range(MAX_STEPS):
        covariance = _inverse(stiffened(at.info, precision))
        gradient = at.score - precision * at.coef
        step = nearest(root_of(covariance, FLOOR), at.coef + covariance @ gradient, G, g) - at.coef
        new = like.move(at, step, precision) if gradient @ step >= GAIN else at
        if new is at:
            break
        at = new
    return at.coef


def _mirrored(low: FloatArray) -> FloatArray:
    """Return the symmetric matrix of a lower triangle, 0 above."""
    result: FloatArray = low + low.T
    diagonal = diagonal_of(result)
    diagonal /= 2.0
    return result


def _inverse(A: FloatArray) -> FloatArray:
    """Return the inverse of a positive definite matrix."""
    return _mirrored(dpotri(dpotrf(A, lower=1)[0], lower=1)[0])
