import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from ogive._numerics.power import best_power


def draw(rng, n, K, tau):
    logs = -rng.exponential(3.0, (n, K))
    taken = rng.integers(0, K, (n, 1))
    noise = tau * logs + rng.gumbel(size=(n, K))
    noise[np.arange(n), taken[:, 0]] = -np.inf
    logs[np.arange(n), taken[:, 0]] = 0.0
    return logs.astype(np.float32), taken, noise.argmax(axis=1)


@pytest.mark.parametrize("tau", [0.05, 0.5, 1.0, 3.0])
def test_it_minimises_the_penalised_loss(rng, tau):
    logs, taken, labels = draw(rng, 800, 6, tau)
    weights = rng.integers(1, 4, 800).astype(float)

    def loss(t):
        z = t * logs.astype(float)
        z[np.arange(800), taken[:, 0]] = -np.inf
        own = z[np.arange(800), labels]
        return np.sum(weights * (np.logaddexp.reduce(z, axis=1) - own)) + (t - 1) ** 2 / 2

    best = minimize_scalar(loss, bounds=(1e-3, 20), method="bounded", options={"xatol": 1e-10}).x
    found = best_power(logs, taken, labels, weights)
    assert found == pytest.approx(best, abs=1e-5)
    assert found == pytest.approx(tau, rel=0.3)


def test_no_rows_leave_the_weights_as_they_are():
    none = np.zeros(0, dtype=np.intp)
    assert (
        best_power(np.zeros((0, 4), dtype=np.float32), np.zeros((0, 2), dtype=np.intp), none) == 1.0
    )
