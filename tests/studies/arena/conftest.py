"""Three experiments."""

import pytest

from tests.studies.arena.experiments import save_three


@pytest.fixture
def folder(tmp_path, rng):
    return save_three(tmp_path / "field", rng)
