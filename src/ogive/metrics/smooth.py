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

from ogive._numerics.increasing_root import increasing_root
from ogive.curve.curve import as_curve
from ogive.metrics.onepass import read

if TYPE_CHECKING:
    from ogive._typing import ArrayLike, FloatArray, WeightKind
    from ogive.curve import Curve
    from ogive.curve.keys import Run

_CELLS = 2**13
_GUESS_CELLS = 2**10  # for a first guess
_LAST = np.sqrt(2.0 * 45.0) / np.pi  # sigma k beyond which the factors are below e^-45
_NARROW = 1e-9


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
        self.cells = residual.size - 1
        self.largest = float(np.abs(residual).sum())  # the error without smoothing
        mirrored = np.concatenate([residual, residual[-2:0:-1]])
        mirrored[[0, self.cells]] *= 2.0  # the ends have no mirror image
        self._cosines = np.fft.rfft(mirrored).real / 2.0
        self._frequency = np.pi * np.arange(residual.size)

    def error(self, sigma: float, cells: int | None = None) -> float:
        """Return the integral of the smoothed residual's absolute value, by a trapezoid."""
        size = np.abs(_at_points(self._damped(sigma), cells or self.cells))
        return _trapezoid(size)

    def fall(self, sigma: float) -> float:
        """Return how fast the error falls as sigma grows, nearly: on few points if they serve."""
        damped = self._damped(sigma)
        square = self._frequency[: damped.size] ** 2
        cells = min(_GUESS_CELLS, self.cells) if damped.size < _GUESS_CELLS else self.cells
        smoothed, change = _at_points(np.stack([damped, damped * square]), cells)
        return sigma * _trapezoid(np.sign(smoothed) * change)

    def _damped(self, sigma: float) -> FloatArray:
        """Return the cosines times their factors; none of the factors that are below e^-45."""
        some = min(int(_LAST / sigma) + 1, self.cells + 1)
        factor = np.exp(-0.5 * (sigma * self._frequency[:some]) ** 2)
        result: FloatArray = self._cosines[:some] * factor
        return result


def _at_points(cosines: FloatArray, cells: int) -> FloatArray:
    """Return the sums of cosines at even points, (…, cells + 1); those that are too fast left out.

    c_0 + 2 sum_k c_k cos(pi k t), the one of the highest frequency counted once.
    """
    some = cosines[..., : cells + 1]
    result: FloatArray = np.fft.irfft(some, 2 * cells, norm="forward")[..., : cells + 1]
    return result


def _trapezoid(values: FloatArray) -> float:
    """Return the integral over [0, 1] of values at even points."""
    return float(values.sum() - 0.5 * (values[0] + values[-1])) / (values.size - 1)


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


def smooth_of(reader: ResidualReader) -> float:
    """Find the width that equals its own error; an error below 1e-9 is returned as it is.

    First on few points, which nearly finds it, then on all of them.
    """
    smoother = reader.smoother()
    width = smoother.largest
    if width <= _NARROW:
        return width
    for cells, tolerance in (
        (min(_GUESS_CELLS, smoother.cells), 1e-3),
        (smoother.cells, 1e-9),
    ):

        def excess(sigma: float, cells: int = cells) -> tuple[float, float]:
            return sigma - smoother.error(sigma, cells), 1.0 + smoother.fall(sigma)

        width = increasing_root(excess, width, tolerance=tolerance)
    return width
