import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax

from ogive import Curve, Predictions, ks_error, load, save
from ogive.calibrators import MULTICLASS, log_values
from ogive.calibrators.scaling.odir import fit_ms_odir
from ogive.calibrators.scaling.temperature import TemperatureMap, fit_temperature
from ogive.calibrators.scaling.vector import VectorMap, fit_vector
from ogive.errors import FallbackWarning
from tests import naive
from tests.export.calibrators import NAMES, fitted


def sample(rng, n=600, K=4):
    logits = 3.0 * rng.normal(size=(n, K))
    truth = logits * rng.uniform(0.2, 0.6, K) + rng.normal(size=K)
    return logits, (truth + rng.gumbel(size=(n, K))).argmax(axis=1)


def loss(gamma, logits, labels):
    z = naive.centred(logits)
    return naive.matrix_loss(np.diag(gamma.factor), gamma.offset, z, labels)


def test_it_is_the_minimum_of_the_slow_definition(rng):
    logits, labels = sample(rng, n=80, K=3)
    gamma = fit_vector(Predictions(logits, labels, kind="logits"))

    def slow(theta):
        return naive.matrix_loss(np.diag(theta[:3]), theta[3:], naive.centred(logits), labels)

    best = minimize(slow, [1, 1, 1, 0, 0, 0], method="Nelder-Mead", options={"maxiter": 1500})
    assert loss(gamma, logits, labels) <= best.fun + 1e-7


def test_the_slope_is_zero_at_the_answer(rng):
    logits, labels = sample(rng, n=3000)
    gamma = fit_vector(Predictions(logits, labels, kind="logits"))
    z = naive.centred(logits)
    residual = softmax(z * gamma.factor + gamma.offset, axis=1) - np.eye(4)[labels]
    assert np.abs(residual.mean(axis=0)).max() < 1e-5
    assert np.abs((residual * z).mean(axis=0)).max() < 1e-5
    assert gamma.offset.sum() == pytest.approx(0.0, abs=1e-12)


def test_weight_2_is_the_row_twice(rng):
    logits, labels = sample(rng, n=300)
    weights = rng.integers(1, 4, 300)
    weighted = fit_vector(Predictions(logits, labels, kind="logits", sample_weight=weights))
    rows = np.repeat(np.arange(300), weights)
    repeated = fit_vector(Predictions(logits[rows], labels[rows], kind="logits"))
    np.testing.assert_allclose(weighted.factor, repeated.factor, atol=1e-10)
    np.testing.assert_allclose(weighted.offset, repeated.offset, atol=1e-10)


def test_probabilities_are_read_as_their_logarithms(rng):
    logits, labels = sample(rng)
    probs = softmax(logits, axis=1)
    from_probs = fit_vector(Predictions(probs, labels, kind="probs"))
    from_logs = fit_vector(Predictions(np.log(probs), labels, kind="logits"))
    np.testing.assert_allclose(from_probs.factor, from_logs.factor, rtol=1e-6)


def test_many_numbers_in_float32_and_many_classes(rng, monkeypatch):
    logits, labels = sample(rng, n=2000, K=80)
    narrow = Predictions(logits.astype(np.float32), labels, kind="logits")
    exact = fit_vector(narrow)
    monkeypatch.setattr(log_values, "MIN_NUMBERS_FOR_FLOAT32", 10_000)
    rough = fit_vector(narrow)
    both = [loss(gamma, logits[:300], labels[:300]) for gamma in (rough, exact)]
    assert both[0] == pytest.approx(both[1], abs=1e-3)


@pytest.mark.parametrize("n_jobs", [2, 3])
def test_threads_change_no_bit(rng, n_jobs):
    logits, labels = sample(rng, n=4000)
    preds = Predictions(logits, labels, kind="logits")
    assert fit_vector(preds, n_jobs=1) == fit_vector(preds, n_jobs=n_jobs)


def test_one_column_and_exact_zeros(rng):
    x = rng.normal(size=400) * 3
    labels = (rng.random(400) < 1 / (1 + np.exp(1 - x / 2))).astype(int)
    gamma = fit_vector(Predictions(x, labels, kind="logits"))
    p = gamma(Predictions(x, kind="logits"))
    assert abs(p[:, 1].mean() - labels.mean()) < 1e-5
    scores = np.clip(np.round(1 / (1 + np.exp(-x)), 2), 0, 1)
    preds = Predictions(scores, labels, kind="probs")
    assert ((scores == 0) | (scores == 1)).any()
    assert np.isfinite(np.log(fit_vector(preds)(preds))).all()


