"""The tables of docs/intervals.md, with fewer runs."""

import pytest

from tests.slow.band_simulations import GROUPS, groups, vectors_held

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("bent", [False, True])
@pytest.mark.parametrize("way", ["keep", "free", "ovr"])
def test_intervals_of_whole_vectors(way, bent):
    assert (vectors_held(way, 500, 20, bent=bent) >= 0.92).all()


@pytest.mark.parametrize("name", GROUPS)
def test_intervals_of_groups(name):
    sizes, differ = GROUPS[name]
    assert groups(sizes, 25, differ=differ)[0] >= 0.92
