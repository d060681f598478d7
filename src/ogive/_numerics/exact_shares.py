r"""Sums and shares of given numbers, rounded correctly: functions of the exact values alone.

Each result is the float64 next to the exact sum, or to the exact quotient of two sums, of the
numbers as they are given. So equal exact values have equal results, in whatever order the numbers
come. Pairs of float64 (`double_double`) decide nearly all rows, and Python integers the rest.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from ogive._numerics.double_double import Pair, quotient, row_sums, two_sum

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ogive._numerics.softmax_tails import Tails
    from ogive._typing import AnyArray, BoolArray, FloatArray

_LEAST_EXACT_QUOTIENT = 2.0**-900  # a pair of float64 loses digits in smaller quotients
_LEAST_EXPONENT = 1074  # every float64 is a whole number of 2^-1074


def totals(rows: AnyArray, limits: Sequence[float]) -> FloatArray:
    """Return the sums of rows, which compare with 1 ± each limit as the exact sums do."""
    sums: FloatArray = rows.sum(axis=1, dtype=np.float64)
    off, error = np.abs(sums - 1.0), rows.shape[1] * 2.0**-52
    near = np.logical_or.reduce([np.abs(off - limit) <= error for limit in limits])
    for i in np.flatnonzero(near).tolist():
        sums[i] = math.fsum(rows[i].tolist())
    return sums


def given_within(K: int) -> float:
    """Return the distance of a row's sum from 1 up to which its numbers are taken as given.

    float32 has 24 bits, so that K numbers of at most 1 are rounded by K/2 units of 2^-24, and
    a softmax in float32 divides by a sum that is as far off: together K/2 + 1 units of 2^-23.
    The bound is the same for float64, which often holds what was computed, stored or printed as
    float32: what a row means does not depend on its container.
    """
    return (K / 2 + 1) * 2.0**-23


def needs_division(block: AnyArray, off: FloatArray) -> BoolArray:
    """Return which rows do not sum to 1 by more than rounding: of float32, or of float16.

    Numbers that float16 holds (11 bits) were rounded to it.
    """
    divided: BoolArray = off > given_within(block.shape[1])
    if divided.any():
        rows = block[divided]
        divided[divided] = (rows != rows.astype(np.float16)).any(axis=1)
    return divided


def sides_and_tails(share: FloatArray) -> Tails:
    """Return side and tail of given shares; a share that exceeds 1 by rounding counts as 1."""
    high = share > 0.5  # noqa: PLR2004
    return high, np.where(high, np.maximum(1.0 - share, 0.0), share)


def tails_of_sums(parts: FloatArray) -> Tails:
    """Return side and tail of the sum of each row, (n, m): 1 − sum is rounded once."""
    if parts.shape[1] == 1:
        return sides_and_tails(parts[:, 0])
    (h, low), exact = row_sums(parts)
    high = (h > 0.5) | ((h == 0.5) & (low > 0))  # noqa: PLR2004
    tail = np.where(high, (1.0 - h) - low, h)  # 1 − h has no error, so that there is one rounding
    for i in np.flatnonzero(~exact).tolist():
        row = parts[i].tolist()
        above = math.fsum([0.5, *(-x for x in row)]) < 0.0
        high[i] = above
        tail[i] = math.fsum([1.0, *(-x for x in row)]) if above else math.fsum(row)
    tail = np.maximum(tail, 0.0)
    return high & (tail < 0.5), tail  # noqa: PLR2004 - a tail that rounds to ½ has no side


def tails_of_quotients(event: FloatArray, others: FloatArray) -> Tails:
    """Return side and tail of sum(event) / (sum(event) + sum(others)), row by row."""
    (a, _), (b, _) = row_sums(event), row_sums(others)
    high = (a[0] > b[0]) | ((a[0] == b[0]) & (a[1] > b[1]))
    least = np.where(high, b[0], a[0]), np.where(high, b[1], a[1])
    h, low = two_sum(a[0], b[0])
    tail = quotient(least, two_sum(h, low + (a[1] + b[1])))

    def exact(i: int) -> float:
        A, B = whole(event[i]), whole(others[i])
        return min(A, B) / (A + B)

    result = _settled(tail, max(event.shape[1], others.shape[1]), exact)
    return high & (result < 0.5), result  # noqa: PLR2004 - as above


def shares(parts: FloatArray) -> FloatArray:
    """Return the share of each number in the sum of its row, (n, m)."""
    (h, low), _ = row_sums(parts)
    n, m = parts.shape
    total = np.repeat(h, m), np.repeat(low, m)
    flat = parts.reshape(-1)

    def exact(i: int) -> float:
        return whole(flat[i : i + 1]) / whole(parts[i // m])

    return _settled(quotient((flat, np.zeros_like(flat)), total), m, exact).reshape(n, m)


def whole(numbers: FloatArray) -> int:
    """Return the exact sum of some float64 in units of 2^-1074."""
    ratios = (x.as_integer_ratio() for x in numbers.tolist())
    return sum(n << (_LEAST_EXPONENT - d.bit_length() + 1) for n, d in ratios)


def _settled(value: Pair, terms: int, exact: Callable[[int], float]) -> FloatArray:
    """Return pairs rounded to float64; those too near the middle of two are computed exactly."""
    h, low = value
    # What `row_sums` leaves out, in units of the last place, with a safety margin.
    margin = max(2.0**-30, 16.0 * terms**3 * 2.0**-52)
    with np.errstate(invalid="ignore"):
        place = np.abs(low) / np.spacing(h)
        unsure = (np.abs(place - 0.5) < margin) | (np.abs(place - 0.25) < margin)
    unsure |= (h < _LEAST_EXACT_QUOTIENT) & (h > 0)
    for i in np.flatnonzero(unsure).tolist():
        h[i] = exact(i)
    return h
