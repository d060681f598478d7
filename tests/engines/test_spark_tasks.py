"""What Spark's tasks run, here without Spark."""

import sys
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest

from ogive.engines.cluster import Frame, count_share, count_table, shares
from ogive.engines.files import open_log
from ogive.engines.spark_tasks import (
    _gathered,
    of_frame,
    of_shares,
    packed,
    raise_first,
    received,
    sent,
    unpacked,
)
from ogive.engines.tally import Tally
from ogive.errors import InvalidInput, OgiveError
from tests.engines.logs import rows_of, spoiled, write_log


@pytest.fixture
def second_partition(monkeypatch):
    """A pyspark that only says: this is partition 1."""
    context = SimpleNamespace(partitionId=lambda: 1)
    fake = SimpleNamespace(TaskContext=SimpleNamespace(get=lambda: context))
    monkeypatch.setitem(sys.modules, "pyspark", fake)


def numbers(n):
    return [pa.RecordBatch.from_pydict({"id": list(range(n))})]


@pytest.mark.parametrize("weight", [True, False])
def test_shares_sent_as_one_value_add_up_to_the_log(tmp_path, weight):
    table = rows_of(3000) if weight else rows_of(3000).drop_columns("weight")
    log = open_log(write_log(tmp_path / "log", table, 3))
    plan = log.plan(bits=9)
    work = shares(log.pieces, 1, 2)
    assert len(work) > 1
    values = pa.Table.from_batches(sent(of_shares(work, plan))(numbers(len(work))))
    whole = received(values)
    raise_first(whole)
    tally = Tally.from_tables([whole], plan)
    assert tally.rows == 3000
    assert tally.summary.weighted == weight
    whole_log = count_share(log.pieces, plan).summary
    np.testing.assert_allclose(whole_log.sums, tally.summary.sums, rtol=1e-12)
    assert weight or whole_log == tally.summary  # whole numbers add up to the last bit


def test_no_share_sends_nothing():
    assert list(sent(of_shares([], None))([])) == []


def test_a_partition_counts_as_its_table(second_partition):
    table = rows_of(2500)
    plan = Frame(table.column_names, len, None).plan(bits=9)
    batches = table.select(plan.needed).to_batches(max_chunksize=1000)
    counted = Tally.from_tables([pa.Table.from_batches(of_frame(plan)(batches))], plan)
    expected = count_table(table.select(plan.needed), plan, 1)
    assert (counted.rows, counted.summary) == (expected.rows, expected.summary)


def test_a_bad_row_comes_back_as_the_error_it_was(second_partition):
    table = spoiled(rows_of(2500), row=1200)
    plan = Frame(table.column_names, len, None).plan(bits=9)
    result = pa.Table.from_batches(of_frame(plan)(table.select(plan.needed).to_batches()))
    with pytest.raises(InvalidInput, match=r"partition 1 of the data frame: row 1,200"):
        raise_first(result)


def test_the_error_of_the_first_task_is_raised(tmp_path):
    folder = write_log(tmp_path / "log", spoiled(spoiled(rows_of(3000), 2500), 1500), 3)
    log = open_log(folder)
    plan, work = log.plan(bits=9), shares(log.pieces, 1, 8)
    with pytest.raises(InvalidInput, match=r"part-001\.parquet"):
        raise_first(pa.Table.from_batches(of_shares(work, plan)(numbers(len(work)))))


def test_batches_are_gathered_up_to_a_size():
    batches = rows_of(1000).select(["score"]).to_batches(max_chunksize=100)  # 800 bytes each
    found = list(_gathered(batches, size=2000))
    assert [len(several) for several in found] == [3, 3, 3, 1]
    assert [b for several in found for b in several] == batches
    assert list(_gathered([])) == []


def test_an_error_keeps_its_kind_and_words():
    assert (type(back := unpacked(packed(InvalidInput("row 3")))), str(back)) == (
        InvalidInput,
        "row 3",
    )
    assert type(unpacked('["Unknown", "?"]')) is OgiveError
