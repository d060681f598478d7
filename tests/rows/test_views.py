import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ogive import Predictions
from ogive.errors import InvalidInput, InvalidType, UnknownName
from ogive.rows.views import OfClass, Score, TopRank, WithinTop, check_view, parse_view, score_block
from tests import naive, strategies


@pytest.mark.filterwarnings("ignore::ogive.errors.LooksLikeProbabilities")
@given(strategies.matrices(), st.data())
def test_every_view_equals_its_definition(data, choose):
    logits, labels = data
    K = logits.shape[1]
    names = [f"class-{k}" for k in range(K)] + [f"top-{r + 1}" for r in range(K)]
    names += [f"within-top-{r}" for r in range(1, K)]
    name = choose.draw(st.sampled_from(names))
    preds = Predictions(logits, labels, kind="logits")
    rows = score_block(preds, parse_view(name), slice(0, preds.n))
    scores, hits = naive.scores_and_hits(name, logits, naive.softmax(logits), labels)
    np.testing.assert_array_equal(rows.hit, hits)
    found = np.where(rows.high, 1 - rows.tail, rows.tail)
    np.testing.assert_allclose(found, scores, rtol=2.0**-32, atol=2.0**-900)
    assert ((rows.tail >= 0) & (rows.tail <= 0.5)).all()


def test_the_tail_does_not_saturate():
    preds = Predictions([[40.0, 0.0, 0.0, -1.0]], [0], kind="logits")
    rows = score_block(preds, TopRank(1), slice(0, 1))
    expected = (2 + np.exp(-1.0)) * np.exp(-40.0)
    assert rows.high[0]
    np.testing.assert_allclose(rows.tail, expected, rtol=2.0**-32)
    assert 1.0 - rows.tail[0] == 1.0


def test_ties_between_classes_go_to_the_lowest_index():
    preds = Predictions([[1.0, 1.0, 0.0]] * 3, [0, 1, 2], kind="logits")
    assert score_block(preds, TopRank(1), slice(0, 3)).hit.tolist() == [True, False, False]
    assert score_block(preds, TopRank(2), slice(0, 3)).hit.tolist() == [False, True, False]
    assert score_block(preds, WithinTop(2), slice(0, 3)).hit.tolist() == [True, True, False]


def test_one_half_has_one_side():
    preds = Predictions([[0.0, 0.0], [1e-17, 0.0]], [0, 0], kind="logits")
    rows = score_block(preds, OfClass(0), slice(0, 2))
    assert rows.tail.tolist() == [0.5, 0.5]
    assert rows.high.tolist() == [False, False]


def test_one_column_scores_come_back_bit_for_bit(rng):
    s = rng.random(1000)
    preds = Predictions(s, rng.random(1000) < s, kind="probs")
    rows = score_block(preds, Score(), slice(0, 1000))
    np.testing.assert_array_equal(np.where(rows.high, 1 - rows.tail, rows.tail), s)


def test_no_labels_no_hits():
    assert score_block(Predictions([[2.0, 0]], kind="logits"), TopRank(1), slice(0, 1)).hit is None
    assert score_block(Predictions([[2.0, 0]], kind="logits"), TopRank(2), slice(0, 1)).hit is None


@pytest.mark.parametrize("view", [TopRank(3), WithinTop(2), OfClass(7), Score()])
def test_a_view_is_found_by_its_name(view):
    assert parse_view(view.name) == view
    assert parse_view(view) is view


BAD = [
    ("top1", UnknownName, "Did you mean 'top-1'"),
    ("top--1", UnknownName, "unknown view"),
    ("class-3", InvalidInput, r"k in \[0, 3\)"),
    ("top-0", InvalidInput, r"r in \[1, 3\]"),
    ("top-4", InvalidInput, r"r in \[1, 3\]"),
    ("within-top-3", InvalidInput, r"r in \[1, 3\)"),
    ("score", InvalidInput, "one-column"),
    (3, InvalidType, "`view` must be a name"),
]


@pytest.mark.parametrize(("view", "error", "message"), BAD)
def test_a_wrong_view_is_refused(view, error, message):
    preds = Predictions([[0.0, 1, 2]], [0], kind="logits")
    with pytest.raises(error, match=message):
        check_view(view, preds)
