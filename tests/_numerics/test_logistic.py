import numpy as np
import pytest
from scipy.optimize import minimize

from ogive._numerics.logistic import expit, intercept_for_share, logistic_fit


def test_it_finds_what_a_general_optimiser_finds(rng):
    X = rng.normal([3.0, -200.0], [0.01, 50.0], (400, 2))
    count = rng.integers(1, 5, 400).astype(float)
    hits = rng.binomial(count.astype(int), expit(40 * (X[:, 0] - 3) + 0.02 * (X[:, 1] + 200)))
    fit = logistic_fit(X, count, hits.astype(float))

    def loss(theta):
        z = theta[0] + theta[1] * 100 * (X[:, 0] - 3) + theta[2] * (X[:, 1] + 200) / 50
        return np.sum(count * np.logaddexp(0, z) - hits * z)

    best = minimize(loss, np.zeros(3), method="BFGS")
    assert fit.loss == pytest.approx(best.fun, abs=1e-6)
    np.testing.assert_allclose([fit.slopes[0] / 100, fit.slopes[1] * 50], best.x[1:], atol=1e-3)


def test_columns_that_say_the_same_share_the_slope(rng):
    x = rng.normal(size=500)
    hits = (rng.random(500) < expit(x)).astype(float)
    one = logistic_fit(x[:, None], np.ones(500), hits)
    two = logistic_fit(np.stack([x, x], axis=1), np.ones(500), hits)
    assert two.loss == pytest.approx(one.loss)
    assert two.slopes.sum() == pytest.approx(one.slopes[0], rel=1e-6)


@pytest.mark.parametrize("share", [1e-6, 0.2, 0.999])
def test_the_shift_gives_the_mean_also_from_far_away(rng, share):
    eta = rng.normal(600.0, 30.0, 200)
    count = rng.random(200)
    shift = intercept_for_share(eta, count, share)
    assert np.average(expit(eta + shift), weights=count) == pytest.approx(share, rel=1e-9)


def test_columns_whose_squares_underflow_are_fitted():
    x, count, hits = (
        np.array([-2.0, -1.0, 0.5]),
        np.array([4.0, 5.0, 6.0]),
        np.array([1.0, 2.0, 4.0]),
    )
    plain = logistic_fit(x[:, None], count, hits)
    tiny = logistic_fit(1e-260 * x[:, None], count, hits)
    assert tiny.intercept == pytest.approx(plain.intercept)
    assert tiny.slopes[0] * 1e-260 == pytest.approx(plain.slopes[0])
