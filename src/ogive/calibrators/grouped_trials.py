"""A curve's rows for a fit in log-odds: all of them, or grouped into at most 2,048 bundles.

A bundle is narrow in log-odds (on a scale that is even in the middle and logarithmic in the
tails) and light in count. It keeps its count, its hits, and the mean log-odds of both: the sums
that a line in log-odds needs are exact, and what a smooth bend loses is of second order in a
width of about a hundredth of the spread.

The rows are read run by run, so that the memory does not grow with the curve.
"""

from __future__ import annotations

from math import asinh
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ogive._numerics.binomial import Trials
from ogive.curve.ties import distinct

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ogive._typing import FloatArray
    from ogive.curve import Curve
    from ogive.curve.keys import Run

BINS = (256, 1024)  # bins on each of the two scales, within these limits
ROWS_PER_BIN = 20  # distinct scores per bin between the limits
_MIN_UNIT = 1e-3  # smallest unit of the scale of log-odds, as a share of their range
_ROUNDING = 1e-12  # a fractile that should fall on the end of a row falls just before it


class Cuts(NamedTuple):
    """Where bundles start, by side: tails of the low side rising, of the high side falling."""

    low: FloatArray
    high: FloatArray


def trials_of(curve: Curve) -> Trials:
    """Return the rows of a curve, bundled if there are many.

    Sampling weights count as Kish's effective size: all of them together are worth
    (sum w)² / sum w² rows. Clusters are worth as many rows as their design effect says.
    """
    runs, rows, scale = _first_look(curve)
    if curve.clusters is not None:
        scale /= curve.clusters.design_effect
    bins = min(max(rows // ROWS_PER_BIN, BINS[0]), BINS[1])
    if rows <= 2 * bins:
        eta = curve.log_odds
        return Trials(eta, curve.count * scale, curve.hits * scale, eta)
    cuts = _cuts(curve, bins)
    places = {high: curve.placed_tail(high) for high in (False, True)}
    sums = np.zeros((4, 2 * bins + 1))  # count, hits, and log-odds summed over both
    for run in runs:
        _add(run, log_odds(run, places[run.high]), cuts, sums)
    count, hits, total, total_hits = sums[:, sums[0] > 0]
    mean = total / count
    some = hits > 0
    mean_hits = np.where(some, total_hits / np.where(some, hits, 1.0), mean)
    return Trials(mean, count * scale, hits * scale, mean_hits)


def log_odds(run: Run, place: float) -> FloatArray:
    """Return the log-odds of a run, exact 0 and 1 placed at the given tail."""
    tail = np.maximum(run.tail, place)
    tail /= 1.0 - tail
    eta = np.log(tail, out=tail)
    return np.negative(eta, out=eta) if run.high else eta


def _first_look(curve: Curve) -> tuple[Iterable[Run], int, float]:
    """Return the runs, the number of distinct scores (counted up to a limit), and Kish's scale.

    If there are few runs, those already read are returned; else the curve is read again.
    """
    runs: list[Run] = []
    rows, count, square = 0, 0.0, 0.0
    for run in curve.runs():
        rows += run.tail.size
        many = rows > ROWS_PER_BIN * BINS[1]
        if not many:
            runs.append(run)
        if run.square is not None:
            count += run.size
            square += float(run.square.sum())
        elif many:
            break
    return curve.runs() if many else runs, rows, count / square if square else 1.0


def _cuts(curve: Curve, bins: int) -> Cuts:
    """Return where bundles start: at even steps of count, and at even steps of scaled log-odds."""
    first, low, middle, high, last = _quartiles(curve)
    unit = max(high - low, _MIN_UNIT * (last - first))
    start, stop = asinh((first - middle) / unit), asinh((last - middle) / unit)
    edges = middle + unit * np.sinh(np.linspace(start, stop, bins + 1)[1:-1])
    odds = np.exp(-np.abs(edges))
    tails = odds / (1.0 + odds)
    steps = curve.at_fractiles(np.arange(1, bins) / bins * (1 - _ROUNDING))
    above = edges > 0
    return Cuts(
        np.sort(np.concatenate([tails[~above], steps.tail[~steps.high]])),
        np.sort(np.concatenate([tails[above], steps.tail[steps.high]]))[::-1],
    )


def _quartiles(curve: Curve) -> list[float]:
    """Return the least, the quartiles and the greatest of the log-odds."""
    shares = np.array([0.0, 0.25, 0.5, 0.75, 1.0]) * (1 - _ROUNDING)
    row = curve.at_fractiles(shares)
    tail = np.maximum(
        row.tail, np.where(row.high, curve.placed_tail(True), curve.placed_tail(False))
    )
    eta = np.log(tail / (1.0 - tail))
    eta = np.where(row.high, -eta, eta)
    quartiles: list[float] = eta[np.searchsorted(row.after, shares)].tolist()
    return quartiles


def _add(run: Run, eta: FloatArray, cuts: Cuts, sums: FloatArray) -> None:
    """Add a run to the sums of the bundles it falls into."""
    tail, edges, before = run.tail, cuts.low, 0
    if run.high:  # tails fall: their negatives rise
        tail, edges, before = -tail, -cuts.high, cuts.low.size
    passed, stop = np.searchsorted(edges, [tail[0], tail[-1]], side="right")
    inner = np.searchsorted(tail, edges[passed:stop])  # first row at or beyond each cut
    starts = distinct(np.concatenate([[0], inner]))
    bundle = before + passed + np.searchsorted(inner, starts, side="right")
    count = np.broadcast_to(run.count, tail.shape)
    for row, column in zip(sums, (count, run.hits, count * eta, run.hits * eta), strict=True):
        row[bundle] += np.add.reduceat(column, starts)
