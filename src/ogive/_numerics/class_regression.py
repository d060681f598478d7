r"""Softmax regression on a vector and its softmax, with few parameters of many kinds.

Each row has log-probabilities a, (K,), and probabilities p = exp a. Its scores are

.. math:: s = a + v \circ a + u \circ p + c + M_A V_A^\top a + M_p V_p^\top p ,

with the parameters :math:`\theta = (v, u, c, M_A, M_p)`, (K, 3 + 2 r), r columns in each V. With
q the softmax of s, y the true class and w the weight of a row,

.. math:: \ell(\theta) = -\sum_i w_i \log q_{i y_i} , \qquad
          \frac{\partial \ell}{\partial s_i} = w_i (q_i - e_{y_i}) , \qquad
          \frac{\partial^2 \ell}{\partial s_i^2} = w_i (\mathrm{diag}\, q_i - q_i q_i^\top) .

Arrays are (classes, rows), so that sums over classes run along whole cache lines. If r = K, then
:math:`a = V_A V_A^\top a`: v and u act through the same product as :math:`M_A` and :math:`M_p`,
and a gradient costs two matrix products and one exponential for each number.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ogive._numerics.blocks import for_each_block

if TYPE_CHECKING:
    from collections.abc import Callable

    from ogive._typing import AnyArray, FloatArray, IntArray

SINGLE = 3  # columns of theta before the matrices: v, u, c
_CHUNK = 1 << 16  # numbers of the scores that are worked on at a time
_LEAST_ROWS = 128
_STRETCHES = 8  # partial sums; a fixed number, so that threads do not change the result


class State(NamedTuple):
    """The regression at some parameters."""

    theta: FloatArray  # (K, 3 + 2 r)
    loss: float
    gradient: FloatArray  # (K, 3 + 2 r)
    q: AnyArray  # (K, n) probabilities


class ClassRegression:
    """Rows of log-probabilities with their labels and weights.

    Parameters
    ----------
    logs : (K, n) array
        a: log-probabilities, float32 or float64. All work is done in its type, but sums over
        stretches of rows are added in float64.
    labels : (n,) array
    weights : (n,) array, optional
    bases : pair of (K, r) arrays
        V_A and V_p.
    threads : int, optional
    """

    def __init__(
        self,
        logs: AnyArray,
        labels: IntArray,
        weights: FloatArray | None,
        bases: tuple[FloatArray, FloatArray],
        *,
        threads: int | None = None,
    ) -> None:
        self.logs, self.labels, self.weights, self.bases = logs, labels, weights, bases
        self.K, self.n = logs.shape
        self.total = float(self.n if weights is None else weights.sum())
        self.r = bases[0].shape[1]
        self.threads = threads
        self.whole = self.r == self.K
        self._dtype = logs.dtype
        self._w = None if weights is None else weights.astype(self._dtype)
        step = max(_LEAST_ROWS, _CHUNK // self.K)
        cuts = [slice(i, min(i + step, self.n)) for i in range(0, self.n, step)]
        parts = min(_STRETCHES, len(cuts))
        ends = [len(cuts) * i // parts for i in range(parts + 1)]
        self._stretches = [cuts[ends[i] : ends[i + 1]] for i in range(parts)]
        self.features = np.empty((2 * self.r + 1, self.n), dtype=self._dtype)
        self.probs = None if self.whole else np.empty_like(logs)
        self._make_features()

    @property
    def shape(self) -> tuple[int, int]:
        """The shape of the parameters."""
        return self.K, SINGLE + 2 * self.r

    @property
    def group(self) -> IntArray:
        """Which of v, u, c, M_A and M_p each column of the parameters belongs to."""
        return np.repeat(np.arange(5), [1, 1, 1, self.r, self.r])

    def _make_features(self) -> None:
        """Fill the rows V_A' a, V_p' p and 1."""
        VA, Vp = (V.T.astype(self._dtype) for V in self.bases)
        r = self.r

        def work(at: slice) -> None:
            p = np.exp(self.logs[:, at])
            np.matmul(VA, self.logs[:, at], out=self.features[:r, at])
            np.matmul(Vp, p, out=self.features[r:-1, at])
            if self.probs is not None:
                self.probs[:, at] = p

        self._each(work)
        self.features[-1] = 1.0

    def _each(self, work: Callable[[slice], None]) -> None:
        """Call `work` for each block of rows."""

        def stretch(which: slice) -> None:
            for i in range(which.start, which.stop):
                for at in self._stretches[i]:
                    work(at)

        for_each_block(stretch, len(self._stretches), width=1 << 30, threads=self.threads)

    def _summed(self, work: Callable[[slice], tuple[AnyArray, ...]]) -> tuple[FloatArray, ...]:
        """Add up what `work` returns for each block of rows, in the same order always."""
        found: list[list[AnyArray]] = [[] for _ in self._stretches]

        def stretch(which: slice) -> None:
            for i in range(which.start, which.stop):
                for at in self._stretches[i]:
                    for place, part in enumerate(work(at)):
                        if len(found[i]) == place:
                            found[i].append(part)
                        else:
                            found[i][place] += part

        for_each_block(stretch, len(self._stretches), width=1 << 30, threads=self.threads)
        return tuple(
            np.sum([np.asarray(part, dtype=np.float64) for part in parts], axis=0)
            for parts in zip(*found, strict=True)
        )

    def _linear(self, theta: FloatArray) -> Callable[[slice], AnyArray]:
        """Return what gives s − a of a block of rows."""
        matrix = np.hstack([theta[:, SINGLE:], theta[:, 2:SINGLE]])
        if self.whole:
            matrix[:, : self.r] += theta[:, :1] * self.bases[0]
            matrix[:, self.r : -1] += theta[:, 1:2] * self.bases[1]
        matrix = matrix.astype(self._dtype)
        v, u = theta[:, :1].astype(self._dtype), theta[:, 1:2].astype(self._dtype)

        def scores(at: slice) -> AnyArray:
            s = matrix @ self.features[:, at]
            if self.probs is not None:
                s += v * self.logs[:, at]
                s += u * self.probs[:, at]
            return s

        return scores

    def _back(self, g: AnyArray, at: slice) -> tuple[AnyArray, ...]:
        """Return the sums over a block of rows from which `_gradient` is made."""
        matrix = g @ self.features[:, at].T
        if self.probs is None:
            return (matrix,)
        return matrix, np.vecdot(g, self.logs[:, at]), np.vecdot(g, self.probs[:, at])

    def _gradient(self, sums: tuple[FloatArray, ...]) -> FloatArray:
        """Return the derivative by theta from the summed products."""
        matrix = sums[0]
        if self.whole:
            v = np.vecdot(matrix[:, : self.r], self.bases[0])
            u = np.vecdot(matrix[:, self.r : -1], self.bases[1])
        else:
            v, u = sums[1], sums[2]
        return np.hstack([v[:, None], u[:, None], matrix[:, -1:], matrix[:, :-1]])

    def scores(self, theta: FloatArray) -> AnyArray:
        """Return s, (K, n)."""
        linear, s = self._linear(theta), np.empty_like(self.logs)

        def work(at: slice) -> None:
            np.add(linear(at), self.logs[:, at], out=s[:, at])

        self._each(work)
        return s

    def state(self, theta: FloatArray) -> State:
        """Return the loss, its gradient and the probabilities at `theta`."""
        linear = self._linear(theta)
        q = np.empty_like(self.logs)

        def work(at: slice) -> tuple[AnyArray, ...]:
            rows, labels = np.arange(at.stop - at.start), self.labels[at]
            s = linear(at)
            s += self.logs[:, at]
            s -= s.max(axis=0)
            own = s[labels, rows].astype(np.float64)
            np.exp(s, out=s)
            total = s.sum(axis=0)
            s /= total
            q[:, at] = s
            s[labels, rows] -= 1.0
            losses = np.log(total.astype(np.float64)) - own
            if self.weights is not None and self._w is not None:
                s *= self._w[at]
                losses *= self.weights[at]
            return np.array(losses.sum()), *self._back(s, at)

        loss, *sums = self._summed(work)
        return State(theta, float(loss), self._gradient(tuple(sums)), q)

    def curve(self, state: State, direction: FloatArray) -> FloatArray:
        """Return the Hessian times a direction."""
        linear = self._linear(direction)

        def work(at: slice) -> tuple[AnyArray, ...]:
            q = state.q[:, at]
            s = linear(at)
            s *= q
            s -= q * s.sum(axis=0)
            if self._w is not None:
                s *= self._w[at]
            return self._back(s, at)

        return self._gradient(self._summed(work))

    def diagonal(self, state: State) -> FloatArray:
        """Return the Hessian's diagonal."""

        def work(at: slice) -> tuple[AnyArray, ...]:
            q, logs = state.q[:, at], self.logs[:, at]
            h = q * (1.0 - q)
            if self._w is not None:
                h *= self._w[at]
            features, probs = self.features[:, at], np.exp(logs)
            matrix = h @ (features * features).T
            return matrix, np.vecdot(h, logs * logs), np.vecdot(h, probs * probs)

        matrix, v, u = self._summed(work)
        return np.hstack([v[:, None], u[:, None], matrix[:, -1:], matrix[:, :-1]])

    def shared(self, state: State) -> FloatArray:
        """Return the Hessian by a number added to every v and one added to every u, (2, 2)."""

        def work(at: slice) -> tuple[AnyArray, ...]:
            q, a = state.q[:, at], self.logs[:, at]
            p = np.exp(a) if self.probs is None else self.probs[:, at]
            qa, qp = q * a, q * p
            mean = np.array([qa.sum(axis=0), qp.sum(axis=0)])
            square = np.array([np.vecdot(qa, a, axis=0), np.vecdot(qp, p, axis=0)])
            both = np.vecdot(qa, p, axis=0)
            spread = np.array([*(square - mean * mean), both - mean[0] * mean[1]], dtype=np.float64)
            if self.weights is not None:
                spread *= self.weights[at]
            return (spread.sum(axis=1),)

        ((v, u, both),) = self._summed(work)
        return np.array([[v, both], [both, u]])
