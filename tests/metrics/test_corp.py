import numpy as np
import pytest
from hypothesis import given

from ogive import Curve, decompose
from ogive.errors import UnknownName
from tests import naive, strategies


@given(strategies.scored(max_size=25, weights=True))
def test_it_equals_its_definition(data):
    scores, hits, w = data
    for weights in (None, w):
        parts = decompose(Curve.from_scores(scores, hits, sample_weight=weights))
        mcb, dsc, unc = naive.corp(scores.astype(float), hits, weights)
        assert parts.mcb == pytest.approx(mcb, abs=1e-12)
        assert parts.dsc == pytest.approx(dsc, abs=1e-12)
        assert parts.unc == pytest.approx(unc, abs=1e-12)


@pytest.mark.parametrize("score", ["brier", "nll"])
@given(data=strategies.scored())
def test_the_parts_add_up_and_are_not_negative(score, data):
    scores, hits = data
    parts = decompose(Curve.from_scores(scores, hits), score)
    assert parts.mcb - parts.dsc + parts.unc == pytest.approx(parts.score, abs=1e-12)
    assert min(parts.mcb, parts.dsc, parts.unc) >= 0.0


def test_pooling_run_by_run_equals_pooling_at_once(rng):
    from scipy.optimize import isotonic_regression

    scores = rng.random(50_000)  # more than a run holds
    hits = rng.random(50_000) < scores**2
    fit = isotonic_regression(hits[np.argsort(scores)].astype(float)).x
    best = np.mean((fit - hits[np.argsort(scores)]) ** 2)
    parts = decompose(Curve.from_scores(scores, hits))
    assert parts.score - parts.mcb == pytest.approx(best, abs=1e-12)


def test_an_order_preserving_map_changes_neither_discrimination_nor_uncertainty(rng):
    scores = rng.random(500)
    hits = rng.random(500) < scores
    a, b = (decompose(Curve.from_scores(s, hits)) for s in (scores, scores**3))
    assert (a.dsc, a.unc) == pytest.approx((b.dsc, b.unc))
    assert b.mcb > a.mcb


def test_an_unknown_score_is_refused():
    with pytest.raises(UnknownName, match="Did you mean 'brier'"):
        decompose(Curve.from_scores([0.5], [1]), "brie")
