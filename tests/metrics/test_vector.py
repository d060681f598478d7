import numpy as np
import pytest
from hypothesis import given

from ogive import Predictions, brier_vector, nll_vector
from ogive.errors import InvalidInput, InvalidType
from ogive.metrics.vector import vector_rows, vector_scores
from tests import naive, strategies


@pytest.mark.filterwarnings("ignore::ogive.errors.LooksLikeProbabilities")
@given(strategies.matrices())
def test_they_equal_their_definitions(data):
    logits, labels = data
    preds = Predictions(logits, labels, kind="logits")
    p = naive.softmax(logits).astype(float)
    truth = np.eye(preds.K)[labels]
    assert brier_vector(preds) == pytest.approx(np.mean(np.sum((p - truth) ** 2, axis=1)))
    own = np.clip(p[np.arange(len(labels)), labels], 2.0**-52, 1.0)
    assert nll_vector(preds) == pytest.approx(-np.mean(np.log(own)), abs=1e-12)
    first = [ranks[0] for ranks in naive.ranked_classes(logits)]
    assert vector_scores(preds).accuracy == pytest.approx(np.mean(first == labels))


def test_weights_and_calibrated_vectors(rng):
    logits, labels = rng.normal(size=(50, 4)), rng.integers(0, 4, 50)
    w = rng.integers(0, 3, 50)
    w[0] = 1
    weighted = Predictions(logits, labels, kind="logits", sample_weight=w)
    rows = np.repeat(np.arange(50), w)
    plain = Predictions(logits[rows], labels[rows], kind="logits")
    assert brier_vector(weighted) == pytest.approx(brier_vector(plain), abs=1e-12)
    p = plain.probabilities()
    assert nll_vector(plain, p) == pytest.approx(nll_vector(plain), abs=1e-12)
    sharper = p**2 / (p**2).sum(axis=1, keepdims=True)
    assert nll_vector(plain, sharper) == pytest.approx(
        nll_vector(Predictions(sharper, labels[rows], kind="probs")), abs=1e-12
    )


def test_rows_have_the_means(rng):
    preds = Predictions(rng.normal(size=(30, 3)), rng.integers(0, 3, 30), kind="logits")
    brier, nll, hit = vector_rows(preds)
    scores = vector_scores(preds)
    assert (scores.brier, scores.nll, scores.accuracy) == (brier.mean(), nll.mean(), hit.mean())


def test_what_is_refused():
    preds = Predictions([[0.3, 0.7], [0.5, 0.5]], [0, 1], kind="probs")
    with pytest.raises(InvalidInput, match="has no labels"):
        brier_vector(Predictions([[0.3, 0.7]], kind="probs"))
    with pytest.raises(InvalidInput, match=r"must have shape \(2, 2\)"):
        brier_vector(preds, [[0.3, 0.7]])
    with pytest.raises(InvalidInput, match="sum to 1: 1 of 2 rows, the first at row 1"):
        brier_vector(preds, [[0.3, 0.7], [0.5, 0.6]])
    with pytest.raises(InvalidType, match="must be Predictions"):
        brier_vector([[0.3, 0.7]])
