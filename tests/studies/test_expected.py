import numpy as np
import pytest
from hypothesis import example, given
from sklearn.metrics import roc_auc_score

import ogive
from ogive import Curve, Predictions, expected_performance
from ogive.errors import DoesNotApply, InvalidInput
from tests import naive, strategies


@given(strategies.scored(weights=True, max_size=25))
@example((np.array([0.0, 0.0, 0.1]), np.zeros(3, bool), np.array([1, 0, 0])))  # AUC rounded above 1
@example((np.array([0.0, 1.2e-235]), np.zeros(2, bool), np.array([1, 0])))  # hardly any pairs
def test_the_numbers_are_their_definitions(data):
    scores, _, w = data
    q = scores.astype(float)
    for weights in (None, w):
        one = np.ones(q.size) if weights is None else weights
        found = expected_performance(scores, sample_weight=weights)
        right = np.where(q >= 0.5, q, 1 - q)
        assert found.accuracy.value == pytest.approx(np.average(right, weights=one), abs=1e-12)
        yes = (q >= 0.5) & (one > 0)
        if yes.any():
            precision = np.average(q[yes], weights=one[yes])
            assert found.precision.value == pytest.approx(precision, abs=1e-12)
        else:
            assert np.isnan(found.precision.value)
        slow = naive.expected_auc(q, weights)
        assert found.auc.value == pytest.approx(slow, abs=1e-9, nan_ok=True)
        for number in (found.accuracy, found.precision, found.auc):
            assert all(type(end) is float for end in number)
            assert np.isnan(number.value) or 0 <= number.low <= number.value <= number.high <= 1


def test_the_intervals_hold_what_is_measured_later(rng):
    held = np.zeros(3)
    for _ in range(60):
        q = rng.beta(1.0, 2.0, 400)
        y = rng.random(400) < q
        seen = ((q >= 0.5) == y).mean(), y[q >= 0.5].mean(), roc_auc_score(y, q)
        found = expected_performance(q)
        ends = (found.accuracy, found.precision, found.auc)
        held += [e.low <= x <= e.high for e, x in zip(ends, seen, strict=True)]
    assert (held >= 52).all()


def test_a_calibrator_adds_its_own_uncertainty(rng):
    s = rng.random(500)
    gamma = ogive.fit_spline(Curve.from_scores(s, rng.random(500) < s**2))
    new = rng.random(20_000)
    alone, fitted = expected_performance(gamma(new)), expected_performance(new, calibrator=gamma)
    assert fitted.accuracy.value == pytest.approx(alone.accuracy.value, abs=1e-12)
    assert fitted.auc.value == pytest.approx(alone.auc.value, abs=1e-12)
    for name in ("accuracy", "precision", "auc"):
        wide, narrow = getattr(fitted, name), getattr(alone, name)
        assert wide.high - wide.low > 2 * (narrow.high - narrow.low)
    platt = ogive.fit_platt(Curve.from_scores(s, rng.random(500) < s**2))
    assert expected_performance(new, calibrator=platt).n == 20_000


def test_matrices_have_the_accuracy_of_the_predicted_class(rng):
    p = rng.dirichlet([1, 1, 1], 300)
    found = expected_performance(p, kind="probs")
    assert found.accuracy.value == pytest.approx(p.max(axis=1).mean())
    assert np.isnan(found.precision.value)
    assert found.threshold is None
    of_class = expected_performance(p, "class-2", kind="probs", threshold=0.3)
    alone = expected_performance(p[:, 2], threshold=0.3)
    assert of_class.auc == pytest.approx(alone.auc)
    two = expected_performance(np.column_stack([1 - p[:, 2], p[:, 2]]), kind="probs")
    assert two.view == "class-1"


def test_one_row_and_certain_scores():
    one = expected_performance([0.3])
    assert (one.accuracy.low, one.accuracy.high) == (0.0, 1.0)
    assert np.isnan(one.auc.value)
    sure = expected_performance([0.0, 1.0])
    assert sure.auc == (1.0, 1.0, 1.0)
    assert one.to_dict()["auc_low"] is None


def test_bad_input_is_refused(rng):
    with pytest.raises(InvalidInput, match="threshold"):
        expected_performance([0.2, 0.4], threshold=1.5)
    with pytest.raises(InvalidInput, match="has labels: measure it instead"):
        expected_performance(Predictions([0.2, 0.4], [0, 1], kind="probs"))
    with pytest.raises(InvalidInput):
        expected_performance([0.2, 1.4])
    z = rng.normal(size=(60, 3))
    matrix = ogive.fit_temperature(Predictions(z, z.argmax(axis=1), kind="logits"))
    with pytest.raises(DoesNotApply, match="Apply it first"):
        expected_performance(z, kind="logits", calibrator=matrix)


@pytest.mark.parametrize("rows", [200, 40_000])
def test_the_scale_of_sampling_weights_does_not_matter(rng, rows):
    scores, weights = rng.beta(0.3, 9.0, rows), rng.uniform(0.0, 3.0, rows)
    how = {"threshold": 0.1, "weight_kind": "sampling"}
    found = [
        expected_performance(scores, sample_weight=k * weights, **how).to_dict()
        for k in (1.0, 1e-4)
    ]
    for one in found:
        del one["n"], one["view"]
    assert found[0] == pytest.approx(found[1], rel=1e-9)
    if rows == 200:
        q, w = scores, weights
        ones, zeros = w * q, w * (1 - q)
        order = np.sign(np.subtract.outer(scores, scores)) / 2 + 0.5
        pairs = np.outer(ones, zeros) * (1 - np.eye(rows))
        assert found[0]["auc"] == pytest.approx((pairs * order).sum() / pairs.sum(), rel=1e-9)


def test_a_shifted_calibrator_keeps_its_uncertainty(rng):
    scores = rng.random(300)
    gamma = ogive.fit_spline(Curve.from_scores(scores, rng.random(300) < scores**2))
    new = rng.random(2000)
    found = [
        expected_performance(new, calibrator=one)
        for one in (gamma, gamma.with_base_rate(0.5, trained_at=0.5))
    ]
    alone = expected_performance(gamma(new))
    widths = [one.precision.high - one.precision.low for one in (*found, alone)]
    assert widths[1] == pytest.approx(widths[0], rel=1e-6)
    assert widths[0] > 1.2 * widths[2]


def test_uncertainty_is_that_of_the_shifted_curve():
    """At 90 % most scores are near the threshold, where the curve matters; at 0.1 % few are."""
    rng = np.random.default_rng(0)
    scores = rng.random(300)
    gamma = ogive.fit_spline(Curve.from_scores(scores, rng.random(300) < scores**2))
    new, widths = rng.random(2000), []
    for rate in (0.001, 0.9):
        moved = gamma.with_base_rate(rate, trained_at=0.5)
        found = expected_performance(new, calibrator=moved).accuracy
        widths.append(found.high - found.low)
    assert widths[0] < 0.03
    assert widths[1] > 0.15


@pytest.mark.thorough
def test_of_few_outcomes_the_auc_has_the_interval_of_drawn_ones(rng):
    q = rng.beta(0.5, 60.0, 600)
    drawn = [(rng.random(600) < q) for _ in range(3000)]
    seen = [roc_auc_score(y, q) for y in drawn if y.any()]
    found = expected_performance(q).auc
    assert (found.low, found.high) == pytest.approx(np.quantile(seen, (0.025, 0.975)), abs=0.02)
