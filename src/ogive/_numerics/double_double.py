r"""Numbers of 106 bits as pairs of float64: sums, quotients and exponentials.

A pair (h, low) stands for h + low, with :math:`|low| \le \mathrm{ulp}(h) / 2`. Only additions,
multiplications and divisions of IEEE 754 are used, so that results are the same on every machine.
"""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from functools import cache
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from ogive._typing import BoolArray, FloatArray

Pair: TypeAlias = "tuple[FloatArray, FloatArray]"

_SPLIT = float((1 << 27) + 1)  # Veltkamp's constant: halves of 26 bits
_STEPS = 256  # of the table of 2^(j / 256): exp is then needed on |r| <= ln 2 / 512 only
_TERMS = (1 / 5040, 1 / 720, 1 / 120, 1 / 24, 1 / 6, 1 / 2)  # of exp(r) − 1 − r, r^7 first
_UNDERFLOW = -700.0  # exp of less is taken as 0: pairs below 2^-1009 would lose digits


def two_sum(a: FloatArray, b: FloatArray) -> Pair:
    """Return a + b without error (Knuth)."""
    h = a + b
    other = h - a
    return h, (a - (h - other)) + (b - other)


def two_product(a: FloatArray, b: FloatArray) -> Pair:
    """Return a · b without error (Dekker), for numbers far from the ends of the range."""
    h = a * b
    a1, b1 = _SPLIT * a, _SPLIT * b
    a1, b1 = a1 - (a1 - a), b1 - (b1 - b)
    a2, b2 = a - a1, b - b1
    return h, a2 * b2 - (((h - a1 * b1) - a2 * b1) - a1 * b2)


def quotient(a: Pair, b: Pair) -> Pair:
    """Return a / b with a relative error below 2^-100."""
    q = a[0] / b[0]
    h, low = two_product(q, b[0])
    return two_sum(q, (((a[0] - h) - low) + a[1] - q * b[1]) / b[0])


def row_sums(x: FloatArray) -> tuple[Pair, BoolArray]:
    r"""Return the sums of rows of numbers >= 0 as pairs, and which of them have no error at all.

    With m columns and M the largest number of a row, let :math:`\sigma = 2^k > 2 m M`. Then
    :math:`h = (x + \sigma) - \sigma` is x rounded to multiples of :math:`2^{k-52}`, and all partial
    sums of the h are such multiples below :math:`2^k`: float64 adds them without error, in any
    order. The same is done with the remainders x − h, below :math:`2^{k-53}`. What then remains is
    left out; it is below :math:`4 m^3 2^{-105}` of the sum, and nothing for numbers that share
    some hundred bits.
    """
    wide = math.ceil(math.log2(max(x.shape[1], 1))) + 1
    k = np.frexp(x.max(axis=1, initial=0.0))[1] + wide
    sums = []
    for _ in range(2):
        unit = np.ldexp(1.0, k)[:, None]
        leading = x + unit
        leading -= unit
        sums.append(leading.sum(axis=1))
        x = x - leading
        k = k - 53 + wide
    exact: BoolArray = (x == 0.0).all(axis=1)
    return two_sum(*sums), exact


def pair_sums(x: Pair) -> Pair:
    """Return the sums of rows of pairs >= 0, with a relative error below that of their terms."""
    (h, low), _ = row_sums(x[0])
    return two_sum(h, low + x[1].sum(axis=1))


def exponentials(d: FloatArray, rest: FloatArray) -> Pair:
    r"""Return exp(d + rest) for d <= 0 and |rest| <= ulp(d), with a relative error below 2^-60.

    With n the whole number next to :math:`256\, d / \ln 2`, and r what is left,
    :math:`\exp d = 2^{n/256} e^r` and :math:`|r| < 2^{-9.5}`: a table has the first factor to 106
    bits, and rounding errors of :math:`e^r - 1`, a few :math:`2^{-53} 2^{-9.5}`, are below 2^-60.
    """
    lengths, table, table_low = _powers_of_two()
    zero = d <= _UNDERFLOW
    d = np.where(zero, 0.0, d)
    n = np.rint(d * (1.0 / (lengths[0] + lengths[1])))
    r = d - n * lengths[0]  # exact: the first length has so few bits that the product is
    r -= n * lengths[1]
    r += rest
    series = np.full_like(r, _TERMS[0])
    for term in _TERMS[1:]:
        series *= r
        series += term
    series *= r
    series *= r
    series += r
    whole = n.astype(np.int64)
    at = whole & (_STEPS - 1)
    h = table.take(at)
    low = table_low.take(at)
    low += h * series
    total = h + low
    low -= total - h
    scale = (((whole >> 8) + 1023) << 52).view(np.float64)
    scale[zero] = 0.0
    return total * scale, low * scale


@cache
def _powers_of_two() -> tuple[tuple[float, float], FloatArray, FloatArray]:
    """Return ln 2 / 256 as 30 bits and the rest, and 2^(j / 256) as pairs."""
    with localcontext() as context:
        context.prec = 60
        step = Decimal(2).ln() / _STEPS
        first = math.ldexp(round(step * (1 << 38)), -38)
        powers = [(step * j).exp() for j in range(_STEPS)]
        high = [float(power) for power in powers]
        low = [float(power - Decimal(h)) for power, h in zip(powers, high, strict=True)]
        return (first, float(step - Decimal(first))), np.array(high), np.array(low)
