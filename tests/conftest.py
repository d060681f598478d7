"""Fixtures: random numbers, and the arena where it is at hand."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "ogive", deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("ogive")

ARENA = Path(__file__).resolve().parents[2] / "shared" / "arena"


@pytest.fixture
def rng():
    return np.random.default_rng(20210504)


@pytest.fixture
def arena():
    """A function that reads an experiment of the arena, or skips where there is none."""

    def read(name):
        path = ARENA / f"{name}.npz"
        if not path.exists():
            pytest.skip("the arena is not beside this checkout")
        with np.load(path, allow_pickle=False) as file:
            return dict(file)

    return read
