import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.interpolate import CubicSpline as Reference

from ogive._numerics.cubic import CubicSpline, SlopeSums, normal_equations
from tests import naive

RUNOUTS = ("natural", "parabolic", "cubic")


def reference(knots, values, runout):
    if runout == "natural":
        return Reference(knots, values, bc_type="natural")
    if runout == "cubic" and len(knots) > 3:
        return Reference(knots, values, bc_type="not-a-knot")
    return naive.parabolic_spline(knots, values)


@st.composite
def knot_sets(draw):
    inner = draw(st.lists(st.integers(1, 99), min_size=1, max_size=9, unique=True))
    return np.array([0.0, *sorted(k / 100 for k in inner), 1.0])


@pytest.mark.parametrize("runout", RUNOUTS)
@pytest.mark.parametrize(
    "knots", [np.linspace(0, 1, 6), np.array([1.0, 1.1, 1.6, 2.0]), np.arange(3.0)]
)
def test_values_and_slopes_equal_scipy_s(rng, runout, knots):
    values = rng.normal(size=knots.size)
    spline, other = CubicSpline(knots, values, runout), reference(knots, values, runout)
    x = np.linspace(knots[0], knots[-1], 301)
    np.testing.assert_allclose(spline(x), other(x), atol=1e-12)
    np.testing.assert_allclose(spline.derivative(x), other(x, 1), atol=1e-10)
    np.testing.assert_allclose(spline(knots), values, atol=1e-13)


@pytest.mark.parametrize("runout", RUNOUTS)
def test_it_goes_on_straight_beyond_its_ends(rng, runout):
    spline = CubicSpline(np.linspace(0, 1, 5), rng.normal(size=5), runout)
    for end, direction in ((0.0, -1.0), (1.0, 1.0)):
        slope = spline.derivative(np.array([end]))[0]
        far = spline(np.array([end + direction]))[0]
        assert far == pytest.approx(spline(np.array([end]))[0] + direction * slope)


@pytest.mark.parametrize("runout", RUNOUTS)
def test_straight_lines_are_in_every_family(runout):
    knots = np.array([0.0, 0.2, 0.7, 1.0])
    spline = CubicSpline(knots, 3 * knots - 1, runout)
    np.testing.assert_allclose(spline.derivative(np.linspace(0, 1, 11)), 3.0, atol=1e-12)


@given(knot_sets(), st.integers(0, 2**32 - 1), st.sampled_from(RUNOUTS))
def test_the_least_squares_fit_equals_the_dense_solution(knots, seed, runout):
    rng = np.random.default_rng(seed)
    m = rng.integers(2, 400)
    edges = np.concatenate([[0.0], np.cumsum(rng.exponential(size=m))])
    edges /= edges[-1]
    slopes = rng.normal(size=m)
    values = np.concatenate([[0.0], np.cumsum(slopes * np.diff(edges))])
    sums = SlopeSums(knots)
    for part in np.array_split(np.arange(m), 3):  # in pieces, as a curve comes in runs
        if part.size:
            sums.add(edges[part[0] : part[-1] + 2], slopes[part])
    gram, right = normal_equations(sums, runout)
    dense = naive.dense_spline_fit(knots, runout, edges, values)
    scale = np.linalg.cond(gram) * np.abs(values).max()
    np.testing.assert_allclose(np.linalg.solve(gram, right), dense, atol=1e-14 * max(scale, 1e4))


def test_the_least_squares_fit_equals_the_dense_solution_to_1e_10(rng):
    for runout in RUNOUTS:
        knots = np.linspace(0, 1, 14)
        hits = rng.random(5000) < 0.8
        edges = np.linspace(0, 1, 5001)
        sums = SlopeSums(knots)
        sums.add(edges, hits.astype(float))
        gram, right = normal_equations(sums, runout)
        h = np.concatenate([[0.0], np.cumsum(hits) / 5000])
        dense = naive.dense_spline_fit(knots, runout, edges, h)
        np.testing.assert_allclose(np.linalg.solve(gram, right), dense, atol=1e-10)


def test_the_integral_is_the_limit_of_the_paper_s_sum_over_points(rng):
    # The paper's fit, from its N x K matrix: points (i/N, h_i). Ours differs by O(1/N).
    n, knots = 4000, np.linspace(0, 1, 6)
    truth = rng.random(n) < np.linspace(0.2, 0.9, n)
    h = np.cumsum(truth) / n
    t = np.arange(1, n + 1) / n
    A = np.stack([Reference(knots, unit, bc_type="natural")(t) for unit in np.eye(6)], axis=1)
    points = np.linalg.lstsq(A, h, rcond=None)[0]
    sums = SlopeSums(knots)
    sums.add(np.linspace(0, 1, n + 1), truth.astype(float))
    ours = np.linalg.solve(*normal_equations(sums, "natural"))
    assert 0 < np.abs(ours - points).max() < 5 / n


@given(st.integers(0, 2**32 - 1), st.sampled_from(RUNOUTS))
def test_chords_are_means_of_the_derivative(seed, runout):
    rng = np.random.default_rng(seed)
    spline = CubicSpline(np.linspace(0, 1, 6), rng.normal(size=6), runout)
    a = rng.random(50) * 0.9
    b = a + rng.choice([1e-9, 1e-3, 0.09], 50)
    other = reference(spline.knots, spline.values, runout)
    mean = np.where(b - a > 1e-6, (other(b) - other(a)) / (b - a), other((a + b) / 2, 1))
    np.testing.assert_allclose(spline.chord(a, b), mean, rtol=1e-7, atol=1e-7)


def test_a_short_chord_does_not_cancel():
    spline = CubicSpline(np.linspace(0, 1, 6), np.array([0.0, 1, -1, 2, 0, 1]), "natural")
    a = np.array([0.123456])
    assert spline.chord(a, a + 1e-14)[0] == pytest.approx(spline.derivative(a)[0], abs=1e-10)


def test_variation_is_the_integral_of_the_absolute_second_derivative(rng):
    spline = CubicSpline(np.array([0.0, 0.1, 0.5, 0.8, 1.0]), rng.normal(size=5), "parabolic")
    x = np.linspace(0, 1, 200_001)
    slope = spline.derivative(x)
    walked = np.concatenate([[0.0], np.cumsum(np.abs(np.diff(slope)))])
    np.testing.assert_allclose(spline.variation(x), walked, atol=1e-6 * walked[-1])
