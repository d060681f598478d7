import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ogive import Curve, Predictions, fit_spline, nll
from ogive._wording import MAY_BE_NONE
from ogive.calibrators.gain import Gain
from ogive.curve.folds import folds
from ogive.errors import InvalidInput, InvalidType, NotEnoughData
from ogive.studies.gain import cross_fitted_gain
from tests import simulate, strategies


def cells(curve):
    rows = zip(curve.high, curve.tail, curve.count, curve.hits, strict=True)
    return {(bool(high), tail): (count, hits) for high, tail, count, hits in rows}


@given(data=strategies.scored(min_size=4), k=st.integers(2, 5), seed=st.integers(0, 9))
def test_every_sample_is_in_one_part(data, k, seed):
    curve = Curve.from_scores(*data)
    pairs = list(folds(curve, k, random_state=seed))
    for rest, part in pairs:
        assert rest.merge(part) == curve
    if len(pairs) == k:
        whole = pairs[0][1]
        for _, part in pairs[1:]:
            whole = whole.merge(part)
        assert whole == curve


def test_parts_of_a_tie_are_whole_and_even(rng):
    curve = Curve.from_scores(np.full(10_000, 0.7), rng.random(10_000) < 0.6)
    for _, part in folds(curve, 5):
        assert part.n == pytest.approx(2000, abs=200)
        assert part.total_hits / part.n == pytest.approx(0.6, abs=0.05)
        assert float(part.total_hits).is_integer()


def test_fractional_weights_are_not_cut(rng):
    scores, weights = rng.random(200), rng.random(200) + 0.5
    curve = Curve.from_scores(scores, scores < 0.5, sample_weight=weights, weight_kind="sampling")
    before = cells(curve)
    for _, part in folds(curve, 4):
        for key, value in cells(part).items():
            assert value == before[key]
        assert part.square.sum() < curve.square.sum()


def test_a_miscalibrated_model_gains(rng):
    scores, hits, truth = simulate.overconfident(rng, 3000)
    gain = cross_fitted_gain(Curve.from_scores(scores, hits))
    clipped = np.clip(scores, 1e-7, 1 - 1e-7)
    possible = np.mean(
        truth * np.log(truth / clipped) + (1 - truth) * np.log((1 - truth) / (1 - clipped))
    )
    assert gain.value == pytest.approx(possible, abs=3 * gain.error)
    assert not gain.leave_alone
    assert "calibrate" in gain.verdict
    assert gain == cross_fitted_gain(Curve.from_scores(scores, hits))  # the seed is fixed


def test_a_calibrated_model_is_left_alone(rng):
    scores = rng.random(2000)
    curve = Curve.from_scores(scores, rng.random(2000) < scores)
    gain = cross_fitted_gain(curve)
    assert gain.leave_alone
    summary = fit_spline(curve).summary(gain)
    assert "Leave it alone" in repr(summary)
    assert summary.to_dict()["gain"]["leave_alone"] is True
    assert json.loads(json.dumps(gain.to_dict())) == gain.to_dict()


def test_other_methods_are_judged_by_rows_left_out():
    saved, lost = (Gain("platt", "score", 100, 5, value, 0.05, 0.3) for value in (0.01, -0.01))
    assert not saved.leave_alone
    assert lost.leave_alone
    assert saved.verdict == (
        "Cross-validated log loss falls from 0.300 to 0.290 (5 folds, ± 0.05): calibrate. "
        "The gain is within two standard errors of 0: it may be none."
    )
    clear = Gain("platt", "score", 100, 5, 0.11, 0.05, 0.3)
    assert clear.verdict.endswith("(5 folds, ± 0.05): calibrate.")
    assert lost.verdict == (
        "Leave it alone: cross-validated log loss rises from 0.300 to 0.310 (5 folds, ± 0.05)."
    )
    assert Gain("platt", "score", 100, 5, 1e-9, 1e-3, 0.3).verdict.startswith(
        "Leave it alone: cross-validated log loss stays at 0.3000"
    )
    # A saving of less than half a nat in all is noise.
    assert Gain("platt", "score", 100, 5, 0.004, 1e-3, 0.3).verdict.startswith(
        "Leave it alone: cross-validated log loss hardly falls from 0.3000 to 0.2960"
    )
    assert not Gain("platt", "score", 1000, 5, 0.004, 1e-3, 0.3).leave_alone


def test_the_log_loss_before_is_that_of_the_scores(rng):
    scores, hits, _ = simulate.overconfident(rng, 500)
    curve = Curve.from_scores(scores, hits)
    gain = cross_fitted_gain(curve)
    assert gain.before == pytest.approx(nll(curve), rel=1e-9)
    assert fit_spline(curve).log_loss == pytest.approx(nll(curve), rel=1e-6)
    assert gain.leave_alone == fit_spline(curve).summary().leave_alone
    assert gain.expected == fit_spline(curve).expected_gain


def test_the_error_is_that_of_the_mean(rng):
    scores, hits, _ = simulate.overconfident(rng, 4000)
    parts = [slice(i, i + 500) for i in range(0, 4000, 500)]
    gains = [cross_fitted_gain(Curve.from_scores(scores[p], hits[p]), "platt") for p in parts]
    spread = np.std([g.value for g in gains], ddof=1)
    assert np.mean([g.error for g in gains]) == pytest.approx(spread, rel=0.6)


def test_predictions_have_views(rng):
    logits, labels, _ = simulate.saturated_logits(rng, 600)
    preds = Predictions(logits, labels, kind="logits")
    assert cross_fitted_gain(preds, "platt").view == "top-1"
    assert cross_fitted_gain(preds, "platt", view="class-1").view == "class-1"


def test_what_cannot_be_done_is_said():
    curve = Curve.from_scores([0.2, 0.4, 0.9], [0, 1, 1])
    with pytest.raises(InvalidInput, match="`cv` must be a whole number >= 2, not 1"):
        cross_fitted_gain(curve, cv=1)
    with pytest.raises(InvalidType, match="`data` must be Predictions or a Curve, not list"):
        cross_fitted_gain([0.2])
    with pytest.raises(NotEnoughData, match="`data` has 1 rows, too few for 5 folds"):
        cross_fitted_gain(Curve.from_scores([0.2], [1]))


def test_a_loss_that_rises_on_rows_left_out_is_never_worth_it():
    rises = Gain("spline", "score", 1000, None, -1e-4, 1e-3, 0.3, 0.002, 2.0)
    assert rises.leave_alone
    assert rises.verdict.startswith("Leave it alone: cross-validated log loss rises")
    falls = replace(rises, value=1e-4)
    assert not falls.leave_alone
    assert falls.verdict.endswith(f"calibrate. {MAY_BE_NONE}")
    assert replace(falls, expected_total=0.7).leave_alone
