r"""Groups of several columns: what each value adds by itself, and what a combination adds to that.

The effect of a cell, such as mobile in Brazil, is a sum: the main effect of each of its values
and an interaction, each with sizes of its own (`ogive._numerics.pooled_effects`). They are fitted
in turns: the main effects of one column with those of the others as an offset, twice around, then
the interactions beyond all main effects. What two columns explain alike is so left to the main
effects, and a cell of few rows gets little more than these.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ogive._numerics.pooled_effects import Effects, GroupTrials
from ogive.calibrators.grouped_map import EFFECTS, JOIN, main_name

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ogive._typing import FloatArray, IntArray

ROUNDS = 2  # of the main effects; a third moves log-odds by less than their errors


class Crossed(NamedTuple):
    """The names of cells and of main effects, and the whole effect of each."""

    names: list[str]
    effects: Effects


def fit_crossed(
    cells: GroupTrials, names: Sequence[str], fit: Callable[[GroupTrials], Effects]
) -> Crossed:
    """Fit main effects and interactions of cells, whose names join the values of the columns."""
    values = [name.split(JOIN) for name in names]
    level = [_levels([row[c] for row in values]) for c in range(len(values[0]))]
    found: list[Effects | None] = [None] * len(level)
    for _ in range(ROUNDS):
        for c, (_, of_cell) in enumerate(level):
            others = [i for i in range(len(level)) if i != c]
            found[c] = fit(_regrouped(cells, of_cell, _sum_of(found, level, others)))
    main = _sum_of(found, level, range(len(level)))
    inner = fit(_regrouped(cells, np.arange(len(names)), main))
    every = [*(one for one in found if one is not None), inner]
    whole = inner.spread + sum(
        one.spread[of_cell] for one, (_, of_cell) in zip(every, level, strict=False)
    )
    mains = [
        main_name([value] * len(level), c)
        for c, (levels, _) in enumerate(level)
        for value in levels
    ]
    return Crossed(
        [*names, *mains],
        Effects(
            np.concatenate([inner.effect + main, *(one.effect for one in every[:-1])]),
            np.concatenate([whole, *(one.spread for one in every[:-1])]),
            np.sqrt(sum(one.size**2 for one in every)),
            np.prod([one.none for one in every], axis=0),
        ),
    )


def _levels(values: Sequence[str]) -> tuple[list[str], IntArray]:
    """Return the values in the order in which they come, and which one each cell has."""
    place = {value: i for i, value in enumerate(dict.fromkeys(values))}
    return list(place), np.array([place[value] for value in values])


def _sum_of(
    found: Sequence[Effects | None],
    level: Sequence[tuple[list[str], IntArray]],
    columns: Sequence[int] | range,
) -> FloatArray:
    """Return the sum of the main effects of some columns, for each cell, (cells, 3)."""
    total = np.zeros((level[0][1].size, EFFECTS))
    for c in columns:
        one = found[c]
        if one is not None:
            total += one.effect[level[c][1]]
    return total


def _regrouped(cells: GroupTrials, group: IntArray, effect: FloatArray) -> GroupTrials:
    """Return the rows with a group for several cells, and effects of the cells as an offset."""
    rows = np.diff(np.append(cells.start, cells.offset.size))
    of_row = np.repeat(group, rows)
    offset = cells.offset + np.einsum("dm,md->m", cells.columns, np.repeat(effect, rows, axis=0))
    order = np.argsort(of_row, kind="stable")
    hit = np.zeros((int(group.max()) + 1, cells.hit.shape[1]))
    np.add.at(hit, group, cells.hit)
    start = np.searchsorted(of_row[order], np.arange(hit.shape[0]))
    return GroupTrials(offset[order], cells.counts[order], cells.columns[:, order], hit, start)
