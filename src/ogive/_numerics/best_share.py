r"""How much of a change of scores holds: one number between 0 and 1, by maximum likelihood.

With base scores a and a change d, (K, m), the scores a + α d have the loss

.. math:: f(\alpha) = \sum_i w_i \Big[ \log\sum_k e^{a_{ki} + \alpha d_{ki}}
          - a_{y_i i} - \alpha d_{y_i i} \Big] ,

convex in α: f' is the sum of mean minus own change, f'' that of the variances, under the softmax.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ogive._numerics.blocks import for_each_block

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ogive._typing import AnyArray, FloatArray, IntArray

_STEPS = 20
_CLOSE = 1e-9


class Change(NamedTuple):
    """Rows with base scores and changed scores."""

    base: AnyArray  # (K, m) a
    changed: AnyArray  # (K, m) a + d
    labels: IntArray  # (m,)
    weights: FloatArray  # (m,)


def best_share(parts: Sequence[Change], *, threads: int | None = None) -> float:
    """Return the α in [0, 1] with the least loss, by Newton's method in a bracket.

    >>> base = np.zeros((2, 3))
    >>> changed = np.array([[4.0, 4.0, 4.0], [0.0, 0.0, 0.0]])
    >>> share = best_share([Change(base, changed, np.array([0, 0, 1]), np.ones(3))])
    >>> round(4 * share, 6) == round(float(np.log(2.0)), 6)           # two of three are right
    True
    """

    def slopes(share: float) -> tuple[float, float]:
        slope, bend = np.sum([_slopes(part, share, threads) for part in parts], axis=0)
        return float(slope), float(bend)

    low, high, share = 0.0, 1.0, 1.0
    slope, bend = slopes(share)
    if slope <= 0.0:
        return 1.0
    if slopes(0.0)[0] >= 0.0:
        return 0.0
    for _ in range(_STEPS):
        new = share - slope / bend if bend > 0.0 else low
        new = new if low < new < high else 0.5 * (low + high)
        if abs(new - share) < _CLOSE:
            break
        share = new
        slope, bend = slopes(share)
        low, high = (share, high) if slope < 0.0 else (low, share)
    return share


def _slopes(rows: Change, share: float, threads: int | None) -> FloatArray:
    """Return f' and f''."""
    K, n = rows.base.shape
    sums = np.zeros((n, 2))

    def work(at: slice) -> None:
        base = rows.base[:, at]
        d = rows.changed[:, at] - base
        s = base + base.dtype.type(share) * d
        s -= s.max(axis=0)
        np.exp(s, out=s)
        total = s.sum(axis=0)
        s *= d
        mean = (s.sum(axis=0) / total).astype(np.float64)
        s *= d
        square = (s.sum(axis=0) / total).astype(np.float64)
        own = d[rows.labels[at], np.arange(mean.size)]
        sums[at, 0] = rows.weights[at] * (mean - own)
        sums[at, 1] = rows.weights[at] * (square - mean * mean)

    for_each_block(work, n, width=K, threads=threads)
    result: FloatArray = sums.sum(axis=0)
    return result
