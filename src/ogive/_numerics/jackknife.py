r"""The jackknife: how uncertain a number is, from its values without each part of the rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence


def jackknife_variance(values: Sequence[float]) -> float:
    r"""Return :math:`\frac{K - 1}{K} \sum_k (c_k - \bar c)^2`, c_k the number without part k.

    >>> jackknife_variance([1.0, 2.0, 3.0]).__round__(9), jackknife_variance([0.7 / 997] * 5)
    (1.333333333, 0.0)
    """
    if not values or np.ptp(values) == 0.0:
        return 0.0  # the mean of equal numbers is rounded: their variance would not be 0
    return (len(values) - 1) * float(np.var(values))
