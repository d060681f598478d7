"""One against the rest, and the paper's own way."""

import numpy as np
import pytest

from ogive import Curve, Predictions
from ogive.calibrators.multiclass.columns import class_log_odds, class_tails, fit_column
from ogive.calibrators.multiclass.every_rank import fit_every_rank
from ogive.calibrators.multiclass.ovr import fit_ovr
from ogive.calibrators.spline import fit_spline
from ogive.errors import InvalidType
from ogive.studies.fitting import fit
from tests import naive
from tests.calibrators.multiclass.samples import parts, quiet_fit, sample


def exact_log_odds(logits):
    z = np.asarray(logits, dtype=np.longdouble)
    columns = []
    for k in range(z.shape[1]):
        others = np.delete(z, k, axis=1)
        columns.append(z[:, k] - np.logaddexp.reduce(others, axis=1))
    return np.stack(columns, axis=1).astype(float)


def test_log_odds_and_tails_do_not_saturate():
    logits = np.array([[40.0, 0.0, 0.0, -1.0], [1.0, 2.0, 3.0, 4.0]])
    masses = Predictions(logits, kind="logits").masses(slice(0, 2))
    before = masses.copy()
    np.testing.assert_allclose(class_log_odds(masses), exact_log_odds(logits), rtol=1e-12)
    high, tail = class_tails(masses)
    eta = exact_log_odds(logits)
    np.testing.assert_array_equal(high, eta > 0)
    odds = np.exp(-np.abs(eta))
    np.testing.assert_allclose(tail, odds / (1 + odds), rtol=1e-11)
    np.testing.assert_array_equal(masses, before)


@pytest.mark.parametrize("vector", ["ovr", "every-rank", "ranks"])
def test_rows_of_the_same_numbers_are_one_score_whatever_the_order_of_classes(vector, rng):
    # Six numbers in any order: their sums must be one number, to the last bit.
    few = np.cumsum(rng.uniform(0.1, 2.0, 6))
    logits = rng.permuted(np.tile(few, (300, 1)), axis=1)
    preds = Predictions(logits, rng.integers(0, 6, 300), kind="logits")
    gamma = quiet_fit(preds, "isotonic", multiclass=vector)
    for inner in gamma.maps[1 if vector == "ranks" else 0 :]:
        assert getattr(inner, "tail", np.empty(1)).size <= 6


def test_one_against_the_rest_equals_its_definition(rng):
    logits, labels = sample(rng, K=4)
    preds = Predictions(logits, labels, kind="logits")
    gamma = fit_ovr(preds, "platt")
    expected = naive.one_against_rest(exact_log_odds(gamma.factor * logits).T, gamma.maps)
    np.testing.assert_allclose(gamma(preds), expected, atol=1e-10)
    assert [inner.view for inner in gamma.maps] == [f"class-{k}" for k in range(4)]


def test_two_classes_have_one_curve_however_they_come(rng):
    eta = rng.normal(size=800)
    labels = rng.random(800) < 1 / (1 + np.exp(-2 * eta - 1))
    one = Predictions(eta, labels, kind="logits")
    two = Predictions(np.stack([np.zeros(800), eta], axis=1), labels.astype(int), kind="logits")
    a, b = fit_ovr(one, "platt"), fit_ovr(two, "platt")
    assert len(a.maps) == 1
    np.testing.assert_allclose(a(one), b(two), atol=1e-12)


def test_every_rank_equals_its_definition(rng):
    logits, labels = sample(rng, n=900, K=4)
    preds = Predictions(logits, labels, kind="logits")
    gamma = fit_every_rank(preds, "platt")
    eta = exact_log_odds(gamma.factor * logits)
    for i, order in enumerate(naive.ranked_classes(logits[:50])):
        q = np.empty(4)
        for r, k in enumerate(order):
            q[k] = gamma.maps[r].from_log_odds(eta[i, k])
        np.testing.assert_allclose(gamma(preds)[i], q / q.sum(), atol=1e-10)


def test_the_paper_s_accuracy_table(arena):
    cal, test = parts(arena("paper_resnet110_c10"))
    q = quiet_fit(cal, "paper-spline", multiclass="every-rank", rescale=False)(test)
    assert 100 * (q.argmax(axis=1) == test.labels).mean() == pytest.approx(93.5, abs=0.1)


@pytest.mark.parametrize("method", ["platt", "temperature"])
def test_maps_of_vectors_take_predictions_alone(method, rng):
    logits, labels = sample(rng, K=4)
    gamma = fit(Predictions(logits, labels, kind="logits"), method, "vector")
    with pytest.raises(InvalidType, match=r"not ndarray; build them with Predictions"):
        gamma(logits)


@pytest.mark.parametrize("hits", [0, 30])
def test_a_column_of_one_outcome_gets_what_the_spline_alone_says(hits, rng):
    scores = rng.uniform(0.8, 1.0, 30)
    curve = Curve.from_scores(scores, np.arange(30) < hits)
    gamma, fell_back = fit_column(curve, "spline", {})
    np.testing.assert_array_equal(gamma(scores), fit_spline(curve)(scores))
    assert not fell_back
    assert fit_column(curve, "platt", {})[1]
