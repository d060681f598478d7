"""The experiments of an arena: files with rows to fit and rows to test, and what they share.

Experiments with the same test set are one **family**: their results rise and fall together. It is
seen from the test labels alone. Two experiments are one family if

* their test labels are equal, row for row; or
* they have three or more classes, the same number of test rows, and the same number of each
  class, not all numbers equal. (Then one is the other in another order. Two balanced test sets
  have equal counts by design, and two outcomes by chance: these say nothing.)

Right or wrong answers of several models to one test set do not show that they are of one set.
There, and where a part of one test set is another's, the families must be given.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ogive.errors import FileFormatError, InvalidInput, OgiveError
from ogive.readers import FOLDER_FORMATS, FORMATS, open_file
from ogive.readers.guard import suffix_of
from ogive.readers.multi_file import two_parts
from ogive.rows.views import check_view
from ogive.studies.compare import check_pair
from ogive.studies.fitting import VECTOR

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

    from ogive.rows.predictions import Predictions

_MIN_CLASSES_FOR_EQUAL_COUNTS = 3  # classes from which equal counts are no accident


@dataclass(frozen=True, slots=True)
class Experiment:
    """Where an experiment is.

    Attributes
    ----------
    name : str
        The file's path in the folder without its suffix; in HDF5 files, ``"dataset/model"``.
    path : Path
    inside : str or None
        Its name in an HDF5 file.
    """

    name: str
    path: Path
    inside: str | None

    def parts(self) -> tuple[Predictions, Predictions]:
        """Read the rows to fit and the rows to test."""
        cal, test = two_parts(open_file(self.path, experiment=self.inside))
        check_pair(cal, test)
        return cal, test


def find_experiments(source: str | os.PathLike[str]) -> tuple[list[Experiment], dict[str, str]]:
    """Return the experiments of a folder or an HDF5 file, and why others are none, by name."""
    root = Path(source).absolute()  # processes that read it may have been started elsewhere
    if root.is_file() and FORMATS.get(root.suffix.lower()) == "hdf5":
        return _inside(root, ""), {}
    if not root.is_dir():
        what = "is a file" if root.exists() else "does not exist"
        msg = f"{root} {what}. Give a folder of prediction files, or one HDF5 file of experiments."
        raise FileFormatError(msg)
    files = sorted(
        p for p in root.rglob("*") if suffix_of(p) in FOLDER_FORMATS and _is_seen(p, root)
    )
    stems = [path.relative_to(root).with_suffix("").as_posix() for path in files]
    found: list[Experiment] = []
    skipped: dict[str, str] = {}
    for path, stem in zip(files, stems, strict=True):
        whole = path.relative_to(root).as_posix()
        name = stem if stems.count(stem) == 1 else whole
        try:
            if FORMATS[suffix_of(path)] == "hdf5":
                found += _inside(path, f"{name}/")
            else:
                found.append(Experiment(name, path, None))
        except (OgiveError, OSError) as error:
            skipped[name] = str(error)
    if not found and not skipped:
        msg = f"{root} holds no files of predictions ({' '.join(FOLDER_FORMATS)})."
        raise FileFormatError(msg)
    return found, skipped


def _is_seen(path: Path, root: Path) -> bool:
    """Whether a path is a file, and no part of it below the root is hidden."""
    hidden = any(part.startswith(".") for part in path.relative_to(root).parts)
    return path.is_file() and not hidden


def _inside(path: Path, prefix: str) -> list[Experiment]:
    from ogive.readers.hdf5 import experiments  # noqa: PLC0415 - needs h5py

    names = experiments(path)
    if not names:
        msg = f"{path} has no experiments (probas_cal, labels_cal, probas_test, labels_test)."
        raise FileFormatError(msg)
    return [Experiment(f"{prefix}{name}", path, name) for name in names]


def look(experiment: Experiment, view: str | None) -> dict[str, Any]:
    """Return the facts of an experiment, or ``{"skip": why}`` if it cannot take part."""
    try:
        cal, test = experiment.parts()
        if view == VECTOR and test.one_column:
            return {"skip": "it has scores, and whole vectors need a column for each class"}
        name = VECTOR if view == VECTOR else check_view(view, test).name
    except (OgiveError, OSError) as error:
        return {"skip": str(error)}
    assert test.labels is not None  # noqa: S101 - a pair is labelled
    matrix = not test.one_column
    facts = {"view": name, "n_cal": cal.n, "n_test": test.n, "classes": test.K, "matrix": matrix}
    return facts | _marks(test.labels.astype(np.int64), test.K)


def _marks(labels: np.ndarray, K: int) -> dict[str, Any]:
    """Return what tells one test set from another: its labels in order, and their counts."""
    counts = np.bincount(labels, minlength=K)
    telling = K >= _MIN_CLASSES_FOR_EQUAL_COUNTS and np.unique(counts).size > 1
    return {
        "order": hashlib.sha256(labels.tobytes()).hexdigest()[:16],
        "counts": hashlib.sha256(counts.tobytes()).hexdigest()[:16] if telling else None,
    }


def families_of(
    facts: Mapping[str, Mapping[str, Any]], named: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Return the family of each experiment.

    Parameters
    ----------
    facts : mapping
        What `look` found of each experiment.
    named : mapping, optional
        From patterns of names (``*`` and ``?``) to families; the first that fits counts. The
        other experiments are told apart by their test labels. A family found by its labels is
        named after its first experiment.

    >>> families_of({"a": {"order": 1, "counts": None}, "b": {"order": 1, "counts": None},
    ...              "c": {"order": 2, "counts": None}})
    {'a': 'a', 'b': 'a', 'c': 'c'}
    """
    family: dict[str, str] = {}
    first: dict[tuple[str, Any], str] = {}
    for name, fact in facts.items():
        given = _given(name, named or {})
        if given is not None:
            family[name] = given
            continue
        marks = [(kind, fact[kind]) for kind in ("order", "counts") if fact[kind] is not None]
        known = [first[mark] for mark in marks if mark in first]
        family[name] = known[0] if known else name
        for mark in marks:
            first.setdefault(mark, family[name])
    return family


def _given(name: str, named: Mapping[str, str]) -> str | None:
    return next((family for pattern, family in named.items() if fnmatchcase(name, pattern)), None)


def read_families(source: str | os.PathLike[str] | Mapping[str, str]) -> dict[str, str]:
    """Return families by pattern of name, from a mapping or a JSON file."""
    named: Any = source
    if not hasattr(source, "items"):
        path = Path(source)
        try:
            named = json.loads(path.read_text(encoding="utf-8"))
        except (ValueError, RecursionError) as error:
            msg = f"{path} is not JSON ({error})."
            raise FileFormatError(msg) from error
    if not (isinstance(named, dict) and all(isinstance(word, str) for word in named.values())):
        msg = '`families` must be one object of names, as {"pattern*": "family"}.'
        raise InvalidInput(msg)
    return named
