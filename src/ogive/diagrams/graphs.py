"""The graphs of a curve: the cumulative difference, reliability with and without bins, and all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import betaincinv

from ogive._numerics.logistic import log_odds_of_tails
from ogive._numerics.mean_interval import HALF_WIDTH_95
from ogive._wording import percent
from ogive.calibrators import find_method
from ogive.calibrators.maps import Map
from ogive.diagrams.trace import Summary, summarise
from ogive.errors import DoesNotApply, InvalidInput
from ogive.metrics.binned import BINS, bin_rows
from ogive.rows.views import rate_name

if TYPE_CHECKING:
    from ogive._typing import ArrayLike, BoolArray, FloatArray
    from ogive.curve import Curve
    from ogive.metrics.binned import Bins

_GRID = 241
#: Rows that limit a probability by themselves: a tenth of all; fewer than 20 say next to nothing.
TENTHS, MIN_ROWS_FOR_A_LIMIT = 10, 20
TAIL_OF_LIMIT = 0.005  # on each side; so a band of 95 % and these limits hold together in 94 %


@dataclass(frozen=True, slots=True, eq=False)
class CumulativeDifference:
    """Cumulative hits minus cumulative score against the fractile: its slope is miscalibration.

    Attributes
    ----------
    summary : Summary
        The points, and the numbers of the measures.
    label : str
        What it is of, such as ``"test part"``.
    half_width : float or None
        Half the height of the band; None for rows that a map was fitted to, where there is no
        fair one.
    fitted_on : float or None
        If the scores are calibrated: on how many other rows. The band then has room for that.
    """

    summary: Summary
    label: str
    half_width: float | None
    fitted_on: float | None = None

    @classmethod
    def from_curve(
        cls,
        curve: Curve | Summary,
        *,
        label: str = "",
        fitted_on: float | None = None,
        in_sample: bool = False,
    ) -> CumulativeDifference:
        """Read it off a curve.

        Parameters
        ----------
        curve : Curve, or the summary of one
        label : str
        fitted_on : float, optional
            If the scores are calibrated: on how many other rows.
        in_sample : bool
            If they are calibrated on these very rows.

        >>> from ogive import Curve
        >>> CumulativeDifference.from_curve(Curve.from_scores([0.9, 0.8], [1, 0])).title
        'KS 40.00 %, base rate 50.00 %'
        """
        summary = curve if isinstance(curve, Summary) else summarise(curve)
        half = None if in_sample else summary.half_width(fitted_on)
        return cls(summary, label, half, fitted_on)

    @property
    def title(self) -> str:
        """The label, the KS error and the accuracy or base rate, in words."""
        rate = rate_name(self.summary.view)
        numbers = f"KS {percent(self.summary.ks.value)}, {rate} {percent(self.summary.accuracy)}"
        return f"{self.label}: {numbers}" if self.label else numbers


@dataclass(frozen=True, slots=True, eq=False)
class Reliability:
    """Probability against score, without bins: a fitted map, with its band if it has one.

    Attributes
    ----------
    method : str
        What was fitted.
    score, probability : (g,) arrays
        Between the lowest and the highest score.
    low, high : (g,) arrays or None
        The 95 % band of the probability.
    density : Bins
        How many rows have which scores.
    """

    method: str
    score: FloatArray
    probability: FloatArray
    low: FloatArray | None
    high: FloatArray | None
    density: Bins

    @classmethod
    def from_curve(
        cls,
        curve: Curve,
        method: str | Map = "spline",
        *,
        summary: Summary | None = None,
        grid: FloatArray | None = None,
    ) -> Reliability:
        """Fit a method to a curve (or take a map that was fitted), and follow it.

        grid : scores to follow it at. Default: evenly from the lowest score to the highest.

        >>> import numpy as np
        >>> from ogive import Curve
        >>> scores = np.linspace(0.1, 0.9, 400)
        >>> r = Reliability.from_curve(Curve.from_scores(scores, np.arange(400) % 2), "platt")
        >>> r.score[[0, -1]], bool(abs(r.probability - 0.5).max() < 0.05)
        (array([0.1, 0.9]), True)
        """
        gamma = method if isinstance(method, Map) else fit_for_graph(curve, method)
        known = summarise(curve) if summary is None else summary
        first, last = known.trace.score[[0, -1]]
        score = np.linspace(first, last, _GRID) if last > first else np.array([first])
        score = score if grid is None else np.unique(np.clip(grid, first, last))
        low, high = _band_at(gamma, score > 0.5, np.minimum(score, 1.0 - score))  # noqa: PLR2004
        q = gamma(score)
        if low is not None and high is not None and not isinstance(method, Map):
            low, high = narrowed(curve, score, q, (low, high))
        return cls(gamma.method, score, q, low, high, known.density)


@dataclass(frozen=True, slots=True, eq=False)
class BinnedReliability:
    """Share of hits against mean score, bin by bin; (b,) arrays, empty bins left out.

    `low` and `high` are Wilson's 95 % interval of the share of hits; `left` and `right` the
    edges of the bin.
    """

    left: FloatArray
    right: FloatArray
    score: FloatArray
    share: FloatArray
    low: FloatArray
    high: FloatArray
    count: FloatArray
    density: Bins

    @classmethod
    def from_curve(
        cls, curve: Curve, bins: ArrayLike | int = BINS, *, spacing: str = "width"
    ) -> BinnedReliability:
        """Bin a curve.

        >>> from ogive import Curve
        >>> b = BinnedReliability.from_curve(Curve.from_scores([0.1, 0.2, 0.9], [0, 1, 1]), 2)
        >>> b.share, b.score.round(2), b.low.round(2)
        (array([0.5, 1. ]), array([0.15, 0.9 ]), array([0.09, 0.21]))
        """
        cells = bin_rows(curve, bins, spacing=spacing)
        some = cells.count > 0
        count = cells.count[some]
        share = cells.hits[some] / count
        rows = count * count / cells.square[some]
        rows = rows if curve.clusters is None else rows / curve.clusters.design_effect
        low, high = wilson(share, rows)
        density = bin_rows(curve, 50)
        left, right = cells.edges[:-1][some], cells.edges[1:][some]
        return cls(left, right, cells.score[some] / count, share, low, high, count, density)


@dataclass(frozen=True, slots=True, eq=False)
class FourPanel:
    """The paper's four panels of one curve.

    (a) cumulative score and hits against fractile, (b) the same with the axis warped so that the
    score is a straight line, (c) score and probability against fractile, (d) probability
    against score.

    Attributes
    ----------
    difference : CumulativeDifference
        For (a) and (b): the points, the band and the largest gap.
    probability : (p,) array
        For (c): the fitted probability at each point of the trace.
    low, high : (p,) arrays or None
        Its 95 % band.
    reliability : Reliability
        For (d).
    """

    difference: CumulativeDifference
    probability: FloatArray
    low: FloatArray | None
    high: FloatArray | None
    reliability: Reliability

    @classmethod
    def from_curve(
        cls,
        curve: Curve,
        *,
        method: str = "spline",
        label: str = "",
        fitted_on: float | None = None,
        in_sample: bool = False,
    ) -> FourPanel:
        """Read the panels off a curve; `method` is fitted to it for the probability.

        The other parameters are those of `CumulativeDifference.from_curve`.
        """
        summary = summarise(curve)
        gamma = fit_for_graph(curve, method)
        trace = summary.trace
        low, high = _band_at(gamma, trace.high, trace.tail)
        return cls(
            CumulativeDifference.from_curve(
                summary, label=label, fitted_on=fitted_on, in_sample=in_sample
            ),
            gamma.from_tails(trace.high, trace.tail),
            low,
            high,
            Reliability.from_curve(curve, gamma, summary=summary),
        )


@dataclass(frozen=True, slots=True, eq=False)
class BeforeAfter:
    """Before and after calibration on one axis: the cumulative difference, and reliability.

    `reliability` has the probability against the score before and after, if that is drawn too.
    """

    before: CumulativeDifference
    after: CumulativeDifference
    reliability: tuple[Reliability, Reliability] | None = None


def fit_for_graph(curve: Curve, method: str) -> Map:
    """Fit a method that reads curves; others have no graph of probability against score."""
    chosen = find_method(method)
    if chosen.reads != "curve":
        msg = f"`method` {method!r} calibrates whole matrices: it is no line in a graph of scores."
        raise InvalidInput(msg)
    gamma = chosen.fit(curve)
    assert isinstance(gamma, Map)  # noqa: S101 - what methods that read curves fit
    return gamma


def wilson(share: FloatArray, count: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return Wilson's 95 % interval of a share of `count` rows."""
    z = HALF_WIDTH_95
    middle = (share + z * z / (2 * count)) / (1 + z * z / count)
    half = z * np.sqrt(share * (1 - share) / count + z * z / (4 * count * count))
    half /= 1 + z * z / count
    return np.clip(middle - half, 0.0, 1.0), np.clip(middle + half, 0.0, 1.0)


