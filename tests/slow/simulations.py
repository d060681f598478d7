"""How often tests reject and intervals cover: `python -m tests.slow.simulations`.

Prints the tables of docs/theory/significance.md and resample.md. The tests beside it assert bounds
of the same numbers.
"""

import numpy as np

from ogive import Curve, Predictions, bootstrap, ks_error
from ogive.metrics.onepass import read
from ogive.metrics.significance import TestReader, interval_of, ks_of, kuiper_of

SIZES = (100, 1_000, 10_000)
VIEW_DRAWS = {100: 2000, 1_000: 6000}


def expit(x):
    return 1.0 / (1.0 + np.exp(-x))


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
    return ks_of(curve, reader, seed=seed), kuiper_of(curve, reader, seed=seed)


def level(kind, n, draws, weights=None):
    """The share of rejections at 5 % of both tests, and of intervals that hold 0."""
    rng = np.random.default_rng([n, len(kind)])
    found = np.zeros(3)
    for i in range(draws):
        p = KINDS[kind](rng, n)
        w = None if weights is None else weights(rng, n)
        curve = Curve.from_scores(p, rng.random(n) < p, weights=w, weight_kind="sampling")
        ks, kuiper = both_tests(curve, seed=i)
        found += [ks.pvalue <= 0.05, kuiper.pvalue <= 0.05, ks.low == 0.0]
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
    for _ in range(draws):
        p = KINDS[kind](rng, n)
        eta = np.log(p.clip(1e-9, 1 - 1e-9)) - np.log1p(-p.clip(1e-9, 1 - 1e-9))
        truth = expit(eta / factor)
        reader, curve = TestReader(), Curve.from_scores(p, rng.random(n) < truth)
        read(curve, reader)
        low, high = interval_of(reader, ks_error(curve))
        found += low - 1e-12 <= true_ks(p, truth) <= high + 1e-12
    return found / draws


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
    intervals = [bootstrap(sample(n), measure, resamples=300, seed=i) for i in range(draws)]
    plain = np.mean(
        [np.quantile(r.values, 0.025) <= true <= np.quantile(r.values, 0.975) for r in intervals]
    )
    return plain, np.mean([r.low <= true <= r.high for r in intervals])


def main():
    print("| scores | N | KS rejects | Kuiper rejects | interval holds 0 |\n|---|---|---|---|---|")
    for kind in KINDS:
        for n in SIZES:
            ks, kuiper, holds = (f"{100 * x:.1f} %" for x in level(kind, n, draws_of(kind, n)))
            print(f"| {kind} | {n:,} | {ks} | {kuiper} | {holds} |", flush=True)
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
