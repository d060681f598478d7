"""What a watch keeps from one run to the next: a small JSON file, written whole or not at all.

::

    {
      "format": "ogive-watch",
      "version": 1,
      "library": "0.1.0",
      "watch": {"alpha", "run_length", "days": [...], "starts": [...]},
      "checksum": "sha256:..."          of all the rest, in canonical form
    }

The rows since each start are the bytes of a saved curve (`ogive.export.curve_file`) in base 64.
Numbers read back as the same float64, so a watch that goes on from a file gives the same numbers
as one that never stopped.
"""

from __future__ import annotations

import base64
import hashlib
import json
from dataclasses import asdict, fields
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import ogive
from ogive._files import replacing
from ogive.errors import ArtifactError, OgiveError
from ogive.export.artifact import build
from ogive.export.curve_file import curve_bytes, curve_of_bytes
from ogive.studies.watch.starts import Start
from ogive.studies.watch.times import as_time, in_order
from ogive.studies.watch.watch import Day, Watch

if TYPE_CHECKING:
    import os

    from ogive.calibrators.spline_map import SplineMap

FORMAT, VERSION = "ogive-watch", 1
#: A watch of a year takes 0.2 MB with hundreds of rows a day and about 2 MB with a million.
MAX_BYTES = 100_000_000
_NUMBERS = ("number", "log_e", "log_share", "log_sum")


def save_watch(watch: Watch, path: str | os.PathLike[str]) -> None:
    """Write a watch."""
    document = {
        "format": FORMAT,
        "version": VERSION,
        "library": ogive.__version__,
        "watch": {
            "alpha": watch.alpha,
            "run_length": watch.run_length,
            "days": [asdict(day) for day in watch.days],
            "starts": [_plain(start) for start in watch.starts],
        },
    }
    text = json.dumps(document | {"checksum": _checksum(document)}, allow_nan=False)
    with replacing(path) as beside:
        beside.write_text(text + "\n", encoding="utf-8")


def load_watch(path: str | os.PathLike[str]) -> Watch:
    """Read a watch; anything foreign, newer or altered is refused."""
    with Path(path).open("rb") as file:
        text = file.read(MAX_BYTES + 1)
    try:
        document = json.loads(text) if len(text) <= MAX_BYTES else None
    except (ValueError, RecursionError) as error:
        msg = f"{path} is not the state of a watch, or it is cut short."
        raise ArtifactError(msg) from error
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        msg = f"{path} is not the state of a watch. Give the file that --state wrote, or a new one."
        raise ArtifactError(msg)
    if document.pop("checksum", None) != _checksum(document):
        msg = (
            f"{path} was altered after it was written: its checksum does not match. Restore it, or "
            "delete it and run the watch over all days again."
        )
        raise ArtifactError(msg)
    if document.get("version") != VERSION:
        msg = f"{path} was written by a newer version: pip install --upgrade ogive"
        raise ArtifactError(msg)
    try:
        return _watch(document["watch"], path)
    except (OgiveError, KeyError, TypeError, ValueError, AttributeError) as error:
        msg = f"{path} is not a state that can be used ({type(error).__name__}: {error})."
        raise ArtifactError(msg) from error


def _checksum(document: dict[str, Any]) -> str:
    canonical = json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return "sha256:" + hashlib.sha256(canonical.encode()).hexdigest()


def _plain(start: Start) -> dict[str, Any]:
    return {name: getattr(start, name) for name in _NUMBERS} | {
        "rows": base64.b64encode(curve_bytes(start.rows)).decode(),
        "map": None if start.gamma is None else start.gamma.to_dict(),
    }


def _watch(values: dict[str, Any], path: str | os.PathLike[str]) -> Watch:
    numbers = [field.name for field in fields(Day) if field.name != "time"]
    days = tuple(
        Day(time=as_time(day["time"]), **{name: _number(day[name]) for name in numbers})
        for day in values["days"]
    )
    if in_order([day.time for day in days]) != [day.time for day in days]:
        msg = "its days are not in order"
        raise ValueError(msg)
    starts = tuple(_start(start, path) for start in values["starts"])
    order = [start.number for start in starts]
    if order != sorted(set(order)) or bool(days) != bool(order) or order[:1] not in ([], [1]):
        msg = "its starts are not in order"
        raise ValueError(msg)
    return Watch(alpha=values["alpha"], run_length=values["run_length"], days=days, starts=starts)


def _start(values: dict[str, Any], path: str | os.PathLike[str]) -> Start:
    gamma = values["map"]
    if gamma is not None:
        gamma = cast("SplineMap", build({"method": "spline", "map": gamma}))
    rows = curve_of_bytes(base64.b64decode(values["rows"], validate=True), path)
    number, log_e, log_share, log_sum = (_number(values[name]) for name in _NUMBERS)
    return Start(int(number), rows, log_e, log_share, log_sum, gamma)


def _number(value: Any) -> Any:  # noqa: ANN401 - of JSON
    if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value):
        msg = f"a number is {value!r}"
        raise ValueError(msg)
    return value
