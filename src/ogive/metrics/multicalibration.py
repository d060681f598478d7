r"""The multicalibration error: the largest error of any group, in units of its noise.

The KS error of a small group is large by chance. In units of its noise under calibration,

.. math:: \frac{N_g\, \mathrm{KS}_g}{\sigma_g}, \qquad
          \sigma_g^2 = \sum_{i \in g} w_i^2\, p_i (1 - p_i) ,

groups of all sizes compare: perfect calibration shows 1.25 on average, and more than 2.24 in 5 % of
the cases. The multicalibration error is the largest of these, over all groups and all rows
together; so too for the Kuiper error, which Guy et al. (2025, "Measuring multi-calibration") use.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, NamedTuple

from scipy.special import ndtri

from ogive._numerics.mean_interval import LEVEL
from ogive.metrics.significance import POWER_80

if TYPE_CHECKING:
    from collections.abc import Sequence


class LargestError(NamedTuple):
    """The group with the largest error in units of its noise, the error, and these units."""

    group: str
    value: float
    sigmas: float


@dataclass(frozen=True, slots=True)
class MulticalibrationError:
    """The largest error of any group in units of its noise.

    Attributes
    ----------
    ks, kuiper : LargestError
        By the KS error, and by the Kuiper error.
    pvalue : float
        The smallest p-value of a group, adjusted for all of them: scores that are calibrated in
        all groups have one below 5 % in at most 5 % of the cases.
    """

    ks: LargestError
    kuiper: LargestError
    pvalue: float


def in_sigmas(value: float, n: float, sigma: float) -> float:
    """Return an error in units of its noise; infinity where calibrated scores cannot show it.

    >>> in_sigmas(0.03, 100, 1.5), in_sigmas(0.03, 100, 0.0), in_sigmas(0.0, 100, 0.0)
    (2.0, inf, 0.0)
    """
    if sigma > 0.0:
        return value * n / sigma
    return inf if value > 0.0 else 0.0


def largest_error(
    groups: Sequence[str], values: Sequence[float], sigmas: Sequence[float]
) -> LargestError:
    """Return the largest error in units of its noise; of equals, the first."""
    at = max(range(len(groups)), key=sigmas.__getitem__)
    return LargestError(groups[at], values[at], sigmas[at])


def detectable_error(n: float, sigma: float, tests: int) -> float:
    r"""Return the KS error that one of several groups must have to be found with 80 % power.

    Alone among m groups, a group is found at p <= 5 % / m. With c the critical value there (from
    the first term of the series, 4 Q(c) = 5 % / m), the error is :math:`(c + 0.84)\, \sigma / N`.

    >>> round(detectable_error(10_000, 40.0, 1), 4)   # as CalibrationTest.detectable
    0.0123
    """
    critical = -float(ndtri(LEVEL / (4.0 * tests)))
    return min((critical + POWER_80) * sigma / n, 1.0)
