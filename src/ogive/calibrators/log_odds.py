"""Maps that are a formula in the log-odds, and what happens to scores of exactly 0 and 1.

Log-odds come from the side and the tail, so a score that rounds to 1 keeps its place. An exact 0
or 1 has no finite log-odds. If the fit saw some, its curve placed them half a tail beyond the
last score (`Curve.log_odds`), and every score from there on gets the value of that place. A
score of exactly 1.0 stands for all rows whose score rounds to 1, and gets their mean.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ogive._numerics.logistic import ONE, ZERO
from ogive.calibrators.maps import Map
from ogive.curve.keys import ROUNDS_TO_ONE

if TYPE_CHECKING:
    from collections.abc import Callable

    from ogive._typing import BoolArray, FloatArray
    from ogive.curve import Curve

FARTHEST_LOG_ODDS = 745.0  # about those of the smallest positive float64
NEAREST_TO_ONE = float(np.log1p(-ROUNDS_TO_ONE) - np.log(ROUNDS_TO_ONE))


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class LogOddsMap(Map):
    """A map that is a function of the log-odds.

    Attributes
    ----------
    lowest, highest : float
        Log-odds beyond these are taken as these.
    at_one : float
        The probability of a score of exactly 1.0.
    """

    lowest: float
    highest: float
    at_one: float

    def _of_scores(self, s: FloatArray, *, certain: bool) -> FloatArray:
        """Return the probability of a block of scores, (m,); see `Map`.

        Their log-odds are those of side and tail, bit for bit, without either.
        """
        if not certain:
            eta = s / (ONE - s)
            np.log(eta, out=eta)
            return self._of_log_odds(eta.clip(self.lowest, self.highest, out=eta))
        with np.errstate(divide="ignore"):
            eta = np.log(s / (ONE - s))
        result = self._of_log_odds(eta.clip(self.lowest, self.highest, out=eta))
        return self._at_one(result, s == ONE)

    def _evaluate(self, high: BoolArray, tail: FloatArray) -> FloatArray:
        return self._of_log_odds(self._log_odds_of(high, tail))

    def _log_odds_of(self, high: BoolArray, tail: FloatArray) -> FloatArray:
        """Return the log-odds of scores, within `lowest` and `highest`."""
        rest = ONE - tail
        with np.errstate(divide="ignore", over="ignore"):
            eta = np.log(np.where(high, rest, tail) / np.where(high, tail, rest))
        if eta.max(initial=0.0) == np.inf:  # odds of a tail below 1e-308, or of 0
            far = np.flatnonzero((eta == np.inf) & (tail > ZERO))
            eta[far] = -np.log(tail[far])
        return eta.clip(self.lowest, self.highest, out=eta)

    def _at_one(self, result: FloatArray, certain: BoolArray) -> FloatArray:
        result[certain] = self.at_one
        return result

    @abstractmethod
    def _of_log_odds(self, eta: FloatArray) -> FloatArray:
        """Return the probability at finite log-odds, a fresh array."""


def places(curve: Curve, formula: Callable[[FloatArray], FloatArray]) -> dict[str, float]:
    """Return `lowest`, `highest` and `at_one` of a map fitted to that curve.

    >>> from ogive import Curve
    >>> places(Curve.from_scores([0.2, 0.5, 0.6], [0, 1, 1]), lambda eta: 0 * eta + 0.25)
    {'lowest': -745.0, 'highest': 745.0, 'at_one': 0.25}
    """
    ends = seen_ends(curve)
    at_one = mean_at_one(curve, formula(curve.log_odds))
    if at_one is None:
        nearest = np.array([min(max(NEAREST_TO_ONE, ends["lowest"]), ends["highest"])])
        at_one = float(formula(nearest)[0])
    return {**ends, "at_one": at_one}


def seen_ends(curve: Curve) -> dict[str, float]:
    """Return `lowest` and `highest`: where exact 0 and 1 were placed, if the curve has any."""
    ends = {"lowest": -FARTHEST_LOG_ODDS, "highest": FARTHEST_LOG_ODDS}
    row = curve.at_fractiles(np.array([0.0, 1.0]))
    for name, at, high in (("lowest", 0, False), ("highest", -1, True)):
        if row.tail[at] == 0.0 and row.high[at] == high:
            tail = curve.placed_tail(high)
            odds = float(np.log(tail) - np.log1p(-tail))
            ends[name] = -odds if high else odds
    return ends


def seen_range(curve: Curve) -> dict[str, float]:
    """Return `first` and `last`: the least and the greatest log-odds seen, exact 0 and 1 placed."""
    row = curve.at_fractiles(np.array([0.0, 1.0]))
    ends = {}
    for name, at in (("first", 0), ("last", -1)):
        high = bool(row.high[at])
        tail = max(float(row.tail[at]), curve.placed_tail(high))
        odds = float(np.log(tail / (1.0 - tail)))
        ends[name] = -odds if high else odds
    return ends


def mean_at_one(curve: Curve, values: FloatArray) -> float | None:
    """Return the mean of a fit over the rows whose score rounds to 1.0; None if there are none."""
    ones = curve.high & (curve.tail <= ROUNDS_TO_ONE)
    if not ones.any():
        return None
    return float(np.average(values[ones], weights=curve.count[ones]))
