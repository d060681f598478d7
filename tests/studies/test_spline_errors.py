import numpy as np
import pytest
from hypothesis import given, settings

from ogive import Curve, spline_errors
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
    grown = np.array(naive.distances(gamma, scores, biased=True))
    grown -= naive.distances(gamma, scores)
    grown[-1] = 0.0  # Emax
    value, low, high = np.array(spline_errors(scores, hits)).T
    monkeypatch.setattr("ogive.studies.spline_errors._growth", lambda gamma, trials: np.zeros(4))
    _, same, noise = np.array(spline_errors(scores, hits)).T
    assert low == pytest.approx(same)
    assert (high - value) ** 2 == pytest.approx((noise - value) ** 2 + grown**2 / 2)


def test_perfect_calibration_begins_at_0(rng):
    scores, hits = too_high(rng, 1000, power=1.0)
    assert all(one.low == 0.0 for one in spline_errors(scores, hits))


def test_the_lower_end_is_moved_by_the_mean_excess_of_drawn_curves():
    value = np.array([0.2, 0.2, 0.3, 0.4])
    drawn = value + np.linspace(-0.05, 0.15, 1001)[:, None]  # 0.05 above the number on average
    low, high = _ends(drawn, value, np.zeros(4))
    assert low == pytest.approx(value - 0.045 - 0.05)
    assert high == pytest.approx(value + 0.145)
