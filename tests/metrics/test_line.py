from math import inf, isnan

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from ogive import Curve, calibration_intercept, calibration_slope, oe_ratio
from ogive.errors import InvalidInput, InvalidType
from ogive.metrics.line import MAX_ROWS, sum_interval
from tests import naive, strategies

ALL = (oe_ratio, calibration_intercept, calibration_slope)
KINDS = ("repetition", "sampling")


@st.composite
def overlapping(draw, weights=True):
    """Scores that are not extreme, with outcomes that no score separates."""
    seed = draw(st.integers(0, 10_000))
    rng = np.random.default_rng(seed)
    n = draw(st.integers(8, 60))
    scores = rng.uniform(0.05, 0.95, n).round(draw(st.sampled_from([1, 2, 12])))
    scores = scores.clip(0.05, 0.95)
    hits = rng.random(n) < draw(st.sampled_from([0.1, 0.5, 0.8]))
    lowest, highest = scores[hits].min(initial=1), scores[hits].max(initial=0)
    rest = scores[~hits]
    assume(0 < hits.sum() < n)
    assume(rest.max() > lowest and rest.min() < highest)
    return scores, hits, rng.integers(1, 4, n) if weights else None


@given(strategies.scored(weights=True))
def test_the_oe_ratio_is_its_definition(data):
    scores, hits, w = data
    s = scores.astype(float)
    assume((s * w).sum() > 1e-3)
    for weights, kind in ((None, "repetition"), (w, "repetition"), (w / 7, "sampling")):
        assume(weights is not None or s.sum() > 1e-3)
        found = oe_ratio(scores, hits, sample_weight=weights, weight_kind=kind)
        assert found == pytest.approx(naive.oe_ratio(s, hits, weights, kind), rel=1e-9, abs=1e-12)


@given(overlapping())
def test_the_intercept_is_its_definition(data):
    scores, hits, w = data
    eta = np.log(scores / (1 - scores))
    for weights, kind in ((None, "repetition"), (w, "repetition"), (w / 7, "sampling")):
        found = calibration_intercept(scores, hits, sample_weight=weights, weight_kind=kind)
        assert found == pytest.approx(naive.intercept(eta, hits, weights, kind), abs=1e-8)


@settings(max_examples=15)
@given(overlapping())
def test_the_slope_is_its_definition(data):
    scores, hits, w = data
    eta = np.log(scores / (1 - scores))
    for weights, kind in ((None, "repetition"), (w, "sampling")):
        found = calibration_slope(scores, hits, sample_weight=weights, weight_kind=kind)
        slow = naive.slope(eta, hits, weights, kind)
        assert found.value == pytest.approx(slow[0], abs=1e-5)
        assert found[1:] == pytest.approx(slow[1:], rel=1e-5, abs=1e-4)


@pytest.mark.parametrize("kind", [None, *KINDS])
@pytest.mark.parametrize("seed", range(3))
def test_with_clusters_they_are_their_definitions(seed, kind):
    scores, hits, code = naive.clustered(seed, icc=0.5, factor=1.5)
    scores = scores.round(2).clip(0.01, 0.99)
    eta = np.log(scores / (1 - scores))
    w = None if kind is None else np.random.default_rng(seed).integers(1, 4, scores.size)
    of = {"weight_kind": kind or "repetition"}
    curve = Curve.from_scores(scores, hits, sample_weight=w, clusters=code, **of)
    for measure, slow in zip(ALL, (naive.oe_ratio, naive.intercept, naive.slope), strict=True):
        x = scores if measure is oe_ratio else eta
        expected = slow(x, hits, w, kind or "repetition", clusters=code)
        assert measure(curve) == pytest.approx(expected, rel=1e-5, abs=1e-4)


def test_slopes_that_differ_between_clusters_widen_the_interval(rng):
    """The mean of every cluster is right, so that the design effect of outcomes shows nothing."""
    code = np.repeat(np.arange(40), 50)
    eta = np.tile(np.linspace(-3, 3, 50), 40)
    hits = rng.random(2000) < 1 / (1 + np.exp(-eta * rng.choice([0.2, 1.8], 40)[code]))
    scores = 1 / (1 + np.exp(-eta))
    alone = calibration_slope(scores, hits)
    curve = Curve.from_scores(scores, hits, clusters=code)
    found = calibration_slope(curve)
    assert curve.clusters.design_effect < 1.5
    assert found.value == pytest.approx(alone.value, abs=1e-6)
    assert found.high - found.low > 1.8 * (alone.high - alone.low)


def test_outcomes_that_are_alike_in_clusters_hardly_matter_if_scores_are_not(rng):
    """They move the means of clusters, over all scores alike: many times the variance of a mean."""
    code = np.repeat(np.arange(60), 40)
    eta = rng.normal(0, 1.2, 2400)
    hits = rng.random(2400) < 1 / (1 + np.exp(-eta - rng.normal(0, 1.5, 60)[code]))
    scores = 1 / (1 + np.exp(-eta))
    alone = calibration_slope(scores, hits)
    curve = Curve.from_scores(scores, hits, clusters=code)
    found = calibration_slope(curve)
    assert curve.clusters.design_effect > 5
    assert 1.0 < (found.high - found.low) / (alone.high - alone.low) < 1.7


@settings(max_examples=30)
@given(overlapping())
def test_weight_two_is_the_row_twice(data):
    scores, hits, w = data
    for measure in ALL:
        weighted = measure(scores, hits, sample_weight=w)
        assert weighted == pytest.approx(
            measure(np.repeat(scores, w), np.repeat(hits, w)), abs=1e-9
        )


