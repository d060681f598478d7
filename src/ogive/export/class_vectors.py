"""The class structure as array arithmetic: `ogive.calibrators.multiclass.free`, step by step."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ogive.calibrators.multiclass.class_structure import FARTHEST, LEAST_LOG
from ogive.calibrators.stick_breaking import MARGIN
from ogive.export.arrays import Bank, safe_log
from ogive.export.forms import form_of
from ogive.export.vectors import HUGE, Vectors, filled, lifted
from ogive.rows.views import parse_view, rank_range

if TYPE_CHECKING:
    from ogive._typing import Kind
    from ogive.calibrators.maps import Map
    from ogive.calibrators.multiclass.class_structure import ClassStructure
    from ogive.calibrators.multiclass.class_view import ClassViewMap
    from ogive.export.arrays import Array, Constants, Namespace


class _Classes(Vectors):
    """Scores from log-probabilities and probabilities, and a map of the top class."""

    def __init__(self, gamma: Any, kind: Kind) -> None:  # noqa: ANN401 - a ClassMap
        super().__init__(gamma, kind)
        self._read(gamma.structure, gamma.top)

    def _read(self, structure: ClassStructure, top: Map) -> None:
        self.factor, self.floor = structure.factor, structure.floor
        self.narrow = structure.of_logs is not None
        self.bank = Bank([form_of(top)], "top")
        self.constants = self.bank.constants | {
            f"class_{name}": array for name, array in structure.matrices.items()
        }

    def scores(self, xp: Namespace, c: Constants, x: Array) -> Array:
        """Return the scores of the classes, (n, K)."""
        if self.kind == "logits":
            gaps = lifted(xp, x - xp.max(x), x < -HUGE, self.floor)
        else:
            gaps = lifted(xp, safe_log(xp, x), x <= 0.0, self.floor)
            gaps = gaps - xp.max(gaps)
        gaps = xp.maximum(self.factor * gaps, LEAST_LOG)
        a = gaps - xp.log(xp.sum(xp.exp(gaps)))
        p = xp.exp(a)
        if self.narrow:
            logs = xp.matmul(xp.matmul(a, c["class_of_logs"]), c["class_to_logs"])
            probs = xp.matmul(xp.matmul(p, c["class_of_probs"]), c["class_to_probs"])
            own = a * c["class_logs"] + p * c["class_probs"]
            return logs + probs + own + c["class_offset"]
        return xp.matmul(a, c["class_logs"]) + xp.matmul(p, c["class_probs"]) + c["class_offset"]

    def near_scores(self, xp: Namespace, c: Constants, x: Array) -> Array:
        """Return the scores below the largest, as far as the library tells them apart."""
        s = self.scores(xp, c, x)
        return xp.maximum(s - xp.max(s), FARTHEST)

    @staticmethod
    def others(xp: Namespace, s: Array, top: Array) -> tuple[Array, Array]:
        """Return the masses of the other classes in units of their largest, and its logarithm.

        (n, K), 0 at the top class, and (n, 1), in units of the largest of all. These units keep
        derivatives finite where the other classes have almost no mass.
        """
        own = xp.gather(s, top)
        largest = xp.max(xp.scatter(s, top, 0.0 * own - HUGE))
        e = xp.exp(xp.maximum(-xp.maximum(largest - s, 0.0), FARTHEST))
        return xp.scatter(e, top, 0.0 * own), xp.maximum(largest - xp.max(s), FARTHEST)


class Free(_Classes):
    """The top is the class of the largest score."""

    def _vectors(self, xp: Namespace, c: Constants, x: Array) -> Array:
        s = self.near_scores(xp, c, x)
        _, top = xp.descending(s, 1)
        others, second = self.others(xp, s, top)
        rest = xp.sum(others)
        part = self.bank.from_log_odds(xp, c, -xp.log(rest) - second)
        part = xp.maximum(part, 1.0 / (rest + 1.0) * (1.0 + MARGIN))
        return xp.scatter(others * ((1.0 - part) / rest), top, part)


class Kept(_Classes):
    """The top is the class that the model chose."""

    def __init__(self, calibrator: Any, kind: Kind) -> None:  # noqa: ANN401 - a KeptMap
        super().__init__(calibrator, kind)
        count = np.arange(self.K, dtype=np.float64)
        self.constants |= {"capped": count, "pooled": count[1:] + 1.0}

    def _vectors(self, xp: Namespace, c: Constants, x: Array) -> Array:
        s = self.near_scores(xp, c, x)
        _, top = xp.descending(x, 1)
        own = xp.exp(xp.maximum(xp.gather(s, top) - xp.max(s), FARTHEST))
        others, second = self.others(xp, s, top)
        rest = xp.sum(others)
        falling, _ = xp.descending(others, None)
        first = rest - xp.columns(xp.sum_to_the_end(falling), 1, None)  # the sum of the c largest
        pooled = own < 1.0  # then the largest of the others is the largest of all
        level = xp.where(pooled, xp.max((own + first) / c["pooled"]), own)
        log_odds = xp.log(level) - xp.log(xp.where(pooled, own + rest - level, rest)) - second
        part = self.bank.from_log_odds(xp, c, log_odds)
        part = xp.maximum(part, 1.0 / (1.0 + (self.K - 1) * (1.0 - 3.0 * MARGIN)))
        shared = filled(xp, c, others, 1.0 - part, part * (1.0 - MARGIN), self.K - 1)
        return xp.scatter(shared, top, part)


class ClassView(_Classes):
    """The event of a rank: (n, K) in, (n, 1) out."""

    full = False

    def __init__(self, gamma: ClassViewMap, kind: Kind) -> None:
        self.K, self.kind, self.one_column = gamma.K, kind, False
        self.first, self.last = rank_range(parse_view(gamma.view))
        self._read(gamma.structure, gamma.event)

    def __call__(self, xp: Namespace, c: Constants, x: Array) -> Array:
        """Return the calibrated probability of the event."""
        return self._vectors(xp, c, x)

    def _vectors(self, xp: Namespace, c: Constants, x: Array) -> Array:
        e = xp.exp(self.near_scores(xp, c, x))
        _, order = xp.descending(x, self.last)
        ranked = xp.gather(e, order)
        rest = xp.sum(xp.scatter(e, order, 0.0 * ranked))
        if self.first:
            rest = rest + xp.sum(xp.columns(ranked, 0, self.first))
        own = xp.sum(xp.columns(ranked, self.first, self.last))
        return self.bank.from_log_odds(xp, c, xp.log(own) - xp.log(rest))
