"""The table of export targets, and `export`: write, check, and only then keep the file.

=========  =====================  ========================================  ==========
target     file                   takes                                     bound
=========  =====================  ========================================  ==========
onnx       .onnx, operator set 17 logits or probabilities, float32/64       2e-6
torch      .pt2 of torch.export   logits or probabilities, float32/64       2e-6
python     .py, no packages       a score or its log-odds                   1e-9
sql        .sql, one expression   a score's column; columns of logits       1e-9
=========  =====================  ========================================  ==========
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ogive._files import replacing, safe_output
from ogive.calibrators.grouped_map import GroupedMap
from ogive.calibrators.maps import Fitted, Map
from ogive.errors import ExportError, InvalidInput, InvalidType, UnknownName
from ogive.export.artifact import check_map, load_fitted_on, load_map
from ogive.export.check import Checked, batch, compare
from ogive.export.grid import groups_for
from ogive.rows.check import as_choice

if TYPE_CHECKING:
    import os

    from ogive._typing import BandKind, Kind

_KINDS: tuple[Kind, Kind] = ("logits", "probs")
_BANDS: tuple[BandKind, BandKind] = ("pointwise", "simultaneous")
_DTYPES = ("float64", "float32")


@dataclass(frozen=True, slots=True)
class Target:
    """A form of deployment.

    module : the module with ``write`` and ``run``
    bound : the largest difference to the artifact that is accepted
    arrays : whether it takes batches of arrays of a given type, and computes a view's score itself
    dtype : that type, unless another is asked for
    """

    name: str
    module: str
    bound: float
    arrays: bool
    dtype: str = "float64"


TARGETS = {
    target.name: target
    for target in (
        Target("onnx", "ogive.export.to_onnx", 2e-6, arrays=True),
        Target("torch", "ogive.export.to_torch", 2e-6, arrays=True, dtype="float32"),
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
        The largest difference over the points compared, in float64, those at a jump left out. With
        float32 also what rounding the input costs, at all points.
    points, at_jumps : int
        How many rows were compared; in how many the two differ because a jump is within rounding.
    rounded : int
        In how many they differ by more than the target's bound because the input is float32.
    """

    out: str
    max_abs_difference: float
    points: int
    at_jumps: int
    rounded: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON object of ``ogive export``."""
        return {name: getattr(self, name) for name in self.__slots__}


def export(
    calibrator: Fitted,
    to: str,
    out: str | os.PathLike[str],
    *,
    kind: Kind | None = None,
    dtype: str | None = None,
    column: str | None = None,
    band: BandKind | None = None,
    points: int = 100_000,
    random_state: int = 0,
) -> Exported:
    """Export a calibrator, if the exported form gives the same numbers as the artifact.

    Parameters
    ----------
    calibrator : fitted map or calibrator
    to : {"onnx", "torch", "python", "sql"}
    out : path
    kind : {"logits", "probs"}, optional
        What the export takes. Default: logits, and probabilities for the score of one column.
    dtype : {"float64", "float32"}
        The type of the input of onnx (default float64) and torch (float32, as networks give it: a
        .pt2 file takes no other than its own). In float32 scores and logits are rounded, which
        `max_abs_difference` and `rounded` count.
    column : str, optional
        For sql: the score's column, or the beginning of the names of the columns of logits. A
        name such as ``my col`` or ``p.score``; it is quoted.
    band : {"pointwise", "simultaneous"}, optional
        Also the ends of the 95 % band, ``low`` and ``high``: of whole vectors that of the most
        probable class.
    points, random_state : int
        How many points are compared, and the seed of the random ones.

    Returns
    -------
    Exported

    Examples
    --------
    >>> from ogive import Curve, fit_platt
    >>> calibrator = fit_platt(Curve.from_scores([0.1, 0.4, 0.6, 0.9], [0, 1, 0, 1]))
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     done = export(calibrator, "python", f"{folder}/cal.py", points=1000)
    >>> done.max_abs_difference < 1e-12
    True
    """
    if to not in TARGETS:
        raise UnknownName.among("target", to, TARGETS)
    if not isinstance(calibrator, Fitted):
        msg = f"`calibrator` must be a fitted calibrator, not {type(calibrator).__name__}."
        raise InvalidType(msg)
    target = TARGETS[to]
    kind = as_choice(kind or default_kind(calibrator, target), "kind", _KINDS)
    if column is not None and to != "sql":
        msg = f"`column` (--column) is for sql only. Leave it out for {to}."
        raise InvalidInput(msg)
    from_scores = isinstance(calibrator, Map | GroupedMap) and not target.arrays
    if from_scores and kind != "probs":
        msg = (
            f"to {to} a map of one score is a function of the score: `kind` must be 'probs' "
            "(the Python function also takes log_odds=)."
        )
        raise ExportError(msg)
    dtype = as_choice(dtype or target.dtype, "dtype", _DTYPES) if target.arrays else "float64"
    module = importlib.import_module(target.module)
    options: dict[str, Any] = {"dtype": dtype} if target.arrays else {}
    if to == "sql":
        options = {"column": column or module.default_column(calibrator)}
    check_map(calibrator)
    ends = _ends(calibrator, band)
    contents = module.write(calibrator, kind=kind, ends=ends, **options)
    how: Any = {"points": points, "random_state": random_state}
    values = batch(calibrator, kind, from_scores=from_scores, **how)
    groups = None
    if isinstance(calibrator, GroupedMap):
        groups = groups_for(calibrator, len(values), random_state)
        options |= {"groups": groups} | ({"by": calibrator.columns} if to == "sql" else {})
    results = module.run(contents, values, **options)
    how = {"from_scores": from_scores, "bound": target.bound, "one_number": to == "sql"}
    how |= {"ends": ends, "groups": groups, "dtype": dtype}
    checked = compare(calibrator, values, results, kind, **how)
    with replacing(out) as beside:
        if isinstance(contents, bytes):
            beside.write_bytes(contents)
        else:
            beside.write_text(contents, encoding="utf-8")
    return Exported(str(Path(out)), *(getattr(checked, name) for name in Checked.__slots__))


def _ends(calibrator: Fitted, band: BandKind | None) -> tuple[Fitted, ...]:
    """Return the ends of the band that was asked for; none if none was."""
    if band is None:
        return ()
    chosen = as_choice(band, "band", _BANDS)
    if isinstance(calibrator, GroupedMap):
        msg = (
            "the band of a calibrator of groups is not exported. Use ogive apply --band, or export "
            "without --band."
        )
        raise ExportError(msg)
    low, high = calibrator.band_ends(simultaneous=chosen == "simultaneous")
    return low, high


def export_file(
    calibrator: str | os.PathLike[str],
    to: str,
    out: str | os.PathLike[str],
    *,
    kind: str | None = None,
    dtype: str | None = None,
    column: str | None = None,
    band: BandKind | None = None,
) -> Exported:
    """Export a saved calibrator. The default of `kind` is what it was fitted to, if it says so."""
    safe_output(out, [calibrator])
    gamma = load_map(calibrator)
    target = TARGETS.get(to)
    if kind is None and target is not None and default_kind(gamma, target) == "logits":
        kind = load_fitted_on(calibrator).kind if to != "sql" else None
    chosen = None if kind is None else as_choice(kind, "kind", _KINDS)
    return export(gamma, to, out, kind=chosen, dtype=dtype, column=column, band=band)


def default_kind(calibrator: Fitted, target: Target) -> Kind:
    """Return the default `kind` of a calibrator."""
    score = isinstance(calibrator, Map | GroupedMap)
    of_a_score = score and (calibrator.view == "score" or not target.arrays)
    return "probs" if of_a_score else "logits"
