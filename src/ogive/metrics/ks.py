r"""The Kolmogorov–Smirnov calibration error: the largest gap of the curve.

With the scores sorted, the paper's two cumulative sequences are (its equation (11))

.. math:: h_i = h_{i-1} + \mathbf 1(\text{hit}_i) / N, \qquad
          \tilde h_i = \tilde h_{i-1} + s_i / N ,

and the error is :math:`\max_i |h_i - \tilde h_i|`. Inside a group of equal scores the sequence
of partial sums depends on the order in which the rows happened to come, so it is read at the
ends of the groups only.

Its range, from the lowest gap to the highest, is the Kuiper error (0 counts as a point of the gap).

Bounds: |mean score − mean outcome| <= KS <= the mean of |outcomes − count·score| over tie groups.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from ogive._html import record_form
from ogive._wording import Way, way_of
from ogive.curve.curve import Curve, as_curve
from ogive.metrics.gap import extremes
from ogive.metrics.unsorted_gap import largest_unsorted
from ogive.rows.check import as_floats, as_hits, as_weight_kind
from ogive.rows.frames import check_index

if TYPE_CHECKING:
    from ogive._typing import ArrayLike, WeightKind
    from ogive.metrics.gap import Extreme, Extremes

Direction: TypeAlias = Way | Literal["none"]

_MIN_SCORES_FOR_UNSORTED_KS = 1 << 16  # with fewer scores, sorting them is as fast


@dataclass(frozen=True, slots=True)
class LargestGap:
    """The point where the cumulative outcomes are farthest from the cumulative scores.

    Attributes
    ----------
    value : float
        The KS error, in [0, 1].
    signed : float
        Outcomes minus scores there: negative if the scores are too high.
    score, fractile : float
        The score at which the gap peaks, and the share of rows up to it. The gap *accumulates*
        up to there: it does not say that the scores near it are wrong.
    direction : {"too high", "too low", "none"}
        How the scores up to there are off: the sign in words.
    """

    value: float
    signed: float
    score: float
    fractile: float
    direction: Direction

    _repr_html_ = record_form


def largest_of(found: Extremes) -> LargestGap:
    """Return the extreme farther from 0: the KS error; of two as far, the first."""
    return _gap_of(found.farthest, found.n)


def _gap_of(at: Extreme, n: float) -> LargestGap:
    direction: Direction = "none"
    if at.value:
        direction = way_of(at.value)
    signed = at.value / n
    return LargestGap(abs(signed), signed, at.score, at.rows / n, direction)


def largest_gap(
    curve: Curve | ArrayLike,
    outcomes: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
    weight_kind: WeightKind = "repetition",
) -> LargestGap:
    """Return the KS error with its sign and its place; of a curve, or of scores and outcomes.

    >>> from ogive import Curve
    >>> gap = largest_gap(Curve.from_scores([0.9, 0.8, 0.6, 0.7], [1, 0, 1, 0]))
    >>> gap.direction, round(gap.signed, 3), gap.score, gap.fractile
    ('too high', -0.275, 0.8, 0.75)
    """
    if outcomes is None or sample_weight is not None or isinstance(curve, Curve):
        return largest_of(
            extremes(
                as_curve(curve, outcomes, sample_weight=sample_weight, weight_kind=weight_kind)
            )
        )
    as_weight_kind(weight_kind)
    check_index(scores=curve, outcomes=outcomes)
    scores = as_floats(curve, "scores", ndim=(1,))
    hit = as_hits(outcomes, scores.size)
    if scores.size >= _MIN_SCORES_FOR_UNSORTED_KS:
        found = largest_unsorted(scores.astype(np.float64, copy=False), hit)
        if found is not None:
            return _gap_of(found, scores.size)
    return largest_of(extremes(Curve.from_scores(scores, hit)))


def ks_error(
    curve: Curve | ArrayLike,
    outcomes: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
    weight_kind: WeightKind = "repetition",
) -> float:
    """Return the KS calibration error: the largest gap, a fraction between 0 and 1.

    A perfectly calibrated model shows about 1.25 sqrt(sum p (1 − p)) / N on a finite sample.

    Parameters
    ----------
    curve : Curve, or array-like (N,)
        A curve, or scores in [0, 1].
    outcomes : array-like (N,), optional
        The outcomes of scores. For many scores, of which only the KS error is needed,
        this is faster than a curve, which sorts them. The result is the same up to rounding.
    sample_weight, weight_kind : optional
        Of scores, as in `Curve.from_scores`.

    Examples
    --------
    >>> from ogive import Curve
    >>> ks_error(Curve.from_scores([0.5, 0.5], [1, 0]))
    0.0
    >>> ks_error([0.5, 0.75], [1, 1])
    0.375
    """
    return largest_gap(curve, outcomes, sample_weight=sample_weight, weight_kind=weight_kind).value


def kuiper_error(
    curve: Curve | ArrayLike,
    outcomes: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
    weight_kind: WeightKind = "repetition",
) -> float:
    """Return the Kuiper calibration error: the range of the gap, in [KS, 2 KS].

    It adds up what the gap reaches on both sides of 0, and so does not let a deficit at low
    scores hide a surplus at high ones.

    >>> from ogive import Curve
    >>> kuiper_error(Curve.from_scores([0.5, 0.75], [1, 0]))
    0.375
    """
    return extremes(
        as_curve(curve, outcomes, sample_weight=sample_weight, weight_kind=weight_kind)
    ).kuiper
