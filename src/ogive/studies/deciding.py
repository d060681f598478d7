"""Which method to use, and the verdict on a calibrator or on methods compared."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

from ogive._wording import TAKES_LONG, others_words
from ogive.calibrators import SCORE_ONLY, read_method
from ogive.calibrators.gain import Certain, Gain
from ogive.calibrators.multiclass.class_view import ClassViewMap
from ogive.calibrators.multiclass.summary import VectorSummary
from ogive.calibrators.spline_summary import SplineSummary
from ogive.curve import Curve
from ogive.errors import OgiveWarning
from ogive.studies.fitted_on import (
    FOLDS,
    cross_fitted,
    cross_validated_log_loss,
    fitted_on,
    method_of,
)
from ogive.studies.fitting import (
    TWO_CLASSES,
    VECTOR,
    apply,
    fit,
    reads_all_columns,
)
from ogive.studies.gain import gain_of
from ogive.studies.losses import certain_of, exact_rows, hall_t, scores_of
from ogive.studies.verdict import judge, look
from ogive.studies.where_off import spline_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ogive._typing import FloatArray
    from ogive.calibrators.maps import Fitted
    from ogive.calibrators.matrix_map import MatrixMap
    from ogive.export.artifact import FittedOn
    from ogive.rows.predictions import Predictions
    from ogive.studies.compare import MethodResult
    from ogive.studies.fitting import Rows
    from ogive.studies.verdict import Seen, Verdict

Summary = TypeVar("Summary", bound=SplineSummary | VectorSummary)

DEFAULT_METHOD = "spline"
#: Numbers that the fits of a decision may go through, fold after fold: about two seconds. Beyond,
#: measuring would be slow, and the verdict names the command that decides.
MAX_NUMBERS_TO_DECIDE = 800_000
_SHARE_OF_FOLDS = FOLDS - 1  # how often cross-validation goes through the rows


class Decided(NamedTuple):
    """What decides whether a matrix is calibrated: the gain of whole vectors.

    more : the sentence that says what was skipped; seen : the rows that are judged, if they are
    those of another view than the one that is shown
    """

    gain: Gain | None
    more: tuple[str, ...] = ()
    seen: Seen | None = None


def decide(preds: Predictions, view: str, cal: Predictions | None = None) -> Decided:
    """Decide whether the default method is worth it, on a test set or cross-validated.

    Parameters
    ----------
    preds : Predictions
        The rows that are judged.
    view : str
        What is calibrated; ``"vector"``: whole vectors.
    cal : Predictions, optional
        Rows to fit on; `preds` are then the test set.
    """
    rows = preds if cal is None else cal
    times = 1 if cal is not None or preds.K == TWO_CLASSES else _SHARE_OF_FOLDS
    columns = view == VECTOR or reads_all_columns(rows, DEFAULT_METHOD, view)
    if columns and times * rows.n * rows.K > MAX_NUMBERS_TO_DECIDE:
        command = "ogive fit FILE -o cal.json" if cal is None else "ogive compare FILE"
        command += "" if view == VECTOR else f" --view {view}"
        return Decided(None, (TAKES_LONG.format(n=rows.n, K=rows.K, command=command),))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OgiveWarning)  # nothing is used of what is fitted here
        gain = _gain(preds, view, cal, columns=columns)
    two = view == VECTOR and preds.K == TWO_CLASSES
    return Decided(gain, seen=look(judged_curve(preds, view)) if two else None)


def _gain(preds: Predictions, view: str, cal: Predictions | None, *, columns: bool) -> Gain | None:
    if cal is not None:
        return gain_on_test(fit(cal, DEFAULT_METHOD, view), cal, preds, DEFAULT_METHOD)
    if not columns or preds.K == TWO_CLASSES:
        return gain_of(preds, fit(preds, DEFAULT_METHOD, view))
    found = cross_validated_log_loss(preds, DEFAULT_METHOD, view)
    if found is None:
        return None
    weights = preds.sample_weight
    n = preds.n if weights is None else float(weights.sum())
    gain = Gain(DEFAULT_METHOD, view, n, FOLDS, found[0] - found[1], None, found[0])
    return _with_certain(_of_clusters(gain, preds), preds)


def _of_clusters(gain: Gain, data: Predictions | Curve) -> Gain:
    """Return a cross-validated gain whose total counts as many rows as the clusters are worth."""
    if data.clusters is None or gain.expected_total is not None:
        return gain
    curve = data if isinstance(data, Curve) else judged_curve(data, gain.view)
    return replace(gain, expected_total=curve.independent_n * gain.value)


def _with_certain(gain: Gain, data: Predictions | Curve) -> Gain:
    """Return a cross-validated gain with that of all rows without an exact 0 or 1.

    Rows are cross-fitted once more, where some are exact.
    """
    if isinstance(data, Curve) or gain.folds is None:
        return gain
    n = float(data.row_weights.sum())
    if not exact_rows(data, gain.view).any():
        return replace(gain, certain=Certain(0.0, n))
    rows = cross_fitted(data, gain.method, gain.view, gain.folds)
    assert rows is not None  # noqa: S101 - it was found before
    return replace(gain, certain=certain_of(data, gain.view, *_losses(rows, data, gain.view)))


def _losses(rows: Rows, data: Predictions, view: str) -> tuple[FloatArray, FloatArray]:
    """Return the log losses of rows as they are, and what calibrated ones save of them, (N,)."""
    as_is = apply(fit(data, "none", view), data, view)
    before, after = (scores_of(one, data, view)[1] for one in (as_is, rows))
    return before, before - after


def judged_curve(preds: Predictions, view: str) -> Curve:
    """Return the curve that is tested: of whole vectors, the top class, or class 1 of two."""
    if view != VECTOR:
        return Curve.from_predictions(preds, view)
    return Curve.from_predictions(preds, "class-1" if preds.K == TWO_CLASSES else None)


def gain_on_test(fitted: Fitted, cal: Predictions, test: Predictions, method: str) -> Gain:
    """Return the log loss that a calibrator saves on a test set, and what its posterior expects."""
    view = fitted.view
    before, saved = _losses(apply(fitted, test, view), test, view)
    share = test.row_weights / test.row_weights.sum()
    mean, error, t = hall_t(saved, share, test.clusters)
    error = abs(mean / t) if t and np.isfinite(t) else error  # as t stands to normal quantiles
    known = _expected(cal, fitted, method)
    loss = float(np.sum(share * before))
    certain = certain_of(test, view, before, saved)
    return Gain(method, view, cal.n, None, mean, error, loss, *known, test.n, certain)


def choose(methods: Sequence[MethodResult]) -> MethodResult:
    """Return the method to use: the default among those not significantly different from the best.

    methods : the lowest log loss first. If that is "none", it is returned. The default by the score
    alone is shown beside the default, and not recommended in place of it.
    """
    named = {row.method for row in methods}
    if DEFAULT_METHOD in named:
        methods = [row for row in methods if row.method != f"{DEFAULT_METHOD}:{SCORE_ONLY}"]
    best = methods[0]
    loss = next((row.nll for row in methods if row.method == "none"), np.inf)
    for row in methods:
        same = row.tied_with_best or row.too_few_rows_to_tell
        if row.method == DEFAULT_METHOD and same and row.nll < loss:
            return row
    return best


def judge_methods(
    cal: Predictions,
    test: Predictions,
    methods: Sequence[MethodResult],
    view: str,
    *,
    score_only: bool = False,
) -> Verdict:
    """Return the verdict on methods compared: of the recommended one, on the test set."""
    chosen = choose(methods)
    tried = chosen.method
    if tried == "none" and len(methods) > 1:
        others = [row for row in methods if row.method != "none"]
        tried = next((r.method for r in others if r.method == DEFAULT_METHOD), others[0].method)
    if view == VECTOR:
        tried = tried.removesuffix(f":{SCORE_ONLY}")  # whole vectors have no such way
    gamma = fit(cal, tried, view, score_only=score_only)
    gain = gain_on_test(gamma, cal, test, tried)
    seen = look(judged_curve(test, view), fitted_on=test.calibrated_on)
    lead = f"Use {tried}."
    decision = judge(seen, gain, method=tried, lead=lead)
    more = [] if decision.too_few_rows else _of_others(methods, tried, bool(decision.calibrate))
    return judge(seen, gain, method=tried, more=more, lead=lead)


def _of_others(methods: Sequence[MethodResult], tried: str, calibrate: bool) -> list[str]:
    """Say which other methods may be as good as the recommended one."""
    alone = f"{DEFAULT_METHOD}:{SCORE_ONLY}"
    others = [row for row in methods if row.method not in {tried, "none", alone}]
    same = [row.method for row in others if row.tied_with_best]
    unsure = [row.method for row in others if row.too_few_rows_to_tell]
    why = " (spline is the default, and preferred)" if tried == DEFAULT_METHOD else ""
    noisy = any(row.method == tried and row.too_few_rows_to_tell for row in methods)
    return others_words(same, unsure, calibrate=calibrate, noisy=noisy, why=why)


def judge_fit(
    data: Predictions | Curve, fitted: Fitted, info: FittedOn, test: Predictions | None = None
) -> Verdict:
    """Return the verdict on a calibrator: on a test set if there is one, else cross-validated.

    info : what `ogive.studies.fitted_on.fitted_on` found
    """
    method = info.method
    if test is not None and not isinstance(data, Curve):
        gain: Gain | None = gain_on_test(fitted, data, test, method)
        seen = look(judged_curve(test, fitted.view), fitted_on=test.calibrated_on)
        return judge(seen, gain, method=method)
    seen = look(data if isinstance(data, Curve) else judged_curve(data, fitted.view))
    gain = gain_of(data, fitted, cv=info.folds or 0)
    before, after = info.log_loss_before, info.log_loss_after
    if gain is None and before is not None and after is not None and method != "none":
        known = _expected(data, fitted, method)
        gain = Gain(method, fitted.view, fitted.n, info.folds, before - after, None, before, *known)
        gain = _with_certain(_of_clusters(gain, data), data)
    return judge(seen, gain, method=method)


def with_verdict(summary: Summary, calibrator: MatrixMap, preds: Predictions) -> Summary:
    """Return the summary of a calibrator with the verdict on the rows it was fitted to.

    Methods that take minutes are not cross-validated: nothing is decided then.
    """
    own = gain_of(preds, calibrator, cv=0)
    slow = read_method(method_of(calibrator)).slow
    info = fitted_on(preds, calibrator, cv=0 if own is not None or slow else FOLDS)
    verdict = judge_fit(preds, calibrator, info)
    found: Any = {"decision": verdict.word, "verdict": str(verdict)}
    if isinstance(summary, VectorSummary):
        found |= {key: getattr(verdict, key) for key in ("log_loss_before", "log_loss_after")}
    return replace(summary, **found)


def _expected(
    cal: Predictions | Curve, fitted: Fitted, method: str
) -> tuple[float | None, float | None]:
    """Return what the posterior of the spline expects, per row and in total, where it has one."""
    if method != DEFAULT_METHOD or isinstance(fitted, ClassViewMap):
        return None, None
    if not isinstance(cal, Curve):
        if fitted.view == VECTOR and cal.K != TWO_CLASSES:
            return None, None
        cal = judged_curve(cal, fitted.view)
    gamma = spline_of(cal)
    return gamma.expected_gain, gamma.expected_total
