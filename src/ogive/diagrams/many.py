"""Graphs of many: ranks of methods, their distance to the best, errors of classes and groups."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ogive.curve.classes import class_curves
from ogive.errors import InvalidInput
from ogive.metrics.classwise import holm
from ogive.metrics.onepass import read
from ogive.metrics.proper import MeanReader
from ogive.metrics.significance import TestReader, ks_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ogive._typing import ArrayLike, BoolArray, FloatArray
    from ogive.rows.predictions import Predictions


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
    known = np.where(np.isnan(table), np.inf, table)  # not scipy.stats, which is slow to load
    below = (known[:, None, :] < known[:, :, None]).sum(axis=2)
    same = (known[:, None, :] == known[:, :, None]).sum(axis=2)
    ranks: FloatArray = below + (same + 1) / 2
    return ranks


@dataclass(frozen=True, slots=True, eq=False)
class Differences:
    """How much each method loses to the best on the same rows, with its standard error.

    methods : (m,) names, the best first; loss, error : (m,) arrays; measure : what is lost
    """

    methods: tuple[str, ...]
    loss: FloatArray
    error: FloatArray
    measure: str = "log loss"


@dataclass(frozen=True, slots=True, eq=False)
class GroupErrors:
    """The KS errors of groups, the one that is surely largest first.

    Attributes
    ----------
    by : str
        What the groups are.
    names : (g,) names
    ks, low, high : (g,) arrays
        The KS errors and their 95 % intervals.
    detectable : (g,) array
        The KS error that would be found in each.
    off : (g,) bool array
        Whether the group is miscalibrated, corrected for all groups.
    more : int
        How many further groups are not shown.
    """

    by: str
    names: tuple[str, ...]
    ks: FloatArray
    low: FloatArray
    high: FloatArray
    detectable: FloatArray
    off: BoolArray
    more: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class ModelErrors:
    """The KS errors of several models or days, with 95 % intervals; after: calibrated, or NaN.

    names : (m,) names; ks, low, high, after : (m,) arrays
    """

    names: tuple[str, ...]
    ks: FloatArray
    low: FloatArray
    high: FloatArray
    after: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class ClassHeat:
    """The signed KS error of every class against the rest, (K,) arrays.

    Attributes
    ----------
    names : tuple of str
    signed : (K,) array
        Negative where the class's probabilities are too high.
    pvalue : (K,) array
        Of each class's KS test by itself.
    off : (K,) bool array
        Whether that test rejects at 5 % with Holm's correction for K tests.
    count : (K,) array
        Rows of the class.
    mean_score, base_rate : (K,) arrays
        Its mean probability, and its share of the rows.
    """

    names: tuple[str, ...]
    signed: FloatArray
    pvalue: FloatArray
    off: BoolArray
    count: FloatArray
    mean_score: FloatArray
    base_rate: FloatArray

    @classmethod
    def from_predictions(cls, preds: Predictions, *, random_state: int = 0) -> ClassHeat:
        """Measure every class of labelled predictions against the rest.

        >>> from ogive import Predictions
        >>> p = Predictions([[0.9, 0.1], [0.8, 0.2]] * 20, [0, 0, 0, 1] * 10, kind="probs")
        >>> ClassHeat.from_predictions(p).signed.round(3)
        array([-0.15,  0.1 ])
        """
        found, shares = [], []
        for k, curve in enumerate(class_curves(preds)):
            reader, means = TestReader(), MeanReader()
            read(curve, reader, means)
            shares.append((means.score / means.n, means.hits / means.n))
            found.append(ks_of(curve, reader, random_state=random_state + k, tests=preds.K))
        assert preds.labels is not None  # noqa: S101 - checked on the way
        pvalue = np.array([test.pvalue for test in found])
        count = np.bincount(preds.labels, weights=preds.sample_weight, minlength=preds.K)
        return cls(
            tuple(str(name) for name in preds.classes),
            np.array([test.signed for test in found]),
            pvalue,
            holm(pvalue),
            count.astype(np.float64),
            *np.array(shares).T,
        )
