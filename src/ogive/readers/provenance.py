"""What calibrated a file: written by `ogive apply`, read by whatever measures it.

It is an entry ``ogive_calibrated`` of an `.npz`, metadata of Parquet and HDF5 files, and a
file ``OUT.csv.ogive.json`` beside a CSV or another file of text, which counts only while that is
the one it was written for. It names the calibrator, and the parts of the file that hold the
rows it was fitted on: their error is small by construction, and a p-value would be wrong.
"""

from __future__ import annotations

import hashlib
import json
import warnings
import zipfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ogive._files import replacing
from ogive.errors import OgiveError, OgiveWarning, need
from ogive.readers.arrow import parquet
from ogive.readers.guard import TEXT, suffix_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ogive._typing import AnyArray
    from ogive.rows.predictions import Predictions

KEY = "ogive_calibrated"
_SIDECAR = ".ogive.json"
#: Formats without metadata: the entry goes into a file beside them.
BESIDE = {*TEXT, ".npy"}
_MAX_BYTES = 100_000  # an entry holds names and numbers, and is never longer
#: A file is recognised by all of its bytes up to this many, else by blocks of them.
WHOLE_CHECKSUM_BYTES = 1 << 22
#: The first and the last block, with a Parquet file's footer, and some between.
CHECKSUM_BLOCK_BYTES, CHECKSUM_BLOCKS = 1 << 18, 9


@dataclass(frozen=True, slots=True)
class Provenance:
    """What calibrated a file.

    calibrator : the sha256 of the artifact
    method, view, n : of the calibrator
    fitted_parts : the parts that hold the rows it was fitted to; "" is a file without parts
    estimated : whether the base rate that it is for was estimated
    """

    calibrator: str
    method: str
    view: str
    n: float
    fitted_parts: tuple[str, ...] = ()
    estimated: bool = False

    def fitted(self, part: str | None) -> bool:
        """Return whether a part (or one of all, for "all") holds the rows of the fit."""
        return bool(self.fitted_parts) if part == "all" else (part or "") in self.fitted_parts

    def other_rows(self, part: str | None) -> float | None:
        """Return how many other rows it was fitted to; None for rows of the fit, or no map."""
        usable = self.n > 0.0 and self.method != "none" and not self.fitted(part)
        return self.n if usable else None

    def words(self, part: str | None = None) -> str:
        """Return it as a sentence."""
        which = "these rows" if self.fitted(part) else f"{self.n:,.0f} other rows"
        return f"Calibrated by {self.method} ({self.view}), fitted on {which}."

    def to_json(self) -> str:
        """Return what is written."""
        return json.dumps(asdict(self))


