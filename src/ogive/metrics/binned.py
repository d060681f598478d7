r"""Binned measures: ECE and MCE on stated edges, through one binning function.

Bins are open on the left and closed on the right, as in the paper, except that the first is
closed on both sides: a score of exactly 0 is in the first bin and a score of exactly 1 in the
last. With :math:`n_b` rows in bin b, :math:`\bar y_b` their mean outcome and :math:`\bar p_b`
their mean score, :math:`g_b = |\bar y_b - \bar p_b|`,

.. math:: \text{ECE}_1 = \sum_b \tfrac{n_b}{N} g_b, \qquad
          \text{ECE}_2 = \Bigl(\sum_b \tfrac{n_b}{N} g_b^2\Bigr)^{1/2}, \qquad
          \text{MCE} = \max_b g_b .

Both are biased: noise alone makes them positive, and more so the more bins there are. Kumar et
al. (2019) subtract the noise of each bin from the square (`debiased_ece2`):
:math:`g_b^2 - \bar y_b (1 - \bar y_b) / (n_b - 1)`.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import TYPE_CHECKING

import numpy as np

from ogive.curve.curve import Curve, as_curve, check_curve
from ogive.errors import InvalidInput
from ogive.metrics.onepass import read
from ogive.rows.check import as_choice, as_floats

if TYPE_CHECKING:
    from ogive._typing import ArrayLike, FloatArray, WeightKind
    from ogive.curve.keys import Run

#: The default number of bins of equal width; the paper's tables use 25.
BINS = 15

_NORMS = ("l1", "l2", "max")
_SPACINGS = ("width", "mass")


@dataclass(frozen=True, slots=True)
class Bins:
    """Sums over the rows of each bin; empty bins are kept, with zeros.

    Attributes
    ----------
    edges : (B + 1,) array
        Rising, the first 0 and the last 1.
    count, hits, score, square : (B,) arrays
        Sums over the rows of each bin: of weights, of outcomes, of scores, of squared weights.
    surplus : (B,) array
        Outcomes minus scores, added up row by row.
    """

    edges: FloatArray
    count: FloatArray
    hits: FloatArray
    score: FloatArray
    square: FloatArray
    surplus: FloatArray

    @property
    def gap(self) -> FloatArray:
        """Mean outcome minus mean score of each bin, 0 for an empty bin, (B,)."""
        return self.surplus / np.where(self.count > 0, self.count, 1.0)

    def error(self, norm: str = "l1") -> float:
        """Return the gaps' weighted mean (``"l1"``), root mean square (``"l2"``) or ``"max"``."""
        chosen = as_choice(norm, "norm", _NORMS)
        gap, share = np.abs(self.gap), self.count / self.count.sum()
        if chosen == "max":
            return float(gap.max())
        return float(share @ gap) if chosen == "l1" else sqrt(float(share @ gap**2))

    def debiased(self) -> float:
        """Return the root of the debiased squared error, 0 where that is negative.

        A bin of one row has no estimate of its noise and is left as it is. With sampling
        weights a bin's size is its effective one, (sum w)² / sum w².
        """
        some = self.count > 0
        count, rate = self.count[some], self.hits[some] / self.count[some]
        size = count * count / self.square[some]
        noise = rate * (1.0 - rate) / np.where(size > 1.0, size - 1.0, np.inf)
        total = count @ (self.gap[some] ** 2 - noise) / self.count.sum()
        return sqrt(max(float(total), 0.0))


class BinReader:
    """Keeps the sums of each bin; the rows come in order, so that bins are slices."""

    def __init__(self, edges: FloatArray) -> None:
        self.edges = edges
        self.sums = np.zeros((5, edges.size - 1))

    def add(self, run: Run) -> None:
        """Take in the next rows."""
        first, last = run.tail[0], run.tail[-1]
        outer = np.array([1.0 - first, 1.0 - last] if run.high else [first, last])
        here, there = np.searchsorted(self.edges[1:-1], outer)
        if run.square is None and here == there:  # all rows in one bin, as most runs are
            scores = run.size - run.tails if run.high else run.tails
            misses = run.size - run.total_hits
            surplus = run.tails - misses if run.high else run.total_hits - run.tails
            self.sums[:, here] += run.size, run.total_hits, scores, run.size, surplus
        else:
            self._add_slices(run)

    def _add_slices(self, run: Run) -> None:
        score = run.score
        ends = np.searchsorted(score, self.edges[1:], side="right")
        ends[-1] = score.size
        starts = np.concatenate([[0], ends[:-1]])
        square = run.count if run.square is None else run.square
        columns = (run.count, run.hits, run.count * score, square, run.surplus)
        for b in np.flatnonzero(ends > starts):
            at = slice(int(starts[b]), int(ends[b]))
            size = at.stop - at.start
            self.sums[:, b] += [
                column * size if isinstance(column, float) else column[at].sum()
                for column in columns
            ]

    def bins(self) -> Bins:
        """Return the finished sums."""
        return Bins(self.edges, *self.sums)


def equal_width(bins: int = BINS) -> FloatArray:
    """Return the edges of bins of equal width.

    >>> equal_width(4)
    array([0.  , 0.25, 0.5 , 0.75, 1.  ])
    """
    return np.arange(_as_bins(bins) + 1.0) / bins  # each j / B correctly rounded


