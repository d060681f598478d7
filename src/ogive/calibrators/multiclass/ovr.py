"""One against the rest: each class has its own curve, and the row is divided by its sum.

For two classes there is one curve, that of class 1, and class 0 gets the complement; so it is
also what predictions of one column are calibrated by. This is scikit-learn's composition. It can
change the most probable class, and after the division no class is exactly calibrated.

A matrix of logits is first divided by its fitted temperature: any scale gives the same answer.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ogive.calibrators.impossible import impossible_in
from ogive.calibrators.log_odds import FARTHEST_LOG_ODDS
from ogive.calibrators.log_values import rescaled
from ogive.calibrators.matrix_map import check_classes
from ogive.calibrators.multiclass.columns import (
    ColumnsMap,
    all_log_odds,
    class_tails,
    column_curve,
    fit_columns,
    scaled,
)
from ogive.curve import Curve
from ogive.errors import DoesNotApply

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ogive._typing import FloatArray
    from ogive.rows.predictions import Predictions

_TWO = 2


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class OvrMap(ColumnsMap):
    """A map for each class; for two classes, one map for class 1."""

    method = "ovr"

    def _block(self, preds: Predictions, at: slice) -> FloatArray:
        if self.K == _TWO:
            q = self.maps[0].from_log_odds(_log_odds_of_two(preds, at))
            return np.stack([1.0 - q, q], axis=1)
        return self._applied(*class_tails(np.maximum(preds.masses(at), self.floor)))

    def band_ends(self, *, simultaneous: bool = False) -> tuple[OvrMap, OvrMap]:
        """Return the ends of the band of class 1, where there are two classes."""
        if self.K > _TWO:
            msg = (
                "'ovr' divides the classes by their sum, so that the ends of the band of three or "
                "more are no calibrators: use `apply --band` or `interval`. To export a band, fit "
                "the view of a class, such as class-1, or the spline with multiclass='keep'."
            )
            raise DoesNotApply(msg)
        low, high = self.maps[0].band_ends(simultaneous=simultaneous)
        return replace(self, maps=(low,)), replace(self, maps=(high,))

    def check_band(self, *, simultaneous: bool = False) -> None:
        """Refuse to give intervals where the maps of the classes have none."""
        for gamma in self.maps:
            gamma.check_band(simultaneous=simultaneous)

    def _class_bands(
        self, preds: Predictions, *, simultaneous: bool
    ) -> tuple[FloatArray, FloatArray, FloatArray] | None:
        if self.K == _TWO:
            return None
        check_classes(preds, self.K)
        whole = slice(0, preds.n)
        tails = class_tails(np.maximum(rescaled(preds, self.factor).masses(whole), self.floor))
        zero = impossible_in(preds, whole, self.impossible)
        ends = [gamma.band_ends(simultaneous=simultaneous) for gamma in self.maps]
        every = (self.maps, *zip(*ends, strict=True))
        middle, low, high = (replace(self, maps=x)._applied(*tails) for x in every)  # noqa: SLF001
        if zero is not None:
            middle[zero] = low[zero] = high[zero] = 0.0
        return middle, low, high


def _log_odds_of_two(preds: Predictions, at: slice) -> FloatArray:
    """Return the log-odds of class 1, (rows,).

    Those of logits stay finite: beyond `FARTHEST_LOG_ODDS` a score would count as exactly 1, which
    stands for all rows that round to 1, but as one of 0 if the classes came in the other order.
    """
    logs = preds.log_masses(at)
    log_odds: FloatArray = logs[:, 1] - logs[:, 0]
    if preds.kind == "logits":
        np.clip(log_odds, -FARTHEST_LOG_ODDS, FARTHEST_LOG_ODDS, out=log_odds)
    return log_odds


def fit_ovr(
    preds: Predictions,
    method: str = "spline",
    *,
    rescale: bool = True,
    n_jobs: int | None = None,
    **options: Any,  # noqa: ANN401 - whatever the method takes
) -> OvrMap:
    """Fit a curve method to every class.

    Parameters
    ----------
    preds : Predictions
    method : str
        A method that reads a curve.
    rescale : bool
        Whether a matrix of logits is divided by its fitted temperature first, so that logits of any
        scale give the same answer. If not, the columns are the softmax's.
    n_jobs : int, optional
    options
        Passed on to the method.

    Examples
    --------
    >>> from ogive import Predictions
    >>> logits = [[2, 0, 0], [0, 1, 0], [0, 0, 3], [2, 1, 0]]
    >>> preds = Predictions(logits, [0, 1, 2, 1], kind="logits")
    >>> fit_ovr(preds, "platt")(preds).sum(axis=1)
    array([1., 1., 1., 1.])
    """
    preds, labels, factor, floor = scaled(preds, method, rescale=rescale, n_jobs=n_jobs)
    curves: Iterable[Curve]
    if preds.K == _TWO:
        curves, first = [Curve.from_predictions(preds, "class-1", n_jobs=n_jobs)], 1
    else:
        log_odds, first = all_log_odds(preds, floor, n_jobs=n_jobs), 0
        curves = (
            column_curve(preds, log_odds[:, k], labels == k, f"class-{k}") for k in range(preds.K)
        )
    maps = fit_columns(curves, method, options, "classes", preds.K, first=first)
    n = maps[0].n
    return OvrMap(view="vector", n=n, K=preds.K, maps=maps, floor=floor, factor=factor)
