"""Logs: which files are one, how engines read it, and how it is measured and fitted."""

from __future__ import annotations

import importlib
from dataclasses import replace
from functools import reduce
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

from ogive.calibrators import find_method
from ogive.calibrators.multiclass.class_view import MIN_CLASSES_FOR_STRUCTURE
from ogive.engines import find_engine
from ogive.engines.files import is_log as is_table
from ogive.engines.files import open_log, partition_of
from ogive.engines.plan import CLASSWISE
from ogive.engines.refine import Reading
from ogive.errors import InvalidInput
from ogive.export.curve_file import is_curve_file, load_curve
from ogive.metrics.binned import BINS
from ogive.metrics.classwise import classwise_of
from ogive.readers.memory import as_limit, check_fits, fits, parse_memory
from ogive.readers.multi_file import expand, read_together
from ogive.readers.provenance import provenance_of_all
from ogive.readers.sizes import table_bytes
from ogive.readers.source import Columns
from ogive.rows.views import usual_views
from ogive.studies.fitting import TWO_CLASSES, VECTOR, fit
from ogive.studies.groups import measure_groups
from ogive.studies.measure import ALL, measure
from ogive.studies.measurement import Measurement, Measurements

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from ogive._typing import ArrayLike, Progress
    from ogive.calibrators.impossible import Impossible
    from ogive.calibrators.maps import Fitted
    from ogive.curve import Curve
    from ogive.engines.files import Log
    from ogive.rows.predictions import Predictions
    from ogive.studies.group_measurement import GroupMeasurements


def is_log(
    files: Sequence[Path], columns: Columns | None = None, *, memory: str | int = "1GB"
) -> bool:
    """Return whether an engine reads these files.

    Folders, globs, several tables, saved curves, and a table that does not fit `memory` are logs;
    archives of arrays are not.
    """
    if any(is_curve_file(file) for file in files):
        return True
    if not all(is_table(file) for file in files):
        return False
    if len(files) == 1 and files[0].is_file():
        return not fits(
            table_bytes(files[0], columns or Columns(), whole=False), parse_memory(memory)
        )
    return all(is_table(file) for file in expand(files))


def read_log(
    files: Sequence[Path],
    view: str | None = None,
    *,
    engine: str = "local",
    columns: Columns | None = None,
    part: str | None = None,
    default_part: str = "test",
    skip_bad: bool = False,
    one_pass: bool = False,
    vectors: bool = False,
    both: bool = False,
    note: Callable[[str], None] | None = None,
    **options: Any,  # noqa: ANN401 - those of the engine's `read_log`
) -> Reading:
    """Read a log with an engine; saved curves are added to it.

    Parameters
    ----------
    files : sequence of Path
        Tables, folders, globs, and curves that were saved.
    view : str, optional
        ``"all"``: all usual views and every class.
    engine : str
        A name of `ogive.engines.ENGINES`.
    both : bool
        Of two classes, also count the score of class 1: see `views_of`.
    note : function of a line, optional
        Is given which label is which column, where that is not by number.
    columns, part, default_part, skip_bad, one_pass, vectors, **options
        As in `ogive.engines.local.read_log`.
    """
    saved = [file for file in files if is_curve_file(file)]
    tables = [file for file in files if file not in saved]
    if not tables:
        return replace(with_saved(None, saved), part=part)
    log = open_log(tables, columns, skip_bad=skip_bad)
    mapping = log.layout.mapping
    if mapping is not None and note is not None:
        note(mapping.words)
    reading: Reading = importlib.import_module(find_engine(engine)).read_log(
        tables,
        views_of(view, log.classes, log.layout.kind, both=both and not saved),
        columns=columns,
        part=part,
        default_part=default_part,
        skip_bad=skip_bad,
        one_pass=one_pass or bool(saved),
        vectors=vectors and not saved,
        **options,
    )
    if part is None and log.layout.part is not None:
        part = default_part
    reading = with_saved(reading, saved) if saved else reading
    return replace(reading, origin=provenance_of_all(log.files, part), part=part)


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
    return _with_origin(replace(first, also=tuple(others)), reading)


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
    by_class = classwise_of(classes, np.arange(len(classes)), **how) if classes else None
    return _with_origin(Measurements(found, by_class), reading)


