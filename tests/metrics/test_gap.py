import numpy as np
import pytest
from hypothesis import given

from ogive import Curve
from ogive.metrics.gap import extremes
from tests import naive, strategies
from tests.metrics.many_rows import ROWS, drawn


def points(scores, hits):
    """N times the gap at the ends of all groups of equal scores, with 0 before the first."""
    at = np.unique(scores)
    gaps = [naive.gap_at(score, scores, hits) for score in at]
    return np.concatenate([[0.0], gaps]) * scores.size


@given(strategies.scored())
def test_extremes_are_those_of_all_points(data):
    scores, hits = data
    s = scores.astype(float)
    found = extremes(Curve.from_scores(s, hits))
    assert found.low.value == pytest.approx(points(s, hits).min(), abs=1e-12)
    assert found.high.value == pytest.approx(points(s, hits).max(), abs=1e-12)


@pytest.mark.parametrize(
    "kind", ["calibrated", "over", "tied", "low", "high", "saturated", "single"]
)
def test_long_curves_have_the_extremes_of_all_points(kind):
    p, hits = drawn(kind, np.random.default_rng(len(kind)))
    scores = p.astype(np.float64)
    order = np.argsort(scores, kind="stable")
    gaps = np.cumsum(np.longdouble(1) * hits[order] - scores[order])
    ends = gaps[np.append(np.diff(scores[order]) > 0, True)]
    found = extremes(Curve.from_scores(p, hits))
    assert found.low.value == pytest.approx(float(min(ends.min(), 0.0)), abs=1e-8)
    assert found.high.value == pytest.approx(float(max(ends.max(), 0.0)), abs=1e-8)
    assert found.n == ROWS


def test_all_hits_and_all_misses_go_one_way():
    scores = np.linspace(0.01, 0.99, ROWS)
    up, down = (extremes(Curve.from_scores(scores, np.full(ROWS, hit))) for hit in (True, False))
    assert up.low.value == 0.0
    assert up.high.value == pytest.approx(np.sum(1.0 - scores))
    assert down.high.value == 0.0
    assert down.low.value == pytest.approx(-np.sum(scores))
    assert down.low.rows == ROWS


def test_few_scores_given_often_are_read_in_groups():
    scores = np.repeat([0.2, 0.7], 4 * ROWS)
    hits = np.arange(scores.size) % 2 == 0
    curve = Curve.from_scores(scores, hits)
    assert extremes(curve).high.value == pytest.approx(0.3 * 4 * ROWS, rel=1e-12)


@pytest.mark.parametrize("threads", ["1", "2", "5"])
def test_threads_do_not_matter(threads, monkeypatch):
    scores, hits = drawn("over", np.random.default_rng(0))
    scores, hits = np.tile(scores, 64), np.tile(hits, 64)
    scores = np.clip(scores + np.linspace(0, 1e-6, scores.size), 0, 1)
    curve = Curve.from_scores(scores, hits)
    first = extremes(curve)
    monkeypatch.setenv("OMP_NUM_THREADS", threads)
    assert extremes(curve) == first
