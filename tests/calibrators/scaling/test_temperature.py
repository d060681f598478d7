import json

import numpy as np
import pytest
from hypothesis import given
from scipy.special import log_softmax, softmax
from scipy.stats import beta

from ogive import Curve, Predictions, ks_error, load, save
from ogive.calibrators import log_values
from ogive.calibrators.scaling.temperature import TemperatureMap, careful_factor, fit_temperature
from tests import naive
from tests.strategies import matrices


def sample(rng, n, K, T, scale=2.0):
    """Logits whose true temperature is T, and labels."""
    logits = T * scale * rng.normal(size=(n, K))
    labels = (logits / T + rng.gumbel(size=(n, K))).argmax(axis=1)
    return logits, labels


@given(matrices(max_rows=8, max_classes=4))
def test_it_equals_the_slow_definition(data):
    logits, labels = data
    own = logits[np.arange(labels.size), labels]
    labels = np.where(np.isfinite(own), labels, logits.argmax(axis=1))
    # One row that is wrong by 2 and two that are right by 2: neither separable nor hopeless.
    extra = np.zeros((3, logits.shape[1]))
    extra[:, 0] = 2.0
    logits, labels = np.vstack([logits, extra]), np.append(labels, [1, 0, 0])
    gaps = logits - logits.max(axis=1, keepdims=True)
    widest = -gaps[np.isfinite(gaps)].min()
    fast = fit_temperature(Predictions(logits, labels, kind="logits"))
    slow = max(naive.temperature(logits, labels), 1e-3 / widest)
    loss = [float(naive.temperature_loss(b, logits, labels)) for b in (fast.factor, slow)]
    assert loss[0] <= loss[1] + 1e-9 * max(1.0, loss[1])


@pytest.mark.parametrize("true", [0.1, 1.0, 5.0, 30.0])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
def test_the_slope_is_zero_at_the_answer_also_where_softmax_saturates(rng, true, dtype):
    logits, labels = sample(rng, 1500, 10, true)
    logits = logits.astype(dtype)
    gamma = fit_temperature(Predictions(logits, labels, kind="logits"))
    z = logits.astype(float)
    p = softmax(gamma.factor * z, axis=1)
    slope = ((p * z).sum(axis=1) - z[np.arange(1500), labels]).mean()
    assert abs(slope) < 1e-7 * true
    assert gamma.temperature == pytest.approx(true, rel=0.15)


def test_many_numbers_in_float32_give_the_same_as_float64(rng, monkeypatch):
    logits, labels = sample(rng, 3000, 50, 3.0)
    narrow, wide = logits.astype(np.float32), logits.astype(np.float32).astype(np.float64)
    monkeypatch.setattr(log_values, "MIN_NUMBERS_FOR_FLOAT32", 10_000)
    rough = fit_temperature(Predictions(narrow, labels, kind="logits"))
    exact = fit_temperature(Predictions(wide, labels, kind="logits"))
    assert rough.factor == pytest.approx(exact.factor, rel=1e-6)
    assert rough.factor != exact.factor  # the two ways are really two


@pytest.mark.parametrize("n_jobs", [2, 5])
def test_threads_change_no_bit(rng, n_jobs):
    logits, labels = sample(rng, 8000, 10, 2.0)
    preds = Predictions(logits, labels, kind="logits")
    assert fit_temperature(preds, n_jobs=1) == fit_temperature(preds, n_jobs=n_jobs)


def test_logits_near_572_and_a_common_shift_change_nothing(rng):
    logits, labels = sample(rng, 800, 5, 2.0)
    plain = fit_temperature(Predictions(logits, labels, kind="logits"))
    far = fit_temperature(Predictions(logits + 572.0, labels, kind="logits"))
    assert far.factor == pytest.approx(plain.factor, rel=1e-9)


