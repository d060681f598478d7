"""Parquet, CSV and JSON lines, through pyarrow."""

from __future__ import annotations

import gzip
import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ogive._files import replacing
from ogive.errors import FileFormatError, printable, rows_that
from ogive.readers.arrow import (
    checked,
    is_list,
    list_lengths,
    numbers_of,
    pa,
    parquet,
    pc,
    to_numpy,
)
from ogive.readers.columns import find_columns
from ogive.readers.csv import decimal_of, load_csv, load_text, number_columns, write_csv
from ogive.readers.csv_text import separator_of
from ogive.readers.guard import CSV, TEXT, suffix_of
from ogive.readers.json_lines import load_json_lines
from ogive.readers.memory import check_fits
from ogive.readers.provenance import KEY, write_sidecar
from ogive.readers.sizes import table_bytes
from ogive.readers.source import WHOLE, Columns, Part, Source, is_positive

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from ogive._typing import AnyArray, IntArray
    from ogive.readers.columns import Layout
    from ogive.readers.provenance import Provenance
    from ogive.readers.source import Ask, Calibrated

_MAX_NAME_CHARACTERS = 1000  # of a class or a part; NumPy stores all names as long as the longest
_AS_LOG = "or measure it as a log (--one-pass), in pieces"


@dataclass(frozen=True, slots=True)
class _Rest:
    """The whole table, where in it the predictions are, and the rows of each part."""

    table: Any
    layout: Layout
    rows: dict[str, IntArray | slice]


def read(path: Path, ask: Ask) -> Source:
    """Read a table of predictions."""
    check_fits(path, table_bytes(path, ask.columns, whole=ask.whole), ask.memory, _AS_LOG)
    source = source_of(load(path, ask.columns, whole=ask.whole), ask.columns, path)
    if ask.whole and suffix_of(path) in CSV:
        return replace(source, rest=replace(source.rest, table=load_text(path)))
    return source


def source_of(table: Any, columns: Columns, path: Path) -> Source:  # noqa: ANN401
    """Find the predictions in a pyarrow table; `path` names it in errors."""
    if table.num_rows == 0:
        msg = f"{path} has no rows: it is empty."
        raise FileFormatError(msg)
    layout = find_columns(table.column_names, columns, path)
    values, kind = _values(table, layout, path), layout.kind
    rows = _rows_of_parts(table, path)
    labels = _optional(table, layout.truth, path)
    if layout.positive is not None and labels is not None:
        labels = is_positive(labels, layout.positive, f"{path}: `{layout.truth}`")
    weights = _optional(table, layout.weight, path)
    clusters = _optional(table, layout.cluster, path)
    parts = {
        part: Part(
            kind,
            values[at],
            None if labels is None else labels[at],
            None if weights is None else weights[at],
            None if layout.classes is None else np.array(layout.classes),
            () if layout.is_list else layout.values,
            layout.renormalise,
            clusters=None if clusters is None else clusters[at],
        )
        for part, at in rows.items()
    }
    return Source(path, parts, rest=_Rest(table, layout, rows))


def load(path: Path, columns: Columns | None = None, *, whole: bool = True) -> Any:  # noqa: ANN401
    """Read a file as a pyarrow.Table: all its columns, or (always of CSV) the predictions'."""
    suffix, columns = suffix_of(path), columns or Columns()
    if suffix in CSV:
        return load_csv(path, columns)
    if suffix in TEXT:
        return load_json_lines(path)
    # Not read_table: it would look for a dataset, and import pandas.
    with parquet.ParquetFile(path, pre_buffer=True) as file:
        names = file.schema_arrow.names
        table = file.read(columns=None if whole else find_columns(names, columns, path).needed)
        return checked(table, path)


def write(source: Source, path: Path, results: dict[str, Calibrated]) -> None:
    """Write the table with calibrated values in place of the old ones, other columns kept."""
    table = stamped(calibrated_table(source, results), source.origin)
    decimal = "."
    if suffix_of(source.path) in CSV:
        decimal = decimal_of(source.path, number_columns(source.rest.layout))
    with replacing(path) as beside:
        _store(table, beside, suffix_of(path), source.path, decimal)
        write_sidecar(path, source.origin, beside)


def stamped(table: Any, origin: Provenance | None) -> Any:  # noqa: ANN401
    """Return a table whose metadata says what calibrated it."""
    kept = {k: v for k, v in (table.schema.metadata or {}).items() if k != KEY.encode()}
    if origin is not None:
        kept[KEY.encode()] = origin.to_json().encode()
    return table.replace_schema_metadata(kept or None)


