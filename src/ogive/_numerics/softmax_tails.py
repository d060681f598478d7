r"""The share of an event under softmax, rounded correctly: a function of its exact value alone.

With A the sum of :math:`e^{z_j}` over the event and B over all other classes, the *tail* is
min(A, B) / (A + B). It is returned with 32 significant bits, *correctly rounded*: the result is the
32-bit number next to the exact tail. So equal exact shares have equal results, whatever the order
of the columns, a shift of the logits, the type that holds them, the path of the code or the
machine; and tails further apart than 2^-31 of their size never have the same result. Tails below
2^-900 are as float64 has them.

float64 decides nearly all rows: its result is within m of its own units of the exact tail (`_slack`
counts them), so that it rounds to the same 32 bits unless a boundary between two 32-bit numbers is
that near. One row in some thousands has to be computed again with pairs of float64, and one in
some hundred million with decimals, in as many digits as it takes. It takes finitely many: by the
theorem of Lindemann and Weierstrass A / B is transcendental unless all logits involved are equal,
and then the share is a fraction of two small numbers; neither is ever a boundary.
"""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from ogive._numerics.double_double import Pair, exponentials, pair_sums, quotient, two_sum

if TYPE_CHECKING:
    from collections.abc import Callable

    from ogive._typing import BoolArray, FloatArray, IntArray

#: Side and tail.
Tails: TypeAlias = "tuple[BoolArray, FloatArray]"

BITS = 32
_LEAST_EXPONENT = 900
#: Smaller tails are not rounded: pairs of float64 hold masses above 2^-1009.
LEAST = 2.0**-_LEAST_EXPONENT
_DROPPED = 53 - BITS
_HALF = np.int64(1 << (_DROPPED - 1))
_LOW = np.int64((1 << _DROPPED) - 1)
#: K numbers have K − 1 errors u in whatever order they are added: no more than `_slack` allows.
MAX_COLUMNS_FOR_ANY_ORDER = 20
_PAIR_ERROR = 2.0**-5  # in units of the last place of float64: 2^-58 of the tail, 2^-59 is enough


def rounded(tail: FloatArray) -> FloatArray:
    """Round to 32 bits; tails below 2^-900 stay as float64 has them."""
    bits = tail.view(np.int64) + _HALF
    bits &= ~_LOW
    result: FloatArray = bits.view(np.float64)
    small = result < LEAST
    if small.any():
        result[small] = tail[small]
    return result


def near_boundary(tail: FloatArray, K: int) -> IntArray:
    """Return the places in a flat array whose exact tail may round to other 32 bits.

    The units that a tail may be off grow as it falls: those of the smallest tail, for all of them,
    leave one in a thousand to be looked at again.
    """
    flat = tail.reshape(-1).view(np.int64)
    most = _slack(K) + _LEAST_EXPONENT
    after = flat + (_HALF + np.int64(most))  # how far after the first unit that is near
    after &= _LOW
    found: IntArray = np.flatnonzero(after <= 2 * most)
    bits = flat[found]
    units = _slack(K) + (1023 - (bits >> 52))
    near = ((bits + _HALF + units) & _LOW) <= 2 * units
    near &= bits.view(np.float64) >= LEAST
    return found[near]


def _slack(K: int) -> int:
    r"""Return how many units :math:`u = 2^{-53}` of its size a tail of ½ may be off in float64.

    z − max z has a relative error u, so that :math:`e^{z - \max z}` has |z − max z| u, and 4 u of
    its own (two units in the last place). In a sum the first are averaged with weights
    :math:`w_j \propto e^{-d_j}`: :math:`\sum w_j d_j = H(w) - \log \sum e^{-d_j} \le \ln K + \min
    d_j`, and min d_j is at most ln K more than the logarithm of 1 / tail; the caller adds that.
    `row_sums` of K numbers adds 20 + log2 K errors u. All of it twice, for A and for B, and three
    for A + B, its quotient and masses that underflow.
    """
    return 52 + math.ceil(3.5 * math.log2(K))


