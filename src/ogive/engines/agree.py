"""The files of a log must agree in what they hold: one that differs would be counted wrongly."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ogive.engines.formats import open_table
from ogive.errors import FileFormatError, OgiveError
from ogive.readers.columns import find_columns
from ogive.readers.guard import guarded

if TYPE_CHECKING:
    from pathlib import Path

    from ogive.readers.columns import Layout
    from ogive.readers.source import Columns


def common_layout(names: dict[Path, list[str]], columns: Columns) -> tuple[Layout, int]:
    """Return the layout of all files and their number of classes, 0 if no list has any.

    Parameters
    ----------
    names : dict
        The columns of each file, those in the names of its folders included.
    columns : Columns
    """
    first, *others = names
    layout = find_columns(names[first], columns, first)
    one = _Held(first, layout)
    for file in others:
        try:
            own = find_columns(names[file], columns, file)
        except OgiveError as error:
            msg = f"{error} The files of a log must agree: {first} has {one.shown('columns')}."
            raise type(error)(msg) from error
        other = _Held(file, own)
        for trait in _TRAITS:
            if one.differs(other, trait):
                raise _unlike(one, other, trait)
        one.classes = one.classes or other.classes  # the first file may have no rows
    return layout, one.classes


def check_column(names: dict[Path, list[str]], column: str) -> None:
    """Refuse a log if a column is missing in some of its files."""
    first = next(iter(names))
    for file, own in names.items():
        if column not in own:
            msg = (
                f"{first} has a column `{column}`, but {file} does not. The files of a log must "
                "agree: add the column, or leave the file out."
            )
            raise FileFormatError(msg)


_TRAITS = ("kind", "columns", "classes", "truth", "weight", "part", "types")


class _Held:
    """What a file holds, trait by trait."""

    def __init__(self, file: Path, layout: Layout) -> None:
        self.file, self.layout = file, layout
        with guarded(file):
            table = open_table(file)
            inside = [name for name in layout.needed if name in table.names]
            types = {name: table.kind(name) for name in inside}
            width = table.width(layout.values[0]) if layout.is_list else 0
        classes = width if layout.is_list else len(layout.values)
        self.types = types
        self.classes = classes
        self.traits = {
            "kind": layout.kind,
            "columns": layout.values,
            "truth": layout.truth,
            "weight": layout.weight,
            "part": layout.part,
        }

    def differs(self, other: _Held, trait: str) -> bool:
        """Return whether two files differ in a trait; unknown traits do not differ."""
        if trait == "types":
            return bool(self._odd(other))
        if trait == "classes":
            return 0 != self.classes != other.classes != 0
        return bool(self.traits[trait] != other.traits[trait])

    def _odd(self, other: _Held) -> list[str]:
        """Return the columns whose types differ between the two files."""
        both = [name for name, kind in self.types.items() if kind and other.types.get(name)]
        return [name for name in both if self.types[name] != other.types[name]]

    def shown(self, trait: str, other: _Held | None = None) -> str:
        """Return what the file has, as text."""
        layout, value = self.layout, self.traits.get(trait)
        if trait == "types" and other is not None:
            name = self._odd(other)[0]
            return f"{self.types[name]} in `{name}`"
        if trait == "columns":
            several = f" … `{layout.values[-1]}`" if len(layout.values) > 1 else ""
            return f"{layout.kind} in `{layout.values[0]}`{several}"
        if trait == "classes":
            return f"{self.classes} classes"
        missing = {"truth": "the truth", "weight": "weights", "part": "parts"}
        if trait in missing:
            return f"no column of {missing[trait]}" if value is None else f"a column `{value}`"
        return str(value)


def _unlike(one: _Held, other: _Held, trait: str) -> FileFormatError:
    msg = (
        f"the files of a log must agree: {one.file} has {one.shown(trait, other)}, but "
        f"{other.file} has {other.shown(trait, one)}. Make them alike, or read them one by one."
    )
    return FileFormatError(msg)
