import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ogive._numerics.increasing_root import increasing_root


@given(st.floats(1e-8, 1e8), st.floats(1e-6, 1e6), st.sampled_from([0.3, 1.0, 3.0]))
def test_it_finds_the_root_of_a_power_from_anywhere(root, start, power):
    def function(x):
        return x**power - root**power, power * x ** (power - 1)

    assert increasing_root(function, start) == pytest.approx(root, rel=1e-9)


@given(st.floats(-30.0, 30.0), st.floats(1e-3, 1e3))
def test_it_finds_the_root_of_a_steep_and_flat_curve(shift, start):
    root = math.exp(shift / 10)

    def function(x):  # saturates on both sides
        t = math.tanh(4.0 * (math.log(x) - math.log(root)))
        return t, 4.0 * (1 - t * t) / x

    assert increasing_root(function, start) == pytest.approx(root, rel=1e-9)


@pytest.mark.parametrize(("low", "high", "found"), [(2.0, 9.0, 2.0), (0.1, 0.5, 0.5)])
def test_the_answer_stays_inside_its_bounds(low, high, found):
    calls = []

    def function(x):
        calls.append(x)
        return x - 1.0, 1.0

    assert increasing_root(function, (low + high) / 2, low=low, high=high) == found
    assert all(low <= x <= high for x in calls)


def test_a_flat_function_does_not_run_for_ever():
    assert math.isfinite(increasing_root(lambda _: (-1.0, 0.0), 1.0))
