"""Labels and weights as scikit-learn's users give them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, assert_all_finite, column_or_1d

from ogive.errors import InvalidInput
from ogive.rows.labels import find_labels

if TYPE_CHECKING:
    from ogive._typing import AnyArray, ArrayLike, FloatArray, IntArray

_TWO = 2


def as_labels(y: ArrayLike | None, name: str) -> AnyArray:
    """Return the labels as a 1-D array of classes."""
    if y is None:
        msg = f"{name} requires y to be passed, but the target y is None."
        raise InvalidInput(msg)
    labels = column_or_1d(y, warn=True)
    assert_all_finite(labels, input_name="y")
    check_classification_targets(labels)
    return plain(labels)


def plain(labels: AnyArray) -> AnyArray:
    """Return strings that came as Python objects as an array of strings."""
    return np.array(labels.tolist()) if labels.dtype == object else labels


def as_codes(labels: AnyArray, classes: AnyArray) -> IntArray:
    """Return the index of each label among the classes of a fitted model."""
    codes, unknown = find_labels(labels, classes)
    if unknown.any():
        first = labels[int(unknown.argmax())]
        msg = f"`y` has a class that the fitted model does not know: {first}."
        raise InvalidInput(msg)
    return codes


def as_sample_weight(sample_weight: ArrayLike | None, values: AnyArray) -> FloatArray | None:
    """Return the weights of the rows of `values`, or None."""
    if sample_weight is None:
        return None
    weights: FloatArray = _check_sample_weight(sample_weight, values, dtype=np.float64)
    return weights


def refuse_one_class(labels: AnyArray, weights: FloatArray | None) -> None:
    """Refuse one class alone: it teaches a calibrator nothing."""
    seen = np.unique(labels if weights is None else labels[weights > 0])
    if seen.size < _TWO:
        what = f"one class only ({seen[0]})" if seen.size else "no row of positive weight"
        msg = f"`y` has {what}: a calibrator needs rows of at least two classes."
        raise InvalidInput(msg)
