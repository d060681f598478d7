"""The paper's own way to full vectors: every rank calibrated on its own, then the argmax.

Rank r of a row (1 is the best) has the score p_(r), and outcome 1 if the true class has that rank.
Its curve gives the map γ_r, and the class ranked r gets γ_r(p_(r)); the paper's accuracy table is
that of the largest of these. Here the row is also divided by its sum, which does not change which
is largest. The largest need not be the class that was first: this can change the decision.

A matrix of logits is first divided by its fitted temperature: any scale gives the same answer. The
paper read the softmax as it is, which ``rescale=False`` does.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ogive._numerics.blocks import for_each_block
from ogive.calibrators.multiclass.columns import (
    ColumnsMap,
    all_log_odds,
    class_tails,
    column_curve,
    fit_columns,
    scaled,
)

if TYPE_CHECKING:
    from ogive._typing import FloatArray, IntArray
    from ogive.rows.predictions import Predictions


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class EveryRankMap(ColumnsMap):
    """A map for each rank, the best first."""

    method = "every-rank"

    def _block(self, preds: Predictions, at: slice) -> FloatArray:
        order = _order(preds, at)
        high, tail = class_tails(np.maximum(preds.masses(at), self.floor))
        high, tail = np.take_along_axis(high, order, 1), np.take_along_axis(tail, order, 1)
        calibrated = self._applied(high, tail)
        result = np.empty_like(calibrated)
        np.put_along_axis(result, order, calibrated, axis=1)
        return result


def fit_every_rank(
    preds: Predictions,
    method: str = "paper-spline",
    *,
    rescale: bool = True,
    n_jobs: int | None = None,
    **options: Any,  # noqa: ANN401 - whatever the method takes
) -> EveryRankMap:
    """Fit a curve method to every rank; the parameters are those of `fit_ovr`.

    >>> from ogive import Predictions
    >>> logits = [[2, 0, 0], [0, 1, 0], [0, 0, 3], [2, 1, 0]]
    >>> preds = Predictions(logits, [0, 1, 2, 1], kind="logits")
    >>> len(fit_every_rank(preds, "none").maps)
    3
    """
    preds, labels, factor, floor = scaled(preds, method, rescale=rescale, n_jobs=n_jobs)
    log_odds = all_log_odds(preds, floor, n_jobs=n_jobs)
    rank = np.empty(preds.n, dtype=np.intp)  # of the true class, from 0

    def sort(at: slice) -> None:
        order = _order(preds, at)
        log_odds[at] = np.take_along_axis(log_odds[at], order, axis=1)
        rank[at] = (order == labels[at, None]).argmax(axis=1)

    for_each_block(sort, preds.n, width=preds.K, n_jobs=n_jobs)
    curves = (
        column_curve(preds, log_odds[:, r], rank == r, f"top-{r + 1}") for r in range(preds.K)
    )
    maps = fit_columns(curves, method, options, "ranks", preds.K, first=1)
    n = maps[0].n
    return EveryRankMap(view="vector", n=n, K=preds.K, maps=maps, floor=floor, factor=factor)


def _order(preds: Predictions, at: slice) -> IntArray:
    """Return the classes of each row from the best to the worst, equal ones by index."""
    order: IntArray = np.argsort(-preds.ranking_values(at), axis=1, kind="stable")
    return order
