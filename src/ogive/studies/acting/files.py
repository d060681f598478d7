"""Decide for files and logs, with a calibrator from a file or one that is fitted here."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ogive.calibrators.grouped_map import GroupedMap
from ogive.engines.files import open_log
from ogive.errors import FileFormatError, InvalidInput, OgiveWarning
from ogive.export.artifact import load_fitted_on, load_map
from ogive.export.curve_file import is_curve_file
from ogive.readers import FORMATS, check_file
from ogive.readers.csv import load_text
from ogive.readers.csv_text import number
from ogive.readers.guard import CSV, guarded, suffix_of
from ogive.readers.multi_file import expand, read_together
from ogive.readers.provenance import file_checksum, rows_checksum
from ogive.readers.table import load
from ogive.rows.labels import shown
from ogive.rows.predictions import labelled
from ogive.studies.acting.study import decide, event_view
from ogive.studies.apply_mark import warn_if_calibrated
from ogive.studies.fitting import VECTOR, fit
from ogive.studies.group_fitting import groups_of, open_with_groups
from ogive.studies.same_model import check_log, class_check

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from ogive._typing import AnyArray, FloatArray, Progress
    from ogive.calibrators.maps import Fitted
    from ogive.engines.refine import Reading
    from ogive.readers.source import Columns
    from ogive.rows.predictions import Predictions
    from ogive.studies.acting.decision import Decision


def decide_files(
    files: Sequence[Path],
    columns: Columns | None = None,
    experiment: str | None = None,
    part: str | None = None,
    *,
    costs: Path | None = None,
    calibrator: Path | None = None,
    method: str = "spline",
    view: str | None = None,
    memory: str | int | None = None,
    note: Callable[[str], None] | None = None,
    progress: Progress | None = None,
    **asked: Any,  # noqa: ANN401 - those of `decide`
) -> Decision:
    """Decide for files that fit memory; with parts cal and test, fitted to cal and judged on test.

    Parameters
    ----------
    files, columns, experiment, part, memory, note
        As in `ogive.readers.multi_file.read_together`.
    costs : path, optional
        A table with a row for each action and a column for each class, named like it; one more
        column may have the names of the actions.
    calibrator : path, optional
        A saved calibrator that was fitted to other rows.
    method, view, progress, **asked
        As in `ogive.decide`.
    """
    parts: list[str] = []
    how: Any = {"default": "test", "memory": memory}
    check: Any = {"note": note, "of_part": parts.append}
    if calibrator is not None:
        warn_if_calibrated(files[0])
        check["of_classes"] = class_check(calibrator, str(files[0]))
    data = read_together(files, columns, experiment, part, **how, **check)
    labelled(data)
    if costs is not None:
        asked["costs"], asked["actions"] = _costs_of(costs, list(map(str, data.classes)))
    gamma: Fitted | None = None
    words = None
    if calibrator is not None:
        gamma = load_map(calibrator)
        if isinstance(gamma, GroupedMap):
            asked["groups"] = _groups(files, columns, experiment, part, gamma)
        if load_fitted_on(calibrator).rows == rows_checksum(data.values):
            words = _warn(calibrator)
    elif set(parts) == {"test"}:
        cal = read_together(files, columns, experiment, "cal", **how)
        if cal.labels is not None:
            gamma = fit(cal, method, _fitted_view(data, view, matrix=costs is not None))
            words = f"fitted to the {cal.n:,} rows of the cal part"
    given: Any = {"view": view, "method": method, "calibrator": gamma, "progress": progress}
    found = decide(data, **given, **asked)
    return found if words is None else replace(found, how=words)


def _costs_of(path: Path, classes: list[str]) -> tuple[FloatArray, list[str] | None]:
    """Read a matrix of costs with its columns in the order of the classes, and names of actions."""
    check_file(path)
    if FORMATS[suffix_of(path)] != "table":
        msg = f"{path} is not a table of costs, such as a .csv file that begins with the line {{}}."
        raise FileFormatError(msg.format(",".join(["action", *classes])))
    with guarded(path):
        table = load_text(path) if suffix_of(path) in CSV else load(path)
    names = [name for name in table.column_names if name not in classes]
    if len(names) > 1 or sorted(table.column_names) != sorted([*names, *classes]):
        msg = (
            f"{path} must have a column of costs for each class, named like it, and at most one "
            f"more, of names of actions, but has {shown(table.column_names)}. Begin it with the "
            f"line {','.join([*(names if len(names) == 1 else ['action']), *classes])}."
        )
        raise FileFormatError(msg)
    columns = [[_cost(cell) for cell in table[name].to_pylist()] for name in classes]
    given = [["" if name is None else str(name) for name in table[n].to_pylist()] for n in names]
    return np.array(columns, dtype=np.float64).T, given[0] if given else None


def _cost(cell: Any) -> float:  # noqa: ANN401
    """Return a number, NaN for what is none: `ogive.decide` names the row."""
    return float(cell) if isinstance(cell, int | float) else number(cell)


def _groups(
    files: Sequence[Path],
    columns: Columns | None,
    experiment: str | None,
    part: str | None,
    gamma: GroupedMap,
) -> AnyArray:
    """Return the group of each row, for a calibrator of groups."""
    if len(files) > 1:
        msg = "a calibrator of groups is decided with on one table: give one file."
        raise InvalidInput(msg)
    source = open_with_groups(files[0], columns, experiment)
    name = part or ("test" if "test" in source.parts else next(iter(source.parts)))
    return groups_of(source, name, gamma.by)


def _fitted_view(data: Predictions, view: str | None, *, matrix: bool) -> str | None:
    """Return what is fitted to the cal part: the event, or whole vectors for a matrix of costs."""
    if matrix:
        return None if data.one_column else VECTOR
    return event_view(data.K, view, one_column=data.one_column)


def _warn(calibrator: Path) -> str:
    """Warn of rows that a calibrator was fitted to; return what is said of them."""
    warnings.warn(
        f"{calibrator} was fitted to these very rows, so that the cost after calibration is lower "
        "here than it will be on new rows. Give other rows, or leave out --calibrator: then it is "
        "cross-validated.",
        OgiveWarning,
        stacklevel=3,
    )
    return "fitted to these very rows"


def event_of_log(
    files: Sequence[Path],
    columns: Columns | None,
    view: str | None,
    calibrator: Path | None,
    *,
    skip_bad: bool = False,
) -> str | None:
    """Return the view that is read from a log; None for saved curves, which have their own."""
    tables = [file for file in files if not is_curve_file(file)]
    if not tables:
        return view
    log = open_log(tables, columns, skip_bad=skip_bad)
    one_column = log.layout.kind == "scores" or log.classes == 1
    gamma = None
    if calibrator is not None:
        check_log(calibrator, log)
        gamma = load_map(calibrator)
    return event_view(log.classes, view, one_column=one_column, calibrator=gamma)


def decide_log(
    files: Sequence[Path],
    reading: Reading,
    calibrator: Path | None,
    **asked: Any,  # noqa: ANN401 - those of `decide`
) -> Decision:
    """Decide for a log that an engine has read once.

    files : where the log is from
    """
    if not reading.curves:
        msg = f"the log has no rows to decide on: {reading.rows:,} were read."
        raise InvalidInput(msg)
    if calibrator is None:
        return decide(reading.curve, **asked)
    found = decide(reading.curve, calibrator=load_map(calibrator), **asked)
    known = load_fitted_on(calibrator)
    same = known.part in {None, "all", reading.part} and any(
        file_checksum(file) in (known.files or ()) for file in expand(files)
    )
    return replace(found, how=_warn(calibrator)) if same else found
