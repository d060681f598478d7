"""Against scikit-learn and betacal: the same numbers, to what their optimisers allow."""

import numpy as np
import pytest

from ogive import Curve
from ogive.calibrators.beta import fit_beta
from ogive.calibrators.isotonic import fit_isotonic
from ogive.calibrators.platt import fit_platt
from tests import simulate


@pytest.fixture
def rows(rng):
    scores, hits, _ = simulate.overconfident(rng, 3000)
    weights = rng.integers(1, 4, 3000)
    return scores, hits, weights


@pytest.mark.parametrize("weighted", [False, True])
def test_isotonic_is_scikit_learn_s(rows, weighted, rng):
    from sklearn.isotonic import IsotonicRegression

    scores, hits, weights = rows
    w = weights if weighted else None
    theirs = IsotonicRegression(out_of_bounds="clip").fit(scores, hits, sample_weight=w)
    ours = fit_isotonic(Curve.from_scores(scores, hits, sample_weight=w))
    s = np.concatenate([rng.random(2000), [0.0, 1.0], scores])
    np.testing.assert_allclose(ours(s), theirs.predict(s), atol=1e-10)


@pytest.mark.parametrize("weighted", [False, True])
def test_platt_is_scikit_learn_s_sigmoid_on_log_odds(rows, weighted):
    from sklearn.calibration import _sigmoid_calibration

    scores, hits, weights = rows
    w = weights.astype(float) if weighted else None
    eta = np.log(scores) - np.log1p(-scores)
    a, b = _sigmoid_calibration(eta, hits.astype(float), sample_weight=w)
    ours = fit_platt(Curve.from_scores(scores, hits, sample_weight=w))
    np.testing.assert_allclose([ours.slope, ours.intercept], [-a, -b], atol=2e-4)


@pytest.mark.parametrize("power", [(1.0, 1.0), (0.3, 2.0), (-0.4, 1.0), (1.0, -0.4)])
def test_beta_is_betacal_s(rng, power):
    betacal = pytest.importorskip("betacal")
    scores = rng.uniform(0.01, 0.99, 4000)
    z = power[0] * np.log(scores) - power[1] * np.log1p(-scores)
    hits = rng.random(4000) < simulate.expit(z)
    import warnings

    with warnings.catch_warnings():  # it changes the filters
        theirs = betacal.BetaCalibration("abm").fit(scores, hits)
    ours = fit_beta(Curve.from_scores(scores, hits))
    a, b, _ = theirs.calibrator_.map_
    np.testing.assert_allclose([ours.a, ours.b], [a, b], atol=0.01)
    s = rng.uniform(0.01, 0.99, 500)
    np.testing.assert_allclose(ours(s), theirs.predict(s), atol=1e-3)


def test_venn_abers_is_the_package_s(rows, rng):
    package = pytest.importorskip("venn_abers")
    from ogive import fit_venn_abers

    scores, hits, _ = rows
    new = np.concatenate([rng.random(500), scores[:200]])
    theirs = package.VennAbers()
    theirs.fit(np.stack([1 - scores, scores], axis=1), hits.astype(int))
    merged, pair = theirs.predict_proba(np.stack([1 - new, new], axis=1))
    gamma = fit_venn_abers(Curve.from_scores(scores, hits))
    np.testing.assert_allclose(np.stack(gamma.band(new), axis=1), pair, atol=1e-9)
    np.testing.assert_allclose(gamma(new), merged[:, 1], atol=1e-9)
