"""What all calibrators have in common as scikit-learn estimators.

X holds a column for each class: logits or probabilities, not features. A subclass stores its own
parameters in ``__init__`` and says in ``_fit_map`` what is fitted to the predictions.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from ogive.calibrators.grouped_map import GroupedMap
from ogive.calibrators.impossible import check_impossible, warn_of_labels
from ogive.errors import DoesNotApply
from ogive.estimators.base_rates import Shiftable, class_shares
from ogive.estimators.labels import as_labels, as_sample_weight, refuse_one_class
from ogive.rows.check import on_host
from ogive.rows.frames import check_index, names_of
from ogive.rows.labels import LabelSet, resolve_classes
from ogive.rows.predictions import Predictions, settled_kind

if TYPE_CHECKING:
    from typing import Self

    from ogive._typing import AnyArray, ArrayLike, FloatArray, IntArray, Kind, WeightKind
    from ogive.calibrators.impossible import Impossible
    from ogive.calibrators.matrix_map import MatrixMap

_TWO = 2
_FLOATS = [np.float64, np.float32, np.float16]


class _Calibrator(Shiftable, ClassifierMixin, BaseEstimator):  # type: ignore[misc] # scikit-learn has no types
    """A calibrator of whole vectors, as a scikit-learn classifier.

    Attributes
    ----------
    classes_ : (K,) array
        The class of each column of the probabilities. Sorted, where the columns of X are named
        after the classes.
    map_ : MatrixMap
        What was fitted: frozen numbers, which `ogive.save` writes. Its columns are in the order of
        ``classes_``.
    kind_ : {"logits", "probs"}
        What the columns of X were in `fit`, and are in `predict_proba`.
    n_features_in_ : int
        The number of columns.
    feature_names_in_ : (n_features_in_,) array
        Their names, where X had names.
    """

    def __init__(
        self,
        *,
        kind: Kind | None = None,
        classes: ArrayLike | None = None,
        n_jobs: int | None = None,
        impossible: Impossible = None,
        weight_kind: WeightKind = "repetition",
    ) -> None:
        self.kind = kind
        self.classes = classes
        self.n_jobs = n_jobs
        self.impossible = impossible
        self.weight_kind = weight_kind

    @abstractmethod
    def _fit_map(self, preds: Predictions) -> MatrixMap:
        """Fit to labelled predictions of two classes or more."""

    def _fitted(self, preds: Predictions) -> Any:  # noqa: ANN401 - a fitted map
        return replace(self._fit_map(preds), impossible=self.impossible)

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        clusters: ArrayLike | None = None,
    ) -> Self:
        """Fit to the outputs of a model on rows it was not trained on.

        Parameters
        ----------
        X : array-like, (N, K), (N, 1) or (N,)
            A column for each class; one column is class 1 of two.
        y : array-like, (N,)
            Integers in [0, K) are column indices; other labels must number K.
        sample_weight : array-like, (N,), optional
            Weight 2 is the same as the row twice, unless `weight_kind` is "sampling".
        clusters : array-like, (N,), optional
            Rows with the same value belong together (patients, customers, days): the band and
            `summary()` allow for it. Methods that read whole matrices are fitted as without.
        """
        check_index(X=X, y=y, sample_weight=sample_weight, clusters=clusters)
        names, given = names_of(X), y
        values, y = validate_data(
            self, _upright(X), on_host(y), ensure_all_finite=False, dtype=_FLOATS
        )
        labels = as_labels(y, type(self).__name__)
        weights = as_sample_weight(sample_weight, values)
        refuse_one_class(labels, weights)
        self.kind_: Kind = settled_kind(values, self.kind)
        self._order = self._settle(values, labels, names, given)
        preds = Predictions(
            values if self._order is None else values[:, self._order],
            labels,
            kind=self.kind_,
            classes=self.classes_,
            sample_weight=weights,
            weight_kind=self.weight_kind,
            clusters=clusters,
            n_jobs=_threads(self.n_jobs),
        )
        check_impossible(self.impossible)
        warn_of_labels(preds, self.impossible)
        self.map_ = self._fitted(preds)
        assert preds.labels is not None  # noqa: S101 - they were given
        self.class_shares_ = class_shares(preds.labels, preds.sample_weight, preds.K)
        return self

    def predict_proba(self, X: ArrayLike) -> FloatArray:
        """Return calibrated probabilities, (N, K): every row sums to 1."""
        check_is_fitted(self)
        probabilities: FloatArray = self.map_(self._predictions(X), n_jobs=_threads(self.n_jobs))
        return probabilities

    def predict_interval(self, X: ArrayLike, *, simultaneous: bool = False) -> FloatArray:
        """Return the ends of the 95 % band of the calibrated probability, (N, 2): low, high.

        Of two classes it is the probability of ``classes_[1]``; of more that of the most probable
        class. Methods without a band raise an error that names those that have one.

        Parameters
        ----------
        X : array-like, (N, K), (N, 1) or (N,)
        simultaneous : bool
            Whether the band holds the whole curve in 95 of 100 samples; by default it holds each
            place by itself.
        """
        check_is_fitted(self)
        return interval_of(self.map_, self._predictions(X), simultaneous=simultaneous)

    def _predictions(self, X: ArrayLike) -> Predictions:
        X = _upright(X) if self.n_features_in_ == 1 else on_host(X)
        values = validate_data(self, X, reset=False, ensure_all_finite=False, dtype=_FLOATS)
        values = values if self._order is None else values[:, self._order]
        return Predictions(values, kind=self.kind_, n_jobs=_threads(self.n_jobs))

    def predict(self, X: ArrayLike) -> AnyArray:
        """Return the most probable class of each row; of equal ones, that of the lowest index."""
        check_is_fitted(self)
        most: AnyArray = self.classes_[self.predict_proba(X).argmax(axis=1)]
        return most

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "map_")

    def __sklearn_tags__(self) -> Any:  # noqa: ANN401 - scikit-learn's own class
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True  # X is taken as the classes' scores: no learner
        return tags

    def _settle(
        self,
        values: AnyArray,
        labels: AnyArray,
        names: list[object] | None,
        given: ArrayLike,
    ) -> IntArray | None:
        """Set `classes_`; return the order of the columns in which names of classes are sorted."""
        width, classes = values.shape[1], self.classes
        if classes is None and labels.dtype == np.bool_ and width <= _TWO:
            classes = np.array([False, True])  # scikit-learn keeps the type
        found = resolve_classes(
            [LabelSet(labels, lambda: values.argmax(axis=1), source=given)],
            width,
            given=classes,
            names=names if width > 1 else None,
            door="estimator",
        )
        order = np.argsort(found.labels) if found.how == "by name" else np.arange(found.labels.size)
        self.classes_ = found.labels[order]
        return None if np.array_equal(order, np.arange(order.size)) else order


def interval_of(
    gamma: Any,  # noqa: ANN401 - a MatrixMap, or a GroupedMap
    preds: Predictions,
    *,
    simultaneous: bool,
) -> FloatArray:
    """Return the band of class 1 of two classes, or of the most probable class of more, (N, 2)."""
    if isinstance(gamma, GroupedMap):
        msg = "`predict_interval` takes no groups: use the calibrator's own band(scores, groups)."
        raise DoesNotApply(msg)
    gamma.check_band(simultaneous=simultaneous)
    of = 1 if gamma.K == _TWO else None
    return np.stack(gamma.interval(preds, of=of, simultaneous=simultaneous), axis=1)


def _upright(X: ArrayLike) -> ArrayLike:
    """Return a 1-D array as one column; anything else as it is, or as NumPy can read it."""
    X = on_host(X)
    ndim = X.ndim if hasattr(X, "ndim") else np.asarray(X).ndim
    return np.asarray(X).reshape(-1, 1) if ndim == 1 else X


def _threads(n_jobs: int | None) -> int | None:
    """Return the number of threads that `n_jobs` asks for; None leaves it to the library."""
    if n_jobs is None or n_jobs > 0:
        return n_jobs
    from joblib import effective_n_jobs  # noqa: PLC0415 - comes with scikit-learn

    return int(effective_n_jobs(n_jobs))
