"""How often a watch rings falsely, and how soon it finds a change.

``python -m tests.slow.watch_simulations KIND RUNS DAYS`` prints a line of docs/theory/watch.md.
"""

import sys

import numpy as np

from ogive import Curve
from ogive.studies.watch.starts import Start, bet, kept, log_mixture, log_total


def _expit(x):
    return 1.0 / (1.0 + np.exp(-x))


def _week(day):
    """The mix of scores moves with the day of the week."""
    return np.sin(2 * np.pi * day / 7)


#: Log-odds of the scores of a day, by kind: what they look like, and how many there are.
SCORES = {
    "continuous": (300, lambda rng, n, _: rng.logistic(size=n)),
    "ties": (300, lambda rng, n, _: rng.choice([-3.0, -1.0, 0.0, 2.0], n)),
    "rare": (1000, lambda rng, n, _: rng.normal(-7.4, 1.0, n)),  # a base rate of 1e-3
    "weekly": (300, lambda rng, n, day: rng.normal(1.5 * _week(day), 1.0, n)),
    "dependent": (300, lambda rng, n, day: rng.normal(2.0 * np.sin(day**2), 1.0, n)),
}
CHANGES = {
    "none": lambda eta: eta,
    "slope 0.9": lambda eta: 0.9 * eta,
    "slope 0.8": lambda eta: 0.8 * eta,
    "shift -0.3": lambda eta: eta - 0.3,
    "bend": lambda eta: eta - 0.3 * np.abs(eta),
}


def logs(seed, kind, days, change="none", at=0):
    """Yield log M and log R after each day of a run; from day `at` + 1 on the truth has changed."""
    rng = np.random.default_rng(seed)
    rows, draw = SCORES[kind]
    starts = []
    for today in range(1, days + 1):
        eta = draw(rng, rows, today)
        truth = CHANGES[change](eta) if today > at else eta
        curve = Curve.from_scores(_expit(eta), rng.random(rows) < _expit(truth))
        moved, _ = bet(starts, curve)
        starts = kept([*moved, Start.born(today, curve)], today)
        yield log_mixture(starts, today), log_total(starts)


def first(values, limit):
    """The first day with a value of at least the limit; 0 if there is none."""
    return next((day for day, value in enumerate(values, start=1) if value >= limit), 0)


def false_alarms(kind, runs, days, alpha=0.05, length=1000):
    """The share of runs with any false alarm, and of runs in which the detector rang."""
    rang = np.zeros(2)
    for seed in range(runs):
        rang += rings(seed, kind, days, alpha, length)
    return rang / runs


def rings(seed, kind, days, alpha=0.05, length=1000):
    """Whether either rule rings falsely in one run."""
    both = np.array(list(logs(seed, kind, days)))
    limits = -np.log(alpha), np.log(length)
    return np.array([first(both[:, i], limit) > 0 for i, limit in enumerate(limits)])


def delays(change, runs, days=60, at=30, kind="continuous", alpha=0.05):
    """Days from a change to the alarm: their median; and the share of runs that found it."""
    found = [first([m for m, _ in logs(seed, kind, days, change, at)], -np.log(alpha))
             for seed in range(runs)]  # fmt: skip
    late = np.array([day - at if day > at else np.inf for day in found])
    return float(np.median(late)), float(np.isfinite(late).mean())


def main(kind, runs, days):
    """Print a line of the table."""
    if kind in CHANGES:
        print(kind, *delays(kind, int(runs), int(days)))
    else:
        print(kind, *false_alarms(kind, int(runs), int(days)))


if __name__ == "__main__":
    main(*sys.argv[1:])
