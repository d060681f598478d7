"""The core against its physical limit: `python -m benchmarks.core [N]`.

The limit of everything that reads a curve is sorting the rows once: np.sort of N uint64. All
candidates run in turn, round after round, so that a busy machine slows them alike; what is
printed is the median of the ratios within a round, and their spread.
"""

from __future__ import annotations

import sys
import time
import tracemalloc
from typing import TYPE_CHECKING

import numpy as np

import ogive

if TYPE_CHECKING:
    from collections.abc import Callable

ROUNDS = 7


def seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def peak_bytes(work: Callable[[], object]) -> int:
    tracemalloc.start()
    work()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


def main(n: int = 10**7) -> None:
    rng = np.random.default_rng(0)
    scores = rng.random(n) ** 0.3
    hits = rng.random(n) < scores**2
    integers = rng.integers(0, 2**63, n, dtype=np.uint64)

    def curve() -> ogive.Curve:
        return ogive.Curve.from_scores(scores, hits)

    # The right number before its speed: the definition, in its quick but wasteful form.
    order = np.argsort(scores)
    gap = np.cumsum(hits[order] - scores[order]) / n
    assert abs(ogive.ks_error(curve()) - np.abs(gap).max()) < 1e-9

    work = {
        "np.sort of uint64 (the limit)": lambda: np.sort(integers),
        "KS error from scores": lambda: ogive.ks_error(curve()),
        "paper spline from scores": lambda: ogive.fit_paper_spline(curve()),
    }
    times = np.array([[seconds(task) for task in work.values()] for _ in range(ROUNDS)])
    ratios = times / times[:, :1]
    print(f"N = {n:,}, {ROUNDS} interleaved rounds")
    print(f"{'':34}{'ms':>8}{'times the limit':>18}{'peak / input':>14}")
    for name, ms, ratio in zip(work, 1e3 * np.median(times, axis=0), ratios.T, strict=True):
        memory = peak_bytes(work[name]) / (scores.nbytes + hits.nbytes)
        spread = f"{np.median(ratio):.2f} ({ratio.min():.2f}-{ratio.max():.2f})"
        print(f"{name:34}{ms:8.1f}{spread:>18}{memory:14.2f}")


if __name__ == "__main__":
    main(*(int(float(word)) for word in sys.argv[1:2]))
