"""Expected cost, and the threshold with the lowest."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ogive import best_threshold, expected_cost, net_benefit
from ogive._numerics.mean_interval import Part, mean_interval
from ogive.errors import InvalidInput, InvalidType
from ogive.metrics.decisions import cuts
from tests import naive, strategies

SHARES = st.sampled_from([0.0, 0.05, 0.1, 0.25, 0.3, 0.5, 0.7, 0.9, 0.99])


@given(strategies.scored(weights=True), SHARES)
def test_they_equal_their_definitions(data, t):
    scores, hits, w = data
    s = scores.astype(float)
    for weights in (None, w, w / 7):
        for kind in ("repetition", "sampling"):
            how = {"sample_weight": weights, "weight_kind": kind}
            cost = expected_cost(scores, hits, miss=5, alarm=2, threshold=t, **how)
            exact = naive.expected_cost(s, hits, t, 5, 2, weights)
            assert cost.value == pytest.approx(exact, abs=1e-12)
            ends = naive.cost_interval(s, hits, t, 5, 2, weights, kind)
            assert (cost.low, cost.high) == pytest.approx(ends, abs=1e-7)
            found = net_benefit(scores, hits, [t], **how)
            value, everyone, avoided = naive.net_benefit(s, hits, t, weights)
            assert found.value == pytest.approx([value], abs=1e-10)
            assert found.treat_all == pytest.approx([everyone], abs=1e-10)
            assert found.avoided == pytest.approx([avoided], abs=1e-9, nan_ok=True)
            assert (found.low <= found.value + 1e-12).all()
            assert (found.value <= found.high + 1e-12).all()


@given(strategies.scored(weights=True), SHARES)
def test_the_best_threshold_has_the_lowest_cost(data, share):
    scores, hits, w = data
    costs = {"miss": 1 - share, "alarm": share}
    t = best_threshold(scores, hits, **costs, sample_weight=w)
    found = expected_cost(scores, hits, **costs, threshold=t, sample_weight=w).value
    assert found == pytest.approx(naive.best_cost(scores.astype(float), hits, **costs, weights=w))


def test_equal_scores_are_treated_alike_and_the_threshold_is_between():
    assert best_threshold([0.2, 0.2, 0.8, 0.8], [0, 0, 1, 1], miss=1, alarm=1) == 0.5
    assert best_threshold([0.2, 0.8], [1, 1], miss=1, alarm=1) == 0.0
    assert best_threshold([0.2, 1.0], [0, 0], miss=1, alarm=1) > 1.0
    close = np.array([0.5, np.nextafter(0.5, 1)])
    assert cuts(close)[1] == close[1]  # nothing is between them
    assert best_threshold(close, [0, 1], miss=1, alarm=1) == close[1]


def test_cost_and_net_benefit_say_the_same(rng):
    scores, n = rng.random(500), 500
    hits = rng.random(n) < scores
    t = 1 / (9 + 1)
    cost = expected_cost(scores, hits, miss=9, alarm=1).value
    benefit = net_benefit(scores, hits, [t]).value[0]
    assert cost == pytest.approx(9 * (hits.mean() - benefit))


def test_scikit_learn_tunes_to_the_same_cost(rng):
    model_selection = pytest.importorskip("sklearn.model_selection")
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import confusion_matrix, make_scorer

    x = rng.normal(size=(600, 2))
    y = (rng.random(600) < 1 / (1 + np.exp(2 - x @ [1.5, 1.0]))).astype(int)

    def gain(y_true, y_pred):
        table = confusion_matrix(y_true, y_pred)
        return -(8 * table[1, 0] + table[0, 1]) / y_true.size

    model = LogisticRegression().fit(x, y)
    scores = model.predict_proba(x)[:, 1]
    tuned = model_selection.TunedThresholdClassifierCV(
        model, scoring=make_scorer(gain), thresholds=np.unique(scores), cv="prefit", refit=False
    ).fit(x, y)
    ours = best_threshold(scores, y, miss=8, alarm=1)
    costs = [
        expected_cost(scores, y, miss=8, alarm=1, threshold=t).value
        for t in (ours, tuned.best_threshold_)
    ]
    assert costs[0] == pytest.approx(costs[1])
    assert costs[0] == pytest.approx(-tuned.best_score_)
    assert ((scores >= ours) == tuned.predict(x).astype(bool)).mean() > 0.99


@pytest.mark.parametrize(
    ("costs", "error", "message"),
    [
        ({"miss": -1, "alarm": 1}, InvalidInput, "`miss` must be a cost of 0 or more, not -1"),
        (
            {"miss": 1, "alarm": np.nan},
            InvalidInput,
            "`alarm` must be a cost of 0 or more, not nan",
        ),
        ({"miss": np.inf, "alarm": 1}, InvalidInput, "`miss` must be a cost of 0"),
        ({"miss": 1e155, "alarm": 1}, InvalidInput, "0, or from 1e-100 to 1e100"),
        ({"miss": 1, "alarm": 1e-160}, InvalidInput, "`alarm` must be a cost of 0"),
        ({"miss": 0, "alarm": 0}, InvalidInput, "are both 0"),
        ({"miss": "much", "alarm": 0}, InvalidType, "`miss` must be a number, not 'much'"),
    ],
)
def test_costs_that_are_none_are_refused(costs, error, message):
    for measure in (expected_cost, best_threshold):
        with pytest.raises(error, match=message):
            measure([0.2, 0.7], [0, 1], **costs)


def test_a_threshold_beyond_1_is_refused():
    with pytest.raises(InvalidInput, match=r"`threshold` must lie in \[0, 1\]"):
        expected_cost([0.2], [1], miss=1, alarm=1, threshold=1.5)


def test_intervals_of_a_share_lie_between_the_known_ones():
    from scipy.stats import beta

    for k, n in ((0, 20), (1, 20), (7, 20), (20, 20)):
        found = mean_interval([(1.0, Part(k, k, 1.0))], n, n)
        wide = (beta.ppf(0.025, k, n - k + 1), beta.ppf(0.975, k + 1, n - k))
        near = (beta.ppf(0.025, k + 0.5, n - k + 0.5), beta.ppf(0.975, k + 0.5, n - k + 0.5))
        low, high = float(found.low), float(found.high)
        assert low == 0.0 if k == 0 else wide[0] < low < near[0]
        assert high == 1.0 if k == n else near[1] < high < wide[1]


def test_the_interval_of_many_rows_is_the_normal_one(rng):
    scores = rng.random(40_000)
    hits = rng.random(40_000) < scores
    cost = np.where(scores >= 0.25, ~hits * 1.0, hits * 3.0)
    found = expected_cost(scores, hits, miss=3, alarm=1)
    half = 1.96 * cost.std() / np.sqrt(cost.size)
    assert found.high - found.value == pytest.approx(half, rel=0.02)
    assert found.value - found.low == pytest.approx(half, rel=0.02)
    weights = rng.integers(1, 4, 40_000)
    found = expected_cost(
        scores, hits, miss=3, alarm=1, sample_weight=weights, weight_kind="sampling"
    )
    mean = np.average(cost, weights=weights)
    half = 1.96 * np.sqrt((weights**2 * (cost - mean) ** 2).sum()) / weights.sum()
    assert found.value == pytest.approx(mean)
    assert found.high - found.low == pytest.approx(2 * half, rel=0.03)
