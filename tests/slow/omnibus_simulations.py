"""Level and power of `calibration_test`: `python -m tests.slow.omnibus_simulations`.

Single tests are compared at their true 5 %: their critical values are simulated for the same
scores (Hosmer and Lemeshow's nominal 5 % is 7 to 8 % with 200 rows of confident scores).
"""

import numpy as np
from scipy.special import chdtrc

from ogive import Curve, calibration_test
from ogive._numerics.brownian import range_tails, supremum_tails
from ogive.metrics.cells import LEAST_TAIL, Cells, cell_of
from ogive.metrics.omnibus import Average

POWER_SIZES = (200, 500, 1_000, 5_000)
SINGLE = ("KS", "Kuiper", "Hosmer-Lemeshow", "Spiegelhalter")
COMBINED = ("omnibus", "least p-value", "Cauchy", "Fisher")


def expit(x):
    return 1.0 / (1.0 + np.exp(-x))


def logit(p):
    return np.log(p) - np.log1p(-p)


# Laws of the scores' log-odds.
LAWS = {
    "wide": lambda rng, n: rng.normal(0.5, 1.5, n),
    "uniform": lambda rng, n: logit(rng.uniform(0.001, 0.999, n)),
    "confident": lambda rng, n: rng.gamma(3.0, 0.9, n) - 0.3,
    "low": lambda rng, n: rng.normal(-2.5, 1.2, n),
    "two humps": lambda rng, n: rng.normal(0.0, 0.7, n) + np.where(rng.random(n) < 0.5, 2.2, -2.2),
    "heavy tails": lambda rng, n: np.clip(1.2 * rng.standard_t(3, n), -12.0, 12.0),
    "beta": lambda rng, n: logit(rng.beta(2.0, 5.0, n)),
    "narrow": lambda rng, n: rng.normal(-0.5, 0.8, n),
    "skewed": lambda rng, n: 2.0 - rng.exponential(1.5, n),
    "high": lambda rng, n: rng.normal(2.0, 1.3, n),
}

# The true log-odds of scores whose own log-odds are e, about 0.5.
ALTERNATIVES = {
    "temperature 1.5": lambda e: e / 1.5,
    "temperature 0.7": lambda e: e / 0.7,
    "shift 0.3": lambda e: e + 0.3,
    "bend": lambda e: e - 0.3 * (np.abs(e - 0.5) - 1.1),
    "wave": lambda e: e + 0.5 * np.sin(1.5 * e),
    "two levels": lambda e: np.where(e > 0.5, 1.5, -0.7),
    "jump": lambda e: e + 0.4 * np.sign(e - 0.5),
    "upper tail": lambda e: np.minimum(e, 1.5),
    "lower tail": lambda e: np.where(e < -1.0, e + 0.6, e),
    "middle": lambda e: e + 0.8 * (np.abs(e - 0.5) < 0.4),
}


def hump(u, centre, width):
    return np.exp(-0.5 * ((u - centre) / width) ** 2)


