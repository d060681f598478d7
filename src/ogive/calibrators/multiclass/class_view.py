r"""A view of a matrix by class structure: the probability that the model's own choice is right.

The event is the view's, of the classes as the model ranks them: its first choice (``top-1``), its
r-th, or its first r together. With s the scores of the class structure (`class_structure`), the
event E of a row has the log-odds

.. math:: \eta = \log \sum_{k \in E} e^{s_k} - \log \sum_{k \notin E} e^{s_k} ,

and the default spline maps them to its probability. It is fitted to rows scored by a structure
that has not seen them. The decision stays the model's: only its probability is computed from all
columns instead of the top score alone. That probability need not be the row's largest, as
``multiclass="keep"`` makes it, and it is calibrated for this view, unlike that of "free".
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ogive._numerics.blas import one_blas_thread
from ogive._numerics.blocks import for_each_block
from ogive.calibrators.log_values import row_count
from ogive.calibrators.maps import Fitted, Map
from ogive.calibrators.matrix_map import check_classes
from ogive.calibrators.multiclass.class_structure import ClassStructure
from ogive.calibrators.multiclass.columns import nested, unnested
from ogive.calibrators.multiclass.free import (
    BLOCKS_THROUGH_MATRICES,
    curve_of_unseen,
    unseen_blocks,
)
from ogive.calibrators.multiclass.shared_fits import class_fit_of
from ogive.calibrators.multiclass.top_class import masses_of
from ogive.calibrators.spline import fit_spline, fit_spline_again
from ogive.curve import Curve
from ogive.rows.predictions import check_predictions
from ogive.rows.views import TopRank, WithinTop, check_view, parse_view, ranked_classes

if TYPE_CHECKING:
    from ogive._typing import AnyArray, FloatArray, IntArray, Progress
    from ogive.calibrators.maps import Band
    from ogive.calibrators.spline_map import SplineMap
    from ogive.rows.predictions import Predictions
    from ogive.rows.views import View

#: With two classes the score of one is that of the other: there is no more to read.
MIN_CLASSES_FOR_STRUCTURE = 3


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class ClassViewMap(Fitted):
    """What `fit_view` returns for ranks of a matrix: call it on predictions of as many classes.

    Attributes
    ----------
    K : int
        The number of classes.
    structure : ClassStructure
    event : Map
        From the log-odds of the view's event to its probability.
    """

    method = "class-view"

    K: int
    structure: ClassStructure
    event: Map

    def __call__(self, preds: Predictions, *, n_jobs: int | None = None) -> FloatArray:
        """Return the probability of the view's event in each row, (N,) float64."""
        check_classes(preds, self.K)
        view = parse_view(self.view)
        result = np.empty(preds.n)

        def work(at: slice) -> None:
            event = ranked_classes(preds.ranking_values(at), view)
            log_odds = event_log_odds(self.structure.scores(preds, at), event)
            result[at] = self.event.from_log_odds(log_odds)

        with one_blas_thread():
            for_each_block(
                work, preds.n, width=self.K, together=BLOCKS_THROUGH_MATRICES, n_jobs=n_jobs
            )
        return result

    def band_ends(self, *, simultaneous: bool = False) -> tuple[ClassViewMap, ClassViewMap]:
        """Return the ends of the band of the event's map."""
        low, high = self.event.band_ends(simultaneous=simultaneous)
        return replace(self, event=low), replace(self, event=high)

    def interval(self, preds: Predictions, *, simultaneous: bool = False) -> Band:
        """Return the ends of the 95 % band of the event's probability, (N,) each."""
        low, high = self.band_ends(simultaneous=simultaneous)
        return low(preds), high(preds)

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain JSON values."""
        inner = {"structure": self.structure.to_dict(), "event": nested(self.event)}
        return {**vars(self), **inner}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> ClassViewMap:
        """Rebuild a map from `to_dict`."""
        structure = ClassStructure.from_dict(values["structure"])
        return cls(**{**values, "structure": structure, "event": unnested(values["event"])})

    def __repr__(self) -> str:
        return f"ClassViewMap(view={self.view!r}, K={self.K}, n={self.n:,})"


def event_log_odds(scores: AnyArray, event: IntArray) -> FloatArray:
    """Return the log-odds of some classes, (rows, m), against all others; `scores` are changed."""
    masses = np.empty(scores.shape)
    masses_of(scores, masses)
    own = np.take_along_axis(masses, event, axis=1).sum(axis=1)
    np.put_along_axis(masses, event, 0.0, axis=1)
    log_odds: FloatArray = np.log(own) - np.log(masses.sum(axis=1))
    return log_odds


def reads_classes(preds: Predictions, view: View) -> bool:
    """Return whether the spline of a view reads the class structure: ranks of three classes up."""
    ranks = isinstance(view, TopRank | WithinTop)
    return ranks and not preds.one_column and preds.K >= MIN_CLASSES_FOR_STRUCTURE


def fit_view(
    preds: Predictions,
    view: str | View | None = None,
    *,
    score_only: bool = False,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> ClassViewMap | SplineMap:
    """Fit the default calibrator to a view of predictions.

    Parameters
    ----------
    preds : Predictions
        With labels.
    view : str, optional
        Default: ``"top-1"``, or ``"score"`` for one column.
    score_only : bool
        Read the view's score alone, as the paper does. The default reads all columns for
        ``top-r`` and ``within-top-r`` of three classes or more; other views have one score.
    n_jobs : int, optional
    progress : function of (what, done, total), optional

    Returns
    -------
    ClassViewMap or SplineMap
        The first is called on predictions, the second, of one score, on scores.

    Examples
    --------
    The model is too sure of class 1, and right about the others:

    >>> from ogive import Predictions
    >>> rng = np.random.default_rng(0)
    >>> logits = 2 * rng.normal(size=(4000, 3))
    >>> labels = (logits - [0.0, 2.0, 0.0] + rng.gumbel(size=(4000, 3))).argmax(axis=1)
    >>> preds = Predictions(logits, labels, kind="logits")
    >>> new = Predictions([[3.0, 0.0, 0.0], [0.0, 3.0, 0.0]], kind="logits")   # both have 0.91
    >>> fit_view(preds)(new).round(2)                          # the truth is 0.95 and 0.58
    array([0.94, 0.59])
    >>> fit_view(preds, score_only=True)([0.91]).round(2)
    array([0.84])
    """
    check_predictions(preds)
    chosen = check_view(view, preds)
    if score_only or not reads_classes(preds, chosen):
        return fit_spline(Curve.from_predictions(preds, chosen))
    fit = class_fit_of(preds, n_jobs=n_jobs, progress=progress)
    parts = []
    for block in unseen_blocks(preds, fit):
        event = block.order[ranked_classes(block.values[:, block.order], chosen)]
        hit = (event == block.labels[:, None]).any(axis=1)
        log_odds = np.round(event_log_odds(block.scores, event), block.decimals)
        parts.append((log_odds, hit, block.weights))
    curve = curve_of_unseen(preds, *map(np.concatenate, zip(*parts, strict=True)))
    return ClassViewMap(
        view=chosen.name,
        n=row_count(preds),
        K=preds.K,
        structure=fit.structure,
        event=fit_spline_again(curve.with_view(chosen.name)),
    )
