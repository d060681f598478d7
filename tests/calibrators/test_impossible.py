"""Impossible classes keep probability 0 under every method, every way, and in every export."""

import importlib
from dataclasses import replace

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from ogive import (
    CalibratedClassifier,
    IsotonicCalibrator,
    Predictions,
    TemperatureCalibrator,
    VectorCalibrator,
    load,
    save,
)
from ogive.calibrators.multiclass.compose import fit_multiclass
from ogive.errors import InvalidInput, OgiveWarning
from ogive.export.targets import TARGETS, export
from ogive.studies.fitting import fit

WAYS = [
    *(("spline", way) for way in ("keep", "free", "ranks", "ovr", "every-rank")),
    *((name, way) for name in ("isotonic", "beta", "platt") for way in ("keep", "ovr")),
    ("histogram", "every-rank"),
    *((name, "keep") for name in ("temperature", "vector", "none")),
]


def options_missing(rng, n=500, K=4, kind="logits"):
    """Return predictions in which a quarter of the classes but the first is missing."""
    z = 3 * rng.normal(size=(n, K))
    z[:, 1:][rng.random((n, K - 1)) < 0.25] = -np.inf
    labels = (z / 2 + rng.gumbel(size=z.shape)).argmax(axis=1)
    values = z if kind == "logits" else np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
    return Predictions(values, labels, kind=kind), z == -np.inf


@pytest.mark.parametrize(("method", "way"), WAYS)
@pytest.mark.filterwarnings("ignore::ogive.errors.FallbackWarning")
def test_in_the_library(method, way, rng):
    preds, missing = options_missing(rng)
    gamma = fit_multiclass(preds, method, multiclass=way)
    q = gamma(preds)
    assert (q[missing] == 0.0).all()
    np.testing.assert_allclose(q.sum(axis=1), 1.0, atol=1e-12)
    if way in {"keep", "ranks"} and method != "vector":
        np.testing.assert_array_equal(q.argmax(axis=1), preds.values.argmax(axis=1))
    # given as probabilities, a 0 may be rounding, unless it is said not to be
    probs = Predictions(preds.probabilities(), kind="probs")
    said = replace(gamma, impossible="zero")
    assert (said(probs)[missing] == 0.0).all()
    if method in {"platt", "beta"}:
        assert gamma(probs)[missing].max() > 0.0


@pytest.mark.parametrize("to", [*TARGETS])
@pytest.mark.parametrize(
    ("method", "way"), [("isotonic", "ranks"), ("spline", "keep"), ("vector", "keep")]
)
def test_in_exports(to, method, way, rng, tmp_path):
    if to == "python" or (to == "sql" and method != "vector"):
        pytest.skip("no such form")
    room = pytest.importorskip({"onnx": "onnxruntime", "torch": "torch"}.get(to, "numpy"))
    assert room
    preds, missing = options_missing(rng, n=200)
    gamma = fit_multiclass(preds, method, multiclass=way)
    out = tmp_path / f"x.{to}"
    arrays = to in {"onnx", "torch"}
    export(gamma, to, out, points=4000, **({"dtype": "float64"} if arrays else {}))
    target = importlib.import_module(TARGETS[to].module)
    contents = out.read_bytes() if arrays else out.read_text()
    if to == "sql":
        found = target.run(contents, preds.values, "logit_")
    else:
        found = target.run(contents, preds.values, *(["float64"] if arrays else []))
    assert (np.asarray(found)[missing] == 0.0).all()


def test_the_top_keeps_its_calibrated_probability(rng):
    preds, missing = options_missing(rng, n=2000)
    gamma = fit_multiclass(preds, "isotonic", multiclass="ranks")
    top = gamma.maps[0]
    choice = preds.values.argmax(axis=1)
    several = (~missing).sum(axis=1) > 2
    wanted = top(preds.times(gamma.factor).probabilities().max(axis=1))
    q = gamma(preds)[np.arange(preds.n), choice]
    assert np.median(np.abs(q - wanted)[several]) < 1e-9


def test_a_row_without_any_possible_probability_stays_as_it_was():
    z = np.array([[0.0, -np.inf, 1.0]] * 4 + [[3.0, 0.0, 1.0]] * 40)
    labels = np.array([0, 2, 0, 2] + [0] * 20 + [1] * 20)
    preds = Predictions(z, labels, kind="logits")
    gamma = fit_multiclass(preds, "none", multiclass="ovr")

    class Nothing(type(gamma)):
        def _applied(self, high, tail):
            return np.zeros(tail.shape) * high

    nothing = Nothing(**vars(gamma))
    np.testing.assert_allclose(nothing(preds)[0], preds.probabilities()[0])
    np.testing.assert_allclose(nothing(preds)[-1], 1 / 3)


def test_labels_on_impossible_classes_are_counted(rng):
    preds, missing = options_missing(rng)
    labels = preds.labels.copy()
    rows = np.flatnonzero(missing[:, 2])[:3]
    labels[rows] = 2
    wrong = Predictions(preds.values, labels, kind="logits")
    said = r"the true class of 3 of 500 rows is impossible"
    with pytest.warns(OgiveWarning, match=said):
        fit_multiclass(wrong, "platt")
    with pytest.warns(OgiveWarning, match=said):
        fit(wrong, "temperature", "vector")
    for estimator in (IsotonicCalibrator(), VectorCalibrator(), TemperatureCalibrator()):
        with pytest.warns(OgiveWarning, match=said):
            estimator.fit(wrong.values, labels)


def test_estimators_take_it_and_artifacts_keep_it(rng, tmp_path):
    preds, missing = options_missing(rng, kind="probs")
    for make in (IsotonicCalibrator, TemperatureCalibrator):
        cal = make(kind="probs", impossible="zero").fit(preds.values, preds.labels)
        assert (cal.predict_proba(preds.values)[missing] == 0.0).all()
        save(cal.map_, tmp_path / "cal.json")
        again = load(tmp_path / "cal.json")
        assert again.impossible == "zero"
        assert (again(preds)[missing] == 0.0).all()
    with pytest.raises(InvalidInput, match="`impossible` must be None or 'zero', not 'no'"):
        IsotonicCalibrator(kind="probs", impossible="no").fit(preds.values, preds.labels)


def test_a_classifier_takes_it(rng):
    X = rng.normal(size=(600, 2))
    y = (X[:, 0] + rng.normal(size=600) > 0).astype(int) + (X[:, 1] > 1)
    model = DecisionTreeClassifier(max_depth=3, random_state=0)
    cal = CalibratedClassifier(model, method="isotonic", impossible="zero")
    with pytest.warns(
        OgiveWarning, match="is impossible \\(probability 0\\), and keeps probability 0"
    ):
        cal.fit(X, y)
    zero = cal.models_[0].predict_proba(X) == 0.0
    assert zero.any()
    assert (cal.predict_proba(X)[zero] == 0.0).all()
