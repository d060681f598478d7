import numpy as np
import pytest
from hypothesis import given

from ogive import Curve
from ogive.calibrators.platt import fit_platt
from ogive.errors import FallbackWarning
from tests import naive, simulate, strategies


@given(strategies.scored(min_size=6))
def test_it_maximises_the_likelihood_of_platt_s_targets(data):
    scores, hits = data
    curve = Curve.from_scores(scores, hits)
    if len(set(hits.tolist())) < 2 or np.ptp(curve.log_odds) < 0.5:
        return
    eta = curve.log_odds[np.searchsorted(curve.score, np.asarray(scores, dtype=float))]
    if curve.score.size != len(set(np.asarray(scores, dtype=float).tolist())) or np.ptp(eta) > 60:
        return  # the general optimiser is not made for that
    gamma = fit_platt(curve)
    expected = naive.platt(eta, hits)
    z = gamma.intercept + gamma.slope * eta
    np.testing.assert_allclose(z, expected[0] + expected[1] * eta, atol=1e-3)


def test_it_finds_the_known_line(rng):
    scores, hits, _ = simulate.overconfident(rng, 50_000)
    gamma = fit_platt(Curve.from_scores(scores, hits))
    assert gamma.slope == pytest.approx(0.5, abs=0.02)
    assert gamma.intercept == pytest.approx(0.0, abs=0.03)


def test_separated_classes_stay_finite():
    gamma = fit_platt(Curve.from_scores([0.1, 0.2, 0.8, 0.9], [0, 0, 1, 1]))
    assert 0 < gamma.slope < 3
    assert gamma(0.9) < 0.9  # four rows are no proof


def test_extreme_log_odds_do_not_overflow(rng):
    eta = np.concatenate([rng.normal(0, 1, 500), [700.0, -700.0]])
    scores = 1 / (1 + np.exp(-eta))
    gamma = fit_platt(Curve.from_scores(scores, rng.random(502) < 0.5))
    assert np.isfinite([gamma.slope, gamma.intercept]).all()


def test_a_single_score_gets_its_share_with_a_warning():
    with pytest.warns(FallbackWarning, match="single score"):
        gamma = fit_platt(Curve.from_scores([0.7] * 100, [1] * 40 + [0] * 60))
    assert gamma.slope == 1.0
    assert gamma(0.7) == pytest.approx(0.4, abs=0.01)


@pytest.mark.parametrize("scale", [1e-6, 1e6])
def test_sampling_weights_have_no_unit(scale, rng):
    s = rng.random(500)
    hits, w = rng.random(500) < s**2, rng.random(500)
    maps = [
        fit_platt(Curve.from_scores(s, hits, sample_weight=c * w, weight_kind="sampling"))
        for c in (1.0, scale)
    ]
    assert maps[0].slope == pytest.approx(maps[1].slope, rel=1e-9)
    assert maps[0].intercept == pytest.approx(maps[1].intercept, rel=1e-9)


@pytest.mark.parametrize("score", [1e-300, 0.3, 0.5, 0.999])
@pytest.mark.parametrize("ulps", [1, 50])
def test_scores_that_differ_by_rounding_are_a_single_score(score, ulps):
    near = score * (1 + ulps * 2.0**-52)
    assert near > score
    curve = Curve.from_scores([score, near] * 50, [0, 1] * 40 + [0, 0] * 10)
    with pytest.warns(FallbackWarning, match="single score"):
        gamma = fit_platt(curve)
    assert gamma.slope == 1.0
    assert gamma(score) == pytest.approx(0.4, abs=0.01)


def test_scores_close_together_but_beyond_rounding_keep_their_slope(rng):
    eta = rng.normal(0.0, 1.0, 2000)
    hits = rng.random(2000) < 1 / (1 + np.exp(-eta))
    slopes = [
        fit_platt(Curve.from_scores(1 / (1 + np.exp(-c * eta)), hits)).slope * c for c in (1, 1e-6)
    ]
    assert slopes[0] == pytest.approx(slopes[1], rel=1e-3)
