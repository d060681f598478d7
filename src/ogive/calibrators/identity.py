"""No calibration: the map that leaves scores as they are, a baseline like any other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ogive.calibrators.maps import Map

if TYPE_CHECKING:
    from ogive._typing import BoolArray, FloatArray
    from ogive.curve import Curve


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class IdentityMap(Map):
    """The score itself."""

    method = "none"

    def _evaluate(self, high: BoolArray, tail: FloatArray) -> FloatArray:
        return np.where(high, 1.0 - tail, tail)


def fit_identity(curve: Curve) -> IdentityMap:
    """Return the identity, as a calibrator fitted to that curve.

    >>> from ogive import Curve
    >>> fit_identity(Curve.from_scores([0.1, 0.9], [0, 1]))([0.25, 1.0])
    array([0.25, 1.  ])
    """
    return IdentityMap(view=curve.view, n=curve.n)
