"""Plain calls: arrays, lists and frames go in, without building `Predictions` first.

Scores in [0, 1], one for each row, need no more than their outcomes. A matrix needs its labels and
``kind="probs"`` or ``kind="logits"``: what it holds is never guessed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ogive._html import record_form
from ogive._numerics.splits import random_parts
from ogive.calibrators.maps import Map
from ogive.calibrators.matrix_map import MatrixMap
from ogive.curve import Curve
from ogive.curve.curve import as_curve
from ogive.errors import InvalidInput, InvalidType
from ogive.metrics.binned import BINS
from ogive.rows.check import as_array, as_hits
from ogive.rows.frames import check_index
from ogive.rows.predictions import Predictions, kind_or_default
from ogive.rows.views import View
from ogive.studies import compare as comparing
from ogive.studies import measure as measuring
from ogive.studies.fitting import VECTOR, fit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ogive._typing import AnyArray, ArrayLike, Kind, Progress, WeightKind
    from ogive.calibrators.maps import Fitted
    from ogive.studies.compare import Comparison
    from ogive.studies.measurement import Measurement, Measurements

_MATRIX = 2  # dimensions


def measure(
    data: Predictions | Curve | ArrayLike,
    outcomes: ArrayLike | View | None = None,
    view: str | View | None = None,
    *,
    kind: Kind | None = None,
    classes: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    weight_kind: WeightKind = "repetition",
    clusters: ArrayLike | None = None,
    bins: ArrayLike | int = BINS,
    random_state: int = 0,
    resamples: int = 0,
    more: bool = False,
    progress: Progress | None = None,
) -> Measurement:
    """Measure the calibration of scores or of a matrix: every measure, with a verdict.

    Parameters
    ----------
    data : array-like, (N,) or (N, K); or Predictions, or a Curve
        Scores in [0, 1], or a matrix with a column for each class.
    outcomes : array-like, (N,)
        The outcomes of scores, 0 or 1, or the labels of a matrix. After Predictions or a Curve,
        which have their own, the second argument is `view`.
    view : str, optional
        ``"top-r"``, ``"within-top-r"``, ``"class-k"`` or ``"score"``. Default: ``"top-1"``
        for matrices, ``"score"`` for scores. `measure_all` measures every view.
    kind : {"probs", "logits"}
        What a matrix holds; needed for matrices, and for scores that are log-odds.
    classes : sequence of K labels, optional
        The label of each column. Default: the names of a frame's columns if they are the labels,
        else as `Predictions` has it.
    sample_weight, weight_kind, clusters : optional
        As in `Predictions`.
    bins, random_state, resamples, more, progress : optional
        As in `ogive.studies.measure.measure`.

    Examples
    --------
    >>> import ogive
    >>> ogive.measure([0.9, 0.8, 0.6, 0.7] * 9, [1, 0, 1, 0] * 9).n
    36
    """
    if isinstance(data, Predictions | Curve) and isinstance(outcomes, str | View):
        outcomes, view = None, outcomes
    rows: Any = {"sample_weight": sample_weight, "weight_kind": weight_kind, "clusters": clusters}
    given = as_data(data, outcomes, kind, classes, **rows)
    how: Any = {"bins": bins, "random_state": random_state, "resamples": resamples, "more": more}
    return measuring.measure(given, view, **how, progress=progress)


def measure_all(
    data: Predictions | Curve | ArrayLike,
    outcomes: ArrayLike | None = None,
    *,
    kind: Kind | None = None,
    classes: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    weight_kind: WeightKind = "repetition",
    clusters: ArrayLike | None = None,
    bins: ArrayLike | int = BINS,
    random_state: int = 0,
    resamples: int = 0,
    more: bool = False,
    progress: Progress | None = None,
) -> Measurements:
    """Measure every view of scores or of a matrix, and every class against the rest.

    The parameters are those of `measure`, without `view`.

    >>> import ogive
    >>> ogive.measure_all([0.9, 0.8, 0.6, 0.7] * 9, [1, 0, 1, 0] * 9).views[0].view
    'score'
    """
    rows: Any = {"sample_weight": sample_weight, "weight_kind": weight_kind, "clusters": clusters}
    given = as_data(data, outcomes, kind, classes, **rows)
    how: Any = {"bins": bins, "random_state": random_state, "resamples": resamples, "more": more}
    return measuring.measure_all(given, **how, progress=progress)


def as_data(
    data: Any,  # noqa: ANN401 - Predictions, a Curve or array-like
    outcomes: Any,  # noqa: ANN401
    kind: Kind | None,
    classes: ArrayLike | None,
    **rows: Any,  # noqa: ANN401 - weights and clusters
) -> Predictions | Curve:
    """Return a curve as it is, and anything else as predictions."""
    if not isinstance(data, Curve):
        return as_predictions(data, outcomes, kind=kind, classes=classes, **rows)
    return as_curve(data, outcomes, **rows)


def compare(
    cal: Any,  # noqa: ANN401 - predictions, a pair, or scores
    test: Any = None,  # noqa: ANN401
    methods: Sequence[str] | None = None,
    view: str | None = None,
    *,
    kind: Kind | None = None,
    classes: ArrayLike | None = None,
    score_only: bool = False,
    clusters: ArrayLike | None = None,
    split: float = 0.5,
    random_state: int = 0,
    progress: Progress | None = None,
) -> Comparison:
    """Fit each method on a calibration set and measure it on a test set; the best first.

    Parameters
    ----------
    cal, test : pairs (scores, outcomes), or Predictions
        The two sets. Or scores and outcomes of one set, as two arrays: it is then split at random.
    methods : sequence of str, optional
        Names of `ogive.calibrators.METHODS`. Default: all that apply and are not slow.
    view : str, optional
        Default: ``"top-1"``, or ``"score"``. ``"vector"``: whole vectors.
    kind, classes : optional
        Of matrices, as in `measure`.
    score_only : bool
        For ``top-r`` and ``within-top-r`` of a matrix the spline reads all columns; with this, the
        view's score alone.
    clusters : array-like, optional
        Of one set, as in `measure`: a cluster is then either fitted or tested. Of two sets,
        `Predictions` have their own.
    split, random_state : optional
        Of one set: the share of its rows that are fitted, and which.
    progress : function of (what, done, total), optional

    Examples
    --------
    >>> import numpy as np, ogive
    >>> rng = np.random.default_rng(0)
    >>> truth = rng.uniform(size=4000)
    >>> outcomes = rng.uniform(size=4000) < truth
    >>> ogive.compare(truth**0.5, outcomes, methods=["none", "platt"]).best.method
    'platt'
    """
    if isinstance(cal, Predictions | tuple):
        if clusters is not None:
            msg = "`clusters` are of one set. Of two, give Predictions(..., clusters=...) each."
            raise InvalidInput(msg)
        sets = [_set(one, name, kind, classes) for one, name in ((cal, "cal"), (test, "test"))]
    else:
        whole = as_predictions(cal, test, kind=kind, classes=classes, clusters=clusters)
        if not 0.0 < split < 1.0 or whole.n < _MATRIX:
            msg = (
                f"`split` must be between 0 and 1, with two rows or more, not {split} of {whole.n}."
            )
            raise InvalidInput(msg)
        parts = random_parts(whole.n, split, random_state, whole.clusters)
        sets = [whole.take(rows) for rows in parts]
    return comparing.compare(
        sets[0], sets[1], methods, view, score_only=score_only, progress=progress
    )


@dataclass(frozen=True, slots=True)
class Calibration:
    """What `calibrate` returns: it unpacks into the two.

    probabilities : calibrated, of the shape that went in; a frame or a series of pandas keeps its
        index and its columns
    calibrator : the fitted map, which `ogive.save` writes
    """

    probabilities: Any
    calibrator: Fitted

    _repr_html_ = record_form

    def __iter__(self) -> Any:  # noqa: ANN401 - two things of different kinds
        """Yield the probabilities, then the calibrator."""
        return iter((self.probabilities, self.calibrator))


def calibrate(
    scores: ArrayLike,
    outcomes: ArrayLike,
    new: ArrayLike | None = None,
    *,
    method: str = "spline",
    kind: Kind | None = None,
    classes: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    weight_kind: WeightKind = "repetition",
    clusters: ArrayLike | None = None,
) -> Calibration:
    """Fit a calibrator to scores and outcomes, and apply it: probabilities and calibrator.

    Parameters
    ----------
    scores : array-like, (N,) or (N, K)
        Scores in [0, 1], or a matrix with a column for each class, of rows that the model was not
        trained on.
    outcomes : array-like, (N,)
        0 or 1, or labels.
    new : array-like, optional
        What to calibrate, of the same kind. Default: `scores` themselves, which must then not be
        measured again: they look better than new rows would.
    method : str
        A name of `ogive.calibrators.METHODS`.
    kind, classes, sample_weight, weight_kind, clusters : optional
        As in `measure`.

    Examples
    --------
    >>> import ogive
    >>> probabilities, calibrator = ogive.calibrate([0.1, 0.4, 0.6, 0.9] * 9, [0, 1, 0, 1] * 9,
    ...                                             new=[0.25, 0.75], method="platt")
    >>> probabilities.round(2), calibrator.method
    (array([0.29, 0.71]), 'platt')
    """
    preds = as_predictions(
        scores,
        outcomes,
        kind=kind,
        classes=classes,
        sample_weight=sample_weight,
        weight_kind=weight_kind,
        clusters=clusters,
    )
    matrix = np.ndim(preds.values) == _MATRIX
    gamma = fit(preds, method, VECTOR if not preds.one_column else None)
    given = scores if new is None else new
    unordered = Predictions(given, kind=preds.kind)
    again = unordered.like(preds)
    if again.K != preds.K or again.one_column != preds.one_column:
        msg = (
            f"`new` has {again.K} classes in {again.width} columns, and `scores` {preds.K} in "
            f"{preds.width}: both must be of one model."
        )
        raise InvalidInput(msg)
    found = _calibrated(gamma, again)
    if preds.one_column:
        found = found.reshape(-1, 1) if matrix else found
    elif again is not unordered:  # the columns as they came
        assert again.columns is not None  # noqa: S101 - frames alone are brought into order
        assert unordered.columns is not None  # noqa: S101
        found = found[:, [again.columns.index(name) for name in unordered.columns]]
    return Calibration(_like(given, found), gamma)


def _calibrated(gamma: Fitted, preds: Predictions) -> AnyArray:
    """Return the probabilities of class 1 of one column, or of every class."""
    if isinstance(gamma, Map):
        column = preds.values.reshape(-1)
        return gamma(column) if preds.kind == "probs" else gamma.from_log_odds(column)
    assert isinstance(gamma, MatrixMap)  # noqa: S101 - the only other kind
    vectors = gamma(preds)
    return vectors[:, 1] if preds.one_column else vectors


def _like(given: Any, values: AnyArray) -> Any:  # noqa: ANN401
    """Return values as pandas has them, with the index and the names of what went in."""
    if not (hasattr(given, "index") and hasattr(given, "iloc")):
        return values
    names = {"columns": given.columns} if hasattr(given, "columns") else {"name": given.name}
    return type(given)(values, index=given.index, **names)


def as_predictions(
    data: Any,  # noqa: ANN401 - Predictions or array-like
    outcomes: Any = None,  # noqa: ANN401
    *,
    kind: Kind | None = None,
    classes: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    weight_kind: WeightKind = "repetition",
    clusters: ArrayLike | None = None,
) -> Predictions:
    """Return predictions of scores and outcomes, or of a matrix and labels; of frames too."""
    if isinstance(data, Predictions):
        if any(given is not None for given in (outcomes, kind, classes, clusters)):
            msg = "Predictions have their own labels, kind, classes and clusters: give them alone."
            raise InvalidInput(msg)
        return data
    if outcomes is None:
        msg = (
            f"`data` must be Predictions, a Curve, or scores with their outcomes: "
            f"measure(scores, outcomes). Only {type(data).__name__} was given."
        )
        raise InvalidType(msg)
    check_index(scores=data, outcomes=outcomes, sample_weight=sample_weight, clusters=clusters)
    values = as_array(data, "scores")
    if values.ndim == 0:
        msg = f"`scores` must be a list or an array, with a score for each row, not {data!r:.50}."
        raise InvalidType(msg)
    one_column = values.ndim < _MATRIX or values.shape[1] == 1
    labels = outcomes
    if one_column and classes is None:
        labels = as_hits(outcomes, values.shape[0], name="outcomes")
    return Predictions(
        values if one_column else data,
        labels,
        kind=kind_or_default(values, kind),
        classes=classes,
        sample_weight=sample_weight,
        weight_kind=weight_kind,
        clusters=clusters,
        name="`scores`",
    )


def _set(
    one: Any,  # noqa: ANN401
    name: str,
    kind: Kind | None,
    classes: ArrayLike | None,
) -> Predictions:
    """Return one of the two sets that are compared."""
    if isinstance(one, Predictions):
        return one
    if not isinstance(one, tuple) or len(one) != _MATRIX:
        msg = (
            f"`{name}` must be Predictions or a pair (scores, outcomes), not {type(one).__name__}."
        )
        raise InvalidType(msg)
    return as_predictions(*one, kind=kind, classes=classes)
