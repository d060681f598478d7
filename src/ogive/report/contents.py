"""The report's numbers and tables, as words."""

from __future__ import annotations

import re
from dataclasses import dataclass
from math import isnan, nan
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ogive._numerics.mean_interval import HALF_WIDTH_95
from ogive._wording import (
    MIXED,
    TOO_HIGH,
    TOO_LOW,
    class_tests,
    format_pvalue,
    many_words,
    percent,
)
from ogive.diagrams.graphs import wilson_of
from ogive.metrics.binned import BINS, bin_rows
from ogive.metrics.resample import bootstrap, mean_ends
from ogive.metrics.vector import vector_rows
from ogive.report.figure import worst_graph
from ogive.report.graphs import Table
from ogive.report.series import THRESHOLDS
from ogive.rows.views import check_view, rate_name, usual_views
from ogive.studies.compare import above_the_best
from ogive.studies.layout import belt_words
from ogive.studies.losses import hall_t
from ogive.studies.measure import measure
from ogive.studies.where_off import way_off

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ogive.curve import Curve
    from ogive.diagrams import ClassHeat
    from ogive.report.graphs import Graph
    from ogive.report.series import Series, Subject
    from ogive.rows.predictions import Predictions
    from ogive.studies.compare import Comparison
    from ogive.studies.measurement import Measurement

_RESAMPLES = 200
_MAX_ROWS_TO_BOOTSTRAP = 1_000_000
#: Which way scores are off, by a shape and a word: colours alone would not do.
SIGNS = {TOO_HIGH: f"▲ {TOO_HIGH}", TOO_LOW: f"▼ {TOO_LOW}", MIXED: f"◆ {MIXED}", "": ""}
#: What the terms in the tables mean; the page lists those that it uses.
MEANINGS = {
    "KS": "largest distance between cumulative outcomes and cumulative scores, divided by the "
    "number of rows; 0 % is perfect",
    "signed KS": "the KS error with its sign: below 0 the scores are too high up to the largest "
    "gap, above 0 too low",
    "ECE": f"mean difference between mean score and share of 1s over {BINS} bins of equal width",
    "Brier": "mean squared difference between score and outcome; lower is better",
    "log loss": "mean negative logarithm of the probability of what happened; lower is better",
    "above the best": "log loss minus that of the best method, ± its standard error; (noise): not "
    "significantly different",
    "95 % interval": "values that the rows do not rule out at 5 %",
    "p": "probability of an error as large as this if the scores were perfectly calibrated",
    "base rate": "share of outcomes that are 1",
    "mean score": "mean of the scores; equals the base rate or accuracy if calibrated",
    "precision": "share of outcomes that are 1 among the rows at or above the threshold",
    "recall": "share of the outcomes that are 1 that lie at or above the threshold",
    "fitted in": "seconds that the fit took on this computer",
    "one map": "calibrated with one map for all rows",
    "by group": "calibrated with a map that knows the group of each row",
}


class Section(NamedTuple):
    """What the page says of classes or of groups."""

    words: tuple[str, ...]
    graph: Graph
    table: Table


@dataclass(frozen=True, slots=True)
class Number:
    """One line of the table of numbers: before with its interval, after, and what it means."""

    name: str
    before: str
    interval: str
    after: str
    meaning: str


