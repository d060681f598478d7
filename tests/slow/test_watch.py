"""False alarms of a watch and its delay, by simulation: `pytest tests/slow -m slow`."""

import numpy as np
import pytest

from ogive import Curve
from ogive.studies.watch.starts import Start, bet, kept, log_mixture
from tests.slow import watch_simulations as simulations
from tests.slow.watch_batches import LineBets, expit

pytestmark = pytest.mark.slow

CALIBRATED = ("ties", "rare", "weekly", "dependent")


def watched(eta, counts, hits):
    """Log M of one run, by the library."""
    starts, p = [], expit(eta)
    for today, (count, hit) in enumerate(zip(counts, hits, strict=True), start=1):
        weights = np.concatenate([hit, count - hit])
        some = weights > 0
        scores, outcomes = np.concatenate([p, p])[some], np.repeat([1, 0], 3)[some]
        curve = Curve.from_scores(scores, outcomes, sample_weight=weights[some])
        starts = kept([*bet(starts, curve)[0], Start.born(today, curve)], today)
        yield log_mixture(starts, today)


@pytest.mark.parametrize(
    ("eta", "rows", "slope"),
    [([-2.0, 0.3, 1.5], 10, 0.7), ([-8.0, -7.0, -6.0], 800, 1.0), ([-0.2, 0.0, 0.3], 4, 1.0)],
)
def test_many_runs_at_once_are_runs_of_the_library(eta, rows, slope):
    rng, eta = np.random.default_rng(0), np.array(eta)
    counts = rng.integers(1, 2 * rows, (40, 3, 2)).astype(float)
    hits = rng.binomial(counts.astype(int), expit(slope * eta)[:, None]).astype(float)
    bets = LineBets(eta, 2)
    found = np.array([bets.update(*day) for day in zip(counts, hits, strict=True)])
    for run in range(2):
        wanted = list(watched(eta, counts[:, :, run], hits[:, :, run]))
        np.testing.assert_allclose(found[:, run], wanted, atol=1e-9)


@pytest.mark.parametrize("kind", CALIBRATED)
def test_false_alarms_are_rare(kind):
    """2,000 runs of 1,000 quiet days."""
    first = simulations.first_days(kind, runs=2000, days=1000)
    assert np.isfinite(first).mean() <= simulations.ALPHA


def test_shared_shocks_raise_false_alarms_and_clusters_do_not():
    shocks = simulations.first_days("shared shocks", runs=1000, days=300)
    single = simulations.first_days("shared shocks, one row of each", runs=1000, days=300)
    together = simulations.first_days("shared shocks, clusters", runs=1000, days=300)
    assert np.isfinite(single).mean() <= simulations.ALPHA
    assert np.isfinite(together).mean() <= simulations.ALPHA
    assert np.isfinite(shocks).mean() > 1.4 * np.isfinite(single).mean()


@pytest.mark.parametrize("change", ["slope 0.6", "wave 0.6", "top 0.6", "bend 0.3"])
def test_a_change_of_shape_is_found_first(change):
    mean = simulations.delays(change, rows=300, runs=8)
    assert mean["alpha"] <= 1.1 * min(mean.values())
