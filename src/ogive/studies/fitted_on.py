"""What an artifact says of its data: the KS error before, and after by cross-fitting.

On the rows a map was fitted to, its KS error is small by construction and says nothing. So the
rows are cut into folds, each is calibrated by a map fitted to the others, and the error is that
of all rows so calibrated, together.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import numpy as np

from ogive._folds import folds as dealt
from ogive.calibrators import VECTORS, find_method
from ogive.calibrators.maps import Map
from ogive.curve import Curve
from ogive.errors import FallbackWarning, NotEnoughData
from ogive.estimators.folds import content_folds, pairs
from ogive.export.artifact import FittedOn
from ogive.metrics.ks import ks_error
from ogive.predictions import Predictions
from ogive.studies.fitting import VECTOR, apply, fit

if TYPE_CHECKING:
    from ogive._typing import BoolArray, FloatArray, IntArray
    from ogive.calibrators.maps import Fitted

FOLDS = 5


def fitted_on(
    data: Predictions | Curve,
    gamma: Fitted,
    method: str | None = None,
    *,
    folds: int = FOLDS,
    date: str | None = None,
    tag: str | None = None,
) -> FittedOn:
    """Return what `ogive.save` writes beside a calibrator.

    Parameters
    ----------
    data : Predictions or Curve
        What it was fitted to. Of a curve, the error after is known if its counts can be dealt
        to folds: not with sampling weights.
    gamma : fitted map or calibrator
    method : str, optional
        The method asked for. Default: that of the calibrator.
    folds : int
        0 or 1 leaves out the error after, and the fits that it takes.
    date, tag : str, optional
        Written as they are.

    Examples
    --------
    >>> preds = Predictions([0.1, 0.4, 0.6, 0.9] * 9, [0, 1, 0, 1] * 9, kind="probs")
    >>> info = fitted_on(preds, fit(preds, "platt"), tag="v7")
    >>> info.method, info.n, info.folds, info.tag
    ('platt', 36, 5, 'v7')
    """
    name = method or _method_of(gamma)
    if isinstance(data, Curve):
        after = _after_of_curve(data, name, folds) if folds > 1 else None
        return FittedOn(
            n=gamma.n,
            view=gamma.view,
            method=name,
            ks_before=ks_error(data),
            ks_after=after,
            folds=folds if after is not None else None,
            date=date,
            tag=tag,
        )
    view = None if gamma.view == VECTOR else gamma.view
    after = _after(data, name, gamma.view, folds) if folds > 1 else None
    return FittedOn(
        n=gamma.n,
        view=gamma.view,
        method=name,
        kind=data.kind,
        ks_before=ks_error(Curve.from_predictions(data, view)),
        ks_after=after,
        folds=folds if after is not None else None,
        date=date,
        tag=tag,
    )


def _method_of(gamma: Fitted) -> str:
    """Return the method of the curves, for vectors put together from curves."""
    if gamma.method in VECTORS:
        maps = getattr(gamma, "maps")  # noqa: B009 - every such map has them
        return str(maps[0].method)
    return gamma.method


def _after(preds: Predictions, method: str, view: str, folds: int) -> float | None:
    """Return the KS error of rows calibrated by maps that had not seen them."""
    assert preds.labels is not None  # noqa: S101 - it was fitted
    # Equal scores are not copies of one row, and must not stay together.
    rows_of = preds.values.reshape(preds.n, -1)
    fold = content_folds(rows_of, preds.labels, folds, together=False)
    if fold is None or np.unique(fold).size < folds:
        return None
    score, hit = np.empty(preds.n), np.empty(preds.n, dtype=np.bool_)
    for train, held_out in pairs(fold):
        try:
            rows = _calibrated(_rows(preds, train), _rows(preds, held_out), method, view)
        except NotEnoughData:
            return None
        score[held_out], hit[held_out] = rows
    weights = preds.weights
    return ks_error(Curve.from_scores(score, hit, weights=weights, weight_kind=preds.weight_kind))


def _after_of_curve(curve: Curve, method: str, folds: int) -> float | None:
    """Return the KS error of a curve's samples under maps that had not seen them."""
    if not np.array_equal(curve.count, curve.square):
        return None
    scores, hits, weights = [], [], []
    for rest, part in dealt(curve, folds):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", FallbackWarning)  # the fit to all has told already
                gamma = fit(rest, method)
        except NotEnoughData:
            return None
        assert isinstance(gamma, Map)  # noqa: S101 - of a curve
        score = gamma.from_tails(part.high, part.tail)
        scores += [score, score]
        hits += [np.ones(score.size), np.zeros(score.size)]
        weights += [part.hits, part.count - part.hits]
    if len(scores) < 2 * folds:
        return None
    joined = (np.concatenate(columns) for columns in (scores, hits))
    return ks_error(Curve.from_scores(*joined, weights=np.concatenate(weights)))


def _calibrated(
    train: Predictions, held_out: Predictions, method: str, view: str
) -> tuple[FloatArray, BoolArray]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FallbackWarning)  # the fit to all rows has told already
        rows = apply(fit(train, find_method(method).name, view), held_out)
    assert rows.hit is not None  # noqa: S101 - there are labels
    return rows.score, rows.hit


def _rows(preds: Predictions, at: IntArray) -> Predictions:
    """Return some rows."""
    assert preds.labels is not None  # noqa: S101
    return Predictions(
        preds.values[at],
        preds.labels[at],
        kind=preds.kind,
        weights=None if preds.weights is None else preds.weights[at],
        weight_kind=preds.weight_kind,
    )
