"""The whole job of an engine: read once, then again only what the exact KS error needs.

After the first reading the gap is known at the ends of all buckets, and bounded inside them
(`ogive.metrics.bracket`). Only buckets whose bound beats the best end can hold an extreme. The
next reading counts the rows of those buckets alone, score by score if they are few, else in
finer buckets, and so on. KS and Kuiper errors are then those of all rows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import log2
from typing import TYPE_CHECKING

import numpy as np

from ogive._spans import Finer
from ogive.metrics.bracket import candidate_ranges
from ogive.summary import MANTISSA

if TYPE_CHECKING:
    from collections.abc import Callable

    from ogive._typing import IntArray
    from ogive.curve import Curve
    from ogive.engines.batches import Tally
    from ogive.engines.plan import Name, Plan
    from ogive.summary import Summary

#: Rows that a further reading may bring together, each a score by itself: about 100 bytes each.
LIMIT = 1 << 20


@dataclass(frozen=True, slots=True)
class Reading:
    """What an engine found.

    Attributes
    ----------
    curves : dict
        The curve of each (view, group); the group is "" where there are none.
    rows, skipped : int
        Rows read, and rows left out because they broke a rule.
    passes : int
        How often the log was read.
    vectors : (float, float) or None
        Mean Brier score and log loss of whole vectors, where they were asked for.
    """

    curves: dict[Name, Curve]
    rows: int
    skipped: int
    passes: int
    vectors: tuple[float, float] | None = None

    @property
    def curve(self) -> Curve:
        """The only curve."""
        (one,) = self.curves.values()
        return one


def curves_of(
    run: Callable[[Plan], Tally], plan: Plan, *, exact: bool = True, limit: int = LIMIT
) -> Reading:
    """Do the whole job with an engine's function from a plan to a tally.

    Parameters
    ----------
    run : function of a Plan
        Reads the log once and returns the `Tally`.
    plan : Plan
    exact : bool
        Read again until KS and Kuiper errors are exact.
    limit : int
        How many rows a further reading may bring together.
    """
    tally = run(plan)
    curves = tally.curves()
    passes = 1
    ranges = _ranges(curves) if exact else {}
    while ranges:
        finer = replace(plan, within=ranges, vectors=False, bits=_bits(curves, ranges, limit))
        found = run(finer)
        passes += 1
        for i, name in enumerate(found.names):
            curves[name] = _refined(curves[name], ranges[name], found.summary.of(i))
        ranges = _ranges({name: curves[name] for name in ranges})
    vectors = tally.vectors.means(weighted=plan.layout.weight is not None)
    return Reading(curves, tally.rows, tally.skipped, passes, vectors)


def _ranges(curves: dict[Name, Curve]) -> dict[Name, IntArray]:
    """Return where each curve may have an extreme of its gap, for those that may."""
    found = {name: candidate_ranges(curve) for name, curve in curves.items()}
    return {name: ranges for name, ranges in found.items() if ranges.size}


def _refined(curve: Curve, ranges: IntArray, summary: Summary) -> Curve:
    return curve.refined(Finer(ranges, summary))


def _bits(curves: dict[Name, Curve], ranges: dict[Name, IntArray], limit: int) -> int:
    """Return how sharp the next reading is: score by score if the rows are few enough."""
    rows, buckets, sharpest = 0.0, 0, 0
    for name, cuts in ranges.items():
        spans = curves[name].spans
        assert spans is not None  # noqa: S101 - engines make summaries
        at = np.searchsorted(cuts[:, 1], spans.first, side="right")
        inside = (at < cuts.shape[0]) & (cuts[np.minimum(at, cuts.shape[0] - 1), 0] <= spans.last)
        rows += float(spans.groups.count[inside].sum())
        buckets += int(inside.sum())
        sharpest = max(sharpest, curves[name].bits)
    if rows <= limit:
        return MANTISSA
    return min(sharpest + max(int(log2(limit / buckets)), 4), MANTISSA)
