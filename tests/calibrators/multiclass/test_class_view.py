"""A rank of a matrix by class structure: the probability that the model's own choice is right."""

import pickle
import warnings

import numpy as np
import pytest

import ogive
from ogive import Curve, Predictions, fit_spline, fit_view
from ogive.calibrators.multiclass.class_view import ClassViewMap, event_log_odds
from ogive.calibrators.spline_map import SplineMap
from ogive.errors import DoesNotApply, FallbackWarning, InvalidInput
from ogive.rows.views import score_rows
from tests import naive

VIEWS = ["top-1", "top-2", "within-top-2"]


def sample(rng, n=1500, K=4, kind="logits"):
    """Logits of a model that is too sure of its class 1."""
    z = 2.0 * rng.normal(size=(n, K))
    shift = np.zeros(K)
    shift[1] = -2.0
    labels = (z + shift + rng.gumbel(size=z.shape)).argmax(axis=1)
    if kind == "probs":
        z = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
    return z, labels


def predictions(rng, n=1500, K=4, kind="logits"):
    return Predictions(*sample(rng, n, K, kind), kind=kind)


def log_loss(q, hit):
    return -np.log(np.where(hit, q, 1.0 - q)).mean()


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("kind", ["logits", "probs"])
def test_it_is_the_definition_row_by_row(view, kind, rng):
    gamma = fit_view(predictions(rng, kind=kind), view)
    z, _ = sample(rng, 40, kind=kind)
    z[0], z[1] = z[0, 0], z[1, 0]  # ties: ranked by index
    if kind == "probs":
        z /= z.sum(axis=1, keepdims=True)
    new = Predictions(z, kind=kind)
    scores = gamma.structure.scores(new, slice(0, new.n))
    log_odds = naive.event_log_odds(view, z, scores)
    np.testing.assert_allclose(gamma(new), gamma.event.from_log_odds(log_odds), rtol=0, atol=1e-12)


def test_log_odds_of_events_far_from_others_are_finite():
    scores = np.array([[0.0, -2000.0, -3000.0], [-2000.0, 0.0, 0.0]])
    found = event_log_odds(scores.copy(), np.array([[0], [0]]))
    assert np.isfinite(found).all()
    assert found[0] > 600 > -600 > found[1]


@pytest.mark.parametrize("view", VIEWS)
def test_all_columns_tell_more_than_the_score(view, rng):
    cal, test = predictions(rng, 3000), predictions(rng, 3000)
    rows = score_rows(test, view)
    alone = fit_view(cal, view, score_only=True).from_tails(rows.high, rows.tail)
    assert log_loss(fit_view(cal, view)(test), rows.hit) < log_loss(alone, rows.hit) - 0.02


def test_the_choice_is_the_models_even_where_another_class_is_more_probable(rng):
    cal = predictions(rng, 3000)
    row = Predictions([[0.0, 0.5, 0.0, 0.0]], kind="logits")  # it chooses class 1, a mistake
    truth = np.exp(-1.5) / (np.exp(-1.5) + 3.0)
    assert fit_view(cal)(row)[0] == pytest.approx(truth, abs=0.03)
    assert fit_view(cal)(row)[0] < 0.25  # what "keep" would raise to a quarter


@pytest.mark.parametrize("view", [*VIEWS, "class-1"])
def test_score_only_is_the_spline_of_the_curve(view, rng):
    preds = predictions(rng, 500)
    found = fit_view(preds, view, score_only=True)
    assert found == fit_spline(Curve.from_predictions(preds, view))


@pytest.mark.parametrize(
    ("data", "view"),
    [
        (lambda rng: predictions(rng, 300), "class-2"),
        (lambda rng: predictions(rng, 300, K=2), "top-1"),
        (lambda rng: Predictions(rng.random(300), rng.random(300) < 0.5, kind="probs"), None),
        (lambda rng: Predictions(rng.random(300), rng.random(300) < 0.5, kind="probs"), "top-1"),
    ],
    ids=["class-k", "two classes", "a score", "top-1 of a score"],
)
def test_where_there_is_one_score_nothing_changes(data, view, rng):
    preds = data(rng)
    found = fit_view(preds, view)
    assert isinstance(found, SplineMap)
    assert found == fit_spline(Curve.from_predictions(preds, view))


