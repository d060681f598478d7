"""Where scores are off, and which way: on average, and in ranges of scores."""

from __future__ import annotations

import warnings
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ogive._wording import MIXED, average_words, ranges_words, way_of
from ogive.calibrators.spline import fit_spline
from ogive.diagrams.graphs import narrowed
from ogive.errors import FallbackWarning, LooksLikeTrainingRows
from ogive.rows.views import rate_name

if TYPE_CHECKING:
    from ogive._typing import FloatArray
    from ogive._wording import Way
    from ogive.calibrators.spline_map import SplineMap
    from ogive.curve import Curve
    from ogive.metrics.significance import CalibrationTest

_NEARLY_ONE = 0.99  # from here on two digits do not tell scores apart
_TOO_NEAR = 5e-7  # nearer to 0 or 1 than six digits show
_MIN_SHARE_OF_RANGE = 0.05  # ranges that hold less of the rows are not worth a sentence


def way_off(mean: float, rate: float, ks: float) -> str:
    """Return which way scores are off on average: "too high", "too low" or "mixed".

    Mixed: the mean score and the share of outcomes differ by less than half of the KS error.
    """
    if abs(rate - mean) <= 0.5 * ks:
        return MIXED
    return way_of(rate - mean)


def direction_of(view: str, mean: float, rate: float, ks: CalibrationTest) -> tuple[str, str]:
    """Return which way the scores are off on average, and the sentence that says it."""
    way = way_off(mean, rate, ks.value)
    return way, average_words(way, mean, rate, rate_name(view))


def spline_of(curve: Curve) -> SplineMap:
    """Return the default calibrator of a curve."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FallbackWarning)  # too few rows: its band is wide
        warnings.simplefilter("ignore", LooksLikeTrainingRows)  # nothing is fitted to be used
        return fit_spline(curve)


def about_scores(curve: Curve, calibrator: Any = None) -> str:  # noqa: ANN401 - a SplineMap
    """Say which scores are off: where the band of the default calibrator leaves the score out.

    Ranges that hold less than 5 % of the rows are not worth a sentence.
    """
    found = ranges_off(curve, calibrator or spline_of(curve))
    return ranges_words(((one.words, one.direction) for one in found), of_top=curve.view == "top-1")


class RangeOff(NamedTuple):
    """Scores, from the first to the last, that are all too high or all too low; in words too."""

    first: float
    last: float
    direction: Way
    words: str


def ranges_off(
    curve: Curve,
    calibrator: Any,  # noqa: ANN401 - a SplineMap
    *,
    simultaneous: bool = False,
) -> list[RangeOff]:
    """Return the ranges of scores that the band of a calibrator leaves out, as their rows do."""
    place = curve.at_fractiles(np.arange(1, 201) / 200)
    score = np.where(place.high, 1.0 - place.tail, place.tail)
    low, high = calibrator.band(score, simultaneous=simultaneous)
    if not simultaneous:
        low, high = narrowed(curve, score, calibrator(score), (low, high))
    side = np.sign((low > score) * 1.0 - (high < score))  # 1 where hits exceed the score
    side = _joined(side, place.before, place.after)
    starts = np.flatnonzero(np.diff(side, prepend=np.nan))
    found = []
    for first, stop in zip(starts, [*starts[1:], side.size], strict=True):
        share = place.after[stop - 1] - place.before[first]
        ends = float(score[first]), float(score[stop - 1])
        if share >= _MIN_SHARE_OF_RANGE and side[first] * _excess(curve, *ends) > 0.0:
            way = way_of(float(side[first]))
            found.append(RangeOff(*ends, way, _range(place.tail, score, int(first), int(stop))))
    return found


def _excess(curve: Curve, first: float, last: float) -> float:
    """Return by how much outcomes exceed the scores between two scores, both included.

    Where all outcomes are 0, a nearly straight map that lowers the high scores lifts those next
    to 0, which no row speaks for.
    """
    at = slice(np.searchsorted(curve.score, first), np.searchsorted(curve.score, last, "right"))
    return float(np.sum(curve.hits[at] - curve.count[at] * curve.score[at]))


def _joined(side: FloatArray, before: FloatArray, after: FloatArray) -> FloatArray:
    """Return the sides, where a stretch of few rows between two like ranges belongs to them."""
    starts = np.flatnonzero(np.diff(side, prepend=np.nan)).tolist()
    side = side.copy()
    for first, stop in pairwise(starts):
        between = first > 0 and not side[first] and side[first - 1] == side[stop]
        if between and after[stop - 1] - before[first] < _MIN_SHARE_OF_RANGE:
            side[first:stop] = side[stop]
    return side


def _range(tail: FloatArray, score: FloatArray, first: int, stop: int) -> str:
    """Word a range of consecutive scores, of which tails are the distances from 0 or 1."""
    low, high = (_at(float(tail[i]), float(score[i])) for i in (first, stop - 1))
    if first == 0 and stop == score.size:
        return "all scores"
    if low == high:
        return f"scores of {low}"
    if first == 0:
        return f"scores {'of' if score[stop - 1] == 0.0 else 'below'} {high}"
    if stop == score.size:
        return f"scores {'of' if tail[first] == 0.0 else 'above'} {low}"
    return f"scores from {low} to {high}"


def _at(tail: float, score: float) -> str:
    """Return a score in percent, with digits enough to tell it from 100 %.

    >>> _at(0.3, 0.3), _at(2e-6, 1 - 2e-6), _at(1e-9, 1.0), _at(0.0, 1.0)
    ('30 %', '99.9998 %', 'nearly 100 %', '100 %')
    """
    if score >= _NEARLY_ONE:
        return "nearly 100 %" if 0.0 < tail < _TOO_NEAR else f"{100.0 - 100.0 * tail:.6g} %"
    return "nearly 0 %" if 0.0 < score < _TOO_NEAR else f"{100.0 * score:.2g} %"
