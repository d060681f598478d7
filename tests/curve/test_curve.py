import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ogive import Curve, Predictions, ks_error
from ogive._numerics.blocks import BLOCK
from ogive.errors import InvalidInput, InvalidType
from tests import naive, simulate, strategies


@given(strategies.scored())
def test_the_columns_equal_their_definitions(data):
    scores, hits = data
    curve = Curve.from_scores(scores, hits)
    s = scores.astype(float)
    distinct = np.unique(s)
    np.testing.assert_array_equal(curve.score, distinct)
    np.testing.assert_array_equal(curve.count, [np.sum(s == t) for t in distinct])
    np.testing.assert_array_equal(curve.hits, [np.sum(hits[s == t]) for t in distinct])
    np.testing.assert_allclose(curve.fractile, [np.mean(s <= t) for t in distinct], rtol=1e-14)
    gaps = [naive.gap_at(t, s, hits) for t in distinct]
    np.testing.assert_allclose(curve.gap, gaps, atol=1e-15)
    assert curve.n == s.size
    assert curve.total_hits == hits.sum()
    fractile, scores, outcomes = curve.cumulative  # the paper's equation 11, at the ends of ties
    np.testing.assert_array_equal(fractile, [0.0, *curve.fractile])
    np.testing.assert_allclose(scores, [0.0, *(s[s <= t].sum() / s.size for t in distinct)])
    np.testing.assert_array_equal(outcomes, [0.0, *(hits[s <= t].sum() / s.size for t in distinct)])
    np.testing.assert_allclose((outcomes - scores)[1:], curve.gap, atol=1e-15)
    np.testing.assert_array_equal(curve.square, curve.count)
    np.testing.assert_array_equal(curve.square_hits, curve.hits)


@given(strategies.scored(), st.randoms(use_true_random=False))
def test_permuting_rows_changes_nothing(data, random):
    scores, hits = data
    order = list(range(scores.size))
    random.shuffle(order)
    a, b = Curve.from_scores(scores, hits), Curve.from_scores(scores[order], hits[order])
    assert a == b
    assert ks_error(a) == ks_error(b)


@given(strategies.scored(weights=True))
def test_a_weight_repeats_the_row(data):
    scores, hits, weights = data
    a = Curve.from_scores(scores, hits, sample_weight=weights)
    b = Curve.from_scores(np.repeat(scores, weights), np.repeat(hits, weights))
    assert a == b
    assert a.n == b.n
    np.testing.assert_allclose(a.gap, b.gap, atol=1e-15)
    np.testing.assert_allclose(a.cumulative, b.cumulative, atol=1e-15)


@given(strategies.scored(weights=True))
def test_sampling_weights_keep_their_squares(data):
    scores, hits, weights = data
    curve = Curve.from_scores(scores, hits, sample_weight=weights, weight_kind="sampling")
    w = weights.astype(float)
    for t, square, of_hits in zip(curve.score, curve.square, curve.square_hits, strict=True):
        at = scores.astype(float) == t
        assert square == np.sum(w[at] ** 2)
        assert of_hits == np.sum((w**2 * hits)[at])


@given(strategies.scored(), st.lists(st.integers(0, 2), min_size=60, max_size=60), st.booleans())
def test_merged_shards_equal_the_whole(data, shard, weighted):
    scores, hits = data
    weights = np.ones(scores.size) if weighted else None
    shard = np.array(shard[: scores.size])
    whole = Curve.from_scores(scores, hits)
    parts = [
        Curve.from_scores(
            scores[at], hits[at], sample_weight=None if weights is None else weights[at]
        )
        for at in (shard == 2, shard == 0, shard == 1)
        if at.any()
    ]
    merged = parts[0]
    for part in parts[1:]:
        merged = merged.merge(part)
    assert merged == whole
    assert ks_error(merged) == pytest.approx(ks_error(whole), abs=1e-15)
    reverse = parts[-1]
    for part in parts[-2::-1]:
        reverse = reverse.merge(part)
    assert reverse == merged


@given(strategies.scored())
def test_the_curve_of_the_complement_mirrors(data):
    scores, hits = data
    s = scores.astype(float)
    s = np.where(s < 2**-60, 0.0, s)  # below that 1 − s is not exact
    s = np.where(s < 0.5, 1.0 - (1.0 - s), s)
    a, b = Curve.from_scores(s, hits), Curve.from_scores(1.0 - s, ~hits)
    np.testing.assert_array_equal(a.tail, b.tail[::-1])
    np.testing.assert_array_equal(a.count, b.count[::-1])
    # The gap of the complement, counted from the other end, differs by the total gap: the range
    # of the two is the same.
    spans = [np.ptp(np.concatenate([[0.0], curve.gap])) for curve in (a, b)]
    np.testing.assert_allclose(*spans, atol=1e-15)


