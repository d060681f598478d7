"""A matrix of costs in a file: a row for each action, a column for each class.

A .csv file may begin with a line of the classes' labels, and each other line with the name of an
action; without both, the columns are the classes in their order. A .npy file holds the numbers.
"""

from __future__ import annotations

import csv
import warnings
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ogive.errors import FileFormatError, OgiveWarning
from ogive.readers.classes import shown
from ogive.readers.guard import check_regular, guarded, suffix_of
from ogive.readers.npy import load_array

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from ogive._typing import FloatArray

#: A file of costs is small; anything longer is another file.
MAX_BYTES = 10_000_000
_MEMORY = 100 * MAX_BYTES
_MATRIX = 2  # dimensions


class CostTable(NamedTuple):
    """Costs, (A, K); the names of the actions and of the classes, where the file has them."""

    values: FloatArray
    actions: tuple[str, ...] | None
    classes: tuple[str, ...] | None

    def in_order(self, classes: Sequence[object], name: str) -> FloatArray:
        """Return the costs with the columns in the order of classes."""
        wanted = [str(label) for label in classes]
        if self.classes is None and [f"{x:g}" for x in self.values[0]] == wanted:
            warnings.warn(
                f"the first line of {name} is the same as the labels of the classes, and is read "
                f"as the costs of an action. If it is a header, write action,{','.join(wanted)} "
                "there, and begin each other line with the name of its action.",
                OgiveWarning,
                stacklevel=3,
            )
        if self.classes is None or list(self.classes) == wanted:
            return self.values
        if sorted(self.classes) != sorted(wanted):
            msg = (
                f"{name} has costs for the classes {shown(self.classes)}, and the predictions are "
                f"of {shown(wanted)}. Name the columns of costs like the classes."
            )
            raise FileFormatError(msg)
        return self.values[:, [self.classes.index(label) for label in wanted]]


def read_costs(path: Path) -> CostTable:
    """Read a matrix of costs from a .csv or .npy file."""
    if suffix_of(path) not in {".csv", ".npy"}:
        raise _no_matrix(path)
    check_regular(path)
    if path.stat().st_size > MAX_BYTES:
        msg = f"{path} has more than {MAX_BYTES:,} bytes: it is not a matrix of costs."
        raise FileFormatError(msg)
    if suffix_of(path) == ".npy":
        values = load_array(path, _MEMORY)
        if values.ndim != _MATRIX or not values.size or values.dtype.kind not in "biuf":
            raise _no_matrix(path)
        return CostTable(values.astype(np.float64), None, None)
    with guarded(path):
        lines = [line for line in csv.reader(path.read_text("utf-8-sig").splitlines()) if line]
    return _of_lines(lines, path)


def _of_lines(lines: list[list[str]], path: Path) -> CostTable:
    """Tell names from numbers: the first cell of a file with names is not a number."""
    named = bool(lines) and not _is_number(lines[0][0])
    classes = [cell.strip() for cell in lines[0][1:]] if named else None
    body = lines[1:] if named else lines
    actions = [line[0].strip() for line in body] if named else None
    cells = [line[1:] if named else line for line in body]
    widths = {len(line) for line in cells}
    if len(widths) != 1 or 0 in widths or (classes is not None and widths != {len(classes)}):
        raise _no_matrix(path)
    for row, line in enumerate(cells):
        for cell in line:
            if not _is_number(cell):
                msg = f"{path}: {cell!r} in line {row + 1 + named} is not a number."
                raise FileFormatError(msg)
    values = np.array([[float(cell) for cell in line] for line in cells])
    return CostTable(
        values,
        None if actions is None else tuple(actions),
        None if classes is None else tuple(classes),
    )


def _no_matrix(path: Path) -> FileFormatError:
    return FileFormatError(
        f"{path} is not a matrix of costs: a .csv file (separated by commas) or a .npy file, with "
        "a line for each action, all with as many numbers as there are classes. With labels of "
        "the classes in the first line of a .csv file, each other line begins with the name of "
        "its action."
    )


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True
