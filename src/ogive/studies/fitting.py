"""Fit a method by name to a view, and apply what was fitted: one way for curves and matrices."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ogive.calibrators import MULTICLASS, Method, find_method
from ogive.calibrators.grouped_map import GroupedMap
from ogive.calibrators.maps import Fitted, Map
from ogive.calibrators.matrix_map import MatrixMap
from ogive.calibrators.multiclass.compose import fit_multiclass
from ogive.curve import Curve
from ogive.errors import InvalidInput, InvalidType, UnknownName
from ogive.predictions import Predictions
from ogive.readers.source import Calibrated
from ogive.views import check_view, score_rows

if TYPE_CHECKING:
    from ogive._typing import AnyArray, BoolArray, FloatArray, Progress
    from ogive.calibrators.impossible import Impossible

#: The name of the view that is no view: whole vectors.
VECTOR = "vector"
TWO_CLASSES = 2
#: What is said of the map of class 1 of two.
MAY_MOVE = "Two classes: the calibrator maps the probability of class 1, so the decision may move."


@dataclass(frozen=True, slots=True)
class Rows:
    """Calibrated rows of a view, in the order of the predictions.

    score : (N,) calibrated probability of the event (of the top class, for whole vectors)
    hit : (N,) the outcomes, or None where they are not known
    vectors : (N, K) calibrated probabilities, from methods that make whole vectors
    prediction : (N,) the most probable class of each vector, by its label
    """

    score: FloatArray
    hit: BoolArray | None
    vectors: FloatArray | None = None
    prediction: AnyArray | None = None


def named(method: str, classes: int | None = None) -> tuple[Method, str]:
    """Return a method, and how it gives whole vectors: ``"spline:free"`` says both.

    Without a way it is "keep", and for two classes "ovr", which is the map of class 1.

    >>> named("spline:free")[1], named("platt")[1], named("platt", classes=2)[1]
    ('free', 'keep', 'ovr')
    """
    name, colon, way = method.partition(":")
    if colon and way not in MULTICLASS:
        raise UnknownName.among("multiclass", way, MULTICLASS)
    return find_method(name), way or ("ovr" if classes == TWO_CLASSES else "keep")


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
    impossible: Impossible = None,
    progress: Progress | None = None,
) -> Fitted:
    """Fit a method to a view of predictions, or to a curve.

    Parameters
    ----------
    data : Predictions or Curve
        Methods that calibrate whole matrices need predictions.
    method : str
        A name of `ogive.calibrators.METHODS`. For whole vectors a name of
        `ogive.calibrators.MULTICLASS` may follow, as in ``"spline:free"``; without, it is "keep",
        and for two classes the map of class 1 ("ovr"), under which the decision may move.
    view : str, optional
        Default: ``"top-1"``, or ``"score"`` for one column. ``"vector"``: whole vectors.
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
    chosen, way = named(method, getattr(data, "K", None))
    if ":" in method and (view != VECTOR or chosen.reads != "curve"):
        msg = f"`method` {method!r} makes whole vectors: use it with view='vector'."
        raise InvalidInput(msg)
    if isinstance(data, Curve):
        if chosen.reads != "curve":
            msg = f"`method` {method!r} calibrates whole matrices: give Predictions, not a Curve."
            raise InvalidInput(msg)
        return chosen.fit(data)
    if not isinstance(data, Predictions):
        msg = f"`data` must be Predictions or a Curve, not {type(data).__name__}."
        raise InvalidType(msg)
    if chosen.reads == "predictions":
        name = VECTOR if view == VECTOR else check_view(view, data).name
        gamma = fit_multiclass(data, chosen.name, impossible=impossible, progress=progress)
        return replace(gamma, view=name)
    if view == VECTOR:
        how: Any = {"impossible": impossible, "progress": progress}
        return fit_multiclass(data, chosen.name, multiclass=way, **how)
    return chosen.fit(Curve.from_predictions(data, view))


def apply(
    fitted: Fitted, preds: Predictions, view: str | None = None, groups: AnyArray | None = None
) -> Rows:
    """Calibrate predictions; return the rows of a view (default: the one it was fitted to).

    A calibrator of groups also needs the group of each row.

    A map of a score leaves the ranking of the classes, and so the hits, as they are. A matrix
    method may change both: its rows are those of the calibrated vectors.
    """
    name = view or fitted.view
    if isinstance(fitted, Map | GroupedMap):
        if name != fitted.view:
            msg = f"the calibrator is of the view {fitted.view!r}, not {name!r}. Fit one for it."
            raise InvalidInput(msg)
        rows = score_rows(preds, fitted.view)
        if isinstance(fitted, Map):
            return Rows(fitted.from_tails(rows.high, rows.tail), rows.hit)
        if groups is None:
            msg = f"the calibrator needs the group of each row ({fitted.by or 'groups'})."
            raise InvalidInput(msg)
        return Rows(fitted.from_tails(rows.high, rows.tail, groups), rows.hit)
    assert isinstance(fitted, MatrixMap)  # noqa: S101 - the only other kind
    vectors = fitted(preds)
    again = Predictions(vectors, preds.labels, kind="probs")
    rows = score_rows(again, {VECTOR: "top-1", "score": "class-1"}.get(name, name))
    return Rows(rows.score, rows.hit, vectors, preds.classes[vectors.argmax(axis=1)])


def calibrated(fitted: Fitted, preds: Predictions, groups: AnyArray | None = None) -> Calibrated:
    """Return what `ogive apply` writes: probabilities of every class, or the score of a view.

    A calibrator of whole vectors gives one column of predictions the score of class 1.
    """
    if preds.one_column and isinstance(fitted, MatrixMap):
        rows = apply(fitted, preds, "score")
        return Calibrated(rows.score, rows.hit)
    rows = apply(fitted, preds, groups=groups)
    if rows.vectors is None:
        return Calibrated(rows.score, rows.hit)
    return Calibrated(rows.vectors, prediction=rows.prediction)
