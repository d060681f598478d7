"""What a fitted classifier says about rows, as something a calibrator can read.

A decision function is taken as logits: it does not saturate, and for most models (logistic,
boosted trees, discriminant analysis, networks) it is what their probabilities are made of. For
others (support vectors, ridge) it is not log-odds, but it ranks, and a calibrator learns its
scale. Models without one give probabilities.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ogive.errors import InvalidInput, InvalidType

if TYPE_CHECKING:
    from ogive._typing import AnyArray, ArrayLike, IntArray, Kind

_TWO = 2


def check_model(model: Any) -> None:  # noqa: ANN401 - any classifier
    """Check that a model has a decision function or probabilities."""
    if not (hasattr(model, "decision_function") or hasattr(model, "predict_proba")):
        msg = (
            f"`estimator` must have decision_function or predict_proba, "
            f"but {type(model).__name__} has neither."
        )
        raise InvalidType(msg)


def kind_of(model: Any) -> Kind:  # noqa: ANN401 - any classifier
    """Return whether a model's output is logits or probabilities."""
    return "logits" if hasattr(model, "decision_function") else "probs"


def output(model: Any, X: ArrayLike, classes: AnyArray) -> AnyArray:  # noqa: ANN401
    """Return a fitted model's output in the order of `classes`: (N,) for two, else (N, K).

    A class that the model has not seen has probability 0.
    """
    kind = kind_of(model)
    given = model.decision_function(X) if kind == "logits" else model.predict_proba(X)
    values: AnyArray = np.asarray(given)
    known = np.asarray(model.classes_)
    if values.ndim == 1:  # the log-odds of the second of two classes
        values = np.stack([np.zeros_like(values), values], axis=1)
    if values.shape[1] != known.size:
        msg = (
            f"`estimator` gives {values.shape[1]} columns for {known.size} classes. "
            "A support vector machine? Use decision_function_shape='ovr'."
        )
        raise InvalidInput(msg)
    if not np.array_equal(known, classes):
        whole = np.full((values.shape[0], classes.size), -np.inf if kind == "logits" else 0.0)
        whole[:, _places(known, classes)] = values
        values = whole
    if classes.size > _TWO:
        return values
    return values[:, 1] - values[:, 0] if kind == "logits" else values[:, 1]


def _places(known: AnyArray, classes: AnyArray) -> IntArray:
    """Return the column of each class that the model knows."""
    order = np.argsort(classes, kind="stable")  # a fitted model may have any order
    return order[np.searchsorted(classes, known, sorter=order)]
