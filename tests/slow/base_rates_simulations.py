"""How often the intervals of the shares of three classes hold the true ones."""

import sys
import warnings

import numpy as np

from ogive import Predictions, fit_multiclass
from ogive.studies.base_rates import ClassScores, class_scores, estimate_base_rates

SHARES = ((0.6, 0.3, 0.1), (0.1, 0.1, 0.8), (0.945, 0.05, 0.005))
TRAINED_AT = (0.4, 0.3, 0.3)


def rows(rng, n, shares, shift=0.0):
    """Logits that are normal around the class's corner, and the classes."""
    y = rng.choice(3, n, p=shares)
    logits = rng.normal(size=(n, 3)) * 1.4
    logits[np.arange(n), y] += 2.0
    logits[:, 0] += shift
    return logits, y


def one(rng, shares, n, fitted, method, shift=0.0):
    logits, y = rows(rng, fitted, TRAINED_AT)
    preds = Predictions(logits, y, kind="logits")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        gamma = fit_multiclass(preds, method, multiclass="ovr" if method != "vector" else "keep")
    binned = class_scores(gamma(preds), y, np.ones(fitted))
    known = ClassScores(**{k: np.array(v) for k, v in binned.items()})
    q = gamma(Predictions(rows(rng, n, shares, shift)[0], kind="logits"))
    base = np.bincount(y) / fitted
    found = estimate_base_rates(q, np.ones(n), base, known)
    return found, estimate_base_rates(q, np.ones(n), base)


def table(runs, n=5000, fitted=20_000, method="vector", shift=0.0, every=SHARES):
    """Yield shares, coverage of each, relative width of each, share of misfits found at 5 %."""
    for shares in every:
        rng = np.random.default_rng(int(1e4 * shares[0]))
        inside, width, misfit = [], [], []
        for _ in range(runs):
            found, alone = one(rng, shares, n, fitted, method, shift)
            low, high = np.array(found.low), np.array(found.high)
            inside.append((low <= shares) & (shares <= high))
            width.append((high - low) / (np.array(alone.high) - np.array(alone.low)))
            misfit.append(found.misfit_pvalue < 0.05)
        yield shares, np.mean(inside, axis=0), np.median(width, axis=0), np.mean(misfit)


if __name__ == "__main__":
    for shares, inside, width, misfit in table(int(sys.argv[1]), shift=float(sys.argv[2])):
        print(shares, inside.round(3), width.round(2), round(float(misfit), 3))
