"""Several files as one, two parts of one file, and a file written like another."""

from __future__ import annotations

import importlib
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ogive._files import safe_output
from ogive._numerics.splits import random_parts
from ogive.errors import DoesNotApply, FileFormatError
from ogive.readers import FOLDER_FORMATS, FORMATS, open_unsettled
from ogive.readers.folders import find_files
from ogive.readers.guard import suffix_of
from ogive.readers.memory import LEAST_LIMIT, as_limit
from ogive.readers.provenance import (
    mark_calibrated,
    provenance_of_all,
)
from ogive.readers.source import Source, check_agree, joined, settle

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy as np

    from ogive.readers.provenance import Provenance
    from ogive.readers.source import Calibrated, Columns
    from ogive.rows.labels import Classes
    from ogive.rows.predictions import Predictions


def read_together(
    files: Sequence[Path],
    columns: Columns | None,
    experiment: str | None,
    part: str | None,
    *,
    default: str,
    memory: str | int | None = None,
    note: Callable[[str], None] | None = None,
    of_part: Callable[[str], None] | None = None,
    of_classes: Callable[[Classes], None] | None = None,
) -> Predictions:
    """Read files as one set of predictions; folders and globs of tables count as their files.

    `default` is the part that is taken where a file has parts and none was asked for. `note` is
    given the line that says which label is which column, where that was not guessed, and
    `of_classes` the mapping itself; `of_part` is called with the part that was taken, where a file
    has both a cal and a test part.
    """
    left = as_limit(memory)
    sources = []
    for path in expand(files):
        source = open_unsettled(path, columns, experiment=experiment, memory=left, whole=False)
        sources.append(source)
        left -= 2 * sum(part.values.nbytes for part in source.parts.values())  # joined: once more
        left = max(left, LEAST_LIMIT)
    names = [part or _default_part(source, default) for source in sources]
    for source, name in zip(sources, names, strict=True):
        if of_part is not None and {"cal", "test"} <= set(source.parts):
            of_part(name or "")
    given = None if columns is None else columns.classes
    if len(sources) == 1:
        parts, mapping = settle(sources[0].parts, given, str(sources[0].path))
        _tell(mapping, note, of_classes)
        return replace(sources[0], parts=parts).predictions(names[0])
    chosen = [source.part(name) for source, name in zip(sources, names, strict=True)]
    by_name = {str(source.path): one for source, one in zip(sources, chosen, strict=True)}
    check_agree(by_name, f"{len(sources)} files that are read together")
    parts, mapping = settle(by_name, given, f"{len(sources)} files")
    _tell(mapping, note, of_classes)
    together = {"": joined(list(parts.values()))}
    preds = Source(Path(f"{len(sources)} files"), together).predictions()
    part = next((name for name in names if name is not None), None)
    mark_calibrated(preds, provenance_of_all((source.path for source in sources), part), part)
    return preds


def _tell(
    mapping: Classes | None,
    note: Callable[[str], None] | None,
    of_classes: Callable[[Classes], None] | None,
) -> None:
    """Note which label is which column, unless labels are the columns' numbers or were guessed."""
    if of_classes is not None and mapping is not None:
        of_classes(mapping)
    if note is not None and mapping is not None and mapping.how in {"by name", "as given"}:
        note(mapping.words)


def _default_part(source: Source, default: str) -> str | None:
    """Return the part that is taken where none was asked for; None: the file has no parts."""
    if not source.has_parts:
        return None
    if default not in source.parts:
        names, ways = (f" {word} ".join(source.parts) for word in ("and", "or --part"))
        msg = f"{source.path} has no {default} part, only {names}. Say which one: --part {ways}."
        raise FileFormatError(msg)
    return default


def expand(files: Sequence[Path], *, skip_bad: bool = False) -> list[Path]:
    """Replace folders and globs by the files of predictions in them, in order of name."""
    return find_files(files, FOLDER_FORMATS, "files of predictions", skip_bad=skip_bad)


def two_parts(
    source: Source, split: float | None = None, random_state: int = 0
) -> tuple[Predictions, Predictions]:
    """Return the cal and the test part of a file, or two random parts of one that has none.

    A cluster is in one of the random parts, never in both.
    """
    if source.has_parts:
        if split is not None:
            msg = (
                f"{source.path} has parts already: {' and '.join(source.parts)}. Leave out --split."
            )
            raise DoesNotApply(msg)
        missing = [name for name in ("cal", "test") if name not in source.parts]
        if missing:
            msg = f"{source.path} has no {missing[0]} part. It needs rows to fit and rows to test."
            raise FileFormatError(msg)
        return source.predictions("cal"), source.predictions("test")
    if split is None:
        msg = (
            f"{source.path} has no parts cal and test. Mark them (a column `part`, or arrays "
            "cal_… and test_…), or draw them at random: --split 0.5"
        )
        raise FileFormatError(msg)
    whole = source.part(None)
    n = whole.values.shape[0]
    cal, test = random_parts(n, split, random_state, whole.clusters)
    halves = {"cal": whole.take(cal), "test": whole.take(test)}
    both = Source(source.path, halves)
    return both.predictions("cal"), both.predictions("test")


def write_like(
    source: Source, path: Path, results: dict[str, Calibrated], origin: Provenance | None = None
) -> None:
    """Write calibrated values, and what calibrated them, in the format of their file."""
    source = replace(source, origin=origin)
    safe_output(path, [source.path])
    module, wanted = (FORMATS.get(suffix_of(p)) for p in (source.path, path))
    if module == "pickled" and wanted == "npz":  # pickles are read, never written
        module = "npz"
        source = Source(source.path, source.parts, rest=_as_arrays(source), origin=origin)
    if wanted != module:
        msg = f"{path}: the output must be the kind of file that came in ({source.path.suffix})."
        raise FileFormatError(msg)
    importlib.import_module(f"ogive.readers.{module}").write(source, path, results)


def _as_arrays(source: Source) -> dict[str, np.ndarray]:
    return {
        f"{name}_labels": part.labels
        for name, part in source.parts.items()
        if part.labels is not None
    }
