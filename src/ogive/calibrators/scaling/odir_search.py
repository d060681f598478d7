"""The search for the two strengths of ODIR: every pair of the grid, in every fold.

λ runs from large to small and μ to and fro under each λ, so that every fit starts at the solution
of its neighbour: a few evaluations instead of hundreds. No pair of the grid is left out, because
the loss on held-out rows can have several minima. With very many classes the pair is chosen on a
part of the rows (`Search.every`).
"""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ogive._numerics.blas import one_blas_thread
from ogive._numerics.blocks import thread_count
from ogive._numerics.softmax_regression import MOST_PARAMETERS, LinearSoftmax
from ogive._numerics.whitening import minimise, polished

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ogive._typing import AnyArray, FloatArray, IntArray, Progress

    Split = tuple[IntArray, IntArray]

_RIDGE = 1e-9  # keeps the diagonal finite where rows are separable; negligible elsewhere
#: Fits end where a step gains less. Where a step gains 1e-10, the loss on held-out rows is up to
#: 2e-5 off: among pairs that are nearly as good, the order of the classes would then choose.
_LAST_GAIN = 1e-16
_LAST_GAIN_OF_FLOAT32 = 1e-6  # its loss has seven digits
#: Below this loss the rows are all but separable: a step that gains 1e-10 there can still move far,
#: and the loss on held-out rows with it.
_MAX_LOSS_OF_SEPARABLE_ROWS = 1e-3
_SECONDS_BETWEEN_SIGNS = 1.0  # of life, within a fit


class Found(NamedTuple):
    """The chosen pair, its mean loss on held-out rows, and the fold models (folds, K, K + 1)."""

    strength: float
    offset_strength: float
    loss: float
    models: FloatArray


def splits(n: int, folds: int, random_state: int) -> list[Split]:
    """Return the rows to fit and the rows held out of each fold, shuffled."""
    from sklearn.model_selection import KFold  # noqa: PLC0415 - heavy

    return list(KFold(folds, shuffle=True, random_state=random_state).split(np.empty(n)))


def penalty(K: int, strength: float, offset_strength: float) -> FloatArray:
    """Return R, (K, K + 1): λ off the diagonal, next to nothing on it, μ in the last column."""
    R = np.full((K, K + 1), strength)
    np.fill_diagonal(R, _RIDGE)
    R[:, -1] = offset_strength
    return R


