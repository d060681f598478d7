"""Shared by the engines of clusters: data frames read like logs, and how work is divided."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ogive.engines.batches import Tallier
from ogive.engines.files import Log, open_log
from ogive.engines.pieces import batch_rows, count_into
from ogive.engines.plan import Options
from ogive.engines.refine import limit_in
from ogive.engines.rows import Where
from ogive.errors import FileFormatError, InvalidType
from ogive.readers.arrow import pc
from ogive.readers.columns import find_columns
from ogive.readers.memory import parse_memory
from ogive.readers.source import Columns

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ogive.engines.formats import Piece
    from ogive.engines.plan import Plan, ReadOptions
    from ogive.engines.tally import Tally

    Share = tuple[Piece, ...]

TASKS_PER_CORE = 8  # with several short tasks, all cores finish at about the same time
_MAX_PIECES_OF_A_TASK = 64  # a lost task is done again: it should not be long
_CORES_IF_UNKNOWN = 100  # of a cluster that has no workers yet, or does not report them
_GROUPS_IF_UNKNOWN = 100


class Frame(Log):
    """The columns of an engine's data frame, with the interface of a log of files.

    The number of rows of a frame is unknown before they are read, so its buckets are those of
    a long log unless `bits` says otherwise.
    """

    def __init__(
        self, names: Sequence[str], width: Callable[[str], int], columns: Columns | None
    ) -> None:
        """Store the columns' names, and the length of the first list of a column of lists."""
        super().__init__((), columns or Columns())
        layout = find_columns(list(names), self.columns, self.name)
        self.__dict__.update(
            names_of={Path(self.name): list(names)}, pieces=(), _held=(layout, 0), _width=width
        )

    @property
    def names(self) -> list[str]:
        """The columns."""
        return next(iter(self.names_of.values()))

    @property
    def name(self) -> str:
        """The name used in errors."""
        return "the data frame"

    @property
    def rows(self) -> None:
        """How many rows there are: not known."""

    @property
    def classes(self) -> int:
        """How many classes the rows have: 2 for scores."""
        if not self.layout.is_list:
            return 2 if self.layout.kind == "scores" else len(self.layout.values)
        width: int = self.__dict__["_width"](self.layout.values[0])
        if not width:
            msg = f"{self.name}: no row of `{self.layout.values[0]}` has numbers."
            raise FileFormatError(msg)
        return width

    def groups(self, by: str) -> int:  # noqa: ARG002
        """How many groups there are: not known, and expected to be many."""
        return _GROUPS_IF_UNKNOWN

    def _is_short(self, plan: Plan) -> bool:  # noqa: ARG002 - who knows
        return False


def source_of(
    data: Any,  # noqa: ANN401 - paths or a data frame
    kind: Any,  # noqa: ANN401 - the class of data frames
    engine: str,
    width: Callable[[str], int],
    asked: Options,
) -> tuple[Log, Any]:
    """Return what is read: the log of files, or the frame's columns with the frame."""
    if is_paths(data):
        return open_log(data, asked.columns, skip_bad=asked.skip_bad), None
    if not isinstance(data, kind):
        msg = f"`data` must be a {engine} data frame or paths, not {type(data).__name__}."
        raise InvalidType(msg)
    return Frame([str(name) for name in data.columns], width, asked.columns), data


def planned(
    log: Log,
    view: Any,  # noqa: ANN401 - a view or several
    options: ReadOptions,
) -> tuple[Plan, int]:
    """Return the plan of reading a log, and how many rows a further reading may collect."""
    plan, budget = log.plan(view, **options), parse_memory(Options(**options).memory)
    log.check_memory(plan.needed, budget)
    return replace(plan, budget=budget), limit_in(budget)


def is_paths(data: object) -> bool:
    """Return whether data are paths, and not a data frame."""
    if isinstance(data, str | os.PathLike):
        return True
    return isinstance(data, Sequence) and all(isinstance(p, str | os.PathLike) for p in data)


def shares(pieces: Sequence[Piece], cores: int, tasks: int = 0) -> list[Share]:
    """Deal pieces to tasks, neighbours together: some tasks for each core, none too long.

    A task adds up its pieces as it goes, which is cheaper than bringing their tallies together.
    Workers may have another current folder, so the paths become absolute.
    """
    whole = [replace(piece, path=piece.path.absolute()) for piece in pieces]
    most = (tasks or TASKS_PER_CORE) * (cores or _CORES_IF_UNKNOWN)
    each = min(-(-len(whole) // most), _MAX_PIECES_OF_A_TASK)
    return [tuple(whole[i : i + each]) for i in range(0, len(whole), max(each, 1))]


def count_share(share: Share, plan: Plan) -> Tally:
    """Count pieces: the same however often it is done, so a lost task is done again."""
    counts = Tallier(plan)
    for piece in share:
        count_into(counts, piece)
    return counts.result()


def cut(batch: Any, plan: Plan) -> Iterator[Any]:  # noqa: ANN401 - a record batch
    """Cut a record batch of any length to the length of a file's batches."""
    rows = batch_rows(plan)
    for start in range(0, batch.num_rows, rows):
        yield batch.slice(start, rows)


def count_table(table: Any, plan: Plan, number: int) -> Tally:  # noqa: ANN401 - a pyarrow.Table
    """Count one partition of a data frame."""
    counts, where = Tallier(plan), Where(f"partition {number} of the data frame")
    for batch in table.to_batches():
        for part in cut(batch, plan):
            counts.add(part, where)
    return counts.result()


def first_length(values: Any) -> int:  # noqa: ANN401 - an Arrow column
    """Return the length of the first list that is not empty, 0 if there is none."""
    lengths = pc.drop_null(pc.list_value_length(values)).to_pylist()
    return next((n for n in lengths if n), 0)
