"""The accuracy, precision and AUC to expect of calibrated scores whose outcomes are not known yet.

Outcome 1 is predicted where a score reaches the threshold; of a matrix, the class with the largest
probability. `ogive.studies.unknown_outcomes` has the numbers and the intervals of what these rows
will show. A calibrator adds its own uncertainty: curves are drawn from its posterior, and a base
rate that was estimated is moved by its deviation; that of the numbers is added. Nothing allows for
scores that are not calibrated.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import exp, nan
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ogive._html import record_form
from ogive._numerics.logistic import expit, log_odds_of_tails
from ogive.calibrators.maps import Fitted, Map
from ogive.calibrators.shifted import UNKNOWN_DEVIATION, ShiftedMap, with_odds
from ogive.calibrators.spline_draws import drawn_curves
from ogive.calibrators.spline_map import SplineMap
from ogive.curve import Curve
from ogive.curve.coarse import coarse
from ogive.curve.ties import total_rows
from ogive.errors import DoesNotApply, InvalidInput, InvalidType
from ogive.export.artifact import load_map
from ogive.metrics.line import MAX_ROWS, Estimate
from ogive.readers import Columns
from ogive.rows.check import as_number
from ogive.rows.predictions import Predictions, kind_or_default
from ogive.studies.unknown_outcomes import (
    OUTCOMES_FOR_NORMAL_AUC,
    Ranked,
    auc_interval,
    auc_of_drawn_outcomes,
    share_interval,
)
from ogive.studies.unlabelled import Unlabelled, scored_rows, unlabelled

if TYPE_CHECKING:
    import os

    from ogive._typing import ArrayLike, BoolArray, FloatArray, Kind, Progress, WeightKind

TOP = "top-1"
NUMBERS = ("accuracy", "precision", "auc")
DRAWS = 200  # of a calibrator's posterior: enough for a variance
RATE_ESTIMATED = (
    "No intervals: the scores were calibrated for a base rate that was estimated, and they do not "
    "say how far off it may be. Of two classes give the model's own scores and the calibrator "
    "(--calibrator, calibrator=); of more count the shares, and give them: ogive shift --base-rate."
)


@dataclass(frozen=True, slots=True)
class ExpectedPerformance:
    """What to expect of scores without outcomes; each number has ``value``, ``low`` and ``high``.

    Attributes
    ----------
    n : float
        Rows, or the sum of their weights.
    view : str
        What the scores are.
    threshold : float or None
        Outcome 1 is predicted where the score is at least this; None for the predicted class of a
        matrix.
    accuracy, precision, auc : Estimate
        NaN where there is none: the predicted class of a matrix has an accuracy only, and no
        precision exists where no score reaches the threshold.
    no_intervals : str or None
        Why there are no intervals; their ends are NaN then.
    """

    n: float
    view: str
    threshold: float | None
    accuracy: Estimate
    precision: Estimate
    auc: Estimate
    no_intervals: str | None = None

    _repr_html_ = record_form

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON object of ``ogive expect``; None for NaN."""
        found: dict[str, Any] = {"n": self.n, "view": self.view, "threshold": self.threshold}
        for key in NUMBERS:
            for end, value in zip(("", "_low", "_high"), getattr(self, key), strict=True):
                found[f"{key}{end}"] = None if np.isnan(value) else value
        return found if self.no_intervals is None else found | {"no_intervals": self.no_intervals}


