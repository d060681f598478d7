"""Fitting the class structure, and its scores for rows it was not fitted on.

The curve of the calibrated top class must come from rows that did not fit the structure: on its
own rows it is overconfident. So the rows are dealt to two halves, each half is scored by a
structure fitted to the other (with the same priors), and the one-dimensional map is fitted to
these scores. All of it is done with the classes in an order of their own (`class_order`), so
that the order of the columns does not matter.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ogive._numerics.best_share import Change, mean_share
from ogive._numerics.blas import one_blas_thread
from ogive._numerics.class_evidence import Shrunk, default_precision, fit_at, fit_on, shrink
from ogive._numerics.class_regression import SINGLE, ClassRegression
from ogive._numerics.class_validation import validate
from ogive._numerics.dense_curvature import is_small
from ogive._numerics.splits import halves
from ogive.calibrators.multiclass.class_order import class_order, mean_range
from ogive.calibrators.multiclass.class_rows import read_rows
from ogive.calibrators.multiclass.class_structure import ClassStructure
from ogive.errors import FallbackWarning, InvalidInput
from ogive.rows.predictions import labelled

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ogive._typing import AnyArray, FloatArray, IntArray, Progress
    from ogive.calibrators.multiclass.class_rows import ClassRows
    from ogive.rows.predictions import Predictions

_MAX_NUMBERS_FOR_PRIORS = 4_000_000  # with more, the priors are learnt from a sample of rows
_ROWS_OF_SAMPLE = 8_192
_RANK, _RANK_MANY, _MIN_CLASSES_FOR_LOWER_RANK = 128, 64, 257
_MIN_ROWS = 40  # 20 in each half; with fewer, only a temperature is fitted
_DIGITS = 8
_WEIGHT_OF_A_CERTAIN_ROW = 1e-6  # the weight in V's moments of a row that is certain
#: What is added to the moments of classes, in different shares of their mean: equal eigenvalues (as
#: of one-hot rows, with as many of several classes) would leave their eigenvectors to rounding, and
#: with them what conjugate gradients find in a limited number of steps.
EQUAL_MOMENTS_APART = 1e-6
_GOLDEN = 0.6180339887498949
_STAGES = 4  # of a fit: the priors, two halves, all rows


class Unseen(NamedTuple):
    """Scores of rows by a structure that was not fitted to them."""

    rows: IntArray  # (m,) indices
    scores: AnyArray  # (K, m)
    weights: FloatArray  # (m,)


@dataclass(frozen=True)
class ClassFit:
    """A class structure, and the scores of all rows by halves.

    place : (K,) the row of each class in the scores
    """

    structure: ClassStructure
    unseen: tuple[Unseen, ...]
    place: IntArray


def fit_classes(
    preds: Predictions, *, n_jobs: int | None = None, progress: Progress | None = None
) -> ClassFit:
    """Fit the class structure to predictions with labels, and score them by halves."""
    with one_blas_thread():
        return _fit(preds, n_jobs, progress or _no_progress)


def _no_progress(what: str, done: float, total: int) -> None:
    """Ignore progress: the default callback."""


def _fit(preds: Predictions, n_jobs: int | None, step: Progress) -> ClassFit:
    labelled(preds)
    if preds.one_column:
        msg = "`preds` has one column, not one for each class. Fit its curve, or use fit_ovr."
        raise InvalidInput(msg)
    scale = mean_range(preds, n_jobs=n_jobs)
    order = class_order(preds, scale, n_jobs=n_jobs)
    place = np.argsort(order)
    structure, unseen = _fit_ordered(preds.reordered(order), scale, n_jobs, step=step)
    return ClassFit(structure.reordered(place), tuple(unseen), place)


def _fit_ordered(
    preds: Predictions, scale: float, n_jobs: int | None, *, step: Progress
) -> tuple[ClassStructure, Iterable[Unseen]]:
    """Do so with the classes in an order that does not depend on that of the columns."""
    rows = read_rows(preds, scale, n_jobs=n_jobs)
    bases = _bases(rows)
    if float(rows.weights.sum()) < _MIN_ROWS:
        return _temperature_only(rows, bases)
    step("learning the size of class effects", 0, _STAGES)
    share = halves(rows.hashes, rows.weights, whole=preds.weight_kind == "repetition")
    parts = (1.0 - share, share)
    pair = [_regression(rows, bases, n_jobs, part) for part in parts]
    found = _priors(rows, bases, parts, pair, n_jobs)
    halved = _by_halves(rows, pair, found, parts, step=step)
    step("fitting all classes", _STAGES - 1, _STAGES)
    theta = _fit_all(_regression(rows, bases, n_jobs), found, halved)
    holds = mean_share([half.change for half in halved], n_jobs=n_jobs)
    structure = _structure(_trust(holds) * theta, found, bases, rows)
    return structure, _unseen(preds, rows, halved, holds)


def _trust(share: float) -> float:
    """Return the share of the structure's effect to use, given the share that holds for halves.

    If its effect on the scores has the variance S, and noise adds V where all rows are seen, then
    of the effect that half the rows show S / (S + 2 V) holds: that is `share`. Of the effect that
    all rows show S / (S + V) holds.
    """
    return 2.0 * share / (1.0 + share)


def _temperature_only(
    rows: ClassRows, bases: tuple[FloatArray, FloatArray]
) -> tuple[ClassStructure, Iterable[Unseen]]:
    """Return a structure that leaves the classes unchanged: there are too few rows."""
    warnings.warn(
        f"{rows.weights.sum():.4g} rows are too few to learn class effects, which needs "
        f"{_MIN_ROWS}: a temperature was fitted instead.",
        FallbackWarning,
        stacklevel=7,
    )
    K, r = bases[0].shape
    nothing = Shrunk(np.zeros((K, SINGLE + 2 * r)), default_precision(K), np.zeros(5), None)
    structure = _structure(nothing.theta, nothing, bases, rows)
    return structure, [Unseen(rows.index, rows.logs, rows.weights)]


def _bases(rows: ClassRows) -> tuple[FloatArray, FloatArray]:
    """Return V_A and V_p: the directions in which a and p vary most where the model is unsure.

    They are leading eigenvectors of second moments, each row weighted by 1 − Σ p², the variance
    of its outcome. With r = K any basis would do; this one makes the search short.
    """
    K, n = rows.logs.shape
    rank = min(K, _RANK) if K < _MIN_CLASSES_FOR_LOWER_RANK else _RANK_MANY
    at = slice(None) if n <= _ROWS_OF_SAMPLE else rows.sample(_ROWS_OF_SAMPLE)
    logs = rows.logs[:, at]
    probs = np.exp(logs)
    weight = (
        rows.weights[at] * (1.0 - (probs * probs).sum(axis=0) + _WEIGHT_OF_A_CERTAIN_ROW)
    ).astype(logs.dtype)
    return _leading(logs, weight, rank), _leading(probs, weight, rank)


def _leading(values: AnyArray, weight: AnyArray, rank: int) -> FloatArray:
    moments = ((values * weight) @ values.T).astype(np.float64)
    K = moments.shape[0]
    # The fractional parts of multiples of the golden ratio are well separated.
    apart = np.modf(_GOLDEN * np.arange(1, K + 1))[0]
    moments[np.diag_indices(K)] += EQUAL_MOMENTS_APART * np.trace(moments) / K * apart
    if rank == K:
        return np.ascontiguousarray(np.linalg.eigh(moments)[1][:, ::-1])
    from scipy.linalg import eigh  # noqa: PLC0415 - heavy

    return np.ascontiguousarray(eigh(moments, subset_by_index=[K - rank, K - 1])[1][:, ::-1])


def _regression(
    rows: ClassRows,
    bases: tuple[FloatArray, FloatArray],
    n_jobs: int | None,
    share: FloatArray | None = None,
    among: IntArray | None = None,
) -> ClassRegression:
    """Return the regression of all rows, or of the share that belongs to a half (of a sample)."""
    if share is None:
        return ClassRegression(rows.logs, rows.labels, rows.plain, bases, n_jobs=n_jobs)
    at = np.flatnonzero(share > 0.0) if among is None else among[share[among] > 0.0]
    return ClassRegression(*rows.some(at, (rows.weights * share)[at]), bases, n_jobs=n_jobs)


def _priors(
    rows: ClassRows,
    bases: tuple[FloatArray, FloatArray],
    parts: tuple[FloatArray, FloatArray],
    pair: list[ClassRegression],
    n_jobs: int | None,
) -> Shrunk:
    """Learn the precisions; of many classes from the halves, or some of their rows if many."""
    if is_small(pair[0].logs.dtype, pair[0].shape):
        return shrink(_regression(rows, bases, n_jobs))
    if rows.logs.size > _MAX_NUMBERS_FOR_PRIORS:
        among = rows.sample(_ROWS_OF_SAMPLE)
        pair = [_regression(rows, bases, n_jobs, part, among) for part in parts]
    return validate(*pair)


class _Half(NamedTuple):
    """Rows scored by a structure fitted to the others: which, and what it changes."""

    rows: IntArray  # (m,) indices
    change: Change
    theta: FloatArray


def _by_halves(
    rows: ClassRows,
    pair: list[ClassRegression],
    priors: Shrunk,
    parts: tuple[FloatArray, FloatArray],
    *,
    step: Progress,
) -> list[_Half]:
    """Score each half by a structure fitted to the other.

    A start that used the other half would leak information, unless the search fully converges,
    as it does in small problems. In others each fit starts from what its own rows gave.
    """
    found: list[_Half] = []
    for i, (fitted, rest) in enumerate((pair, pair[::-1])):
        step(f"fitting half {i + 1} of the rows", i + 1, _STAGES)
        theta = _fit_half(fitted, priors, i)
        at = np.flatnonzero(parts[1 - i] > 0.0)
        held = (rows.weights * parts[1 - i])[at]
        found.append(_Half(at, Change(rest.logs, rest.scores(theta), rest.labels, held), theta))
    return found


def _fit_half(rows: ClassRegression, priors: Shrunk, i: int) -> FloatArray:
    """Fit a half; if the priors were learnt from halves, from where that ended."""
    if not priors.halves:
        return fit_at(rows, priors.precision, priors.theta, near=priors.curvature)
    state, near = priors.halves[i]
    if sum(q.shape[1] for q in state.q) != rows.n:  # they were learnt from some of the rows
        state, near = rows.state(state.theta), near.of(rows)
    return fit_on(rows, state, near)


def _fit_all(rows: ClassRegression, priors: Shrunk, halved: list[_Half]) -> FloatArray:
    """Fit all rows: of many classes from the mean of the halves, which is nearly the result."""
    if not priors.halves:
        return fit_at(rows, priors.precision, priors.theta, near=priors.curvature)
    (_, first), (_, second) = priors.halves
    start = np.mean([half.theta for half in halved], axis=0)
    return fit_on(rows, rows.state(start), first.of(rows, second))


def _unseen(
    preds: Predictions, rows: ClassRows, halved: list[_Half], share: float
) -> Iterator[Unseen]:
    """Yield the scores of the halves, with the share of the change that holds."""
    for at, change, _ in halved:
        scores = change.changed
        if share < 1.0:
            scores = change.base + scores.dtype.type(share) * (scores - change.base)
        index = rows.index[at]
        weights = change.weights
        if preds.sample_weight is not None and preds.weight_kind == "sampling":
            weights = preds.sample_weight[index]
        yield Unseen(index, scores, weights)


def _structure(
    theta: FloatArray,
    found: Shrunk,
    bases: tuple[FloatArray, FloatArray],
    rows: ClassRows,
) -> ClassStructure:
    """Gather the numbers; where r = K the products M V' are stored, and V is the unit matrix."""
    K, r = bases[0].shape
    matrices = theta[:, SINGLE : SINGLE + r], theta[:, SINGLE + r :]
    left, right = list(matrices), list(bases)
    if r == K:
        left = [M @ V.T for M, V in zip(matrices, bases, strict=True)]
    return ClassStructure(
        factor=rows.factor,
        floor=rows.floor,
        logs=1.0 + theta[:, 0],
        probs=theta[:, 1].copy(),
        offset=theta[:, 2].copy(),
        to_logs=short(left[0]),
        to_probs=short(left[1]),
        of_logs=None if r == K else short(right[0]),
        of_probs=None if r == K else short(right[1]),
        precision=found.precision,
        edf=found.edf,
    )


def short(matrix: FloatArray) -> FloatArray:
    """Return the numbers with eight digits of the largest, which is half as long in a file."""
    largest = float(np.abs(matrix).max())
    digits = _DIGITS - int(np.ceil(np.log10(largest))) if largest > 0.0 else _DIGITS
    return np.round(matrix, digits)