# Errors of log-odds e, with x standardised and u the share of rows below, at N = 500; for other N
# they are scaled by sqrt(500 / N), so that power stays away from 1.
SECOND = {
    "three levels": lambda e, x, u: (np.floor(3 * u) - 1.0) * 1.1 * e.std() + np.median(e) - e,
    "sawtooth of fifths": lambda e, x, u: 1.6 * ((5 * u) % 1 - 0.5),
    "two humps, up and down": lambda e, x, u: 0.8 * (hump(u, 0.25, 0.08) - hump(u, 0.75, 0.08)),
    "two humps up": lambda e, x, u: 0.8 * (hump(u, 0.3, 0.07) + hump(u, 0.8, 0.07)),
    "top tenth": lambda e, x, u: -1.0 * (u > 0.9),
    "lowest tenth": lambda e, x, u: 1.0 * (u < 0.1),
    "upper slope": lambda e, x, u: -0.45 * np.maximum(e - np.median(e), 0.0),
    "lower slope": lambda e, x, u: -0.45 * np.minimum(e - np.median(e), 0.0),
    "hook": lambda e, x, u: (x**2 - 1.0) * np.where(x < 0.0, 0.3, 0.1),
    "one fifth": lambda e, x, u: 0.7 * ((u > 0.2) & (u < 0.4)),
    "alternating fifths": lambda e, x, u: 0.5 - np.floor(5 * u) % 2,
    "shift and slope": lambda e, x, u: 0.2 - 0.2 * e,
    "noisy labels": lambda e, x, u: logit(0.88 * expit(e) + 0.06) - e,
    "power": lambda e, x, u: logit(expit(e) ** 1.35) - e,
    "sine": lambda e, x, u: 0.6 * np.sin(3.0 * e),
}
THIRD = {
    "temperature 1.3": lambda e, x, u: e / 1.3 - e,
    "temperature 0.8": lambda e, x, u: e / 0.8 - e,
    "shift down": lambda e, x, u: np.full(e.size, -0.25),
    "slope and shift": lambda e, x, u: 0.25 * x + 0.2,
    "three teeth": lambda e, x, u: 1.2 * ((3 * u) % 1 - 0.5),
    "steps of 1": lambda e, x, u: np.round(e) - e,
    "cubic": lambda e, x, u: 0.15 * (np.clip(x, -3.0, 3.0) ** 3 - 1.5 * x),
    "hump": lambda e, x, u: 0.9 * hump(u, 0.6, 0.1),
    "upper third": lambda e, x, u: -0.5 * (u > 2 / 3),
    "lower tail": lambda e, x, u: 0.6 * np.minimum(x + 0.7, 0.0),
    "asymmetric bend": lambda e, x, u: (
        0.35 * np.maximum(x - 0.5, 0.0) - 0.2 * np.minimum(x + 0.5, 0.0)
    ),
    "one group": lambda e, x, u: -0.6 * ((u > 0.45) & (u < 0.65)),
}
FOURTH = {
    "temperature 1.4": lambda e, x, u: e / 1.4 - e,
    "shift up": lambda e, x, u: np.full(e.size, 0.27),
    "steep at the top": lambda e, x, u: 0.5 * np.maximum(x - 0.8, 0.0),
    "quarter down": lambda e, x, u: -0.6 * (u < 0.25),
    "two ranges": lambda e, x, u: 0.6 * (np.abs(u - 0.3) < 0.1) - 0.6 * (np.abs(u - 0.7) < 0.1),
    "arch": lambda e, x, u: 1.3 * (u * (1.0 - u) - 1.0 / 6.0) * 2.0,
    "alternating eighths": lambda e, x, u: 0.5 - np.floor(8 * u) % 2,
    "random groups of ten": lambda e, x, u: (
        0.45 * np.random.default_rng(6).standard_normal(10)[(10 * u).astype(int)]
    ),
    "prior shift": lambda e, x, u: logit(0.85 * expit(e) + 0.02) - e,
}
# name: errors, laws of the scores.
HELD_OUT = {
    "second": (SECOND, ("wide", "uniform", "confident", "low")),
    "third": (THIRD, ("two humps", "heavy tails", "beta")),
    "fourth": (FOURTH, ("narrow", "skewed", "high")),
}


def errors(names, e):
    """The errors of a held-out set for rising log-odds, {name: (n,)}."""
    n = e.size
    x, u = (e - np.median(e)) / e.std(), (np.arange(n) + 0.5) / n
    return {name: error(e, x, u) * np.sqrt(500 / n) for name, error in names.items()}


def single_tests(p, y):
    """The p-values of the four single tests for rising scores (n,) and outcomes (draws, n)."""
    v = p * (1.0 - p)
    gap = np.cumsum(y - p, axis=1) / np.sqrt(v.sum())
    low, high = np.minimum(gap.min(axis=1), 0.0), np.maximum(gap.max(axis=1), 0.0)
    total = 0.0  # Hosmer and Lemeshow's, ten groups; nothing was fitted: 10 degrees of freedom
    for at in np.array_split(np.arange(p.size), 10):
        expected = p[at].sum()
        total += (y[:, at].sum(axis=1) - expected) ** 2 / (expected * (1.0 - expected / at.size))
    z = (y - p) @ (1.0 - 2.0 * p) / np.sqrt(v @ (1.0 - 2.0 * p) ** 2)
    ks, kuiper = supremum_tails(np.maximum(high, -low)), range_tails(high - low)
    return np.array([ks, kuiper, chdtrc(10, total), chdtrc(1, z**2)])


def combined(found, null):
    """Three combinations of single tests, (3, draws): of p-values by ranks among null samples."""
    null = np.sort(null[:4], axis=1)
    p = np.stack([np.searchsorted(*rows, side="right") for rows in zip(null, found, strict=False)])
    p = (1.0 + p) / (2.0 + null.shape[1])
    cauchy = -np.tan((0.5 - p) * np.pi).mean(axis=0)
    return np.stack([p.min(axis=0), cauchy, np.log(p).sum(axis=0)])


