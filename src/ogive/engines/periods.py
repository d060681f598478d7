"""Times of rows become the days, weeks or batches that are counted together."""

from __future__ import annotations

import datetime as dt
import re
from typing import Literal, TypeAlias

from ogive.errors import FileFormatError

#: What is counted together: all rows of a day, of a week from Monday, or of equal times.
Every: TypeAlias = Literal["day", "week", "batch"]

_DATE = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2})(?![0-9-]).*", re.DOTALL)
DIGITS_OF_SECONDS = 10  # since 2001; a batch may be numbered 20260503, but hardly by ten digits
_WHOLE = re.compile(r"-?[0-9]{1,18}")


def is_period(time: str) -> bool:
    """Return whether a time is a day or the number of a batch, and not another text."""
    try:
        return bool(period_of(time, "day"))
    except FileFormatError:
        return False


def period_of(time: str, every: Every) -> str:
    """Return the day of a moment, or the Monday of its week; a batch's number stays as it is.

    >>> period_of("2026-05-03 23:59:59+02:00", "day"), period_of("2026-05-03", "week")
    ('2026-05-03', '2026-04-27')
    >>> period_of("17", "day"), period_of("release 4", "batch")
    ('17', 'release 4')
    """
    if every == "batch":
        return time
    if _WHOLE.fullmatch(time):
        if len(time) >= DIGITS_OF_SECONDS:
            msg = (
                f"the time {time} looks like seconds since 1970: every second would be a day. "
                "Write dates (2026-05-03), or count equal numbers together: --every batch"
            )
            raise FileFormatError(msg)
        return time
    found = _DATE.fullmatch(time)
    try:
        day = dt.date.fromisoformat(found[1] if found else "")
    except ValueError as error:
        msg = (
            f"the time {time[:40]!a} is not a date in ISO 8601 (2026-05-03 or "
            "2026-05-03T17:00:00). Write it so, or count equal times together: --every batch"
        )
        raise FileFormatError(msg) from error
    if every == "week":
        day -= dt.timedelta(day.weekday())
    return day.isoformat()
