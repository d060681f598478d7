"""CalArena's HDF5 files: one group per data set and model, probabilities with labels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ogive._files import replacing
from ogive.errors import FileFormatError, UnknownName, need
from ogive.readers.columns import check_meaning
from ogive.readers.memory import check_fits, needed_bytes
from ogive.readers.provenance import KEY
from ogive.readers.source import Part, Source

if TYPE_CHECKING:
    from pathlib import Path

    from ogive.readers.source import Ask, Calibrated

_DIMENSIONS = 2
_ARRAYS = {f"{what}_{part}" for what in ("probas", "labels") for part in ("cal", "test")}


def experiments(path: Path) -> list[str]:
    """Return the names of all experiments of a file, as ``"dataset/model"``."""
    with _opened(path) as file:
        return _names(file)


def read(path: Path, ask: Ask) -> Source:
    """Read one experiment: the only one, or the one named."""
    experiment = ask.experiment
    check_meaning(ask.columns, "probs", path)
    with _opened(path) as file:
        names = _names(file)
        if not names:
            msg = f"{path} has no group with {', '.join(sorted(_ARRAYS))}."
            raise FileFormatError(msg)
        if experiment is None and len(names) > 1:
            msg = f"{path} has {len(names)} experiments. Name one: {', '.join(names[:6])}, …"
            raise FileFormatError(msg)
        chosen = experiment or names[0]
        if chosen not in names:
            raise UnknownName.among("experiment", chosen, names)
        arrays = {name: _dataset(file[chosen], name, path) for name in sorted(_ARRAYS)}
        size = sum(item.size * item.dtype.itemsize for item in arrays.values())
        rows = max(item.shape[0] for item in arrays.values())
        width = max(len(item.shape) for item in arrays.values())
        check_fits(path, needed_bytes(size, rows, width), ask.memory)
        parts = {
            part: Part(
                "probs",  # one column or a 1-D array is the probability of class 1 of two
                np.asarray(arrays[f"probas_{part}"]),
                np.asarray(arrays[f"labels_{part}"]).reshape(-1),
                renormalise=ask.columns.renormalise,
            )
            for part in ("cal", "test")
        }
    return Source(path, parts, rest=chosen)


def write(source: Source, path: Path, results: dict[str, Calibrated]) -> None:
    """Write the experiment with calibrated probabilities."""
    h5py = need("h5py", extra="files")
    with replacing(path) as beside, h5py.File(beside, "w") as file:
        group = file.create_group(source.rest)
        if source.origin is not None:
            file.attrs[KEY] = source.origin.to_json()
        for part, result in results.items():
            group[f"probas_{part}"] = result.values
            labels = source.parts[part].labels if result.is_matrix else result.hits
            for name, array in result.beside.items():
                group[f"{name}_{part}"] = array
            if labels is not None:
                group[f"labels_{part}"] = labels


def _opened(path: Path) -> Any:  # noqa: ANN401 - h5py has no types
    h5py = need("h5py", extra="files")
    try:
        return h5py.File(path, "r")
    except OSError as error:
        msg = f"{path} is not an HDF5 file, or it is cut short."
        raise FileFormatError(msg) from error


def _names(file: Any) -> list[str]:  # noqa: ANN401
    names: list[str] = []

    def visit(name: str, item: Any) -> None:  # noqa: ANN401
        if hasattr(item, "keys") and set(item) >= _ARRAYS:
            names.append(name)

    file.visititems(visit)  # it follows no links
    return sorted(names)


def _dataset(group: Any, name: str, path: Path) -> Any:  # noqa: ANN401
    """Return a data set that holds its own numbers, before any of them is read.

    A link to another file, a raw file or a virtual set would read whatever file its author names.
    """
    h5py = need("h5py", extra="files")
    link = group.get(name, getlink=True)
    item = group[name] if isinstance(link, h5py.HardLink) else None
    if not isinstance(item, h5py.Dataset) or item.is_virtual or item.external:
        msg = (
            f"{path}: `{name}` is a link, or its numbers are in another file, which is not read. "
            "Copy the numbers into this file."
        )
        raise FileFormatError(msg)
    if item.dtype.kind not in "fiub" or item.dtype.shape:
        msg = f"{path}: `{name}` must be numbers, but is {item.dtype}."
        raise FileFormatError(msg)
    if item.shape is None or not 1 <= len(item.shape) <= _DIMENSIONS:
        msg = f"{path}: `{name}` must have one or two dimensions, but has shape {item.shape}."
        raise FileFormatError(msg)
    return item
