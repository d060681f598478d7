"""Tallies: what was counted, and how tallies of one plan add up."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ogive.curve import Curve
from ogive.curve.counter import Adder
from ogive.curve.summary import COUNTED, WEIGHED, Summary, added, empty, summarise
from ogive.engines.vectors import NONE, Vectors
from ogive.errors import InvalidInput
from ogive.readers.arrow import pa
from ogive.readers.memory import in_words

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ogive._typing import IntArray, KeyArray
    from ogive.engines.plan import Name, Plan

_BYTES_PER_ROW = 300  # of a summary, with what adding it up needs
_BYTES_PER_CURVE = 4000  # beside its rows: 1e5 groups of 20 rows took 980 MB in all
_KEYS_PER_ARRAY = 1 << 17  # of collected keys
_KEYS_COUNTED_AT_ONCE = 1 << 15  # counting takes many times the memory of the keys
_ROWS = ("(rows)", "")  # the name of the row that carries the numbers of rows


class TooManyCurves(InvalidInput):
    """The summaries of some curves exceed the memory limit: `used` bytes so far."""

    used = curves = 0


def summary_bytes(rows: int, curves: int) -> int:
    """Return about how many bytes summaries take, with what adding them up needs."""
    return rows * _BYTES_PER_ROW + curves * _BYTES_PER_CURVE


def check_room(rows: int, curves: int, plan: Plan) -> None:
    """Refuse summaries that take more memory than the plan allows."""
    used = summary_bytes(rows, curves)
    if plan.budget is not None and used > plan.budget:
        raise too_many(used, plan.budget, curves)


def too_many(used: int, limit: int, curves: int, enough: int = 0) -> TooManyCurves:
    """Return the error, with a fix; `enough` bytes are known to suffice, if given."""
    more = f"--memory {-(-enough // 10**9)}GB is enough" if enough else "raise --memory"
    error = TooManyCurves(
        f"the summaries of {curves:,} curves do not fit into the memory limit of "
        f"{in_words(limit)}: {more}, or use a column with fewer groups."
    )
    error.used, error.curves = used, curves
    return error


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
    keys : dict
        The keys of each curve in parts, where the plan collects them; tables do not hold these.
    """

    names: tuple[Name, ...]
    summary: Summary
    rows: int = 0
    skipped: int = 0
    vectors: Vectors = NONE
    keys: dict[Name, list[KeyArray]] = field(default_factory=dict)

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


class Pile:
    """Collected keys, in blocks that grow: many small arrays would fragment memory.

    >>> pile = Pile()
    >>> pile.add(np.arange(3, dtype=np.uint64)), pile.add(np.arange(4, dtype=np.uint64))
    (None, None)
    >>> pile.parts
    [array([0, 1, 2], dtype=uint64), array([0, 1, 2, 3], dtype=uint64)]
    """

    def __init__(self) -> None:
        self._blocks: list[KeyArray] = []
        self._used = 0  # of the last block

    def add(self, keys: KeyArray) -> None:
        """Copy keys."""
        while keys.size:
            last = self._blocks[-1].size if self._blocks else 0
            if self._used == last:
                more = min(max(2 * last, keys.size), _KEYS_PER_ARRAY)
                self._blocks.append(np.empty(more, dtype=np.uint64))
                self._used = 0
            free = self._blocks[-1][self._used :][: keys.size]
            free[:] = keys[: free.size]
            self._used, keys = self._used + free.size, keys[free.size :]

    @property
    def parts(self) -> list[KeyArray]:
        """All keys."""
        return [*self._blocks[:-1], *(block[: self._used] for block in self._blocks[-1:])]


def in_ranges(keys: KeyArray, ranges: IntArray) -> IntArray:
    """Return the indices of the keys whose places lie in ranges (k, 2): from, to below."""
    if ranges.size == 0:
        return np.empty(0, dtype=np.intp)
    place = (keys >> np.uint64(1)).view(np.int64)
    near = np.flatnonzero((place >= ranges[0, 0]) & (place < ranges[-1, 1]))
    if ranges.shape[0] > 1 and near.size:
        near = near[np.searchsorted(ranges.ravel(), place[near], side="right") % 2 == 1]
    return near


def added_tallies(tallies: Iterable[Tally], plan: Plan) -> Tally:
    """Add up tallies of one plan; the order of the curves is that of the plan, then of groups."""
    adder = Adder(plan.bits)
    numbers: dict[Name, int] = {}
    rows = skipped = 0
    vectors = NONE
    keys: dict[Name, list[KeyArray]] = {}
    for part in tallies:
        keys |= part.keys  # of one tally: only threads of one process collect keys
        rows, skipped = rows + part.rows, skipped + part.skipped
        vectors += part.vectors
        new = [numbers.setdefault(name, len(numbers)) for name in part.names]
        if part.summary.size:
            adder.add(renumbered(part.summary, np.array(new, dtype=np.int64)))
            check_room(adder.size, len(numbers), plan)
    place = {view: i for i, view in enumerate(plan.curves)}
    names = sorted(numbers, key=lambda name: (place.get(name[0], 0), name[1]))
    final = np.empty(len(names), dtype=np.int64)
    final[[numbers[name] for name in names]] = np.arange(len(names))
    total = adder.total()
    summary = added([renumbered(total, final)]) if total.size else empty(plan.bits)
    return Tally(tuple(names), summary, rows, skipped, vectors, keys)


def counted(keys: dict[Name, list[KeyArray]], plan: Plan) -> Tally:
    """Return the tally of a further reading from keys that were collected."""
    adder = Adder(plan.bits)
    for i, (name, ranges) in enumerate((plan.within or {}).items()):
        for some in _portions(keys[name]):
            part = summarise(some[in_ranges(some, ranges)], plan.bits)
            adder.add(renumbered(part, np.array([i])))
    return Tally(tuple(plan.within or ()), adder.total())


def _portions(parts: list[KeyArray]) -> Iterator[KeyArray]:
    """Yield all keys, some at a time: counting takes many times their memory."""
    for part in parts:
        for start in range(0, part.size, _KEYS_COUNTED_AT_ONCE):
            yield part[start : start + _KEYS_COUNTED_AT_ONCE]


def renumbered(summary: Summary, numbers: IntArray) -> Summary:
    """Return a summary with other numbers for its curves."""
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
