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


def biased_ici(scores, hits):
    gamma = spline_of(Curve.from_scores(scores, hits))
    return [naive.distances(gamma, scores, hits=hits, biased=biased)[0] for biased in (False, True)]


def test_the_upper_end_allows_for_half_of_the_squared_bias_of_the_band(rng, monkeypatch):
    scores, hits = too_high(rng, 200)
    own, grown = biased_ici(scores, hits)
    asked = []
    monkeypatch.setattr(module, "_ends", lambda *given: asked.append(given) or _ends(*given))
    found = spline_errors(scores, hits).ici
    drawn, kept, value, middle, growth = asked[0]
    assert (value, middle) == pytest.approx((found.value, own))
    assert growth == pytest.approx(grown - own)
    noise = _ends(drawn, kept, value, middle, 0.0)
    assert found.low == noise[0]
    assert (found.high - value) ** 2 == pytest.approx((noise[1] - value) ** 2 + growth**2 / 2)


@pytest.mark.parametrize("seed", [0, 1, 6])
def test_the_upper_end_does_not_lean_towards_leaving_the_scores_alone(seed, monkeypatch):
    """All scores are too low by three standard errors, which the prior takes for less."""
    rng = np.random.default_rng(seed)
    scores = rng.random(200)
    hits = rng.random(200) < expit(logit(scores) + 0.5)
    value, _, high = spline_errors(scores, hits).ici
    straight = biased_ici(scores, hits)[0]
    assert straight > value
    monkeypatch.setattr(
        module, "_without_lean", lambda gamma, trials: gamma.log_odds_at(trials.offset.copy())
    )
    assert high - spline_errors(scores, hits).ici.high > 0.5 * (straight - value)


def test_perfect_calibration_begins_at_0(rng):
    scores, hits = too_high(rng, 1000, power=1.0)
    assert spline_errors(scores, hits).ici.low == 0.0


def test_only_the_mean_has_an_interval(rng):
    found = spline_errors(*too_high(rng, 300))
    assert np.isfinite(found.ici).all()
    assert np.isnan([one[1:] for one in found[1:]]).all()


def test_the_lower_end_is_as_far_below_as_the_draws_reach_above():
    kept = np.zeros(1001, bool)
    drawn = 0.21 + np.linspace(-0.13, 0.15, 1001)
    low, high = _ends(drawn, kept, 0.2, 0.21, 0.0)
    assert (low, high) == pytest.approx((0.21 - 0.143, 0.21 + 0.143))
    assert _ends(drawn, ~kept, 0.2, 0.21, 0.0) == (0.0, high)  # the scores may be right as they are
    half, _ = _ends(drawn, kept, 0.2, 0.17, 0.0)
    assert half == pytest.approx((0.21 - 0.123) / 2)  # not 0, as 0.34 less 0.353 would be


def test_label_noise_does_not_make_the_lower_end_exceed_the_truth():
    """Truth .04 + .92 p: with the ends of version 0.1 one in seven was above it."""
    held, zero = 0, 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        p = expit(rng.normal(0.0, 4.0, 300))
        truth = 0.04 + 0.92 * p
        found = spline_errors(p, rng.random(300) < truth).ici
        held += found.low <= np.abs(truth - p).mean() <= found.high
        zero += found.low == 0.0
    assert held >= 56
    assert zero <= 21
