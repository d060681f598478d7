"""Python that was written: it is checked to compute and nothing else, and run by itself."""

from __future__ import annotations

import ast
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ogive.errors import ExportError
from ogive.export.rules import shown

if TYPE_CHECKING:
    from ogive._typing import AnyArray, FloatArray

# What the text of an export may be made of.
_MODULES = ("bisect", "math")
_IMPORTED = {"bisect_left", "copysign", "exp", "expm1", "log", "log1p"}
_BUILTINS = {"ValueError", "abs", "float", "max", "min", "round"}
_NODES = (
    *(ast.Module, ast.alias, ast.arguments, ast.Assign, ast.AugAssign, ast.Expr, ast.Return),
    *(ast.If, ast.For, ast.Break, ast.Raise, ast.Constant, ast.JoinedStr, ast.FormattedValue),
    *(ast.List, ast.Tuple, ast.Dict, ast.ListComp, ast.DictComp, ast.GeneratorExp),
    *(ast.comprehension, ast.Lambda, ast.keyword, ast.Starred, ast.Subscript, ast.Slice),
    *(ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.IfExp, ast.Compare, ast.expr_context),
    *(ast.operator, ast.unaryop, ast.boolop, ast.cmpop),
)

# Runs a written file: argv is its path, builtins and modules.
_RUNNER = """
import array, builtins, runpy, sys
path, names, modules = sys.argv[1], sys.argv[2], sys.argv[3].split(",")
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
for score in given:
    result = calibrate(score)
    found.extend(result if isinstance(result, list) else [result])
sys.stdout.buffer.write(found.tobytes())
"""


def run(contents: str, values: AnyArray) -> FloatArray:
    """Run a written file on a batch of scores, (n,).

    The text is first checked against an allow-list (`check_text`). It then runs in a process of its
    own that has no packages, no builtins beyond those of the list, and may write no file.
    """
    check_text(contents)
    rows = np.ascontiguousarray(values, dtype=np.float64)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "calibrator.py"
        path.write_text(contents, encoding="utf-8")
        words = [str(path), ",".join(sorted(_BUILTINS)), ",".join(_MODULES)]
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
