"""How time grows with N: the slope of log time against log N, from a hundred thousand rows on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from benchmarks.race import Outcome

MOST = 1.1
_FROM = 10**5


@dataclass(frozen=True)
class Slope:
    """The slope of one entry of a hot path; the budget holds for our own."""

    name: str
    entry: str
    slope: float

    @property
    def ours(self) -> bool:
        """Whether it is an entry of ogive."""
        return self.entry.startswith("ogive")

    @property
    def met(self) -> bool:
        """Whether it grows no faster than it may."""
        return not self.ours or self.slope <= MOST


def slopes(outcomes: list[Outcome]) -> list[Slope]:
    """Return the slopes of all entries that ran at two sizes or more."""
    times: dict[tuple[str, str], list[tuple[int, float]]] = {}
    for outcome in outcomes:
        if outcome.race.size >= _FROM:
            for timing in outcome.timings:
                key = outcome.race.name, timing.entry
                times.setdefault(key, []).append((outcome.race.size, timing.seconds))
    found = []
    for (name, entry), points in times.items():
        if len(points) > 1:
            sizes, seconds = np.log(np.array(points)).T
            found.append(Slope(name, entry, float(np.polyfit(sizes, seconds, 1)[0])))
    return found
