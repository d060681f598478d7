"""A record batch becomes arrays; rows that break a rule are named, or left out and counted."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ogive.errors import FileFormatError, InvalidInput, need
from ogive.readers.arrow import to_numpy

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ogive._typing import AnyArray, BoolArray, FloatArray, IntArray
    from ogive.engines.plan import Plan

_SUM_TOLERANCE = 1e-3
NO_GROUP = "(none)"  # the name of the group of rows that have none


@dataclass(slots=True)
class Where:
    """The file a batch is from, and the row in it of the batch's first row (from 0)."""

    file: str
    row: int = 0

    def of(self, index: int) -> str:
        """Name a row of the batch."""
        return f"{self.file}: row {self.row + index:,}"


class Rows:
    """Checked rows of a batch.

    values : (n,) scores or log-odds, or (n, K)
    truth : (n,) outcomes as booleans, or indices of classes
    weights : (n,) or None
    group : (n,) indices into `names`, or None
    skipped : how many rows of the batch were left out
    """

    def __init__(
        self,
        values: AnyArray,
        truth: AnyArray,
        weights: FloatArray | None,
        group: IntArray | None,
        names: list[str],
    ) -> None:
        self.values, self.truth, self.weights = values, truth, weights
        self.group, self.names = group, names
        self.skipped = 0

    @property
    def n(self) -> int:
        """How many rows there are."""
        return int(self.values.shape[0])

    @cached_property
    def order(self) -> IntArray:
        """The order that brings the rows of each group together."""
        assert self.group is not None  # noqa: S101 - asked for with groups only
        few = len(self.names) < 1 << 15
        return np.argsort(self.group.astype(np.int16) if few else self.group, kind="stable")

    def segments(self) -> Iterator[tuple[str, slice]]:
        """Yield each group with its rows, in that order."""
        assert self.group is not None  # noqa: S101 - as above
        ends = np.cumsum(np.bincount(self.group, minlength=len(self.names)))
        start = 0
        for name, end in zip(self.names, ends.tolist(), strict=True):
            if end > start:
                yield name, slice(start, end)
            start = end


@dataclass(frozen=True, slots=True)
class _Fault:
    """Rows that break a rule: which, and the rule with the first value."""

    bad: BoolArray
    column: str
    rule: str
    values: Any  # the Arrow column

    def words(self, index: int) -> str:
        value = self.values[index].as_py()
        shown = "no value" if value is None else f"{value}"
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
            at = Where(place.file, first).of(index)
            msg = f"{at}: {why}. Mend it, or leave such rows out: --skip-bad (skip_bad=True)."
            raise InvalidInput(msg) from None
        skipped = int(bad.sum())
        pa = need("pyarrow", extra="files")
        kept = _of_part(batch.filter(pa.array(~bad)), plan)
        rows = _rows(kept, plan)
    rows.skipped = skipped
    return rows


def _of_part(batch: Any, plan: Plan) -> Any:  # noqa: ANN401
    """Return the rows of the part that is asked for."""
    if plan.layout.part is None or plan.part in {None, "all"}:
        return batch
    pc = need("pyarrow.compute", extra="files")
    part = batch.column(plan.layout.part)
    if part.null_count or not _all(pc.is_in(part, need("pyarrow", extra="files").array(_PARTS))):
        msg = "`part` must be cal or test."
        raise InvalidInput(msg)
    return batch.filter(pc.equal(part, plan.part))


_PARTS = ["cal", "test"]


def _all(mask: Any) -> bool:  # noqa: ANN401
    return bool(mask.false_count == 0 and mask.null_count == 0)


def _rows(batch: Any, plan: Plan) -> Rows:  # noqa: ANN401
    """Return the rows if all are good; raise InvalidInput if some are not."""
    layout = plan.layout
    assert layout.truth is not None  # noqa: S101 - a plan has one
    values = _values(batch, plan)
    truth = numbers(batch.column(layout.truth), layout.truth, plan)
    weights = None
    if layout.weight is not None:
        weights = numbers(batch.column(layout.weight), layout.weight, plan).astype(np.float64)
    group, names = _groups(batch, plan)
    if batch.num_rows == 0:
        return Rows(values, truth.astype(np.bool_), weights, group, names)
    if weights is not None and not (weights.min() >= 0 and weights.max() < np.inf):
        _refuse()
    if layout.kind == "scores":
        if not (values.min() >= 0 and values.max() <= 1):
            _refuse()
        hit = truth.astype(np.bool_)
        if truth.dtype != np.bool_ and (truth != hit).any():
            _refuse()
        return Rows(values, hit, weights, group, names)
    whole = truth if truth.dtype.kind in "iu" else _whole(truth)
    if not (whole.min() >= 0 and whole.max() < plan.K) or _bad_values(values, plan).any():
        _refuse()
    return Rows(values, whole, weights, group, names)


def _refuse() -> None:
    msg = "some rows of a batch break a rule."
    raise InvalidInput(msg)


def _whole(truth: AnyArray) -> IntArray:
    if not (np.isfinite(truth) & (np.floor(truth) == truth)).all():
        _refuse()
    whole: IntArray = truth.astype(np.int64)
    return whole


