"""Samples whose true calibration is known."""

import numpy as np


def expit(x):
    return 1.0 / (1.0 + np.exp(-np.asarray(x, dtype=float)))


def calibrated(rng, n):
    """The curve of scores that are right."""
    from ogive import Curve

    eta = rng.normal(1.0, 1.5, n)
    return Curve.from_scores(expit(eta), rng.random(n) < expit(eta))


def overconfident(rng, n, factor=2.0):
    """Scores whose log-odds are `factor` times the true ones: (scores, hits, truth)."""
    eta = rng.normal(1.0, 1.5, n)
    truth = expit(eta)
    return expit(factor * eta), rng.random(n) < truth, truth


def saturated_logits(rng, n, K=4, scale=12.0):
    """Logits far apart, so that most top scores round to 1.0, with labels that depend on the gap.

    Returns logits (n, K), labels (n,), and the true probability that the top class is right.
    """
    gap = rng.uniform(5.0, 5.0 * scale, n)
    truth = expit(gap / scale - 1.0)
    top = rng.integers(0, K, n)
    logits = np.zeros((n, K))
    logits[np.arange(n), top] = gap
    other = (top + rng.integers(1, K, n)) % K
    labels = np.where(rng.random(n) < truth, top, other)
    return logits, labels, truth


def too_high(rng, n=600, power=2.0):
    """Draw uniform scores whose outcomes have the probability score ** power."""
    scores = rng.random(n)
    return scores, rng.random(n) < scores**power


def rare(rng, n=3000, power=1.5):
    """Draw scores that are truth ** power, and outcomes of which a tenth is 1."""
    truth = rng.beta(1, 9, n)
    return truth**power, rng.random(n) < truth
