"""Whether a file is of the model that a saved calibrator was fitted to.

Every command that gives a file to a saved calibrator asks here: columns in another order would be
calibrated, counted and decided on as other classes.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

from ogive.errors import GuessedLabels, InvalidInput, OgiveWarning
from ogive.export.artifact import load_fitted_on
from ogive.rows.labels import shown
from ogive.studies.apply_mark import warn_if_calibrated
from ogive.studies.fitting import TWO_CLASSES

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Sequence

    from ogive.engines.files import Log
    from ogive.readers.source import ValueKind
    from ogive.rows.labels import Classes


def check_log(calibrator: str | os.PathLike[str], log: Log) -> None:
    """Refuse a log of other classes; warn of other values, and of what is calibrated already."""
    warn_of_kind(calibrator, log.layout.kind, log.name)
    warn_if_calibrated(log.files[0])
    if log.layout.kind != "scores":
        check_classes(calibrator, max(log.classes, 2), log.layout.labels, log.name)


def class_check(calibrator: str | os.PathLike[str], name: str) -> Callable[[Classes], None]:
    """Return the same check of the columns of a file that fits memory: see `read_together`."""
    return lambda found: check_classes(calibrator, found.labels.size, found.known, name)


def check_classes(
    calibrator: str | os.PathLike[str], K: int, classes: Sequence[str | int] | None, name: str
) -> None:
    """Refuse a file whose columns are other classes than those a calibrator was fitted on.

    A calibrator of named classes needs their names; one of numbers takes named columns in their
    order, with a warning.
    `classes` are the labels of the file's columns, None where nothing in the file tells them.
    """
    info = load_fitted_on(calibrator)
    if info.view == "score" and K > TWO_CLASSES:
        msg = (
            f"{calibrator} was fitted on scores, and {name} has {K} classes: it is of another "
            "model. Give the scores of that model, or fit a calibrator to this file."
        )
        raise InvalidInput(msg)
    if info.classes is None:
        return  # fitted on scores, or by a version that did not say
    if len(info.classes) != K:
        msg = (
            f"{calibrator} was fitted on {len(info.classes)} classes, and {name} has {K}: it is of "
            "another model. Fit a calibrator for it."
        )
        raise InvalidInput(msg)
    named = any(isinstance(one, str) for one in info.classes)
    if classes is None and not named:
        return
    if classes is None:
        msg = (
            f"{calibrator} was fitted on columns of the classes {shown(info.classes)}, and {name} "
            "does not say which column is which class. Say it, in the order of the columns: "
            f"--classes {','.join(map(str, info.classes))} (classes=[...])."
        )
        raise InvalidInput(msg)
    if tuple(classes) == info.classes:
        return
    if not named and any(isinstance(one, str) for one in classes):
        warnings.warn(
            f"{calibrator} was fitted on the classes {shown(info.classes)}, and {name} has "
            f"{shown(list(classes))}: taken for the same, in this order. With the same labels in "
            "both files it would be checked.",
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
