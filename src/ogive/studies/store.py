"""What a study has computed so far, kept in a file of JSON lines so that a run can be resumed.

A line is a finished cell: its key, which holds the sha256 of the file it was computed from, the
method, and the digest or the version of the library's code; and the numbers. A file that changed,
or another version of the code, has another key, and its cells are computed again.
"""

from __future__ import annotations

import hashlib
import json
import os
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ogive._files import replacing, safe_output
from ogive.errors import FileFormatError

if TYPE_CHECKING:
    from collections.abc import Iterator

_FORMAT = {"format": "ogive-arena-cells", "version": 1}
#: Packages whose code has no part in the numbers.
_BYSTANDERS = {"cli", "plotting", "report", "diagrams", "export"}


class Results:
    """Finished cells by key, in a file where one is given. A line is whole or left out."""

    def __init__(self, path: str | os.PathLike[str] | None) -> None:
        self._path = None if path is None else Path(path)
        self._done: dict[str, dict[str, Any]] = {}
        if self._path is not None:
            self._open(self._path)

    def get(self, key: tuple[str, ...]) -> dict[str, Any] | None:
        """Return the numbers of a cell, or None."""
        return self._done.get(_joined(key))

    def add(self, key: tuple[str, ...], numbers: dict[str, Any]) -> None:
        """Keep a cell; once this returns it is on disk."""
        self._done[_joined(key)] = numbers
        if self._path is not None:
            with self._path.open("a", encoding="utf-8") as file:
                file.write(_line({"key": list(key), "numbers": numbers}))
                file.flush()
                os.fsync(file.fileno())

    def _open(self, path: Path) -> None:
        """Read a file, or start it. A last line cut short by an interruption is dropped."""
        safe_output(path)  # a pipe would be waited for
        if not path.exists():
            with replacing(path) as beside:
                beside.write_text(_line(_FORMAT), encoding="utf-8")
            return
        text = path.read_bytes()
        whole, _, torn = text.rpartition(b"\n")
        for line in _lines(path, whole):
            self._done[_joined(line["key"])] = line["numbers"]
        if torn:
            with replacing(path) as beside:
                beside.write_bytes(whole + b"\n")


def _lines(path: Path, text: bytes) -> Iterator[dict[str, Any]]:
    """Yield the cells of a file; the first line says what it is."""
    rows = text.split(b"\n")
    for number, row in enumerate(rows, start=1):
        try:
            line = json.loads(row)
        except (ValueError, RecursionError) as error:
            line = None
            reason: Exception | None = error
        else:
            reason = None
        if number == 1 and line != _FORMAT:
            msg = f"{path} does not hold results of a study. Name another file for them."
            raise FileFormatError(msg) from reason
        if number > 1:
            if not (isinstance(line, dict) and line.keys() >= {"key", "numbers"}):
                msg = f"{path}: line {number} is damaged. Delete the line, or the file."
                raise FileFormatError(msg) from reason
            yield line


def _line(value: dict[str, Any]) -> str:
    return json.dumps(value, allow_nan=False) + "\n"


def _joined(key: tuple[str, ...] | list[str]) -> str:
    return "\0".join(key)


def sha256_of(path: Path) -> str:
    """Return the digest of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@cache
def code_digest() -> str:
    """Return a digest of the library's code, so far as it takes part in the numbers."""
    root = Path(__file__).parents[1]
    digest = hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        if path.relative_to(root).parts[0] not in _BYSTANDERS:
            digest.update(path.read_bytes())
    return digest.hexdigest()[:16]
