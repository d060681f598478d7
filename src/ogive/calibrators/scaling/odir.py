r"""MS-ODIR and Dir-ODIR: a matrix on logits or on log-probabilities, kept near the diagonal.

Kull et al. (2019), as the paper ran them: the calibrated vector is softmax(W x + b), where x are
the logits less the mean of their row (MS-ODIR) or the logarithms of the clipped probabilities
(Dir-ODIR), and W and b minimise, from the identity on,

.. math:: \text{mean cross-entropy} + \lambda \sum_{i \ne j} W_{ij}^2 + \mu \sum_j b_j^2 .

Both strengths are chosen by five-fold cross-validation on log-loss, over every pair of the grid.
The calibrated probability is the **mean over the five fold models** of the chosen pair.

Above 256 classes, where one fit takes minutes, three strengths each way are tried, on 5 K rows at
the most; the fold models are fitted to all rows, in float32, until a step gains less than 1e-6.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, TypeVar

import numpy as np

from ogive._numerics.blocks import blocks, thread_count
from ogive._numerics.softmax_regression import softmax_columns
from ogive.calibrators.log_values import (
    log_probabilities,
    log_values,
    row_count,
    with_weight,
    zero_floor,
)
from ogive.calibrators.matrix_map import MatrixMap
from ogive.calibrators.scaling.odir_search import Search, splits
from ogive.calibrators.scaling.temperature import fit_temperature
from ogive.errors import FallbackWarning, InvalidInput
from ogive.rows.check import as_floats
from ogive.rows.predictions import labelled

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ogive._typing import AnyArray, ArrayLike, FloatArray, Progress
    from ogive.calibrators.scaling.odir_search import Split
    from ogive.rows.predictions import Predictions

FOLDS = 5  # as published
SEED = 15
_MIN_CLASSES_FOR_SHORT_GRID = 50  # between the published grids, for 10 and for 100 classes
_MAX_CLASSES_FOR_FULL_GRID = 256  # with more, a fit takes minutes
_ROWS_PER_CLASS_TO_CHOOSE = 5  # there, the strengths are chosen on so many
#: Passes over the rows there, of all nine pairs and of the last fit, and what one costs.
_PASSES_TO_CHOOSE, _PASSES_AT_THE_END, _SECONDS_PER_PASS = 350, 50, 6e-11  # of n K²
#: The penalties have a scale, and are made for logits of a network, up to about 100. Logits of
#: another unit, with a root mean square above the first, are divided by a power of two that brings
#: it below the second: else 16 digits could not hold the penalty beside the loss.
_MAX_ROOT_MEAN_SQUARE, _USUAL_ROOT_MEAN_SQUARE = 1000.0, 16.0
_SMALLEST_PROBABILITY = 2.0**-52  # smaller ones are clipped to this before their logarithm


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class OdirMap(MatrixMap):
    """The mean of the fold models' softmax(W x + b).

    Attributes
    ----------
    matrix : (folds, K, K) array
        W of each fold model.
    offset : (folds, K) array
        b of each fold model.
    strength : float
        λ, the penalty on what is off the diagonal.
    offset_strength : float
        μ, the penalty on the offsets.
    cv_loss : float
        The mean log-loss on held-out rows of the chosen pair.
    floor : float
        Where the logarithm of a probability of exactly 0 is put.
    centred : bool
        Whether the mean of a row's logits is taken off them first; that of log-probabilities never
        is.
    """

    matrix: FloatArray
    offset: FloatArray
    strength: float
    offset_strength: float
    cv_loss: float
    floor: float
    centred: bool = False  # in artifacts of 0.1.0

    @classmethod
    def features(
        cls, preds: Predictions, at: slice, floor: float, *, centred: bool = True
    ) -> FloatArray:
        """Return x, (rows, K)."""
        return log_values(preds, at, floor, centred=centred)

    def _block(self, preds: Predictions, at: slice) -> FloatArray:
        x = self.features(preds, at, self.floor, centred=self.centred).T
        mean = np.zeros_like(x)
        for W, b in zip(self.matrix, self.offset, strict=True):
            mean += softmax_columns(W @ x + b[:, None])
        mean /= mean.sum(axis=0)
        return mean.T

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(strength={self.strength:g}, "
            f"offset_strength={self.offset_strength:g}, K={self.K}, n={self.n:,})"
        )


class MsOdirMap(OdirMap):
    """What `fit_ms_odir` returns: x are the logits less the mean of their row."""

    method: ClassVar[str] = "ms-odir"


class DirOdirMap(OdirMap):
    """What `fit_dir_odir` returns: x are the logarithms of the clipped probabilities."""

    method: ClassVar[str] = "dir-odir"

    @classmethod
    def features(
        cls,
        preds: Predictions,
        at: slice,
        floor: float,  # noqa: ARG003
        *,
        centred: bool = True,  # noqa: ARG003
    ) -> FloatArray:
        """Return x, (rows, K)."""
        return log_probabilities(preds, at, _SMALLEST_PROBABILITY)


AnyOdir = TypeVar("AnyOdir", bound=OdirMap)


def fit_ms_odir(
    preds: Predictions,
    *,
    strengths: ArrayLike | None = None,
    offset_strengths: ArrayLike | None = None,
    cv: int | Sequence[Split] = FOLDS,
    random_state: int = SEED,
    progress: Progress | None = None,
    n_jobs: int | None = None,
) -> MatrixMap:
    """Fit matrix scaling with ODIR: softmax(W · logits + b).

    Parameters
    ----------
    preds : Predictions
        With labels. A logit of −inf, or a probability of 0, is put at a floor.
    strengths, offset_strengths : array-like, optional
        The grids of λ and μ, > 0. Default: λ in {1, 0.5, 0.25} · 10^e and μ in 10^e, for e from
        −5 to 6 (from −2 for 50 classes and more). Above 256 classes λ and μ are 1, 100 or 10,000,
        and the pair is chosen on 5 K rows at the most, evenly spread; `minutes` estimates the time.
    cv : int or list of pairs
        How many parts the rows are shuffled into, or the rows to fit and to hold out of each.
    random_state : int
        Shuffles them.
    progress : callable, optional
        Called as ``progress(what, done, total)`` before the first fit, after each, and every
        second within a fit, by one thread at a time.
    n_jobs : int, optional
        Folds are fitted side by side. Results do not depend on it.

    Returns
    -------
    MsOdirMap
        Or, with fewer than 2 K rows or 2 rows per fold, a `TemperatureMap` and a warning.
    """
    grid = _grid(preds, strengths, offset_strengths)
    return _fit(
        MsOdirMap, preds, grid, cv=cv, random_state=random_state, progress=progress, n_jobs=n_jobs
    )


def fit_dir_odir(
    preds: Predictions,
    *,
    strengths: ArrayLike | None = None,
    offset_strengths: ArrayLike | None = None,
    cv: int | Sequence[Split] = FOLDS,
    random_state: int = SEED,
    progress: Progress | None = None,
    n_jobs: int | None = None,
) -> MatrixMap:
    """Fit Dirichlet calibration with ODIR: softmax(W · log p + b), p clipped to 2^-52.

    The parameters are those of `fit_ms_odir`.
    """
    grid = _grid(preds, strengths, offset_strengths)
    return _fit(
        DirOdirMap, preds, grid, cv=cv, random_state=random_state, progress=progress, n_jobs=n_jobs
    )


def minutes(n: int, K: int, n_jobs: int | None = None) -> int:
    """Estimate how long a fit to n rows of more than 256 classes takes, give or take a factor of 2.

    >>> minutes(25_000, 1_000, n_jobs=2)
    6
    """
    choosing = min(n, _ROWS_PER_CLASS_TO_CHOOSE * K)
    rows = 0.8 * FOLDS * (_PASSES_TO_CHOOSE * choosing + _PASSES_AT_THE_END * n)
    threads = min(thread_count(n_jobs), FOLDS)
    return max(1, round(rows * K**2 * _SECONDS_PER_PASS / threads / 60.0))


def _grid(
    preds: Predictions, strengths: ArrayLike | None, offset_strengths: ArrayLike | None
) -> tuple[FloatArray, FloatArray]:
    """Return the grids of λ and μ, falling."""
    labelled(preds)
    first = -5 if preds.K < _MIN_CLASSES_FOR_SHORT_GRID else -2
    if preds.K <= _MAX_CLASSES_FOR_FULL_GRID:
        decades = 10.0 ** np.arange(first, 7)
        default = np.outer(decades, [1.0, 0.5, 0.25]).ravel(), decades
    else:
        default = (10.0 ** np.arange(0, 5, 2),) * 2
    given = {"strengths": strengths, "offset_strengths": offset_strengths}
    grids = []
    for (name, values), usual in zip(given.items(), default, strict=True):
        grid = usual if values is None else as_floats(values, name, ndim=(1,)).astype(np.float64)
        if not ((grid > 0) & (grid < np.inf)).all():
            msg = f"`{name}` must be finite and > 0, not {grid.tolist()}."
            raise InvalidInput(msg)
        grids.append(np.unique(grid)[::-1])
    return grids[0], grids[1]


def _fit(
    cls: type[AnyOdir],
    preds: Predictions,
    grid: tuple[FloatArray, FloatArray],
    *,
    cv: int | Sequence[Split],
    random_state: int,
    progress: Progress | None,
    n_jobs: int | None,
) -> MatrixMap:
    number = cv if isinstance(cv, int) else len(cv)
    if number < 2:  # noqa: PLR2004
        msg = f"`cv` must be at least 2, not {number}: strengths are chosen on held-out rows."
        raise InvalidInput(msg)
    if isinstance(cv, int):  # folds that are given hold the indices of all rows
        preds = with_weight(preds)
    if preds.n < 2 * number and number > FOLDS and preds.n >= 2 * max(preds.K, FOLDS):
        msg = (
            f"{number} folds of {preds.n} rows are too many: a fold needs 2 rows. "
            f"Use {preds.n // 2} or fewer (cv=)."
        )
        raise InvalidInput(msg)
    if preds.n < 2 * max(preds.K, number):
        warnings.warn(
            f"{preds.n} rows are too few for a matrix of {preds.K} classes and {number} folds: "
            "a temperature was fitted instead.",
            FallbackWarning,
            stacklevel=3,
        )
        return fit_temperature(preds, n_jobs=n_jobs)
    floor = zero_floor(preds)
    many = preds.K > _MAX_CLASSES_FOR_FULL_GRID
    rows = np.ones((preds.n, preds.K + 1), dtype=np.float32 if many else np.float64)
    for at in blocks(preds.n, width=preds.K):
        rows[at, :-1] = cls.features(preds, at, floor)
    unit = _unit(rows[:, :-1], preds.sample_weight)
    rows[:, :-1] /= unit
    in_all = f", about {minutes(preds.n, preds.K, n_jobs)} min" if many else ""
    search = Search(
        rows,
        labelled(preds),
        preds.sample_weight,
        *grid,
        what=f"fits of the grid{in_all}",
        every=-(-preds.n // (_ROWS_PER_CLASS_TO_CHOOSE * preds.K)) if many else 1,
    )
    parts = splits(preds.n, cv, random_state) if isinstance(cv, int) else cv
    found = search.run(parts, progress, n_jobs)
    return cls(
        view="vector",
        n=row_count(preds),
        K=preds.K,
        matrix=found.models[:, :, :-1] / unit,
        offset=found.models[:, :, -1].copy(),
        strength=found.strength,
        offset_strength=found.offset_strength,
        cv_loss=found.loss,
        floor=floor,
        centred=True,
    )


def _unit(values: AnyArray, weights: FloatArray | None) -> float:
    """Return what large logits are divided by, a power of two; 1 for those of usual size."""
    largest = max(float(np.abs(values).max()), 1.0)  # so that no square overflows
    size = largest * float(
        np.sqrt(np.average((values / largest) ** 2, axis=0, weights=weights).mean())
    )
    if size <= _MAX_ROOT_MEAN_SQUARE:
        return 1.0
    return float(2.0 ** np.ceil(np.log2(size / _USUAL_ROOT_MEAN_SQUARE)))
