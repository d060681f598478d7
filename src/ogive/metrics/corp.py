r"""The CORP decomposition: how much of a proper score is miscalibration.

Let r be the isotonic regression of the outcomes on the scores: the best map that keeps their order.
With S the mean score (Brier or log loss) of the forecasts p, of r, and of the base rate ȳ alone,

.. math:: S(p) = \underbrace{S(p) - S(r)}_{\text{MCB}}
               - \underbrace{(S(\bar y) - S(r))}_{\text{DSC}}
               + \underbrace{S(\bar y)}_{\text{UNC}} ,

and all three are >= 0: miscalibration, discrimination, uncertainty. MCB is what recalibrating in
order would gain on these very rows, so it is optimistic: even perfect forecasts show some.

References
----------
Dimitriadis, Gneiting, Jordan (2021), Stable reliability diagrams for probabilistic classifiers,
PNAS 118(8), doi:10.1073/pnas.2016191118.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from ogive._html import record_form
from ogive._numerics.pooling import pool_corners
from ogive.curve.curve import Curve, as_curve
from ogive.metrics.onepass import read
from ogive.metrics.proper import brier, nll
from ogive.rows.check import as_choice

if TYPE_CHECKING:
    from ogive._typing import ArrayLike, FloatArray, WeightKind
    from ogive.curve.keys import Run

Kind = Literal["brier", "nll"]
_RUNS_POOLED_AT_ONCE = 8  # fewer calls; the runs still fit the cache
_SCORES: tuple[Kind, ...] = ("brier", "nll")


@dataclass(frozen=True, slots=True)
class Decomposition:
    """The parts of a proper score: ``score == mcb - dsc + unc``."""

    score: float
    mcb: float
    dsc: float
    unc: float

    _repr_html_ = record_form


class PoolReader:
    """Keeps the pools of the isotonic regression, run after run.

    Pools of a part stay together in the whole, so that some runs are pooled alone and the pools
    are pooled once more at the end.
    """

    def __init__(self) -> None:
        self._weights: list[FloatArray] = []
        self._hits: list[FloatArray] = []
        self._loose = 0  # runs at the end of the lists that are not pooled yet

    def add(self, run: Run) -> None:
        """Take in the next rows."""
        weights, hits = run.count, run.hits
        if isinstance(weights, float):
            weights, hits = _falls(hits)
        self._weights.append(weights)
        self._hits.append(hits)
        self._loose += 1
        if self._loose == _RUNS_POOLED_AT_ONCE:
            pooled = _pooled(
                *(np.concatenate(x[-_RUNS_POOLED_AT_ONCE:]) for x in (self._weights, self._hits))
            )
            self._weights[-_RUNS_POOLED_AT_ONCE:], self._hits[-_RUNS_POOLED_AT_ONCE:] = (
                pooled[:1],
                pooled[1:],
            )
            self._loose = 0

    def pools(self) -> tuple[FloatArray, FloatArray]:
        """Return the rows and the outcomes of each pool; their ratios rise."""
        return _pooled(np.concatenate(self._weights), np.concatenate(self._hits))


def _falls(hits: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the rows and hits of each stretch 1…10…0: its rows always end in one pool.

    For single rows, which are hits (1) or not (0). Rows before the first hit are a stretch too.
    """
    inner = (hits[1:] != hits[:-1]).nonzero()[0]
    # Each 1…1 starts at an even change and ends at an odd one; a first miss makes an empty one.
    before, after = (1 if hits[0] else 2), (2 if hits[-1] else 1)
    change = np.empty(before + inner.size + after)
    change[:before] = 0.0
    np.add(inner, 1.0, out=change[before : before + inner.size])
    change[before + inner.size :] = hits.size
    first = change[::2]
    return first[1:] - first[:-1], change[1:-1:2] - first[:-1]


def _pooled(weights: FloatArray, hits: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the rows and hits of each pool of rows in order of score."""
    starts = pool_corners(weights, hits)[:-1]
    return np.add.reduceat(weights, starts), np.add.reduceat(hits, starts)


def decompose(
    curve: Curve | ArrayLike,
    outcomes: ArrayLike | None = None,
    score: str = "brier",
    *,
    sample_weight: ArrayLike | None = None,
    weight_kind: WeightKind = "repetition",
) -> Decomposition:
    """Split the Brier score (or ``"nll"``) into miscalibration, discrimination, uncertainty.

    >>> from ogive import Curve
    >>> parts = decompose(Curve.from_scores([0.9, 0.9, 0.4, 0.4], [1, 0, 1, 0]))
    >>> round(parts.mcb, 3), round(parts.dsc, 3), round(parts.unc, 3)
    (0.085, 0.0, 0.25)
    """
    if isinstance(curve, Curve) and isinstance(outcomes, str):
        score, outcomes = outcomes, None  # a curve has its own: its second argument is the score
    curve = as_curve(curve, outcomes, sample_weight=sample_weight, weight_kind=weight_kind)
    chosen = as_choice(score, "score", _SCORES)
    reader = PoolReader()
    read(curve, reader)
    return decomposition_of(reader, brier(curve) if chosen == "brier" else nll(curve), chosen)


def decomposition_of(reader: PoolReader, score: float, kind: Kind) -> Decomposition:
    """Turn the pools, and the mean score of the forecasts, into the three parts."""
    weights, hits = reader.pools()
    loss = _gini if kind == "brier" else _entropy
    n, total = weights.sum(), hits.sum()
    best = float(loss(weights, hits).sum() / n)
    unc = float(loss(np.array([n]), np.array([total]))[0] / n)
    return Decomposition(score, max(score - best, 0.0), max(unc - best, 0.0), unc)


def _gini(weights: FloatArray, hits: FloatArray) -> FloatArray:
    """Return the squared error of each pool's own rate: h (w − h) / w."""
    return hits * (weights - hits) / weights


def _entropy(weights: FloatArray, hits: FloatArray) -> FloatArray:
    """Return the log loss of each pool's own rate, where 0 log 0 = 0."""
    misses = weights - hits
    loss = np.zeros(weights.size)
    for part in (hits, misses):
        some = part > 0
        loss[some] -= part[some] * np.log(part[some] / weights[some])
    return loss
