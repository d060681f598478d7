"""Apply a calibrator to the parts of a file, and write them like it."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ogive.calibrators.grouped_map import GroupedMap
from ogive.curve.ties import squares
from ogive.errors import OgiveWarning
from ogive.export.artifact import load_map
from ogive.readers import open_file
from ogive.readers.multi_file import write_like
from ogive.rows.views import score_rows
from ogive.studies.apply_mark import origin_of, warn_if_calibrated
from ogive.studies.fitting import calibrated
from ogive.studies.group_fitting import groups_of
from ogive.studies.group_harm import Harm, warn_of_worse
from ogive.studies.same_model import check_classes, warn_of_kind

if TYPE_CHECKING:
    import os
    from collections.abc import Callable
    from pathlib import Path

    from ogive._typing import BandKind, FloatArray
    from ogive.calibrators.maps import Fitted
    from ogive.readers.source import Calibrated, Columns, Source
    from ogive.rows.predictions import Predictions
    from ogive.studies.group_harm import Worse


def apply_file(
    calibrator: str | os.PathLike[str],
    file: Path,
    output: Path,
    columns: Columns | None = None,
    *,
    experiment: str | None = None,
    check_by: str | None = None,
    band: BandKind | None = None,
    note: Callable[[str], None] | None = None,
) -> AppliedFile:
    """Calibrate a file that fits memory; return how many rows it has, and the calibrator.

    Parameters
    ----------
    calibrator : path
        A saved calibrator.
    file, output : Path
        The same kind of file.
    columns : Columns, optional
    experiment : str, optional
        Which one of an .h5 file.
    check_by : str, optional
        Columns that name groups: warn of those that calibrating makes worse, where there are
        outcomes. Default: the groups of the calibrator, if it has some.
    band : {"pointwise", "simultaneous"}, optional
        Also write the ends of the 95 % band of the score, as ``low`` and ``high``.
    note : function of a line, optional
        Is given which label is which column, where the file or `columns` say so.
    """
    gamma = load_map(calibrator)
    source = open_file(file, columns, experiment=experiment)
    warn_of_kind(calibrator, source.kind, str(file))
    warn_if_calibrated(file)
    mapping = source.mapping
    if mapping is not None:
        if mapping.how in {"by name", "as given"} and note is not None:
            note(mapping.words)
        check_classes(calibrator, mapping.classes.size, mapping.known, str(file))
    harm = Harm()
    results = calibrated_parts(gamma, source, check_by, harm, band)
    origin = origin_of(calibrator, file, {k: part.values for k, part in source.parts.items()})
    write_like(source, output, results, origin)
    worse = warn_of_harm(harm, check_by, by_group=isinstance(gamma, GroupedMap))
    return AppliedFile(sum(one.values.shape[0] for one in results.values()), gamma, worse)


class AppliedFile(NamedTuple):
    """How many rows were calibrated, by what, and which groups it made worse, if that is known."""

    n: int
    gamma: Fitted
    worse: tuple[Worse, ...] | None


def warn_of_harm(harm: Harm, check_by: str | None, *, by_group: bool) -> tuple[Worse, ...] | None:
    """Warn of groups that are worse off, and return them; None where nothing is known of groups."""
    if not harm.sums:
        if check_by is not None:
            msg = f"there are no outcomes, so that no group of {check_by} can be judged."
            warnings.warn(msg, OgiveWarning, stacklevel=3)
        return None
    worse = harm.worse()
    warn_of_worse(worse, "the rows that were calibrated", by_group=by_group)
    return worse


def calibrated_parts(
    gamma: Fitted,
    source: Source,
    check_by: str | None,
    harm: Harm,
    band: BandKind | None = None,
) -> dict[str, Calibrated]:
    """Return what is written of each part: of a file, or of some rows of a log.

    What it does to the groups of columns is added to `harm`, where there are outcomes.
    """
    results = {}
    for part in source.parts:
        own = groups_of(source, part, gamma.by) if isinstance(gamma, GroupedMap) else None
        preds = source.predictions(part or None)
        results[part] = calibrated(gamma, preds, own, band)
        judged = own if check_by is None else groups_of(source, part, check_by)
        if judged is not None and preds.labels is not None:
            before, after = _of_outcomes(gamma, preds, results[part])
            weights = preds.row_weights
            square = squares(weights, preds.weight_kind)
            harm.add(judged, before, after, weights, square)
    return results


def _of_outcomes(
    gamma: Fitted, preds: Predictions, result: Calibrated
) -> tuple[FloatArray, FloatArray]:
    """Return the probability of each outcome before and after calibrating, (N,) each."""
    if result.is_matrix:
        rows, labels = np.arange(preds.n), preds.labels
        return preds.probabilities()[rows, labels], result.values[rows, labels]
    rows_ = score_rows(preds, "score" if preds.one_column else gamma.view)
    hit = np.asarray(rows_.hit, dtype=np.bool_)
    return np.where(hit, rows_.score, 1.0 - rows_.score), np.where(
        hit, result.values, 1.0 - result.values
    )
