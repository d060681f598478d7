"""The default calibrator where data are short: few outcomes, and beyond the scores seen."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator

from ogive import CalibratedClassifier, Curve, Predictions, fit_platt, fit_spline
from ogive.calibrators.spline import SplineMap, fit_spline_again
from ogive.errors import FallbackWarning, LooksLikeTrainingRows
from tests import naive


def fitted(curve):
    """Fit, and let pass what is said about too little data."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FallbackWarning)
        return fit_spline(curve)


def test_rows_that_are_certain_hold_the_map_where_they_are():
    # At the mode, 23 certain hits have no curvature: a quadratic there lets a line ignore them.
    eta = np.array([11.4, 12.4, 12.7, 12.8, 13.7, 15.2, 15.9] + [16.6] * 23)
    hits = np.ones(30)
    hits[4] = 0
    gamma = fit_spline(Curve.from_scores(1 / (1 + np.exp(-eta)), hits))
    assert gamma.from_log_odds(16.6) > 0.9


def log_loss(truth, p):
    return -np.mean(truth * np.log(p) + (1 - truth) * np.log1p(-p))


@pytest.mark.parametrize(
    ("n", "place", "spread", "slope", "shift"),
    [
        (1000, -4.5, 0.8, 1.0, -2.0),  # rare events, the scores too high: 0 to 5 hits
        (1000, -6.5, 0.8, 1.0, 0.0),  # and right
        (30, 9.0, 4.0, 0.3, 0.0),  # a saturated net
        (30, 0.0, 1.5, 1.0, -1.5),
        (30, 0.0, 2.0, 1.0, 0.0),
    ],
)
def test_few_rows_of_one_outcome_cost_little_against_platt(n, place, spread, slope, shift):
    def sigmoid(x):
        return 1 / (1 + np.exp(-x))

    grid = place + spread * stats.norm.ppf((np.arange(400) + 0.5) / 400)
    truth = sigmoid(slope * grid + shift)
    loss = []
    for seed in range(40):
        rng = np.random.default_rng([n, seed])
        eta = rng.normal(place, spread, n)
        curve = Curve.from_scores(sigmoid(eta), rng.random(n) < sigmoid(slope * eta + shift))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FallbackWarning)
            maps = fit_spline(curve), fit_platt(curve)
        loss.append([log_loss(truth, gamma(sigmoid(grid))) for gamma in maps])
    mine, platts = np.mean(loss, axis=0)
    assert mine < 1.04 * platts


def test_one_outcome_alone_shifts_only_what_the_scores_expected(rng):
    eta = rng.normal(7.0, 2.0, 30)
    sure = fit_spline(Curve.from_scores(1 / (1 + np.exp(-eta)), np.ones(30)))
    assert sure(0.9) > 0.8  # hardly a miss was expected
    many = fitted(Curve.from_scores(np.full(300, 0.02), np.zeros(300)))
    assert many(0.02) < 0.01  # six hits were


def plateau(rng, n=400):
    """Scores whose truth stays at 0.57 from there on."""
    eta = rng.normal(1.0, 1.5, n)
    return eta, rng.random(n) < 1 / (1 + np.exp(-np.minimum(eta, 0.3)))


@pytest.mark.parametrize("monotone", [False, True])
def test_beyond_the_range_seen_the_map_neither_turns_nor_runs_away(monotone):
    for seed in range(20):
        eta, hits = plateau(np.random.default_rng(seed))
        gamma = fit_spline(Curve.from_scores(1 / (1 + np.exp(-eta)), hits), monotone=monotone)
        for end, way in ((gamma.first, -1.0), (gamma.last, 1.0)):
            far = end + way * np.array([0.0, 1e-9, 0.5, 1.0, 10.0])
            logit = gamma.log_odds_at(far)
            slope = gamma.above if way > 0 else gamma.below
            assert 0.0 <= slope <= gamma.rise + 1e-9
            d, w = np.abs(far - end), gamma.linear
            moved = slope * (w * d + (1.0 - w) * (1.0 - np.exp(-d)))  # τ is 1
            np.testing.assert_allclose(way * (logit - logit[0]), moved, atol=1e-9)


