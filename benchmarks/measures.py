"""All measures of N scores against building the curve: `python -m benchmarks.measures [N]`.

What one pass gives (KS, Kuiper, both tests, ECE, MCE, debiased L2, Brier, NLL, CORP,
Spiegelhalter) should cost at most 4 times the curve itself. KDE-ECE, smooth ECE and the bootstrap
are listed apart. Candidates run in turn, round after round; what is printed is the median of the
ratios within a round, and their spread.
"""

from __future__ import annotations

import sys

import numpy as np

import ogive
from benchmarks.core import ROUNDS, seconds
from ogive.studies.measure import one_pass


def main(n: int = 10**6) -> None:
    rng = np.random.default_rng(0)
    scores = rng.random(n) ** 0.3
    hits = rng.random(n) < scores**2
    curve = ogive.Curve.from_scores(scores, hits)
    tied = ogive.Curve.from_scores(scores.round(3), hits)
    few = ogive.Curve.from_scores(scores[:25_000], hits[:25_000])
    work = {
        "the curve": lambda: ogive.Curve.from_scores(scores, hits),
        "all measures but those below": lambda: one_pass(curve),
        "the same, scores of 3 digits": lambda: one_pass(tied),
        "KS error alone": lambda: ogive.ks_error(curve),
        "smooth ECE": lambda: ogive.smooth_ece(curve),
        "KDE-ECE": lambda: ogive.kde_ece(curve),
        "100 resamples of KS, 25,000 rows": lambda: ogive.bootstrap(few, "ks", resamples=100),
    }
    for task in work.values():
        task()  # imports, and what a curve derives once
    times = np.array([[seconds(task) for task in work.values()] for _ in range(ROUNDS)])
    ratios = times / times[:, :1]
    print(f"N = {n:,}, {ROUNDS} interleaved rounds")
    print(f"{'':34}{'ms':>8}{'times the curve':>22}")
    for name, ms, ratio in zip(work, 1e3 * np.median(times, axis=0), ratios.T, strict=True):
        spread = f"{np.median(ratio):.2f} ({ratio.min():.2f}-{ratio.max():.2f})"
        print(f"{name:34}{ms:8.1f}{spread:>22}")


if __name__ == "__main__":
    main(*(int(float(word)) for word in sys.argv[1:2]))
