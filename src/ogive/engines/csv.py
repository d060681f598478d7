"""CSV: fast while every cell converts, and row by row where one does not.

A column's type is fixed when the file is opened, so a word among the numbers makes the
whole block fail. Such a file is read again with its cells as text, and the row is then named, or
left out.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ogive.errors import InvalidInput
from ogive.readers.arrow import arrow_csv, pa, pc
from ogive.readers.csv import decimal_of, number_columns, wrong_cells
from ogive.readers.csv_text import separator_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence
    from pathlib import Path

    from ogive.engines.plan import Plan
    from ogive.readers.columns import Layout

_BYTES_PARSED_AT_ONCE = 1 << 22


@dataclass(slots=True)
class Broken:
    """Collects the numbers of records with too few or too many cells, which become no row."""

    skip: bool
    file: Path
    records: list[int] = field(default_factory=list)
    first: str = field(default="")

    def __call__(self, row: Any) -> str:  # noqa: ANN401
        """Handle an invalid line; called by pyarrow."""
        if not self.first:
            self.first = wrong_cells(self.file, row)
        self.records.append(-1 if row.number is None else row.number - 1)
        return "skip" if self.skip else "error"

    def record(self, row: int) -> int:
        """Return which record became a row: broken ones before it have none."""
        at = row + 1
        for broken in self.records:
            at += broken <= at
        return at


def csv_batches(
    path: Path,
    columns: Sequence[str],
    rows: int,
    *,
    file: Any = None,  # noqa: ANN401
    newlines: bool = True,
    types: dict[str, Any] | None = None,
    decimal: str = ".",
    words: Collection[str] = (),
    broken: Broken | None = None,
) -> Iterator[Any]:
    """Yield record batches of some columns of a CSV file, which may be open already.

    words : columns in which text such as NA is a value (Namibia); in others it is a missing one
    """
    reader = arrow_csv.open_csv(
        path if file is None else file,
        arrow_csv.ReadOptions(block_size=_BYTES_PARSED_AT_ONCE, use_threads=broken is None),
        arrow_csv.ParseOptions(
            invalid_row_handler=broken,
            newlines_in_values=newlines,
            delimiter=separator_of(path),
        ),
        arrow_csv.ConvertOptions(
            include_columns=list(columns),
            column_types=types,
            decimal_point=decimal,
        ),
    )
    for read in reader:
        batch = _with_nulls(read, words)
        for start in range(0, batch.num_rows, rows):
            yield batch.slice(start, rows)


def _with_nulls(batch: Any, words: Collection[str]) -> Any:  # noqa: ANN401
    """Return a batch whose text has missing values, except in columns of words."""
    none = pa.array(arrow_csv.ConvertOptions().null_values)
    columns = [
        pc.if_else(pc.is_in(column, none), None, column)
        if pa.types.is_string(column.type) and name not in words
        else column
        for name, column in zip(batch.schema.names, batch.columns, strict=True)
    ]
    return pa.RecordBatch.from_arrays(columns, names=batch.schema.names)


def numeric_types(plan: Plan, *, text: bool) -> dict[str, Any]:
    """Return the types of a plan's columns in a CSV file: numbers, or all text."""
    layout = plan.layout
    types = {name: pa.string() for name in plan.needed}
    if not text:
        types |= dict.fromkeys(number_columns(layout), pa.float64())
        if layout.truth is not None:
            del types[layout.truth]  # 0 and 1, or true and false: pyarrow finds out
    return types


def as_text(path: Path, columns: Sequence[str], layout: Layout) -> dict[str, Any]:
    """Return the options under which columns other than the predictions' stay text."""
    numbers = number_columns(layout)
    types = {name: pa.string() for name in columns if name not in layout.needed}
    types |= dict.fromkeys(numbers, pa.float64())
    return {"types": types, "decimal": decimal_of(path, numbers), "words": columns}


def raise_broken(broken: Broken, plan: Plan, error: Exception) -> None:
    """Return the error for the first broken line."""
    if broken.first:
        msg = f"{broken.first}. {plan.way_out}"
        raise InvalidInput(msg) from error
