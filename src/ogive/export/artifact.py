"""The artifact: a fitted map as a JSON file, with a schema version and a checksum.

::

    {
      "format": "ogive-calibrator",
      "version": 2,                     the schema's version
      "library": "0.1.0",               the version that wrote it
      "method": "paper-spline",         a name of METHODS, MULTICLASS, …
      "fitted_on": {...},               what it was fitted on, see `FittedOn`
      "map": {...},                     the map's own fields, see its class
      "checksum": "sha256:..."          of all the rest, in canonical form
    }

Numbers are written with the shortest digits that read back as the same float64, so a round trip
is exact. Reading builds numbers and nothing else, and a file may come from anyone: every field is
checked against the table of `ogive.export.schema`, and the map must give probabilities at inputs
that are hardest to get right. ``docs/artifact.md`` goes through every field.
"""

from __future__ import annotations

import hashlib
import json
import warnings
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import ogive
from ogive._files import replacing
from ogive.calibrators import CLASS_VIEWS, GROUPED, METHODS, MULTICLASS, SHIFTED
from ogive.calibrators.grouped_map import GroupedMap
from ogive.calibrators.maps import Fitted, Map
from ogive.calibrators.matrix_map import MatrixMap
from ogive.calibrators.multiclass.class_view import ClassViewMap
from ogive.curve import Curve
from ogive.errors import ArtifactError, InvalidType, OgiveWarning
from ogive.export.curve_file import is_curve_file, load_curve, save_curve
from ogive.export.rules import Text, shown
from ogive.export.schema import FITTED_ON, FORMAT, MAPS, VERSION, name_of_map
from ogive.rows.predictions import Predictions

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Mapping

    from ogive._typing import FloatArray, Kind

#: A matrix for each of five folds of 1,000 classes is 105 MB of JSON.
MAX_BYTES = 256_000_000


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
    base_rate : float, tuple of float, or None
        The share of class 1, or of every class.
    scores : dict or None
        Calibrated scores of both classes, counted in bins: `ogive.studies.base_rate`.
    ks_before, ks_after : float or None
        The KS error of the rows as they were, and calibrated by maps that had not seen them.
    log_loss_before, log_loss_after : float or None
        The same of the log loss: of whole vectors, or of the view's score.
    classes : tuple of str or int, or None
        The label of each column; of scores None.
    K : int or None
        The number of classes.
    folds : int or None
        In how many parts the rows were cut for what is known after.
    rows : str or None
        A checksum of the rows, whatever their order: `apply` recognises them by it.
    files, part : tuple of str, and str, or None
        Checksums of the files they came from, and which part of these.
    date, tag : str or None
        As the caller gave them.
    """

    n: float
    view: str
    method: str
    kind: Kind | None = None
    classes: tuple[str | int, ...] | None = None
    K: int | None = None
    base_rate: float | tuple[float, ...] | None = None
    scores: dict[str, list[float]] | None = None
    ks_before: float | None = None
    ks_after: float | None = None
    log_loss_before: float | None = None
    log_loss_after: float | None = None
    folds: int | None = None
    rows: str | None = None
    files: tuple[str, ...] | None = None
    part: str | None = None
    date: str | None = None
    tag: str | None = None


def save(
    calibrator: Fitted | Curve, path: str | os.PathLike[str], fitted_on: FittedOn | None = None
) -> None:
    """Write a fitted calibrator as JSON, or a curve as a small archive of integers.

    The file is written under a temporary name and renamed, so it is always complete.

    Parameters
    ----------
    calibrator : fitted map or calibrator, or a Curve
    path : path
    fitted_on : FittedOn, optional
        Of a calibrator. Default: its own n, view and method.

    Examples
    --------
    >>> import tempfile, ogive
    >>> curve = ogive.Curve.from_scores([0.1, 0.4, 0.6, 0.9], [0, 1, 0, 1])
    >>> calibrator = ogive.fit_paper_spline(curve, knots=3)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     ogive.save(calibrator, f"{folder}/cal.json")
    ...     ogive.load(f"{folder}/cal.json") == calibrator
    True
    """
    if isinstance(calibrator, Curve):
        save_curve(calibrator, path)
        return
    if not isinstance(calibrator, Fitted):
        msg = (
            f"`calibrator` must be a fitted calibrator, not {type(calibrator).__name__}; "
            "for a fitted estimator pass its map_."
        )
        raise InvalidType(msg)
    known = fitted_on or FittedOn(n=calibrator.n, view=calibrator.view, method=calibrator.method)
    check_map(calibrator)
    about = {key: list(v) if isinstance(v, tuple) else v for key, v in asdict(known).items()}
    FITTED_ON.check(about, "fitted_on")
    document = {
        "format": FORMAT,
        "version": VERSION,
        "library": ogive.__version__,
        "method": calibrator.method,
        "fitted_on": about,
        "map": _map_fields(calibrator),
    }
    document["checksum"] = checksum_of(document)
    with replacing(path) as beside:
        beside.write_text(json.dumps(document, allow_nan=False) + "\n", encoding="utf-8")


def _map_fields(gamma: Fitted) -> dict[str, Any]:
    """Return the map's fields, without defaults that older readers do not know."""
    values = gamma.to_dict()
    for fields_ in (values, values.get("inner", {}).get("map", {})):
        if fields_.get("impossible", "") is None:
            del fields_["impossible"]
    return values


