"""How often a watch raises a false alarm, and how soon it finds a change, beside other rules.

``python -m tests.slow.watch_simulations quiet KIND RUNS DAYS`` and
``python -m tests.slow.watch_simulations delay CHANGE ROWS RUNS`` print a line of
docs/theory/watch.md.
"""

import sys

import numpy as np

from ogive import Curve
from ogive.studies.watch.starts import Start, bet, kept, log_mixture
from tests.slow.watch_batches import LineBets, expit

ALPHA = 0.05
QUIET, AFTER = 15, 30  # days before and after a change
#: False alarms of the other rules in these 45 days: as many as ours have. `false_alarms` gives 0.5
#: to 1.3 % for 100, 300 and 1,000 rows a day; the guarantee, 5 %, holds for all scores.
SAME_RATE = 0.01

_USUAL, _LOW, _HIGH = (np.array(rows, dtype=float) for rows in ((7, 7, 6), (12, 6, 2), (2, 6, 12)))


def _same(_day, runs, _hits):
    return np.tile(_USUAL[:, None], runs)


def _weekly(day, runs, _hits):
    return np.tile((_HIGH if day % 7 >= 5 else _LOW)[:, None], runs)


def _dependent(_day, runs, hits):
    """More high scores on the day after one with many outcomes of 1."""
    many = np.zeros(runs, dtype=bool) if hits is None else hits.sum(0) > 9
    return np.where(many, _HIGH[:, None], _LOW[:, None])


def _rare(_day, runs, _hits):
    return np.full((3, runs), 250.0)


def _one_of_each(_day, runs, _hits):
    return np.ones((3, runs))


_MIDDLE = np.array([-2.0, 0.3, 1.5])
#: Log-odds of three scores, the rows of a day, and the rows that a shock is worth: the outcomes of
#: a score on one day share a rate from a beta distribution around it. None: no shock.
KINDS = {
    "ties": (_MIDDLE, _same, None),
    "rare": (np.array([-8.0, -7.0, -6.0]), _rare, None),  # a base rate of 1e-3
    "weekly": (_MIDDLE, _weekly, None),
    "dependent": (_MIDDLE, _dependent, None),
    "shared shocks": (_MIDDLE, _same, 20.0),
    "shared shocks, one row of each": (_MIDDLE, _one_of_each, 20.0),
    "shared shocks, clusters": (_MIDDLE, _same, 20.0),
}


def first_days(kind, runs, days, seed=0):
    """The first day of an alarm of each run, (runs,); inf without one."""
    eta, mix, worth = KINDS[kind]
    rng, bets, p, hits = np.random.default_rng(seed), LineBets(eta, runs), expit(eta)[:, None], None
    first = np.full(runs, np.inf)
    for day in range(1, days + 1):
        count = mix(day, runs, hits)
        rate = p if worth is None else rng.beta(p * worth, (1 - p) * worth, (3, runs))
        hits = rng.binomial(count.astype(int), np.broadcast_to(rate, count.shape)).astype(float)
        if kind.endswith("clusters"):  # each score of a day is one, and counts as one row
            count, hits = np.ones(count.shape), hits / count
        alarm = bets.update(count, hits) >= -np.log(ALPHA)
        first = np.where(alarm & np.isinf(first), day, first)
    return first


