"""False alarms of a watch and its delay, by simulation: `pytest tests/slow -m slow`."""

import pytest

from tests.slow import watch_simulations as simulations

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("kind", simulations.SCORES)
def test_false_alarms_are_rare(kind):
    ever, detector = simulations.false_alarms(kind, runs=60, days=100)
    assert ever <= 0.05 + 2.5 * (0.05 * 0.95 / 60) ** 0.5
    # P(T <= n) <= n / run_length: at most a tenth of the runs ring within 100 of 1,000 days.
    assert detector <= 0.1 + 2.5 * (0.1 * 0.9 / 60) ** 0.5


@pytest.mark.parametrize(("change", "most"), [("slope 0.8", 13), ("shift -0.3", 9), ("bend", 14)])
def test_a_change_is_found_soon(change, most):
    median, found = simulations.delays(change, runs=12)
    assert median <= most
    assert found >= 0.9
