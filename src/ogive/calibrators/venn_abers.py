r"""Venn–Abers prediction: two probabilities for each score, one of which is valid.

The inductive method of Vovk and Petej (2014). A new score is added to the calibration rows, once
with the outcome 0 and once with the outcome 1, and isotonic regression is fitted to each; its
values at the new score are :math:`p_0 \le p_1`. Whatever the distribution, if the rows are
exchangeable, the one of the two that belongs to the outcome is calibrated: on average over
calibration sets and new rows, exactly. The probability is what minimises the largest regret in log
loss,

.. math:: p = \frac{p_1}{1 - p_0 + p_1} .

**All new scores at once** (Vovk, Petej and Fedorova, 2015, by other means). Let
:math:`(W_i, K_i)` be the cumulative counts and outcomes after i distinct scores. Between score i
and the next, isotonic regression with the new row of weight w and outcome y has there the value

.. math:: \max_{a \le i} \min_{b \ge i} \frac{K_b - K_a + w y}{W_b - W_a + w} .

A new outcome of 1 can only raise the value of the block of i, so that the best b is a corner of the
greatest convex minorant of the points, at or beyond the end of that block, and the best a lies in
the block. For each a the best corner is a tangent, found by bisection, and the maximum over
:math:`a \le i` is a running maximum. An outcome of 0 is the same from the other end. A new score
that equals score i has the :math:`p_0` of the interval after it and the :math:`p_1` of the one
before; new scores that float32 cannot tell from it are taken as equal, up to half-way to the next.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ogive._numerics.pooling import pool_corners
from ogive.calibrators.histogram import StepMap
from ogive.calibrators.log_odds import mean_at_one
from ogive.errors import DoesNotApply

if TYPE_CHECKING:
    from ogive._typing import BoolArray, FloatArray, IntArray
    from ogive.curve import Curve


#: What float32 moves a tail by: of its size, from log-odds up to 16, and in scores near 1.
_ROUNDED_LOG_ODDS, _ROUNDED_SCORE = 2.0**-20, 2.0**-24
ROWS_AT_A_TIME = 1 << 15  # a few columns of these rows stay in the processor's cache
ROWS_OF_A_STEP = 1 << 9  # p₁ is constant over most runs of this many rows


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class VennAbersMap(StepMap):
    """The pair p₀, p₁ as step functions; the map itself is p₁ / (1 − p₀ + p₁).

    Attributes
    ----------
    low, high : (B,) arrays
        p₀ and p₁ in each bin.
    low_at_one, high_at_one : float or None
        Those of a score of exactly 1.0, where rows of the fit rounded to it.
    """

    method = "venn-abers"

    low: FloatArray
    high: FloatArray
    low_at_one: float | None = None
    high_at_one: float | None = None

    def band_ends(self, *, simultaneous: bool = False) -> tuple[StepMap, StepMap]:
        """Return p₀ and p₁ as maps: they are no 95 % band, but one of them is valid."""
        if simultaneous:
            msg = (
                "'venn-abers' has a pair of probabilities for each score, and no simultaneous "
                "band: leave `simultaneous` out, or fit the method 'spline'."
            )
            raise DoesNotApply(msg)
        return self._end(self.low, self.low_at_one), self._end(self.high, self.high_at_one)

    def _end(self, value: FloatArray, at_one: float | None) -> StepMap:
        """Return one of the pair as a map, without the edges at which the other one steps."""
        steps = np.flatnonzero(np.diff(value))
        return StepMap(
            view=self.view,
            n=self.n,
            edge_high=self.edge_high[steps],
            edge_tail=self.edge_tail[steps],
            value=value[np.append(steps, value.size - 1)],
            at_one=at_one,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain JSON values; the probability follows from the pair."""
        values = super().to_dict()
        return {name: x for name, x in values.items() if name not in {"value", "at_one"}}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> VennAbersMap:
        """Rebuild a map from `to_dict`."""
        low, high = (np.array(values[name], dtype=np.float64) for name in ("low", "high"))
        ends = values["low_at_one"], values["high_at_one"]
        at_one = None if ends[0] is None or ends[1] is None else float(merged(*ends))
        return super().from_dict({**values, "value": merged(low, high).tolist(), "at_one": at_one})


