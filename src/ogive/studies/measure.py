"""Measure: every measure of a view, each with its uncertainty, and a verdict in words."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ogive._numerics.blas import one_blas_thread
from ogive.curve import Curve
from ogive.curve.coarse import CoarseReader
from ogive.errors import InvalidInput, InvalidType
from ogive.metrics import MEASURES
from ogive.metrics.binned import BINS, BinReader, as_edges
from ogive.metrics.classwise import classwise
from ogive.metrics.corp import PoolReader, decomposition_of
from ogive.metrics.kde import kde_error
from ogive.metrics.onepass import read
from ogive.metrics.proper import (
    BrierReader,
    MeanReader,
    NllReader,
    SpiegelhalterReader,
    spiegelhalter_of,
)
from ogive.metrics.resample import MEANS, interval, mean_ends, resampled
from ogive.metrics.significance import TestReader, ks_of, kuiper_of
from ogive.metrics.smooth import ResidualReader, smooth_of
from ogive.metrics.vector import vector_scores
from ogive.rows.predictions import Predictions
from ogive.rows.views import check_view, usual_views
from ogive.studies.certainty import certainty
from ogive.studies.deciding import decide as decide_by
from ogive.studies.fitting import reads_all_columns
from ogive.studies.measurement import Measurement, Measurements
from ogive.studies.numbers import belt_of, numbers_of
from ogive.studies.verdict import judge_curve

if TYPE_CHECKING:
    from ogive._typing import ArrayLike, FloatArray, Progress
    from ogive.metrics.vector import VectorScores
    from ogive.rows.views import View
    from ogive.studies.deciding import Decided
    from ogive.studies.numbers import Number

VECTOR = "vector"
TWO_CLASSES = 2
#: With more rows a coarse copy serves where it makes no difference.
MIN_ROWS_FOR_COARSE_COPY = 1_000_000
ALL = "all"


def measure(
    data: Predictions | Curve,
    view: str | View | None = None,
    *,
    bins: ArrayLike | int = BINS,
    random_state: int = 0,
    resamples: int = 0,
    more: bool = False,
    decide: bool = True,
    fitted_on: float | None = None,
    cal: Predictions | None = None,
    progress: Progress | None = None,
) -> Measurement:
    """Measure the calibration of predictions, or of a curve; `measure_all` measures every view.

    Parameters
    ----------
    data : Predictions or Curve
        Predictions need labels.
    view : str, optional
        ``"top-r"``, ``"within-top-r"``, ``"class-k"`` or ``"score"``. Default: ``"top-1"``
        for matrices, ``"score"`` for one column. Of two classes the default also measures
        ``"class-1"``, in `Measurement.also`. ``"vector"`` is ``"top-1"``: the scores of whole
        vectors, `brier_vector` and `nll_vector`, come with every view of a matrix.
    bins : int or array-like
        Bins of ECE and MCE: how many of equal width, or their edges.
    random_state : int
        Of the simulated p-values and of the bootstrap.
    resamples : int
        If not 0, `Measurement.intervals` has bootstrap intervals from this many resamples; KS and
        Kuiper have better ones in any case. `ogive.metrics.resample` says what to believe.
    more : bool
        Also compute `Measurement.numbers`: O/E ratio, intercept, slope, ICI, E50, E90, Emax and
        refinement loss, each with its interval (`ogive.studies.numbers`).
    decide : bool
        Whether the verdict also says if calibrating is worth it: of a matrix, unless a view is
        asked for, by the log loss of whole vectors (cross-validated). Where that would take long,
        the verdict says so. Calibrated scores are not decided upon.
    fitted_on : float, optional
        Of a curve of calibrated scores: how many other rows their calibrator was fitted on. The
        verdict then allows for its noise. Predictions read from a calibrated file know it.
    cal : Predictions, optional
        The calibration set that belongs to `data`, a test set: what is fitted there then decides.
    progress : function of (what, done, total), optional
        Called after each resample.

    >>> import numpy as np
    >>> from ogive import Curve
    >>> scores = (np.arange(1000) + 0.5) / 1000
    >>> result = measure(Curve.from_scores(scores, scores > 0.5))
    >>> round(result.ks, 3), round(result.ece, 3), result.accuracy
    (0.125, 0.218, 0.5)
    """
    fitted_on = getattr(data, "calibrated_on", None) if fitted_on is None else fitted_on
    how = _How(bins, random_state, resamples, progress, decide, fitted_on, more)
    if view == ALL:
        msg = "`view` 'all' is every view at once: call measure_all."
        raise InvalidInput(msg)
    _check_data(data)
    if isinstance(data, Curve):
        _check_same_view(data, view)
        return _measure_curve(data, how)
    whole = view in {None, VECTOR} and not data.one_column
    name = VECTOR if whole else check_view(view, data).name
    columns = whole or reads_all_columns(data, "spline", name)
    if decide and fitted_on is None and not data.fitted_rows and (columns or cal is not None):
        how = how._replace(decided=decide_by(data, name, cal))
    one = _measure_view(data, view, how, _vectors(data))
    if view is None and data.K == TWO_CLASSES and not data.one_column:
        one = replace(one, also=(_measure_view(data, "class-1", how, None),))
    return one.with_origin(data.calibrated_by, fitted_rows=data.fitted_rows)


def measure_all(
    data: Predictions | Curve,
    *,
    bins: ArrayLike | int = BINS,
    random_state: int = 0,
    resamples: int = 0,
    more: bool = False,
    decide: bool = True,
    fitted_on: float | None = None,
    progress: Progress | None = None,
) -> Measurements:
    """Measure every view of predictions, and every class against the rest.

    The views are top-1 to top-3 and within-top-2 and -3; of one column and of a curve there is
    one. The parameters are those of `measure`.

    >>> from ogive import Predictions
    >>> preds = Predictions([[0.8, 0.2, 0.0], [0.1, 0.3, 0.6]], [0, 1], kind="probs")
    >>> [one.view for one in measure_all(preds).views]
    ['top-1', 'top-2', 'top-3', 'within-top-2']
    """
    _check_data(data)
    fitted_on = getattr(data, "calibrated_on", None) if fitted_on is None else fitted_on
    how = _How(bins, random_state, resamples, progress, decide, fitted_on, more)
    if isinstance(data, Curve):
        return Measurements((_measure_curve(data, how),))
    every = _measure_all(data, how)
    return every.with_origin(data.calibrated_by, fitted_rows=data.fitted_rows)


class _How(NamedTuple):
    """The options of `measure`."""

    bins: ArrayLike | int
    random_state: int
    resamples: int
    progress: Progress | None
    decide: bool
    fitted_on: float | None
    more: bool = False
    decided: Decided | None = None


def _check_data(data: object) -> None:
    """Refuse what is neither predictions nor a curve."""
    if not isinstance(data, Predictions | Curve):
        msg = (
            f"`data` must be Predictions or a Curve, not {type(data).__name__}; build one with "
            "Predictions(values, labels, kind=...) or Curve.from_scores(scores, outcomes)."
        )
        raise InvalidType(msg)


def _measure_all(preds: Predictions, how: _How) -> Measurements:
    vectors = _vectors(preds)
    views = tuple(_measure_view(preds, name, how, vectors) for name in _views(preds))
    if preds.one_column:
        return Measurements(views)
    return Measurements(views, classwise(preds, bins=how.bins, random_state=how.random_state))


def _vectors(preds: Predictions) -> VectorScores | None:
    """Score whole vectors, of matrices only."""
    return None if preds.one_column else vector_scores(preds)


def _views(preds: Predictions) -> list[str]:
    """Return the views of "all": score, or top-1..3 and within-top-2..3 as K allows."""
    if preds.one_column:
        return ["score"]
    return list(usual_views(preds.K))


def _measure_view(
    preds: Predictions, view: str | View | None, how: _How, vectors: VectorScores | None
) -> Measurement:
    whole = view == VECTOR
    one = _measure_curve(Curve.from_predictions(preds, None if whole else view), how, preds)
    if vectors is None:
        return one
    return replace(
        one,
        view=VECTOR if whole else one.view,
        brier_vector=vectors.brier,
        nll_vector=vectors.nll,
    )


@one_blas_thread()
def _measure_curve(curve: Curve, how: _How, preds: Predictions | None = None) -> Measurement:
    """Measure one curve: one pass for all that a pass can give, then the rest of the table.

    From a million rows on, what is smooth in the scores is read off a coarse copy of the curve.
    """
    values, short = one_pass(curve, how.bins, how.random_state)
    known = {} if curve.spans is None else certainty(curve, how.bins, values)
    kde = kde_error(short)
    found = {*values, "ks", "kuiper", "kde_ece"}
    more = {key: of(short) for key, of in MEASURES.items() if key not in found}
    return Measurement(
        view=curve.view,
        n=curve.n,
        **values,
        kde_ece=kde.value,
        kde_ece_method=kde.method,
        smooth_ece=more.pop("smooth_ece"),
        decision=judge_curve(
            short,
            values["ks_test"],
            decide=how.decide,
            fitted_on=how.fitted_on,
            decided=how.decided,
            rows=preds,
        ),
        more=more,
        intervals=_intervals(curve, how) if how.resamples else {},
        numbers=_numbers(short, how, known) if how.more else (),
        clusters=None if curve.clusters is None else curve.clusters.size,
        design_effect=None if curve.clusters is None else curve.clusters.design_effect,
        belt=belt_of(short) if how.more else (),
        **known,
    )


def _numbers(curve: Curve, how: _How, known: dict[str, Any]) -> tuple[Number, ...]:
    """Return the numbers of other fields; of joined rows, only the O/E ratio is exact."""
    numbers = numbers_of(curve, random_state=how.random_state)
    if known.get("approximate"):
        known["approximate"] += tuple(one.key for one in numbers if one.key != "oe_ratio")
    return numbers


def _intervals(curve: Curve, how: _How) -> dict[str, tuple[float, float]]:
    """Return bootstrap intervals of what one pass over each resample gives."""
    edges = as_edges(curve, how.bins)
    rows = []
    for sample in resampled(curve, how.resamples, random_state=how.random_state):
        rows.append(_resampled_values(sample, edges))
        if how.progress is not None:
            how.progress("resampling", len(rows), how.resamples)
    found = {}
    for key, value in _resampled_values(curve, edges).items():
        values = np.array([row[key] for row in rows])
        own: Any = {"corrected": key not in MEANS, "clusters": curve.clusters}
        own["ends"] = mean_ends(curve, key)
        ends = interval(value, values, **own)
        found[key] = (ends.low, ends.high)
    return found


def _resampled_values(curve: Curve, edges: FloatArray) -> dict[str, float]:
    means, squares, log_loss = MeanReader(), BrierReader(), NllReader()
    binned, residuals = BinReader(edges), ResidualReader()
    read(curve, means, squares, log_loss, binned, residuals)
    cells = binned.bins()
    return {
        "accuracy": means.hits / means.n,
        "mean_score": means.score / means.n,
        "ece": cells.error(),
        "mce": cells.error("max"),
        "smooth_ece": smooth_of(residuals),
        "brier": squares.value,
        "nll": log_loss.value,
    }


def one_pass(
    curve: Curve, bins: ArrayLike | int = BINS, random_state: int = 0
) -> tuple[dict[str, Any], Curve]:
    """Return all that one pass over the curve gives, under the names of `Measurement`.

    With it comes the curve to read smooth measures off: a coarse copy from a million rows on,
    made in the same pass, which also serves the log loss and Spiegelhalter's z.
    """
    tests, means, log_loss = TestReader(), MeanReader(), NllReader()
    binned, pools, z = BinReader(as_edges(curve, bins)), PoolReader(), SpiegelhalterReader()
    short = curve
    if curve.n > MIN_ROWS_FOR_COARSE_COPY and curve.clusters is None:
        joined = CoarseReader()
        read(curve, tests, means, binned, pools, joined)
        short = joined.curve(curve.view)
        read(short, log_loss, z)
    else:
        read(curve, tests, means, binned, log_loss, pools, z)
    cells, z_test = binned.bins(), spiegelhalter_of(z, curve.clusters)
    parts = decomposition_of(pools, tests.brier.value, "brier")
    values = {
        "accuracy": means.hits / means.n,
        "mean_score": means.score / means.n,
        "ks_test": ks_of(curve, tests, random_state=random_state),
        "kuiper_test": kuiper_of(curve, tests, random_state=random_state),
        "ece": cells.error(),
        "mce": cells.error("max"),
        "ece_l2": cells.error("l2"),
        "ece_debiased": cells.debiased(),
        "brier": tests.brier.value,
        "nll": log_loss.value,
        "mcb": parts.mcb,
        "dsc": parts.dsc,
        "unc": parts.unc,
        "spiegelhalter": z_test.z,
        "spiegelhalter_pvalue": z_test.pvalue,
    }
    return values, short


def _check_same_view(curve: Curve, view: str | View | None) -> None:
    name = view if view is None or isinstance(view, str) else view.name
    if name not in {None, curve.view}:
        msg = (
            f"`view` is {name!r}, but the curve is of {curve.view!r}: "
            "a curve has one view. Pass the Predictions to measure another."
        )
        raise InvalidInput(msg)
