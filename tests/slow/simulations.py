"""How often tests reject and intervals cover: `python -m tests.slow.simulations`.

Prints the tables of docs/theory/significance.md and resample.md. The tests beside it assert bounds
of the same numbers.
"""

import numpy as np

from ogive import Curve, Predictions, bootstrap
from ogive.metrics.onepass import read
from ogive.metrics.significance import TestReader, ks_of, kuiper_of
from ogive.studies.losses import CRITICAL_T, hall_t
from tests.slow import omnibus_simulations as omnibus
from tests.slow.omnibus_simulations import expit

SIZES = (100, 1_000, 10_000)
VIEW_DRAWS = {100: 2000, 1_000: 6000}


def continuous(rng, n):
    return expit(rng.normal(0.5, 1.5, n))


def rounded(rng, n):
    return continuous(rng, n).round(1)


def saturated(rng, n):
    """Four in five scores are 1.0 or 0.0 after rounding to 3 digits."""
    return expit(rng.normal(8.0, 9.0, n)).round(3)


def rare(rng, n):
    return expit(rng.normal(-5.0, 1.0, n))


KINDS = {"continuous": continuous, "rounded": rounded, "saturated": saturated, "rare": rare}


def draws_of(kind, n):
    """How many samples are drawn: fewer where each takes a long time."""
    return 1000 if (kind, n) == ("saturated", 10_000) else 3000


def both_tests(curve, seed):
    reader = TestReader()
    read(curve, reader)
    return ks_of(curve, reader, random_state=seed), kuiper_of(curve, reader, random_state=seed)


def level(kind, n, draws, weights=None):
    """The share of rejections at 5 % of both tests, and of intervals that hold 0."""
    rng = np.random.default_rng([n, len(kind)])
    found = np.zeros(3)
    for i in range(draws):
        p = KINDS[kind](rng, n)
        w = None if weights is None else weights(rng, n)
        curve = Curve.from_scores(p, rng.random(n) < p, sample_weight=w, weight_kind="sampling")
        ks, kuiper = both_tests(curve, seed=i)
        found += [ks.pvalue <= 0.05, kuiper.pvalue <= 0.05, ks.low == 0.0]
    return found / draws


def one_in(weight, rows):
    """Weights: the first `rows` rows weigh `weight`, all others 1."""

    def weights(rng, n):
        return np.where(np.arange(n) < rows, weight, 1.0)

    return weights


# Sampling weights with a few heavy rows: scores, rows, weights.
HEAVY = {
    "3 of 1,000 among 10,000": ("continuous", 10_000, one_in(1000.0, 3)),
    "10 of 300 among 10,000": ("continuous", 10_000, one_in(300.0, 10)),
    "3 of 1,000 among 1,000": ("rounded", 1_000, one_in(1000.0, 3)),
    "exponential": ("rounded", 1_000, lambda rng, n: rng.exponential(size=n)),
    "Pareto, index 1.2": ("continuous", 3_000, lambda rng, n: rng.pareto(1.2, n) + 0.1),
}


def level_of_heavy(name, draws):
    """The share of rejections of both tests with heavy rows, at 5 % and at 1 %."""
    kind, n, weights = HEAVY[name]
    rng = np.random.default_rng([n, len(name)])
    found = np.zeros(4)
    for i in range(draws):
        p = KINDS[kind](rng, n)
        rows = {"sample_weight": weights(rng, n), "weight_kind": "sampling"}
        tests = both_tests(Curve.from_scores(p, rng.random(n) < p, **rows), seed=i)
        found += [test.pvalue <= at for at in (0.05, 0.01) for test in tests]
    return found / draws


def true_ks(p, truth):
    """The KS error of the expected hits, read at the ends of groups of equal scores."""
    order = np.argsort(p, kind="stable")
    gap = np.cumsum((truth - p)[order])
    ends = np.append(p[order][1:] != p[order][:-1], True)
    return np.abs(gap[ends]).max() / p.size


def coverage(kind, n, draws, factor):
    """The share of KS intervals that hold the true error, for log-odds too large by a factor."""
    rng = np.random.default_rng([n, len(kind), int(100 * factor)])
    found = 0
    for i in range(draws):
        p = KINDS[kind](rng, n)
        eta = np.log(p.clip(1e-9, 1 - 1e-9)) - np.log1p(-p.clip(1e-9, 1 - 1e-9))
        truth = expit(eta / factor)
        ks = both_tests(Curve.from_scores(p, rng.random(n) < truth), seed=i)[0]
        found += ks.low - 1e-12 <= true_ks(p, truth) <= ks.high + 1e-12
    return found / draws


def level_of_omnibus(kind, n, draws, weights=None):
    """The share of rejections of the omnibus test at 5 % and at 1 %, for calibrated scores."""
    return omnibus.level(KINDS[kind], n, draws, weights, seed=len(kind))


VIEWS = ("top-1", "top-2", "top-3", "within-top-2", "within-top-3", "class-0", "class-4")


