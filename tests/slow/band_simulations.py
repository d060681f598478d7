"""How often intervals of vectors and of groups hold the truth: tables of docs/intervals.md.

``python -m tests.slow.band_simulations`` prints them; the tests beside it assert bounds.
"""

import warnings
from itertools import product

import numpy as np
from scipy.special import expit, softmax

from ogive import Curve, Predictions, fit_groups, fit_multiclass

ROWS = 300  # new rows, or scores in a group
SHARES = np.array([0.7, 0.2, 0.1])  # the other base rate of three classes


def vectors(rng, n, bent):
    """Logits and classes: too extreme, or also bent."""
    z = rng.normal(size=(n, 3)) * 1.2
    y = (softmax(z, axis=1).cumsum(axis=1) < rng.random((n, 1))).sum(axis=1)
    return (1.5 * np.sign(z) * np.abs(z) ** 1.7 if bent else 1.8 * z), y


def vectors_held(way, n, runs, *, bent=False, seed=0):
    """The share of rows whose interval holds what `way` gives with 100,000 rows; at SHARES too."""
    rng = np.random.default_rng(seed)
    how = {"multiclass": way} | ({"rescale": False} if way == "ovr" else {})

    def fitted(size):
        return fit_multiclass(Predictions(*vectors(rng, size, bent), kind="logits"), **how)

    new = Predictions(vectors(rng, ROWS, bent)[0], kind="logits")
    best, found = fitted(100_000), []
    for _ in range(runs):
        one, both = fitted(n), []
        for shares in (None, SHARES):
            maps = [one, best]
            if shares is not None:
                maps = [gamma.with_base_rate(shares, trained_at=[1 / 3] * 3) for gamma in maps]
            truth = maps[1](new)[np.arange(ROWS), maps[0](new).argmax(axis=1)]
            low, high = maps[0].interval(new)
            both.append(np.mean((low <= truth) & (truth <= high)))
        found.append(both)
    return np.mean(found, axis=0)


def groups(sizes, runs, *, differ=0.3, seed=1):
    """The share of scores whose interval holds the truth: mean of all groups, largest, smallest."""
    rng, G, found = np.random.default_rng(seed), len(sizes), []
    for _ in range(runs):
        shift, slope = rng.normal(0.0, differ, G), rng.normal(0.0, differ / 2, G)

        def truth(eta, group, shift=shift, slope=slope):
            return expit(0.2 + 0.8 * eta + shift[group] + slope[group] * eta)

        group = np.repeat(np.arange(G), sizes)
        eta = rng.normal(-0.5, 1.5, group.size)
        y = rng.random(group.size) < truth(eta, group)
        curves = {
            str(g): Curve.from_scores(expit(eta)[group == g], y[group == g]) for g in range(G)
        }
        new, of = rng.normal(-0.5, 1.5, G * ROWS), np.repeat(np.arange(G), ROWS)
        low, high = fit_groups(curves).band(expit(new), of.astype(str))
        held = ((low <= truth(new, of)) & (truth(new, of) <= high)).reshape(G, ROWS).mean(axis=1)
        found.append([held.mean(), held[0], held[-1]])
    return np.mean(found, axis=0)


GROUPS = {
    "two of 1,000": ([1000, 1000], 0.3),
    "1,000 and 30": ([1000, 30], 0.3),
    "ten of 200": ([200] * 10, 0.3),
    "ten of 200 that do not differ": ([200] * 10, 0.0),
    "1,000, 500, 250, 120, 60 and 30": ([1000, 500, 250, 120, 60, 30], 0.5),
    "300, 30, 30 and 30": ([300, 30, 30, 30], 0.5),
}


def main():
    warnings.simplefilter("ignore")
    for way, n, bent in product(("keep", "free", "ovr"), (500, 3000), (False, True)):
        cells = " | ".join(f"{100 * x:.1f} %" for x in vectors_held(way, n, 120, bent=bent))
        print(f"| `{way}` | {n:,} | {'bent' if bent else 'too extreme'} | {cells} |", flush=True)
    for name, (sizes, differ) in GROUPS.items():
        cells = " | ".join(f"{100 * x:.1f} %" for x in groups(sizes, 60, differ=differ))
        print(f"| {name} | {cells} |", flush=True)


if __name__ == "__main__":
    main()
