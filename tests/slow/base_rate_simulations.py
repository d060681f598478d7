"""How often the interval of an estimated base rate holds the true one: `python -m` prints it."""

import sys
import warnings

import numpy as np

from ogive import Curve, fit_spline
from ogive.studies.base_rate import CalibrationScores, calibration_scores, estimate_base_rate

RATES = (0.001, 0.01, 0.1, 0.5, 0.9)


def scores(rng, n, rate, shift=0.0):
    """Scores of a model whose log-odds are normal within each class, calibrated at 50 %."""
    y = rng.random(n) < rate
    eta = rng.normal(np.where(y, 1.5, -1.5), np.sqrt(3.0), n) + shift
    return 1 / (1 + np.exp(-eta)), y


def one(rng, rate, rows, fitted, trained_at, shift=0.0):
    s, y = scores(rng, fitted, trained_at)
    curve = Curve.from_scores(s, y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        gamma = fit_spline(curve)
    q = gamma.from_tails(curve.high, curve.tail)
    summary = calibration_scores(q, curve.count, curve.hits)
    known = CalibrationScores(**{k: np.array(v) for k, v in summary.items()})
    new, _ = scores(rng, rows, rate, shift)
    base = curve.total_hits / curve.n
    found = estimate_base_rate(gamma(new), np.ones(rows), base, known)
    alone = estimate_base_rate(gamma(new), np.ones(rows), base)
    return found, alone


def table(runs, rows=10_000, fitted=20_000, trained_at=0.3, shift=0.0, rates=RATES):
    """Yield rate, coverage, width over that without the calibrator, share of misfits found."""
    for rate in rates:
        rng = np.random.default_rng(int(rate * 1e6))
        inside, ratio, misfit = [], [], []
        for _ in range(runs):
            found, alone = one(rng, rate, rows, fitted, trained_at, shift)
            inside.append(found.low <= rate <= found.high)
            if alone.high > alone.low:
                ratio.append((found.high - found.low) / (alone.high - alone.low))
            misfit.append(found.misfit_pvalue < 0.05)
        yield rate, np.mean(inside), np.median(ratio), np.mean(misfit)


if __name__ == "__main__":
    for row in table(int(sys.argv[1]), *map(int, sys.argv[2:4])):
        print("| {:g} | {:.3f} | {:.2f} | {:.3f} |".format(*row))
