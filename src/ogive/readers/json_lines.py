"""JSON lines: one object on each line, whose keys are the columns."""

from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING, Any

from ogive.errors import FileFormatError, InvalidInput
from ogive.readers.arrow import arrow_json, pa
from ogive.readers.csv_text import open_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_BYTES_PARSED_AT_ONCE = 1 << 22
#: A line of a matrix of 100,000 classes has about 2 MB; a longer one is not JSON lines.
MAX_LINE_BYTES = 1 << 26


def load_json_lines(path: Path) -> Any:  # noqa: ANN401
    """Read a file as one pyarrow.Table."""
    schema = schema_of(path)
    return pa.concat_tables([parsed(path, block, first, schema) for block, first in blocks(path)])


def blocks(path: Path) -> Iterator[tuple[bytes, int]]:
    """Yield whole lines of a file, and the number (from 1) of the first of them."""
    left, line = b"", 1
    with open_bytes(path) as file:
        while new := file.read(_BYTES_PARSED_AT_ONCE):
            whole, end, left = (left + new).rpartition(b"\n")
            if len(left) > MAX_LINE_BYTES:
                msg = (
                    f"{path}: line {line + (whole + end).count(10):,} is longer than "
                    f"{MAX_LINE_BYTES >> 20} MB. JSON lines have one object on each line."
                )
                raise FileFormatError(msg)
            if whole.strip():
                yield whole + end, line
            line += (whole + end).count(b"\n")
        if left.strip():
            yield left, line


def schema_of(path: Path) -> Any:  # noqa: ANN401
    """Return the columns of all lines; numbers of several types become one, dates stay text."""
    schemas = [_as_text(parsed(path, *block).schema) for block in blocks(path)]
    if not schemas:
        msg = f"{path} has no rows: it is empty."
        raise FileFormatError(msg)
    return pa.unify_schemas(schemas, promote_options="permissive")


def parsed(path: Path, block: bytes, first: int, schema: Any = None) -> Any:  # noqa: ANN401
    """Return lines as a table with the columns of a schema; `first` is the line of the first."""
    how = arrow_json.ParseOptions(explicit_schema=schema)
    size = arrow_json.ReadOptions(use_threads=False, block_size=len(block) + 1)
    try:
        table = arrow_json.read_json(io.BytesIO(block), size, how)
    except pa.ArrowInvalid as error:
        _raise_first(path, block, first, error)
        raise
    return table if schema is None else table.select(schema.names)


def _as_text(schema: Any) -> Any:  # noqa: ANN401
    """Return a schema in which dates are the text that they are in the file."""
    for i, field in enumerate(schema):
        if pa.types.is_timestamp(field.type):
            schema = schema.set(i, pa.field(field.name, pa.string()))
    return schema


def _raise_first(path: Path, block: bytes, first: int, error: Exception) -> None:
    """Return the error for the first line that is not a JSON object."""
    for i, line in enumerate(block.split(b"\n")):
        if not line.strip():
            continue
        try:
            good = isinstance(json.loads(line), dict)
        except (ValueError, RecursionError):
            good = False
        if not good:
            msg = (
                f"{path}: line {first + i:,} cannot be read as JSON: every line must be one "
                'object, such as {"score": 0.25, "outcome": 0}. Mend or remove the line.'
            )
            raise InvalidInput(msg) from error
