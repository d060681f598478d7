"""CalArena's HDF5 files: one group per data set and model, probabilities with labels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ogive._files import replacing
from ogive.errors import FileFormatError, UnknownName, need
from ogive.readers.source import Part, Source

if TYPE_CHECKING:
    from pathlib import Path

    from ogive.readers.source import Calibrated, Columns

_ARRAYS = {f"{what}_{part}" for what in ("probas", "labels") for part in ("cal", "test")}


def experiments(path: Path) -> list[str]:
    """Return the names of all experiments of a file, as ``"dataset/model"``."""
    with _opened(path) as file:
        return _names(file)


def read(path: Path, columns: Columns, experiment: str | None) -> Source:  # noqa: ARG001
    """Read one experiment: the only one, or the one named."""
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
        group = file[chosen]
        parts = {
            part: _part(np.asarray(group[f"probas_{part}"]), np.asarray(group[f"labels_{part}"]))
            for part in ("cal", "test")
        }
    return Source(path, parts, rest=chosen)


def write(source: Source, path: Path, results: dict[str, Calibrated]) -> None:
    """Write the experiment with calibrated probabilities."""
    h5py = need("h5py", extra="files")
    with replacing(path) as beside, h5py.File(beside, "w") as file:
        group = file.create_group(source.rest)
        for part, result in results.items():
            group[f"probas_{part}"] = result.values
            full = result.values.ndim == 2  # noqa: PLR2004 - a matrix
            labels = source.parts[part].labels if full else result.hits
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

    file.visititems(visit)
    return sorted(names)


def _part(probas: np.ndarray, labels: np.ndarray) -> Part:
    """One column or a 1-D array is the probability of class 1 of two."""
    return Part("probs", probas, labels.reshape(-1))
