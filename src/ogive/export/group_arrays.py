"""A calibrator of groups as array arithmetic: a view's score, and the places of each row's groups.

It follows `ogive.calibrators.grouped_map`. A place that is the number of values stands for a value
that was not seen: the tables have a row of zeros there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ogive.calibrators.grouped_map import EFFECTS
from ogive.calibrators.spline_map import LIMIT
from ogive.export.arrays import Bank, clip, log_odds, sigmoid, view_tails
from ogive.export.forms import form_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ogive._typing import AnyArray, FloatArray, Kind
    from ogive.calibrators.grouped_map import GroupedMap
    from ogive.export.arrays import Array, Constants, Namespace


class GroupProgram:
    """A map of a view's score and groups: (n, K) or (n, 1), and k places (n, 1), in; (n, 1) out."""

    full = False

    def __init__(self, gamma: GroupedMap, kind: Kind) -> None:
        self.view, self.kind, self.axis = gamma.view, kind, gamma.axis
        self.one_column = gamma.view == "score"
        self.at_one = gamma.log_odds_at_one
        self.bank = Bank([form_of(gamma.overall)], "map")
        table = gamma.table
        self.sizes = [len(values) for values in table.values]
        self.constants: dict[str, AnyArray] = dict(self.bank.constants)
        for column, main in enumerate(table.main):
            self._add(f"main{column}", main)
        for step, keys in enumerate(table.steps):
            m = self.sizes[step + 1]
            # a value not seen has place m: it must not meet the key of another combination
            self.constants[f"keys{step}"] = keys // m * (m + 1) + keys % m
        self.steps, self.cells = len(table.steps), len(table.effect)
        if self.cells:
            self._add("cell", table.effect)

    def _add(self, name: str, effect: FloatArray) -> None:
        """Keep the three columns of effects, each with a zero at its end."""
        padded = np.concatenate([effect, np.zeros((1, EFFECTS))])
        self.constants |= {f"{name}_{d}": padded[:, d].copy() for d in range(EFFECTS)}

    def __call__(self, xp: Namespace, c: Constants, x: Array, places: Sequence[Array]) -> Array:
        """Return the calibrated score, (n, 1)."""
        high, tail = view_tails(xp, x, self.view, self.kind)
        (_, group), *_ = self.bank.groups
        L = group.log_odds_at(xp, c, log_odds(xp, high, tail))
        L = xp.where(high & (tail <= 0.0), self.at_one, L)
        axis = self.axis
        z = (clip(xp, L, axis.first, axis.last) - axis.centre) / axis.unit
        q = (xp.sqrt(1.0 + z * z) - axis.bend_mean - axis.bend_slope * z) / axis.bend_unit
        shift, slope, bend = self._effects(xp, c, places)
        return sigmoid(xp, clip(xp, L + shift + slope * z + bend * q, -LIMIT, LIMIT))

    def _effects(self, xp: Namespace, c: Constants, places: Sequence[Array]) -> list[Array]:
        """Return shift, slope and bend of the rows, (n, 1) each."""
        total: list[Array] = [0.0] * EFFECTS
        for column, place in enumerate(places):
            own = [xp.take(c[f"main{column}_{d}"], place) for d in range(EFFECTS)]
            total = [a + b for a, b in zip(own, total, strict=True)]
        if not self.cells:
            return total
        cell = places[0]
        for step, place in enumerate(places[1:]):
            cell = xp.find(c[f"keys{step}"], cell * (self.sizes[step + 1] + 1) + place)
        seen = cell < self.cells
        return [
            xp.where(seen, xp.take(c[f"cell_{d}"], cell), alone) for d, alone in enumerate(total)
        ]