def numbers(column: Any, name: str, plan: Plan) -> AnyArray:  # noqa: ANN401
    """Return an Arrow column as numbers, NaN where there is none."""
    pa = need("pyarrow", extra="files")
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    kind = column.type
    if pa.types.is_null(kind):
        return np.full(len(column), np.nan)
    if pa.types.is_boolean(kind):
        column = column.cast(pa.int8())
    elif pa.types.is_decimal(kind):
        column = column.cast(pa.float64())
    elif plan.text and (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        return np.array([_number(text) for text in column.to_pylist()], dtype=np.float64)
    elif not (pa.types.is_floating(kind) or pa.types.is_integer(kind)):
        msg = f"the column `{name}` must be numbers, but is {kind}."
        raise FileFormatError(msg)
    return to_numpy(column)


def _number(text: str | None) -> float:
    """Return what a cell of a CSV file says, NaN if it is no number."""
    try:
        return float(text) if text is not None else np.nan
    except ValueError:
        return np.nan


def _values(batch: Any, plan: Plan) -> AnyArray:  # noqa: ANN401
    layout = plan.layout
    if layout.is_list:
        return _lists(batch.column(layout.values[0]), layout.values[0], plan)
    columns = [numbers(batch.column(name), name, plan) for name in layout.values]
    return columns[0] if len(columns) == 1 else np.stack(columns, axis=1)


def _lists(column: Any, name: str, plan: Plan) -> AnyArray:  # noqa: ANN401
    if column.null_count or not (_lengths(column) == plan.K).all():
        _refuse()
    flat = numbers(column.flatten(), name, plan)
    return flat.reshape(len(column), plan.K)


def _lengths(column: Any) -> AnyArray:  # noqa: ANN401
    pc = need("pyarrow.compute", extra="files")
    return to_numpy(pc.fill_null(pc.list_value_length(column), 0))


def _groups(batch: Any, plan: Plan) -> tuple[IntArray | None, list[str]]:  # noqa: ANN401
    """Return the group of each row as an index into names."""
    if plan.by is None:
        return None, []
    pa, pc = need("pyarrow", extra="files"), need("pyarrow.compute", extra="files")
    column = batch.column(plan.by)
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    encoded = pc.dictionary_encode(column, null_encoding="encode")
    names = [NO_GROUP if value is None else str(value) for value in encoded.dictionary.to_pylist()]
    distinct = sorted(set(names))  # values that read the same are one group
    number = {name: i for i, name in enumerate(distinct)}
    to = np.array([number[name] for name in names], dtype=np.int64)
    index = to_numpy(encoded.indices)
    return (to[index] if to.size else np.empty(0, dtype=np.int64)), distinct


def _faults(batch: Any, plan: Plan) -> list[_Fault]:  # noqa: ANN401
    """Look again at every row of a batch that was refused; the first fault of a row counts."""
    layout, n = plan.layout, batch.num_rows
    faults: list[_Fault] = []
    assert layout.truth is not None  # noqa: S101 - a plan has one

    def note(bad: BoolArray, column: str, rule: str) -> None:
        shown = batch.column(column)
        faults.append(_Fault(bad, column, rule, shown))

    if layout.part is not None and plan.part is not None:
        part = batch.column(layout.part).to_pylist()
        note(np.array([value not in _PARTS for value in part], np.bool_), layout.part,
             "must be cal or test")  # fmt: skip
    if layout.kind == "scores":
        score = numbers(batch.column(layout.values[0]), layout.values[0], plan)
        note(~((score >= 0) & (score <= 1)), layout.values[0], "must be a number in [0, 1]")
    else:
        _note_matrix(batch, plan, note)
    truth = numbers(batch.column(layout.truth), layout.truth, plan)
    if layout.kind == "scores":
        note(~np.isin(truth, [0, 1]), layout.truth, "must be 0 or 1")
    else:
        with np.errstate(invalid="ignore"):
            inside = (truth >= 0) & (truth < plan.K) & (np.floor(truth) == truth)
        note(~inside, layout.truth, f"must be a whole number in [0, {plan.K})")
    if layout.weight is not None:
        weight = numbers(batch.column(layout.weight), layout.weight, plan)
        note(~((weight >= 0) & (weight < np.inf)), layout.weight, "must be finite and >= 0")
    assert all(fault.bad.size == n for fault in faults)  # noqa: S101 - one entry per row
    return faults


def _note_matrix(batch: Any, plan: Plan, note: Any) -> None:  # noqa: ANN401
    """Note the rows of a matrix that break a rule."""
    layout, n = plan.layout, batch.num_rows
    rule = (
        "must have no NaN and no +inf, and one that is finite"
        if layout.kind == "logits"
        else "must be >= 0 and sum to 1"
    )
    good = np.ones(n, dtype=np.bool_)
    column: Any = layout.values[0]
    if layout.is_list:
        lists = batch.column(column)
        good = to_numpy(lists.is_valid()) & (_lengths(lists) == plan.K)
        note(~good, column, f"must be a list of {plan.K} numbers")
        pa = need("pyarrow", extra="files")
        batch = batch.filter(pa.array(good))
    bad = np.zeros(n, dtype=np.bool_)
    if batch.num_rows:
        bad[good] = _bad_values(_values(batch, plan), plan)
    note(bad, column, rule)


def _bad_values(values: AnyArray, plan: Plan) -> BoolArray:
    """Return which rows are no logits, or no probabilities."""
    matrix = values.reshape(values.shape[0], -1)
    if plan.layout.kind == "logits":
        top = matrix.max(axis=1)
        bad: BoolArray = ~np.isfinite(top) if matrix.shape[1] > 1 else ~(top < np.inf)
        return bad
    if matrix.shape[1] == 1:
        return ~((matrix[:, 0] >= 0) & (matrix[:, 0] <= 1))
    sums = matrix.sum(axis=1, dtype=np.float64)
    good: BoolArray = (np.abs(sums - 1.0) <= _SUM_TOLERANCE) & (matrix.min(axis=1) >= 0)
    return ~good
