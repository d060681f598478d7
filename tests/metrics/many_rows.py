"""Samples that are long enough for the paths that do not look at every row."""

import numpy as np

ROWS = 70_000


def drawn(kind, rng):
    """Scores and outcomes; `kind` says what is hard about them."""
    p = rng.beta(2, 2, ROWS)
    if kind == "tied":
        p = p.round(4)
    elif kind == "low":
        p = p / 4
    elif kind == "high":
        p = 1.0 - p * p / 8
    elif kind == "saturated":
        p = np.where(rng.random(ROWS) < 0.3, 1.0, np.where(rng.random(ROWS) < 0.1, 0.0, p))
    elif kind == "single":
        p = p.astype(np.float32)
    truth = p**1.3 if kind == "over" else p
    return p, rng.random(ROWS) < truth
