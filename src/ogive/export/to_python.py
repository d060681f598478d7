"""Plain Python: a file with one function, ``calibrate``, that needs the standard library only.

For a map of a score it is ``calibrate(score)`` or ``calibrate(log_odds=eta)``; for full vectors
``calibrate(row)`` takes and returns a list of K numbers, and for a rank by class structure it
takes such a list and returns one number. With a band it returns a list of that, the low and the
high end, of full vectors those of the most probable class. The arithmetic is the text of
`plain_score`, or of `plain_rows` and the steps of the array program, one line each. The numbers
are literals that read back as the same float64.
"""

from __future__ import annotations

import ast
import importlib.resources
import pprint
from typing import TYPE_CHECKING, Any

import ogive
from ogive.calibrators.grouped_map import NO_GROUP, GroupedMap
from ogive.calibrators.matrix_map import MatrixMap
from ogive.calibrators.multiclass.class_view import ClassViewMap
from ogive.export.arrays import Traced
from ogive.export.forms import LogOddsForm, form_of
from ogive.export.programs import program_of
from ogive.export.run_python import run
from ogive.export.schema import description

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ogive._typing import Kind
    from ogive.calibrators.maps import Fitted
    from ogive.export.forms import Form, Pieces

__all__ = ["run", "write"]

_SCORE = '''

def calibrate(score=None, *, log_odds=None):
    """Return the calibrated probability of a score in [0, 1], or of its log-odds."""
    if log_odds is not None:
        return from_log_odds(CALIBRATOR, log_odds)
    return from_score(CALIBRATOR, score)
'''
_GROUPED = '''

def calibrate(score=None, group=None, *, log_odds=None):
    """Return the calibrated probability of a score in [0, 1], or of its log-odds, in a group.

    A group is text, as CALIBRATOR["main"] has it; of several columns a tuple of texts. One that
    is not there gets the map of all rows, and None is the group of rows without a value.
    """
    if log_odds is not None:
        return log_odds_in_group(CALIBRATOR, log_odds, group)
    return score_in_group(CALIBRATOR, score, group)
'''
_SCORE_AND_BAND = '''

def calibrate(score=None, *, log_odds=None):
    """Return the calibrated probability of a score in [0, 1], or of its log-odds; low; high."""
    if log_odds is not None:
        return [from_log_odds(form, log_odds) for form in (CALIBRATOR, LOW, HIGH)]
    return [from_score(form, score) for form in (CALIBRATOR, LOW, HIGH)]
'''
_VECTOR = '''

def calibrate(values):
    """Return the calibrated probabilities of a row of {K} {what}."""
    x = checked(values, {kind!r}, {K})
{steps}
    return {returned}
'''
_EVENT = '''

def calibrate(values):
    """Return the calibrated probability of {view}, from a row of {K} {what}."""
    x = checked(values, {kind!r}, {K})
{steps}
    return {returned}
'''
_COLUMN = '''

def calibrate(value):
    """Return the calibrated probability of class 1, from its {what}."""
    x = checked({row}, {kind!r}, 2)[1:]
{steps}
    return {returned}
'''

# The steps that take numbers one by one. Programs compute both sides of a choice and keep one, so
# that infinities are made, as arrays do, where Python would raise.
_EACH = {
    "absolute": "abs({0})",
    "add": "{0} + {1}",
    "and": "{0} and {1}",
    "div": "{0} / {1} if {1} else {0} * inf",
    "exp": "exp({0}) if {0} < 709.0 else inf",
    "greater": "{0} > {1}",
    "less": "{0} < {1}",
    "lessorequal": "{0} <= {1}",
    "log": "log({0}) if {0} > 0.0 else -inf",
    "maximum": "max({0}, {1})",
    "minimum": "min({0}, {1})",
    "mul": "{0} * {1}",
    "neg": "-{0}",
    "sqrt": "sqrt({0})",
    "sub": "{0} - {1}",
    "where": "{1} if {0} else {2}",
}


def write(calibrator: Fitted, *, kind: Kind = "logits", ends: Sequence[Fitted] = ()) -> str:
    """Return the file's text.

    Parameters
    ----------
    calibrator : fitted map or calibrator
    kind : {"logits", "probs"}
        What `calibrate` takes, for full vectors.
    ends : two maps, optional
        The ends of its band: `calibrate` then returns a list of three.
    """
    head = (
        f'"""{description(calibrator)}.\n\n'
        f'Written by ogive {ogive.__version__}. Needs the standard library only.\n"""\n\n'
    )
    code = _code("plain_score.py")
    tables = {}
    if isinstance(calibrator, MatrixMap | ClassViewMap):
        code = _code("plain_rows.py")
        tables["CALIBRATOR"], function = _vector_function(calibrator, kind, ends)
    elif isinstance(calibrator, GroupedMap):
        code += "\n\n" + _code("plain_groups.py")
        tables["CALIBRATOR"], function = _of_groups(calibrator), _GROUPED
    else:
        function = _SCORE_AND_BAND if ends else _SCORE
        for name, gamma in zip(("CALIBRATOR", "LOW", "HIGH"), (calibrator, *ends), strict=False):
            tables[name] = _plain(form_of(gamma))  # type: ignore[arg-type]
    functions = "copysign, exp, expm1, fsum, inf, log, log1p, sqrt"
    imports = f"from bisect import bisect_left\nfrom math import {functions}\n"
    texts = {
        name: pprint.pformat(table, width=100, compact=True, sort_dicts=False)
        for name, table in tables.items()
    }
    literals = "".join(f"{name} = {text}\n" for name, text in texts.items())
    return f"{head}{imports}\n{code}\n\n{literals}{function}"


