"""How often intervals of estimated base rates hold the true ones.

The tables of docs/theory/base-rate.md:
``python -m tests.slow.base_rate_simulations two RUNS [SHIFT]`` prints that of base rates; with a
shift, the scores within the classes change too.
``... expect RUNS`` prints that of what is expected after an estimate.
"""

import sys
import warnings

import numpy as np
from scipy.special import logit
from sklearn.metrics import roc_auc_score

from ogive import Curve, expected_performance, fit_spline
from ogive.calibrators.shifted import shifted
from ogive.studies.base_rate import CalibrationScores, calibration_scores, estimate_base_rate

RATES = (0.001, 0.01, 0.1, 0.5, 0.9)


def scores(rng, n, rate, shift=0.0):
    """Scores of a model whose log-odds are normal within each class, calibrated at 50 %."""
    y = rng.random(n) < rate
    eta = rng.normal(np.where(y, 1.5, -1.5), np.sqrt(3.0), n) + shift
    return 1 / (1 + np.exp(-eta)), y


def one_rate(rng, rate, rows, fitted, trained_at, shift):
    """The estimate of two classes, and that without the calibrator's uncertainty."""
    s, y = scores(rng, fitted, trained_at)
    curve = Curve.from_scores(s, y)
    gamma = fit_spline(curve)
    q = gamma.from_tails(curve.high, curve.tail)
    known = _binned(CalibrationScores, calibration_scores(q, curve.count, curve.hits))
    new, _ = scores(rng, rows, rate, shift)
    given = gamma(new), np.ones(rows), curve.total_hits / curve.n
    return estimate_base_rate(*given, known), estimate_base_rate(*given)


def expected_after(rate, runs, rows=2000, fitted=2000, trained_at=0.3, fit=fit_spline, known=False):
    """How often `expect` and the band hold the truth after an estimated base rate, or a known one.

    Returns the shares of logs whose accuracy, precision and AUC are in their intervals, and that of
    rows whose true probability is in the band.
    """
    rng = np.random.default_rng(int(1e6 * rate))
    held, inside = [], []
    for _ in range(runs):
        s, y = scores(rng, fitted, trained_at)
        curve = Curve.from_scores(s, y)
        gamma, before = fit(curve), curve.total_hits / curve.n
        new, seen = scores(rng, rows, rate)
        q = gamma.from_tails(curve.high, curve.tail)
        bins = _binned(CalibrationScores, calibration_scores(q, curve.count, curve.hits))
        found = estimate_base_rate(gamma(new), np.ones(rows), before, bins)
        if not 0.0 < found.base_rate < 1.0:
            continue  # refused by `shift --like`
        own = {"how": "estimated", "log_odds_variance": found.log_odds_variance}
        moved = shifted(gamma, found.base_rate, trained_at=before, **own)
        if known:
            moved = shifted(gamma, rate, trained_at=before)
        q, numbers = moved(new), expected_performance(new, calibrator=moved)
        yes = q >= 0.5
        truth = (yes == seen).mean(), seen[yes].mean() if yes.any() else np.nan
        truth = *truth, roc_auc_score(seen, q) if 0 < seen.sum() < rows else np.nan
        ends = numbers.accuracy, numbers.precision, numbers.auc
        held.append([np.nan if np.isnan(x) or np.isnan(e.low) else e.low <= x <= e.high
                     for e, x in zip(ends, truth, strict=True)])  # fmt: skip
        if fit is fit_spline:
            true = 1 / (1 + np.exp(-(logit(new) + logit(rate))))  # the scores are right at 50 %
            low, high = moved.band(new)
            inside.append(np.mean((low <= true) & (true <= high)))
    return *np.nanmean(held, axis=0), np.mean(inside) if inside else np.nan


def _binned(kind, values):
    return kind(**{name: np.array(value) for name, value in values.items()})


def two_classes(runs, rows=10_000, fitted=20_000, trained_at=0.3, shift=0.0, rates=RATES):
    """Yield rate, coverage, width over that without the calibrator, share of misfits found."""
    for rate in rates:
        yield rate, *_summed(runs, rate, one_rate, rows, fitted, trained_at, shift)


def _summed(runs, truth, estimate, *arguments):
    rng = np.random.default_rng(int(1e6 * np.ravel(truth)[0]))
    inside, ratio, misfit = [], [], []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(runs):
            found, alone = estimate(rng, truth, *arguments)
            low, high = np.array(found.low), np.array(found.high)
            inside.append((low <= truth) & (truth <= high))
            width = np.array(alone.high) - np.array(alone.low)
            ratio.append((high - low) / np.where(width > 0.0, width, np.nan))
            misfit.append(found.misfit_pvalue < 0.05)
    return np.mean(inside, axis=0), np.nanmedian(ratio, axis=0), np.mean(misfit)


def _words(values, digits):
    return ", ".join(f"{x:.{digits}f}" for x in np.ravel(values))


def print_expected(runs):
    """Print the table of what is expected after an estimated base rate."""
    for fitted, rows in ((500, 2000), (2000, 2000), (20_000, 2000)):
        for rate in (0.02, 0.1, 0.7):
            found = expected_after(rate, runs, rows, fitted)
            cells = (
                f"{100 * rate:g} %",
                f"{fitted:,}",
                f"{rows:,}",
                *_words(100 * np.array(found), 1).split(", "),
            )
            print(f"| {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    if sys.argv[1] == "expect":
        print_expected(int(sys.argv[2]))
        sys.exit()
    moved = float(sys.argv[3]) if len(sys.argv) > 3 else 0.0
    for truth, inside, width, misfit in two_classes(int(sys.argv[2]), shift=moved):
        cells = _words(100 * np.array(truth), 1), _words(100 * inside, 1), _words(width, 2)
        print(f"| {' | '.join(cells)} | {100 * misfit:.1f} |", flush=True)
