"""The search for the two strengths of ODIR: every pair of the grid, in every fold.

λ runs from large to small and μ to and fro under each λ, so that every fit starts at the solution
of its neighbour: a few evaluations instead of hundreds. No pair of the grid is left out, because
the loss on held-out rows need not have one valley only.
"""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ogive._numerics.blocks import thread_count
from ogive._numerics.softmax_regression import LinearSoftmax, minimise

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ogive._typing import AnyArray, FloatArray, IntArray

    Split = tuple[IntArray, IntArray]

_FINAL = 1e-13  # the chosen models are fitted until a step gains less than this


class Found(NamedTuple):
    """The chosen pair, its mean loss on held-out rows, and the fold models (folds, K, K + 1)."""

    strength: float
    offset_strength: float
    loss: float
    models: FloatArray


def splits(n: int, folds: int, seed: int) -> list[Split]:
    """Return the rows to fit and the rows held out of each fold, shuffled."""
    from sklearn.model_selection import KFold  # noqa: PLC0415 - heavy

    return list(KFold(folds, shuffle=True, random_state=seed).split(np.empty(n)))


def penalty(K: int, strength: float, offset_strength: float) -> FloatArray:
    """Return R, (K, K + 1): λ off the diagonal, 0 on it, μ in the last column."""
    R = np.full((K, K + 1), strength)
    np.fill_diagonal(R, 0.0)
    R[:, -1] = offset_strength
    return R


@dataclass(frozen=True)
class Search:
    """What is fitted: rows (n, K + 1) that end in a 1, labels, weights, and the falling grids."""

    rows: FloatArray
    labels: IntArray
    weights: FloatArray | None
    strengths: FloatArray
    offset_strengths: FloatArray

    def run(
        self,
        parts: Sequence[Split],
        progress: Callable[[int, int], None] | None,
        threads: int | None,
    ) -> Found:
        """Fit the grid in each fold, the folds side by side, and refine the best pair."""
        from threadpoolctl import threadpool_limits  # noqa: PLC0415 - comes with scikit-learn

        total = len(parts) * self.strengths.size * self.offset_strengths.size
        tick = _Counter(total, progress)
        # One BLAS thread each: the folds are the threads, and the sums do not depend on them.
        with threadpool_limits(1, "blas"), ThreadPoolExecutor(thread_count(threads)) as pool:
            paths = list(pool.map(lambda split: self._path(split, tick), parts))
            losses = np.mean([loss for loss, _ in paths], axis=0)
            i, j = np.unravel_index(int(losses.argmin()), losses.shape)
            starts = [solutions[i, j] for _, solutions in paths]
            pair = float(self.strengths[i]), float(self.offset_strengths[j])
            models = list(pool.map(lambda s, at: self._refine(s, at, pair), parts, starts))
        return Found(*pair, float(losses[i, j]), np.stack(models))

    def _regression(self, at: IntArray) -> LinearSoftmax:
        weights = None if self.weights is None else self.weights[at]
        return LinearSoftmax(self.rows[at], self.labels[at], weights, self.rows.shape[1] - 1)

    def _path(self, split: Split, tick: Callable[[], None]) -> tuple[FloatArray, AnyArray]:
        """Return the loss on held-out rows, (λ, μ), and the solutions, (λ, μ, K, K + 1)."""
        train, held_out = (self._regression(at) for at in split)
        K = train.K
        grid = (self.strengths.size, self.offset_strengths.size)
        loss = np.empty(grid)
        solutions = np.empty((*grid, K, K + 1), dtype=np.float32)  # starts need no more digits
        first = penalty(K, self.strengths[0], self.offset_strengths[0])
        theta = np.eye(K, K + 1)
        theta = minimise(train.penalised(first), theta, train.curvature(theta), first)
        for i, strength in enumerate(self.strengths):
            curvature = train.curvature(theta)
            there = range(grid[1])
            for j in there if i % 2 == 0 else reversed(there):
                R = penalty(K, strength, self.offset_strengths[j])
                theta = minimise(train.penalised(R), theta, curvature, R)
                loss[i, j] = held_out.loss(theta)
                solutions[i, j] = theta
                tick()
        return loss, solutions

    def _refine(self, split: Split, start: AnyArray, pair: tuple[float, float]) -> FloatArray:
        """Fit the chosen pair to all digits."""
        train = self._regression(split[0])
        R = penalty(train.K, *pair)
        theta = start.astype(np.float64)
        curvature = train.curvature(theta)
        return minimise(train.penalised(R), theta, curvature, R, tolerance=_FINAL)


class _Counter:
    """Counts fits over all threads and tells `progress`, one thread at a time."""

    def __init__(self, total: int, progress: Callable[[int, int], None] | None) -> None:
        self.done, self.total, self.progress = 0, total, progress
        self._lock = threading.Lock()

    def __call__(self) -> None:
        with self._lock:
            self.done += 1
            if self.progress is not None:
                self.progress(self.done, self.total)
