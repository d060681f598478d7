r"""Proper scores: Brier, log loss, their parts, and Spiegelhalter's z.

With p the score of a row, y its outcome (0 or 1) and w its weight, and all means weighted,

.. math:: \text{Brier} = \overline{(y - p)^2}, \qquad
          \text{log loss} = -\overline{y \log p + (1 - y) \log (1 - p)} .

The log loss raises the probability of what happened to 2.2e-16, as scikit-learn does with float64:
one certain score that is wrong would otherwise make it infinite.

Written by side and tail q = min(p, 1 − p), a row is *likely* (a hit above ½, a miss below) or
*unlikely*, and the two scores are q², −log(1 − q) or (1 − q)², −log q: symmetric, and exact where
1 − p would round.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import erfc, inf, sqrt
from typing import TYPE_CHECKING, Any

import numpy as np

from ogive._html import record_form
from ogive.curve.curve import as_curve, check_curve
from ogive.curve.keys import dot
from ogive.metrics.onepass import read

if TYPE_CHECKING:
    from ogive._typing import ArrayLike, FloatArray, WeightKind
    from ogive.curve import Curve
    from ogive.curve.clusters import Clusters
    from ogive.curve.keys import Run


class MeanReader:
    """Keeps the sums of weights, hits and scores."""

    def __init__(self) -> None:
        self.n = self.hits = self.score = 0.0

    def add(self, run: Run) -> None:
        """Take in the next rows."""
        self.n += run.size
        self.hits += run.total_hits
        self.score += run.size - run.tails if run.high else run.tails


class BrierReader:
    """Keeps the sum of squared errors, and the same with squared weights.

    Attributes
    ----------
    noise : float
        The sum of w² (y − p)²: an estimate of the variance of N times the gap. It is `total`
        unless the weights are sampling weights.
    """

    def __init__(self) -> None:
        self.total = self.noise = self.n = 0.0

    def add(self, run: Run) -> None:
        """Take in the next rows."""
        self.n += run.size
        if isinstance(run.count, float):
            rows, tails = run.total_hits, dot(run.hits, run.tail)  # of the unlikely outcomes
            if run.high:
                rows, tails = run.size - rows, run.tails - tails
            total = run.squared_tails + rows - 2.0 * tails
        else:
            total = _squared_errors(run.tail, run.unlikely, run.squared_tails)
        self.total += total
        if run.square is None or run.square_hits is None:
            self.noise += total
            return
        unlikely = run.square - run.square_hits if run.high else run.square_hits
        self.noise += _squared_errors(run.tail, unlikely, dot(run.square * run.tail, run.tail))

    @property
    def value(self) -> float:
        """The Brier score."""
        return self.total / self.n


def _squared_errors(q: FloatArray, unlikely: FloatArray, squares: float) -> float:
    """Return the sum of (y − p)²: q² for all, and (1 − q)² − q² = 1 − 2q more for the unlikely."""
    return squares + float(unlikely.sum()) - 2.0 * dot(unlikely, q)


class NllReader:
    """Keeps the sum of the log loss."""

    def __init__(self) -> None:
        self.total = self.n = 0.0

    def add(self, run: Run) -> None:
        """Take in the next rows."""
        self.n += run.size
        self.total += run.log_loss

    @property
    def value(self) -> float:
        """The log loss."""
        return self.total / self.n


class SpiegelhalterReader:
    """Keeps the sum of (y − p)(1 − 2p), and its variance if the scores are right."""

    def __init__(self) -> None:
        self.total = self.variance = 0.0

    def add(self, run: Run) -> None:
        """Take in the next rows; 1 − 2p is 1 − 2q on the low side and its negative above."""
        q = run.tail
        lean = 1.0 - 2.0 * q
        self.total += float(run.surplus @ lean) * (-1.0 if run.high else 1.0)
        square = run.count if run.square is None else run.square
        self.variance += float(np.sum(square * lean * lean * q * (1.0 - q)))


def accuracy(curve: Curve) -> float:
    """Return the share of outcomes that are 1: the accuracy of top-1, the base rate of a class.

    >>> from ogive import Curve
    >>> accuracy(Curve.from_scores([0.9, 0.8, 0.6, 0.7], [1, 0, 1, 1]))
    0.75
    """
    check_curve(curve)
    return float(curve.total_hits / curve.n)


def mean_score(curve: Curve) -> float:
    """Return the mean score: the predicted share of outcomes that are 1.

    >>> from ogive import Curve
    >>> mean_score(Curve.from_scores([0.5, 1.0], [1, 0]))
    0.75
    """
    reader = MeanReader()
    read(curve, reader)
    return reader.score / reader.n


def brier(
    curve: Curve | ArrayLike,
    outcomes: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
    weight_kind: WeightKind = "repetition",
) -> float:
    """Return the Brier score of the view: the mean of (score − outcome)².

    >>> from ogive import Curve
    >>> brier(Curve.from_scores([0.5, 1.0], [1, 0]))
    0.625
    """
    curve = as_curve(curve, outcomes, sample_weight=sample_weight, weight_kind=weight_kind)
    reader = BrierReader()
    read(curve, reader)
    return reader.value


def nll(
    curve: Curve | ArrayLike,
    outcomes: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
    weight_kind: WeightKind = "repetition",
) -> float:
    """Return the log loss of the view: the mean of −log max(q, 2.2e-16), q of what happened.

    It is `sklearn.metrics.log_loss` of the scores as float64. (Of a float32 array scikit-learn
    takes no probability below 1.2e-7.)

    >>> from ogive import Curve
    >>> round(nll(Curve.from_scores([0.5, 0.8], [1, 1])), 4)
    0.4581
    """
    curve = as_curve(curve, outcomes, sample_weight=sample_weight, weight_kind=weight_kind)
    reader = NllReader()
    read(curve, reader)
    return reader.value


@dataclass(frozen=True, slots=True)
class Spiegelhalter:
    """Spiegelhalter's test of the Brier score.

    Attributes
    ----------
    z : float
        Standard normal if the scores are right; 0 where nothing can vary.
    pvalue : float
        Two-sided.
    """

    z: float
    pvalue: float

    _repr_html_ = record_form


def spiegelhalter(
    curve: Curve | ArrayLike,
    outcomes: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
    weight_kind: WeightKind = "repetition",
    clusters: ArrayLike | None = None,
) -> Spiegelhalter:
    r"""Test whether the Brier score is what the scores themselves predict: Spiegelhalter's z.

    .. math:: z = \frac{\sum w (y - p)(1 - 2p)}{\sqrt{\sum w^2 (1 - 2p)^2 p (1 - p)}}

    Sums of squared weights are sums of weights unless the weights are sampling weights. It
    tests one direction only: it does not detect errors that cancel in the sum. With clusters the
    variance is the sum of squares of the clusters' sums, where that is larger, and z has Student's
    law with one less than Kish's number of clusters.

    References
    ----------
    Spiegelhalter (1986), Probabilistic prediction in patient management and clinical trials.

    >>> from ogive import Curve
    >>> result = spiegelhalter(Curve.from_scores([0.9] * 10, [1] * 5 + [0] * 5))
    >>> round(result.z, 3), round(result.pvalue, 6)
    (4.216, 2.5e-05)
    """
    how: Any = {"weight_kind": weight_kind, "clusters": clusters}
    curve = as_curve(curve, outcomes, sample_weight=sample_weight, **how)
    reader = SpiegelhalterReader()
    read(curve, reader)
    return spiegelhalter_of(reader, curve.clusters)


def spiegelhalter_of(
    reader: SpiegelhalterReader, clusters: Clusters | None = None
) -> Spiegelhalter:
    """Turn the two sums into z and its p-value."""
    if clusters is not None and reader.variance > 0.0:
        from scipy.special import stdtr  # noqa: PLC0415 - only clusters need it

        sums = np.bincount(clusters.code, clusters.surplus * (1.0 - 2.0 * clusters.score))
        z = reader.total / sqrt(max(reader.variance, float(sums @ sums)))
        return Spiegelhalter(z, 2.0 * float(stdtr(max(clusters.effective - 1.0, 1.0), -abs(z))))
    if reader.variance > 0.0:
        z = reader.total / sqrt(reader.variance)
    else:  # only 0, ½ and 1: nothing can vary, so anything but 0 is impossible
        z = 0.0 if reader.total == 0.0 else inf * reader.total
    return Spiegelhalter(z, erfc(abs(z) / sqrt(2.0)))
