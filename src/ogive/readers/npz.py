"""NumPy archives, read without pickle."""

from __future__ import annotations

import zipfile
import zlib
from typing import TYPE_CHECKING, Any

import numpy as np

from ogive._files import replacing
from ogive.errors import FileFormatError
from ogive.readers.source import WHOLE, Part, Source, ValueKind

if TYPE_CHECKING:
    from pathlib import Path

    from ogive._typing import AnyArray
    from ogive.readers.source import Calibrated, Columns

_PREFIXES = {"cal": "cal_", "test": "test_"}
_PAIRS: dict[ValueKind, str] = {"logits": "labels", "probs": "labels", "scores": "outcomes"}


def read(path: Path, columns: Columns, experiment: str | None) -> Source:  # noqa: ARG001
    """Read an archive of arrays."""
    arrays = _load(path)
    found = {part: _part(arrays, prefix) for part, prefix in _PREFIXES.items()}
    parts = {part: content for part, content in found.items() if content is not None}
    if not parts:
        whole = _part(arrays, "")
        if whole is None:
            names = ", ".join(arrays) or "none"
            msg = (
                f"{path} has no known arrays (it has: {names}). Save `logits` or `probs` with "
                "`labels`, or `scores` with `outcomes`; prefixes cal_ and test_ make two parts."
            )
            raise FileFormatError(msg)
        parts = {WHOLE: whole}
    return Source(path, parts, rest=arrays)


def write(source: Source, path: Path, results: dict[str, Calibrated]) -> None:
    """Write an archive with the calibrated values in place of the old ones."""
    arrays = dict(source.rest)
    for part, result in results.items():
        prefix = _PREFIXES.get(part, "")
        for name in _PAIRS:
            arrays.pop(prefix + name, None)
        full = result.values.ndim == 2  # noqa: PLR2004 - a matrix
        arrays[prefix + ("probs" if full else "scores")] = result.values
        if not full and result.hits is not None:
            arrays[prefix + "outcomes"] = np.asarray(result.hits, dtype=np.int8)
    with replacing(path) as beside, beside.open("wb") as file:
        np.savez_compressed(file, allow_pickle=False, **arrays)


def _load(path: Path) -> dict[str, AnyArray]:
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
            if not isinstance(archive, np.lib.npyio.NpzFile):
                msg = f"{path} is a single array, not an archive. Save it with np.savez."
                raise FileFormatError(msg)
            return {name: archive[name] for name in archive.files}
    except (zipfile.BadZipFile, zlib.error, EOFError, KeyError, OSError) as error:
        msg = f"{path} is not a NumPy archive, or it is cut short ({error})."
        raise FileFormatError(msg) from error
    except ValueError as error:
        if isinstance(error, FileFormatError):
            raise
        if "Object arrays" in str(error):
            msg = f"{path} holds an array of Python objects, which are not read. Save numbers."
        else:
            msg = f"{path} is not a NumPy archive ({str(error).splitlines()[0]})."
        raise FileFormatError(msg) from error


def _part(arrays: dict[str, AnyArray], prefix: str) -> Part | None:
    for kind, labels in _PAIRS.items():
        if prefix + kind in arrays:
            get: Any = arrays.get
            values = arrays[prefix + kind]
            return Part(kind, values, get(prefix + labels), get(prefix + "weights"))
    return None