def test_logits_of_minus_inf_stay_impossible_and_the_rest_is_finite(rng):
    logits, labels = sample(rng)
    logits[:50, 3] = -np.inf
    preds = Predictions(logits, labels, kind="logits")
    p = fit_vector(preds)(preds)
    assert np.isfinite(np.log(p[logits > -np.inf])).all()
    assert (p[logits == -np.inf] == 0.0).all()
    np.testing.assert_allclose(p.sum(axis=1), 1.0)


def test_fewer_rows_than_parameters_give_a_temperature():
    preds = Predictions([[2.0, 1.0, 0.0]] * 5, [0, 1, 2, 0, 0], kind="logits")
    with pytest.warns(FallbackWarning, match="5 rows are too few for a factor and an offset of 3"):
        gamma = fit_vector(preds)
    assert isinstance(gamma, TemperatureMap)


def test_a_class_without_rows_leaves_finite_numbers(rng):
    logits, labels = sample(rng)
    gamma = fit_vector(Predictions(logits, np.minimum(labels, 2), kind="logits"))
    p = gamma(Predictions(logits, kind="logits"))
    assert np.isfinite(gamma.offset).all()
    assert p[:, 3].max() < 1e-3


def test_the_artifact_is_exact(rng, tmp_path):
    logits, labels = sample(rng)
    gamma = fit_vector(Predictions(logits, labels, kind="logits"))
    save(gamma, tmp_path / "v.json")
    assert load(tmp_path / "v.json") == gamma


def test_it_meets_the_papers_table(arena):
    file = arena("paper_resnet110_c10")
    cal = Predictions(file["cal_logits"], file["cal_labels"], kind="logits")
    test = Predictions(file["test_logits"], file["test_labels"], kind="logits")
    p = fit_vector(cal)(test)
    calibrated = Predictions(p, test.labels, kind="probs")
    assert 100 * ks_error(Curve.from_predictions(calibrated)) == pytest.approx(1.0, abs=0.1)
    assert 100 * (p.argmax(axis=1) == test.labels).mean() == pytest.approx(93.50, abs=0.005)


def test_log_softmax_of_the_map_is_what_it_says(rng):
    logits, labels = sample(rng)
    preds = Predictions(logits, labels, kind="logits")
    gamma = fit_vector(preds)
    scores = naive.centred(logits) * gamma.factor + gamma.offset
    want = np.exp(log_softmax(scores, axis=1))
    np.testing.assert_allclose(gamma(preds), want, rtol=1e-12)


@pytest.mark.parametrize("scale", [1e-6, 1e6])
def test_the_scale_of_the_logits_does_not_matter(scale, rng):
    logits = rng.normal(size=(800, 3))
    labels = (2 * logits + [0.0, 1.0, 0.0] + rng.gumbel(size=(800, 3))).argmax(axis=1)
    plain, scaled = (Predictions(c * logits, labels, kind="logits") for c in (1.0, scale))
    np.testing.assert_allclose(fit_vector(scaled)(scaled), fit_vector(plain)(plain), atol=1e-10)


def separable(rng, kind, n=40, K=3):
    """Rows that factors and offsets can tell apart: every label has the largest score."""
    logits = naive.centred(2.0 * rng.normal(size=(n, K)))
    by = {"right": (1.0, 0.0), "wrong": (-1.0, 0.0), "shifted": (1.0, np.arange(K)), "one": (0, 0)}
    factor, offset = by[kind]
    return logits, (factor * logits + offset).argmax(axis=1)


@pytest.mark.parametrize("kind", ["right", "wrong", "shifted", "one"])
def test_rows_that_can_be_told_apart_have_one_optimum(kind, rng):
    logits, labels = separable(rng, kind)
    fresh = Predictions(3.0 * rng.normal(size=(300, 3)), kind="logits")
    q = fit_vector(Predictions(logits, labels, kind="logits"))(fresh)
    for _ in range(3):
        at = rng.permutation(40)
        again = fit_vector(Predictions(logits[at], labels[at], kind="logits"))
        np.testing.assert_allclose(again(fresh), q, atol=1e-10)


@pytest.mark.parametrize("kind", ["right", "wrong", "shifted"])
def test_rows_that_can_be_told_apart_cost_as_much_as_one_undecided_row(kind, rng):
    logits, labels = separable(rng, kind)
    preds = Predictions(logits, labels, kind="logits")
    gamma = fit_vector(preds)
    assert 40 * loss(gamma, logits, labels) == pytest.approx(np.log(2.0), rel=1e-6)
    if kind == "right":
        np.testing.assert_allclose(gamma.factor, fit_temperature(preds).factor, rtol=1e-9)


