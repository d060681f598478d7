"""A watch over time: the evidence against calibration, and what each day was like."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ogive._typing import FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Timeline:
    """What a watch saw, day by day; arrays are (m,).

    Attributes
    ----------
    times : tuple of str
        The days, in order.
    evidence : (m,) array
        Log of the e-value after each day.
    limit : float
        The alarm is raised from here on.
    ks, ks_low, ks_high : (m,) arrays
        KS error of each day with its 95 % interval.
    base_rate, mean_score : (m,) arrays
    change : (int, int, int) or None
        Places of the day of the change, and of the first and the last day of its interval.
    alarm : int or None
        Place of the day of the alarm.
    """

    times: tuple[str, ...]
    evidence: FloatArray
    limit: float
    ks: FloatArray
    ks_low: FloatArray
    ks_high: FloatArray
    base_rate: FloatArray
    mean_score: FloatArray
    change: tuple[int, int, int] | None
    alarm: int | None
