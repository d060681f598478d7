"""One result of every public name that returns one, with a name that tries to be markup."""

import functools
import tempfile
import warnings
from pathlib import Path

import numpy as np

import ogive

EVIL = "<script>alert(1)</script>"
#: Public names that return plain numbers, arrays, text, files or estimators, or nothing at all.
PLAIN = {
    *("best_threshold", "brackets", "brier", "brier_vector", "classwise_ks", "ece", "kde_ece"),
    *("ks_error", "kuiper_error", "mce", "nll", "nll_vector", "smooth_ece"),
    *("load", "read", "save", "scorers"),
}


@functools.cache
def data():
    """Return scores, outcomes, the groups of rows, their curve, curves of groups, and a matrix."""
    rng = np.random.default_rng(0)
    p = rng.random(300)
    y = (rng.random(300) < p**1.5).astype(int)
    g = rng.choice([EVIL, "b"], 300)
    curve = ogive.Curve.from_scores(p, y, view=EVIL)
    groups = {str(k): ogive.Curve.from_scores(p[g == k], y[g == k]) for k in np.unique(g)}
    logits = 2 * rng.normal(size=(300, 3))
    noise = rng.gumbel(size=logits.shape)
    names = np.array([EVIL, "b", "c"])
    labels = names[(logits + noise).argmax(axis=1)]
    matrix = ogive.Predictions(logits, labels, kind="logits", classes=names)
    return p, y, curve, groups, matrix


def _watch(kind):
    _, _, curve, groups, _ = data()
    score = curve.with_view("score")
    return kind().update(groups if kind is ogive.GroupWatch else score, "2026-05-01")


def _both(test, **options):
    return ogive.report({EVIL: test, "b": test}, **options)


def _shifted(p, curve):
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / name for name in ("cal.json", "out.json", "new.npz")]
        ogive.save(ogive.fit_spline(curve.with_view("score")), paths[0])
        np.savez(paths[2], scores=p)
        return ogive.shift_like(*paths, trained_at=0.4)


MAKERS = {
    "Curve": lambda p, y, curve, groups, matrix: curve,
    "CurveDisplay": lambda p, y, *_: ogive.CurveDisplay.from_predictions(y, p, name=EVIL),
    "CurveStream": lambda *_: ogive.CurveStream(),
    "GroupWatch": lambda *_: _watch(ogive.GroupWatch),
    "Predictions": lambda p, y, curve, groups, matrix: matrix,
    "Watch": lambda *_: _watch(ogive.Watch),
    "bootstrap": lambda p, y, curve, *_: ogive.bootstrap(curve, "ece", resamples=20),
    "calibrate": lambda p, y, *_: ogive.calibrate(p, y, method="platt"),
    "calibration_intercept": lambda p, y, curve, *_: ogive.calibration_intercept(curve),
    "calibration_slope": lambda p, y, curve, *_: ogive.calibration_slope(curve),
    "calibration_test": lambda p, y, curve, *_: ogive.calibration_test(curve),
    "classwise": lambda p, y, curve, groups, matrix: ogive.classwise(matrix),
    "compare": lambda p, y, *_: ogive.compare((p, y), (p, y), ["platt", "none"]),
    "cost_curve": lambda p, y, curve, *_: ogive.cost_curve(curve),
    "cross_fitted_gain": lambda p, y, curve, *_: ogive.cross_fitted_gain(curve, "platt"),
    "decide": lambda p, y, *_: ogive.decide(p, y, miss=5, alarm=1, method="platt"),
    "decompose": lambda p, y, curve, *_: ogive.decompose(curve),
    "expected_cost": lambda p, y, curve, *_: ogive.expected_cost(curve, miss=5, alarm=1),
    "expected_performance": lambda p, *_: ogive.expected_performance(p),
    "fit_groups": lambda p, y, curve, groups, _: ogive.fit_groups(groups, EVIL),
    "fit_multiclass": lambda p, y, curve, groups, matrix: ogive.fit_multiclass(matrix, "platt"),
    "fit_view": lambda p, y, curve, groups, matrix: ogive.fit_view(matrix),
    "gate": lambda p, y, curve, groups, _: ogive.gate(groups, max_ks=0.1),
    "ks_test": lambda p, y, curve, *_: ogive.ks_test(curve),
    "kuiper_test": lambda p, y, curve, *_: ogive.kuiper_test(curve),
    "largest_gap": lambda p, y, curve, *_: ogive.largest_gap(curve),
    "measure": lambda p, y, curve, *_: ogive.measure(curve),
    "measure_all": lambda p, y, curve, groups, matrix: ogive.measure_all(matrix),
    "measure_groups": lambda p, y, curve, groups, _: ogive.measure_groups(groups, EVIL),
    "net_benefit": lambda p, y, curve, *_: ogive.net_benefit(curve),
    "oe_ratio": lambda p, y, curve, *_: ogive.oe_ratio(curve),
    "refinement": lambda p, y, curve, *_: ogive.refinement(curve),
    "report": lambda p, y, *_: _both((p, y), title=EVIL),
    "score_rows": lambda p, y, curve, groups, matrix: ogive.score_rows(matrix),
    "shift_like": lambda p, y, curve, *_: _shifted(p, curve),
    "spiegelhalter": lambda p, y, curve, *_: ogive.spiegelhalter(curve),
    "spline_errors": lambda p, y, curve, *_: ogive.spline_errors(curve),
} | {
    f"fit_{name}": lambda *given, name=name: getattr(ogive, f"fit_{name}")(given[2])
    for name in ("beta", "histogram", "isotonic", "paper_spline", "platt", "spline", "venn_abers")
} | {
    f"fit_{name}": lambda *given, name=name: getattr(ogive, f"fit_{name}")(given[4])
    for name in ("dir_odir", "ms_odir", "temperature", "vector")
}  # fmt: skip


@functools.cache
def result(name):
    """Return the result of a public name."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ogive.errors.OgiveWarning)
        return MAKERS[name](*data())
