"""The report's numbers, tables, commands and notes, as words."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from math import sqrt
from pathlib import PurePath
from typing import TYPE_CHECKING

import numpy as np

from ogive.curve import Curve
from ogive.diagrams.graphs import wilson_of
from ogive.metrics.proper import CLIP
from ogive.metrics.resample import bootstrap
from ogive.plotting.marks import MINUS
from ogive.plotting.panels import percent
from ogive.report.graphs import Table
from ogive.studies.measure import measure
from ogive.views import rate_name, usual_views

if TYPE_CHECKING:
    from ogive.diagrams import ClassHeat
    from ogive.predictions import Predictions
    from ogive.report.model import Repair
    from ogive.studies.measurement import Measurement

_RESAMPLES = 200
_MANY_ROWS = 1_000_000  # above this the bootstrap is left out
_ALL_CLASSES = 30
_WORST = 20
_NORMAL = 1.959963984540054


@dataclass(frozen=True, slots=True)
class Number:
    """One line of the table of numbers: before with its interval, after, and what it means."""

    name: str
    before: str
    interval: str
    after: str
    meaning: str


def key_numbers(curve: Curve, before: Measurement, after: Measurement | None) -> tuple[Number, ...]:
    """Return the measures with 95 % intervals, and their values after the repair."""
    ks, kuiper = before.ks_test, before.kuiper_test
    brier, nll = _loss_intervals(curve)
    rows: list[tuple[str, str, tuple[float, float] | None, str, bool]] = [
        (rate_name(curve.view), "accuracy", wilson_of(curve.total_hits, curve.n),
         "share of outcomes that are 1", True),
        ("mean score", "mean_score", None, "mean of the scores", True),
        ("KS error", "ks", (ks.low, ks.high),
         f"largest cumulative gap; {percent(ks.expected)} expected by chance", True),
        ("Kuiper error", "kuiper", (kuiper.low, kuiper.high),
         f"range of the gap; {percent(kuiper.expected)} expected by chance", True),
        ("ECE", "ece", _ece_interval(curve), "mean gap of 15 bins of equal width", True),
        ("MCE", "mce", None, "largest gap of those bins", True),
        ("Brier score", "brier", brier, "mean squared error", False),
        ("log loss", "nll", nll, "mean negative log-likelihood (NLL)", False),
    ]  # fmt: skip
    return tuple(
        Number(
            name,
            _number(getattr(before, key), share),
            "" if ends is None else f"{_number(ends[0], share)} to {_number(ends[1], share)}",
            "" if after is None else _number(getattr(after, key), share),
            meaning,
        )
        for name, key, ends, meaning, share in rows
    )


def _number(value: float, share: bool) -> str:
    return percent(value) if share else f"{value:.4f}"


def _loss_intervals(curve: Curve) -> tuple[tuple[float, float], tuple[float, float]]:
    """Return mean ± 1.96 standard errors of the squared error and of the log loss."""
    p, hits, misses = curve.score, curve.hits, curve.count - curve.hits
    clipped = np.clip(p, CLIP, 1.0 - CLIP)
    rows = curve.n**2 / float(curve.square.sum())  # effective, for sampling weights
    results = []
    for if_hit, if_miss in (((1.0 - p) ** 2, p**2), (-np.log(clipped), -np.log1p(-clipped))):
        mean = float(hits @ if_hit + misses @ if_miss) / curve.n
        square = float(hits @ if_hit**2 + misses @ if_miss**2) / curve.n
        half = _NORMAL * sqrt(max(square - mean * mean, 0.0) / rows)
        results.append((max(mean - half, 0.0), mean + half))
    return results[0], results[1]


def _ece_interval(curve: Curve) -> tuple[float, float] | None:
    if curve.n > _MANY_ROWS:
        return None
    found = bootstrap(curve, "ece", resamples=_RESAMPLES)
    return found.low, found.high


def view_rows(preds: Predictions) -> Table:
    """Return the KS error and its companions for the views of ranks."""
    rows = []
    for name in usual_views(preds.K):
        m = measure(Curve.from_predictions(preds, name))
        ks = m.ks_test
        rows.append(
            (name, percent(m.accuracy), percent(m.mean_score), percent(ks.value),
             f"{percent(ks.low)} to {percent(ks.high)}", _pvalue(ks.pvalue), percent(m.ece))
        )  # fmt: skip
    head = ("view", "share of outcomes", "mean score", "KS", "95 % interval", "p", "ECE")
    return Table(head, tuple(rows))


def class_rows(heat: ClassHeat) -> Table:
    """Return every class, or those with the largest errors where there are many."""
    order = np.arange(heat.signed.size)
    note = ""
    if order.size > _ALL_CLASSES:
        order = np.argsort(-np.abs(heat.signed), kind="stable")[:_WORST]
        note = f"The {_WORST} classes with the largest errors, of {heat.signed.size:,}."
    rows = tuple(
        (heat.names[i], f"{heat.count[i]:,.6g}", percent(float(heat.signed[i])),
         _pvalue(float(heat.pvalue[i])), "off" if heat.off[i] else "")
        for i in order
    )  # fmt: skip
    return Table(("class", "rows", "signed KS", "p", ""), rows, note)


def class_words(heat: ClassHeat) -> str:
    """Say how many classes are off."""
    size, off = heat.signed.size, int(heat.off.sum())
    return (
        f"{off} of {size:,} classes are off: each class against the rest, KS tests at 5 % with "
        f"Holm's correction for {size:,} tests. The largest error is "
        f"{percent(float(np.abs(heat.signed).max()))}, the mean "
        f"{percent(float(np.abs(heat.signed).mean()))}."
    )


def _pvalue(p: float) -> str:
    return "< 0.0001" if p < 1e-4 else f"{p:.2g}"  # noqa: PLR2004


def commands(
    source: str, view: str | None, method: str, *, has_cal: bool
) -> tuple[tuple[str, str], ...]:
    """Return what to do next, as (command, why)."""
    file = shlex.quote(source)
    option = "" if view is None else f" --view {view}"
    chosen = "" if method == "spline" else f" --method {method}"
    suffix = PurePath(source).suffix
    out = f"repaired{suffix}" if suffix not in {"", ".p", ".pkl", ".h5"} else "repaired.npz"
    if not has_cal:
        return (
            (f"ogive report {file} -o report.html --split 0.5",
             "Fit a repair on half of the rows, drawn at random, and test it on the rest."),
            (f"ogive measure {file} --view all", "Measure every view."),
        )  # fmt: skip
    return (
        (f"ogive fit {file} -o cal.json{chosen}{option}", "Fit the repair on the cal part."),
        (f"ogive apply cal.json {file} -o {out}", "Repair the probabilities of a file."),
        ("ogive export cal.json --to onnx -o cal.onnx", "Put the repair into the serving stack."),
        (f"ogive compare {file} --view vector", "Compare methods on whole vectors."),
        (f"ogive measure {file} --view all", "Measure every view and every class."),
    )  # fmt: skip


def how_it_was_computed(before: Measurement, repair: Repair | None) -> tuple[str, ...]:
    """Return notes on the method, for those who want to check."""
    ks = before.ks_test
    p = {
        "brownian": "the supremum of Brownian motion",
        "simulation": "simulation, since few or tied scores carry the variance",
        "bound": "Bennett's bound, which is never too small",
        "certain": "certainty: all scores are 0 or 1",
    }[ks.method]
    view = (
        f"The view is {before.view}: a score and an outcome for each of {before.n:,} "
        "rows. Rows are sorted by score, and equal scores count as one point."
    )
    error = (
        "KS is the largest distance between cumulative hits and cumulative scores, divided by the "
        f"number of rows. Its p-value is from {p}; its 95 % interval holds all errors that the "
        "same test does not reject."
    )
    band = (
        f"The grey band is ± 2.24 sigma / N, sigma² the sum of p (1 {MINUS} p): a perfectly "
        "calibrated model leaves it once in twenty times."
    )
    intervals = (
        "The interval of ECE is a bootstrap interval corrected for bias, those of the Brier score "
        "and the log loss are ± 1.96 standard errors, that of the share of hits is Wilson's. The "
        f"log loss clips to [1e-7, 1 {MINUS} 1e-7]."
    )
    words = (
        "The verdict says miscalibrated where the calibration test, one p-value for many kinds of "
        "errors, rejects at 5 %. Whether to calibrate is decided by the log loss on the test set, "
        "and by what the default calibrator expects to save; for matrices, of whole vectors."
    )
    notes = [view, error, words, band, intervals]
    if repair is not None:
        notes.append(
            f"The repair was fitted on {repair.n:,} rows that were not measured here. No p-value "
            "is given for repaired scores: the noise of the fit is part of what remains, and the "
            "band has room for it. Rows that fitted the map get no band at all."
        )
        notes.append(
            "Methods are compared row by row on the test part: the difference in log loss to the "
            "best, with its standard error. Hall's transformation of Student's t says whether it "
            "is more than noise."
        )
    return tuple(notes)
