"""Which method to use, and the verdict on a calibrator or on methods compared."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ogive.calibrators.gain import Gain
from ogive.curve import Curve
from ogive.studies.fitting import TWO_CLASSES, VECTOR, apply, fit
from ogive.studies.gain import gain_of
from ogive.studies.losses import hall_t, scores_of
from ogive.studies.verdict import judge, look, spline_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ogive.calibrators.maps import Fitted
    from ogive.export.artifact import FittedOn
    from ogive.predictions import Predictions
    from ogive.studies.compare import MethodResult
    from ogive.studies.verdict import Verdict

DEFAULT_METHOD = "spline"


def judged_curve(preds: Predictions, view: str) -> Curve:
    """Return the curve that is tested: of whole vectors, the top class, or class 1 of two."""
    if view != VECTOR:
        return Curve.from_predictions(preds, view)
    return Curve.from_predictions(preds, "class-1" if preds.K == TWO_CLASSES else None)


def gain_on_test(fitted: Fitted, cal: Predictions, test: Predictions, method: str) -> Gain:
    """Return the log loss that a calibrator saves on a test set, and what its posterior expects."""
    view = fitted.view
    weights = np.ones(test.n) if test.sample_weight is None else test.sample_weight
    before = scores_of(apply(fit(cal, "none", view), test, view), test, view)[1]
    after = scores_of(apply(fitted, test, view), test, view)[1]
    share = weights / weights.sum()
    mean, error, t = hall_t(before - after, share)
    error = abs(mean / t) if t and np.isfinite(t) else error  # as t stands to normal quantiles
    known = _expected(cal, view, method)
    loss = float(np.sum(share * before))
    return Gain(method, view, cal.n, None, mean, error, loss, *known, tested_on=test.n)


def choose(methods: Sequence[MethodResult]) -> MethodResult:
    """Return the method to use: the default among those not significantly different from the best.

    methods : the lowest log loss first. If that is "none", it is returned.
    """
    best = methods[0]
    loss = next((row.nll for row in methods if row.method == "none"), np.inf)
    for row in methods:
        same = row.tied_with_best or row.too_few_rows_to_tell
        if row.method == DEFAULT_METHOD and same and row.nll < loss:
            return row
    return best


def judge_methods(
    cal: Predictions, test: Predictions, methods: Sequence[MethodResult], view: str
) -> Verdict:
    """Return the verdict on methods compared: of the recommended one, on the test set."""
    chosen = choose(methods)
    tried = chosen.method
    if tried == "none" and len(methods) > 1:
        others = [row for row in methods if row.method != "none"]
        tried = next((r.method for r in others if r.method == DEFAULT_METHOD), others[0].method)
    gain = gain_on_test(fit(cal, tried, view), cal, test, tried)
    seen = look(judged_curve(test, view), fitted_on=test.calibrated_on)
    lead = f"Use {tried}."
    decision = judge(seen, gain, method=tried, lead=lead)
    same = [
        row.method for row in methods if row.tied_with_best and row.method not in {tried, "none"}
    ]
    unsure = [row.method for row in methods if row.too_few_rows_to_tell]
    more = []
    if decision.calibrate and same:
        why = " (spline is the default, and preferred)" if tried == DEFAULT_METHOD else ""
        more.append(f"Not significantly different: {', '.join(same)}{why}.")
    if unsure and not decision.too_few_rows:
        more.append(f"Too few rows to tell: {', '.join(unsure)}.")
    return judge(seen, gain, method=tried, more=more, lead=lead)


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
        known = _expected(data, fitted.view, method)
        gain = Gain(method, fitted.view, fitted.n, info.folds, before - after, None, before, *known)
    return judge(seen, gain, method=method)


def _expected(
    cal: Predictions | Curve, view: str, method: str
) -> tuple[float | None, float | None]:
    """Return what the posterior of the spline expects, per row and in total, where it has one."""
    if method != DEFAULT_METHOD:
        return None, None
    if not isinstance(cal, Curve):
        if view == VECTOR and cal.K != TWO_CLASSES:
            return None, None
        cal = judged_curve(cal, view)
    gamma: Any = spline_of(cal)
    return gamma.expected_gain, gamma.expected_total