def test_scaling_the_logits_scales_the_temperature(rng):
    logits, labels = sample(rng, 800, 5, 2.0)
    plain = fit_temperature(Predictions(logits, labels, kind="logits"))
    for scale in (1e-6, 1e6):
        scaled = fit_temperature(Predictions(scale * logits, labels, kind="logits"))
        assert scaled.temperature == pytest.approx(scale * plain.temperature, rel=1e-9)


def test_probabilities_give_what_their_logits_give(rng):
    logits, labels = sample(rng, 800, 5, 2.0)
    from_logits = fit_temperature(Predictions(logits, labels, kind="logits"))
    preds = Predictions(softmax(logits, axis=1), labels, kind="probs")
    from_probs = fit_temperature(preds)
    assert from_probs.factor == pytest.approx(from_logits.factor, rel=1e-9)
    np.testing.assert_allclose(
        from_probs(preds), softmax(from_logits.factor * logits, axis=1), rtol=1e-8
    )


def test_one_column_is_class_1_of_two(rng):
    x = rng.normal(1.0, 4.0, 900)
    labels = (rng.random(900) < 1 / (1 + np.exp(-x / 2))).astype(int)
    two = np.stack([np.zeros_like(x), x], axis=1)
    one = fit_temperature(Predictions(x, labels, kind="logits"))
    both = fit_temperature(Predictions(two, labels, kind="logits"))
    score = fit_temperature(Predictions(1 / (1 + np.exp(-x)), labels, kind="probs"))
    assert one.factor == pytest.approx(both.factor, rel=1e-12)
    assert score.factor == pytest.approx(one.factor, rel=1e-9)
    assert one(Predictions(x, kind="logits")).shape == (900, 2)


def test_weight_2_is_the_row_twice_and_order_does_not_matter(rng):
    logits, labels = sample(rng, 300, 4, 2.0)
    weights = rng.integers(0, 4, 300)
    weighted = fit_temperature(Predictions(logits, labels, kind="logits", sample_weight=weights))
    rows = rng.permutation(np.repeat(np.arange(300), weights))
    repeated = fit_temperature(Predictions(logits[rows], labels[rows], kind="logits"))
    assert weighted.factor == pytest.approx(repeated.factor, rel=1e-10)
    assert weighted.n == repeated.n


def test_zeros_in_probabilities_are_half_the_smallest_positive(rng):
    logits, labels = sample(rng, 500, 4, 3.0)
    probs = softmax(logits, axis=1).astype(np.float32)
    probs[probs < 1e-3] = 0.0
    probs /= probs.sum(axis=1, keepdims=True)
    labels[:3] = probs[:3].argmin(axis=1)
    preds = Predictions(probs, labels, kind="probs")
    gamma = fit_temperature(preds)
    assert gamma.floor == pytest.approx(np.log(probs[probs > 0].min() / 2))
    filled = np.where(probs > 0, probs, probs[probs > 0].min() / 2).astype(float)
    assert gamma.factor == pytest.approx(naive.temperature(np.log(filled), labels), rel=1e-5)
    assert np.isfinite(np.log(gamma(preds))).all()


def test_a_logit_of_minus_inf_stays_at_zero_and_hopeless_rows_are_left_out(rng):
    logits, labels = sample(rng, 400, 4, 2.0)
    without = fit_temperature(Predictions(logits, labels, kind="logits"))
    masked = np.hstack([logits, np.full((400, 1), -np.inf)])
    masked = np.vstack([masked, [[0.0, 1.0, 2.0, 3.0, -np.inf]]])
    preds = Predictions(masked, np.append(labels, 4), kind="logits")
    gamma = fit_temperature(preds)
    assert gamma.factor == pytest.approx(without.factor, rel=1e-9)
    assert (gamma(preds)[:, 4] == 0).all()


