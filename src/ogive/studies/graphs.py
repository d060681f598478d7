"""Graphs by name: the diagrams that `ogive plot` draws and the report shows."""

from __future__ import annotations

from math import log
from typing import TYPE_CHECKING

import numpy as np

from ogive._numerics.mean_interval import LEVEL
from ogive.curve import Curve
from ogive.diagrams import (
    BeforeAfter,
    BinnedReliability,
    ClassHeat,
    CostLines,
    CumulativeDifference,
    DecisionCurve,
    Differences,
    FourPanel,
    GroupErrors,
    Ranks,
    Reliability,
    Timeline,
)
from ogive.errors import InvalidInput, UnknownName
from ogive.metrics.decisions import check_two_outcomes
from ogive.studies import CURVE_GRAPHS, DECISION_GRAPHS, GRAPHS, NEED_CAL
from ogive.studies.compare import compare
from ogive.studies.fitting import TWO_CLASSES, apply, curve_of, fit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ogive._typing import FloatArray
    from ogive.diagrams import Diagram
    from ogive.rows.predictions import Predictions
    from ogive.studies.compare import Comparison
    from ogive.studies.group_measurement import GroupMeasurements
    from ogive.studies.watch import GroupWatch, Watch

#: Groups that one graph has room for.
MAX_GROUPS_DRAWN = 30


def diagrams_of(
    graph: str,
    test: Predictions,
    cal: Predictions | None = None,
    *,
    view: str | None = None,
    method: str = "spline",
) -> list[Diagram]:
    """Return the diagrams of a graph.

    Parameters
    ----------
    graph : str
        A name of `ogive.studies.GRAPHS`.
    test : Predictions
        The rows that are shown.
    cal : Predictions, optional
        Rows to fit a calibrator on; "before-after" and "methods" need them.
    view, method : str, optional
    """
    if graph not in GRAPHS:
        raise UnknownName.among("graph", graph, GRAPHS)
    if graph == "groups":
        msg = "the graph 'groups' needs groups: give ogive.measure_groups(...) to group_diagram."
        raise InvalidInput(msg)
    if graph in NEED_CAL and cal is None:
        msg = f"the graph {graph!r} needs rows to fit on: a cal part, or --split 0.5."
        raise InvalidInput(msg)
    if graph == "classes":
        return [ClassHeat.from_predictions(test)]
    if graph in DECISION_GRAPHS:
        return [_of_decisions(graph, test, cal, view, method)]
    curve = Curve.from_predictions(test, view)
    if graph in CURVE_GRAPHS or cal is None:
        return [_as_it_is(graph, curve, method)]
    if graph == "methods":
        return list(method_diagrams(compare(cal, test, None, view)))
    return _calibrated(graph, curve, cal, test, method)


def _of_decisions(
    graph: str, test: Predictions, cal: Predictions | None, view: str | None, method: str
) -> Diagram:
    """Return a graph of decisions: of two classes, on class 1 unless a view is asked for."""
    if view is None and not test.one_column and test.K == TWO_CLASSES:
        view = "class-1"
    curve = Curve.from_predictions(test, view)
    check_two_outcomes(curve)
    after = None if cal is None else calibrated_curves(cal, test, curve.view, method)[1]
    kind = DecisionCurve if graph == "decision" else CostLines
    return kind.from_curves(curve, after, in_sample=test.fitted_rows)


def _as_it_is(graph: str, curve: Curve, method: str) -> Diagram:
    """Return a graph of one curve."""
    if graph == "difference":
        return CumulativeDifference.from_curve(curve)
    if graph == "reliability":
        return Reliability.from_curve(curve, method)
    if graph == "bins":
        return BinnedReliability.from_curve(curve)
    return FourPanel.from_curve(curve, method=method, label="as it is")


def _calibrated(
    graph: str, curve: Curve, cal: Predictions, test: Predictions, method: str
) -> list[Diagram]:
    inside, outside, n = calibrated_curves(cal, test, curve.view, method)
    if graph == "before-after":
        before = CumulativeDifference.from_curve(curve, label="before")
        after = CumulativeDifference.from_curve(outside, label="after", fitted_on=n)
        lines = (Reliability.from_curve(curve, method), Reliability.from_curve(outside, method))
        return [BeforeAfter(before, after, lines)]
    return [
        FourPanel.from_curve(curve, method=method, label="as it is, test part"),
        *calibrated_panels(inside, outside, n, method),
    ]


def calibrated_curves(
    cal: Predictions, test: Predictions, view: str, method: str, *, score_only: bool = False
) -> tuple[Curve, Curve, float]:
    """Fit on the cal part; return both parts' calibrated curves, and how many rows were fitted."""
    gamma = fit(cal, method, view, score_only=score_only)
    inside, outside = (curve_of(apply(gamma, preds), preds, view) for preds in (cal, test))
    return inside, outside, gamma.n


def calibrated_panels(inside: Curve, outside: Curve, n: float, method: str) -> Sequence[FourPanel]:
    """Return the panels of the calibrated cal and test parts."""
    return [
        FourPanel.from_curve(
            inside, method=method, label="calibrated, cal part (fitted here)", in_sample=True
        ),
        FourPanel.from_curve(outside, method=method, label="calibrated, test part", fitted_on=n),
    ]


def group_diagram(found: GroupMeasurements) -> GroupErrors:
    """Return the errors of groups, sorted by the lower end of their intervals, then by KS."""
    order = sorted(found.groups, key=lambda one: (-one.ks_low, -one.ks, one.group))
    shown = order[:MAX_GROUPS_DRAWN]
    columns = ("ks", "ks_low", "ks_high", "detectable")
    ks, low, high, least = (np.array([getattr(g, c) for g in shown]) for c in columns)
    off = np.array([one.pvalue_adjusted <= LEVEL for one in shown])
    names = tuple(one.group for one in shown)
    return GroupErrors(found.by, names, ks, low, high, least, off, len(order) - len(shown))


def method_diagrams(comparison: Comparison) -> tuple[Differences, Ranks]:
    """Return how far each method is from the best, and their ranks by three measures."""
    rows = comparison.methods
    names = tuple(row.method for row in rows)
    loss = np.array([row.nll_diff for row in rows])
    error = np.array([row.nll_diff_se for row in rows])
    values = {
        label: [getattr(row, key) for row in rows]
        for label, key in (("KS", "ks"), ("log loss", "nll"), ("Brier", "brier"))
    }
    return Differences(names, loss, error), Ranks.from_values(names, values)


def timeline_of(watch: Watch | GroupWatch) -> Timeline:
    """Return what a watch saw, day by day."""
    days = watch.days
    if not days:
        msg = "the watch has no days yet: there is nothing to draw."
        raise InvalidInput(msg)
    place = {day.time: i for i, day in enumerate(days)}
    change, first = watch.change, watch.alarm_day

    def of(key: str) -> FloatArray:
        return np.array([getattr(day, key) for day in days], dtype=np.float64)

    return Timeline(
        times=tuple(str(day.time) for day in days),
        evidence=of("log_e"),
        limit=-log(watch.alpha),
        ks=of("ks"),
        ks_low=of("ks_low"),
        ks_high=of("ks_high"),
        base_rate=of("base_rate"),
        mean_score=of("mean_score"),
        change=None
        if change is None
        else (place[change.since], place[change.since_low], place[change.since_high]),
        alarm=None if first is None else place[first.time],
    )