def merged(low: Any, high: Any) -> Any:  # noqa: ANN401 - numbers or arrays
    """Return the probability of a pair: the one whose largest regret in log loss is least.

    >>> merged(0.2, 0.4)
    0.333...
    """
    return high / (1.0 - low + high)


def fit_venn_abers(curve: Curve) -> VennAbersMap:
    """Fit Venn–Abers prediction to a curve.

    The new row weighs 1; with sampling weights as much as a row does on average, by their squares.

    >>> from ogive import Curve
    >>> calibrator = fit_venn_abers(Curve.from_scores([0.1, 0.4, 0.6, 0.9], [0, 1, 0, 1]))
    >>> calibrator.band([0.1, 0.5, 0.9])
    (array([0.        , 0.33333333, 0.5       ]), array([0.5       , 0.66666667, 1.        ]))
    >>> calibrator(0.5)
    np.float64(0.5)
    """
    weight = float(curve.n) / float(curve.effective_n)
    low, high = pairs(curve.count, curve.hits, weight)
    edge_high, edge_tail, below = _edges(curve.high, curve.tail, low, high)
    ones = [mean_at_one(curve, x) for x in (low[1:], high[:-1])]
    pair = np.minimum(low[below[0]], high[below[1]]), high[below[1]]
    return VennAbersMap(
        view=curve.view,
        n=curve.n,
        edge_high=edge_high,
        edge_tail=edge_tail,
        value=merged(*pair),
        at_one=None if ones[0] is None else float(merged(*ones)),
        low=pair[0],
        high=pair[1],
        low_at_one=ones[0],
        high_at_one=ones[1],
    )


def _edges(
    high: BoolArray, tail: FloatArray, low: FloatArray, up: FloatArray
) -> tuple[BoolArray, FloatArray, tuple[IntArray, IntArray]]:
    """Return where p₀ or p₁ step, and which value of each the bins between have.

    p₁ steps after score i, and p₀ at it: between it and the next one.
    """
    after, at = (np.flatnonzero(x[1:] != x[:-1]) for x in (up, low))
    at = at[high[at] | (tail[at] > 0.0)] if at.size else at  # no score is below 0
    side = np.concatenate([high[at], high[after]])
    far = np.concatenate([_beside(high, tail, at, -1), _beside(high, tail, after, 1)])
    order = np.lexsort((np.where(side, -far, far), side))
    place = np.concatenate([np.zeros(at.size), np.ones(after.size)])[order]
    index = np.concatenate([at, after])[order] + 1
    first = [0 if not _starts_at_zero(high, tail) else 1, 0]
    below = []
    for which in (0, 1):
        passed = np.where(place == which, index, 0)
        below.append(np.maximum.accumulate(np.concatenate([[first[which]], passed])))
    return side[order], far[order], (below[0], below[1])


def _beside(high: BoolArray, tail: FloatArray, at: IntArray, step: int) -> FloatArray:
    """Return the tails of edges between some scores and the next below (−1) or above (1).

    New scores up to there equal them: as far off as float32 rounds a score or its log-odds, and at
    most half-way. A score of 0 or 1 is not rounded.
    """
    out = np.where(high[at], -step, step)  # above ½ a higher score has a shorter tail
    next_to = np.clip(at + step, 0, tail.size - 1)
    gap = np.where(out > 0, np.inf, tail[at])  # to the end, where no score comes before it
    there = (high[next_to] == high[at]) & (next_to != at)
    gap = np.where(there, np.abs(tail[next_to] - tail[at]), gap)
    reach = np.maximum(_ROUNDED_LOG_ODDS * tail[at], np.where(high[at], _ROUNDED_SCORE, 0.0))
    between = np.clip(tail[at] + out * np.minimum(reach, gap / 2.0), 0.0, 0.5)
    exact = tail[at] if step > 0 else np.nextafter(tail[at], np.where(high[at], 1.0, 0.0))
    room = (tail[at] > 0.0) & (gap > 4.0 * np.spacing(tail[at]))
    return np.where(room, between, exact)


