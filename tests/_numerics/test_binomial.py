import numpy as np
import pytest

from ogive._numerics.binomial import Likelihood, Trials
from tests._numerics.trials import problem


def test_the_gradient_and_the_information_are_derivatives(rng):
    like, _, _ = problem(rng, columns=4)
    coef, step = 0.1 * rng.normal(size=4), 1e-5
    at = like.point(coef)
    for k in range(4):
        move = step * np.eye(4)[k]
        up, down = like.point(coef + move), like.point(coef - move)
        assert (up.value - down.value) / (2 * step) == pytest.approx(at.score[k], rel=1e-5)
        slope = (up.score - down.score) / (2 * step)
        np.testing.assert_allclose(slope, -at.info[k], rtol=1e-5, atol=1e-6)


def test_certain_and_wrong_rows_do_not_stop_newton():
    eta = np.array([-744.0, -1.0, 1.0, 744.0])
    trials = Trials(eta, np.full(4, 30.0), np.array([29.0, 15.0, 15.0, 1.0]), eta)
    X = np.stack([np.ones(4), eta], 1)
    like = Likelihood(trials, X, trials.hits @ X)
    at = like.ascend(like.point(np.zeros(2)), np.full(2, 1 / 9))
    assert at.value > 120 * np.log(0.5)  # better than a coin for all
