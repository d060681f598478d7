"""Full vectors of a thousand classes, and learning from few rows: a minute or two."""

import warnings

import numpy as np
import pytest

from ogive import Predictions
from ogive.calibrators.multiclass.free import fit_free, fit_kept
from ogive.calibrators.scaling.temperature import fit_temperature
from ogive.errors import OgiveWarning
from tests.calibrators.multiclass.samples import (
    check_decisions_and_calibration,
    parts,
    quiet_fit,
    sample,
)

pytestmark = pytest.mark.slow


def test_a_thousand_real_classes(arena):
    check_decisions_and_calibration(*parts(arena("pylm_k1000")), "keep")


@pytest.mark.parametrize("vector", ["keep", "free"])
def test_a_thousand_classes_learnt_from_some_of_the_rows(vector, rng):
    logits, labels = sample(rng, n=9000, K=1000, dtype=np.float32)
    preds = Predictions(logits, labels, kind="logits")
    one, two = (quiet_fit(preds, "spline", multiclass=vector, n_jobs=t) for t in (1, 2))
    assert one == two
    q = one(preds)
    np.testing.assert_allclose(q.sum(axis=1), 1.0, atol=1e-12)
    if vector == "keep":
        assert (q.astype(np.float32).argmax(axis=1) == logits.argmax(axis=1)).all()


TRUTHS = {
    "calibrated": lambda z: z,
    "sharp": lambda z: z / 2.5,
    "flat": lambda z: 2.0 * z,
    "shares": lambda z: z + np.linspace(-1.0, 1.0, z.shape[1]),
}


def few_rows(truth, seed, n, K):
    rng = np.random.default_rng(seed)
    z = 1.5 * rng.normal(size=(n, K))
    z[np.arange(n), rng.integers(0, K, n)] += 4.0
    return z, (TRUTHS[truth](z) + rng.gumbel(size=z.shape)).argmax(axis=1)


@pytest.mark.parametrize(("n", "limit", "draws"), [(10, 0.1, 30), (30, 0.03, 30), (100, 0.03, 15)])
@pytest.mark.parametrize("K", [3, 10])
@pytest.mark.parametrize("truth", list(TRUTHS))
def test_few_rows_lose_little_to_a_temperature(truth, K, n, limit, draws):
    test, labels = few_rows(truth, 1, 4000, K)
    losses = []
    for draw in range(draws):
        z, y = few_rows(truth, [draw, n], n, K)
        preds = Predictions(z, y, kind="logits")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", OgiveWarning)
            fitted = [fit(preds) for fit in (fit_temperature, fit_kept, fit_free)]
        q = [gamma(Predictions(test, kind="logits")) for gamma in fitted]
        losses.append([-np.log(one[np.arange(4000), labels]).mean() for one in q])
    temperature, kept, free = np.mean(losses, axis=0)
    assert max(kept, free) < (1.0 + limit) * temperature