def test_a_class_without_rows_has_an_offset_that_the_order_does_not_move(rng):
    logits, labels = sample(rng, n=200)
    labels = np.minimum(labels, 2)
    at = rng.permutation(200)
    one, other = (
        fit_vector(Predictions(z, y, kind="logits"))
        for z, y in ((logits, labels), (logits[at], labels[at]))
    )
    np.testing.assert_allclose(one.offset, other.offset, atol=1e-8)
    assert one.offset[3] < -10


def test_an_optimum_that_exists_is_not_moved(rng):
    logits, labels = sample(rng, n=200, K=3)
    gamma = fit_vector(Predictions(logits, labels, kind="logits"))
    logits = naive.centred(logits)

    def slow(theta):
        s = logits * theta[:3] + theta[3:]
        p = softmax(s, axis=1)
        residual = (p - np.eye(3)[labels]) / 200
        gradient = np.concatenate([(residual * logits).sum(axis=0), residual.sum(axis=0)])
        return -log_softmax(s, axis=1)[np.arange(200), labels].mean(), gradient

    start = np.concatenate([gamma.factor, gamma.offset])
    best = minimize(slow, start + 0.1, jac=True, method="BFGS", options={"gtol": 1e-10}).x
    np.testing.assert_allclose(gamma.factor, best[:3], atol=3e-6)
    np.testing.assert_allclose(gamma.offset, best[3:] - best[3:].mean(), atol=3e-6)


def test_the_fallback_counts_weights_not_rows(rng):
    logits = rng.normal(size=(5, 3))
    labels = [0, 1, 2, 0, 1]

    def fitted(weights, kind="repetition", rows=slice(None)):
        return fit_vector(
            Predictions(
                logits[rows], labels[rows], kind="logits", sample_weight=weights, weight_kind=kind
            )
        )

    assert isinstance(fitted([2, 1, 1, 1, 1]), VectorMap)  # six rows
    for weights, kind in (([1, 1, 1, 1, 0], "repetition"), ([900.0] * 5, "sampling")):
        with pytest.warns(FallbackWarning, match="rows are too few"):
            assert isinstance(fitted(weights, kind), TemperatureMap)
    logits = rng.normal(size=(6, 3))
    labels = [0, 1, 2, 0, 1, 2]
    for unit in (0.3, 1.0, 1000.0):
        assert isinstance(fitted([unit] * 6, "sampling"), VectorMap)
    with pytest.warns(FallbackWarning, match=r"5\.[0-9]* rows are too few"):  # Kish: 5.76
        fitted([3.0, 1.0, 2.0, 2.0, 2.0, 2.0], "sampling")


def overfitting(rng, n=300, K=60):
    """Few rows, many classes, and a temperature that is all there is to learn."""
    logits = 3.0 * rng.normal(size=(n, K))
    labels = (0.5 * logits + rng.gumbel(size=(n, K))).argmax(axis=1)
    return Predictions(logits, labels, kind="logits")


def test_progress_counts_steps(rng):
    seen = []
    fit_vector(overfitting(rng), progress=lambda *at: seen.append(at))
    assert seen[0] == ("vector scaling, step 1", 1, 0)
    assert len(seen) > 5


@pytest.mark.parametrize(
    "name", [name for name in NAMES if name.endswith((".vector", *MULTICLASS))]
)
def test_a_constant_added_to_a_rows_logits_changes_nothing(rng, name):
    gamma = fitted(name, rows=200)
    logits = 3.0 * rng.normal(size=(300, 4))
    logits[::7, 1] = logits[::11, 3] = -np.inf
    moved = logits + rng.normal(size=(300, 1)) * 4.0
    q, again = (gamma(Predictions(z, kind="logits")) for z in (logits, moved))
    np.testing.assert_allclose(again, q, rtol=0, atol=1e-12)


@pytest.mark.parametrize("fit", [fit_vector, fit_ms_odir])
def test_the_fit_reads_logits_and_their_probabilities_alike(rng, fit):
    logits, labels = sample(rng)
    options = {} if fit is fit_vector else {"strengths": [0.1], "offset_strengths": [0.1]}
    from_logits = fit(Predictions(logits + 5.0 * labels[:, None], labels, kind="logits"), **options)
    from_probs = fit(Predictions(softmax(logits, axis=1), labels, kind="probs"), **options)
    fresh = Predictions(softmax(3.0 * rng.normal(size=(300, 4)), axis=1), kind="probs")
    np.testing.assert_allclose(from_logits(fresh), from_probs(fresh), rtol=0, atol=1e-8)
