"""Full vectors of a thousand classes: a minute or two."""

import numpy as np
import pytest

from ogive import Predictions
from tests.calibrators.matrix.test_ranks import test_the_arena_keeps_its_decisions_and_is_calibrated
from tests.calibrators.matrix.test_vectors import quiet_fit, sample

pytestmark = pytest.mark.slow
check = test_the_arena_keeps_its_decisions_and_is_calibrated
del test_the_arena_keeps_its_decisions_and_is_calibrated


def test_a_thousand_real_classes(arena):
    check(arena, "pylm_k1000", "keep")


@pytest.mark.parametrize("vector", ["keep", "free"])
def test_a_thousand_classes_learnt_from_some_of_the_rows(vector, rng):
    logits, labels = sample(rng, n=9000, K=1000, dtype=np.float32)
    preds = Predictions(logits, labels, kind="logits")
    one, two = (quiet_fit(preds, "spline", vector=vector, threads=t) for t in (1, 2))
    assert one == two
    q = one(preds)
    np.testing.assert_allclose(q.sum(axis=1), 1.0, atol=1e-12)
    if vector == "keep":
        assert (q.astype(np.float32).argmax(axis=1) == logits.argmax(axis=1)).all()
