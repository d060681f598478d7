"""A calibrator of groups as one SQL expression: the columns of groups stand beside the score's.

Nested SELECTs name the calibrated log-odds, their coordinates on the axis of the effects, and the
names of the row's groups, and a table inside the expression has the effect of each. (DuckDB joins
it by hashing; a tree of CASE over 10,000 names takes it 20 seconds to plan.) Values are compared as
text, character by character (COLLATE "C", whatever the database compares by); NULL and empty text
are the group of rows without a value.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ogive.calibrators.grouped_map import NO_GROUP
from ogive.calibrators.spline_map import LIMIT
from ogive.errors import ExportError
from ogive.export.rules import shown
from ogive.export.sql_vectors import literal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ogive._typing import FloatArray
    from ogive.calibrators.grouped_map import GroupedMap

MAX_GROUPS = 50_000  # of 100 bytes each: 5 MB, which DuckDB reads in seconds
_MAX_SPECIAL = 30  # different characters that are written by number; each nests a call


def grouped_expression(calibrator: GroupedMap, log_odds: str, columns: Sequence[str]) -> str:
    """Return the probability, from the expression of L and the quoted names of the columns."""
    if len(calibrator.groups) > MAX_GROUPS:
        msg = (
            f"the calibrator has {len(calibrator.groups):,} groups, and SQL takes at most "
            f"{MAX_GROUPS:,}. Export it to onnx (--to)."
        )
        raise ExportError(msg)
    axis, limit = calibrator.axis, literal(LIMIT)
    names = [f"ogive_g{c}" for c in range(calibrator.width)]
    none = text_literal(NO_GROUP)
    values = [
        f"COALESCE(NULLIF(CAST({column} AS TEXT), ''), {none}) COLLATE \"C\" AS {name}"
        for column, name in zip(columns, names, strict=True)
    ]
    first = f"SELECT {log_odds} AS ogive_l, {', '.join(values)} LIMIT 1"
    cut = f"LEAST(GREATEST(ogive_l, {literal(axis.first)}), {literal(axis.last)})"
    z = f"({cut} - {literal(axis.centre)}) / {literal(axis.unit)} AS ogive_z"
    kept = f"ogive_l, {', '.join(names)}"
    second = f"SELECT {kept}, {z} FROM ({first}) AS ogive_a LIMIT 1"
    bend = (
        f"(sqrt(1e0 + ogive_z * ogive_z) - {literal(axis.bend_mean)} - {literal(axis.bend_slope)}"
        f" * ogive_z) / {literal(axis.bend_unit)} AS ogive_q"
    )
    third = f"SELECT {kept}, ogive_z, {bend} FROM ({second}) AS ogive_b LIMIT 1"
    moved = f"LEAST(GREATEST(ogive_l + {_effect(calibrator)}, -{limit}), {limit})"
    return f"(SELECT 1e0 / (1e0 + exp(-{moved})) FROM ({third}) AS ogive_c)"


def _effect(gamma: GroupedMap) -> str:
    """Return what the row's groups add: that of its combination, or of each value by itself."""
    table = gamma.table
    mains = [
        f"COALESCE({_lookup([c], [(value,) for value in values], main)}, 0e0)"
        for c, (values, main) in enumerate(zip(table.values, table.main, strict=True))
    ]
    alone = " + ".join(mains)
    if not table.effect.size:
        return alone
    return f"COALESCE({_lookup(range(gamma.width), gamma.cells(), table.effect)}, {alone})"


def _lookup(columns: Sequence[int], names: Sequence[tuple[str, ...]], effects: FloatArray) -> str:
    """Return the effect of the row's names in these columns; NULL if they are not in the table."""
    heads = [*(f"ogive_n{c}" for c in columns), "ogive_s", "ogive_d", "ogive_b"]
    rows = [
        ", ".join([*map(text_literal, name), *map(literal, effect)])
        for name, effect in zip(names, effects.tolist(), strict=True)
    ]
    equal = " AND ".join(f"ogive_n{c} = ogive_g{c}" for c in columns)
    return (
        f"(WITH ogive_t({', '.join(heads)}) AS (VALUES ({'), ('.join(rows)})) SELECT ogive_s + "
        f"ogive_d * ogive_z + ogive_b * ogive_q FROM ogive_t WHERE {equal})"
    )


def text_literal(text: str) -> str:
    r"""Return text as a literal of SQL, which means the same whatever the database is set to.

    Inside the quotes are printable characters and no backslash; quotes are doubled. The others are
    marked ~number; and put back by their numbers.

    >>> print(text_literal("it's"), text_literal("a\\b"))
    'it''s' replace('a~92;b', '~92;', chr(92))
    """
    special = sorted({c for c in text if c == "\\" or not c.isprintable()})
    if (
        "\0" in special
        or len(special) > _MAX_SPECIAL
        or any("\ud800" <= c <= "\udfff" for c in text)
    ):
        msg = (
            f"the group {shown(text)} has characters that cannot be written in SQL. Export to "
            "onnx, or rename the group before fitting."
        )
        raise ExportError(msg)
    marks = {ord(c): f"~{ord(c)};" for c in special} | ({ord("~"): "~126;"} if special else {})
    code = "'" + text.translate(marks).replace("'", "''") + "'"
    for c in special:
        code = f"replace({code}, '~{ord(c)};', chr({ord(c)}))"
    return f"replace({code}, '~126;', '~')" if special and "~" in text else code
