import json

import numpy as np
import pytest

from ogive import Curve, fit_spline
from tests import simulate


def test_too_high_of_the_top_class_is_overconfident(rng):
    truth = rng.uniform(0.3, 0.9, 4000)
    scores = truth + 0.08
    gamma = fit_spline(Curve.from_scores(scores, rng.random(4000) < truth, view="top-1"))
    summary = gamma.summary()
    assert summary.direction == "overconfident"
    assert summary.shift == pytest.approx(-0.08, abs=0.02)
    assert summary.moved >= abs(summary.shift)
    (part,) = summary.ranges
    assert part.way == "too high"
    assert part.low < 0.5
    assert part.high > 0.9
    assert part.change == pytest.approx(-0.09, abs=0.04)
    assert "are too high" in repr(summary)


def test_too_extreme_on_both_sides_is_overconfident(rng):
    scores, hits, _ = simulate.overconfident(rng, 5000)
    summary = fit_spline(Curve.from_scores(scores, hits)).summary()
    assert summary.direction == "overconfident"
    assert [part.way for part in summary.ranges] == ["too low", "too high"]


def test_too_timid_is_underconfident(rng):
    scores, hits, _ = simulate.overconfident(rng, 5000, factor=0.4)
    assert fit_spline(Curve.from_scores(scores, hits)).summary().direction == "underconfident"


def test_both_are_told_apart(rng):
    scores = rng.uniform(0.5, 1.0, 8000)
    truth = np.where(scores < 0.75, scores + 0.15, scores - 0.15)
    curve = Curve.from_scores(scores, rng.random(8000) < truth, view="top-1")
    assert fit_spline(curve).summary().direction == "mixed"


def test_calibrated_scores_show_nothing(rng):
    scores = rng.random(3000)
    gamma = fit_spline(Curve.from_scores(scores, rng.random(3000) < scores), monotone=True)
    summary = gamma.summary()
    assert summary.direction == "none found"
    assert summary.ranges == ()
    assert summary.keep > 0.1
    text = repr(summary)
    assert "no miscalibration found" in text
    assert "made to rise" in text
    assert "effective degrees of freedom" in text
    assert "Leave it alone" not in text  # nobody computed a gain
    values = summary.to_dict()
    assert json.loads(json.dumps(values)) == values
