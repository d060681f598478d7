import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ogive import Curve
from ogive.calibrators.histogram import fit_histogram
from ogive.errors import InvalidInput, UnknownName
from tests import naive, strategies


@given(strategies.scored(min_size=2), st.sampled_from([1, 2, 3, 10, 15]))
def test_equal_width_is_the_share_in_the_bin(data, bins):
    scores, hits = data
    if hits.all() or not hits.any():
        return
    gamma = fit_histogram(Curve.from_scores(scores, hits), bins=bins, spacing="width")
    s = np.asarray(scores, dtype=float)
    for at in (*s[:5].tolist(), 0.0, 0.3, 0.7, 0.9, 1.0):
        expected = naive.width_histogram(s, hits, bins, at)
        assert gamma(at) == pytest.approx(expected, abs=1e-12)


def test_equal_mass_holds_equal_numbers(rng):
    scores = rng.random(1500) ** 4
    hits = rng.random(1500) < 0.5
    gamma = fit_histogram(Curve.from_scores(scores, hits), bins=15)
    order = np.argsort(scores)
    expected = hits[order].reshape(15, 100).mean(axis=1)
    np.testing.assert_allclose(gamma(scores[order]), np.repeat(expected, 100))


def test_ties_are_never_split(rng):
    scores = np.repeat([0.1, 0.5, 0.6, 1.0], [10, 500, 20, 300])
    hits = rng.random(830) < 0.5
    gamma = fit_histogram(Curve.from_scores(scores, hits), bins=10)
    for s in (0.5, 1.0):
        assert gamma(s) == pytest.approx(hits[scores == s].mean())


@pytest.mark.parametrize("bins", [1, 2, 10, 15])
def test_the_map_of_1_minus_score_is_the_mirror_image(bins, rng):
    # Of 25 rows, the middle of the 3rd is on the boundary of the first two of 10 bins, and so on.
    scores = (1 + np.sort(rng.choice(62, 25, replace=False))) / 64 + 1 / 128
    hits = rng.random(25) < scores
    gamma = fit_histogram(Curve.from_scores(scores, hits), bins=bins)
    mirror = fit_histogram(Curve.from_scores(1 - scores, ~hits), bins=bins)
    np.testing.assert_allclose(mirror(1 - scores), 1 - gamma(scores), atol=1e-12)


def test_an_empty_bin_keeps_its_middle():
    gamma = fit_histogram(Curve.from_scores([0.1, 0.9], [0, 1]), bins=4, spacing="width")
    np.testing.assert_allclose(gamma([0.1, 0.4, 0.5, 0.6, 0.9]), [0, 0.375, 0.375, 0.625, 1])


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        (dict(bins=0), InvalidInput, "whole number >= 1, not 0"),
        (dict(bins=2.5), InvalidInput, "whole number >= 1"),
        (dict(bins=True), InvalidInput, "whole number >= 1"),
        (dict(spacing="masses"), UnknownName, "Did you mean 'mass'"),
    ],
)
def test_wrong_options_are_refused(options, error, message):
    with pytest.raises(error, match=message):
        fit_histogram(Curve.from_scores([0.1, 0.9], [0, 1]), **options)
