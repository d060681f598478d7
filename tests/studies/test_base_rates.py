import numpy as np
import pytest

from ogive.errors import InvalidInput
from ogive.studies.base_rate import CalibrationScores, calibration_scores, estimate_base_rate
from ogive.studies.base_rates import estimate_base_rates
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
    assert (found.low, found.high, found.misfit_pvalue) == (None, None, None)


def test_weights_are_repetitions(rng):
    q, _ = drawn(rng, 200)
    w = rng.integers(1, 4, 200)
    a = estimate_base_rates(q, w.astype(float), np.full(3, 1 / 3))
    b = estimate_base_rates(np.repeat(q, w, axis=0), np.ones(w.sum()), np.full(3, 1 / 3))
    np.testing.assert_allclose(a.base_rate, b.base_rate, atol=1e-9)


def test_two_classes_agree_with_the_binary_estimate(rng):
    q, _ = drawn(rng, 400, K=2)
    both = estimate_base_rates(q, np.ones(400), np.array([0.6, 0.4]))
    one = estimate_base_rate(q[:, 1], np.ones(400), 0.4)
    assert both.base_rate[1] == pytest.approx(one.base_rate, abs=1e-8)


def test_no_rows():
    with pytest.raises(InvalidInput, match="no rows"):
        estimate_base_rates(np.zeros((0, 3)), np.zeros(0), np.full(3, 1 / 3))


def test_a_calibrator_that_is_not_right_on_its_own_rows_is_a_misfit(rng):
    """New rows as the old ones: bins fit, but scores that are too extreme say another rate."""
    q, y = drawn(rng, 8000, 2)
    wrong = q**3 * np.linspace(1.0, 6.0, 2)
    wrong /= wrong.sum(axis=1, keepdims=True)
    pvalues = []
    for p in (q, wrong):
        old, new, count = p[:4000], p[4000:], np.ones(4000)
        known = calibration_scores(old[:, 1], count, y[:4000].astype(float))
        known = CalibrationScores(**{k: np.array(v) for k, v in known.items()})
        pvalues.append(estimate_base_rate(new[:, 1], count, y[:4000].mean(), known).misfit_pvalue)
    assert pvalues[0] > 0.01
    assert pvalues[1] < 1e-6
