"""When a day was: dates as ISO 8601 text, batches as whole numbers; and which comes first."""

from __future__ import annotations

import datetime as dt
import re
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from ogive.errors import InvalidInput

if TYPE_CHECKING:
    from collections.abc import Sequence

#: A date or a moment as ISO 8601 text, the number of a batch, or another text that sorts.
Time: TypeAlias = str | int

_WHOLE = re.compile(r"-?[0-9]{1,18}")
MAX_TEXT = 100  # characters: longer texts are no times


def as_time(when: object) -> Time:
    """Return a time as it is kept and printed.

    >>> as_time(dt.date(2026, 5, 3)), as_time("7"), as_time("2026-W18")
    ('2026-05-03', 7, '2026-W18')
    """
    if isinstance(when, dt.datetime) and when.time() == dt.time():
        when = when.date()
    if isinstance(when, dt.date):
        return when.isoformat()
    if isinstance(when, np.datetime64):
        return str(when)
    if isinstance(when, int | np.integer) and not isinstance(when, bool):
        return int(when)
    if isinstance(when, str) and when.isprintable() and 0 < len(when.strip()) <= MAX_TEXT:
        return int(when) if _WHOLE.fullmatch(when) else when
    msg = f"`when` must be a date, ISO 8601 text (2026-05-03) or a whole number, not {when!r}."
    raise InvalidInput(msg)


def in_order(times: Sequence[Time]) -> list[Time]:
    """Return times in order; dates and numbers of batches do not mix."""
    if len({isinstance(time, int) for time in times}) > 1:
        odd = next(time for time in times if isinstance(time, int) != isinstance(times[0], int))
        msg = f"times must be all numbers or all dates, but there are {times[0]!r} and {odd!r}."
        raise InvalidInput(msg)
    return sorted(times)


def check_later(time: Time, before: Sequence[Time]) -> None:
    """Refuse a day that was counted already, or that is older than the last."""
    if not before:
        return
    if time in before:
        msg = f"{time} was counted already: a day counts once, with all its rows."
        raise InvalidInput(msg)
    if in_order([before[-1], time])[-1] != time:
        msg = f"{time} comes after {before[-1]} was counted: give the days in their order."
        raise InvalidInput(msg)
