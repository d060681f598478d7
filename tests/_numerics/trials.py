"""A small logistic regression: its likelihood, places and outcomes."""

import numpy as np

from ogive._numerics.binomial import Likelihood, Trials


def problem(rng, rows=200, columns=2):
    x = np.sort(rng.normal(size=rows))
    X = np.stack([x**power for power in range(columns)], 1)
    hits = (rng.random(rows) < 1 / (1 + np.exp(-0.5 * x - 0.3))).astype(float)
    return Likelihood(Trials(x, np.ones(rows), hits, x), X, hits @ X), x, hits