def false_alarms(rows, runs=4000):
    """The share of runs with an alarm in 45 quiet days."""
    KINDS["even"] = (_MIDDLE, lambda _day, some, _hits: np.full((3, some), float(rows // 3)), None)
    return np.isfinite(first_days("even", runs, QUIET + AFTER)).mean()


#: What becomes of the log-odds.
CHANGES = {
    "slope 0.9": lambda eta: 0.9 * eta,
    "slope 0.8": lambda eta: 0.8 * eta,
    "slope 0.6": lambda eta: 0.6 * eta,
    "wave 0.3": lambda eta: eta + 0.3 * np.sin(2 * eta),
    "wave 0.6": lambda eta: eta + 0.6 * np.sin(2 * eta),
    "top 0.3": lambda eta: eta - 0.3 * np.maximum(eta, 0),
    "top 0.6": lambda eta: eta - 0.6 * np.maximum(eta, 0),
    "bend 0.3": lambda eta: eta - 0.3 * np.abs(eta),
    "shift 0.3": lambda eta: eta - 0.3,
}
RULES = ("alpha", "CUSUM", "KS", "PIT")


def limits(rng):
    """The limits of CUSUM and KS with our rate of false alarms: by simulation of the null."""
    days = QUIET + AFTER
    cusum = [max(cusum_of(rng.normal(size=days))) for _ in range(10_000)]
    walk = np.abs(np.cumsum(rng.normal(size=(50_000, 400)), axis=1)).max(axis=1) / 20.0
    return {
        "alpha": -np.log(ALPHA),
        "CUSUM": float(np.quantile(cusum, 1 - SAME_RATE)),
        "KS": float(np.quantile(walk, 1 - SAME_RATE / days)),
        "PIT": -np.log(ALPHA),
    }


def cusum_of(z, drift=0.5):
    """Both sides of a CUSUM of daily z values."""
    up = down = 0.0
    found = []
    for value in z:
        up, down = max(0.0, up + value - drift), max(0.0, down - value - drift)
        found.append(max(up, down))
    return found


class Jumper:
    """A test martingale of uniform numbers: the simple jumper, with a rate of 0.01."""

    def __init__(self):
        self.money = [1 / 3] * 3

    def update(self, numbers):
        low, none, high = self.money
        for u in numbers.tolist():
            share = 0.01 * (low + none + high) / 3
            low = (0.99 * low + share) * (1.5 - u)
            none = 0.99 * none + share
            high = (0.99 * high + share) * (0.5 + u)
        self.money = [low, none, high]
        return np.log(sum(self.money))


def delays_of(seed, change, rows, limit):
    """Days from a change to the alarm of each rule; None if it was before, inf if never."""
    rng = np.random.default_rng(seed)
    starts, z, jumper = [], [], Jumper()
    found = {}
    for today in range(1, QUIET + AFTER + 1):
        eta = rng.logistic(size=rows)
        p, truth = expit(eta), expit(CHANGES[change](eta) if today > QUIET else eta)
        hit = rng.random(rows) < truth
        deviation = np.sqrt((p * (1 - p)).sum())
        z.append((hit - p).sum() / deviation)
        gap = np.abs(np.cumsum((hit - p)[np.argsort(p)])).max() / deviation
        pit = jumper.update(np.where(hit, 1 - p, 0.0) + rng.random(rows) * np.where(hit, p, 1 - p))
        value = {"CUSUM": cusum_of(z)[-1], "KS": gap, "PIT": pit}
        if "alpha" not in found:
            curve = Curve.from_scores(p, hit)
            starts = kept([*bet(starts, curve)[0], Start.born(today, curve)], today)
            value["alpha"] = log_mixture(starts, today)
        for rule, now in value.items():
            if now >= limit[rule]:
                found.setdefault(rule, today)
    late = {rule: found.get(rule, np.inf) - QUIET for rule in RULES}
    return {rule: None if day <= 0 else day for rule, day in late.items()}


def delays(change, rows, runs):
    """The mean delay of each rule, a change that was not found counted as 31 days."""
    limit = limits(np.random.default_rng(0))
    found = [delays_of(seed, change, rows, limit) for seed in range(runs)]
    return {
        rule: float(np.mean([min(one[rule], AFTER + 1) for one in found if one[rule] is not None]))
        for rule in RULES
    }


def main(what, name, *numbers):
    """Print a line of a table."""
    if what == "delay":
        found = delays(name, *map(int, numbers))
        print(name, *numbers, *(f"{rule} {mean:.1f}" for rule, mean in found.items()), flush=True)
        return
    first = first_days(name, *map(int, numbers))
    print(name, f"{np.isfinite(first).mean():.4f}", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
