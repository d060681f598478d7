"""The tables of docs/intervals.md, with fewer runs."""

import pytest

from tests.slow.band_simulations import GROUPS, groups, ovr

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("bent", [False, True])
def test_intervals_of_ovr(bent):
    assert (ovr(500, 20, bent=bent) >= 0.93).all()


@pytest.mark.parametrize("name", GROUPS)
def test_intervals_of_groups(name):
    sizes, differ = GROUPS[name]
    assert groups(sizes, 25, differ=differ)[0] >= 0.92
