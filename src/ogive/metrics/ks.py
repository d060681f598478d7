r"""The Kolmogorov–Smirnov calibration error: the largest gap of the curve.

With the scores sorted, the paper's two cumulative sequences are (its equation (11))

.. math:: h_i = h_{i-1} + \mathbf 1(\text{hit}_i) / N, \qquad
          \tilde h_i = \tilde h_{i-1} + s_i / N ,

and the error is :math:`\max_i |h_i - \tilde h_i|`. Inside a group of equal scores the sequence
of partial sums depends on the order in which the rows happened to come, so it is read at the
ends of the groups only.

Its range, from the lowest gap to the highest, is the Kuiper error (0 counts as a point of the gap).

Bounds: |mean score − share of hits| <= KS <= the mean of |hits − count·score| over tie groups.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from ogive.metrics.onepass import read

if TYPE_CHECKING:
    from ogive._keys import Run
    from ogive.curve import Curve

_STRETCH = 128  # rows whose sum is looked at first
_SHORT = 16 * _STRETCH  # runs for which that does not pay
_ROUNDING = 1e-9  # of N times the gap: 1e-12 of the gap at most, where this is used

Direction = Literal["overconfident", "underconfident", "none"]


@dataclass(frozen=True, slots=True)
class Extreme:
    """A point of N times the gap: its value, the score there, and the rows up to it."""

    value: float
    score: float
    rows: float


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


class GapReader:
    """Keeps the lowest and the highest point of N times the gap, and where they are.

    Before the first row the gap is 0, so that the lowest is <= 0 and the highest >= 0.
    """

    def __init__(self) -> None:
        self.total = self.rows = 0.0
        self.low = self.high = Extreme(0.0, 0.0, 0.0)

    def add(self, run: Run) -> None:
        """Take in the next rows."""
        end = None
        if isinstance(run.count, float) and run.tail.size > _SHORT:
            end = self._skim(run)
        self.total = self._look(run) if end is None else end
        self.rows += run.size

    def _skim(self, run: Run) -> float | None:
        """Look only where single rows can have a new extreme; None if that is in many places.

        In a stretch of rows with u unlikely outcomes and tails that add up to e, the gap rises
        by at most u and falls by at most e in all (the other way round above ½). So between the
        stretch's ends l and r it stays below min(l + rise, r + fall) and above
        max(l − fall, r − rise). Sums of stretches take a tenth of the time of a running sum.
        """
        starts = np.arange(0, run.tail.size, _STRETCH)
        ends = np.empty(starts.size + 1)
        ends[0] = self.total
        change = np.add.reduceat(run.surplus, starts, out=ends[1:]).copy()
        ends.cumsum(out=ends)
        fall = np.add.reduceat(run.tail, starts)
        rise = fall + change
        if run.high:
            rise, fall = fall, fall - change
        left, right = ends[:-1], ends[1:]
        top = np.minimum(left + rise, right + fall)
        bottom = np.maximum(left - fall, right - rise)
        high, low = self.high.value, self.low.value
        above = (top > high + _ROUNDING) | (right > high)
        below = (bottom < low - _ROUNDING) | (right < low)
        above &= top >= ends.max() - _ROUNDING
        below &= bottom <= ends.min() + _ROUNDING
        for hopeful in (above, below):
            places = hopeful.nonzero()[0]
            if places.size == 0:
                continue
            first, last = int(places[0]), int(places[-1])
            if 2 * (last - first) > starts.size:
                return None
            stop = int(starts[last]) + _STRETCH
            self._look(run, int(starts[first]), stop, float(ends[first]))
        return float(ends[-1])

    def _look(
        self, run: Run, start: int = 0, stop: int | None = None, before: float | None = None
    ) -> float:
        """Look at some rows, one after the other; return the gap after the last."""
        gap = np.cumsum(run.surplus[start:stop])
        gap += self.total if before is None else before
        lowest, highest = int(gap.argmin()), int(gap.argmax())
        if gap[lowest] < self.low.value:
            self.low = self._at(run, start + lowest, float(gap[lowest]))
        if gap[highest] > self.high.value:
            self.high = self._at(run, start + highest, float(gap[highest]))
        return float(gap[-1])

    def _at(self, run: Run, i: int, gap: float) -> Extreme:
        tail = float(run.tail[i])
        score = 1.0 - tail if run.high else tail
        count = i + 1.0 if isinstance(run.count, float) else float(run.count[: i + 1].sum())
        return Extreme(gap, score, self.rows + count)

    def largest(self) -> LargestGap:
        """Return the extreme farther from 0: the KS error; of two as far, the first."""
        low, high = self.low, self.high
        sides = (low, high) if low.rows <= high.rows else (high, low)
        at = max(sides, key=lambda extreme: abs(extreme.value))
        direction: Direction = "none"
        if at.value:
            direction = "overconfident" if at.value < 0 else "underconfident"
        signed = at.value / self.rows
        return LargestGap(abs(signed), signed, at.score, at.rows / self.rows, direction)

    @property
    def kuiper(self) -> float:
        """The range of the gap, from lowest to highest."""
        return (self.high.value - self.low.value) / self.rows


def largest_gap(curve: Curve) -> LargestGap:
    """Return the KS error with its sign and its place.

    >>> from ogive import Curve
    >>> gap = largest_gap(Curve.from_scores([0.9, 0.8, 0.6, 0.7], [1, 0, 1, 0]))
    >>> gap.direction, round(gap.signed, 3), gap.score, gap.fractile
    ('overconfident', -0.275, 0.8, 0.75)
    """
    reader = GapReader()
    read(curve, reader)
    return reader.largest()


def ks_error(curve: Curve) -> float:
    """Return the KS calibration error: the largest gap, a fraction between 0 and 1.

    A perfectly calibrated model shows about 1.25 sqrt(sum p (1 − p)) / N on a finite sample.

    >>> from ogive import Curve
    >>> ks_error(Curve.from_scores([0.5, 0.5], [1, 0]))
    0.0
    """
    return largest_gap(curve).value


def kuiper_error(curve: Curve) -> float:
    """Return the Kuiper calibration error: the range of the gap, in [KS, 2 KS].

    It adds up what the gap reaches on both sides of 0, and so does not let a deficit at low
    scores hide a surplus at high ones.

    >>> from ogive import Curve
    >>> kuiper_error(Curve.from_scores([0.5, 0.75], [1, 0]))
    0.375
    """
    reader = GapReader()
    read(curve, reader)
    return reader.kuiper
