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
from ogive._keys import pack
from ogive._numerics.blocks import thread_count
from ogive.curve import Curve
from ogive.errors import InvalidInput

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ogive._typing import BoolArray, FloatArray, IntArray, KeyArray
    from ogive.predictions import Predictions

_KEYS = 1 << 24  # keys held at a time: 128 MB
_ROWS = 1 << 18  # numbers in a block of rows: wide enough to write whole cache lines per class


def class_curves(preds: Predictions) -> Iterator[Curve]:
    """Yield the curve of each class in turn; scores agree with ``view="class-k"`` to rounding."""
    if preds.labels is None:
        msg = "`preds` has no labels, and a curve needs to know what came true. Give labels."
        raise InvalidInput(msg)
    for k, column in class_keys(preds):
        name = f"class-{k}"
        if preds.weights is None:
            column.sort()
            yield Curve(keys=column, view=name)
        else:
            groups = groups_of_weighted(column, preds.weights, preds.weight_kind)
            yield Curve(groups=groups, view=name)


def class_keys(preds: Predictions, *, threads: int | None = None) -> Iterator[tuple[int, KeyArray]]:
    """Yield each class with its keys, (N,), in the order of the predictions."""
    width = max(1, _KEYS // preds.n)
    for first in range(0, preds.K, width):
        chosen = range(first, min(first + width, preds.K))
        yield from zip(chosen, _pack_classes(preds, chosen, threads), strict=True)


def _pack_classes(preds: Predictions, chosen: range, threads: int | None) -> KeyArray:
    """Return the unsorted keys of some classes, (classes, N)."""
    labels, classes = preds.labels, np.arange(chosen.start, chosen.stop, dtype=np.intp)
    assert labels is not None  # noqa: S101 - checked by the caller
    keys = np.empty((len(chosen), preds.n), dtype=np.uint64)
    step = max(1, _ROWS // preds.K)

    def work(start: int) -> None:
        at = slice(start, min(start + step, preds.n))
        tail, high = _shares(preds.masses(at), classes)
        block = np.empty(tail.shape, dtype=np.uint64)
        pack(tail, high, labels[at, None] == classes, block)
        keys[:, at] = block.T

    with ThreadPoolExecutor(thread_count(threads)) as pool:
        list(pool.map(work, range(0, preds.n, step)))
    return keys


def _shares(masses: FloatArray, classes: IntArray) -> tuple[FloatArray, BoolArray]:
    """Return tail and side of some classes' shares, (rows, classes) each.

    A row has at most one class with more than half of the mass; only its tail is that of the
    other classes, and these are added up without it.
    """
    rows, top = np.arange(masses.shape[0]), masses.argmax(axis=1)
    largest = masses[rows, top]
    tail = masses[:, classes] / masses.sum(axis=1, keepdims=True)
    masses[rows, top] = 0.0
    rest = masses.sum(axis=1)
    upper = rest / (largest + rest)
    at = np.flatnonzero((upper < 0.5) & (classes[0] <= top) & (top <= classes[-1]))  # noqa: PLR2004
    column = top[at] - classes[0]
    tail[at, column] = upper[at]
    high = np.zeros(tail.shape, dtype=np.bool_)
    high[at, column] = True
    return np.minimum(tail, 0.5, out=tail), high
