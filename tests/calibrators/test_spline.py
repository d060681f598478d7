"""The default calibrator: what holds for every input."""

import json
import pickle
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import Phase, example, given, settings
from hypothesis import strategies as st

from ogive import Curve, Predictions, fit_platt, fit_spline, load, save
from ogive._numerics.logistic import expit
from ogive.calibrators import METHODS
from ogive.calibrators.grouped_trials import trials_of
from ogive.calibrators.spline import SplineMap
from ogive.errors import (
    FallbackWarning,
    InvalidInput,
    InvalidType,
    LooksLikeTrainingRows,
)
from tests import simulate, strategies

GRID = np.concatenate([[0.0, 1.0, 0.5, 5e-324, 1 - 2**-53], np.linspace(0, 1, 101)])
ETAS = np.array([-np.inf, -800.0, -700.0, -40.0, -1.0, 0.0, 3.0, 40.0, 700.0, 800.0, np.inf])


def fitted(curve, **options):
    """Fit, and let pass what is said about too little data."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FallbackWarning)
        return fit_spline(curve, **options)


def logit(p):
    return np.log(p) - np.log1p(-p)


def bent(rng, n):
    """Scores whose true log-odds bend: (scores, hits, truth)."""
    eta = rng.normal(0.5, 2.0, n)
    truth = simulate.expit(0.6 * eta + np.sin(1.5 * eta))
    return simulate.expit(eta), rng.random(n) < truth, truth


def test_it_is_the_default():
    assert next(iter(METHODS)) == "spline"
    assert METHODS["spline"].map is SplineMap


@pytest.mark.parametrize("monotone", [False, True])
@given(data=strategies.scored())
def test_every_value_and_its_band_lie_strictly_inside(monotone, data):
    gamma = fitted(Curve.from_scores(*data), monotone=monotone)
    for value, (low, high) in (
        (gamma(GRID), gamma.band(GRID)),
        (gamma.from_log_odds(ETAS), gamma.band_from_log_odds(ETAS)),
    ):
        assert ((low > 0) & (high < 1)).all()
        assert ((value > 0) & (value < 1)).all()
        assert ((low <= value * (1 + 1e-9)) & (value * (1 - 1e-9) <= high)).all()


@given(data=strategies.scored(min_size=20, max_size=120), seed=st.integers(0, 999))
def test_the_order_of_rows_and_shards_does_not_matter(data, seed):
    scores, hits = data
    order = np.random.default_rng(seed).permutation(scores.size)
    gamma = fitted(Curve.from_scores(scores, hits))
    assert fitted(Curve.from_scores(scores[order], hits[order])) == gamma  # bit for bit
    half = scores.size // 2
    shards = [Curve.from_scores(scores[at], hits[at]) for at in (order[:half], order[half:])]
    assert fitted(shards[0].merge(shards[1])) == gamma


@given(data=strategies.scored(min_size=2, max_size=80, weights=True))
def test_weight_two_is_a_row_twice(data):
    scores, hits, weights = data
    weighted = fitted(Curve.from_scores(scores, hits, sample_weight=weights))
    repeated = fitted(Curve.from_scores(np.repeat(scores, weights), np.repeat(hits, weights)))
    np.testing.assert_allclose(weighted(GRID), repeated(GRID), atol=1e-10)


@given(data=strategies.scored(min_size=30, max_size=80), power=st.integers(-20, 20))
def test_sampling_weights_have_no_unit(data, power):
    scores, hits = data
    weights = 1.0 + np.arange(scores.size) % 3
    one, other = (
        fitted(Curve.from_scores(scores, hits, sample_weight=w, weight_kind="sampling"))
        for w in (weights, 2.0**power * weights)
    )
    np.testing.assert_allclose(one(GRID), other(GRID), atol=1e-10)


def test_equal_sampling_weights_are_no_weights(rng):
    scores, hits, _ = bent(rng, 900)
    weights = np.full(900, 0.1)
    gamma = fit_spline(
        Curve.from_scores(scores, hits, sample_weight=weights, weight_kind="sampling")
    )
    np.testing.assert_allclose(
        gamma(GRID), fit_spline(Curve.from_scores(scores, hits))(GRID), atol=1e-9
    )


def test_the_round_trip_is_exact(rng, tmp_path):
    scores, hits, _ = bent(rng, 3000)
    gamma = fit_spline(Curve.from_scores(scores, hits), monotone=True)
    save(gamma, tmp_path / "cal.json")
    for again in (
        load(tmp_path / "cal.json"),
        SplineMap.from_dict(json.loads(json.dumps(gamma.to_dict()))),
        pickle.loads(pickle.dumps(gamma)),  # noqa: S301
    ):
        assert again == gamma
        np.testing.assert_array_equal(again(GRID), gamma(GRID))
        np.testing.assert_array_equal(again.band(GRID), gamma.band(GRID))


def test_it_is_frozen_and_can_be_shared_between_threads(rng):
    scores, hits, _ = bent(rng, 3000)
    gamma = fit_spline(Curve.from_scores(scores, hits))
    with pytest.raises(ValueError, match="read-only"):
        gamma.knots[0] = 0.0
    expected = SplineMap.from_dict(gamma.to_dict())(scores)
    with ThreadPoolExecutor(4) as pool:
        for values in pool.map(gamma, [scores] * 8):
            np.testing.assert_array_equal(values, expected)


def test_shapes_and_scalars(rng):
    scores, hits, _ = bent(rng, 600)
    gamma = fit_spline(Curve.from_scores(scores, hits))
    assert gamma(0.3).shape == gamma.band(0.3)[0].shape == gamma.band_from_log_odds(0.3)[1].shape
    table = scores.reshape(20, 30)
    np.testing.assert_array_equal(gamma(table).reshape(-1), gamma(scores))
    assert gamma.band(table)[1].shape == (20, 30)
    assert gamma.from_log_odds(logit(table)).shape == (20, 30)
    with pytest.raises(InvalidInput, match="must not be NaN: 1 of 2 rows, the first at row 1"):
        gamma.from_log_odds([0.0, np.nan])
    with pytest.raises(InvalidType, match="`curve` must be a Curve"):
        fit_spline(scores)


# --- order ------------------------------------------------------------------------------------


@settings(phases=[Phase.explicit, Phase.generate])  # what fails is large, and shrinks slowly
@example(data=(np.repeat([0.0, 0.1, 0.6, 1.0], 9), np.zeros(36)), extra=0.0, eta=0.0)
@given(data=strategies.scored(min_size=2), extra=st.floats(0, 1), eta=st.floats(-750, 750))
def test_monotone_never_turns_two_scores_round(data, extra, eta):
    gamma = fitted(Curve.from_scores(*data), monotone=True)
    near = extra + np.arange(-30, 31) * np.spacing(extra)  # neighbouring floats
    scores = np.sort(np.concatenate([GRID, near[(near >= 0) & (near <= 1)]]))
    assert (np.diff(gamma(scores)) >= 0).all()
    etas = np.sort(np.concatenate([ETAS, eta + np.arange(-30, 31) * np.spacing(eta)]))
    assert (np.diff(gamma.from_log_odds(etas)) >= 0).all()


def test_monotone_keeps_the_area_under_the_curve(rng):
    from sklearn.metrics import roc_auc_score

    eta = rng.normal(0, 2, 4000)
    hits = rng.random(4000) < simulate.expit(np.where(eta < 0, -eta, eta) - 1)  # falls, then rises
    scores = simulate.expit(eta)
    free, rising = (fit_spline(Curve.from_scores(scores, hits), monotone=m) for m in (False, True))
    assert roc_auc_score(hits, rising(scores)) == roc_auc_score(hits, scores)
    assert roc_auc_score(hits, free(scores)) > roc_auc_score(hits, scores) + 0.05
    slopes = np.diff(logit(rising(np.sort(scores)))) / np.diff(np.sort(eta))
    assert slopes.min() > 0


def test_monotone_changes_nothing_where_the_map_rises_already(rng):
    scores, hits, _ = simulate.overconfident(rng, 3000)
    free, rising = (fit_spline(Curve.from_scores(scores, hits), monotone=m) for m in (False, True))
    np.testing.assert_array_equal(free.values, rising.values)
    np.testing.assert_allclose(rising(GRID), free(GRID), rtol=1e-9)


# --- little data ------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [1, 2, 7, 19])
def test_few_rows_are_given_a_line_with_a_warning(n, rng):
    scores = rng.random(n)
    with pytest.warns(FallbackWarning, match=f"the curve has {n} rows, and a bend needs 20 rows"):
        gamma = fit_spline(Curve.from_scores(scores, rng.random(n) < scores))
    assert gamma.linear == pytest.approx(1.0)
    assert gamma.edf <= 2.0
    bends = np.diff(logit(gamma.from_log_odds(np.linspace(-3, 3, 7))), 2)
    np.testing.assert_allclose(bends, 0.0, atol=1e-7)


def test_few_scores_are_given_a_line_with_a_warning():
    curve = Curve.from_scores([0.2, 0.5, 0.8] * 100, [0, 1, 1] * 100)
    with (
        pytest.warns(FallbackWarning, match="3 distinct scores"),
        pytest.warns(LooksLikeTrainingRows),
    ):
        fit_spline(curve)


@pytest.mark.parametrize("outcome", [0, 1])
def test_one_class_is_no_proof_of_certainty(outcome, rng):
    scores = rng.random(200)
    gamma = fit_spline(Curve.from_scores(scores, np.full(200, outcome)))
    mean = gamma(scores).mean()
    assert 0.9 < (mean if outcome else 1 - mean) < 1.0


def test_separated_classes_stay_sane(rng):
    eta = rng.normal(0, 2, 300)
    with pytest.warns(LooksLikeTrainingRows, match="300 rows are told apart without an error"):
        gamma = fit_spline(Curve.from_scores(simulate.expit(eta), eta > 0))
    assert gamma(0.9) > 0.9
    assert gamma(0.1) < 0.1


def test_outliers_in_log_odds_do_not_overflow(rng):
    eta = np.concatenate([20 * rng.standard_cauchy(3000).clip(-30, 30), [700.0, -700.0]])
    gamma = fit_spline(Curve.from_scores(simulate.expit(eta), rng.random(3002) < 0.5))
    assert np.isfinite(gamma.values).all()


# --- bundles ----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["keys", "repetition", "sampling"])
def test_bundles_keep_the_sums_of_a_line(kind, rng):
    scores, hits, _ = bent(rng, 30_000)
    scores[:100] = 0.0
    scores[100:300] = 1.0
    weights = None if kind == "keys" else 1.0 + rng.integers(0, 3, 30_000)
    kinds = {} if kind == "keys" else {"weight_kind": kind}
    curve = Curve.from_scores(scores, hits, sample_weight=weights, **kinds)
    trials = trials_of(curve)
    scale = curve.count.sum() / curve.square.sum()
    assert 300 < trials.offset.size <= 2048
    assert (np.diff(trials.offset) > 0).all()
    for mine, whole in (
        (trials.count.sum(), curve.count.sum()),
        (trials.hits.sum(), curve.hits.sum()),
        (trials.count @ trials.offset, curve.count @ curve.log_odds),
        (trials.hits @ trials.offset_hit, curve.hits @ curve.log_odds),
    ):
        assert mine == pytest.approx(scale * whole, rel=1e-12)


def test_bundles_are_narrow_and_light(rng):
    scores, hits, _ = bent(rng, 60_000)
    curve = Curve.from_scores(scores, hits)
    trials = trials_of(curve)
    assert trials.count.max() <= 60_000 / 1024 + 1
    assert np.diff(trials.offset).max() < 1.0
    assert np.median(np.diff(trials.offset)) < 0.01


def test_few_scores_are_not_bundled(rng):
    scores = rng.choice(np.linspace(0.01, 0.99, 500), 40_000)
    curve = Curve.from_scores(scores, rng.random(40_000) < scores)
    np.testing.assert_array_equal(trials_of(curve).offset, curve.log_odds)


# --- known truths -----------------------------------------------------------------------------


def l1(gamma, scores, truth):
    return np.abs(gamma(scores) - truth).mean()


@pytest.mark.parametrize("n", [200, 1000])
def test_calibrated_scores_are_nearly_left_alone(n, rng):
    ours, platt = [], []
    for _ in range(12):
        scores = simulate.expit(rng.normal(1.0, 1.5, n))
        curve = Curve.from_scores(scores, rng.random(n) < scores)
        ours.append(l1(fit_spline(curve), scores, scores))
        platt.append(l1(fit_platt(curve), scores, scores))
    assert np.mean(ours) < 0.5 * np.mean(platt)


def test_it_follows_a_bend_better_than_a_line_and_steps(rng):
    from ogive import fit_isotonic

    scores, hits, truth = bent(rng, 4000)
    curve = Curve.from_scores(scores, hits)
    ours = l1(fit_spline(curve), scores, truth)
    assert ours < 0.7 * l1(fit_platt(curve), scores, truth)
    assert ours < 0.7 * l1(fit_isotonic(curve), scores, truth)


def test_saturated_logits_keep_their_order_and_beat_rounded_scores(rng):
    logits, labels, truth = simulate.saturated_logits(rng, 8000)
    preds = Predictions(logits, labels, kind="logits")
    rounded = Predictions(preds.probabilities(), labels, kind="probs")
    eta = logits.max(axis=1) - np.log(3.0)
    sharp = fit_spline(Curve.from_predictions(preds)).from_log_odds(eta)
    blunt = fit_spline(Curve.from_predictions(rounded))(rounded.probabilities().max(axis=1))
    assert np.abs(sharp - truth).mean() < 0.3 * np.abs(blunt - truth).mean()
    assert np.corrcoef(sharp, truth)[0, 1] > 0.99


def test_the_band_covers_the_truth_about_as_often_as_it_says(rng):
    covered = []
    for _ in range(12):
        scores, hits, truth = bent(rng, 1500)
        low, high = fit_spline(Curve.from_scores(scores, hits)).band(scores)
        covered.append(((low <= truth) & (truth <= high)).mean())
    assert 0.88 < np.mean(covered) < 0.995


def test_the_band_narrows_with_the_sample(rng):
    widths = []
    for n in (500, 8000):
        scores, hits, _ = bent(rng, n)
        low, high = fit_spline(Curve.from_scores(scores, hits)).band([0.2, 0.5, 0.8])
        widths.append((high - low).mean())
    assert widths[1] < 0.5 * widths[0]


def test_the_mirror_image_has_mirrored_knots_also_where_they_are_crowded():
    rng = np.random.default_rng(5)
    eta = 0.06 * rng.normal(size=63)  # a range of a few hundredths: knots must be thinned out
    outcomes = rng.random(63) < 0.4
    ours = fit_spline(Curve.from_scores(expit(eta), outcomes))
    mirrored = fit_spline(Curve.from_scores(expit(-eta), ~outcomes))
    np.testing.assert_allclose(ours.knots, -mirrored.knots[::-1], atol=1e-12)
    np.testing.assert_allclose(ours(0.52), 1.0 - mirrored(0.48), atol=1e-10)