def test_a_line_goes_on_as_far_as_the_outcomes_speak_for_one(rng):
    eta = rng.normal(0.0, 1.0, 20_000)
    scores = 1 / (1 + np.exp(-eta))
    line = fit_spline(Curve.from_scores(scores, rng.random(eta.size) < scores))
    curve = fit_spline(Curve.from_scores(scores, rng.random(eta.size) < 0.2 + 0.6 * scores**2))
    far = np.array([8.0, 18.0])
    assert line.linear > 0.7
    assert np.diff(line.log_odds_at(far)) > 7.0
    assert np.diff(curve.log_odds_at(far)) < 0.05


@pytest.mark.parametrize("monotone", [False, True])
def test_a_saturated_row_costs_what_the_rows_near_by_say(rng, monotone):
    # 100,000 rows say that a score of 0.02 is 0.116; 1e-12 was 5e-5, and 0 was 2e-16: 36 nats.
    p = rng.uniform(0.02, 0.98, 100_000)
    hits = rng.random(p.size) < 0.1 + 0.8 * p
    gamma = fit_spline(Curve.from_scores(p, hits), monotone=monotone)
    assert gamma([0.0, 1e-300, 1e-12]).min() > 0.05
    assert gamma([1.0, 1 - 2.0**-53, 1 - 1e-12]).max() < 0.95
    near = gamma.from_log_odds(np.log(2.2e-16) * np.array([1.0, -1.0]))
    assert gamma([0.0, 1.0]) == pytest.approx(near, abs=1e-4)  # as an exact 0 and 1 count


def test_scores_further_out_than_any_exact_one_keep_their_order():
    # The fit saw log-odds of 60: an exact 1 is not below them, though 2.2e-16 is.
    eta = np.linspace(30.0, 60.0, 50)
    logits = np.stack([np.zeros(50), eta], 1)
    preds = Predictions(logits, (np.arange(50) % 5 > 0).astype(int), kind="logits")
    gamma = fit_spline(Curve.from_predictions(preds, view="class-1"))
    assert gamma.highest == pytest.approx(60.0)
    assert gamma.lowest == pytest.approx(np.log(2.0**-52))


@pytest.mark.parametrize("seed", range(10))
def test_order_is_kept_across_the_ends_and_beyond(seed):
    eta, hits = plateau(np.random.default_rng(seed))
    gamma = fit_spline(Curve.from_scores(1 / (1 + np.exp(-eta)), hits), monotone=True)
    assert gamma.linear < 0.5
    steps = np.concatenate([[0.0], 2.0 ** np.arange(-52, 10)])
    for end in (gamma.first, gamma.last):
        around = end + np.concatenate([-steps[::-1], steps])
        beside = [np.nextafter(end, way * np.inf) for way in (-1.0, 1.0)]
        far = np.sort(np.concatenate([around, beside]))
        assert (np.diff(gamma.from_log_odds(far)) >= 0.0).all()


@pytest.mark.parametrize("scale", [0.01, 30.0])
def test_slopes_beyond_the_range_follow_the_scale_of_the_log_odds(scale):
    eta, hits = plateau(np.random.default_rng(0), 4000)
    maps = []
    for c in (1.0, scale):
        logits = np.stack([np.zeros(eta.size), c * eta], 1)
        curve = Curve.from_predictions(
            Predictions(logits, hits.astype(int), kind="logits"), view="class-1"
        )
        maps.append(fit_spline(curve))
    assert maps[1].rise * scale == pytest.approx(maps[0].rise, rel=0.1)
    # τ is in log-odds of any scale, and so is the place of an exact 0 or 1
    maps = [replace(gamma, tau=None, lowest=-745.0, highest=745.0) for gamma in maps]
    end = eta.max() + 5.0
    far = [gamma.from_log_odds(c * end) for gamma, c in zip(maps, (1.0, scale), strict=True)]
    assert far[0] == pytest.approx(far[1], abs=0.05)


