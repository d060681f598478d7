"""Fit a method by name to a view, and apply what was fitted: one way for curves and matrices."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ogive.calibrators import Method, find_method, vector_method
from ogive.calibrators.grouped_map import GroupedMap
from ogive.calibrators.groups import fit_groups
from ogive.calibrators.maps import Fitted, Map
from ogive.calibrators.matrix_map import MatrixMap
from ogive.calibrators.multiclass.class_view import ClassViewMap, fit_view, reads_classes
from ogive.calibrators.multiclass.compose import fit_multiclass
from ogive.curve import Curve
from ogive.errors import FewClusters, InvalidInput, InvalidType
from ogive.readers.source import Calibrated
from ogive.rows.predictions import Predictions
from ogive.rows.views import check_view, score_rows
from ogive.studies.group_curves import curves_of_cells

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ogive._typing import AnyArray, ArrayLike, BandKind, BoolArray, FloatArray, Progress
    from ogive.calibrators.impossible import Impossible
    from ogive.calibrators.maps import Band

#: The name of whole vectors, where a view could be asked for.
VECTOR = "vector"
TWO_CLASSES = 2
#: A note on the map of class 1 of two.
MAY_MOVE = "Two classes: the calibrator maps the probability of class 1, so the decision may move."

#: A note on the spline of a rank.
READS_COLUMNS = (
    "It reads all columns of a row: the probability of the model's own choices, which stay as they "
    "are. --score-only reads their score alone."
)


@dataclass(frozen=True, slots=True)
class Rows:
    """Calibrated rows of a view, in the order of the predictions.

    score : (N,) calibrated probability of the event (of the top class, for whole vectors)
    hit : (N,) the outcomes, or None where they are not known
    vectors : (N, K) calibrated probabilities, from methods that make whole vectors
    prediction : (N,) the most probable class of each vector, by its label
    tail : (N,) min(score, 1 − score), where 1 − score would round
    """

    score: FloatArray
    hit: BoolArray | None
    vectors: FloatArray | None = None
    prediction: AnyArray | None = None
    tail: FloatArray | None = None


def curve_of(
    rows: Rows,
    preds: Predictions,
    view: str = "score",
    at: Any = None,  # noqa: ANN401 - an index
) -> Curve:
    """Return the curve of calibrated rows, or of some, with weights and clusters of predictions."""
    if rows.hit is None:
        msg = "the predictions have no labels, so that they have no curve. Give labels."
        raise InvalidInput(msg)
    at = slice(None) if at is None else at
    weights, clusters = preds.sample_weight, preds.clusters
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FewClusters)  # the predictions have warned already
        return Curve.from_scores(
            rows.score[at],
            np.asarray(rows.hit)[at],
            sample_weight=None if weights is None else weights[at],
            weight_kind=preds.weight_kind,
            clusters=None if clusters is None else clusters[at],
            view=view,
        )


def with_vectors(preds: Predictions, vectors: FloatArray) -> Predictions:
    """Return the same rows with other probabilities of every class."""
    how: Any = {"sample_weight": preds.sample_weight, "weight_kind": preds.weight_kind}
    return Predictions(vectors, preds.labels, kind="probs", **how)


def default_view(data: Predictions | Curve) -> str | None:
    """Return what `ogive fit` calibrates unless a view is asked for: a matrix as whole vectors.

    >>> default_view(Predictions([[0.2, 0.3, 0.5]], kind="probs"))
    'vector'
    """
    return VECTOR if isinstance(data, Predictions) and not data.one_column else None


def may_move(calibrator: Fitted) -> bool:
    """Return whether a calibrator of two classes is the map of class 1, which moves decisions."""
    return calibrator.method == "ovr" and getattr(calibrator, "K", None) == TWO_CLASSES


def fit(
    data: Predictions | Curve,
    method: str = "spline",
    view: str | None = None,
    *,
    score_only: bool = False,
    groups: ArrayLike | Mapping[str, ArrayLike] | None = None,
    impossible: Impossible = None,
    progress: Progress | None = None,
) -> Fitted:
    """Fit a method to a view of predictions, or to a curve.

    The spline of ``top-r`` and ``within-top-r`` of a matrix reads all columns
    (`ogive.calibrators.multiclass.class_view`); other methods of curves read the view's score.

    Parameters
    ----------
    data : Predictions or Curve
        Methods that calibrate whole matrices need predictions.
    method : str
        A name of `ogive.calibrators.METHODS`, and its options, as in ``"paper-spline:knots=14"``.
        For whole vectors a name of `ogive.calibrators.MULTICLASS` may follow, as in
        ``"spline:free"``; without, it is "keep", and for two classes the map of class 1 ("ovr"),
        under which the decision may move. ``"spline:score-only"`` is the spline with `score_only`.
    view : str, optional
        Default: ``"top-1"``, or ``"score"`` for one column. ``"vector"``: whole vectors.
    score_only : bool
        The spline, too, reads the view's score alone.
    groups : array-like (N,) or (N, k), table or mapping of columns, optional
        The group of each row of `data`, such as ``{"country": country}``: the default method is
        then fitted to groups, as `fit_groups` does, and the result is called with groups.
    impossible : {None, "zero"}
        With "zero", a given probability of 0 stays 0 in whole vectors, as a logit of −inf does.
    progress : function of (what, done, total), optional
        Called by methods that take long.

    Examples
    --------
    >>> from ogive import Curve
    >>> curve = Curve.from_scores([0.1, 0.4, 0.6, 0.9] * 9, [0, 1, 0, 1] * 9)
    >>> fit(curve, "platt").method
    'platt'
    """
    if groups is not None:
        return fit_in_groups(data, groups, method, view)
    chosen = method_for(method, view)
    score_only = score_only or chosen.score_only
    if score_only and view == VECTOR:
        msg = (
            "`score_only` (--score-only) is for a view, and whole vectors have a score for each "
            "class. Name the view, such as top-1 (--view top-1)."
        )
        raise InvalidInput(msg)
    if isinstance(data, Curve):
        if chosen.reads != "curve":
            msg = f"`method` {method!r} calibrates whole matrices: give Predictions, not a Curve."
            raise InvalidInput(msg)
        return chosen.fit(data)
    if not isinstance(data, Predictions):
        msg = f"`data` must be Predictions or a Curve, not {type(data).__name__}."
        raise InvalidType(msg)
    how: Any = {"impossible": impossible, "progress": progress}
    if chosen.reads == "predictions":
        name = VECTOR if view == VECTOR else check_view(view, data).name
        return replace(fit_multiclass(data, method, **how), view=name)
    if view == VECTOR:
        return fit_multiclass(data, method, multiclass=usual_way(data.K), **how)
    if chosen.name == "spline" and not score_only:
        return fit_view(data, view, progress=progress)
    return chosen.fit(Curve.from_predictions(data, view))


def usual_way(classes: int) -> str:
    """Return how curves become whole vectors unless it is said: of two classes by class 1's map."""
    return "ovr" if classes == TWO_CLASSES else "keep"


