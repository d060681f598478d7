import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from ogive._numerics.least_distance import constrained


@given(st.integers(0, 2**32 - 1))
def test_it_solves_the_quadratic_programme(seed):
    rng = np.random.default_rng(seed)
    n, m = rng.integers(1, 6), rng.integers(1, 20)
    root = rng.normal(size=(n, n)) + 2 * np.eye(n)
    hessian = root @ root.T
    optimum = rng.normal(size=n)
    G = rng.normal(size=(m, n))
    g = G @ rng.normal(size=n) - rng.random(m)  # some point obeys them all
    x = constrained(hessian, optimum, G, g)
    assert (G @ x >= g - 1e-6).all()
    other = minimize(
        lambda v: (v - optimum) @ hessian @ (v - optimum),
        x,
        jac=lambda v: 2 * hessian @ (v - optimum),
        constraints={"type": "ineq", "fun": lambda v: G @ v - g, "jac": lambda _: G},
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 500},
    )
    value = (x - optimum) @ hessian @ (x - optimum)
    assert value <= other.fun * (1 + 1e-6) + 1e-9


def test_what_obeys_already_is_left_alone():
    optimum = np.array([1.0, 2.0])
    assert constrained(np.eye(2), optimum, np.eye(2), np.zeros(2)) is optimum


def test_rounding_in_a_constraint_on_nothing_is_no_constraint():
    optimum = np.array([1.0, 2.0])
    G, g = np.array([[0.0, 0.0], [1.0, 0.0]]), np.array([1e-17, 0.5])
    np.testing.assert_array_equal(constrained(np.eye(2), optimum, G, g), optimum)
