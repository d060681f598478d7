"""A classifier and its calibrator as one: `CalibratedClassifier`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sklearn import get_config
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin
from sklearn.frozen import FrozenEstimator
from sklearn.utils import get_tags, indexable
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted

from ogive._numerics.splits import pairs
from ogive.calibrators.grouped_map import GroupedMap
from ogive.calibrators.multiclass.compose import fit_multiclass, takes_folds
from ogive.errors import DoesNotApply, InvalidInput
from ogive.estimators._calibrator import interval_of
from ogive.estimators.base_rates import Shiftable, class_shares
from ogive.estimators.cross_fit import Rows, fit_fold, fit_model, folds_of, unrouted
from ogive.estimators.grouped import ScoredInGroups, fit_grouped, grouped_probabilities, groups_at
from ogive.estimators.judged import Judged
from ogive.estimators.labels import as_codes, as_labels, as_sample_weight, refuse_one_class
from ogive.estimators.model_output import check_model, kind_of, output
from ogive.rows.check import as_clusters
from ogive.rows.frames import check_index
from ogive.rows.predictions import Predictions
from ogive.studies.fitted_on import FOLDS

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Self

    from ogive._typing import AnyArray, ArrayLike, FloatArray, IntArray, Kind, WeightKind
    from ogive.calibrators.group_summary import GroupSummary
    from ogive.calibrators.impossible import Impossible
    from ogive.calibrators.multiclass.summary import VectorSummary
    from ogive.calibrators.spline_summary import SplineSummary
    from ogive.estimators.cross_fit import Fold
    from ogive.estimators.curves import Multiclass

_TWO = 2


class _Known(NamedTuple):
    """What is known of the rows beside their outcomes, for the calibrator."""

    weights: FloatArray | None
    clusters: IntArray | None
    groups: Any


class _Fitted(NamedTuple):
    """A calibrator, and what its summary is from."""

    gamma: Any
    judged: Judged | GroupedMap


class CalibratedClassifier(
    Shiftable,
    ScoredInGroups,
    ClassifierMixin,  # type: ignore[misc]
    MetaEstimatorMixin,  # type: ignore[misc]
    BaseEstimator,  # type: ignore[misc]
):
    """A classifier whose probabilities are calibrated.

    By default the model is fitted on all rows, and one calibrator on its out-of-fold output:
    each row is predicted by a copy that was not trained on it. A fitted model (``cv="prefit"``,
    or wrapped in scikit-learn's `FrozenEstimator`) is left as it is, and the calibrator is
    fitted on the rows given, which should be new to the model.

    Parameters
    ----------
    estimator : classifier
        Its decision_function is read as logits; without one, its predict_proba as probabilities.
        With two classes the curve is that of the second one, and the decision may move.
    method : str
        A name of `ogive.calibrators.METHODS`.
    cv : int, splitter, iterable of (train, test) or "prefit"
        The folds. A number: each class's distinct rows are dealt to that many folds by what they
        hold, so that the order of the rows does not matter and copies of a row stay together.
    ensemble : bool
        Keep each fold's model with a calibrator of its own, and average; instead of one model
        on all rows and one calibrator.
    multiclass : {"keep", "free", "ranks", "ovr", "every-rank"}
        How a method that reads a curve gives full vectors for three classes or more; see
        `PlattCalibrator`.
    n_jobs : int, optional
        How many folds are fitted at once, by joblib.
    verbose : int
        Passed on to joblib.
    impossible : {None, "zero"}
        With "zero", a probability of 0 of the model stays 0, as a logit of −inf always does.
    weight_kind : {"repetition", "sampling"}
        What `sample_weight` of `fit` means to the calibrator: see `ogive.Predictions`.

    Attributes
    ----------
    classes_ : (K,) array
    models_ : list of fitted classifiers
        One, or one for each fold.
    maps_ : list of MatrixMap
        The calibrator of each model; with groups, GroupedMap.
    n_features_in_, feature_names_in_
        As the model has them.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from ogive import CalibratedClassifier
    >>> X, y = make_classification(600, random_state=0)
    >>> model = CalibratedClassifier(GaussianNB(), method="platt").fit(X, y)
    >>> model.predict_proba(X[:1]).round(2)
    array([[0.97, 0.03]])
    """

    def __init__(
        self,
        estimator: Any,  # noqa: ANN401 - any classifier
        method: str = "spline",
        *,
        cv: int | str | Iterable[Any] = FOLDS,
        ensemble: bool = False,
        multiclass: Multiclass = "keep",
        n_jobs: int | None = None,
        verbose: int = 0,
        impossible: Impossible = None,
        weight_kind: WeightKind = "repetition",
    ) -> None:
        self.estimator = estimator
        self.method = method
        self.cv = cv
        self.ensemble = ensemble
        self.multiclass = multiclass
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.impossible = impossible
        self.weight_kind = weight_kind

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        sample_groups: ArrayLike | None = None,
        *,
        clusters: ArrayLike | None = None,
        **params: Any,  # noqa: ANN401 - for the model or the splitter
    ) -> Self:
        """Fit the model and its calibrator.

        Parameters
        ----------
        X : array-like, (N, features), or whatever the model takes
        y : array-like, (N,)
        sample_weight : array-like, (N,), optional
            For the calibrator, and for the model if it takes weights. Weight 2 is the row twice.
        sample_groups : array-like, (N,) or (N, k), or a table, optional
            The group of each row, for the calibrator: each is calibrated as far as its rows differ
            (`ogive.fit_groups`; method "spline", two classes). `predict_proba` needs them too.
        clusters : array-like, (N,), optional
            Rows with the same value belong together (patients, customers, days): none is predicted
            by a copy that saw its cluster, if `cv` is a number, and the band and `summary()` allow
            for it. Not together with `sample_groups`.
        params
            ``groups`` goes to the splitter, as in ``cv=GroupKFold(5)`` with
            ``fit(X, y, groups=g)``; the rest to the model's fit. With metadata routing: what the
            model or the splitter asked for.
        """
        check_index(
            X=X, y=y, sample_weight=sample_weight, sample_groups=sample_groups, clusters=clusters
        )
        labels = as_labels(y, type(self).__name__)
        X, labels = indexable(X, labels)
        weights = as_sample_weight(sample_weight, np.empty((labels.shape[0], 1)))
        refuse_one_class(labels, weights)
        clusters = as_clusters(clusters, labels.shape[0], of="X", weights=weights)
        if sample_groups is not None and clusters is not None:
            msg = "`clusters` and `sample_groups` do not go together yet: leave one of them out."
            raise InvalidInput(msg)
        routed = self._routed(sample_weight, params)
        known = _Known(weights, clusters, sample_groups)
        if self._prefit():
            fitted = self._fit_calibrator_only(X, labels, known)
        else:
            fitted = self._cross_fit(X, labels, known, routed)
        self.maps_ = [one.gamma for one in fitted]
        self._judged = [one.judged for one in fitted]
        self.class_shares_ = class_shares(
            as_codes(labels, self.classes_), weights, self.classes_.size
        )
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(self.models_[0], name):
                setattr(self, name, getattr(self.models_[0], name))
        return self

    def _prefit(self) -> bool:
        return isinstance(self.estimator, FrozenEstimator) or (
            isinstance(self.cv, str) and self.cv == "prefit"
        )

    def _fit_calibrator_only(self, X: ArrayLike, labels: AnyArray, known: _Known) -> list[_Fitted]:
        """Calibrate a model that is fitted already."""
        model = self.estimator
        check_is_fitted(model)
        check_model(model)
        self.classes_ = np.asarray(model.classes_)
        codes = as_codes(labels, self.classes_)
        self.models_ = [model]
        values = output(model, X, self.classes_)
        return [self._fit_map(values, kind_of(model), codes, known, np.arange(codes.size))]

    def _cross_fit(
        self,
        X: Any,  # noqa: ANN401 - whatever the model takes
        labels: AnyArray,
        known: _Known,
        routed: Any,  # noqa: ANN401 - scikit-learn's own class
    ) -> list[_Fitted]:
        """Fit the folds' models, and one calibrator or one for each."""
        self.classes_ = np.unique(labels)
        codes = np.searchsorted(self.classes_, labels)
        given = Rows(X, labels, self.classes_, routed.estimator.fit)
        how: Any = {"split": routed.splitter.split, "ensemble": self.ensemble}
        rows, folds = folds_of(given, codes, self.cv, known.weights, known.clusters, **how)
        jobs = (delayed(fit_fold)(self.estimator, given, train, test) for train, test in folds)
        done = list(Parallel(n_jobs=self.n_jobs, verbose=self.verbose)(jobs))
        if self.ensemble:
            self.models_ = [fold.model for fold in done]
            parts = [[fold] for fold in done]
        else:
            self.models_ = [fit_model(self.estimator, given, rows)]
            parts = [done]
        return [self._fit_folds(part, codes, known) for part in parts]

    def _fit_folds(self, folds: list[Fold], codes: IntArray, known: _Known) -> _Fitted:
        """Fit a calibrator to the out-of-fold output of these folds."""
        rows = np.concatenate([fold.rows for fold in folds])
        values = np.concatenate([fold.values for fold in folds])
        fold = np.repeat(np.arange(len(folds)), [part.rows.size for part in folds])
        return self._fit_map(values, folds[0].kind, codes, known, rows, fold)

    def _fit_map(  # noqa: PLR0917 - internal
        self,
        values: FloatArray,
        kind: Kind,
        codes: IntArray,
        known: _Known,
        rows: IntArray,
        fold: IntArray | None = None,
    ) -> _Fitted:
        """Fit a calibrator to some rows; one that cross-validates takes the folds there are."""
        weights, clusters = (
            None if x is None else x[rows] for x in (known.weights, known.clusters)
        )
        how: Any = {"weight_kind": self.weight_kind, "clusters": clusters}
        how["classes"] = np.arange(self.classes_.size)
        preds = Predictions(values, codes[rows], kind=kind, sample_weight=weights, **how)
        if known.groups is not None:
            grouped = fit_grouped(preds, groups_at(known.groups, rows, codes.size), self.method)
            return _Fitted(grouped, grouped)
        options: dict[str, Any] = {"impossible": self.impossible}
        if fold is not None and fold[-1] > 0 and takes_folds(self.method):
            options["cv"] = list(pairs(fold))
        gamma = fit_multiclass(preds, self.method, multiclass=self.multiclass, **options)
        return _Fitted(gamma, Judged(gamma, preds, self.method))

    def summary(self) -> SplineSummary | VectorSummary | GroupSummary:
        """Tell in words and numbers what the calibrator does; with `ensemble`, see `summaries`.

        Its verdict is that of `ogive fit` on the rows that the calibrator was fitted to. What needs
        cross-validation is cross-validated when it is first asked for.
        """
        check_is_fitted(self)
        if len(self._judged) > 1:
            msg = f"there are {len(self._judged)} calibrators: call summaries()."
            raise InvalidInput(msg)
        return self._judged[0].summary()

    def summaries(self) -> list[SplineSummary | VectorSummary | GroupSummary]:
        """Return the summary of each calibrator: one, or with `ensemble` one for each fold."""
        check_is_fitted(self)
        return [judged.summary() for judged in self._judged]

    def predict_proba(self, X: ArrayLike, sample_groups: ArrayLike | None = None) -> FloatArray:
        """Return calibrated probabilities, (N, K): every row sums to 1."""
        check_is_fitted(self)
        if sample_groups is not None and not isinstance(self.maps_[0], GroupedMap):
            msg = "`sample_groups` are given, but the calibrator was fitted without groups."
            raise InvalidInput(msg)
        total = self._calibrated(self.models_[0], self.maps_[0], X, sample_groups)
        for model, gamma in zip(self.models_[1:], self.maps_[1:], strict=True):
            total += self._calibrated(model, gamma, X, sample_groups)
        if len(self.models_) > 1:
            total /= len(self.models_)
        return total

    def predict_interval(self, X: ArrayLike, *, simultaneous: bool = False) -> FloatArray:
        """Return the ends of the calibrator's 95 % band, (N, 2): see `PlattCalibrator`.

        With `ensemble` they are the means of those of the folds.
        """
        check_is_fitted(self)
        if len(self.maps_) > 1 and self.classes_.size > _TWO:
            msg = (
                "with `ensemble` the folds may find other classes most probable, and three classes "
                "or more have no band: fit with ensemble=False."
            )
            raise DoesNotApply(msg)
        ends = [
            interval_of(gamma, self._output(model, X), simultaneous=simultaneous)
            for model, gamma in zip(self.models_, self.maps_, strict=True)
        ]
        mean: FloatArray = np.mean(ends, axis=0)
        return mean

    def _output(self, model: Any, X: ArrayLike) -> Predictions:  # noqa: ANN401
        return Predictions(output(model, X, self.classes_), kind=kind_of(model))

    def _calibrated(
        self,
        model: Any,  # noqa: ANN401 - a classifier
        gamma: Any,  # noqa: ANN401 - a fitted map
        X: ArrayLike,
        groups: ArrayLike | None,
    ) -> FloatArray:
        preds = self._output(model, X)
        if isinstance(gamma, GroupedMap):
            return grouped_probabilities(gamma, preds, groups, self.impossible)
        probabilities: FloatArray = gamma(preds)
        return probabilities

    def predict(self, X: ArrayLike, sample_groups: ArrayLike | None = None) -> AnyArray:
        """Return the most probable class of each row; of equal ones, that of the lowest index."""
        check_is_fitted(self)
        most: AnyArray = self.classes_[self.predict_proba(X, sample_groups).argmax(axis=1)]
        return most

    def _routed(self, sample_weight: ArrayLike | None, params: dict[str, Any]) -> Any:  # noqa: ANN401
        """Return what the model's fit and the splitter are to be given."""
        if get_config()["enable_metadata_routing"]:
            return process_routing(self, "fit", sample_weight=sample_weight, **params)
        used = not self._prefit()
        return unrouted(self.estimator, sample_weight, params, used=used, cv=self.cv)

    def get_metadata_routing(self) -> MetadataRouter:
        """Return who asks for what: this estimator, the model, and the splitter."""
        to_fit = MethodMapping().add(caller="fit", callee="fit")
        to_split = MethodMapping().add(caller="fit", callee="split")
        router = MetadataRouter(owner=self).add_self_request(self)
        router.add(estimator=self.estimator, method_mapping=to_fit)
        return router.add(splitter=self.cv, method_mapping=to_split)

    def __sklearn_tags__(self) -> Any:  # noqa: ANN401 - scikit-learn's own class
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = get_tags(self.estimator).input_tags.sparse
        return tags
