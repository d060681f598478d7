"""Logs: measure what an engine has read, and fit a method to it."""

from __future__ import annotations

from dataclasses import replace
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np

from ogive.calibrators import find_method
from ogive.engines.files import partition_of
from ogive.engines.plan import CLASSWISE
from ogive.engines.refine import Reading
from ogive.errors import InvalidInput
from ogive.export.curve_file import load_curve
from ogive.metrics.binned import BINS
from ogive.metrics.classwise import classwise_of
from ogive.readers.memory import as_limit, check_fits
from ogive.readers.multi_file import read_together
from ogive.readers.sizes import table_bytes
from ogive.studies.groups import measure_groups
from ogive.studies.measure import measure
from ogive.studies.measurement import Measurement, Measurements
from ogive.views import usual_views

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from ogive._typing import ArrayLike
    from ogive.calibrators.maps import Fitted
    from ogive.curve import Curve
    from ogive.engines.files import Log
    from ogive.predictions import Predictions
    from ogive.studies.groups import GroupMeasurements

ALL = "all"
VECTOR = "vector"
TWO_CLASSES = 2


def views_of(
    view: str | None, classes: int, kind: str, *, both: bool = False
) -> tuple[str, ...] | None:
    """Return the views that an engine counts for the view that was asked for; None: the default.

    With `both`, the default of two classes is the top class and the score of class 1.
    """
    if view is None and both and kind != "scores" and classes == TWO_CLASSES:
        return ("top-1", "class-1")
    if view == VECTOR:
        msg = (
            "whole vectors of a log are not measured or fitted as a view: name one, such as "
            "top-1 (the proper scores of vectors come with it), or give one file that fits memory."
        )
        raise InvalidInput(msg)
    if view != ALL:
        return None if view is None else (view,)
    if kind == "scores" or classes == 1:
        return ("score",)
    return (*usual_views(classes), CLASSWISE)


def measure_reading(
    reading: Reading,
    **options: Any,  # noqa: ANN401 - those of `measure`
) -> Measurement:
    """Measure the view that an engine has read; a second one is in `Measurement.also`."""
    first, *others = _measured(reading, list(_curves(reading)), options)
    return replace(first, also=tuple(others))


def measure_views(
    reading: Reading,
    *,
    bins: ArrayLike | int = BINS,
    random_state: int = 0,
    **options: Any,  # noqa: ANN401 - those of `measure`
) -> Measurements:
    """Measure several views, and all classes where they were counted."""
    how: dict[str, Any] = {"bins": bins, "random_state": random_state}
    curves = _curves(reading)
    views = [view for view in curves if not view.startswith("class-")]
    found = tuple(_measured(reading, views, options | how))
    classes = [curve for view, curve in curves.items() if view.startswith("class-")]
    return Measurements(
        found, classwise_of(classes, np.arange(len(classes)), **how) if classes else None
    )


def measure_reading_groups(
    reading: Reading,
    by: str,
    *,
    bins: ArrayLike | int = BINS,
    random_state: int = 0,
    fitted_on: float | None = None,
) -> GroupMeasurements:
    """Measure what was read by groups of a column."""
    _curves(reading)
    curves = {group: curve for (_, group), curve in reading.curves.items()}
    groups = measure_groups(curves, by, bins=bins, random_state=random_state, fitted_on=fitted_on)
    return replace(groups, skipped=reading.skipped)


def _curves(reading: Reading) -> dict[str, Curve]:
    """Return the curve of each view; a log without rows is refused."""
    if not reading.curves:
        skipped = f" ({reading.skipped:,} were skipped)" if reading.skipped else ""
        msg = f"the log has no rows to measure: {reading.rows:,} were read{skipped}."
        raise InvalidInput(msg)
    return {view: curve for (view, _), curve in reading.curves.items()}


def _measured(reading: Reading, views: Sequence[str], options: dict[str, Any]) -> list[Measurement]:
    curves = _curves(reading)
    return [_marked(measure(curves[view], **options), reading) for view in views]


def _marked(one: Measurement, reading: Reading) -> Measurement:
    one = replace(one, skipped=reading.skipped)
    if reading.vectors is None:
        return one
    return replace(one, brier_vector=reading.vectors[0], nll_vector=reading.vectors[1])


def with_saved(reading: Reading | None, files: Sequence[Path]) -> Reading:
    """Return the reading of saved curves, and of a log if there is one, together."""
    curves = [load_curve(file) for file in files]
    rows = skipped = passes = 0
    if reading is not None:
        if len(reading.curves) != 1:
            msg = "saved curves add up with one curve of a log, not with several views or groups."
            raise InvalidInput(msg)
        curves.append(reading.curve)
        rows, skipped, passes = reading.rows, reading.skipped, reading.passes
    total = reduce(lambda a, b: a.merge(b), curves)
    return Reading({(total.view, ""): total}, rows or int(total.n), skipped, passes)


#: How a log is fitted that cannot be fitted as whole vectors.
_A_VIEW_INSTEAD = "or fit a view, which takes any number of rows: --view top-1"


def is_matrix(log: Log) -> bool:
    """Return whether the rows of a log have a column for each of several classes."""
    return log.layout.kind != "scores" and (log.layout.is_list or len(log.layout.values) > 1)


def read_rows(
    log: Log, part: str | None, memory: str | int | None, *, in_pieces: str | None = None
) -> Predictions:
    """Read a log of matrices into memory: whole vectors are fitted to rows, not to a summary.

    Parameters
    ----------
    log : Log
    part : str, optional
        Default: cal, where there are parts.
    memory : str or int, optional
        The limit; a log that needs more is refused.
    in_pieces : str, optional
        An option that was given and asks for reading in pieces, which is then refused.
    """
    folders = [name for name in log.layout.needed if name in partition_of(log.files[0])]
    if in_pieces is not None or folders:
        why = f"{in_pieces} reads it in pieces" if in_pieces else f"`{folders[0]}` is a folder name"
        msg = (
            f"{log.name}: whole vectors are fitted to all rows in memory, but {why}. Leave that "
            f"out, {_A_VIEW_INSTEAD}."
        )
        raise InvalidInput(msg)
    needed = sum(table_bytes(file, log.columns, whole=False) for file in log.files)
    check_fits(log.files[0], needed, as_limit(memory), f"fit a sample of it, {_A_VIEW_INSTEAD}")
    return read_together(log.files, log.columns, None, part, default="cal", memory=memory)


def check_method(method: str) -> None:
    """Refuse methods that need all rows of a log at once."""
    if find_method(method).reads != "curve":
        msg = (
            f"`method` {method!r} calibrates whole matrices and needs all rows in memory: fit it "
            "to a sample in one file, or use a method of a view, such as spline."
        )
        raise InvalidInput(msg)


def fit_reading(reading: Reading, method: str = "spline") -> Fitted:
    """Fit a method of a view to what an engine has read."""
    check_method(method)
    if not reading.curves:
        msg = f"the log has no rows to fit: {reading.rows:,} were read."
        raise InvalidInput(msg)
    return find_method(method).fit(reading.curve)
