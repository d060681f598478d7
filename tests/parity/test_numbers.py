"""Intercept and slope of a published example, whose rows R's generator draws.

The vignette "external validation" of the R package pmcalibration sets the seed 2345, draws two
normal predictors and an outcome for 1,000 rows, and prints what `logistic_cal` finds.
"""

import numpy as np
import pytest
from scipy.special import expit, ndtri

from ogive import calibration_intercept, calibration_slope, oe_ratio, spline_errors

_RESOLUTION = 2.0**27  # of R's normal numbers by inversion, from two uniform ones


def uniforms_of_r(seed):
    """R's default generator: the Mersenne Twister, its state filled by a linear generator."""
    words = []
    for _ in range(50 + 625):
        seed = (69069 * seed + 1) % 2**32
        words.append(seed)
    twister = np.random.MT19937()
    state = {"key": np.array(words[51:], dtype=np.uint32), "pos": 624}
    twister.state = {"bit_generator": "MT19937", "state": state}
    while True:
        yield float(twister.random_raw()) / 2**32


def normals_of_r(uniforms, n):
    """Normal numbers by inversion."""
    pairs = [(next(uniforms), next(uniforms)) for _ in range(n)]
    return ndtri([(int(_RESOLUTION * a) + b) / _RESOLUTION for a, b in pairs])


@pytest.fixture(scope="module")
def example():
    uniforms = uniforms_of_r(2345)
    x1, x2 = normals_of_r(uniforms, 1000), normals_of_r(uniforms, 1000)
    p = expit(-3 + x1 + x2 + 0.3 * x1 * x2)
    u = np.array([next(uniforms) for _ in range(1000)])
    return x1, x2, expit(-3 + x1 + x2), np.where(p <= 0.5, u >= 1 - p, u < p)


def test_the_rows_are_those_of_the_example(example):
    x1, x2, _, y = example
    assert x1[:3] == pytest.approx([-1.19142464, 0.54930055, -0.06240514], abs=1e-8)
    assert x2[:3] == pytest.approx([-0.9245914, -1.0019698, 1.5438665], abs=1e-7)
    assert not y[:6].any()


def test_intercept_and_slope_are_the_published_ones(example):
    *_, scores, outcomes = example
    intercept, slope = calibration_intercept(scores, outcomes), calibration_slope(scores, outcomes)
    assert round(intercept.value, 3) == -0.044
    assert round(slope.value, 3) == 1.336
    # Published: profile intervals that take the model to be the truth; ours are by residuals.
    assert intercept[1:] == pytest.approx((-0.29, 0.19), abs=0.02)
    assert slope[1:] == pytest.approx((1.10, 1.60), abs=0.025)


def test_the_mean_distance_agrees_with_the_published_one_within_the_intervals(example):
    *_, scores, outcomes = example
    ici = spline_errors(scores, outcomes).ici
    assert ici.low <= 0.020 <= ici.high  # published: 0.020 (0.009 to 0.031), by another smoother
    assert 0.009 <= ici.value <= 0.031
    assert oe_ratio(scores, outcomes).value == pytest.approx(outcomes.sum() / scores.sum())
