import numpy as np

from ogive import Curve, fit_spline
from ogive.calibrators.spline_draws import drawn_curves
from tests.simulate import too_high


def test_drawn_curves_have_the_mean_and_the_covariance_of_the_posterior(rng):
    gamma = fit_spline(Curve.from_scores(*too_high(rng)))
    eta = gamma.knots.copy()
    drawn = np.concatenate(list(drawn_curves(gamma, eta, 20_000, rng)))
    spread = np.sqrt(gamma.covariance.diagonal())
    assert (np.abs(drawn.mean(axis=0) - gamma.log_odds_at(eta.copy())) < 0.05 * spread).all()
    np.testing.assert_allclose(drawn.std(axis=0), spread, rtol=0.05)


def test_beyond_the_knots_they_move_as_at_the_last_one(rng):
    gamma = fit_spline(Curve.from_scores(*too_high(rng)))
    eta = np.array([gamma.knots[-1], gamma.knots[-1] + 5.0])
    off = np.concatenate(list(drawn_curves(gamma, eta, 20, rng))) - gamma.log_odds_at(eta.copy())
    np.testing.assert_allclose(off[:, 1], off[:, 0])
