"""How often tests reject and intervals cover where rows come in clusters.

``python -m tests.slow.cluster_simulations`` prints the tables of docs/theory/clusters.md. The
tests beside it assert bounds of the same numbers.
"""

import sys
import warnings
from functools import partial

import numpy as np
from scipy.special import expit, logit, ndtr

from ogive import (
    Curve,
    bootstrap,
    calibration_intercept,
    calibration_slope,
    calibration_test,
    cross_fitted_gain,
    decide,
    fit_spline,
    oe_ratio,
)
from ogive._numerics.logistic import intercept_for_share
from ogive.errors import FewClusters
from ogive.studies.gate import gate
from ogive.studies.losses import CRITICAL_T, hall_t
from tests.slow.simulations import both_tests

ROWS = 20  # of a cluster, on average
BETWEEN = 0.5  # share of the variance of log-odds that is between clusters


def sample(rng, clusters, icc, *, factor=1.0, mean=0.5, even=True, shift=0.0, normal=False):
    """Scores, outcomes and clusters: two outcomes of one score in a cluster correlate by `icc`.

    With the probability √icc a row takes the draw of its cluster, else its own. `normal`: instead,
    draws are of normals that correlate by `icc`. `shift` is added to the log-odds of scores.
    """
    sizes = np.full(clusters, ROWS) if even else rng.geometric(1.0 / ROWS, clusters)
    code = np.repeat(np.arange(clusters), sizes)
    own = rng.normal(size=(2, code.size))
    shared = rng.normal(size=clusters)[code]
    eta = mean + 1.5 * (np.sqrt(BETWEEN) * shared + np.sqrt(1.0 - BETWEEN) * own[0])
    if normal:
        both = rng.normal(size=clusters)[code], rng.normal(size=code.size)
        draw = ndtr(np.sqrt(icc) * both[0] + np.sqrt(1.0 - icc) * both[1])
    else:
        alike = rng.random(code.size) < np.sqrt(icc)
        draw = np.where(alike, rng.random(clusters)[code], rng.random(code.size))
    return expit(factor * eta + shift), draw < expit(eta), code


def curve_of(rng, *arguments, **options):
    s, y, code = sample(rng, *arguments, **options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FewClusters)
        return Curve.from_scores(s, y, clusters=code)


def alone(curve):
    """The same rows as if they were independent."""
    return Curve(groups=curve._groups, view=curve.view)


def level(clusters, icc, draws, *, seed=0, **options):
    """How often KS, Kuiper, the calibration test and KS without clusters reject at 5 %."""
    rng = np.random.default_rng(seed)
    found = np.zeros(4)
    for k in range(draws):
        curve = curve_of(rng, clusters, icc, **options)
        ks, kuiper = both_tests(curve, k)
        plain, _ = both_tests(alone(curve), k)
        omnibus = calibration_test(curve, random_state=k)
        found += [test.pvalue < 0.05 for test in (ks, kuiper, omnibus, plain)]
    return found / draws


def coverage(clusters, icc, draws, *, factor=2.0, seed=1, **options):
    """How often intervals hold the truth: KS, the gate's ECE, bootstrapped log loss, KS alone."""
    rng = np.random.default_rng(seed)
    s, _, _ = sample(np.random.default_rng(7), 100_000, 0.0, factor=factor, **options)
    log_odds = np.log(s / (1.0 - s)) / factor
    truth = {
        "ks": np.abs(np.cumsum((expit(log_odds) - s)[np.argsort(s)])).max() / s.size,
        "nll": -np.mean(expit(log_odds) * np.log(s) + (1.0 - expit(log_odds)) * np.log1p(-s)),
    }
    bins = np.minimum((s * 15).astype(int), 14)
    gaps = np.bincount(bins, expit(log_odds) - s)
    truth["ece"] = np.abs(gaps).sum() / s.size
    found = np.zeros(4)
    for k in range(draws):
        curve = curve_of(rng, clusters, icc, factor=factor, **options)
        ks, plain = both_tests(curve, k)[0], both_tests(alone(curve), k)[0]
        ece = gate(curve, max_ece=0.5, random_state=k).limits[0].interval
        nll = bootstrap(curve, "nll", resamples=200, random_state=k)
        found += [
            ks.low <= truth["ks"] <= ks.high,
            ece[0] <= truth["ece"] <= ece[1],
            nll.low <= truth["nll"] <= nll.high,
            plain.low <= truth["ks"] <= plain.high,
        ]
    return found / draws


