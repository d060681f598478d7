from dataclasses import replace

import numpy as np
import pytest
from scipy.special import logit, softmax

from ogive import Curve, Predictions, fit_isotonic, fit_multiclass, fit_platt, fit_spline, read
from ogive._numerics.logistic import expit
from ogive.calibrators.spline_band import simultaneous_factor
from ogive.calibrators.spline_map import LIMIT
from ogive.errors import DoesNotApply
from tests import naive, simulate
from tests.bundled import DEMO

ETAS = np.concatenate([np.linspace(-12, 12, 481), [-300.0, 300.0, -40.0, 40.0]])


@pytest.fixture(scope="module")
def gamma():
    scores, outcomes, _ = simulate.overconfident(np.random.default_rng(3), 1500)
    return fit_spline(Curve.from_scores(scores, outcomes))


@pytest.mark.parametrize(
    "old", [{}, {"cut": None}, {"bias": None}, {"below": None, "above": None, "rise": None}]
)
@pytest.mark.parametrize("monotone", [False, True])
def test_the_polynomials_are_the_half_width(gamma, old, monotone):
    known = replace(gamma, **old, monotone=monotone)
    eta = np.clip(ETAS, known.lowest, known.highest)
    for side, end in zip((-1, 1), known.band_ends(), strict=True):
        half = naive.spline_half_width(known, eta, side)
        logit = np.clip(known.log_odds_at(eta) + side * half, -LIMIT, LIMIT)
        np.testing.assert_allclose(end.from_log_odds(ETAS), expit(logit), rtol=1e-9)


def test_a_simultaneous_band_is_wider(gamma):
    low, high = gamma.band([0.1, 0.5, 0.9])
    lower, higher = gamma.band([0.1, 0.5, 0.9], simultaneous=True)
    assert (lower < low).all()
    assert (higher > high).all()


def test_the_factor_bounds_the_largest_deviation(gamma):
    """By simulation from the posterior: in about 5 % of draws l leaves the band somewhere."""
    rng = np.random.default_rng(0)
    eta = np.linspace(gamma.first, gamma.last, 400)
    rows = gamma._spline.basis(eta)
    value, vector = np.linalg.eigh(gamma.covariance)
    draws = (vector * np.sqrt(np.maximum(value, 0))) @ rng.normal(size=(value.size, 4000))
    largest = np.abs(rows @ draws / naive.spline_deviation(gamma, eta)[:, None]).max(axis=0)
    missed = np.mean(largest > simultaneous_factor(gamma))
    assert 0.03 < missed < 0.06


def test_the_band_holds_a_wave_that_few_rows_hardly_show():
    """At its crests; with the distance to a rougher map alone, it held 87 % of these."""
    crests = np.pi / 5 * np.array([-3.0, -1.0, 1.0, 3.0])
    held = np.zeros((60, crests.size))
    for seed in range(60):
        rng = np.random.default_rng(seed)
        eta = rng.normal(0.0, 2.0, 300)
        scores, truth = expit(eta), expit(0.8 * eta + 0.5 * np.sin(2.5 * eta))
        gamma = fit_spline(Curve.from_scores(scores, rng.random(300) < truth))
        low, high = gamma.band_from_log_odds(crests)
        at_crests = expit(0.8 * crests + 0.5 * np.sin(2.5 * crests))
        held[seed] = (low <= at_crests) & (at_crests <= high)
    assert held.mean() > 0.9


def test_the_cut_is_where_the_rows_near_by_rule_a_hat_out(rng):
    eta = np.sort(rng.normal(2.0, 2.0, 300))
    hits = rng.random(300) < expit(0.7 * eta)
    gamma = fit_spline(Curve.from_scores(expit(eta), hits))
    line = gamma.log_odds_at(eta.copy())
    factors = 2.0, max(simultaneous_factor(gamma), 2.0)
    for cut, f in zip(gamma.cut, factors, strict=True):
        for k in range(gamma.knots.size):
            ends = naive.hat_limits(gamma.knots, k, eta, hits, line, (f + 1.0) ** 2)
            assert cut[:, k] == pytest.approx(np.minimum(ends, 2 * LIMIT), abs=1e-5)


def test_where_all_outcomes_agree_the_band_is_no_block(rng):
    preds = read(DEMO, part="test")
    curve = Curve.from_predictions(preds, view="top-1")
    gamma = fit_spline(curve)
    low, high = gamma.band_from_log_odds(curve.log_odds)
    assert (high - low > 0.5).sum() <= 20  # of 10,000, and it was 1,760
    assert low[9000] >= 0.985  # 1,001 of 1,001 rows near by are right, and it was 0.0025
    below, above = replace(gamma, cut=None).band_from_log_odds(curve.log_odds)
    assert (low >= below).all()
    assert (high <= above).all()
    assert (low - below)[2000:4000].max() < 0.02  # where outcomes differ, little moves


def test_few_rows_cut_less_than_many_and_weights_count_as_fewer(rng):
    eta = np.sort(rng.normal(3.0, 2.0, 2000))
    hits = rng.random(2000) < expit(eta)
    at = np.array([5.0, 7.0])
    every = fit_spline(Curve.from_scores(expit(eta), hits)).band_from_log_odds(at)[0]
    weights = np.where(np.arange(2000) % 20 == 0, 100.0, 1.0)
    one = Curve.from_scores(expit(eta), hits, sample_weight=weights, weight_kind="sampling")
    assert (fit_spline(one).band_from_log_odds(at)[0] < every - 0.01).all()


