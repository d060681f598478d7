"""The adapter to other libraries: each that is installed calibrates what it is given."""

import warnings

import numpy as np
import pytest

from benchmarks.peers import SCORES, VECTORS
from ogive import arena
from tests.simulate import expit
from tests.studies.arena.experiments import save_scores


def fitted(fit, given, came_true):
    with warnings.catch_warnings():  # theirs
        warnings.simplefilter("ignore")
        try:
            return np.asarray(fit(given, came_true)(given))
        except ImportError as error:
            pytest.skip(f"{error.name} is not installed")


@pytest.mark.parametrize("name", SCORES)
def test_scores(rng, name):
    eta = rng.normal(1.0, 2.0, 3000)
    truth = expit(0.5 * eta)
    hits = (rng.random(3000) < truth).astype(int)
    p = fitted(SCORES[name], expit(eta), hits)
    assert p.shape == (3000,)
    assert np.abs(p - truth).mean() < 0.4 * np.abs(expit(eta) - truth).mean()


@pytest.mark.parametrize("name", VECTORS)
def test_vectors(rng, name):
    logits = rng.normal(0.0, 2.0, (2000, 4))
    probs, truth = (np.exp(a * logits) for a in (1.0, 0.5))
    probs /= probs.sum(axis=1, keepdims=True)
    truth /= truth.sum(axis=1, keepdims=True)
    labels = (truth.cumsum(axis=1) > rng.random((2000, 1))).argmax(axis=1)
    p = fitted(VECTORS[name], probs, labels)
    assert p.shape == (2000, 4)
    assert np.abs(p - truth).mean() < 0.4 * np.abs(probs - truth).mean()


def test_they_join_an_arena(rng, tmp_path):
    for name in ("a.npz", "b.npz"):
        save_scores(tmp_path / name, rng, n=600)
    result = arena(tmp_path, ["isotonic", "none"], peers="module:benchmarks.peers", n_jobs=1)
    rows = {row.method: row for row in result.standings}
    for metric in ("nll", "brier", "ks"):  # the same method in two libraries
        assert rows["sklearn isotonic"].mean[metric] == pytest.approx(rows["isotonic"].mean[metric])
    assert not set(rows) & set(result.left_out)
    assert set(SCORES) <= set(rows) | set(result.left_out)