def equal_mass(curve: Curve, bins: int = BINS) -> FloatArray:
    """Return edges that put about as many rows in each bin, never splitting equal scores.

    The j-th edge is the smallest score up to which there is a share of at least j / bins of the
    rows. With many equal scores there are fewer bins than asked for.

    >>> from ogive import Curve
    >>> equal_mass(Curve.from_scores([0.1, 0.2, 0.3, 0.4], [0, 0, 1, 1]), 2)
    array([0. , 0.2, 1. ])
    """
    check_curve(curve)
    # The shrinking keeps j / bins * N from rounding above a whole number.
    targets = np.arange(1, _as_bins(bins)) / bins * (1.0 - 1e-12)
    inner = np.empty(0)
    if targets.size:
        place = curve.at_fractiles(targets)
        inner = np.where(place.high, 1.0 - place.tail, place.tail)
    return np.unique(np.concatenate([[0.0], inner[(inner > 0.0) & (inner < 1.0)], [1.0]]))


def bin_rows(curve: Curve, edges: ArrayLike | int = BINS, *, spacing: str = "width") -> Bins:
    """Return the sums of each bin: the only binning function.

    Parameters
    ----------
    curve : Curve
    edges : int or array-like, (B + 1,)
        How many bins, or their edges: strictly rising from 0 to 1.
    spacing : {"width", "mass"}
        How a number of bins is placed.

    >>> from ogive import Curve
    >>> bins = bin_rows(Curve.from_scores([0.0, 0.5, 0.6, 1.0], [0, 1, 0, 1]), 2)
    >>> bins.count, bins.gap.round(2)
    (array([2., 2.]), array([ 0.25, -0.3 ]))
    """
    check_curve(curve)
    reader = BinReader(as_edges(curve, edges, spacing))
    read(curve, reader)
    return reader.bins()


def as_edges(curve: Curve, edges: ArrayLike | int, spacing: str = "width") -> FloatArray:
    """Return checked edges: those given, or as many bins as asked for."""
    how = as_choice(spacing, "spacing", _SPACINGS)
    if np.ndim(edges) == 0:
        return equal_width(edges) if how == "width" else equal_mass(curve, edges)  # type: ignore[arg-type]
    array = as_floats(edges, "edges", ndim=(1,)).astype(np.float64)
    few = array.size < 2  # noqa: PLR2004 - one bin has two edges
    if few or array[0] != 0.0 or array[-1] != 1.0 or not (np.diff(array) > 0).all():
        msg = f"`edges` must rise strictly from 0 to 1, but are {array.tolist()!r}."
        raise InvalidInput(msg)
    return array


def _as_bins(bins: int) -> int:
    if isinstance(bins, bool) or not isinstance(bins, int | np.integer) or bins < 1:
        msg = f"`bins` must be a whole number of at least 1, not {bins!r}."
        raise InvalidInput(msg)
    return int(bins)


def ece(
    curve: Curve | ArrayLike,
    outcomes: ArrayLike | None = None,
    bins: ArrayLike | int = BINS,
    *,
    spacing: str = "width",
    norm: str = "l1",
    sample_weight: ArrayLike | None = None,
    weight_kind: WeightKind = "repetition",
) -> float:
    """Return the expected calibration error.

    Parameters
    ----------
    curve : Curve, or array-like (N,)
        A curve, or scores in [0, 1].
    outcomes : array-like (N,), optional
        The outcomes of scores. After a curve, which has its own, the second argument is `bins`.
    bins : int or array-like
        How many bins, or their edges.
    spacing : {"width", "mass"}
    norm : {"l1", "l2", "max"}
    sample_weight, weight_kind : optional
        Of scores, as in `Curve.from_scores`.

    >>> from ogive import Curve
    >>> round(ece(Curve.from_scores([0.9, 0.8, 0.6, 0.7], [1, 0, 1, 0]), 5), 3)
    0.5
    >>> round(ece([0.9, 0.8, 0.6, 0.7], [1, 0, 1, 0], bins=5), 3)
    0.5
    """
    if isinstance(curve, Curve) and outcomes is not None:
        bins, outcomes = outcomes, None  # a curve has its own: its second argument is the bins
    found = as_curve(curve, outcomes, sample_weight=sample_weight, weight_kind=weight_kind)
    return bin_rows(found, bins, spacing=spacing).error(norm)


def mce(
    curve: Curve | ArrayLike,
    outcomes: ArrayLike | None = None,
    bins: ArrayLike | int = BINS,
    *,
    spacing: str = "width",
    sample_weight: ArrayLike | None = None,
    weight_kind: WeightKind = "repetition",
) -> float:
    """Return the maximum calibration error: the largest gap of any bin that is not empty.

    >>> from ogive import Curve
    >>> round(mce(Curve.from_scores([0.9, 0.8, 0.6, 0.7], [1, 0, 1, 0]), 5), 3)
    0.75
    """
    if isinstance(curve, Curve) and outcomes is not None:
        bins, outcomes = outcomes, None  # a curve has its own: its second argument is the bins
    found = as_curve(curve, outcomes, sample_weight=sample_weight, weight_kind=weight_kind)
    return bin_rows(found, bins, spacing=spacing).error("max")


def debiased_ece2(curve: Curve, bins: ArrayLike | int = BINS, *, spacing: str = "mass") -> float:
    """Return the debiased L2 calibration error of Kumar, Liang and Ma (2019).

    Equal-mass bins by default, as in that paper. 0 where the noise of the bins
    explains all of the gaps.

    References
    ----------
    Kumar, Liang, Ma (2019), Verified uncertainty calibration, NeurIPS.

    >>> from ogive import Curve
    >>> debiased_ece2(Curve.from_scores([0.5, 0.5], [1, 0]))
    0.0
    """
    return bin_rows(curve, bins, spacing=spacing).debiased()
