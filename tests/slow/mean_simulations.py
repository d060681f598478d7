"""How often intervals of accuracy, Brier score and log loss hold the truth, rare outcomes too.

``python -m tests.slow.mean_simulations`` prints the tables of docs/theory/resample.md and of the
means in docs/theory/clusters.md. The tests beside it assert bounds of the same numbers.
"""

import numpy as np
from scipy.special import expit, logit

from ogive import Curve
from ogive.metrics.resample import mean_ends
from tests.slow.cluster_simulations import curve_of, percent, sample

#: What a row adds to a mean, by its outcome: (1, 0).
MEANS = {
    "accuracy": lambda s: (np.ones(s.size), np.zeros(s.size)),
    "mean_score": lambda s: (s, s),
    "brier": lambda s: ((1.0 - s) ** 2, s**2),
    "nll": lambda s: (-np.log(s), -np.log1p(-s)),
}
#: Mean of the log-odds, whose spread is 1.5: base rates of about 50 % and 1 %.
RATES = {"50 %": 0.0, "1 %": -5.6}
SIZES = {200: 600, 1000: 600, 5000: 200}  # rows, and samples


def truths(s, p):
    found = {}
    for name, of in MEANS.items():
        hit, miss = of(s)
        found[name] = np.mean(p * hit + (1.0 - p) * miss)
    return found


def independent(rate, factor, n, draws):
    """The share of intervals that hold the truth, and of percentile intervals, by measure."""
    rng, mean = np.random.default_rng(1), RATES[rate]
    many = mean + 1.5 * np.random.default_rng(2).standard_normal(400_000)
    known = truths(expit(factor * many), expit(many))
    held = {name: [] for name in MEANS}
    for _ in range(draws):
        eta = mean + 1.5 * rng.standard_normal(n)
        y, s = rng.random(n) < expit(eta), expit(factor * eta)
        curve = Curve.from_scores(s, y)
        times = rng.multinomial(n, np.full(n, 1.0 / n), size=300) / n
        for name, of in MEANS.items():
            ends = mean_ends(curve, name), np.quantile(times @ np.where(y, *of(s)), [0.025, 0.975])
            held[name].append([low <= known[name] <= high for low, high in ends])
    return {name: np.mean(rows, axis=0) for name, rows in held.items()}


def clustered(clusters, icc, draws, *, factor=1.0, mean=-4.0, even=False):
    """The share of intervals that hold the truth, by measure; rare outcomes, uneven clusters."""
    rng = np.random.default_rng(1)
    s, _, _ = sample(np.random.default_rng(7), 100_000, 0.0, factor=factor, mean=mean, even=even)
    known = truths(s, expit(logit(s) / factor))
    held = []
    for _ in range(draws):
        curve = curve_of(rng, clusters, icc, factor=factor, mean=mean, even=even)
        ends = {name: mean_ends(curve, name) for name in known}
        held.append([low <= known[name] <= high for name, (low, high) in ends.items()])
    return dict(zip(MEANS, np.mean(held, axis=0), strict=True))


def main():
    for rate in RATES:
        for factor in (1, 2):
            for n, draws in SIZES.items():
                found = independent(rate, factor, n, draws).values()
                cells = " | ".join(f"{100 * own:.0f} % ({100 * other:.0f})" for own, other in found)
                print(f"| {rate} | x {factor} | {n:,} | {cells} |", flush=True)
    for clusters in (20, 50, 200):
        for icc in (0.1, 0.3, 0.5):
            for factor in (1.0, 2.0):
                row = percent(clustered(clusters, icc, 1000, factor=factor).values())
                print(f"| {clusters} | {icc} | x {factor:g} | {row} |", flush=True)


if __name__ == "__main__":
    main()
