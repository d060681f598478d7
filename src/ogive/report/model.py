"""The report's contents: numbers and graphs, gathered; no markup."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, ClassVar

from ogive import __version__
from ogive.calibrators import find_method
from ogive.calibrators.multiclass.shared_fits import shared_class_fits
from ogive.curve import Curve
from ogive.diagrams import BinnedReliability, CumulativeDifference, FourPanel
from ogive.errors import InvalidInput
from ogive.report.calibrated import STEPS, calibrate, curve_method, main_subject, of_matrix
from ogive.report.contents import (
    key_numbers,
    more_numbers,
    threshold_table,
    vector_number,
    view_rows,
    words_on,
)
from ogive.report.figure import gap_table, main_graph
from ogive.report.graphs import bins_graph, decision_graphs, four_graphs
from ogive.report.groups import group_section
from ogive.report.headline import cards, headline, plain_words
from ogive.report.notes import commands, how_it_was_computed
from ogive.report.page import NOTHING, About, Page
from ogive.report.series import (
    COARSE_THRESHOLDS,
    MAX_STEP_OF_SCORES,
    MIN_ROWS_TO_SHOW_A_RATE,
    THRESHOLDS,
)
from ogive.rows.views import check_view, rate_name
from ogive.studies.layout import of_summary
from ogive.studies.measure import measure

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import date

    from ogive._typing import Progress
    from ogive.report.calibrated import AfterCalibration
    from ogive.report.contents import Number, Section
    from ogive.report.graphs import Graph, Table
    from ogive.report.headline import Card, Headline
    from ogive.report.series import Subject
    from ogive.rows.predictions import Predictions
    from ogive.studies.compare_groups import GroupsOf
    from ogive.studies.measurement import Measurement


@dataclass(frozen=True, slots=True, repr=False)
class Report(Page):
    """All that the page says."""

    template: ClassVar[str] = "report.html"
    source: str
    made: str
    version: str
    view: str
    before: Measurement
    calibrated: AfterCalibration | None
    verdict: Headline
    cards: tuple[Card, ...]
    figure: Graph
    gap_table: Table
    numbers: tuple[Number, ...]
    more_numbers: Table
    bins: Graph
    panels: tuple[Graph, ...]
    thresholds: Table
    decisions: tuple[Graph, ...]
    views: Table | None
    classes: Section | None
    groups: Section | None
    subjects: tuple[Subject, ...]
    commands: tuple[tuple[str, str], ...]
    how: tuple[str, ...]
    about: About = NOTHING
    notes: tuple[str, ...] = ()

    @property
    def words(self) -> dict[str, str]:
        """The terms that the page uses, with what they mean."""
        sections = [one.table for one in (self.classes, self.groups) if one is not None]
        methods = None if self.calibrated is None else self.calibrated.methods
        return words_on(self.numbers, [self.thresholds, self.views, *sections, methods])

    @property
    def data(self) -> dict[str, Any]:
        """What the page's script shows, as plain JSON values."""
        return {
            "grid": THRESHOLDS.tolist(),
            "few": COARSE_THRESHOLDS.tolist(),
            "rate": rate_name(self.view),
            "chosen": None if self.calibrated is None else self.calibrated.method,
            "least": MIN_ROWS_TO_SHOW_A_RATE,
            "step": MAX_STEP_OF_SCORES,
            "meanings": self.words,
            "subjects": [one.packed() for one in self.subjects],
        }


