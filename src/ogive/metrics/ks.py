r"""The Kolmogorov–Smirnov calibration error: the largest gap of the curve.

With the scores sorted, the paper's two cumulative sequences are (its equation (11))

.. math:: h_i = h_{i-1} + \mathbf 1(\text{hit}_i) / N, \qquad
          \tilde h_i = \tilde h_{i-1} + s_i / N ,

and the error is :math:`\max_i |h_i - \tilde h_i|`. Inside a group of equal scores the sequence
of partial sums depends on the order in which the rows happened to come, so it is read at the
ends of the groups only.

Bounds: |mean score − share of hits| <= KS <= the mean of |hits − count·score| over tie groups.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from ogive.curve import check_curve

if TYPE_CHECKING:
    from ogive.curve import Curve

Direction = Literal["overconfident", "underconfident", "none"]


@dataclass(frozen=True, slots=True)
class LargestGap:
    """Where the cumulative hits stray farthest from the cumulative scores.

    Attributes
    ----------
    value : float
        The KS error, in [0, 1].
    signed : float
        Hits minus scores there: negative if the scores promise too much.
    score, fractile : float
        The score at which the gap peaks, and the share of rows up to it. The gap *accumulates*
        up to there: it does not say that the scores near it are wrong.
    direction : {"overconfident", "underconfident", "none"}
        The sign in a word.
    """

    value: float
    signed: float
    score: float
    fractile: float
    direction: Direction


def largest_gap(curve: Curve) -> LargestGap:
    """Return the KS error with its sign and its place.

    >>> from ogive import Curve
    >>> gap = largest_gap(Curve.from_scores([0.9, 0.8, 0.6, 0.7], [1, 0, 1, 0]))
    >>> gap.direction, round(gap.signed, 3), gap.score, gap.fractile
    ('overconfident', -0.275, 0.8, 0.75)
    """
    total = rows = 0.0
    signed = score = fractile = 0.0
    for run in check_curve(curve).runs():
        gap = np.cumsum(run.surplus)
        gap += total
        for i in (int(gap.argmin()), int(gap.argmax())):
            if abs(gap[i]) > abs(signed):
                signed, score = float(gap[i]), float(run.score[i])
                fractile = rows + float(run.ends[i + 1])
        total = float(gap[-1])
        rows += run.size
    direction: Direction = "none"
    if signed:
        direction = "overconfident" if signed < 0 else "underconfident"
    return LargestGap(abs(signed) / curve.n, signed / curve.n, score, fractile / curve.n, direction)


def ks_error(curve: Curve) -> float:
    """Return the KS calibration error: the largest gap, a fraction between 0 and 1.

    A perfectly calibrated model shows about 1.25 sqrt(sum p (1 − p)) / N on a finite sample.

    >>> from ogive import Curve
    >>> ks_error(Curve.from_scores([0.5, 0.5], [1, 0]))
    0.0
    """
    return largest_gap(curve).value