def _vector_function(
    gamma: MatrixMap | ClassViewMap, kind: Kind, ends: Sequence[Fitted]
) -> tuple[dict[str, Any], str]:
    """Return the tables and the function of a map that takes whole rows."""
    program, steps = program_of(gamma, kind, ends), _Steps()
    constants = {name: Traced(steps, f"CALIBRATOR[{name!r}]") for name in program.constants}
    result = program(steps, constants, Traced(steps, "x"))
    full, v = program.full and not program.one_column, result.name
    if ends:
        returned = f"[{v}[:-2], {v}[-2], {v}[-1]]" if full else v
    else:
        returned = v if full else f"{v}[0]"
    texts = {"K": gamma.K, "kind": kind, "steps": "\n".join(steps.lines), "returned": returned}
    numbers = {
        name: (table.T if table.ndim > 1 else table).tolist()
        for name, table in program.constants.items()
    }
    if not program.one_column:
        what = "logits" if kind == "logits" else "probabilities"
        form = _VECTOR if program.full else _EVENT.replace("{view}", gamma.view)
        return numbers, form.format(what=what, **texts)
    what = "log-odds" if kind == "logits" else "probability"
    row = "(0.0, value)" if kind == "logits" else "(1.0 - value, value)"
    return numbers, _COLUMN.format(what=what, row=row, **texts)


class _Steps:
    """The namespace of `ogive.export.arrays`: each call adds a line that computes a row."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.indent = "    "

    def node(self, op: str, *inputs: Any) -> Traced:  # noqa: ANN401
        """Add a line; numbers are written where they are used."""
        rows = {x.name: f"a{i}" for i, x in enumerate(inputs) if isinstance(x, Traced)}
        if op.lower() not in _EACH:
            return self._line(f"{op}({', '.join(rows)})")
        words = [rows[x.name] if isinstance(x, Traced) else repr(x) for x in inputs]
        each, names = _EACH[op.lower()].format(*words), ", ".join(rows.values())
        source = next(iter(rows)) if len(rows) == 1 else f"aligned({', '.join(rows)})"
        return self._line(f"[{each} for {names} in {source}]")

    def _line(self, text: str) -> Traced:
        self.lines.append(f"{self.indent}v{len(self.lines)} = {text}")
        return Traced(self, f"v{len(self.lines) - 1}")

    def if_any(self, flags: Traced, new: Callable[[], Traced], old: Traced) -> Traced:
        result = self._line(old.name)
        self.lines.append(f"    if any({flags.name}):")
        self.indent = "        "
        self.lines.append(f"        {result.name} = {new().name}")
        self.indent = "    "
        return result

    def __getattr__(self, name: str) -> Callable[..., Traced]:
        return lambda *inputs: self.node(name, *inputs)

    def sum(self, x: Traced) -> Traced:
        return self._line(f"[fsum({x.name})]")

    def max(self, x: Traced) -> Traced:
        return self._line(f"[max({x.name})]")

    def take(self, table: Traced, index: Traced) -> Traced:
        return self._line(f"[{table.name}[k] for k in {index.name}]")

    gather = take

    def columns(self, x: Traced, first: int, last: int | None) -> Traced:
        return self._line(f"{x.name}[{first}:{last}]")

    def join(self, parts: Sequence[Traced]) -> Traced:
        return self._line(" + ".join(part.name for part in parts))

    def descending(self, x: Traced, first: int | None) -> tuple[Traced, Traced]:
        order = self._line(f"sorted(range(len({x.name})), key=lambda k: -{x.name}[k])[:{first}]")
        return self.take(x, order), order

    def matmul(self, x: Traced, table: Traced) -> Traced:
        each = f"fsum([a * b for a, b in zip({x.name}, column)])"
        return self._line(f"[{each} for column in {table.name}]")


def _of_groups(gamma: GroupedMap) -> dict[str, Any]:
    """Return the numbers of a calibrator of groups; the names of groups are keys."""
    table, rows = gamma.table, gamma.cells()
    return _plain(form_of(gamma.overall)) | {
        "log_odds_at_one": gamma.log_odds_at_one,
        "axis": gamma.axis._asdict(),
        "none": NO_GROUP,
        "main": [
            dict(zip(values, map(tuple, main.tolist()), strict=True))
            for values, main in zip(table.values, table.main, strict=True)
        ],
        "cells": {
            row: tuple(effect) for row, effect in zip(rows, table.effect.tolist(), strict=True)
        },
    }


def _plain(form: Form) -> dict[str, Any]:
    numbers: dict[str, Any] = {
        **_polynomials(form.pieces),
        "at_one": float(form.at_one),
        "direct": form.direct,
        "odds": float(form.odds),
    }
    if isinstance(form, LogOddsForm):
        for name in ("lowest", "highest", "falling", "rising", "limit", "grid"):
            numbers[name] = float(getattr(form, name))
        numbers["side"] = float(form.side)
        numbers["beyond"] = form.beyond and tuple(map(float, form.beyond))
        numbers["square"] = None if form.square is None else _polynomials(form.square)
    return numbers


def _polynomials(pieces: Pieces) -> dict[str, Any]:
    return {
        "breaks": pieces.breaks.tolist(),
        "start": pieces.start.tolist(),
        "powers": pieces.powers[::-1].tolist(),
    }


def _code(name: str) -> str:
    """Return the functions of one of our files, without imports and annotations."""
    text = (importlib.resources.files("ogive.export") / name).read_text(encoding="utf-8")
    tree = ast.parse(text)
    kept = [n for n in tree.body if isinstance(n, ast.FunctionDef)]
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            node.returns = None
            for argument in ast.walk(node.args):
                if isinstance(argument, ast.arg):
                    argument.annotation = None
    return "\n\n".join(ast.unparse(node) for node in kept) + "\n"
