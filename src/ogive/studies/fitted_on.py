"""What an artifact says of its data: KS error and log loss before, and after by cross-fitting.

On the rows a map was fitted to, its error is small by construction and says nothing. So the
rows are cut into folds, each is calibrated by a map fitted to the others, and the error is that
of all rows so calibrated, together.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ogive._numerics.splits import cluster_folds, content_folds, pairs
from ogive._wording import percent
from ogive.calibrators import MULTICLASS
from ogive.calibrators.maps import Map
from ogive.calibrators.matrix_map import MatrixMap
from ogive.calibrators.multiclass.class_view import ClassViewMap
from ogive.curve import Curve
from ogive.curve.folds import folds as dealt
from ogive.errors import NotEnoughData, OgiveWarning
from ogive.export.artifact import FittedOn
from ogive.export.schema import MAX_FILES
from ogive.metrics.ks import ks_error
from ogive.metrics.proper import nll
from ogive.metrics.vector import nll_vector
from ogive.readers.provenance import file_checksum, rows_checksum
from ogive.rows.predictions import Predictions
from ogive.studies.base_rate import calibration_scores
from ogive.studies.fitting import (
    TWO_CLASSES,
    VECTOR,
    Rows,
    apply,
    curve_of,
    fit,
    may_move,
    with_vectors,
)
from ogive.studies.gain import gain_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from ogive._typing import FloatArray, IntArray, Progress
    from ogive.calibrators.impossible import Impossible
    from ogive.calibrators.maps import Fitted

#: Folds of cross-validation, unless another number is asked for.
FOLDS = 5


def fitted_on(
    data: Predictions | Curve,
    calibrator: Fitted,
    method: str | None = None,
    *,
    cv: int = FOLDS,
    date: str | None = None,
    tag: str | None = None,
    files: Sequence[Path] = (),
    part: str | None = None,
    classes: Sequence[str | int] | None = None,
    progress: Progress | None = None,
) -> FittedOn:
    """Return what `ogive.save` writes beside a calibrator.

    Parameters
    ----------
    data : Predictions or Curve
        What it was fitted to. Of a curve, the error after is known if its counts can be dealt
        to folds: not with sampling weights.
    calibrator : fitted map or calibrator
    method : str, optional
        The method asked for. Default: that of the calibrator.
    cv : int
        0 or 1 leaves out the error after, and the fits that it takes.
    date, tag : str, optional
        Written as they are.
    files, part : sequence of paths, and str, optional
        Where the rows are from: calibrated files are then known by it.
    classes : sequence, optional
        The label of each column, of a curve; predictions have their own.
    progress : function of (what, done, total), optional

    Examples
    --------
    >>> preds = Predictions([0.1, 0.4, 0.6, 0.9] * 9, [0, 1, 0, 1] * 9, kind="probs")
    >>> info = fitted_on(preds, fit(preds, "platt"), tag="v7")
    >>> info.method, info.n, info.folds, info.tag
    ('platt', 36, 5, 'v7')
    """
    name = method or method_of(calibrator)
    if isinstance(data, Curve):
        before = _Errors(ks_error(data), nll(data))
        after = _after_of_curve(data, name, cv) if cv > 1 else None
    else:
        before = _errors(data, None, calibrator.view)
        how: Any = {"score_only": isinstance(calibrator, Map), "progress": progress}
        how["impossible"] = getattr(calibrator, "impossible", None)
        after = _after(data, name, calibrator.view, cv, **how) if cv > 1 else None
    if after is not None and (own := gain_of(data, calibrator, cv=0)) is not None:
        # Each row left out: the gain that decides.
        after = after._replace(log_loss=before.log_loss - own.value)
    names = None if classes is None else tuple(classes)
    if isinstance(data, Predictions) and not data.one_column:
        names = tuple(data.classes.tolist())
    return FittedOn(
        n=calibrator.n,
        view=calibrator.view,
        method=name,
        kind=None if isinstance(data, Curve) else data.kind,
        classes=names,
        K=None if names is None else len(names),
        base_rate=_base_rate(data, calibrator),
        scores=_scores(data, calibrator),
        ks_before=before.ks,
        ks_after=None if after is None else after.ks,
        log_loss_before=before.log_loss,
        log_loss_after=None if after is None else after.log_loss,
        folds=cv if after is not None else None,
        date=date,
        tag=tag,
        rows=None if isinstance(data, Curve) else rows_checksum(data.values),
        files=_checksums(files),
        part=part,
    )


def _base_rate(data: Predictions | Curve, gamma: Fitted) -> float | tuple[float, ...] | None:
    """Return the share of class 1, or of every class; None for views whose outcome is no class."""
    if isinstance(gamma, Map | ClassViewMap) and "top" in gamma.view:
        return None
    if isinstance(gamma, Map):
        curve = data if isinstance(data, Curve) else Curve.from_predictions(data, gamma.view)
        return float(curve.total_hits) / float(curve.n)
    if isinstance(data, Curve):
        return None
    assert data.labels is not None  # noqa: S101 - it was fitted
    counts = np.bincount(data.labels, data.sample_weight, minlength=data.K).astype(np.float64)
    return tuple((counts / counts.sum()).tolist())


def _scores(data: Predictions | Curve, calibrator: Fitted) -> dict[str, list[float]] | None:
    """Return the calibrated scores of two classes in bins, for which `ogive shift --like` asks."""
    if isinstance(calibrator, Map) and "top" not in calibrator.view:
        curve = data if isinstance(data, Curve) else Curve.from_predictions(data, calibrator.view)
        q = calibrator.from_tails(curve.high, curve.tail)
        return calibration_scores(q, curve.count, curve.hits)
    if (
        isinstance(calibrator, MatrixMap)
        and isinstance(data, Predictions)
        and data.K == TWO_CLASSES
    ):
        count = data.row_weights
        return calibration_scores(calibrator(data)[:, 1], count, count * (data.labels == 1))
    return None


def most_folds(data: Predictions | Curve) -> int:
    """Return in how many folds these rows can be cut: every fold needs rows of the largest class.

    With clusters every fold needs one of them.

    >>> most_folds(Curve.from_scores([0.2, 0.4, 0.6], [0, 1, 0]))
    2
    """
    if isinstance(data, Curve):
        hits = float(data.hits.sum())
        return int(max(hits, float(data.count.sum()) - hits))
    assert data.labels is not None  # noqa: S101 - it is fitted
    clusters = data.n if data.clusters is None else np.unique(data.clusters).size
    return min(int(np.bincount(data.labels).max()), clusters)


def _checksums(files: Sequence[Path]) -> tuple[str, ...] | None:
    return tuple(map(file_checksum, files)) if 0 < len(files) <= MAX_FILES else None


def before_and_after(info: FittedOn) -> str:
    """Say in words what calibrating did, on rows that the calibrators had not seen.

    >>> print(before_and_after(FittedOn(n=9, view="vector", method="spline", folds=5, ks_before=0.1,
    ...     ks_after=0.02, log_loss_before=0.5, log_loss_after=0.4)))
    KS error 10.00 % before, 2.00 % after (5 folds); log loss 0.5000 before, 0.4000 after, of \
