"""Panels of a watch over time: the evidence, the KS error, and base rate beside mean score."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ogive._wording import percent
from ogive.plotting.marks import Axis, Band, Label, Line, Mark, Panel, Segment, axis, plain

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ogive._typing import FloatArray
    from ogive.diagrams.timeline import Timeline
    from ogive.plotting.marks import Role

SHAPE = 0.42  # height over width: time runs along
_MAX_TICKS = 6
#: Of the alarm's level: evidence beyond this is drawn along the upper edge.
MAX_LIMITS_SHOWN = 6.0
_ROOM = 0.14  # above and below what is drawn, for words


def timeline_panels(t: Timeline) -> tuple[Panel, ...]:
    """Draw the evidence, the KS error with its band, and both means."""
    return (_evidence_panel(t), _ks_panel(t), _means_panel(t))


def _evidence_panel(t: Timeline) -> Panel:
    """Draw the evidence; what is far beyond the limit is cut off, so that the limit is seen."""
    shown = np.minimum(t.evidence, MAX_LIMITS_SHOWN * t.limit)
    low, high = _range(shown, np.array([0.0, t.limit]))
    last = plain(round(float(t.evidence[-1]), 2))
    marks: list[Mark] = [
        *_changed(t, low, high, named=True),
        Segment(_ends(t), (t.limit, t.limit), "reference", dashed=True),
        Line(_places(t), shown, "hits"),
        Label(_ends(t)[0], t.limit, f"alarm from {plain(round(t.limit, 2))} on", "reference",
              rise=0.35),
    ]  # fmt: skip
    words = (
        f"The log of the evidence against calibration, day by day. {_when(t)} On the last day it "
        f"is {last}."
    )
    title = f"evidence against calibration: log e = {last} on the last day"
    return _panel(t, title, words, (low, high), marks)


def _ks_panel(t: Timeline) -> Panel:
    low, high = _range(t.ks_high, np.zeros(1), floor=0.0)
    marks: list[Mark] = [
        *_changed(t, low, high),
        Band(_places(t), t.ks_low, t.ks_high, "hits"),
        Line(_places(t), t.ks, "hits"),
    ]
    words = (
        f"KS error of each day by itself, from {percent(float(t.ks.min()))} to "
        f"{percent(float(t.ks.max()))}, with its 95 % interval. {_when(t)}"
    )
    title = "KS error of the day, 95 % interval"
    return _panel(t, title, words, (low, high), marks, share=True)


def _means_panel(t: Timeline) -> Panel:
    low, high = _range(t.base_rate, t.mean_score)
    high += _ROOM * (high - low)  # for the names of the lines
    marks: list[Mark] = [
        *_changed(t, low, high),
        Line(_places(t), t.base_rate, "hits"),
        Line(_places(t), t.mean_score, "score"),
    ]
    first, last = _ends(t)
    marks += [
        Label(first, high, "— base rate", "hits", rise=-1.0),
        Label(first + 0.18 * (last - first), high, "— mean score", "score", rise=-1.0),
    ]
    words = (
        f"Base rate and mean score of each day: {percent(float(t.base_rate[-1]), 1)} and "
        f"{percent(float(t.mean_score[-1]), 1)} on the last. {_when(t)}"
    )
    return _panel(t, "base rate and mean score", words, (low, high), marks, share=True)


def _panel(
    t: Timeline,
    title: str,
    alt: str,
    ends: tuple[float, float],
    marks: Sequence[Mark],
    *,
    share: bool = False,
) -> Panel:
    y = axis("", *ends, percent=share, most=4)
    widest = max((len(text) for _, text in y.ticks), default=5)
    return Panel(title, alt, _time_axis(t), y, tuple(marks), shape=SHAPE, names=max(widest, 5))


def _time_axis(t: Timeline) -> Axis:
    """Return the axis of days with at most six of them named, the first and the last among them."""
    last = len(t.times) - 1
    places = np.unique(np.linspace(0, last, min(_MAX_TICKS, last + 1)).round().astype(int))
    ticks = tuple((float(i), t.times[i]) for i in places.tolist())
    low, high = _ends(t)
    return Axis("", low - 0.02 * (high - low), high + 0.02 * (high - low), ticks)


def _changed(t: Timeline, low: float, high: float, *, named: bool = False) -> list[Mark]:
    """Mark the day of the change, and the days on which it may have been."""
    if t.change is None:
        return []
    day, first, last = t.change
    marks: list[Mark] = [Segment((day, day), (low, high), "reference")]
    if last > first:
        across = np.array([first, last], dtype=np.float64)
        marks.insert(0, Band(across, np.full(2, low), np.full(2, high), "band"))
    if named:
        end = day > 0.6 * len(t.times)
        role: Role = "reference"
        words = f"change: {t.times[day]}"
        shift = (-0.01 if end else 0.01) * len(t.times)
        marks.append(Label(day + shift, high, words, role, "end" if end else "start", -1.0,
                           bold=True))  # fmt: skip
    return marks


def _when(t: Timeline) -> str:
    """Say when the change was, for those who cannot see it."""
    if t.change is None or t.alarm is None:
        return "There is no alarm."
    day, first, last = (t.times[i] for i in t.change)
    between = f" (between {first} and {last})" if first != last else ""
    return f"The change is marked at {day}{between}; the alarm was on {t.times[t.alarm]}."


def _places(t: Timeline) -> FloatArray:
    """Return the place of each day; a single day is drawn as a short line."""
    return np.arange(len(t.times), dtype=np.float64)


def _ends(t: Timeline) -> tuple[float, float]:
    return (0.0, max(len(t.times) - 1.0, 1.0))


def _range(*values: FloatArray, floor: float | None = None) -> tuple[float, float]:
    """Return the ends of an axis that holds all values and leaves room for words."""
    every = np.concatenate(values)
    low, high = float(every.min()), float(every.max())
    room = _ROOM * ((high - low) or 0.01)
    return (low - room if floor is None else floor), high + room
