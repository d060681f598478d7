"""A record batch becomes arrays; rows that break a rule are named, or left out and counted."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ogive.engines.grouping import groupings_of
from ogive.errors import FileFormatError, InvalidInput, printable
from ogive.readers.arrow import is_list, list_lengths, numbers_of, pa, pc, to_numpy
from ogive.readers.csv_text import line_of, number
from ogive.rows.check import HEAVIEST, MOST_REPETITIONS, SUM_TOLERANCE
from ogive.rows.labels import shown
from ogive.rows.predictions import distance_from_one, divided_by_sum

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from ogive._typing import AnyArray, BoolArray, FloatArray, IntArray
    from ogive.engines.grouping import Grouping
    from ogive.engines.plan import Plan

_OUTCOMES = 2


def _next(row: int) -> int:
    return row + 1


@dataclass(slots=True)
class Where:
    """The file a batch is from, and the row in it of the batch's first row (from 0)."""

    file: str
    row: int = 0
    text: Path | None = None  # a CSV file, of which lines are named
    record: Callable[[int], int] = _next  # of a CSV file: the record that became a row

    def of(self, index: int) -> str:
        """Name a row of the batch."""
        row = self.row + index
        if self.text is not None:
            return f"{self.file}: line {line_of(self.text, self.record(row)):,}"
        return f"{self.file}: row {row:,}"


class Rows:
    """Checked rows of a batch.

    values : (n,) scores or log-odds, or (n, K)
    truth : (n,) outcomes as booleans, or indices of classes
    weights : (n,) or None
    groupings : the groups of each column and combination that the plan asks for
    skipped : how many rows of the batch were left out
    """

    def __init__(
        self,
        values: AnyArray,
        truth: AnyArray,
        weights: FloatArray | None,
        groupings: tuple[Grouping, ...],
    ) -> None:
        self.values, self.truth, self.weights = values, truth, weights
        self.groupings = groupings
        self.skipped = 0

    @property
    def n(self) -> int:
        """How many rows there are."""
        return int(self.values.shape[0])


@dataclass(frozen=True, slots=True)
class _Fault:
    """Rows that break a rule: which, and the rule with the first value."""

    bad: BoolArray
    column: str
    rule: str
    values: Any  # the Arrow column

    def words(self, index: int) -> str:
        value = self.values[index].as_py()
        shown = "no value" if value is None else printable(value)
        return f"`{self.column}` {self.rule} ({shown})"


def read_rows(batch: Any, plan: Plan, where: Where | None = None) -> Rows:  # noqa: ANN401
    """Return the rows of a batch, of the plan's part.

    A row that breaks a rule is an error that names it, unless the plan skips bad rows. `where`
    moves on to the next batch.
    """
    place = where or Where("the batch")
    first, place.row = place.row, place.row + batch.num_rows
    kept, skipped = batch, 0
    try:
        kept, rows = _of_part(batch, plan), None
        rows = _rows(kept, plan)
    except InvalidInput:
        faults = _faults(batch, plan)
        bad = np.logical_or.reduce([fault.bad for fault in faults])
        if not bad.any():
            raise
        if not plan.skip_bad:
            index = int(bad.argmax())
            why = next(fault.words(index) for fault in faults if fault.bad[index])
            at = replace(place, row=first).of(index)
            msg = f"{at}: {why}. Correct it, or skip such rows: --skip-bad (skip_bad=True)."
            raise InvalidInput(msg) from None
        skipped = int(bad.sum())
        kept = _of_part(batch.filter(pa.array(~bad)), plan)
        rows = _rows(kept, plan)
    rows.skipped = skipped
    return rows


def _of_part(batch: Any, plan: Plan) -> Any:  # noqa: ANN401
    """Return the rows of the part that is asked for."""
    if plan.layout.part is None:
        return batch
    part = batch.column(plan.layout.part)
    part = part.dictionary_decode() if pa.types.is_dictionary(part.type) else part
    part = part.cast(pa.string(), safe=False)
    if part.null_count or not _all(pc.is_in(part, pa.array(_PARTS))):
        msg = "`part` must be cal or test."
        raise InvalidInput(msg)
    return batch if plan.part in {None, "all"} else batch.filter(pc.equal(part, plan.part))