def file_checksum(path: Path) -> str:
    """Return the sha256 of a short file, or of blocks of a long one, the first and last included.

    So a file that changed is recognised even if its size and its time are the same.
    """
    digest, size = hashlib.sha256(), path.stat().st_size
    with path.open("rb") as file:
        if size <= WHOLE_CHECKSUM_BYTES:
            digest.update(file.read())
        else:
            for block in range(CHECKSUM_BLOCKS):
                file.seek((size - CHECKSUM_BLOCK_BYTES) * block // (CHECKSUM_BLOCKS - 1))
                digest.update(file.read(CHECKSUM_BLOCK_BYTES))
    return digest.hexdigest()


def rows_checksum(values: AnyArray) -> str:
    """Return a checksum of a set of rows, whatever their order: (N,) or (N, K).

    >>> rows_checksum(np.array([0.1, 0.2])) == rows_checksum(np.array([0.2, 0.1], dtype=float))
    True
    """
    rows = np.ascontiguousarray(values.reshape(values.shape[0], -1), dtype=np.float64)
    bits = (rows + 0.0).view(np.uint64)  # -0.0 is 0.0
    factors = np.random.default_rng(20).integers(1, 1 << 63, rows.shape[1], dtype=np.uint64)
    with np.errstate(over="ignore"):
        mixed = (bits ^ (bits >> np.uint64(29))) * (factors * np.uint64(2) + np.uint64(1))
        each = mixed.sum(axis=1, dtype=np.uint64)
        each = (each ^ (each >> np.uint64(32))) * np.uint64(0x9E3779B97F4A7C15)
        each ^= each >> np.uint64(29)
        return f"{rows.shape[0]}x{rows.shape[1]}:{int(each.sum(dtype=np.uint64)):016x}"


def parse(text: str | bytes) -> Provenance | None:
    """Return the entry of a file; None if ogive did not write it, or it is damaged."""
    try:
        entry: Any = json.loads(text)
        parts = tuple(str(part) for part in entry["fitted_parts"])
        words = [str(entry[name])[:100] for name in ("calibrator", "method", "view")]
        estimated = entry.get("estimated") is True
        known = Provenance(words[0], words[1], words[2], float(entry["n"]), parts, estimated)
    except (ValueError, TypeError, KeyError, RecursionError):
        return None
    printable = all(word.isprintable() for word in (*words, *parts))
    return known if printable and np.isfinite(known.n) else None


def provenance_of(path: Path) -> Provenance | None:
    """Return what calibrated a file; None if nothing did, as far as is known."""
    suffix = suffix_of(path)
    reader = _of_text if suffix in BESIDE else _READERS.get(suffix)
    if reader is None or not path.is_file():
        return None
    try:
        text = reader(path)
    except (OgiveError, OSError, ValueError, KeyError, RuntimeError, zipfile.BadZipFile):
        return None  # the reader of the rows reports what is wrong
    return None if text is None or len(text) > _MAX_BYTES else parse(text)


def provenance_of_all(paths: Iterable[Path], part: str | None) -> Provenance | None:
    """Return what calibrated files that are read together; the rows of a fit count first."""
    found = [one for one in map(provenance_of, paths) if one is not None]
    return next((one for one in found if one.fitted(part)), found[0] if found else None)


def mark_calibrated(preds: Predictions, origin: Provenance | None, part: str | None) -> None:
    """Note in predictions what calibrated them."""
    if origin is not None:
        preds.calibrated_by, preds.fitted_rows = origin.words(part), origin.fitted(part)
        preds.calibrated_on = origin.other_rows(part)
        preds.rate_estimated = origin.estimated


def sidecar_of(path: Path) -> Path | None:
    """Return the file that says what calibrated a file of text; None of other formats."""
    return Path(f"{path}{_SIDECAR}") if suffix_of(path) in BESIDE else None


def write_sidecar(path: Path, origin: Provenance | None, content: Path) -> None:
    """Write what calibrated a file of text beside it, just before the file itself lands.

    `content` is that file under its temporary name.
    """
    beside_it = sidecar_of(path)
    if origin is None or beside_it is None:
        return
    text = json.dumps({**asdict(origin), "content": file_checksum(content)})
    with replacing(beside_it, clean=False) as beside:
        beside.write_text(text + "\n", encoding="utf-8")


def _of_text(path: Path) -> bytes | None:
    beside = sidecar_of(path)
    if beside is None or not beside.is_file() or beside.stat().st_size > _MAX_BYTES:
        return None
    text = beside.read_bytes()
    entry = json.loads(text)
    if not isinstance(entry, dict) or "content" not in entry:
        return None
    if entry["content"] != file_checksum(path):
        warnings.warn(
            f"{beside} is of another content of {path.name}, and is ignored.",
            OgiveWarning,
            stacklevel=2,
        )
        return None
    return text


def _of_npz(path: Path) -> str | None:
    with zipfile.ZipFile(path) as archive:
        if f"{KEY}.npy" not in archive.namelist():
            return None
        if archive.getinfo(f"{KEY}.npy").file_size > _MAX_BYTES:
            return None
        with archive.open(f"{KEY}.npy") as file:
            return str(np.lib.format.read_array(file, allow_pickle=False))


def _of_parquet(path: Path) -> bytes | None:
    meta = parquet.read_metadata(path).metadata
    return (meta or {}).get(KEY.encode())


def _of_hdf5(path: Path) -> str | None:
    with need("h5py", extra="files").File(path, "r") as file:
        entry = file.attrs.get(KEY)
        return None if entry is None else str(entry)


_READERS: dict[str, Any] = {
    ".npz": _of_npz,
    ".parquet": _of_parquet,
    ".h5": _of_hdf5,
    ".hdf5": _of_hdf5,
}
