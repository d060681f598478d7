"""How often the intervals of the numbers of ``measure --more`` hold the truth.

``python -m tests.slow.number_simulations RUNS [KIND [TRUTH]]`` prints the table of
docs/theory/numbers.md, and with ``RUNS even hard`` and ``RUNS wide noise`` those of harder truths.
"""

import sys
import warnings

import numpy as np
from scipy.optimize import brentq, minimize
from scipy.special import expit, logit, xlogy
from sklearn.metrics import roc_auc_score

from ogive import Curve, expected_performance
from ogive.errors import OgiveWarning
from ogive.studies.numbers import NUMBERS, WITHOUT_INTERVAL, numbers_of

KEYS = [key for key, *_ in NUMBERS if key not in WITHOUT_INTERVAL]
#: Log-odds of the scores: base rates of about 50 %, 5 %, 1.3 % and 96 %.
KINDS = {
    "even": lambda rng, n: rng.normal(0.0, 1.5, n),
    "uneven": lambda rng, n: rng.normal(-3.4, 1.0, n),
    "rare": lambda rng, n: rng.normal(-5.0, 1.2, n),
    "frequent": lambda rng, n: rng.normal(4.2, 1.5, n),
}
#: The scores of a confident net.
WIDE = {"wide": lambda rng, n: rng.normal(0.0, 4.0, n)}
#: The true log-odds: calibrated, all too low alike, too extreme, and three that are no line.
TRUTHS = {
    "calibrated": lambda eta: eta,
    "shifted": lambda eta: eta + 0.4,
    "line": lambda eta: 0.3 + 0.7 * eta,
    "bent": lambda eta: 0.6 * eta + 0.8 * np.tanh(eta) - 0.2,
    "wave": lambda eta: eta + 0.6 * np.sin(1.2 * eta),
    "arched": lambda eta: 0.85 * eta + 0.5 * np.cos(0.8 * eta),
}
#: Harder ones: right below 0 and a slope of 0.5 above, a steep step between two lines, a wave of
#: twice the frequency, an error that is largest at the last few scores, and a jump of .1 at ½.
HARD = {
    "half right": lambda eta: np.where(eta > 0.0, 0.5 * eta, eta),
    "step": lambda eta: eta + 0.6 * np.tanh(4.0 * (eta - 0.5)),
    "fast wave": lambda eta: eta + 0.5 * np.sin(2.5 * eta),
    "cubic": lambda eta: eta - 0.06 * eta**3,
    "jump": lambda eta: logit((expit(eta) + 0.05 * np.sign(eta)).clip(1e-9, 1.0 - 1e-9)),
}
#: 8 % of the labels are drawn without regard to the score.
NOISE = {"noise": lambda eta: logit(0.04 + 0.92 * expit(eta))}
ALL = TRUTHS | HARD | NOISE
SIZES = (200, 1000, 5000)
MANY = 200_000  # rows that stand for all rows


def population(kind, truth):
    """O/E ratio, intercept, slope and the log loss of the true probabilities, over all rows."""
    eta = (KINDS | WIDE)[kind](np.random.default_rng(99), MANY)
    p, q = expit(eta), expit(ALL[truth](eta))
    shift = brentq(lambda a: np.mean(expit(a + eta)) - q.mean(), -9, 9)

    def loss(line):
        moved = line[0] + line[1] * eta
        return np.mean(np.logaddexp(0, moved) - q * moved)

    slope = minimize(loss, [0.0, 1.0], tol=1e-9).x[1]
    entropy = -np.mean(xlogy(q, q) + xlogy(1 - q, 1 - q))
    return {"oe_ratio": q.mean() / p.mean(), "intercept": shift, "slope": slope,
            "refinement": entropy}  # fmt: skip


def coverage(kind, truth, n, runs, seed=0):
    """The share of samples in which each interval holds the truth, and its median width."""
    rng = np.random.default_rng([seed, n])
    known = population(kind, truth)
    held, width = np.zeros((runs, len(KEYS))), np.zeros((runs, len(KEYS)))
    for run in range(runs):
        eta = (KINDS | WIDE)[kind](rng, n)
        truly = expit(ALL[truth](eta))
        hits = rng.random(n) < truly
        true = known | {"ici": np.abs(truly - expit(eta)).mean()}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", OgiveWarning)
            found = numbers_of(Curve.from_scores(expit(eta), hits), random_state=run)
            found = [one for one in found if one.key in KEYS]
        held[run] = [one.low - 1e-12 <= true[one.key] <= one.high for one in found]
        width[run] = [one.high - one.low for one in found]
    return held.mean(axis=0), np.median(width, axis=0)


def expected_coverage(n, a, b, runs, seed=0):
    """How often expected accuracy, precision and AUC hold what n calibrated rows then show."""
    rng = np.random.default_rng([seed, n])
    held = []
    for _ in range(runs):
        q = rng.beta(a, b, n)
        y = rng.random(n) < q
        yes = q >= 0.5
        if not (yes.any() and 0 < y.sum() < n):
            continue
        seen = (yes == y).mean(), y[yes].mean(), roc_auc_score(y, q)
        found = expected_performance(q)
        ends = found.accuracy, found.precision, found.auc
        held.append([e.low - 1e-12 <= x <= e.high + 1e-12 for e, x in zip(ends, seen, strict=True)])
    return np.mean(held, axis=0)


def main(runs, kind=None, truth=None):
    """Print a row for each base rate, truth and number of rows."""
    for one in [kind] if kind else KINDS:
        for other in HARD if truth == "hard" else [truth] if truth else TRUTHS:
            for n in SIZES:
                held, _ = coverage(one, other, n, runs)
                cells = " | ".join(f"{100 * share:.0f}" for share in held)
                print(f"| {one} | {other} | {n:,} | {cells} |", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]), *sys.argv[2:])