_PARTS = ["cal", "test"]


def _all(mask: Any) -> bool:  # noqa: ANN401
    return bool(mask.false_count == 0 and mask.null_count == 0)


def _rows(batch: Any, plan: Plan) -> Rows:  # noqa: ANN401
    """Return the rows if all are good; raise InvalidInput if some are not."""
    layout = plan.layout
    values = _values(batch, plan)
    truth = _truth(batch, plan)
    weights = None
    if layout.weight is not None:
        weights = numbers(batch.column(layout.weight), layout.weight, plan).astype(np.float64)
    groups = groupings_of(batch, plan)
    if layout.renormalise and values.ndim > 1:
        values = divided_by_sum(values)
    if batch.num_rows == 0:
        return Rows(values, truth.astype(np.bool_), weights, groups)
    if weights is not None and _bad_weights(weights, plan).any():
        _refuse()
    if layout.kind == "scores":
        if not (values.min() >= 0 and values.max() <= 1):
            _refuse()
        hit = truth.astype(np.bool_)
        if truth.dtype != np.bool_ and (truth != hit).any():
            _refuse()
        return Rows(values, hit, weights, groups)
    whole = truth if truth.dtype.kind in "iu" else _whole(truth)
    if not (whole.min() >= 0 and whole.max() < plan.K) or _bad_values(values, plan).any():
        _refuse()
    return Rows(values, whole, weights, groups)


def _truth(batch: Any, plan: Plan) -> AnyArray:  # noqa: ANN401
    """Return outcomes as 0 and 1, or labels as the numbers of columns; NaN where there is none."""
    layout = plan.layout
    if layout.truth is None:
        return np.zeros(batch.num_rows, dtype=np.int64)
    column = batch.column(layout.truth)
    if layout.classes is None and layout.positive is None:
        return numbers(column, layout.truth, plan)
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    words = column.cast(pa.string())
    if pa.types.is_floating(column.type):
        words = column.cast(pa.int64(), safe=False).cast(pa.string())
    if layout.positive is None:
        return to_numpy(pc.index_in(words, pa.array(layout.classes)))
    found = words.drop_null().unique().to_pylist()
    if len(found) > _OUTCOMES or (len(found) == _OUTCOMES and layout.positive not in found):
        msg = (
            f"the column `{layout.truth}` must be {layout.positive!r} or one other value, but is "
            f"{shown(found)}. Name the value that counts as 1: --positive WORD."
        )
        raise FileFormatError(msg)
    return to_numpy(pc.equal(words, layout.positive).cast(pa.int8()))


def _heaviest(plan: Plan) -> float:
    """Return the largest weight of a row: repetitions have to be counted one by one."""
    return MOST_REPETITIONS if plan.weight_kind == "repetition" else HEAVIEST


def _refuse() -> None:
    msg = "some rows of a batch break a rule."
    raise InvalidInput(msg)


def _whole(truth: AnyArray) -> IntArray:
    if not (np.isfinite(truth) & (np.floor(truth) == truth)).all():
        _refuse()
    return truth.astype(np.int64)


def numbers(column: Any, name: str, plan: Plan) -> AnyArray:  # noqa: ANN401
    """Return an Arrow column as numbers, NaN where there is none."""
    found = numbers_of(column)
    if found is not None:
        return found
    if plan.text and pa.types.is_string(column.type):
        return np.array([number(text, plan.decimal) for text in column.to_pylist()])
    msg = f"the column `{name}` must be numbers, but is {column.type}."
    if name == plan.layout.truth:
        scores = plan.layout.kind == "scores"
        msg += f" For words: {'--positive WORD' if scores else '--classes A,B,…'}"
    raise FileFormatError(msg)


def _values(batch: Any, plan: Plan) -> AnyArray:  # noqa: ANN401
    layout = plan.layout
    if layout.is_list:
        return _lists(batch.column(layout.values[0]), layout.values[0], plan)
    columns = [numbers(batch.column(name), name, plan) for name in layout.values]
    return columns[0] if len(columns) == 1 else np.stack(columns, axis=1)