@dataclass(frozen=True)
class Search:
    """What is fitted: rows (n, K + 1) that end in a 1, labels, weights, and the falling grids.

    The pair is chosen on one in `every` rows of each fold. Rows of float32 are fitted in float32.
    """

    rows: AnyArray
    labels: IntArray
    weights: FloatArray | None
    strengths: FloatArray
    offset_strengths: FloatArray
    every: int = 1
    what: str = "fits of the grid"  # what `progress` is told

    def run(
        self,
        parts: Sequence[Split],
        progress: Progress | None,
        n_jobs: int | None,
    ) -> Found:
        """Fit the grid in each fold, the folds side by side, and refine the best pair."""
        total = len(parts) * (self.strengths.size * self.offset_strengths.size + 1)
        tick = _Counter(total, progress, self.what)
        fewer = [(train[:: self.every], held_out[:: self.every]) for train, held_out in parts]
        # One BLAS thread each: the folds are the threads, and the sums do not depend on them.
        with one_blas_thread(), ThreadPoolExecutor(thread_count(n_jobs)) as pool:
            try:
                paths = list(pool.map(lambda part: self._start(part, tick), fewer))
                for i in range(self.strengths.size):
                    list(pool.map(lambda path, i=i: self._line(path, i, tick), paths))
                losses = np.mean([path.loss for path in paths], axis=0)
                at = np.unravel_index(int(np.nanargmin(losses)), losses.shape)
                starts = [path.solutions[at] for path in paths]
                pair = float(self.strengths[at[0]]), float(self.offset_strengths[at[1]])
                last = penalty(self.rows.shape[1] - 1, *pair)
                done = pool.map(lambda s, at: self._refine(s, at, last, tick), parts, starts)
                models = list(done)
            except BaseException as error:  # also a signal: the threads would go on to the end
                tick.stopped = error
                raise
        return Found(*pair, float(losses[at]), np.stack(models))

    def _regression(self, at: IntArray, tick: _Counter) -> LinearSoftmax:
        weights = None if self.weights is None else self.weights[at]
        K = self.rows.shape[1] - 1
        return LinearSoftmax(self.rows[at], self.labels[at], weights, K, tick.pause)

    def _start(self, split: Split, tick: _Counter) -> _Path:
        """Fit the first pair of the grid in one fold, from the identity on."""
        train, held_out = (self._regression(at, tick) for at in split)
        first = penalty(train.K, self.strengths[0], self.offset_strengths[0])
        theta = np.eye(train.K, train.K + 1)
        theta = self._fit(train, theta, None, first)
        grid = (self.strengths.size, self.offset_strengths.size)
        solutions = np.empty((*grid, *theta.shape), dtype=np.float32)  # starts need no more digits
        return _Path(train, held_out, theta, np.full(grid, np.nan), solutions)

    def _line(self, path: _Path, i: int, tick: _Counter) -> None:
        """Fit every μ under one λ in one fold."""
        curvature = path.train.curvature(path.theta)
        there = range(self.offset_strengths.size)
        for j in there if i % 2 == 0 else reversed(there):
            R = penalty(path.train.K, self.strengths[i], self.offset_strengths[j])
            path.theta = self._fit(path.train, path.theta, curvature, R)
            path.loss[i, j] = path.held_out.loss(path.theta)
            path.solutions[i, j] = path.theta
            tick()

    def _fit(
        self,
        train: LinearSoftmax,
        theta: FloatArray,
        curvature: FloatArray | None,
        R: FloatArray,
        *,
        final: bool = False,
    ) -> FloatArray:
        """Fit one pair; the curvature may be that of a neighbour."""
        objective = train.penalised(R)
        if curvature is None:
            curvature = train.curvature(theta)
        gain = _LAST_GAIN if self.rows.dtype == np.float64 else _LAST_GAIN_OF_FLOAT32
        theta = minimise(objective, theta, curvature, R, tolerance=gain)
        exact = final or train.loss(theta) < _MAX_LOSS_OF_SEPARABLE_ROWS
        if exact and theta.size <= MOST_PARAMETERS:
            return polished(objective, theta, train.hessian, R)
        return theta

    def _refine(self, split: Split, start: AnyArray, R: FloatArray, tick: _Counter) -> FloatArray:
        """Fit the chosen pair to all digits."""
        train = self._regression(split[0], tick)
        theta = start.astype(np.float64)
        theta = self._fit(train, theta, None, R, final=True)
        tick()
        return theta


@dataclass
class _Path:
    """One fold on its way over the grid.

    theta : where it is
    loss : (λ, μ) on held-out rows, NaN if not yet known
    solutions : (λ, μ, K, K + 1)
    """

    train: LinearSoftmax
    held_out: LinearSoftmax
    theta: FloatArray
    loss: FloatArray
    solutions: AnyArray


class _Counter:
    """Counts fits over all threads and calls `progress`, one thread at a time."""

    def __init__(self, total: int, progress: Progress | None, what: str) -> None:
        self.done, self.blocks, self.total = 0, 0, total
        self.progress, self.what = progress, what
        self.stopped: BaseException | None = None
        self._lock = threading.Lock()
        self._tell(self.what)  # before the first fits, which take the longest

    def __call__(self) -> None:
        with self._lock:
            self.done += 1
            self._tell(self.what)

    def pause(self) -> None:
        """Give a sign of life now and then, and end the work if it was stopped."""
        if self.stopped is not None:
            raise self.stopped
        with self._lock:
            self.blocks += 1
            if time.monotonic() > self._told + _SECONDS_BETWEEN_SIGNS:
                self._tell(f"{self.what}, block {self.blocks:,}")

    def _tell(self, what: str) -> None:
        self._told = time.monotonic()
        if self.progress is not None:
            try:
                self.progress(what, self.done, self.total)
            except BaseException as error:
                self.stopped = error
                raise
