"""A curve for each group of rows: of one column, or of every combination of several columns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from zlib import crc32

import numpy as np

from ogive.calibrators.grouped_map import ANY, JOIN, distinct_names, value_columns
from ogive.calibrators.groups import check_not_unique
from ogive.curve import Curve
from ogive.curve.curve import merge_all
from ogive.engines.grouping import (
    ALL_ROWS,
    Grouping,
    check_values,
    chosen_columns,
    combined,
)
from ogive.errors import InvalidInput, InvalidType
from ogive.rows.check import check_length
from ogive.rows.predictions import Predictions

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ogive._typing import AnyArray, ArrayLike

#: Columns that are combined unless more are asked for: pairs. Triples of a few columns are many
#: groups, of few rows each.
DEPTH = 2


def columns_in(by: str, width: int) -> tuple[str, ...]:
    """Return the names of the columns of groups that have this many values.

    >>> columns_in("country, device", 2), columns_in("a,b", 1)
    (('country', 'device'), ('a,b',))
    """
    names = tuple(name.strip() for name in by.split(","))
    return names if len(names) == width else (by,)


def key_of(group: str, by: str) -> str | tuple[str, ...]:
    """Return the values of a group of several columns, or the name of one."""
    values = tuple(group.split(JOIN))
    return values if "," in by and len(values) == by.count(",") + 1 else group


def content_seed(n: float, hits: float, random_state: int = 0) -> int:
    """Return a seed for a group by its rows: it depends neither on its name nor on its place."""
    return random_state + crc32(f"{n:.6g} {hits:.6g}".encode())


def columns_of_group(group: str, width: int) -> tuple[int, ...]:
    """Return the places of the columns whose values name a group.

    >>> columns_of_group("BR | *", 2), columns_of_group("BR", 1)
    ((0,), (0,))
    """
    if width == 1:
        return (0,)
    return tuple(i for i, value in enumerate(group.split(JOIN)) if value != ANY)


def curves_of_groups(
    data: Mapping[Any, Curve] | Predictions,
    by: ArrayLike | Mapping[str, ArrayLike] | str | None,
    view: str | None,
    depth: int | None,
) -> tuple[str, int, dict[str, Curve]]:
    """Return what the groups are, of how many columns, and their curves; `ALL_ROWS` is one.

    Groups that are nearly as many as the rows are refused.
    """
    if isinstance(data, Mapping):
        name, width, curves = _of_curves(data, by, depth)
    elif isinstance(data, Predictions):
        name, width, curves = _of_rows(data, by, view, depth)
    else:
        msg = f"`data` must be Predictions or a mapping of Curves, not {type(data).__name__}."
        raise InvalidType(msg)
    _check_not_unique(curves, columns_in(name, width))
    return name, width, curves


def _as_depth(depth: int | None, width: int) -> int:
    """Return how many columns are combined at most."""
    if depth is None:
        return min(DEPTH, width)
    if isinstance(depth, bool) or not isinstance(depth, int | np.integer) or depth < 1:
        msg = f"`depth` must be a whole number from 1, not {depth!r}: 2 combines pairs of columns."
        raise InvalidInput(msg)
    if depth > width:
        many = "1 column" if width == 1 else f"{width} columns"
        msg = f"`depth` is {depth}, but the groups have {many}: give at most {width}."
        raise InvalidInput(msg)
    return int(depth)


def _check_not_unique(curves: Mapping[str, Curve], columns: Sequence[str]) -> None:
    counts: dict[tuple[int, ...], int] = {}
    for group in curves:
        if group != ALL_ROWS:
            some = columns_of_group(group, len(columns))
            counts[some] = counts.get(some, 0) + 1
    for some, count in counts.items():
        names = ",".join(columns[i] for i in some)
        check_not_unique(count, float(curves[ALL_ROWS].n), names, several=len(some) > 1)


def _of_curves(
    data: Mapping[Any, Curve],
    by: Any,  # noqa: ANN401 - a name or None
    depth: int | None,
) -> tuple[str, int, dict[str, Curve]]:
    """Return given curves, and those of fewer columns by merging where they are not given."""
    if not data:
        msg = "there are no groups to measure."
        raise InvalidInput(msg)
    wrong = [name for name, curve in data.items() if not isinstance(curve, Curve)]
    if wrong:
        msg = f"`data` must map each group to a Curve, but {wrong[0]!r} has something else."
        raise InvalidType(msg)
    name = by if isinstance(by, str) else "group"
    keys = {key: key_of(key, name) if isinstance(key, str) else key for key in data}
    widths = {len(k) if isinstance(k, tuple) else 1 for key, k in keys.items() if key != ALL_ROWS}
    if len(widths) != 1:
        msg = "`data`: give every group a value of each column, or none of them a tuple."
        raise InvalidInput(msg)
    (width,) = widths
    curves = {_joined(key): data[original] for original, key in keys.items()}
    if ALL_ROWS in curves:  # an engine has counted all of them
        return name, width, curves
    if width == 1:
        return name, width, curves | {ALL_ROWS: merge_all(list(curves.values()))}
    parts: dict[str, list[Curve]] = {}
    for group, curve in curves.items():
        values = group.split(JOIN)
        check_values(values, name)
        for some in chosen_columns(width, _as_depth(depth, width)):
            own = [value if i in some else ANY for i, value in enumerate(values)]
            parts.setdefault(JOIN.join(own) if some else ALL_ROWS, []).append(curve)
    return name, width, {group: merge_all(some) for group, some in parts.items()}


def _joined(key: object) -> str:
    return JOIN.join(map(str, key)) if isinstance(key, tuple) else str(key)


def _of_rows(
    data: Predictions,
    by: Any,  # noqa: ANN401 - columns
    view: str | None,
    depth: int | None,
) -> tuple[str, int, dict[str, Curve]]:
    columns = _columns(by, data)
    name = ",".join(columns)
    found = [grouping_of(values) for values in columns.values()]
    if len(found) > 1:
        for column, one in zip(columns, found, strict=True):
            check_values(one.names, column)
    curves = {}
    for some in chosen_columns(len(found), _as_depth(depth, len(found))):
        grouping = combined(found, some, data.n)
        for group, at in grouping.segments():
            rows = data if group == ALL_ROWS else data.take(grouping.order[at])
            curves[group] = Curve.from_predictions(rows, view)
    return name, len(found), curves


def curves_of_cells(
    data: Predictions, groups: ArrayLike | Mapping[str, ArrayLike], view: str | None
) -> tuple[str, dict[Any, Curve]]:
    """Return what the groups are called, and the curve of each; of several columns, of each cell.

    >>> preds = Predictions([0.2, 0.6, 0.7], [0, 1, 1], kind="probs")
    >>> name, curves = curves_of_cells(preds, {"country": ["BR", None, "BR"]}, None)
    >>> name, {group: curve.n for group, curve in curves.items()}
    ('country', {'(none)': 1, 'BR': 2})
    """
    columns = _columns(groups, data, "groups")
    found = [grouping_of(values) for values in columns.values()]
    cells = combined(found, range(len(found)), data.n)
    curves: dict[Any, Curve] = {}
    for name, at in cells.segments():
        key = tuple(name.split(JOIN)) if len(found) > 1 else name
        curves[key] = Curve.from_predictions(data.take(cells.order[at]), view)
    return ",".join(columns), curves


def _columns(by: Any, data: Predictions, called: str = "by") -> dict[str, Any]:  # noqa: ANN401
    """Return the columns of groups by name: of an array, a table, or a mapping of arrays."""
    if by is None or isinstance(by, str):
        msg = f"`{called}` must be given: the group of each row."
        raise InvalidInput(msg)
    if isinstance(by, Mapping) or hasattr(by, "columns"):
        names = list(by) if isinstance(by, Mapping) else list(by.columns)
        columns = {str(name): value_columns(by[name])[0] for name in names}
    else:
        several = value_columns(by)
        plain = ["group"] if len(several) == 1 else [f"group {i + 1}" for i in range(len(several))]
        columns = dict(zip(plain, several, strict=True))
    if not columns:
        msg = f"`{called}` has no columns: give the group of each row."
        raise InvalidInput(msg)
    for values in columns.values():
        check_length(values, called, data.n, data.kind)
    return columns


def grouping_of(column: AnyArray) -> Grouping:
    """Return the group of each row of a column."""
    names, index = distinct_names(column)
    distinct, to = np.unique(names, return_inverse=True)  # None, NaN and "" are one group
    return Grouping(to[index], distinct.tolist())
