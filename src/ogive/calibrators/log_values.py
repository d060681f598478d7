"""The input of calibrators of whole matrices: logarithms, with exact zeros put at a floor.

A probability of exactly 0 has no logarithm. Zeros in a matrix of probabilities are nearly always
numbers too small to be written, so they are put at **half the smallest positive probability of
the calibration rows**, and every likelihood is finite. A logit of −inf is put as far below the
row's largest as the farthest finite one, and by log 2 farther. Either way a zero is never put
above the smallest positive number of its own row.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from ogive._numerics.blocks import blocks
from ogive.curve.ties import total_rows
from ogive.rows.predictions import Predictions, check_predictions

if TYPE_CHECKING:
    from ogive._typing import AnyArray, DTypeLike, FloatArray

MIN_NUMBERS_FOR_FLOAT32 = 1 << 20
#: Values beyond are cut: the sums of a matrix of coefficients must not overflow to inf − inf.
FARTHEST_VALUE = 1e200


def row_count(preds: Predictions) -> float:
    """Return N: the number of rows, or the sum of their weights (an int if it is whole)."""
    return preds.n if preds.sample_weight is None else total_rows(preds.sample_weight)


def with_weight(preds: Predictions) -> Predictions:
    """Return the predictions without their rows of weight 0, which must not change any fit.

    >>> preds = Predictions([[2.0, 0.0], [9.0, 0.0]], [0, 1], kind="logits", sample_weight=[1, 0])
    >>> with_weight(preds).n
    1
    """
    check_predictions(preds)
    if preds.sample_weight is None or preds.sample_weight.all():
        return preds
    return preds.take(preds.sample_weight > 0.0)


def rescaled(preds: Predictions, factor: float) -> Predictions:
    """Return the logits (or the logarithms of probabilities) times a factor, as logits.

    >>> rescaled(Predictions([[0.8, 0.2]], kind="probs"), 2.0).probabilities().round(4)
    array([[0.9412, 0.0588]])
    """
    if factor == 1.0:
        return preds
    if preds.kind == "logits":
        return preds.times(factor)
    logs = preds.log_masses(slice(0, preds.n))
    logs *= factor
    return Predictions(
        logs,
        preds.labels,
        kind="logits",
        sample_weight=preds.sample_weight,
        weight_kind=preds.weight_kind,
        classes=np.arange(preds.K),
        name="",
    )


def effective_rows(preds: Predictions) -> float:
    """Return the effective number of rows: N, or Kish's size of sampling weights."""
    return float(row_count(preds)) * weight_scale(preds)


def weight_scale(preds: Predictions) -> float:
    """Return the factor that makes sampling weights add up to Kish's effective size; else 1."""
    if preds.sample_weight is None or preds.weight_kind != "sampling":
        return 1.0
    return float(preds.sample_weight.sum() / (preds.sample_weight @ preds.sample_weight))


def enough_digits(preds: Predictions) -> DTypeLike:
    """Return the type to compute in: float32 if the values have no more digits and are many.

    Sums over this many numbers are precise enough in float32, and exp is five times as fast.
    """
    many = (
        preds.n * preds.K > MIN_NUMBERS_FOR_FLOAT32
        and preds.values.dtype.itemsize <= np.float32().itemsize
    )
    return np.float32 if many else np.float64


def zero_floor(preds: Predictions) -> float:
    """Return where the logarithm of an exact zero is put, relative to the row's largest value.

    >>> from ogive import Predictions
    >>> preds = Predictions([[0.5, 0.5, 0.0], [0.8, 0.1, 0.1]], kind="probs")
    >>> bool(np.isclose(zero_floor(preds), np.log(0.1 / 2)))
    True
    """
    smallest = 0.0
    preds = with_weight(preds)
    for at in blocks(preds.n, width=preds.K):
        logs = preds.log_masses(at)
        smallest = min(smallest, float(logs.min(initial=0.0, where=logs > -np.inf)))
    return smallest - math.log(2.0)


def with_floor(logs: AnyArray, floor: float, top: AnyArray | None = None) -> AnyArray:
    """Put the −inf of some rows, (rows, K), at `floor` (below `top`, (rows,), where given)."""
    zero = logs == -np.inf
    if not zero.any():
        return logs
    lowest = np.min(logs, axis=1, initial=np.inf, where=~zero)
    level = floor if top is None else floor + top
    return np.where(zero, np.minimum(lowest, level)[:, None], logs)


def log_values(
    preds: Predictions,
    at: slice,
    floor: float,
    dtype: DTypeLike = np.float64,
    *,
    centred: bool = False,
) -> AnyArray:
    """Return the logits as they were given, or the log-probabilities, (rows, K), all finite.

    `centred`: less the mean of those of the row that were finite, so that a constant added to the
    logits of a row changes nothing. Its largest would not do: where it lies depends on the model's
    confidence.
    """
    if preds.kind == "probs":
        values = _log_softmax(preds, at).astype(dtype, copy=False)
    else:
        values = preds.values[at].astype(dtype)
        if preds.one_column:
            x = values.reshape(-1)
            values = np.stack([np.zeros_like(x), x], axis=1)
    share: AnyArray = np.full(preds.K, 1.0 / preds.K, dtype)
    if not values.min() > -np.inf:
        finite = values > -np.inf
        share = (finite / finite.sum(axis=1, keepdims=True)).astype(dtype)
        top = values.max(axis=1) if preds.kind == "logits" else None
        values = with_floor(values, floor, top)
    if values.dtype == np.float64:
        np.clip(values, -FARTHEST_VALUE, FARTHEST_VALUE, out=values)
    if centred:  # from the largest down: the mean of equal numbers, which may be large, is rounded
        values -= values.max(axis=1, keepdims=True)
        values -= np.vecdot(values, share)[:, None]
    return values


def log_probabilities(preds: Predictions, at: slice, smallest: float) -> FloatArray:
    """Return the logarithm of the probabilities, (rows, K), none below log `smallest`."""
    logs = _log_softmax(preds, at)
    return np.maximum(logs, math.log(smallest), out=logs)


def _log_softmax(preds: Predictions, at: slice) -> FloatArray:
    logs: FloatArray = preds.log_masses(at)
    logs -= np.log(np.exp(logs).sum(axis=1, keepdims=True))
    return logs