def row_sums(masses: FloatArray) -> FloatArray:
    """Return the sum of each row of (m, K) masses, to within 20 + log2 K errors u: see `_slack`.

    `sum` starts a loop for each row, which takes most of the time of a short one.
    """
    short = masses.shape[1] <= MAX_COLUMNS_FOR_ANY_ORDER
    result: FloatArray = np.einsum("ij->i", masses) if short else masses.sum(axis=1)
    return result


def precise_tails(z: FloatArray, event: BoolArray) -> Tails:
    """Return sides and tails of rows of logits, (m, K), for events given as masks."""
    masses = _masses(z)
    a, b = (pair_sums((masses[0] * part, masses[1] * part)) for part in (event, ~event))
    high = (a[0] > b[0]) | ((a[0] == b[0]) & (a[1] > b[1]))
    least = np.where(high, b[0], a[0]), np.where(high, b[1], a[1])
    tail = quotient(least, _added(a, b))

    def exact(i: int, digits: int) -> Decimal:
        return _decimal_share(z[i], event[i] != high[i], digits)

    result = _decided(tail, exact)
    return high & (result < 0.5), result  # noqa: PLR2004 - a tail that rounds to ½ has no side


def precise_shares(z: FloatArray, row: IntArray, column: IntArray) -> FloatArray:
    """Return the shares of single classes, below ½: of column[i] in row[i] of the logits (m, K)."""
    h, low = _masses(z)
    total = pair_sums((h, low))
    share = quotient((h[row, column], low[row, column]), (total[0][row], total[1][row]))

    def exact(i: int, digits: int) -> Decimal:
        return _decimal_share(z[row[i]], np.arange(z.shape[1]) == column[i], digits)

    return _decided(share, exact)


def _masses(z: FloatArray) -> Pair:
    with np.errstate(over="ignore", invalid="ignore"):
        d, rest = two_sum(z, -z.max(axis=1, keepdims=True))
    return exponentials(d, np.where(np.isfinite(rest), rest, 0.0))


def _added(a: Pair, b: Pair) -> Pair:
    h, low = two_sum(a[0], b[0])
    return two_sum(h, low + (a[1] + b[1]))


def _decided(tail: Pair, exact: Callable[[int, int], Decimal]) -> FloatArray:
    """Round pairs to 32 bits; where even they are too near a boundary, `exact` gives digits."""
    h, low = tail
    bits = np.ascontiguousarray(h).view(np.int64)
    on_boundary = ((bits + _HALF) & _LOW) == 0
    result = rounded((bits - (on_boundary & (low < 0))).view(np.float64))
    unsure = on_boundary & (np.abs(low) <= _PAIR_ERROR * np.spacing(h)) & (h > LEAST / 2)
    for i in np.flatnonzero(unsure).tolist():
        below = _is_below(i, float(h[i]), exact)
        result[i] = rounded((bits[i : i + 1] - np.int64(below)).view(np.float64))[0]
    return result


def _is_below(i: int, boundary: float, exact: Callable[[int, int], Decimal]) -> bool:
    """Return whether an exact tail is below a boundary, which it never equals."""
    digits = 50
    while True:
        difference = exact(i, digits) - Decimal(boundary)
        if abs(difference) > Decimal(boundary).scaleb(10 - digits):
            return difference < 0
        digits *= 2


def _decimal_share(z: FloatArray, event: BoolArray, digits: int) -> Decimal:
    """Return the share of an event to some digits."""
    finite = np.isfinite(z)
    with localcontext() as context:
        context.prec = digits
        masses = [(Decimal(float(x)) - Decimal(float(z.max()))).exp() for x in z[finite]]
        chosen = event[finite].tolist()
        own = sum((e for e, is_own in zip(masses, chosen, strict=True) if is_own), Decimal(0))
        return own / sum(masses, Decimal(0))
