"""The table of docs/theory/base-rate.md, with fewer runs."""

import pytest

from tests.slow.base_rate_simulations import three_classes, two_classes

pytestmark = pytest.mark.slow


def test_the_interval_holds_the_base_rate():
    found = list(two_classes(runs=200))
    assert sum(inside for _, inside, *_ in found) / len(found) >= 0.93
    assert all(inside >= 0.90 and width < 3 for _, inside, width, _ in found)
    assert all(misfit <= 0.10 for *_, misfit in found)


def test_a_change_within_the_classes_is_found():
    assert all(misfit > 0.9 for *_, misfit in two_classes(runs=40, shift=0.5, rates=(0.1, 0.5)))


def test_the_intervals_hold_the_shares_of_three_classes():
    found = list(three_classes(runs=100))
    assert all((inside >= 0.90).all() and (width < 3).all() for _, inside, width, _ in found)
    assert all(misfit <= 0.12 for *_, misfit in found)
