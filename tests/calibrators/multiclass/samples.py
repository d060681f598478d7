"""Logits that are too sure, fits without their warnings, and what calibrated vectors must keep."""

import warnings

import numpy as np

from ogive import Curve, Predictions, fit_spline, ks_error
from ogive.calibrators.log_values import rescaled
from ogive.calibrators.multiclass.compose import fit_multiclass
from ogive.errors import OgiveWarning
from ogive.rows.views import parse_view, score_block


def sample(rng, n=1500, K=5, scale=3.0, dtype=np.float64):
    """Logits that are three times too sure, and labels."""
    logits = scale * rng.normal(size=(n, K))
    labels = (logits / scale + rng.gumbel(size=(n, K))).argmax(axis=1)
    return logits.astype(dtype), labels


def parts(arrays):
    """The calibration set and the test set of an experiment."""
    kind = "logits" if "cal_logits" in arrays else "probs"
    return [
        Predictions(arrays[f"{part}_{kind}"], arrays[f"{part}_labels"], kind=kind)
        for part in ("cal", "test")
    ]


def quiet_fit(preds, method="platt", **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OgiveWarning)
        return fit_multiclass(preds, method, **options)


def view_ks(q, labels, view):
    return ks_error(Curve.from_predictions(Predictions(q, labels, kind="probs"), view))


def alone_ks(cal, test, view):
    """The KS error of a spline that is fitted to that view and nothing else."""
    gamma = fit_spline(Curve.from_predictions(cal, view))
    rows = score_block(test, parse_view(view), slice(0, test.n))
    with np.errstate(divide="ignore"):
        eta = np.log(rows.tail) - np.log1p(-rows.tail)
    return ks_error(
        Curve.from_scores(gamma.from_log_odds(np.where(rows.high, -eta, eta)), rows.hit)
    )


def check_decisions_and_calibration(cal, test, vector):
    """The spline's vectors keep every decision, and views are about as good as fitted alone."""
    gamma = quiet_fit(cal, "spline", multiclass=vector)
    q = gamma(test)
    before = test.ranking_values(slice(0, test.n)).argmax(axis=1)
    assert (q.argmax(axis=1) == before).all()
    assert (q.astype(np.float32).argmax(axis=1) == before).all()
    assert np.abs(q.sum(axis=1) - 1).max() < 1e-12
    noise = 0.5 / np.sqrt(test.n)  # a perfectly calibrated model shows up to 1.25 of this
    factor = gamma.factor if vector == "ranks" else 1.0
    alone = alone_ks(rescaled(cal, factor), rescaled(test, factor), "top-1")
    limit = max(1.3 * alone, 1.25 * noise)
    assert view_ks(q, test.labels, "top-1") <= limit
    for view in ("top-2", "top-3", "within-top-2", "within-top-3"):
        if vector == "ranks" and int(view[-1]) < test.K:  # "keep" calibrates the first rank only
            assert view_ks(q, test.labels, view) < 0.0125 + noise