def _starts_at_zero(high: BoolArray, tail: FloatArray) -> bool:
    return bool(tail[0] == 0.0 and not high[0])


def pairs(
    count: FloatArray, hits: FloatArray, weight: float = 1.0
) -> tuple[FloatArray, FloatArray]:
    """Return p₀ and p₁ of new scores below, between and above k scores, (k + 1,) each."""
    corners = pool_corners(count, hits)
    W, K = (_sums(x) for x in (count, hits))
    high = _upper(W, K, corners, weight)
    # From the other end outcomes of 0 are outcomes of 1.
    np.subtract(W, K, out=K)
    W, K = (np.subtract(x[-1], x, out=x)[::-1] for x in (W, K))
    low = _upper(W, K, corners[-1] - corners[::-1], weight)[::-1]
    np.subtract(1.0, low, out=low)
    for x in (low, high):
        np.clip(x, 0.0, 1.0, out=x)  # sums of weights are rounded
    return low, high


def _sums(column: FloatArray) -> FloatArray:
    """Return cumulative sums, (k + 1,): of small whole numbers as integers, six times faster."""
    sums = np.zeros(column.size + 1)
    whole = column.astype(np.int32) if column.sum() < np.iinfo(np.int32).max else None
    if whole is not None and np.array_equal(whole, column):
        sums[1:] = whole.cumsum(dtype=np.int32)
    else:
        np.cumsum(column, out=sums[1:])
    return sums


def _upper(W: FloatArray, K: FloatArray, corners: IntArray, weight: float) -> FloatArray:
    """Return p₁ of new scores, (k + 1,), from cumulative counts and outcomes, (k + 1,)."""
    X, Y = W[corners], K[corners]
    slope = np.append(np.diff(Y) / np.diff(X), np.inf)  # from each corner on
    result, beyond = np.empty(W.size), []
    result[-1] = 1.0
    for start in range(0, W.size - 1, ROWS_AT_A_TIME):
        end = min(start + ROWS_AT_A_TIME, W.size - 1)
        first, last = np.searchsorted(corners, (start, end - 1), side="right")
        inside = np.clip(corners[first - 1 : last + 1], start, end)
        size = inside[1:] - inside[:-1]
        ends = slice(first, last + 1)  # the corners at the ends of the blocks of these rows
        wide = np.repeat(X[ends] + weight, size)
        wide -= W[start:end]
        value = np.repeat(Y[ends] + weight, size)
        value -= K[start:end]
        limit = np.repeat(slope[ends], size)
        limit *= wide
        beyond.append(start + np.flatnonzero(value > limit))
        np.divide(value, wide, out=result[start:end])
    # Mostly the corner at the end of the block is the tangent's; for the others it is sought.
    rest = np.concatenate(beyond)
    low = np.searchsorted(corners, rest, side="right") + 1
    high = np.full(rest.size, corners.size - 1)
    x, y = W[rest] - weight, K[rest] - weight
    while (low < high).any():
        middle = (low + high) // 2
        right = Y[middle] - y <= slope[middle] * (X[middle] - x)
        low = np.where(right, low, np.minimum(middle + 1, high))
        high = np.where(right, middle, high)
    result[rest] = (Y[high] - y) / (X[high] - x)
    return _largest_so_far(result)


def _largest_so_far(values: FloatArray) -> FloatArray:
    """Return the running maximum, in place: only where it rises row by row.

    >>> _largest_so_far(np.array([1.0, 3.0, 2.0, 4.0]))
    array([1., 3., 3., 4.])
    """
    whole = values.size // ROWS_OF_A_STEP * ROWS_OF_A_STEP
    parts = values[:whole].reshape(-1, ROWS_OF_A_STEP)
    so_far = np.maximum.accumulate(np.append(-np.inf, parts.max(axis=1)))
    rises = so_far[1:] > so_far[:-1]
    rows = parts[rises]
    rows[:, 0] = np.maximum(rows[:, 0], so_far[:-1][rises])
    parts[~rises] = so_far[1:][~rises, None]
    parts[rises] = np.maximum.accumulate(rows, axis=1)
    values[whole:] = np.maximum.accumulate(np.append(so_far[-1], values[whole:]))[1:]
    return values
