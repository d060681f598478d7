"""Estimators at another base rate."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

if TYPE_CHECKING:
    from typing import Self

    from ogive._typing import ArrayLike, FloatArray, IntArray


class Shiftable:
    """An estimator that can be moved to data in which the classes have other shares."""

    class_shares_: FloatArray  # of the classes in the rows of the fit

    def with_base_rate(
        self,
        base_rate: ArrayLike | None = None,
        *,
        trained_at: ArrayLike | None = None,
        kept_negatives: float | None = None,
        date: str | None = None,
    ) -> Self:
        """Return a fitted copy for data with another base rate.

        It is right where the scores within each class are distributed as before. Its `summary()` is
        that of the calibrator before the shift.

        Parameters
        ----------
        base_rate : float, or (K,) array-like
            The share of ``classes_[1]`` of two classes in the new data, or that of every class.
        trained_at : float, or (K,) array-like, optional
            Base rate of the rows of the fit, or of every class. Default: as counted there.
        kept_negatives : float, optional
            Instead of `base_rate`: the share of class 0 that was kept, where all of class 1 was.
        date : str, optional
        """
        check_is_fitted(self)
        how: Any = {
            "trained_at": self.class_shares_ if trained_at is None else trained_at,
            "kept_negatives": kept_negatives,
            "date": date,
        }
        new = copy.copy(self)
        for name, value in vars(self).items():
            if name == "map_":
                new.map_ = value.with_base_rate(base_rate, **how)  # type: ignore[attr-defined]
            if name == "maps_":
                new.maps_ = [gamma.with_base_rate(base_rate, **how) for gamma in value]  # type: ignore[attr-defined]
        shares = getattr(new, "map_", None) or getattr(new, "maps_", [None])[0]
        after = getattr(shares, "base_rate", None)
        new.class_shares_ = self.class_shares_ if after is None else np.asarray(after)
        return new


def class_shares(codes: IntArray, weights: FloatArray | None, K: int) -> FloatArray:
    """Return the share of each class in rows, (K,)."""
    counts = np.bincount(codes, weights, minlength=K).astype(np.float64)
    result: FloatArray = counts / counts.sum()
    return result