def test_rows_that_are_all_right_bound_it_by_one_undecided_row():
    logits = np.array([[5.0, 0.0], [0.0, 5.0], [3.0, 0.0]])
    gamma = fit_temperature(Predictions(logits, [0, 1, 0], kind="logits"))
    loss = -log_softmax(gamma.factor * logits, axis=1)[np.arange(3), [0, 1, 0]].sum()
    assert loss == pytest.approx(np.log(2.0))
    # The same rows a hundred times: a hundred times as sure.
    many = fit_temperature(Predictions(np.tile(logits, (100, 1)), [0, 1, 0] * 100, kind="logits"))
    assert many.factor > gamma.factor
    # A tie costs log 2 at any temperature, and bounds nothing.
    tied = fit_temperature(
        Predictions(np.vstack([logits, [[1.0, 1.0]]]), [0, 1, 0, 1], kind="logits")
    )
    assert tied.factor == pytest.approx(gamma.factor, rel=1e-6)


def test_rows_that_rank_worse_than_chance_get_nearly_uniform_vectors():
    logits = np.array([[5.0, 0.0], [0.0, 5.0], [3.0, 0.0]])
    preds = Predictions(logits, [1, 0, 1], kind="logits")
    gamma = fit_temperature(preds)
    assert gamma.factor == pytest.approx(1e-3 / 5.0)
    assert (gamma(preds).argmax(axis=1) == [0, 1, 0]).all()
    assert np.abs(gamma(preds) - 0.5).max() < 1e-3


def test_rows_without_any_difference_leave_it_at_one():
    assert fit_temperature(Predictions([[2.0, 2.0], [1.0, 1.0]], [0, 1], kind="logits")).factor == 1


@pytest.mark.filterwarnings("ignore::ogive.errors.LooksLikeProbabilities")
@given(matrices())
def test_vectors_are_probabilities_and_the_ranking_is_kept(data):
    logits, labels = data
    preds = Predictions(logits, labels, kind="logits")
    gamma = fit_temperature(preds)
    p = gamma(preds)
    assert 0 < gamma.factor < np.inf
    assert ((p >= 0) & (p <= 1)).all()
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    rows = np.arange(labels.size)
    assert (p[rows, logits.argmax(axis=1)] == p.max(axis=1)).all()


def test_the_artifact_is_exact(rng, tmp_path):
    logits, labels = sample(rng, 100, 3, 2.0)
    gamma = fit_temperature(Predictions(logits, labels, kind="logits"))
    save(gamma, tmp_path / "t.json")
    assert load(tmp_path / "t.json") == gamma
    assert TemperatureMap.from_dict(json.loads(json.dumps(gamma.to_dict()))) == gamma
    assert "T=" in repr(gamma)


def test_labels_are_needed():
    with pytest.raises(ValueError, match="`preds` has no labels"):
        fit_temperature(Predictions([[2.0, 0.0]], kind="logits"))
    with pytest.raises(TypeError, match="`preds` must be Predictions, not list"):
        fit_temperature([[1.0, 0.0]])


def test_it_meets_the_papers_table(arena):
    file = arena("paper_resnet110_c10")
    cal = Predictions(file["cal_logits"], file["cal_labels"], kind="logits")
    test = Predictions(file["test_logits"], file["test_labels"], kind="logits")
    calibrated = Predictions(fit_temperature(cal)(test), test.labels, kind="probs")
    assert 100 * ks_error(Curve.from_predictions(calibrated)) == pytest.approx(0.916, abs=0.03)


def averaged_factor(logits, labels, weights=None):
    """The b whose mean f' is that of the average over b, by a fine sum: A(b) is Beta(2, 1/2)."""
    weights = np.ones(labels.size) if weights is None else weights
    sure = weights @ [1 / (row == row.max()).sum() for row in logits] / weights.sum()
    t = np.linspace(-12.0, 9.0, 8001)
    u = logits - logits.max(axis=1, keepdims=True)
    logs = np.array([log_softmax(np.exp(x) * u, axis=1) for x in t])
    like = np.array([weights @ _own(one, labels) for one in logs])
    slope = np.array([weights @ (np.exp(one) * u).sum(axis=1) for one in logs])
    x = np.array([weights @ np.exp(one.max(axis=1)) for one in logs]) / weights.sum()
    x = (x - 1 / logits.shape[1]) / (sure - 1 / logits.shape[1])  # of equal ones none is sure
    density = np.exp(like - like.max()) * beta.pdf(np.clip(x, 0.0, 1 - 1e-15), 2, 0.5)
    mean = np.trapezoid(density * slope, x) / np.trapezoid(density, x)
    return float(np.exp(np.interp(mean, slope, t)))


