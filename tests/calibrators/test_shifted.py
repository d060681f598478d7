"""Calibrators at another base rate."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ogive import (
    Curve,
    Predictions,
    expected_performance,
    fit_isotonic,
    fit_multiclass,
    fit_platt,
    fit_spline,
    load,
    save,
)
from ogive.calibrators.shifted import ShiftedMap, shifted
from ogive.errors import DoesNotApply, InvalidInput
from tests import naive

RATE = st.floats(0.001, 0.999)
SCORES = np.array([0.0, 1e-9, 0.02, 0.3, 0.5, 0.77, 1 - 1e-9, 1.0])


@pytest.fixture(scope="module")
def curve():
    rng = np.random.default_rng(0)
    scores = rng.random(800)
    return Curve.from_scores(scores, rng.random(800) < scores**2)


@pytest.fixture(scope="module")
def preds():
    rng = np.random.default_rng(1)
    logits = rng.normal(size=(300, 3)) * 2
    return Predictions(logits, (logits + rng.gumbel(size=(300, 3))).argmax(axis=1), kind="logits")


@given(new=RATE, old=RATE)
def test_it_is_bayes_rule(curve, new, old):
    gamma = fit_platt(curve)
    moved = gamma.with_base_rate(new, trained_at=old)
    for q, found in zip(gamma(SCORES), moved(SCORES), strict=True):
        assert found == pytest.approx(
            naive.at_base_rates([1 - q, q], [1 - old, old], [1 - new, new])[1]
        )
    assert (moved.trained_at, moved.base_rate) == pytest.approx((old, new))


@given(new=st.lists(RATE, min_size=3, max_size=3), old=st.lists(RATE, min_size=3, max_size=3))
def test_vectors_follow_bayes_rule(preds, new, old):
    new, old = np.array(new) / sum(new), np.array(old) / sum(old)
    gamma = fit_multiclass(preds.take(slice(0, 60)), "temperature")
    found = gamma.with_base_rate(new, trained_at=old)(preds)
    for q, row in zip(gamma(preds)[:20], found[:20], strict=True):
        assert row == pytest.approx(naive.at_base_rates(q, old, new))


@pytest.mark.parametrize("fit", [fit_spline, fit_isotonic])
def test_a_shift_keeps_order_ends_and_the_way_in(curve, fit):
    gamma, moved = fit(curve), fit(curve).with_base_rate(0.003, trained_at=0.4)
    grid = np.linspace(0.01, 0.99, 99)
    rising = np.diff(gamma(grid)) > 0
    assert (np.diff(moved(grid))[rising] > 0).all()
    assert moved.from_log_odds(np.log(grid / (1 - grid))) == pytest.approx(moved(grid), rel=1e-9)
    assert (moved(grid) <= gamma(grid)).all()


def test_back_again_and_in_steps(curve):
    gamma = fit_spline(curve)
    once = gamma.with_base_rate(0.01, trained_at=0.4)
    twice = gamma.with_base_rate(0.2, trained_at=0.4).with_base_rate(0.01)
    assert twice(SCORES) == pytest.approx(once(SCORES), rel=1e-12)
    assert twice.inner == gamma
    assert twice.trained_at == pytest.approx(0.4)
    back = once.with_base_rate(0.4)
    assert back(SCORES) == pytest.approx(gamma(SCORES), rel=1e-9)


def test_kept_negatives_are_a_shift_by_their_logarithm(curve):
    gamma = fit_platt(curve)
    moved = gamma.with_base_rate(kept_negatives=0.01, trained_at=0.5)
    assert moved.log_odds == pytest.approx(np.log(0.01))
    assert moved.base_rate == pytest.approx(0.01 / 1.01)
    alone = gamma.with_base_rate(kept_negatives=0.01)
    assert alone.base_rate is None
    assert alone(SCORES) == pytest.approx(moved(SCORES))


def test_the_band_moves_with_the_map(curve):
    gamma = fit_spline(curve)
    moved = gamma.with_base_rate(0.01, trained_at=0.4)
    low, high = moved.band(SCORES[1:-1])
    assert (low <= moved(SCORES[1:-1])).all()
    assert (high >= moved(SCORES[1:-1])).all()
    before = float(gamma.band(0.3)[0])
    assert moved.band([0.3])[0][0] == pytest.approx(
        naive.at_base_rates([1 - before, before], [0.6, 0.4], [0.99, 0.01])[1]
    )
    with pytest.raises(DoesNotApply, match="'platt' has no band"):
        fit_platt(curve).with_base_rate(0.1, trained_at=0.5).band(0.5)


def test_the_summary_and_the_file_say_what_was_done(curve, tmp_path):
    moved = fit_spline(curve).with_base_rate(0.003, trained_at=0.5, date="2026-11-17")
    text = repr(moved.summary())
    assert "from a base rate of 50 % to 0.3 % (known, 2026-11-17)" in text
    assert "Before the shift: spline of 'score'" in text
    assert moved.summary().to_dict()["base_rate"] == 0.003
    save(moved, tmp_path / "cal.json")
    again = load(tmp_path / "cal.json")
    assert isinstance(again, ShiftedMap)
    assert again == moved
    assert (again.how, again.date) == ("known", "2026-11-17")


@pytest.mark.parametrize(
    ("rates", "words"),
    [
        ({"base_rate": 0, "trained_at": 0.5}, "`base_rate` must be above 0 and below 1, not 0"),
        ({"base_rate": 1, "trained_at": 0.5}, "`base_rate` must be above 0"),
        ({"base_rate": float("nan"), "trained_at": 0.5}, "base_rate"),
        ({"base_rate": 0.1, "trained_at": 1.5}, "`trained_at` must be above 0 and below 1"),
        ({"base_rate": 0.1}, "`trained_at` is not known"),
        ({}, "give `base_rate`"),
        ({"base_rate": 0.1, "kept_negatives": 0.1}, "not both"),
        ({"kept_negatives": 0}, "`kept_negatives` must be above 0"),
        ({"base_rate": [0.1, 0.2, 0.7], "trained_at": 0.5}, "3 shares"),
        ({"base_rate": 1e-9, "trained_at": 0.5}, "multiplies odds by up to 1e9 "),
        ({"base_rate": 1e-320, "trained_at": 0.5}, r"not 9.99989e-321: the least is 1e-15"),
        ({"base_rate": 1e-15, "trained_at": 0.5}, "multiplies odds by up to 1e15 "),
    ],
)
def test_rates_that_cannot_be(curve, rates, words):
    with pytest.raises(InvalidInput, match=words):
        fit_platt(curve).with_base_rate(**rates)


def test_an_accuracy_is_no_base_rate(preds):
    gamma = fit_platt(Curve.from_predictions(preds, "top-1"))
    with pytest.raises(DoesNotApply, match="not a base rate"):
        gamma.with_base_rate(0.1, trained_at=0.5)


@pytest.mark.parametrize("way", ["keep", "free"])
def test_the_band_of_vectors_moves_with_the_most_probable_class(way, rng):
    logits = rng.normal(size=(900, 3)) * 2
    labels = (0.6 * logits + rng.gumbel(size=logits.shape)).argmax(axis=1)
    preds, rates = Predictions(logits, labels, kind="logits"), ([1 / 3] * 3, [0.7, 0.2, 0.1])
    gamma = fit_multiclass(preds, multiclass=way)
    moved = gamma.with_base_rate(rates[1], trained_at=rates[0])
    low, high = moved.interval(preds)
    q = moved(preds).max(axis=1)
    assert ((low <= q) & (q <= high) & (low < high)).all()
    every = [one(preds) for one in (gamma, *gamma.band_ends())]
    for row, of in enumerate(moved(preds).argmax(axis=1)):
        found = [naive.at_base_rates(p[row], *rates)[of] for p in every]
        assert [min(found), max(found)] == pytest.approx([low[row], high[row]], abs=1e-12)


def test_how_large_a_shift_and_how_rough_a_sum_may_be(curve):
    gamma, odds = fit_platt(curve), 9e6
    rate = 0.5 / (0.5 + 0.5 * odds)
    assert gamma.with_base_rate(rate, trained_at=0.5).odds == pytest.approx(1 / odds)
    with pytest.raises(InvalidInput, match="at most 1e7 is exact"):
        gamma.with_base_rate(rate / 1.3, trained_at=0.5)
    assert gamma.with_base_rate([0.7, 0.3000005], trained_at=0.5).base_rate == pytest.approx(
        0.3, abs=1e-6
    )
    with pytest.raises(InvalidInput, match=r"must sum to 1 over the classes, not to 1\.00001"):
        gamma.with_base_rate([0.7, 0.30001], trained_at=0.5)


def log_odds(q):
    return np.log(q) - np.log1p(-q)


def test_an_estimated_rate_widens_the_band_by_its_own_interval(curve, tmp_path):
    gamma = fit_spline(curve)
    known = gamma.with_base_rate(0.1, trained_at=0.3)
    moved = shifted(gamma, 0.1, trained_at=0.3, how="estimated", log_odds_variance=0.04)
    save(moved, tmp_path / "moved.json")
    assert load(tmp_path / "moved.json") == moved
    places = np.linspace(0.1, 0.9, 9)
    for simultaneous in (False, True):
        narrow, wide = (one.band(places, simultaneous=simultaneous) for one in (known, moved))
        for side in (0, 1):
            more = (2 * side - 1) * (log_odds(wide[side]) - log_odds(narrow[side]))
            assert more == pytest.approx(np.full(9, 1.96 * 0.2), abs=1e-4)
    assert moved(places) == pytest.approx(known(places))


def test_the_error_of_an_estimated_rate_stays_until_a_rate_is_known(curve):
    gamma = fit_spline(curve)
    moved = shifted(gamma, 0.1, trained_at=0.3, how="estimated", log_odds_variance=0.04)
    for further in (
        moved.with_base_rate(kept_negatives=0.5),
        moved.with_base_rate(0.2, trained_at=0.15),
    ):
        assert (further.how, further.deviation) == ("estimated", 0.2)
    again = moved.with_base_rate(0.2)
    assert (again.how, again.deviation) == ("known", 0.0)


def test_no_band_where_the_error_of_an_estimated_rate_is_not_known(curve, preds, tmp_path):
    old = shifted(fit_spline(curve), 0.1, trained_at=0.3, how="estimated")
    save(old, tmp_path / "old.json")  # as version 0.1 wrote it
    with pytest.raises(DoesNotApply, match="Estimate it again"):
        load(tmp_path / "old.json").band(0.5)
    found = expected_performance([0.2, 0.9] * 50, calibrator=old)
    assert np.isnan(found.accuracy.low)
    assert "Estimate it again" in found.no_intervals
    shares = fit_multiclass(preds, "spline", multiclass="free")
    whole = shifted(shares, [0.2, 0.3, 0.5], trained_at=[0.4, 0.3, 0.3], how="estimated")
    with pytest.raises(DoesNotApply, match="Count the shares"):
        whole.interval(preds)
