"""CSV files as tables, and tables as CSV; errors name the line of a cell that is not a number."""

from __future__ import annotations

import csv
import io
from itertools import islice
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from ogive.errors import FileFormatError, InvalidInput
from ogive.readers.arrow import arrow_csv, pa, pc
from ogive.readers.columns import find_columns
from ogive.readers.csv_text import (
    check_rows,
    check_utf8,
    header,
    line_of,
    number,
    open_text,
    scan,
    separator_of,
)

if TYPE_CHECKING:
    from collections.abc import Sequence
    from gzip import GzipFile
    from pathlib import Path

    from ogive.readers.columns import Layout
    from ogive.readers.csv_text import Scan
    from ogive.readers.source import Columns

_ROWS_WRITTEN_AT_ONCE = 1 << 14
_MAX_CELL_IN_ERROR = 40  # characters
#: Rows searched for a decimal mark: scores and logits have one in their first rows.
MAX_ROWS_TO_FIND_A_DECIMAL = 100_000


def load_csv(path: Path, columns: Columns) -> Any:  # noqa: ANN401
    """Read the predictions of a CSV file as a pyarrow.Table."""
    found = scan(path)
    if found.records <= 1:
        msg = f"{path} has no rows: it is empty."
        raise FileFormatError(msg)
    layout = find_columns(header(path), columns, path)
    types = dict.fromkeys(number_columns(layout), pa.float64())
    for name in (layout.part, layout.cluster):
        if name is not None:
            types[name] = pa.string()  # 7 and 007 are two clusters
    try:
        table = _read(path, found, types, layout)
    except pa.ArrowInvalid as error:
        _raise_first(path, found, layout, error)
        raise
    check_rows(path, found, table.num_rows)
    return table


def load_text(path: Path) -> Any:  # noqa: ANN401
    """Read all columns of a CSV file as the text they are: 007 stays 007, and a date a date."""
    return _read(path, scan(path), dict.fromkeys(header(path), pa.string()))


def decimal_of(path: Path, columns: Sequence[str]) -> str:
    """Return the decimal mark of columns of numbers: a comma, if they use it and cells do not.

    The first number with a mark decides. One that uses the other mark is then refused.
    """
    separator = separator_of(path)
    if separator == ",":
        return "."
    with open_text(path) as lines:
        rows = filter(None, csv.reader(lines, delimiter=separator))
        try:
            names = next(rows, [])
            at = [names.index(name) for name in columns if name in names]
            for row in islice(rows, MAX_ROWS_TO_FIND_A_DECIMAL):
                cells = [row[i] for i in at if i < len(row)]
                mark = next((c for cell in cells for c in ",." if c in cell), None)
                if mark is not None:
                    return mark
        except csv.Error:
            pass  # the parser reports what is wrong with it
    return "."


def write_csv(
    table: Any,  # noqa: ANN401
    file: BinaryIO | GzipFile,
    separator: str,
    decimal: str,
) -> None:
    """Write a table as CSV, with quotes around the cells that need them."""
    lines = io.TextIOWrapper(file, encoding="utf-8", newline="")
    writer = csv.writer(lines, delimiter=separator, lineterminator="\n")
    writer.writerow(table.column_names)
    for batch in table.to_batches(max_chunksize=_ROWS_WRITTEN_AT_ONCE):
        columns = [column.cast(pa.string()) for column in batch.columns]
        for i, field in enumerate(table.schema if decimal != "." else ()):
            if pa.types.is_floating(field.type):
                columns[i] = pc.replace_substring(columns[i], ".", decimal)
        writer.writerows(zip(*(column.to_pylist() for column in columns), strict=True))
    lines.flush()
    lines.detach()


def number_columns(layout: Layout) -> list[str]:
    """Return the columns that must be numbers; the truth may be numbers, words or names."""
    return [*layout.values, *([layout.weight] if layout.weight else [])]


def wrong_cells(path: Path, row: Any) -> str:  # noqa: ANN401 - pyarrow.csv.InvalidRow
    """Return which line has too few or too many cells."""
    where = f"line {line_of(path, row.number - 1):,}" if row.number is not None else "a line"
    return f"{path}: {where} has {row.actual_columns} cells, not {row.expected_columns}"


def _read(path: Path, found: Scan, types: dict[str, Any], layout: Layout | None = None) -> Any:  # noqa: ANN401
    """Read the columns of a layout; without one those that have a type."""
    names, decimal = list(types), "."
    if layout is not None:
        names, decimal = layout.needed, decimal_of(path, number_columns(layout))
    return arrow_csv.read_csv(
        path,
        parse_options=arrow_csv.ParseOptions(
            newlines_in_values=found.has_newlines, delimiter=separator_of(path)
        ),
        convert_options=arrow_csv.ConvertOptions(
            include_columns=names, column_types=types, decimal_point=decimal
        ),
    )


def _raise_first(path: Path, found: Scan, layout: Layout, error: Exception) -> None:
    """Return the error for the first line with a wrong number of cells, or with a bad number."""
    check_utf8(path)
    broken: list[Any] = []

    def note(row: Any) -> str:  # noqa: ANN401
        broken.append(row)
        return "skip"

    names = number_columns(layout)
    table = arrow_csv.read_csv(
        path,
        arrow_csv.ReadOptions(use_threads=False),
        arrow_csv.ParseOptions(
            newlines_in_values=found.has_newlines,
            invalid_row_handler=note,
            delimiter=separator_of(path),
        ),
        arrow_csv.ConvertOptions(
            include_columns=names, column_types=dict.fromkeys(names, pa.string())
        ),
    )
    if broken:
        msg = f"{wrong_cells(path, broken[0])}. Mend the line."
        raise InvalidInput(msg) from error
    decimal = decimal_of(path, names)
    for name in names:
        cells = table[name].to_pylist()
        wrong = np.isnan([number(cell, decimal) for cell in cells])
        if wrong.any():
            row = int(wrong.argmax())
            shown = str(cells[row])[:_MAX_CELL_IN_ERROR]
            msg = (
                f"{path}: line {line_of(path, row + 1):,}: `{name}` must be a number such as "
                f"0{decimal}25, but is {shown!r}.{_hint(shown, decimal)}"
            )
            raise InvalidInput(msg) from error


def _hint(cell: str, decimal: str) -> str:
    """Return the fix for a number with another decimal mark, or in percent."""
    if "%" in cell:
        return " Percent? Remove the sign, and divide by 100."
    if "," in cell and decimal == ".":
        return (
            " Decimal commas are read where all numbers have them and cells are separated by ; "
            "or tab."
        )
    return " Use one decimal mark in all numbers." if "." in cell and decimal == "," else ""