@settings(max_examples=30)
@given(overlapping(weights=False))
def test_swapping_the_outcomes_mirrors_intercept_and_slope(data):
    scores, hits, _ = data
    a, b = (calibration_intercept(*pair) for pair in ((scores, hits), (1 - scores, ~hits)))
    assert (a.value, a.low, a.high) == pytest.approx((-b.value, -b.high, -b.low), abs=1e-8)
    c, d = (calibration_slope(*pair) for pair in ((scores, hits), (1 - scores, ~hits)))
    assert c == pytest.approx(d, abs=1e-6)


@settings(max_examples=30)
@given(strategies.scored(weights=True))
def test_any_scores_give_an_interval_that_holds_the_number(data):
    scores, hits, w = data
    for measure in ALL:
        found = measure(scores, hits, sample_weight=w)
        assert isnan(found.value) or found.low <= found.value <= found.high


@settings(max_examples=30)
@given(overlapping(weights=False), st.integers(0, 100))
def test_the_order_of_rows_and_how_they_are_merged_make_no_difference(data, seed):
    scores, hits, _ = data
    order = np.random.default_rng(seed).permutation(scores.size)
    half = scores.size // 2
    parts = [Curve.from_scores(scores[at], hits[at]) for at in (order[:half], order[half:])]
    for measure in ALL:
        assert measure(parts[0].merge(parts[1])) == measure(scores, hits)


def test_one_outcome_leaves_the_intercept_and_the_slope_open():
    none, every = ([0.2, 0.6] * 20, [0] * 40), ([0.2, 0.6] * 20, [1] * 40)
    assert oe_ratio(*none).value == 0.0
    assert 0.0 == oe_ratio(*none).low < oe_ratio(*none).high < 0.25
    assert oe_ratio(*every).low > 2.0
    assert calibration_intercept(*none)[:2] == (-inf, -inf)
    assert calibration_intercept(*none).high < 0.0
    assert calibration_intercept(*every).value == inf
    assert calibration_intercept(*every).low > 0.0
    for data in (none, every, ([0.3] * 9, [0, 1, 1] * 3)):
        found = calibration_slope(*data)
        assert isnan(found.value)
        assert (found.low, found.high) == (-inf, inf)


def test_separated_outcomes_have_one_open_end():
    up = calibration_slope([0.1, 0.2, 0.3, 0.3, 0.8, 0.9], [0, 0, 0, 1, 1, 1])
    assert up.value == up.high == inf
    assert 0.0 < up.low < 5.0
    down = calibration_slope([0.1, 0.2, 0.3, 0.3, 0.8, 0.9], [1, 1, 1, 0, 0, 0])
    assert down.value == down.low == -inf
    assert down.high == pytest.approx(-up.low, abs=1e-6)


def test_scores_of_0_and_1_and_no_expected_outcome():
    for measure in ALL:
        found = measure([0.0, 0.0, 1.0, 1.0, 0.5, 0.5] * 9, [0, 1, 1, 0, 1, 0] * 9)
        assert np.isfinite(found).all()
    assert isnan(oe_ratio([0.0, 0.0], [0, 0]).value)
    assert oe_ratio([0.0, 0.0], [0, 1]).value == inf


def test_a_sum_without_noise_still_has_the_noise_of_a_row():
    low, high = sum_interval(100.0, 0.0, 1.0)
    assert 97 < low < 100 < high < 103


def test_many_rows_are_joined_without_a_difference(rng):
    scores = rng.random(3 * MAX_ROWS)
    hits = rng.random(scores.size) < scores**2
    ones = np.ones(scores.size)
    eta = np.log(scores / (1 - scores))
    found = calibration_slope(scores, hits)
    p = 1 / (1 + np.exp(-(naive_line(eta, hits) @ np.stack([ones, eta]))))
    assert abs(np.sum(hits - p)) < 1e-6 * scores.size
    assert found.value == pytest.approx(naive_line(eta, hits)[1], abs=1e-5)


def naive_line(eta, hits):
    """Intercept and slope of logistic regression, by Newton's method as in any textbook."""
    X, theta = np.column_stack([np.ones(eta.size), eta]), np.zeros(2)
    for _ in range(50):
        p = 1 / (1 + np.exp(-X @ theta))
        theta = theta + np.linalg.solve((X.T * (p * (1 - p))) @ X, X.T @ (hits - p))
    return theta


def test_intercept_and_slope_are_those_of_scikit_learn(rng):
    linear_model = pytest.importorskip("sklearn.linear_model")
    eta = rng.normal(-1.0, 1.5, 3000)
    hits = rng.random(3000) < 1 / (1 + np.exp(-(0.4 + 0.7 * eta)))
    scores = 1 / (1 + np.exp(-eta))
    model = linear_model.LogisticRegression(C=np.inf, tol=1e-10, max_iter=500)
    model.fit(eta[:, None], hits)
    found = calibration_slope(scores, hits)
    assert found.value == pytest.approx(model.coef_[0, 0], abs=1e-5)
    assert found.low < 0.7 < found.high
    X = np.column_stack([np.ones(3000), eta])
    p = model.predict_proba(eta[:, None])[:, 1]
    error = np.sqrt(np.linalg.inv((X.T * (p * (1 - p))) @ X)[1, 1])
    assert (found.high - found.low) / (2 * 1.96 * error) == pytest.approx(1.0, abs=0.05)


@pytest.mark.parametrize("measure", ALL)
def test_bad_input_is_refused(measure):
    with pytest.raises(InvalidType, match="build it with"):
        measure(np.array([0.5]))
    with pytest.raises(InvalidInput):
        measure([0.5, 1.5], [0, 1])
    with pytest.raises(InvalidInput):
        measure([], [])
