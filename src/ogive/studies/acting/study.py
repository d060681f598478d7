"""Decide when to act: the call for arrays, predictions and curves."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from ogive._numerics.jackknife import jackknife_variance
from ogive.calibrators.grouped_map import GroupedMap
from ogive.calibrators.maps import Fitted, Map
from ogive.calibrators.matrix_map import MatrixMap
from ogive.calibrators.multiclass.class_view import ClassViewMap
from ogive.calibrators.multiclass.ovr import OvrMap
from ogive.curve import Curve
from ogive.errors import DoesNotApply, InvalidInput, InvalidType, NotEnoughData, OgiveWarning
from ogive.metrics.decisions import check_costs, check_two_outcomes
from ogive.metrics.shared_draws import warn_if_few_decide
from ogive.rows.check import as_number
from ogive.rows.predictions import labelled
from ogive.rows.views import check_view
from ogive.studies.acting.actions import as_costs, judge_actions, mean_cost
from ogive.studies.acting.events import Costs, by_folds, by_map, by_rows, judge
from ogive.studies.fitted_on import FOLDS, cross_fitted, method_of
from ogive.studies.fitting import TWO_CLASSES, VECTOR, apply, may_move
from ogive.studies.plain import as_data

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ogive._typing import AnyArray, ArrayLike, FloatArray, Kind, Progress, WeightKind
    from ogive.rows.predictions import Predictions
    from ogive.studies.acting.decision import Decision
    from ogive.studies.fitting import Rows

_MIN_FOLDS = 2
#: With fewer rows of the rarer outcome, cross-validated costs are too high: see `judge`.
MIN_OF_EACH_OUTCOME = 10
_GIVEN = "on rows that it was not fitted to"


def decide(
    data: Predictions | Curve | ArrayLike,
    outcomes: ArrayLike | None = None,
    *,
    miss: float | None = None,
    alarm: float | None = None,
    costs: ArrayLike | None = None,
    actions: Sequence[str] | None = None,
    capacity: float | None = None,
    precision: float | None = None,
    calibrator: Fitted | None = None,
    method: str = "spline",
    view: str | None = None,
    kind: Kind | None = None,
    classes: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    weight_kind: WeightKind = "repetition",
    clusters: ArrayLike | None = None,
    groups: AnyArray | None = None,
    cv: int = FOLDS,
    random_state: int = 0,
    progress: Progress | None = None,
) -> Decision:
    """Find the threshold for given costs, and what acting costs before and after calibration.

    Before, the scores are acted on as if they were calibrated: where they are at least
    alarm / (miss + alarm). After, calibrated scores are, at the same threshold. The costs after
    are those of new rows: without a calibrator, each row is calibrated by one that was fitted to
    other rows (cross-validation).

    Parameters
    ----------
    data, outcomes, kind, classes, sample_weight, weight_kind, clusters
        Scores and their outcomes, a matrix and its labels, Predictions or a Curve, as in `measure`.
    miss, alarm : float
        Costs of an outcome 1 that is not acted on, and of an outcome 0 that is.
    costs : array-like, (A, K)
        Instead of `miss` and `alarm`: what each action costs for each class.
    actions : sequence of A str, optional
        Names of the actions.
    capacity : float, optional
        At most so many of the rows can be acted on.
    precision : float, optional
        At least this share of the rows that are acted on should have outcome 1.
    calibrator : fitted map or calibrator, optional
        Fitted to other rows. Default: `method`, cross-validated.
    groups : array-like (N,) or (N, k), or table of columns, optional
        The group of each row, for a calibrator of groups.
    method, cv, random_state
        What is fitted, in how many folds, and the randomness that deals the rows to them.
    view : str, optional
        The event, such as ``"class-2"``. Default: class 1 of two.
    progress : function of (what, done, total), optional

    Examples
    --------
    >>> import ogive
    >>> rng = np.random.default_rng(0)
    >>> truth = rng.uniform(size=4000) ** 3
    >>> found = ogive.decide(truth**0.5, rng.uniform(size=4000) < truth, miss=5, alarm=1)
    >>> round(found.threshold, 4), found.saved > 0, found.low < found.saved < found.high
    (0.1667, True, True)
    """
    rows: Any = {"sample_weight": sample_weight, "weight_kind": weight_kind, "clusters": clusters}
    given = as_data(data, outcomes, kind, classes, **rows)
    if not isinstance(cv, int) or cv < _MIN_FOLDS:
        msg = f"`cv` must be a whole number >= {_MIN_FOLDS}, not {cv!r}."
        raise InvalidInput(msg)
    _check_calibrator(calibrator, groups)
    if costs is not None:
        alone = {"miss": miss, "alarm": alarm, "capacity": capacity, "precision": precision}
        _refuse_with_costs(alone | {"view": view})
        return _decide_actions(given, costs, actions, calibrator, method, cv, progress)
    if miss is None or alarm is None:
        msg = (
            "`miss` and `alarm`, the costs of a missed case and of a false alarm, are both needed "
            "(--miss 20 --alarm 1); or a matrix of costs (costs=, --costs FILE)."
        )
        raise InvalidInput(msg)
    asked = Costs(*check_costs(miss, alarm), capacity, precision)
    return _decide_event(given, asked, view, calibrator, groups, method, cv, random_state)


def _check_folds(data: Predictions | Curve, cv: int) -> None:
    """Refuse more folds than rows, which would be fitted one by one."""
    count = data.count if isinstance(data, Curve) else data.row_weights
    if cv > max(count.size, float(count.sum())):
        msg = f"{data.n:,g} rows are too few for {cv} folds. Give more rows, or a calibrator."
        raise NotEnoughData(msg)


def _check_calibrator(calibrator: object, groups: object) -> None:
    if calibrator is not None and not isinstance(calibrator, Fitted):
        msg = f"`calibrator` must be a fitted calibrator, not {type(calibrator).__name__}."
        raise InvalidType(msg)
    if groups is not None and not isinstance(calibrator, GroupedMap):
        msg = "`groups` are for a calibrator of groups (calibrator=). Leave them out."
        raise DoesNotApply(msg)


def _refuse_with_costs(alone: dict[str, Any]) -> None:
    for name, value in alone.items():
        if value is not None:
            msg = f"`{name}` does not go with a matrix of costs, which has all costs. Leave it out."
            raise DoesNotApply(msg)


def _check_limits(costs: Costs, n: float) -> None:
    """Refuse limits that no threshold or every threshold keeps."""
    capacity, precision = costs.capacity, costs.precision
    if capacity is not None and not min(n, 1.0) <= as_number(capacity, "capacity") <= n:
        share = f" For that share of them give {capacity * n:,.0f}." if 0.0 < capacity < 1.0 else ""
        msg = (
            f"`capacity` must be at least 1 and at most the number of rows, {n:,g}, not "
            f"{capacity:g}: it is how many of these rows can be acted on.{share}"
        )
        raise InvalidInput(msg)
    if precision is not None and not 0.0 < as_number(precision, "precision") <= 1.0:
        msg = f"`precision` must be a share above 0 and at most 1, not {precision:g}."
        raise InvalidInput(msg)


def event_view(
    classes: int, view: str | None, *, one_column: bool, calibrator: Fitted | None = None
) -> str:
    """Return the event that is acted on: what was asked for, or class 1 of two."""
    if view is None and isinstance(calibrator, Map | ClassViewMap | GroupedMap):
        return calibrator.view
    if view is not None and view != VECTOR:
        return view
    if one_column:
        return "score"
    if classes == TWO_CLASSES:
        return "class-1"
    msg = (
        f"with {classes} classes, say what is acted on: one class (view='class-2', --view "
        "class-2), or give a matrix of what each action costs for each class (costs=, --costs)."
    )
    raise DoesNotApply(msg)


def _decide_event(  # noqa: PLR0917 - internal
    data: Predictions | Curve,
    costs: Costs,
    view: str | None,
    calibrator: Fitted | None,
    groups: AnyArray | None,
    method: str,
    cv: int,
    random_state: int,
) -> Decision:
    """Decide on one event."""
    if isinstance(data, Curve):
        curve, name = data, data.view
        wanted = {view, calibrator.view if isinstance(calibrator, Map) else None} - {None}
        if wanted - {name}:
            msg = f"the curve is of the view {name!r}, and {wanted.pop()!r} was asked for."
            raise DoesNotApply(msg)
    else:
        labelled(data)
        how: Any = {"one_column": data.one_column, "calibrator": calibrator}
        name = check_view(event_view(data.K, view, **how), data).name
        curve = Curve.from_predictions(data, name)
    check_two_outcomes(curve)
    if curve.clusters is not None:
        warn_if_few_decide(curve.clusters)
    _check_limits(costs, float(curve.n))
    if calibrator is None:
        _check_folds(data, cv)
        _warn_of_few(curve)
        rows, final = by_folds(curve, method, cv, random_state)
        return judge(rows, costs, final, name, (method, f"cross-validated ({cv} folds)"))
    words = (method_of(calibrator), _GIVEN)
    if isinstance(calibrator, Map):
        if calibrator.view != name:
            msg = (
                f"the calibrator is of the view {calibrator.view!r}, not {name!r}. Fit one for it."
            )
            raise DoesNotApply(msg)
        return judge(by_map(curve, calibrator), costs, calibrator, name, words)
    if isinstance(data, Curve):
        msg = (
            "a calibrator of whole rows or of groups needs the rows, and a curve or a log has "
            f"scores: give one of the view's score (ogive fit --view {name} --score-only)."
        )
        raise DoesNotApply(msg)
    # Of two classes there is one map, that of class 1.
    one = None
    if isinstance(calibrator, OvrMap) and may_move(calibrator) and name != "class-0":
        one = calibrator.maps[0]
    return judge(by_rows(data, calibrator, name, one, groups), costs, one, name, words)


def _warn_of_few(curve: Curve) -> None:
    """Warn of costs that are cross-validated with a handful of one outcome."""
    few = min(float(curve.total_hits), float(curve.n) - float(curve.total_hits))
    if few < MIN_OF_EACH_OUTCOME:
        warnings.warn(
            f"only {few:g} {'row has' if few == 1 else 'rows have'} the rarer outcome: calibrators "
            "fitted to so few differ widely, and the cost after calibrating tends to be too high. "
            "Give more rows, or a calibrator.",
            OgiveWarning,
            stacklevel=4,
        )


def _decide_actions(  # noqa: PLR0917 - internal
    data: Predictions | Curve,
    costs: ArrayLike,
    actions: Sequence[str] | None,
    calibrator: Fitted | None,
    method: str,
    cv: int,
    progress: Progress | None,
) -> Decision:
    """Decide between actions, by the probabilities of all classes."""
    if isinstance(data, Curve):
        msg = "a matrix of costs needs the probabilities of every class, and a curve has scores."
        raise DoesNotApply(msg)
    labels = labelled(data)
    matrix = as_costs(costs, data.K)
    if np.unique(labels).size < TWO_CLASSES:
        msg = (
            f"all {data.n:,} rows are of one class: costs can be weighed only where several occur."
        )
        raise InvalidInput(msg)
    names = [f"action {a}" for a in range(matrix.shape[0])] if actions is None else list(actions)
    if len(names) != matrix.shape[0]:
        msg = f"`actions` must name the {matrix.shape[0]} rows of `costs`, not {len(names)}."
        raise InvalidInput(msg)
    for a, name in enumerate(names):
        if not str(name).strip() or name in names[:a]:
            what = "has no name" if not str(name).strip() else f"is also called {name!r}"
            msg = f"the action of row {a} of the costs {what}: give each action a name of its own."
            raise InvalidInput(msg)
    if calibrator is not None:
        words = (method_of(calibrator), _GIVEN)
        return judge_actions(data, _vectors(data, calibrator), matrix, names, words)
    _check_folds(data, cv)
    view = "score" if data.one_column else VECTOR
    found: list[float] = []
    rows = cross_fitted(
        data,
        method,
        view,
        cv,
        progress=progress,
        on_each=lambda rows: found.append(mean_cost(data, _all_columns(rows), matrix)),
    )
    if rows is None:
        msg = f"{data.n:,} rows are too few for {cv} folds. Give more rows, or a calibrator."
        raise NotEnoughData(msg)
    words = (method, f"cross-validated ({cv} folds)")
    noise = jackknife_variance(found)
    return judge_actions(data, _all_columns(rows), matrix, names, words, noise=noise)


def _all_columns(rows: Rows) -> FloatArray:
    """Return the probabilities of every class, (N, K)."""
    return _two_columns(rows.score) if rows.vectors is None else rows.vectors


def _vectors(data: Predictions, calibrator: Fitted) -> FloatArray:
    """Return calibrated probabilities of every class, (N, K)."""
    if isinstance(calibrator, MatrixMap):
        return calibrator(data)
    if data.K != TWO_CLASSES or calibrator.view not in {"score", "class-1"}:
        msg = (
            f"the calibrator is of the view {calibrator.view!r}, and a matrix of costs needs the "
            "probabilities of every class: fit one of whole vectors."
        )
        raise DoesNotApply(msg)
    return _two_columns(apply(calibrator, data).score)


def _two_columns(score: FloatArray) -> FloatArray:
    return np.stack([1.0 - score, score], axis=1)
