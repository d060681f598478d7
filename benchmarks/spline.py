"""The default calibrator against its budgets: `python -m benchmarks.spline [N]`.

* the fit from 5,000 scores, in units of scikit-learn's isotonic fit (budget: 6);
* the fit from N scores (a million), in units of building their curve (budget: 3);
* the map at a million scores, in units of scikit-learn's sigmoid calibrator (budget: 5), and
  its isotonic map beside it;
* splinecalib's fit, where it is installed.

All candidates run in turn, round after round, so that a busy machine slows them alike; printed
are the median of the times and of the ratios within a round, with their spread.
"""

from __future__ import annotations

import sys
import tracemalloc
from typing import TYPE_CHECKING

import numpy as np
from sklearn.calibration import _SigmoidCalibration
from sklearn.isotonic import IsotonicRegression

import ogive
from benchmarks.core import seconds

if TYPE_CHECKING:
    from collections.abc import Callable

ROUNDS = 11


def sample(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Scores of an overconfident model, with a bend, and their outcomes."""
    rng = np.random.default_rng(0)
    eta = rng.gamma(2.0, 3.0, n) - 1.5
    hits = rng.random(n) < 1 / (1 + np.exp(-0.5 * eta - 0.3 * np.sin(eta)))
    return 1 / (1 + np.exp(-eta)), hits


def report(title: str, work: dict[str, Callable[[], object]]) -> None:
    """Print times, and their ratios to the first."""
    times = np.array([[seconds(task) for task in work.values()] for _ in range(ROUNDS)])
    ratios = times / times[:, :1]
    print(f"\n{title}, {ROUNDS} interleaved rounds")
    for name, ms, ratio in zip(work, 1e3 * np.median(times, axis=0), ratios.T, strict=True):
        spread = f"({ratio.min():.2f}-{ratio.max():.2f})"
        print(f"  {name:34}{ms:10.2f} ms {np.median(ratio):8.2f} {spread}")


def small() -> None:
    scores, hits = sample(5000)
    curve = ogive.Curve.from_scores(scores, hits)
    work: dict[str, Callable[[], object]] = {
        "scikit-learn isotonic fit": lambda: IsotonicRegression(out_of_bounds="clip").fit(
            scores, hits
        ),
        "curve": lambda: ogive.Curve.from_scores(scores, hits),
        "spline from the curve": lambda: ogive.fit_spline(curve),
        "spline from scores": lambda: ogive.fit_spline(ogive.Curve.from_scores(scores, hits)),
        "spline, monotone": lambda: ogive.fit_spline(curve, monotone=True),
    }
    try:
        from splinecalib import SplineCalib  # noqa: PLC0415

        work["splinecalib"] = lambda: SplineCalib().fit(scores, hits)
    except ImportError:
        print("splinecalib is not installed")
    report("fit, N = 5,000 (budget 6)", work)


def large(n: int) -> None:
    scores, hits = sample(n)
    curve = ogive.Curve.from_scores(scores, hits)
    work = {
        "curve": lambda: ogive.Curve.from_scores(scores, hits),
        "spline from the curve": lambda: ogive.fit_spline(
            ogive.Curve(keys=curve._keys, view=curve.view)  # noqa: SLF001 - nothing kept from before
        ),
    }
    report(f"fit, N = {n:,} (budget 3)", work)
    tracemalloc.start()
    ogive.fit_spline(curve)
    print(
        f"  memory of the fit beyond the curve: {tracemalloc.get_traced_memory()[1] / (8 * n):.3f}"
    )
    tracemalloc.stop()


def evaluation() -> None:
    scores, hits = sample(10**6)
    curve = ogive.Curve.from_scores(scores, hits)
    platt = ogive.fit_platt(curve)
    gamma, rising = ogive.fit_spline(curve), ogive.fit_spline(curve, monotone=True)
    tail = np.maximum(1.0 - scores, 2.0**-53)
    eta = np.log(scores) - np.log(tail)
    sigmoid = _SigmoidCalibration().fit(eta[:5000], hits[:5000])
    isotonic = IsotonicRegression(out_of_bounds="clip").fit(scores[:5000], hits[:5000])
    work = {
        "scikit-learn sigmoid": lambda: sigmoid.predict(eta),
        "scikit-learn isotonic": lambda: isotonic.predict(scores),
        "spline from scores": lambda: gamma(scores),
        "spline from log-odds": lambda: gamma.from_log_odds(eta),
        "spline, monotone, from scores": lambda: rising(scores),
        "platt from scores": lambda: platt(scores),
    }
    report("map, N = 1,000,000 (budget 5)", work)


if __name__ == "__main__":
    small()
    large(*(int(float(word)) for word in sys.argv[1:2] or ["1e6"]))
    evaluation()
