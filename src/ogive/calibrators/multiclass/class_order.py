r"""An order of the classes that depends on the columns' values, not on their positions.

What is fitted to classes with hashes of rows and sums in float32 depends on the order of the
columns. So the columns are first put in an order of their own: permuting them then
changes nothing but the order of the results.

With u the logarithms of a row below its largest, s their mean range over the rows and
:math:`e_k = e^{u_k / s}`, the key of class k is a sum over the rows of true class y,

.. math:: \sum_i w_i \bigl[ e_{ik} (1 + c_{y_i} (1 + e_{i y_i}))
          + [y_i = k] (\sqrt 2 + \textstyle\sum_j e_{ij} c_j) \bigr] ,

which does not depend on the scale of the logits. The colours c are 1 at first; if keys are equal,
their ranks are the next colours, as in the refinement of graphs. Classes that are equal in the
end, such as two columns of zeros, are exchangeable in nearly all data.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ogive._numerics.blocks import for_each_block

if TYPE_CHECKING:
    from ogive._typing import AnyArray, FloatArray, IntArray
    from ogive.rows.predictions import Predictions

_KEY_ROUNDING = 1e-9  # of the rows' total weight: keys that differ by less are equal
_MAX_ROUNDS = 4


def mean_range(preds: Predictions, *, n_jobs: int | None = None) -> float:
    """Return the weighted mean over rows of their largest less their smallest finite logarithm.

    1 if no row has two different ones.
    """
    ranges = np.empty(preds.n)

    def work(at: slice) -> None:
        logs = preds.log_masses(at)
        ranges[at] = -logs.min(axis=1, initial=0.0, where=logs > -np.inf)

    for_each_block(work, preds.n, width=preds.K, n_jobs=n_jobs)
    return float(np.average(ranges, weights=preds.sample_weight)) or 1.0


def class_order(preds: Predictions, scale: float, *, n_jobs: int | None = None) -> IntArray:
    """Return the columns in their own order, (K,).

    >>> from ogive import Predictions
    >>> logits, labels = np.array([[3.0, 0.0, 1.0], [0.0, 2.0, 0.5]]), np.array([0, 2])
    >>> class_order(Predictions(logits, labels, kind="logits"), 2.5)
    array([1, 2, 0])
    >>> swapped = Predictions(logits[:, ::-1], 2 - labels, kind="logits")
    >>> class_order(swapped, 2.5)
    array([1, 0, 2])
    """
    colours, seen = np.ones(preds.K), 0
    for _ in range(_MAX_ROUNDS):
        keys = _keys(preds, scale, colours, n_jobs)
        distinct, rank = np.unique(keys, return_inverse=True)
        if distinct.size in (seen, preds.K):
            break
        colours, seen = 1.0 + rank / preds.K, distinct.size
    return np.argsort(keys, kind="stable")


def _keys(preds: Predictions, scale: float, colours: FloatArray, n_jobs: int | None) -> FloatArray:
    """Return the key of each class, rounded, (K,)."""
    labels = preds.labels
    assert labels is not None  # noqa: S101 - checked by fit_classes
    weights = np.ones(preds.n) if preds.sample_weight is None else preds.sample_weight
    parts: dict[int, FloatArray] = {}

    def work(at: slice) -> None:
        e: AnyArray = preds.log_masses(at)
        e /= scale
        np.exp(e, out=e)
        own = e[np.arange(e.shape[0]), labels[at]]
        of_label = weights[at] * (np.sqrt(2.0) + (e * colours).sum(axis=1))
        e *= (weights[at] * (1.0 + colours[labels[at]] * (1.0 + own)))[:, None]
        parts[at.start] = e.sum(axis=0)
        parts[at.start] += np.bincount(labels[at], weights=of_label, minlength=preds.K)

    for_each_block(work, preds.n, width=preds.K, n_jobs=n_jobs)
    keys = np.sum([parts[start] for start in sorted(parts)], axis=0)
    rounded: FloatArray = np.round(keys / (float(weights.sum()) * _KEY_ROUNDING))
    return rounded
