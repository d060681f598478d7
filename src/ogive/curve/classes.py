"""The curves of all classes, one against the rest, in one reading of the matrix.

`Curve.from_predictions(preds, "class-k")` reads all K columns of every row to find one class's
share. Here each row is read once for the shares of all classes, and each class is sorted
by itself: K curves cost about one reading and K sorts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ogive._numerics.blocks import blocks, in_threads, threads_worth
from ogive.curve.curve import Curve
from ogive.curve.keys import EVEN, ONE
from ogive.curve.ties import groups_of_weighted
from ogive.rows.predictions import labelled
from ogive.rows.tails import BLOCKS_PER_RECOMPUTATION, tails_of_classes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ogive._typing import KeyArray
    from ogive.rows.predictions import Predictions

_MAX_KEYS_IN_MEMORY = 1 << 25  # 256 MB
_NUMBERS_PER_BLOCK = 1 << 18  # long enough to write whole cache lines for each class


def class_curves(preds: Predictions, *, n_jobs: int | None = None) -> Iterator[Curve]:
    """Yield the curve of each class in turn: the same as of ``view="class-k"``."""
    labelled(preds)
    plain = preds.sample_weight is None
    for k, column in class_keys(preds, ordered=plain, n_jobs=n_jobs):
        name = f"class-{k}"
        if preds.sample_weight is None:
            yield Curve(keys=column, view=name)
        else:
            groups = groups_of_weighted(column, preds.sample_weight, preds.weight_kind)
            yield Curve(groups=groups, view=name)


def class_keys(
    preds: Predictions, *, ordered: bool = False, n_jobs: int | None = None
) -> Iterator[tuple[int, KeyArray]]:
    """Yield each class with its keys, (N,): `ordered`, or in the order of the predictions."""
    width = max(1, _MAX_KEYS_IN_MEMORY // preds.n)
    for first in range(0, preds.K, width):
        chosen = range(first, min(first + width, preds.K))
        keys = np.empty((len(chosen), preds.n), dtype=np.uint64)
        step = max(1, _NUMBERS_PER_BLOCK // preds.K)
        cuts = [slice(i, min(i + step, preds.n)) for i in range(0, preds.n, step)]
        count = threads_worth(preds.n * preds.K, n_jobs)
        in_threads(lambda at: _pack_block(preds, at, chosen, keys), cuts, count)  # noqa: B023
        if ordered:
            in_threads(lambda column: column.sort(), keys, count)
        yield from zip(chosen, keys, strict=True)


def _pack_block(preds: Predictions, at: slice, chosen: range, keys: KeyArray) -> None:
    """Write the keys of some rows, all of some classes; `ogive.curve.keys` has the layout.

    Nearly all keys are just q << 1: at most a class or two of a row have more than half, and one
    is the true one.
    """
    assert preds.labels is not None  # noqa: S101 - checked by the caller
    block = np.empty((at.stop - at.start, len(chosen)), dtype=np.uint64)
    for rows in blocks(at.stop, start=at.start, width=preds.K, together=BLOCKS_PER_RECOMPUTATION):
        high, tail = tails_of_classes(preds, rows, chosen)
        part = block[rows.start - at.start : rows.stop - at.start]
        np.left_shift(tail.view(np.uint64), ONE, out=part)
        part[high] ^= EVEN
    true = preds.labels[at]
    here = np.flatnonzero((true >= chosen.start) & (true < chosen.stop))
    block[here, true[here] - chosen.start] |= ONE
    keys[:, at] = block.T
