r"""The share of a change of scores that also holds on new rows: a number in [0, 1], averaged.

With base scores a and a change d, (K, m), the scores a + α d have the loss

.. math:: f(\alpha) = \sum_i w_i \Big[ \log\sum_k e^{a_{ki} + \alpha d_{ki}}
          - a_{y_i i} - \alpha d_{y_i i} \Big] ,

convex in α: f' is the sum of mean minus own change, f'' that of the variances, under the softmax.

The best α of a change that is only noise is above 0 in every other sample. So α is averaged: with
the probability 0.7 nothing holds, α = 0; else every α in [0, 1] is as probable as any other. The
mean of α given the labels is

.. math:: \bar\alpha = \frac{0.3 \int_0^1 \alpha\, e^{-f(\alpha)} d\alpha}
          {0.7\, e^{-f(0)} + 0.3 \int_0^1 e^{-f(\alpha)} d\alpha} .
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ogive._numerics.blocks import BLOCK, for_each_block

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ogive._typing import AnyArray, FloatArray, IntArray

_STEPS = 20
_NEAR_ENOUGH = 1e-3  # of α's deviation: from the best on f is known, not only its least
P_HOLDS = 0.3  # prior probability of α > 0; the default spline's prior is similar
_DEVIATIONS = 6.0  # of α on either side of the best: the integrals are negligible beyond
_DECAY = 36.0  # or where the density has fallen by e^-36
_NODES, _NODE_WEIGHTS = np.polynomial.legendre.leggauss(16)  # exact to 1e-6 over these intervals
_PLACES, _WEIGHTS = 0.5 * (1.0 + _NODES), 0.5 * _NODE_WEIGHTS  # from 0 to 1
#: f is cut where f'' changes by more; each piece is then a quintic, right to 1e-4 of the result.
_MAX_RATIO_OF_BENDS = 1.5
_SHORTEST = 0.1  # piece that is cut no further
_MIN_ROWS_PER_BLOCK = 64  # numbers of a class stand side by side: fewer rows are read in pieces


class Change(NamedTuple):
    """Rows with base scores and changed scores."""

    base: AnyArray  # (K, m) a
    changed: AnyArray  # (K, m) a + d
    labels: IntArray  # (m,)
    weights: FloatArray  # (m,)


def mean_share(parts: Sequence[Change], *, n_jobs: int | None = None) -> float:
    """Return the mean of α given the labels.

    >>> base = np.zeros((2, 300))
    >>> changed = base + np.array([[1.0], [0.0]])
    >>> labels = np.arange(300) % 4 == 0                    # log-odds of class 0: log 3 = 1.1
    >>> round(mean_share([Change(base, changed, labels.astype(int), np.ones(300))]), 2)
    0.93
    >>> labels = np.arange(300) % 2                         # nothing holds
    >>> round(mean_share([Change(base, changed, labels, np.ones(300))]), 2)
    0.01
    """

    def at(share: float) -> _Loss:
        return _Loss(*np.sum([_loss(part, share, n_jobs) for part in parts], axis=0).tolist())

    nothing, (share, best) = at(0.0), _best(at)
    reach = _DEVIATIONS / math.sqrt(max(best.bend, 1e-300))
    if share in (0.0, 1.0) and best.slope != 0.0:
        reach = min(reach, _DECAY / abs(best.slope))
    low, high = max(0.0, share - reach), min(1.0, share + reach)
    known = {share: best, 0.0: nothing}
    cuts = _cuts(at, known, low, share) + _cuts(at, known, share, high)
    pieces = [(a, b) for a, b in pairwise(cuts) if a < b]
    places = np.concatenate([a + (b - a) * _PLACES for a, b in pieces])
    weights = np.concatenate([(b - a) * _WEIGHTS for a, b in pieces])
    value = np.concatenate([_between(known[a], known[b], b - a) for a, b in pieces])
    least = min(float(value.min()), nothing.value)
    mass = P_HOLDS * weights * np.exp(least - value)
    rest = (1.0 - P_HOLDS) * math.exp(least - nothing.value)
    return float(mass @ places / (mass.sum() + rest))


def _cuts(
    at: Callable[[float], _Loss], known: dict[float, _Loss], low: float, high: float
) -> list[float]:
    """Cut an interval into halves until f'' is nearly constant in each; return all ends."""
    for end in (low, high):
        if end not in known:
            known[end] = at(end)
    bends = known[low].bend, known[high].bend
    if high - low < _SHORTEST or max(bends) <= _MAX_RATIO_OF_BENDS * min(bends):
        return [low, high]
    middle = 0.5 * (low + high)
    return _cuts(at, known, low, middle) + _cuts(at, known, middle, high)


class _Loss(NamedTuple):
    """f, f' and f''."""

    value: float
    slope: float
    bend: float


def _between(here: _Loss, there: _Loss, away: float) -> FloatArray:
    """Return f at `_PLACES` of the way between two α: the quintic with f, f' and f'' at both."""
    t = _PLACES
    a, b, c = here.value, here.slope * away, 0.5 * here.bend * away**2
    d = there.value - a - b - c
    e = there.slope * away - b - 2.0 * c
    g = 0.5 * there.bend * away**2 - c
    # t³ (d₃ + d₄ t + d₅ t²) has the value d, the slope e and the half bend g at 1.
    value: FloatArray = a + b * t + c * t**2
    value += t**3 * ((10.0 * d - 4.0 * e + g) + t * ((-15.0 * d + 7.0 * e - 2.0 * g)
                     + t * (6.0 * d - 3.0 * e + g)))  # fmt: skip
    return value


def _best(at: Callable[[float], _Loss]) -> tuple[float, _Loss]:
    """Return the α in [0, 1] with the least loss, by Newton's method in a bracket."""
    low, high, share = 0.0, 1.0, 1.0
    here = at(share)
    if here.slope <= 0.0:
        return share, here
    nothing = at(0.0)
    if nothing.slope >= 0.0:
        return 0.0, nothing
    for _ in range(_STEPS):
        new = share - here.slope / here.bend if here.bend > 0.0 else -1.0
        # First: rounding may put it on the bracket's end.
        if abs(new - share) * math.sqrt(max(here.bend, 1e-300)) < _NEAR_ENOUGH:
            break
        new = new if low < new < high else 0.5 * (low + high)
        share, here = new, at(new)
        low, high = (share, high) if here.slope < 0.0 else (low, share)
    return share, here


def _loss(rows: Change, share: float, n_jobs: int | None) -> FloatArray:
    """Return f, f' and f''."""
    K, n = rows.base.shape
    sums = np.zeros((n, 3))

    def work(at: slice) -> None:
        base = rows.base[:, at]
        d = rows.changed[:, at] - base
        s = base + base.dtype.type(share) * d
        s -= s.max(axis=0)
        labels, each = rows.labels[at], np.arange(s.shape[1])
        value = -s[labels, each].astype(np.float64)
        np.exp(s, out=s)
        total = s.sum(axis=0)
        value += np.log(total)
        s *= d
        mean = (s.sum(axis=0) / total).astype(np.float64)
        s *= d
        square = (s.sum(axis=0) / total).astype(np.float64)
        sums[at] = np.stack([value, mean - d[labels, each], square - mean * mean], axis=1)
        sums[at] *= rows.weights[at, None]

    together = -(-_MIN_ROWS_PER_BLOCK * K // BLOCK)
    for_each_block(work, n, width=K, together=together, n_jobs=n_jobs)
    result: FloatArray = sums.sum(axis=0)
    return result
