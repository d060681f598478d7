"""`measure` of a Parquet file of N scores against reading it and building the curve."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import ogive
from benchmarks import samples
from benchmarks.race import Budget, Race

if TYPE_CHECKING:
    from collections.abc import Iterator

LIMIT, MEASURE = "pyarrow and the curve", "ogive: measure of the file"


def races() -> Iterator[Race]:
    """Yield the one race, while its file exists."""
    try:
        import pyarrow as pa  # noqa: PLC0415 - of the files extra
        import pyarrow.parquet as pq  # noqa: PLC0415
    except ImportError:
        return
    scores, outcomes = samples.scores(10**7)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log.parquet"
        pq.write_table(pa.table({"score": scores, "outcome": outcomes.astype("int8")}), path)

        def limit() -> ogive.Curve:
            table = pq.read_table(path)
            return ogive.Curve.from_scores(*(table[k].to_numpy() for k in ("score", "outcome")))

        def check(entry: str, result: object) -> None:
            if entry == MEASURE:
                assert abs(result.ks - ogive.ks_error(limit())) < 1e-14  # type: ignore[attr-defined]

        yield Race(
            "file",
            "Measuring a Parquet file of 10,000,000 rows",
            {LIMIT: limit, MEASURE: lambda: ogive.measure(ogive.read(path))},
            (Budget(MEASURE, LIMIT, most=2),),
            check,
        )
