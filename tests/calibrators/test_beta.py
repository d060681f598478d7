import numpy as np
import pytest

from ogive import Curve
from ogive.calibrators.beta import fit_beta
from ogive.errors import FallbackWarning
from tests import simulate


def loss(curve, a, b, c):
    z = c + a * np.log(curve.score) - b * np.log1p(-curve.score)
    return np.sum(curve.count * np.logaddexp(0, z) - curve.hits * z)


def sample(rng, a, b, c, n=4000):
    scores = rng.uniform(0.02, 0.98, n)
    z = c + a * np.log(scores) - b * np.log1p(-scores)
    return Curve.from_scores(scores, rng.random(n) < simulate.expit(z))


def test_it_recovers_its_own_family(rng):
    gamma = fit_beta(sample(rng, 1.5, 0.4, 0.3, n=100_000))
    np.testing.assert_allclose([gamma.a, gamma.b, gamma.c], [1.5, 0.4, 0.3], atol=0.05)


@pytest.mark.parametrize(
    "truth", [(-0.5, 1.0, 0.0), (1.0, -0.5, 0.0), (-1.0, -1.0, 0.2), (1.0, 1.0, 0.0)]
)
def test_no_neighbour_in_the_quadrant_is_better(rng, truth):
    curve = sample(rng, *truth)
    gamma = fit_beta(curve)
    assert gamma.a >= 0
    assert gamma.b >= 0
    best = loss(curve, gamma.a, gamma.b, gamma.c)
    for step in np.vstack([np.eye(3), -np.eye(3), rng.normal(size=(30, 3))]) * 1e-3:
        a, b, c = np.array([gamma.a, gamma.b, gamma.c]) + step
        if a >= 0 and b >= 0:
            assert loss(curve, a, b, c) >= best - 1e-9


def test_falling_hits_give_a_constant(rng):
    scores = rng.random(3000)
    hits = rng.random(3000) < 1 - scores
    gamma = fit_beta(Curve.from_scores(scores, hits))
    assert (gamma.a, gamma.b) == (0.0, 0.0)
    assert gamma(0.3) == pytest.approx(hits.mean())


def test_separated_classes_fall_back_to_platt_s_targets():
    curve = Curve.from_scores([0.1, 0.2, 0.3, 0.8, 0.9], [0, 0, 0, 1, 1])
    with pytest.warns(FallbackWarning, match="no maximum"):
        gamma = fit_beta(curve)
    assert 0.5 < gamma(0.9) < 0.95


def test_two_scores_fall_back_to_platt():
    curve = Curve.from_scores([0.2, 0.2, 0.8, 0.8], [0, 1, 0, 1])
    with pytest.warns(FallbackWarning, match="two scores"):
        gamma = fit_beta(curve)
    assert gamma.a == gamma.b


def test_two_scores_that_fall_are_a_constant():
    with pytest.warns(FallbackWarning, match="two scores"):
        gamma = fit_beta(Curve.from_scores([0.1, 0.0], [0, 1]))
    assert gamma(0.0) == gamma(1.0) == pytest.approx(0.5)


@pytest.mark.parametrize("score", [1e-300, 0.3, 0.5, 0.999])
@pytest.mark.parametrize("ulps", [1, 50])
def test_scores_that_differ_by_rounding_are_a_single_score(score, ulps):
    near = score * (1 + ulps * 2.0**-52)
    assert near > score
    curve = Curve.from_scores([score, near] * 50, [0, 1] * 40 + [0, 0] * 10)
    with pytest.warns(FallbackWarning, match="single score"):
        gamma = fit_beta(curve)
    assert gamma.a == 1.0
    assert gamma(score) == pytest.approx(0.4, abs=0.01)


def test_two_scores_and_a_neighbour_are_two_scores():
    curve = Curve.from_scores([0.3, np.nextafter(0.3, 1), 0.7] * 20, [0, 1, 1] * 15 + [1, 0, 0] * 5)
    with pytest.warns(FallbackWarning, match="two scores"):
        gamma = fit_beta(curve)
    assert gamma.a == gamma.b
