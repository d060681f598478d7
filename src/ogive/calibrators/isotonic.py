r"""Isotonic regression: the best rising step function, joined by straight lines.

With :math:`n_j` rows, :math:`k_j` of outcome 1, at score :math:`s_j` it minimises

.. math:: \sum_j n_j \Bigl(\frac{k_j}{n_j} - \gamma_j\Bigr)^2
          \quad\text{over}\quad \gamma_1 \le \gamma_2 \le \dots

(also the likelihood's maximum), by pooling adjacent violators. Between two scores of the
calibration rows the map is the straight line, and beyond the ends it is constant, as in
scikit-learn. The ends may be exactly 0 or 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ogive._numerics.pooling import pool_corners
from ogive.calibrators.log_odds import mean_at_one
from ogive.calibrators.maps import PiecewiseMap
from ogive.calibrators.platt import fall_back, has_one_outcome

if TYPE_CHECKING:
    from ogive.calibrators.platt import PlattMap
    from ogive.curve import Curve


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class IsotonicMap(PiecewiseMap):
    """A rising map; its nodes are the first and the last score of each step."""

    method = "isotonic"


def fit_isotonic(curve: Curve) -> IsotonicMap | PlattMap:
    """Fit isotonic regression to a curve; one class alone falls back to 'platt'.

    >>> from ogive import Curve
    >>> calibrator = fit_isotonic(Curve.from_scores([0.1, 0.4, 0.6, 0.9], [0, 1, 0, 1]))
    >>> calibrator([0.0, 0.25, 0.5, 0.9])
    array([0.  , 0.25, 0.5 , 1.  ])
    """
    if has_one_outcome(curve):
        return fall_back(curve, "isotonic")
    corners = pool_corners(curve.count, curve.hits)
    hits, count = (np.add.reduceat(x, corners[:-1]) for x in (curve.hits, curve.count))
    value = np.clip(hits / count, 0.0, 1.0).repeat(np.diff(corners))
    ends = np.union1d(corners[:-1], corners[1:] - 1)
    return IsotonicMap(
        view=curve.view,
        n=curve.n,
        high=curve.high[ends],
        tail=curve.tail[ends],
        value=value[ends],
        at_one=mean_at_one(curve, value),
    )
