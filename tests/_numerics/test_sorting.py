import numpy as np
import pytest

from ogive._numerics.sorting import sort_in_place


@pytest.mark.parametrize("n_jobs", [1, 2, 3, 4, 9])
@pytest.mark.parametrize("kind", ["random", "few", "sorted", "equal"])
def test_it_is_the_sort(n_jobs, kind):
    rng = np.random.default_rng(n_jobs)
    keys = rng.integers(0, 1 << 63, 1_300_001, dtype=np.uint64)
    if kind == "few":
        keys %= np.uint64(7)
    elif kind == "sorted":
        keys.sort()
    elif kind == "equal":
        keys[:] = 5
    expected = np.sort(keys)
    sort_in_place(keys, n_jobs=n_jobs)
    np.testing.assert_array_equal(keys, expected)


@pytest.mark.parametrize("n", [0, 1, 2, 1000])
def test_short_arrays(n):
    keys = np.arange(n, dtype=np.uint64)[::-1].copy()
    sort_in_place(keys)
    np.testing.assert_array_equal(keys, np.arange(n))
