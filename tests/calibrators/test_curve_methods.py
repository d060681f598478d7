"""What every curve method must do, for all names in the table."""

import json
import pickle
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ogive import Curve, Predictions, ks_error, load, save
from ogive.calibrators import METHODS, find_method
from ogive.errors import FallbackWarning, NotEnoughData
from tests import simulate, strategies

CURVE_METHODS = [name for name, method in METHODS.items() if method.reads == "curve"]
GRID = np.concatenate([[0.0, 1.0, 0.5, 5e-324, 1 - 2**-53], np.linspace(0, 1, 101)])


def fitted(name, curve):
    """Fit, and let pass what is said about too little data."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FallbackWarning)
        try:
            return find_method(name).fit(curve)
        except NotEnoughData:
            assert name == "paper-spline"
            return None


def test_the_table_has_the_names_of_the_design():
    names = {"paper-spline", "platt", "isotonic", "beta", "histogram", "none"}
    assert names <= set(METHODS)


@pytest.mark.parametrize("name", CURVE_METHODS)
@given(data=strategies.scored())
def test_any_curve_gives_probabilities(name, data):
    gamma = fitted(name, Curve.from_scores(*data))
    if gamma is None:
        return
    values = np.concatenate([gamma(GRID), gamma.from_log_odds([-np.inf, -40.0, 0.0, 40.0, np.inf])])
    assert ((values >= 0) & (values <= 1)).all()


@pytest.mark.parametrize("name", CURVE_METHODS)
@given(data=strategies.scored(weights=True))
def test_weights_repeats_and_shards_give_the_same_map(name, data):
    scores, hits, weights = data
    weights = weights + 1
    whole = Curve.from_scores(scores, hits, sample_weight=weights)
    repeated = Curve.from_scores(np.repeat(scores, weights), np.repeat(hits, weights))
    half = scores.size // 2
    if not half:
        return
    merged = Curve.from_scores(scores[half:], hits[half:], sample_weight=weights[half:]).merge(
        Curve.from_scores(scores[:half], hits[:half], sample_weight=weights[:half])
    )
    gamma = fitted(name, whole)
    if gamma is None:
        return
    for other in (repeated, merged):
        np.testing.assert_allclose(fitted(name, other)(GRID), gamma(GRID), atol=1e-7)


@pytest.mark.parametrize("name", CURVE_METHODS)
def test_the_round_trip_through_json_is_exact(name, rng, tmp_path):
    scores = np.append(rng.random(900), [0.0, 0.0, 1.0, 1.0, 1.0])
    gamma = fitted(name, Curve.from_scores(scores, rng.random(905) < scores**2))
    save(gamma, tmp_path / "cal.json")
    again = load(tmp_path / "cal.json")
    assert again == gamma
    assert type(again) is type(gamma)
    np.testing.assert_array_equal(again(GRID), gamma(GRID))
    assert json.loads(json.dumps(gamma.to_dict())) == gamma.to_dict()
    assert pickle.loads(pickle.dumps(gamma)) == gamma  # noqa: S301


@pytest.mark.parametrize("name", CURVE_METHODS)
def test_scores_and_log_odds_agree(name, rng):
    scores, hits, _ = simulate.overconfident(rng, 2000)
    gamma = fitted(name, Curve.from_scores(scores, hits))
    s = rng.random(300)
    eta = np.log(s) - np.log1p(-s)
    np.testing.assert_allclose(gamma.from_log_odds(eta), gamma(s), atol=1e-9)


@pytest.mark.parametrize("name", [name for name in CURVE_METHODS if name != "none"])
def test_the_error_falls_on_fresh_rows(name, rng):
    scores, hits, _ = simulate.overconfident(rng, 8000)
    gamma = fitted(name, Curve.from_scores(scores[:4000], hits[:4000]))
    before = ks_error(Curve.from_scores(scores[4000:], hits[4000:]))
    after = ks_error(Curve.from_scores(gamma(scores[4000:]), hits[4000:]))
    assert after < before / 2


@pytest.mark.parametrize("name", [name for name in CURVE_METHODS if name != "none"])
def test_a_score_of_one_stands_for_all_rows_that_round_to_it(name, rng):
    logits, labels, truth = simulate.saturated_logits(rng, 20_000)
    preds = Predictions(logits, labels, kind="logits")
    gamma = fitted(name, Curve.from_predictions(preds))
    top = preds.probabilities().max(axis=1)
    ones = top == 1.0
    assert gamma(1.0) == pytest.approx(truth[ones].mean(), abs=0.02)
    eta = logits.max(axis=1) - np.log(3.0)
    spread = np.ptp(gamma.from_log_odds(eta[ones]))
    assert spread > 0.05  # the log-odds still tell those rows apart


@pytest.mark.parametrize("name", [name for name in CURVE_METHODS if name != "none"])
def test_exact_ones_and_zeros_get_their_own_share(name, rng):
    scores = rng.choice([0.0, 0.3, 0.6, 0.8, 0.9, 1.0], 8000)
    hits = rng.random(8000) < 0.1 + 0.8 * scores
    gamma = fitted(name, Curve.from_scores(scores, hits))
    if gamma is None:
        return
    slack = 0.03 if name in ("isotonic", "histogram") else 0.15
    for s in (0.0, 1.0):
        assert gamma(s) == pytest.approx(hits[scores == s].mean(), abs=slack)


@pytest.mark.parametrize("name", ["platt", "isotonic", "beta"])
@given(data=strategies.scored(min_size=2), extra=st.floats(0, 1))
def test_rising_methods_rise(name, data, extra):
    scores, hits = data
    gamma = fitted(name, Curve.from_scores(scores, hits))
    values = gamma(np.sort(np.append(GRID, extra)))
    falls = name == "platt" and gamma.slope < 0  # Platt's slope is free
    assert falls or (np.diff(values) >= -1e-12).all()


@pytest.mark.parametrize("name", ["platt", "beta", "isotonic", "histogram"])
@pytest.mark.parametrize("outcome", [0, 1])
def test_one_class_is_shifted_with_a_warning(name, outcome, rng):
    scores = rng.random(200)
    curve = Curve.from_scores(scores, np.full(200, outcome))
    with pytest.warns(FallbackWarning, match=f"all outcomes of the curve are {int(outcome)}"):
        gamma = find_method(name).fit(curve)
    mean = gamma(scores).mean()
    assert mean == pytest.approx(201 / 202 if outcome else 1 / 202, abs=1e-9)
    assert (np.diff(gamma(np.sort(scores))) > 0).all()  # the order is kept
