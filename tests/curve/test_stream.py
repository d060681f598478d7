"""A stream of batches gives the curve of all rows, whatever the batches and the threads."""

import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ogive import Curve, CurveStream, Predictions
from ogive.errors import InvalidInput, InvalidType, UnknownName
from tests.curve.rows import ROWS


@given(rows=ROWS, cut=st.integers(0, 60))
def test_batches_add_up_to_the_whole(rows, cut):
    scores, hits = (np.array(column) for column in zip(*rows, strict=True))
    stream, other = CurveStream(), CurveStream()
    for one, at in ((stream, slice(None, cut)), (other, slice(cut, None))):
        if scores[at].size:
            one.update(scores[at], hits[at])
    stream.merge(other)
    assert stream.curve() == Curve.from_scores(scores, hits).summarised()
    assert stream.n == len(rows)


def test_threads_may_update_at_once():
    rng = np.random.default_rng(0)
    scores = rng.random(400_000)
    hits = rng.random(scores.size) < scores
    stream = CurveStream()
    with ThreadPoolExecutor(4) as pool:
        cuts = range(0, scores.size, 10_000)
        list(pool.map(lambda a: stream.update(scores[a : a + 10_000], hits[a : a + 10_000]), cuts))
    assert stream.curve() == Curve.from_scores(scores, hits).summarised()


@pytest.mark.parametrize("view", ["top-1", "within-top-2", "class-2"])
def test_logits_whose_batches_lack_classes(view):
    rng = np.random.default_rng(1)
    logits, labels = rng.normal(0, 3, (300, 5)), rng.integers(0, 5, 300)
    stream = CurveStream(view, kind="logits")
    for a in range(0, 300, 3):
        stream.update(logits[a : a + 3], labels[a : a + 3])
    want = Curve.from_predictions(Predictions(logits, labels, kind="logits"), view)
    assert stream.curve() == want.summarised()


def test_weights_and_counts_mix():
    stream = CurveStream()
    stream.update([0.2, 0.8], [0, 1], sample_weight=[0.5, 1.5])
    stream.update([0.2], [1])
    assert stream.n == 3
    assert stream.curve().total_hits == 2.5


def test_a_snapshot_stays_and_a_copy_goes_on():
    stream = CurveStream()
    stream.update(np.linspace(0, 1, 50_000), np.ones(50_000))
    before = stream.curve()
    copy = pickle.loads(pickle.dumps(stream))  # noqa: S301
    stream.update([0.5], [1])
    copy.update([0.5], [1])
    assert before.n == 50_000
    assert copy.curve() == stream.curve()
    assert repr(stream) == "CurveStream(view='score', n=50,001)"


def test_a_refused_batch_changes_nothing():
    stream = CurveStream()
    stream.update([0.5], [1])
    with pytest.raises(InvalidInput, match=r"must lie in \[0, 1\]"):
        stream.update([0.5, 2.0], [1, 0])
    assert stream.n == 1


def test_what_is_refused():
    with pytest.raises(InvalidInput, match="seen no rows"):
        CurveStream().curve()
    with pytest.raises(InvalidInput, match="needs a matrix"):
        CurveStream("top-1", kind="scores")
    with pytest.raises(UnknownName, match="unknown kind"):
        CurveStream(kind="odds")
    with pytest.raises(InvalidType, match="must be a CurveStream"):
        CurveStream().merge("x")
    with pytest.raises(InvalidInput, match="different views"):
        CurveStream().merge(CurveStream("top-1", kind="logits"))
    with pytest.raises(InvalidInput, match="has only"):
        CurveStream(bits=12).merge(CurveStream(bits=9))
