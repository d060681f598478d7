r"""Softmax regression: cross-entropy, its gradient and its Hessian.

Scores are (K, m), one line for each class and one column for each row of data: sums over
classes then run along whole cache lines. With p the softmax of a column and y its label,

.. math:: \ell(\theta) = \sum_i w_i \Big[ \log\sum_k e^{s_{ki}} - s_{y_i i} \Big]
          + \sum_{kj} R_{kj} \theta_{kj}^2 , \qquad
          \frac{\partial \ell}{\partial s_{ki}} = w_i (p_{ki} - [k = y_i]) ,

where the parameters of class k, :math:`\theta_k`, enter the score of class k alone. So the block
of the Hessian that belongs to class k is

.. math:: H_k = \sum_i w_i\, p_{ki} (1 - p_{ki})\, x_{ki} x_{ki}^\top + 2 \operatorname{diag} R_k .

`ogive._numerics.whitening` minimises the loss in coordinates that make these blocks unit matrices.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from ogive._typing import AnyArray, FloatArray, IntArray

#: Up to this many parameters the whole Hessian is used, above it its blocks.
MOST_PARAMETERS = 256
#: Above this many numbers the blocks of the Hessian are cut to their diagonals.
MOST_CURVATURE = 1 << 24
_NUMBERS_PER_BLOCK = 1 << 17  # of the scores
_MIN_ROWS_PER_BLOCK = 1 << 10  # with fewer rows, adding up gradients would take most of the time
_MIN_CURVATURE = 1e-10  # of the mean square of a feature: for where every row is certain


class Objective(Protocol):
    """A loss and its gradient at parameters (K, d)."""

    def __call__(self, theta: FloatArray) -> tuple[float, FloatArray]: ...


def cross_entropy(scores: FloatArray, labels: IntArray, weights: FloatArray) -> float:
    """Return the weighted sum of −log p(label), and turn scores (K, m) into the gradient.

    p(label) − 1 is minus the sum of the others: it keeps all its digits where the label is all
    but certain, so that separable rows have one optimum, whatever their order.
    """
    columns = np.arange(labels.size)
    scores -= scores.max(axis=0)
    own = scores[labels, columns]
    np.exp(scores, out=scores)
    mass = scores[labels, columns]
    scores[labels, columns] = 0.0
    others = scores.sum(axis=0)
    total = others + mass
    loss = float(weights @ np.where(own < 0.0, np.log(total) - own, np.log1p(others)))
    weights = weights / total
    scores *= weights
    scores[labels, columns] = -weights * others
    return loss


def softmax_columns(scores: FloatArray) -> FloatArray:
    """Turn scores (K, m) into probabilities, in place."""
    scores -= scores.max(axis=0)
    np.exp(scores, out=scores)
    scores /= scores.sum(axis=0)
    return scores


class LinearSoftmax:
    """Scores θ x with one x for all classes: rows (n, d), parameters (K, d).

    Rows of float32 are worked on in float32: half the time, and a loss of seven digits. `pause` is
    called before each block of rows, a tenth of a second or so; it may raise, to end the work.
    """

    def __init__(
        self,
        rows: AnyArray,
        labels: IntArray,
        weights: FloatArray | None,
        K: int,
        pause: Callable[[], object] = bool,
    ) -> None:
        self.rows, self.labels, self.K, self._pause = rows, labels, K, pause
        w = np.ones(labels.size) if weights is None else weights
        self.weights = w / w.sum()
        step = max(_MIN_ROWS_PER_BLOCK, _NUMBERS_PER_BLOCK // K)
        self._cuts = [slice(i, i + step) for i in range(0, labels.size, step)]

    def penalised(self, penalty: FloatArray) -> Objective:
        """Return the loss with a penalty R, (K, d), as a function of the parameters."""

        def objective(theta: FloatArray) -> tuple[float, FloatArray]:
            pull = penalty * theta
            loss, gradient = float((pull * theta).sum()), 2.0 * pull
            for at in self._cuts:
                rows = self.rows[at]
                scores = self._scores(theta, rows)
                loss += cross_entropy(scores, self.labels[at], self.weights[at])
                gradient += scores @ rows
            return loss, gradient

        return objective

    def _scores(self, theta: FloatArray, rows: AnyArray) -> FloatArray:
        self._pause()
        scores: FloatArray = theta.astype(rows.dtype, copy=False) @ rows.T
        return scores

    def loss(self, theta: FloatArray) -> float:
        """Return the mean of −log p(label)."""
        return sum(
            cross_entropy(self._scores(theta, self.rows[at]), self.labels[at], self.weights[at])
            for at in self._cuts
        )

    def curvature(self, theta: FloatArray) -> FloatArray:
        """Return the Hessian without the penalty, as much of it as K allows.

        The whole, (K d, K d), its blocks, (K, d, d), or their diagonals, (K, d). Where every row
        is certain it would vanish, and rounding could make it negative: a trace is added.
        """
        d = self.rows.shape[1]
        least = _MIN_CURVATURE * sum(self.weights[at] @ self.rows[at] ** 2 for at in self._cuts)
        if self.K * d <= MOST_PARAMETERS:
            return self.hessian(theta) + np.diag(np.tile(least, self.K))
        diagonal = self.K * d * d > MOST_CURVATURE
        H = np.zeros((self.K, d) if diagonal else (self.K, d, d))
        for at in self._cuts:
            rows = self.rows[at]
            p = softmax_columns(self._scores(theta, rows))
            p *= (1.0 - p) * self.weights[at]
            if diagonal:
                H += p @ (rows * rows)
                continue
            for k, line in enumerate(p):
                H[k] += (rows.T * line) @ rows
        return H + (least if diagonal else np.diag(least))

    def hessian(self, theta: FloatArray) -> FloatArray:
        """Return sum_i w_i (diag p_i − p_i p_iᵀ) ⊗ x_i x_iᵀ, (K d, K d)."""
        K, d = self.K, self.rows.shape[1]
        H = np.zeros((K, d, K, d))
        for at in self._cuts:
            rows, w = self.rows[at], self.weights[at]
            p = softmax_columns(self._scores(theta, rows))
            for k in range(K):
                own = w * p[k]
                H[k, :, k] += (rows.T * own) @ rows
                # (rows, K, d) would not fit the cache: one class against all others at a time
                for m in range(k + 1):
                    cross = (rows.T * (own * p[m])) @ rows
                    H[k, :, m] -= cross
                    if m < k:
                        H[m, :, k] -= cross
        return H.reshape(K * d, K * d)
