"""Any method as full vectors: the function that estimators and commands use."""

from __future__ import annotations

from dataclasses import replace
from inspect import signature
from typing import TYPE_CHECKING, Any

from ogive.calibrators import MULTICLASS, Method, vector_method
from ogive.calibrators.impossible import check_impossible, warn_of_labels
from ogive.calibrators.matrix_map import MatrixMap
from ogive.calibrators.multiclass.free import check_spline
from ogive.errors import UnknownName
from ogive.rows.predictions import check_predictions

if TYPE_CHECKING:
    from ogive._typing import Progress
    from ogive.calibrators.impossible import Impossible
    from ogive.rows.predictions import Predictions


def fit_multiclass(
    preds: Predictions,
    method: str = "spline",
    *,
    multiclass: str = "keep",
    impossible: Impossible = None,
    warn: bool = True,
    n_jobs: int | None = None,
    progress: Progress | None = None,
    **options: Any,  # noqa: ANN401 - whatever the method takes
) -> MatrixMap:
    """Fit any method of the table to predictions, for calibrated probabilities of every class.

    Parameters
    ----------
    preds : Predictions
        With labels.
    method : str
        Methods that read whole predictions are fitted as they are. Options and a way may follow
        the name, as in ``"paper-spline:every-rank:knots=8"``; that way counts, not `multiclass`.
    multiclass : {"keep", "free", "ranks", "ovr", "every-rank"}
        How a method that reads a curve is put together. "keep": the decision stays; for the
        spline by class structure, for other methods by ranks. "free" (spline only): by class
        structure, for the best likelihood, and the decision may change. "ranks": by ranks, the
        decision stays. "ovr": one against the rest. "every-rank": every rank on its own.
        Predictions of one column have a curve of their own, that of class 1, and the decision
        may change.
    impossible : {None, "zero"}
        A logit of −inf keeps probability 0. With "zero", so does a given probability of 0.
    warn : bool
        Whether labels on impossible classes are counted and reported.
    n_jobs : int, optional
    progress : function of (what, done, total), optional
        Called by methods that take long.
    options
        Passed on to the method.

    Examples
    --------
    >>> from ogive import Predictions
    >>> preds = Predictions([0.2, 0.4, 0.6, 0.7], [0, 1, 0, 1], kind="probs")
    >>> fit_multiclass(preds, "none")(preds)[0]
    array([0.8, 0.2])
    """
    check_predictions(preds)
    check_impossible(impossible)
    if warn:
        warn_of_labels(preds, impossible)
    if multiclass not in MULTICLASS:
        raise UnknownName.among("multiclass", multiclass, MULTICLASS)
    found = vector_method(method)
    if found.reads == "predictions":
        gamma = found.fit(preds, **options, **progress_option(found, progress))
    else:
        way = found.way or MULTICLASS[multiclass]
        if way.name == "free":
            check_spline(found.name, way.name)
        elif way.name == "keep" and found.name != "spline":
            way = MULTICLASS["ranks"]
        if preds.one_column:
            way = MULTICLASS["ovr"]
        options = {"n_jobs": n_jobs, **found.asked, **options, **progress_option(way, progress)}
        gamma = way.fit(preds, found.name, **options)
    assert isinstance(gamma, MatrixMap)  # noqa: S101 - what reads predictions gives such a map
    return gamma if impossible is None else replace(gamma, impossible=impossible)


def progress_option(method: Method, progress: Progress | None) -> dict[str, Progress]:
    """Return the callback as an argument for a method that takes one."""
    if progress is None or "progress" not in signature(method.fit).parameters:
        return {}
    return {"progress": progress}


def takes_folds(method: str) -> bool:
    """Return whether a method cross-validates by itself, and takes the folds.

    >>> takes_folds("dir-odir"), takes_folds("temperature")
    (True, False)
    """
    return "cv" in signature(vector_method(method).fit).parameters
