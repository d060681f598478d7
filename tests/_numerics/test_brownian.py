import numpy as np
import pytest

from ogive._numerics.brownian import range_tail, supremum_tail


@pytest.mark.parametrize(("x", "p"), [(1.960, 0.10), (2.241, 0.05), (2.807, 0.01)])
def test_critical_values_of_the_supremum(x, p):
    assert supremum_tail(x) == pytest.approx(p, rel=2e-3)


@pytest.mark.parametrize(("x", "p"), [(2.241, 0.10), (2.498, 0.05), (3.023, 0.01)])
def test_critical_values_of_the_range(x, p):
    assert range_tail(x) == pytest.approx(p, rel=2e-3)


def test_the_two_forms_of_the_series_meet():
    assert supremum_tail(1.0 - 1e-12) == pytest.approx(supremum_tail(1.0), abs=1e-10)
    assert range_tail(0.3 - 1e-12) == pytest.approx(range_tail(0.3), abs=1e-10)
    assert supremum_tail(0.0) == range_tail(0.0) == 1.0
    assert supremum_tail(50.0) == range_tail(50.0) == 0.0
    x = np.linspace(0.0, 5.0, 501)
    for tail in (supremum_tail, range_tail):
        assert (np.diff([tail(xi) for xi in x]) <= 1e-12).all()
