"""Expected cost, net benefit and the cost curve."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from ogive import Curve, best_threshold, cost_curve, expected_cost, net_benefit
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


@given(strategies.scored(weights=True), SHARES)
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


def test_equal_scores_are_treated_alike_and_the_threshold_is_between():
    assert best_threshold([0.2, 0.2, 0.8, 0.8], [0, 0, 1, 1], miss=1, alarm=1) == 0.5
    assert best_threshold([0.2, 0.8], [1, 1], miss=1, alarm=1) == 0.0
    assert best_threshold([0.2, 1.0], [0, 0], miss=1, alarm=1) > 1.0
    close = np.array([0.5, np.nextafter(0.5, 1)])
    assert cuts(close)[1] == close[1]  # nothing is between them
    assert best_threshold(close, [0, 1], miss=1, alarm=1) == close[1]


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


def test_other_values_that_are_refused():
    with pytest.raises(InvalidInput, match=r"`threshold` must lie in \[0, 1\]"):
        expected_cost([0.2], [1], miss=1, alarm=1, threshold=1.5)
    with pytest.raises(InvalidInput, match=r"`thresholds` must lie in \[0, 1\), but one is 1.0"):
        net_benefit([0.2], [1], [0.5, 1.0])
    with pytest.raises(InvalidInput, match="all 2 outcomes are 0"):
        cost_curve([0.2, 0.4], [0, 0])


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
