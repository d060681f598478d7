"""The maps of whole vectors as array arithmetic: a batch (n, K) in, probabilities (n, K) out.

Each class follows its map in `ogive.calibrators.multiclass` or `scaling`, step by step; see there
for the reasons.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any

import numpy as np

from ogive.calibrators.log_odds import FARTHEST_LOG_ODDS
from ogive.calibrators.log_values import FARTHEST_VALUE
from ogive.calibrators.stick_breaking import MARGIN
from ogive.export.arrays import Bank, clip, masses, safe_log, sides
from ogive.export.forms import form_of

if TYPE_CHECKING:
    from ogive._typing import AnyArray, Kind
    from ogive.calibrators.matrix_map import MatrixMap
    from ogive.export.arrays import Array, Constants, Namespace

HUGE = 1e308
_LARGEST = 1.7976931348623157e308  # a logit below its negative is −inf
_SMALLEST = float(np.log(2.0**-52))  # where Dirichlet calibration clips log-probabilities
_TWO = 2


class Vectors:
    """What all programs of whole vectors have in common."""

    full = True

    def __init__(self, calibrator: MatrixMap, kind: Kind) -> None:
        self.K, self.kind = calibrator.K, kind
        self.one_column = calibrator.view == "score"
        self.keeps_top = calibrator.keeps_top
        #: Whether a number of the input can say that a class is impossible.
        self.has_impossible = kind == "logits" or calibrator.impossible == "zero"
        self.constants: dict[str, AnyArray] = {}

    def __call__(self, xp: Namespace, c: Constants, x: Array) -> Array:
        """Return the calibrated probabilities of a batch: (n, K), or (n, 1) of class 1."""
        if self.one_column:  # it is class 1 of two; `Predictions` does the same
            first = 1.0 - x if self.kind == "probs" else xp.minimum(xp.maximum(x, 0.0), 0.0)
            x = xp.join([first, x])
        q = self._vectors(xp, c, x)
        if self.has_impossible:
            zero = self.impossible(xp, x)
            q = xp.if_any(zero, lambda: self._possible(xp, x, q, zero), q)
        return xp.columns(q, 1, 2) if self.one_column else q

    def impossible(self, xp: Namespace, x: Array) -> Array:
        """Return 1 where a class is impossible, else 0: (n, K)."""
        least = -_LARGEST if self.kind == "logits" else 0.0
        zero = x < least if self.kind == "logits" else x <= least
        return xp.where(zero, 1.0, 0.0)

    def _possible(self, xp: Namespace, x: Array, q: Array, zero: Array) -> Array:
        """Return calibrated vectors whose impossible classes have 0: `calibrators.impossible`."""
        kept = xp.where(zero > 0.0, 0.0, q)
        total = xp.sum(kept)
        some = total > 0.0
        if self.keeps_top:
            new = self._with_top(xp, kept, xp.sum(xp.where(zero > 0.0, q, 0.0)))
        else:
            new = kept / xp.where(some, total, 1.0)
        e = masses(xp, x, self.kind)
        return xp.where(some, new, e / xp.sum(e))

    @staticmethod
    def _with_top(xp: Namespace, q: Array, lost: Array) -> Array:
        """Share what impossible classes lost among those below the top; the top stays the top."""
        own, top = xp.descending(q, 1)
        others = xp.scatter(q, top, 0.0 * own)
        rest = xp.sum(others)
        shared = rest > 0.0
        whole = xp.where(shared, rest, 1.0)
        part = xp.max(others) / whole
        least = (own + rest + lost) * part / (1.0 - MARGIN + part)
        raised = xp.maximum(own, least)
        left = xp.where(raised > own, own + rest + lost - raised, rest + lost)
        own = xp.minimum(xp.where(shared, raised, own + lost), 1.0)  # their sum may round up
        return xp.scatter(others * (left / whole), top, own)

    @abstractmethod
    def _vectors(self, xp: Namespace, c: Constants, x: Array) -> Array:
        """Return the calibrated probabilities of a batch of whole vectors: (n, K)."""

    def log_softmax(self, xp: Namespace, x: Array) -> Array:
        """Return the logarithms of the probabilities; exact zeros are far below."""
        if self.kind == "logits":
            gaps = x - xp.max(x)
            return gaps - xp.log(xp.sum(xp.exp(gaps)))
        return safe_log(xp, x) - xp.log(xp.sum(x))

    def log_values(self, xp: Namespace, x: Array, gamma: Any) -> Array:  # noqa: ANN401
        """Return the logits, or the log-probabilities, as `calibrators.log_values` does."""
        if self.kind == "probs":
            zero, values = x <= 0.0, self.log_softmax(xp, x)
            values = lifted(xp, values, zero, gamma.floor)
        else:
            zero = x < -HUGE
            values = lifted(xp, x, zero, gamma.floor + xp.max(x))
            values = clip(xp, values, -FARTHEST_VALUE, FARTHEST_VALUE)
        if not gamma.centred:
            return values
        gaps = values - xp.max(values)
        return gaps - xp.sum(xp.where(zero, 0.0, gaps)) / xp.sum(xp.where(zero, 0.0, 1.0))


def lifted(xp: Namespace, logs: Array, zero: Array, level: Array) -> Array:
    """Put zeros at the level, but never above the smallest positive number of their row."""
    lowest = -xp.max(xp.where(zero, -HUGE, -xp.where(zero, 0.0, logs)))
    return xp.where(zero, xp.minimum(lowest, level), xp.where(zero, 0.0, logs))


def softmax(xp: Namespace, x: Array) -> Array:
    """Return exp(x) / sum exp(x)."""
    e = xp.exp(x - xp.max(x))
    return e / xp.sum(e)


class Temperature(Vectors):
    """softmax(factor · logits)."""

    def __init__(self, calibrator: Any, kind: Kind) -> None:  # noqa: ANN401 - a TemperatureMap
        super().__init__(calibrator, kind)
        self.factor, self.floor = calibrator.factor, calibrator.floor

    def _vectors(self, xp: Namespace, c: Constants, x: Array) -> Array:  # noqa: ARG002
        if self.kind == "logits":
            return softmax(xp, self.factor * (x - xp.max(x)))
        if self.floor is None:
            e = xp.exp(self.factor * (safe_log(xp, x) - safe_log(xp, xp.max(x))))
            e = xp.where(x > 0.0, e, 0.0)
            return e / xp.sum(e)
        return softmax(xp, self.factor * lifted(xp, safe_log(xp, x), x <= 0.0, self.floor))


class Vector(Vectors):
    """softmax(factor · logits + offset), class by class."""

    def __init__(self, calibrator: Any, kind: Kind) -> None:  # noqa: ANN401 - a VectorMap
        super().__init__(calibrator, kind)
        self.gamma = calibrator
        self.constants = {"factor": calibrator.factor, "offset": calibrator.offset}

    def _vectors(self, xp: Namespace, c: Constants, x: Array) -> Array:
        return softmax(xp, self.log_values(xp, x, self.gamma) * c["factor"] + c["offset"])


class Odir(Vectors):
    """The mean over fold models of softmax(W x + b)."""

    def __init__(self, calibrator: Any, kind: Kind) -> None:  # noqa: ANN401 - an OdirMap
        super().__init__(calibrator, kind)
        self.gamma, self.folds = calibrator, len(calibrator.matrix)
        for i, (W, b) in enumerate(zip(calibrator.matrix, calibrator.offset, strict=True)):
            self.constants |= {f"matrix{i}": np.ascontiguousarray(W.T), f"offset{i}": b}

    def _vectors(self, xp: Namespace, c: Constants, x: Array) -> Array:
        if self.gamma.method == "dir-odir":
            features = xp.maximum(self.log_softmax(xp, x), _SMALLEST)
        else:
            features = self.log_values(xp, x, self.gamma)
        total: Array = 0.0
        for i in range(self.folds):
            total = total + softmax(xp, xp.matmul(features, c[f"matrix{i}"]) + c[f"offset{i}"])
        return total / xp.sum(total)


def scaled_masses(xp: Namespace, x: Array, kind: Kind, factor: float) -> Array:
    """Return the masses of logits (or logarithms of probabilities) times a factor, (n, K)."""
    if factor == 1.0:
        return masses(xp, x, kind)
    if kind == "logits":
        return xp.exp(factor * (x - xp.max(x)))
    logs = safe_log(xp, x)
    return xp.where(x > 0.0, xp.exp(factor * (logs - xp.max(logs))), 0.0)


class OneAgainstTheRest(Vectors):
    """A map for each class, divided by the sum; for two classes, one map."""

    def __init__(self, calibrator: Any, kind: Kind) -> None:  # noqa: ANN401 - an OvrMap
        super().__init__(calibrator, kind)
        self.floor, self.factor = calibrator.floor, calibrator.factor
        self.bank = Bank([form_of(inner) for inner in calibrator.maps], "maps")
        self.constants = self.bank.constants

    def _vectors(self, xp: Namespace, c: Constants, x: Array) -> Array:
        if self.K == _TWO:
            q = self.bank.from_log_odds(xp, c, self._log_odds_of_two(xp, x))
            return xp.join([1.0 - q, q])
        high, tail = self.tails(xp, x)
        return self._divided(xp, self.bank.from_tails(xp, c, high, tail), x)

    def _log_odds_of_two(self, xp: Namespace, x: Array) -> Array:
        """Return the log-odds of class 1; those of logits, or of scaled ones, stay finite."""
        if self.kind == "logits":
            log_odds = self.factor * (xp.columns(x, 1, 2) - xp.columns(x, 0, 1))
            return clip(xp, log_odds, -FARTHEST_LOG_ODDS, FARTHEST_LOG_ODDS)
        logs = safe_log(xp, x)
        if self.factor != 1.0:  # the stand-in for log 0 must stay beyond the farthest
            logs = xp.where(x > 0.0, self.factor * logs, -HUGE)
        log_odds = xp.columns(logs, 1, 2) - xp.columns(logs, 0, 1)
        if self.factor != 1.0:
            return clip(xp, log_odds, -FARTHEST_LOG_ODDS, FARTHEST_LOG_ODDS)
        return log_odds

    def _divided(self, xp: Namespace, values: Array, x: Array) -> Array:
        """Divide by the sum of the possible classes; rows of zeros become uniform.

        Those with an impossible class stay zero: they keep their uncalibrated probabilities.
        """
        if not self.has_impossible:
            return _normalised(xp, values, self.K)
        zero = self.impossible(xp, x)
        values = xp.where(zero > 0.0, 0.0, values)
        empty = (xp.sum(values) <= 0.0) & (xp.max(zero) > 0.0)
        return xp.where(empty, 0.0, _normalised(xp, values, self.K))

    def tails(self, xp: Namespace, x: Array) -> tuple[Array, Array]:
        """Return side and tail of each class; the others of the largest are added up."""
        e = xp.maximum(scaled_masses(xp, x, self.kind, self.factor), self.floor)
        _, top = xp.descending(e, 1)
        others = xp.scatter(e, top, 0.0 * xp.gather(e, top))
        return sides(xp, e, xp.scatter(xp.sum(e) - e, top, xp.sum(others)))


class EveryRank(OneAgainstTheRest):
    """A map for each rank, divided by the sum."""

    def _vectors(self, xp: Namespace, c: Constants, x: Array) -> Array:
        high, tail = self.tails(xp, x)
        _, order = xp.descending(x, None)
        above = xp.gather(xp.where(high, 1.0, 0.0), order) > 0.5  # noqa: PLR2004 - a flag
        calibrated = self.bank.from_tails(xp, c, above, xp.gather(tail, order))
        return self._divided(xp, xp.scatter(tail, order, calibrated), x)


def _normalised(xp: Namespace, values: Array, K: int) -> Array:
    total = xp.sum(values)
    some = total > 0.0
    return xp.where(some, values / xp.where(some, total, 1.0), 1.0 / K)


class Ranks(Vectors):
    """Shares by rank, in order; the rest by a power."""

    def __init__(self, calibrator: Any, kind: Kind) -> None:  # noqa: ANN401 - a RanksMap
        super().__init__(calibrator, kind)
        self.floor, self.power, self.R = calibrator.floor, calibrator.power, len(calibrator.maps)
        self.factor = calibrator.factor
        self.bank = Bank([form_of(inner) for inner in calibrator.maps], "maps")
        self.constants = self.bank.constants | {"capped": np.arange(self.K, dtype=np.float64)}

    def _vectors(self, xp: Namespace, c: Constants, x: Array) -> Array:
        e = scaled_masses(xp, x, self.kind, self.factor)
        _, order = xp.descending(x, self.R)
        top = xp.gather(e, order)
        nothing = 0.0 * top
        others = xp.scatter(e, order, nothing)
        rest = xp.scatter(xp.maximum(others, self.floor), order, nothing)
        log_odds = self._log_odds(xp, top, xp.sum(others), xp.sum(rest))
        parts, left = self._parts(xp, self.bank.from_log_odds(xp, c, log_odds))
        if self.power != 1.0:
            rest = xp.where(rest > 0.0, xp.exp(self.power * safe_log(xp, rest)), 0.0)
        cap = parts[-1] * (1.0 - MARGIN)
        return xp.scatter(filled(xp, c, rest, left, cap, self.K - self.R), order, xp.join(parts))

    def _log_odds(self, xp: Namespace, top: Array, others: Array, left: Array) -> Array:
        """Return the log-odds of each rank among those not before it."""
        columns: list[Array] = [None] * self.R
        lifted = xp.maximum(top, self.floor)
        exact = others + (xp.sum(xp.columns(top, 1, None)) if self.R > 1 else 0.0)
        for r in range(self.R - 1, 0, -1):
            own = xp.columns(lifted, r, r + 1)
            columns[r] = xp.log(own) - xp.log(left)
            left = left + own
        columns[0] = xp.log(xp.columns(top, 0, 1)) - safe_log(xp, exact)
        return xp.join(columns)

    def _parts(self, xp: Namespace, shares: Array) -> tuple[list[Array], Array]:
        """Return the parts of the ranks: `ogive.calibrators.stick_breaking.broken`."""
        left: Array = 1.0
        upper: Array = 1.0
        parts = []
        for r in range(self.R):
            margin = 3 * MARGIN if r == 0 else MARGIN
            lower = left / (1.0 + (self.K - 1 - r) * (1.0 - margin))
            asked = xp.columns(shares, r, r + 1) * left
            part = xp.maximum(xp.minimum(asked, upper), lower)
            parts.append(part)
            left = xp.maximum(left - part, 0.0)
            upper = part * (1.0 - MARGIN)
        return parts, left


def filled(  # noqa: PLR0917 - internal
    xp: Namespace, c: Constants, weights: Array, left: Array, cap: Array, others: int
) -> Array:
    """Share what is left in proportion to the weights, of which `others` > 0, none above the cap.

    If the m largest are capped, the others have the scale (left − m cap) / (their sum). The
    right m is the first at which none of the others exceeds the cap; if by rounding there is
    none, the scale of the last lifts all of them to the cap.
    """
    falling, _ = xp.descending(weights, None)
    after = xp.sum_to_the_end(falling)  # column m: the sum without the m largest
    some = after > 0.0
    needed = xp.maximum(left - c["capped"] * cap, 0.0)
    scale = xp.where(some, needed / xp.where(some, after, 1.0), 0.0)
    over = xp.where(scale * falling > cap, 1.0, 0.0)
    m = xp.minimum(xp.sum(over), others - 1.0)
    chosen = xp.sum(xp.where(xp.absolute(c["capped"] - m) < 0.5, scale, 0.0))  # noqa: PLR2004
    return xp.minimum(chosen * weights, cap)
