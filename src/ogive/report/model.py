"""The report's contents: numbers and graphs, gathered; no markup."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from ogive import __version__
from ogive.calibrators import METHODS, find_method
from ogive.curve import Curve
from ogive.diagrams import (
    BeforeAfter,
    BinnedReliability,
    ClassHeat,
    CumulativeDifference,
    FourPanel,
    Reliability,
)
from ogive.errors import InvalidInput
from ogive.metrics.vector import vector_scores
from ogive.report.contents import (
    Number,
    class_rows,
    class_words,
    commands,
    how_it_was_computed,
    key_numbers,
    more_numbers,
    vector_number,
    view_rows,
)
from ogive.report.graphs import (
    Graph,
    decision_graphs,
    four_graphs,
    map_graphs,
    method_graphs,
    one_graph,
)
from ogive.report.groups import group_section
from ogive.report.headline import Headline, headline
from ogive.studies.compare import compare
from ogive.studies.fitting import SCORE_ONLY, VECTOR, apply, fit, reads_all_columns
from ogive.studies.graphs import calibrated_curves, calibrated_panels
from ogive.studies.measure import measure
from ogive.views import check_view

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import date

    from ogive._typing import Progress
    from ogive.predictions import Predictions
    from ogive.report.graphs import Table
    from ogive.report.groups import GroupSection
    from ogive.studies.compare import Comparison
    from ogive.studies.compare_groups import GroupsOf
    from ogive.studies.measurement import Measurement
    from ogive.studies.verdict import Verdict

_STEPS = 5
_MIN_NUMBERS_FOR_SLOW_FITS = (
    5_000_000  # numbers in a matrix from which fits of whole vectors take minutes
)


@dataclass(frozen=True, slots=True)
class AfterCalibration:
    """What a calibrator did to the test part; None of it was fitted there.

    n : rows of the fit; curve : of the calibrated rows; nll_vector : log loss of whole vectors;
    allowed : the KS error that the noise of the fit explains; graph : before and after; left_out :
    methods that were not compared
    """

    method: str
    n: float
    curve: Curve
    after: Measurement
    nll_vector: float | None
    allowed: float
    graph: Graph
    panels: tuple[Graph, ...]
    comparison: Comparison
    left_out: tuple[str, ...]
    comparison_graphs: tuple[Graph, ...]


@dataclass(frozen=True, slots=True)
class Report:
    """All that the page says."""

    source: str
    made: str
    version: str
    view: str
    before: Measurement
    calibrated: AfterCalibration | None
    verdict: Headline
    numbers: tuple[Number, ...]
    more_numbers: Table
    graphs: tuple[Graph, ...]
    panels: tuple[Graph, ...]
    decisions: tuple[Graph, ...]
    views: Table | None
    class_graph: Graph | None
    class_table: Table | None
    class_words: str
    groups: GroupSection | None
    commands: tuple[tuple[str, str], ...]
    how: tuple[str, ...]


def build_report(
    test: Predictions,
    cal: Predictions | None = None,
    *,
    view: str | None = None,
    method: str | None = None,
    methods: Sequence[str] | None = None,
    score_only: bool = False,
    groups: GroupsOf | None = None,
    source: str = "predictions",
    today: date | None = None,
    progress: Progress | None = None,
) -> Report:
    """Measure, calibrate and compare; gather what the report shows.

    Parameters
    ----------
    test : Predictions
        Labelled rows to measure.
    cal : Predictions, optional
        Labelled rows to fit on. Without them nothing is calibrated, and the report says so.
    view : str, optional
        Default: ``"top-1"``, or ``"score"`` for one column.
    method : str, optional
        What is fitted and shown. Default: the method that the comparison recommends.
    methods : sequence of str, optional
        What to compare. Default: all that are not slow.
    score_only : bool
        The spline of a rank of a matrix reads the view's score alone, and not all columns.
    groups : GroupsOf, optional
        The groups of the rows: the page has a section on them, with a calibrator of groups.
    source : str
        Where the predictions came from: the file's name.
    today : date, optional
    progress : function of (what, done, total), optional
    """
    name = check_view(view, test).name
    if method is not None and find_method(method).reads != "curve":
        msg = (
            f"`method` {method!r} calibrates whole matrices, and the report shows one view. "
            "Give a method that reads a curve; this one can be among those compared."
        )
        raise InvalidInput(msg)
    step = progress or (lambda what, done, total: None)  # noqa: ARG005
    step("measuring", 0, _STEPS)
    curve = Curve.from_predictions(test, name)
    before = measure(
        test, None if view is None else check_view(view, test), more=True, decide=cal is None
    )
    step("calibrating", 1, _STEPS)
    calibrated = (
        None
        if cal is None
        else _calibrated(
            cal,
            test,
            view,
            method=method,
            methods=methods,
            score_only=score_only,
            curve=curve,
            step=step,
        )
    )
    step("measuring every class", 4, _STEPS)
    # Rows that fitted the calibrator have no fair tests.
    tested = not (test.one_column or test.fitted_rows)
    heat = ClassHeat.from_predictions(test) if tested else None
    after = None if calibrated is None else calibrated.after
    shown = calibrated.method if calibrated else method or "spline"
    drawn, told = curve_method(shown), headline(before, calibrated)
    reliability = Reliability.from_curve(curve, drawn)
    step("done", _STEPS, _STEPS)
    return Report(
        source=source,
        made=(today or datetime.now(tz=UTC).date()).isoformat(),
        version=__version__,
        view=name,
        before=before,
        calibrated=calibrated,
        verdict=told,
        numbers=key_numbers(curve, before, after)
        + vector_number(test, None if calibrated is None else calibrated.nll_vector),
        more_numbers=more_numbers(before, after),
        graphs=map_graphs(
            CumulativeDifference.from_curve(curve, in_sample=test.fitted_rows),
            reliability,
            BinnedReliability.from_curve(curve),
        ),
        panels=four_graphs(
            "panels",
            [
                FourPanel.from_curve(
                    curve, method=drawn, label="as it is, test part", in_sample=test.fitted_rows
                )
            ],
        ),
        decisions=decision_graphs(
            curve, None if calibrated is None else calibrated.curve, in_sample=test.fitted_rows
        ),
        views=None if test.one_column else view_rows(test),
        class_graph=None if heat is None else one_graph("classes", "Signed KS of each class", heat),
        class_table=None if heat is None else class_rows(heat),
        class_words="" if heat is None else class_words(heat),
        groups=None if groups is None else group_section(groups, cal, test, name),
        commands=commands(
            source,
            name if score_only and view is None else view,
            shown,
            has_cal=cal is not None,
            calibrate=told.decision.calibrate is True,
            score_only=score_only,
        ),
        how=how_it_was_computed(before, calibrated),
    )


def curve_method(method: str) -> str:
    """Return the method that draws a map of scores: the default, if it fits whole matrices."""
    return method if METHODS[method].reads == "curve" else "spline"


def default_methods(
    cal: Predictions, view: str | None = None, *, score_only: bool = False
) -> list[str]:
    """Return the methods to compare: those that take seconds on predictions of this size.

    On wide matrices only temperature is left of the methods that fit whole vectors.
    """
    wide = cal.n * cal.K > _MIN_NUMBERS_FOR_SLOW_FITS
    both = reads_all_columns(cal, "spline", view, score_only=score_only)
    return [f"spline:{SCORE_ONLY}"] * both + [
        name
        for name, method in METHODS.items()
        if method.reads == "curve"
        or (not method.slow and not cal.one_column and (not wide or name == "temperature"))
    ]


def _calibrated(
    cal: Predictions,
    test: Predictions,
    view: str | None,
    *,
    method: str | None,
    methods: Sequence[str] | None,
    score_only: bool,
    curve: Curve,
    step: Progress,
) -> AfterCalibration:
    """Fit on the cal part, apply to both, and compare with the other methods."""
    step("comparing methods", 2, _STEPS)
    if methods is None:
        methods = default_methods(cal, view, score_only=score_only)
    chosen = list(methods)
    comparison = compare(cal, test, chosen, view, score_only=score_only)
    used = method or comparison.decision.method or "spline"
    inside, outside, n = calibrated_curves(cal, test, curve.view, used, score_only=score_only)
    after = CumulativeDifference.from_curve(outside, label="after", fitted_on=n)
    pair = BeforeAfter(CumulativeDifference.from_curve(curve, label="before"), after)
    panels = calibrated_panels(inside, outside, n, curve_method(used))
    return AfterCalibration(
        method=used,
        n=n,
        curve=outside,
        after=measure(outside, fitted_on=n, more=True),
        nll_vector=None if score_only else _vector_loss(cal, test, view, used, comparison.decision),
        allowed=after.half_width or 0.0,
        graph=one_graph("before-after", "Before and after calibration", pair),
        panels=four_graphs("calibrated", panels),
        comparison=comparison,
        left_out=tuple(name for name in METHODS if name not in chosen),
        comparison_graphs=method_graphs(comparison),
    )


def _vector_loss(
    cal: Predictions, test: Predictions, view: str | None, method: str, decision: Verdict
) -> float | None:
    """Return the log loss of calibrated vectors: that of the verdict, if it is of this method.

    None: a view was asked for, of which a calibrator makes no vectors.
    """
    if test.one_column or view not in {None, VECTOR}:
        return None
    if decision.view == VECTOR and decision.method == method:
        return decision.log_loss_after
    return vector_scores(test, apply(fit(cal, method, VECTOR), test, VECTOR).vectors).nll
