"""Groups of rows: by a column, or by every combination of several columns up to a depth."""

from __future__ import annotations

from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from ogive.calibrators.grouped_map import ANY, JOIN, NO_GROUP, group_name
from ogive.engines.periods import period_of
from ogive.errors import FileFormatError, InvalidInput
from ogive.readers.arrow import pa, pc, to_numpy

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ogive._typing import IntArray
    from ogive.engines.periods import Every
    from ogive.engines.plan import Plan

_MAX_GROUP_NAME = 1000  # characters; a longer one is probably another column
_MAX_SHORT_CODES = 1 << 15  # groups whose numbers fit 16 bits, which sort faster
ALL_ROWS = ""  # the name of the group of all rows; no value of a column is empty text


class Grouping:
    """The group of each row, (n,) indices into `names`."""

    def __init__(self, index: IntArray, names: list[str]) -> None:
        self.index, self.names = index, names

    @cached_property
    def order(self) -> IntArray:
        """The order that brings the rows of each group together."""
        few = len(self.names) < _MAX_SHORT_CODES
        return np.argsort(self.index.astype(np.int16) if few else self.index, kind="stable")

    def segments(self) -> Iterator[tuple[str, slice]]:
        """Yield each group with its rows, in that order."""
        ends = np.cumsum(np.bincount(self.index, minlength=len(self.names)))
        start = 0
        for name, end in zip(self.names, ends.tolist(), strict=True):
            if end > start:
                yield name, slice(start, end)
            start = end


def chosen_columns(columns: int, depth: int | None) -> list[tuple[int, ...]]:
    """Return which columns are combined: all together; up to a depth, every choice of them.

    >>> chosen_columns(2, None), chosen_columns(3, 1)
    ([(0, 1)], [(), (0,), (1,), (2,)])
    """
    every = range(columns)
    if depth is None:
        return [tuple(every)]
    return [some for size in range(depth + 1) for some in combinations(every, size)]


def groupings_of(batch: Any, plan: Plan) -> tuple[Grouping, ...]:  # noqa: ANN401
    """Return the groups of the rows of a batch, for each choice of columns that a plan has.

    Of a plan with `every`, the first column holds times.
    """
    if plan.by is None:
        return ()
    found = []
    for place, name in enumerate(plan.group_columns):
        every = None if place else plan.every
        index, names = groups_of_column(batch.column(name), name, every)
        if (plan.depth is not None or every) and len(plan.group_columns) > 1:
            check_values(names, name)
        found.append(Grouping(index, names))
    choices = chosen_columns(len(found), plan.depth)
    return tuple(combined(found, some, batch.num_rows) for some in choices)


def check_values(values: Sequence[str], column: str) -> None:
    """Refuse values that the names of combinations use."""
    bad = [value for value in values if JOIN in value or value == ANY]
    if bad:
        msg = (
            f"the column `{column}` has the value {bad[0]!r}, but in the names of groups {ANY!r} "
            f"stands for all values and {JOIN!r} is between columns. Rename it."
        )
        raise InvalidInput(msg)


def combined(columns: Sequence[Grouping], some: Sequence[int], n: int) -> Grouping:
    """Return the groups of some columns together; their names have a place for each column."""
    if not some:
        return Grouping(np.zeros(n, dtype=np.int64), [ALL_ROWS])
    index, parts = columns[some[0]].index, [[name] for name in columns[some[0]].names]
    for place in some[1:]:
        other, more = columns[place].index, columns[place].names
        width = max(len(more), 1)
        code, index = np.unique(index * width + other, return_inverse=True)
        parts = [[*parts[one // width], more[one % width]] for one in code.tolist()]
    return Grouping(index, [_name(values, some, len(columns)) for values in parts])


def _name(values: Sequence[str], some: Sequence[int], columns: int) -> str:
    of = dict(zip(some, values, strict=True))
    return JOIN.join(of.get(place, ANY) for place in range(columns))


def groups_of_column(
    column: Any,  # noqa: ANN401
    by: str,
    every: Every | None = None,
) -> tuple[IntArray, list[str]]:
    """Return the group of each row of a pyarrow.Array as an index into names.

    Rows without a value (null, NaN or empty text) are the group `NO_GROUP`. With `every` the values
    are times, and the groups their days or weeks.
    """
    if every is not None and pa.types.is_timestamp(column.type):
        column = column.cast(pa.timestamp("us", column.type.tz), safe=False)
    encoded = column
    if column.null_count or not pa.types.is_dictionary(column.type):
        if pa.types.is_dictionary(column.type):
            column = column.dictionary_decode()
        encoded = pc.dictionary_encode(column, null_encoding="encode")
    values = encoded.dictionary.to_pylist()
    names = [group_name(value) for value in values]
    if every is not None:
        names = [name if name == NO_GROUP else period_of(name, every) for name in names]
    longest = max(map(len, names), default=0)
    if longest > _MAX_GROUP_NAME:
        msg = f"a group of `{by}` has a name of {longest:,} characters. Is it the right column?"
        raise FileFormatError(msg)
    distinct = sorted(set(names))  # values that read the same are one group
    number = {name: i for i, name in enumerate(distinct)}
    to = np.array([number[name] for name in names], dtype=np.int64)
    index = to_numpy(encoded.indices)
    return (to[index] if to.size else np.empty(0, dtype=np.int64)), distinct