def method_for(method: str, view: str | None) -> Method:
    """Return a method by its name; a way that the view does not have is refused.

    >>> method_for("spline:free", "vector").way.name, method_for("platt", None).way
    ('free', None)
    """
    return vector_method(method) if view == VECTOR else find_method(method)


def reads_all_columns(
    preds: Predictions, method: str, view: str | None, *, score_only: bool = False
) -> bool:
    """Return whether `fit` gives a method of one view all columns of a matrix.

    >>> preds = Predictions([[0.2, 0.3, 0.5]], kind="probs")
    >>> [reads_all_columns(preds, "spline", view) for view in ("top-1", "class-0", "vector")]
    [True, False, False]
    """
    if method != "spline" or score_only or view == VECTOR:
        return False
    return reads_classes(preds, check_view(view, preds))


def fit_in_groups(
    data: Predictions | Curve,
    groups: ArrayLike | Mapping[str, ArrayLike],
    method: str = "spline",
    view: str | None = None,
) -> GroupedMap:
    """Fit the default method to groups of predictions: `ogive.fit_groups`, from rows."""
    if not isinstance(data, Predictions):
        msg = "`groups` are of rows: give Predictions. Of curves, use ogive.fit_groups."
        raise InvalidType(msg)
    if method != "spline":
        msg = f"`groups` are calibrated by the method 'spline', not {method!r}. Leave `method` out."
        raise InvalidInput(msg)
    if view == VECTOR:
        msg = "`groups` are calibrated in one view: give one, such as view='top-1'."
        raise InvalidInput(msg)
    by, curves = curves_of_cells(data, groups, view)
    return fit_groups(curves, by)