def build_report(
    test: Predictions | Curve,
    cal: Predictions | None = None,
    *,
    view: str | None = None,
    method: str | None = None,
    methods: Sequence[str] | None = None,
    score_only: bool = False,
    groups: GroupsOf | None = None,
    source: str = "predictions",
    notes: Sequence[str] = (),
    today: date | None = None,
    progress: Progress | None = None,
) -> Report:
    """Measure, calibrate and compare; gather what the report shows.

    Parameters
    ----------
    test : Predictions or Curve
        Labelled rows to measure, or a summary of them: then nothing is calibrated, the page says
        where its numbers come from, and what needs rows is left out.
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
    notes : sequence of str
        How they were read: shown under the heading.
    today : date, optional
    progress : function of (what, done, total), optional
    """
    if isinstance(test, Curve):
        if cal is not None or groups is not None:
            msg = "`test` is a curve, which has no rows: leave out `cal` and `groups`."
            raise InvalidInput(msg)
        return _of_curve(test, source, notes, today)
    name = check_view(view, test).name
    if method is not None and find_method(method).reads != "curve":
        msg = (
            f"`method` {method!r} calibrates whole matrices, and the report shows one view. "
            "Give a method that reads a curve; this one can be among those compared."
        )
        raise InvalidInput(msg)
    step = progress or (lambda what, done, total: None)  # noqa: ARG005
    step("measuring", 0, STEPS)
    curve = Curve.from_predictions(test, name)
    before = measure(
        test, None if view is None else check_view(view, test), more=True, decide=cal is None
    )
    step("calibrating", 1, STEPS)
    calibrated = None
    if cal is not None:
        how: Any = {"method": method, "methods": methods, "score_only": score_only}
        with shared_class_fits():  # one fit of the classes for all that needs it
            calibrated = calibrate(cal, test, view, curve=curve, step=step, **how)
    step("measuring every class", 4, STEPS)
    view_shown = name if score_only and view is None else view
    made = _gathered(curve, before, calibrated, test, method, groups, cal)
    step("done", STEPS, STEPS)
    return Report(
        source=source,
        made=(today or datetime.now(tz=UTC).date()).isoformat(),
        commands=commands(
            source,
            view_shown,
            calibrated.method if calibrated else method or "spline",
            has_cal=cal is not None,
            calibrate=made["verdict"].decision.calibrate is True,
            score_only=score_only,
        ),
        notes=tuple(notes),
        **made,
    )


def _of_curve(curve: Curve, source: str, notes: Sequence[str], today: date | None) -> Report:
    """Gather what a summary can say: nothing of other views, classes or calibrated rows."""
    before = measure(curve, more=True)
    return Report(
        source=source,
        made=(today or datetime.now(tz=UTC).date()).isoformat(),
        commands=commands(source, None, "spline", has_cal=False),
        notes=(*notes, *of_summary(before)),
        **_gathered(curve, before, None, None),
    )


def _gathered(  # noqa: PLR0917 - internal
    curve: Curve,
    before: Measurement,
    calibrated: AfterCalibration | None,
    test: Predictions | None,
    method: str | None = None,
    groups: GroupsOf | None = None,
    cal: Predictions | None = None,
) -> dict[str, Any]:
    """Return the parts of the page that follow from the rows, or from a summary of them."""
    # Rows that fitted the calibrator have no fair tests.
    tested = test is None or not test.fitted_rows
    after = None if calibrated is None else calibrated.after
    later = None if calibrated is None else calibrated.curve
    shown = calibrated.method if calibrated else method or "spline"
    label = ""
    if test is not None and curve.view.startswith("class-"):
        label = str(test.classes[int(curve.view.removeprefix("class-"))])
    main = main_subject(curve, calibrated, test)
    lines = main.series[: 1 if calibrated is None else 2]
    views: tuple[Subject, ...] = ()
    classes = of_groups = None
    if test is not None:
        views, classes = of_matrix(test, calibrated, curve.view)
        if groups is not None:
            of_groups = group_section(groups, cal, test, curve.view)
    difference = CumulativeDifference.from_curve(
        curve, label="" if calibrated is None else "before", in_sample=not tested
    )
    ends = None if calibrated is None else calibrated.difference
    four = FourPanel.from_curve(
        curve, method=curve_method(shown), label="as it is, test part", in_sample=not tested
    )
    decision = before.decision if calibrated is None else calibrated.comparison.decision
    off = bool(decision.miscalibrated or decision.calibrate)
    numbers = key_numbers(curve, before, after, later)
    if test is not None:
        numbers += vector_number(test, None if calibrated is None else calibrated.nll_vector)
    return {
        "version": __version__,
        "view": curve.view,
        "before": before,
        "calibrated": calibrated,
        "verdict": headline(before, calibrated, plain_words(curve, later, label, off=off)),
        "cards": cards(before, calibrated),
        "figure": main_graph(difference, ends, lines),
        "gap_table": gap_table(difference, ends),
        "numbers": numbers,
        "more_numbers": more_numbers(before, after),
        "bins": bins_graph(BinnedReliability.from_curve(curve)),
        "panels": four_graphs("panels", [four]),
        "thresholds": threshold_table(lines),
        "decisions": decision_graphs(curve, later, in_sample=not tested),
        "views": None if test is None or test.one_column else view_rows(test),
        "classes": classes,
        "groups": None if of_groups is None else of_groups[0],
        "subjects": (main, *views, *(() if of_groups is None else of_groups[1])),
        "how": how_it_was_computed(before, calibrated),
    }
