import numpy as np
import pytest
from hypothesis import given, settings
from scipy.special import expit, logit

from ogive import Curve, spline_errors
from ogive.studies import spline_errors as module
from ogive.studies.spline_errors import _ends
from ogive.studies.where_off import spline_of
from tests import naive, strategies
from tests.simulate import too_high


@settings(max_examples=25)
@given(strategies.scored(weights=True))
def test_the_errors_are_distances_from_the_default_spline(data):
    scores, hits, w = data
    s = scores.astype(float)
    for weights in (None, w):
        curve = Curve.from_scores(scores, hits, sample_weight=weights)
        found = [one.value for one in spline_errors(curve)]
        assert found == pytest.approx(naive.distances(spline_of(curve), s, weights), abs=1e-9)


def test_the_upper_end_allows_for_half_of_the_squared_bias_of_the_band(rng, monkeypatch):
    scores, hits = too_high(rng, 200)
    gamma = spline_of(Curve.from_scores(scores, hits))
    grown = np.array(naive.distances(gamma, scores, hits=hits, biased=True))
    own = np.array(naive.distances(gamma, scores, hits=hits))
    grown -= own
    grown[-1] = 0.0  # Emax
    value, low, high = np.array(spline_errors(scores, hits)).T
    monkeypatch.setattr(module, "_of_line", lambda *_: (own, np.zeros(4)))
    _, same, noise = np.array(spline_errors(scores, hits)).T
    assert low == pytest.approx(same)
    assert (high - value) ** 2 == pytest.approx((noise - value) ** 2 + grown**2 / 2)


@pytest.mark.parametrize("seed", [0, 1, 6])
def test_the_upper_end_does_not_lean_towards_leaving_the_scores_alone(seed, monkeypatch):
    """All scores are too low by three standard errors, which the prior takes for less."""
    rng = np.random.default_rng(seed)
    scores = rng.random(200)
    hits = rng.random(200) < expit(logit(scores) + 0.5)
    gamma = spline_of(Curve.from_scores(scores, hits))
    value, _, high = np.array(spline_errors(scores, hits)).T
    straight = np.array(naive.distances(gamma, scores, hits=hits))
    assert (straight > value).all()
    monkeypatch.setattr(
        module, "_without_lean", lambda gamma, trials: gamma.log_odds_at(trials.offset.copy())
    )
    leaning = np.array([one.high for one in spline_errors(scores, hits)])
    assert (high - leaning > 0.5 * (straight - value))[:3].all()


def test_perfect_calibration_begins_at_0(rng):
    scores, hits = too_high(rng, 1000, power=1.0)
    assert all(one.low == 0.0 for one in spline_errors(scores, hits))


def test_the_lower_end_is_moved_by_the_mean_excess_of_drawn_curves():
    value, middle = np.array([0.2, 0.2, 0.3, 0.4]), np.array([0.21, 0.2, 0.3, 0.4])
    drawn = middle + np.linspace(-0.05, 0.15, 1001)[:, None]  # 0.05 above the number on average
    kept = np.zeros(1001, bool)
    low, high = _ends(drawn, kept, value, middle, np.zeros(4))
    assert low == pytest.approx(middle - 0.045 - 0.05)
    assert high == pytest.approx(middle + 0.145)
    low, same = _ends(drawn, ~kept, value, middle, np.zeros(4))
    assert (low == 0.0).all()  # the scores may be right as they are
    assert same == pytest.approx(high)
