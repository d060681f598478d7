"""The functions that Spark's tasks run: they return counts, or an error, as a flat table."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from ogive import errors
from ogive.curve.summary import empty
from ogive.engines.batches import Tallier
from ogive.engines.cluster import count_share, cut
from ogive.engines.rows import Where
from ogive.engines.tally import Tally
from ogive.errors import OgiveError, need
from ogive.readers.arrow import pa, pc

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from ogive.engines.plan import Plan

    Batches = Callable[[Iterable[Any]], Iterator[Any]]

_ERROR = "(error)"  # the view of a row that carries an error
SENT = "counted"  # the column of whole tables


def of_shares(work: Sequence[Any], plan: Plan) -> Batches:
    """Return the function that counts the shares of work with the given numbers."""

    def count(batches: Iterable[Any]) -> Iterator[Any]:
        for batch in batches:
            for number in batch.column("id").to_pylist():
                yield from _table(partial(count_share, work[number], plan), plan, number)

    return count


def of_frame(plan: Plan) -> Batches:
    """Return the function that counts a partition of a data frame."""

    def count(batches: Iterable[Any]) -> Iterator[Any]:
        number = need("pyspark", extra="spark").TaskContext.get().partitionId()
        yield from _table(partial(_count, batches, plan, number), plan, number)

    return count


def _count(batches: Iterable[Any], plan: Plan, number: int) -> Tally:
    counts, where = Tallier(plan), Where(f"partition {number} of the data frame")
    # Spark sends 10,000 rows at a time: too few for the tables of a count.
    for several in _gathered(batches):
        for batch in pa.Table.from_batches(several).combine_chunks().to_batches():
            for part in cut(batch, plan):
                counts.add(part, where)
    return counts.result()


def _gathered(batches: Iterable[Any], size: int = 1 << 24) -> Iterator[list[Any]]:
    """Yield lists of batches that have about the given number of bytes together."""
    several: list[Any] = []
    for batch in batches:
        several.append(batch)
        if sum(b.nbytes for b in several) >= size:
            yield several
            several = []
    if several:
        yield several


def _table(count: Callable[[], Tally], plan: Plan, number: int) -> Iterator[Any]:
    """Yield what was counted as batches with the number of the task; or the error.

    Buckets have task 0 and add up. Rows that carry numbers of rows, or an error, have the task's
    own number and stay apart.
    """
    weighted = plan.layout.weight is not None
    try:
        tally, words = count(), ""
    except OgiveError as error:
        tally, words = Tally((), empty(plan.bits)), packed(error)
    if weighted and not tally.summary.weighted:
        tally = replace(tally, summary=empty(plan.bits, weighted=True))
    table = tally.to_table()
    if words:
        table = table.set_column(0, "view", pa.array([_ERROR])).set_column(
            1, "group", pa.array([words])
        )
    task = [0] * (table.num_rows - 1) + [number + 1]
    yield from table.append_column("task", pa.array(task, pa.int64())).to_batches()


def sent(count: Batches) -> Batches:
    """Return a function whose task returns its whole table as one value.

    Spark turns each value of a result into its own form and back: of a table of 65,536 buckets
    that takes longer than counting a million rows.
    """

    def work(batches: Iterable[Any]) -> Iterator[Any]:
        tables = list(count(batches))
        if tables:
            stream = pa.BufferOutputStream()
            with pa.ipc.new_stream(stream, tables[0].schema) as writer:
                for table in tables:
                    writer.write_batch(table)
            value = pa.array([stream.getvalue().to_pybytes()])
            yield pa.RecordBatch.from_arrays([value], [SENT])

    return work


def received(values: Any) -> Any:  # noqa: ANN401 - tables of Arrow
    """Return the tables that tasks have sent, one below the other."""
    return pa.concat_tables(
        pa.ipc.open_stream(value.as_buffer()).read_all() for value in values[SENT]
    )


def packed(error: OgiveError) -> str:
    """Return an error as text that `unpacked` reads."""
    return json.dumps([type(error).__name__, str(error)])


def unpacked(words: str) -> OgiveError:
    """Return the error that was packed, of its own kind."""
    name, message = json.loads(words)
    kind = getattr(errors, name, OgiveError)
    return kind(message)


def raise_first(table: Any) -> None:  # noqa: ANN401
    """Raise the error of the first task that has one."""
    bad = table.filter(pc.equal(table["view"], _ERROR)).sort_by("task")
    if bad.num_rows:
        raise unpacked(bad["group"][0].as_py())
