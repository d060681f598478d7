"""How far a calibrated score is from a known truth: `python -m benchmarks.truths [--write PAGE]`.

Log-odds are drawn from a law, outcomes from a known map of them, and each method is fitted to both.
Its error is the mean absolute difference from the true probability on 4,000 other rows. Printed are

* calibrated scores: the error of the default in units of Platt's (it should be clearly below 1);
* known truths: geometric means of each method's error in units of the default's, and how often
  the default is the best.

All methods see the same draws. The default's choices were argued from such truths, so the sets are
no proof for it; the arena is (docs/arena.md).
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import expit, logit

from benchmarks.tables import lines, show
from ogive import Curve, Predictions
from ogive.calibrators import METHODS

if TYPE_CHECKING:
    from collections.abc import Callable

Rng = np.random.Generator

BESIDE = ("platt", "beta", "isotonic", "histogram", "paper-spline")
SIZES = (60, 200, 1000, 5000, 25_000)
CALIBRATED_SIZES = (200, 1000, 5000)


def mixture(*parts: tuple[float, float, float]) -> Callable[[Rng, int], np.ndarray]:
    """Return a sampler of a mixture of normals: (weight, mean, deviation) each."""
    weight, mean, deviation = np.array(parts).T

    def sample(rng: Rng, n: int) -> np.ndarray:
        which = rng.choice(weight.size, n, p=weight / weight.sum())
        return mean[which] + deviation[which] * rng.standard_normal(n)

    return sample


def normal(mean: float, deviation: float) -> Callable[[Rng, int], np.ndarray]:
    return mixture((1.0, mean, deviation))


def skewed(start: float, scale: float, shape: float = 2.0) -> Callable[[Rng, int], np.ndarray]:
    """Return a sampler of gamma law: the top log-odds of a net."""
    return lambda rng, n: start + scale * rng.gamma(shape, size=n)


def saturated(rng: Rng, n: int) -> np.ndarray:
    """Nearly two in three rows share the largest log-odds."""
    eta = np.where(rng.random(n) < 0.55, 30.0, rng.normal(6.0, 8.0, n))
    return np.minimum(eta, 16.6)


def rounded(sample: Callable[[Rng, int], np.ndarray], parts: int) -> Callable[..., np.ndarray]:
    """Return a sampler of scores rounded to multiples of 1 / parts, none of them 0 or 1."""

    def draw(rng: Rng, n: int) -> np.ndarray:
        score = np.round(expit(sample(rng, n)) * parts) / parts
        return logit(np.clip(score, 0.5 / parts, 1 - 0.5 / parts))

    return draw


def beta_map(a: float, b: float, c: float) -> Callable[[np.ndarray], np.ndarray]:
    return lambda e: a * np.log(expit(e)) - b * np.log(expit(-e)) + c


#: The law of the log-odds, and the true log-odds at each.
CALIBRATED: dict[str, tuple[Any, Any]] = {
    "normal": (normal(0.0, 2.0), lambda e: e),
    "skewed": (skewed(-1.5, 1.8), lambda e: e),
    "rare": (normal(-5.2, 1.2), lambda e: e),
}
TRUTHS: dict[str, tuple[Any, Any]] = {
    "temperature": (skewed(-1.5, 3.0), lambda e: 0.45 * e),
    "line": (normal(1.0, 2.0), lambda e: 0.7 * e - 0.6),
    "underconfident": (normal(0.0, 0.9), lambda e: 2.2 * e + 0.1),
    "beta": (normal(0.0, 2.2), beta_map(0.35, 1.3, 0.3)),
    "beta of a top score": (skewed(-1.5, 2.5), beta_map(1.4, 0.4, -0.2)),
    "wave": (normal(0.0, 2.2), lambda e: 0.8 * e + 0.6 * np.sin(1.3 * e)),
    "step": (normal(0.0, 2.0), lambda e: np.where(e < 0, -1.2, 1.2)),
    "kink": (normal(0.0, 2.0), lambda e: np.where(e < 0.5, 0.3 * e, 1.5 * e - 0.6)),
    "plateaus": (
        mixture((1, -4, 1.5), (1, 4, 1.5), (0.3, 0, 2)),
        lambda e: 3.2 * np.tanh(e / 1.8),
    ),
    "valley": (normal(0.0, 1.5), lambda e: -0.8 + 0.5 * e**2 / (1 + 0.1 * e**2)),
    "saturated": (saturated, lambda e: -0.3 + 0.42 * e - 0.008 * e**2),
    "saturated, off": (saturated, lambda e: np.where(e > 16.5, 5.0, 0.9 + 0.18 * e)),
    "rare events": (normal(-5.0, 1.6), lambda e: 0.6 * e - 1.7 + 0.25 * np.sin(e)),
    "tenths": (rounded(normal(0.0, 1.8), 10), lambda e: 1.5 * e - 0.2 + 0.1 * e**2),
    "deep net": (
        skewed(-0.8, 5.0, 2.2),
        lambda e: 0.15 + 4.6 * (1 - np.exp(-np.maximum(e, -2) / 9)) + 0.06 * e,
    ),
    "deeper net": (skewed(-0.7, 9.0, 1.6), lambda e: 5.2 * np.log1p(np.maximum(e, -0.9) / 6) - 0.1),
    "many classes": (
        mixture((0.35, 0.2, 1.3), (0.5, 3.0, 1.6), (0.15, 6.0, 2.5)),
        lambda e: 0.65 * e + 0.5 * np.tanh(e - 2) - 0.05,
    ),
    "boosted trees": (
        mixture((1, -5, 1.2), (1, 2.5, 1.0), (0.3, 0, 3.0)),
        lambda e: 1.1 * e - 0.25 * np.sin(1.1 * e),
    ),
    "forest": (
        rounded(mixture((1, -3, 1.5), (0.4, 1, 1.8)), 100),
        lambda e: 1.25 * e + 0.05 * e**2 - 0.3,
    ),
    "two normals": (
        mixture((0.7, 3, 1.5), (0.3, 0, 1.0)),
        lambda e: np.log(0.7 / 0.3 / 1.5) - 0.5 * ((e - 3) / 1.5) ** 2 + 0.5 * e**2,
    ),
    "outliers": (
        lambda rng, n: 1.5 * rng.standard_t(1.5, size=n),
        lambda e: np.sign(e) * 2.5 * np.log1p(np.abs(e) / 1.5) + 0.2,
    ),
}


def error(law: tuple[Any, Any], method: str, n: int, draws: int) -> float:
    """Return the mean true L1 error of a method over some draws of n rows."""
    sample, truth = law
    new = sample(np.random.default_rng(999), 4000)
    right = expit(truth(new))
    found = []
    for draw in range(draws):
        rng = np.random.default_rng([n, draw])
        eta = sample(rng, n)
        hits = rng.random(n) < expit(truth(eta))
        curve = Curve.from_predictions(Predictions(eta, hits.astype(int), kind="logits"))
        gamma: Any = METHODS[method].fit(curve)
        found.append(np.abs(gamma.from_log_odds(new) - right).mean())
    return float(np.mean(found))


def mean_ratio(above: list[float], below: list[float]) -> float:
    return float(np.exp(np.mean(np.log(above) - np.log(below))))


def calibrated(draws: int) -> str:
    """Return the error of the default and of Platt's line on calibrated scores."""
    head = ["default / Platt, L1 x 1000", *(f"N = {n:,}" for n in CALIBRATED_SIZES)]
    rows = []
    for name, law in CALIBRATED.items():
        row = [name]
        for n in CALIBRATED_SIZES:
            ours, platt = (1e3 * error(law, m, n, draws) for m in ("spline", "platt"))
            row.append(f"{ours:.2f} / {platt:.2f} = {ours / platt:.2f}")
        rows.append(row)
    return lines(head, rows)


def truths(draws: int) -> str:
    """Return the errors of other methods in units of the default's."""
    rows = []
    for n in SIZES:
        table = {
            method: [error(law, method, n, draws) for law in TRUTHS.values()]
            for method in ("spline", *BESIDE)
        }
        ours = table["spline"]
        best = np.min([table[method] for method in BESIDE], axis=0)
        ratios = [mean_ratio(table[method], ours) for method in BESIDE]
        ratios.append(mean_ratio(best.tolist(), ours))
        first = f"{int((np.array(ours) <= best).sum())} of {len(ours)}"
        rows.append([f"N = {n:,}", *(f"{ratio:.2f}" for ratio in ratios), first])
    return lines(["", *BESIDE, "their best", "default first"], rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=20)
    parser.add_argument("--write", type=Path)
    asked = parser.parse_args()
    warnings.simplefilter("ignore")  # small samples fall back, as they should
    tables = {"calibrated": calibrated(5 * asked.draws), "truths": truths(asked.draws)}
    show(tables, asked.write)


if __name__ == "__main__":
    main()
