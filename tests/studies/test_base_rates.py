import numpy as np
import pytest

from ogive.errors import InvalidInput
from ogive.studies.base_rate import CalibrationScores, calibration_scores, estimate_base_rate
from ogive.studies.base_rates import ClassScores, class_scores, estimate_base_rates
from tests import naive


def drawn(rng, n, K=3):
    q = rng.dirichlet(np.full(K, 0.7), n)
    return q, (q.cumsum(axis=1) < rng.random((n, 1))).sum(axis=1)


def test_it_is_where_em_ends(rng):
    q, y = drawn(rng, 800)
    new = np.concatenate([q[y == 0][:50], q[y == 1][:150], q[y == 2][:100]])
    found = estimate_base_rates(new, np.ones(300), np.array([0.2, 0.3, 0.5]))
    expected = naive.base_rates_by_em(new, [0.2, 0.3, 0.5])
    np.testing.assert_allclose(found.base_rate, expected, atol=1e-6)
    assert (np.array(found.low) < found.base_rate).all()
    assert (np.array(found.high) > found.base_rate).all()
    assert found.misfit_pvalue is None


def test_weights_are_repetitions(rng):
    q, _ = drawn(rng, 200)
    w = rng.integers(1, 4, 200)
    a = estimate_base_rates(q, w.astype(float), np.full(3, 1 / 3))
    b = estimate_base_rates(np.repeat(q, w, axis=0), np.ones(w.sum()), np.full(3, 1 / 3))
    np.testing.assert_allclose(a.base_rate, b.base_rate, atol=1e-9)
    np.testing.assert_allclose(a.high, b.high, atol=1e-7)


def test_two_classes_agree_with_the_binary_estimate(rng):
    q, _ = drawn(rng, 400, K=2)
    both = estimate_base_rates(q, np.ones(400), np.array([0.6, 0.4]))
    one = estimate_base_rate(q[:, 1], np.ones(400), 0.4)
    assert both.base_rate[1] == pytest.approx(one.base_rate, abs=1e-8)
    assert both.low[1] == pytest.approx(one.low, abs=1e-6)
    assert both.high[1] == pytest.approx(one.high, abs=1e-6)


def test_bins_hold_every_row(rng):
    q, y = drawn(rng, 500)
    binned = class_scores(q, y, np.ones(500))
    assert np.sum(binned["rows"]) == 500
    np.testing.assert_allclose(np.sum(binned["variance"], axis=1), (q * (1 - q)).sum(axis=0))
    assert class_scores(q, np.minimum(y, 1), np.ones(500)) is None  # a class without rows


def test_no_rows():
    with pytest.raises(InvalidInput, match="no rows"):
        estimate_base_rates(np.zeros((0, 3)), np.zeros(0), np.full(3, 1 / 3))


@pytest.mark.parametrize("K", [2, 3])
def test_a_calibrator_that_is_not_right_on_its_own_rows_is_a_misfit(rng, K):
    """New rows as the old ones: bins fit, but vectors that are too extreme say other shares."""
    q, y = drawn(rng, 8000, K)
    wrong = q**3 * np.linspace(1.0, 6.0, K)
    wrong /= wrong.sum(axis=1, keepdims=True)
    pvalues = []
    for p in (q, wrong):
        old, new, count = p[:4000], p[4000:], np.ones(4000)
        shares = np.bincount(y[:4000]) / 4000
        if K == 2:
            known = calibration_scores(old[:, 1], count, y[:4000].astype(float))
            known = CalibrationScores(**{k: np.array(v) for k, v in known.items()})
            found = estimate_base_rate(new[:, 1], count, shares[1], known)
        else:
            known = class_scores(old, y[:4000], count)
            known = ClassScores(**{k: np.array(v) for k, v in known.items()})
            found = estimate_base_rates(new, count, shares, known)
        pvalues.append(found.misfit_pvalue)
    assert pvalues[0] > 0.01
    assert pvalues[1] < 1e-6


def test_the_interval_of_many_rows_is_that_of_the_information(rng):
    """The shares of all classes are unknown, and the last two are hard to tell apart."""
    one, two = rng.beta(0.5, 0.5, 40_000), rng.beta(5.0, 5.0, 40_000)
    q = np.stack([one, (1 - one) * two, (1 - one) * (1 - two)], axis=1)
    start = np.array([0.5, 0.25, 0.25])
    found = estimate_base_rates(q, np.ones(40_000), start)
    a, rates = q / start, np.array(found.base_rate)
    r = (a[:, 1:] - a[:, :1]) / (a @ rates)[:, None]  # the last two; the first is what is left
    covariance = np.linalg.inv(r.T @ r)
    half = 1.96 * np.sqrt(np.append(covariance.sum(), covariance.diagonal()))
    np.testing.assert_allclose((np.array(found.high) - found.low) / 2, half, rtol=0.03)


@pytest.mark.parametrize("K", [30, 31])
def test_bins_are_four_ranges_of_each_most_probable_class_of_at_most_30(K):
    q = np.random.default_rng(0).dirichlet(np.ones(K), 40 * K)
    found = class_scores(q, np.arange(40 * K) % K, np.ones(40 * K))
    assert found is None if K > 30 else np.shape(found["rows"]) == (K, 4 * K)
