"""Times become days, weeks and batches."""

import datetime as dt

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ogive.engines import local
from ogive.engines.periods import period_of
from ogive.errors import FileFormatError

MOMENTS = [
    dt.datetime(2026, 5, day, hour)  # noqa: DTZ001 - as most tables have them
    for day in (2, 3, 4)
    for hour in (0, 5, 23)
]


@pytest.mark.parametrize(
    "column",
    [
        pa.array(MOMENTS, pa.timestamp("ns")),
        pa.array(MOMENTS, pa.timestamp("s", "UTC")),
        pa.array([moment.date() for moment in MOMENTS]),
        pa.array([moment.isoformat() for moment in MOMENTS]),
    ],
    ids=["ns", "zone", "date", "text"],
)
def test_a_log_is_counted_by_day_and_by_week(tmp_path, column):
    path = tmp_path / "log.parquet"
    scores = np.linspace(0.1, 0.9, 9)
    pq.write_table(pa.table({"score": scores, "outcome": [0, 1, 0] * 3, "at": column}), path)
    days = local.read_log(path, by="at", every="day", one_pass=True).by_group
    assert {day: curve.n for day, curve in days.items()} == dict.fromkeys(
        ["2026-05-02", "2026-05-03", "2026-05-04"], 3
    )
    weeks = local.read_log(path, by="at", every="week", one_pass=True).by_group
    assert {day: curve.n for day, curve in weeks.items()} == {"2026-04-27": 6, "2026-05-04": 3}


@pytest.mark.parametrize("time", ["03/05/2026", "2026-13-01", "2026-5-3", "2026-05-031"])
def test_other_times_are_refused_but_as_batches(time):
    with pytest.raises(FileFormatError, match="not a date in ISO 8601"):
        period_of(time, "day")
    assert period_of(time, "batch") == time
