"""SQL that was written: the names of its columns, and an engine in which it is run to check it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ogive.errors import ExportError, InvalidInput
from ogive.export.rules import shown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ogive._typing import AnyArray, FloatArray

MAX_NAME = 63  # bytes: PostgreSQL cuts longer names
_PART = r'("(?:[^"]|"")+"|[^".]+)'
_COLUMN = re.compile(rf"(?:{_PART}\.)?{_PART}")
_HEAD = re.compile(
    r"-- [a-z-]+ calibrator of [a-z0-9-]+, fitted on [0-9.e+]+ rows; written by ogive [\w.+]+"
)
_QUOTED = r'"(?:[^"]|"")*"'
_TEXT = r"'(?:[^'\\\x00-\x1f\x7f]|'')*'"
#: All that an expression is made of: names in quotes, numbers, words of SQL and our own names.
_WORD = re.compile(
    rf"{_QUOTED}(\.{_QUOTED})?|{_TEXT}|\b[0-9.]+(e[+-]?[0-9]+)?\b|\bogive_[a-z]+[0-9]*\b"
    r"|\b(CASE|WHEN|THEN|ELSE|END|AND|CAST|AS|DOUBLE|PRECISION|SELECT|FROM|LIMIT|OFFSET|ORDER|BY"
    r"|DESC|UNION|ALL|SUM|ARRAY|GREATEST|LEAST|exp|ln|abs|round"
    r"|sqrt|COALESCE|NULLIF|TEXT|COLLATE|WITH|VALUES|WHERE|replace|chr)\b|(?<!-)-(?!-)|(?<!/)/(?![/*])"
    r"|[()\[\],+*<>=]|\s"
)
_ARRAYS = re.compile(rf"{_QUOTED}|{_TEXT}|ARRAY\[|\]")


class Column(NamedTuple):
    """A column's name, or the beginning of names, and the table it is of."""

    table: str | None
    name: str

    def quoted(self, number: int | None = None) -> str:
        """Return the name as an identifier of SQL, with a number after it."""
        name = self.name if number is None else f"{self.name}{number}"
        return ".".join(quoted(part) for part in (self.table, name) if part is not None)


def quoted(name: str) -> str:
    """Return an identifier in double quotes: whatever is inside is part of the name."""
    return '"' + name.replace('"', '""') + '"'


def parse_column(text: str) -> Column:
    """Return the name of a column, such as ``score``, ``my col``, ``p.score`` or ``"a.b"``.

    >>> parse_column("p.my col").quoted(), parse_column('"a.b"').quoted()
    ('"p"."my col"', '"a.b"')
    """
    match = _COLUMN.fullmatch(text) if isinstance(text, str) and text.isprintable() else None
    parts = [] if match is None else [part for part in match.groups() if part is not None]
    names = [p[1:-1].replace('""', '"') if p.startswith('"') else p.strip() for p in parts]
    right = names and all(name.strip() and len(name.encode()) <= MAX_NAME for name in names)
    if not right or any(name.lower().startswith("ogive_") for name in names):
        msg = (
            f'`column` must be a column\'s name, such as score, p.score or "a.b" (one line, at '
            f"most {MAX_NAME} bytes, not beginning with ogive_), not {shown(text)}. To use an "
            "expression, select it under a name first."
        )
        raise InvalidInput(msg)
    return Column(names[0] if len(names) > 1 else None, names[-1])


def run(
    contents: str,
    values: FloatArray,
    column: str,
    groups: AnyArray | None = None,
    by: Sequence[str] = (),
) -> FloatArray:
    """Run an expression of these columns in DuckDB, or in SQLite where there is none.

    `groups` (n, columns) are in the columns named by `by`.

    The text is first checked against an allow-list of words (`check_text`). The engine then has an
    empty database in memory, no files and no network, and runs one SELECT.
    """
    check_text(contents)
    name = parse_column(column)
    table = table_of(name, values)
    if groups is not None:
        table |= {own: np.ascontiguousarray(of) for own, of in zip(by, groups.T, strict=True)}
    alias = "ogive_t" if name.table is None else name.table
    try:
        import duckdb  # noqa: PLC0415 - not an extra: any engine will do to check
    except ImportError:
        return _in_sqlite(contents, table, alias)
    return _in_duckdb(duckdb, contents, table, alias)


