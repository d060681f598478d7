import numpy as np
import pytest
from hypothesis import given

from ogive import Curve, ks_error, kuiper_error, largest_gap
from ogive.errors import InvalidInput, InvalidType
from ogive.metrics import unsorted
from ogive.metrics.gap import extremes
from ogive.metrics.unsorted import extremes_of_scores
from tests import naive, strategies
from tests.metrics.test_gap import ROWS, drawn


@given(strategies.scored())
def test_it_equals_its_definition(data):
    scores, hits = data
    before = unsorted._FEW
    unsorted._FEW = 0
    try:
        found = ks_error(scores, hits)
    finally:
        unsorted._FEW = before
    assert found == pytest.approx(naive.ks(scores.astype(float), hits), abs=1e-13)


@pytest.mark.parametrize(
    "kind", ["calibrated", "over", "tied", "low", "high", "saturated", "single"]
)
def test_it_finds_what_the_curve_has(kind):
    scores, hits = drawn(kind, np.random.default_rng(len(kind)))
    assert scores.size > unsorted._FEW
    found, slow = extremes_of_scores(scores, hits), extremes(Curve.from_scores(scores, hits))
    for a, b in ((found.low, slow.low), (found.high, slow.high)):
        assert a.value / ROWS == pytest.approx(b.value / ROWS, abs=1e-13)
        assert a.score == b.score
        assert a.rows == b.rows
    assert found.n == slow.n


def test_few_scores_given_often():
    scores = np.random.default_rng(0).random(ROWS).round(2)
    hits = np.random.default_rng(1).random(ROWS) < scores**2
    curve = Curve.from_scores(scores, hits)
    assert ks_error(scores, hits) == pytest.approx(ks_error(curve), abs=1e-13)
    assert kuiper_error(scores, hits) == pytest.approx(kuiper_error(curve), abs=1e-13)


@pytest.mark.parametrize("hit", [True, False])
def test_one_outcome_only(hit):
    scores = np.linspace(0.0, 1.0, ROWS)
    gap = largest_gap(scores, np.full(ROWS, hit))
    assert gap.value == pytest.approx(0.5)
    assert gap.direction == ("underconfident" if hit else "overconfident")


def test_scores_that_came_true_have_no_gap():
    hits = np.arange(ROWS) % 3 == 0
    assert ks_error(hits.astype(float), hits) == 0.0


@pytest.mark.parametrize("threads", ["1", "2", "5"])
def test_neither_order_nor_threads_matter(threads, monkeypatch):
    rng = np.random.default_rng(0)
    scores = rng.beta(2, 3, 8 * ROWS)
    hits = rng.random(scores.size) < scores**1.1
    first = extremes_of_scores(scores, hits)
    monkeypatch.setenv("OMP_NUM_THREADS", threads)
    order = rng.permutation(scores.size)
    assert extremes_of_scores(scores[order], hits[order]) == first


@pytest.mark.parametrize("bad", [-1e-300, 1.0 + 2.0**-52, 1.5, np.nan, np.inf, -np.inf])
def test_what_is_no_score_is_named(bad):
    scores = np.full(ROWS, 0.5)
    scores[12] = bad
    with pytest.raises(InvalidInput, match=r"must lie in \[0, 1\].*row 12"):
        ks_error(scores, np.ones(ROWS))


def test_a_curve_has_its_own_hits():
    with pytest.raises(InvalidInput, match="a curve has its own"):
        ks_error(Curve.from_scores([0.5], [1]), [1])


def test_scores_need_hits():
    with pytest.raises(InvalidType, match="build it with"):
        ks_error([0.5, 0.7])


def test_wrong_lengths_and_outcomes_are_refused():
    with pytest.raises(InvalidInput, match="hits"):
        ks_error(np.full(ROWS, 0.5), np.ones(ROWS - 1))
    with pytest.raises(InvalidInput, match="0 or 1"):
        ks_error(np.full(ROWS, 0.5), np.full(ROWS, 0.5))
