r"""How far Brownian motion W on [0, 1] goes: what gaps are read against.

.. math:: P(\sup |W| > x) = 4 \sum_{k \ge 0} (-1)^k Q((2k + 1) x), \qquad
          P(\text{range } W > x) = 8 \sum_{k \ge 1} (-1)^{k-1} k\, Q(k x) ,

Q the upper tail of the normal.
"""

from __future__ import annotations

from math import erfc, exp, pi, sqrt
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from ogive._typing import FloatArray

#: Critical values of sup |W| and of the range at 5 %: half-widths of the intervals, 50 % power.
CRITICAL = 2.241402727332142
CRITICAL_RANGE = 2.4976721610486505
#: E sup |W| = sqrt(pi / 2), and E range W = sqrt(8 / pi).
EXPECTED_KS = sqrt(pi / 2)
EXPECTED_KUIPER = sqrt(8 / pi)


def supremum_tail(x: float) -> float:
    """Return P(sup |W| > x) for Brownian motion on [0, 1].

    >>> round(supremum_tail(2.2414), 4)
    0.05
    """
    if x < 1.0:  # where the second form of the series converges faster
        odd = range(1, 16, 2) if x > 0.0 else range(0)
        terms = [(2 - k % 4) / k * exp(-((k * pi) ** 2) / (8.0 * x * x)) for k in odd]
        return min(max(1.0 - 4.0 / pi * sum(terms), 0.0), 1.0)
    return min(4.0 * sum((2 - k % 4) * _upper(k * x) for k in range(1, 16, 2)), 1.0)


def range_tail(x: float) -> float:
    """Return P(max W − min W > x) for Brownian motion on [0, 1].

    >>> round(range_tail(2.498), 4)
    0.05
    """
    if x < 0.3:  # noqa: PLR2004 - 1 to many digits
        return 1.0
    signed = [(2 * (k % 2) - 1) * k * _upper(k * x) for k in range(1, 2 + int(40.0 / x))]
    return min(max(8.0 * sum(signed), 0.0), 1.0)


def supremum_tails(x: FloatArray) -> FloatArray:
    """Return P(sup |W| > x), (m,); 1 where it is nearly 1."""
    from scipy.special import ndtr  # noqa: PLC0415 - heavy, and one number does without

    x = np.maximum(x, 0.5)
    result: FloatArray = 4.0 * sum((2 - k % 4) * ndtr(-k * x) for k in range(1, 16, 2))
    return np.clip(result, 0.0, 1.0)


def range_tails(x: FloatArray) -> FloatArray:
    """Return P(max W − min W > x), (m,); 1 where it is nearly 1."""
    from scipy.special import ndtr  # noqa: PLC0415 - heavy, and one number does without

    x = np.maximum(x, 0.5)
    result: FloatArray = 8.0 * sum((2 * (k % 2) - 1) * k * ndtr(-k * x) for k in range(1, 20))
    return np.clip(result, 0.0, 1.0)


def _upper(x: float) -> float:
    """Return the upper tail of the standard normal."""
    return 0.5 * erfc(x / sqrt(2.0))
