"""The lowest and the highest point of the gap, which give the KS and Kuiper errors.

N times the gap is a sum over rows, read where a group of equal scores ends.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ogive.metrics.onepass import read

if TYPE_CHECKING:
    from ogive._typing import FloatArray
    from ogive.curve import Curve
    from ogive.curve.keys import Run


@dataclass(frozen=True, slots=True)
class Extreme:
    """A point of N times the gap: its value, the score there, and the rows up to it."""

    value: float
    score: float
    rows: float


#: Before the first row the gap is 0, so that the lowest is <= 0 and the highest >= 0.
START = Extreme(0.0, 0.0, 0.0)


@dataclass(frozen=True, slots=True)
class Extremes:
    """The lowest and the highest point of N times the gap, and N."""

    low: Extreme
    high: Extreme
    n: float

    @property
    def farthest(self) -> Extreme:
        """The one farther from 0; of two as far, the first."""
        low, high = self.low, self.high
        sides = (low, high) if low.rows <= high.rows else (high, low)
        return max(sides, key=lambda extreme: abs(extreme.value))

    @property
    def kuiper(self) -> float:
        """The range of the gap, from lowest to highest."""
        return (self.high.value - self.low.value) / self.n


class Within(NamedTuple):
    """Bounds of N times the gap, at one place or at many; equal where it is known exactly."""

    low: FloatArray
    high: FloatArray


def between(before: Within, after: Within, rise: FloatArray, fall: FloatArray) -> Within:
    """Bound N times the gap between two places, from how much it rises and falls at most."""
    return Within(
        np.maximum(before.low - fall, after.low - rise),
        np.minimum(before.high + rise, after.high + fall),
    )


def extremes(curve: Curve) -> Extremes:
    """Find the extremes of a curve's gap.

    >>> from ogive import Curve
    >>> found = extremes(Curve.from_scores([0.9, 0.8, 0.6, 0.7], [1, 0, 1, 0]))
    >>> round(found.low.value, 3), found.low.score, round(found.high.value, 3)
    (-1.1, 0.8, 0.4)
    """
    reader = GapReader()
    read(curve, reader)
    return reader.extremes


class GapReader:
    """Keeps the extremes, run after run; `total` and `rows` are what came before the first."""

    def __init__(self, total: float = 0.0, rows: float = 0.0) -> None:
        self.total, self.rows = total, rows
        self.low = self.high = START

    def add(self, run: Run) -> None:
        """Take in the next rows."""
        gap = np.cumsum(run.surplus)
        lowest, highest = int(gap.argmin()), int(gap.argmax())
        if self.total + gap[lowest] < self.low.value:
            self.low = self._at(run, lowest, self.total + float(gap[lowest]))
        if self.total + gap[highest] > self.high.value:
            self.high = self._at(run, highest, self.total + float(gap[highest]))
        self.total += float(gap[-1])
        self.rows += run.size

    @property
    def extremes(self) -> Extremes:
        """The extremes of all rows so far."""
        return Extremes(self.low, self.high, self.rows)

    def _at(self, run: Run, i: int, gap: float) -> Extreme:
        tail = float(run.tail[i])
        score = 1.0 - tail if run.high else tail
        count = i + 1.0 if isinstance(run.count, float) else float(run.count[: i + 1].sum())
        return Extreme(gap, score, self.rows + count)