def load(path: str | os.PathLike[str]) -> Any:  # noqa: ANN401 - what was saved
    """Read a calibrator or a curve that `save` wrote; other, newer or altered files are refused.

    >>> import tempfile, ogive
    >>> curve = ogive.Curve.from_scores([0.1, 0.4, 0.6, 0.9], [0, 1, 0, 1])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     ogive.save(curve, f"{folder}/monday.curve")
    ...     ogive.load(f"{folder}/monday.curve").merge(curve).n
    8
    """
    return load_curve(path) if is_curve_file(path) else load_map(path)


def load_map(path: str | os.PathLike[str]) -> Fitted:
    """Read a fitted map; every field and value is checked."""
    document = _document(path)
    try:
        return build(document)
    except ArtifactError as error:
        msg = f"{path} is not a valid calibrator: {error} Fit it again."
        raise ArtifactError(msg) from error


def load_fitted_on(path: str | os.PathLike[str]) -> FittedOn:
    """Read what a saved calibrator was fitted on."""
    values: Any = _document(path).get("fitted_on")
    known = {field.name for field in fields(FittedOn)}
    try:
        FITTED_ON.check(values, "fitted_on")
        about = {key: values[key] for key in known & values.keys()}
        for name in ("classes", "files", "base_rate"):
            if isinstance(about.get(name), list):
                about[name] = tuple(about[name])
        return FittedOn(**about)
    except (ArtifactError, TypeError) as error:
        msg = f"{path} does not say what it was fitted on: {error} Fit it again."
        raise ArtifactError(msg) from error


def build(document: Mapping[str, Any]) -> Fitted:
    """Return the map of an artifact, if every field and every value is valid."""
    Text(optional=True).check(document.get("library", ""), "library")
    FITTED_ON.check(document.get("fitted_on", {}), "fitted_on")
    if "map" not in document:
        msg = "`map` is missing."
        raise ArtifactError(msg)
    name = name_of_map(document.get("method"), document["map"])
    MAPS[name].check(document["map"], "map")
    known = METHODS | MULTICLASS | GROUPED | CLASS_VIEWS | SHIFTED
    gamma = known[name].map.from_dict(document["map"])
    check_values(gamma)
    return gamma


def check_map(calibrator: Fitted) -> None:
    """Check the fields of a map that did not come from a file: what is saved or exported."""
    MAPS[name_of_map(calibrator.method, {})].check(calibrator.to_dict(), "map")


_HARD = np.array([0.0, 5e-324, 1e-300, 1e-9, 0.25, 0.5, 0.75, 1 - 1e-9, 1 - 2.0**-53, 1.0])
_GROUPS_TRIED = 100  # the schema bounds all effects; these show that the formula holds
_HARD_LOG_ODDS = np.array([-np.inf, -1e300, -746.0, -36.0, 0.0, 36.0, 746.0, 1e300, np.inf])


