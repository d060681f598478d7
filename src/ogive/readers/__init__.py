"""Readers: files of predictions become `Predictions`, one file per format.

=====================  ==========================================================================
``.npz``               ``logits`` or ``probs`` with ``labels``, or ``scores`` with ``outcomes``;
                       optionally ``weights``; prefixes ``cal_`` and ``test_`` for two parts
``.parquet`` ``.csv``  columns ``score``, ``outcome`` (and ``weight``); or ``label`` with
``.arrow``             ``logit_0``… or ``prob_0``…; or a list column ``logits`` or ``probs``;
                       a column ``part`` (cal, test) splits
``.p`` ``.pkl``        the paper's logit files, ((cal_logits, cal_labels), (test_logits, …))
``.h5``                CalArena: ``{dataset}/{model}/{probas_cal, labels_cal, probas_test, …}``
=====================  ==========================================================================
"""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import TYPE_CHECKING

from ogive.errors import FileFormatError
from ogive.readers.source import ALL, Columns, Source

if TYPE_CHECKING:
    import os

    from ogive.predictions import Predictions

#: The room that reads each suffix.
FORMATS = {
    ".npz": "npz",
    ".parquet": "table",
    ".csv": "table",
    ".arrow": "table",
    ".feather": "table",
    ".p": "pickled",
    ".pkl": "pickled",
    ".h5": "hdf5",
    ".hdf5": "hdf5",
}


def read(
    path: str | os.PathLike[str],
    part: str | None = None,
    *,
    score: str | None = None,
    outcome: str | None = None,
    label: str | None = None,
    weight: str | None = None,
    experiment: str | None = None,
) -> Predictions:
    """Read a file of predictions.

    Parameters
    ----------
    path : path
        The suffix says what it is; see the module's docstring.
    part : {"cal", "test", "all"}, optional
        Which part of a file that has parts. Without parts, leave it out.
    score, outcome, label, weight : str, optional
        The columns of a table, if they have other names.
    experiment : str, optional
        Which experiment of an HDF5 file, as ``"dataset/model"``.

    Examples
    --------
    >>> import numpy as np
    >>> np.savez("forecasts.npz", scores=[0.9, 0.2], outcomes=[1, 0])
    >>> read("forecasts.npz")
    Predictions(2 rows, 2 classes, kind='probs')
    """
    columns = Columns(score, outcome, label, weight)
    return open_file(path, columns, experiment=experiment).predictions(part)


def open_file(
    path: str | os.PathLike[str], columns: Columns | None = None, *, experiment: str | None = None
) -> Source:
    """Read a file with all its parts and its other columns."""
    file = Path(path)
    if not file.suffix and not file.exists():
        msg = f"{file}: there is no such file or folder."
        raise FileFormatError(msg)
    if file.is_dir():
        msg = f"{file} is a folder: `measure`, `fit` and `apply` read folders, this reads one file."
        raise FileFormatError(msg)
    if file.suffix.lower() not in FORMATS:
        known = " ".join(FORMATS)
        msg = f"{file}: the suffix {file.suffix!r} is none that can be read ({known})."
        raise FileFormatError(msg)
    if not file.exists():
        msg = f"{file} does not exist. Give a file of predictions."
        raise FileFormatError(msg)
    room = importlib.import_module(f"ogive.readers.{FORMATS[file.suffix.lower()]}")
    source: Source = room.read(file, columns or Columns(), experiment)
    return source


__all__ = ["ALL", "FORMATS", "Columns", "Source", "open_file", "read"]