def expected_performance(
    data: Predictions | ArrayLike,
    view: str | None = None,
    *,
    kind: Kind | None = None,
    threshold: float = 0.5,
    sample_weight: ArrayLike | None = None,
    weight_kind: WeightKind = "repetition",
    calibrator: Fitted | None = None,
    random_state: int = 0,
) -> ExpectedPerformance:
    """Return the accuracy, precision and AUC to expect of calibrated scores without outcomes.

    Parameters
    ----------
    data : array-like, (N,) or (N, K); or Predictions without labels
        Calibrated scores or probabilities; with `calibrator`, as the model gives them.
    view : str, optional
        Default: ``"score"`` for scores, ``"class-1"`` for two classes, ``"top-1"`` for more.
    kind : {"probs", "logits"}
        What a matrix holds.
    threshold : float
        Outcome 1 is predicted where the score is at least this.
    sample_weight, weight_kind : optional
        As in `Predictions`.
    calibrator : optional
        A fitted map of a score, which is applied first. Of the default spline, the interval holds
        its uncertainty; of one whose base rate was estimated, also that of the estimate.
    random_state : int
        Of the draws from the calibrator's posterior.

    Examples
    --------
    >>> found = expected_performance([0.9, 0.8, 0.2, 0.1] * 100)
    >>> round(found.accuracy.value, 3), round(found.precision.value, 3), round(found.auc.value, 3)
    (0.85, 0.85, 0.875)
    """
    if not isinstance(data, Predictions):
        weights: Any = {"sample_weight": sample_weight, "weight_kind": weight_kind}
        data = Predictions(data, kind=kind_or_default(np.asarray(data), kind), **weights)
    if data.labels is not None:
        msg = "`data` has labels: measure it instead, or leave them out (Predictions(values))."
        raise InvalidInput(msg)
    gamma = _as_map(calibrator)
    rows = scored_rows(data, view if gamma is None else gamma.view)
    return _expected(rows, threshold, gamma, random_state)


def expect_file(
    path: str | os.PathLike[str],
    columns: Columns | None = None,
    view: str | None = None,
    *,
    threshold: float = 0.5,
    calibrator: Path | None = None,
    part: str | None = None,
    experiment: str | None = None,
    ignore_outcomes: bool = False,
    memory: str | int = "1GB",
    skip_bad: bool = False,
    random_state: int = 0,
    progress: Progress | None = None,
) -> ExpectedPerformance:
    """Return the same of a file or a log without outcomes, which may be longer than memory.

    calibrator : a saved calibrator of a score
    """
    gamma = None if calibrator is None else _as_map(load_map(calibrator))
    view = view if gamma is None else gamma.view
    why = f"so that its accuracy can be measured: ogive measure {path}. To"
    how: Any = {"part": part, "experiment": experiment, "memory": memory, "progress": progress}
    how |= {"why": None if ignore_outcomes else why, "skip_bad": skip_bad}
    rows = unlabelled(Path(path), columns or Columns(), view, calibrator=calibrator, **how)
    return _expected(rows, threshold, gamma, random_state)


def _as_map(calibrator: Fitted | None) -> Map | None:
    if calibrator is None or isinstance(calibrator, Map):
        return calibrator
    if not isinstance(calibrator, Fitted):
        msg = f"`calibrator` must be a fitted calibrator, not {type(calibrator).__name__}."
        raise InvalidType(msg)
    msg = (
        f"a calibrator of the kind {calibrator.method!r} reads more than a score. Apply it first "
        "(ogive apply CAL.json FILE -o OUT), then give OUT without a calibrator."
    )
    raise DoesNotApply(msg)


def _expected(
    rows: Unlabelled, threshold: float, calibrator: Map | None, random_state: int
) -> ExpectedPerformance:
    if not 0.0 <= as_number(threshold, "threshold") <= 1.0:
        msg = f"`threshold` must lie in [0, 1], not {threshold!r}."
        raise InvalidInput(msg)
    rng = np.random.default_rng(random_state)
    between = _variance_of_calibrator(calibrator, _short(rows), threshold, rng)
    found = _numbers(rows, _calibrated(rows, calibrator), threshold, between)
    if calibrator is None and rows.rate_estimated:
        return _bare(found, RATE_ESTIMATED)
    if isinstance(calibrator, ShiftedMap) and calibrator.deviation is None:
        return _bare(found, f"No intervals: {UNKNOWN_DEVIATION}")
    if np.isnan(found.auc.value):
        return found
    short = _short(rows)
    q = _calibrated(short, calibrator)
    if min(short.weight @ q, short.weight @ (1.0 - q)) ** 2 >= (
        OUTCOMES_FOR_NORMAL_AUC * float(short.square @ (q * (1.0 - q)))
    ):
        return found
    return replace(found, auc=auc_of_drawn_outcomes(found.auc.value, short, q, between[2], rng))


