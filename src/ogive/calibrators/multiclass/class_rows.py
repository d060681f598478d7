r"""The rows a class structure is fitted to: distinct, in an order of their own, as logarithms.

A row that is given twice is one row of weight 2, and the rows stand in the order of their hashes.
So whatever is computed from them (sums in float32, samples, steps that end at a bound) does not
depend on the order of the rows, or on whether copies are given as rows or as weights: the numbers
are the same to the last bit. Sampling weights are no copies: their rows stay apart.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ogive._numerics.blocks import for_each_block
from ogive._numerics.splits import entry_hashes, row_hashes
from ogive.calibrators.log_values import weight_scale
from ogive.calibrators.scaling.temperature import careful_factor

if TYPE_CHECKING:
    from ogive._typing import AnyArray, FloatArray, IntArray, KeyArray
    from ogive.rows.predictions import Predictions

_MAX_NUMBERS_IN_FLOAT64 = 1 << 18  # with more numbers, float32 is used: half the time
_HALF_OF_BITS = np.uint64(32)  # of a hash


@dataclass(frozen=True)
class ClassRows:
    """The distinct rows with a weight, in the order of their hashes.

    logs : (K, n) log-probabilities, float32 if there are many
    labels : (n,)
    weights : (n,) sampling weights add up to the number of rows they are worth
    hashes : (n,)
    index : (n,) where they stand in the predictions; of copies, the first
    factor : what logits were multiplied by: a temperature's
    floor : where a logarithm of 0 was put
    """

    logs: AnyArray
    labels: IntArray
    weights: FloatArray
    hashes: KeyArray
    index: IntArray
    factor: float
    floor: float

    @property
    def plain(self) -> FloatArray | None:
        """The weights, or None if every weight is 1."""
        return None if bool((self.weights == 1.0).all()) else self.weights

    def some(
        self, at: IntArray, weights: FloatArray
    ) -> tuple[AnyArray, IntArray, FloatArray | None]:
        """Return some of the rows with weights of their own, as `ClassRegression` takes them.

        Rows that stand side by side, as those of a half mostly do, are not copied.
        """
        plain = bool((weights == 1.0).all())
        beside = slice(int(at[0]), int(at[-1]) + 1)
        logs = self.logs[:, beside if beside.stop - beside.start == at.size else at]
        return logs, self.labels[at], None if plain else weights

    def sample(self, most: int) -> IntArray:
        """Return a sample of the rows, drawn by their hash: the same in any order.

        Copies count: they are as many rows in all, but at least half as many distinct ones. The
        lower half of the bits comes first: the higher one deals the rows to halves.
        """
        turned = self.hashes << _HALF_OF_BITS | self.hashes >> _HALF_OF_BITS
        order = np.lexsort((self.weights, turned))
        count = int(np.searchsorted(np.cumsum(self.weights[order]), most, side="right"))
        return np.sort(order[: min(most, max(count, most // 2))])


def read_rows(preds: Predictions, scale: float, *, n_jobs: int | None = None) -> ClassRows:
    """Read the rows with a weight of predictions with labels.

    A probability of 0 is put at half the smallest; a logit of −inf as far below the farthest one
    as makes half its probability with the factor. Rows are hashed in units of their mean range.
    """
    hashes, lowest = _hashed(preds, scale, n_jobs)
    index, weights, hashes = _distinct(preds, hashes)
    rows = preds.take(index)
    rows.sample_weight = None if bool((weights == 1.0).all()) else weights
    labels = rows.labels
    assert labels is not None  # noqa: S101 - checked by fit_classes
    factor = careful_factor(rows, n_jobs=n_jobs)
    floor = float(lowest[index].min()) - float(np.log(2.0)) / (
        factor if preds.kind == "logits" else 1.0
    )
    n, K = index.size, preds.K
    logs = np.empty((K, n), dtype=np.float64 if n * K <= _MAX_NUMBERS_IN_FLOAT64 else np.float32)

    def read(at: slice) -> None:
        block = rows.log_masses(at)
        block *= factor  # before digits are dropped: then the scale of logits costs none
        zero = block == -np.inf
        if zero.any():
            own = np.min(block, axis=1, keepdims=True, initial=np.inf, where=~zero)
            block = np.where(zero, np.minimum(own, factor * floor), block)
        block -= block.max(axis=1, keepdims=True)
        block -= np.log(np.exp(block).sum(axis=1, keepdims=True))
        logs[:, at] = block.T

    for_each_block(read, n, width=K, n_jobs=n_jobs)
    return ClassRows(logs, labels, weights * weight_scale(rows), hashes, index, factor, floor)


def _hashed(preds: Predictions, scale: float, n_jobs: int | None) -> tuple[KeyArray, FloatArray]:
    """Return the hash of each row, and its lowest finite logarithm."""
    labels = preds.labels
    assert labels is not None  # noqa: S101 - checked by fit_classes
    hashes, lowest = np.empty(preds.n, dtype=np.uint64), np.empty(preds.n)

    def work(at: slice) -> None:
        block = preds.log_masses(at)
        lowest[at] = block.min(axis=1, initial=0.0, where=block > -np.inf)
        hashes[at] = row_hashes(block / scale, labels[at])

    for_each_block(work, preds.n, width=preds.K, n_jobs=n_jobs)
    return hashes, lowest


def _distinct(preds: Predictions, hashes: KeyArray) -> tuple[IntArray, FloatArray, KeyArray]:
    """Return the distinct rows with a weight, their weights and hashes, in order of the hashes.

    Hashes have six digits: rows that share one are compared by a hash of all digits.
    """
    weights = np.ones(preds.n) if preds.sample_weight is None else preds.sample_weight
    index = np.flatnonzero(weights > 0)
    weights, hashes = weights[index], hashes[index]
    if preds.weight_kind == "sampling":
        order = np.lexsort((weights, hashes))
        return index[order], weights[order], hashes[order]
    _, which, counts = np.unique(hashes, return_inverse=True, return_counts=True)
    exact = np.zeros(index.size, dtype=np.uint64)
    again = counts[which] > 1
    if again.any():
        exact[again] = entry_hashes(preds.log_masses(index[again]))
    order = np.lexsort((weights, exact, hashes))  # weights too: sums have one order then
    first = np.ones(index.size, dtype=np.bool_)
    first[1:] = np.diff(hashes[order]) != 0
    first[1:] |= np.diff(exact[order]) != 0
    starts = np.flatnonzero(first)
    at = order[starts]
    return index[at], np.add.reduceat(weights[order], starts), hashes[at]
