"""The whole job of an engine: read once, then again only what the exact KS error needs.

After the first reading the gap is known at the ends of all buckets, and bounded inside them
(`ogive.metrics.bracket`). Only buckets whose bound beats the best end can hold an extreme. The
next reading counts the rows of those buckets alone, score by score if they are few, else in
finer buckets, and so on. KS and Kuiper errors are then those of all rows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from math import ceil, log2
from typing import TYPE_CHECKING, Any

import numpy as np

from ogive.curve.spans import Finer
from ogive.curve.summary import MANTISSA
from ogive.engines.tally import counted
from ogive.errors import InvalidInput
from ogive.metrics.bracket import candidate_ranges

if TYPE_CHECKING:
    from collections.abc import Callable

    from ogive._typing import IntArray
    from ogive.curve import Curve
    from ogive.engines.plan import Name, Plan
    from ogive.engines.tally import Tally
    from ogive.readers.provenance import Provenance

#: Rows that a further reading may collect, each a score by itself: about 300 bytes each.
MAX_ROWS_COLLECTED = 1 << 18
_BYTES_PER_ROW = 300  # of a further reading
#: The same for each curve, where keys can be collected: a further step then needs no reading.
MAX_KEYS_COLLECTED = 1 << 15

_MIN_BITS_ADDED = 4  # by a further reading: fewer would make it useless


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
    origin, part : Provenance and str, or None
        What calibrated the files, and the part that was read: `ogive.studies.logs.read_log`.
    """

    curves: dict[Name, Curve]
    rows: int
    skipped: int
    passes: int
    vectors: tuple[float, float] | None = None
    origin: Provenance | None = None
    part: str | None = None

    @property
    def curve(self) -> Curve:
        """The only curve."""
        (one,) = self.curves.values()
        return one

    @property
    def only(self) -> Curve:
        """The only curve; a log without rows is refused."""
        if not self.curves:
            skipped = f" ({self.skipped:,} were skipped)" if self.skipped else ""
            msg = f"the log has no rows to measure{skipped}: {self.rows:,} were read."
            raise InvalidInput(msg)
        return self.curve

    @property
    def by_group(self) -> dict[str, Curve]:
        """The curve of each group."""
        return {group: found for (_, group), found in self.curves.items()}


def without_groups(options: dict[str, Any]) -> dict[str, Any]:
    """Return the options of `curve`, which has no groups."""
    if "by" in options:
        msg = "`by` gives several curves: call group_curves(data, by) for them."
        raise InvalidInput(msg)
    return options


def curves_of(
    run: Callable[[Plan], Tally],
    plan: Plan,
    *,
    exact: bool = True,
    limit: int = MAX_ROWS_COLLECTED,
    keep: int = 0,
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
        How many rows a further reading may collect.
    keep : int
        How many keys `run` may collect in one further reading, after which there is no other:
        for engines whose workers share memory. A key takes 8 bytes, a row of the curve 300, so
        that then `limit` is `MAX_KEYS_COLLECTED` for each curve, and memory does not grow with
        the log.
    """
    tally = run(plan)
    curves = tally.curves()
    rows, skipped = tally.rows, tally.skipped
    vectors = tally.vectors.means(weighted=plan.layout.weight is not None)
    del tally  # the curves have what they need of it
    passes = 1
    ranges = _ranges(curves) if exact else {}
    again = replace(plan, vectors=False)
    if plan.layout.weight is not None:
        keep = 0
    if keep:
        limit = min(limit, MAX_KEYS_COLLECTED * len(ranges))
    from_memory = False
    while ranges:
        if not from_memory and limit < _in_question(curves, ranges) <= keep:
            curves = _bare(curves)
            collected = run(replace(again, within=ranges, bits=MANTISSA, collect=True)).keys
            run, from_memory = partial(counted, collected), True
            passes += 1
        chosen, bits = _next(curves, ranges, limit)
        curves = curves if from_memory else _bare(curves)
        found = run(replace(again, within=chosen, bits=bits))
        passes += not from_memory
        for i, name in enumerate(found.names):
            finer = Finer(chosen[name], found.summary.of(i))
            curves[name] = curves[name].refined(finer)
        ranges = {name: ranges[name] for name in ranges if name not in chosen} | _ranges(
            {name: curves[name] for name in chosen}
        )
    return Reading(curves, rows, skipped, passes, vectors)


def pass_words(passes: int) -> str:
    """Return what progress says of a pass over a log."""
    return "reading" if passes == 1 else f"reading again ({passes})"


def limit_in(budget: int) -> int:
    """Return how many rows a further reading may collect in this many bytes.

    It decides how fine the buckets of further readings are. Where keys can be collected
    it is at most `MAX_KEYS_COLLECTED` for each curve; KS errors of engines then agree to rounding.
    """
    return max(min(2 * MAX_ROWS_COLLECTED, budget // (8 * _BYTES_PER_ROW)), 1024)


def _ranges(curves: dict[Name, Curve]) -> dict[Name, IntArray]:
    """Return where each curve may have an extreme of its gap, for those that may."""
    found = {name: candidate_ranges(curve) for name, curve in curves.items()}
    return {name: ranges for name, ranges in found.items() if ranges.size}


def _next(
    curves: dict[Name, Curve], ranges: dict[Name, IntArray], limit: int
) -> tuple[dict[Name, IntArray], int]:
    """Return which ranges the next reading counts, and the bits of its buckets.

    Score by score, if the rows in question are few enough. Otherwise in finer buckets: the gap is
    flat at its extreme, so that the rows in question fall with the root of a bucket's width, and
    enough bits are added that the reading after the next is the last. Of many curves, as many
    as fit are taken; the others wait.
    """
    inside = {name: _inside(curves[name], cuts) for name, cuts in ranges.items()}
    rows = sum(n for n, _ in inside.values())
    if rows <= limit:
        return ranges, MANTISSA
    buckets = sum(m for _, m in inside.values())
    wanted, most = 2 + ceil(2 * log2(rows / limit)), int(log2(max(limit / buckets, 1)))
    step = max(min(wanted, most), _MIN_BITS_ADDED)
    first = min(curves[name].bits for name in ranges)
    budget = float(limit)
    chosen: dict[Name, IntArray] = {}
    for name, cuts in ranges.items():
        n, m = inside[name]
        up = 2.0 ** (first + step - curves[name].bits)  # finer buckets in each of these
        budget -= min(n, m * max(up, 1.0))
        if chosen and budget < 0:
            break
        chosen[name] = cuts
    sharpest = max(curves[name].bits for name in chosen)
    return chosen, min(max(first + step, sharpest + _MIN_BITS_ADDED), MANTISSA)


def _bare(curves: dict[Name, Curve]) -> dict[Name, Curve]:
    """Return the curves without cached columns, to save memory while the log is read."""
    return {name: curve.without_caches() for name, curve in curves.items()}


def _in_question(curves: dict[Name, Curve], ranges: dict[Name, IntArray]) -> float:
    return sum(_inside(curves[name], cuts)[0] for name, cuts in ranges.items())


def _inside(curve: Curve, cuts: IntArray) -> tuple[float, int]:
    """Return how many samples, and how many rows, of a curve lie in ranges."""
    spans = curve.spans
    assert spans is not None  # noqa: S101 - engines make summaries
    at = np.searchsorted(cuts[:, 1], spans.first, side="right")
    inside = (at < cuts.shape[0]) & (cuts[np.minimum(at, cuts.shape[0] - 1), 0] <= spans.last)
    return float(spans.groups.count[inside].sum()), int(inside.sum())
