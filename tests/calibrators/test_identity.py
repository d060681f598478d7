import numpy as np
from hypothesis import given

from ogive import Curve
from ogive.calibrators.identity import fit_identity
from tests import strategies


@given(strategies.scored())
def test_scores_stay_as_they_are(data):
    scores, hits = data
    gamma = fit_identity(Curve.from_scores(scores, hits))
    np.testing.assert_array_equal(gamma(scores), np.asarray(scores, dtype=float))
