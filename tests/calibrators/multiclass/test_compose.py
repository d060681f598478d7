"""What all full vectors must do, however they are made."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import softmax

from ogive import Predictions, load, save
from ogive.calibrators import METHODS, MULTICLASS
from ogive.calibrators.multiclass.compose import fit_multiclass
from ogive.errors import FallbackWarning, InvalidInput, UnknownName
from ogive.export import to_onnx
from tests import strategies
from tests.calibrators.multiclass.samples import quiet_fit, sample

# Every way with a method of curves, and the two that know of classes.
CASES = [(way, "platt") for way in MULTICLASS if way != "free"] + [
    ("keep", "spline"),
    ("free", "spline"),
]


@pytest.mark.filterwarnings("ignore::ogive.errors.LooksLikeProbabilities")
@pytest.mark.parametrize(("way", "method"), CASES)
@given(data=strategies.matrices(), other=st.sampled_from(["platt", "isotonic", "beta", "none"]))
def test_rows_are_probabilities_whatever_the_matrix(way, method, data, other):
    logits, labels = data
    method = other if method == "platt" else method
    preds = Predictions(logits, labels, kind="logits")
    q = quiet_fit(preds, method, multiclass=way)(preds)
    assert q.shape == logits.shape
    assert (q >= 0).all()
    np.testing.assert_allclose(q.sum(axis=1), 1.0, atol=1e-12)
    if way in {"keep", "ranks"}:
        assert (q.argmax(axis=1) == logits.argmax(axis=1)).all()
        assert (q.astype(np.float32).argmax(axis=1) == logits.argmax(axis=1)).all()


@pytest.mark.parametrize(
    ("way", "method"), [*CASES, ("ranks", "isotonic"), ("ovr", "paper-spline")]
)
def test_the_round_trip_through_the_artifact_is_exact(way, method, rng, tmp_path):
    logits, labels = sample(rng)
    preds = Predictions(logits, labels, kind="logits")
    gamma = quiet_fit(preds, method, multiclass=way)
    save(gamma, tmp_path / "cal.json")
    again = load(tmp_path / "cal.json")
    assert again == gamma
    assert type(again) is type(gamma)
    assert json.loads((tmp_path / "cal.json").read_text())["method"] == (
        "ranks" if way == "keep" and method != "spline" else way
    )
    np.testing.assert_array_equal(again(preds), gamma(preds))


@pytest.mark.parametrize(("way", "method"), CASES)
def test_weights_repeats_and_order_give_the_same_vectors(way, method, rng):
    logits, labels = sample(rng, n=600)
    weights = rng.integers(0, 4, 600)
    weighted = fit_multiclass(
        Predictions(logits, labels, kind="logits", sample_weight=weights), method, multiclass=way
    )
    rows = rng.permutation(np.repeat(np.arange(600), weights))
    repeated = fit_multiclass(
        Predictions(logits[rows], labels[rows], kind="logits"), method, multiclass=way
    )
    fresh = Predictions(sample(rng)[0], kind="logits")
    np.testing.assert_allclose(weighted(fresh), repeated(fresh), atol=1e-8)


@pytest.mark.parametrize(("way", "method"), [*CASES, ("ranks", "spline"), ("ovr", "isotonic")])
@pytest.mark.parametrize("kind", ["logits", "probs"])
def test_weight_0_is_no_row(way, method, kind, rng):
    logits, labels = sample(rng, n=400)
    weights = rng.integers(1, 4, 400).astype(float)
    weights[:80] = 0.0
    logits[:40] *= 30.0  # far beyond all others, and the smallest masses of all
    values = logits if kind == "logits" else softmax(logits, axis=1)
    whole = Predictions(values, labels, kind=kind, sample_weight=weights)
    part = Predictions(values[80:], labels[80:], kind=kind, sample_weight=weights[80:])
    a, b = (quiet_fit(preds, method, multiclass=way)(whole) for preds in (whole, part))
    np.testing.assert_allclose(a, b, atol=1e-12)


@pytest.mark.parametrize("method", ["platt", "spline", "isotonic"])
@pytest.mark.parametrize("way", ["ranks", "ovr", "every-rank"])
def test_sampling_weights_have_no_unit(way, method, rng):
    # 300 rows, of which fewer than 200 do not have their class first: their method is Platt's.
    logits, labels = sample(rng, n=300, K=6, scale=1.0)
    weights = rng.uniform(0.5, 2.0, 300)
    both = [
        quiet_fit(
            Predictions(
                logits, labels, kind="logits", sample_weight=unit * weights, weight_kind="sampling"
            ),
            method,
            multiclass=way,
        )(Predictions(logits, kind="logits"))
        for unit in (1.0, 1000.0)
    ]
    np.testing.assert_allclose(*both, atol=1e-9)


@pytest.mark.parametrize(("way", "method"), CASES)
def test_threads_change_nothing(way, method, rng):
    logits, labels = sample(rng, n=3000, K=40)
    preds = Predictions(logits, labels, kind="logits")
    one, two = (fit_multiclass(preds, method, multiclass=way, n_jobs=t) for t in (1, 2))
    assert one == two
    np.testing.assert_array_equal(one(preds, n_jobs=1), one(preds, n_jobs=2))


@pytest.mark.parametrize(("way", "method"), CASES)
@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_small_floats_give_the_same_up_to_their_rounding(way, method, dtype, rng):
    logits, labels = sample(rng, dtype=dtype)
    small = fit_multiclass(Predictions(logits, labels, kind="logits"), method, multiclass=way)
    large = Predictions(logits.astype(np.float64), labels, kind="logits")
    np.testing.assert_allclose(
        small(Predictions(logits, kind="logits")),
        fit_multiclass(large, method, multiclass=way)(large),
        atol=1e-6,
    )


@pytest.mark.parametrize(("way", "method"), CASES)
def test_exact_zeros_and_one_hot_rows_are_no_certainty(way, method, rng):
    K = 6
    probs = rng.dirichlet(np.full(K, 0.1), 3000)
    probs[probs < 1e-3] = 0.0
    probs[:400] = np.eye(K)[rng.integers(0, K, 400)]
    probs /= probs.sum(axis=1, keepdims=True)
    labels = np.where(rng.random(3000) < 0.8, probs.argmax(axis=1), rng.integers(0, K, 3000))
    preds = Predictions(probs, labels, kind="probs")
    q = fit_multiclass(preds, method, multiclass=way)(preds)
    own = q[np.arange(3000), labels]
    assert own.min() > 1e-4  # a fifth of the labels had probability 0 before
    one_hot = q[:400].max(axis=1).mean()
    assert one_hot == pytest.approx(0.83, abs=0.12)


@pytest.mark.parametrize(("way", "method"), CASES)
def test_a_class_without_any_row_gets_little(way, method, rng):
    logits, labels = sample(rng, K=4)
    labels[labels == 2] = 3
    preds = Predictions(logits, labels, kind="logits")
    q = quiet_fit(preds, "isotonic" if method == "platt" else method, multiclass=way)(preds)
    assert np.isfinite(q).all()
    if way == "free":
        assert q[:, 2].mean() < 0.02
    if way == "ovr":
        assert q[:, 2].mean() < 0.01
        with pytest.warns(FallbackWarning, match=r"1 of 4 classes \(the first: 2\)"):
            fit_multiclass(preds, "isotonic", multiclass=way)


@pytest.mark.parametrize(("way", "method"), CASES)
def test_a_thousand_classes_work(way, method, rng):
    logits, labels = sample(rng, n=60, K=1000)
    preds = Predictions(logits, labels, kind="logits")
    q = quiet_fit(preds, method, multiclass=way)(preds)
    np.testing.assert_allclose(q.sum(axis=1), 1.0, atol=1e-12)


#: Every way that reads columns, with every method; and those that know of classes.
OF_ANY_SCALE = [
    (way, name)
    for way in ("ranks", "ovr", "every-rank")
    for name, method in METHODS.items()
    if method.reads == "curve" and name != "none"
] + [("keep", "spline"), ("free", "spline")]


@pytest.mark.parametrize("K", [2, 4])
@pytest.mark.parametrize(("way", "method"), OF_ANY_SCALE)
def test_logits_of_any_scale_give_the_same_answer(way, method, K, rng):
    logits, labels = sample(rng, n=500, K=K)
    fresh = 3.0 * rng.normal(size=(100, K))

    def answer(scale):
        gamma = quiet_fit(
            Predictions(scale * logits, labels, kind="logits"), method, multiclass=way
        )
        return gamma(Predictions(scale * fresh, kind="logits"))

    usual = answer(1.0)
    for scale in (1e-6, 1e-3, 0.3, 7.0, 1e3, 1e6):
        np.testing.assert_allclose(answer(scale), usual, atol=1e-6)


@pytest.mark.parametrize("kind", ["logits", "probs"])
@pytest.mark.parametrize("K", [2, 3, 5])
@pytest.mark.parametrize("way", ["ranks", "ovr", "every-rank"])
def test_exports_know_the_factor_of_logits(way, K, kind, rng):
    logits, labels = sample(rng, n=400, K=K, scale=2000.0)
    gamma = quiet_fit(Predictions(logits, labels, kind="logits"), "isotonic", multiclass=way)
    assert gamma.factor < 1e-2
    rows = logits[:50]
    if kind == "probs":
        rows = softmax(rows / 500.0, axis=1)
        rows[:2] = np.eye(K)[:2]
        rows[2] = np.append(0.0, np.full(K - 1, 1.0 / (K - 1)))
    wanted = gamma(Predictions(rows, kind=kind))
    pytest.importorskip("onnxruntime")
    found = to_onnx.run(to_onnx.write(gamma, kind=kind, dtype="float64"), rows, "float64")
    np.testing.assert_allclose(found, wanted, atol=1e-9)


def test_one_column_is_the_curve_of_class_1(rng):
    scores = rng.random(2000)
    hits = rng.random(2000) < scores**3
    preds = Predictions(scores, hits, kind="probs")
    for way, method in CASES:
        q = fit_multiclass(preds, method, multiclass=way)(preds)
        assert q.shape == (2000, 2)
        assert ((q[:, 1] > 0.5) != (scores > 0.5)).any()  # the decision moves
        assert q[:, 1].mean() == pytest.approx(hits.mean(), abs=2e-3)


def test_what_cannot_be_is_refused(rng):
    logits, labels = sample(rng, n=50)
    preds = Predictions(logits, labels, kind="logits")
    with pytest.raises(UnknownName, match="Did you mean 'keep'"):
        fit_multiclass(preds, "platt", multiclass="kep")
    with pytest.raises(UnknownName, match="Did you mean 'platt'"):
        fit_multiclass(preds, "plat")
    with pytest.raises(InvalidInput, match="has no labels"):
        fit_multiclass(Predictions(logits, kind="logits"), "platt")
    with pytest.raises(InvalidInput, match="'free' by class structure is for method='spline'"):
        fit_multiclass(preds, "platt", multiclass="free")
    with pytest.raises(InvalidInput, match="whole number >= 1"):
        fit_multiclass(preds, "platt", ranks=0)
    with pytest.raises(InvalidInput, match="5 classes, but the calibrator was fitted on 3"):
        fit_multiclass(Predictions(logits[:, :3], labels % 3, kind="logits"), "platt")(preds)
