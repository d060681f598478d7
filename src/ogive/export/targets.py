"""The one table of deployment forms, and the way out: write, check, and only then keep.

=========  =====================  ========================================  ==========
target     file                   takes                                     bound
=========  =====================  ========================================  ==========
onnx       .onnx, operator set 17 logits or probabilities, float32/64       2e-6
torch      .pt2 of torch.export   logits or probabilities, float32/64       2e-6
python     .py, no packages       a score or its log-odds; a row            1e-9
sql        .sql, one expression   a score's column; columns of logits       1e-9
=========  =====================  ========================================  ==========
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ogive._files import replacing
from ogive._validate import as_choice
from ogive.calibrators.maps import Fitted, Map
from ogive.calibrators.matrix.maps import MatrixMap
from ogive.errors import ExportError, InvalidType, UnknownName
from ogive.export.check import batch, compare

if TYPE_CHECKING:
    import os

    from ogive._typing import Kind

_KINDS: tuple[Kind, Kind] = ("logits", "probs")
_DTYPES = ("float32", "float64")


@dataclass(frozen=True, slots=True)
class Target:
    """A form of deployment.

    room : the module with ``write`` and ``run``
    bound : the largest difference to the artifact that is let through
    arrays : whether it takes batches of arrays, of a stated type, and finds a view's score itself
    """

    name: str
    room: str
    bound: float
    arrays: bool


TARGETS = {
    target.name: target
    for target in (
        Target("onnx", "ogive.export.to_onnx", 2e-6, arrays=True),
        Target("torch", "ogive.export.to_torch", 2e-6, arrays=True),
        Target("python", "ogive.export.to_python", 1e-9, arrays=False),
        Target("sql", "ogive.export.to_sql", 1e-9, arrays=False),
    )
}


@dataclass(frozen=True, slots=True)
class Exported:
    """What was written, and how near it is to the artifact.

    Attributes
    ----------
    out : str
    max_abs_difference : float
        The largest difference over the points compared, those at a jump left out.
    points, at_jumps : int
        How many rows were compared; in how many the two differ because a jump is within rounding.
    """

    out: str
    max_abs_difference: float
    points: int
    at_jumps: int

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON object of ``ogive export``."""
        return {name: getattr(self, name) for name in self.__slots__}


def export(
    gamma: Fitted,
    to: str,
    out: str | os.PathLike[str],
    *,
    kind: Kind | None = None,
    dtype: str = "float32",
    column: str | None = None,
    points: int = 100_000,
    seed: int = 0,
) -> Exported:
    """Write a calibrator in a form that serves it, if the form gives the artifact's numbers.

    Parameters
    ----------
    gamma : fitted map or calibrator
    to : {"onnx", "torch", "python", "sql"}
    out : path
    kind : {"logits", "probs"}, optional
        What it will be given. Default: logits, and probabilities for the score of one column.
    dtype : {"float32", "float64"}
        The type of the input of onnx and torch.
    column : str, optional
        For sql: the score's column, or the beginning of the names of the columns of logits.
    points, seed : int
        How many points are compared, and the seed of the random ones.

    Returns
    -------
    Exported

    Examples
    --------
    >>> from ogive import Curve, fit_platt
    >>> gamma = fit_platt(Curve.from_scores([0.1, 0.4, 0.6, 0.9], [0, 1, 0, 1]))
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     done = export(gamma, "python", f"{folder}/cal.py", points=1000)
    >>> done.max_abs_difference < 1e-12
    True
    """
    if to not in TARGETS:
        raise UnknownName.among("target", to, TARGETS)
    if not isinstance(gamma, Fitted):
        msg = f"`gamma` must be a fitted map or calibrator, not {type(gamma).__name__}."
        raise InvalidType(msg)
    target = TARGETS[to]
    kind = as_choice(kind or default_kind(gamma, target), "kind", _KINDS)
    as_choice(dtype, "dtype", _DTYPES)
    contents, found = _checked(gamma, target, kind, dtype, column, points, seed)
    with replacing(out) as beside:
        if isinstance(contents, bytes):
            beside.write_bytes(contents)
        else:
            beside.write_text(contents, encoding="utf-8")
    return Exported(str(Path(out)), found.max_abs_difference, found.points, found.at_jumps)


def default_kind(gamma: Fitted, target: Target) -> Kind:
    """Return what a form is given if nothing is said."""
    return "probs" if isinstance(gamma, Map) and (gamma.view == "score" or not target.arrays) else "logits"


def _checked(
    gamma: Fitted,
    target: Target,
    kind: Kind,
    dtype: str,
    column: str | None,
    points: int,
    seed: int,
) -> Any:  # noqa: ANN401 - the contents, and what the check found
    room = importlib.import_module(target.room)
    from_scores = isinstance(gamma, Map) and not target.arrays
    if from_scores and kind != "probs":
        msg = (
            f"to {target.name} a map of one score is a function of the score: `kind` must be "
            "'probs' (the Python function also takes log_odds=)."
        )
        raise ExportError(msg)
    dtype = dtype if target.arrays else "float64"
    options: dict[str, Any] = {}
    run_options: dict[str, Any] = {}
    if target.arrays:
        options = run_options = {"dtype": dtype}
    elif target.name == "sql":
        options = {"column": column}
        run_options = {"column": column or room.default_column(gamma)}
    contents = room.write(gamma, kind=kind, **options)
    values = batch(gamma, kind, from_scores=from_scores, dtype=dtype, points=points, seed=seed)
    found = room.run(contents, values, **run_options)
    bound = target.bound
    return contents, compare(gamma, values, found, kind, from_scores=from_scores, bound=bound)


