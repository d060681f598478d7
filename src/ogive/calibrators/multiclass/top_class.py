"""The top class of a row of scores, and how the others share the rest of the probability.

Scores become masses e = exp(s − max s), (rows, K). Two classes can be the top:

* **free**: the class of the largest score.
* **kept**: the class the model chose. If another has a larger mass, the two (or more) are pooled:
  the chosen one gets the largest mean m of its own mass and that of the c largest others, and
  none of the others more than m. This is the nearest vector, in the sense of every separable
  Bregman divergence, in which the chosen class is no smaller than any other.

The log-odds of the top class go through a map; its calibrated part t is put in its place, and
the others share 1 − t in proportion to their masses. Free: t is raised, where it must, so that
the top stays on top. Kept: no other class gets more than t, and the excess goes to the
others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ogive.calibrators.multiclass.class_structure import FARTHEST, FARTHEST_32
from ogive.calibrators.stick_breaking import MARGIN, fill

if TYPE_CHECKING:
    from ogive._typing import AnyArray, BoolArray, FloatArray, IntArray
    from ogive.calibrators.maps import Map


def masses_of(scores: AnyArray, out: FloatArray) -> None:
    """Write exp(s − max s) to `out`, never 0; `scores` are overwritten."""
    scores -= scores.max(axis=1, keepdims=True)
    farthest = FARTHEST_32 if scores.dtype == np.float32 else FARTHEST
    np.maximum(scores, farthest, out=scores)
    out[:] = np.exp(scores, out=scores)


def split_top(masses: FloatArray, top: IntArray) -> tuple[FloatArray, FloatArray]:
    """Return the mass of the top class and of all others, (rows,) each; the top's is set to 0."""
    rows = np.arange(top.size)
    own = masses[rows, top]
    masses[rows, top] = 0.0
    return own, masses.sum(axis=1)


def free_log_odds(rest: FloatArray) -> FloatArray:
    """Return the log-odds of a top class of mass 1 against all others."""
    log_odds: FloatArray = -np.log(rest)
    return log_odds


def kept_log_odds(
    own: FloatArray, others: FloatArray, rest: FloatArray
) -> tuple[FloatArray, BoolArray]:
    """Return the log-odds of the chosen class after pooling, and which rows were pooled.

    own : (rows,) mass of the chosen class; others : (rows, K) masses of the others, 0 at its
    place; rest : (rows,) their sum.
    """
    log_odds = np.log(own) - np.log(rest)
    pooled = own < 1.0  # the largest mass is 1
    pooled[pooled] = own[pooled] < others[pooled].max(axis=1)
    at = np.flatnonzero(pooled)
    if at.size:
        level = _pooled_level(own[at], others[at])
        log_odds[at] = np.log(level) - np.log(own[at] + rest[at] - level)
    return log_odds, pooled


def _pooled_level(own: FloatArray, others: FloatArray) -> FloatArray:
    """Return m, the root of m = own + Σ (x − m)+ over the others, by Newton's method from below.

    The right side is convex and straight between the others, so it ends after a few steps, when
    the same others as before are above m.
    """
    level, known = own, np.full(own.size, -1)
    while True:
        above = others > level[:, None]
        count = np.count_nonzero(above, axis=1)
        if (count == known).all():
            return level
        known = count
        level = (own + np.vecdot(others, above.astype(np.float64))) / (1.0 + count)


def put_free(masses: FloatArray, top: IntArray, rest: FloatArray, part: FloatArray) -> None:
    """Turn masses, 0 at the top, into probabilities with the top's part; in place."""
    second = masses.max(axis=1)
    part = np.maximum(part, second / (rest + second) * (1.0 + MARGIN))
    masses *= ((1.0 - part) / rest)[:, None]
    masses[np.arange(top.size), top] = part


def put_kept(masses: FloatArray, top: IntArray, rest: FloatArray, part: FloatArray) -> None:
    """Do the same with no other above the top's part."""
    K = masses.shape[1]
    part = np.maximum(part, 1.0 / (1.0 + (K - 1) * (1.0 - 3.0 * MARGIN)))
    fill(masses, rest, 1.0 - part, part * (1.0 - MARGIN))
    masses[np.arange(top.size), top] = part


def calibrated_free(scores: AnyArray, calibrator: Map, out: FloatArray) -> None:
    """Write the calibrated probabilities of some rows of scores, (rows, K)."""
    top = scores.argmax(axis=1)
    masses_of(scores, out)
    _, rest = split_top(out, top)
    put_free(out, top, rest, calibrator.from_log_odds(free_log_odds(rest)))


def calibrated_kept(scores: AnyArray, top: IntArray, calibrator: Map, out: FloatArray) -> None:
    """Do the same where the top class is given."""
    masses_of(scores, out)
    own, rest = split_top(out, top)
    log_odds, _ = kept_log_odds(own, out, rest)
    put_kept(out, top, rest, calibrator.from_log_odds(log_odds))
