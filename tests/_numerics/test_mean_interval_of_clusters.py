"""The interval of a mean over clusters."""

import numpy as np
import pytest
from scipy.stats import beta, t

from ogive._numerics.mean_interval import ByCluster, Part, mean_interval


def test_few_clusters_that_hold_most_of_the_cost_count_as_few():
    """Degrees of freedom: of Kish's clusters, or of as many normal sums as show the variance."""
    rng = np.random.default_rng(0)
    weight = np.full(20, 5.0)
    for total in (rng.choice([-1.0, 1.0], 20), np.eye(20)[0] + 1e-3 * rng.normal(size=20)):
        z = total - total.mean()
        normal = 2 / (np.sum(z**4) / np.sum(z**2) ** 2 - 1 / 20)
        expected = t.isf(0.025, max(min(20.0, normal) - 1, 1)) / 1.959963984540054
        assert ByCluster(total, weight).wider() == pytest.approx(expected)
    assert ByCluster(np.ones(20), weight).wider() == pytest.approx(t.isf(0.025, 19) / 1.95996398)


def test_the_side_of_the_longer_tail_is_longer():
    """By 1 + (2 z² + 1) / (6 z) times the skewness, next to sums without skewness."""
    part, weight = [(1.0, Part(40.0, 40.0, 1.0))], np.full(20, 5.0)
    even = np.repeat([1.0, 3.0], 10)
    z = 1.959963984540054
    for sign in (1.0, -1.0):
        skewed = 2.0 + sign * np.concatenate([np.full(15, -1.0), np.full(5, 3.0)])
        rest = skewed - skewed.mean()
        skewness = np.sum(rest**3) / np.sum(rest**2) ** 1.5
        assert np.sign(skewness) == sign
        clusters = ByCluster(skewed, weight)
        found = mean_interval(part, 100.0, 100.0, clusters=clusters)
        clusters_even = type("Even", (ByCluster,), {"skewness": 0.0})(skewed, weight)
        plain = mean_interval(part, 100.0, 100.0, clusters=clusters_even)
        longer = 1 + (2 * z**2 + 1) / (6 * z) * abs(skewness)
        below, above = (longer, 1.0)[:: -int(sign)]
        assert found.value - found.low == pytest.approx(below * (plain.value - plain.low))
        assert found.high - found.value == pytest.approx(above * (plain.high - plain.value))
    assert ByCluster(even, weight).skewness == pytest.approx(0.0)


def test_clusters_of_one_row_have_the_ends_of_clopper_and_pearson():
    """And Student's t; the skewness is that of the rows."""
    total = np.repeat([1.0, 0.0], [8, 32])
    clusters = ByCluster(total, np.ones(40))
    found = mean_interval([(1.0, Part(8.0, 8.0, 1.0))], 40.0, 40.0, clusters=clusters)
    alike = clusters.design_effect(8.0 - 64.0 / 40.0)
    k, n = 8.0 / alike, 40.0 / alike
    low = 0.2 - clusters.wider() * (0.2 - beta.ppf(0.025, k, n - k + 1))
    assert alike == pytest.approx(40 / 39)
    assert found.low == pytest.approx(low)


@pytest.mark.parametrize("level", [0.8, 0.99])
def test_other_levels(level):
    found = mean_interval([(1.0, Part(8.0, 8.0, 1.0))], 40.0, 40.0, level=level)
    tail = (1 - level) / 2
    assert found.low == pytest.approx(beta.ppf(tail, 8.25, 32.75))
    assert found.high == pytest.approx(beta.ppf(1 - tail, 8.75, 32.25))
