"""Curves on disk: the integers of a summary, small enough to keep one for every day.

The file is a NumPy archive without pickle::

    header      JSON as bytes: {"format": "ogive-curve", "version": 1, "library": ...,
                "view": ..., "bits": ..., "weighted": ...}
    bucket      (m,) int64, as differences; first and last: (m,) int64, less the bucket's start
    sums        (6, m) int64, or float64 with weights
    checksum    sha256 of the header and the arrays, as 32 bytes

A curve that holds every score is saved with a row for each, and loaded as exact as it was. A file
may come from anyone: the arrays are read without running code, in bounded memory, and checked.
"""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import ogive
from ogive._files import replacing
from ogive.curve import Curve
from ogive.curve.summary import MANTISSA, Summary, check_bits
from ogive.errors import ArtifactError
from ogive.export.rules import Flag, Number, Object, Text, shown

if TYPE_CHECKING:
    import os

    from ogive._typing import AnyArray

FORMAT = "ogive-curve"
VERSION = 1
#: Of a file, and of what it unpacks to: a row is 72 bytes, so that 27 million scores fit.
MAX_BYTES = 2_000_000_000
MAX_ROWS = 2.0**53  # up to here counts are exact in float64
MAX_SUM = 1e300
HEADER = Object(
    {
        "view": Text(),
        "bits": Number(low=1, high=MANTISSA, whole=True),
        "weighted": Flag(),
    },
    open_=True,
)
_NAMES = ("bucket", "first", "last", "sums")
_ROUNDING = 1e-9  # of sums of weights, which are rounded
_LAST_PLACE = (1 << 63) - 1  # the place of a score of 1: see `ogive.curve.keys`
_HALF = int(np.float64(0.5).view(np.int64))  # the largest place below it that is a tail


def save_curve(curve: Curve, path: str | os.PathLike[str]) -> None:
    """Write a curve under a temporary name and rename it, so that the file is always complete."""
    with replacing(path) as beside:
        beside.write_bytes(curve_bytes(curve))


def curve_bytes(curve: Curve) -> bytes:
    """Return what the file of a curve holds; `curve_of_bytes` reads it."""
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
    file = io.BytesIO()
    np.savez_compressed(file, **arrays)
    return file.getvalue()


def load_curve(path: str | os.PathLike[str]) -> Curve:
    """Read a curve that `save_curve` wrote; other, newer or altered files are refused."""
    with Path(path).open("rb") as file:
        contents = file.read(MAX_BYTES + 1)
    return curve_of_bytes(contents, path)


def curve_of_bytes(contents: bytes, path: str | os.PathLike[str]) -> Curve:
    """Return the curve that `curve_bytes` gave; `path` names it in errors."""
    try:
        return _curve(contents)
    except ArtifactError as error:
        msg = f"{path} {error}"
        raise ArtifactError(msg) from error
    except Exception as error:  # zip and NumPy raise many errors for invalid bytes
        msg = f"{path} is not a saved curve, or it is cut short ({shown(str(error))})."
        raise ArtifactError(msg) from error


def is_curve_file(path: str | os.PathLike[str]) -> bool:
    """Return whether a file is a saved curve, by its contents."""
    try:
        with zipfile.ZipFile(path) as archive:
            names = set(archive.namelist())
            return {"header.npy", "checksum.npy", "sums.npy"} <= names
    except Exception:  # noqa: BLE001 - bytes that are no archive fail in many ways
        return False


def _curve(contents: bytes) -> Curve:
    """Return the curve of a file's bytes; the caller puts the file's name before errors."""
    if len(contents) > MAX_BYTES:
        msg = f"is larger than a saved curve may be ({MAX_BYTES / 1e9:g} GB)."
        raise ArtifactError(msg)
    arrays = _arrays(contents)
    header = _header(arrays["header"].tobytes())
    if arrays.pop("checksum").tobytes() != _checksum(arrays).tobytes():
        msg = "was altered after it was written: its checksum does not match."
        raise ArtifactError(msg)
    HEADER.check(header, "header")
    return Curve(summary=_summary(header, arrays), view=header["view"])


def _arrays(contents: bytes) -> dict[str, AnyArray]:
    """Return the arrays by name; arrays that are larger than declared or allowed are refused."""
    arrays = {}
    with zipfile.ZipFile(io.BytesIO(contents)) as archive:
        present = {entry.filename: entry for entry in archive.infolist()}
        if sum(entry.file_size for entry in present.values()) > MAX_BYTES:
            msg = f"unpacks to more than a saved curve may hold ({MAX_BYTES / 1e9:g} GB)."
            raise ArtifactError(msg)
        for name in (*_NAMES, "header", "checksum"):
            entry = present.get(f"{name}.npy")
            if entry is None:
                msg = "is not a saved curve of ogive."
                raise ArtifactError(msg)
            with archive.open(entry) as member:
                arrays[name] = _array(member.read(entry.file_size))
    return arrays