def level_of_views(n, draws, K=5):
    """The share of rejections in each view, with labels drawn from the vectors themselves."""
    rng = np.random.default_rng([n, K])
    found = np.zeros((len(VIEWS), 2))
    for i in range(draws):
        logits = rng.normal(0.0, 2.0, (n, K))
        p = np.exp(logits - logits.max(axis=1, keepdims=True))
        p /= p.sum(axis=1, keepdims=True)
        labels = (p.cumsum(axis=1) > rng.random((n, 1))).argmax(axis=1)
        preds = Predictions(logits, labels, kind="logits")
        for v, view in enumerate(VIEWS):
            tests = both_tests(Curve.from_predictions(preds, view), seed=i)
            found[v] += [test.pvalue <= 0.05 for test in tests]
    return found / draws


def bootstrap_coverage(measure, n, draws, factor):
    """The share of bootstrap intervals that hold the true value (found from a large sample)."""
    rng = np.random.default_rng([n, int(100 * factor)])

    def sample(size):
        p = continuous(rng, size)
        truth = expit((np.log(p) - np.log1p(-p)) / factor)
        return Curve.from_scores(p, rng.random(size) < truth)

    true = bootstrap(sample(2_000_000), measure, resamples=1).value if factor > 1 else None
    if factor == 1:
        true = 0.0 if measure not in {"brier", "nll"} else None
        true = bootstrap(sample(2_000_000), measure, resamples=1).value if true is None else true
    intervals = [bootstrap(sample(n), measure, resamples=300, random_state=i) for i in range(draws)]
    plain = np.mean(
        [np.quantile(r.values, 0.025) <= true <= np.quantile(r.values, 0.975) for r in intervals]
    )
    return plain, np.mean([r.low <= true <= r.high for r in intervals])


def print_omnibus():
    omnibus.print_alternatives()
    omnibus.print_held_out()
    for n in (200, 600, 5000):
        for kind, scores in KINDS.items():
            found = omnibus.level_of_sets(scores, n)
            cells = " | ".join(f"{100 * x:.1f} %" for x in found)
            print(f"| {kind} | {n:,} | {cells} |", flush=True)


def rare_losses(rng, n, rate):
    """Differences of log loss with mean 0: a little better on most rows, worse by 8 on a few."""
    lost = rng.random(n) < rate
    return rng.normal(0.0, 0.05, n) + lost * rng.exponential(8.0, n) - 8.0 * rate


def level_of_differences(n, rate, draws):
    """How often Hall's t finds differences with mean 0 below and above it: 2.5 % each."""
    rng, share = np.random.default_rng([n, int(1000 * rate)]), np.full(n, 1.0 / n)
    found = np.array([hall_t(rare_losses(rng, n, rate), share)[2] for _ in range(draws)])
    return float((found < -CRITICAL_T).mean()), float((found > CRITICAL_T).mean())


def main():
    print("| scores | N | KS rejects | Kuiper rejects | interval holds 0 |\n|---|---|---|---|---|")
    for kind in KINDS:
        for n in SIZES:
            ks, kuiper, holds = (f"{100 * x:.1f} %" for x in level(kind, n, draws_of(kind, n)))
            print(f"| {kind} | {n:,} | {ks} | {kuiper} | {holds} |", flush=True)
    print(
        "\n| weights | scores | KS, 5 % | Kuiper, 5 % | KS, 1 % | Kuiper, 1 % |\n"
        + "|---" * 6
        + "|"
    )
    for name, (kind, *_) in HEAVY.items():
        cells = (f"{100 * x:.1f} %" for x in level_of_heavy(name, 2000))
        print(f"| {name} | {kind} | " + " | ".join(cells) + " |", flush=True)
    print_omnibus()
    print("\n| view | " + " | ".join(f"N = {n:,}" for n in VIEW_DRAWS) + " |\n|---|---|---|")
    tables = [level_of_views(n, draws) for n, draws in VIEW_DRAWS.items()]
    for v, view in enumerate(VIEWS):
        cells = (f"{100 * t[v, 0]:.1f} %, {100 * t[v, 1]:.1f} %" for t in tables)
        print(f"| {view} | " + " | ".join(cells) + " |", flush=True)
    print("\n| scores | N | factor 1.3 | factor 2 |\n|---|---|---|---|")
    for kind in KINDS:
        for n in SIZES:
            cells = (f"{100 * coverage(kind, n, 2000, factor):.1f} %" for factor in (1.3, 2.0))
            print(f"| {kind} | {n:,} | " + " | ".join(cells) + " |", flush=True)
    print("\n| measure | factor | percentile | shifted |\n|---|---|---|---|")
    for measure in ("brier", "nll", "ks", "ece", "smooth_ece"):
        for factor in (1.0, 1.3, 2.0):
            a, b = bootstrap_coverage(measure, 2000, 100, factor)
            print(f"| {measure} | {factor} | {100 * a:.0f} % | {100 * b:.0f} % |", flush=True)


if __name__ == "__main__":
    main()
