import numpy as np
import pytest
from hypothesis import given, settings

import ogive
from ogive import Curve, Predictions, spline_errors
from ogive.studies.numbers import NUMBERS, WITHOUT_INTERVAL, numbers_of
from tests import strategies
from tests.simulate import too_high


@settings(max_examples=25)
@given(strategies.scored(weights=True))
def test_any_curve_has_numbers_with_intervals_around_them(data):
    scores, hits, w = data
    for one in numbers_of(Curve.from_scores(scores, hits, sample_weight=w)):
        assert one.meaning
        assert not one.percent or 0.0 <= one.value <= 1.0
        if one.key in WITHOUT_INTERVAL:
            assert np.isnan([one.low, one.high]).all()
            assert one.shown()[1] == "no interval"
            continue
        assert np.isnan(one.value) or one.low <= one.value <= one.high
        assert not one.percent or 0.0 <= one.low <= one.high <= 1.0


def test_weight_two_is_the_row_twice(rng):
    scores, hits = too_high(rng)
    w = rng.integers(1, 4, 600)
    a, b = numbers_of(Curve.from_scores(scores, hits, sample_weight=w)), numbers_of(
        Curve.from_scores(np.repeat(scores, w), np.repeat(hits, w)))  # fmt: skip
    assert [x[2:5] for x in a] == [pytest.approx(y[2:5], abs=1e-9, nan_ok=True) for y in b]


def test_sampling_weights_widen_the_intervals(rng):
    scores, hits = too_high(rng)
    w = rng.exponential(size=600)
    plain = numbers_of(Curve.from_scores(scores, hits))
    weighted = numbers_of(Curve.from_scores(scores, hits, sample_weight=w, weight_kind="sampling"))
    wider = [b.high - b.low > a.high - a.low for a, b in zip(plain, weighted, strict=True)]
    assert sum(wider) >= 4


def test_a_merged_curve_and_a_summary_have_the_same_numbers(rng):
    scores, hits = too_high(rng, 3000)
    whole = Curve.from_scores(scores, hits)
    halves = [Curve.from_scores(scores[at], hits[at]) for at in (slice(1000), slice(1000, None))]
    assert numbers_of(halves[0].merge(halves[1])) == numbers_of(whole)
    for a, b in zip(numbers_of(whole.summarised()), numbers_of(whole), strict=True):
        assert a.value == pytest.approx(b.value, abs=2e-3 if a.key != "refinement" else 0.01)


def test_measure_adds_them_when_asked(rng):
    scores, hits = too_high(rng)
    keys = [f"{key}{end}" for key, *_ in NUMBERS for end in ("", "_low", "_high")]
    plain, more = (ogive.measure(scores, hits, more=asked) for asked in (False, True))
    assert not set(keys) & set(plain.to_dict())
    found = more.to_dict()
    assert set(keys) < set(found)
    assert found["ici"] == spline_errors(scores, hits).ici.value
    assert "calibration slope" in repr(more)
    assert found | plain.to_dict() == found


def test_the_belt_names_the_scores_that_are_off(rng):
    scores, hits = too_high(rng, 3000)
    one = ogive.measure(scores, hits, more=True)
    (off,) = one.to_dict()["belt"]
    assert off["direction"] == "too high"
    assert 0.05 < off["from"] < 0.4
    assert off["to"] > 0.7
    assert "Calibration belt (95 % for all scores at once): scores" in repr(one)
    fine = ogive.measure(scores, rng.random(3000) < scores, more=True)
    assert fine.to_dict()["belt"] == []
    assert "holds the diagonal" in repr(fine)
    assert "belt" not in ogive.measure(scores, hits).to_dict()


def test_every_view_of_a_matrix_has_its_own(rng):
    z = rng.normal(size=(500, 4)) * 2
    preds = Predictions(z, (z / 2 + rng.gumbel(size=z.shape)).argmax(axis=1), kind="logits")
    every = ogive.measure_all(preds, more=True)
    slopes = {one.view: one.to_dict()["slope"] for one in every.views}
    assert len(set(slopes.values())) == len(slopes)
    curve = Curve.from_predictions(preds, "within-top-2")
    assert slopes["within-top-2"] == ogive.calibration_slope(curve).value
    keys = {tuple(sorted(set(view))) for view in every.to_dict()["views"][:-1]}
    assert len(keys) == 1


def test_a_summary_says_which_are_approximate(rng):
    scores, hits = too_high(rng, 3000)
    found = ogive.measure(Curve.from_scores(scores, hits).summarised(8), more=True).to_dict()
    assert {"slope", "ici", "refinement"} < set(found["approximate"])
    assert "oe_ratio" not in found["approximate"]


@pytest.mark.parametrize(
    ("scores", "hits", "unknown"),
    [
        ([0.3], [1], {"intercept", "slope", "refinement"}),
        ([0.2, 0.6, 0.7] * 20, [0] * 60, {"intercept", "slope"}),
        ([0.4] * 30, [0, 1, 1] * 10, {"slope"}),
        ([0.0, 1.0] * 20, [0, 1] * 20, {"slope"}),
        ([0.0] * 30, [0, 1, 1] * 10, {"oe_ratio", "slope"}),
    ],
)
def test_what_cannot_be_known_is_null_and_says_why(scores, hits, unknown):
    one = ogive.measure(scores, hits, more=True)
    found = one.to_dict()
    assert {key for key, *_ in NUMBERS if found[key] is None} == unknown
    said = {n.key: n.meaning for n in one.numbers}
    assert all(said[key].startswith(("Unknown", "Infinite", "No finite")) for key in unknown)
