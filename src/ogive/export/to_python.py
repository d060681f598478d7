"""Plain Python: a file with one function, ``calibrate``, that needs the standard library only.

For a map of a score it is ``calibrate(score)`` or ``calibrate(log_odds=eta)``; for full vectors
``calibrate(row)`` takes and returns a list of K numbers, and for a rank by class structure it
takes such a list and returns one number. With a band it returns the list of the probability and the
low and high ends. The arithmetic is the text of
`plain_score`, or of `plain_rows` and the steps of the array program, one line each. The numbers
are literals that read back as the same float64.
"""

from __future__ import annotations

import ast
import importlib.resources
import json
import pprint
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import ogive
from ogive.calibrators.grouped_map import NO_GROUP, GroupedMap
from ogive.calibrators.matrix_map import MatrixMap
from ogive.calibrators.multiclass.class_view import ClassViewMap
from ogive.errors import ExportError
from ogive.export.arrays import Traced
from ogive.export.forms import LogOddsForm, form_of
from ogive.export.rules import shown
from ogive.export.schema import description
from ogive.export.vectors import program_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ogive._typing import AnyArray, FloatArray, Kind
    from ogive.calibrators.maps import Fitted, Map
    from ogive.export.forms import Form, Pieces

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
    return {result}
'''
_EVENT = '''

def calibrate(values):
    """Return the calibrated probability of {view}, from a row of {K} {what}."""
    x = checked(values, {kind!r}, {K})
{steps}
    return {result}[0]
'''
_COLUMN = '''

def calibrate(value):
    """Return the calibrated probability of class 1, from its {what}."""
    x = checked({row}, {kind!r}, 2)[1:]
{steps}
    return {result}[0]
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
    "sub": "{0} - {1}",
    "where": "{1} if {0} else {2}",
}

# What the text of an export may be made of.
_MODULES = ("bisect", "math")
_IMPORTED = {"bisect_left", "exp", "fsum", "inf", "log", "log1p", "sqrt"}
_BUILTINS = {
    *("ValueError", "abs", "any", "float", "isinstance", "len", "max", "min", "range", "round"),
    *("sorted", "str", "zip"),
}
_NODES = (
    *(ast.Module, ast.alias, ast.arguments, ast.Assign, ast.AugAssign, ast.Expr, ast.Return),
    *(ast.If, ast.For, ast.Break, ast.Raise, ast.Constant, ast.JoinedStr, ast.FormattedValue),
    *(ast.List, ast.Tuple, ast.Dict, ast.ListComp, ast.DictComp, ast.GeneratorExp),
    *(ast.comprehension, ast.Lambda, ast.keyword, ast.Starred, ast.Subscript, ast.Slice),
    *(ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.IfExp, ast.Compare, ast.expr_context),
    *(ast.operator, ast.unaryop, ast.boolop, ast.cmpop),
)

# Runs a written file: argv is its path, the width of a row (0: numbers), builtins and modules, and
# the file of the groups: each different one, and the one of each row.
_RUNNER = """
import array, builtins, json, runpy, sys
path, width, names, modules = sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4].split(",")
given, found = array.array("d"), array.array("d")
given.frombytes(sys.stdin.buffer.read())
load = builtins.__import__
def limited(name, *rest):
    if name not in modules:
        raise ImportError(name)
    return load(name, *rest)
try:
    import resource
    for what in (resource.RLIMIT_FSIZE, resource.RLIMIT_NPROC, resource.RLIMIT_CORE):
        resource.setrlimit(what, (0, 0))
except ImportError:  # not on this system
    pass
allowed = {name: getattr(builtins, name) for name in names.split(",")}
allowed["__import__"] = limited
calibrate = runpy.run_path(path, {"__builtins__": allowed})["calibrate"]
rows = given if not width else [given[i : i + width] for i in range(0, len(given), width)]
groups = None
if len(sys.argv) > 5:
    with open(sys.argv[5], encoding="utf-8") as file:
        names, index = json.load(file)
    names = [tuple(name) if len(name) > 1 else name[0] for name in names]
    groups = [names[i] for i in index]
for i, row in enumerate(rows):
    result = calibrate(row) if groups is None else calibrate(row, groups[i])
    found.extend(result if isinstance(result, list) else (result,))
sys.stdout.buffer.write(found.tobytes())
"""


