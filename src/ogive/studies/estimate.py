"""How long fits will take, roughly, so that people can be told before they wait.

A fit of whole vectors goes through the matrix hundreds of times, so its time is about proportional
to the size of the matrix. The figures below were measured on one core; how fast this machine is
now is measured by a few milliseconds of work.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ogive.calibrators.multiclass.class_view import MIN_CLASSES_FOR_STRUCTURE
from ogive.studies.fitting import SCORE_ONLY, VECTOR, named

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from ogive.rows.predictions import Predictions

#: Fits that take longer are announced.
MIN_SECONDS_TO_ANNOUNCE = 5.0
#: Seconds for each number of a matrix, of methods and of ways to whole vectors; others are quick.
_SECONDS_PER_NUMBER = {
    "vector": 1.9e-6,
    "keep": 0.9e-6,
    "free": 0.9e-6,
    "ovr": 1.3e-6,
    "ms-odir": 2e-4,
    "dir-odir": 2e-4,
}
#: What the work below takes on the machine of the figures above, with a core of its own.
_REFERENCE_SECONDS = 0.0125
#: Long enough to see that other programs use the cores as well.
_PIECES_OF_WORK, _NUMBERS_IN_A_PIECE = 32, 1 << 18


def slow_methods(
    preds: Predictions, methods: Iterable[str], view: str | None = None
) -> dict[str, float]:
    """Return the methods whose fits take long, with about how many seconds each.

    >>> import numpy as np
    >>> from ogive import Predictions
    >>> preds = Predictions(np.zeros((50, 4)), np.arange(50) % 4, kind="logits")
    >>> slow_methods(preds, ["platt", "vector"])
    {}
    """
    return slow_in_all({method: [preds] for method in methods}, view)


class Shape(NamedTuple):
    """What the time of a fit depends on: rows, classes, and whether there is one column."""

    n: int
    K: int
    one_column: bool


def slow_in_all(
    fits: Mapping[str, Sequence[Predictions | Shape]], view: str | None = None, n_jobs: int = 1
) -> dict[str, float]:
    """Return the methods whose fits take long together, `n_jobs` of them at once.

    fits : for each method, what it is fitted to
    """
    speed = None
    found = {}
    for method, many in fits.items():
        rates = [_SECONDS_PER_NUMBER.get(_kind(method, view, one), 0.0) for one in many]
        each = (one.n * one.K * rate for one, rate in zip(many, rates, strict=True))
        seconds = sum(each) / max(min(n_jobs, len(many)), 1)
        if seconds:
            speed = _slowness() if speed is None else speed
        if seconds and seconds * (speed or 1.0) >= MIN_SECONDS_TO_ANNOUNCE:
            found[method] = seconds * (speed or 1.0)
    return found


def _kind(method: str, view: str | None, shape: Predictions | Shape) -> str:
    """Return the name under which the time of a fit is known."""
    chosen, way = named(method)
    if chosen.reads == "predictions":
        return chosen.name
    if shape.one_column or (way == "keep" and chosen.name != "spline"):
        return ""
    if view != VECTOR:  # the spline of a rank reads all columns, and is fitted as "keep" is
        ranks = view is None or "top" in view
        reads = ranks and way != SCORE_ONLY and shape.K >= MIN_CLASSES_FOR_STRUCTURE
        return "keep" if reads and chosen.name == "spline" else ""
    return way


def _slowness() -> float:
    """Return how much slower than the machine of the figures this one is now."""
    values = np.linspace(-5.0, 0.0, _NUMBERS_IN_A_PIECE)
    start = time.perf_counter()
    for _ in range(_PIECES_OF_WORK):
        np.exp(values, out=np.empty_like(values)).sum()
    return (time.perf_counter() - start) / _REFERENCE_SECONDS