def test_the_band_widens_beyond_the_range_seen(rng):
    eta, hits = plateau(rng, 2000)
    gamma = fit_spline(Curve.from_scores(1 / (1 + np.exp(-eta)), hits))
    for end, way in ((gamma.first, -1.0), (gamma.last, 1.0)):
        far = end + way * np.linspace(0.0, 10.0, 21)
        wide = naive.spline_deviation(gamma, far)
        assert (np.diff(wide) > 0).all()
        # It holds the plateau and the line alike.
        low, high = gamma.band_from_log_odds(far)
        at = gamma.log_odds_at(far[:1])
        for slope in (0.0, gamma.rise):
            p = 1 / (1 + np.exp(-(at + slope * (far - end))))
            assert ((low <= p) & (p <= high)).all()


def test_maps_saved_without_slopes_beyond_the_range_go_on_as_the_spline_does(rng):
    eta, hits = plateau(rng)
    values = fit_spline(Curve.from_scores(1 / (1 + np.exp(-eta)), hits)).to_dict()
    old = {k: v for k, v in values.items() if k not in {"below", "above", "rise"}}
    gamma = SplineMap.from_dict(old)
    far = gamma.knots[-1] + np.array([1.0, 2.0, 30.0])
    logit = gamma.log_odds_at(far)
    assert np.diff(logit)[0] * 28 == pytest.approx(np.diff(logit)[1])
    assert gamma.to_dict().keys() == old.keys()


def test_maps_saved_without_tau_go_on_straight(rng):
    eta, hits = plateau(rng)
    values = fit_spline(Curve.from_scores(1 / (1 + np.exp(-eta)), hits)).to_dict()
    assert values["tau"] == 1.0
    gamma = SplineMap.from_dict({k: v for k, v in values.items() if k != "tau"})
    far = gamma.last + np.array([0.0, 1.0, 30.0])
    at_end = gamma.log_odds_at(far[:1])
    np.testing.assert_array_equal(
        gamma.log_odds_at(far), at_end + gamma.above * (far - max(gamma.last, gamma.knots[-1]))
    )
    assert "tau" not in gamma.to_dict()


def test_the_range_seen_is_that_of_the_rows_also_where_they_are_bundled(rng):
    eta = rng.normal(0.0, 2.0, 30_000)
    curve = Curve.from_scores(1 / (1 + np.exp(-eta)), rng.random(30_000) < 0.5)
    gamma = fit_spline(curve)
    assert [gamma.first, gamma.last] == pytest.approx([eta.min(), eta.max()], rel=1e-9)


@pytest.mark.parametrize("scale", [1e-3, 1e-6])
def test_scores_that_hardly_differ_get_a_line_whatever_the_rounding(rng, scale):
    # A bend fitted to log-odds this close would be one of rounding errors.
    eta = rng.normal(0.0, 2.0, 400)
    hits = rng.random(400) < 1 / (1 + np.exp(-eta))
    weights = rng.uniform(0.25, 3.0, 400)
    curves = [
        Curve.from_predictions(
            Predictions(
                scale * eta,
                hits.astype(int),
                kind="logits",
                sample_weight=w,
                weight_kind="sampling",
            )
        )
        for w in (weights, weights / 1000.0, weights * 3.0)
    ]
    first, *others = (fit_spline(curve) for curve in curves)
    at = scale * np.linspace(eta.min(), eta.max(), 50)
    for other in others:
        assert other.from_log_odds(at) == pytest.approx(first.from_log_odds(at), abs=1e-9)
    assert first.linear == pytest.approx(1.0)
    assert first.rise * scale == pytest.approx(1.0, abs=0.25)


def test_rows_that_differ_by_rounding_are_one_score(rng):
    # Whether there are enough scores for a bend must not hang on the last bit of one.
    scores = np.repeat([0.2, 0.5, 0.8], 20)
    hits = rng.random(60) < scores
    split = np.where(np.arange(60) < 30, scores, np.nextafter(scores, 1.0))
    maps = [fitted(Curve.from_scores(each, hits)) for each in (scores, split)]
    assert maps[1](0.35) == pytest.approx(maps[0](0.35), abs=1e-12)
    assert [gamma.linear for gamma in maps] == pytest.approx([1.0, 1.0])


