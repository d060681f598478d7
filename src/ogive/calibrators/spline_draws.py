"""Curves drawn from the posterior of a spline."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ogive._numerics.covariance import root_of
from ogive._numerics.natural_spline import NaturalSpline

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ogive._typing import FloatArray
    from ogive.calibrators.spline_map import SplineMap


def drawn_curves(
    gamma: SplineMap,
    eta: FloatArray,
    draws: int,
    rng: np.random.Generator,
    *,
    about: FloatArray | None = None,
) -> Iterator[FloatArray]:
    """Yield calibrated log-odds of curves drawn from the posterior, (k, m), a few MB at a time.

    about : the log-odds that the curves lie about, (m,); default: those that gamma gives
    """
    root = root_of(gamma.covariance)
    inside = np.clip(eta, gamma.knots[0], gamma.knots[-1])
    moved = NaturalSpline(gamma.knots).basis(inside) @ root
    middle = gamma.log_odds_at(eta.copy()) if about is None else about
    for at in np.array_split(np.arange(draws), min(draws, max(1, eta.size // 64))):
        yield middle + rng.standard_normal((at.size, root.shape[1])) @ moved.T
