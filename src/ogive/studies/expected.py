r"""The accuracy, precision and AUC to expect of calibrated scores whose outcomes are not known yet.

If the scores q are calibrated, the outcomes are independent with the probabilities q, and so each
number has a mean and a variance. With rows of weight w and a threshold t:

- accuracy: the mean of q where q >= t and of 1 − q elsewhere; of a matrix, of the largest
  probability;
- precision: the mean of q over the rows with q >= t;
- AUC: the weight :math:`q_i (1 - q_j)` of all pairs that are in order, over that of all pairs
  :math:`i \ne j`; equal scores count half.

**Intervals** hold, in 95 of 100 cases, what these rows will show once their outcomes are known. The
variances of sums are :math:`\sum w^2 q (1 - q)`; that of the AUC follows from its derivative in
each outcome, and where few outcomes of one kind are expected, outcomes are drawn with the
probabilities q and the interval is that of the AUC of the draws. A calibrator adds its own
uncertainty: curves are drawn from its posterior, and the variance of their numbers is added.
Nothing allows for scores that are not calibrated.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import log, nan, sqrt
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ogive._html import record_form
from ogive._numerics.logistic import expit
from ogive._numerics.mean_interval import HALF_WIDTH_95
from ogive._validate import as_number
from ogive.calibrators.maps import Fitted, Map
from ogive.calibrators.shifted import ShiftedMap, with_odds
from ogive.calibrators.spline_map import SplineMap
from ogive.curve import Curve
from ogive.curve.coarse import coarse
from ogive.errors import DoesNotApply, InvalidInput, InvalidType
from ogive.export.artifact import load_map
from ogive.metrics.line import HIGH, LOW, MAX_ROWS, Estimate
from ogive.predictions import Predictions, kind_or_default
from ogive.studies.numbers import drawn_curves
from ogive.studies.unlabelled import Unlabelled, scored_rows, unlabelled

if TYPE_CHECKING:
    import os

    from ogive._typing import ArrayLike, BoolArray, FloatArray, Kind, Progress, WeightKind
    from ogive.readers import Columns

TOP = "top-1"
DRAWS = 200  # of a calibrator's posterior: enough for a variance
#: With fewer outcomes of one kind the AUC is far from normal, and outcomes are drawn so often.
OUTCOMES_FOR_NORMAL_AUC, DRAWS_OF_OUTCOMES = 100, 2000
_NUMBERS_AT_ONCE = 1 << 21  # of a table of draws: a few MB
_TINY = float(np.finfo(np.float64).tiny)  # less is 0: a division by it would not be finite


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
        From which score on outcome 1 is predicted; None for the predicted class of a matrix.
    accuracy, precision, auc : Estimate
        NaN where there is none: the predicted class of a matrix has an accuracy only, and no
        precision exists where no score reaches the threshold.
    """

    n: float
    view: str
    threshold: float | None
    accuracy: Estimate
    precision: Estimate
    auc: Estimate

    _repr_html_ = record_form

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON object of ``ogive expect``; None for NaN."""
        found: dict[str, Any] = {"n": self.n, "view": self.view, "threshold": self.threshold}
        for key in ("accuracy", "precision", "auc"):
            for end, value in zip(("", "_low", "_high"), getattr(self, key), strict=True):
                found[f"{key}{end}"] = None if np.isnan(value) else value
        return found


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
        From which score on outcome 1 is predicted.
    sample_weight, weight_kind : optional
        As in `Predictions`.
    calibrator : optional
        A fitted map of a score, which is applied first. Of the default spline, the interval holds
        its uncertainty.
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
    how |= {"calibrator": calibrator}
    rows = unlabelled(Path(path), columns, view, why=None if ignore_outcomes else why, **how)
    return _expected(rows, threshold, gamma, random_state)


def _as_map(calibrator: Fitted | None) -> Map | None:
    if calibrator is None or isinstance(calibrator, Map):
        return calibrator
    if not isinstance(calibrator, Fitted):
        msg = f"`calibrator` must be a fitted calibrator, not {type(calibrator).__name__}."
        raise InvalidType(msg)
    msg = (
        f"a calibrator of the kind {calibrator.method!r} reads more than a score: apply it first "
        "(ogive apply), then use what it wrote."
    )
    raise DoesNotApply(msg)


def _expected(
    rows: Unlabelled, threshold: float, calibrator: Map | None, random_state: int
) -> ExpectedPerformance:
    if not 0.0 <= as_number(threshold, "threshold") <= 1.0:
        msg = f"`threshold` must lie in [0, 1], not {threshold!r}."
        raise InvalidInput(msg)
    between, rng = np.zeros(3), np.random.default_rng(random_state)
    if isinstance(getattr(calibrator, "inner", calibrator), SplineMap):
        between = _variance_of_calibrator(calibrator, _short(rows), threshold, rng)
    found = _numbers(rows, _calibrated(rows, calibrator), threshold, between)
    if np.isnan(found.auc.value):
        return found
    short = _short(rows)
    q = _calibrated(short, calibrator)
    if min(short.weight @ q, short.weight @ (1.0 - q)) ** 2 >= (
        OUTCOMES_FOR_NORMAL_AUC * float(short.square @ (q * (1.0 - q)))
    ):
        return found
    return replace(found, auc=_of_drawn_outcomes(found.auc.value, short, q, between[2], rng))


def _calibrated(rows: Unlabelled, calibrator: Map | None) -> FloatArray:
    if calibrator is None:
        return np.where(rows.high, 1.0 - rows.tail, rows.tail)
    return calibrator.from_tails(rows.high, rows.tail)


def _of_drawn_outcomes(
    value: float, rows: Unlabelled, q: FloatArray, between: float, rng: np.random.Generator
) -> Estimate:
    """Return the AUC with the interval of outcomes that are drawn with the probabilities q.

    A row of weight w and squared weight v stands for w² / v outcomes of the weight v / w. The
    variance `between` of the calibrator is added on the scale of log-odds.
    """
    some = rows.weight > 0.0
    _, group = np.unique(q[some], return_inverse=True)
    order = np.argsort(group, kind="stable")
    q, weight, square = (x[some][order] for x in (q, rows.weight, rows.square))
    starts = np.flatnonzero(np.diff(group[order], prepend=-1))
    unit, times = square / weight, np.maximum(np.round(weight**2 / square), 1.0)
    found = []
    for at in np.array_split(
        np.arange(DRAWS_OF_OUTCOMES), 1 + q.size * DRAWS_OF_OUTCOMES // _NUMBERS_AT_ONCE
    ):
        hits = rng.binomial(times.astype(np.int64), q, (at.size, q.size))
        ones, zeros = (np.add.reduceat(unit * x, starts, axis=1) for x in (hits, times - hits))
        below = np.cumsum(zeros, axis=1) - 0.5 * zeros
        pairs = ones.sum(axis=1) * zeros.sum(axis=1)
        known = pairs > _TINY
        found.append((ones * below).sum(axis=1)[known] / pairs[known])
    auc = np.clip(np.concatenate(found), 0.0, 1.0)
    if not auc.size:
        return Estimate(value, 0.0, 1.0)  # no draw has both outcomes
    if between > 0.0 and 0.0 < value < 1.0:
        spread = sqrt(between) / (value * (1.0 - value))
        with np.errstate(divide="ignore"):
            eta = np.log(auc) - np.log1p(-auc)
        auc = expit(eta + spread * rng.standard_normal(auc.size))
    low, high = np.quantile(auc, (LOW, HIGH))
    return Estimate(value, min(float(low), value), max(float(high), value))


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
    calibrator: Any,  # noqa: ANN401 - a spline, or one at another base rate
    rows: Unlabelled,
    threshold: float,
    rng: np.random.Generator,
) -> FloatArray:
    """Return the variance of accuracy, precision and AUC over the posterior, (3,)."""
    q = calibrator.from_tails(rows.high, rows.tail)
    odds, spline = 1.0, calibrator
    if isinstance(calibrator, ShiftedMap):
        odds, spline = calibrator.odds, calibrator.inner
    with np.errstate(divide="ignore"):
        eta = np.log(rows.tail) - np.log1p(-rows.tail)
    eta = np.clip(np.where(rows.high, -eta, eta), spline.lowest, spline.highest)
    ranked = _Ranked(q, rows.weight, rows.square, _predicted(rows.view, q, threshold))
    drawn = [
        ranked.values(with_odds(expit(line), odds))
        for lines in drawn_curves(spline, eta, DRAWS, rng)
        for line in lines
    ]
    result: FloatArray = np.var(drawn, axis=0)
    return result


def _predicted(view: str, q: FloatArray, threshold: float) -> BoolArray:
    """Return which rows predict outcome 1: of the predicted class of a matrix, all."""
    return np.ones(q.size, dtype=np.bool_) if view == TOP else q >= threshold


def _numbers(
    rows: Unlabelled, q: FloatArray, threshold: float, between: FloatArray
) -> ExpectedPerformance:
    """Return the numbers of probabilities q, (m,); `between` is the calibrator's variance, (3,)."""
    yes = _predicted(rows.view, q, threshold)
    ranked = _Ranked(q, rows.weight, rows.square, yes)
    value = ranked.values(q)
    noise = rows.square * q * (1.0 - q)
    n, flagged = float(rows.weight.sum()), float(rows.weight[yes].sum())
    row = float(rows.square.sum()) / n  # what one row weighs
    accuracy = _share(value[0], float(noise.sum()) / n**2 + between[0], n, row)
    precision = auc = Estimate(nan, nan, nan)
    if rows.view != TOP and flagged:
        spread = float(noise[yes].sum()) / flagged**2
        precision = _share(value[1], spread + between[1], flagged, row)
    if rows.view != TOP and not np.isnan(value[2]):
        auc = _on_log_odds(value[2], ranked.auc_variance(q, noise) + between[2])
    total = int(n) if n.is_integer() else n
    shown = None if rows.view == TOP else threshold
    return ExpectedPerformance(total, rows.view, shown, accuracy, precision, auc)