def write(calibrator: Fitted, *, kind: Kind = "logits", ends: Sequence[Map] = ()) -> str:
    """Return the file's text.

    Parameters
    ----------
    calibrator : fitted map or calibrator
    kind : {"logits", "probs"}
        What `calibrate` takes, for full vectors.
    ends : two maps, optional
        The ends of the band of a map of one score: `calibrate` then returns a list of three.
    """
    head = (
        f'"""{description(calibrator)}.\n\n'
        f'Written by ogive {ogive.__version__}. Needs the standard library only.\n"""\n\n'
    )
    code = _code("plain_score.py")
    if isinstance(calibrator, MatrixMap | ClassViewMap):
        code = _code("plain_rows.py")
        numbers, function = _vector_function(calibrator, kind)
    elif isinstance(calibrator, GroupedMap):
        numbers, function = _of_groups(calibrator), _GROUPED
    else:
        numbers, function = _plain(form_of(calibrator)), _SCORE  # type: ignore[arg-type]
    if isinstance(calibrator, GroupedMap):
        code += "\n\n" + _code("plain_groups.py")
    tables = {"CALIBRATOR": numbers}
    if ends:
        low, high = (_plain(form_of(end)) for end in ends)
        tables, function = {**tables, "LOW": low, "HIGH": high}, _SCORE_AND_BAND
    imports = "from bisect import bisect_left\nfrom math import exp, fsum, inf, log, log1p, sqrt\n"
    texts = {
        name: pprint.pformat(table, width=100, compact=True, sort_dicts=False)
        for name, table in tables.items()
    }
    literals = "".join(f"{name} = {text}\n" for name, text in texts.items())
    return f"{head}{imports}\n{code}\n\n{literals}{function}"


def run(contents: str, values: AnyArray, groups: AnyArray | None = None) -> FloatArray:
    """Run a written file on a batch: scores (n,), or rows (n, K), and groups (n, columns).

    The text is first checked against an allow-list (`check_text`). It then runs in a process of its
    own that has no packages, no builtins beyond those of the list, and may write no file.
    """
    check_text(contents)
    rows = np.ascontiguousarray(values, dtype=np.float64)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "calibrator.py"
        path.write_text(contents, encoding="utf-8")
        width = 0 if rows.ndim == 1 else rows.shape[1]
        words = [str(path), str(width), ",".join(sorted(_BUILTINS)), ",".join(_MODULES)]
        if groups is not None:
            beside = Path(folder) / "groups.json"
            beside.write_text(_groups_as_json(groups), encoding="utf-8")
            words.append(str(beside))
        done = subprocess.run(  # noqa: S603 - our own interpreter, and text that was checked
            [sys.executable, "-I", "-S", "-c", _RUNNER, *words],
            input=rows.tobytes(),
            capture_output=True,
            check=False,
        )
    if done.returncode:
        lines = done.stderr.decode("utf-8", "replace").strip().splitlines() or ["no message"]
        msg = f"the exported Python fails to run: {shown(lines[-1])}. Nothing was written."
        raise ExportError(msg)
    found = np.frombuffer(done.stdout, dtype=np.float64)
    return found if found.size == rows.shape[0] else found.reshape(rows.shape[0], -1)


def check_text(text: str) -> None:
    """Refuse text with anything but the functions of an export, their numbers and strings.

    Every node of the syntax tree must be of a kind that computes; names are those of the file, of
    `math` and `bisect`, and a few builtins; there are no attributes.
    """
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        msg = f"the exported Python is invalid: {shown(str(error))}. Nothing was written."
        raise ExportError(msg) from error
    names = [node for node in ast.walk(tree) if isinstance(node, ast.Name)]
    assigned = {node.id for node in names if isinstance(node.ctx, ast.Store)}
    defined = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    arguments = {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
    known = assigned | defined | arguments | _BUILTINS | _IMPORTED
    for node in ast.walk(tree):
        if not _is_plain(node, known):
            line = getattr(node, "lineno", 0)
            msg = (
                f"the exported Python has {type(node).__name__} in line {line}, which is not "
                "allowed: nothing was written."
            )
            raise ExportError(msg)


def _is_plain(node: ast.AST, known: set[str]) -> bool:
    """Return whether a node of the syntax tree only computes."""
    match node:
        case ast.Name(id=name) | ast.arg(arg=name):
            right = name in known and not name.startswith("__")
        case ast.FunctionDef(name=name, decorator_list=decorators):
            right = not decorators and not name.startswith("__")
        case ast.ImportFrom(module=module, names=names, level=level):
            words = all(n.name in _IMPORTED and not n.asname for n in names)
            right = module in _MODULES and words and not level
        case ast.Call(func=called):
            right = isinstance(called, ast.Name)
        case _:
            right = isinstance(node, _NODES)
    return right


def _vector_function(gamma: MatrixMap | ClassViewMap, kind: Kind) -> tuple[dict[str, Any], str]:
    """Return the tables and the function of a map that takes whole rows."""
    program, steps = program_of(gamma, kind), _Steps()
    constants = {name: Traced(steps, f"CALIBRATOR[{name!r}]") for name in program.constants}
    result = program(steps, constants, Traced(steps, "x"))
    texts = {"K": gamma.K, "kind": kind, "steps": "\n".join(steps.lines), "result": result.name}
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


def _groups_as_json(groups: AnyArray) -> str:
    """Return the different rows of groups and the place of each, as JSON."""
    place: dict[tuple[Any, ...], int] = {}
    index = [place.setdefault(tuple(row), len(place)) for row in groups.tolist()]
    return json.dumps([list(place), index])


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
