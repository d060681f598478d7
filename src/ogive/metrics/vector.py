r"""Scores of whole vectors: Brier, log loss and accuracy of predictions, not of a view.

With p a row's probabilities and y its true class, and means weighted,

.. math:: \text{Brier} = \overline{\sum_k (p_k - \mathbf 1(y = k))^2}, \qquad
          \text{log loss} = -\overline{\log p_y} ,

the log loss with :math:`p_y` of at least 2.2e-16, as in scikit-learn. Predictions have their own
softmax; for calibrated vectors pass their (N, K) array too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ogive._numerics.blocks import blocks, for_each_block
from ogive.errors import InvalidInput, rows_that
from ogive.rows.check import SUM_TOLERANCE, as_floats
from ogive.rows.predictions import labelled
from ogive.rows.tails import LOG_LOSS_CLIP

if TYPE_CHECKING:
    from ogive._typing import ArrayLike, FloatArray
    from ogive.rows.predictions import Predictions


@dataclass(frozen=True, slots=True)
class VectorScores:
    """Scores of whole vectors, and of each row where asked for.

    Attributes
    ----------
    brier, nll, accuracy : float
        Weighted means. The class of a row is its largest probability, ties to the lowest index.
    """

    brier: float
    nll: float
    accuracy: float


def vector_rows(
    preds: Predictions,
    probabilities: ArrayLike | None = None,
    *,
    n_jobs: int | None = None,
    least: float = LOG_LOSS_CLIP,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return each row's Brier score, log loss and whether its top class is right: (N,) each.

    Parameters
    ----------
    preds : Predictions
        With labels.
    probabilities : array-like, (N, K), optional
        Calibrated vectors of the same rows; default: the predictions' own.
    n_jobs : int, optional
    least : float
        Smaller probabilities count as this in the log loss.
    """
    labelled(preds)
    given = None if probabilities is None else _as_vectors(probabilities, preds)
    brier, nll, hit = (np.empty(preds.n) for _ in range(3))
    labels = preds.labels
    assert labels is not None  # noqa: S101 - checked above

    def score(at: slice) -> None:
        p = preds.probabilities(at) if given is None else given[at].astype(np.float64)
        top = preds.choice(at) if given is None else p.argmax(axis=1)
        rows, true = np.arange(p.shape[0]), labels[at]
        own = p[rows, true]
        np.log(np.clip(own, least, 1.0 - least), out=nll[at])
        hit[at] = top == true
        p[rows, true] -= 1.0
        np.einsum("ij,ij->i", p, p, out=brier[at])

    for_each_block(score, preds.n, width=preds.K, n_jobs=n_jobs)
    np.negative(nll, out=nll)
    return brier, nll, hit


def vector_scores(preds: Predictions, probabilities: ArrayLike | None = None) -> VectorScores:
    """Return Brier, log loss and accuracy of whole vectors.

    >>> from ogive import Predictions
    >>> preds = Predictions([[0.8, 0.2, 0.0], [0.1, 0.3, 0.6]], [0, 1], kind="probs")
    >>> scores = vector_scores(preds)
    >>> round(scores.brier, 3), round(scores.nll, 3), scores.accuracy
    (0.47, 0.714, 0.5)
    """
    rows = vector_rows(preds, probabilities)
    return VectorScores(*(_mean(row, preds.sample_weight) for row in rows))


def brier_vector(preds: Predictions, probabilities: ArrayLike | None = None) -> float:
    """Return the Brier score of whole vectors: the sum over classes, in [0, 2].

    >>> from ogive import Predictions
    >>> round(brier_vector(Predictions([[0.8, 0.2]], [0], kind="probs")), 3)
    0.08
    """
    return vector_scores(preds, probabilities).brier


def nll_vector(preds: Predictions, probabilities: ArrayLike | None = None) -> float:
    """Return the log loss of whole vectors: the mean of −log max(p_y, 2.2e-16), as in `nll`.

    >>> from ogive import Predictions
    >>> round(nll_vector(Predictions([[0.5, 0.5]], [0], kind="probs")), 4)
    0.6931
    """
    return vector_scores(preds, probabilities).nll


def _mean(values: FloatArray, weights: FloatArray | None) -> float:
    return float(values.mean() if weights is None else values @ weights / weights.sum())


def _as_vectors(probabilities: ArrayLike, preds: Predictions) -> FloatArray:
    """Return calibrated vectors, checked: (N, K), in [0, 1], rows that sum to 1."""
    p: FloatArray = as_floats(probabilities, "probabilities", ndim=(2,))
    if p.shape != (preds.n, preds.K):
        msg = f"`probabilities` must have shape {(preds.n, preds.K)}, but has {p.shape}."
        raise InvalidInput(msg)
    for at in blocks(preds.n, width=preds.K):
        block = p[at]
        sums = block.sum(axis=1, dtype=np.float64)
        if not (block.min() >= 0.0 and (np.abs(sums - 1.0) <= SUM_TOLERANCE).all()):
            bad = ~((p.min(axis=1) >= 0.0) & (np.abs(p.sum(axis=1) - 1.0) <= SUM_TOLERANCE))
            msg = f"each row of `probabilities` must be >= 0 and sum to 1: {rows_that(bad)}."
            raise InvalidInput(msg)
    return p
