"""The lines that the page's figure can show: a view, class or group, under each method.

Each line is small: the script of the page draws it, reads numbers off it, and counts what lies
above a threshold. The page without script has the first subject as a picture.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from itertools import pairwise
from math import sqrt
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from ogive._numerics.brownian import CRITICAL
from ogive.diagrams.graphs import Reliability, wilson
from ogive.errors import FallbackWarning

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ogive._typing import BoolArray, FloatArray
    from ogive.curve import Curve

_LOW, _HIGH = [0.0, 0.001, 0.002, 0.005], [0.995, 0.998, 0.999, 1.0]
#: Thresholds at which rows are counted: hundredths, finer near 0 and 1.
THRESHOLDS = np.array([*_LOW, *(k / 100 for k in range(1, 100)), *_HIGH])
#: And of subjects that there are many of, to keep the page small.
COARSE_THRESHOLDS = np.array(
    [*_LOW, 0.01, 0.02, 0.05, *(k / 10 for k in range(1, 10)), 0.95, 0.98, 0.99, *_HIGH]
)
MAX_SUBJECTS_IN_DETAIL = 100  # more of them get fewer points each
MAX_STEP_OF_SCORES = 0.06  # the scores of a forest of 20 trees lie 5 % apart: no gap of the line
MIN_ROWS_TO_SHOW_A_RATE = 10  # of fewer rows a share is known to about ± 30 % only
BEFORE = "none"

#: Score, share of 1s, and the ends of its 95 % interval where there is one.
Line: TypeAlias = "tuple[FloatArray, FloatArray, FloatArray | None, FloatArray | None]"


@dataclass(frozen=True, slots=True, eq=False)
class Series:
    """One line: the rows of a subject, under one method.

    signed : the KS error, negative where the scores are too high; half : half the height of the
    band of the gap, or None; line : score, share of 1s, and its 95 % interval; gap : share of rows,
    cumulative gap, score; above, hits : rows at or above each threshold, and outcomes among them;
    fitted : whether the line is a fitted curve (else points of bins)
    """

    method: str
    n: float
    mean: float
    rate: float
    signed: float
    half: float | None
    line: Line
    gap: tuple[FloatArray, FloatArray, FloatArray]
    above: FloatArray
    hits: FloatArray
    fitted: bool

    def packed(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {
            "m": self.method,
            "n": _short(self.n),
            "mean": _short(self.mean),
            "rate": _short(self.rate),
            "ks": _short(self.signed),
            "half": None if self.half is None else _short(self.half),
            "line": [None if one is None else _all(one) for one in self.line],
            "gap": [_all(one) for one in self.gap],
            "above": _all(self.above),
            "hits": _all(self.hits),
            "fitted": self.fitted,
        }


class Subject(NamedTuple):
    """A view, a class or a group, and its lines: before calibration first."""

    kind: str
    name: str
    series: tuple[Series, ...]
    detailed: bool = True

    def packed(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {
            "kind": self.kind,
            "name": self.name,
            "fine": self.detailed,
            "series": [one.packed() for one in self.series],
        }


def _short(value: float) -> float:
    """Return a number with six digits after the point; whole numbers without any."""
    number = round(float(value), 6)
    return int(number) if number == int(number) else number


def _all(values: FloatArray) -> list[float]:
    return [_short(value) for value in np.asarray(values, dtype=float).tolist()]


def series_of(
    curve: Curve,
    method: str = BEFORE,
    *,
    detailed: bool = True,
    fitted_on: float | None = None,
    tested: bool = True,
    line: Reliability | None = None,
) -> Series:
    """Read a line off a curve.

    Parameters
    ----------
    curve : Curve
    method : str
        What calibrated it.
    detailed : bool
        Many points, or few.
    fitted_on : float, optional
        Rows of the fit, if the scores are calibrated.
    tested : bool
        Whether there is a fair band: not for rows that fitted the calibrator.
    line : Reliability, optional
        A fitted line. Default: bins of about equal information.
    """
    score, count, n = curve.score, curve.count, float(curve.n)
    grid = THRESHOLDS if detailed else COARSE_THRESHOLDS
    rows = np.append(0.0, np.cumsum(count))
    hits = np.append(0.0, np.cumsum(curve.hits))
    at = np.searchsorted(score, grid)
    fractile, gap = np.append(0.0, curve.fractile), np.append(0.0, curve.gap)
    even = np.searchsorted(fractile, np.linspace(0.0, 1.0, 201 if detailed else 25))
    kept = np.unique([*np.minimum(even, gap.size - 1), gap.argmin(), gap.argmax()])
    peak = int(np.abs(gap).argmax())
    half = None
    if tested and curve.clusters is None:  # clusters: no band without a simulation for each
        spread = float(curve.square @ (score * (1.0 - score)))
        more = 1.0 if fitted_on is None else 1.0 + n / fitted_on
        half = CRITICAL * sqrt(spread * more) / n
    drawn: Line = (
        _bins(curve, 20 if detailed else 8)
        if line is None
        else (line.score, line.probability, line.low, line.high)
    )
    return Series(
        method=method,
        n=n,
        mean=float(score @ count) / n,
        rate=float(curve.total_hits) / n,
        signed=float(gap[peak]),
        half=half,
        line=drawn,
        gap=(fractile[kept], gap[kept], np.append(score[0], score)[kept]),
        above=rows[-1] - rows[at],
        hits=hits[-1] - hits[at],
        fitted=line is not None,
    )


def _bins(curve: Curve, bins: int) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Return mean score, share of 1s and its interval, in bins of equal sums of √(p (1 − p)).

    So a rare class, most of whose scores are near 0, has bins where its outcomes are.
    """
    score, count, square = curve.score, curve.count, curve.square
    weight = np.cumsum(count * (np.sqrt(score * (1.0 - score)) + 1e-6))
    starts = np.searchsorted(weight, weight[-1] * np.arange(bins) / bins, side="left")
    starts = np.unique(np.minimum(starts, score.size - 1))
    rows, ones, scores, squares = (
        np.add.reduceat(column, starts) for column in (count, curve.hits, count * score, square)
    )
    size = rows * rows / squares
    size = size if curve.clusters is None else size / curve.clusters.design_effect
    return scores / rows, ones / rows, *wilson(ones / rows, size)


