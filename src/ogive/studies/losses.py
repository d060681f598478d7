"""The losses of calibrated rows, and whether two methods differ in them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.special import ndtri, stdtr

from ogive._numerics.blocks import blocks
from ogive._numerics.brownian import EXPECTED_KS
from ogive._numerics.exact_shares import sides_and_tails
from ogive._numerics.mean_interval import HALF_WIDTH_95
from ogive.calibrators.gain import Certain
from ogive.curve.clusters import summed
from ogive.metrics.binned import BINS, ece, mce
from ogive.metrics.ks import ks_error
from ogive.metrics.onepass import read
from ogive.metrics.significance import VarianceReader, ks_test
from ogive.metrics.vector import vector_rows
from ogive.rows.tails import LOG_LOSS_CLIP, outcome_losses
from ogive.rows.views import score_rows
from ogive.studies.fitting import VECTOR, curve_of

if TYPE_CHECKING:
    from ogive._typing import BoolArray, FloatArray, IntArray
    from ogive.curve import Curve
    from ogive.rows.predictions import Predictions
    from ogive.studies.fitting import Rows

CRITICAL_T = HALF_WIDTH_95  # of `hall_t`: 2.5 % of equally good methods are found worse


def scores_of(
    rows: Rows,
    test: Predictions,
    view: str,
    least: float = LOG_LOSS_CLIP,
    bins: int = BINS,
) -> tuple[dict[str, float], FloatArray]:
    """Return the numbers of calibrated rows, and their log losses, (N,).

    least : smaller probabilities count as this in the log loss
    """
    weights = test.row_weights
    hit = np.asarray(rows.hit, dtype=np.float64)
    curve = curve_of(rows, test)
    if view == VECTOR:
        squares, losses, _ = vector_rows(test, rows.vectors, least=least)
    else:
        high, tail = sides_and_tails(rows.score)
        tail = tail if rows.tail is None else rows.tail
        losses = np.where(hit > 0, *outcome_losses(high, tail, least))
        squares = (rows.score - hit) ** 2
    numbers = {
        "ks": ks_error(curve),
        "ks_expected": _expected(curve),
        "ece": ece(curve, bins),
        "mce": mce(curve, bins),
        "brier": float(np.average(squares, weights=weights)),
        "nll": float(np.average(losses, weights=weights)),
        "accuracy": float(np.average(hit, weights=weights)),
        "base_rate": float(np.average(hit, weights=weights)),
    }
    return numbers, losses


def exact_rows(preds: Predictions, view: str) -> BoolArray:
    """Return the rows that give exactly 0 or 1: as the score of a view, or to a class.

    >>> from ogive import Predictions
    >>> exact_rows(Predictions([[0.2, 0.8, 0.0], [0.1, 0.3, 0.6]], kind="probs"), "vector")
    array([ True, False])
    """
    if view != VECTOR or preds.one_column:
        exact: BoolArray = score_rows(preds, None if view == VECTOR else view).tail == 0.0
        return exact
    found = np.empty(preds.n, dtype=np.bool_)
    for at in blocks(preds.n, width=preds.K):
        found[at] = (preds.probabilities(at) == 0.0).any(axis=1)
    return found


def certain_of(preds: Predictions, view: str, before: FloatArray, saved: FloatArray) -> Certain:
    """Return the rows that give exactly 0 or 1, and the losses of all others; (N,) each."""
    exact, weights = exact_rows(preds, view), preds.row_weights
    count, n = float(weights[exact].sum()), float(weights.sum())
    if not exact.any() or exact.all():
        return Certain(count, n)
    rest = weights * ~exact
    loss, gain = (float(np.average(x, weights=rest)) for x in (before, saved))
    return Certain(count, n, loss, gain, int(exact.argmax()))


def _expected(curve: Curve) -> float:
    """Return the mean KS error of perfectly calibrated scores: E sup |W| sigma / N."""
    if curve.clusters is not None:
        return ks_test(curve).expected
    spread = VarianceReader()
    read(curve, spread)
    return EXPECTED_KS * float(np.sqrt(spread.variance)) / float(curve.n)


def hall_t(
    difference: FloatArray, share: FloatArray, clusters: IntArray | None = None
) -> tuple[float, float, float]:
    r"""Return the mean of differences, its standard error, and Hall's t.

    With t the mean over its error and g the skewness over :math:`\sqrt n`, Hall's transformation
    :math:`t + (g / 6) (2 t^2 + 1) + g^2 t^3 / 27` (monotone) is closer to normal than t.
    difference, share : (N,) and shares of the weight, which sum to 1. clusters : (N,) the cluster
    of each row: the sums of clusters then take the place of rows, and t is moved to the normal
    quantile that Student's law gives it, with one less than Kish's number of clusters.
    """
    mean = float(np.sum(share * difference))
    parts, few = share * (difference - mean), 1.0
    if clusters is not None:
        parts, size = summed(clusters, parts), summed(clusters, share)
        freedom = max(1.0 / float(size @ size) - 1.0, 1.0)
        few = 1.0 + 1.0 / freedom
    error = float(np.sqrt(few * np.sum(parts**2)))
    if error == 0.0:
        return mean, error, 0.0 if mean == 0.0 else float(np.copysign(np.inf, mean))
    t, g = mean / error, float(np.sum(parts**3)) / error**3
    if clusters is not None:
        t = float(np.sign(t) * -ndtri(stdtr(freedom, -abs(t))))
    return mean, error, t + g * t * t / 3.0 + g * g * t**3 / 27.0 + g / 6.0
