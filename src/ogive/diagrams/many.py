"""Graphs of many: ranks of methods, their distance to the best, and the error of each class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ogive._numerics.blocks import for_each_block
from ogive.curve import Curve
from ogive.errors import InvalidInput
from ogive.metrics.null import Null
from ogive.metrics.onepass import read
from ogive.metrics.significance import TestReader, supremum_tail

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ogive._typing import ArrayLike, FloatArray
    from ogive.predictions import Predictions

_FEW = 10.0  # below this variance Brownian motion is no fair picture, see `metrics.significance`
_ROOM = 1 << 28  # bytes for the scores of the classes that are read at once


@dataclass(frozen=True, slots=True, eq=False)
class Ranks:
    """The mean rank of each method by each measure; 1 is the best.

    Attributes
    ----------
    methods : (m,) names, the best mean rank first
    measures : (k,) names
    rank : (m, k) array
    experiments : over how many experiments the ranks are means
    """

    methods: tuple[str, ...]
    measures: tuple[str, ...]
    rank: FloatArray
    experiments: int

    @classmethod
    def from_values(cls, methods: Sequence[str], values: Mapping[str, ArrayLike]) -> Ranks:
        """Rank methods by measures of which less is better.

        Parameters
        ----------
        methods : m names
        values : for each measure an array (m,), or (experiments, m); equal values share a
            rank, and NaN comes last

        >>> r = Ranks.from_values(["a", "b", "c"], {"nll": [0.3, 0.2, 0.2]})
        >>> r.methods, r.rank[:, 0]
        (('b', 'c', 'a'), array([1.5, 1.5, 3. ]))
        """
        tables = {key: np.atleast_2d(np.asarray(table, float)) for key, table in values.items()}
        shapes = {table.shape for table in tables.values()}
        if len(shapes) != 1 or next(iter(shapes))[1] != len(methods):
            msg = f"`values` must have a column for each of {len(methods)} methods: {shapes}."
            raise InvalidInput(msg)
        rank = np.stack([_ranks(table).mean(axis=0) for table in tables.values()], axis=1)
        order = np.argsort(rank.mean(axis=1), kind="stable")
        names = tuple(methods[i] for i in order)
        return cls(names, tuple(tables), rank[order], len(next(iter(tables.values()))))


def _ranks(table: FloatArray) -> FloatArray:
    """Return the rank in each row, (e, m); equal values get the mean of their ranks."""
    known = np.where(np.isnan(table), np.inf, table)
    below = (known[:, None, :] < known[:, :, None]).sum(axis=2)
    same = (known[:, None, :] == known[:, :, None]).sum(axis=2)
    return below + (same + 1) / 2


@dataclass(frozen=True, slots=True, eq=False)
class Differences:
    """How much each method loses to the best on the same rows, with its standard error.

    methods : (m,) names, the best first; loss, error : (m,) arrays; measure : what is lost
    """

    methods: tuple[str, ...]
    loss: FloatArray
    error: FloatArray
    measure: str = "NLL"


@dataclass(frozen=True, slots=True, eq=False)
class ClassHeat:
    """The signed KS error of every class against the rest, (K,) arrays.

    Attributes
    ----------
    names : tuple of str
    signed : (K,) array
        Negative where the class's probabilities promise too much.
    pvalue : (K,) array
        From Brownian motion, or an upper bound where few rows can go either way.
    count : (K,) array
        Rows of the class.
    """

    names: tuple[str, ...]
    signed: FloatArray
    pvalue: FloatArray
    count: FloatArray

    @classmethod
    def from_predictions(cls, preds: Predictions, *, threads: int | None = None) -> ClassHeat:
        """Measure every class of labelled predictions against the rest.

        >>> from ogive import Predictions
        >>> p = Predictions([[0.9, 0.1], [0.8, 0.2]] * 20, [0, 0, 0, 1] * 10, kind="probs")
        >>> ClassHeat.from_predictions(p).signed.round(3)
        array([-0.15,  0.1 ])
        """
        if preds.labels is None:
            msg = "`preds` has no labels, so its classes cannot be measured. Give labels."
            raise InvalidInput(msg)
        names = tuple(str(name) for name in preds.classes)
        at_once = max(_ROOM // (8 * preds.n), 1)
        found = [
            _measure(curve)
            for first in range(0, preds.K, at_once)
            for curve in class_curves(preds, range(first, min(first + at_once, preds.K)), threads)
        ]
        signed, pvalue = (np.array(column) for column in zip(*found, strict=True))
        count = np.bincount(preds.labels, weights=preds.weights, minlength=preds.K)
        return cls(names, signed, pvalue, count.astype(np.float64))

    @property
    def clear(self) -> int:
        """How many classes are off beyond chance, with one wrong alarm in twenty for all."""
        return int((self.pvalue * self.pvalue.size < 0.05).sum())  # noqa: PLR2004


def class_curves(preds: Predictions, classes: range, threads: int | None) -> list[Curve]:
    """Return the curves of some classes, reading the predictions once.

    The view ``class-k`` adds up the masses of the other classes for each k: K² sums. Here the
    rest is the total minus the class's own mass, except for the largest mass of the row, where
    that would cancel. The scores agree with the view's to a few units in the last place.
    """
    labels = preds.labels
    assert labels is not None  # noqa: S101 - checked at the door
    tail = np.empty((len(classes), preds.n))
    high = np.zeros((len(classes), preds.n), dtype=np.bool_)

    def work(at: slice) -> None:
        mass = preds.masses(at)
        rows, top = np.arange(mass.shape[0]), mass.argmax(axis=1)
        largest = mass[rows, top]
        mass[rows, top] = 0.0
        others = mass.sum(axis=1)
        total = others + largest
        share = mass[:, classes.start : classes.stop].T / total  # (classes, rows)
        here = (top >= classes.start) & (top < classes.stop)
        row, column = rows[here], top[here] - classes.start
        share[column, row] = np.minimum(largest, others)[here] / total[here]
        tail[:, at] = share
        high[column, row + at.start] = (largest > others)[here] & (share[column, row] < 0.5)  # noqa: PLR2004

    for_each_block(work, preds.n, width=preds.K, threads=threads)
    return [
        Curve.from_tails(
            high[i],
            tail[i],
            labels == k,
            weights=preds.weights,
            weight_kind=preds.weight_kind,
            view=f"class-{k}",
        )
        for i, k in enumerate(classes)
    ]


def _measure(curve: Curve) -> tuple[float, float]:
    """Return the signed KS error and its p-value, or a bound of it; never a simulation."""
    reader = TestReader()
    read(curve, reader)
    gap, spread = reader.gap.largest(), reader.variance
    if spread.variance == 0.0:
        return gap.signed, float(gap.value == 0.0)
    observed = gap.value * reader.gap.rows
    if spread.effective < _FEW:
        return gap.signed, Null(curve).bound(observed)
    return gap.signed, supremum_tail(observed / spread.variance**0.5)
