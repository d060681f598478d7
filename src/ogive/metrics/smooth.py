r"""Smooth ECE: the calibration error after smoothing by a kernel that chooses its own width.

Let :math:`K_\sigma(s, t)` be the Gaussian kernel reflected at 0 and 1 and

.. math:: \hat r_\sigma(t) = \overline{(y - p) K_\sigma(p, t)}, \qquad
          \text{smECE}_\sigma = \int_0^1 |\hat r_\sigma(t)| dt .

The error falls as sigma grows, and the smooth ECE is the one value with
:math:`\text{smECE}_\sigma = \sigma`. It is continuous in the scores (ECE jumps at edges) and bounds
the distance to the nearest calibrated forecast from both sides.

The reflected Gaussian is diagonal in cosines, with factors :math:`e^{-(\sigma \pi k)^2 / 2}`: each
sigma costs one cosine transform. Residuals are first shared between the two nearest of 2^13 + 1
even points, and the integral is a trapezoid over these.

References
----------
Błasiok, Nakkiran (2023), Smooth ECE: principled reliability diagrams via kernel smoothing,
arXiv:2309.12236.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ogive._numerics.blas import one_blas_thread
from ogive.curve.curve import as_curve
from ogive.metrics.onepass import read

if TYPE_CHECKING:
    from ogive._typing import ArrayLike, FloatArray, WeightKind
    from ogive.curve import Curve
    from ogive.curve.keys import Run

_CELLS = 2**13


class ResidualReader:
    """Keeps the residuals y − p, each shared between the two nearest of even points."""

    def __init__(self, cells: int = _CELLS) -> None:
        self.cells, self.n = cells, 0.0
        self.total = np.zeros(cells + 1)

    def add(self, run: Run) -> None:
        """Take in the next rows; they are close together, so that few points are touched."""
        self.n += run.size
        place = run.score * self.cells
        index = np.minimum(place.astype(np.intp), self.cells - 1)
        share = place - index
        surplus = run.surplus
        first, size = int(index[0]), int(index[-1] - index[0]) + 1
        index -= first
        right = np.bincount(index, surplus * share, minlength=size)
        left = np.bincount(index, surplus, minlength=size) - right
        self.total[first : first + size] += left
        self.total[first + 1 : first + size + 1] += right

    def smoother(self) -> Smoother:
        """Return the smoother of the mean residual."""
        return Smoother(self.total / self.n)


class Smoother:
    """Residuals on even points, ready to be smoothed by any sigma.

    With c_k the sum of r_j cos(pi k t_j), the smoothed residual is
    c_0 + 2 sum_k c_k exp(−(sigma pi k)² / 2) cos(pi k t), the highest k counted once.
    """

    def __init__(self, residual: FloatArray) -> None:
        from scipy.fft import dct  # noqa: PLC0415 - heavy, and only used here

        doubled = residual.copy()
        doubled[[0, -1]] *= 2.0  # the transform counts its two ends by half
        self._transform = dct
        self._cosines = dct(doubled, type=1) / 2.0
        self._frequency = np.pi * np.arange(residual.size)

    def smoothed(self, sigma: float) -> FloatArray:
        """Return the smoothed residual at the points."""
        damped = self._cosines * np.exp(-0.5 * (sigma * self._frequency) ** 2)
        return np.asarray(self._transform(damped, type=1))

    def error(self, sigma: float) -> float:
        """Return the integral of the smoothed residual's absolute value."""
        size = np.abs(self.smoothed(sigma))
        return float(size.sum() - 0.5 * (size[0] + size[-1])) / (size.size - 1)


def smooth_ece(
    curve: Curve | ArrayLike,
    outcomes: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
    weight_kind: WeightKind = "repetition",
) -> float:
    """Return the smooth ECE.

    >>> import numpy as np
    >>> from ogive import Curve
    >>> scores = (np.arange(1000) + 0.5) / 1000
    >>> round(smooth_ece(Curve.from_scores(scores, scores > 0.5)), 3)
    0.152
    """
    curve = as_curve(curve, outcomes, sample_weight=sample_weight, weight_kind=weight_kind)
    reader = ResidualReader()
    read(curve, reader)
    return smooth_of(reader)


@one_blas_thread()
def smooth_of(reader: ResidualReader) -> float:
    """Find the width that equals its own error; an error below 1e-9 is returned as it is."""
    from scipy.optimize import brentq  # noqa: PLC0415 - heavy, and only used here

    smoother, narrow = reader.smoother(), 1e-9
    largest = smoother.error(narrow)
    if largest <= narrow:
        return largest
    # The error falls as sigma grows: the value is between the error at the largest error and that.
    low, high = smoother.error(largest) * (1.0 - 1e-9), largest * (1.0 + 1e-9)  # but for rounding
    return float(brentq(lambda sigma: smoother.error(sigma) - sigma, low, high, xtol=1e-15))
