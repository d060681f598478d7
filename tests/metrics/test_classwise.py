import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ogive import Curve, Predictions, classwise, ece, ks_error
from ogive.curve.classes import class_curves
from ogive.errors import InvalidInput
from ogive.metrics.classwise import classwise_ece, holm
from tests import naive, strategies


@pytest.mark.filterwarnings("ignore:kind='logits', but every row")
@pytest.mark.filterwarnings("ignore::ogive.errors.LooksLikeProbabilities")
@given(strategies.matrices())
def test_class_curves_are_those_of_the_views(data):
    logits, labels = data
    preds = Predictions(logits, labels, kind="logits")
    curves = list(class_curves(preds))
    assert len(curves) == preds.K
    for k, curve in enumerate(curves):
        view = Curve.from_predictions(preds, f"class-{k}")
        assert curve.view == view.view
        assert curve.total_hits == view.total_hits
        assert ks_error(curve) == pytest.approx(ks_error(view), abs=1e-12)
        assert ece(curve) == pytest.approx(ece(view), abs=1e-9)


def test_class_curves_keep_tails_that_round(rng):
    preds = Predictions([[40.0, 0.0, 0.0, -1.0]], [0], kind="logits")
    view = Curve.from_predictions(preds, "class-0")
    assert next(class_curves(preds)).tail == pytest.approx(view.tail, rel=1e-15)
    assert next(class_curves(preds)).tail[0] > 0.0


def test_class_curves_in_several_pieces(rng, monkeypatch):
    monkeypatch.setattr("ogive.curve.classes._MAX_KEYS_IN_MEMORY", 250)  # two classes at a time
    logits = rng.normal(size=(100, 5))
    preds = Predictions(logits, rng.integers(0, 5, 100), kind="logits")
    for k, curve in enumerate(class_curves(preds)):
        view = Curve.from_predictions(preds, f"class-{k}")
        assert ks_error(curve) == pytest.approx(ks_error(view), abs=1e-14)


@pytest.mark.parametrize("kind", ["repetition", "sampling"])
def test_weights(rng, kind):
    logits, labels = rng.normal(size=(60, 3)), rng.integers(0, 3, 60)
    weights = rng.integers(1, 4, 60)
    preds = Predictions(logits, labels, kind="logits", sample_weight=weights, weight_kind=kind)
    rows = np.repeat(np.arange(60), weights)
    twice = Predictions(logits[rows], labels[rows], kind="logits")
    assert classwise(preds).ks == pytest.approx(classwise(twice).ks, abs=1e-12)
    assert classwise(preds).n == weights.sum()


def test_a_model_that_is_off_in_two_classes(rng):
    logits = rng.normal(0, 1.5, (8000, 6))
    p = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    labels = (p.cumsum(axis=1) > rng.random((8000, 1))).argmax(axis=1)
    good = classwise(Predictions(logits, labels, kind="logits"))
    assert good.off.sum() == 0
    mixed = np.where((labels == 2) & (rng.random(8000) < 0.4), 5, labels)
    bad = classwise(Predictions(logits, mixed, kind="logits"))
    assert np.flatnonzero(bad.off).tolist() == [2, 5]
    assert bad.ece[2] == ece(
        Curve.from_predictions(Predictions(logits, mixed, kind="logits"), "class-2")
    )


def test_class_wise_ece_is_the_mean(rng):
    preds = Predictions(rng.normal(size=(90, 4)), rng.integers(0, 4, 90), kind="logits")
    views = [ece(Curve.from_predictions(preds, f"class-{k}"), 10) for k in range(4)]
    assert classwise_ece(preds, 10) == pytest.approx(np.mean(views), abs=1e-12)


@given(st.lists(st.sampled_from([0.0, 1e-3, 0.01, 0.02, 0.03, 0.05, 0.5, 1.0]), min_size=1))
def test_holm_equals_its_definition(pvalues):
    assert holm(np.array(pvalues)).tolist() == naive.holm(pvalues)


def test_labels_are_needed():
    with pytest.raises(InvalidInput, match="has no labels"):
        classwise(Predictions([[0.0, 2.0]], kind="logits"))
