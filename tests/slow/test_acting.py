"""The tables of docs/theory/decisions.md, with fewer runs."""

import pytest

from tests.slow.acting_simulations import ACTIONS, MEANS, MODELS, SIZES, actions, coverage, regret

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("rate", MEANS)
def test_intervals_hold_the_truth(rate):
    found = [coverage(rate, model, n, 300, cross=False) for model in MODELS for n in SIZES]
    assert all(share > 0.92 for one in found for share in one.values())
    assert all(share < 0.995 for one in found[2::3] for share in one.values())


@pytest.mark.parametrize("model", ["calibrated", "curved", "too extreme"])
def test_cross_validated_costs_hold_those_of_all_rows(model):
    found = coverage("10 %", model, 5000, 100)
    assert found["cost after, cross-validated"] > 0.90
    assert found["saved, cross-validated"] > 0.90


@pytest.mark.parametrize("model", MODELS)
def test_cross_validated_costs_of_two_events_hold_those_of_all_rows(model):
    """About 260 samples: the standard error of 95 % is 1.3 %."""
    found = coverage("1 %", model, 200, 300)
    assert 0.925 <= found["cost after, cross-validated"] <= 0.99


@pytest.mark.parametrize("rate", MEANS)
def test_the_threshold_costs_at_most_a_percent_more_than_an_oracle(rate):
    for model in MODELS:
        assert regret(rate, model, 5000, 20)[0] < 0.01


@pytest.mark.parametrize("scale", [1.0, 2.0])
@pytest.mark.parametrize("n", [200, 1000])
@pytest.mark.parametrize("classes", ACTIONS)
def test_a_matrix_of_costs(classes, n, scale):
    """150 samples: the standard error of 95 % is 1.8 %."""
    assert all(share > 0.90 for share in actions(classes, n, 150, scale).values())