def test_float32_and_float64_of_the_same_numbers_agree(rng):
    s = rng.random(5000).astype(np.float32)
    hits = rng.random(5000) < s
    assert Curve.from_scores(s, hits) == Curve.from_scores(s.astype(np.float64), hits)
    z = rng.normal(size=(500, 7)).astype(np.float32)
    y = rng.integers(0, 7, 500)
    for view in ("top-1", "top-3", "within-top-2", "class-4"):
        a, b = (
            Curve.from_predictions(Predictions(v, y, kind="logits"), view)
            for v in (z, z.astype(np.float64))
        )
        assert a == b


def test_blocks_and_long_ties_change_nothing(rng):
    # Groups that straddle blocks, and one that fills several.
    n = 3 * BLOCK + 17
    s = np.concatenate([rng.integers(0, 50, n) / 50, np.full(2 * BLOCK + 5, 0.7), rng.random(n)])
    hits = rng.random(s.size) < s
    curve = Curve.from_scores(s, hits)
    distinct, count = np.unique(s, return_counts=True)
    np.testing.assert_array_equal(curve.score, distinct)
    np.testing.assert_array_equal(curve.count, count)
    assert curve.hits.sum() == hits.sum() == curve.total_hits
    group = np.searchsorted(distinct, s)
    np.testing.assert_array_equal(curve.hits, np.bincount(group, weights=hits))
    weighted = Curve.from_scores(s, hits, sample_weight=np.ones(s.size))
    assert weighted == curve
    assert ks_error(weighted) == pytest.approx(ks_error(curve), abs=1e-13)


def test_one_score_only(rng):
    hits = rng.random(4 * BLOCK) < 0.7
    curve = Curve.from_scores(np.full(hits.size, 0.7), hits)
    assert curve.count.tolist() == [hits.size]
    assert ks_error(curve) == pytest.approx(abs(hits.mean() - 0.7), abs=1e-12)


def test_negative_zero_is_zero():
    assert Curve.from_scores([-0.0, 0.0], [0, 1]).count.tolist() == [2.0]


def test_log_odds_are_finite_and_rising(rng):
    s = np.concatenate([[0.0, 0.0, 1.0], rng.random(100)])
    curve = Curve.from_scores(s, rng.random(103) < 0.5)
    eta = curve.log_odds
    assert np.isfinite(eta).all()
    assert (np.diff(eta) > 0).all()
    np.testing.assert_allclose(1 / (1 + np.exp(-eta[1:-1])), curve.score[1:-1], rtol=1e-12)
    smallest, largest = curve.score[1], curve.score[-2]
    assert eta[0] == pytest.approx(np.log(smallest / 2) - np.log1p(-smallest / 2))
    assert 1 / (1 + np.exp(eta[-1])) == pytest.approx((1 - largest) / 2, rel=1e-9)


def test_log_odds_of_nothing_but_certainty():
    curve = Curve.from_scores([0.0, 1.0, 1.0], [0, 1, 1])
    np.testing.assert_allclose(curve.log_odds, [-np.log(7), np.log(7)])


def test_logits_that_round_to_one_keep_their_order(rng):
    logits, labels, _ = simulate.saturated_logits(rng, 2000)
    preds = Predictions(logits, labels, kind="logits")
    curve = Curve.from_predictions(preds)
    assert (curve.score == 1.0).mean() > 0.3
    assert curve.tail.size == 2000
    rounded = Curve.from_scores(preds.probabilities().max(axis=1), logits.argmax(1) == labels)
    assert rounded.count.max() > 600
    assert curve.share_below_one() == pytest.approx(1 - (curve.score == 1.0).mean())
    assert rounded.share_below_one() == pytest.approx(curve.share_below_one(), abs=0.05)


def test_at_fractiles_finds_the_rows(rng):
    s = rng.integers(0, 40, 1000) / 40
    hits = rng.random(1000) < s
    for curve in (
        Curve.from_scores(s, hits),
        Curve.from_scores(s, hits, sample_weight=np.ones(1000)),
    ):
        place = curve.at_fractiles(curve.fractile)
        np.testing.assert_array_equal(place.tail, curve.tail)
        np.testing.assert_allclose(place.after, curve.fractile)
        np.testing.assert_allclose(place.before[1:], curve.fractile[:-1])
        few = curve.at_fractiles(np.array([0.0, 0.5, 1.0]))
        middle = np.sort(s)[499]
        np.testing.assert_array_equal(
            np.where(few.high, 1 - few.tail, few.tail), [s.min(), middle, s.max()]
        )


def test_the_view_decides_and_threads_do_not(rng):
    z, y = rng.normal(size=(3000, 40)), rng.integers(0, 40, 3000)
    preds = Predictions(z, y, kind="logits")
    one, many = (Curve.from_predictions(preds, "within-top-3", n_jobs=t) for t in (1, 4))
    assert one == many
    assert one.view == "within-top-3"
    assert Curve.from_predictions(preds).view == "top-1"
    assert Curve.from_predictions(Predictions([0.5], [1], kind="probs")).view == "score"


