"""What a calibrated file of a log says about itself, and whether it is finished."""

from __future__ import annotations

import hashlib
import json
import warnings
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ogive.errors import OgiveWarning
from ogive.export.artifact import load_fitted_on
from ogive.readers.arrow import pa, parquet
from ogive.readers.provenance import Provenance, file_checksum, provenance_of, rows_checksum

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

    from ogive._typing import AnyArray
    from ogive.calibrators.maps import Fitted
    from ogive.export.artifact import FittedOn
    from ogive.readers.source import Columns

_KEY = b"ogive"  # of the Parquet metadata
_MAGIC = b"PAR1"  # how a Parquet file begins, and ends if it is whole


def _columns_as_json(columns: Columns) -> dict[str, Any]:
    """Return how columns were read, as JSON has it; what older marks lack only if it was asked."""
    usual = ("score", "outcome", "label", "weight")
    every = {key: list(v) if isinstance(v, tuple) else v for key, v in asdict(columns).items()}
    return {key: value for key, value in every.items() if key in usual or value}


def mark_of(file: Path, calibrator: str | os.PathLike[str], columns: Columns) -> dict[str, Any]:
    """Return what identifies the rows, the map, and how the rows are read."""
    return {
        **dict(zip(("source", "size", "modified"), source_of_mark(file), strict=True)),
        "content": file_checksum(file),
        "calibrator": hashlib.sha256(Path(calibrator).read_bytes()).hexdigest(),
        "columns": _columns_as_json(columns),
    }


def source_of_mark(file: Path) -> tuple[str, int, int]:
    """Return what tells an input from others without reading it: name, size and time."""
    status = file.stat()
    return file.name, status.st_size, status.st_mtime_ns


def source_marked(target: Path) -> tuple[str, int, int] | None:
    """Return the same of the file that a calibrated file was made of; None if nothing says it."""
    mark = _metadata(target)
    if mark is None:
        return None
    name, size, modified = (mark.get(key) for key in ("source", "size", "modified"))
    if not isinstance(size, int) or not isinstance(modified, int):
        return None
    return str(name), size, modified


def finished_metadata(mark: dict[str, Any], rows: int) -> dict[bytes, bytes]:
    """Return the metadata of an output that has all its rows."""
    return {_KEY: json.dumps(mark | {"rows": rows}).encode()}


def is_ours(target: Path) -> bool:
    """Return whether an earlier run wrote a file, whatever became of it: it may be cut short."""
    with target.open("rb") as file:
        begins = file.read(len(_MAGIC)) == _MAGIC
        file.seek(max(target.stat().st_size - len(_MAGIC), 0))
        ends = file.read() == _MAGIC
    return begins and (not ends or _metadata(target) is not None)


def origin_of(
    calibrator: str | os.PathLike[str],
    gamma: Fitted,
    file: Path,
    parts: Mapping[str, AnyArray | None],
) -> Provenance:
    """Return what is written of a calibrated file: what calibrated it, and which rows fitted that.

    Parameters
    ----------
    calibrator, gamma : path, and what was loaded from it
    file : path
        What is calibrated.
    parts : by name, the values of each part, where they are all at hand
        The rows of the fit are recognised by their values, or by the file they came from. Of a
        calibrator that says neither, those are the rows of the part "cal".
    """
    info = load_fitted_on(calibrator)
    content = file_checksum(file)
    fitted = [name for name, values in parts.items() if _is_fitted(info, content, name, values)]
    return Provenance(
        hashlib.sha256(Path(calibrator).read_bytes()).hexdigest(),
        info.method,
        info.view,
        info.n,
        tuple(fitted),
        estimated=getattr(gamma, "how", None) == "estimated",
    )


def _is_fitted(info: FittedOn, content: str, name: str, values: AnyArray | None) -> bool:
    if info.rows is None and info.files is None:
        return name == "cal"
    if values is not None and info.rows == rows_checksum(values):
        return True
    known = info.files is not None and content in info.files
    return known and info.part in {name, "all", None} and (info.part is not None or name != "test")


def warn_if_calibrated(file: Path) -> None:
    """Warn if a file holds what a calibrator has written."""
    before = provenance_of(file)
    if before is not None:
        warnings.warn(
            f"{file} was calibrated already, by {before.method} ({before.view}): it is calibrated "
            "a second time. Apply the calibrator to the model's own outputs.",
            OgiveWarning,
            stacklevel=3,
        )


def finished(target: Path, mark: dict[str, Any]) -> int | None:
    """Return how many rows a finished output has; None if it is missing, cut short or another's."""
    found = _metadata(target) if target.exists() else None
    return found["rows"] if found is not None and found == mark | {"rows": found["rows"]} else None


def _metadata(target: Path) -> dict[str, Any] | None:
    """Return what `apply_log` wrote about a file into it; None if there is nothing."""
    try:
        meta = parquet.read_metadata(target)
        mark = json.loads((meta.metadata or {})[_KEY])
    except (pa.ArrowException, OSError, ValueError, KeyError, RecursionError):
        return None
    known = isinstance(mark, dict) and mark.get("rows") == meta.num_rows
    return mark if known else None
