"""Fixtures: random numbers, and the arena where it is at hand."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

from tests.bundled import DEMO

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
    """A function that reads an experiment: bundled, of the arena beside this checkout, or skips."""

    def read(name):
        path = Path(DEMO) if name == Path(DEMO).stem else ARENA / f"{name}.npz"
        if not path.exists():
            pytest.skip("the arena is not beside this checkout")
        with np.load(path, allow_pickle=False) as file:
            return dict(file)

    return read
