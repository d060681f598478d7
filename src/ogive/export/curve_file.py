"""Curves on disk: the integers of a summary, small enough to keep one for every day.

The file is a NumPy archive without pickle::

    header      JSON as bytes: {"format": "ogive-curve", "version": 1, "library": ...,
                "view": ..., "bits": ..., "weighted": ...}
    bucket      (m,) int64, as differences; first and last: (m,) int64, less the bucket's start
    sums        (6, m) int64, or float64 with weights
    checksum    sha256 of the header and the arrays, as 32 bytes

A curve that holds every score is saved with a row for each, and loaded as exact as it was.
"""

from __future__ import annotations

import hashlib
import json
import zipfile
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import ogive
from ogive._files import replacing
from ogive.curve import Curve
from ogive.errors import ArtifactError
from ogive.summary import MANTISSA, Summary

if TYPE_CHECKING:
    import os

    from ogive._typing import AnyArray

FORMAT = "ogive-curve"
VERSION = 1
_NAMES = ("bucket", "first", "last", "sums")


def save_curve(curve: Curve, path: str | os.PathLike[str]) -> None:
    """Write a curve; the file is written beside and renamed, never half."""
    s = curve.summary()
    header = {
        "format": FORMAT,
        "version": VERSION,
        "library": ogive.__version__,
        "view": curve.view,
        "bits": s.bits,
        "weighted": s.weighted,
    }
    start = s.bucket << (MANTISSA - s.bits)
    arrays: dict[str, Any] = {
        "header": np.frombuffer(json.dumps(header).encode(), dtype=np.uint8),
        "bucket": np.diff(s.bucket, prepend=0),
        "first": s.first - start,
        "last": s.last - start,
        "sums": s.sums,
    }
    arrays["checksum"] = _checksum(arrays)
    with replacing(path) as beside, beside.open("wb") as file:
        np.savez_compressed(file, **arrays)


def load_curve(path: str | os.PathLike[str]) -> Curve:
    """Read a curve that `save_curve` wrote; anything foreign, newer or altered is refused."""
    arrays = _arrays(Path(path))
    header = _header(arrays, path)
    if arrays.pop("checksum").tobytes() != _checksum(arrays).tobytes():
        msg = f"{path} was altered after it was written: its checksum does not match."
        raise ArtifactError(msg)
    bits = int(header["bits"])
    bucket = np.cumsum(arrays["bucket"])
    start = bucket << (MANTISSA - bits)
    first, last = arrays["first"] + start, arrays["last"] + start
    summary = Summary(bits, np.zeros_like(bucket), bucket, first, last, arrays["sums"])
    return Curve(summary=summary, view=str(header["view"]))


def is_curve_file(path: str | os.PathLike[str]) -> bool:
    """Return whether a file is a saved curve, by its contents."""
    try:
        with zipfile.ZipFile(path) as archive:
            names = set(archive.namelist())
            return {"header.npy", "checksum.npy", "sums.npy"} <= names
    except (OSError, zipfile.BadZipFile):
        return False


def _arrays(path: Path) -> dict[str, AnyArray]:
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
            return {name: archive[name] for name in archive.files}
    except (
        zipfile.BadZipFile,
        zlib.error,
        EOFError,
        KeyError,
        ValueError,
        AttributeError,
    ) as error:
        msg = f"{path} is not a saved curve, or it is cut short ({error})."
        raise ArtifactError(msg) from error


def _header(arrays: dict[str, AnyArray], path: str | os.PathLike[str]) -> dict[str, Any]:
    missing = [name for name in ("header", "checksum", *_NAMES) if name not in arrays]
    header: Any = None
    if not missing:
        try:
            header = json.loads(arrays["header"].tobytes())
        except ValueError:
            missing = ["header"]
    if missing or not isinstance(header, dict) or header.get("format") != FORMAT:
        msg = f"{path} is not a saved curve of ogive."
        raise ArtifactError(msg)
    version = header.get("version")
    if not isinstance(version, int) or version > VERSION:
        msg = (
            f"{path} has schema version {version}, newer than this library reads ({VERSION}): "
            "pip install --upgrade ogive"
        )
        raise ArtifactError(msg)
    return header


def _checksum(arrays: dict[str, AnyArray]) -> AnyArray:
    digest = hashlib.sha256()
    for name in ("header", *_NAMES):
        array = np.ascontiguousarray(arrays[name])
        digest.update(f"{name} {array.dtype.str} {array.shape};".encode())
        digest.update(array.tobytes())
    return np.frombuffer(digest.digest(), dtype=np.uint8)
