import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ogive import Curve, Predictions, ece, mce
from ogive.errors import InvalidInput, InvalidType, UnknownName
from ogive.metrics.binned import bin_rows, debiased_ece2, equal_mass, equal_width
from tests import naive, strategies

SOME_BINS = st.sampled_from([1, 2, 5, 15, 25])


@given(strategies.scored(weights=True), SOME_BINS)
def test_equal_width_equals_its_definition(data, bins):
    scores, hits, w = data
    s = scores.astype(float)
    edges = equal_width(bins)
    for weights in (None, w):
        curve = Curve.from_scores(scores, hits, sample_weight=weights)
        for norm in ("l1", "l2", "max"):
            expected = naive.ece(s, hits, edges, weights, norm)
            assert ece(curve, bins, norm=norm) == pytest.approx(expected, abs=1e-12)
        assert mce(curve, bins) == ece(curve, bins, norm="max")


@given(strategies.scored(), SOME_BINS)
def test_equal_mass_equals_its_definition(data, bins):
    scores, hits = data
    s = scores.astype(float)
    curve = Curve.from_scores(scores, hits)
    edges = naive.equal_mass_edges(s.tolist(), bins)
    assert equal_mass(curve, bins).tolist() == edges
    expected = naive.ece(s, hits, edges)
    assert ece(curve, bins, spacing="mass") == pytest.approx(expected, abs=1e-12)
    expected = naive.debiased_ece2(s, hits, edges)
    assert debiased_ece2(curve, bins) ** 2 == pytest.approx(expected**2, abs=1e-12)


@given(strategies.scored(weights=True), SOME_BINS, st.sampled_from(["width", "mass"]))
def test_weight_two_is_the_row_twice(data, bins, spacing):
    scores, hits, w = data
    weighted = Curve.from_scores(scores, hits, sample_weight=w)
    repeated = Curve.from_scores(np.repeat(scores, w), np.repeat(hits, w))
    for measure in (ece, mce, debiased_ece2):
        a, b = (measure(curve, bins, spacing=spacing) for curve in (weighted, repeated))
        assert a**2 == pytest.approx(b**2, abs=1e-12)


def test_zero_and_one_are_in_the_first_and_last_bin():
    curve = Curve.from_scores([0.0, 1.0], [1, 0])
    assert bin_rows(curve, 10).count.tolist() == [1.0, 0, 0, 0, 0, 0, 0, 0, 0, 1.0]
    assert ece(curve) == 1.0


def test_a_score_on_an_edge_is_in_the_bin_to_its_left():
    curve = Curve.from_scores([0.25, 0.5, 0.75], [1, 1, 1])
    assert bin_rows(curve, 4).count.tolist() == [1.0, 1.0, 1.0, 0.0]


def test_edges_can_be_stated():
    curve = Curve.from_scores([0.1, 0.95, 0.96], [0, 1, 0])
    bins = bin_rows(curve, [0.0, 0.9, 1.0])
    assert bins.count.tolist() == [1.0, 2.0]
    assert bins.hits.tolist() == [0.0, 1.0]
    assert bins.score == pytest.approx([0.1, 1.91])


def test_debiasing_takes_away_the_noise_of_a_calibrated_sample(rng):
    scores = rng.random((200, 500))
    hits = rng.random((200, 500)) < scores
    curves = [Curve.from_scores(*rows) for rows in zip(scores, hits, strict=True)]
    plain = np.mean([ece(c, spacing="mass", norm="l2") for c in curves])
    assert np.mean([debiased_ece2(c) for c in curves]) < 0.5 * plain


@pytest.mark.parametrize(
    "edges", [[0.0, 0.5], [0.1, 1.0], [0.0, 0.5, 0.5, 1.0], [0.0], [0.0, 0.7, 0.3, 1]]
)
def test_bad_edges_are_refused(edges):
    with pytest.raises(InvalidInput, match="must rise strictly from 0 to 1"):
        ece(Curve.from_scores([0.5], [1]), edges)


@pytest.mark.parametrize("bins", [0, -3, 2.5, True])
def test_bad_numbers_of_bins_are_refused(bins):
    with pytest.raises(InvalidInput, match="whole number of at least 1"):
        ece(Curve.from_scores([0.5], [1]), bins)


def test_unknown_words_are_refused():
    curve = Curve.from_scores([0.5], [1])
    with pytest.raises(UnknownName, match="unknown norm 'l3'"):
        ece(curve, norm="l3")
    with pytest.raises(UnknownName, match="unknown spacing 'quantile'"):
        ece(curve, spacing="quantile")
    with pytest.raises(InvalidType, match="build it with"):
        ece([0.5])


def test_the_paper_s_uncalibrated_resnet(arena):
    data = arena("paper_resnet110_c10")
    preds = Predictions(data["test_logits"], data["test_labels"], kind="logits")
    assert 100 * ece(Curve.from_predictions(preds), 25) == pytest.approx(4.750, abs=0.001)
