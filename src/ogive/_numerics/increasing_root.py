"""The root of an increasing function of a positive number, by Newton's steps in a bracket."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

_LONGEST = 8.0  # a step changes x by at most this factor: slopes far from the root mislead
_STEPS = 200


def increasing_root(
    function: Callable[[float], tuple[float, float]],
    start: float,
    *,
    low: float = 0.0,
    high: float = math.inf,
    tolerance: float = 1e-6,
) -> float:
    """Return x in [low, high] where an increasing function is 0, or the end nearest to it.

    Parameters
    ----------
    function : callable
        Takes x > 0 and returns the value and the slope there.
    start : float
        Where to begin; inside [low, high].
    low, high : float
        Known bounds of the answer.
    tolerance : float
        Stop once a Newton step is shorter than this times x. The step is still taken, and as
        Newton's steps square the error, what remains is about the square of it.

    Examples
    --------
    >>> round(increasing_root(lambda x: (x * x - 2.0, 2.0 * x), 1.0), 12)
    1.414213562373
    >>> increasing_root(lambda x: (x * x - 2.0, 2.0 * x), 1.0, high=1.25)
    1.25
    """
    x, left, right = start, 0.0, math.inf  # the root lies in (left, right)
    for _ in range(_STEPS):
        value, slope = function(x)
        if value == 0.0 or (value < 0 and x >= high) or (value > 0 and x <= low):
            return x
        if value < 0:
            left = x
        else:
            right = x
        step = -value / slope if slope > 0 else math.copysign(math.inf, -value)
        if abs(step) <= tolerance * x:
            return min(max(x + step, low), high)
        new = min(max(x + step, x / _LONGEST), x * _LONGEST)
        if not left < new < right:
            new = math.sqrt(max(left, x / _LONGEST) * min(right, x * _LONGEST))
        x = min(max(new, low), high)
    return x
