r"""Tests of calibration: whether the KS or the Kuiper error is more than noise.

Under calibration the outcomes are independent with the scores as their probabilities, and N times
the gap is a random walk with variance :math:`\sigma^2 = \sum_i p_i (1 - p_i)`. Read in units of
sigma it is close to Brownian motion on [0, 1], and the p-value is that of the error times N / sigma
(`ogive._numerics.brownian`). With sampling weights sigma² is the sum of w² p (1 − p): with
w p (1 − p) a nominal 5 % test rejects 32 %.

The series does not hold where single outcomes move the gap too far (sigma² below 10 times the
square of the largest weight of a row, which is 1 without sampling weights) or where groups of
equal scores hold more than 5 % of sigma², since the gap is read at their ends only. There the
null is simulated (`ogive.metrics.null`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import sqrt
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from ogive._html import record_form
from ogive._numerics.brownian import (
    CRITICAL,
    CRITICAL_RANGE,
    EXPECTED_KS,
    EXPECTED_KUIPER,
    range_tail,
    supremum_tail,
)
from ogive._numerics.mean_interval import LEVEL
from ogive.curve.curve import as_curve
from ogive.metrics.clustered import noise_of, with_clusters
from ogive.metrics.gap import GapReader
from ogive.metrics.ks import largest_of
from ogive.metrics.null import CELL, Null
from ogive.metrics.onepass import read
from ogive.metrics.proper import BrierReader

if TYPE_CHECKING:
    from ogive._typing import ArrayLike, FloatArray, WeightKind
    from ogive.curve import Curve
    from ogive.curve.keys import Run
    from ogive.metrics.clustered import ClusterNoise
    from ogive.metrics.ks import Direction

Method = Literal["brownian", "simulation", "bound", "certain", "clusters"]

#: The normal's 80 % point: this much beyond the critical value has 80 % power.
POWER_80 = 0.8416212335729143
#: The lower end of an interval that does not hold 0, where nothing more is known about it.
LEAST_ABOVE_ZERO = 1e-6

#: The series does not hold where sigma² is below this many squares of the heaviest row's weight.
MIN_VARIANCE_FOR_SERIES = 10.0
#: Nor where groups of equal scores hold more than this share of sigma².
MAX_TIED_FOR_SERIES = 0.05
_FAR_FROM_REJECTION = 1.5  # sigmas: among many tests, smaller errors are not simulated
_CLEAR_PVALUE = 1e-4  # an upper bound below this is precise enough as the p-value


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
        The 95 % interval of the error, by inverting the test: see `interval_of`. It holds 0 if
        and only if p >= 5 %.
    expected : float
        What a perfectly calibrated model shows on average.
    detectable : float
        A true error of this size is found with 80 % power at 5 %; at `detectable_half`, 50 %.
    score, fractile, signed, direction
        Where the gap is largest and which way: see `LargestGap`. The gap accumulates up to
        there; it does not say that the scores near it are wrong.
    sigma : float
        The standard deviation of N times the gap at its end, under calibration.
    method : {"brownian", "simulation", "bound", "certain", "clusters"}
        How the p-value was found; "certain" where all scores are 0 or 1, "clusters" where rows
        have clusters (`ogive.metrics.clustered`).
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

    _repr_html_ = record_form


class VarianceReader:
    """Keeps the variance under calibration, the share of equal scores and the largest weight."""

    def __init__(self) -> None:
        self.variance = 0.0
        self._large: list[FloatArray] = []
        self._largest_square: list[float] = []  # of a group, in runs with sampling weights

    def add(self, run: Run) -> None:
        """Take in the next rows: the sum of w² p (1 − p), and large groups."""
        if isinstance(run.count, float):
            self.variance += run.tails - run.squared_tails
            return
        spread = run.tail * (1.0 - run.tail)
        square = run.count if run.square is None else run.square
        if square is not run.count and not np.array_equal(square, run.count):
            self._largest_square.append(float(square[spread > 0.0].max(initial=0.0)))
        spread *= square
        self.variance += float(spread.sum())
        # W² / sum of w² is how many rows a group stands for. The total so far is at most the
        # final one, so that no group is missed which is large in the end.
        several = (spread >= CELL * self.variance) & (run.count * run.count > 1.5 * square)
        self._large.append(spread[several])

    @property
    def tied(self) -> float:
        """The variance in groups of equal scores that hold 1/500 or more of it each."""
        large = np.concatenate([np.empty(0), *self._large])
        return float(large[large >= CELL * self.variance].sum())

    @property
    def least_effective(self) -> float:
        """The least that sigma² can be in units of the heaviest row's squared weight.

        A walk is close to Brownian motion where no single step is large beside the whole. With
        sampling weights no row of a group weighs more than the root of its sum of squares.
        """
        return self.variance / (max(self._largest_square, default=0.0) or 1.0)


class TestReader:
    """Collects what both tests need, in one pass over a curve."""

    def __init__(self) -> None:
        self.variance, self.brier = VarianceReader(), BrierReader()
        self.gap = GapReader()
        self._null: Null | None = None
        self._noise: ClusterNoise | None = None

    def add(self, run: Run) -> None:
        """Take in the next rows."""
        self.variance.add(run)
        self.brier.add(run)
        self.gap.add(run)

    def null(self, curve: Curve) -> Null:
        """Return the null of the curve that was read, made once for both tests."""
        if self._null is None:
            self._null = Null(curve)
        return self._null

    def noise(self, curve: Curve) -> ClusterNoise:
        """Return the noise of a curve with clusters, made once for both tests."""
        if self._noise is None:
            self._noise = noise_of(curve)
        return self._noise


def ks_test(
    curve: Curve | ArrayLike,
    outcomes: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
    weight_kind: WeightKind = "repetition",
    clusters: ArrayLike | None = None,
    random_state: int = 0,
) -> CalibrationTest:
    """Test the KS error: value, p-value, interval, and what perfect calibration would show.

    Parameters
    ----------
    curve, outcomes, sample_weight, weight_kind, clusters
        A curve; or scores with their outcomes, weights and clusters as in `Curve.from_scores`.
    random_state : int
        Of the simulation, where the Brownian series does not hold, and with clusters.

    >>> import numpy as np
    >>> from ogive import Curve
    >>> scores = (np.arange(1000) + 0.5) / 1000
    >>> result = ks_test(Curve.from_scores(scores, scores > 0.5))
    >>> round(result.value, 3), result.pvalue < 1e-9, round(result.expected, 3)
    (0.125, True, 0.016)
    """
    how: Any = {"weight_kind": weight_kind, "clusters": clusters}
    curve = as_curve(curve, outcomes, sample_weight=sample_weight, **how)
    reader = TestReader()
    read(curve, reader)
    return ks_of(curve, reader, random_state=random_state)


def kuiper_test(
    curve: Curve | ArrayLike,
    outcomes: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
    weight_kind: WeightKind = "repetition",
    clusters: ArrayLike | None = None,
    random_state: int = 0,
) -> CalibrationTest:
    """Test the Kuiper error, the range of the gap; as `ks_test`.

    >>> import numpy as np
    >>> from ogive import Curve
    >>> scores = (np.arange(1000) + 0.5) / 1000
    >>> round(kuiper_test(Curve.from_scores(scores, scores > 0.5)).value, 3)
    0.125
    """
    how: Any = {"weight_kind": weight_kind, "clusters": clusters}
    curve = as_curve(curve, outcomes, sample_weight=sample_weight, **how)
    reader = TestReader()
    read(curve, reader)
    return kuiper_of(curve, reader, random_state=random_state)


def ks_of(
    curve: Curve, reader: TestReader, *, random_state: int, tests: int = 1, noise: float = 1.0
) -> CalibrationTest:
    """Return the KS test of the collected sums; one of several tests needs smaller p-values.

    noise : how much larger the noise is than that of these rows alone, for calibrated scores
    """
    value = largest_of(reader.gap.extremes).value
    return _result(
        curve, reader, value, kuiper=False, random_state=random_state, tests=tests, noise=noise
    )


def kuiper_of(curve: Curve, reader: TestReader, *, random_state: int) -> CalibrationTest:
    """Return the Kuiper test of the collected sums."""
    return _result(
        curve, reader, reader.gap.extremes.kuiper, kuiper=True, random_state=random_state
    )


def _result(
    curve: Curve,
    reader: TestReader,
    value: float,
    *,
    kuiper: bool,
    random_state: int,
    tests: int = 1,
    noise: float = 1.0,
) -> CalibrationTest:
    n, at, spread = reader.brier.n, largest_of(reader.gap.extremes), reader.variance
    sigma = sqrt(spread.variance)
    expected = sigma / n * (EXPECTED_KUIPER if kuiper else EXPECTED_KS)
    method: Method = "brownian"
    if sigma == 0.0:
        pvalue, method = float(value == 0.0), "certain"
    else:
        total = value * n / noise
        pvalue = (range_tail if kuiper else supremum_tail)(total / sigma)
        few, clear = _moved_by_few(curve, reader), _CLEAR_PVALUE / sqrt(tests)
        dull = tests > 1 and total < _FAR_FROM_REJECTION * sigma
        held = spread.tied if curve.spans is None else _tied_in_summary(curve)
        tied = held > MAX_TIED_FOR_SERIES * spread.variance and pvalue > clear
        if (few or tied) and not dull:
            null = reader.null(curve)
            pvalue, method = null.bound(total), "bound"
            if kuiper or pvalue > clear:
                draws = {"enough": 50, "most": 10_000}
                if tests > 1:  # most are far from rejection, and some must get far below 5 %
                    draws = {"enough": 12, "most": max(10_000, 40 * tests)}
                pvalue, mean = null.pvalue(total, kuiper=kuiper, random_state=random_state, **draws)
                expected, method = mean / n, "simulation"
    critical = CRITICAL_RANGE if kuiper else CRITICAL
    low, high = interval_of(reader, value, noise * critical)
    found = CalibrationTest(
        value=value,
        pvalue=pvalue,
        low=low,
        high=high,
        expected=expected,
        detectable=sigma / n * (critical + POWER_80),
        detectable_half=sigma / n * critical,
        score=at.score,
        fractile=at.fractile,
        signed=at.signed,
        direction=at.direction,
        sigma=sigma,
        method=method,
    )
    if curve.clusters is not None and sigma > 0.0:
        seen = reader.noise(curve).seen(random_state, kuiper=kuiper)
        found = with_clusters(found, seen, n, critical=critical, level=LEVEL, more=noise)
    # Ties, or few outcomes: the simulated null may reject where the interval begins at 0.
    least = min(LEAST_ABOVE_ZERO, value)
    return replace(found, low=0.0 if found.pvalue >= LEVEL else found.low or least)


def _moved_by_few(curve: Curve, reader: TestReader) -> bool:
    """Return whether a single outcome can move the gap so far that the series does not hold."""
    if reader.variance.least_effective >= MIN_VARIANCE_FOR_SERIES:
        return False
    return reader.null(curve).effective < MIN_VARIANCE_FOR_SERIES


def _tied_in_summary(curve: Curve) -> float:
    """Return the variance in large groups of equal scores; buckets of many scores do not count."""
    assert curve.spans is not None  # noqa: S101 - asked of summaries only
    spread = curve.square * curve.tail * (1.0 - curve.tail)
    equal = (curve.spans.first == curve.spans.last) & (curve.count**2 > 1.5 * curve.square)
    return float(spread[equal & (spread >= CELL * spread.sum())].sum())


def interval_of(
    reader: TestReader, value: float, critical: float = CRITICAL
) -> tuple[float, float]:
    r"""Return the 95 % interval of an error: all true errors that the test does not reject.

    With c the critical value, the error is off by at most c s / N, s² the variance of the hits.
    For the upper end s² is the sum of (y − p)², or of p (1 − p) where that is larger, since few
    surprising outcomes make a sample underrate its noise. For the lower end s² is also bounded:
    with q the truth, :math:`q (1-q) \le p (1-p) + (q - p)(1 - 2p)`, and since :math:`1 - 2p` falls
    from at most 1 to at least −1 while no partial sum of q − p exceeds N times the true error e,

    .. math:: s^2 \le \sum_i p_i (1 - p_i) + 3 N e .

    At e = 0 this is the variance under calibration, and the interval holds 0 if and only if the
    test does not reject. With sampling weights 3 N e is multiplied by the mean weight of a row.
    """
    n, calibrated = reader.brier.n, reader.variance.variance
    noise = max(reader.brier.noise, calibrated)
    weight = reader.brier.noise / reader.brier.total if reader.brier.total else 1.0
    half = critical * sqrt(noise) / n
    # (value − e) n = c sqrt(calibrated + 3 w n e), w the mean weight: a quadratic in x = n e.
    slope = 3.0 * weight * critical**2 / 2.0
    total = value * n
    root = sqrt(slope * (slope + 2.0 * total) + critical**2 * calibrated)
    bounded = (total + slope - root) / n
    return max(value - half, bounded, 0.0), min(value + half, 1.0)
