"""Random parts of a curve for cross-fitting: every sample is in one part.

A curve does not store the order of its rows, and need not: rows of one score and one outcome are
alike, so only the number dealt to each part matters. Whole counts are dealt by
binomial thinning, which has the same law as dealing each row by itself. Fractional weights cannot
be cut: the hits of a score go to one part, and its misses to one part. Clusters are never cut: each
goes to one part as a whole, so that no map is fitted to other rows of a cluster that it is
tested on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ogive.curve.curve import Curve
from ogive.curve.keys import pack
from ogive.curve.ties import Groups, frozen

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ogive._typing import BoolArray, FloatArray
    from ogive.curve.clusters import Clusters


def folds(curve: Curve, k: int, *, random_state: int = 0) -> Iterator[tuple[Curve, Curve]]:
    """Yield (all but a part, the part) for k parts; empty parts are left out.

    >>> curve = Curve.from_scores([0.2, 0.4, 0.6, 0.8], [0, 1, 0, 1])
    >>> [(rest.n, part.n) for rest, part in folds(curve, 2)]
    [(3, 1), (1, 3)]
    """
    if curve.clusters is not None:
        yield from _of_clusters(curve, curve.clusters, k)
        return
    rng = np.random.default_rng(random_state)
    hit = np.array([curve.hits, curve.square_hits])
    miss = np.array([curve.count - curve.hits, curve.square - curve.square_hits])
    whole = np.array_equal(curve.count, curve.square) and bool((curve.count % 1 == 0).all())
    deal = _dealt if whole else _given
    for part_hit, part_miss in zip(deal(hit, k, rng), deal(miss, k, rng), strict=True):
        part = _curve(curve, part_hit, part_miss)
        rest = _curve(curve, hit - part_hit, miss - part_miss)
        if part is not None and rest is not None:
            yield rest, part


def _of_clusters(curve: Curve, clusters: Clusters, k: int) -> Iterator[tuple[Curve, Curve]]:
    """Yield the parts of whole clusters, with clusters of their own."""
    fold = clusters.folds(k)
    for part in np.unique(fold):
        yield clustered_part(curve, fold != part), clustered_part(curve, fold == part)


def clustered_part(curve: Curve, kept: BoolArray) -> Curve:
    """Return the curve of some of its clusters, (G,), at least one."""
    assert curve.clusters is not None  # noqa: S101 - asked of those only
    count, hits, square, square_hits = curve.clusters.drawn(kept.astype(np.float64))
    hit, miss = np.stack([hits, square_hits]), np.stack([count - hits, square - square_hits])
    found = _curve(curve, hit, miss, curve.clusters.part(kept, count > 0))
    assert found is not None  # noqa: S101 - no cluster is empty
    return found


def _dealt(sums: FloatArray, k: int, rng: np.random.Generator) -> Iterator[FloatArray]:
    """Deal whole counts (2, m), the same twice, to k parts."""
    left = sums[0].astype(np.int64)
    for remaining in range(k, 0, -1):
        taken = rng.binomial(left, 1 / remaining)
        left = left - taken
        yield np.stack([taken, taken]).astype(np.float64)


def _given(sums: FloatArray, k: int, rng: np.random.Generator) -> Iterator[FloatArray]:
    """Give each column of the sums (2, m) to one of k parts."""
    to = rng.integers(0, k, sums.shape[1])
    for part in range(k):
        yield np.where(to == part, sums, 0.0)


def _curve(
    whole: Curve, hit: FloatArray, miss: FloatArray, clusters: Clusters | None = None
) -> Curve | None:
    """Return a curve of some of the samples; None for none."""
    count, square = hit + miss
    keep = count > 0
    if not keep.any():
        return None
    cell = np.empty(int(keep.sum()), dtype=np.uint64)
    pack(whole.tail[keep], whole.high[keep], np.zeros(cell.size, dtype=np.bool_), cell)
    columns = (frozen(column[keep]) for column in (count, hit[0], square, hit[1]))
    return Curve(groups=Groups(frozen(cell), *columns), clusters=clusters, view=whole.view)
