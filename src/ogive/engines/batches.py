"""Batches of rows become tallies, which add up exactly: the work that every engine maps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ogive.curve.classes import class_keys
from ogive.curve.counter import Adder, Counter, table_bytes
from ogive.curve.packing import keys_of_scores, keys_of_view
from ogive.curve.spans import MIDDLE, tail_at
from ogive.curve.summary import (
    summarise,
    summarise_weighted,
)
from ogive.engines.grouping import ALL_ROWS
from ogive.engines.plan import CLASSWISE
from ogive.engines.rows import Rows, numbers, read_rows
from ogive.engines.tally import (
    Pile,
    Tally,
    added_tallies,
    check_room,
    in_ranges,
    renumbered,
    summary_bytes,
)
from ogive.engines.vectors import NONE, Vectors
from ogive.readers.arrow import from_indices
from ogive.rows.predictions import Predictions
from ogive.rows.views import parse_view

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ogive._typing import FloatArray, IntArray, KeyArray, Kind
    from ogive.engines.plan import Name, Plan
    from ogive.engines.rows import Where

#: With more groups, tables would take too much memory, and keys are sorted.
_MAX_CURVES_WITH_OWN_TABLES = 4
_MAX_TABLE_BYTES = 200 << 20  # of the tables of all views and classes in one thread
_NO_LIMIT = 1 << 30


def tally(batches: Iterable[Any], plan: Plan, where: Where | None = None) -> Tally:
    """Count record batches.

    Parameters
    ----------
    batches : iterable of pyarrow.RecordBatch
        With the columns of `Plan.needed`, and any others.
    plan : Plan
    where : Where, optional
        The file they are from and the row of the first, for errors: `where` moves on by itself.
    """
    counts = Tallier(plan)
    for batch in batches:
        counts.add(batch, where)
    return counts.result()


class Tallier:
    """Counts batches one by one; one thread uses it at a time."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.rows = self.skipped = 0
        self.vectors = NONE
        self._names: dict[Name, int] = {}
        self._adder = Adder(plan.bits)
        self._counters: dict[int, Counter] = {}
        self._collected: dict[Name, list[KeyArray]] = {}
        self._piles: dict[Name, Pile] = {}
        self._window = _Window.of(plan)
        several = len(plan.curves) if plan.by is None else _NO_LIMIT
        fits = several * table_bytes(plan.bits) <= _MAX_TABLE_BYTES
        self._in_tables = _NO_LIMIT if fits else _MAX_CURVES_WITH_OWN_TABLES

    def add(self, batch: Any, where: Where | None = None) -> None:  # noqa: ANN401
        """Count the rows of a pyarrow.RecordBatch."""
        self.rows += batch.num_rows
        if self._window is not None:
            batch = self._window.of_batch(batch, self.plan)
        rows = read_rows(batch, self.plan, where)
        self.skipped += rows.skipped
        if rows.n == 0:
            return
        if self.plan.vectors and rows.values.ndim > 1:
            self.vectors += Vectors.of(_predictions(rows, self.plan), rows.weights)
        for view, keys in _keys(rows, self.plan):
            self._count(view, keys, rows)
        check_room(self.size, len(self._names), self.plan)

    def begun(self, plan: Plan) -> Tallier:
        """Return one that has counted nothing yet."""
        return type(self)(plan)

    def include(self, other: Tally) -> None:
        """Add what was counted elsewhere."""
        self.rows, self.skipped = self.rows + other.rows, self.skipped + other.skipped
        self.vectors += other.vectors
        for name, parts in other.keys.items():
            self._collected.setdefault(name, []).extend(parts)
        numbers = np.array([self._number(name) for name in other.names], dtype=np.int64)
        if other.summary.size:
            self._adder.add(renumbered(other.summary, numbers))

    def result(self) -> Tally:
        """Return what was counted so far."""
        while self._counters:
            number, counter = self._counters.popitem()
            part = counter.total()
            del counter  # its tables take more than the sum
            self._adder.add(renumbered(part, np.array([number])))
        for name, pile in self._piles.items():
            self._collected.setdefault(name, []).extend(pile.parts)
        self._piles = {}
        total, keys = self._adder.total(), self._collected
        return Tally(tuple(self._names), total, self.rows, self.skipped, self.vectors, keys)

    @property
    def size(self) -> int:
        """How many rows of summaries are held; counters of few curves do not count."""
        return self._adder.size

    @property
    def used(self) -> int:
        """About how many bytes the summaries take."""
        return summary_bytes(self.size, len(self._names))

    @property
    def names(self) -> tuple[Name, ...]:
        """The curves so far."""
        return tuple(self._names)

    def _count(self, view: str, keys: KeyArray, rows: Rows) -> None:
        """Count the keys of one view, in tables or by sorting, as suits the number of curves."""
        plan = self.plan
        found = list(self._segments(view, keys, rows))
        if rows.weights is not None:
            self._count_weighted(found)
        elif plan.collect:
            for name, mine, _ in found:
                self._piles.setdefault(name, Pile()).add(mine)
        elif len(self._names) <= self._in_tables:
            for name, mine, _ in found:
                counter = self._counters.setdefault(self._names[name], Counter(plan.bits))
                counter.add(mine)
        elif found:
            ends = np.cumsum([mine.size for _, mine, _ in found])
            curves = np.array([self._names[name] for name, _, _ in found])
            every = np.concatenate([mine for _, mine, _ in found])
            self._adder.add(summarise(every, plan.bits, ends=ends, curves=curves))

    def _segments(
        self, view: str, keys: KeyArray, rows: Rows
    ) -> Iterator[tuple[Name, KeyArray, FloatArray | None]]:
        """Yield the keys of each group, and their weights, within the plan's ranges."""
        within = self.plan.within
        for group, mine, own in _parts(keys, rows):
            name = (view, group)
            if within is not None:
                if name not in within:
                    continue
                inside = in_ranges(mine, within[name])
                mine, own = mine[inside], None if own is None else own[inside]  # noqa: PLW2901
            if mine.size:
                self._number(name)
                yield name, mine, own

    def _count_weighted(self, found: list[tuple[Name, KeyArray, FloatArray | None]]) -> None:
        if not found:
            return
        curves = np.array([self._names[name] for name, _, _ in found], dtype=np.int64)
        which = np.repeat(curves, [mine.size for _, mine, _ in found])
        every = np.concatenate([mine for _, mine, _ in found])
        weights = np.concatenate([own for *_, own in found if own is not None])
        plan = self.plan
        part = summarise_weighted(every, weights, plan.bits, plan.weight_kind, curves=which)
        self._adder.add(part)

    def _number(self, name: Name) -> int:
        return self._names.setdefault(name, len(self._names))