def _own(values, labels):
    return values[np.arange(labels.size), labels]


@pytest.mark.parametrize("n", [5, 40, 400])
@pytest.mark.parametrize("T", [0.5, 1.0, 3.0])
def test_the_careful_factor_is_an_average(n, T, rng):
    logits, labels = sample(rng, n, 4, T)
    found = careful_factor(Predictions(logits, labels, kind="logits"))
    assert found == pytest.approx(averaged_factor(logits, labels), rel=0.02)


def test_two_largest_classes_alike_are_never_sure(rng):
    logits, labels = sample(rng, 12, 4, 1.0)
    logits[:8, 0] = logits[:8, 1] = logits[:8].max(axis=1)
    found = careful_factor(Predictions(logits, labels, kind="logits"))
    assert found == pytest.approx(averaged_factor(logits, labels), rel=0.02)


@pytest.mark.parametrize("n", [1, 2, 10, 60])
@pytest.mark.parametrize("right", [0.0, 0.7, 1.0])
def test_no_scale_of_logits_and_no_order_of_rows_matters(n, right, rng):
    logits = 3.0 * rng.normal(size=(n, 4))
    labels = (logits.argmax(axis=1) + (rng.random(n) >= right)) % 4
    order = rng.permutation(n)
    for fit in (careful_factor, lambda preds: fit_temperature(preds).factor):
        factor = fit(Predictions(logits, labels, kind="logits"))
        for scale in (1e-6, 1e-3, 1e3, 1e6, 1e20):
            scaled = fit(Predictions(scale * logits, labels, kind="logits"))
            assert scale * scaled == pytest.approx(factor, rel=1e-10)
        again = fit(Predictions(logits[order], labels[order], kind="logits"))
        assert again == pytest.approx(factor, rel=1e-10)


def test_the_careful_factor_does_not_sharpen_after_a_lucky_sample(rng):
    logits, labels = sample(rng, 20_000, 5, 1.0, scale=8.0)
    right = logits.argmax(axis=1) == labels
    rows = np.append(np.flatnonzero(right)[:99], np.flatnonzero(~right)[0])

    def loss(b):
        return -_own(log_softmax(b * logits, axis=1), labels).mean()

    preds = Predictions(logits[rows], labels[rows], kind="logits")
    careful, likeliest = careful_factor(preds), fit_temperature(preds).factor
    assert careful < 0.85 * likeliest
    assert loss(careful) < loss(likeliest)


def test_the_careful_factor_of_weights(rng):
    logits, labels = sample(rng, 60, 3, 2.0)
    w = rng.integers(1, 4, 60)
    twice = careful_factor(Predictions(logits, labels, kind="logits", sample_weight=w))
    again = np.repeat(np.arange(60), w)
    assert twice == pytest.approx(
        careful_factor(Predictions(logits[again], labels[again], kind="logits"))
    )
    sampled = (
        careful_factor(
            Predictions(logits, labels, kind="logits", sample_weight=c * w, weight_kind="sampling")
        )
        for c in (1.0, 1e-6)
    )
    assert next(sampled) == pytest.approx(next(sampled))


def test_logits_that_hardly_differ_say_nothing(rng):
    logits, labels = sample(rng, 50, 3, 1.0)
    preds = Predictions(1e-200 * logits, labels, kind="logits")
    assert fit_temperature(preds).factor == careful_factor(preds) == 1.0
