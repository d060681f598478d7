from math import inf

import numpy as np
import pytest
from hypothesis import given

from ogive import Curve, brier, nll, spiegelhalter
from ogive.errors import InvalidType
from ogive.metrics.proper import accuracy, mean_score
from tests import naive, strategies


@given(strategies.scored(weights=True))
def test_they_equal_their_definitions(data):
    scores, hits, w = data
    s = scores.astype(float)
    for weights in (None, w, w / 7):
        for kind in ("repetition", "sampling"):
            curve = Curve.from_scores(scores, hits, sample_weight=weights, weight_kind=kind)
            assert brier(curve) == pytest.approx(naive.brier(s, hits, weights), abs=1e-12)
            assert nll(curve) == pytest.approx(naive.nll(s, hits, weights), abs=1e-12)
            expected = np.average(s, weights=weights)
            assert mean_score(curve) == pytest.approx(expected, abs=1e-12)
            assert accuracy(curve) == pytest.approx(np.average(hits, weights=weights), abs=1e-12)


@given(strategies.scored(weights=True))
def test_spiegelhalter_equals_its_definition(data):
    scores, hits, w = data
    s = scores.astype(float)
    for kind in ("repetition", "sampling"):
        curve = Curve.from_scores(scores, hits, sample_weight=w, weight_kind=kind)
        top, variance = naive.spiegelhalter(s, hits, w, kind)
        if variance > 1e-9:
            assert spiegelhalter(curve).z == pytest.approx(top / variance**0.5, abs=1e-9)


def test_spiegelhalter_of_certain_scores():
    right = spiegelhalter(Curve.from_scores([1.0, 0.0], [1, 0]))
    wrong = spiegelhalter(Curve.from_scores([1.0, 0.0], [0, 0]))
    assert (right.z, right.pvalue) == (0.0, 1.0)
    assert (wrong.z, wrong.pvalue) == (inf, 0.0)


@given(strategies.scored(weights=True))
def test_weight_two_is_the_row_twice(data):
    scores, hits, w = data
    weighted = Curve.from_scores(scores, hits, sample_weight=w)
    repeated = Curve.from_scores(np.repeat(scores, w), np.repeat(hits, w))
    for measure in (brier, nll, mean_score, accuracy, lambda c: spiegelhalter(c).pvalue):
        assert measure(weighted) == pytest.approx(measure(repeated), abs=1e-12)


def test_a_certain_score_that_is_wrong_costs_what_the_clip_says():
    assert nll(Curve.from_scores([1.0], [0])) == pytest.approx(-np.log(2.0**-52), rel=1e-12)
    assert nll(Curve.from_scores([0.0], [1])) == pytest.approx(-np.log(2.0**-52), rel=1e-12)


def test_anything_but_a_curve_is_refused():
    for measure in (brier, nll, mean_score, accuracy, spiegelhalter):
        with pytest.raises(InvalidType, match="build it with"):
            measure(np.array([0.5]))
