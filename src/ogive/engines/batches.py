"""Batches of rows become tallies, which add up exactly: the work that every engine maps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ogive._classes import class_keys
from ogive._counter import Adder, Counter, table_bytes
from ogive._packing import keys_of_scores, keys_of_view
from ogive._spans import MIDDLE, tail_at
from ogive.curve import Curve
from ogive.engines.plan import CLASSWISE
from ogive.engines.rows import Rows, numbers, read_rows
from ogive.engines.vectors import NONE, Vectors
from ogive.errors import need
from ogive.predictions import Predictions
from ogive.summary import (
    COUNTED,
    WEIGHED,
    Summary,
    added,
    empty,
    summarise,
    summarise_weighted,
)
from ogive.views import parse_view

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ogive._typing import IntArray, KeyArray, Kind
    from ogive.engines.plan import Name, Plan
    from ogive.engines.rows import Where

_FEW = 4  # up to so many curves of unknown groups are counted in tables of their own
_TABLES = 200 << 20  # bytes that the tables of all views and classes may take in one thread
_MANY = 1 << 30
_ROWS = ("(rows)", "")  # the name of the row that carries the numbers of rows


@dataclass(frozen=True, slots=True)
class Tally:
    """Summaries of all curves of a plan, and how many rows they are from.

    Attributes
    ----------
    names : tuple of (view, group)
        The curves, by the number they have in the summary.
    summary : Summary
    rows, skipped : int
        Rows read, and rows left out because they broke a rule.
    vectors : Vectors
        Sums of the proper scores of whole vectors, where the plan asks for them.
    """

    names: tuple[Name, ...]
    summary: Summary
    rows: int = 0
    skipped: int = 0
    vectors: Vectors = NONE

    def curves(self) -> dict[Name, Curve]:
        """Return the curve of each view and group that has rows."""
        found = {
            name: Curve(summary=self.summary.of(i), view=name[0])
            for i, name in enumerate(self.names)
        }
        return {name: curve for name, curve in found.items() if curve.summary().size}

    def to_table(self) -> Any:  # noqa: ANN401 - a pyarrow.Table
        """Return a flat table: view, group, bucket, first, last and six sums.

        One more row, of the view "(rows)", carries the rows read as its count, those skipped as
        its hits, and `vectors`. Tables of one plan can be concatenated as they are.
        """
        pa = need("pyarrow", extra="files")
        s = self.summary
        sums = WEIGHED if s.weighted else COUNTED
        sure = (self.rows, self.skipped, *self.vectors.sums)
        columns = [
            np.append(c, [v])
            for c, v in zip((s.bucket, s.first, s.last), (self.vectors.rows, 0, 0), strict=True)
        ]
        columns += [
            np.append(row, [v]).astype(row.dtype) for row, v in zip(s.sums, sure, strict=True)
        ]
        index = pa.array(np.append(s.curve, [len(self.names)]).astype(np.int32))
        every = [*self.names, _ROWS]
        words = (pa.array([name[i] for name in every], pa.string()) for i in (0, 1))
        names = [pa.DictionaryArray.from_arrays(index, w).cast(pa.string()) for w in words]
        arrays = [*names, *(pa.array(column) for column in columns)]
        return pa.table(arrays, names=["view", "group", "bucket", "first", "last", *sums])

    @staticmethod
    def from_tables(tables: Iterable[Any], plan: Plan) -> Tally:
        """Add up tables that `to_table` made under a plan."""
        return added_tallies((_from_table(table, plan) for table in tables), plan)


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
        self._window = _Window.of(plan)
        several = len(plan.curves) if plan.by is None else _MANY
        fits = several * table_bytes(plan.bits) <= _TABLES
        self._in_tables = _MANY if fits else _FEW

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

    def include(self, other: Tally) -> None:
        """Add what was counted elsewhere."""
        self.rows, self.skipped = self.rows + other.rows, self.skipped + other.skipped
        self.vectors += other.vectors
        numbers = np.array([self._number(name) for name in other.names], dtype=np.int64)
        if other.summary.size:
            self._adder.add(_renumbered(other.summary, numbers))

    def result(self) -> Tally:
        """Return what was counted so far."""
        for number, counter in self._counters.items():
            part = counter.total()
            part.curve[:] = number
            self._adder.add(part)
        self._counters = {}
        total = self._adder.total()
        return Tally(tuple(self._names), total, self.rows, self.skipped, self.vectors)

    @property
    def size(self) -> int:
        """How many rows of summaries are held; counters of few curves do not count."""
        return self._adder.size

    @property
    def names(self) -> tuple[Name, ...]:
        """The curves so far."""
        return tuple(self._names)

    def _count(self, view: str, keys: KeyArray, rows: Rows) -> None:
        plan, weights = self.plan, rows.weights
        if rows.group is None:
            segments = [("", slice(0, keys.size))]
        else:
            keys = keys[rows.order]
            weights = None if weights is None else weights[rows.order]
            segments = list(rows.segments())
        kept, ends, curves, kept_weights = [], [], [], []
        for group, at in segments:
            mine, own = keys[at], None if weights is None else weights[at]
            if plan.within is not None:
                ranges = plan.within.get((view, group))
                if ranges is None:
                    continue
                inside = in_ranges(mine, ranges)
                mine, own = mine[inside], None if own is None else own[inside]
            if mine.size:
                kept.append(mine)
                kept_weights.append(own)
                ends.append(mine.size)
                curves.append(self._number((view, group)))
        if not kept:
            return
        if weights is not None:
            every = np.concatenate([w for w in kept_weights if w is not None])
            which = np.repeat(np.array(curves, dtype=np.int64), ends)
            mine = np.concatenate(kept)
            self._adder.add(
                summarise_weighted(mine, every, plan.bits, plan.weight_kind, curves=which)
            )
        elif len(self._names) <= self._in_tables:
            for number, mine in zip(curves, kept, strict=True):
                counter = self._counters.setdefault(number, Counter(plan.bits))
                counter.add(mine)
        else:
            mine = kept[0] if len(kept) == 1 else np.concatenate(kept)
            self._adder.add(
                summarise(mine, plan.bits, ends=np.cumsum(ends), curves=np.array(curves))
            )

    def _number(self, name: Name) -> int:
        return self._names.setdefault(name, len(self._names))


class _Window:
    """Which scores a further reading needs at all: told from the scores, before they are packed."""

    def __init__(self, ranges: list[IntArray]) -> None:
        every: IntArray = np.concatenate(ranges)
        every = every[np.argsort(every[:, 0])]
        if every.shape[0] > _FEW:
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
        """Return the rows inside, a few too many; all others need not be looked at again."""
        (name,) = plan.layout.values
        scores = numbers(batch.column(name), name, plan)
        inside = [(scores >= low) & (scores <= high) for low, high in self.ends]
        found = np.flatnonzero(np.logical_or.reduce(inside))
        return batch.take(need("pyarrow", extra="files").array(found))


def in_ranges(keys: KeyArray, ranges: IntArray) -> IntArray:
    """Return the indices of the keys whose places lie in ranges (k, 2): from, to below."""
    if ranges.size == 0:
        return np.empty(0, dtype=np.intp)
    place = (keys >> np.uint64(1)).view(np.int64)
    near = np.flatnonzero((place >= ranges[0, 0]) & (place < ranges[-1, 1]))
    if ranges.shape[0] > 1 and near.size:
        near = near[np.searchsorted(ranges.ravel(), place[near], side="right") % 2 == 1]
    return near


def _keys(rows: Rows, plan: Plan) -> Iterator[tuple[str, KeyArray]]:
    """Yield the keys of each curve of a plan."""
    if rows.values.ndim == 1 and plan.layout.kind != "logits":
        for view in plan.views:
            yield view, keys_of_scores(rows.values, rows.truth)
        return
    preds = _predictions(rows, plan)
    for view in plan.views:
        if view == CLASSWISE:
            for k, keys in class_keys(preds, threads=1):
                yield f"class-{k}", keys
        else:
            yield view, keys_of_view(preds, parse_view(view), threads=1)


def _predictions(rows: Rows, plan: Plan) -> Predictions:
    kind: Kind = "logits" if plan.layout.kind == "logits" else "probs"
    return Predictions(rows.values, rows.truth, kind=kind, threads=1)


def added_tallies(tallies: Iterable[Tally], plan: Plan) -> Tally:
    """Add up tallies of one plan; the order of the curves is that of the plan, then of groups."""
    adder = Adder(plan.bits)
    numbers: dict[Name, int] = {}
    rows = skipped = 0
    vectors = NONE
    for part in tallies:
        rows, skipped = rows + part.rows, skipped + part.skipped
        vectors += part.vectors
        new = [numbers.setdefault(name, len(numbers)) for name in part.names]
        if part.summary.size:
            adder.add(_renumbered(part.summary, np.array(new, dtype=np.int64)))
    place = {view: i for i, view in enumerate(plan.curves)}
    names = sorted(numbers, key=lambda name: (place.get(name[0], 0), name[1]))
    final = np.empty(len(names), dtype=np.int64)
    final[[numbers[name] for name in names]] = np.arange(len(names))
    total = adder.total()
    summary = added([_renumbered(total, final)]) if total.size else empty(plan.bits)
    return Tally(tuple(names), summary, rows, skipped, vectors)


def _renumbered(summary: Summary, numbers: IntArray) -> Summary:
    s = summary
    return Summary(s.bits, numbers[s.curve], s.bucket, s.first, s.last, s.sums)


def _from_table(table: Any, plan: Plan) -> Tally:  # noqa: ANN401
    encoded = [table[name].combine_chunks().dictionary_encode() for name in ("view", "group")]
    views, groups = (column.dictionary.to_pylist() for column in encoded)
    view, group = (column.indices.to_numpy().astype(np.int64) for column in encoded)
    pairs, curve = np.unique(view * len(groups) + group, return_inverse=True)
    names = [(views[pair // len(groups)], groups[pair % len(groups)]) for pair in pairs]
    kinds = WEIGHED if "offset" in table.column_names else COUNTED
    bucket, first, last, *rest = (table[c].to_numpy() for c in ("bucket", "first", "last", *kinds))
    sums = np.stack(rest)
    kept = [name for name in names if name != _ROWS]
    number = np.array([kept.index(name) if name != _ROWS else -1 for name in names])[curve]
    real = number >= 0
    rows, skipped, *scores = (sum(row[~real].tolist()) for row in sums)
    vectors = Vectors(int(bucket[~real].sum()), tuple(scores))
    part = Summary(plan.bits, number[real], bucket[real], first[real], last[real], sums[:, real])
    return Tally(tuple(kept), added([part]), int(rows), int(skipped), vectors)