whole vectors (cross-validated; lower is better).
    """
    if info.ks_before is None or info.log_loss_before is None:
        return ""
    whole = ", of whole vectors" if info.view == VECTOR else ""
    if info.ks_after is None or info.log_loss_after is None:
        loss = f"log loss {info.log_loss_before:.4f}{whole}"
        return f"KS error {percent(info.ks_before)} and {loss} before calibration."
    return (
        f"KS error {percent(info.ks_before)} before, {percent(info.ks_after)} after "
        f"({info.folds} folds); log loss {info.log_loss_before:.4f} before, "
        f"{info.log_loss_after:.4f} after{whole} (cross-validated; lower is better)."
    )


def cross_validated_log_loss(
    preds: Predictions, method: str, view: str = VECTOR
) -> tuple[float, float] | None:
    """Return the log loss of rows as they are, and cross-validated; None: too few rows."""
    after = _after(preds, method, view)
    return None if after is None else (_errors(preds, None, view).log_loss, after.log_loss)


class _Errors(NamedTuple):
    """The KS error and the log loss of the same rows."""

    ks: float
    log_loss: float


def _errors(preds: Predictions, vectors: FloatArray | None, view: str) -> _Errors:
    """Return the errors of a view; of whole vectors, KS is that of the top class."""
    if view != VECTOR:
        curve = Curve.from_predictions(preds, view)
        return _Errors(ks_error(curve), nll(curve))
    rows = preds if vectors is None else with_vectors(preds, vectors)
    top = "class-1" if preds.one_column else "top-1"
    return _Errors(ks_error(Curve.from_predictions(rows, top)), nll_vector(preds, vectors))


def method_of(calibrator: Fitted) -> str:
    """Return the method of the curves, for vectors put together from curves."""
    if isinstance(calibrator, ClassViewMap):
        return calibrator.event.words
    if calibrator.method not in MULTICLASS:
        return calibrator.words
    maps = getattr(calibrator, "maps", None)
    name = maps[0].words if maps else getattr(calibrator, "top").words  # noqa: B009
    usual = may_move(calibrator) or calibrator.method == ("keep" if name == "spline" else "ranks")
    return str(name) if usual or calibrator.view != VECTOR else f"{name}:{calibrator.method}"


def _after(
    preds: Predictions,
    method: str,
    view: str,
    cv: int = FOLDS,
    **how: Any,  # noqa: ANN401 - those of `cross_fitted`
) -> _Errors | None:
    """Return the errors of rows calibrated by maps that had not seen them."""
    rows = cross_fitted(preds, method, view, cv, **how)
    if rows is None or rows.hit is None:
        return None
    if rows.vectors is not None and view == VECTOR:
        return _errors(preds, rows.vectors, VECTOR)
    curve = curve_of(rows, preds)
    return _Errors(ks_error(curve), nll(curve))


def cross_fitted(
    preds: Predictions,
    method: str,
    view: str,
    cv: int = FOLDS,
    *,
    impossible: Impossible = None,
    score_only: bool = False,
    progress: Progress | None = None,
    on_each: Callable[[Rows], None] | None = None,
) -> Rows | None:
    """Return rows calibrated by maps that had not seen them; None: too few rows for the folds.

    on_each : is given all rows, calibrated by the map of each fold
    """
    assert preds.labels is not None  # noqa: S101 - it was fitted
    fold = _folds(preds, cv)
    if fold is None or np.unique(fold).size < cv:
        return None
    score, hit = np.empty(preds.n), np.empty(preds.n, dtype=np.bool_)
    vectors = np.empty((preds.n, preds.K)) if view == VECTOR else None
    for done, (train, held_out) in enumerate(pairs(fold)):
        if progress is not None:
            progress(f"cross-validating, fold {done + 1}", done, cv)
        try:
            how: Any = {"impossible": impossible, "score_only": score_only}
            fitted = _fitted(preds.take(train), method, view, **how)
        except NotEnoughData:
            return None
        rows = apply(fitted, preds.take(held_out))
        if on_each is not None:
            on_each(apply(fitted, preds))
        score[held_out], hit[held_out] = rows.score, rows.hit
        if vectors is not None:
            vectors[held_out] = rows.vectors
    return Rows(score, hit, vectors)


def _folds(preds: Predictions, cv: int) -> IntArray | None:
    """Return the fold of each row; a cluster is never cut."""
    assert preds.labels is not None  # noqa: S101 - it was fitted
    rows = preds.values.reshape(preds.n, -1)
    if preds.clusters is not None:
        return cluster_folds(rows, preds.labels, preds.clusters, preds.sample_weight, cv)
    # Equal scores are not copies of one row, and must not stay together.
    return content_folds(rows, preds.labels, cv, together=False)


def _after_of_curve(curve: Curve, method: str, cv: int) -> _Errors | None:
    """Return the errors of a curve's samples under maps that had not seen them."""
    if not np.array_equal(curve.count, curve.square):
        return None
    scores, hits, weights = [], [], []
    for rest, part in dealt(curve, cv):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", OgiveWarning)  # the fit to all has warned already
                gamma = fit(rest, method)
        except NotEnoughData:
            return None
        assert isinstance(gamma, Map)  # noqa: S101 - of a curve
        score = gamma.from_tails(part.high, part.tail)
        scores += [score, score]
        hits += [np.ones(score.size), np.zeros(score.size)]
        weights += [part.hits, part.count - part.hits]
    if len(scores) < 2 * cv:
        return None
    joined = (np.concatenate(columns) for columns in (scores, hits))
    whole = Curve.from_scores(*joined, sample_weight=np.concatenate(weights))
    return _Errors(ks_error(whole), nll(whole))


def _fitted(
    train: Predictions,
    method: str,
    view: str,
    **how: Any,  # noqa: ANN401 - those of `fit`
) -> Fitted:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OgiveWarning)  # the fit to all rows has warned already
        return fit(train, method, view, **how)
