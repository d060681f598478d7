import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit, logit

from ogive import Curve
from ogive.studies.saving import saving
from tests.simulate import too_high


def test_the_saving_is_what_the_likeliest_smooth_map_gains(rng):
    """Four powers of the share of rows, a constant, and the log-odds, beside the log-odds."""
    scores, hits = too_high(rng, 500, power=1.4)
    order = np.argsort(scores)
    eta, y = logit(scores[order]), hits[order]
    share = (np.arange(500) + 0.5) / 500
    X = np.stack([*(share**k for k in range(5)), eta], axis=1)

    def loss(coef):
        line = eta + X @ coef
        return np.sum(np.logaddexp(0, line) - y * line)

    def slope(coef):
        return X.T @ (expit(eta + X @ coef) - y)

    best = minimize(loss, np.zeros(6), jac=slope, method="BFGS", options={"gtol": 1e-6}).fun
    found = saving(Curve.from_scores(scores, hits))
    assert found.value == pytest.approx((loss(np.zeros(6)) - best - 6 / 2) / 500, rel=2e-3)
    assert found.low < found.value < found.high