def fitted_line(curve: Curve) -> Reliability:
    """Return the default calibrator's line, at scores that suit an axis of log-odds as well."""
    odds = np.linspace(-9.0, 9.0, 73)
    grid = np.concatenate([np.linspace(0.0, 1.0, 81), 1.0 / (1.0 + np.exp(-odds))])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FallbackWarning)  # it is only drawn
        return Reliability.from_curve(curve, grid=grid)


def rows_near(series: Series, score: FloatArray) -> FloatArray:
    """Return how many rows have scores in the same cell of `THRESHOLDS`, (m,)."""
    count = 0.0 - np.diff(np.append(series.above, 0.0))  # −0.0 would be shown as −0
    cell = np.searchsorted(THRESHOLDS, score, side="right") - 1
    return count[np.clip(cell, 0, count.size - 1)]


def enough_rows(series: Series) -> BoolArray:
    """Return where a fitted line has rows nearby, or between such places: others are a hint."""
    score = series.line[0]
    near = np.sum([rows_near(series, score + shift) for shift in (-0.01, 0.0, 0.01)], axis=0)
    enough: BoolArray = near >= MIN_ROWS_TO_SHOW_A_RATE
    some = np.flatnonzero(enough)
    for one, two in pairwise(some.tolist()):
        enough[one:two] |= score[two] - score[one] <= MAX_STEP_OF_SCORES
    return enough


def subjects_of(
    kind: str,
    names: Sequence[str],
    curves: Iterable[Curve],
    after: Iterable[Curve] | None,
    *,
    method: str,
    fitted_on: float | None,
    tested: bool = True,
) -> tuple[Subject, ...]:
    """Return subjects with a line before calibration, and one after it if it is known."""
    detailed = len(names) <= MAX_SUBJECTS_IN_DETAIL
    how: Any = {"detailed": detailed, "tested": tested}
    before = [series_of(curve, **how) for curve in curves]
    later = [] if after is None else [
        series_of(curve, method, fitted_on=fitted_on, **how) for curve in after
    ]  # fmt: skip
    pairs = zip(before, later, strict=True) if later else ((one,) for one in before)
    return tuple(
        Subject(kind, name, tuple(lines), detailed)
        for name, lines in zip(names, pairs, strict=True)
    )