def test_weights_of_predictions_reach_the_curve(rng):
    z, y = rng.normal(size=(50, 4)), rng.integers(0, 4, 50)
    w = rng.integers(0, 3, 50)
    w[0] = 1
    a = Curve.from_predictions(Predictions(z, y, kind="logits", sample_weight=w), "top-2")
    twice = Predictions(np.repeat(z, w, axis=0), np.repeat(y, w), kind="logits")
    assert a == Curve.from_predictions(twice, "top-2")


def test_a_curve_is_read_only_and_pickles(rng):
    curve = Curve.from_scores(rng.random(50), rng.random(50) < 0.5)
    for column in (curve.score, curve.count, curve.hits, curve.gap, curve.tail, curve.log_odds):
        with pytest.raises(ValueError, match="read-only"):
            column[0] = 0.3
    assert pickle.loads(pickle.dumps(curve)) == curve  # noqa: S301
    assert repr(curve).startswith("Curve(view='score', n=50, outcomes=")


NAN = float("nan")
BAD = [
    (dict(scores=[], outcomes=[]), InvalidInput, "`scores` is empty"),
    (
        dict(scores=[0.5, NAN], outcomes=[0, 1]),
        InvalidInput,
        r"\[0, 1\]: 1 of 2 rows.*row 1 \(nan\)",
    ),
    (dict(scores=[0.5, -0.1], outcomes=[0, 1]), InvalidInput, r"row 1 \(-0.1\).*kind='logits'"),
    (dict(scores=[1.5, 0.5], outcomes=[0, 1]), InvalidInput, r"row 0 \(1.5\)"),
    (dict(scores=[0.5], outcomes=[0, 1]), InvalidInput, "`outcomes` must have one entry per row"),
    (
        dict(scores=[0.5, 0.5], outcomes=[0, 2]),
        InvalidInput,
        "`outcomes` must be 0 or 1, but 1 row .*row 1, 2",
    ),
    (dict(scores=[0.5, 0.5], outcomes=[0, 0.3]), InvalidInput, "0.3.*weight"),
    (dict(scores=[0.5, 0.5], outcomes=[0, NAN]), InvalidInput, "must be 0 or 1"),
    (dict(scores=[0.5, 0.5], outcomes=["a", "b"]), InvalidType, "`outcomes` must be 0 or 1"),
    (dict(scores=[[0.5, 0.5]], outcomes=[1]), InvalidInput, "must be 1-D.*from_predictions"),
    (
        dict(scores=[0.5], outcomes=[1], sample_weight=[-1]),
        InvalidInput,
        "`sample_weight` must be finite",
    ),
]


@pytest.mark.parametrize(("arguments", "error", "message"), BAD)
def test_bad_input_is_refused(arguments, error, message):
    with pytest.raises(error, match=message):
        Curve.from_scores(**arguments)


def test_what_cannot_become_a_curve():
    with pytest.raises(InvalidType, match=r"Curve\.from_scores"):
        Curve.from_predictions(np.array([0.5]))
    with pytest.raises(InvalidInput, match="has no labels"):
        Curve.from_predictions(Predictions([[0.0, 2.0]], kind="logits"))
    a, b = (Curve.from_scores([0.5], [1], view=view) for view in ("top-1", "score"))
    with pytest.raises(InvalidInput, match="different views"):
        a.merge(b)
    with pytest.raises(InvalidType, match="must be a Curve"):
        a.merge([0.5])


COLUMNS = [
    "score",
    "tail",
    "high",
    "log_odds",
    "count",
    "hits",
    "square",
    "square_hits",
    "fractile",
    "gap",
]
MAKE = {
    "keys": Curve.from_scores,
    "groups": lambda s, y: Curve.from_scores(s, y, sample_weight=s + 1),
    "summary": lambda s, y: Curve.from_scores(s, y).summarised(6),
}


@pytest.mark.parametrize("copied", [False, True])
@pytest.mark.parametrize("make", MAKE)
def test_a_curve_cannot_be_changed(make, copied, rng):
    scores = rng.random(50)
    curve = MAKE[make](scores, scores > 0.5)
    curve = pickle.loads(pickle.dumps(curve)) if copied else curve  # noqa: S301 - ours
    before = curve.with_view("score")
    for name in ("view", "n", "score", "_keys", "new"):
        with pytest.raises(AttributeError, match="Curve is immutable"):
            setattr(curve, name, "top-1")
    with pytest.raises(AttributeError, match="Curve is immutable"):
        del curve.view
    held = [curve.keys] if curve.keys is not None else []
    for array in [*held, *curve.cumulative, *(getattr(curve, name) for name in COLUMNS)]:
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0
    with pytest.raises(ValueError, match="read-only"):
        curve.summary().sums[0, 0] = 9 if make == "summary" else curve.score.__setitem__(0, 9)
    assert curve == before
    assert curve.with_view("top-1").view == "top-1" != curve.view
