"""The base rate of scores without outcomes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ogive.errors import InvalidInput
from ogive.studies.base_rate import (
    Bins,
    CalibrationScores,
    Mixture,
    _joined_bins,
    calibration_scores,
    estimate_base_rate,
)
from tests import naive


@given(st.lists(st.floats(0.02, 0.98), min_size=5, max_size=30), st.floats(0.2, 0.8))
def test_the_estimate_is_where_em_ends(q, trained_at):
    q = np.array([*q, 0.02, 0.98])
    found = estimate_base_rate(q, np.ones(q.size), trained_at)
    assert found.base_rate == pytest.approx(naive.em_base_rate(q, trained_at, 3000), abs=2e-3)
    assert found.low <= found.base_rate <= found.high


def test_counts_are_repeated_rows(rng):
    q, count = rng.random(30), rng.integers(1, 5, 30)
    whole = estimate_base_rate(np.repeat(q, count), np.ones(count.sum()), 0.4)
    assert estimate_base_rate(q, count.astype(float), 0.4).low == pytest.approx(whole.low, rel=1e-6)


def known_of(q, y):
    found = calibration_scores(q, np.ones(q.size), y.astype(float))
    return CalibrationScores(**{name: np.array(x) for name, x in found.items()})


def test_bins_hold_all_rows_of_both_classes(rng):
    q = rng.beta(0.3, 3, 3000)
    y = rng.random(3000) < q
    known = known_of(q, y)
    assert known.class_1.sum() == y.sum()
    assert known.class_0.sum() == (~y).sum()
    assert known.variance.sum() == pytest.approx((q * (1 - q)).sum())
    assert known.class_1.size == 20
    shares = (known.class_1 / y.sum() + known.class_0 / (~y).sum()) / 2
    np.testing.assert_allclose(shares, 1 / known.class_1.size, atol=0.02)  # a row is 0.01 or less
    assert calibration_scores(q, np.ones(3000), np.zeros(3000)) is None


def test_equal_scores_make_one_bin():
    known = known_of(np.full(40, 0.25), np.arange(40) < 10)
    assert known.edges.size == 0
    assert estimate_base_rate(np.full(9, 0.25), np.ones(9), 0.25, known).misfit_pvalue is None


def test_the_calibrator_widens_the_interval(rng):
    q = rng.beta(0.5, 0.5, 1000)
    y = rng.random(1000) < q
    known, new = known_of(q, y), np.concatenate([q[y][:40], q[~y]])
    alone, both = (estimate_base_rate(new, np.ones(new.size), 0.5, x) for x in (None, known))
    assert both.low < alone.low < alone.high < both.high
    assert both.base_rate == alone.base_rate


def test_no_rows():
    with pytest.raises(InvalidInput, match="no rows"):
        estimate_base_rate(np.zeros(0), np.zeros(0), 0.5)


def test_the_uncertainty_of_the_calibrator_is_less_what_its_base_rate_tells(rng):
    """At the rate of the fit D is 1, so that each row's slope is a c; two bins of 500 old rows."""
    q, of_row = rng.random(300), rng.integers(0, 2, 300)
    rate, w = 0.3, np.array([60.0, 90.0])
    new = Mixture(q / rate, (1 - q) / (1 - rate), np.ones(300), rate, Bins(of_row, w, 1000.0))
    slope = q * (1 - q) / (rate * (1 - rate))
    H = np.array([slope[of_row == j].sum() for j in (0, 1)])
    expected = (H**2 / w).sum() - H.sum() ** 2 / (1000 * rate * (1 - rate))
    assert expected > 0
    found = new._of_calibrator(new._mixture(rate), np.ones(300))
    assert found == pytest.approx(expected)


def test_small_bins_are_joined():
    new, zeros, ones = np.array([40.0, 1, 1, 1, 1, 1, 40]), np.full(7, 30.0), np.full(7, 1.0)
    table = _joined_bins(new, np.where(new > 1, 30.0, 1.0), ones)
    assert table.sum(axis=1).tolist() == [85.0, 65.0, 7.0]
    assert (table[1:].sum(axis=0) >= 5).all()
    assert table.shape == (3, 3)
    assert _joined_bins(40 * ones, zeros, ones).shape == (3, 7)


def test_scores_that_do_not_tell_the_classes_apart_are_no_misfit():
    rejected = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        q = np.clip(rng.normal(0.5, 0.01, 600), 0.01, 0.99)
        known = known_of(q[:300], rng.random(300) < 0.5)
        found = estimate_base_rate(q[300:], np.ones(300), 0.5, known)
        rejected += found.misfit_pvalue < 0.01
    assert rejected <= 2
