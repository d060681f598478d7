"""Fit any case in any container, and answer with probabilities or with the name of an error."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import reduce

import numpy as np

from ogive import Curve, CurveStream, Predictions
from ogive.calibrators import METHODS
from ogive.calibrators.maps import Map
from ogive.calibrators.multiclass.compose import fit_multiclass
from ogive.errors import OgiveError, OgiveWarning
from ogive.estimators import curves, scaling
from tests.cases import ODIR

ESTIMATORS = {
    "spline": curves.SplineCalibrator,
    "paper-spline": curves.PaperSplineCalibrator,
    "platt": curves.PlattCalibrator,
    "isotonic": curves.IsotonicCalibrator,
    "beta": curves.BetaCalibrator,
    "histogram": curves.HistogramCalibrator,
    "venn-abers": curves.VennAbersCalibrator,
    "temperature": scaling.TemperatureCalibrator,
    "vector": scaling.VectorCalibrator,
}


@dataclass(frozen=True)
class Answer:
    """What a fit says of rows, (m, K) or (m,): or the name of the error that refused it."""

    gamma: object = None
    probs: np.ndarray | None = None
    refused: str = ""


class Rows:
    """Rows to fit on: values, labels, weights."""

    def __init__(self, case, values=None, labels=None, weights=None):
        self.given = case.given if values is None else values
        self.labels = case.labels if labels is None else labels
        self.weights = case.weights if weights is None else weights

    def some(self, at):
        new = object.__new__(Rows)
        new.given, new.labels = self.given[at], self.labels[at]
        new.weights = None if self.weights is None else self.weights[at]
        return new


def contained(values, container, dtype="float64"):
    """Return the values in another container and type."""
    values = values.astype(dtype)
    if container == "pandas":
        import pandas as pd

        return pd.DataFrame(values) if values.ndim == 2 else pd.Series(values)
    if container == "list":
        return values.tolist()
    if container == "fortran":
        return np.asfortranarray(values if values.ndim == 2 else values[:, None])
    if container == "strided":
        return np.repeat(values, 2, axis=0)[::2]
    return values


def curve_of(case, rows, container):
    """Return the curve of one column, made in one of many ways."""
    kwargs = {"weight_kind": case.weight_kind}

    def plain(at):
        part = rows.some(at)
        if case.kind == "logits" or container == "predictions":
            return Curve.from_predictions(
                Predictions(
                    part.given,
                    part.labels,
                    kind=case.kind,
                    sample_weight=part.weights,
                    **kwargs,
                )
            )
        return Curve.from_scores(part.given, part.labels, sample_weight=part.weights, **kwargs)

    n = rows.labels.size
    if container == "weighted" and rows.weights is None:
        ones = Rows(case, rows.given, rows.labels, np.ones(n))
        return curve_of(case, ones, "scores")
    if container == "merged":
        cuts = [at for at in np.array_split(np.arange(n), 3) if at.size]
        if rows.weights is None or all(rows.weights[at].any() for at in cuts):
            return reduce(Curve.merge, [plain(at) for at in cuts])
    if container == "summarised":
        return plain(np.arange(n)).summarised(52)
    if container == "stream" and case.kind == "probs":
        stream = CurveStream(bits=52, **kwargs)
        stream.update(rows.given, rows.labels, rows.weights)
        return stream.curve()
    return plain(np.arange(n))


def fitted(case, rows, container="numpy", dtype="float64"):
    """Fit the case's method to rows."""
    if case.way == "score":
        return METHODS[case.method].fit(curve_of(case, rows, container))
    estimator = ESTIMATORS.get(case.method)
    if container == "estimator" and estimator is not None and case.weight_kind == "repetition":
        options = {} if case.way == "matrix" else {"multiclass": case.way}
        model = estimator(kind=case.kind, classes=np.arange(case.classes), n_jobs=1, **options)
        model.fit(rows.given.astype(dtype), rows.labels, sample_weight=rows.weights)
        return model.map_
    preds = Predictions(
        contained(rows.given, container, dtype),
        rows.labels,
        kind=case.kind,
        sample_weight=rows.weights,
        weight_kind=case.weight_kind,
        classes=np.arange(case.classes),  # as small a case may hold few of them
    )
    if case.method in ODIR:
        # One pair: a choice between pairs whose losses differ by less than their fits are exact
        # (1e-5 nats) may go either way.
        grids = {"strengths": [0.1], "offset_strengths": [0.1]}
        return METHODS[case.method].fit(preds, **grids, n_jobs=1)
    if case.way == "matrix":
        return METHODS[case.method].fit(preds, n_jobs=1)
    return fit_multiclass(preds, case.method, multiclass=case.way, n_jobs=1)


def applied(case, gamma, values):
    """Return the probabilities of rows of the case's kind."""
    if isinstance(gamma, Map):
        return gamma(values) if case.kind == "probs" else gamma.from_log_odds(values)
    return gamma(Predictions(values, kind=case.kind), n_jobs=1)


def answer(case, rows=None, shown=None, **how):
    """Fit, and return the probabilities of the shown rows; only ogive's errors are answers."""
    with warnings.catch_warnings(), np.errstate(over="ignore"):
        warnings.simplefilter("error")  # NumPy's warnings are failures
        warnings.simplefilter("ignore", OgiveWarning)
        warnings.filterwarnings("ignore", "The number of unique classes")  # scikit-learn's
        try:
            gamma = fitted(case, Rows(case) if rows is None else rows, **how)
        except OgiveError as error:
            return Answer(refused=type(error).__name__)
        except Exception as error:
            raise AssertionError(f"a foreign {error!r} in {case}") from error
        try:
            return Answer(gamma, applied(case, gamma, case.shown if shown is None else shown))
        except Exception as error:
            raise AssertionError(f"applying: a foreign {error!r} in {case}") from error
