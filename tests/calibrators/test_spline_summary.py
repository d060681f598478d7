import json

import numpy as np
import pytest

from ogive import Curve, SplineCalibrator, cross_fitted_gain, fit_spline, load, save
from tests import naive, simulate


def test_too_high_of_the_top_class_is_overconfident(rng):
    truth = rng.uniform(0.3, 0.9, 4000)
    scores = truth + 0.08
    gamma = fit_spline(Curve.from_scores(scores, rng.random(4000) < truth, view="top-1"))
    summary = gamma.summary()
    assert summary.direction == "overconfident"
    assert summary.shift == pytest.approx(-0.08, abs=0.02)
    assert summary.moved >= abs(summary.shift)
    assert {part.way for part in summary.ranges} == {"too high"}
    assert summary.ranges[0].low < 0.5
    assert summary.ranges[-1].high > 0.9
    assert min(part.change for part in summary.ranges) == pytest.approx(-0.09, abs=0.04)
    assert "are too high" in repr(summary)


def test_too_extreme_on_both_sides_is_mixed(rng):
    scores, hits, _ = simulate.overconfident(rng, 5000)
    summary = fit_spline(Curve.from_scores(scores, hits)).summary()
    assert summary.direction == "mixed"
    assert [part.way for part in summary.ranges] == ["too low", "too high"]


def test_too_timid_is_mixed(rng):
    scores, hits, _ = simulate.overconfident(rng, 5000, factor=0.4)
    assert fit_spline(Curve.from_scores(scores, hits)).summary().direction == "mixed"


def test_both_are_told_apart(rng):
    scores = rng.uniform(0.5, 1.0, 8000)
    truth = np.where(scores < 0.75, scores + 0.15, scores - 0.15)
    curve = Curve.from_scores(scores, rng.random(8000) < truth, view="top-1")
    assert fit_spline(curve).summary().direction == "mixed"


def test_calibrated_scores_show_nothing(rng):
    scores = rng.random(3000)
    gamma = fit_spline(Curve.from_scores(scores, rng.random(3000) < scores), monotone=True)
    summary = gamma.summary()
    assert summary.direction == "none found"
    assert summary.ranges == ()
    assert summary.keep > 0.1
    text = repr(summary)
    assert "no miscalibration found" in text
    assert "made to rise" in text
    assert "effective degrees of freedom" in text
    assert "Leave it alone: cross-validated log loss" in text
    assert summary.leave_alone
    values = summary.to_dict()
    assert json.loads(json.dumps(values)) == values


@pytest.mark.parametrize("factor", [1.0, 2.0])
def test_the_gain_is_that_of_rows_left_out(rng, factor):
    scores, hits, _ = simulate.overconfident(rng, 120, factor=factor)
    gamma = fit_spline(Curve.from_scores(scores, hits))

    def fit(s, y):
        return fit_spline(Curve.from_scores(s, y))

    value, error = naive.left_out_gain(scores, hits, fit)
    assert gamma.gain == pytest.approx(value, abs=0.4 * error)
    assert gamma.gain_error == pytest.approx(error, rel=0.2)


@pytest.mark.parametrize("n", [60, 300, 2000])
def test_calibrated_scores_are_left_alone(rng, n):
    """Of 40 samples; about six would not be, by chance."""
    told = [fit_spline(simulate.calibrated(rng, n)).summary().leave_alone for _ in range(40)]
    assert sum(told) >= 27


def test_a_shift_is_not_left_alone(rng):
    """With two standard errors of the gain on rows left out, 79 % of these samples were."""
    told = []
    for _ in range(30):
        e = rng.normal(0.5, 1.5, 1000)
        hits = rng.random(1000) < 1 / (1 + np.exp(-e - 0.3))
        told.append(fit_spline(Curve.from_scores(1 / (1 + np.exp(-e)), hits)).summary().leave_alone)
    assert sum(told) <= 3


def test_the_expected_gain_is_a_mean_over_the_posterior(rng):
    scores, hits, _ = simulate.overconfident(rng, 400, factor=1.5)
    gamma = fit_spline(Curve.from_scores(scores, hits))
    r = gamma(scores)
    likely = np.mean(r * np.log(r / scores) + (1 - r) * np.log((1 - r) / (1 - scores)))
    assert gamma.expected_gain == pytest.approx(likely, rel=0.3)  # the truth at its mean
    assert gamma.expected_total == pytest.approx(400 * gamma.expected_gain)
    doubled = fit_spline(
        Curve.from_scores(scores, hits, sample_weight=np.full(400, 7.0), weight_kind="sampling")
    )
    assert doubled.expected_total == pytest.approx(gamma.expected_total, rel=1e-6)


def test_miscalibrated_scores_are_not(rng):
    for _ in range(10):
        scores, hits, _ = simulate.overconfident(rng, 2000)
        curve = Curve.from_scores(scores, hits)
        summary = fit_spline(curve).summary()
        assert not summary.leave_alone
        assert ": calibrate." in repr(summary)
        folded = cross_fitted_gain(curve)
        assert summary.gain.value == pytest.approx(folded.value, abs=2 * folded.error)
        assert "each row left out in turn" in repr(summary.gain)


def test_the_gain_ignores_order_and_counts_weights(rng):
    scores, hits, _ = simulate.overconfident(rng, 300)
    gamma = fit_spline(Curve.from_scores(scores, hits))
    back = fit_spline(Curve.from_scores(scores[::-1], hits[::-1]))
    assert back.gain == gamma.gain
    twice = fit_spline(Curve.from_scores(np.tile(scores, 2), np.tile(hits, 2)))
    weighted = fit_spline(Curve.from_scores(scores, hits, sample_weight=np.full(300, 2.0)))
    assert weighted.gain == pytest.approx(twice.gain, rel=1e-9)
    assert weighted.gain_error == pytest.approx(twice.gain_error, rel=1e-9)


def test_certain_scores_have_a_finite_gain():
    scores = np.array([0.0, 1.0] * 50)
    hits = np.array([0, 1] * 49 + [1, 0])
    gamma = fit_spline(Curve.from_scores(np.append(scores, [0.3, 0.7]), np.append(hits, [0, 1])))
    assert np.isfinite([gamma.gain, gamma.gain_error]).all()


GAIN_KEYS = {"gain", "gain_error", "log_loss", "expected_gain", "expected_total"}


def test_a_saved_map_remembers_its_gain(rng, tmp_path):
    gamma = fit_spline(simulate.calibrated(rng, 400))
    save(gamma, tmp_path / "cal.json")
    assert load(tmp_path / "cal.json").summary().gain == gamma.summary().gain
    old = {k: v for k, v in gamma.to_dict().items() if k not in GAIN_KEYS}
    summary = type(gamma).from_dict(old).summary()
    assert summary.gain is None
    assert summary.leave_alone is None
    assert type(gamma).from_dict(old).to_dict() == old


@pytest.mark.parametrize("vector", ["keep", "ovr", "every-rank"])
def test_the_estimator_says_so_too(rng, vector):
    logits, labels, _ = simulate.saturated_logits(rng, 900)
    summary = SplineCalibrator(multiclass=vector).fit(logits, labels).summary()
    assert summary.view == "vector"
    assert not summary.leave_alone
    assert summary.direction == "overconfident"