def key_numbers(
    curve: Curve, before: Measurement, after: Measurement | None, calibrated: Curve | None = None
) -> tuple[Number, ...]:
    """Return the measures with 95 % intervals, and their values after calibration."""
    ks, kuiper = before.ks_test, before.kuiper_test
    brier, nll, ece = mean_ends(curve, "brier"), mean_ends(curve, "nll"), _ece_interval(curve)
    if before.fitted_rows:  # they look better than new rows would
        brier = nll = ece = (nan, nan)
    rate = wilson_of(curve.total_hits, curve.n)
    if curve.clusters is not None:
        low, high = mean_ends(curve, "accuracy") or rate
        rate = (min(low, rate[0]), max(high, rate[1]))
    rows: list[tuple[str, str, tuple[float, float] | None, str, bool]] = [
        (rate_name(curve.view), "accuracy", rate,
         "share of outcomes that are 1", True),
        ("mean score", "mean_score", None, "mean of the scores", True),
        ("KS error", "ks", (ks.low, ks.high),
         f"largest cumulative gap; {percent(ks.expected)} expected by chance", True),
        ("Kuiper error", "kuiper", (kuiper.low, kuiper.high),
         f"range of the gap; {percent(kuiper.expected)} expected by chance", True),
        ("ECE", "ece", ece, f"mean gap of {BINS} bins of equal width", True),
        ("MCE", "mce", None, _mce_words(before, after, calibrated), True),
        ("Brier score", "brier", brier, "mean squared error", False),
        ("log loss", "nll", nll, "mean negative log-likelihood; lower is better", False),
    ]  # fmt: skip
    return tuple(
        Number(
            name,
            _number(getattr(before, key), share),
            "" if ends is None else _interval(*ends, share=share),
            "" if after is None else _number(getattr(after, key), share),
            meaning,
        )
        for name, key, ends, meaning, share in rows
    )


def _mce_words(before: Measurement, after: Measurement | None, calibrated: Curve | None) -> str:
    """Say what MCE is; where calibration raises it, why."""
    words = "largest gap of those bins"
    if after is None or calibrated is None or after.mce <= before.mce:
        return words
    cells = bin_rows(calibrated)
    few = float(cells.count[np.abs(cells.gap).argmax()])
    return f"{words}; after calibration that of a bin with {few:,.6g} of {calibrated.n:,.6g} rows"


def more_numbers(before: Measurement, after: Measurement | None) -> Table:
    """Return the numbers that other fields ask for, each with one sentence."""
    others: list[tuple[str, ...]] = [()] * len(before.numbers)
    head: tuple[str, ...] = ("measure", "value", "95 % interval", "what it is")
    if after is not None:
        head = ("measure", "before calibration", "95 % interval", "calibrated", "what it is")
        others = [one.shown()[:1] for one in after.numbers]
    rows = [
        (one.name, *one.shown(), *other, one.meaning)
        for one, other in zip(before.numbers, others, strict=True)
    ]
    note = "" if before.fitted_rows else belt_words(before.belt)
    return Table(head, tuple(rows), note.removesuffix("."))


def vector_number(test: Predictions, after: float | None) -> tuple[Number, ...]:
    """Return the log loss of whole vectors with its interval; nothing for one column.

    after : of the calibrated vectors, if there are any
    """
    if test.one_column:
        return ()
    losses = vector_rows(test)[1]
    weights = test.row_weights
    mean, error, _ = hall_t(losses, weights / weights.sum(), test.clusters)
    low, high = max(mean - HALF_WIDTH_95 * error, 0.0), mean + HALF_WIDTH_95 * error
    if test.fitted_rows:
        low = high = nan
    name = "log loss, whole vectors"
    meaning = "of the probabilities of every class; decides whether to calibrate"
    ends = _interval(low, high, share=False)
    shown = "" if after is None else _number(after, share=False)
    return (Number(name, _number(mean, share=False), ends, shown, meaning),)


def _number(value: float, share: bool) -> str:
    return percent(value) if share else f"{value:.4f}"


def _interval(low: float, high: float, *, share: bool) -> str:
    """Word an interval; that of rows that fitted the calibrator is withheld."""
    return "withheld" if isnan(low) else f"{_number(low, share)} to {_number(high, share)}"


def _ece_interval(curve: Curve) -> tuple[float, float] | None:
    if curve.n > _MAX_ROWS_TO_BOOTSTRAP:
        return None
    found = bootstrap(curve, "ece", resamples=_RESAMPLES)
    return found.low, found.high


def view_rows(preds: Predictions) -> Table:
    """Return the KS error and its companions for the views of ranks."""
    rows = []
    for name in usual_views(preds.K):
        m = measure(preds, check_view(name, preds), decide=False)
        ks = m.ks_test
        rows.append(
            (name, percent(m.accuracy), percent(m.mean_score), percent(ks.value),
             _interval(ks.low, ks.high, share=True), _pvalue(ks.pvalue), percent(m.ece))
        )  # fmt: skip
    head = ("view", "share of outcomes", "mean score", "KS", "95 % interval", "p", "ECE")
    return Table(head, tuple(rows))


