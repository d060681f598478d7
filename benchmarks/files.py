"""`measure` of a Parquet file of N scores against reading it and building the curve.

``python -m benchmarks.files [N]``: interleaved rounds; what is printed is the median of the
ratios within a round, and their spread.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import numpy as np

import ogive
from benchmarks.core import seconds

ROUNDS = 7


def main(n: int = 10**7) -> None:
    import pyarrow as pa  # noqa: PLC0415 - of the files extra
    import pyarrow.parquet as pq  # noqa: PLC0415

    rng = np.random.default_rng(0)
    scores = rng.random(n) ** 0.3
    outcomes = (rng.random(n) < scores**2).astype(np.int8)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log.parquet"
        pq.write_table(pa.table({"score": scores, "outcome": outcomes}), path)

        def limit() -> object:
            table = pq.read_table(path)
            columns = (table[name].to_numpy() for name in ("score", "outcome"))
            return ogive.Curve.from_scores(*columns)

        def measured() -> object:
            return ogive.measure(ogive.read(path))

        assert measured().ks == ogive.ks_error(limit())  # type: ignore[attr-defined,arg-type]
        times = np.array([[seconds(limit), seconds(measured)] for _ in range(ROUNDS)])
    ratio = times[:, 1] / times[:, 0]
    print(f"N = {n:,}, {ROUNDS} interleaved rounds")
    print(f"pyarrow and the curve {np.median(times[:, 0]):.2f} s")
    print(
        f"ogive.measure         {np.median(times[:, 1]):.2f} s, {np.median(ratio):.2f} times",
        end="",
    )
    print(f" ({ratio.min():.2f}-{ratio.max():.2f})")


if __name__ == "__main__":
    main(*(int(float(word)) for word in sys.argv[1:2]))
