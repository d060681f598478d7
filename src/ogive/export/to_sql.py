"""SQL: one expression of standard SQL, which PostgreSQL and DuckDB (and SQLite) read alike.

A map of a score is an expression of the score's column; temperature and vector scaling, and ranks
by class structure, are one of K columns of logits. The text holds numbers, words of SQL, and names
in double quotes. Scores outside [0, 1], NaN and NULL give NULL. The pieces of a map are a tree
of CASE, so that a row takes a dozen comparisons.

Traps that are avoided: literals are doubles in both (``1.5e0``: without the exponent it is a
decimal in DuckDB); PostgreSQL refuses ln(0), and exp and products that underflow, instead of
returning 0; its planner would copy an inner SELECT into each use of it but for the LIMIT.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

import ogive
from ogive.calibrators.grouped_map import GroupedMap
from ogive.calibrators.matrix_map import MatrixMap
from ogive.calibrators.multiclass.class_view import ClassViewMap
from ogive.errors import ExportError, InvalidInput
from ogive.export.forms import LogOddsForm, TailForm, form_of
from ogive.export.rules import shown
from ogive.export.schema import description
from ogive.export.sql_classes import event_log_odds
from ogive.export.sql_groups import grouped_expression
from ogive.export.sql_vectors import literal, softmax_expression

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ogive._typing import AnyArray, FloatArray, Kind
    from ogive.calibrators.maps import Fitted, Map
    from ogive.export.forms import Form, Pieces

OUTPUTS = ("score", "low", "high")  # what the columns of a map with its band are called
MAX_PIECES = 20_000
MAX_CLASSES = 256
MAX_CLASSES_OF_STRUCTURE = 64  # whose matrices are 2 · 64² products: 550 KB of text
_LEAST_DIFFERENCE = 1e-280  # products of smaller differences may underflow
_NEGLIGIBLE_SLOPE = 1e-200  # a smaller slope does not change the result
_BRANCHES = 8  # of a CASE
_EXP_LIMIT = 700.0
_LEAST_SHIFTED = "1e-280"  # stands for a probability of 0 in a shift, whose inverse stays finite
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


def write(
    calibrator: Fitted,
    *,
    kind: Kind | None = None,
    column: str | None = None,
    ends: Sequence[Map] = (),
) -> str:
    """Return the expression, after a line of comment.

    Parameters
    ----------
    calibrator : fitted map or calibrator
        Of a score, temperature or vector scaling, or of a rank by class structure.
    kind : {"logits"}
        For whole vectors; other kinds are refused.
    column : str, optional
        The column of the score (default ``score``), or the prefix of the columns of logits
        (default ``logit_``: logit_0, logit_1, …; one column: ``log_odds``). It is a name, as it
        stands in the table: ``my col``, ``select`` and ``Score`` are quoted. ``p.score`` is the
        column score of the table p; a name with a dot in it is written ``"a.b"``.
    ends : two maps, optional
        The ends of the band of a map of one score: three expressions, named score, low and high.

    Examples
    --------
    >>> from ogive import Curve, fit_histogram
    >>> curve = Curve.from_scores([0.1, 0.2, 0.6, 0.9], [0, 1, 1, 1])
    >>> print(write(fit_histogram(curve, bins=1)).splitlines()[0])
    -- histogram calibrator of score, fitted on 4 rows; written by ogive ...
    """
    head = f"-- {description(calibrator)}; written by ogive {ogive.__version__}\n"
    name = parse_column(column or default_column(calibrator))
    if isinstance(calibrator, MatrixMap):
        return head + _of_matrix(calibrator, kind, name) + "\n"
    if isinstance(calibrator, ClassViewMap):
        return head + _of_class_view(calibrator, kind, name) + "\n"
    grouped = calibrator if isinstance(calibrator, GroupedMap) else None
    main = calibrator if grouped is None else grouped.overall
    forms = [form_of(gamma) for gamma in (main, *ends)]  # type: ignore[arg-type]
    pieces = forms[0].pieces.start.size
    if pieces > MAX_PIECES:
        msg = (
            f"the calibrator has {pieces:,} pieces, and SQL takes at most "
            f"{MAX_PIECES:,}. Export it to python or onnx (--to)."
        )
        raise ExportError(msg)
    if grouped is not None:
        return head + _of_groups(grouped, forms[0], name) + "\n"
    texts = [_of_score(form, name.quoted()) for form in forms]
    if ends:
        texts = [f'{text} AS "{end}"' for text, end in zip(texts, OUTPUTS, strict=True)]
    return head + ",\n".join(texts) + "\n"


def default_column(calibrator: Fitted) -> str:
    """Return the column's name, or the beginning of the columns' names, if none is given."""
    if isinstance(calibrator, MatrixMap | ClassViewMap):
        return "log_odds" if calibrator.view == "score" else "logit_"
    return "score"


class Column(NamedTuple):
    """A column's name, or the beginning of names, and the table it is of."""

    table: str | None
    name: str

    def quoted(self, number: int | None = None) -> str:
        """Return the name as an identifier of SQL, with a number after it."""
        name = self.name if number is None else f"{self.name}{number}"
        return ".".join(_quoted(part) for part in (self.table, name) if part is not None)


