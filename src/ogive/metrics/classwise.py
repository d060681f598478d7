r"""Class-wise summaries: every class against the rest, and how many of them are off.

The class-wise error is the mean over classes of the error of ``"class-k"`` (for ECE, that of
Kull et al. 2019); with many classes most scores are near 0 and so is that mean, so that the
largest is given as well. A class is *off* if its KS test rejects at 5 % after Holm's correction
for K tests: the chance that any class is called off wrongly is then at most 5 %.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ogive._html import record_form
from ogive._numerics.blas import one_blas_thread
from ogive._numerics.mean_interval import LEVEL
from ogive.curve.classes import class_curves
from ogive.metrics.binned import BINS, BinReader, as_edges
from ogive.metrics.ks import ks_error
from ogive.metrics.onepass import read
from ogive.metrics.proper import MeanReader
from ogive.metrics.significance import TestReader, ks_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ogive._typing import ArrayLike, BoolArray, FloatArray
    from ogive.curve import Curve
    from ogive.rows.predictions import Predictions


@dataclass(frozen=True, slots=True, eq=False)
class Classwise:
    """Errors of each class against the rest.

    Attributes
    ----------
    n : float
        Rows, or the sum of their weights.
    classes : (K,) array
        The labels.
    ks, pvalue, ece, brier : (K,) arrays
        The KS error of each class, its p-value (before correction), ECE, and Brier score.
    mean_score, base_rate : (K,) arrays
        The mean probability of each class, and its share of the rows.
    off : (K,) bool array
        Whether its KS test rejects at 5 % after Holm's correction.
    """

    n: float
    classes: Any
    ks: FloatArray
    pvalue: FloatArray
    ece: FloatArray
    brier: FloatArray
    mean_score: FloatArray
    base_rate: FloatArray
    off: BoolArray

    _repr_html_ = record_form


@one_blas_thread()
def classwise(
    preds: Predictions, *, bins: ArrayLike | int = BINS, random_state: int = 0
) -> Classwise:
    """Measure every class of labelled predictions against the rest.

    Parameters
    ----------
    preds : Predictions
    bins : int or array-like
        Bins of the class-wise ECE.
    random_state : int
        Of the simulated p-values; class k uses random_state + k.

    >>> from ogive import Predictions
    >>> preds = Predictions([[0.8, 0.2], [0.3, 0.7]], [0, 1], kind="probs")
    >>> classwise(preds).ks.round(2)
    array([0.15, 0.1 ])
    """
    return classwise_of(class_curves(preds), preds.classes, bins=bins, random_state=random_state)


def classwise_of(
    curves: Iterable[Curve],
    classes: ArrayLike,
    *,
    bins: ArrayLike | int = BINS,
    random_state: int = 0,
) -> Classwise:
    """Measure the curves of all classes, in their order."""
    rows = []
    n = 0.0
    K = np.size(classes)
    for k, curve in enumerate(curves):
        tests, means, binned = TestReader(), MeanReader(), BinReader(as_edges(curve, bins))
        read(curve, tests, means, binned)
        test = ks_of(curve, tests, random_state=random_state + k, tests=K)
        shares = (means.score / means.n, means.hits / means.n)
        rows.append((test.value, test.pvalue, binned.bins().error(), tests.brier.value, *shares))
        n = curve.n
    ks, pvalue, ece, brier, mean_score, base_rate = np.array(rows).T
    return Classwise(n, classes, ks, pvalue, ece, brier, mean_score, base_rate, holm(pvalue))


def classwise_ks(preds: Predictions) -> FloatArray:
    """Return the KS error of every class against the rest, (K,).

    >>> from ogive import Predictions
    >>> preds = Predictions([[0.8, 0.2], [0.3, 0.7]], [0, 1], kind="probs")
    >>> classwise_ks(preds).round(2)
    array([0.15, 0.1 ])
    """
    return np.array([ks_error(curve) for curve in class_curves(preds)])


def classwise_ece(preds: Predictions, bins: ArrayLike | int = BINS) -> float:
    """Return the class-wise ECE: the mean over classes.

    >>> from ogive import Predictions
    >>> preds = Predictions([[0.8, 0.2], [0.3, 0.7]], [0, 1], kind="probs")
    >>> round(classwise_ece(preds), 3)
    0.25
    """
    errors = []
    for curve in class_curves(preds):
        binned = BinReader(as_edges(curve, bins))
        read(curve, binned)
        errors.append(binned.bins().error())
    return float(np.mean(errors))


def holm(pvalues: FloatArray, level: float = LEVEL) -> BoolArray:
    """Return which hypotheses Holm's step-down procedure rejects.

    >>> import numpy as np
    >>> holm(np.array([0.04, 0.001, 0.03]))
    array([False,  True, False])
    """
    order = np.argsort(pvalues, kind="stable")
    passed = pvalues[order] <= level / np.arange(order.size, 0, -1)
    rejected = np.zeros(order.size, dtype=np.bool_)
    rejected[order] = np.logical_and.accumulate(passed)
    return rejected
