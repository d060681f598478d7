r"""Impossible classes: probability 0 before calibration, and exactly 0 after it.

A logit of −inf makes a class impossible (an answer option that does not exist, a masked token).
A given *probability* of 0 is often rounding, or votes of few trees, and can be the true class; it
is impossible only with ``impossible="zero"``.

The calibrated vector q of a row is conditioned on its possible classes: the others get 0, and

* where the top class has a map of its own ("keep", "free", "ranks") it keeps its probability t, and
  the other possible classes share 1 − t in proportion, unless one of them would overtake it: then t
  is raised as far as it must;
* else every class is divided by their sum.

A row whose possible classes would all get 0 keeps its uncalibrated probabilities.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from ogive._numerics.blocks import blocks
from ogive.calibrators.stick_breaking import MARGIN
from ogive.errors import InvalidInput, OgiveWarning

if TYPE_CHECKING:
    from ogive._typing import BoolArray, FloatArray
    from ogive.rows.predictions import Predictions

#: What is impossible besides a logit of −inf: None, nothing; "zero", a given probability of 0.
Impossible: TypeAlias = Literal["zero"] | None


def check_impossible(impossible: object) -> None:
    """Check the option `impossible`."""
    if impossible not in {None, "zero"}:
        msg = (
            f"`impossible` must be None or 'zero', not {impossible!r}: 'zero' makes a given "
            "probability of 0 impossible, as a logit of -inf always is."
        )
        raise InvalidInput(msg)


def impossible_in(preds: Predictions, at: slice, impossible: Impossible = None) -> BoolArray | None:
    """Return which classes of some rows are impossible, (rows, K); None if none is."""
    if preds.kind == "probs":
        zero: BoolArray | None = None if impossible is None else preds.masses(at) == 0.0
        return zero
    block = preds.values[at]
    if not block.size or block.min() > -np.inf:
        return None
    zero = block == -np.inf
    if preds.one_column:
        column = zero.reshape(-1)
        zero = np.stack([np.zeros_like(column), column], axis=1)
    return zero


def keep_impossible(
    preds: Predictions, result: FloatArray, impossible: Impossible, *, keeps_top: bool
) -> FloatArray:
    """Make impossible classes exactly 0 in calibrated vectors, (N, K), in place."""
    for at in blocks(preds.n, width=preds.K):
        zero = impossible_in(preds, at, impossible)
        rows = None if zero is None else np.flatnonzero(zero.any(axis=1))
        if zero is None or rows is None or not rows.size:
            continue
        q = result[at][rows]
        lost = np.sum(q, axis=1, where=zero[rows])
        q[zero[rows]] = 0.0
        total = q.sum(axis=1)
        some = total > 0.0
        if keeps_top:
            q[some] = _with_top(q[some], lost[some])
        else:
            q[some] /= total[some, None]
        if not some.all():
            q[~some] = preds.probabilities(at)[rows[~some]]
        result[at][rows] = q
    return result


def _with_top(q: FloatArray, lost: FloatArray) -> FloatArray:
    """Share what impossible classes lost among those below the top; the top stays the top."""
    at, top = np.arange(q.shape[0]), q.argmax(axis=1)
    own = q[at, top]
    q[at, top] = 0.0
    rest, second = q.sum(axis=1), q.max(axis=1)
    shared = rest > 0.0
    part = np.divide(second, rest, out=np.zeros_like(rest), where=shared)
    least = (own + rest + lost) * part / (1.0 - MARGIN + part)
    left = rest + lost
    raised = np.maximum(own, least)
    left = np.where(raised > own, own + left - raised, left)
    scale = np.divide(left, rest, out=np.zeros_like(rest), where=shared)
    q *= scale[:, None]
    q[at, top] = np.minimum(np.where(shared, raised, own + lost), 1.0)  # their sum may round up
    return q


def warn_of_labels(preds: Predictions, impossible: Impossible = None) -> None:
    """Warn if the true class of some rows is impossible."""
    labels = preds.labels
    if labels is None:
        return
    count = 0
    for at in blocks(preds.n, width=preds.K):
        zero = impossible_in(preds, at, impossible)
        if zero is not None:
            count += int(zero[np.arange(zero.shape[0]), labels[at]].sum())
    if count:
        what = "a logit of -inf" if preds.kind == "logits" else "probability 0"
        warnings.warn(
            f"the true class of {count:,} of {preds.n:,} rows is impossible ({what}), and keeps "
            "probability 0 after calibration. Check these rows, or give a finite value.",
            OgiveWarning,
            stacklevel=3,
        )
