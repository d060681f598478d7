"""The progress bar: what is done, how far, how long it took and how long it will take."""

from __future__ import annotations

import threading

from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    ProgressColumn,
    Task,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.text import Text

_WHAT_WIDTH, _BAR_WIDTH = 34, 20


class _Count(ProgressColumn):
    """How many of how many; nothing while that is not known."""

    def render(self, task: Task) -> Text:
        if task.total is None:
            return Text("")
        return Text(f"{task.completed:,.0f}/{task.total:,.0f}")


class _Remaining(TimeRemainingColumn):
    """The time that is left, in words; nothing while it is not known."""

    def render(self, task: Task) -> Text:
        if task.total is None or task.time_remaining is None or task.finished:
            return Text("")
        return Text(f"{_duration(task.time_remaining)} left")


class Bar:
    """A bar on stderr that is drawn from `start` to `stop`, and then disappears."""

    def __init__(self, what: str) -> None:
        columns = (
            TextColumn("{task.description}", markup=False),
            BarColumn(_BAR_WIDTH),
            _Count(),
            TimeElapsedColumn(),
            _Remaining(),
        )
        self._bar = Progress(*columns, console=Console(stderr=True, emoji=False), transient=True)
        self._task = self._bar.add_task(_short(what), total=None)
        self._lock = threading.Lock()
        self._state = "waiting"

    def start(self) -> None:
        """Draw the bar, unless it has been stopped."""
        with self._lock:
            if self._state == "waiting":
                self._state = "drawn"
                self._bar.start()

    def step(self, what: str, done: float, total: int) -> None:
        """Say how far the work is."""
        self._bar.update(self._task, description=_short(what), completed=done, total=total or None)

    def stop(self) -> None:
        """Remove the bar."""
        with self._lock:
            if self._state == "drawn":
                self._bar.stop()
            self._state = "stopped"


def _short(what: str) -> str:
    return what if len(what) <= _WHAT_WIDTH else what[: _WHAT_WIDTH - 1] + "…"


def _duration(seconds: float) -> str:
    """Return a duration to two digits or so.

    >>> _duration(7.2), _duration(130), _duration(7300)
    ('8 s', '2 min', '2 h')
    """
    for unit, name, most in ((1, "s", 90), (60, "min", 90), (3600, "h", float("inf"))):
        if seconds / unit <= most:
            return f"{max(1, round(seconds / unit + 0.499 * (unit == 1))):,} {name}"
    raise AssertionError
