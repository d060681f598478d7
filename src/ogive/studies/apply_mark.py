"""What a calibrated file of a log says about itself, and whether it is finished."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ogive.errors import need

if TYPE_CHECKING:
    import os

    from ogive.readers.source import Columns

_KEY = b"ogive"  # of the Parquet metadata
_MAGIC = b"PAR1"  # how a Parquet file begins, and ends if it is whole
#: A source is recognised by all of its bytes up to this many, else by blocks of them.
WHOLE_CHECKSUM_BYTES = 1 << 22
#: The first and the last block, with a Parquet file's footer, and some between.
CHECKSUM_BLOCK_BYTES, CHECKSUM_BLOCKS = 1 << 18, 9


def _said(columns: Columns) -> dict[str, Any]:
    """Return how columns were read, as JSON has it; what older marks lack only if it was asked."""
    usual = ("score", "outcome", "label", "weight")
    every = {key: list(v) if isinstance(v, tuple) else v for key, v in asdict(columns).items()}
    return {key: value for key, value in every.items() if key in usual or value}


def mark_of(file: Path, calibrator: str | os.PathLike[str], columns: Columns) -> dict[str, Any]:
    """Return what identifies the rows, the map, and how the rows are read."""
    status = file.stat()
    return {
        "source": file.name,
        "size": status.st_size,
        "modified": status.st_mtime_ns,
        "content": _checksum(file, status.st_size),
        "calibrator": hashlib.sha256(Path(calibrator).read_bytes()).hexdigest(),
        "columns": _said(columns),
    }


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


def _checksum(path: Path, size: int) -> str:
    """Return the sha256 of a short file, or of blocks of a long one, the first and last included.

    A source that changed without changing its size and its time is then still seen as another.
    """
    digest = hashlib.sha256()
    with path.open("rb") as file:
        if size <= WHOLE_CHECKSUM_BYTES:
            digest.update(file.read())
        else:
            for block in range(CHECKSUM_BLOCKS):
                file.seek((size - CHECKSUM_BLOCK_BYTES) * block // (CHECKSUM_BLOCKS - 1))
                digest.update(file.read(CHECKSUM_BLOCK_BYTES))
    return digest.hexdigest()


def finished(target: Path, mark: dict[str, Any]) -> int | None:
    """Return how many rows a finished output has; None if it is missing, cut short or another's."""
    found = _metadata(target) if target.exists() else None
    return found["rows"] if found is not None and found == mark | {"rows": found["rows"]} else None


def _metadata(target: Path) -> dict[str, Any] | None:
    """Return what `apply_log` wrote about a file into it; None if there is nothing."""
    pa, pq = need("pyarrow", extra="files"), need("pyarrow.parquet", extra="files")
    try:
        meta = pq.read_metadata(target)
        said = json.loads((meta.metadata or {})[_KEY])
    except (pa.ArrowException, OSError, ValueError, KeyError, RecursionError):
        return None
    known = isinstance(said, dict) and said.get("rows") == meta.num_rows
    return said if known else None
