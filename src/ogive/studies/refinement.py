r"""Refinement: the log loss after cross-fitted calibration, which calibration cannot repair.

Each row is calibrated by a default spline fitted without it. No calibrator can lower this loss by
much, so models are best selected by it.

**The interval** is that of a mean of two parts, the losses of outcomes 1 and of outcomes 0: each is
a share of rows times a size (`ogive._numerics.mean_interval`), so that a few rare outcomes have the
interval of a count. Splines fitted to four fifths of the rows lose more than the best one, those
fitted to all rows lose less on these very rows: the lower end is moved down by the difference.
"""

from __future__ import annotations

from math import nan
from typing import TYPE_CHECKING

import numpy as np

from ogive._numerics.blas import one_blas_thread
from ogive._numerics.exact_shares import sides_and_tails
from ogive._numerics.mean_interval import ByCluster, Part, mean_interval
from ogive.curve.curve import as_curve
from ogive.curve.folds import folds
from ogive.metrics.line import Estimate
from ogive.rows.tails import outcome_losses
from ogive.studies.fitted_on import FOLDS
from ogive.studies.where_off import spline_of

if TYPE_CHECKING:
    from ogive._typing import ArrayLike, FloatArray, WeightKind
    from ogive.calibrators.spline_map import SplineMap
    from ogive.curve import Curve


@one_blas_thread()
def refinement(
    curve: Curve | ArrayLike,
    outcomes: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
    weight_kind: WeightKind = "repetition",
    cv: int = FOLDS,
    random_state: int = 0,
) -> Estimate:
    """Return the refinement loss: the log loss after cross-fitted calibration.

    It is what calibration cannot repair. Of two models the one with the lower refinement loss is
    the better one once both are calibrated, whatever their calibration errors are now.

    Parameters
    ----------
    curve : Curve, or array-like (N,)
        A curve, or scores in [0, 1].
    outcomes, sample_weight, weight_kind : optional
        Of scores, as in `Curve.from_scores`.
    cv, random_state : int
        How many parts, and what deals the rows to them at random. Each part is calibrated by the
        default spline, fitted to the others.

    Returns
    -------
    Estimate
        NaN where the rows are too few to be dealt to two parts.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> scores = rng.random(4000)
    >>> outcomes = rng.random(4000) < scores
    >>> [round(refinement(s, outcomes).value, 2) for s in (scores, scores**4)]
    [0.51, 0.51]
    """
    curve = as_curve(curve, outcomes, sample_weight=sample_weight, weight_kind=weight_kind)
    sums = np.zeros((2, 2))  # of w loss and w² loss², of outcomes 1 and 0
    of_clusters = []  # w loss and w of each
    expected = 0.0
    for rest, part in folds(curve, cv, random_state=random_state):
        p, (hit, miss) = _losses(spline_of(rest), part)
        expected += float(part.count @ p)
        rows = (part.hits, part.count - part.hits)
        squares = (part.square_hits, part.square - part.square_hits)
        for own, loss, w, square in zip(sums, (hit, miss), rows, squares, strict=True):
            own += [w @ loss, square @ loss**2]
        if part.clusters is not None:
            of_clusters.append((part.clusters.sums(hit, miss), part.clusters.weight))
    if not expected:
        return Estimate(nan, nan, nan)
    n = float(curve.n)
    sizes = -np.log(expected / n), -np.log1p(-expected / n)
    parts = [
        (1.0, Part(own[0], own[1], size)) for own, size in zip(sums.tolist(), sizes, strict=True)
    ]
    clusters = None
    if of_clusters:
        clusters = ByCluster(*map(np.concatenate, zip(*of_clusters, strict=True)))
    found = mean_interval(parts, n, float(curve.effective_n), clusters=clusters)
    value, low, high = map(float, found)
    _, (hit, miss) = _losses(spline_of(curve), curve)
    seen = float(curve.hits @ hit + (curve.count - curve.hits) @ miss) / n
    return Estimate(value, max(low - max(value - seen, 0.0), 0.0), high)


def _losses(gamma: SplineMap, curve: Curve) -> tuple[FloatArray, tuple[FloatArray, FloatArray]]:
    """Return calibrated scores, and the log loss of outcomes 1 and 0 at each."""
    p = gamma.from_tails(curve.high, curve.tail)
    return p, outcome_losses(*sides_and_tails(p))