def power(e, wrong, draws, rng):
    """The power at 5 % of the four single tests and of `COMBINED` ones, {name: (8,)}.

    For rising log-odds e and errors of them {name: (n,)}. The scores are the same in all samples,
    so that one null serves them all.
    """
    p, found, batch = expit(e), {}, 2_000_000 // e.size
    cells = Cells(Curve.from_scores(p, p > 0.5))
    average = Average(cells)
    first = np.flatnonzero(np.diff(cell_of(e, p * (1.0 - p), np.ones(e.size)), prepend=-1))

    def statistics(truth, samples):
        rows = []
        for size in [batch] * (samples // batch) + [samples % batch] * (samples % batch > 0):
            y = rng.random((size, e.size)) < truth
            whole = -average(np.add.reduceat(y - p, first, axis=1))
            rows.append(np.concatenate([single_tests(p, y), whole[None]]))
        return np.concatenate(rows, axis=1)

    calibrated = statistics(p, 10_000)
    null = np.concatenate([calibrated, combined(calibrated[:4], calibrated)])
    limit = np.quantile(null, 0.05, axis=1, keepdims=True)
    drawn = np.concatenate([average(cells.draw(rng, 1000)) for _ in range(10)])
    limit[4] = -np.quantile(drawn, 0.95)  # as the test itself draws
    for name, error in wrong.items():
        rows = statistics(expit(e + error), draws)
        rows = np.concatenate([rows, combined(rows[:4], calibrated)])
        found[name] = (rows <= limit).mean(axis=1)
    return found


def power_of_alternatives(n, draws=3000):
    """The power for the ten alternatives."""
    rng = np.random.default_rng([n, 7])
    e = np.sort(LAWS["wide"](rng, n))
    return power(e, {name: truth(e) - e for name, truth in ALTERNATIVES.items()}, draws, rng)


def power_of_held_out(which, law, n, draws=2000):
    """The power for a held-out set."""
    rng = np.random.default_rng([n, len(which), len(law), 8])
    e = np.sort(LAWS[law](rng, n))
    return power(e, errors(HELD_OUT[which][0], e), draws, rng)


def print_alternatives():
    for n in POWER_SIZES:
        for name, found in power_of_alternatives(n).items():
            cells = " | ".join(f"{x:.2f}" for x in found[:5])
            print(f"| {name} | {n:,} | {cells} | {found[4] - found[:4].max():+.2f} |", flush=True)


def print_held_out(whole=False):
    """For each alternative the worst law and number of rows, or all of them."""
    for which, (names, laws) in HELD_OUT.items():
        cases = {name: [] for name in names}
        for law in laws:
            for n in POWER_SIZES:
                for name, found in power_of_held_out(which, law, n).items():
                    cases[name].append((found[4] - found[:4].max(), law, n, *found))
        for name, of in cases.items():
            for loss, law, n, *found in sorted(of) if whole else [min(of)]:
                best = SINGLE[int(np.argmax(found[:4]))]
                print(
                    f"| {name} | {law}, {n:,} | {best} {max(found[:4]):.2f} | {found[4]:.2f} "
                    f"| {loss:+.2f} | {np.mean([case[0] for case in of]):+.2f} |",
                    flush=True,
                )
        power = np.array([case[3:] for of in cases.values() for case in of])
        for k, test in enumerate(COMBINED):
            losses = power[:, 4 + k] - power[:, :4].max(axis=1)
            print(
                f"{which}, {test}: {np.sum(losses >= -0.12)} of {losses.size} within 0.12, "
                f"worst {losses.min():+.2f}, mean {losses.mean():+.2f}",
                flush=True,
            )


def level(scores, n, draws, weights=None, seed=3):
    """The share of rejections at 5 % and at 1 %, for calibrated scores drawn by `scores`."""
    rng = np.random.default_rng([n, seed])
    found = np.zeros(2)
    for i in range(draws):
        p = scores(rng, n)
        w = None if weights is None else weights(rng, n)
        curve = Curve.from_scores(p, rng.random(n) < p, sample_weight=w, weight_kind="sampling")
        pvalue = calibration_test(curve, random_state=i).pvalue
        found += [pvalue <= 0.05, pvalue <= 0.01]
    return found / draws


def level_of_sets(scores, n, sets=40, samples=400, seed=4):
    """The same with many samples of outcomes for each of some sets of scores, without weights.

    The p-value is that of the test with 5,000 draws, which serve all samples of a set.
    """
    rng = np.random.default_rng([n, seed])
    found = np.zeros(2)
    for _ in range(sets):
        p = np.sort(scores(rng, n))
        cells = Cells(Curve.from_scores(p, p > 0.5))
        average = Average(cells)
        values, group, count = np.unique(p.clip(LEAST_TAIL, 1.0 - LEAST_TAIL), False, True, True)
        cell = cell_of(logit(values), count * values * (1.0 - values), count)[group]
        first = np.flatnonzero(np.diff(cell, prepend=-1))
        surplus = (rng.random((samples, n)) < p) - values[group]
        observed = average(np.add.reduceat(surplus, first, axis=1))
        null = np.sort(np.concatenate([average(cells.draw(rng, 1000)) for _ in range(5)]))
        reached = null.size - np.searchsorted(null, observed - 1e-9 * (1.0 + abs(observed)))
        pvalue = (1 + reached) / (1 + null.size)
        found += [np.mean(pvalue <= 0.05), np.mean(pvalue <= 0.01)]
    return found / sets


if __name__ == "__main__":
    print_alternatives()
    print_held_out()
