"""CSV files as tables; a cell that is no number is named by its line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ogive.errors import FileFormatError, InvalidInput, need
from ogive.readers.columns import find_columns
from ogive.readers.csv_text import (
    check_rows,
    check_utf8,
    header,
    line_of,
    number,
    scan,
    separator_of,
)

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from ogive.readers.columns import Layout
    from ogive.readers.csv_text import Scan
    from ogive.readers.source import Columns

_SHOWN = 40  # characters of a cell that an error shows


def load_csv(path: Path, columns: Columns, *, whole: bool) -> Any:  # noqa: ANN401
    """Read a CSV file as a pyarrow.Table: all its columns, or those of the predictions."""
    pa = need("pyarrow", extra="files")
    found = scan(path)
    if found.records <= 1:
        msg = f"{path} has no rows: it is empty."
        raise FileFormatError(msg)
    names = header(path)
    layout = find_columns(names, columns, path)
    types = dict.fromkeys(number_columns(layout), pa.float64())
    if layout.part is not None:
        types[layout.part] = pa.string()
    wanted = names if whole else layout.needed
    try:
        table = _read(path, found, wanted, types)
    except pa.ArrowInvalid as error:
        _raise_first(path, found, layout, error)
        raise
    check_rows(path, found, table.num_rows)
    return table


def number_columns(layout: Layout) -> list[str]:
    """Return the columns that must be numbers; the truth may be numbers, words or names."""
    return [*layout.values, *([layout.weight] if layout.weight else [])]


def wrong_cells(path: Path, row: Any) -> str:  # noqa: ANN401 - pyarrow.csv.InvalidRow
    """Say which line has too few or too many cells."""
    where = f"line {line_of(path, row.number - 1):,}" if row.number is not None else "a line"
    return f"{path}: {where} has {row.actual_columns} cells, not {row.expected_columns}"


def _read(path: Path, found: Scan, names: Sequence[str], types: dict[str, Any]) -> Any:  # noqa: ANN401
    csv = need("pyarrow.csv", extra="files")
    return csv.read_csv(
        path,
        parse_options=csv.ParseOptions(
            newlines_in_values=found.has_newlines, delimiter=separator_of(path)
        ),
        convert_options=csv.ConvertOptions(include_columns=list(names), column_types=types),
    )


def _raise_first(path: Path, found: Scan, layout: Layout, error: Exception) -> None:
    """Name the first line with a wrong number of cells, or with a cell that is no number."""
    pa, csv = need("pyarrow", extra="files"), need("pyarrow.csv", extra="files")
    check_utf8(path)
    broken: list[Any] = []

    def note(row: Any) -> str:  # noqa: ANN401
        broken.append(row)
        return "skip"

    names = number_columns(layout)
    table = csv.read_csv(
        path,
        csv.ReadOptions(use_threads=False),
        csv.ParseOptions(
            newlines_in_values=found.has_newlines,
            invalid_row_handler=note,
            delimiter=separator_of(path),
        ),
        csv.ConvertOptions(include_columns=names, column_types=dict.fromkeys(names, pa.string())),
    )
    if broken:
        msg = f"{wrong_cells(path, broken[0])}. Mend the line."
        raise InvalidInput(msg) from error
    for name in names:
        cells = table[name].to_pylist()
        wrong = np.isnan([number(cell) for cell in cells])
        if wrong.any():
            row = int(wrong.argmax())
            shown = str(cells[row])[:_SHOWN]
            msg = (
                f"{path}: line {line_of(path, row + 1):,}: `{name}` must be a number such as 0.25, "
                f"but is {shown!r}."
            )
            raise InvalidInput(msg) from error