def apply(
    fitted: Fitted, preds: Predictions, view: str | None = None, groups: AnyArray | None = None
) -> Rows:
    """Calibrate predictions; return the rows of a view (default: the one it was fitted to).

    A calibrator of groups also needs the group of each row.

    A map of a score leaves the ranking of the classes, and so the hits, as they are. A matrix
    method may change both: its rows are those of the calibrated vectors.
    """
    name = view or fitted.view
    if isinstance(fitted, Map | GroupedMap | ClassViewMap) and name != fitted.view:
        msg = f"the calibrator is of the view {fitted.view!r}, not {name!r}. Fit one for it."
        raise InvalidInput(msg)
    if isinstance(fitted, Map | GroupedMap):
        rows = score_rows(preds, fitted.view)
        if isinstance(fitted, Map):
            as_is = rows.tail if fitted.method == "none" else None
            return Rows(fitted.from_tails(rows.high, rows.tail), rows.hit, tail=as_is)
        if groups is None:
            msg = f"the calibrator needs the group of each row ({fitted.by or 'groups'})."
            raise InvalidInput(msg)
        return Rows(fitted.from_tails(rows.high, rows.tail, groups), rows.hit)
    if isinstance(fitted, ClassViewMap):
        return Rows(fitted(preds), score_rows(preds, fitted.view).hit)
    assert isinstance(fitted, MatrixMap)  # noqa: S101 - the only other kind
    vectors = fitted(preds)
    again = Predictions(vectors, preds.labels, kind="probs")
    rows = score_rows(again, {VECTOR: "top-1", "score": "class-1"}.get(name, name))
    return Rows(rows.score, rows.hit, vectors, preds.classes[vectors.argmax(axis=1)])


def calibrated(
    fitted: Fitted,
    preds: Predictions,
    groups: AnyArray | None = None,
    band: BandKind | None = None,
) -> Calibrated:
    """Return what `ogive apply` writes: probabilities of every class, or the score of a view.

    A calibrator of whole vectors gives one column of predictions the score of class 1. The band is
    that of the score; of whole vectors that of the most probable class.
    """
    ends = None
    if band is not None:
        fitted.check_band(simultaneous=band == "simultaneous")
        ends = _band(fitted, preds, groups, simultaneous=band == "simultaneous")
    if preds.one_column and isinstance(fitted, MatrixMap):
        rows = apply(fitted, preds, "score")
        return Calibrated(rows.score, rows.hit, band=ends)
    rows = apply(fitted, preds, groups=groups)
    if rows.vectors is None:
        return Calibrated(rows.score, rows.hit, band=ends)
    return Calibrated(rows.vectors, prediction=rows.prediction, band=ends)


def _band(
    fitted: Fitted, preds: Predictions, groups: AnyArray | None, *, simultaneous: bool
) -> Band:
    """Return the ends of the band of what is written as the score."""
    if isinstance(fitted, Map | ClassViewMap):
        return fitted.interval(preds, simultaneous=simultaneous)
    if isinstance(fitted, MatrixMap):
        of = 1 if preds.one_column else None
        return fitted.interval(preds, of=of, simultaneous=simultaneous)
    assert isinstance(fitted, GroupedMap)  # noqa: S101 - the only other kind
    assert groups is not None  # noqa: S101 - the caller has those of the calibrator
    rows = score_rows(preds, fitted.view)
    return fitted.band_from_tails(rows.high, rows.tail, groups)
