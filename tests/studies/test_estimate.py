"""Fits that take long are known before they start."""

import numpy as np
import pytest

from ogive import Predictions
from ogive.studies import estimate


@pytest.fixture(autouse=True)
def usual_speed(monkeypatch):
    monkeypatch.setattr(estimate, "_slowness", lambda: 1.0)


def matrix(n, K):
    return Predictions(np.zeros((n, K)), np.zeros(n, dtype=int), kind="logits")


def test_wide_matrices_take_long():
    wide = matrix(8000, 1000)
    found = estimate.slow_methods(wide, ["vector", "spline", "platt", "temperature"], "vector")
    assert list(found) == ["vector", "spline"]
    assert 5 < found["vector"] < 60
    names = ["vector", "spline", "spline:score-only", "platt"]
    for view in (None, "top-2", "within-top-3"):  # of ranks the spline reads all columns
        assert list(estimate.slow_methods(wide, names, view)) == ["vector", "spline"]
    assert list(estimate.slow_methods(wide, names, "class-3")) == ["vector"]


def test_odir_takes_long_and_small_matrices_do_not():
    assert list(estimate.slow_methods(matrix(5000, 10), ["ms-odir", "vector"])) == ["ms-odir"]
    assert estimate.slow_methods(matrix(50, 3), ["ms-odir", "vector", "spline"], "vector") == {}


def test_a_slow_machine_takes_longer(monkeypatch):
    preds = matrix(1000, 1000)
    assert estimate.slow_methods(preds, ["vector"]) == {}
    monkeypatch.setattr(estimate, "_slowness", lambda: 10.0)
    assert estimate.slow_methods(preds, ["vector"]) == {"vector": pytest.approx(19.0)}


def test_the_fits_of_many_experiments_add_up():
    shape = estimate.Shape(1000, 1000, one_column=False)
    fits = {"vector": [shape] * 10, "platt": [shape] * 10}
    assert estimate.slow_in_all(fits) == {"vector": pytest.approx(19.0)}
    assert estimate.slow_in_all(fits, n_jobs=2) == {"vector": pytest.approx(9.5)}
    assert estimate.slow_in_all({"vector": [shape]}, n_jobs=8) == {}
