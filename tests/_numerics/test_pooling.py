import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import isotonic_regression

from ogive._numerics.pooling import corners_of, pool_corners


def by_scipy(weights, hits):
    return isotonic_regression(hits / weights, weights=weights).blocks


@given(arrays(np.int64, st.integers(1, 60), elements=st.integers(1, 9)), st.integers(0, 2**32 - 1))
def test_pools_are_those_of_isotonic_regression(weights, seed):
    hits = np.random.default_rng(seed).binomial(weights, 0.4).astype(np.float64)
    weights = weights.astype(np.float64)
    corners = corners_of(weights, hits, compiled=False)
    np.testing.assert_array_equal(pool_corners(weights, hits), corners)  # SciPy is loaded here
    starts = corners[:-1]
    rate = np.add.reduceat(hits, starts) / np.add.reduceat(weights, starts)
    assert (np.diff(rate) > 0).all()
    fit = isotonic_regression(hits / weights, weights=weights)
    np.testing.assert_allclose(rate.repeat(np.diff(corners)), fit.x, rtol=1e-12, atol=1e-12)


def test_long_random_rows_are_pooled_as_by_scipy(rng):
    for truth in (np.linspace(0, 1, 30_000), np.full(30_000, 0.5), np.linspace(0, 0.01, 30_000)):
        hits = (rng.random(truth.size) < truth).astype(np.float64)
        weights = np.ones(truth.size)
        expected = by_scipy(weights, hits)
        np.testing.assert_array_equal(corners_of(weights, hits, compiled=False), expected)


@pytest.mark.parametrize("last", [-5.0, -500.0])
def test_a_sequence_that_needs_many_passes_is_pooled_too(last):
    hits = np.append(np.linspace(10, 11, 3000), last)  # the low end draws in one row after another
    weights = np.ones(hits.size)
    corners = corners_of(weights, hits, compiled=False)
    np.testing.assert_array_equal(corners, by_scipy(weights, hits))
