from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ogive import Curve, Predictions, fit_isotonic, fit_venn_abers
from ogive.calibrators.venn_abers import VennAbersMap, merged
from ogive.curve.keys import ROUNDS_TO_ONE
from ogive.errors import DoesNotApply
from tests import naive, simulate, strategies


def as_tail(score):
    return score > 0.5, min(score, 1.0 - score)


def equals(score, new):
    """Whether float32 cannot tell them apart, or their log-odds; 0 and 1 are not rounded."""
    (side, tail), (other, far) = as_tail(score), as_tail(new)
    near = max(2.0**-20 * tail, 2.0**-24 * side) * 0.99 if tail > 0.0 else 5e-324
    return side == other and abs(tail - far) < near


@given(strategies.scored(min_size=1, max_size=12, weights=True), st.randoms(use_true_random=False))
def test_it_is_isotonic_regression_with_the_new_row(data, random):
    """Also at the scores of the fit; the floats beside one of them count as it."""
    scores, outcomes, weights = data
    if not np.sum(weights) > 0:
        return
    every = sorted(set(np.asarray(scores, dtype=float)))
    gamma = fit_venn_abers(Curve.from_scores(scores, outcomes, sample_weight=weights))
    s = random.choice(every)
    beside = s * (1.0 + random.choice([-1, 1]) * 2.0**-40)
    for new in (s, min(beside, 1.0), random.random(), 0.0, 1.0):
        sides = [as_tail(x) for x in every]
        gaps = [
            abs(a[1] - b[1]) <= max(2.0**-18 * max(a[1], b[1]), 2.0**-22)
            for a, b in pairwise(sides)
        ]
        if any(gaps) or any(0 < abs(x - new) <= 2.0**-20 and not equals(x, new) for x in every):
            continue  # scores that are hardly apart are another matter
        place = next((x for x in every if equals(x, new)), new)
        low, high = naive.venn_abers(scores, outcomes, place, weights)
        found = gamma.band(new)
        np.testing.assert_allclose(found, (low, high), atol=1e-12)
        assert gamma(new) == pytest.approx(merged(low, high), abs=1e-12)


def test_the_pair_surrounds_the_probability_and_rises():
    rng = np.random.default_rng(0)
    scores, outcomes, _ = simulate.overconfident(rng, 2000)
    gamma = fit_venn_abers(Curve.from_scores(scores, outcomes))
    at = np.linspace(0, 1, 2001)
    low, high = gamma.band(at)
    assert (low <= gamma(at)).all()
    assert (gamma(at) <= high).all()
    assert ((gamma(at) > 0) & (gamma(at) < 1)).all()
    for ends in (low, high):
        assert (np.diff(ends) >= 0).all()
    isotonic = fit_isotonic(Curve.from_scores(scores, outcomes))
    assert np.mean(np.abs(gamma(scores) - isotonic(scores))) < 0.01


def test_one_class_needs_no_other_method():
    gamma = fit_venn_abers(Curve.from_scores([0.2, 0.5, 0.7], [0, 0, 0]))
    assert isinstance(gamma, VennAbersMap)
    np.testing.assert_allclose(gamma.band([0.2, 0.7, 0.8])[1], [0.25, 0.5, 1.0])
    assert (gamma.band([0.2, 0.7, 0.8])[0] == 0.0).all()


def test_it_has_no_simultaneous_band():
    gamma = fit_venn_abers(Curve.from_scores([0.2, 0.5, 0.7], [0, 1, 0]))
    with pytest.raises(DoesNotApply, match=r"no simultaneous band.*'spline'"):
        gamma.band(0.5, simultaneous=True)


def test_sampling_weights_do_not_depend_on_their_unit(rng):
    scores, w = rng.random(300), rng.gamma(2.0, size=300)
    outcomes = rng.random(300) < scores
    maps = [
        fit_venn_abers(
            Curve.from_scores(scores, outcomes, sample_weight=c * w, weight_kind="sampling")
        )
        for c in (1.0, 1e-3)
    ]
    np.testing.assert_allclose(*(gamma.band(scores) for gamma in maps), atol=1e-9)


def test_scores_that_round_to_one_have_the_mean_of_their_rows(rng):
    log_odds = np.concatenate([rng.normal(size=200) * 2, 38.0 + rng.random(50)])
    outcomes = rng.random(250) < 0.9
    curve = Curve.from_predictions(Predictions(log_odds, outcomes, kind="logits"))
    gamma = fit_venn_abers(curve)
    certain = curve.high & (curve.tail <= ROUNDS_TO_ONE)
    assert certain.sum() >= 40
    ends = [
        np.average(end.from_tails(curve.high, curve.tail)[certain], weights=curve.count[certain])
        for end in gamma.band_ends()
    ]
    np.testing.assert_allclose(gamma.band(1.0), ends, atol=1e-12)
    assert gamma(1.0) == pytest.approx(merged(*gamma.band(1.0)))


def test_one_of_the_pair_is_calibrated():
    """Over samples, the p of the outcome is right on average, with 20 rows to fit on."""
    rng = np.random.default_rng(1)
    gaps = []
    for _ in range(3000):
        scores = rng.random(21)
        outcomes = rng.random(21) < scores**3
        gamma = fit_venn_abers(Curve.from_scores(scores[1:], outcomes[1:]))
        gaps.append(gamma.band(scores[0])[int(outcomes[0])] - outcomes[0])
    assert abs(np.mean(gaps)) < 4 * np.std(gaps) / np.sqrt(len(gaps))


def test_the_smallest_score_of_all_is_a_score():
    gamma = fit_venn_abers(Curve.from_scores([5e-324], [1]))
    np.testing.assert_allclose(gamma.band([0.0, 5e-324, 1.0])[0], [0.0, 0.5, 0.5])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_no_step_lies_on_a_score_of_the_fit(dtype):
    rng = np.random.default_rng(7)
    scores = np.sort(np.concatenate([rng.random(600), 1.0 - rng.random(100) * 1e-3]))
    gamma = fit_venn_abers(Curve.from_scores(scores, rng.random(700) < scores**2))
    assert not np.isin(
        np.where(gamma.edge_high, 1.0 - gamma.edge_tail, gamma.edge_tail), scores
    ).any()
    far = np.flatnonzero(np.diff(scores) > 2.0**-22)
    alone = np.intersect1d(far[1:], far[:-1] + 1)  # float32 can tell them from their neighbours
    assert alone.size > 500
    log_odds = np.log(scores) - np.log1p(-scores)
    for found in (gamma(scores.astype(dtype)), gamma.from_log_odds(log_odds.astype(dtype))):
        np.testing.assert_array_equal(found[alone], gamma(scores)[alone])
