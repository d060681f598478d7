"""The artifact: a fitted map as a JSON file, with a schema version and a checksum.

::

    {
      "format": "ogive-calibrator",
      "version": 1,                     the schema's version
      "library": "0.1.0",               the version that wrote it
      "method": "paper-spline",         a name of ogive.calibrators.METHODS or VECTORS
      "fitted_on": {...},               what it was fitted on, see `FittedOn`
      "map": {...},                     the map's own fields, see its class
      "checksum": "sha256:..."          of all the rest, in canonical form
    }

Numbers are written with the shortest digits that read back as the same float64, so a round trip
is exact. Reading builds numbers and nothing else. ``docs/artifact.md`` goes through every field.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import ogive
from ogive._files import replacing
from ogive.calibrators import METHODS, VECTORS
from ogive.calibrators.maps import Fitted
from ogive.curve import Curve
from ogive.errors import ArtifactError, InvalidType
from ogive.export.curve_file import is_curve_file, load_curve, save_curve

if TYPE_CHECKING:
    import os

    from ogive._typing import Kind

FORMAT = "ogive-calibrator"
VERSION = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class FittedOn:
    """What a calibrator was fitted on; None where it is not known.

    Attributes
    ----------
    n : float
        The number of rows, or the sum of their weights.
    view : str
    method : str
        The method asked for; of full vectors put together from curves, that of the curves.
    kind : {"logits", "probs"} or None
        What the rows held.
    ks_before, ks_after : float or None
        The KS error of the rows as they were, and calibrated by maps that had not seen them.
    folds : int or None
        In how many parts the rows were cut for `ks_after`.
    date, tag : str or None
        As the caller gave them.
    """

    n: float
    view: str
    method: str
    kind: Kind | None = None
    ks_before: float | None = None
    ks_after: float | None = None
    folds: int | None = None
    date: str | None = None
    tag: str | None = None


def save(
    gamma: Fitted | Curve, path: str | os.PathLike[str], fitted_on: FittedOn | None = None
) -> None:
    """Write a fitted map as JSON, or a curve as a small archive of integers.

    The file is written beside and renamed, never half.

    Parameters
    ----------
    gamma : fitted map or calibrator, or a Curve
    path : path
    fitted_on : FittedOn, optional
        Of a map. Default: what the map itself knows, which is n, view and method.

    Examples
    --------
    >>> import tempfile, ogive
    >>> curve = ogive.Curve.from_scores([0.1, 0.4, 0.6, 0.9], [0, 1, 0, 1])
    >>> gamma = ogive.fit_paper_spline(curve, knots=3)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     ogive.save(gamma, f"{folder}/cal.json")
    ...     ogive.load(f"{folder}/cal.json") == gamma
    True
    """
    if isinstance(gamma, Curve):
        save_curve(gamma, path)
        return
    if not isinstance(gamma, Fitted):
        msg = (
            f"`gamma` must be a fitted map or calibrator, not {type(gamma).__name__}; "
            "that of a fitted estimator is its map_."
        )
        raise InvalidType(msg)
    known = fitted_on or FittedOn(n=gamma.n, view=gamma.view, method=gamma.method)
    document = {
        "format": FORMAT,
        "version": VERSION,
        "library": ogive.__version__,
        "method": gamma.method,
        "fitted_on": asdict(known),
        "map": gamma.to_dict(),
    }
    document["checksum"] = _checksum(document)
    with replacing(path) as beside:
        beside.write_text(json.dumps(document, allow_nan=False) + "\n", encoding="utf-8")


def load(path: str | os.PathLike[str]) -> Any:  # noqa: ANN401 - what was saved
    """Read a map or a curve that `save` wrote; anything foreign, newer or altered is refused.

    >>> import tempfile, ogive
    >>> curve = ogive.Curve.from_scores([0.1, 0.4, 0.6, 0.9], [0, 1, 0, 1])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     ogive.save(curve, f"{folder}/monday.curve")
    ...     ogive.load(f"{folder}/monday.curve").merge(curve).n
    8
    """
    return load_curve(path) if is_curve_file(path) else load_map(path)


def load_map(path: str | os.PathLike[str]) -> Fitted:
    """Read a fitted map."""
    document = _document(path)
    method = (METHODS | VECTORS).get(document.get("method", ""))
    if method is VECTORS["keep"] and "maps" in document.get("map", {}):
        method = VECTORS["ranks"]  # what "keep" was called before it knew of classes
    if method is None:
        msg = f"{path} holds a method this library does not know: {document.get('method')!r}."
        raise ArtifactError(msg)
    try:
        return method.map.from_dict(document["map"])
    except (KeyError, TypeError, ValueError) as error:
        msg = f"{path} lacks what a {method.name!r} calibrator needs ({error}). Fit it again."
        raise ArtifactError(msg) from error


def load_fitted_on(path: str | os.PathLike[str]) -> FittedOn:
    """Read what a saved calibrator was fitted on."""
    values: Any = _document(path).get("fitted_on")
    known = {field.name for field in fields(FittedOn)}
    try:
        return FittedOn(**{key: values[key] for key in known & values.keys()})
    except (AttributeError, TypeError) as error:
        msg = f"{path} does not say what it was fitted on ({error}). Fit it again."
        raise ArtifactError(msg) from error


def _document(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the artifact without its checksum, if it is whole and ours."""
    document = _read(Path(path))
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        msg = f'{path} is not an ogive calibrator: its "format" is not {FORMAT!r}.'
        raise ArtifactError(msg)
    version = document.get("version")
    if not isinstance(version, int) or version > VERSION:
        msg = (
            f"{path} has schema version {version}, newer than this library reads ({VERSION}): "
            "pip install --upgrade ogive"
        )
        raise ArtifactError(msg)
    if document.pop("checksum", None) != _checksum(document):
        msg = f"{path} was altered after it was written: its checksum does not match. Fit it again."
        raise ArtifactError(msg)
    return document


def _read(path: Path) -> Any:  # noqa: ANN401 - JSON can be anything
    try:
        return json.loads(path.read_text(encoding="utf-8"), parse_constant=_refuse)
    except FileNotFoundError as error:
        msg = f"{path} does not exist: no calibrator was saved there."
        raise FileNotFoundError(msg) from error
    except (UnicodeDecodeError, json.JSONDecodeError, RecursionError) as error:
        msg = f"{path} is not JSON ({error}): not an ogive calibrator, or cut short."
        raise ArtifactError(msg) from error


def _refuse(name: str) -> None:
    msg = f"the artifact holds {name}, which no calibrator writes."
    raise ArtifactError(msg)


def _checksum(document: dict[str, Any]) -> str:
    canonical = json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return "sha256:" + hashlib.sha256(canonical.encode()).hexdigest()