def class_section(heat: ClassHeat, subjects: Sequence[Subject]) -> Section:
    """Return what the page says of classes: the largest error first."""
    ways = _ways(heat)
    order = np.argsort(-np.abs(heat.signed), kind="stable").tolist()
    after = len(subjects[0].series) > 1
    rows = []
    for i in order:
        lines = subjects[i].series
        means = [percent(line.mean) for line in lines]
        errors = [percent(line.signed) for line in lines]
        rows.append(
            (heat.names[i], f"{heat.count[i]:,.6g}", percent(float(heat.base_rate[i])), *means,
             *errors, _pvalue(float(heat.pvalue[i])), SIGNS[ways[i] if heat.off[i] else ""])
        )  # fmt: skip
    both = ("before", "after") if after else ("",)
    head = ("class", "rows", "base rate", *(f"mean score {one}".strip() for one in both),
            *(f"signed KS {one}".strip() for one in both), "p", "scores are")  # fmt: skip
    ranked = [subjects[i] for i in order]
    graph = worst_graph("classes", "class", ranked)
    return Section((class_words(heat),), graph, Table(head, tuple(rows)))


def threshold_table(lines: Sequence[Series]) -> Table:
    """Return counts, precision and recall at some thresholds, before and after."""
    rows = []
    for t in range(1, 10):
        for name, one in zip(("before", "after"), lines, strict=False):
            at = int(np.searchsorted(THRESHOLDS, t / 10))
            acted, right = float(one.above[at]), float(one.hits[at])
            all_hits = float(one.hits[0])
            rows.append(
                (percent(t / 10, 0), name, *(f"{v:,.6g}" for v in (right, acted - right)),
                 *(f"{v:,.6g}" for v in (all_hits - right, one.n - acted - all_hits + right)),
                 percent(right / acted, 1) if acted else "none",
                 percent(right / all_hits, 1) if all_hits else "none")
            )  # fmt: skip
    head = ("threshold", "scores", "true positives", "false positives", "false negatives",
            "true negatives", "precision", "recall")  # fmt: skip
    return Table(head, tuple(rows))


def method_table(compared: Comparison, name: str) -> Table:
    """Return the numbers of each method, the lowest log loss first."""
    head = ("method", "KS", "ECE", "Brier", "log loss", "above the best", name, "fitted in")
    rows = tuple(
        (m.method, percent(m.ks),
         percent(m.ece), f"{m.brier:.4f}", f"{m.nll:.4f}", above_the_best(m), percent(m.accuracy),
         f"{m.fit_seconds:.2f} s")
        for m in compared.methods
    )  # fmt: skip
    return Table(head, rows)


def words_on(numbers: Iterable[Number], tables: Iterable[Table | None]) -> dict[str, str]:
    """Return the terms that a page uses, with what they mean."""
    names = [one.name for one in numbers]
    names += [name for table in tables if table is not None for name in table.head]
    seen = " | ".join(names)
    return {
        name: meaning
        for name, meaning in MEANINGS.items()
        if re.search(rf"(?<!\w){re.escape(name)}(?!\w)", seen)
    }


def class_words(heat: ClassHeat) -> str:
    """Say which classes are miscalibrated, and how large the errors are."""
    ways = [way if off else "" for way, off in zip(_ways(heat), heat.off, strict=True)]
    sizes = np.abs(heat.signed)
    return (
        f"{many_words(heat.names, ways, class_tests(sizes.size))} The largest KS error is "
        f"{percent(float(sizes.max()))}, the mean {percent(float(sizes.mean()))}."
    )


def _ways(heat: ClassHeat) -> list[str]:
    columns = zip(heat.mean_score, heat.base_rate, np.abs(heat.signed), strict=True)
    return [way_off(*map(float, row)) for row in columns]


def _pvalue(p: float) -> str:
    return format_pvalue(p, cell=True)
