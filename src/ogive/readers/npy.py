"""Single NumPy arrays: scores or a matrix in one file, their labels in another."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ogive._files import replacing
from ogive.errors import DoesNotApply, FileFormatError
from ogive.readers.columns import check_meaning
from ogive.readers.guard import check_letters, check_regular
from ogive.readers.memory import check_fits, needed_bytes
from ogive.readers.provenance import write_sidecar
from ogive.readers.source import WHOLE, Part, Source, is_positive

if TYPE_CHECKING:
    from ogive._typing import AnyArray
    from ogive.readers.source import Ask, Calibrated, Columns, ValueKind

_MATRIX = 2  # dimensions


def read(path: Path, ask: Ask) -> Source:
    """Read an array, and that of its labels or outcomes."""
    values = load_array(path, ask.memory)
    kind = _kind(path, values, ask.columns)
    check_meaning(ask.columns, kind, path)
    labels = None
    if ask.columns.labels is not None:
        labels = load_array(Path(ask.columns.labels), ask.memory).reshape(-1)
        if ask.columns.positive is not None:
            labels = is_positive(labels, ask.columns.positive, ask.columns.labels)
    part = Part(kind, values, labels, renormalise=ask.columns.renormalise)
    return Source(path, {WHOLE: part})


def write(source: Source, path: Path, results: dict[str, Calibrated]) -> None:
    """Write the calibrated values, and nothing else: labels stay in their own file."""
    (result,) = results.values()
    if result.band is not None:
        msg = (
            f"{path}: an .npy file holds one array, and has no room for the band. Save the scores "
            "that are to be calibrated as .npz or as a table, and apply the calibrator to that."
        )
        raise DoesNotApply(msg)
    with replacing(path) as beside, beside.open("wb") as file:
        np.save(file, result.values)
        file.flush()
        write_sidecar(path, source.origin, beside)


def _kind(path: Path, values: AnyArray, columns: Columns) -> ValueKind:
    """Return what an array holds: scores if it has one dimension, else `kind`."""
    if columns.kind in {"logits", "probs"}:
        return "logits" if columns.kind == "logits" else "probs"
    if values.ndim < _MATRIX or values.shape[1] == 1:
        return "scores"
    msg = (
        f"{path} is a matrix of {values.shape[1]} columns: pass --kind probs or "
        "--kind logits (kind='probs')."
    )
    raise FileFormatError(msg)


def load_array(path: Path, memory: int) -> AnyArray:
    """Read an array without pickle; its header is checked before its numbers are read."""
    check_regular(path)
    try:
        mapped = np.load(path, mmap_mode="r", allow_pickle=False)
    except (ValueError, EOFError) as error:
        reason = (str(error).splitlines() or [""])[0][:200]
        msg = (
            f"{path} is not a NumPy array of numbers, or it is cut short ({reason}). Save it with "
            "np.save."
        )
        raise FileFormatError(msg) from error
    if not isinstance(mapped, np.ndarray):
        msg = f"{path} is an archive of arrays: give it the suffix .npz."
        raise FileFormatError(msg)
    if mapped.dtype.kind not in "fiubUS" or not 1 <= mapped.ndim <= _MATRIX:
        msg = (
            f"{path} must be an array of numbers of one or two dimensions, but is {mapped.dtype} "
            f"of shape {mapped.shape}."
        )
        raise FileFormatError(msg)
    check_fits(path, needed_bytes(mapped.nbytes, mapped.shape[0], mapped.ndim), memory)
    return check_letters(path, np.array(mapped))
