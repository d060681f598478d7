"""The table of docs/theory/numbers.md, with fewer runs."""

import numpy as np
import pytest

from tests.slow.number_simulations import KEYS, KINDS, TRUTHS, coverage, expected_coverage

pytestmark = pytest.mark.slow

#: Of 40 samples an interval with a coverage of 95 % holds the truth in 34 or more but in 1 of 700.
RUNS, LEAST = 40, 34


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("truth", TRUTHS)
def test_the_intervals_hold_the_truth(kind, truth):
    held = dict(zip(KEYS, RUNS * coverage(kind, truth, 1000, RUNS)[0], strict=True))
    assert min(held.values()) >= LEAST - 2
    assert np.mean(list(held.values())) >= 0.91 * RUNS
    assert held["slope"] >= LEAST


@pytest.mark.parametrize(
    ("n", "a", "b"), [(50, 1.0, 1.0), (1000, 1.0, 1.0), (1000, 0.3, 6.0), (300, 0.05, 5.0)]
)
def test_what_is_expected_holds_what_is_seen_later(n, a, b):
    assert (expected_coverage(n, a, b, 300) >= 0.91).all()
