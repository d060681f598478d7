"""Plain Python: a file with one function, ``calibrate``, that needs the standard library only.

For a map of a score it is ``calibrate(score)`` or ``calibrate(log_odds=eta)``; for full vectors
``calibrate(row)`` takes and returns a list of K numbers. The arithmetic is the text of
`plain_score` (and `plain_vector`), the numbers are literals that read back as the same float64.
"""

from __future__ import annotations

import ast
import importlib.resources
import pprint
from typing import TYPE_CHECKING, Any

import numpy as np

import ogive
from ogive.calibrators.matrix.maps import MatrixMap
from ogive.export.forms import LogOddsForm, form_of

if TYPE_CHECKING:
    from ogive._typing import AnyArray, FloatArray, Kind
    from ogive.calibrators.maps import Fitted
    from ogive.export.forms import Form

_SCORE = '''

def calibrate(score=None, *, log_odds=None):
    """Return the calibrated probability of a score in [0, 1], or of its log-odds."""
    if log_odds is not None:
        return from_log_odds(CALIBRATOR, log_odds)
    return from_score(CALIBRATOR, score)
'''
_VECTOR = '''

def calibrate(values):
    """Return the calibrated probabilities of a row of {K} {what}."""
    return from_vector(CALIBRATOR, values, {kind!r})
'''
_COLUMN = '''

def calibrate(value):
    """Return the calibrated probability of class 1, from its {what}."""
    row = {row}
    return from_vector(CALIBRATOR, row, {kind!r})[1]
'''


def write(gamma: Fitted, *, kind: Kind = "logits") -> str:
    """Return the file's text.

    Parameters
    ----------
    gamma : fitted map or calibrator
    kind : {"logits", "probs"}
        What `calibrate` is given, for full vectors.
    """
    head = (
        f'"""{gamma.method} calibrator of {gamma.view}, fitted on {gamma.n:g} rows.\n\n'
        f'Written by ogive {ogive.__version__}. Needs the standard library only.\n"""\n\n'
    )
    code = [_code("plain_score.py")]
    if isinstance(gamma, MatrixMap):
        code.append(_code("plain_vector.py"))
        function = _vector_function(gamma, kind)
    else:
        function = _SCORE
    imports = "from bisect import bisect_left\nfrom math import exp, fsum, inf, log\n"
    numbers = pprint.pformat(_numbers(gamma), width=100, compact=True, sort_dicts=False)
    return f"{head}{imports}\n{chr(10).join(code)}\n\nCALIBRATOR = {numbers}\n{function}"


def run(contents: str, values: AnyArray) -> FloatArray:
    """Run a written file on a batch: scores (n,), or rows (n, K)."""
    calibrate = function(contents)
    rows = np.asarray(values, dtype=np.float64).tolist()
    return np.array([calibrate(row) for row in rows], dtype=np.float64)


def function(contents: str) -> Any:  # noqa: ANN401
    """Return the function of a written file."""
    names: dict[str, Any] = {}
    exec(compile(contents, "calibrator.py", "exec"), names)  # noqa: S102 - our own text
    return names["calibrate"]


def _vector_function(gamma: MatrixMap, kind: Kind) -> str:
    if gamma.view != "score":
        what = "logits" if kind == "logits" else "probabilities"
        return _VECTOR.format(K=gamma.K, what=what, kind=kind)
    what = "log-odds" if kind == "logits" else "probability"
    row = "(0.0, value)" if kind == "logits" else "(1.0 - value, value)"
    return _COLUMN.format(what=what, row=row, kind=kind)


def _numbers(gamma: Fitted) -> dict[str, Any]:
    """Return the calibrator as literals."""
    if not isinstance(gamma, MatrixMap):
        return _plain(form_of(gamma))  # type: ignore[arg-type]
    numbers = {"method": gamma.method, **gamma.to_dict()}
    if "top" in numbers:
        del numbers["top"]
        numbers["forms"] = [_plain(form_of(getattr(gamma, "top")))]  # noqa: B009
    if "maps" in numbers:
        del numbers["maps"]
        numbers["forms"] = [_plain(form_of(inner)) for inner in getattr(gamma, "maps")]  # noqa: B009
    return numbers


def _plain(form: Form) -> dict[str, Any]:
    numbers: dict[str, Any] = {
        "breaks": form.pieces.breaks.tolist(),
        "start": form.pieces.start.tolist(),
        "powers": form.pieces.powers[::-1].tolist(),
        "at_one": float(form.at_one),
        "direct": form.direct,
    }
    if isinstance(form, LogOddsForm):
        for name in ("lowest", "highest", "falling", "rising", "limit", "grid"):
            numbers[name] = float(getattr(form, name))
    return numbers


def _code(name: str) -> str:
    """Return the functions and constants of one of our files, without imports and annotations."""
    text = (importlib.resources.files("ogive.export") / name).read_text(encoding="utf-8")
    tree = ast.parse(text)
    kept = [n for n in tree.body if isinstance(n, ast.FunctionDef | ast.Assign)]
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            node.returns = None
            for argument in node.args.args:
                argument.annotation = None
    return "\n\n".join(ast.unparse(node) for node in kept) + "\n"
