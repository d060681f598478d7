r"""Softmax regression on a vector and its softmax, with few parameters of many kinds.

Each row has log-probabilities a, (K,), and probabilities p = exp a. Its scores are

.. math:: s = a + v \circ a + u \circ p + c + M_A V_A^\top a + M_p V_p^\top p ,

with the parameters :math:`\theta = (v, u, c, M_A, M_p)`, (K, 3 + 2 r), r columns in each V. With
q the softmax of s, y the true class and w the weight of a row,

.. math:: \ell(\theta) = -\sum_i w_i \log q_{i y_i} , \qquad
          \frac{\partial \ell}{\partial s_i} = w_i (q_i - e_{y_i}) , \qquad
          \frac{\partial^2 \ell}{\partial s_i^2} = w_i (\mathrm{diag}\, q_i - q_i q_i^\top) .

Arrays are (classes, rows), so that sums over classes run along whole cache lines, and cut into
blocks of rows, each in one piece of memory: with 1,000 classes that saves a third of the time,
together with scratch arrays that are reused. If r = K, then
:math:`a = V_A V_A^\top a`: v and u act through the same product as :math:`M_A` and :math:`M_p`,
and a gradient costs two matrix products and one exponential for each number.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ogive._numerics.blocks import for_each_block

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ogive._typing import AnyArray, FloatArray, IntArray

    Parts = list[AnyArray]

SINGLE = 3  # columns of theta before the matrices: v, u, c
_NUMBERS_PER_BLOCK = 1 << 16  # of the scores: they fit the cache
_MIN_ROWS_PER_BLOCK = 128
_STRETCHES = 8  # partial sums; a fixed number, so that threads do not change the result


class State(NamedTuple):
    """The regression at some parameters."""

    theta: FloatArray  # (K, 3 + 2 r)
    loss: float
    gradient: FloatArray  # (K, 3 + 2 r)
    q: list[AnyArray]  # probabilities, (K, rows) for each block


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
    n_jobs : int, optional
    """

    def __init__(
        self,
        logs: AnyArray,
        labels: IntArray,
        weights: FloatArray | None,
        bases: tuple[FloatArray, FloatArray],
        *,
        n_jobs: int | None = None,
    ) -> None:
        self.logs, self.labels, self.weights, self.bases = logs, labels, weights, bases
        self.K, self.n = logs.shape
        self.total = float(self.n if weights is None else weights.sum())
        self.r = bases[0].shape[1]
        self.n_jobs = n_jobs
        self.whole = self.r == self.K
        self._dtype = logs.dtype
        self._w = None if weights is None else weights.astype(self._dtype)
        step = max(_MIN_ROWS_PER_BLOCK, _NUMBERS_PER_BLOCK // self.K)
        self._cuts = [slice(i, min(i + step, self.n)) for i in range(0, self.n, step)]
        parts = min(_STRETCHES, len(self._cuts))
        ends = [len(self._cuts) * i // parts for i in range(parts + 1)]
        self._stretches = [range(ends[i], ends[i + 1]) for i in range(parts)]
        self._logs = [np.ascontiguousarray(logs[:, at]) for at in self._cuts]
        self._probs = [np.empty_like(logs) for logs in self._logs]
        self._features = [
            np.ones((2 * self.r + 1, logs.shape[1]), dtype=self._dtype) for logs in self._logs
        ]
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
        """Fill the rows V_A' a and V_p' p; the last row is 1."""
        VA, Vp = (V.T.astype(self._dtype) for V in self.bases)
        r = self.r

        def work(i: int, _: AnyArray) -> None:
            np.exp(self._logs[i], out=self._probs[i])
            np.matmul(VA, self._logs[i], out=self._features[i][:r])
            np.matmul(Vp, self._probs[i], out=self._features[i][r:-1])

        self._each(work)

    def _each(self, work: Callable[[int, AnyArray], tuple[AnyArray, ...] | None]) -> list[Parts]:
        """Call `work` for each block of rows; return what it gives, added up for each stretch.

        It is given the block's number and scratch for two arrays of its size, (2, K, rows).
        """
        found: list[Parts] = [[] for _ in self._stretches]

        def stretch(which: slice) -> None:
            flat = np.empty((2, self._logs[0].size), dtype=self._dtype)
            for i in range(which.start, which.stop):
                for block in self._stretches[i]:
                    shape = self._logs[block].shape
                    scratch = flat[:, : shape[0] * shape[1]].reshape(2, *shape)
                    for place, part in enumerate(work(block, scratch) or ()):
                        if len(found[i]) == place:
                            found[i].append(part)
                        else:
                            found[i][place] += part

        if len(self._stretches) == 1:
            stretch(slice(0, 1))
        else:
            for_each_block(stretch, len(self._stretches), width=1 << 30, n_jobs=self.n_jobs)
        return found

    def _summed(self, work: Callable[[int, AnyArray], tuple[AnyArray, ...]]) -> list[FloatArray]:
        """Add up what `work` returns for each block of rows, in the same order always."""
        sums = []
        for first, *more in zip(*self._each(work), strict=True):
            total = first.astype(np.float64, copy=False)
            for part in more:
                total += part
            sums.append(total)
        return sums

    def _linear(self, theta: FloatArray) -> Callable[[int, AnyArray], AnyArray]:
        """Return the function that writes s − a of a block to the first of two scratch arrays."""
        matrix = np.empty((self.K, 2 * self.r + 1))
        matrix[:, :-1], matrix[:, -1] = theta[:, SINGLE:], theta[:, 2]
        if self.whole:
            matrix[:, : self.r] += theta[:, :1] * self.bases[0]
            matrix[:, self.r : -1] += theta[:, 1:2] * self.bases[1]
        matrix = matrix.astype(self._dtype, copy=False)
        v, u = theta[:, :1].astype(self._dtype), theta[:, 1:2].astype(self._dtype)

        def scores(i: int, scratch: AnyArray) -> AnyArray:
            s: AnyArray = scratch[0]
            more = scratch[1]
            np.matmul(matrix, self._features[i], out=s)
            if not self.whole:
                s += np.multiply(v, self._logs[i], out=more)
                s += np.multiply(u, self._probs[i], out=more)
            return s

        return scores

    def _back(self, g: AnyArray, i: int) -> tuple[AnyArray, ...]:
        """Return the sums over a block of rows from which `_gradient` is made."""
        matrix = g @ self._features[i].T
        if self.whole:
            return (matrix,)
        return matrix, np.vecdot(g, self._logs[i]), np.vecdot(g, self._probs[i])

    def _gradient(self, sums: Sequence[FloatArray]) -> FloatArray:
        """Return the derivative by theta from the summed products."""
        matrix = sums[0]
        if self.whole:
            v = np.vecdot(matrix[:, : self.r], self.bases[0])
            u = np.vecdot(matrix[:, self.r : -1], self.bases[1])
        else:
            v, u = sums[1], sums[2]
        gradient = np.empty(self.shape)
        gradient[:, 0], gradient[:, 1], gradient[:, 2] = v, u, matrix[:, -1]
        gradient[:, SINGLE:] = matrix[:, :-1]
        return gradient

    def scores(self, theta: FloatArray) -> AnyArray:
        """Return s, (K, n)."""
        linear, s = self._linear(theta), np.empty_like(self.logs)

        def work(i: int, scratch: AnyArray) -> None:
            np.add(linear(i, scratch), self._logs[i], out=s[:, self._cuts[i]])

        self._each(work)
        return s

    def state(self, theta: FloatArray) -> State:
        """Return the loss, its gradient and the probabilities at `theta`."""
        linear = self._linear(theta)
        q = [np.empty_like(logs) for logs in self._logs]

        def work(i: int, scratch: AnyArray) -> tuple[AnyArray, ...]:
            at = self._cuts[i]
            rows, labels = np.arange(at.stop - at.start), self.labels[at]
            s = linear(i, scratch)
            s += self._logs[i]
            s -= s.max(axis=0)
            own = s[labels, rows].astype(np.float64)
            np.exp(s, out=s)
            total = s.sum(axis=0)
            s /= total
            q[i][:] = s
            s[labels, rows] -= 1.0
            losses = np.log(total.astype(np.float64)) - own
            if self.weights is not None and self._w is not None:
                s *= self._w[at]
                losses *= self.weights[at]
            return np.array(losses.sum()), *self._back(s, i)

        loss, *sums = self._summed(work)
        return State(theta, float(loss), self._gradient(sums), q)

    def curve(self, state: State, direction: FloatArray) -> FloatArray:
        """Return the Hessian times a direction."""
        linear = self._linear(direction)

        def work(i: int, scratch: AnyArray) -> tuple[AnyArray, ...]:
            s = linear(i, scratch)
            s *= state.q[i]
            s -= np.multiply(state.q[i], s.sum(axis=0), out=scratch[1])
            if self._w is not None:
                s *= self._w[self._cuts[i]]
            return self._back(s, i)

        return self._gradient(self._summed(work))

    def diagonal(self, state: State) -> FloatArray:
        """Return the Hessian's diagonal."""

        def work(i: int, scratch: AnyArray) -> tuple[AnyArray, ...]:
            h, square = scratch
            np.subtract(1.0, state.q[i], out=h)
            h *= state.q[i]
            if self._w is not None:
                h *= self._w[self._cuts[i]]
            v = np.vecdot(h, np.square(self._logs[i], out=square))
            u = np.vecdot(h, np.square(self._probs[i], out=square))
            return h @ np.square(self._features[i]).T, v, u

        matrix, v, u = self._summed(work)
        return np.hstack([v[:, None], u[:, None], matrix[:, -1:], matrix[:, :-1]])

    def leading(self, state: State, columns: int) -> FloatArray:
        r"""Return each class's own Hessian by v, u, c and the first columns of M_A and M_p.

        What of :math:`\psi_k` does not depend on the class is multiplied with one another once, so
        that one matrix product serves all classes. The result is (K, d, d), d = 3 + 2 columns.
        """
        m, K = columns, self.K
        at = np.r_[2 * self.r, :m, self.r : self.r + m]  # 1, V_A' a and V_p' p
        one, two = np.triu_indices(2 * m + 1)

        def work(i: int, scratch: AnyArray) -> tuple[AnyArray, ...]:
            a, p, features = self._logs[i], self._probs[i], self._features[i][at]
            h, more = scratch
            np.subtract(1.0, state.q[i], out=h)
            h *= state.q[i]
            if self._w is not None:
                h *= self._w[self._cuts[i]]
            common = h @ (features[one] * features[two]).T
            np.multiply(h, p, out=more)
            h *= a
            own = np.stack([np.vecdot(h, a), np.vecdot(h, p), np.vecdot(more, p)])
            return common, h @ features.T, more @ features.T, own

        common, by_a, by_p, own = self._summed(work)
        H = np.empty((K, SINGLE + 2 * m, SINGLE + 2 * m))
        H[:, 2 + one, 2 + two] = H[:, 2 + two, 2 + one] = common
        H[:, 0, 2:] = H[:, 2:, 0] = by_a
        H[:, 1, 2:] = H[:, 2:, 1] = by_p
        H[:, 0, 0], H[:, 1, 1] = own[0], own[2]
        H[:, 0, 1] = H[:, 1, 0] = own[1]
        return H

    def hessian(self, state: State) -> FloatArray:
        r"""Return the Hessian in full, the parameters in the order of theta.ravel().

        With :math:`\psi_k` what a row's parameters of class k are multiplied by, its entries are
        :math:`\sum_i w_i (q_k [k = l] - q_k q_l) \psi_k \psi_l^\top`.
        """
        K, d = self.shape

        def work(i: int, _: AnyArray) -> tuple[AnyArray, ...]:
            a, p, features, q = self._logs[i], self._probs[i], self._features[i], state.q[i]
            root = np.sqrt(q) if self._w is None else np.sqrt(q * self._w[self._cuts[i]])
            x = np.empty((K, d, a.shape[1]), dtype=self._dtype)
            x[:, 0], x[:, 1], x[:, 2] = root * a, root * p, root
            np.multiply(root[:, None], features[None, :-1], out=x[:, SINGLE:])
            own = x @ x.transpose(0, 2, 1)
            x *= np.sqrt(q)[:, None]
            flat = x.reshape(K * d, -1)
            return flat @ flat.T, own

        both, own = self._summed(work)
        both = -both.reshape(K, d, K, d)
        each = np.arange(K)
        both[each, :, each] += own
        return both.reshape(K * d, K * d)

    def shared(self, state: State) -> FloatArray:
        """Return the Hessian by a number added to every v and one added to every u, (2, 2)."""

        def work(i: int, scratch: AnyArray) -> tuple[AnyArray, ...]:
            a, p = self._logs[i], self._probs[i]
            qa, qp = (
                np.multiply(state.q[i], a, out=scratch[0]),
                np.multiply(state.q[i], p, out=scratch[1]),
            )
            mean_a, mean_p = qa.sum(axis=0), qp.sum(axis=0)
            both = (qa * p).sum(axis=0) - mean_a * mean_p
            qa *= a
            qp *= p
            v, u = qa.sum(axis=0) - mean_a * mean_a, qp.sum(axis=0) - mean_p * mean_p
            spread = np.array([v, u, both], dtype=np.float64)
            if self.weights is not None:
                spread *= self.weights[self._cuts[i]]
            return (spread.sum(axis=1),)

        ((v, u, both),) = self._summed(work)
        return np.array([[v, both], [both, u]])
