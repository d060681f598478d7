"""Proper scores of whole vectors, added up as integers so that the order does not matter.

Each row's score is rounded to 2^-40, and the sums are whole numbers of that, in two limbs: exact in
any order, and within 1e-12 of the mean of the scores. With weights they are floats.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ogive.metrics.vector import vector_rows

if TYPE_CHECKING:
    from ogive._typing import FloatArray
    from ogive.rows.predictions import Predictions

_UNIT = float(1 << 40)
_LIMB = 32
_LOW = (1 << _LIMB) - 1


@dataclass(frozen=True, slots=True)
class Vectors:
    """Sums over rows.

    rows : how many were scored
    sums : of Brier score and of log loss, each as low and high limb in units of 2^-40; with
        weights: of weights, of weighted Brier score, of weighted log loss, and 0
    """

    rows: int = 0
    sums: tuple[float, ...] = (0, 0, 0, 0)

    @classmethod
    def of(cls, preds: Predictions, weights: FloatArray | None) -> Vectors:
        """Add up some rows."""
        scores = vector_rows(preds, n_jobs=1)[:2]
        if weights is not None:
            return cls(preds.n, (float(weights.sum()), *(float(r @ weights) for r in scores), 0.0))
        brier, nll = (int(np.rint(row * _UNIT).astype(np.int64).sum()) for row in scores)
        return cls(preds.n, (brier & _LOW, brier >> _LIMB, nll & _LOW, nll >> _LIMB))

    def __add__(self, other: Vectors) -> Vectors:
        sums = tuple(a + b for a, b in zip(self.sums, other.sums, strict=True))
        return Vectors(self.rows + other.rows, sums)

    def means(self, *, weighted: bool) -> tuple[float, float] | None:
        """Return mean Brier score and log loss; None if no row was scored."""
        if self.rows == 0:
            return None
        a, b, c, d = self.sums
        if weighted:
            return b / a, c / a
        brier, nll = (int(high) * (_LOW + 1) + int(low) for low, high in ((a, b), (c, d)))
        return brier / self.rows / _UNIT, nll / self.rows / _UNIT


#: The sums of no rows.
NONE = Vectors()
