import pytest
from scipy.stats import chi2, norm

from ogive._numerics.sum_interval import by_rarity, gamma_ends, sum_interval


def test_a_sum_without_noise_still_has_the_noise_of_a_row():
    low, high = sum_interval(100.0, 0.0, 1.0)
    assert 97 < low < 100 < high < 103


@pytest.mark.parametrize("k", [0, 1, 4, 40])
def test_a_count_has_nearly_the_interval_of_jeffreys(k):
    low, high = sum_interval(3.0 * k, 9.0 * k, 3.0)  # k rows of weight 3
    assert low / 3 == pytest.approx(chi2.ppf(0.025, 2 * k + 1) / 2 if k else 0.0)
    assert high / 3 == pytest.approx(
        chi2.ppf(0.975, 2 * k + 1) / 2 if k else chi2.ppf(0.975, 2) / 2
    )


def test_many_have_the_normal_one():
    half = norm.ppf(0.975) * 500.0
    assert gamma_ends(1e6, 500.0**2) == pytest.approx((1e6 - half, 1e6 + half), rel=1e-6)
    assert gamma_ends(2.0, 0.0) == (2.0, 2.0)


def test_the_interval_is_that_of_the_rarer_outcome():
    assert by_rarity(0.0, 10.0, (1.0, 2.0), (4.0, 7.0)) == (1.0, 2.0)
    assert by_rarity(1.0, 10.0, (1.0, 2.0), (4.0, 7.0)) == (3.0, 6.0)
    assert by_rarity(0.25, 10.0, (1.0, 2.0), (4.0, 7.0)) == (1.5, 3.0)
