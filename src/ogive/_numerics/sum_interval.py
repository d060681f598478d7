r"""The interval of a sum of few outcomes, which is skewed: quantiles of a gamma distribution.

For rare outcomes that is close to Jeffreys' interval of a Poisson count, for many to the normal
one. Where outcomes 0 are rare, their sum has it; between, both are averaged, each weighted by how
rare its outcome is (`by_rarity`).
"""

from __future__ import annotations

from math import log

import numpy as np

from ogive._numerics.mean_interval import TAIL

JEFFREYS = 0.5  # rows added to a count, so that its interval is right on average
_TINY = float(np.finfo(np.float64).tiny)


def gamma_ends(mean: float, variance: float, more: float = 0.0) -> tuple[float, float]:
    """Return the 2.5 % and 97.5 % points of a sum with this mean and variance.

    more : rows added to those that the sum counts
    """
    from scipy.special import gammaincinv  # noqa: PLC0415 - keep `import ogive` light

    if min(mean, variance) <= _TINY:
        return mean, mean
    scale = variance / mean
    low, high = gammaincinv(mean / scale + more, (TAIL, 1.0 - TAIL))
    return float(scale * low), float(scale * high)


def sum_interval(total: float, variance: float, unit: float) -> tuple[float, float]:
    """Return the interval of the mean of a sum that cannot be negative.

    Parameters
    ----------
    total, variance : float
        The sum that was seen, and an estimate of its variance; below that of a single row it is
        taken to be that of one.
    unit : float
        The weight of a row.

    >>> [round(end, 2) for end in sum_interval(10.0, 10.0, 1.0)]
    [5.14, 17.74]
    """
    if total <= 0.0:
        return 0.0, -unit * log(TAIL)  # exact: a Poisson count of that mean is 0 in 2.5 %
    return gamma_ends(total, max(variance, unit * unit), JEFFREYS)


def by_rarity(
    share: float, n: float, ones: tuple[float, float], zeros: tuple[float, float]
) -> tuple[float, float]:
    """Return the ends of the weight of outcomes 1 among n, from the intervals of both sums.

    share : of the outcomes that are 1
    """
    (low, high), (least, most) = ones, zeros
    rare = 1.0 - share
    return rare * low + share * (n - most), rare * high + share * (n - least)
