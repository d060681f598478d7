"""Plain Python: a file with one function, ``calibrate``, that needs the standard library only.

It is ``calibrate(score)`` or ``calibrate(log_odds=eta)``, for maps of one score. With a band it
returns a list of the calibrated score, the low and the high end. The arithmetic is the text of
`plain_score`. The numbers are literals that read back as the same float64.
"""

from __future__ import annotations

import ast
import importlib.resources
import pprint
from typing import TYPE_CHECKING, Any

import ogive
from ogive.calibrators.maps import Map
from ogive.errors import ExportError
from ogive.export.forms import LogOddsForm, form_of
from ogive.export.run_python import run
from ogive.export.schema import description

if TYPE_CHECKING:
    from collections.abc import Sequence

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
_SCORE_AND_BAND = '''

def calibrate(score=None, *, log_odds=None):
    """Return the calibrated probability of a score in [0, 1], or of its log-odds; low; high."""
    if log_odds is not None:
        return [from_log_odds(form, log_odds) for form in (CALIBRATOR, LOW, HIGH)]
    return [from_score(form, score) for form in (CALIBRATOR, LOW, HIGH)]
'''


def write(
    calibrator: Fitted,
    *,
    kind: Kind = "probs",  # noqa: ARG001 - as of the other targets; the function takes both
    ends: Sequence[Fitted] = (),
) -> str:
    """Return the file's text.

    Parameters
    ----------
    calibrator : map of one score
    ends : two maps, optional
        The ends of its band: `calibrate` then returns a list of three.
    """
    head = (
        f'"""{description(calibrator)}.\n\n'
        f'Written by ogive {ogive.__version__}. Needs the standard library only.\n"""\n\n'
    )
    if not isinstance(calibrator, Map):
        msg = (
            f"plain Python is written for methods that read one score, and {calibrator.method!r} "
            "reads whole rows or groups. Export it to ONNX: ogive export CAL.json --to onnx -o "
            "cal.onnx"
        )
        raise ExportError(msg)
    texts = {
        name: pprint.pformat(_plain(form_of(gamma)), width=100, compact=True, sort_dicts=False)  # type: ignore[arg-type]
        for name, gamma in zip(("CALIBRATOR", "LOW", "HIGH"), (calibrator, *ends), strict=False)
    }
    imports = "from bisect import bisect_left\nfrom math import copysign, exp, expm1, log, log1p\n"
    literals = "".join(f"{name} = {text}\n" for name, text in texts.items())
    function = _SCORE_AND_BAND if ends else _SCORE
    return f"{head}{imports}\n{_code()}\n\n{literals}{function}"


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
        numbers["squares"] = [_polynomials(square) for square in form.squares]
    return numbers


def _polynomials(pieces: Pieces) -> dict[str, Any]:
    return {
        "breaks": pieces.breaks.tolist(),
        "start": pieces.start.tolist(),
        "powers": pieces.powers[::-1].tolist(),
    }


def _code() -> str:
    """Return the functions of `plain_score`, without imports and annotations."""
    text = (importlib.resources.files("ogive.export") / "plain_score.py").read_text("utf-8")
    tree = ast.parse(text)
    kept = [n for n in tree.body if isinstance(n, ast.FunctionDef)]
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            node.returns = None
            for argument in ast.walk(node.args):
                if isinstance(argument, ast.arg):
                    argument.annotation = None
    return "\n\n".join(ast.unparse(node) for node in kept) + "\n"
