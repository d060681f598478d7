"""Fit a method by name to a view, and apply what was fitted: one way for curves and matrices."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ogive.calibrators import VECTORS, Method, find_method
from ogive.calibrators.maps import Fitted, Map
from ogive.calibrators.matrix.compose import fit_vector, told
from ogive.calibrators.matrix.maps import MatrixMap
from ogive.curve import Curve
from ogive.errors import InvalidInput, InvalidType, UnknownName
from ogive.predictions import Predictions
from ogive.views import check_view, score_rows

if TYPE_CHECKING:
    from ogive._typing import BoolArray, FloatArray, Progress

#: The name of the view that is no view: whole vectors.
VECTOR = "vector"


@dataclass(frozen=True, slots=True)
class Rows:
    """Calibrated rows of a view, in the order of the predictions.

    score : (N,) calibrated probability of the event (of the top class, for whole vectors)
    hit : (N,) whether it came true, or None where that is not known
    vectors : (N, K) calibrated probabilities, from methods that make whole vectors
    """

    score: FloatArray
    hit: BoolArray | None
    vectors: FloatArray | None = None


def named(method: str) -> tuple[Method, str]:
    """Return a method, and how it gives whole vectors: ``"spline:free"`` says both.

    >>> named("spline:free")[1], named("platt")[1]
    ('free', 'keep')
    """
    name, colon, way = method.partition(":")
    if colon and way not in VECTORS:
        raise UnknownName.among("vector", way, VECTORS)
    return find_method(name), way or "keep"


def fit(
    data: Predictions | Curve,
    method: str = "spline",
    view: str | None = None,
    *,
    progress: Progress | None = None,
) -> Fitted:
    """Fit a method to a view of predictions, or to a curve.

    Parameters
    ----------
    data : Predictions or Curve
        Methods that calibrate whole matrices need predictions.
    method : str
        A name of `ogive.calibrators.METHODS`. For whole vectors a name of
        `ogive.calibrators.VECTORS` may follow, as in ``"spline:free"``; without, it is "keep".
    view : str, optional
        Default: ``"top-1"``, or ``"score"`` for one column. ``"vector"``: whole vectors.
    progress : function of (what, done, total), optional
        Called by methods that take long.

    Examples
    --------
    >>> from ogive import Curve
    >>> curve = Curve.from_scores([0.1, 0.4, 0.6, 0.9] * 9, [0, 1, 0, 1] * 9)
    >>> fit(curve, "platt").method
    'platt'
    """
    chosen, way = named(method)
    if ":" in method and (view != VECTOR or chosen.reads != "curve"):
        msg = f"`method` {method!r} is a way to make whole vectors of a curve: view='vector'."
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
        return replace(chosen.fit(data, **told(chosen, progress)), view=name)
    if view == VECTOR:
        return fit_vector(data, chosen.name, vector=way, progress=progress)
    return chosen.fit(Curve.from_predictions(data, view))


def apply(fitted: Fitted, preds: Predictions, view: str | None = None) -> Rows:
    """Calibrate predictions; return the rows of a view (default: the one it was fitted to).

    A map of a score leaves the ranking of the classes, and so the hits, as they are. A matrix
    method may change both: its rows are those of the calibrated vectors.
    """
    name = view or fitted.view
    if isinstance(fitted, Map):
        if name != fitted.view:
            msg = f"the calibrator is of the view {fitted.view!r}, not {name!r}. Fit one for it."
            raise InvalidInput(msg)
        rows = score_rows(preds, fitted.view)
        return Rows(fitted.from_tails(rows.high, rows.tail), rows.hit)
    assert isinstance(fitted, MatrixMap)  # noqa: S101 - the only other kind
    vectors = fitted(preds)
    again = Predictions(vectors, preds.labels, kind="probs")
    rows = score_rows(again, {VECTOR: "top-1", "score": "class-1"}.get(name, name))
    return Rows(rows.score, rows.hit, vectors)
