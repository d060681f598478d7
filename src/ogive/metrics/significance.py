r"""Tests of calibration: whether the KS or the Kuiper error is more than noise.

Under calibration the hits are independent with the scores as their probabilities, and N times
the gap is a random walk with variance :math:`\sigma^2 = \sum_i p_i (1 - p_i)`. Read in units of
sigma it is close to Brownian motion W on [0, 1], so that with x the error times N / sigma

.. math:: P(\sup |W| > x) = 4 \sum_{k \ge 0} (-1)^k Q((2k + 1) x), \qquad
          P(\text{range } W > x) = 8 \sum_{k \ge 1} (-1)^{k-1} k\, Q(k x) ,

Q the upper tail of the normal. With sampling weights sigma² is the sum of w² p (1 − p): with
w p (1 − p) a nominal 5 % test rejects 32 %.

The series does not hold where few rows can go either way (sigma² below 10) or where groups of
equal scores hold more than 5 % of sigma², since the gap is read at their ends only. There the
null is simulated (`ogive.metrics.null`).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import erfc, exp, pi, sqrt
from typing import TYPE_CHECKING, Literal

from ogive.metrics.ks import GapReader
from ogive.metrics.onepass import read
from ogive.metrics.proper import BrierReader

if TYPE_CHECKING:
    from ogive._keys import Run
    from ogive.curve import Curve
    from ogive.metrics.ks import Direction

Method = Literal["brownian", "simulation", "bound", "certain"]

#: Critical value of sup |W| at 5 %: half-width of the interval, and 50 % power.
CRITICAL = 2.241402727604947
#: At a true error of this many sigma / N the test at 5 % finds it four times in five.
DETECTABLE_80 = 3.083023
#: E sup |W| = sqrt(pi / 2), and E range W = sqrt(8 / pi).
EXPECTED_KS = sqrt(pi / 2)
EXPECTED_KUIPER = sqrt(8 / pi)


@dataclass(frozen=True, slots=True)
class CalibrationTest:
    """A KS or Kuiper error with its uncertainty.

    Attributes
    ----------
    value : float
        The error, in [0, 1].
    pvalue : float
        How often a perfectly calibrated model would show this much or more.
    low, high : float
        The 95 % interval of the error: value ± 2.2414 sqrt(mean (y − p)² / N), from 0 up (twice
        as wide for Kuiper). It covers the true error at least that often.
    expected : float
        What a perfectly calibrated model shows on average.
    detectable : float
        A true error of this size is found with 80 % power at 5 %; at `detectable_half`, 50 %.
    score, fractile, signed, direction
        Where the gap is largest and which way: see `LargestGap`. The gap accumulates up to
        there; it does not say that the scores near it are wrong.
    sigma : float
        The standard deviation of N times the gap at its end, under calibration.
    method : {"brownian", "simulation", "bound", "certain"}
        How the p-value was found; "certain" where all scores are 0 or 1.
    """

    value: float
    pvalue: float
    low: float
    high: float
    expected: float
    detectable: float
    detectable_half: float
    score: float
    fractile: float
    signed: float
    direction: Direction
    sigma: float
    method: Method


class VarianceReader:
    """Keeps the variance under calibration, and how much of it groups of equal scores hold."""

    def __init__(self) -> None:
        self.weighted = self.variance = self.tied = self.square = 0.0

    def add(self, run: Run) -> None:
        """Take in the next rows: sums of w p (1 − p), of w² p (1 − p), and of the tied part."""
        spread = run.tail * (1.0 - run.tail)
        if isinstance(run.count, float):
            total = float(spread.sum())
            self.weighted += total
            self.variance += total
            self.square += spread.size
            return
        square = run.count if run.square is None else run.square
        self.weighted += float(run.count @ spread)
        self.variance += float(square @ spread)
        self.square += float(square.sum())
        # A group of several rows shows in w² / sum of squares, the rows it could stand for.
        several = run.count * run.count > 1.5 * square
        self.tied += float(square[several] @ spread[several])

    @property
    def effective(self) -> float:
        """Sigma² in units of one row's weight: how many coin flips the sample is worth, over 4."""
        return self.weighted**2 / self.variance if self.variance > 0.0 else 0.0


