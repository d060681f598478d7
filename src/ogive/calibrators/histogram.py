"""Histogram binning: in each bin, the share of outcomes that are 1 (Zadrozny and Elkan, 2001).

Bins of equal mass hold about as many rows each; a group of equal scores is never split. It goes
where its middle falls; a middle on a boundary goes to the bin farther from the median (at the
median itself, to the side of ½ on which its score lies), so that the map of 1 − score, 1 − outcome
is the mirror image. The boundary lies halfway between the scores on either side. Bins of equal
width are (k/B, (k + 1)/B], the first one with 0; one without rows keeps its middle.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Self, TypeAlias

import numpy as np

from ogive.calibrators.log_odds import mean_at_one
from ogive.calibrators.maps import Map, last_of
from ogive.calibrators.platt import fall_back, has_one_outcome
from ogive.errors import InvalidInput
from ogive.rows.check import as_choice

if TYPE_CHECKING:
    from ogive._typing import BoolArray, FloatArray, IntArray
    from ogive.calibrators.platt import PlattMap
    from ogive.curve import Curve

Spacing: TypeAlias = Literal["mass", "width"]
_SPACINGS: tuple[Spacing, Spacing] = ("mass", "width")
#: A group's middle is on a boundary within this share of a bin: sums of weights err by less.
ON_A_BOUNDARY = 1e-9
#: The default of the method: bins to fit, not those that the ECE is measured with.
HISTOGRAM_BINS = 15


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class StepMap(Map):
    """A step function.

    Attributes
    ----------
    edge_high, edge_tail : (B − 1,) arrays
        The boundaries as side and tail, rising; a boundary belongs to the bin below it.
    value : (B,) array
        The probability in each bin.
    at_one : float or None
        The probability of a score of exactly 1.0, where rows of the fit rounded to it.
    """

    method = "steps"

    edge_high: BoolArray
    edge_tail: FloatArray
    value: FloatArray
    at_one: float | None

    def _evaluate(self, high: BoolArray, tail: FloatArray) -> FloatArray:
        return self.value[_bin_of(high, tail, self.edge_high, self.edge_tail)]

    def _at_one(self, result: FloatArray, certain: BoolArray) -> FloatArray:
        if self.at_one is not None:
            result[certain] = self.at_one
        return result

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain JSON values."""
        return super().to_dict() | {"edge_high": int(self.edge_high.sum())}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Self:
        """Rebuild a map from `to_dict`."""
        high = last_of(values["edge_tail"], values["edge_high"])
        return super().from_dict(values | {"edge_high": high})


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class HistogramMap(StepMap):
    """The share of outcomes that are 1 in each bin.

    Attributes
    ----------
    spacing : {"mass", "width"}
    """

    method = "histogram"

    spacing: Spacing


def fit_histogram(
    curve: Curve, bins: int = HISTOGRAM_BINS, spacing: Spacing = "mass"
) -> HistogramMap | PlattMap:
    """Fit histogram binning to a curve; one class alone falls back to 'platt'.

    Parameters
    ----------
    curve : Curve
    bins : int
        How many bins; of equal mass, fewer where scores tie.
    spacing : {"mass", "width"}
        Bins of about equal numbers of rows, or of equal width in the score.

    Examples
    --------
    >>> from ogive import Curve
    >>> curve = Curve.from_scores([0.1, 0.2, 0.6, 0.9], [0, 1, 1, 1])
    >>> fit_histogram(curve, bins=2)([0.3, 0.35, 0.5, 1.0])
    array([0.5, 0.5, 1. , 1. ])
    """
    spacing = as_choice(spacing, "spacing", _SPACINGS)
    if not isinstance(bins, int | np.integer) or isinstance(bins, bool) or bins < 1:
        msg = f"`bins` must be a whole number >= 1, not {bins!r}."
        raise InvalidInput(msg)
    if has_one_outcome(curve):
        return fall_back(curve, "histogram")
    high, tail = _mass_edges(curve, bins) if spacing == "mass" else _width_edges(bins)
    place = _bin_of(curve.high, curve.tail, high, tail)
    count = np.bincount(place, weights=curve.count, minlength=tail.size + 1)
    hits = np.bincount(place, weights=curve.hits, minlength=tail.size + 1)
    middle = (np.arange(tail.size + 1) + 0.5) / (tail.size + 1)  # only equal widths have gaps
    value = np.where(count > 0, hits / np.where(count > 0, count, 1.0), middle)
    np.clip(value, 0.0, 1.0, out=value)
    return HistogramMap(
        view=curve.view,
        n=curve.n,
        edge_high=high,
        edge_tail=tail,
        value=value,
        at_one=mean_at_one(curve, value[place]),
        spacing=spacing,
    )


def _bin_of(
    high: BoolArray, tail: FloatArray, edge_high: BoolArray, edge_tail: FloatArray
) -> IntArray:
    """Return the bin of each score: how many edges lie below it."""
    low_edges, high_edges = edge_tail[~edge_high], edge_tail[edge_high][::-1]  # rising tails
    below = np.searchsorted(low_edges, tail)  # tails of edges < the score's tail
    above = edge_tail.size - np.searchsorted(high_edges, tail, side="right")
    return np.where(high, above, below)


def _mass_edges(curve: Curve, bins: int) -> tuple[BoolArray, FloatArray]:
    """Return the boundaries between groups of rows of about equal mass."""
    place = bins * (curve.fractile - curve.count / (2.0 * float(curve.n)))  # of each middle
    nearest = np.rint(place)
    upwards = np.where(nearest == bins / 2, curve.high, nearest > bins / 2)
    on_boundary = np.abs(place - nearest) <= ON_A_BOUNDARY
    bin_of_row = np.where(on_boundary, nearest - ~upwards, np.floor(place))
    bin_of_row = np.clip(bin_of_row, 0, bins - 1)
    last = np.flatnonzero(np.diff(bin_of_row))  # the last row of each bin but the highest
    a, b = (curve.high[last], curve.tail[last]), (curve.high[last + 1], curve.tail[last + 1])
    same = a[0] == b[0]
    across = (a[1] + 1.0 - b[1]) / 2  # the middle of a low and a high score
    high = np.where(same, a[0], across > 0.5)  # noqa: PLR2004
    tail = np.where(same, a[1] + (b[1] - a[1]) / 2, np.minimum(across, 1.0 - across))
    return high, tail


def _width_edges(bins: int) -> tuple[BoolArray, FloatArray]:
    """Return the boundaries k/B; 1 − k/B is rounded as 1 − score is, so that ties agree."""
    edge = np.arange(1, bins) / bins
    return edge > 0.5, np.minimum(edge, 1.0 - edge)  # noqa: PLR2004
