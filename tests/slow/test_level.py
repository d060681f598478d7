"""Level and coverage, by simulation: `pytest tests/slow -m slow`, some minutes.

Bounds allow for the noise of the draws: three standard errors.
"""

import numpy as np
import pytest

from tests.slow import simulations

pytestmark = pytest.mark.slow

DRAWS = 1500
NOISE = 3 * np.sqrt(0.05 * 0.95 / DRAWS)


@pytest.mark.parametrize("n", simulations.SIZES)
@pytest.mark.parametrize("kind", simulations.KINDS)
def test_level_of_both_tests(kind, n):
    ks, kuiper, holds = simulations.level(kind, n, DRAWS)
    assert max(ks, kuiper) < 0.05 + NOISE
    if kind not in {"rounded", "saturated"}:
        assert min(ks, kuiper) > 0.02
    assert holds > 0.95 - NOISE


@pytest.mark.parametrize("n", [100, 1000])
def test_level_with_sampling_weights(n):
    ks, kuiper, _ = simulations.level(
        "continuous", n, DRAWS, weights=lambda rng, m: rng.exponential(size=m)
    )
    assert min(ks, kuiper) > 0.02
    assert max(ks, kuiper) < 0.05 + NOISE


@pytest.mark.parametrize("n", [100, 1000])
def test_level_in_every_view_of_a_calibrated_model(n):
    rates = simulations.level_of_views(n, DRAWS // 2)
    assert rates.max() < 0.05 + NOISE * np.sqrt(2)


@pytest.mark.parametrize("factor", [1.3, 2.0])
@pytest.mark.parametrize("n", simulations.SIZES)
@pytest.mark.parametrize("kind", simulations.KINDS)
def test_coverage_of_the_interval(kind, n, factor):
    assert simulations.coverage(kind, n, DRAWS // 2, factor) >= 0.93
