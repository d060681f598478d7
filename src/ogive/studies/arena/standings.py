r"""How methods stand over many experiments: ranks, wins, excess, and how sure that is.

With :math:`x_{em}` a metric of method m in experiment e, less being better,

* the **rank** is m's place in e; methods that agree to 12 decimals share the mean of their places;
* the **excess** is :math:`x_{em} - \min_k x_{ek}`, and the **worst** the largest of them;
* a **win** is shared by the methods that are first.

Experiments of one family are not independent. Intervals come from drawing families, not
experiments, with replacement, and taking the mean over all experiments of the families drawn.
With few families they are too narrow. The range without a family shows how far one of them can
move the mean.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ogive.metrics.line import HIGH, LOW

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ogive._typing import FloatArray, IntArray

_DECIMALS = 12  # the same method in two libraries differs in the last bits
_DRAWS = 4000
_LEAST_FAMILIES = 2

ByMetric = dict[str, float]
Interval = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Standing:
    """How a method stands; each attribute but the first and the last two by metric.

    Attributes
    ----------
    method : str
    rank, excess, mean : dict
        Means over experiments of the rank, the excess over the best method, and the value.
    worst : dict
        The largest excess.
    wins : dict
        How many experiments it is first in, ties shared.
    rank_interval, excess_interval : dict
        95 % intervals by resampling families; None where there is but one family.
    rank_range : dict
        The lowest and the highest mean rank without one family; None likewise.
    seconds : float or None
        Mean time of a fit.
    source : str
        ``"ogive"``, or where the numbers of a peer come from.
    """

    method: str
    rank: ByMetric
    excess: ByMetric
    worst: ByMetric
    mean: ByMetric
    wins: ByMetric
    rank_interval: dict[str, Interval | None]
    excess_interval: dict[str, Interval | None]
    rank_range: dict[str, Interval | None]
    seconds: float | None
    source: str

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {name: getattr(self, name) for name in self.__slots__}


def ranks(values: FloatArray) -> FloatArray:
    """Return the rank of each column within its row, 1 for the least, ties sharing the mean.

    >>> ranks(np.array([[0.3, 0.1, 0.3]]))
    array([[2.5, 1. , 2.5]])
    """
    from scipy.stats import rankdata  # noqa: PLC0415 - keep SciPy out of the import

    result: FloatArray = rankdata(values.round(_DECIMALS), axis=1)
    return result


def wins(values: FloatArray) -> FloatArray:
    """Return how many rows each column is first in; k that are first together have 1/k each."""
    rounded = values.round(_DECIMALS)
    first = rounded == rounded.min(axis=1, keepdims=True)
    share: FloatArray = (first / first.sum(axis=1, keepdims=True)).sum(axis=0)
    return share


def means_of_families(values: FloatArray, family: IntArray, times: FloatArray) -> FloatArray:
    """Return column means over rows, each row counted as often as its family was drawn.

    values : (E, M); family : (E,) of 0 … F − 1; times : (draws, F). Returns (draws, M).
    """
    sums = np.zeros((times.shape[1], values.shape[1]))
    np.add.at(sums, family, values)
    return (times @ sums) / (times @ np.bincount(family))[:, None]


def _interval(values: FloatArray, family: IntArray, random_state: int) -> list[Interval | None]:
    """Return the interval of each column's mean."""
    count = int(family.max()) + 1
    if count < _LEAST_FAMILIES:
        return [None] * values.shape[1]
    rng = np.random.default_rng(random_state)
    times = rng.multinomial(count, np.full(count, 1 / count), size=_DRAWS).astype(np.float64)
    ends = np.quantile(means_of_families(values, family, times), (LOW, HIGH), axis=0)
    return [(float(low), float(high)) for low, high in ends.T]


def _range_without(values: FloatArray, family: IntArray) -> list[Interval | None]:
    """Return the least and the largest mean of each column without one family."""
    count = int(family.max()) + 1
    if count < _LEAST_FAMILIES:
        return [None] * values.shape[1]
    means = means_of_families(values, family, 1.0 - np.eye(count))
    low, high = means.min(axis=0), means.max(axis=0)
    return [(float(a), float(b)) for a, b in zip(low, high, strict=True)]


def standings(
    methods: Sequence[str],
    values: Mapping[str, FloatArray],
    families: Sequence[str],
    *,
    seconds: Sequence[float | None],
    sources: Sequence[str],
    random_state: int = 0,
) -> tuple[Standing, ...]:
    """Return how the methods stand, the lowest mean rank by the first metric first.

    Parameters
    ----------
    methods : sequence of M names
    values : mapping
        For each metric an (E, M) array, less being better.
    families : sequence of E names
    seconds, sources : sequences of M
    random_state : int
        Of the resampling.
    """
    family = np.unique(np.asarray(families), return_inverse=True)[1]
    columns: dict[str, dict[str, Any]] = {}
    for metric, x in values.items():
        rank, excess = ranks(x), x - x.min(axis=1, keepdims=True)
        columns[metric] = {
            "rank": rank.mean(axis=0).tolist(),
            "excess": excess.mean(axis=0).tolist(),
            "worst": excess.max(axis=0).tolist(),
            "mean": x.mean(axis=0).tolist(),
            "wins": wins(x).tolist(),
            "rank_interval": _interval(rank, family, random_state),
            "excess_interval": _interval(excess, family, random_state),
            "rank_range": _range_without(rank, family),
        }
    names = list(next(iter(columns.values())))
    rows = [
        Standing(
            method=method,
            seconds=seconds[m],
            source=sources[m],
            **{name: {metric: columns[metric][name][m] for metric in columns} for name in names},
        )
        for m, method in enumerate(methods)
    ]
    first = next(iter(values))
    return tuple(sorted(rows, key=lambda row: row.rank[first]))
