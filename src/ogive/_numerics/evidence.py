r"""A binomial regression whose prior sizes are averaged over by their evidence.

**Model.** Row g stands for :math:`n_g` trials with :math:`k_g` hits and log-odds

.. math:: l_g = \eta_g + x_g' c , \qquad c = (c_0, c_r), \quad
          c_0 \sim N(0, o^2 I_2), \quad c_r \sim N(0, s^2 I) .

The first two coefficients are a line, the rest a bend. Both sizes, o and s, are unknown. They
have a prior on a grid, with an atom at 0 each (s = 0: no bend; o = s = 0: no change at all).

**Mode.** For each s on the grid, from stiff to soft, Newton's method with step halving finds the
mode of c at a fixed o, warm-started from the s before.

**Evidence.** With the log-likelihood ll, its gradient g and the information A = X'diag(n p (1−p))X
at the mode x, let q = A x + g. The quadratic through that point is Gaussian in c, and its integral
against the prior of precision :math:`\Lambda` (Laplace) is

.. math:: \log Z = ll - g'x - \tfrac12 x'Ax + \tfrac12 q'(A + \Lambda)^{-1} q
          + \tfrac12 \log|\Lambda| - \tfrac12 \log|A + \Lambda| .

All o share one factorisation of the block of the bend, :math:`W = (A_{rr} + s^{-2} I)^{-1}`. What
remains per o is 2 x 2: with the Schur complement :math:`S = A_{00} - A_{0r} W A_{r0}`, the inner
covariance is :math:`(S + o^{-2} I)^{-1}` and :math:`\log|I + o^2 S|` its share of the evidence.

**Average.** l is linear in c: the average over (s, o), weighted by Z times the prior, has the
average coefficients. Nothing is selected.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ogive._numerics.least_distance import nearest
from ogive._numerics.logistic import expit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ogive._typing import FloatArray

GAIN = 0.01  # Newton stops when half of this, in log-likelihood, is all it still expects to gain
MAX_STEPS = 200  # fewer than ten are usual
MAX_HALVINGS = 60  # rows that are certain and wrong have no curvature: a first step of 1e9
DROP = 8.0  # the path over s stops this far below the best log evidence: e^-8 is no weight
STIFF = 1e12  # precision of the bend's coefficients where s = 0
RIDGE = 1e-13  # of the largest diagonal entry: keeps Cholesky going through rounding
FLOOR = 1e-9  # of the largest eigenvalue: directions the posterior holds fixed stay reachable
NO_WEIGHT = 1e-6  # nodes below this weight add nothing to the covariance
LINE = 2  # the first coefficients


@dataclass(frozen=True, slots=True)
class Trials:
    """Grouped trials, (m,) each; hits keep their own mean offset: sum of hits x offset is exact."""

    offset: FloatArray
    count: FloatArray
    hits: FloatArray
    offset_hit: FloatArray


class Prior(NamedTuple):
    """Grids of the two sizes, rising from 0, with their prior weights; and o for the path."""

    bend: FloatArray
    bend_weight: FloatArray
    shift: FloatArray
    shift_weight: FloatArray
    path_shift: float


class Point(NamedTuple):
    """Coefficients (d,), with the log-likelihood, its gradient and the information there."""

    coef: FloatArray
    value: float
    score: FloatArray
    info: FloatArray


class Likelihood:
    """The binomial log-likelihood of l = offset + X coef, up to a constant."""

    def __init__(self, trials: Trials, columns: FloatArray, columns_hit: FloatArray) -> None:
        """Take the columns (m, d) at the offsets of the trials, and at those of the hits."""
        self.offset, self.count = trials.offset, trials.count
        self.columns = np.ascontiguousarray(columns.T)  # (d, m)
        self.hit = trials.hits @ columns_hit  # the sufficient statistic, (d,)
        self.at_zero = float(trials.hits @ trials.offset_hit)

    def logit(self, coef: FloatArray) -> FloatArray:
        """Return l at the trials, (m,)."""
        result: FloatArray = self.offset + coef @ self.columns
        return result

    def value(self, coef: FloatArray) -> tuple[float, FloatArray]:
        """Return the log-likelihood, and l."""
        logit = self.logit(coef)
        lost = self.count @ np.logaddexp(0.0, logit)
        return self.at_zero + float(self.hit @ coef - lost), logit

    def point(self, coef: FloatArray) -> Point:
        """Return the likelihood and its derivatives at some coefficients."""
        return self._point(coef, *self.value(coef))

    def _point(self, coef: FloatArray, value: float, logit: FloatArray) -> Point:
        p = expit(logit)
        expected = self.count * p
        root = self.columns * np.sqrt(expected * (1 - p))
        return Point(coef, value, self.hit - self.columns @ expected, root @ root.T)

    def ascend(self, at: Point, precision: FloatArray) -> Point:
        """Climb to the mode under a prior N(0, diag(1 / precision)) by Newton's method."""
        from scipy.linalg.lapack import dposv  # noqa: PLC0415 - heavy

        for _ in range(MAX_STEPS):
            gradient = at.score - precision * at.coef
            step = dposv(_ridged(at.info, precision), gradient)[1]
            if gradient @ step < GAIN:
                break
            new = self.move(at, step, precision)
            if new is at:
                break
            at = new
        return at

    def move(self, at: Point, step: FloatArray, precision: FloatArray) -> Point:
        """Take the step, or the largest half of it that raises the penalised likelihood.

        The point itself is returned where rounding leaves nothing to gain.
        """
        old = at.value - 0.5 * precision @ at.coef**2
        for _ in range(MAX_HALVINGS):
            coef = at.coef + step
            value, logit = self.value(coef)
            if value - 0.5 * precision @ coef**2 > old:
                return self._point(coef, value, logit)
            step = step / 2
        return at


