import numpy as np
import pytest
from hypothesis import given

from ogive import Curve, ks_error, largest_gap
from ogive.errors import InvalidInput, InvalidType
from ogive.metrics import unsorted_gap
from ogive.metrics.gap import extremes
from ogive.metrics.unsorted_gap import largest_unsorted
from tests import naive, strategies
from tests.metrics.many_rows import drawn

KINDS = ("over", "calibrated", "tied", "low", "high", "saturated", "single")


@given(strategies.scored())
def test_the_largest_gap_is_the_naive_one(data):
    scores, hits = data
    s, hit = scores.astype(float), hits.astype(bool)
    found = looked_for(s, hit)
    assert abs(found.value) / s.size == pytest.approx(naive.ks(s, hit), abs=1e-13)
    if found.rows:  # it is where it is said to be
        assert found.value / s.size == pytest.approx(naive.gap_at(found.score, s, hit), abs=1e-13)
        assert found.rows == np.count_nonzero(s <= found.score)


def looked_for(s, hit):
    """Return what is found if sorting is never thought quicker."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(unsorted_gap, "_ROWS_PROBED_FOR_TIES", 1)
        patch.setattr(unsorted_gap, "_MAX_SHARE_TO_SORT", 2.0)
        patch.setattr(unsorted_gap, "_MAX_INTERVALS", 1000)
        return largest_unsorted(s, hit)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(3))
def test_it_is_the_one_of_the_sorted_curve(kind, seed):
    p, hit = drawn(kind, np.random.default_rng(seed))
    p = p.astype(float)
    slow = extremes(Curve.from_scores(p, hit)).farthest
    found = looked_for(p, hit)
    assert found.value == pytest.approx(slow.value, abs=1e-9)
    assert (found.score, found.rows) == (slow.score, slow.rows)
    perhaps = largest_unsorted(p, hit)
    assert perhaps is None or perhaps == found


def test_cells_rise_with_the_scores_and_have_the_edges_they_say():
    edges = unsorted_gap.edges()
    rng = np.random.default_rng(0)
    tails = np.exp(-40 * rng.random(200_000)) / 2
    s = np.sort(np.concatenate([tails, 1 - tails, rng.random(100_000), [0.0, 5e-324, 0.5, 1.0]]))
    cell = unsorted_gap.cell_of(s, np.empty((2, s.size)))
    assert (np.diff(cell) >= 0).all()
    assert cell[0] >= 0
    assert cell[-1] < edges.size - 1
    first, last = edges[cell], edges[cell + 1]
    outside = np.maximum(first - s, s - last)
    assert (outside <= (last - first) / 100 + 1e-16).all()


def test_the_order_of_the_rows_changes_no_bit():
    rng = np.random.default_rng(1)
    p, hit = drawn("over", rng)
    order = rng.permutation(p.size)
    found = largest_unsorted(p, hit)
    assert found is not None
    assert found == largest_unsorted(p[order], hit[order])


def test_few_scores_given_often_are_sorted_instead():
    rng = np.random.default_rng(2)
    p = rng.random(50_000).round(2)
    assert largest_unsorted(p, rng.random(p.size) < p) is None


def test_many_rows_at_one_are_one_place():
    rng = np.random.default_rng(3)
    p = np.where(rng.random(60_000) < 0.2, 1.0, rng.random(60_000))
    hit = rng.random(p.size) < np.where(p == 1.0, 0.5, p)
    found = largest_unsorted(p, hit)
    assert (found.score, found.rows) == (1.0, p.size)
    assert found.value == pytest.approx(hit.sum() - p.sum(), abs=1e-8)


@pytest.fixture
def many():
    rng = np.random.default_rng(4)
    p = rng.random(300_000)
    return p, rng.random(p.size) < p**1.2


def test_scores_and_hits_have_the_gap_of_their_curve(many):
    curve = largest_gap(Curve.from_scores(*many))
    direct = largest_gap(*many)
    assert direct.value == ks_error(*many)
    assert direct.value == pytest.approx(curve.value, abs=1e-15)
    assert direct.signed == pytest.approx(curve.signed, abs=1e-15)
    assert (direct.score, direct.fractile) == (curve.score, curve.fractile)
    assert direct.direction == curve.direction == "too high"


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_single_precision_is_read_as_double(many, dtype):
    small, hit = many[0].astype(dtype), many[1]
    assert ks_error(small, hit) == ks_error(small.astype(float), hit)
    assert ks_error(small, hit) == pytest.approx(ks_error(Curve.from_scores(small, hit)), abs=1e-15)


@pytest.mark.parametrize("bad", [np.nan, -1e-9, 1.0 + 1e-9, np.inf, -np.inf])
@pytest.mark.parametrize("n", [10, 300_000])
def test_scores_outside_0_to_1_are_refused(bad, n):
    p = np.linspace(0.1, 0.9, n)
    p[n // 2] = bad
    with pytest.raises(InvalidInput, match=r"`scores` must lie in \[0, 1\]"):
        ks_error(p, np.zeros(n))


def test_few_scores_and_lists_will_do():
    assert ks_error([0.5, 0.75], [1, 1]) == 0.375
    some, hits = np.linspace(0, 1, 10)[::-2], [0, 1, 0, 1, 1]
    assert largest_gap(some, hits) == largest_gap(Curve.from_scores(some, hits))


def test_a_curve_has_its_own_hits(many):
    with pytest.raises(InvalidInput, match="Give the curve alone"):
        ks_error(Curve.from_scores(*many), many[1])


def test_scores_alone_are_no_curve():
    with pytest.raises(InvalidType, match="build it with Curve"):
        ks_error([0.5, 0.75])


def test_rows_that_do_not_lie_together_are_read_too(many):
    wide = np.stack([many[0], np.zeros_like(many[0])], axis=1)
    assert ks_error(wide[:, 0], many[1]) == ks_error(*many)