def test_beyond_the_ends_the_slope_adds_to_what_was_left(gamma):
    end = np.array([gamma._ends.place[1]])
    left = gamma.band_ends()[1].half(end)
    far = gamma.band_ends()[1].half(end + 3.0)
    added = 3.0 * 2.0 * np.sqrt(gamma._ends.variance[1])
    assert far == pytest.approx(np.hypot(left, added))


def test_methods_without_a_band_say_which_have_one():
    curve = Curve.from_scores([0.1, 0.4, 0.6, 0.9], [0, 1, 0, 1])
    for fit in (fit_platt, fit_isotonic):
        with pytest.raises(DoesNotApply, match=r"has no band: fit the method 'spline', or 'venn"):
            fit(curve).band(0.5)


WAYS = [("spline", "keep"), ("spline", "free"), ("spline", "ranks"), ("venn-abers", "ranks")]


@pytest.mark.parametrize(("method", "way"), WAYS)
def test_the_band_of_vectors_is_that_of_the_most_probable_class(method, way):
    rng = np.random.default_rng(2)
    logits = rng.normal(size=(900, 3)) * 2
    labels = (0.5 * logits + rng.gumbel(size=(900, 3))).argmax(axis=1)
    preds = Predictions(logits, labels, kind="logits")
    fitted = fit_multiclass(preds, method, multiclass=way)
    low, high = fitted.interval(preds)
    top = fitted(preds).max(axis=1)
    assert (low <= top + 1e-12).all()
    assert (top <= high + 1e-12).all()
    assert np.mean(high - low) > 0.01
    with pytest.raises(DoesNotApply, match="only the most probable class has a band"):
        fitted.interval(preds, of=1)


def test_vectors_without_a_band_say_so():
    rng = np.random.default_rng(2)
    preds = Predictions(rng.normal(size=(300, 3)), rng.integers(3, size=300), kind="logits")
    with pytest.raises(DoesNotApply, match="class-1"):
        fit_multiclass(preds, "spline", multiclass="ovr").band_ends()
    with pytest.raises(DoesNotApply, match="'platt' has no band"):
        fit_multiclass(preds, "platt", multiclass="ovr").interval(preds)
    with pytest.raises(DoesNotApply, match="'temperature' has no band"):
        fit_multiclass(preds, "temperature").interval(preds)
    moved = fit_multiclass(preds, "temperature").with_base_rate(
        [0.2, 0.3, 0.5], trained_at=[1 / 3] * 3
    )
    with pytest.raises(DoesNotApply, match="'temperature' has no band"):
        moved.interval(preds)


@pytest.mark.parametrize("shares", [None, [0.6, 0.3, 0.1]])
def test_ovr_has_a_band_for_every_class(shares):
    """Half of it, in log-odds: the root of the sum of squares of what each class moves it by."""
    rng = np.random.default_rng(3)
    logits = rng.normal(size=(400, 3))
    preds = Predictions(logits, (logits + rng.gumbel(size=(400, 3))).argmax(axis=1), kind="logits")
    inner = fit_multiclass(preds, "spline", multiclass="ovr")
    fitted, ratio = inner, np.ones(3)
    if shares is not None:
        fitted, ratio = inner.with_base_rate(shares, trained_at=[1 / 3] * 3), 3 * np.array(shares)
    q = softmax(inner.factor * logits, axis=1)
    middle, low, high = (
        np.stack([gamma(column) for gamma, column in zip(maps, q.T, strict=True)], axis=1) * ratio
        for maps in (inner.maps, *zip(*(gamma.band_ends() for gamma in inner.maps), strict=True))
    )
    for k in range(3):
        found = fitted.interval(preds, of=k)
        for end, own, far in ((0, low, high), (1, high, low)):
            square = 0.0
            for j in range(3):
                one = middle.copy()
                one[:, j] = (own if j == k else far)[:, j]
                share = [x[:, k] / x.sum(axis=1) for x in (one, middle)]
                square = square + (logit(share[0]) - logit(share[1])) ** 2
            expected = logit(share[1]) + (2 * end - 1) * np.sqrt(square)
            np.testing.assert_allclose(logit(found[end]), expected, rtol=1e-6, atol=1e-6)
    top = fitted(preds)
    low, high = fitted.interval(preds)
    assert ((low <= top.max(axis=1)) & (top.max(axis=1) <= high)).all()


def test_two_classes_have_the_band_of_class_1():
    rng = np.random.default_rng(4)
    eta = rng.normal(size=800) * 2
    logits = np.stack([np.zeros(800), eta], axis=1)
    preds = Predictions(logits, rng.random(800) < expit(eta), kind="logits")
    fitted = fit_multiclass(preds, "spline", multiclass="ovr")
    low, high = fitted.interval(preds, of=1)
    band = fitted.maps[0].band_from_log_odds(fitted.factor * eta)
    np.testing.assert_allclose((low, high), band, rtol=1e-9)
    of_0 = fitted.interval(preds, of=0)
    np.testing.assert_allclose(of_0, (1 - high, 1 - low), rtol=1e-9)
    moved = fitted.with_base_rate([0.9, 0.1], trained_at=[0.5, 0.5])
    q = moved(preds)[:, 1]
    low, high = moved.interval(preds, of=1)
    assert ((low < q) & (q < high)).all()