def test_the_band_is_wider_where_smoothing_moved_the_map(rng):
    eta = rng.normal(0.0, 2.0, 5000)
    hits = rng.random(5000) < 1 / (1 + np.exp(-(eta - 0.8 * np.maximum(eta, 0.0))))
    gamma = fit_spline(Curve.from_scores(1 / (1 + np.exp(-eta)), hits))
    kink = np.abs(gamma.knots) < 0.3
    beside = (np.abs(gamma.knots) > 0.8) & (np.abs(gamma.knots) < 2.0)
    assert gamma.bias[kink].max() > 1.5 * np.median(gamma.bias[beside])
    low, high = gamma.band_from_log_odds(0.0)
    assert low < 0.5 < high  # the kink itself, by which the average is too low


@pytest.mark.parametrize("n", [25, 400, 5000])
def test_the_map_may_bend_as_far_as_there_are_rows(rng, n):
    # A natural spline is straight beyond its knots: without knots at the ends the band missed a
    # rise in the tails, at the 2nd and 98th percentile in a quarter of samples.
    eta = rng.normal(0.0, 1.5, n)
    hits = rng.random(n) < 1 / (1 + np.exp(-(0.5 * eta + 0.12 * eta**3)))
    gamma = fit_spline(Curve.from_scores(1 / (1 + np.exp(-eta)), hits))
    bundled = 1e-9 if n < 512 else 0.05  # then the last row stands for some
    assert gamma.knots[[0, -1]] == pytest.approx([eta.min(), eta.max()], abs=bundled)


@pytest.mark.parametrize("scores", [4, 5, 11])
def test_there_are_no_more_knots_than_scores(rng, scores):
    p = np.repeat(np.linspace(0.1, 0.9, scores), 50)
    gamma = fit_spline(Curve.from_scores(p, rng.random(p.size) < p**2))
    assert 3 <= gamma.knots.size <= scores


def test_maps_saved_without_a_bias_keep_their_band(rng):
    eta, hits = plateau(rng)
    gamma = fit_spline(Curve.from_scores(1 / (1 + np.exp(-eta)), hits))
    again = SplineMap.from_dict(gamma.to_dict())
    np.testing.assert_array_equal(again.bias, gamma.bias)
    old = SplineMap.from_dict({k: v for k, v in gamma.to_dict().items() if k != "bias"})
    at = np.linspace(-3.0, 3.0, 7)
    old = replace(old, cut=None)
    half = old.band_ends()[1].half(at)
    np.testing.assert_allclose(half, 2.24 * naive.spline_deviation(old, at), rtol=1e-9)
    assert "bias" not in old.to_dict()


def test_a_few_errors_at_the_lowest_scores_do_not_sharpen_scores_that_were_fitted_before():
    log_odds = np.concatenate([[0.0, 1.07, 1.13], np.linspace(1.8, 9.0, 197)])
    hits = np.arange(200) >= 3  # any steep line explains the three: its slope was 3.9
    preds = Predictions(log_odds, hits, kind="logits")
    again = fit_spline_again(Curve.from_predictions(preds))
    low, high = again.from_log_odds(np.array([3.0, 6.0]))
    slope = (np.log(high / (1.0 - high)) - np.log(low / (1.0 - low))) / 3.0
    assert 0.9 < slope < 1.35


def test_rows_that_are_told_apart_look_like_the_models_own():
    scores = np.linspace(0.01, 0.99, 100)
    with pytest.warns(LooksLikeTrainingRows, match="100 rows are told apart without an error"):
        fit_spline(Curve.from_scores(scores, scores > 0.4))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fit_spline(Curve.from_scores(scores[1:], scores[1:] > 0.4))
        fit_spline(Curve.from_scores(scores, (scores > 0.4) ^ (scores == scores[0])))


def test_a_forests_own_training_rows_warn():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    y = (X[:, 0] + rng.normal(size=300) > 0).astype(int)
    forest = RandomForestClassifier(50, random_state=0).fit(X, y)
    with pytest.warns(LooksLikeTrainingRows, match="Fit on rows that the model has not seen"):
        CalibratedClassifier(FrozenEstimator(forest)).fit(X, y)
