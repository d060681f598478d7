"""The curves of all classes, one against the rest, in one reading of the matrix.

`Curve.from_predictions(preds, "class-k")` reads all K columns of every row to find one class's
share. Here the shares of all classes are packed while a row is at hand, and each class is sorted
by itself: K curves for the price of about one reading and K sorts.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import numpy as np

from ogive._groups import groups_of_weighted
from ogive._keys import EVEN, ONE
from ogive._numerics.blocks import thread_count
from ogive.curve import Curve
from ogive.predictions import labelled

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ogive._typing import IntArray, KeyArray
    from ogive.predictions import Predictions

_KEYS = 1 << 25  # keys held at a time: 256 MB
_ROWS = 1 << 18  # numbers in a block of rows: wide enough to write whole cache lines per class


def class_curves(preds: Predictions, *, threads: int | None = None) -> Iterator[Curve]:
    """Yield the curve of each class in turn; scores agree with ``view="class-k"`` to rounding."""
    labelled(preds)
    plain = preds.weights is None
    for k, column in class_keys(preds, ordered=plain, threads=threads):
        name = f"class-{k}"
        if preds.weights is None:
            yield Curve(keys=column, view=name)
        else:
            groups = groups_of_weighted(column, preds.weights, preds.weight_kind)
            yield Curve(groups=groups, view=name)


def class_keys(
    preds: Predictions, *, ordered: bool = False, threads: int | None = None
) -> Iterator[tuple[int, KeyArray]]:
    """Yield each class with its keys, (N,): `ordered`, or in the order of the predictions."""
    width = max(1, _KEYS // preds.n)
    for first in range(0, preds.K, width):
        chosen = range(first, min(first + width, preds.K))
        keys = np.empty((len(chosen), preds.n), dtype=np.uint64)
        step = max(1, _ROWS // preds.K)
        cuts = [slice(i, min(i + step, preds.n)) for i in range(0, preds.n, step)]
        with ThreadPoolExecutor(thread_count(threads)) as pool:
            list(pool.map(lambda at: _pack_block(preds, at, chosen, keys), cuts))  # noqa: B023
            if ordered:
                list(pool.map(lambda column: column.sort(), keys))
        yield from zip(chosen, keys, strict=True)


def _pack_block(preds: Predictions, at: slice, chosen: range, keys: KeyArray) -> None:
    """Write the keys of some rows, all of some classes: the side and the hit are of one class each.

    A row has at most one class with more than half of the mass; only its tail is that of the
    other classes, and these are added up without it. So nearly all keys are just q << 1, and what
    differs is put in afterwards: `ogive._keys` has the layout.
    """
    assert preds.labels is not None  # noqa: S101 - checked by the caller
    masses = preds.masses(at)
    rows, top = np.arange(masses.shape[0]), masses.argmax(axis=1)
    largest = masses[rows, top]
    total = masses.sum(axis=1, keepdims=True)
    masses[rows, top] = 0.0
    rest = masses.sum(axis=1)
    masses[rows, top] = largest
    tail = masses[:, chosen.start : chosen.stop] / total
    column = _places(top, chosen)
    here = rows[column >= 0]
    upper = rest[here] / (largest[here] + rest[here])
    high = upper < 0.5  # noqa: PLR2004
    column = column[here]
    tail[here, column] = np.where(high, upper, np.minimum(tail[here, column], 0.5))
    block = tail.view(np.uint64)
    block <<= ONE
    block[here[high], column[high]] ^= EVEN
    column = _places(preds.labels[at], chosen)
    here = rows[column >= 0]
    block[here, column[here]] |= ONE
    keys[:, at] = block.T


def _places(classes: IntArray, chosen: range) -> IntArray:
    """Return the column of each row's class among the chosen ones, or −1."""
    inside = (classes >= chosen.start) & (classes < chosen.stop)
    return np.where(inside, classes - chosen.start, -1)
