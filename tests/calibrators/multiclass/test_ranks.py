import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import softmax

from ogive import Curve, Predictions, fit_platt, ks_error
from ogive.calibrators.log_values import rescaled
from ogive.calibrators.multiclass.ranks import fit_ranks
from ogive.calibrators.stick_breaking import broken, fill
from ogive.errors import InvalidInput
from ogive.rows.views import parse_view, score_block
from tests import naive
from tests.calibrators.multiclass.samples import (
    check_decisions_and_calibration,
    parts,
    quiet_fit,
    sample,
    view_ks,
)

MULTI_CLASS = [
    "cleanlab_20news",
    "cleanlab_imdb",
    "cleanlab_mnist",
    "fmnist_lenet5",
    "fmnist_mlp",
    "netcal_lenet5_c10",
    "netcal_lenet5_c100",
    "netcal_wrn16_4_c10",
    "netcal_wrn16_4_c100",
    "paper_resnet110_c10",
    "verified_vgg16_c10",
]


@pytest.mark.parametrize("vector", ["keep", "ranks"])
@pytest.mark.parametrize("name", MULTI_CLASS)
def test_real_outputs_keep_their_decisions_and_are_calibrated(arena, name, vector):
    check_decisions_and_calibration(*parts(arena(name)), vector)


def test_the_paper_s_accuracy_is_kept(arena):
    cal, test = parts(arena("paper_resnet110_c10"))
    q = quiet_fit(cal, "spline")(test)
    assert (q.argmax(axis=1) == test.labels).mean() == 0.9356


@given(st.integers(2, 7), st.integers(1, 4), st.sampled_from([0.5, 3.0, 30.0]), st.integers(0, 99))
def test_it_equals_the_slow_definition(K, ranks, scale, seed):
    rng = np.random.default_rng(seed)
    logits, labels = sample(rng, n=40, K=K, scale=scale)
    preds = Predictions(logits, labels, kind="logits")
    gamma = quiet_fit(preds, "platt", ranks=ranks)
    expected = [
        naive.stick_breaking(row, gamma.maps, gamma.power, gamma.floor)
        for row in rescaled(preds, gamma.factor).masses(slice(0, 40))
    ]
    np.testing.assert_allclose(gamma(preds), expected, atol=1e-9)


@pytest.mark.parametrize(("K", "ranks"), [(3, 1), (5, 3), (6, 2)])
def test_the_power_of_the_other_classes_is_the_likeliest(K, ranks, rng):
    logits, labels = sample(rng, n=2000, K=K)
    preds = Predictions(logits, labels, kind="logits")
    gamma = quiet_fit(preds, "platt", ranks=ranks)
    masses = np.maximum(rescaled(preds, gamma.factor).masses(slice(0, 2000)), gamma.floor)
    assert gamma.power == pytest.approx(naive.power_of_others(masses, labels, ranks), abs=1e-3)
    assert abs(gamma.power - 1.0) > 0.01


@pytest.mark.parametrize("given", ["probs", "logits", "logits as they are"])
def test_the_first_class_gets_what_its_view_says(given, rng):
    logits, labels = sample(rng)
    preds = Predictions(logits, labels, kind="logits")
    if given == "probs":
        preds = Predictions(softmax(logits, axis=1), labels, kind="probs")
    gamma = quiet_fit(preds, "platt", rescale=given != "logits as they are")
    assert (gamma.factor == 1.0) == (given != "logits")
    top = gamma(preds).max(axis=1)
    scaled = rescaled(preds, gamma.factor)
    alone = fit_platt(Curve.from_predictions(scaled))
    rows = score_block(scaled, parse_view("top-1"), slice(0, preds.n))
    score = alone(np.where(rows.high, 1 - rows.tail, rows.tail))
    np.testing.assert_allclose(top, np.maximum(score, 1 / 5), atol=1e-6)


def test_top_two_and_three_are_calibrated_at_once(rng):
    logits, labels = sample(rng, n=20_000, K=8)
    cal = Predictions(logits[:10_000], labels[:10_000], kind="logits")
    test = Predictions(logits[10_000:], labels[10_000:], kind="logits")
    q = fit_ranks(cal, "beta")(test)
    for view in ("top-1", "top-2", "top-3", "within-top-2", "within-top-3"):
        before = ks_error(Curve.from_predictions(test, view))
        after = view_ks(q, test.labels, view)
        assert after < 0.015
        assert after < before / 4


def test_none_leaves_probabilities_as_they_are(rng):
    logits, labels = sample(rng)
    preds = Predictions(logits, labels, kind="logits")
    np.testing.assert_allclose(fit_ranks(preds, "none")(preds), preds.probabilities(), rtol=1e-5)


def test_ties_go_to_the_lowest_index(rng):
    logits = np.repeat(rng.normal(size=(300, 1)), 4, axis=1)
    preds = Predictions(logits, rng.integers(0, 4, 300), kind="logits")
    q = quiet_fit(preds, "isotonic")(preds)
    assert (q.astype(np.float32).argmax(axis=1) == 0).all()
    np.testing.assert_allclose(q, 0.25, atol=0.1)


def test_held_tells_where_the_second_deserves_more(rng):
    # The second choice is right twice as often as the first.
    order = rng.permuted(np.tile(np.arange(5), (4000, 1)), axis=1)
    logits = np.empty((4000, 5))
    np.put_along_axis(logits, order, np.array([1.0, 0.9, 0.0, -1.0, -2.0]), axis=1)
    logits += 0.01 * rng.normal(size=logits.shape)
    choice = rng.choice(5, 4000, p=[0.25, 0.5, 0.1, 0.1, 0.05])
    labels = order[np.arange(4000), choice]
    gamma = fit_ranks(Predictions(logits, labels, kind="logits"), "platt")
    assert gamma.held > 0.95
    assert view_ks(gamma(Predictions(logits, kind="logits")), labels, "top-1") < 0.01


@given(st.integers(2, 8), st.integers(1, 3), st.integers(0, 99))
def test_broken_sticks_keep_order_and_leave_room(K, ranks, seed):
    rng = np.random.default_rng(seed)
    R = min(ranks, K - 1)
    parts, left, _ = broken(rng.choice([0.0, 1.0, 0.3, rng.random()], (50, R)), K)
    np.testing.assert_allclose(parts.sum(axis=1) + left, 1.0, atol=1e-15)
    assert (np.diff(parts, axis=1) <= 0).all()
    assert (left <= (K - R) * parts[:, -1] * (1 - 1e-6) + 1e-12).all()


@given(st.integers(1, 9), st.integers(0, 99))
def test_filling_keeps_the_sum_the_cap_and_the_order(K, seed):
    rng = np.random.default_rng(seed)
    weights = rng.random((30, K)) ** 8
    left = rng.random(30)
    cap = np.maximum(left / K * 1.0000001, rng.random(30) * left)
    filled = weights.copy()
    fill(filled, weights.sum(axis=1), left, cap)
    np.testing.assert_allclose(filled.sum(axis=1), left, atol=1e-13)
    assert (filled <= cap[:, None] * (1 + 1e-12)).all()
    for before, after in zip(weights, filled, strict=True):
        assert (np.diff(after[np.argsort(before)]) >= -1e-15).all()


def test_one_column_has_no_ranks():
    with pytest.raises(InvalidInput, match="one column, which has no ranks"):
        fit_ranks(Predictions([0.1, 0.9], [0, 1], kind="probs"), "platt")