def table_of(name: Column, values: FloatArray) -> dict[str, AnyArray]:
    """Return the columns that an expression reads, from scores (n,) or rows of logits (n, K)."""
    array = np.asarray(values, dtype=np.float64)
    if array.ndim == 1:
        return {name.name: array}
    return {f"{name.name}{k}": np.ascontiguousarray(z) for k, z in enumerate(array.T)}


def check_text(text: str) -> None:
    """Refuse text that is anything but an export's comment and an expression of known words."""
    head, _, rest = text.partition("\n")
    words = _WORD.sub("", rest)
    if not _HEAD.fullmatch(head) or words.strip():
        msg = f"the exported SQL has {shown(words.strip() or head)}: nothing was written."
        raise ExportError(msg)


def _in_duckdb(
    duckdb: Any,  # noqa: ANN401 - a module
    contents: str,
    table: dict[str, AnyArray],
    alias: str,
) -> FloatArray:
    connection = duckdb.connect(":memory:")
    try:
        rows = np.arange(len(next(iter(table.values()))))
        connection.register("ogive_rows", {"ogive_row": rows, **table})
        connection.execute("SET enable_external_access = false")
        connection.execute("SET lock_configuration = true")
        query = f"SELECT {contents} FROM ogive_rows AS {quoted(alias)}"
        (statement,) = connection.extract_statements(f"{query} ORDER BY ogive_row")
        found = connection.execute(statement).fetchall()
    except (duckdb.Error, ValueError) as error:
        raise _cannot_run("DuckDB", error) from error
    finally:
        connection.close()
    return np.array([row[0] if len(row) == 1 else row for row in found], dtype=np.float64)


def _in_sqlite(contents: str, table: dict[str, AnyArray], alias: str) -> FloatArray:
    import json  # noqa: PLC0415
    import math  # noqa: PLC0415
    import sqlite3  # noqa: PLC0415

    connection = sqlite3.connect(":memory:")
    functions: dict[str, tuple[int, Any]] = {
        "exp": (1, math.exp),
        "ln": (1, math.log),
        "greatest": (-1, max),
        "least": (-1, min),
        "sqrt": (1, math.sqrt),
        "chr": (1, chr),
    }
    for name, (arguments, function) in functions.items():
        connection.create_function(name, arguments, function, deterministic=True)
    connection.create_collation("C", lambda a, b: (a > b) - (a < b))
    kinds = {name: "TEXT" if x.dtype == object else "REAL" for name, x in table.items()}
    names = ", ".join(f"{quoted(name)} {kind}" for name, kind in kinds.items())
    connection.execute(f"CREATE TABLE ogive_rows ({names})")
    marks = ", ".join("?" * len(table))
    columns = [column.tolist() for column in table.values()]
    connection.executemany(f"INSERT INTO ogive_rows VALUES ({marks})", zip(*columns, strict=True))
    reads = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION}
    connection.set_authorizer(
        lambda action, *_: sqlite3.SQLITE_OK if action in reads else sqlite3.SQLITE_DENY
    )
    arrays = {"ARRAY[": "json_array(", "]": ")"}
    text = _ARRAYS.sub(lambda found: arrays.get(found[0], found[0]), contents)
    try:
        query = f"SELECT {text} FROM ogive_rows AS {quoted(alias)} ORDER BY rowid"
        rows = connection.execute(query).fetchall()
    except sqlite3.Error as error:
        raise _cannot_run("SQLite", error) from error
    finally:
        connection.close()
    rows = [row if len(row) > 1 else row[0] for row in rows]
    found = [json.loads(row) if isinstance(row, str) else row for row in rows]
    return np.array(found, dtype=np.float64)


def _cannot_run(engine: str, error: Exception) -> ExportError:
    what = shown(str(error))
    return ExportError(f"{engine} cannot run the exported SQL: {what}. Nothing was written.")
