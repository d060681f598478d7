"""Net benefit and the cost curve."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from ogive import Curve, cost_curve, net_benefit
from ogive.errors import InvalidInput
from tests import naive, strategies


@given(strategies.scored(weights=True), st.sampled_from([0.0, 0.05, 0.25, 0.5, 0.7, 0.99]))
def test_the_cost_curve_equals_its_definition(data, x):
    scores, hits, w = data
    assume(0 < w @ hits < w.sum())
    s = scores.astype(float)
    found = cost_curve(scores, hits, [x], sample_weight=w)
    at = float(found.threshold[0])
    assert found.value == pytest.approx([naive.normalised_cost(s, hits, x, at, w)], abs=1e-12)
    tried = [naive.normalised_cost(s, hits, x, t, w) for t in [*s[w > 0], 2.0]]
    assert found.best == pytest.approx([min(tried)], abs=1e-12)
    # M = x / π and A = (1 − x) / (1 − π) make the normalised cost an expected cost.
    rate = w @ hits / w.sum()
    costs = {"miss": x / rate, "alarm": (1 - x) / (1 - rate)}
    assert at == pytest.approx(costs["alarm"] / (costs["miss"] + costs["alarm"]))


@given(strategies.scored(weights=True))
def test_weight_two_is_the_row_twice_and_shards_merge(data):
    scores, hits, w = data
    weighted = Curve.from_scores(scores, hits, sample_weight=w)
    repeated = Curve.from_scores(np.repeat(scores, w), np.repeat(hits, w))
    half = scores.size // 2
    for a, b in (
        (weighted, repeated),
        (_merged(scores, hits, half), Curve.from_scores(scores, hits)),
    ):
        one, other = net_benefit(a), net_benefit(b)
        assert one.value == pytest.approx(other.value, abs=1e-12)
        assert one.low == pytest.approx(other.low, abs=1e-9)
        assert one.high == pytest.approx(other.high, abs=1e-9)


def _merged(scores, hits, half):
    if not half:
        return Curve.from_scores(scores, hits)
    first = Curve.from_scores(scores[:half], hits[:half])
    return first.merge(Curve.from_scores(scores[half:], hits[half:]))


def test_an_example_of_decision_curves_by_hand():
    """Ten patients, threshold 20 %: 3 of 4 events and 2 of 6 others are treated."""
    risk = [0.9, 0.5, 0.2, 0.1, 0.6, 0.3, 0.1, 0.1, 0.05, 0.15]
    found = net_benefit(risk, [1, 1, 1, 1, 0, 0, 0, 0, 0, 0], [0.2])
    assert found.value == pytest.approx([0.3 - 0.2 * 0.25])
    assert found.treat_all == pytest.approx([0.4 - 0.6 * 0.25])
    assert found.avoided == pytest.approx([(0.25 - 0.25) / 0.25])


def test_the_example_of_dcurves_has_the_published_numbers():
    """R's ``dca(cancer ~ famhistory, data = df_binary)``: of 750 patients 105 have cancer, and of
    these 24 a family history, of the others 91."""
    history = np.repeat([1.0, 0.0, 1.0, 0.0], [24, 81, 91, 554])
    cancer = np.repeat([1, 1, 0, 0], [24, 81, 91, 554])
    found = net_benefit(history, cancer, [0.05, 0.1, 0.2, 0.3, 0.5])
    published = [0.025614035087719297, 0.018518518518518517, 0.0016666666666666635, -0.02]
    assert found.value == pytest.approx([*published, -0.08933333333333335], abs=1e-15)
    everyone = [0.09473684210526317, 0.04444444444444445, -0.07499999999999998]
    assert found.treat_all[:3] == pytest.approx(everyone, abs=1e-15)


def test_a_normalised_cost_and_its_limits_are_shares():
    wrong = cost_curve([0.9, 0.8, 0.1, 0.2, 0.6], [0, 0, 1, 1, 1])
    right = cost_curve([0.9, 0.8, 0.1, 0.2, 0.6], [1, 1, 0, 0, 0])
    assert wrong.high.max() == 1.0
    assert right.low.min() == 0.0
    for found in (wrong, right):
        assert ((found.low <= found.value) & (found.value <= found.high)).all()


def test_values_that_are_refused():
    with pytest.raises(InvalidInput, match=r"`thresholds` must lie in \[0, 1\), but one is 1.0"):
        net_benefit([0.2], [1], [0.5, 1.0])
    with pytest.raises(InvalidInput, match="all 2 outcomes are 0"):
        cost_curve([0.2, 0.4], [0, 0])


def test_the_usual_points_are_each_percent():
    points = np.arange(1, 100) / 100
    assert net_benefit([0.2, 0.7], [0, 1]).threshold == pytest.approx(points)
    assert cost_curve([0.2, 0.7], [0, 1]).x == pytest.approx(points)


def test_the_interval_of_many_rows_is_that_of_two_independent_means(rng):
    scores = rng.random(40_000)
    hits = rng.random(40_000) < scores
    found = cost_curve(scores, hits, [0.3])
    acted = scores >= found.threshold
    shares = (~acted[hits]).mean(), acted[~hits].mean()
    sizes = (0.3, hits), (0.7, ~hits)
    variance = [w**2 * p * (1 - p) / of.sum() for p, (w, of) in zip(shares, sizes, strict=True)]
    half = 1.96 * np.sqrt(sum(variance))
    assert found.value - found.low == pytest.approx([half], rel=0.02)
    assert found.high - found.value == pytest.approx([half], rel=0.02)