def _quoted(name: str) -> str:
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


def _of_matrix(gamma: MatrixMap, kind: Kind | None, name: Column) -> str:
    method = getattr(gamma, "inner", gamma).method
    if method not in {"temperature", "vector"}:
        msg = (
            f"{method!r} cannot be exported as one SQL expression. Export it to python "
            "or onnx, or fit temperature, vector or a map of one view."
        )
        raise ExportError(msg)
    _check_kind(kind)
    if gamma.K > MAX_CLASSES:
        msg = f"{gamma.K} classes are too many for one SQL expression (at most {MAX_CLASSES})."
        raise ExportError(msg)
    one = gamma.view == "score"
    columns = [name.quoted()] if one else [name.quoted(k) for k in range(gamma.K)]
    return softmax_expression(gamma, columns)


def _group_columns(gamma: GroupedMap, name: Column) -> list[Column]:
    """Return the columns of the groups, of the same table as the score's."""
    columns = [parse_column(_quoted(column)).name for column in gamma.columns]
    if len({column.lower() for column in (*columns, name.name)}) <= len(columns):
        msg = (
            f"the score and the groups must be different columns, but are {name.name!r} and "
            f"{', '.join(map(repr, columns))}. Name the score's column (`column`, --column)."
        )
        raise InvalidInput(msg)
    return [Column(name.table, column) for column in columns]


def _of_groups(gamma: GroupedMap, form: Form, name: Column) -> str:
    assert isinstance(form, LogOddsForm)  # noqa: S101 - that of a spline
    s = f"CAST({name.quoted()} AS DOUBLE PRECISION)"
    at_zero = float(gamma.overall.log_odds_at(np.array([form.lowest]))[0])
    limit = literal(form.limit)
    inside = f"LEAST(GREATEST({_logit(form, s)}, -{limit}), {limit})"
    log_odds = (
        f"CASE WHEN {s} >= 1e0 THEN {literal(gamma.log_odds_at_one)} WHEN {s} <= 0e0 "
        f"THEN {literal(float(np.clip(at_zero, -form.limit, form.limit)))} ELSE {inside} END"
    )
    columns = [column.quoted() for column in _group_columns(gamma, name)]
    value = grouped_expression(gamma, log_odds, columns)
    return f"CASE WHEN {s} >= 0e0 AND {s} <= 1e0 THEN {value} END"


def _check_kind(kind: Kind | None) -> None:
    if kind not in {None, "logits"}:
        msg = "SQL for whole vectors takes columns of logits: pass kind='logits' (--kind logits)."
        raise ExportError(msg)