def _lists(column: Any, name: str, plan: Plan) -> AnyArray:  # noqa: ANN401
    if not is_list(column.type):
        msg = f"the column `{name}` must be lists of numbers, but is {column.type}."
        raise FileFormatError(msg)
    if column.null_count or not (list_lengths(column) == plan.K).all():
        _refuse()
    flat = numbers(column.flatten(), name, plan)
    return flat.reshape(len(column), plan.K)


def _faults(batch: Any, plan: Plan) -> list[_Fault]:  # noqa: ANN401
    """Check every row of a batch that was refused; the first fault of a row counts."""
    layout, n = plan.layout, batch.num_rows
    faults: list[_Fault] = []

    def note(bad: BoolArray, column: str, rule: str) -> None:
        shown = batch.column(column)
        faults.append(_Fault(bad, column, rule, shown))

    if layout.part is not None:
        part = batch.column(layout.part).to_pylist()
        note(np.array([value not in _PARTS for value in part], np.bool_), layout.part,
             "must be cal or test")  # fmt: skip
    if layout.kind == "scores":
        score = numbers(batch.column(layout.values[0]), layout.values[0], plan)
        note(~((score >= 0) & (score <= 1)), layout.values[0], "must be a number in [0, 1]")
    else:
        _note_matrix(batch, plan, note)
    truth = _truth(batch, plan)
    if layout.truth is None:
        pass
    elif layout.kind == "scores":
        words = plan.text and bool(np.isnan(truth).any())
        rule = "must be 0 or 1" + " (words? --positive WORD)" * words
        note(~np.isin(truth, [0, 1]), layout.truth, rule)
    else:
        with np.errstate(invalid="ignore"):
            inside = (truth >= 0) & (truth < plan.K) & (np.floor(truth) == truth)
        rule = f"must be a whole number in [0, {plan.K}) (other labels? --classes A,B,…)"
        if layout.classes is not None:
            rule = f"must be one of the classes {shown(layout.classes)}"
        note(~inside, layout.truth, rule)
    if layout.weight is not None:
        weight = numbers(batch.column(layout.weight), layout.weight, plan)
        rule = f"must be 0, or from {1 / HEAVIEST:g} to {_heaviest(plan):g}"
        note(_bad_weights(weight, plan), layout.weight, f"{rule} as {plan.weight_kind} weight")
    assert all(fault.bad.size == n for fault in faults)  # noqa: S101 - one entry per row
    return faults


def _bad_weights(weights: AnyArray, plan: Plan) -> BoolArray:
    inside = (weights >= 1 / HEAVIEST) & (weights <= _heaviest(plan))
    bad: BoolArray = ~((weights == 0) | inside)
    return bad


def _note_matrix(batch: Any, plan: Plan, note: Any) -> None:  # noqa: ANN401
    """Note the rows of a matrix that break a rule."""
    layout, n = plan.layout, batch.num_rows
    rule = (
        "must have no NaN and no +inf, and one that is finite"
        if layout.kind == "logits"
        else "must be >= 0 and sum to 1 (rounded? --renormalise)"
    )
    good = np.ones(n, dtype=np.bool_)
    column: Any = layout.values[0]
    if layout.is_list:
        lists = batch.column(column)
        good = to_numpy(lists.is_valid()) & (list_lengths(lists) == plan.K)
        note(~good, column, f"must be a list of {plan.K} numbers")
        batch = batch.filter(pa.array(good))
    bad = np.zeros(n, dtype=np.bool_)
    if batch.num_rows:
        values = _values(batch, plan)
        values = divided_by_sum(values) if layout.renormalise else values
        bad[good] = _bad_values(values, plan)
    note(bad, column, rule)


def _bad_values(values: AnyArray, plan: Plan) -> BoolArray:
    """Return which rows are invalid as logits, or as probabilities."""
    matrix = values.reshape(values.shape[0], -1)
    if plan.layout.kind == "logits":
        top = matrix.max(axis=1)
        bad: BoolArray = ~np.isfinite(top) if matrix.shape[1] > 1 else ~(top < np.inf)
        return bad
    if matrix.shape[1] == 1:
        return ~((matrix[:, 0] >= 0) & (matrix[:, 0] <= 1))
    good: BoolArray = (distance_from_one(matrix) <= SUM_TOLERANCE) & (matrix.min(axis=1) >= 0)
    return ~good
