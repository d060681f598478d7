"""How often tests reject and intervals cover: `python -m tests.slow.simulations`.

Prints the tables of docs/theory/significance.md and resample.md; ``... tied`` that of weights and
equal scores alone. The tests beside it assert bounds of the same numbers.
"""

import sys

import numpy as np

from ogive import Curve, Predictions, bootstrap, calibration_test
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


def stratum(score, rows, weight):
    """Rows of one score whose weights are all `weight`, or drawn by it."""

    def drawn(rng):
        w = weight(rng, rows) if callable(weight) else np.full(rows, weight)
        return np.full(rows, score), w

    return drawn


def between(low, high):
    return lambda rng, n: rng.uniform(low, high, n)


ONES = stratum(0.5, 2000, 1.0)
HUNDREDTHS = lambda rng: (rng.integers(1, 100, 500) / 100, np.ones(500))  # noqa: E731

# Sampling weights and equal scores: parts of the rows.
TIED = {
    "300 x 100 at .01, 2,000 x 1 at .5": (stratum(0.01, 300, 100.0), ONES),
    "400 x 50 at .005, 1,600 x 1 at .5": (stratum(0.005, 400, 50.0), stratum(0.5, 1600, 1.0)),
    "500 x 100 at .002, 500 x 1 on hundredths": (stratum(0.002, 500, 100.0), HUNDREDTHS),
    "300 x 99.5 to 100.5 at .01, 2,000 x 1 at .5": (stratum(0.01, 300, between(99.5, 100.5)), ONES),
    "300 x 50 to 150 at .01, 2,000 x 1 at .5": (stratum(0.01, 300, between(50, 150)), ONES),
    "300 x 100 lognormal at .01, 2,000 x 1 at .5": (
        stratum(0.01, 300, lambda rng, n: 100.0 * rng.lognormal(0.0, 1.0, n)),
        ONES,
    ),
    "1 x 300 and 299 x 1 at .01, 2,000 x 1 at .5": (
        stratum(0.01, 300, one_in(300.0, 1)),
        ONES,
    ),
    "1,000 on hundredths, lognormal": (
        lambda rng: (rng.integers(1, 100, 1000) / 100, rng.lognormal(0.0, 1.0, 1000)),
    ),
    "1,000 on tenths, 1 or 10": (
        lambda rng: (continuous(rng, 1000).round(1), rng.choice([1.0, 10.0], 1000)),
    ),
}


def level_of_tied(name, draws, omnibus_draws=0):
    """Levels with ties and weights, and those of the exact test that knows every weight.

    Returns the shares of KS and Kuiper at 5 and at 1 %, those of the exact tests, those of the
    calibration test, and how far "if calibrated" is from the true mean KS error.
    """
    rng = np.random.default_rng([3, len(name)])
    p, w = (np.concatenate(column) for column in zip(*(of(rng) for of in TIED[name]), strict=True))
    order = np.argsort(p, kind="stable")
    p, w = p[order], w[order]
    last = np.append(p[1:] != p[:-1], True)

    def drawn(size):
        y = rng.random((size, p.size)) < p
        gap = np.cumsum(w * (y - p), axis=1)[:, last]
        low, high = gap.min(axis=1).clip(max=0.0), gap.max(axis=1).clip(0.0)
        return y, np.stack([np.maximum(high, -low), high - low], 1) / w.sum()

    null = np.sort(np.concatenate([drawn(100)[1] for _ in range(200)]), axis=0)
    ours, exact, whole, expected = np.zeros(4), np.zeros(4), np.zeros(2), 0.0
    for i in range(draws):
        (y,), (value,) = drawn(1)
        curve = Curve.from_scores(p, y, sample_weight=w, weight_kind="sampling")
        tests = both_tests(curve, seed=i)
        reached = [null.shape[0] - np.searchsorted(null[:, k], value[k] - 1e-12) for k in (0, 1)]
        ours += [test.pvalue <= at for at in (0.05, 0.01) for test in tests]
        exact += [r / null.shape[0] <= at for at in (0.05, 0.01) for r in reached]
        expected += tests[0].expected / draws
        if i < omnibus_draws:
            pvalue = calibration_test(curve, random_state=i).pvalue
            whole += [pvalue <= 0.05, pvalue <= 0.01]
    return ours / draws, exact / draws, whole / max(omnibus_draws, 1), expected, null[:, 0].mean()


def print_tied(draws=2000, omnibus_draws=1000):
    tests = [f"{test}, {at}" for at in ("5 %", "1 %") for test in ("KS", "Kuiper")]
    head = ["rows x weight", *tests, "calibration test, 5 %, 1 %", "if calibrated, true mean"]
    print("| " + " | ".join(head) + " |\n" + "|---" * len(head) + "|")
    for name in TIED:
        ours, exact, whole, expected, true = level_of_tied(name, draws, omnibus_draws)
        cells = [f"{100 * a:.1f} ({100 * b:.1f}) %" for a, b in zip(ours, exact, strict=True)]
        cells += [", ".join(f"{100 * x:.1f} %" for x in whole)]
        cells += [f"{100 * expected:.2f} %, {100 * true:.2f} %"]
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)


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
    print_tied()
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
    print_tied() if sys.argv[1:] == ["tied"] else main()
