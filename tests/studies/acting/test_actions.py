"""Several actions: matrices of costs."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import ogive
from ogive import Curve, Predictions, decide
from ogive.calibrators.scaling.temperature import TemperatureMap
from ogive.studies.acting.actions import expected_costs
from tests import naive
from tests.simulate import rare


def test_several_actions(rng):
    z = 2 * rng.normal(size=(2000, 3))
    p = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
    labels = (rng.random((2000, 1)) > p.cumsum(axis=1)).sum(axis=1)
    costs = [[0, 10, 5], [1, 0, 1], [3, 3, 0], [1, 1, 1]]
    gamma = ogive.fit_temperature(Predictions(2 * z[:500], labels[:500], kind="logits"))
    preds = Predictions(2 * z[500:], labels[500:], kind="logits")
    found = decide(preds, costs=costs, calibrator=gamma, actions=["a", "b", "c", "d"])
    assert found.threshold is None
    for q, cost, share in (
        (preds.probabilities(), found.cost_before, "before"),
        (gamma(preds), found.cost_after, "after"),
    ):
        chosen = [min(range(4), key=lambda a: (np.dot(row, costs[a]), a)) for row in q]
        paid = [costs[a][k] for a, k in zip(chosen, labels[500:], strict=True)]
        assert cost == pytest.approx(np.mean(paid))
        shares = [chosen.count(a) / 1500 for a in range(4)]
        assert [getattr(x, share) for x in found.actions] == pytest.approx(shares)
    assert found.saved == pytest.approx(found.cost_before - found.cost_after)
    assert found.low < found.saved < found.high
    always = [np.mean([row[k] for k in labels[500:]]) for row in costs]
    assert [x.always for x in found.actions] == pytest.approx(always)
    crossed = decide(preds, costs=costs, method="temperature")
    assert crossed.saved > 0.0
    assert crossed.how == "cross-validated (5 folds)"


def test_a_large_cost_that_no_row_paid_is_not_ruled_out(rng):
    """With 200 rows and none missed, up to three of them may have been missed by chance."""
    p = np.tile([[0.9, 0.1, 0.0], [0.1, 0.9, 0.0]], (100, 1))
    preds = Predictions(p, (rng.random(200) < p[:, 1]).astype(int), kind="probs")
    small, large = ([[0, 1, worst], [1, 0, worst], [2, 2, 0]] for worst in (1, 1000))
    few, many = (
        decide(preds, costs=c, calibrator=ogive.fit_temperature(preds)) for c in (small, large)
    )
    assert few.cost_before == many.cost_before
    assert few.before.high < 0.5
    assert 1000 * 3 / 200 < many.before.high < 1000 * 4 / 200


@settings(max_examples=60)
@given(st.data())
def test_intervals_of_several_actions_are_those_of_rows_of_one_size(data):
    classes, n = data.draw(st.integers(2, 4)), data.draw(st.integers(2, 30))
    size = st.sampled_from([0.0, 0.5, 1.0, 3.0, 20.0, 100.0])
    costs = data.draw(
        st.lists(st.lists(size, min_size=classes, max_size=classes), min_size=2, max_size=4)
    )
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    z, labels = 3 * rng.normal(size=(n, classes)), np.arange(n) % classes
    kind = data.draw(st.sampled_from(["repetition", "sampling"]))
    w = rng.integers(1, 4, n).astype(float)
    preds = Predictions(z, labels, kind="logits", sample_weight=w, weight_kind=kind)
    factor = data.draw(st.sampled_from([0.25, 1.0]))
    gamma = TemperatureMap(view="vector", n=n, K=classes, factor=factor, floor=None)
    assume(len({tuple(row) for row in costs}) > 1)
    found = decide(preds, costs=costs, calibrator=gamma)
    chosen = [
        [min(range(len(costs)), key=lambda a: (np.dot(row, costs[a]), a)) for row in q]
        for q in (preds.probabilities(), gamma(preds))
    ]
    paid = [[costs[a][k] for a, k in zip(x, labels, strict=True)] for x in chosen]
    for one, x, actions in zip((found.before, found.after), paid, chosen, strict=True):
        most = max(max(costs[a]) for a in actions)
        assert one[:3] == pytest.approx(naive.mean_of_sizes(x, [most], w, kind), abs=1e-12)
    pairs = [(a, b) for a, b in zip(*chosen, strict=True) if a != b]
    if not pairs:
        pairs = [(a, b) for a in chosen[0] for b in chosen[0]]
    change = [costs[a][k] - costs[b][k] for a, b in pairs for k in range(classes)]
    saved = np.subtract(*paid).tolist()
    expected = naive.mean_of_sizes(saved, [min(change), max(change)], w, kind)
    assert (found.saved, found.low, found.high) == pytest.approx(expected, abs=1e-12)


def test_two_actions_of_two_classes_are_a_threshold(rng):
    scores, outcomes = rare(rng, 1500)
    gamma = ogive.fit_platt(Curve.from_scores(*rare(rng)))
    one = decide(scores, outcomes, miss=7, alarm=2, calibrator=gamma)
    two = decide(scores, outcomes, costs=[[0, 7], [2, 0]], calibrator=gamma)
    assert two.cost_before == pytest.approx(one.cost_before)
    assert two.cost_after == pytest.approx(one.cost_after)
    assert two.saved == pytest.approx(one.saved)
    assert (two.low, two.high) == pytest.approx((one.low, one.high), rel=0.02)
    assert two.before[:3] == pytest.approx(one.before[:3])
    assert two.after[:3] == pytest.approx(one.after[:3])
    cost = expected_costs([[0.5, 0.5]], [[0, 7], [2, 0]])
    assert cost.tolist() == [[3.5, 1.0]]


@pytest.mark.parametrize("seed", [0, 4])  # the mean of five equal costs is rounded
def test_actions_that_no_fold_changes_save_nothing_for_certain(seed):
    rng = np.random.default_rng(seed)
    p = rng.dirichlet([1, 1, 1], 200 + seed)
    labels = (p.cumsum(axis=1) < rng.random((p.shape[0], 1))).sum(axis=1)
    costs = [[0.1, 0.2, 0.3], [5, 5, 7]]
    found = decide(p, labels, kind="probs", costs=costs, method="temperature")
    assert (found.saved, found.low, found.high) == (0.0, 0.0, 0.0)
    assert found.verdict == "Calibrating changes no decision at these costs."


def test_the_noise_of_the_fits_is_in_the_intervals(rng, monkeypatch):
    p = rng.dirichlet([1, 1, 1], 400)
    labels = (p.cumsum(axis=1) < rng.random((400, 1))).sum(axis=1)
    asked = {"kind": "probs", "costs": 10 * (1 - np.eye(3)), "method": "temperature"}
    ends = []
    for variance in (0.0, 0.01):
        monkeypatch.setattr(
            "ogive.studies.acting.study.jackknife_variance", lambda _, v=variance: v
        )
        found = decide(p, labels, **asked)
        ends.append([found.high - found.saved, found.after.high - found.after.cost])
    more = np.square(ends[1]) - np.square(ends[0])
    assert more == pytest.approx([1.96**2 * 0.01] * 2, rel=1e-3)
