import numpy as np
import pytest
from hypothesis import given

from ogive import Curve
from ogive.calibrators.isotonic import fit_isotonic
from tests import naive, strategies


@given(strategies.scored(min_size=2, max_size=25, weights=True))
def test_it_equals_the_max_min_formula(data):
    scores, hits, weights = data
    curve = Curve.from_scores(scores, hits, sample_weight=weights)
    if curve.total_hits in (0, curve.n):
        return
    expected = naive.isotonic(curve.hits / curve.count, curve.count)
    gamma = fit_isotonic(curve)
    got = gamma.from_log_odds(
        np.where(curve.tail == 0, np.inf, np.abs(curve.log_odds)) * np.where(curve.high, 1, -1)
    )
    np.testing.assert_allclose(got, expected, atol=1e-9)


def test_it_is_straight_between_and_constant_beyond():
    gamma = fit_isotonic(Curve.from_scores([0.2, 0.4, 0.4, 0.8], [0, 0, 1, 1]))
    np.testing.assert_allclose(
        gamma([0.0, 0.2, 0.3, 0.4, 0.6, 0.8, 1.0]), [0, 0, 0.25, 0.5, 0.75, 1, 1]
    )


def test_only_the_ends_of_steps_are_kept(rng):
    scores = rng.random(20_000)
    gamma = fit_isotonic(Curve.from_scores(scores, rng.random(20_000) < scores))
    assert gamma.tail.size < 500
    assert (np.diff(gamma.value) >= 0).all()
    assert gamma(0.5) == pytest.approx(0.5, abs=0.05)
