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

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

import ogive
from ogive.calibrators.grouped_map import GroupedMap
from ogive.calibrators.matrix_map import MatrixMap
from ogive.calibrators.multiclass.class_view import ClassViewMap
from ogive.errors import ExportError, InvalidInput
from ogive.export.forms import LogOddsForm, TailForm, form_of
from ogive.export.run_sql import Column, parse_column, quoted, run
from ogive.export.schema import description
from ogive.export.sql_classes import event_log_odds
from ogive.export.sql_groups import grouped_expression
from ogive.export.sql_vectors import literal, softmax_expression

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ogive._typing import Kind
    from ogive.calibrators.maps import Fitted
    from ogive.calibrators.spline_map import Beyond
    from ogive.export.forms import Form, Pieces

__all__ = ["default_column", "run", "write"]

OUTPUTS = ("score", "low", "high")  # what the columns of a map with its band are called
MAX_PIECES = 20_000
MAX_CLASSES = 256
MAX_CLASSES_OF_STRUCTURE = 64  # whose matrices are 2 · 64² products: 550 KB of text
_LEAST_DIFFERENCE = 1e-280  # products of smaller differences may underflow
_NEGLIGIBLE_SLOPE = 1e-200  # a smaller slope does not change the result
_BRANCHES = 8  # of a CASE
_EXP_LIMIT = 700.0
_LEAST_SHIFTED = "1e-280"  # stands for a probability of 0 in a shift, whose inverse stays finite


def write(
    calibrator: Fitted,
    *,
    kind: Kind | None = None,
    column: str | None = None,
    ends: Sequence[Fitted] = (),
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
        The ends of its band: three expressions, named score, low and high.

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
        every = [calibrator, *(end for end in ends if isinstance(end, ClassViewMap))]
        return head + _named([_of_class_view(gamma, kind, name) for gamma in every])
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
    return head + _named([_of_score(form, name.quoted()) for form in forms])


def _named(texts: Sequence[str]) -> str:
    """Return one expression, or three with names."""
    if len(texts) > 1:
        texts = [f'{text} AS "{end}"' for text, end in zip(texts, OUTPUTS, strict=True)]
    return ",\n".join(texts) + "\n"


def default_column(calibrator: Fitted) -> str:
    """Return the column's name, or the beginning of the columns' names, if none is given."""
    if isinstance(calibrator, MatrixMap | ClassViewMap):
        return "log_odds" if calibrator.view == "score" else "logit_"
    return "score"


def _of_matrix(gamma: MatrixMap, kind: Kind | None, name: Column) -> str:
    method = getattr(gamma, "inner", gamma).method
    if method not in {"temperature", "vector"}:
        msg = (
            f"{method!r} cannot be exported as one SQL expression. Export it to onnx "
            "(--to), or fit temperature, vector or a map of one view."
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
    columns = [parse_column(quoted(column)).name for column in gamma.columns]
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
            f"{MAX_CLASSES_OF_STRUCTURE}). Export it to onnx (--to), or fit the score "
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
    outer = {} if form.beyond is None else _drawn_in(form.beyond, eta, breaks.size)
    logit = _tree(first, last, below, lambda j: _cubic(form.pieces, j, outer.get(j, eta)))
    if form.squares:
        logit = f"({logit} + {literal(form.side)} * {_half(form.squares, eta)})"
    if not (form.falling or form.rising):
        return logit
    bend = f"ln(1e0 + exp(-abs({eta})))"
    return (
        f"({logit} + {literal(form.rising)} * (GREATEST({eta}, 0e0) + {bend})"
        f" - {literal(form.falling)} * (GREATEST(-{eta}, 0e0) + {bend}))"
    )


def _drawn_in(beyond: Beyond, eta: str, last: int) -> dict[int, str]:
    """Return the log-odds below all breaks and above the last, drawn in."""
    line, tau = literal(beyond.line), literal(beyond.tau)
    level = literal((1.0 - beyond.line) * beyond.tau)
    result = {}
    for j, end, way in ((0, literal(beyond.low), "-"), (last, literal(beyond.high), "+")):
        d = f"abs({eta} - {end})"
        fall = f"exp(-LEAST({d} / {tau}, {literal(_EXP_LIMIT)}))"
        result[j] = f"({end} {way} ({line} * {d} + {level} * (1e0 - {fall})))"
    return result


def _half(squares: Sequence[Pieces], eta: str) -> str:
    """Return half the width of a band: the root of the least of polynomials on pieces."""

    def tree(square: Pieces) -> str:
        def below(j: int) -> str:
            return f"{eta} <= {literal(square.breaks[j])}"

        return _tree(0, square.breaks.size, below, lambda j: _cubic(square, j, eta))

    least = tree(squares[0])
    for square in squares[1:]:
        least = f"LEAST({least}, {tree(square)})"
    return f"sqrt(GREATEST({least}, 0e0))"


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
