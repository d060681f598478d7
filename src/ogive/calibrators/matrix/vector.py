r"""Vector scaling: one factor and one offset for each class.

The calibrated vector is softmax(a ∘ z + c), z the logits as they were given (or the logarithms of
the probabilities), where a and c minimise the cross-entropy, from the identity on, without a
penalty. Shifting all offsets alike changes nothing; the offsets are those nearest to where the
search began, and then centred.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ogive._numerics.blocks import BLOCK, for_each_block
from ogive._numerics.softmax_regression import cross_entropy, softmax_columns
from ogive._numerics.whitening import minimise
from ogive.calibrators.matrix.log_values import (
    enough_digits,
    log_values,
    row_count,
    zero_floor,
)
from ogive.calibrators.matrix.maps import MatrixMap
from ogive.calibrators.matrix.temperature import fit_temperature
from ogive.errors import FallbackWarning
from ogive.predictions import labelled

if TYPE_CHECKING:
    from collections.abc import Callable

    from ogive._typing import FloatArray
    from ogive.predictions import Predictions

_LONG = 64  # rows of so many classes are summed over in place, shorter ones side by side


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class VectorMap(MatrixMap):
    """softmax(factor · logits + offset), class by class: what `fit_vector` returns.

    Attributes
    ----------
    factor, offset : (K,) arrays
    floor : float
        Where the logarithm of a probability of exactly 0 is put.
    """

    method: ClassVar[str] = "vector"

    factor: FloatArray
    offset: FloatArray
    floor: float

    def _block(self, preds: Predictions, at: slice) -> FloatArray:
        scores = log_values(preds, at, self.floor) * self.factor + self.offset
        return softmax_columns(scores.T).T

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain JSON values."""
        return {
            "view": self.view,
            "n": self.n,
            "K": self.K,
            "factor": self.factor.tolist(),
            "offset": self.offset.tolist(),
            "floor": self.floor,
        }

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> VectorMap:
        """Rebuild from `to_dict`."""
        arrays = {key: np.array(values[key], dtype=np.float64) for key in ("factor", "offset")}
        if any(array.shape != (values["K"],) for array in arrays.values()):
            msg = f"factor and offset must be {values['K']} numbers each."
            raise ValueError(msg)
        return cls(**{**values, **arrays})


def fit_vector(preds: Predictions, *, threads: int | None = None) -> MatrixMap:
    """Fit one factor and one offset for each class.

    Parameters
    ----------
    preds : Predictions
        With labels. A logit of −inf, or a probability of 0, is put at a floor.
    threads : int, optional

    Returns
    -------
    VectorMap
        Or, with fewer rows than its 2 K parameters, a `TemperatureMap` and a warning.

    Examples
    --------
    >>> from ogive import Predictions
    >>> rng = np.random.default_rng(0)
    >>> logits = rng.normal(size=(2000, 3))
    >>> labels = (3 * logits + [0.0, 1.0, 0.0] + rng.gumbel(size=(2000, 3))).argmax(axis=1)
    >>> gamma = fit_vector(Predictions(logits, labels, kind="logits"))
    >>> gamma.factor.round(1), gamma.offset.round(1)
    (array([3., 3., 3.]), array([-0.4,  0.7, -0.4]))
    """
    labelled(preds)
    one_factor = fit_temperature(preds, threads=threads)
    if preds.n < 2 * preds.K:
        warnings.warn(
            f"{preds.n} rows are too few for a factor and an offset of {preds.K} classes: "
            "a temperature was fitted instead.",
            FallbackWarning,
            stacklevel=2,
        )
        return one_factor
    rows = _Rows(preds, zero_floor(preds), threads)
    # From the best single factor: whatever the scale of the logits, the gradient is not lost.
    start = np.stack([np.full(preds.K, one_factor.factor), np.zeros(preds.K)], axis=1)
    free = np.zeros_like(start)
    theta = minimise(rows.loss, start, rows.curvature(start), free, tolerance=1e-6)
    finest = 1e-12 if rows.dtype is np.float64 else 1e-8
    theta = minimise(rows.loss, theta, rows.curvature(theta), free, tolerance=finest)
    return VectorMap(
        view="vector",
        n=row_count(preds),
        K=preds.K,
        factor=theta[:, 0].copy(),
        offset=theta[:, 1] - theta[:, 1].mean(),
        floor=rows.floor,
    )


class _Rows:
    """The rows in blocks, each with sums of its own that are added in order."""

    def __init__(self, preds: Predictions, floor: float, threads: int | None) -> None:
        self.preds, self.floor, self.threads = preds, floor, threads
        self.dtype = enough_digits(preds)
        weights = np.ones(preds.n) if preds.weights is None else preds.weights
        self.weights = (weights / weights.sum()).astype(self.dtype)

    def _each(self, work: Callable[[slice, FloatArray], FloatArray], size: int) -> FloatArray:
        """Add up what `work(at, x)` returns, (size, K), over the blocks; x is (K, rows)."""
        n, K = self.preds.n, self.preds.K
        step = max(1, BLOCK // K)
        # Blocks are added up in stretches of 64, so that the partial sums stay few and ordered.
        parts = np.zeros((-(-n // (64 * step)), size, K))

        def stretch(at: slice) -> None:
            for i in range(at.start, at.stop):
                for first in range(i * 64 * step, min((i + 1) * 64 * step, n), step):
                    rows = slice(first, min(first + step, n))
                    x = log_values(self.preds, rows, self.floor, self.dtype).T
                    parts[i] += work(rows, x if K > _LONG else np.ascontiguousarray(x))

        for_each_block(stretch, parts.shape[0], width=BLOCK, threads=self.threads)
        total: FloatArray = parts.sum(axis=0)
        return total

    def loss(self, theta: FloatArray) -> tuple[float, FloatArray]:
        """Return the mean cross-entropy and its gradient, (K, 2)."""
        labels = labelled(self.preds)
        factor, offset = np.hsplit(theta.astype(self.dtype), 2)

        def work(at: slice, x: FloatArray) -> FloatArray:
            scores = factor * x + offset
            loss = cross_entropy(scores, labels[at], self.weights[at])
            gradient = scores.sum(axis=1)
            scores *= x
            return np.stack([scores.sum(axis=1), gradient, np.full(gradient.size, loss)])

        sums = self._each(work, 3)
        return float(sums[2, 0]), sums[:2].T

    def curvature(self, theta: FloatArray) -> FloatArray:
        """Return the Hessian's blocks, (K, 2, 2)."""
        factor, offset = np.hsplit(theta.astype(self.dtype), 2)

        def work(at: slice, x: FloatArray) -> FloatArray:
            p = softmax_columns(factor * x + offset)
            p *= (1.0 - p) * self.weights[at]
            moments = [p.sum(axis=1)]
            for _ in range(2):
                p *= x
                moments.append(p.sum(axis=1))
            return np.stack(moments)

        one, first, second = self._each(work, 3)
        return np.stack([second, first, first, one], axis=1).reshape(-1, 2, 2)
