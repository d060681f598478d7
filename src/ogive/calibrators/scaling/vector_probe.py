"""Whether to finish a fit of vector scaling: its loss on held-out rows, after a few steps.

With a thousand classes and a few thousand rows, vector scaling takes hundreds of steps to an
optimum that is worse on new rows than one temperature. On such data the log loss of held-out rows
rises from the first steps on. So a fifth of the calibration rows is held out, and after every
eighth step the losses are compared with those of temperature scaling, row by row. Where they are
significantly worse, the fit cannot win a comparison with it.
"""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

import numpy as np

from ogive._numerics.blas import one_blas_thread
from ogive._numerics.blocks import blocks
from ogive._numerics.splits import row_hashes
from ogive._numerics.whitening import descend
from ogive.calibrators.log_values import effective_rows, with_weight
from ogive.calibrators.scaling.temperature import fit_temperature
from ogive.calibrators.scaling.vector import RIDGE, ScaledRows
from ogive.rows.predictions import Predictions, labelled

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ogive._typing import BoolArray, FloatArray
    from ogive.calibrators.matrix_map import MatrixMap
    from ogive.calibrators.scaling.vector import VectorMap

#: Numbers in a matrix from which a fit takes seconds. Below, it is fitted and nothing is saved.
MIN_NUMBERS_FOR_A_PROBE = 1_000_000
#: Steps between two checks, and checks. Fits that help are done, or nearly, after that many steps
#: (11 and 18 on two networks with 100 classes); a fit that overfits takes hundreds.
STEPS_BETWEEN_CHECKS, CHECKS = 8, 3
#: One row in this many is held out.
HELD_OUT_SHARE = 5
#: Standard errors by which the held-out losses must be worse.
WORSE_ERRORS = 2.0
_TOLERANCE = 1e-6
_TO_THE_END: ContextVar[bool] = ContextVar("fit vector scaling to the end", default=False)


@contextmanager
def to_the_end() -> Iterator[None]:
    """Let `fit_vector` go on to its optimum inside this block, as after a probe of one's own."""
    token = _TO_THE_END.set(True)
    try:
        yield
    finally:
        _TO_THE_END.reset(token)


def stopped_by_itself(preds: Predictions, n_jobs: int | None) -> VectorMap | None:
    """Return what `stopped_early` does, for `fit_vector`: None inside `to_the_end`."""
    return None if _TO_THE_END.get() else stopped_early(preds, n_jobs=n_jobs)


def stopped_early(preds: Predictions, *, n_jobs: int | None = None) -> VectorMap | None:
    """Return the map at which vector scaling was stopped, or None if it is worth fitting.

    It is stopped if its log loss on held-out rows exceeds that of temperature scaling by more than
    two standard errors. The map was fitted to the other rows.
    """
    preds = with_weight(preds)
    small = preds.n * preds.K < MIN_NUMBERS_FOR_A_PROBE
    if preds.one_column or small or effective_rows(preds) < 2 * preds.K:
        return None
    held_out = _held_out(preds)
    if held_out.all() or not held_out.any():
        return None
    train, rest = preds.take(~held_out), preds.take(held_out)
    temperature = fit_temperature(train, n_jobs=n_jobs)
    before = _losses(temperature, rest)
    weights = np.ones(rest.n) if rest.sample_weight is None else rest.sample_weight
    with one_blas_thread():
        rows = ScaledRows(train, temperature.factor, n_jobs)
        theta, penalty = rows.start, np.full(rows.start.shape, RIDGE / 2.0)
        for _ in range(CHECKS):
            objective, bend = rows.penalised(RIDGE), rows.curvature(theta)
            theta, _, more = descend(
                objective, theta, bend, penalty, _TOLERANCE, STEPS_BETWEEN_CHECKS
            )
            gamma = rows.map_at(theta)
            if _is_worse(_losses(gamma, rest) - before, weights):
                return gamma
            if not more:
                break
    return None


def _is_worse(difference: FloatArray, weights: FloatArray) -> bool:
    share = weights / weights.sum()
    mean = float(share @ difference)
    error = float(np.sqrt(share**2 @ (difference - mean) ** 2))
    return mean > WORSE_ERRORS * error


def _held_out(preds: Predictions) -> BoolArray:
    """Return which rows are held out, by their numbers: the same in any order of the rows."""
    labels = labelled(preds)
    chosen = np.empty(preds.n, dtype=np.bool_)
    for at in blocks(preds.n, width=preds.K):
        hashes = row_hashes(preds.log_masses(at), labels[at])
        chosen[at] = hashes % np.uint64(HELD_OUT_SHARE) == 0
    return chosen


def _losses(gamma: MatrixMap, preds: Predictions) -> FloatArray:
    own = gamma(preds)[np.arange(preds.n), labelled(preds)]
    losses: FloatArray = -np.log(np.maximum(own, np.finfo(np.float64).tiny))
    return losses