def calibrated_table(source: Source, results: dict[str, Calibrated]) -> Any:  # noqa: ANN401
    """Return the table with calibrated values in place of the old ones, and what pandas noted."""
    table = _with_results(source, results)
    own, noted = table.schema.metadata or {}, source.rest.table.schema.metadata or {}
    return table.replace_schema_metadata({**noted, **own})


def _with_results(source: Source, results: dict[str, Calibrated]) -> Any:  # noqa: ANN401
    rest: _Rest = source.rest
    values = _scatter(rest.rows, {part: r.values for part, r in results.items()})
    first = next(iter(results.values()))
    beside = {
        name: pa.array(_scatter(rest.rows, {part: r.beside[name] for part, r in results.items()}))
        for name in first.beside
    }
    if not first.is_matrix:
        return _with_scores(source, {"": pa.array(values), **beside}, results, pa)
    if len(rest.layout.values) == 1:
        lists = pa.FixedSizeListArray.from_arrays(pa.array(values.ravel()), values.shape[1])
        columns = {"probs": lists}
    else:
        used = rest.layout.values
        columns = {_prob_name(name): pa.array(values[:, k]) for k, name in enumerate(used)}
    return _with_columns(rest.table, rest.layout.values, columns | beside)


def _with_columns(table: Any, used: Sequence[str], columns: dict[str, Any]) -> Any:  # noqa: ANN401
    """Put columns where those that were used stood; others of their names get another one."""
    taken = set(columns) - set(used)
    table = table.rename_columns([_moved(name, taken, table) for name in table.column_names])
    place = table.column_names.index(used[0])
    table = table.drop_columns(list(used))
    for at, (name, column) in enumerate(columns.items()):
        table = table.add_column(place + at, name, column)
    return table


def _prob_name(column: str) -> str:
    """Return the name of the probabilities of a class, whose column was logit_… or prob_….

    >>> _prob_name("logit_cat")
    'prob_cat'
    """
    return "prob_" + column.partition("_")[2]


def _with_scores(
    source: Source,
    columns: dict[str, Any],
    results: dict[str, Calibrated],
    pa: Any,  # noqa: ANN401
) -> Any:  # noqa: ANN401
    """Put the calibrated scores where the values stood, beside them the band and the outcomes.

    The event is the view's, so that its outcomes take the place of those of the file. Columns of
    those names that are none of the predictions' keep their contents under other names.
    """
    rest: _Rest = source.rest
    table, layout = rest.table, rest.layout
    score, outcome = layout.names.score or "score", layout.names.outcome or "outcome"
    columns = {name or score: column for name, column in columns.items()}
    taken = {*columns, outcome} - {*layout.values, layout.truth}
    table = table.rename_columns([_moved(name, taken, table) for name in table.column_names])
    place = table.column_names.index(layout.values[0])
    table = table.drop_columns(list(layout.values))
    for at, (name, column) in enumerate(columns.items()):
        table = table.add_column(place + at, name, column)
    hits = {part: r.hits for part, r in results.items() if r.hits is not None}
    if len(hits) < len(results):
        return table
    if layout.truth == outcome and all(
        np.array_equal(h, np.asarray(source.parts[part].labels)) for part, h in hits.items()
    ):
        return table  # the outcomes are those of the file, in whatever words
    column = pa.array(_scatter(rest.rows, {part: h.astype(np.int8) for part, h in hits.items()}))
    if layout.truth != outcome:
        return table.add_column(place + len(columns), outcome, column)
    old = table.schema.field(outcome).type
    kind = old.value_type if pa.types.is_dictionary(old) else old
    return table.set_column(table.column_names.index(outcome), outcome, column.cast(kind))


def _moved(name: str, taken: set[str], table: Any) -> str:  # noqa: ANN401
    """Return the name of a column, or another one if it is taken."""
    if name in taken:
        while name in table.column_names:
            name += "_before"
    return name


def _store(
    table: Any,  # noqa: ANN401
    path: Path,
    suffix: str,
    source: Path | None = None,
    decimal: str = ".",
) -> None:
    """Write a table in a format; text with the separator of its source, if that is text too."""
    if suffix == ".parquet":
        parquet.write_table(table, path)
        return
    with gzip.open(path, "wb") if suffix.endswith(".gz") else path.open("wb") as file:
        if suffix in CSV:
            separator = separator_of(source) if source and suffix_of(source) in CSV else ","
            write_csv(table, file, "\t" if suffix.startswith(".tsv") else separator, decimal)
        else:
            for row in table.to_pylist():
                file.write((json.dumps(row, allow_nan=False, default=str) + "\n").encode())


