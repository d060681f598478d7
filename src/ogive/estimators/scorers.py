"""Scorers for scikit-learn: ``scoring=ogive.scorers.refinement`` in a search or cross-validation.

A scorer is called with a fitted classifier, rows and labels. All of these are errors or losses, so
their negative is returned: greater is better, as scikit-learn wants it. Of two classes the score is
the probability of the second class, of more it is the probability of the predicted class; only
`refinement` reads whole vectors.

Select models by `refinement`, not by a calibration error: that can be corrected after the choice,
and a model that knows nothing can be perfectly calibrated.
"""

from __future__ import annotations

from math import nan
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.metadata_routing import UNUSED

from ogive.curve import Curve
from ogive.errors import InvalidInput, InvalidType, UnknownName
from ogive.estimators.labels import as_labels, as_sample_weight
from ogive.metrics import MEASURES
from ogive.rows.predictions import Predictions
from ogive.studies.fitted_on import cross_validated_log_loss
from ogive.studies.refinement import refinement as refinement_of_curve
from ogive.studies.spline_errors import spline_errors

if TYPE_CHECKING:
    from collections.abc import Callable

    from ogive._typing import ArrayLike

_TWO_CLASSES = 2


def _refinement(preds: Predictions) -> float:
    """Return the log loss after cross-fitted calibration: of the score, or of whole vectors."""
    if preds.one_column:
        return refinement_of_curve(Curve.from_predictions(preds)).value
    found = cross_validated_log_loss(preds, "spline")
    return nan if found is None else found[1]


def _of_curve(measure: Callable[[Curve], float]) -> Callable[[Predictions], float]:
    return lambda preds: measure(Curve.from_predictions(preds))


_NAMES = ("ks", "kuiper", "ece", "smooth_ece")
LOSSES: dict[str, Callable[[Predictions], float]] = {
    **{name: _of_curve(MEASURES[name]) for name in _NAMES},
    "ici": _of_curve(lambda curve: spline_errors(curve).ici.value),
    "refinement": _refinement,
}


class Scorer(BaseEstimator):  # type: ignore[misc] # scikit-learn has no types
    """The negative of a loss, for ``scoring=``.

    Parameters
    ----------
    loss : {"ks", "kuiper", "ece", "smooth_ece", "ici", "refinement"}
    """

    __metadata_request__score = {"estimator": UNUSED}  # noqa: RUF012 - scikit-learn reads it

    def __init__(self, loss: str = "refinement") -> None:
        self.loss = loss

    def __call__(
        self,
        estimator: Any,  # noqa: ANN401 - any classifier
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
    ) -> float:
        """Return minus the loss of a fitted classifier on rows X with labels y."""
        return self.score(estimator, X, y, sample_weight=sample_weight)

    def score(
        self,
        estimator: Any,  # noqa: ANN401 - any classifier
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
    ) -> float:
        """Return the same; scikit-learn's ``set_score_request`` is about this method."""
        if self.loss not in LOSSES:
            raise UnknownName.among("loss", self.loss, LOSSES)
        if not hasattr(estimator, "predict_proba"):
            msg = f"`estimator` must have predict_proba, and {type(estimator).__name__} has none."
            raise InvalidType(msg)
        values, classes = np.asarray(estimator.predict_proba(X)), estimator.classes_
        if len(classes) < _TWO_CLASSES:
            msg = f"`estimator` knows one class only ({classes[0]}): there is nothing to calibrate."
            raise InvalidInput(msg)
        preds = Predictions(
            values[:, 1] if len(classes) == _TWO_CLASSES else values,
            as_labels(y, type(self).__name__),
            kind="probs",
            classes=classes,
            sample_weight=as_sample_weight(sample_weight, values),
        )
        return -LOSSES[self.loss](preds)


ks = Scorer("ks")
kuiper = Scorer("kuiper")
ece = Scorer("ece")
smooth_ece = Scorer("smooth_ece")
ici = Scorer("ici")
refinement = Scorer("refinement")