def _bare(found: ExpectedPerformance, why: str) -> ExpectedPerformance:
    """Return the numbers without their intervals."""
    bare: Any = {key: Estimate(getattr(found, key).value, nan, nan) for key in NUMBERS}
    return replace(found, **bare, no_intervals=why)


def _calibrated(rows: Unlabelled, calibrator: Map | None) -> FloatArray:
    if calibrator is None:
        return np.where(rows.high, 1.0 - rows.tail, rows.tail)
    return calibrator.from_tails(rows.high, rows.tail)


def _short(rows: Unlabelled) -> Unlabelled:
    """Return the rows, with nearly equal scores joined if there are many."""
    if rows.tail.size <= MAX_ROWS:
        return rows
    score = np.where(rows.high, 1.0 - rows.tail, rows.tail)
    curve, squares = (
        coarse(Curve.from_scores(score, np.zeros(score.size), sample_weight=w))
        for w in (rows.weight, rows.square)  # the same scores are joined
    )
    return Unlabelled(rows.view, curve.high, curve.tail, curve.count, squares.count)


def _variance_of_calibrator(
    calibrator: Any,  # noqa: ANN401 - a map, or None
    rows: Unlabelled,
    threshold: float,
    rng: np.random.Generator,
) -> FloatArray:
    """Return the variance of accuracy, precision and AUC over curves and base rates, (3,).

    The deviations are added: the estimate of a base rate reads the curve, so that both may be off
    the same way.
    """
    spread = np.zeros(3)
    if calibrator is None:
        return spread
    q = calibrator.from_tails(rows.high, rows.tail)
    ranked = Ranked(q, rows.weight, rows.square, _predicted(rows.view, q, threshold))
    shift = calibrator if isinstance(calibrator, ShiftedMap) else None
    spline = calibrator if shift is None else shift.inner
    if isinstance(spline, SplineMap):
        eta = np.clip(log_odds_of_tails(rows.high, rows.tail), spline.lowest, spline.highest)
        drawn = [
            ranked.values(with_odds(expit(line), 1.0 if shift is None else shift.odds))
            for lines in drawn_curves(spline, eta, DRAWS, rng)
            for line in lines
        ]
        spread = np.std(drawn, axis=0)
    if shift is not None and shift.deviation:
        ends = [ranked.values(with_odds(q, exp(side * shift.deviation))) for side in (1.0, -1.0)]
        spread = spread + np.abs(np.diff(ends, axis=0)[0]) / 2.0
    result: FloatArray = spread**2
    return result


def _predicted(view: str, q: FloatArray, threshold: float) -> BoolArray:
    """Return which rows predict outcome 1: of the predicted class of a matrix, all."""
    return np.ones(q.size, dtype=np.bool_) if view == TOP else q >= threshold


def _numbers(
    rows: Unlabelled, q: FloatArray, threshold: float, between: FloatArray
) -> ExpectedPerformance:
    """Return the numbers of probabilities q, (m,); `between` is the calibrator's variance, (3,)."""
    yes = _predicted(rows.view, q, threshold)
    ranked = Ranked(q, rows.weight, rows.square, yes)
    value = ranked.values(q)
    noise = rows.square * q * (1.0 - q)
    n, flagged = float(rows.weight.sum()), float(rows.weight[yes].sum())
    row = float(rows.square.sum()) / n  # what one row weighs
    accuracy = share_interval(value[0], float(noise.sum()) / n**2 + between[0], n, row)
    precision = auc = Estimate(nan, nan, nan)
    if rows.view != TOP and flagged:
        spread = float(noise[yes].sum()) / flagged**2
        precision = share_interval(value[1], spread + between[1], flagged, row)
    if rows.view != TOP and not np.isnan(value[2]):
        auc = auc_interval(value[2], ranked.auc_variance(q, noise) + between[2])
    shown = None if rows.view == TOP else threshold
    return ExpectedPerformance(total_rows(rows.weight), rows.view, shown, accuracy, precision, auc)
