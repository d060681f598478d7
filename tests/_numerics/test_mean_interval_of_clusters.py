"""The interval of a mean over clusters."""

import numpy as np
import pytest
from scipy.stats import t

from ogive._numerics.mean_interval import ByCluster


def test_few_clusters_that_hold_most_of_the_cost_count_as_few():
    """Degrees of freedom: of Kish's clusters, or of as many normal sums as show the variance."""
    rng = np.random.default_rng(0)
    weight = np.full(20, 5.0)
    for total in (rng.choice([-1.0, 1.0], 20), np.eye(20)[0] + 1e-3 * rng.normal(size=20)):
        z = total - total.mean()
        normal = 2 / (np.sum(z**4) / np.sum(z**2) ** 2 - 1 / 20)
        expected = t.isf(0.025, max(min(20.0, normal) - 1, 1)) / 1.959963984540054
        assert ByCluster(total, weight).wider == pytest.approx(expected)
    assert ByCluster(np.ones(20), weight).wider == pytest.approx(t.isf(0.025, 19) / 1.95996398)