def _array(data: bytes) -> AnyArray:
    """Return an array of NumPy's format; its shape must be that of the bytes there are."""
    file = io.BytesIO(data)
    version = np.lib.format.read_magic(file)
    read = {
        (1, 0): np.lib.format.read_array_header_1_0,
        (2, 0): np.lib.format.read_array_header_2_0,
    }[version]
    shape, by_column, dtype = read(file)
    if dtype.hasobject or dtype.kind not in "iuf" or not dtype.isnative:
        msg = f"holds an array of {shown(str(dtype))}: Object arrays and the like are refused."
        raise ArtifactError(msg)
    numbers = np.frombuffer(data, dtype, offset=file.tell())
    return numbers.reshape(shape, order="F" if by_column else "C")


def _header(text: bytes) -> dict[str, Any]:
    header: Any = json.loads(text)
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        msg = "is not a saved curve of ogive."
        raise ArtifactError(msg)
    version = header.get("version")
    if not isinstance(version, int) or version > VERSION:
        msg = (
            f"has schema version {shown(version)}, newer than this library reads ({VERSION}): "
            "pip install --upgrade ogive"
        )
        raise ArtifactError(msg)
    return header


def _summary(header: dict[str, Any], arrays: dict[str, AnyArray]) -> Summary:
    """Return the summary, if its rows are those of a curve."""
    bits = check_bits(header["bits"])
    steps, sums = arrays["bucket"], arrays["sums"]
    sums_are = np.float64 if header["weighted"] else np.int64
    shapes = [arrays[name].shape for name in ("bucket", "first", "last")]
    kinds = [arrays[name].dtype for name in ("bucket", "first", "last")]
    m = steps.size
    _require(m > 0 and shapes == [(m,)] * 3 and sums.shape == (6, m), "lengths that match")
    _require(kinds == [np.dtype(np.int64)] * 3 and sums.dtype == sums_are, "the right types")
    _require(bool(steps[0] >= 0 and (steps[1:] > 0).all()), "buckets that rise")
    bucket = np.cumsum(steps)
    width = np.int64(1) << np.int64(MANTISSA - bits)
    # Below 2^63 two steps that overflow give a negative bucket first.
    _require(bool(((bucket >= 0) & (bucket <= _LAST_PLACE // width)).all()), "buckets of scores")
    inside, beyond = arrays["first"], arrays["last"]
    _require(
        bool(((inside >= 0) & (inside <= beyond) & (beyond < width)).all()), "places in a bucket"
    )
    first, last = bucket * width + inside, bucket * width + beyond
    tails = np.where(first > _LAST_PLACE // 2, _LAST_PLACE - first, last)
    _require(bool((tails <= _HALF).all()), "scores from 0 to 1")
    _check_sums(sums, inside.astype(np.float64), beyond.astype(np.float64), header["weighted"])
    return Summary(bits, np.zeros_like(bucket), bucket, first, last, np.array(sums))


def _check_sums(sums: AnyArray, first: AnyArray, last: AnyArray, weighted: bool) -> None:
    """Check that counts are >= 0, outcomes among them, and mean places between first and last."""
    values = sums.astype(np.float64)
    _require(bool(((values >= 0.0) & (values <= MAX_SUM)).all()), "sums >= 0 that are finite")
    count, hits = values[:2]
    _require(bool((count > 0.0).all() and (hits <= count * (1 + _ROUNDING)).all()), "counts")
    if weighted:
        _require(bool((values[2] > 0.0).all()), "sums of squares > 0")
        _require(bool((values[3] <= values[2] * (1 + _ROUNDING)).all()), "sums of squares")
        offsets = values[4], values[5]
    else:
        _require(bool(count.sum() <= MAX_ROWS), "a number of rows that can be counted")
        offsets = values[2] + values[3] * 2.0**32, values[4] + values[5] * 2.0**32
    for total, n in zip(offsets, (count, hits), strict=True):
        low, high = n * first * (1 - _ROUNDING), n * last * (1 + _ROUNDING)
        _require(bool(((total >= low) & (total <= high)).all()), "places whose mean is among them")


def _require(right: bool, what: str) -> None:
    if not right:
        msg = f"is not a valid saved curve: it does not have {what}."
        raise ArtifactError(msg)


def _checksum(arrays: dict[str, AnyArray]) -> AnyArray:
    digest = hashlib.sha256()
    for name in ("header", *_NAMES):
        array = np.ascontiguousarray(arrays[name])
        digest.update(f"{name} {array.dtype.str} {array.shape};".encode())
        digest.update(array.tobytes())
    return np.frombuffer(digest.digest(), dtype=np.uint8)
