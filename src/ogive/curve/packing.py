"""Turn scores and outcomes into keys, for curves, summaries, streams and engines."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ogive._numerics.blocks import for_each_block
from ogive.curve.keys import pack
from ogive.rows.check import bad_scores
from ogive.rows.tails import BLOCKS_PER_RECOMPUTATION
from ogive.rows.views import score_block

if TYPE_CHECKING:
    from collections.abc import Callable

    from ogive._typing import AnyArray, BoolArray, KeyArray
    from ogive.rows.predictions import Predictions
    from ogive.rows.views import View


_BLOCKS_OF_SCORES = 8  # at a time: with more, the temporaries leave the cache
_MIN_SCORES_FOR_THREADS = 1 << 22  # with fewer, threads wait for each other more than they help


def keys_of_scores(s: AnyArray, hit: BoolArray) -> KeyArray:
    """Return the keys of scores in [0, 1], in their order."""
    keys = np.empty(s.size, dtype=np.uint64)

    def pack_block(at: slice) -> None:
        block = s[at].astype(np.float64, copy=False)
        tail = np.minimum(block, 1.0 - block)  # exact: 1 − s is, from ½ up
        if not tail.min() >= 0.0:  # negative outside [0, 1], NaN for NaN
            raise bad_scores(s)
        pack(tail, block > 0.5, hit[at], keys[at])  # noqa: PLR2004

    _for_each_row(pack_block, s.size)
    return keys


def keys_of_view(preds: Predictions, view: View, *, n_jobs: int | None = None) -> KeyArray:
    """Return the keys of a view of labelled predictions, in their order."""
    keys = np.empty(preds.n, dtype=np.uint64)

    def pack_block(at: slice) -> None:
        rows = score_block(preds, view, at)
        assert rows.hit is not None  # noqa: S101 - there are labels
        pack(rows.tail, rows.high, rows.hit, keys[at])

    if preds.one_column:
        _for_each_row(pack_block, preds.n, n_jobs)
    else:
        for_each_block(
            pack_block, preds.n, width=preds.K, together=BLOCKS_PER_RECOMPUTATION, n_jobs=n_jobs
        )
    return keys


def _for_each_row(work: Callable[[slice], None], n: int, n_jobs: int | None = None) -> None:
    """Call `work` for blocks of single numbers: long blocks, since each number needs little work.

    In short blocks threads wait for each other more than they help.
    """
    for_each_block(
        work,
        n,
        together=_BLOCKS_OF_SCORES,
        n_jobs=n_jobs if n > _MIN_SCORES_FOR_THREADS else 1,
    )
