from dataclasses import replace

import numpy as np
import pytest

from ogive import Curve, fit_beta, fit_platt, fit_spline


@pytest.fixture(params=[fit_spline, fit_platt, fit_beta])
def calibrator(request, rng):
    scores = rng.random(500)
    return request.param(Curve.from_scores(scores, rng.random(500) < scores**2))


def test_scores_and_their_tails_get_the_same_bits(calibrator, rng):
    near = 2.0 ** -rng.uniform(0.0, 53.0, 5000)
    scores = np.concatenate([rng.random(5000), near, 1.0 - near, [0.0, 0.5, 1.0, 5e-324]])
    by_tail = calibrator.from_tails(scores > 0.5, np.minimum(scores, 1.0 - scores))
    np.testing.assert_array_equal(calibrator(scores), by_tail)


def test_tails_whose_odds_overflow_keep_their_order(calibrator):
    tails = np.array([1e-300, 1e-307, 1e-309, 1e-315, 5e-324])
    high = np.ones(tails.size, dtype=bool)
    calibrator = replace(calibrator, lowest=-745.0, highest=745.0)
    eta = calibrator._log_odds_of(high, tails)
    np.testing.assert_allclose(eta, -np.log(tails), rtol=1e-15)
    np.testing.assert_allclose(calibrator._log_odds_of(~high, tails), -eta, rtol=1e-15)
