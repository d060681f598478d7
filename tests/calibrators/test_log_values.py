import numpy as np
import pytest
from hypothesis import given
from scipy.special import log_softmax

from ogive import Predictions
from ogive.calibrators.log_values import (
    enough_digits,
    log_probabilities,
    log_values,
    row_count,
    with_floor,
    zero_floor,
)
from tests import naive
from tests.strategies import matrices

EVERY = slice(0, None)


@pytest.mark.filterwarnings("ignore::ogive.errors.LooksLikeProbabilities")
@given(matrices())
def test_log_masses_are_distances_from_the_largest(data):
    logits, _ = data
    preds = Predictions(logits, kind="logits")
    want = logits - logits.max(axis=1, keepdims=True)
    assert (preds.log_masses(EVERY) == want).all()
    half = preds.log_masses(EVERY, np.float32)
    assert half.dtype == np.float32
    np.testing.assert_allclose(half, want, rtol=1e-5, atol=1e-4)


def test_log_masses_of_one_column_and_of_probabilities():
    column = Predictions([3.0, -1.0, -np.inf], kind="logits").log_masses(EVERY)
    assert column.tolist() == [[-3.0, 0.0], [0.0, -1.0], [0.0, -np.inf]]
    scores = Predictions([0.25, 1.0], kind="probs").log_masses(EVERY)
    np.testing.assert_allclose(scores, [np.log([0.75, 0.25]), [-np.inf, 0.0]])


@pytest.mark.filterwarnings("ignore::ogive.errors.LooksLikeProbabilities")
@given(matrices())
def test_values_are_finite_and_zeros_lie_lowest(data):
    logits, _ = data
    preds = Predictions(logits, kind="logits")
    values = log_values(preds, EVERY, zero_floor(preds))
    assert np.isfinite(values).all()
    kept = np.isfinite(logits)
    assert (values[kept] == logits[kept]).all()
    for row, was in zip(values, kept, strict=True):
        if not was.all():
            assert row[~was].max() <= row[was].min()


@pytest.mark.filterwarnings("ignore::ogive.errors.LooksLikeProbabilities")
@given(matrices())
def test_centred_values_are_less_the_mean_of_the_finite_ones(data):
    logits, _ = data
    preds = Predictions(logits, kind="logits")
    values = log_values(preds, EVERY, zero_floor(preds), centred=True)
    kept = np.isfinite(logits)
    scale = np.abs(logits[kept]).max()
    np.testing.assert_allclose(
        values[kept], naive.centred(logits)[kept], rtol=1e-12, atol=1e-14 * (1.0 + scale)
    )
    gaps = values - values.max(axis=1, keepdims=True)
    plain = log_values(preds, EVERY, zero_floor(preds))
    np.testing.assert_allclose(
        gaps, plain - plain.max(axis=1, keepdims=True), rtol=1e-12, atol=1e-14 * (1.0 + scale)
    )


def test_the_floor_is_half_the_smallest_positive_of_the_calibration_rows():
    preds = Predictions([[0.7, 0.3, 0.0], [0.9, 0.02, 0.08]], kind="probs")
    floor = zero_floor(preds)
    assert floor == pytest.approx(np.log(0.01))
    fresh = Predictions([[1.0 - 1e-4, 1e-4, 0.0]], kind="probs")
    values = log_values(fresh, EVERY, floor)
    assert values[0, 2] == values[0, 1] < floor  # never above the row's smallest positive


def test_without_zeros_nothing_is_touched(rng):
    logs = rng.normal(size=(4, 3))
    assert with_floor(logs, -1.0) is logs


def test_log_probabilities_are_clipped(rng):
    logits = rng.normal(size=(6, 4)) * 30
    got = log_probabilities(Predictions(logits, kind="logits"), EVERY, 2.0**-52)
    np.testing.assert_allclose(got, np.maximum(log_softmax(logits, axis=1), np.log(2.0**-52)))
    probs = naive.softmax(logits).astype(float)
    got = log_probabilities(Predictions(probs, kind="probs"), EVERY, 2.0**-52)
    np.testing.assert_allclose(got, np.log(np.maximum(probs, 2.0**-52)), atol=1e-12)


def test_half_the_digits_only_for_many_values_that_have_no_more(monkeypatch):
    monkeypatch.setattr("ogive.calibrators.log_values.MIN_NUMBERS_FOR_FLOAT32", 10)
    few, many = np.zeros((2, 3)), np.zeros((9, 3))
    for values, dtype in (
        (few.astype(np.float32), np.float64),
        (many.astype(np.float32), np.float32),
        (many.astype(np.float16), np.float32),
        (many, np.float64),
    ):
        assert enough_digits(Predictions(values, kind="logits")) is dtype


def test_rows_are_counted_in_whole_numbers_where_they_are_whole():
    values = [[2.0, 0.0], [0.0, 3.0]]
    assert str(row_count(Predictions(values, kind="logits"))) == "2"
    assert str(row_count(Predictions(values, kind="logits", sample_weight=[1.0, 2.0]))) == "3"
    assert row_count(Predictions(values, kind="logits", sample_weight=[1.0, 0.5])) == 1.5
