"""What a calibrator did to the test part, and the lines of views and classes before and after."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ogive.calibrators import METHODS, SCORE_ONLY, find_method
from ogive.curve import Curve
from ogive.curve.classes import class_curves
from ogive.diagrams import ClassHeat, CumulativeDifference
from ogive.metrics.vector import vector_scores
from ogive.report.contents import Section, class_section, method_table
from ogive.report.graphs import Graph, Table, four_graphs, method_graphs
from ogive.report.series import BEFORE, Subject, fitted_line, series_of, subjects_of
from ogive.rows.views import rate_name, usual_views
from ogive.studies.compare import compare_rows
from ogive.studies.fitting import (
    VECTOR,
    apply,
    curve_of,
    fit,
    reads_all_columns,
    with_vectors,
)
from ogive.studies.graphs import calibrated_curves, calibrated_panels
from ogive.studies.measure import measure

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ogive._typing import Progress
    from ogive.rows.predictions import Predictions
    from ogive.studies.compare import Comparison
    from ogive.studies.fitting import Rows
    from ogive.studies.measurement import Measurement

STEPS = 5
#: Numbers in a matrix from which fits of whole vectors take minutes.
_MIN_NUMBERS_FOR_SLOW_FITS = 5_000_000


@dataclass(frozen=True, slots=True)
class AfterCalibration:
    """What a calibrator did to the test part; None of it was fitted there.

    n : rows of the fit; curve : of the calibrated rows; matrix : the calibrated test part, where
    whole vectors are calibrated; nll_vector : its log loss; allowed : the KS error that the noise
    of the fit explains; difference : its cumulative gap; rows : the calibrated rows of every
    method; left_out : methods that were not compared
    """

    method: str
    n: float
    curve: Curve
    after: Measurement
    matrix: Predictions | None
    nll_vector: float | None
    allowed: float
    difference: CumulativeDifference
    panels: tuple[Graph, ...]
    comparison: Comparison
    methods: Table
    rows: dict[str, Rows]
    left_out: tuple[str, ...]
    comparison_graphs: tuple[Graph, ...]


def main_subject(curve: Curve, after: AfterCalibration | None, test: Predictions | None) -> Subject:
    """Return the lines of the view: before, the method that is shown, and the others."""
    tested = test is None or not test.fitted_rows
    lines = [series_of(curve, tested=tested, line=fitted_line(curve))]
    if after is not None and test is not None:
        how: Any = {"fitted_on": after.n, "tested": tested}
        lines.append(series_of(after.curve, after.method, line=fitted_line(after.curve), **how))
        for name, rows in after.rows.items():
            if name not in {BEFORE, after.method}:
                lines.append(series_of(curve_of(rows, test, curve.view), name, **how))
    return Subject("view", curve.view, tuple(lines))


def of_matrix(
    test: Predictions, after: AfterCalibration | None, view: str
) -> tuple[tuple[Subject, ...], Section | None]:
    """Return the other views and the classes, before and after, and the section on classes."""
    if test.one_column:
        return (), None
    matrix = None if after is None else after.matrix
    how: Any = {
        "method": "" if after is None else after.method,
        "fitted_on": None if after is None else after.n,
        "tested": not test.fitted_rows,
    }

    def curves(names: Sequence[str], preds: Predictions | None) -> Iterable[Curve] | None:
        return None if preds is None else [Curve.from_predictions(preds, one) for one in names]

    names = [one for one in usual_views(test.K) if one != view]
    views = subjects_of("view", names, curves(names, test) or (), curves(names, matrix), **how)
    labels = [str(one) for one in test.classes]
    later = None if matrix is None else class_curves(matrix)
    classes = subjects_of("class", labels, class_curves(test), later, **how)
    section = None
    if not test.fitted_rows:
        section = class_section(ClassHeat.from_predictions(test), classes)
    order = sorted(range(test.K), key=lambda k: -abs(classes[k].series[0].signed))
    return (*views, *(classes[k] for k in order)), section


def curve_method(method: str) -> str:
    """Return the method that draws a map of scores: the default, if it fits whole matrices."""
    return method if find_method(method).reads == "curve" else "spline"


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


def calibrate(
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
    step("comparing methods", 2, STEPS)
    if methods is None:
        methods = default_methods(cal, view, score_only=score_only)
    chosen = list(methods)
    comparison, rows = compare_rows(cal, test, chosen, view, score_only=score_only)
    used = method or comparison.decision.method or "spline"
    inside, outside, n = calibrated_curves(cal, test, curve.view, used, score_only=score_only)
    after = CumulativeDifference.from_curve(outside, label="after", fitted_on=n)
    panels = calibrated_panels(inside, outside, n, curve_method(used))
    matrix = None if score_only else _calibrated_matrix(cal, test, view, used)
    return AfterCalibration(
        method=used,
        n=n,
        curve=outside,
        after=measure(outside, fitted_on=n, more=True),
        matrix=matrix,
        nll_vector=None if matrix is None else vector_scores(test, matrix.probabilities()).nll,
        allowed=after.half_width or 0.0,
        difference=after,
        panels=four_graphs("calibrated", panels),
        comparison=comparison,
        methods=method_table(comparison, rate_name(curve.view)),
        rows=rows,
        left_out=tuple(name for name in METHODS if name not in chosen),
        comparison_graphs=method_graphs(comparison),
    )


def _calibrated_matrix(
    cal: Predictions, test: Predictions, view: str | None, method: str
) -> Predictions | None:
    """Return the calibrated test part; None if a view was asked for, which makes no vectors."""
    if test.one_column or view not in {None, VECTOR}:
        return None
    vectors = apply(fit(cal, method, VECTOR), test, VECTOR).vectors
    assert vectors is not None  # noqa: S101 - of whole vectors
    return with_vectors(test, vectors)
