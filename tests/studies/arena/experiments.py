"""Small experiments on disk, as the arena reads them."""

import numpy as np

from tests import simulate

METRICS = ("nll", "brier", "ks")


def save_scores(path, rng, n=240, factor=2.0):
    scores, hits, _ = simulate.overconfident(rng, 2 * n, factor=factor)
    np.savez(path, cal_scores=scores[:n], cal_outcomes=hits[:n],
             test_scores=scores[n:], test_outcomes=hits[n:])  # fmt: skip


def save_matrix(path, rng, labels=None, n=240):
    logits, found, _ = simulate.saturated_logits(rng, 2 * n)
    labels = found[n:] if labels is None else labels
    np.savez(path, cal_logits=logits[:n], cal_labels=found[:n],
             test_logits=logits[n:], test_labels=labels)  # fmt: skip
    return labels


def save_three(place, rng):
    """Three files of scores, in a folder of its own."""
    place.mkdir()
    for name in ("a", "b", "c"):
        save_scores(place / f"{name}.npz", rng)
    return place
