"""Scores of new data without outcomes: of predictions, files and logs."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, NamedTuple

from ogive.curve.ties import squares
from ogive.engines.files import is_log, open_log
from ogive.engines.local import read_log
from ogive.engines.row_sample import sampled_rows
from ogive.errors import InvalidInput, OgiveWarning
from ogive.readers.memory import parse_memory
from ogive.readers.multi_file import read_together
from ogive.readers.provenance import provenance_of_all
from ogive.rows.views import check_view, score_rows
from ogive.studies.apply_mark import warn_if_calibrated
from ogive.studies.fitting import TWO_CLASSES
from ogive.studies.same_model import check_log, class_check

if TYPE_CHECKING:
    from pathlib import Path

    from ogive._typing import BoolArray, FloatArray, Progress
    from ogive.engines.files import Log
    from ogive.readers import Columns
    from ogive.rows.predictions import Predictions

DEFAULT_PART = "test"  # of a file or log with parts: the other one may have fitted a calibrator


class Unlabelled(NamedTuple):
    """Scores as side and tail, with weights and their squares; (m,) each.

    rate_estimated : whether they were calibrated for a base rate that was estimated
    """

    view: str
    high: BoolArray
    tail: FloatArray
    weight: FloatArray
    square: FloatArray
    rate_estimated: bool = False


def unlabelled(
    file: Path,
    columns: Columns,
    view: str | None,
    *,
    why: str | None,
    calibrator: Path | None = None,
    part: str | None = None,
    experiment: str | None = None,
    memory: str | int = "1GB",
    skip_bad: bool = False,
    progress: Progress | None = None,
) -> Unlabelled:
    """Return the scores of a file or a log; a log may be longer than memory, and is read once.

    why : why outcomes are refused, up to the word before the way out; None: they are not read
    calibrator : what the scores are for: a file of another model is refused
    part : of a file or log with parts; by default test
    skip_bad : leave out rows of a log that are not valid, with a warning
    """
    if not is_log(file):
        how: Any = {"experiment": experiment, "part": part, "memory": memory}
        return scored_rows(_rows_of_file(file, columns, why, calibrator, how), view)
    log = _open_log(file, columns, why, calibrator, skip_bad=skip_bad)
    if view is None and log.layout.kind != "scores":
        view = "class-1" if log.classes == TWO_CLASSES else "top-1"
    how = {"memory": memory, "one_pass": True, "unlabelled": True, "progress": progress}
    how |= {"part": part, "default_part": DEFAULT_PART, "weight_kind": columns.weight_kind}
    reading = read_log(file, view, columns=columns, skip_bad=skip_bad, **how)
    _warn_of_skipped(file, reading.skipped)
    _check_rows(file, len(reading.curves))
    curve, origin = reading.curve, provenance_of_all(log.files, part)
    columns_of = (curve.high, curve.tail, curve.count, curve.square)
    return Unlabelled(curve.view, *columns_of, origin is not None and origin.estimated)


def unlabelled_rows(
    file: Path,
    columns: Columns,
    *,
    why: str | None,
    calibrator: Path,
    part: str | None = None,
    experiment: str | None = None,
    memory: str | int = "1GB",
    skip_bad: bool = False,
    progress: Progress | None = None,
) -> Predictions:
    """Return whole rows of a file or a log, which is read once; the parameters are the same.

    Of a log they are a random sample, where there are more than a million or than memory holds.
    """
    if not is_log(file):
        how: Any = {"experiment": experiment, "part": part, "memory": memory}
        return _rows_of_file(file, columns, why, calibrator, how)
    log = _open_log(file, columns, why, calibrator, skip_bad=skip_bad)
    parts: Any = {"part": part, "default_part": DEFAULT_PART, "skip_bad": skip_bad}
    preds, rows, skipped = sampled_rows(log, parse_memory(memory), progress, **parts)
    _warn_of_skipped(file, skipped)
    _check_rows(file, preds.row_weights.sum())
    if preds.n < rows:
        warnings.warn(
            f"{file} has {rows:,} rows: base rates are estimated from a random sample of "
            f"{preds.n:,} of them. The intervals are those of the sample.",
            OgiveWarning,
            stacklevel=2,
        )
    return preds


def _warn_of_skipped(file: Path, skipped: int) -> None:
    if skipped:
        msg = f"rows of {file} that are not valid and were left out: {skipped:,}."
        warnings.warn(msg, OgiveWarning, stacklevel=3)


def _rows_of_file(
    file: Path,
    columns: Columns,
    why: str | None,
    calibrator: Path | None,
    how: dict[str, Any],
) -> Predictions:
    """Return the rows of a file that is no log; `how`: its experiment, part and memory limit."""
    more: Any = how | {"default": DEFAULT_PART}
    if calibrator is not None:
        warn_if_calibrated(file)
        more["of_classes"] = class_check(calibrator, str(file))
    preds = read_together((file,), columns, **more)
    _refuse_outcomes(file, why, found=preds.labels is not None)
    _check_rows(file, preds.row_weights.sum())
    return preds


def _open_log(
    file: Path, columns: Columns, why: str | None, calibrator: Path | None, *, skip_bad: bool
) -> Log:
    log = open_log(file, columns, skip_bad=skip_bad)
    _refuse_outcomes(file, why, found=log.layout.truth is not None)
    if calibrator is not None:
        check_log(calibrator, log)
    return log


def _check_rows(file: Path, rows: float) -> None:
    if not rows > 0:
        msg = f"{file} has no rows, or none with a weight above 0: give a file with scores."
        raise InvalidInput(msg)


def _refuse_outcomes(file: Path, why: str | None, *, found: bool) -> None:
    """Refuse data with outcomes, unless they are not to be read."""
    if found and why is not None:
        rest = "leave the outcomes unread: --ignore-outcomes (ignore_outcomes=True)."
        msg = f"{file} has outcomes, {why} {rest}"
        raise InvalidInput(msg)


def scored_rows(preds: Predictions, view: str | None) -> Unlabelled:
    """Return the scores of predictions; the default view of two classes is class 1."""
    if view is None and preds.K == TWO_CLASSES and not preds.one_column:
        view = "class-1"
    name = check_view(view, preds).name
    scored = score_rows(preds, name)
    count = preds.row_weights
    square = squares(count, preds.weight_kind)
    return Unlabelled(name, scored.high, scored.tail, count, square, preds.rate_estimated)