@dataclass(frozen=True, slots=True)
class Node:
    """One s of the grid, with all o."""

    log_weight: FloatArray  # (o,): log evidence and log prior
    mean: FloatArray  # (o, d)
    inner: FloatArray  # (o, 2, 2): covariance of the line
    lift: FloatArray  # (d, 2): how the coefficients move with the line
    rest: FloatArray  # (d − 2, d − 2): covariance of the bend, given the line
    edf: FloatArray  # (o,): effective degrees of freedom, trace of (A + Λ)^-1 A


class Posterior(NamedTuple):
    """The mixture: mean (d,), covariances (d, d), degrees of freedom, weights (s, o).

    ``covariance`` leaves out the atoms at 0; ``spread`` is that of the whole mixture.
    """

    mean: FloatArray
    covariance: FloatArray
    spread: FloatArray
    edf: float
    weight: FloatArray


def posterior(like: Likelihood, prior: Prior, line: FloatArray | None = None) -> Posterior:
    """Average over the grid of sizes, by evidence; `line`: where the search may start, (2,)."""
    return _average(_path(like, prior, line))


def _path(like: Likelihood, prior: Prior, line: FloatArray | None) -> list[Node]:
    """Find the modes along s, from stiff to soft, until the evidence has clearly fallen."""
    size = like.columns.shape[0]
    start = np.zeros(size)
    if line is not None:
        start[:LINE] = line
    at = like.point(start)
    nodes: list[Node] = []
    best = -np.inf
    for s, weight in zip(prior.bend, prior.bend_weight, strict=True):
        precision = np.full(size, prior.path_shift**-2)
        precision[LINE:] = s**-2 if s > 0 else STIFF
        at = like.ascend(at, precision)
        nodes.append(_node(at, float(s), float(np.log(weight)), prior))
        top = float(nodes[-1].log_weight.max())
        best = max(best, top)
        if top < best - DROP:
            break
    return nodes


def _node(at: Point, s: float, log_prior: float, prior: Prior) -> Node:
    """Return the Laplace evidence and posterior for every o at one s."""
    A, size = at.info, at.coef.size
    Ax = A @ at.coef
    q = Ax + at.score
    base = at.value - at.score @ at.coef - 0.5 * at.coef @ Ax + log_prior
    rest = np.zeros((size - LINE, size - LINE))
    if s > 0:
        rest, log_det = _inverse(_ridged(A[LINE:, LINE:], s**-2))
        base += 0.5 * q[LINE:] @ rest @ q[LINE:] - (size - LINE) * np.log(s) - 0.5 * log_det
    lift = np.eye(size, LINE)
    lift[LINE:] = -rest @ A[LINE:, :LINE]
    schur = A[:LINE, :LINE] + A[:LINE, LINE:] @ lift[LINE:]
    pull = q[:LINE] + lift[LINE:].T @ q[LINE:]
    inner, log_dets = _line_covariances(schur, prior.shift**2)
    line = inner @ pull  # (o, 2)
    mean = line @ lift.T
    mean[:, LINE:] += rest @ q[LINE:]
    spread = (lift.T @ A @ lift).ravel()
    edf = np.vdot(rest, A[LINE:, LINE:]) + inner.reshape(-1, spread.size) @ spread
    log_weight = base + 0.5 * line @ pull - 0.5 * log_dets + np.log(prior.shift_weight)
    return Node(log_weight, mean, inner, lift, rest, edf)


