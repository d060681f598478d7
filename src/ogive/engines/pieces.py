"""Count a piece of a log: what a thread, a Dask worker or a Spark task does."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol

from ogive.engines.batches import Tallier, Tally
from ogive.engines.csv import Broken, csv_batches, numeric_types, raise_broken
from ogive.engines.formats import column_names, open_table
from ogive.engines.plan import CLASSWISE
from ogive.engines.rows import Where
from ogive.errors import FileFormatError, OgiveError, printable
from ogive.readers.arrow import pa
from ogive.readers.csv import decimal_of, number_columns
from ogive.readers.csv_text import check_rows, check_utf8, open_bytes, scan
from ogive.readers.guard import CSV, guarded, suffix_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from ogive.engines.formats import Piece
    from ogive.engines.plan import Plan

    Advance = Callable[[int], None]

_ROWS_PER_BATCH = 1 << 17  # of scores
_NUMBERS_PER_BATCH = 1 << 20  # of matrices
_NUMBERS_PER_BATCH_CLASSWISE = 1 << 21  # where every class is counted


def count_piece(piece: Piece, plan: Plan) -> Tally:
    """Return the tally of one piece."""
    counts = Tallier(plan)
    count_into(counts, piece)
    return counts.result()


class Counts(Protocol):
    """What takes in the rows of pieces: a `Tallier`, or a sample of rows."""

    plan: Plan
    rows: int
    skipped: int

    def add(self, batch: Any, where: Where | None = None) -> None: ...  # noqa: ANN401, D102

    def result(self) -> Any: ...  # noqa: ANN401, D102

    def include(self, other: Any) -> None: ...  # noqa: ANN401, D102

    def begun(self, plan: Plan) -> Counts: ...  # noqa: D102


def count_into(counts: Counts, piece: Piece, advance: Advance | None = None) -> None:
    """Add the rows of a piece to what was counted so far.

    `advance` receives how many rows were read; of a CSV file, how many bytes.
    """
    with guarded(piece.path):
        if suffix_of(piece.path) in CSV:
            _count_csv(counts, piece, advance)
            return
        where = Where(str(piece.path), piece.first)
        for batch in piece_batches(piece, counts.plan.needed, batch_rows(counts.plan)):
            _add(counts, batch, where)
            if advance is not None and piece.rows is not None:
                advance(batch.num_rows)


def _add(counts: Counts, batch: Any, where: Where) -> None:  # noqa: ANN401
    """Add a batch; an error that does not know the file gets its name."""
    try:
        counts.add(batch, where)
    except OgiveError as error:
        if str(error).startswith(where.file):
            raise
        msg = f"{where.file}: {error}"
        raise type(error)(msg) from error


def batch_rows(plan: Plan) -> int:
    """Return how many rows a batch has."""
    if plan.layout.kind == "scores":
        return _ROWS_PER_BATCH
    cells = _NUMBERS_PER_BATCH_CLASSWISE if CLASSWISE in plan.views else _NUMBERS_PER_BATCH
    return min(max(cells // plan.K, 64), _ROWS_PER_BATCH)


def piece_batches(piece: Piece, columns: Sequence[str], rows: int) -> Iterator[Any]:
    """Yield the record batches of a piece, with the columns of its folders' names."""
    inside, constant = split_columns(piece, columns)
    table = open_table(piece.path)
    with guarded(piece.path):
        for batch in table.batches(piece, inside, rows):
            yield _with_constants(batch, constant)


def split_columns(piece: Piece, columns: Sequence[str]) -> tuple[list[str], dict[str, str]]:
    """Return the columns that are in the file, and those in the names of its folders."""
    names, partition = column_names(piece.path), dict(piece.partition)
    missing = [name for name in columns if name not in names and name not in partition]
    if missing:
        msg = (
            f"{piece.path} has no column `{missing[0]}` (it has: {printable(', '.join(names))}). "
            "The files of a log must have the same columns."
        )
        raise FileFormatError(msg)
    inside = [name for name in columns if name in names]
    return inside, {name: partition[name] for name in columns if name not in names}


def _with_constants(batch: Any, values: dict[str, str]) -> Any:  # noqa: ANN401
    if not values:
        return batch
    columns = [*batch.columns, *(pa.repeat(value, batch.num_rows) for value in values.values())]
    return pa.RecordBatch.from_arrays(columns, names=[*batch.schema.names, *values])


def _count_csv(counts: Counts, piece: Piece, advance: Advance | None) -> None:
    """Count a CSV file: converted as it is read, or cell by cell if that fails.

    It has its own tally, so that nothing is counted twice if it has to be read again, and nothing
    is counted of a file whose lines and rows do not add up.
    """
    plan = counts.plan
    found = scan(piece.path)
    plan = replace(plan, decimal=decimal_of(piece.path, number_columns(plan.layout)))
    try:
        own = _read_csv(counts.begun(plan), piece, advance, newlines=found.has_newlines)
    except pa.ArrowInvalid:
        check_utf8(piece.path)
        as_text = counts.begun(replace(plan, text=True))
        own = _read_csv(as_text, piece, None, newlines=found.has_newlines)
    check_rows(piece.path, found, own.rows)
    counts.include(own)


def _read_csv(counts: Counts, piece: Piece, advance: Advance | None, *, newlines: bool) -> Any:  # noqa: ANN401
    plan = counts.plan
    columns, constant = split_columns(piece, plan.needed)
    broken = Broken(plan.skip_bad, piece.path) if plan.text else None
    where = Where(str(piece.path), 0, piece.path)
    if broken is not None:
        where.record = broken.record
    types = numeric_types(plan, text=plan.text)
    reported, rows = 0, batch_rows(plan)
    try:
        packed = piece.path.suffix.lower() == ".gz"
        how: dict[str, Any] = {"newlines": newlines, "types": types, "broken": broken}
        with open_bytes(piece.path) as file:
            words = plan.group_columns if plan.every is None else ()
            how |= {"file": file, "decimal": plan.decimal, "words": words}
            for batch in csv_batches(piece.path, columns, rows, **how):
                _add(counts, _with_constants(batch, constant), where)
                if advance is not None and not packed:  # the total of unpacked bytes is unknown
                    advance(file.tell() - reported)  # bytes read, a block or so ahead
                    reported = file.tell()
    except pa.ArrowInvalid as error:
        if broken is not None:
            raise_broken(broken, error)
        raise
    lost = 0 if broken is None else len(broken.records)
    counts.rows, counts.skipped = counts.rows + lost, counts.skipped + lost
    return counts.result()
