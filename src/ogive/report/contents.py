"""The report's numbers, tables, commands and notes, as words."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from math import isnan, nan, sqrt
from pathlib import PurePath
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import stdtrit

from ogive.diagrams.graphs import wilson_of
from ogive.metrics.binned import BINS
from ogive.metrics.proper import CLIP
from ogive.metrics.resample import bootstrap
from ogive.metrics.significance import HALF_WIDTH_95, LEVEL
from ogive.metrics.vector import vector_rows
from ogive.plotting.marks import MINUS
from ogive.plotting.panels import percent
from ogive.report.graphs import Table
from ogive.studies.layout import belt_words, format_pvalue, of_clusters
from ogive.studies.losses import hall_t
from ogive.studies.measure import measure
from ogive.studies.wording import judge_many, tests_of_classes, way_off
from ogive.views import check_view, rate_name, usual_views

if TYPE_CHECKING:
    from ogive._typing import FloatArray
    from ogive.curve import Curve
    from ogive.diagrams import ClassHeat
    from ogive.predictions import Predictions
    from ogive.report.model import AfterCalibration
    from ogive.studies.measurement import Measurement

_RESAMPLES = 200
_MANY_ROWS = 1_000_000  # above this the bootstrap is left out
_ALL_CLASSES = 30
_WORST = 20


@dataclass(frozen=True, slots=True)
class Number:
    """One line of the table of numbers: before with its interval, after, and what it means."""

    name: str
    before: str
    interval: str
    after: str
    meaning: str


def key_numbers(curve: Curve, before: Measurement, after: Measurement | None) -> tuple[Number, ...]:
    """Return the measures with 95 % intervals, and their values after calibration."""
    ks, kuiper = before.ks_test, before.kuiper_test
    brier, nll, ece = *_loss_intervals(curve), _ece_interval(curve)
    if before.fitted_rows:  # they look better than new rows would
        brier = nll = ece = (nan, nan)
    rate = wilson_of(curve.total_hits, curve.n)
    if curve.clusters is not None:
        ones = np.ones(curve.score.size)
        low, high = _mean_interval(curve, ones, 0.0 * ones)
        rate = (min(low, rate[0]), min(max(high, rate[1]), 1.0))
    rows: list[tuple[str, str, tuple[float, float] | None, str, bool]] = [
        (rate_name(curve.view), "accuracy", rate,
         "share of outcomes that are 1", True),
        ("mean score", "mean_score", None, "mean of the scores", True),
        ("KS error", "ks", (ks.low, ks.high),
         f"largest cumulative gap; {percent(ks.expected)} expected by chance", True),
        ("Kuiper error", "kuiper", (kuiper.low, kuiper.high),
         f"range of the gap; {percent(kuiper.expected)} expected by chance", True),
        ("ECE", "ece", ece, f"mean gap of {BINS} bins of equal width", True),
        ("MCE", "mce", None, "largest gap of those bins", True),
        ("Brier score", "brier", brier, "mean squared error", False),
        ("log loss", "nll", nll, "mean negative log-likelihood (NLL)", False),
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
    weights = np.ones(test.n) if test.sample_weight is None else test.sample_weight
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


def _loss_intervals(curve: Curve) -> tuple[tuple[float, float], tuple[float, float]]:
    """Return mean ± 1.96 standard errors of the squared error and of the log loss."""
    p = curve.score
    clipped = np.clip(p, CLIP, 1.0 - CLIP)
    squares = _mean_interval(curve, (1.0 - p) ** 2, p**2)
    return squares, _mean_interval(curve, -np.log(clipped), -np.log1p(-clipped))


def _mean_interval(curve: Curve, if_hit: FloatArray, if_miss: FloatArray) -> tuple[float, float]:
    """Return mean ± 1.96 standard errors of what rows add, with clusters by Student's law.

    if_hit, if_miss : (m,) what a row adds at each score, by its outcome, at least 0
    """
    hits, misses = curve.hits, curve.count - curve.hits
    mean = float(hits @ if_hit + misses @ if_miss) / curve.n
    square = float(hits @ if_hit**2 + misses @ if_miss**2) / curve.n
    half = HALF_WIDTH_95 * sqrt(max(square - mean * mean, 0.0) / curve.effective_n)
    if curve.clusters is not None:
        few = max(curve.clusters.effective - 1.0, 1.0)
        off = (curve.clusters.sums(if_hit, if_miss) - mean * curve.clusters.weight) / curve.n
        error = sqrt(float(off @ off) * (1.0 + 1.0 / few))
        half = max(half, float(stdtrit(few, 1.0 - LEVEL / 2.0)) * error)
    return max(mean - half, 0.0), mean + half


def _ece_interval(curve: Curve) -> tuple[float, float] | None:
    if curve.n > _MANY_ROWS:
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


def class_rows(heat: ClassHeat) -> Table:
    """Return every class, or those with the largest errors where there are many."""
    order, ways = np.arange(heat.signed.size), _ways(heat)
    note = ""
    if order.size > _ALL_CLASSES:
        order = np.argsort(-np.abs(heat.signed), kind="stable")[:_WORST]
        note = f"The {_WORST} classes with the largest errors, of {heat.signed.size:,}."
    rows = tuple(
        (heat.names[i], f"{heat.count[i]:,.6g}", percent(float(heat.mean_score[i])),
         percent(float(heat.base_rate[i])), percent(float(heat.signed[i])),
         _pvalue(float(heat.pvalue[i])), ways[i] if heat.off[i] else "")
        for i in order
    )  # fmt: skip
    head = ("class", "rows", "mean score", "base rate", "signed KS", "p", "scores are")
    return Table(head, rows, note)


def class_words(heat: ClassHeat) -> str:
    """Say which classes are miscalibrated, and how large the errors are."""
    ways = [way if off else "" for way, off in zip(_ways(heat), heat.off, strict=True)]
    sizes = np.abs(heat.signed)
    return (
        f"{judge_many(heat.names, ways, tests_of_classes(sizes.size))} The largest KS error is "
        f"{percent(float(sizes.max()))}, the mean {percent(float(sizes.mean()))}."
    )


def _ways(heat: ClassHeat) -> list[str]:
    columns = zip(heat.mean_score, heat.base_rate, np.abs(heat.signed), strict=True)
    return [way_off(*map(float, row)) for row in columns]


def _pvalue(p: float) -> str:
    return format_pvalue(p, cell=True)


def commands(
    source: str,
    view: str | None,
    method: str,
    *,
    has_cal: bool,
    calibrate: bool = True,
    score_only: bool = False,
) -> tuple[tuple[str, str], ...]:
    """Return what to do next, as (command, why); without `calibrate`, only what measures."""
    file = shlex.quote(source)
    option = "" if view is None else f" --view {view}" + " --score-only" * score_only
    chosen = "" if method == "spline" else f" --method {method}"
    suffix = PurePath(source).suffix
    out = f"calibrated{suffix}" if suffix not in {"", ".p", ".pkl", ".h5"} else "calibrated.npz"
    if not has_cal:
        return (
            (f"ogive report {file} -o report.html --split 0.5",
             "Fit a calibrator on half of the rows, drawn at random, and test it on the rest."),
            (f"ogive measure {file} --view all", "Measure every view."),
        )  # fmt: skip
    further = (
        (f"ogive compare {file} --view vector", "Compare methods on whole vectors."),
        (f"ogive measure {file} --view all", "Measure every view and every class."),
    )  # fmt: skip
    if not calibrate:
        return further
    return (
        (f"ogive fit {file} -o cal.json{chosen}{option}", "Fit the calibrator on the cal part."),
        (f"ogive apply cal.json {file} -o {out}", "Calibrate the probabilities of a file."),
        ("ogive export cal.json --to onnx -o cal.onnx",
         "Use the calibrator where the model is served."),
        *further,
    )  # fmt: skip


def how_it_was_computed(before: Measurement, after: AfterCalibration | None) -> tuple[str, ...]:
    """Return notes on the method, for those who want to check."""
    ks = before.ks_test
    p = {
        "brownian": "the supremum of Brownian motion",
        "simulation": "simulation, since few or tied scores carry the variance",
        "bound": "Bennett's bound, which is never too small",
        "certain": "certainty: all scores are 0 or 1",
        "clusters": "random signs of whole clusters",
    }[ks.method]
    view = (
        f"The view is {before.view}: a score and its outcome (0 or 1) for each of {before.n:,} "
        "rows. Rows are sorted by score, and equal scores count as one point."
    )
    error = (
        "KS is the largest distance between cumulative outcomes and cumulative scores, divided by "
        f"the number of rows. Its p-value is from {p}; its 95 % interval holds all errors that the "
        "same test does not reject."
    )
    band = (
        f"The grey band is ± 2.24 sigma / N, sigma² the sum of p (1 {MINUS} p): a perfectly "
        "calibrated model leaves it once in twenty times."
    )
    intervals = (
        "The interval of ECE is a bootstrap interval corrected for bias, those of the Brier score "
        f"and the log loss are ± 1.96 standard errors, that of the {rate_name(before.view)} is "
        f"Wilson's. The log loss clips to [1e-7, 1 {MINUS} 1e-7]."
    )
    words = (
        "The verdict says miscalibrated where the calibration test, one p-value for many kinds of "
        "errors, rejects at 5 %. Whether to calibrate is decided by log loss (for matrices, of "
        "whole vectors): on the test set, together with what the default calibrator expects to "
        "save; without a calibration set, by what it expects to save, or by cross-validation."
    )
    notes = [view, error, words, band, intervals]
    if before.clusters is not None and before.design_effect is not None:
        alike = of_clusters(before.clusters, before.design_effect, before.n)
        notes.insert(1, f"{alike} P-values, intervals, folds and the band allow for that.")
    if after is not None:
        notes.append(
            f"The calibrator was fitted on {after.n:,} rows that were not measured here. No "
            "p-value is given for calibrated scores: the noise of the fit is part of what remains, "
            "and the band has room for it. Rows that fitted the calibrator get no band at all."
        )
        notes.append(
            "Methods are compared row by row on the test part: the difference in log loss to the "
            "best, with its standard error. Hall's transformation of Student's t says whether it "
            "is more than noise."
        )
    return tuple(notes)