def _of_class_view(gamma: ClassViewMap, kind: Kind | None, name: Column) -> str:
    """Return the expression of a rank's probability: its log-odds, named, and the map of them."""
    _check_kind(kind)
    if gamma.K > MAX_CLASSES_OF_STRUCTURE:
        msg = (
            f"the classes of {gamma.K} columns are too many for one SQL expression (at most "
            f"{MAX_CLASSES_OF_STRUCTURE}). Export it to python or onnx (--to), or fit the score "
            "alone (--score-only)."
        )
        raise ExportError(msg)
    form = form_of(gamma.event)
    assert isinstance(form, LogOddsForm)  # noqa: S101 - the form of a spline
    valid, inner = event_log_odds(gamma, [name.quoted(k) for k in range(gamma.K)])
    eta = "ogive_eta"
    logit = _logit_of(form, eta, lambda j: f"{eta} <= {literal(form.pieces.breaks[j])}")
    value = _sigmoid(form, logit)
    return f"(SELECT CASE WHEN {valid} THEN {value} END FROM ({inner}) AS ogive_j)"


def _of_score(form: Form, column: str) -> str:
    s = f"CAST({column} AS DOUBLE PRECISION)"
    if isinstance(form, TailForm):
        inside = _with_odds(_in_tails(form, s), form.odds)
        zero = ""
    else:
        inside = _in_log_odds(form, s)
        zero = f"WHEN {s} <= 0e0 THEN {literal(form.at_zero)} "
    one = f"WHEN {s} >= 1e0 THEN {literal(form.at_one)} "
    value = f"CASE {one}{zero}ELSE {inside} END"
    return f"CAST(CASE WHEN {s} >= 0e0 AND {s} <= 1e0 THEN {value} END AS DOUBLE PRECISION)"


def _with_odds(q: str, odds: float) -> str:
    """Return a probability whose odds are multiplied; PostgreSQL refuses to divide by 0."""
    if odds == 1.0:
        return q
    return f"1e0 / (1e0 + (1e0 / GREATEST({q}, {_LEAST_SHIFTED}) - 1e0) * {literal(1.0 / odds)})"


def _in_tails(form: TailForm, s: str) -> str:
    """Return the map of a score: pieces in s below 1/2, and in s − 1, which is exact, above."""
    pieces = form.pieces
    middle = int(np.searchsorted(pieces.breaks, 0.0)) - 1  # where the sides meet
    sides = []
    for w, first, last in ((f"({s} - 1e0)", 0, middle), (s, middle + 1, pieces.breaks.size)):

        def below(j: int, w: str = w) -> str:
            return f"{w} <= {literal(pieces.breaks[j])}"

        def leaf(j: int, w: str = w) -> str:
            return _line(pieces, j, w)

        sides.append(_tree(first, last, below, leaf))
    both = f"CASE WHEN {s} > 0.5e0 THEN {sides[0]} ELSE {sides[1]} END"
    outside = (pieces.powers[0] < 0.0) | (pieces.powers[0] > 1.0)
    return f"LEAST(GREATEST({both}, 0e0), 1e0)" if outside.any() else both