@pytest.mark.parametrize("view", VIEWS)
def test_order_of_rows_and_of_classes_and_weights(view, rng):
    z, y = sample(rng, 600)
    z[:20] = np.round(z[:20])  # some ties
    new, _ = sample(rng, 50)
    plain = fit_view(Predictions(z, y, kind="logits"), view)(Predictions(new, kind="logits"))

    def fitted(values, labels, rows=new, **weights):
        gamma = fit_view(Predictions(values, labels, kind="logits", **weights), view)
        return gamma(Predictions(rows, kind="logits"))

    order = rng.permutation(600)
    np.testing.assert_allclose(fitted(z[order], y[order]), plain, rtol=0, atol=1e-9)
    classes = rng.permutation(4)
    place = np.argsort(classes)
    np.testing.assert_allclose(
        fitted(z[:, classes], place[y], new[:, classes]), plain, rtol=0, atol=1e-9
    )
    weights = rng.integers(0, 3, 600)
    twice = np.repeat(np.arange(600), weights)
    np.testing.assert_allclose(
        fitted(z, y, sample_weight=weights), fitted(z[twice], y[twice]), rtol=0, atol=1e-9
    )


def test_rows_one_by_one_and_threads_give_the_same(rng):
    gamma, new = fit_view(predictions(rng, 400)), predictions(rng, 30)
    single = [gamma(new.take([i]))[0] for i in range(new.n)]
    np.testing.assert_allclose(gamma(new), single, rtol=0, atol=1e-14)
    assert (gamma(new, n_jobs=2) == gamma(new)).all()


def test_few_rows_give_probabilities_and_say_what_was_left_out(rng):
    preds = predictions(rng, 30)
    with pytest.warns(FallbackWarning, match="too few to learn class effects"):
        gamma = fit_view(preds)
    q = gamma(predictions(rng, 200))
    assert ((q > 0.0) & (q < 1.0)).all()


@pytest.mark.parametrize("view", ["top-1", "top-4", "within-top-3"])
def test_impossible_classes_and_certain_rows_have_finite_probabilities(view, rng):
    z, y = sample(rng, 400)
    z[:50, 2], y[:50] = -np.inf, 0
    gamma = fit_view(Predictions(z, y, kind="logits"), view)
    rows = np.full((3, 4), -np.inf)
    rows[0, 0], rows[1, :2], rows[2] = 0.0, 1e6, [1e300, 0.0, -1e300, -np.inf]
    q = gamma(Predictions(rows, kind="logits"))
    assert ((q >= 0.0) & (q <= 1.0)).all()


def test_it_is_saved_loaded_and_pickled(rng, tmp_path):
    gamma, new = fit_view(predictions(rng, 300)), predictions(rng, 20)
    ogive.save(gamma, tmp_path / "cal.json")
    again = ogive.load(tmp_path / "cal.json")
    assert isinstance(again, ClassViewMap)
    for copy in (again, pickle.loads(pickle.dumps(gamma))):  # noqa: S301 - our own
        assert copy == gamma
        assert (copy(new) == gamma(new)).all()
    assert repr(gamma) == "ClassViewMap(view='top-1', K=4, n=300)"


def test_what_it_refuses(rng):
    gamma = fit_view(predictions(rng, 300))
    with pytest.raises(InvalidInput, match="`preds` has 5 classes"):
        gamma(predictions(rng, 10, K=5))
    with pytest.raises(DoesNotApply, match="accuracy, not a base rate"):
        gamma.with_base_rate([0.25] * 4, trained_at=[0.25] * 4)
    with pytest.raises(DoesNotApply, match="not a view of 4 classes"):
        fit_view(predictions(rng, 50), "top-5")
    with pytest.raises(InvalidInput, match="labels"):
        fit_view(Predictions(np.zeros((9, 3)), kind="logits"))


def test_many_classes_of_which_few_are_seen(rng):
    z = rng.normal(size=(300, 60)).astype(np.float32) * 3
    y = (z[:, :6] + rng.gumbel(size=(300, 6))).argmax(axis=1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        gamma = fit_view(Predictions(z, y, kind="logits"), "within-top-2")
    q = gamma(Predictions(z, kind="logits"))
    assert ((q > 0.0) & (q < 1.0)).all()
