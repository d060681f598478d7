"""Apply a calibrator to the parts of a file, and write them like it."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

from ogive.calibrators.grouped_map import GroupedMap
from ogive.errors import GuessedLabels, InvalidInput, OgiveWarning
from ogive.export.artifact import load_fitted_on, load_map
from ogive.readers import open_file
from ogive.readers.classes import shown
from ogive.readers.multi_file import write_like
from ogive.studies.apply_mark import origin_of, warn_if_calibrated
from ogive.studies.fitting import calibrated
from ogive.studies.group_fitting import groups_of

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from ogive.calibrators.maps import Fitted
    from ogive.readers.source import Calibrated, Columns, Source, ValueKind


def apply_file(
    calibrator: str | os.PathLike[str],
    file: Path,
    output: Path,
    columns: Columns | None = None,
    *,
    experiment: str | None = None,
    note: Callable[[str], None] | None = None,
) -> tuple[int, Fitted]:
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
    results = calibrated_parts(gamma, source)
    origin = origin_of(calibrator, file, {k: part.values for k, part in source.parts.items()})
    write_like(source, output, results, origin)
    return sum(result.values.shape[0] for result in results.values()), gamma


def calibrated_parts(gamma: Fitted, source: Source) -> dict[str, Calibrated]:
    """Return what is written of each part: of a file, or of some rows of a log."""
    results = {}
    for part in source.parts:
        groups = groups_of(source, part, gamma.by) if isinstance(gamma, GroupedMap) else None
        results[part] = calibrated(gamma, source.predictions(part or None), groups)
    return results


def check_classes(
    calibrator: str | os.PathLike[str], K: int, classes: Sequence[str | int] | None, name: str
) -> None:
    """Refuse a file whose columns are other classes than those a calibrator was fitted on.

    Names in one and numbers in the other may mean the same, in the same order: it warns, unless
    the numbers are those of the columns.
    `classes` are the labels of the file's columns, None where nothing in the file tells them.
    """
    info = load_fitted_on(calibrator)
    if info.classes is None:
        return  # fitted on scores, or by a version that did not say
    if len(info.classes) != K:
        msg = (
            f"{calibrator} was fitted on {len(info.classes)} classes, and {name} has {K}: it is of "
            "another model. Fit a calibrator for it."
        )
        raise InvalidInput(msg)
    if classes is None or tuple(classes) == info.classes:
        return
    if {type(one) for one in classes} != {type(one) for one in info.classes}:
        if tuple(range(K)) not in {tuple(classes), info.classes}:
            warnings.warn(
                f"{calibrator} was fitted on the classes {shown(info.classes)}, and {name} has "
                f"{shown(list(classes))}: taken for the same, in this order. With the same labels "
                "in both files it would be checked.",
                GuessedLabels,
                stacklevel=3,
            )
        return
    msg = (
        f"{calibrator} was fitted on columns of the classes {shown(info.classes)}, in this order, "
        f"but {name} has {shown(list(classes))}. Bring the columns into this order, or say which "
        "label each column has: --classes (classes=[...])."
    )
    raise InvalidInput(msg)


def warn_of_kind(calibrator: str | os.PathLike[str], kind: ValueKind, name: str) -> None:
    """Warn if a calibrator of logits is given scores, as its own results are."""
    if kind == "scores" and load_fitted_on(calibrator).kind == "logits":
        warnings.warn(
            f"{calibrator} was fitted on logits, and {name} holds scores: of another model, or "
            "calibrated already?",
            OgiveWarning,
            stacklevel=3,
        )
