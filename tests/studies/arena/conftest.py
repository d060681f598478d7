"""Three experiments, and the cells that a run computes of them."""

import pytest

from ogive.studies.arena import cells
from tests.studies.arena.experiments import save_three


@pytest.fixture
def folder(tmp_path, rng):
    return save_three(tmp_path / "field", rng)


@pytest.fixture
def counted(monkeypatch):
    """The cells that were computed, not read back."""
    done = []
    real = cells.cell

    def cell(experiment, method, *rest):
        done.append((experiment.name, method))
        return real(experiment, method, *rest)

    monkeypatch.setattr("ogive.studies.arena.study.cell", cell)
    return done