def _line_covariances(schur: FloatArray, o2: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return (S + I/o²)^-1 and log|I + o² S| for every o², 0 included, by 2 x 2 formulas."""
    (a, b), (_, d) = schur.tolist()
    first, cross, second = 1 + a * o2, b * o2, 1 + d * o2
    det = first * second - cross * cross
    top = o2 / det
    cross *= -top
    inner = np.array([top * second, cross, cross, top * first]).T.reshape(-1, 2, 2)
    return inner, np.log(det)


def _average(nodes: Sequence[Node]) -> Posterior:
    """Mix the nodes by weight.

    The covariance is about the mean but leaves out the atoms s = 0 and o = 0: it must not be
    small only because the simpler map is likely.
    """
    log_weight = np.array([node.log_weight for node in nodes])
    weight = np.exp(log_weight - log_weight.max())
    weight /= weight.sum()
    mean = np.sum([w @ node.mean for w, node in zip(weight, nodes, strict=True)], axis=0)
    edf = sum(float(w @ node.edf) for w, node in zip(weight, nodes, strict=True))
    free = weight.copy()
    free[:, 0] = 0.0
    if len(nodes) > 1 and free[1:].sum() > 0:
        free[0] = 0.0
    free = free / free.sum() if free.sum() > 0 else weight
    covariance, spread = _about(mean, nodes, np.array([free, weight]))
    return Posterior(mean, covariance, spread, edf, weight)


def _about(mean: FloatArray, nodes: Sequence[Node], weights: FloatArray) -> FloatArray:
    """Return covariances of the nodes about a mean, between them and within each, (k, d, d).

    weights : (k, s, o), ways to weigh them
    """
    some = [i for i, w in enumerate(weights.sum(axis=2).max(axis=0)) if w > NO_WEIGHT]
    weights, nodes = weights[:, some], [nodes[i] for i in some]
    apart = np.concatenate([node.mean for node in nodes]) - mean  # (s o, d)
    k, s, o = weights.shape
    covariance = (apart * weights.reshape(k, -1, 1)).swapaxes(1, 2) @ apart
    lift = np.array([node.lift for node in nodes])  # (s, d, 2)
    inner = np.array([node.inner.reshape(o, -1) for node in nodes])  # (s, o, 4)
    inner = (weights[:, :, None] @ inner).reshape(k, s, LINE, LINE)
    moved = (lift @ inner).swapaxes(1, 2).reshape(k, mean.size, -1)  # (k, d, 2 s)
    covariance += moved @ lift.swapaxes(0, 1).reshape(mean.size, -1).T
    rest = np.array([node.rest.ravel() for node in nodes])  # (s, (d − 2)²)
    within = weights.sum(axis=2) @ rest
    covariance[:, LINE:, LINE:] += within.reshape(k, mean.size - LINE, mean.size - LINE)
    result: FloatArray = covariance
    return result


def obeying(
    like: Likelihood, found: Posterior, prior: Prior, G: FloatArray, g: FloatArray
) -> FloatArray:
    """Return coefficients with G c >= g: the average moved, then improved, within them.

    First the point nearest to the average in the metric of the posterior; from there sequential
    quadratic steps at the likeliest s and o, each a least-distance problem again.
    """
    coef = nearest(_root(found.covariance), found.mean, G, g)
    if coef is found.mean:
        return coef
    o = prior.shift[1 + int(found.weight.sum(axis=0)[1:].argmax())]
    precision = np.full(coef.size, o**-2)
    if coef.size > LINE:
        s = prior.bend[max(1, int(found.weight.sum(axis=1).argmax()))]
        precision[LINE:] = s**-2
    at = like.point(coef)
    for _ in range(MAX_STEPS):
        covariance, _ = _inverse(_ridged(at.info, precision))
        gradient = at.score - precision * at.coef
        step = nearest(_root(covariance), at.coef + covariance @ gradient, G, g) - at.coef
        new = like.move(at, step, precision) if gradient @ step >= GAIN else at
        if new is at:
            break
        at = new
    return at.coef


def _root(covariance: FloatArray) -> FloatArray:
    """Return F with F F' = covariance, its smallest eigenvalues raised to the floor."""
    value, vector = np.linalg.eigh(covariance)
    result: FloatArray = vector * np.sqrt(np.maximum(value, FLOOR * value[-1]))
    return result


def _ridged(A: FloatArray, precision: FloatArray | float) -> FloatArray:
    """Return A + diag(precision), and a trace more against rounding."""
    result = A.copy()
    diagonal = result.ravel()[:: len(A) + 1]  # a view
    diagonal += precision + RIDGE * diagonal.max()
    return result


def _inverse(A: FloatArray) -> tuple[FloatArray, float]:
    """Return the inverse and the log determinant of a positive definite matrix."""
    from scipy.linalg.lapack import dpotrf, dpotri  # noqa: PLC0415 - heavy

    factor = dpotrf(A, lower=1)[0]
    low = dpotri(factor, lower=1)[0]  # zeros above the diagonal, as in the factor
    inverse = low + low.T
    inverse.ravel()[:: len(A) + 1] /= 2.0
    return inverse, 2 * float(np.log(factor.diagonal()).sum())
