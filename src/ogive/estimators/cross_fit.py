"""Fold by fold: copies of a model, each asked about the rows it was not trained on."""

from __future__ import annotations

import warnings
from numbers import Integral
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import check_cv
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _check_method_params, has_fit_parameter

from ogive._numerics.splits import cluster_folds, content_folds, exact_hashes, pairs
from ogive.errors import FallbackWarning, InvalidInput, OgiveWarning
from ogive.estimators.model_output import check_model, kind_of, output
from ogive.studies.fitted_on import FOLDS

if TYPE_CHECKING:
    from ogive._typing import AnyArray, ArrayLike, FloatArray, IntArray, Kind

_TWO = 2


class Rows(NamedTuple):
    """What the models are trained on."""

    X: Any
    labels: AnyArray
    classes: AnyArray
    params: dict[str, Any]  # for the model's fit; those of the rows' length are cut with them


class Fold(NamedTuple):
    """A fold's model, and its output on the rows it was not trained on."""

    model: Any
    rows: IntArray
    values: FloatArray
    kind: Kind


def fit_fold(estimator: Any, given: Rows, train: IntArray, test: IntArray) -> Fold:  # noqa: ANN401
    """Fit a copy of the model to one part of the rows, and read its output on the other."""
    model = fit_model(estimator, given, train)
    values = output(model, _safe_indexing(given.X, test), given.classes)
    return Fold(model, test, values, kind_of(model))


def fit_model(estimator: Any, given: Rows, rows: IntArray) -> Any:  # noqa: ANN401 - any classifier
    """Fit a fresh copy of the model to some rows."""
    X, labels = given.X, given.labels
    params = _check_method_params(X, params=given.params, indices=rows)
    if rows.size < labels.shape[0]:
        X, labels = _safe_indexing(X, rows), labels[rows]
    model = clone(estimator).fit(X, labels, **params)
    check_model(model)
    return model


def folds_of(
    given: Rows,
    codes: IntArray,
    cv: Any,  # noqa: ANN401 - a number, a splitter or splits
    weights: FloatArray | None,
    clusters: IntArray | None,
    *,
    split: dict[str, Any],
    ensemble: bool,
) -> tuple[IntArray, list[tuple[IntArray, IntArray]]]:
    """Return the rows that count, and the training and calibration rows of each fold.

    codes : (N,) the class of each row
    split : what the splitter asked for
    """
    labels, rows = given.labels, np.arange(codes.size)
    if not isinstance(cv, Integral) or cv < _TWO:
        splitter = check_cv(cv, labels, classifier=True)
        return rows, list(splitter.split(given.X, labels, **split))
    asked = int(cv)
    if weights is not None:
        rows = np.flatnonzero(weights > 0)  # weight 0 is no row
        weights = weights[rows]
    X = _safe_indexing(given.X, rows)
    if clusters is None:
        fold = content_folds(X, codes[rows], asked)
    else:
        fold = _whole_clusters(X, codes[rows], clusters[rows], weights, asked, ensemble=ensemble)
    if fold is None:
        splitter = check_cv(asked, labels[rows], classifier=True)
        found = list(splitter.split(np.zeros(rows.size), labels[rows]))
    else:
        found = list(pairs(fold))
    _check_folds(found, codes[rows], given.classes, asked)
    return rows, [(rows[train], rows[test]) for train, test in found]


def _whole_clusters(
    X: Any,  # noqa: ANN401
    codes: IntArray,
    clusters: IntArray,
    weights: FloatArray | None,
    cv: int,
    *,
    ensemble: bool,
) -> IntArray:
    """Return the fold of each row, which is that of its cluster."""
    found, clusters = np.unique(clusters, return_inverse=True)
    least = 2 * cv if ensemble else cv  # each calibrator needs two clusters
    if found.size < least:
        which, way = (" with ensemble=True", ", or ensemble=False") if ensemble else ("", "")
        msg = (
            f"cv={cv}{which} needs {least} clusters or more, but there are {found.size}. Use "
            f"fewer folds{way}."
        )
        raise InvalidInput(msg)
    hashes = exact_hashes(X)
    key = np.zeros(codes.size) if hashes is None else hashes.astype(np.float64)
    return cluster_folds(key[:, None], codes, clusters, weights, cv)


def _check_folds(
    folds: list[tuple[IntArray, IntArray]], codes: IntArray, classes: AnyArray, asked: int
) -> None:
    """Check that there are as many folds as asked, and each leaves two classes to train on."""
    if len(folds) < asked:
        few = (
            f"cv={asked} needs a class with {asked} different rows, but the largest has "
            f"{len(folds)}"
        )
        if asked > FOLDS:  # they were asked for, and are not quietly fewer
            msg = f"{few}. Use cv={max(len(folds), _TWO)} or less."
            raise InvalidInput(msg)
        warnings.warn(f"{few}: there are fewer folds.", FallbackWarning, stacklevel=5)
    for train, _ in folds:
        if np.unique(codes[train]).size < _TWO:
            rare = classes[np.bincount(codes, minlength=classes.size).argmin()]
            msg = (
                f"cv={asked} leaves a fold with fewer than two classes to train on: "
                f"the class {rare} has too few different rows."
            )
            raise InvalidInput(msg)


class _ToModel(NamedTuple):
    fit: dict[str, Any]


class _ToSplitter(NamedTuple):
    split: dict[str, Any]


class _Given(NamedTuple):
    """What goes where without metadata routing; shaped like scikit-learn's own answer."""

    estimator: _ToModel
    splitter: _ToSplitter


def unrouted(
    estimator: Any,  # noqa: ANN401 - any classifier
    sample_weight: ArrayLike | None,
    params: dict[str, Any],
    *,
    used: bool,
    cv: Any,  # noqa: ANN401 - a number, a splitter, splits or "prefit"
) -> _Given:
    """Give the weights to the model too, if it takes them and is fitted here; groups to `cv`."""
    to_fit = dict(params)
    to_split = {}
    if "groups" in params and not has_fit_parameter(estimator, "groups"):
        to_split["groups"] = to_fit.pop("groups")
        if not hasattr(cv, "split"):
            msg = (
                f"`groups` needs a splitter that keeps them together, not cv={cv!r}: GroupKFold(5)."
            )
            raise InvalidInput(msg)
    if sample_weight is not None and used:
        if has_fit_parameter(estimator, "sample_weight"):
            to_fit["sample_weight"] = sample_weight
        else:
            warnings.warn(
                f"{type(estimator).__name__} takes no sample_weight: the weights are used for "
                "the calibration only.",
                OgiveWarning,
                stacklevel=4,
            )
    return _Given(_ToModel(to_fit), _ToSplitter(to_split))