def decisions(clusters, icc, draws, *, factor=1.0, seed=2):
    """How often the spline is called worth it, with clusters and without."""
    rng = np.random.default_rng(seed)
    found = np.zeros(2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(draws):
            curve = curve_of(rng, clusters, icc, factor=factor)
            both = (cross_fitted_gain(one) for one in (curve, alone(curve)))
            found += [not gain.leave_alone for gain in both]
    return found / draws


def paired(clusters, icc, draws, *, seed=3):
    """How often two equally good methods are found to differ, with clusters and without.

    Their log losses differ by what a shift of all log-odds, drawn for each sample, does.
    """
    rng = np.random.default_rng(seed)
    found = np.zeros(2)
    for _ in range(draws):
        s, y, code = sample(rng, clusters, icc)
        share = np.full(s.size, 1.0 / s.size)
        moved = expit(np.log(s / (1.0 - s)) + 0.3)
        loss = [-np.log(np.where(y, p, 1.0 - p)) for p in (moved, s)]
        mean = np.mean(s * np.log(s / moved) + (1.0 - s) * np.log((1.0 - s) / (1.0 - moved)))
        difference = loss[0] - loss[1] - mean
        both = (hall_t(difference, share, c)[2] for c in (code, None))
        found += [abs(t) > CRITICAL_T for t in both]
    return found / draws


def costs(clusters, icc, draws, *, factor=2.0, seed=4, mean=-2.0, miss=5.0, **options):
    """How often `decide`'s intervals hold the costs; the last as if rows were independent.

    The calibrator of the first two is fitted to 2,000 other rows.
    """
    rng = np.random.default_rng(seed)
    s, _, _ = sample(np.random.default_rng(7), 20_000, 0.0, factor=factor, mean=mean, **options)
    p, t = expit(np.log(s / (1.0 - s)) / factor), 1.0 / (1.0 + miss)
    given = fit_spline(curve_of(rng, 100, 0.0, factor=factor, mean=mean, **options))

    def cost(q):
        return np.mean(np.where(q >= t, 1.0 - p, miss * p))

    before, after = cost(s), cost(given(s))
    found = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        while len(found) < draws:
            curve = curve_of(rng, clusters, icc, factor=factor, mean=mean, **options)
            if not 0 < curve.total_hits < curve.n:
                continue
            how = {"miss": miss, "alarm": 1.0}
            one, plain = (decide(c, calibrator=given, **how) for c in (curve, alone(curve)))
            two, last = decide(curve, **how), cost(fit_spline(curve)(s))
            pairs = (one.before, before), (one.after, after), (one, before - after)
            pairs += (two.after, last), (two, before - last), (plain.before, before)
            found.append([x.low <= truth <= x.high for x, truth in pairs])
    return np.mean(found, axis=0)


def numbers(clusters, icc, draws, *, factor=2.0, seed=5, **options):
    """How often intervals of O/E ratio, intercept and slope hold the truth; then as if alone."""
    rng = np.random.default_rng(seed)
    s, _, _ = sample(np.random.default_rng(7), 100_000, 0.0, factor=factor, **options)
    p = expit(np.log(s / (1.0 - s)) / factor)
    truth = p.mean() / s.mean(), intercept_for_share(logit(s), np.ones(s.size), p.mean())
    truth += (1.0 / factor,)
    of = oe_ratio, calibration_intercept, calibration_slope
    found = []
    for _ in range(draws):
        curve = curve_of(rng, clusters, icc, factor=factor, **options)
        each = [number(one) for one in (curve, alone(curve)) for number in of]
        found.append([x.low <= t <= x.high for x, t in zip(each, 2 * truth, strict=True)])
    return np.mean(found, axis=0)


def rare(clusters, icc, draws, **options):
    """As `level`, with outcomes of 4 % and clusters of uneven sizes."""
    return level(clusters, icc, draws, mean=-4.0, even=False, **options)


def percent(row):
    return " | ".join(f"{100 * x:.1f} %" for x in row)


TABLES = {
    "level": ("KS | Kuiper | calibration test | KS without clusters", level, 400),
    "rare": ("KS | Kuiper | calibration test | KS without clusters", rare, 400),
    "rare-normal": (
        "KS | Kuiper | calibration test | KS without clusters",
        partial(rare, normal=True),
        400,
    ),
    "rare-too-high": (
        "KS | Kuiper | calibration test | KS without clusters",
        partial(rare, shift=0.7),
        100,
    ),
    "rare-too-low": (
        "KS | Kuiper | calibration test | KS without clusters",
        partial(rare, shift=-0.7),
        100,
    ),
    "coverage": ("KS | ECE | log loss | KS without clusters", coverage, 300),
    "decisions": ("with clusters | without", decisions, 200),
    "costs": (
        "before | after | saved | after, cross-validated | saved, cross-validated | before alone",
        costs,
        200,
    ),
    "numbers": (
        "O/E | intercept | slope | O/E alone | intercept alone | slope alone",
        numbers,
        1000,
    ),
    "rare-numbers": (
        "O/E | intercept | slope | O/E alone | intercept alone | slope alone",
        partial(numbers, mean=-4.0, even=False),
        1000,
    ),
    "paired": ("with clusters | without", paired, 4000),
}


def main(names):
    """Print tables, or those named."""
    for name in names or TABLES:
        head, of, draws = TABLES[name]
        print(f"\n{name}\n| clusters | ICC | {head} |", flush=True)
        for clusters in (10, 20, 50, 200):
            for icc in (0.0, 0.1, 0.3, 0.5):
                print(f"| {clusters} | {icc} | {percent(of(clusters, icc, draws))} |", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