def _tree(first: int, last: int, below: Callable[[int], str], leaf: Callable[[int], str]) -> str:
    """Return a tree over the breaks [first, last) and the pieces [first, last].

    A CASE has up to eight branches, since SQLite reads about ten within each other.
    """
    if first == last:
        return leaf(first)
    branches = min(_BRANCHES, last - first + 1)
    ends = [first + (last - first + 1) * k // branches for k in range(branches + 1)]
    parts = [_tree(a, b - 1, below, leaf) for a, b in pairwise(ends)]
    cases = zip(ends[1:-1], parts[:-1], strict=True)
    when = " ".join(f"WHEN {below(end - 1)} THEN {part}" for end, part in cases)
    return f"CASE {when} ELSE {parts[-1]} END"


def _line(pieces: Pieces, j: int, x: str) -> str:
    """Return one straight piece."""
    constant = literal(pieces.powers[0, j])
    slope = float(pieces.powers[1, j]) if pieces.powers.shape[0] > 1 else 0.0
    if abs(slope) < _NEGLIGIBLE_SLOPE:
        return constant
    start = float(pieces.start[j])
    u = x if start == 0.0 else f"({x} - {literal(start)})"
    if (
        abs(start) < _LEAST_DIFFERENCE and x[0] != "("
    ):  # from the low end up; high scores are no such floats
        u = f"GREATEST({u}, {literal(1e-300 / abs(slope))})"
    product = u if slope == 1.0 else f"{literal(slope)} * {u}"
    return product if pieces.powers[0, j] == 0.0 else f"({constant} + {product})"


def _in_log_odds(form: LogOddsForm, s: str) -> str:
    """Return the map of a score strictly between 0 and 1."""
    return _sigmoid(form, _logit(form, s))


def _sigmoid(form: LogOddsForm, logit: str) -> str:
    """Return the probability of calibrated log-odds."""
    limit = literal(min(form.limit, _EXP_LIMIT - abs(np.log(form.odds))))
    factor = "" if form.odds == 1.0 else f" * {literal(1.0 / form.odds)}"
    return f"1e0 / (1e0 + exp(-LEAST(GREATEST({logit}, -{limit}), {limit})){factor})"


def _logit(form: LogOddsForm, s: str) -> str:
    """Return the calibrated log-odds of a score strictly between 0 and 1."""
    breaks = form.pieces.breaks

    def below(j: int) -> str:
        odds = np.exp(-abs(breaks[j]))
        tail = literal(odds / (1.0 + odds))
        return f"{s} <= {tail}" if breaks[j] <= 0 else f"(1e0 - {s}) >= {tail}"

    return _logit_of(form, f"ln({s} / (1e0 - {s}))", below)


def _logit_of(form: LogOddsForm, eta: str, below: Callable[[int], str]) -> str:
    """Return the calibrated log-odds of finite ones; `below` says that they are below a break."""
    breaks = form.pieces.breaks
    if form.lowest > -745.0 or form.highest < 745.0:  # noqa: PLR2004 - all float64 scores lie within
        eta = f"LEAST(GREATEST({eta}, {literal(form.lowest)}), {literal(form.highest)})"
    if form.grid:
        eta = f"(round({eta} / {literal(form.grid)}) * {literal(form.grid)})"
    first, last = (int(np.searchsorted(breaks, end)) for end in (form.lowest, form.highest))
    logit = _tree(first, last, below, lambda j: _cubic(form.pieces, j, eta))
    if form.square is not None:
        logit = f"({logit} + {literal(form.side)} * {_half(form.square, eta)})"
    if not (form.falling or form.rising):
        return logit
    bend = f"ln(1e0 + exp(-abs({eta})))"
    return (
        f"({logit} + {literal(form.rising)} * (GREATEST({eta}, 0e0) + {bend})"
        f" - {literal(form.falling)} * (GREATEST(-{eta}, 0e0) + {bend}))"
    )


def _half(square: Pieces, eta: str) -> str:
    """Return half the width of a band: the root of polynomials on pieces."""

    def below(j: int) -> str:
        return f"{eta} <= {literal(square.breaks[j])}"

    tree = _tree(0, square.breaks.size, below, lambda j: _cubic(square, j, eta))
    return f"sqrt(GREATEST({tree}, 0e0))"


def _cubic(pieces: Pieces, j: int, x: str) -> str:
    """Return one piece in nested form."""
    coefficients = [float(power[j]) for power in pieces.powers]
    while len(coefficients) > 1 and abs(coefficients[-1]) < _NEGLIGIBLE_SLOPE:
        coefficients.pop()
    start = float(pieces.start[j])
    u = x if start == 0.0 else f"({x} - {literal(start)})"
    text = literal(coefficients[-1])
    for coefficient in coefficients[-2::-1]:
        text = f"({text} * {u} + {literal(coefficient)})"  # SQLite reads few levels on the right
    return text


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
        query = f"SELECT {contents} FROM ogive_rows AS {_quoted(alias)}"
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
    names = ", ".join(f"{_quoted(name)} {kind}" for name, kind in kinds.items())
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
        query = f"SELECT {text} FROM ogive_rows AS {_quoted(alias)} ORDER BY rowid"
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
