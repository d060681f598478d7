"""The default spline's band, and its few rows, by simulation: `pytest tests/slow -m slow`."""

import pytest

from tests.slow import spline_simulations as simulations

pytestmark = pytest.mark.slow

CHANCE = 0.05  # the worst of 25 places in 80 to 200 samples


@pytest.mark.parametrize("n", simulations.SIZES)
@pytest.mark.parametrize("kind", simulations.TRUTHS)
def test_the_band_covers(kind, n):
    held = simulations.coverage(kind, n, simulations.SIZES[n])
    assert held.mean() >= 0.94
    assert held.min() >= 0.9 - CHANCE


@pytest.mark.parametrize("n", simulations.OTHER_SIZES)
@pytest.mark.parametrize("kind", simulations.OTHERS)
def test_the_band_covers_truths_that_set_no_constant(kind, n):
    """A single bump that a few hundred rows hardly show is smoothed over."""
    held = simulations.coverage(kind, n, simulations.SIZES[n])
    least = 0.55 if "bump" in kind and n < 5000 else 0.9 - CHANCE
    assert held.mean() >= 0.93
    assert held.min() >= least


@pytest.mark.parametrize("n", simulations.FEW_SIZES)
@pytest.mark.parametrize("kind", [kind for kind in simulations.FEW_ROWS if kind != "inverted"])
def test_few_rows_lose_little_to_platt(kind, n):
    more, error = simulations.loss_over_platt(kind, n, simulations.FEW_SIZES[n])
    assert more <= (0.1 if n < 30 else 0.03)
    assert error <= 0.02  # enough samples to tell


@pytest.mark.parametrize("kind", ["saturated", "saturated, label noise 1 %", "rare"])
def test_where_all_outcomes_agree_the_band_is_narrower_and_covers(kind):
    held, width, share = simulations.alike(kind, 1000, 60)
    assert share >= 0.95
    assert held[1].min() >= held[0].min() - 0.02
    assert (width[1][1:4] < 0.9 * width[0][1:4]).any()


@pytest.mark.parametrize(("n", "most"), [(1000, 0.125), (10_000, 0.1)])
def test_beyond_the_scores_of_the_fit_a_plateau_is_not_run_past(n, most):
    more, error = simulations.loss_beyond("plateau", n, 100)
    assert more[2] + 2 * error[2] <= most
    assert more[2] < more[0]


@pytest.mark.parametrize("n", [1000, 10_000])
def test_beyond_the_scores_of_the_fit_a_line_goes_on(n):
    more, _ = simulations.loss_beyond("line", n, 100)
    assert more[2] <= more[0] + 0.01


@pytest.mark.parametrize("kind", ["right", "hinge", "parabola", "wave", "tail"])
def test_the_simultaneous_band_holds_the_whole_curve(kind):
    assert simulations.coverage(kind, 300, 100, simultaneous=True).min() >= 0.95 - CHANCE
