"""The days of a log, handed to a watch in their order: each once, with all its rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ogive.calibrators.maps import Map
from ogive.curve import Curve
from ogive.engines.grouping import NO_GROUP
from ogive.engines.periods import period_of
from ogive.errors import DoesNotApply, InvalidInput
from ogive.export.curve_file import load_curve
from ogive.studies.watch.times import as_time, in_order

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from ogive.calibrators.maps import Fitted
    from ogive.engines.periods import Every
    from ogive.studies.watch.times import Time
    from ogive.studies.watch.watch import Day, Watch


@dataclass(frozen=True, slots=True)
class Watched:
    """A watch after a log.

    watch : Watch
    new : how many days were counted now
    again : how many days of the log had been counted before, with the same rows
    late : rows of days that had been counted before, or are older: left out
    """

    watch: Watch
    new: int
    again: int
    late: float


def watch_days(
    watch: Watch,
    curves: Mapping[str, Curve],
    *,
    calibrator: Fitted | None = None,
    skip_late: bool = False,
    step: Callable[[str, float, int], None] | None = None,
) -> Watched:
    """Return the watch after all days of a log that it has not counted.

    Parameters
    ----------
    watch : Watch
    curves : mapping of curves
        The curve of each day, by its time, in any order.
    calibrator : fitted map of a score, optional
        What is served is what this map makes of the scores.
    skip_late : bool
        Leave out rows of old days that came later; otherwise they are an error with their number.
    step : function of (what, done, total), optional
    """
    if NO_GROUP in curves:
        msg = f"{curves[NO_GROUP].n:,.0f} rows have no time. Drop them, or give them one."
        raise InvalidInput(msg)
    served = {as_time(name): _served(curve, calibrator) for name, curve in curves.items()}
    known = {day.time: day for day in watch.days}
    times = in_order([*known, *(time for time in served if time not in known)])
    last = watch.days[-1].time if watch.days else None
    again = 0
    late: dict[Time, float] = {}
    new: list[Time] = []
    after = last is None
    for time in times:
        if time in served and (after or time in known):
            more = _more(known[time], served[time]) if time in known else 0.0
            again += time in known and not more
            late |= {time: more} if more else {}
            new += [] if time in known else [time]
        elif time in served:
            late[time] = float(served[time].n)
        after = after or time == last
    if late and not skip_late:
        raise _too_late(late, last)
    for done, time in enumerate(new):
        watch = watch.update(served[time], time)
        if step is not None:
            step("watching", done + 1, len(new))
    return Watched(watch, len(new), again, sum(late.values()))


def saved_days(files: Sequence[Path], every: Every) -> dict[str, Curve]:
    """Return the curves of files that are named by their day, those of one period together."""
    found: dict[str, Curve] = {}
    for file in files:
        name, curve = period_of(file.stem, every), load_curve(file)
        found[name] = found[name].merge(curve) if name in found else curve
    return found


def _more(day: Day, curve: Curve) -> float:
    """Return by how many rows a day differs from what was counted: 0 if it is the same day."""
    same = curve.n == day.n and abs(curve.total_hits / curve.n - day.base_rate) < 1.0 / curve.n / 2
    return 0.0 if same else abs(float(curve.n) - day.n) or float(curve.n)


def _too_late(late: dict[Time, float], last: Time | None) -> InvalidInput:
    time, rows = next(iter(late.items()))
    more = f" (and {len(late) - 1:,} more days)" if len(late) > 1 else ""
    return InvalidInput(
        f"{sum(late.values()):,.0f} rows came late: {rows:,.0f} of {time}{more}, but the days up "
        f"to {last} are counted already, and a day counts once. Leave them out with --skip-late; "
        "to count them, wait until a day is complete, or start again with a new --state."
    )


def _served(curve: Curve, calibrator: Fitted | None) -> Curve:
    """Return the curve of what a calibrator makes of the scores."""
    if calibrator is None:
        return curve
    if not isinstance(calibrator, Map):
        msg = (
            "a calibrator of whole vectors cannot be applied to the scores of a view: run `ogive "
            "apply` on the log and watch its output."
        )
        raise DoesNotApply(msg)
    if calibrator.view != curve.view:
        msg = f"the calibrator is of the view {calibrator.view!r}, the log of {curve.view!r}."
        raise DoesNotApply(msg)
    q = calibrator.from_tails(curve.high, curve.tail)
    weights = np.concatenate([curve.hits, curve.count - curve.hits])
    some = weights > 0
    outcomes = np.repeat([1, 0], q.size)
    scores = np.concatenate([q, q])
    return Curve.from_scores(
        scores[some], outcomes[some], sample_weight=weights[some], view=curve.view
    )
