import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.interpolate import CubicSpline

from ogive._numerics.natural_spline import Evaluator, NaturalSpline


def knots_and_values(seed):
    rng = np.random.default_rng(seed)
    K = rng.integers(3, 30)
    return np.cumsum(rng.uniform(0.01, 2.0, K)) - 10.0, rng.normal(size=K)


def reference(knots, values, x):
    """SciPy's natural spline between the knots, straight beyond."""
    spline = CubicSpline(knots, values, bc_type="natural")
    inside = np.clip(x, knots[0], knots[-1])
    return spline(inside) + (x - inside) * spline(inside, 1)


@given(st.integers(0, 2**32 - 1))
def test_basis_and_evaluator_are_the_natural_spline(seed):
    knots, values = knots_and_values(seed)
    x = np.concatenate([knots, np.random.default_rng(seed).uniform(-15, knots[-1] + 5, 400)])
    spline = NaturalSpline(knots)
    expected = reference(knots, values, x)
    scale = np.abs(expected).max()
    np.testing.assert_allclose(spline.basis(x) @ values, expected, atol=1e-10 * scale)
    weight = np.arange(x.size) / x.size
    summed = spline.basis_sum(x, weight) @ values
    np.testing.assert_allclose(summed, weight @ expected, atol=1e-10 * scale * x.size)
    fast = Evaluator(knots, spline.pieces(values))(x)
    np.testing.assert_allclose(fast, expected, atol=1e-10 * scale)


def test_many_knots_in_one_cell():
    knots = np.concatenate([[-700.0], np.linspace(0.0, 0.2, 20), [700.0]])
    values = np.sin(np.arange(knots.size))
    x = np.concatenate([np.linspace(-0.1, 0.3, 1001), [-744.0, 744.0]])
    fast = Evaluator(knots, NaturalSpline(knots).pieces(values))(x)
    expected = reference(knots, values, x)
    np.testing.assert_allclose(fast, expected, rtol=1e-8, atol=1e-8 * np.abs(expected).max())


@given(st.integers(0, 2**32 - 1))
def test_the_penalty_is_the_integral(seed):
    knots, values = knots_and_values(seed)
    spline = CubicSpline(knots, values, bc_type="natural")
    nodes, weights = np.polynomial.legendre.leggauss(3)  # exact: f''² is of degree 2
    width = np.diff(knots)
    x = knots[:-1, None] + width[:, None] * (nodes + 1) / 2
    integral = (width**2 / 2 * (spline(x, 2) ** 2 @ weights)).sum()
    assert values @ NaturalSpline(knots).penalty() @ values == pytest.approx(integral, rel=1e-7)


@given(st.integers(0, 2**32 - 1))
def test_slopes_bound_the_derivative(seed):
    knots, values = knots_and_values(seed)
    bound = (NaturalSpline(knots).slopes() @ values).min()
    x = np.linspace(knots[0], knots[-1], 3000)
    slope = CubicSpline(knots, values, bc_type="natural")(x, 1)
    assert slope.min() >= bound - 1e-9 * np.abs(slope).max()


def test_far_outer_breaks_do_not_fill_the_cells_between(rng):
    knots = np.sort(rng.normal(size=20))
    inner = NaturalSpline(knots).pieces(rng.normal(size=20))
    ends = np.array([-500.0, 700.0])
    lines = np.array([[1.0, 2.0], [0.5, 0.25], [0.0, 0.0], [0.0, 0.0]])
    start = np.concatenate([ends[:1], inner.start, ends[1:]])
    powers = np.hstack([lines[:, :1], inner.powers, lines[:, 1:]])
    breaks = np.concatenate([ends[:1], knots, ends[1:]])
    evaluator = Evaluator(breaks, type(inner)(start, powers))
    assert evaluator.most <= 4
    x = np.concatenate([rng.normal(size=500), rng.uniform(-900, 900, 500), breaks])
    piece = np.searchsorted(breaks, x)
    u = x - start[piece]
    slow = sum(powers[k, piece] * u**k for k in range(4))
    np.testing.assert_allclose(evaluator(x), slow, rtol=1e-9, atol=1e-9)
