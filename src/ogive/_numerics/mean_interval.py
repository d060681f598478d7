r"""A 95 % interval of a mean whose terms come from few rows: costs, benefits and what is saved.

Let :math:`x_i \ge 0` be what row i adds to a *part* of the mean (zero for most rows). A part is a
share of rows times a size: with :math:`W = \sum w_i x_i` and :math:`V = \sum w_i^2 x_i^2` it counts
:math:`k = W^2 / V` rows of the size :math:`V / W`, which has the mean and the variance of the x, so
that it is treated as k of n rows (n is the effective number of rows). The ends of the share k / n
are quantiles of Beta(k + ¼, n − k + ¾) and Beta(k + ¾, n − k + ¼): halfway between those of
Jeffreys, which cover too seldom for a few rows, and of Clopper and Pearson, which are too wide.

A mean is one part, or the sum or difference of two parts of different rows. Its interval has the
distances :math:`d` of the parts to their ends (method of variance estimates recovery; Zou and
Donner 2008), with the correlation of two shares of the same n rows,

.. math:: \sqrt{d_1^2 + d_2^2 \pm 2 r d_1 d_2}, \qquad
          r = -\sqrt{\frac{p_1 p_2}{(1 - p_1) (1 - p_2)}} .
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from ogive._typing import ArrayLike, FloatArray

TAIL = 0.025
#: Beta quantiles halfway between those of Jeffreys (0) and of Clopper and Pearson (½).
BEYOND_JEFFREYS = 0.25


class Part(NamedTuple):
    """What some rows add to a mean: (t,) sums of w x and of w² x², and the size where none do."""

    total: ArrayLike
    square: ArrayLike
    size: ArrayLike


class Mean(NamedTuple):
    """A mean and its 95 % interval, (t,) each."""

    value: FloatArray
    low: FloatArray
    high: FloatArray


def mean_interval(
    plus: Part, minus: Part | None, n: float, effective_n: float, *, sign: float = -1.0
) -> Mean:
    """Return a mean with its interval: of `plus`, or of `plus` and `sign` times `minus`.

    n, effective_n : the sum of the weights, and the effective number of rows

    >>> found = mean_interval(Part(8, 8, 1), None, 10, 10)
    >>> float(found.value), found.low.round(3), found.high.round(3)
    (0.8, np.float64(0.47), np.float64(0.966))
    """
    a = _ends(plus, n, effective_n)
    if minus is None:
        return Mean(a.mean, a.mean - a.down, a.mean + a.up)
    b = _ends(minus, n, effective_n)
    odds = a.share * b.share / np.maximum((1.0 - a.share) * (1.0 - b.share), np.finfo(float).tiny)
    r = -sign * np.sqrt(np.minimum(odds, 1.0))
    below, above = (b.up, b.down) if sign < 0 else (b.down, b.up)
    value = a.mean + sign * b.mean
    return Mean(value, value - _joined(a.down, below, r), value + _joined(a.up, above, r))


class _Ends(NamedTuple):
    share: FloatArray
    mean: FloatArray
    down: FloatArray
    up: FloatArray


def _ends(part: Part, n: float, effective_n: float) -> _Ends:
    """Return a part as a share of rows, its mean, and how far the ends of the mean are from it."""
    from scipy.special import betaincinv  # noqa: PLC0415 - heavy, and measures do without

    total, square, size = (np.asarray(x, dtype=np.float64) for x in part)
    some = total > 0.0
    safe = np.where(some, square, 1.0)
    k = np.where(some, np.minimum(total * total / safe, effective_n), 0.0)
    mean = total / n
    unit = np.where(some, mean * effective_n / np.where(some, k, 1.0), size)
    rest, near, far = effective_n - k, 0.5 - BEYOND_JEFFREYS, 0.5 + BEYOND_JEFFREYS
    low = np.where(k > 0.0, betaincinv(k + near, rest + far, TAIL), 0.0)
    high = np.where(rest > 0.0, betaincinv(k + far, rest + near, 1.0 - TAIL), 1.0)
    share = k / effective_n
    return _Ends(share, mean, unit * (share - low), unit * (high - share))


def _joined(a: FloatArray, b: FloatArray, r: FloatArray) -> FloatArray:
    """Return the distance of two parts together; with r = -1 rounding may go below 0."""
    joined: FloatArray = np.sqrt(np.maximum(a * a + b * b + 2.0 * r * a * b, 0.0))
    return joined
