"""Readers: files of predictions become `Predictions`, one file per format.

=====================  ==========================================================================
``.npz``               ``logits`` or ``probs`` with ``labels``, or ``scores`` with ``outcomes``;
                       optionally ``weights`` and ``classes``; prefixes ``cal_`` and ``test_``
                       for two parts
``.parquet`` ``.csv``  columns ``score``, ``outcome`` (and ``weight``); or ``label`` with
``.tsv`` ``.csv.gz``   ``logit_0``…, ``prob_0``… or ``prob_NAME``; or a list column ``logits`` or
                       ``probs``; a column ``part`` (cal, test) splits. Text is separated by ``,``,
``.jsonl`` (``.gz``)   ``;`` or tab
``.npy``               one array, with ``labels=`` for the file of its labels or outcomes
``.p`` ``.pkl``        the paper's logit files, ((cal_logits, cal_labels), (test_logits, …))
``.h5``                CalArena: ``{dataset}/{model}/{probas_cal, labels_cal, probas_test, …}``
=====================  ==========================================================================
"""

from __future__ import annotations

import importlib
import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ogive._lazy import files_of
from ogive.errors import FileFormatError
from ogive.readers.guard import check_regular, guarded, suffix_of
from ogive.readers.memory import as_limit
from ogive.readers.source import ALL, Ask, Columns, Source, check_agree, settle
from ogive.rows.check import as_weight_kind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ogive._typing import Kind, WeightKind
    from ogive.rows.predictions import Predictions

if not TYPE_CHECKING:
    __getattr__ = files_of(__name__)

#: The module that reads each suffix.
FORMATS = {
    ".npz": "npz",
    ".npy": "npy",
    ".parquet": "table",
    ".csv": "table",
    ".tsv": "table",
    ".csv.gz": "table",
    ".tsv.gz": "table",
    ".jsonl": "table",
    ".ndjson": "table",
    ".jsonl.gz": "table",
    ".ndjson.gz": "table",
    ".p": "pickled",
    ".pkl": "pickled",
    ".h5": "hdf5",
    ".hdf5": "hdf5",
}

#: Formats read from folders; not .npy, whose labels are in another file.
FOLDER_FORMATS = [suffix for suffix in FORMATS if suffix != ".npy"]


def read(
    path: str | os.PathLike[str],
    part: str | None = None,
    *,
    score: str | None = None,
    outcome: str | None = None,
    label: str | None = None,
    weight: str | None = None,
    weight_kind: WeightKind = "repetition",
    cluster: str | None = None,
    experiment: str | None = None,
    classes: Sequence[object] | None = None,
    positive: object = None,
    renormalise: bool = False,
    kind: Kind | None = None,
    labels: str | os.PathLike[str] | None = None,
    memory: str | int | None = None,
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
    weight_kind : {"repetition", "sampling"}
        What the weights mean: see `Predictions`.
    cluster : str, optional
        The column of a table, or the array of an archive, that says which rows belong together:
        the `clusters` of `Predictions`.
    experiment : str, optional
        Which experiment of an HDF5 file, as ``"dataset/model"``.
    classes : sequence, optional
        The label of each column, in their order. Default: the names of the columns (``prob_cat``),
        or integers from 0; other labels are taken in sorted order, with a warning.
    positive : optional
        The outcome that counts as 1, where outcomes are words.
    renormalise : bool
        Divide each row of probabilities by its sum: for numbers rounded to two decimals.
    kind, labels : optional
        Of a single array (``.npy``): what a matrix holds, ``"logits"`` or ``"probs"``, and the
        file of its labels or outcomes.
    memory : str or int, optional
        The memory limit, such as ``"1GB"``: a file that needs more is refused before it is
        loaded. Default: what the machine has.

    Examples
    --------
    >>> import numpy as np
    >>> np.savez("forecasts.npz", scores=[0.9, 0.2], outcomes=[1, 0])
    >>> read("forecasts.npz")
    Predictions(2 rows, 2 classes, kind='probs')
    """
    columns = Columns(
        score,
        outcome,
        label,
        weight,
        None if classes is None else tuple(map(str, classes)),
        None if positive is None else str(positive),
        renormalise,
        kind,
        None if labels is None else os.fspath(labels),
        as_weight_kind(weight_kind),
        cluster,
    )
    source = open_file(path, columns, experiment=experiment, memory=memory, whole=False)
    return source.predictions(part)


def open_file(
    path: str | os.PathLike[str],
    columns: Columns | None = None,
    *,
    experiment: str | None = None,
    memory: str | int | None = None,
    whole: bool = True,
) -> Source:
    """Read a file with all its parts and, if `whole`, its other columns."""
    source = open_unsettled(path, columns, experiment=experiment, memory=memory, whole=whole)
    given = None if columns is None else columns.classes
    parts, mapping = settle(source.parts, given, str(source.path))
    return replace(source, parts=parts, mapping=mapping)


def open_unsettled(
    path: str | os.PathLike[str],
    columns: Columns | None = None,
    *,
    experiment: str | None = None,
    memory: str | int | None = None,
    whole: bool = True,
) -> Source:
    """Read a file, and leave open which label is which column: other files help to decide it."""
    file = Path(path)
    if file.is_dir():
        msg = f"{file} is a folder, and read() takes one file. The commands read folders."
        raise FileFormatError(msg)
    check_file(file)
    module = importlib.import_module(f"ogive.readers.{FORMATS[suffix_of(file)]}")
    ask = Ask(columns or Columns(), experiment, as_limit(memory), whole)
    with guarded(file):
        source: Source = module.read(file, ask)
        how = ask.columns.weight_kind
        parts = {name: replace(part, weight_kind=how) for name, part in source.parts.items()}
        source = replace(source, parts=parts)
        check_agree({f"part {name}": part for name, part in source.parts.items()}, f"{file}: parts")
    return source


def check_file(file: Path) -> None:
    """Refuse anything but a regular file in a known format."""
    if suffix_of(file) in FORMATS or file.exists():
        check_regular(file)
    elif not file.suffix:
        msg = f"{file}: no such file or folder."
        raise FileFormatError(msg)
    if suffix_of(file) not in FORMATS:
        known = " ".join(FORMATS)
        msg = f"{file}: files that end in {file.suffix!r} cannot be read (known: {known})."
        raise FileFormatError(msg)


__all__ = ["ALL", "FOLDER_FORMATS", "FORMATS", "Columns", "Source", "open_file", "read"]
