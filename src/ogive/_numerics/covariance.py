"""Covariance matrices: a root to draw with, and that of shares."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from ogive._typing import FloatArray


def root_of(covariance: FloatArray, floor: float = 0.0) -> FloatArray:
    """Return F with F F' = covariance; F times normal numbers has that covariance.

    floor : eigenvalues below this share of the largest are raised to it

    >>> F = root_of(np.array([[2.0, 1.0], [1.0, 2.0]]))
    >>> (F @ F.T).round(12)
    array([[2., 1.],
           [1., 2.]])
    """
    value, vector = np.linalg.eigh(covariance)
    root: FloatArray = vector * np.sqrt(np.maximum(value, floor * value[-1]))
    return root


def multinomial(p: FloatArray) -> FloatArray:
    """Return the covariance of one draw from shares p.

    >>> multinomial(np.array([0.5, 0.5]))
    array([[ 0.25, -0.25],
           [-0.25,  0.25]])
    """
    covariance: FloatArray = np.diag(p) - np.outer(p, p)
    return covariance