class TestReader:
    """Keeps all that both tests need, for one pass over a curve."""

    def __init__(self) -> None:
        self.gap, self.variance, self.brier = GapReader(), VarianceReader(), BrierReader()

    def add(self, run: Run) -> None:
        """Take in the next rows."""
        self.gap.add(run)
        self.variance.add(run)
        self.brier.add(run)


def ks_test(curve: Curve, *, seed: int = 0) -> CalibrationTest:
    """Test the KS error: value, p-value, interval, and what perfect calibration would show.

    Parameters
    ----------
    curve : Curve
    seed : int
        Of the simulation, where the Brownian series does not hold.

    >>> import numpy as np
    >>> from ogive import Curve
    >>> scores = (np.arange(1000) + 0.5) / 1000
    >>> result = ks_test(Curve.from_scores(scores, scores > 0.5))
    >>> round(result.value, 3), result.pvalue < 1e-9, round(result.expected, 3)
    (0.125, True, 0.016)
    """
    reader = TestReader()
    read(curve, reader)
    return ks_of(curve, reader, seed=seed)


def kuiper_test(curve: Curve, *, seed: int = 0) -> CalibrationTest:
    """Test the Kuiper error, the range of the gap; as `ks_test`.

    >>> import numpy as np
    >>> from ogive import Curve
    >>> scores = (np.arange(1000) + 0.5) / 1000
    >>> round(kuiper_test(Curve.from_scores(scores, scores > 0.5)).value, 3)
    0.125
    """
    reader = TestReader()
    read(curve, reader)
    return kuiper_of(curve, reader, seed=seed)


def ks_of(curve: Curve, reader: TestReader, *, seed: int) -> CalibrationTest:
    """Turn what the reader kept into the KS test."""
    return _result(curve, reader, reader.gap.largest().value, kuiper=False, seed=seed)


def kuiper_of(curve: Curve, reader: TestReader, *, seed: int) -> CalibrationTest:
    """Turn what the reader kept into the Kuiper test."""
    return _result(curve, reader, reader.gap.kuiper, kuiper=True, seed=seed)


def _result(
    curve: Curve,  # noqa: ARG001
    reader: TestReader,
    value: float,
    *,
    kuiper: bool,
    seed: int,  # noqa: ARG001
) -> CalibrationTest:
    n, at = reader.gap.rows, reader.gap.largest()
    sigma = sqrt(reader.variance.variance)
    pvalue = (range_tail if kuiper else supremum_tail)(value * n / sigma) if sigma else 1.0
    half = CRITICAL * sqrt(reader.brier.value / n) * (2.0 if kuiper else 1.0)
    unit = sigma / n
    return CalibrationTest(
        value=value,
        pvalue=pvalue,
        low=max(value - half, 0.0),
        high=min(value + half, 1.0),
        expected=unit * (EXPECTED_KUIPER if kuiper else EXPECTED_KS),
        detectable=unit * DETECTABLE_80,
        detectable_half=unit * CRITICAL,
        score=at.score,
        fractile=at.fractile,
        signed=at.signed,
        direction=at.direction,
        sigma=sigma,
        method="brownian",
    )


def supremum_tail(x: float) -> float:
    """Return P(sup |W| > x) for Brownian motion on [0, 1].

    >>> round(supremum_tail(2.2414), 4)
    0.05
    """
    if x < 1.0:  # where the second form of the series converges faster
        odd = range(1, 16, 2) if x > 0.0 else range(0)
        terms = [(2 - k % 4) / k * exp(-((k * pi) ** 2) / (8.0 * x * x)) for k in odd]
        return min(max(1.0 - 4.0 / pi * sum(terms), 0.0), 1.0)
    return min(4.0 * sum((2 - k % 4) * _upper(k * x) for k in range(1, 16, 2)), 1.0)


def range_tail(x: float) -> float:
    """Return P(max W − min W > x) for Brownian motion on [0, 1].

    >>> round(range_tail(2.498), 4)
    0.05
    """
    if x < 0.3:  # noqa: PLR2004 - 1 to many digits
        return 1.0
    signed = [(2 * (k % 2) - 1) * k * _upper(k * x) for k in range(1, 2 + int(40.0 / x))]
    return min(max(8.0 * sum(signed), 0.0), 1.0)


def _upper(x: float) -> float:
    """Return the upper tail of the standard normal."""
    return 0.5 * erfc(x / sqrt(2.0))
