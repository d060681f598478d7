"""The report's commands, and its notes on how it was computed."""

from __future__ import annotations

import shlex
from pathlib import PurePath
from typing import TYPE_CHECKING

from ogive._wording import MINUS
from ogive.rows.tails import LOG_LOSS_CLIP
from ogive.rows.views import rate_name
from ogive.studies.layout import of_clusters

if TYPE_CHECKING:
    from ogive.report.calibrated import AfterCalibration
    from ogive.studies.measurement import Measurement


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
        f"Wilson's. The log loss takes no probability below {LOG_LOSS_CLIP:.1e}, as scikit-learn's."
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
