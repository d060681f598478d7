import numpy as np
import pytest
from hypothesis import given, settings

from ogive import Curve, ks_error, ks_test, kuiper_error, kuiper_test, largest_gap
from ogive.errors import InvalidType
from tests import naive, simulate, strategies


@settings(max_examples=25)
@given(strategies.scored(weights=True))
def test_the_values_are_the_errors(data):
    scores, hits, w = data
    for weights, kind in ((None, "repetition"), (w, "repetition"), (w / 3, "sampling")):
        curve = Curve.from_scores(scores, hits, sample_weight=weights, weight_kind=kind)
        ks, kuiper, gap = ks_test(curve), kuiper_test(curve), largest_gap(curve)
        assert ks.value == ks_error(curve) == gap.value
        assert (ks.signed, ks.score, ks.fractile) == (gap.signed, gap.score, gap.fractile)
        assert kuiper.value == kuiper_error(curve)
        expected = naive.kuiper(scores.astype(float), hits, weights)
        assert kuiper.value == pytest.approx(expected, abs=1e-12)
        for test in (ks, kuiper):
            assert 0.0 <= test.pvalue <= 1.0
            assert 0.0 <= test.low <= test.value <= test.high <= 1.0


@settings(max_examples=15)
@given(strategies.scored(weights=True))
def test_weight_two_is_the_row_twice(data):
    scores, hits, w = data
    a = Curve.from_scores(scores, hits, sample_weight=w)
    b = Curve.from_scores(np.repeat(scores, w), np.repeat(hits, w))
    for test in (ks_test, kuiper_test):
        first, second = test(a), test(b)
        assert first.method == second.method
        assert first.pvalue == pytest.approx(second.pvalue, abs=1e-9)
        assert first.high == pytest.approx(second.high, abs=1e-12)


def test_sampling_weights_are_noisier(rng):
    scores, hits, _ = simulate.overconfident(rng, 2000, factor=1.0)
    weights = rng.exponential(size=2000) ** 2
    a, b = (
        ks_test(Curve.from_scores(scores, hits, sample_weight=weights, weight_kind=kind))
        for kind in ("repetition", "sampling")
    )
    variance = scores * (1 - scores)
    assert b.sigma**2 == pytest.approx(np.sum(weights**2 * variance))
    assert a.sigma**2 == pytest.approx(np.sum(weights * variance))
    assert b.high > a.high


def test_scaling_sampling_weights_changes_nothing(rng):
    scores, hits, _ = simulate.overconfident(rng, 300)
    weights = rng.random(300)
    a, b = (
        ks_test(Curve.from_scores(scores, hits, sample_weight=w, weight_kind="sampling"))
        for w in (weights, 1024 * weights)
    )
    assert (a.value, a.pvalue, a.low, a.high) == pytest.approx((b.value, b.pvalue, b.low, b.high))


def test_certain_scores():
    right, wrong = (ks_test(Curve.from_scores([0.0, 1.0], hits)) for hits in ([0, 1], [0, 0]))
    assert (right.pvalue, right.method) == (1.0, "certain")
    assert (wrong.pvalue, wrong.method) == (0.0, "certain")


def test_a_certain_score_that_is_wrong_beside_a_nearly_certain_one():
    test = ks_test(Curve.from_scores([1.0, 5e-324], [0, 0]))
    assert (test.value, test.pvalue, test.method) == (0.5, 0.0, "bound")


def test_the_method_follows_ties_and_variance(rng):
    smooth = rng.random(1000)
    hits = rng.random(1000) < smooth
    assert ks_test(Curve.from_scores(smooth, hits)).method == "brownian"
    tied = smooth.round(1)
    assert ks_test(Curve.from_scores(tied, rng.random(1000) < tied)).method == "simulation"
    assert ks_test(Curve.from_scores(smooth[:20], hits[:20])).method == "simulation"
    few = np.full(20, 0.1)
    assert ks_test(Curve.from_scores(few, np.ones(20))).method == "bound"


def test_a_simulated_p_value_has_a_seed(rng):
    scores = rng.random(500).round(1)
    curve = Curve.from_scores(scores, rng.random(500) < scores)
    assert ks_test(curve, random_state=3) == ks_test(curve, random_state=3)


def test_power_at_the_detectable_errors(rng):
    # A constant shift of all scores: the gap ends at the true error, with normal noise.
    found = {"detectable": 0, "detectable_half": 0}
    for name in found:
        for _ in range(200):
            p = rng.uniform(0.3, 0.7, 2000)
            shift = getattr(ks_test(Curve.from_scores(p, p > 0.5)), name)
            found[name] += ks_test(Curve.from_scores(p, rng.random(2000) < p + shift)).pvalue < 0.05
    assert 0.70 < found["detectable"] / 200 < 0.90
    assert 0.39 < found["detectable_half"] / 200 < 0.64


def test_anything_but_a_curve_is_refused():
    with pytest.raises(InvalidType, match="build it with"):
        ks_test([0.5])


@pytest.mark.parametrize(("heavy", "weight"), [(3, 1000.0), (10, 300.0)])
def test_a_few_heavy_rows_are_not_brownian(heavy, weight, rng):
    scores, weights = rng.uniform(0.02, 0.98, 10_000), np.ones(10_000)
    hits = rng.random(10_000) < scores
    rows = {"weight_kind": "sampling", "sample_weight": weights}
    assert ks_test(Curve.from_scores(scores, hits, **rows)).method == "brownian"
    weights[:heavy] = weight
    hits[:heavy] = scores[:heavy] > 0.5
    curve = Curve.from_scores(scores, hits, **rows)
    halves = Curve.from_scores(
        scores[::2], hits[::2], sample_weight=weights[::2], weight_kind="sampling"
    )
    others = Curve.from_scores(
        scores[1::2], hits[1::2], sample_weight=weights[1::2], weight_kind="sampling"
    )
    for each in (curve, halves.merge(others), curve.summarised()):
        assert ks_test(each).method == kuiper_test(each).method == "simulation"


def test_three_heavy_rows_reject_no_more_than_they_should(rng):
    # With the series 14.5 % of such samples were rejected.
    rejected = 0
    for i in range(150):
        scores, weights = rng.uniform(0.02, 0.98, 2000), np.ones(2000)
        weights[:3] = 1000.0
        curve = Curve.from_scores(
            scores, rng.random(2000) < scores, sample_weight=weights, weight_kind="sampling"
        )
        rejected += ks_test(curve, random_state=i).pvalue <= 0.05
    assert rejected <= 15


@pytest.mark.parametrize("digits", [None, 1])
@pytest.mark.parametrize("n", [15, 200, 2000])
def test_the_interval_holds_zero_if_and_only_if_the_test_does_not_reject(rng, n, digits):
    """Very confident scores: the null has little noise, and the outcomes have much."""
    for factor in (1.0, 1.5, 3.0):
        eta = rng.normal(3.0, 3.0, n)
        p = 1 / (1 + np.exp(-eta))
        p = p if digits is None else p.round(digits)
        curve = Curve.from_scores(p, rng.random(n) < 1 / (1 + np.exp(-eta / factor)))
        for test in (ks_test(curve), kuiper_test(curve)):
            if test.sigma > 0:
                assert (test.low == 0.0) == (test.pvalue >= 0.05)
            assert test.low <= test.value <= test.high