def check_values(calibrator: Fitted) -> None:
    """Refuse a map that gives anything but probabilities at inputs that are hard to get right."""
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore", OgiveWarning)
            right = all(bool(((q >= 0.0) & (q <= 1.0)).all()) for q in _probabilities(calibrator))
    except (ArithmeticError, ValueError, LookupError) as error:
        msg = f"`map` cannot be evaluated: {error}."
        raise ArtifactError(msg) from error
    if not right:
        msg = "`map` gives values outside [0, 1]."
        raise ArtifactError(msg)


def _probabilities(gamma: Fitted) -> Iterator[FloatArray]:
    """Yield what a map gives for hard inputs."""
    if isinstance(gamma, Map):
        yield gamma(_HARD)
        yield gamma.from_log_odds(_HARD_LOG_ODDS)
        knots = getattr(gamma, "knots", None)
        if knots is not None:
            yield gamma.from_log_odds(np.concatenate([knots, (knots[1:] + knots[:-1]) / 2]))
    elif isinstance(gamma, GroupedMap):
        for group in gamma.groups[:: max(len(gamma.groups) // _GROUPS_TRIED, 1)]:
            yield gamma(_HARD, [group] * _HARD.size)
            yield gamma.from_log_odds(_HARD_LOG_ODDS, [group] * _HARD_LOG_ODDS.size)
    elif isinstance(gamma, MatrixMap | ClassViewMap):
        rows = np.zeros((6, gamma.K))
        rows[1, 0], rows[2, -1], rows[3, 1:] = 1e308, -1e308, -np.inf
        rows[4] = np.linspace(-30.0, 30.0, gamma.K)
        rows[5] = np.where(np.arange(gamma.K) % 2, 1e308, -1e308)
        if gamma.view == "score":
            rows = rows[:, 1] - np.maximum(rows[:, 0], -1e300)
            rows = rows[rows < np.inf]
        yield gamma(Predictions(rows, kind="logits"))
        if rows.ndim > 1:
            yield gamma(Predictions(np.eye(gamma.K)[[0, -1]], kind="probs"))
            yield gamma(Predictions(np.full((1, gamma.K), 1.0 / gamma.K), kind="probs"))


def _document(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the artifact without its checksum, if it is complete and was written by ogive."""
    document = _read(Path(path))
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        msg = f'{path} is not an ogive calibrator: its "format" is not {FORMAT!r}.'
        raise ArtifactError(msg)
    version = document.get("version")
    if type(version) is not int or not 1 <= version <= VERSION:
        newer = type(version) is int and version > VERSION
        way_out = "newer than this library reads: pip install --upgrade ogive" if newer else "none"
        reads = f"this one reads 1 to {VERSION}"
        msg = f"{path} has schema version {shown(version)}, {way_out} ({reads})."
        raise ArtifactError(msg)
    if document.pop("checksum", None) != checksum_of(document):
        msg = f"{path} was altered after it was written: its checksum does not match. Fit it again."
        raise ArtifactError(msg)
    return document


def _read(path: Path) -> Any:  # noqa: ANN401 - JSON can be anything
    try:
        with path.open("rb") as file:
            text = file.read(MAX_BYTES + 1)
    except FileNotFoundError as error:
        msg = f"{path} does not exist. Fit a calibrator and save it there first."
        raise FileNotFoundError(msg) from error
    if len(text) > MAX_BYTES:
        msg = f"{path} is larger than any calibrator ({MAX_BYTES / 1e6:.0f} MB)."
        raise ArtifactError(msg)
    try:
        return json.loads(
            text.decode("utf-8"), parse_constant=_refuse, object_pairs_hook=_without_doubles
        )
    except (ValueError, RecursionError) as error:  # also bad UTF-8, and thousands of digits
        msg = f"{path} is not a saved calibrator (JSON), or it is cut short ({error})."
        raise ArtifactError(msg) from error


def _refuse(name: str) -> None:
    msg = f"it contains {name}, which is not a number of a calibrator"
    raise ArtifactError(msg)


def _without_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Refuse a name that occurs twice: readers differ in which one counts."""
    found = dict(pairs)
    if len(found) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        msg = f"the field {shown(twice)} occurs twice"
        raise ArtifactError(msg)
    return found


def checksum_of(document: dict[str, Any]) -> str:
    """Return the checksum of a document, whatever the order of its fields."""
    canonical = json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return "sha256:" + hashlib.sha256(canonical.encode()).hexdigest()
