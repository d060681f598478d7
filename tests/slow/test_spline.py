"""The default spline's band, and its few rows, by simulation: `pytest tests/slow -m slow`."""

import pytest

from tests.slow import spline_simulations as simulations

pytestmark = pytest.mark.slow

# Bends that so few rows do not show: what no band that is useful elsewhere covers.
HIDDEN = {("fast wave", 300), ("fast wave", 1000), ("steep tails", 300), ("steep tails", 1000)}


@pytest.mark.parametrize("n", simulations.SIZES)
@pytest.mark.parametrize("kind", simulations.TRUTHS)
def test_the_band_covers(kind, n):
    held = simulations.coverage(kind, n, simulations.SIZES[n])
    assert held.mean() >= (0.85 if (kind, n) in HIDDEN else 0.9)
    assert held.min() >= (0.4 if (kind, n) in HIDDEN else 0.6)


@pytest.mark.parametrize("n", simulations.FEW_SIZES)
@pytest.mark.parametrize("kind", [kind for kind in simulations.FEW_ROWS if kind != "inverted"])
def test_few_rows_lose_little_to_platt(kind, n):
    most = 0.1 if n < 30 else 0.033  # 3 %, and what 60 samples leave to chance
    assert simulations.loss_over_platt(kind, n, 60) <= most
