"""The comparison of several models, or of several days: one page for all of them.

Each is measured, and calibrated where it has rows to fit on, as in a report of its own. Where all
have the same outcomes in the same order, their log losses are compared row by row
(`ogive.studies.losses.hall_t`); otherwise the rows differ, and nothing is said about which is best.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from math import nan
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np

from ogive import __version__
from ogive._numerics.mean_interval import HALF_WIDTH_95
from ogive._wording import FOUND, NOT_DIFFERENT, NOT_FOUND, OFF, listed, percent
from ogive.curve import Curve
from ogive.diagrams import Differences, ModelErrors, Reliability
from ogive.errors import InvalidInput
from ogive.plotting.figures import panels_of
from ogive.plotting.panels import reliability_panel, score_range
from ogive.report.calibrated import curve_method
from ogive.report.graphs import Graph, Table
from ogive.report.page import NOTHING, About, Page
from ogive.rows.views import check_view, rate_name, score_rows
from ogive.studies.compare import distance_words
from ogive.studies.fitting import VECTOR, Rows, apply, fit
from ogive.studies.layout import format_interval, of_summary
from ogive.studies.losses import CRITICAL_T, hall_t, scores_of
from ogive.studies.measure import measure

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import date

    from ogive._typing import FloatArray, Progress
    from ogive.rows.predictions import Predictions
    from ogive.studies.measurement import Measurement

#: Curves that are drawn, those with the largest KS errors: more would bury the tables.
MAX_CURVES_DRAWN = 12
NOT_KNOWN = "\N{EN DASH}"
#: What marks the name of one that is known by a summary of its rows.
OF_A_SUMMARY = "from a summary"


class Subject(NamedTuple):
    """One of those that are compared: rows to measure, and rows to fit on if there are any."""

    name: str
    test: Predictions | Curve
    cal: Predictions | None = None


@dataclass(frozen=True, slots=True, eq=False)
class _One:
    """What is known of one; of a summary there are no rows and no losses of rows."""

    name: str
    before: Measurement
    reliability: Reliability
    rows: Predictions | None
    losses: FloatArray | None
    log_loss: tuple[float, float]
    brier: float
    after: dict[str, float] | None


@dataclass(frozen=True, slots=True, repr=False)
class ModelsReport(Page):
    """All that the page of a comparison says."""

    template: ClassVar[str] = "models.html"
    source: str
    made: str
    version: str
    view: str
    sentence: str
    detail: str
    tone: str
    errors: Graph
    losses: Graph | None
    calibration: Table
    log_loss: Table
    curves: tuple[Graph, ...]
    curves_note: str
    verdicts: tuple[tuple[str, str], ...]
    how: tuple[str, ...]
    about: About = NOTHING
    notes: tuple[str, ...] = ()


def build_models_report(
    subjects: Iterable[Subject],
    *,
    view: str | None = None,
    method: str = "spline",
    score_only: bool = False,
    today: date | None = None,
    progress: Progress | None = None,
) -> ModelsReport:
    """Measure, calibrate and compare several models or days.

    Parameters
    ----------
    subjects : iterable of Subject
        Two or more, with names of their own; they are shown in their order.
    view, score_only : optional
        As in `ogive.report.build_report`; the view must be the same for all.
    method : str
        What is fitted to those with rows to fit on.
    today : date, optional
    progress : function of (what, done, total), optional
    """
    step = progress or (lambda what, done, total: None)  # noqa: ARG005
    ones: list[_One] = []
    for i, subject in enumerate(subjects):
        step(f"measuring {subject.name}", i, i + 1)
        _check(subject, view, ones)
        ones.append(_measured(subject, view, method, score_only=score_only))
    if len(ones) < 2:  # noqa: PLR2004 - nothing to compare
        msg = "a comparison needs two or more."
        raise InvalidInput(msg)
    best, paired = min(ones, key=lambda one: one.log_loss[0]), _same_rows(ones)
    versus = {one.name: _above(one, best) for one in ones} if paired else {}
    shown = sorted(ones, key=lambda one: -one.before.ks)[:MAX_CURVES_DRAWN]
    sentence, detail = _words(ones, best, versus)
    return ModelsReport(
        source=listed([one.name for one in ones]),
        made=(today or datetime.now(tz=UTC).date()).isoformat(),
        version=__version__,
        view=ones[0].before.view,
        sentence=sentence,
        detail=detail,
        tone="off" if any(one.before.decision.miscalibrated for one in ones) else "fine",
        errors=_errors(ones),
        losses=_losses(ones, versus) if paired else None,
        calibration=_calibration(ones),
        log_loss=_log_loss(ones, versus, method),
        curves=_curves([one for one in ones if one in shown]),
        curves_note=f"The {len(shown)} with the largest KS errors, of {len(ones):,}."
        if len(shown) < len(ones)
        else "",
        verdicts=tuple(
            (one.name, " ".join([one.before.verdict, *of_summary(one.before)])) for one in ones
        ),
        how=_how(ones, method, paired=paired, whole=_is_whole(ones, view)),
    )


def _check(subject: Subject, view: str | None, ones: Sequence[_One]) -> None:
    """Refuse one that cannot be compared with those before it."""
    name, test, _ = subject
    if any(one.name == name for one in ones):
        msg = f"{name} is there twice: give each a name of its own."
        raise InvalidInput(msg)
    viewed = test.view if isinstance(test, Curve) else check_view(view, test).name
    if ones and viewed != ones[0].before.view:
        first = ones[0]
        msg = (
            f"{first.name} is measured as {first.before.view} and {name} as {viewed}, which cannot "
            "be compared. Give files of one kind, or a view that all have."
        )
        raise InvalidInput(msg)


def _measured(subject: Subject, view: str | None, method: str, *, score_only: bool) -> _One:
    name, test, cal = subject
    if isinstance(test, Curve):
        before = measure(test, view)
        drawn = Reliability.from_curve(test, curve_method(method))
        return _One(name, before, drawn, None, None, (before.nll, nan), before.brier, None)
    viewed = check_view(view, test).name
    before = measure(test, view, cal=cal)
    whole = view is None and not test.one_column
    of = VECTOR if whole else viewed
    rows = score_rows(test, viewed)
    numbers, losses = scores_of(Rows(rows.score, rows.hit, tail=rows.tail), test, of)
    mean, error, _ = hall_t(losses, _shares(test), test.clusters)
    after = None
    if cal is not None:
        gamma = fit(cal, method, of, score_only=score_only and not whole)
        after, _ = scores_of(apply(gamma, test, of), test, of)
    drawn = Reliability.from_curve(Curve.from_predictions(test, viewed), curve_method(method))
    return _One(name, before, drawn, test, losses, (mean, error), numbers["brier"], after)


def _shares(rows: Predictions) -> FloatArray:
    """Return the share of the weight that each row has, (N,)."""
    weights = rows.row_weights
    shares: FloatArray = weights / weights.sum()
    return shares


def _same_rows(ones: Sequence[_One]) -> bool:
    """Return whether all have the same classes, outcomes and weights, in the same order."""
    known = [one.rows for one in ones if one.rows is not None]
    return len(known) == len(ones) and all(
        np.array_equal(getattr(rows, key), getattr(known[0], key))
        for rows in known[1:]
        for key in ("classes", "labels", "sample_weight")
    )


def _above(one: _One, best: _One) -> tuple[float, float, bool]:
    """Return how far a log loss is above the best, its standard error, and whether it is noise."""
    assert one.rows is not None and one.losses is not None and best.losses is not None  # noqa: S101, PT018 - paired
    difference = one.losses - best.losses
    mean, error, t = hall_t(difference, _shares(one.rows), one.rows.clusters)
    return mean, error, abs(t) <= CRITICAL_T


def _words(
    ones: Sequence[_One], best: _One, versus: dict[str, tuple[float, float, bool]]
) -> tuple[str, str]:
    """Return what the page says first, and what stands below it."""
    off = [one.name for one in ones if one.before.decision.miscalibrated]
    order = sorted(ones, key=lambda one: one.before.ks)
    errors = (
        f"KS errors go from {percent(order[0].before.ks)} ({order[0].name}) to "
        f"{percent(order[-1].before.ks)} ({order[-1].name})."
    )
    found = f"{FOUND}: {listed(off)}." if off else f"{NOT_FOUND} in any."
    if not versus:
        return f"{found} {errors}", ""
    tied = [name for name, (_, _, noise) in versus.items() if noise and name != best.name]
    first = f"Lowest log loss: {best.name}, {best.log_loss[0]:.4f}."
    if tied:
        first += f" {NOT_DIFFERENT}: {listed(tied)}."
    if off:
        first += f" {len(off):,} of {len(ones):,} are {OFF}."
    return first, f"{found} {errors}{_best_after(ones)}"


def _best_after(ones: Sequence[_One]) -> str:
    known = [(one.after["nll"], one.name) for one in ones if one.after is not None]
    if len(known) < len(ones):
        return ""
    loss, name = min(known)
    return f" After calibration the lowest log loss is that of {name}, {loss:.4f}."


def _errors(ones: Sequence[_One]) -> Graph:
    ks, low, high = np.array(
        [(o.before.ks, o.before.ks_test.low, o.before.ks_test.high) for o in ones]
    ).T
    after = np.array([nan if one.after is None else one.after["ks"] for one in ones])
    diagram = ModelErrors(tuple(one.name for one in ones), ks, low, high, after)
    caption = "How far the scores are off, with 95 % intervals. Nearer to 0 is better."
    return Graph("errors", "KS errors", panels_of(diagram), caption, None)


def _losses(ones: Sequence[_One], versus: dict[str, tuple[float, float, bool]]) -> Graph:
    order = sorted(ones, key=lambda one: versus[one.name][0])
    loss, error = np.array([versus[one.name][:2] for one in order]).T
    diagram = Differences(tuple(one.name for one in order), loss, error, "log loss")
    caption = (
        "Row by row on the same test rows, ± 2 standard errors. An interval that holds 0 is noise."
    )
    return Graph("losses", "Log loss above the best", panels_of(diagram), caption, None)


def _calibration(ones: Sequence[_One]) -> Table:
    rate = rate_name(ones[0].before.view)
    head = (
        "",
        "rows",
        rate,
        "mean score",
        "KS",
        "95 % interval",
        "ECE",
        "scores are",
        "what to do",
    )
    rows = []
    for one in ones:
        m, decision = one.before, one.before.decision
        way = decision.direction if decision.miscalibrated else NOT_KNOWN
        interval = "withheld" if m.fitted_rows else format_interval(m.ks_test)
        shares = (percent(m.accuracy), percent(m.mean_score), percent(m.ks))
        do = decision.word or "not decided"
        rows.append((_marked(one), f"{m.n:,.6g}", *shares, interval, percent(m.ece), way, do))
    return Table(head, tuple(rows))


def _log_loss(
    ones: Sequence[_One], versus: dict[str, tuple[float, float, bool]], method: str
) -> Table:
    fitted = any(one.after is not None for one in ones)
    head: tuple[str, ...] = ("", "log loss", "95 % interval", "Brier score")
    head += ("above the best",) if versus else ()
    head += (f"log loss after {method}", f"KS after {method}") if fitted else ()
    rows = []
    for one in ones:
        mean, error = one.log_loss
        half = HALF_WIDTH_95 * error
        ends = NOT_KNOWN if np.isnan(half) else f"{max(mean - half, 0):.4f} to {mean + half:.4f}"
        row = [_marked(one), f"{mean:.4f}", ends, f"{one.brier:.4f}"]
        if versus:
            loss, off, noise = versus[one.name]
            row.append(distance_words(loss, off, noise=noise))
        if one.after is not None:
            row += [f"{one.after['nll']:.4f}", percent(one.after["ks"])]
        elif fitted:
            row += [NOT_KNOWN, NOT_KNOWN]
        rows.append(tuple(row))
    return Table(head, tuple(rows))


def _marked(one: _One) -> str:
    return f"{one.name} ({OF_A_SUMMARY})" if one.before.approximate else one.name


def _curves(ones: Sequence[_One]) -> tuple[Graph, ...]:
    limits = score_range([one.reliability for one in ones])
    return tuple(
        Graph(f"curve-{i}", one.name, (reliability_panel(one.reliability, limits),), "", None)
        for i, one in enumerate(ones)
    )


def _is_whole(ones: Sequence[_One], view: str | None) -> bool:
    """Return whether log losses are of whole vectors: of matrices, unless a view is asked for."""
    return view is None and any(one.before.nll_vector is not None for one in ones)


def _how(ones: Sequence[_One], method: str, *, paired: bool, whole: bool) -> tuple[str, ...]:
    rows = (
        "All have the same outcomes in the same order: log losses are compared row by row, and "
        "Hall's transformation of Student's t says whether a difference is more than noise."
        if paired
        else "They do not have the same outcomes in the same order, so their rows differ: a "
        "difference in log loss may be one of the rows, and none is called the best."
    )
    each = (
        "Each is tested by itself at 5 %: of twenty that are perfectly calibrated, one is called "
        "miscalibrated on average."
    )
    notes = [rows, each]
    if whole:
        notes.append("Log losses and Brier scores are of whole vectors: of all classes.")
    if any(one.after is not None for one in ones):
        notes.append(f"{method} was fitted on the cal part of each, and measured on its test part.")
    if any(one.before.approximate for one in ones):
        notes.append(
            f"{OF_A_SUMMARY.capitalize()}: the rows were counted in narrow ranges of the score; "
            "the verdict says what is certain."
        )
    return tuple(notes)
