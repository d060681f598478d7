"""Random parts of a curve for cross-fitting: every sample is in one part.

A curve does not store the order of its rows, and need not: rows of one score and one outcome are
alike, so only the number dealt to each part matters. Whole counts are dealt by
binomial thinning, which has the same law as dealing each row by itself. Fractional weights cannot
be cut: the hits of a score go to one part, and its misses to one part.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ogive.curve.curve import Curve
from ogive.curve.keys import pack
from ogive.curve.ties import Groups, frozen

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ogive._typing import FloatArray


def folds(curve: Curve, k: int, *, random_state: int = 0) -> Iterator[tuple[Curve, Curve]]:
    """Yield (all but a part, the part) for k parts; empty parts are left out.

    >>> curve = Curve.from_scores([0.2, 0.4, 0.6, 0.8], [0, 1, 0, 1])
    >>> [(rest.n, part.n) for rest, part in folds(curve, 2)]
    [(3, 1), (1, 3)]
    """
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


def _curve(whole: Curve, hit: FloatArray, miss: FloatArray) -> Curve | None:
    """Return a curve of some of the samples; None for none."""
    count, square = hit + miss
    keep = count > 0
    if not keep.any():
        return None
    cell = np.empty(int(keep.sum()), dtype=np.uint64)
    pack(whole.tail[keep], whole.high[keep], np.zeros(cell.size, dtype=np.bool_), cell)
    columns = (frozen(column[keep]) for column in (count, hit[0], square, hit[1]))
    return Curve(groups=Groups(frozen(cell), *columns), view=whole.view)