def _scatter(rows: dict[str, IntArray | slice], results: dict[str, AnyArray]) -> AnyArray:
    """Put the results of the parts back into the order of the file."""
    first = next(iter(results.values()))
    n = sum(part.shape[0] for part in results.values())
    out = np.empty((n, *first.shape[1:]), dtype=first.dtype)
    for part, at in rows.items():
        out[at] = results[part]
    return out


def _values(table: Any, layout: Layout, path: Path) -> AnyArray:  # noqa: ANN401
    """Return the predictions of a table: a score, K columns, or a list column."""
    if layout.is_list:
        return _lists(table, layout.values[0], path)
    columns = [_numbers(table, name, path) for name in layout.values]
    return columns[0] if layout.kind == "scores" else np.stack(columns, axis=1)


def _lists(table: Any, name: str, path: Path) -> AnyArray:  # noqa: ANN401
    column = _joined(table, name, path)
    flat = numbers_of(column.flatten()) if is_list(column.type) else None
    if flat is None:
        msg = f"{path}: every row of `{name}` must be a list of numbers, but it is {column.type}."
        raise FileFormatError(msg)
    lengths = list_lengths(column)
    odd = lengths != lengths[0]
    if odd.any() or not lengths[0]:
        first = int(lengths[int(odd.argmax())])
        msg = (
            f"{path}: every row of `{name}` must be a list with one number for each class. Row 0 "
            f"has {lengths[0]:,}; other lengths: {rows_that(odd)} ({first:,} numbers)."
        )
        raise FileFormatError(msg)
    return flat.reshape(table.num_rows, int(lengths[0]))


def _numbers(table: Any, name: str, path: Path) -> AnyArray:  # noqa: ANN401
    column = _joined(table, name, path)
    values = numbers_of(column)
    if values is None:
        msg = f"{path}: the column `{name}` must be numbers, but is {column.type}."
        raise FileFormatError(msg)
    return values


def _column(table: Any, name: str, path: Path) -> AnyArray:  # noqa: ANN401
    """Return a column of numbers or of names."""
    column = _joined(table, name, path)
    values = numbers_of(column)
    if values is not None:
        return values.view(np.bool_) if str(column.type) == "bool" else values
    if pa.types.is_nested(column.type):
        msg = (
            f"{path}: the column `{name}` holds lists or records ({printable(str(column.type))}). "
            "Give one of numbers or names."
        )
        raise FileFormatError(msg)
    if not pa.types.is_dictionary(column.type):
        column = pc.dictionary_encode(column)
    names = [str(word) for word in column.dictionary.to_pylist()]
    longest = max(map(len, names), default=0)
    if longest > _MAX_NAME_CHARACTERS:
        msg = (
            f"{path}: the column `{name}` has a name of {longest:,} characters. Names have at most "
            f"{_MAX_NAME_CHARACTERS:,}: is it another column?"
        )
        raise FileFormatError(msg)
    return np.array(names, dtype=np.str_)[to_numpy(column.indices)]


def _joined(table: Any, name: str, path: Path) -> Any:  # noqa: ANN401
    column = table.column(name).combine_chunks()
    if hasattr(column, "chunks"):  # too long for one array of its type
        column = pa.concat_arrays(column.chunks)
    _no_nulls(column, name, path)
    return column


def _no_nulls(column: Any, name: str, path: Path) -> None:  # noqa: ANN401
    if column.null_count:
        missing = to_numpy(column.is_null())
        msg = f"{path}: the column `{name}` has no value in {rows_that(missing)}. Drop those rows."
        raise FileFormatError(msg)


def _optional(table: Any, name: str | None, path: Path) -> AnyArray | None:  # noqa: ANN401
    return None if name is None else _column(table, name, path)


def _rows_of_parts(table: Any, path: Path) -> dict[str, IntArray | slice]:  # noqa: ANN401
    if "part" not in table.column_names:
        return {WHOLE: slice(0, table.num_rows)}  # a slice copies nothing
    part = _column(table, "part", path)
    wrong = ~np.isin(part, ["cal", "test"])
    if wrong.any():
        first = part[int(wrong.argmax())]
        msg = f"{path}: the column `part` must be cal or test: {rows_that(wrong)} ({first!r})."
        raise FileFormatError(msg)
    return {name: np.flatnonzero(part == name) for name in ("cal", "test") if (part == name).any()}