class _Window:
    """Selects the scores that a further reading needs, before they are packed into keys."""

    def __init__(self, ranges: list[IntArray]) -> None:
        every: IntArray = np.concatenate(ranges)
        every = every[np.argsort(every[:, 0])]
        if every.shape[0] > _MAX_CURVES_WITH_OWN_TABLES:
            every = np.array([[every[0, 0], every[:, 1].max()]])
        tails = tail_at(every - np.array([0, 1]))  # from the first to the last place
        self.ends = np.where(every >= MIDDLE, 1.0 - tails, tails)  # exact: the scores were floats

    @classmethod
    def of(cls, plan: Plan) -> _Window | None:
        """Return the window of a plan, where one helps."""
        if plan.within is None or plan.layout.kind != "scores":
            return None
        return cls(list(plan.within.values()))

    def of_batch(self, batch: Any, plan: Plan) -> Any:  # noqa: ANN401
        """Return the rows inside, and a few more; all others are not needed."""
        (name,) = plan.layout.values
        scores = numbers(batch.column(name), name, plan)
        inside = [(scores >= low) & (scores <= high) for low, high in self.ends]
        found = np.flatnonzero(np.logical_or.reduce(inside))
        return batch.take(from_indices(found))


def _keys(rows: Rows, plan: Plan) -> Iterator[tuple[str, KeyArray]]:
    """Yield the keys of each curve of a plan."""
    if rows.values.ndim == 1 and plan.layout.kind != "logits":
        for view in plan.views:
            yield view, keys_of_scores(rows.values, rows.truth)
        return
    preds = _predictions(rows, plan)
    for view in plan.views:
        if view == CLASSWISE:
            for k, keys in class_keys(preds, n_jobs=1):
                yield f"class-{k}", keys
        else:
            yield view, keys_of_view(preds, parse_view(view), n_jobs=1)


def _parts(keys: KeyArray, rows: Rows) -> Iterator[tuple[str, KeyArray, FloatArray | None]]:
    """Yield the keys and weights of each group; a row is in one group of each grouping."""
    weights = rows.weights
    if not rows.groupings:
        yield ALL_ROWS, keys, weights
    for grouping in rows.groupings:
        mine, own = keys[grouping.order], None if weights is None else weights[grouping.order]
        for group, at in grouping.segments():
            yield group, mine[at], None if own is None else own[at]


def _predictions(rows: Rows, plan: Plan) -> Predictions:
    kind: Kind = "logits" if plan.layout.kind == "logits" else "probs"
    one = rows.values.ndim == 1 or rows.values.shape[1] == 1
    classes = np.arange(2 if one else rows.values.shape[1])
    return Predictions(rows.values, rows.truth, kind=kind, n_jobs=1, classes=classes, name="")


__all__ = ["Tallier", "Tally", "added_tallies", "tally"]
