"""The days of a log, handed to a watch in their order: each once, with all its rows."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from functools import reduce
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import numpy as np

from ogive.calibrators.grouped_map import JOIN, NO_GROUP
from ogive.calibrators.maps import Map
from ogive.curve import Curve
from ogive.curve.curve import rescored
from ogive.curve.packing import keys_of_scores
from ogive.engines.periods import period_of
from ogive.errors import DoesNotApply, InvalidInput
from ogive.export.curve_file import load_curve
from ogive.studies.watch.times import as_time, in_order

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from ogive._typing import AnyArray, Progress
    from ogive.calibrators.maps import Fitted
    from ogive.engines.periods import Every
    from ogive.studies.watch.grouped import GroupWatch
    from ogive.studies.watch.state import State
    from ogive.studies.watch.times import Time
    from ogive.studies.watch.watch import Day, Watch

    #: The rows of a day: one curve, or one for each group.
    Rows: TypeAlias = Curve | Mapping[str, Curve]
    #: From files to the rows of each day, by its name.
    Reader: TypeAlias = Callable[[Sequence[Path]], Mapping[str, Rows]]


@dataclass(frozen=True, slots=True)
class Watched:
    """A watch after a log.

    state : State
    new : how many days were counted now
    again : how many days of the log had been counted before, with the same rows
    late : rows of days that had been counted before, or are older: left out
    unread : how many files had not changed since they were counted, and were not read
    untimed : rows without a time, left out
    """

    state: State
    new: int
    again: int = 0
    late: float = 0.0
    unread: int = 0
    untimed: float = 0.0


def watch_files(
    state: State,
    files: Sequence[Path],
    reader: Reader,
    *,
    calibrator: Fitted | None = None,
    clustered: bool = False,
    skip_late: bool = False,
    skip_untimed: bool = False,
    step: Progress | None = None,
) -> Watched:
    """Return the watch after all days of a log that it has not counted.

    Files that have not changed since they were counted are not read. If others hold rows of days
    that were counted, and some file that was counted is changed or gone, then all files are read:
    rows may have moved from one to another.

    Parameters
    ----------
    state : State
    files : sequence of Path
        All files of the log.
    reader : function
        From some of them to the curve of each day, or the curves of its groups, by its name.
    calibrator : fitted map of a score, optional
        What is served is what this map makes of the scores.
    clustered : bool
        The curves of a day are those of its clusters, and not of groups.
    skip_late : bool
        Leave out rows of old days that came later; otherwise they are an error with their number.
    skip_untimed : bool
        Leave out rows without a time: their labels have not arrived.
    step : function of (what, done, total), optional
    """
    marks = {file: mark_of(file) for file in files}
    fresh = [file for file in files if marks[file] not in state.files]
    rows = dict(reader(fresh)) if fresh else {}
    last = state.watch.days[-1].time if state.watch.days else None
    moved = bool(state.files - set(marks.values()))
    if moved and len(fresh) < len(files) and _has_old(rows, last):
        rows, fresh = dict(reader(files)), list(files)
    untimed = rows.pop(NO_GROUP, None)
    if untimed is not None and not skip_untimed:
        msg = f"{_whole(untimed).n:,.0f} rows have no time. Drop them, or give them one."
        raise InvalidInput(msg)
    served = {as_time(name): _served(day, calibrator) for name, day in rows.items()}
    if clustered:
        served = {time: _in_clusters(cast("Any", day)) for time, day in served.items()}
    complete = len(fresh) == len(files)
    watch, new, late = _counted(state.watch, served, complete=complete, skip_late=skip_late,
                                step=step)  # fmt: skip
    return Watched(
        replace(state, watch=watch, files=frozenset(marks.values())),
        new=new,
        again=len(served) - new - len(late),
        late=float(sum(max(more, 0.0) for more in late.values())),
        unread=len(files) - len(fresh),
        untimed=0.0 if untimed is None else float(_whole(untimed).n),
    )


def _counted(
    watch: Watch | GroupWatch,
    served: Mapping[Time, Rows],
    *,
    complete: bool,
    skip_late: bool,
    step: Progress | None,
) -> tuple[Watch | GroupWatch, int, dict[Time, float]]:
    """Return the watch after the new days, their number, and by how many rows old days differ.

    `complete`: days that were counted before come with all their rows, not with later ones alone.
    """
    known = {day.time: day for day in watch.days}
    times = in_order([*known, *(time for time in served if time not in known)])
    last = times.index(watch.days[-1].time) if watch.days else -1
    new = [time for time in times[last + 1 :] if time in served]
    late = {
        time: _whole(served[time]).n - (known[time].n if complete and time in known else 0.0)
        for time in times[: last + 1]
        if time in served and (time not in known or not _is_same(known[time], _whole(served[time])))
    }
    if late and not skip_late:
        raise _too_late(late, known, watch.days[-1].time)
    for done, time in enumerate(new):
        watch = watch.update(cast("Any", served[time]), time)
        if step is not None:
            step("watching", done + 1, len(new))
    return watch, len(new), late


def by_day(groups: Mapping[str, Curve]) -> dict[str, dict[str, Curve]]:
    """Return curves by day, then by group, from those named by both."""
    found: dict[str, dict[str, Curve]] = {}
    for name, curve in groups.items():
        time, _, group = name.partition(JOIN)
        found.setdefault(time, {})[group] = curve
    return found


def rows_since(days: Mapping[str, Rows], since: str) -> Rows:
    """Return the rows of a day and of all later ones together; with groups, those of each group."""
    first = as_time(since)
    names = [name for name in days if name != NO_GROUP]
    later = [days[name] for name in names if in_order([first, as_time(name)])[0] == first]
    if not later:
        msg = f"no rows are of {since} or later; the last are of {max(names, default='no time')}."
        raise InvalidInput(msg)
    if all(isinstance(one, Curve) for one in later):
        return reduce(lambda a, b: a.merge(b), cast("list[Curve]", later))
    found: dict[str, Curve] = {}
    for day in cast("list[Mapping[str, Curve]]", later):
        for group, curve in day.items():
            found[group] = found[group].merge(curve) if group in found else curve
    return found


def saved_days(files: Sequence[Path], every: Every) -> dict[str, Curve]:
    """Return the curves of files that are named by their day, those of one period together."""
    found: dict[str, Curve] = {}
    for file in files:
        name, curve = period_of(file.stem, every), load_curve(file)
        found[name] = found[name].merge(curve) if name in found else curve
    return found


def mark_of(file: Path) -> str:
    """Return a mark that changes when a file is moved, written again or grows."""
    status = file.stat()
    text = f"{file.resolve()}\n{status.st_size}\n{status.st_mtime_ns}"
    return hashlib.sha256(text.encode(errors="surrogateescape")).hexdigest()[:24]


def _in_clusters(clusters: Mapping[str, Curve]) -> Curve:
    """Return one curve that knows its clusters, from the curve of each."""
    if NO_GROUP in clusters:
        n = clusters[NO_GROUP].n
        msg = f"{n:,.0f} rows have no cluster. Drop them, or give each a name of its own."
        raise InvalidInput(msg)
    columns = zip(*(_rows_of(one, code) for code, one in enumerate(clusters.values())), strict=True)
    scores, outcomes, weights, codes = map(np.concatenate, columns)
    view = next(iter(clusters.values())).view
    # `Curve.from_scores` refuses a single cluster, which is all there is on some days.
    keys = keys_of_scores(scores, outcomes > 0)
    return Curve._from_keys(keys, weights, "repetition", view, clusters=codes)  # noqa: SLF001


def _rows_of(curve: Curve, code: int) -> tuple[AnyArray, ...]:
    """Return scores, outcomes and how often each comes, with a code of the cluster."""
    scores, outcomes = np.tile(curve.score, 2), np.repeat([1, 0], curve.score.size)
    weights = np.concatenate([curve.hits, curve.count - curve.hits])
    some = weights > 0.0
    return scores[some], outcomes[some], weights[some], np.full(int(some.sum()), code)


def _whole(rows: Rows) -> Curve:
    """Return all rows of a day."""
    if isinstance(rows, Curve):
        return rows
    return reduce(lambda a, b: a.merge(b), rows.values())


def _has_old(rows: Mapping[str, Rows], last: Time | None) -> bool:
    """Return whether there are rows of days up to the last one that was counted."""
    times = [as_time(name) for name in rows if name != NO_GROUP]
    return last is not None and any(in_order([last, time])[0] == time for time in times)


def _is_same(day: Day, curve: Curve) -> bool:
    """Return whether a day has the rows that were counted: as many, and as many of outcome 1."""
    return curve.n == day.n and abs(curve.total_hits / curve.n - day.base_rate) < 0.5 / curve.n


def _too_late(late: Mapping[Time, float], known: Mapping[Time, Day], last: Time) -> InvalidInput:
    way = (
        "Leave them out with --skip-late; to count them, wait until a day is complete, or start "
        "again with a new --state."
    )
    more = f" (and {len(late) - 1:,} more days)" if len(late) > 1 else ""
    extra = {time: rows for time, rows in late.items() if rows > 0}
    if not extra:
        time, rows = next(iter(late.items()))
        now, before = known[time].n + rows, known[time].n
        return InvalidInput(
            f"the rows of {time}{more} changed after they were counted: {now:,.0f} now, "
            f"{before:,.0f} before. A day counts once. {way}"
        )
    time, rows = next(iter(extra.items()))
    return InvalidInput(
        f"{sum(extra.values()):,.0f} rows came late: {rows:,.0f} of {time}{more}, but the days up "
        f"to {last} are counted already, and a day counts once. {way}"
    )


def _served(rows: Rows, calibrator: Fitted | None) -> Rows:
    """Return the curves of what a calibrator makes of the scores."""
    if calibrator is None:
        return rows
    if not isinstance(calibrator, Map):
        msg = (
            "a calibrator of whole vectors cannot be applied to the scores of a view: run `ogive "
            "apply` on the log and watch its output."
        )
        raise DoesNotApply(msg)
    if isinstance(rows, Curve):
        return _calibrated(rows, calibrator)
    return {name: _calibrated(curve, calibrator) for name, curve in rows.items()}


def _calibrated(curve: Curve, calibrator: Map) -> Curve:
    if calibrator.view != curve.view:
        msg = f"the calibrator is of the view {calibrator.view!r}, the log of {curve.view!r}."
        raise DoesNotApply(msg)
    return rescored(curve, calibrator.from_tails(curve.high, curve.tail))