def wilson_of(hits: float, n: float) -> tuple[float, float]:
    """Return Wilson's 95 % interval of one share.

    >>> [round(end, 3) for end in wilson_of(8, 10)]
    [0.49, 0.943]
    """
    low, high = wilson(np.array([hits / n]), np.array([n]))
    return float(low[0]), float(high[0])


def narrowed(
    curve: Curve, score: FloatArray, q: FloatArray, band: tuple[FloatArray, FloatArray]
) -> tuple[FloatArray, FloatArray]:
    """Return the band of a map of these rows, narrowed to what the rows alone rule out.

    The band of a spline is that of a normal law in log-odds. Where all outcomes are alike it is
    far too wide: 0 to 100 % around 43 rows that are all right. A probability that rises with the
    score is at least the lower limit (Clopper and Pearson, 0.5 %) of the tenth of the rows at or
    below it, and at most the upper limit of the tenth at or above it.
    """
    low, high = band
    if curve.clusters is not None or not np.array_equal(curve.square, curve.count):
        return low, high  # these rows are not trials
    rows, hits = (np.append(0.0, np.cumsum(one)) for one in (curve.count, curve.hits))
    size = max(curve.n / TENTHS, MIN_ROWS_FOR_A_LIMIT)
    last = np.searchsorted(curve.score, score, side="right")
    first = np.searchsorted(rows, rows[last] - size, side="right") - 1
    n, k = (one[last] - one[np.maximum(first, 0)] for one in (rows, hits))
    below = np.where(
        (first >= 0) & (k > 0.0), betaincinv(np.maximum(k, 1.0), n - k + 1.0, TAIL_OF_LIMIT), 0.0
    )
    first = np.searchsorted(curve.score, score, side="left")
    last = np.searchsorted(rows, rows[first] + size, side="left")
    n, k = (one[np.minimum(last, rows.size - 1)] - one[first] for one in (rows, hits))
    above = np.where(
        (last < rows.size) & (k < n),
        betaincinv(k + 1.0, np.maximum(n - k, 1.0), 1.0 - TAIL_OF_LIMIT),
        1.0,
    )
    return np.maximum(low, np.minimum(below, q)), np.minimum(high, np.maximum(above, q))


def _band_at(
    gamma: Map, high: BoolArray, tail: FloatArray
) -> tuple[FloatArray | None, FloatArray | None]:
    """Return the 95 % band of a map that knows its own, or nothing."""
    odds = log_odds_of_tails(high, tail)  # ±inf: the ends of the map
    try:
        low, upper = gamma.band_from_log_odds(odds)
    except DoesNotApply:
        return None, None
    return np.asarray(low), np.asarray(upper)
