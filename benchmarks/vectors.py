"""Fitting full vectors against SMS of probmetrics: `python -m benchmarks.vectors [large]`.

The ratio of fitting times at 5,000 x 10 and 5,000 x 100 and, with `large`, 25,000 x 1,000. Needs
probmetrics (and torch). Both run in turn, round after round, with all cores; CPU seconds are
printed beside, as they mean more on a machine that is busy.
"""

from __future__ import annotations

import sys
import time
import warnings
from typing import TYPE_CHECKING

import numpy as np

import ogive
from ogive.calibrators.multiclass.compose import fit_multiclass

if TYPE_CHECKING:
    from collections.abc import Callable

SIZES = {(5_000, 10): 5, (5_000, 100): 5}
LARGE = {(25_000, 1_000): 1}


def sample(n: int, K: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Logits of a model that is twice too sure and favours some classes, and labels."""
    rng = np.random.default_rng(seed)
    logits = 2.0 * rng.normal(size=(n, K))
    logits[np.arange(n), rng.integers(0, K, n)] += 6.0
    truth = logits / 2 + 0.5 * rng.normal(size=K)
    return logits.astype(np.float32), (truth + rng.gumbel(size=(n, K))).argmax(axis=1)


def timed(work: Callable[[], object]) -> tuple[float, float]:
    """Return seconds by the clock, and of all processors."""
    start, cpu = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - start, time.process_time() - cpu


def main(size: str = "") -> None:
    """Print a line for each size and method."""
    from probmetrics.calibrators import get_calibrator  # noqa: PLC0415

    warnings.simplefilter("ignore")
    for (n, K), rounds in (SIZES | (LARGE if size == "large" else {})).items():
        X, y = sample(n, K)
        e = np.exp(X - X.max(axis=1, keepdims=True))
        probs = e / e.sum(axis=1, keepdims=True)

        def ours(vector: str, X: np.ndarray = X, y: np.ndarray = y) -> object:
            return fit_multiclass(ogive.Predictions(X, y, kind="logits"), multiclass=vector)

        work: dict[str, Callable[[], object]] = {
            "SMS": lambda probs=probs, y=y: get_calibrator("sms").fit(probs, y),
            "free": lambda: ours("free"),
            "keep": lambda: ours("keep"),
            "ranks": lambda: ours("ranks"),
        }
        times = np.array([[timed(task) for task in work.values()] for _ in range(rounds)])
        ratios = times[:, :, 0] / times[:, :1, 0]
        print(f"\nFit at {n:,} x {K:,}, {rounds} interleaved rounds")
        for j, name in enumerate(work):
            clock, cpu = np.median(times[:, j], axis=0)
            print(f"{name:8}{clock:9.2f} s{cpu:9.2f} s CPU{np.median(ratios[:, j]):9.2f} x SMS")


if __name__ == "__main__":
    main(*sys.argv[1:2])
