import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ogive import Curve, refinement
from ogive.curve.folds import folds
from ogive.studies.where_off import spline_of
from tests import naive
from tests.simulate import too_high


@settings(max_examples=10)
@given(st.integers(0, 1000))
def test_the_refinement_loss_is_that_of_rows_left_out(seed):
    rng = np.random.default_rng(seed)
    scores, hits = too_high(rng, 120)
    curve = Curve.from_scores(scores.round(2), hits)
    slow = naive.refinement(folds(curve, 5), spline_of, curve)
    assert refinement(curve) == pytest.approx(slow, abs=1e-9)


def test_what_a_rising_map_does_to_scores_does_not_change_the_refinement_loss(rng):
    scores, hits = too_high(rng, 4000)
    found = [refinement(s, hits).value for s in (scores, scores**3, scores / (2 - scores))]
    assert found == pytest.approx([found[0]] * 3, abs=0.002)
    noisy = np.clip(scores + rng.normal(0, 0.4, 4000), 0, 1)
    assert refinement(noisy, hits).value > found[0] + 0.05
