import numpy as np
import pytest
from hypothesis import given, settings

from ogive import Curve, kde_ece, smooth_ece
from ogive.metrics.kde import kde_error, l1_gap
from ogive.metrics.onepass import read
from ogive.metrics.smooth import ResidualReader
from tests import naive, strategies


@settings(max_examples=30)
@given(strategies.scored(max_size=30, weights=True))
def test_kde_ece_equals_its_definition(data):
    scores, hits, w = data
    s = scores.astype(float)
    for weights in (None, w):
        curve = Curve.from_scores(scores, hits, sample_weight=weights)
        expected = naive.kde_ece(s, hits, weights)
        if expected is None:
            expected = naive.l1_gap(s, hits, weights)
        assert kde_ece(curve) == pytest.approx(expected, abs=1e-12)


def test_without_spread_kde_ece_is_the_l1_gap_and_says_so():
    for scores, hits in (([0.7, 0.7, 0.2], [1, 1, 0]), ([0.3, 0.6], [0, 0]), ([1.0], [1])):
        result = kde_error(Curve.from_scores(scores, hits))
        assert result.method == "groups"
        assert result.value == pytest.approx(naive.l1_gap(np.array(scores), hits), abs=1e-15)
    assert kde_error(Curve.from_scores([0.2, 0.7, 0.8], [1, 0, 1])).method == "kernel"


def test_a_kernel_that_no_grid_point_may_see_is_the_l1_gap():
    step = 2.2 / (2**14 - 1)
    for reach, method in ((0.99, "groups"), (1.01, "kernel")):
        apart = 2 * reach * step / 3 * 6**0.2  # two hits: the deviation is half their distance
        curve = Curve.from_scores([0.5, 0.5 + apart, 0.2], [1, 1, 0])
        assert kde_error(curve).method == method
    assert kde_error(curve).bandwidth == pytest.approx(1.01 * step / 3)


@settings(max_examples=30)
@given(strategies.scored(max_size=20, weights=True))
def test_smooth_ece_is_the_width_that_equals_its_error(data):
    scores, hits, w = data
    # On the points the kernel is taken at, sharing residuals between neighbours is exact.
    s = np.round(scores.astype(float) * 2**13) / 2**13
    for weights in (None, w):
        value = smooth_ece(Curve.from_scores(s, hits, sample_weight=weights))
        if value > 2e-3:  # wider than a few points
            assert naive.smooth_error(s, hits, value, weights) == pytest.approx(value, abs=1e-12)


def test_between_the_points_it_is_the_integral_nearly(rng):
    scores = rng.random(400)
    hits = rng.random(400) < scores**2
    value = smooth_ece(Curve.from_scores(scores, hits))
    assert naive.smooth_error(scores, hits, value) == pytest.approx(value, abs=1e-6)


@given(strategies.scored())
def test_smoothing_never_adds(data):
    scores, hits = data
    reader = ResidualReader(256)
    read(Curve.from_scores(scores, hits), reader)
    errors = [reader.smoother().error(sigma) for sigma in (0.02, 0.05, 0.2, 1.0)]
    assert (np.diff(errors) < 1e-12).all()
    assert (
        0.0
        <= smooth_ece(Curve.from_scores(scores, hits))
        <= l1_gap(Curve.from_scores(scores, hits)) + 1e-9
    )


@given(strategies.scored(weights=True))
def test_weight_two_is_the_row_twice(data):
    scores, hits, w = data
    weighted = Curve.from_scores(scores, hits, sample_weight=w)
    repeated = Curve.from_scores(np.repeat(scores, w), np.repeat(hits, w))
    assert smooth_ece(weighted) == pytest.approx(smooth_ece(repeated), abs=1e-12)
    assert kde_ece(weighted) == pytest.approx(kde_ece(repeated), abs=1e-12)


def test_all_right_is_zero():
    assert smooth_ece(Curve.from_scores([1.0, 0.0], [1, 0])) == 0.0


def test_a_known_answer():
    # One score with a residual r: spread by any kernel its integral is |r|.
    curve = Curve.from_scores([0.4] * 10, [1] * 7 + [0] * 3)
    assert smooth_ece(curve) == pytest.approx(0.3, abs=1e-9)


def test_many_rows_are_joined_in_cells_without_moving_kde_ece(rng, monkeypatch):
    scores = np.concatenate([rng.random(3000) ** 0.2, rng.integers(0, 11, 500) / 10])
    hits = rng.random(3500) < scores**2
    for weights in (None, rng.integers(1, 4, 3500)):
        curve = Curve.from_scores(scores, hits, sample_weight=weights)
        exact = kde_error(curve)
        monkeypatch.setattr("ogive.metrics.kde._MIN_ROWS_FOR_CELLS", 100)
        joined = kde_error(curve)
        monkeypatch.undo()
        assert 0 < abs(joined.value - exact.value) < 1e-6
        assert joined.bandwidth == pytest.approx(exact.bandwidth, rel=1e-6)


@pytest.mark.parametrize("score", [1.34e-7, 6e-6, 1.0 - 4e-8])
def test_an_error_narrower_than_the_points_is_the_residual_itself(score):
    outcome = score > 0.5
    curve = Curve.from_scores([score], [outcome])
    assert smooth_ece(curve) == pytest.approx(abs(outcome - score), rel=5e-3)
