import numpy as np
import pytest

from ogive import Curve, measure
from ogive.curve.coarse import coarse


@pytest.fixture
def scores(rng):
    plain = rng.random(20_000)
    return np.concatenate(
        [plain**0.2, plain[:5000] ** 6, [0.0, 1.0, 1.0, 0.5], plain[:500].round(2)]
    )


@pytest.mark.parametrize("kind", [None, "repetition", "sampling"])
def test_sums_stay_and_rows_keep_their_order(rng, scores, kind):
    hits = rng.random(scores.size) < scores
    weights = None if kind is None else rng.integers(1, 5, scores.size) / 2
    curve = Curve.from_scores(scores, hits, sample_weight=weights, weight_kind=kind or "repetition")
    short = coarse(curve)
    assert short.score.size < 0.5 * curve.score.size
    assert (np.diff(short.score) >= 0).all()
    for name in ("count", "hits", "square", "square_hits"):
        assert getattr(short, name).sum() == pytest.approx(getattr(curve, name).sum(), rel=1e-12)
    total, again = ((c.count * c.score).sum() for c in (curve, short))
    assert again == pytest.approx(total, rel=1e-12)
    assert short.gap[-1] == pytest.approx(curve.gap[-1], abs=1e-12)
    # Each row moved by less than a thousandth of its tail.
    place = np.searchsorted(short.fractile, curve.fractile - 1e-12)
    moved = np.abs(short.score[place] - curve.score)
    assert (moved <= 0.001 * np.minimum(curve.score, 1 - curve.score) + 1e-15).all()


def test_measures_of_many_rows_move_by_less_than_a_millionth(rng, scores, monkeypatch):
    hits = rng.random(scores.size) < scores**1.5
    curve = Curve.from_scores(scores, hits)
    exact = measure(curve).to_dict()
    monkeypatch.setattr("ogive.studies.measure.MIN_ROWS_FOR_COARSE_COPY", 1000)
    quick = measure(curve).to_dict()
    for key in ("ks", "kuiper", "ece", "mce", "brier", "accuracy", "mean_score", "ks_pvalue"):
        assert quick[key] == exact[key]
    for key in ("nll", "kde_ece", "smooth_ece", "mcb", "dsc", "unc"):
        assert quick[key] == pytest.approx(exact[key], abs=1e-6), key
    assert quick["spiegelhalter"] == pytest.approx(exact["spiegelhalter"], rel=1e-4)
    assert quick["verdict"] == exact["verdict"]
