"""Brackets contain what all samples would give, and are empty where nothing was joined."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ogive import Curve, Predictions, brier, ece, ks_error, kuiper_error, nll
from ogive.metrics.bracket import brackets, candidate_ranges
from ogive.metrics.proper import mean_score
from tests.curve.rows import ROWS

MEASURES = {
    "ks": ks_error,
    "kuiper": kuiper_error,
    "ece": ece,
    "brier": brier,
    "nll": nll,
    "mean_score": mean_score,
}


def check(exact, small, bins=15):
    found = brackets(small, bins)
    assert set(found) == set(MEASURES)
    for key, of in MEASURES.items():
        value = of(exact, bins) if key == "ece" else of(exact)
        low, high = found[key]
        assert low <= value <= high, (key, low, value, high)
    return found


@given(rows=ROWS, bits=st.sampled_from([4, 5, 7, 9, 12]), bins=st.sampled_from([1, 7, 15, 200]))
def test_brackets_contain_the_truth(rows, bits, bins):
    exact = Curve.from_scores(*(np.array(c) for c in zip(*rows, strict=True)))
    check(exact, exact.summarised(bits), bins)


@given(
    logits=st.lists(
        st.tuples(st.floats(-60, 60), st.floats(-60, 60), st.integers(0, 2)),
        min_size=2,
        max_size=40,
    )
)
def test_brackets_hold_for_saturated_logits(logits):
    values = [(a, b, 0.0) for a, b, _ in logits]
    preds = Predictions(values, [label for *_, label in logits], kind="logits")
    for view in ("top-1", "class-1", "within-top-2"):
        exact = Curve.from_predictions(preds, view)
        check(exact, exact.summarised(5))


@pytest.mark.parametrize("power", [1, 3, 0.2])
def test_brackets_are_narrow(power):
    rng = np.random.default_rng(1)
    scores = rng.random(100_000) ** power
    exact = Curve.from_scores(scores, rng.random(100_000) < scores**1.3)
    found = check(exact, exact.summarised(12))
    width = {key: high - low for key, (low, high) in found.items()}
    assert max(width["ks"], width["kuiper"]) < 3e-4
    assert width["ece"] < 5e-3
    assert width["brier"] < 1e-7
    assert width["nll"] < 1e-6
    assert width["mean_score"] < 1e-12


@given(rows=ROWS)
def test_an_exact_curve_has_empty_brackets_and_no_candidates(rows):
    exact = Curve.from_scores(*(np.array(c) for c in zip(*rows, strict=True)))
    for low, high in brackets(exact).values():
        assert high - low <= 1e-9 * (1 + high)
    assert candidate_ranges(exact.summarised(52)).size == 0


@given(rows=ROWS, bits=st.sampled_from([4, 6]))
def test_extremes_of_the_gap_are_in_the_candidates_or_at_ends(rows, bits):
    exact = Curve.from_scores(*(np.array(c) for c in zip(*rows, strict=True)))
    small = exact.summarised(bits)
    ranges = candidate_ranges(small)
    if ranges.size == 0:
        assert ks_error(small) == pytest.approx(ks_error(exact), abs=1e-12)
        assert kuiper_error(small) == pytest.approx(kuiper_error(exact), abs=1e-12)


def test_a_bracket_can_fail():
    exact = Curve.from_scores([0.30, 0.31], [1, 0])
    low, high = brackets(exact.summarised(4))["ks"]
    assert not low <= ks_error(Curve.from_scores([0.6, 0.9], [0, 0])) <= high
