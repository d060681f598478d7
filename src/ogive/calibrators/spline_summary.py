"""Summary of the default spline: what it did to the scores.

Statements about scores use the band of the map: a range of scores is off where the
pointwise 95 % band excludes the score itself.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from ogive._numerics.logistic import expit
from ogive._wording import (
    CALIBRATE,
    CONFIDENCE,
    LEAVE_ALONE,
    direction_words,
    joint_direction,
    percent,
    way_of,
)

if TYPE_CHECKING:
    from ogive._typing import FloatArray
    from ogive._wording import Way
    from ogive.calibrators.gain import Gain
    from ogive.calibrators.spline_map import SplineMap

_POINTS_PER_PIECE = 16  # between two knots, where the band is compared with the score
_NEARLY_ONE = 0.99  # above this, three digits do not distinguish scores
_LINE = 2.0  # degrees of freedom of a line
#: Whether a decision is to leave the scores alone.
ALONE = {CALIBRATE: False, LEAVE_ALONE: True}


@dataclass(frozen=True, slots=True)
class OffRange:
    """Scores from `low` to `high` are off one way, most at the score `at`: by `change`."""

    low: float
    high: float
    way: Way
    at: float
    change: float

    def __str__(self) -> str:
        span = f"from {_shown(self.low)} to {_shown(self.high)}"
        return f"Scores {span} are {self.way}: {_shown(self.at)} becomes " + _shown(
            self.at + self.change
        )


@dataclass(frozen=True, slots=True, repr=False)
class SplineSummary:
    """What a spline did to the scores it was fitted to.

    Attributes
    ----------
    view, n : str, float
    direction : str
        "too high", "too low", "mixed" or "none found"; of top-1, "overconfident" or
        "underconfident".
    shift, moved : float
        Mean change, and mean absolute change, of the scores of the fit.
    ranges : tuple of OffRange
        Where the band excludes the score, from low to high.
    edf, keep, linear, bend, monotone
        As in `SplineMap`.
    gain : Gain or None
        What calibrating saves on rows that the map has not seen.
    decision : str or None
        "calibrate", "leave alone" or "too few rows", decided on the rows of the fit; None:
        only the map is known, and `leave_alone` is what it expects.
    verdict : str
        The decision as a sentence, as `ogive fit` prints it.
    """

    view: str
    n: float
    direction: str
    shift: float
    moved: float
    ranges: tuple[OffRange, ...]
    edf: float
    keep: float
    linear: float
    bend: float
    monotone: bool
    gain: Gain | None = None
    decision: str | None = None
    verdict: str = ""

    @property
    def leave_alone(self) -> bool | None:
        """Whether calibrating is not worth it (`Gain.leave_alone`); None if that is not known."""
        if self.decision is not None:
            return ALONE.get(self.decision)
        return None if self.gain is None else self.gain.leave_alone

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        values = {name: getattr(self, name) for name in self.__slots__}
        ranges = [asdict(part) for part in self.ranges]
        gain = None if self.gain is None else self.gain.to_dict()
        return values | {"ranges": ranges, "gain": gain}

    def __repr__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> list[str]:
        rising = ", made to rise" if self.monotone else ""
        found = "" if self.verdict else f": {direction_words(self.direction)}"  # it has it already
        lines = [f"spline of {self.view!r}, n = {self.n:,}{rising}{found}"]
        lines += [f"{part}." for part in self.ranges]
        if not self.ranges:
            lines.append("The 95 % band of the map holds the score itself everywhere.")
        lines.append(f"Mean change {self.shift:+.4f}, mean absolute change {self.moved:.4f}.")
        lines.append(
            f"{self.edf:.1f} effective degrees of freedom (0 leaves the scores alone, "
            f"{_LINE:.0f} is a line in log-odds)."
        )
        line = max(self.linear - self.keep, 0.0)
        none, straight, curve = (
            percent(weight, 0) for weight in (self.keep, line, max(1.0 - self.linear, 0.0))
        )
        lines.append(
            f"Weights of the three kinds of map: no change {none}, a straight line in log-odds "
            f"{straight}, a curve {curve}."
        )
        if self.verdict or self.gain is not None:
            lines.append(self.verdict or getattr(self.gain, "verdict", ""))
        return lines


def summarise(calibrator: SplineMap, gain: Gain | None = None) -> SplineSummary:
    """Summarise a fitted spline."""
    ranges = tuple(_ranges(calibrator))
    of_top = calibrator.view == "top-1"
    return SplineSummary(
        view=calibrator.view,
        n=calibrator.n,
        direction=joint_direction(CONFIDENCE[r.way] if of_top else r.way for r in ranges),
        shift=calibrator.shift,
        moved=calibrator.moved,
        ranges=ranges,
        edf=calibrator.edf,
        keep=calibrator.keep,
        linear=calibrator.linear,
        bend=calibrator.bend,
        monotone=calibrator.monotone,
        gain=calibrator.own_gain if gain is None else gain,
    )


def _ranges(gamma: SplineMap) -> list[OffRange]:
    """Return where the band excludes the score, over the scores that were seen."""
    from ogive.calibrators.spline_band import ends_of  # noqa: PLC0415 - it reads this file

    eta = places_of(gamma)
    logit = gamma.log_odds_at(eta)
    below, above = (end.half(eta) for end in ends_of(gamma, simultaneous=False))
    side = np.where(logit + above < eta, -1, np.where(logit - below > eta, 1, 0))
    edges = np.flatnonzero(np.diff(side, prepend=0, append=0))
    return [
        _range(eta[start:stop], logit[start:stop]) for start, stop in pairwise(edges) if side[start]
    ]


def places_of(gamma: SplineMap) -> FloatArray:
    """Return log-odds over the seen range, as dense as the knots."""
    inner = gamma.knots[(gamma.knots > gamma.first) & (gamma.knots < gamma.last)]
    ends = np.concatenate([[gamma.first], inner, [gamma.last]])
    at = np.arange(_POINTS_PER_PIECE * (ends.size - 1) + 1) / _POINTS_PER_PIECE
    places: FloatArray = np.interp(at, np.arange(ends.size), ends)
    return places


def _range(eta: FloatArray, logit: FloatArray) -> OffRange:
    scores = expit(eta)
    change = expit(logit) - scores
    most = int(np.abs(change).argmax())
    return OffRange(
        low=float(scores[0]),
        high=float(scores[-1]),
        way=way_of(float(logit[0] - eta[0])),
        at=float(scores[most]),
        change=float(change[most]),
    )


def _shown(score: float) -> str:
    return f"{score:.3g}" if score < _NEARLY_ONE else f"{score:.6g}"