class _Ranked:
    """Rows in the order of their scores, equal ones grouped."""

    def __init__(
        self, score: FloatArray, count: FloatArray, square: FloatArray, yes: BoolArray
    ) -> None:
        self.count, self.square, self.yes = count, square, yes
        _, self.group = np.unique(score, return_inverse=True)

    def values(self, q: FloatArray) -> tuple[float, float, float]:
        """Return accuracy, precision and AUC, if the outcomes have the probabilities q."""
        count, yes = self.count, self.yes
        accuracy = float(count @ np.where(yes, q, 1.0 - q) / count.sum())
        flagged = float(count[yes].sum())
        precision = float(count[yes] @ q[yes]) / flagged if flagged else nan
        in_order, pairs = self._pairs(q)
        # Two rounded sums: their ratio may leave [0, 1] by a digit.
        auc = min(max(in_order / pairs, 0.0), 1.0) if pairs > _TINY else nan
        return accuracy, precision, auc

    def _sums(self, q: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the expected weight of outcomes 1 and 0 at each score."""
        ones, zeros = (
            np.bincount(self.group, self.count * part).astype(np.float64) for part in (q, 1.0 - q)
        )
        return ones, zeros

    def _pairs(self, q: FloatArray) -> tuple[float, float]:
        """Return the expected weight of pairs of 1 and 0 in order, and of all such pairs."""
        ones, zeros = self._sums(q)
        itself = float(self.square @ (q * (1.0 - q)))  # a row is no pair with itself
        below = np.cumsum(zeros) - zeros
        in_order = float(ones @ below) + 0.5 * (float(ones @ zeros) - itself)
        return in_order, float(ones.sum() * zeros.sum()) - itself

    def auc_variance(self, q: FloatArray, noise: FloatArray) -> float:
        """Return the variance of the AUC over the outcomes, from its derivative in each of them."""
        ones, zeros = self._sums(q)
        in_order, pairs = self._pairs(q)
        below = np.cumsum(zeros) - 0.5 * zeros
        above = ones.sum() - np.cumsum(ones) + 0.5 * ones
        slope = below - above - in_order / pairs * (zeros.sum() - ones.sum())
        # The square of few pairs may be 0 in floats: it is divided by twice.
        return float((noise / pairs) @ slope[self.group] ** 2) / pairs


def _share(mean: float, variance: float, n: float, row: float) -> Estimate:
    """Return the interval of a share of the weight n: gamma distributions of both sums, by rarity.

    Half of what a row weighs is added on both sides, since a number of rows is whole.
    """
    ends = [_gamma_ends(part * n, variance * n * n) for part in (mean, 1.0 - mean)]
    (low, high), (least, most) = ends
    low = (1.0 - mean) * low + mean * (n - most)
    high = (1.0 - mean) * high + mean * (n - least)
    low, high = float(low - 0.5 * row) / n, float(high + 0.5 * row) / n
    return Estimate(mean, max(low, 0.0), min(high, 1.0))


def _gamma_ends(mean: float, variance: float) -> tuple[float, float]:
    """Return the 2.5 % and 97.5 % points of a sum with this mean and variance."""
    from scipy.special import gammaincinv  # noqa: PLC0415 - heavy, and only used here

    if min(mean, variance) <= _TINY:
        return mean, mean
    scale = variance / mean
    low, high = gammaincinv(mean / scale, (LOW, HIGH))
    return scale * float(low), scale * float(high)


def _on_log_odds(value: float, variance: float) -> Estimate:
    """Return a normal interval on the scale of log-odds, which keeps it inside (0, 1)."""
    if not 0.0 < value < 1.0:
        return Estimate(value, value, value)
    half = HALF_WIDTH_95 * sqrt(variance) / (value * (1.0 - value))
    low, high = expit(log(value / (1.0 - value)) + half * np.array([-1.0, 1.0])).tolist()
    return Estimate(value, low, high)