def measure_reading_groups(
    reading: Reading, by: str, *, bins: ArrayLike | int = BINS, random_state: int = 0
) -> GroupMeasurements:
    """Measure what was read by groups of columns; `depth` of the reading says of which."""
    _curves(reading)
    how: dict[str, Any] = {"bins": bins, "random_state": random_state} | _fitted_on(reading)
    groups = measure_groups(reading.by_group, by, **how)
    origin, part = reading.origin, reading.part
    if origin is not None and origin.fitted(part):
        msg = (
            f"{origin.words(part)} Groups are found by p-values, which such rows do not have: "
            "measure rows that the calibrator was not fitted to, or leave out --by."
        )
        raise InvalidInput(msg)
    return replace(groups, skipped=reading.skipped)


def _fitted_on(reading: Reading) -> dict[str, Any]:
    """Return how many other rows the calibrator of a log was fitted on, as an option."""
    origin = reading.origin
    return {} if origin is None else {"fitted_on": origin.other_rows(reading.part)}


_Measured = TypeVar("_Measured", Measurement, Measurements)


def _with_origin(result: _Measured, reading: Reading) -> _Measured:
    """Return a measurement with what calibrated the files of the log."""
    origin, part = reading.origin, reading.part
    if origin is None:
        return result
    return result.with_origin(origin.words(part), fitted_rows=origin.fitted(part))


def _curves(reading: Reading) -> dict[str, Curve]:
    """Return the curve of each view; a log without rows is refused."""
    if not reading.curves:
        skipped = f" ({reading.skipped:,} were skipped)" if reading.skipped else ""
        msg = f"the log has no rows to measure: {reading.rows:,} were read{skipped}."
        raise InvalidInput(msg)
    return {view: curve for (view, _), curve in reading.curves.items()}


def _measured(reading: Reading, views: Sequence[str], options: dict[str, Any]) -> list[Measurement]:
    curves = _curves(reading)
    options = _fitted_on(reading) | options
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


#: What is said of the spline of a rank of a log.
ONLY_SCORES = (
    "A log is read as a curve of its {} scores, so the calibrator reads the score alone. To read "
    "all columns, fit one file of a sample of its rows."
)
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


class LogFit(NamedTuple):
    """A calibrator, the curve or the rows it was fitted to, and the classes of a curve."""

    gamma: Fitted
    data: Curve | Predictions
    classes: tuple[str | int, ...] | None = None

    @property
    def only_scores(self) -> bool:
        """Whether all columns would be read if these were the rows of one file."""
        classes = len(self.classes or ())
        return "top" in self.gamma.view and classes >= MIN_CLASSES_FOR_STRUCTURE


def fit_log(
    files: Sequence[Path],
    method: str = "spline",
    view: str | None = None,
    *,
    columns: Columns | None = None,
    part: str | None = None,
    memory: str | int = "1GB",
    skip_bad: bool = False,
    impossible: Impossible = None,
    in_pieces: str | None = None,
    check: Callable[[Curve | Predictions], None] | None = None,
    progress: Progress | None = None,
    **options: Any,  # noqa: ANN401 - those of `read_log`
) -> LogFit:
    """Fit a method to the curve, or the rows, of a log.

    A log of matrices is fitted as whole vectors, to rows in memory, unless a view is asked for.

    Parameters
    ----------
    in_pieces : str, optional
        As in `read_rows`.
    check : function of a curve or predictions, optional
        Is called before anything is fitted, and may refuse them.
    files, view, columns, part, memory, skip_bad, progress, **options
        As in `read_log`.
    method, impossible
        As in `ogive.studies.fitting.fit`.
    """
    tables = [file for file in files if not is_curve_file(file)]
    log = open_log(tables, columns, skip_bad=skip_bad) if tables else None
    if view in {None, VECTOR} and log is not None and is_matrix(log):
        rows = read_rows(log, part, memory, in_pieces=in_pieces)
        if check is not None:
            check(rows)
        return LogFit(fit(rows, method, VECTOR, impossible=impossible, progress=progress), rows)
    check_method(method)
    how: Any = {"columns": columns, "part": part, "memory": memory, "skip_bad": skip_bad}
    reading = read_log(files, view, **how, default_part="cal", progress=progress, **options)
    if check is not None:
        check(reading.curve)
    classes = None
    if log is not None and log.layout.kind != "scores" and log.classes > 1:
        classes = log.layout.labels or tuple(range(log.classes))
    return LogFit(fit_reading(reading, method), reading.curve, classes)
