"""A log of N rows through the local engine, against reading it and a histogram in one thread.

``python -m benchmarks.scale FOLDER [N …]`` (default 1e7 and 1e8) makes Parquet files of N rows
(score float64, outcome int8) below FOLDER, unless they are there, and runs in turn, each in a
process of its own: pyarrow reading all batches with NumPy counting them in 65,536 equal bins, all
and hits, in one thread; the engine reading once (``one_pass``); the engine with the exact KS
error. Printed: seconds, their ratio to the first in the same round, and the peak of resident
memory. ``python -m benchmarks.scale FOLDER classes`` times the counting of every class.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

ROUNDS = 5
FILE = 5_000_000
BINS = 65_536

LIMIT = f"""
import pyarrow as pa, pyarrow.parquet as pq
pa.set_cpu_count(1)
pa.array([0.5]).to_numpy()  # imports pandas if it is there, which is not to be timed
def run(folder):
    total = np.zeros((2, {BINS}))
    for file in sorted(Path(folder).glob("*.parquet")):
        for batch in pq.ParquetFile(file).iter_batches(1 << 20, use_threads=False):
            s, y = (batch.column(i).to_numpy() for i in (0, 1))
            total[0] += np.histogram(s, {BINS}, (0, 1))[0]
            total[1] += np.histogram(s, {BINS}, (0, 1), weights=y)[0]
    return int(total[0].sum())
"""
ENGINE = """
from ogive.engines import local
from ogive.readers.arrow import pa
pa.int64()  # chooses the allocator
import pyarrow.compute, pyarrow.csv, pyarrow.parquet
import ogive
def run(folder):
    reading = local.read_log(folder, one_pass=ONE_PASS)
    return reading.passes, ogive.ks_error(reading.curve)
"""
AROUND = """
import json, sys, time
from pathlib import Path
import numpy as np
ONE_PASS = {one_pass}
{code}
start, cpu = time.perf_counter(), time.process_time()
found = run(sys.argv[1])
# Not getrusage: its peak would be that of the process which started this one.
peak = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(json.dumps({{"seconds": time.perf_counter() - start, "cpu": time.process_time() - cpu,
    "mb": int(peak.split()[1]) / 1024, "found": found}}))
"""


def make(folder: Path, n: int) -> Path:
    """Write a log of n overconfident scores."""
    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.parquet as pq  # noqa: PLC0415

    log = folder / f"log-{n}"
    log.mkdir(parents=True, exist_ok=True)
    for i, start in enumerate(range(0, n, FILE)):
        path = log / f"{i:04d}.parquet"
        if path.exists():
            continue
        rng = np.random.default_rng(i)
        eta = rng.normal(0, 2, min(FILE, n - start))
        hits = rng.random(eta.size) < 1 / (1 + np.exp(-0.8 * eta))
        table = pa.table({"score": 1 / (1 + np.exp(-eta)), "outcome": hits.astype(np.int8)})
        pq.write_table(table, path)
    return log


def once(code: str, log: Path, *, one_pass: bool = False) -> dict[str, float]:
    """Run a piece of code in a process of its own."""
    script = AROUND.format(code=code, one_pass=one_pass)
    command = [sys.executable, "-c", script, str(log)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603
    result: dict[str, float] = json.loads(done.stdout)
    return result


def main(folder: Path, sizes: list[int]) -> None:
    for n in sizes:
        log = make(folder, n)
        rounds = [
            (once(LIMIT, log), once(ENGINE, log, one_pass=True), once(ENGINE, log))
            for _ in range(ROUNDS)
        ]
        print(f"N = {n:,}, {ROUNDS} interleaved rounds: median seconds, processor seconds,")
        print("ratio of the wall within a round (spread), largest peak of memory")
        for i, name in enumerate(("pyarrow + histogram", "one pass", "exact KS")):
            seconds, cpu = (np.median([r[i][key] for r in rounds]) for key in ("seconds", "cpu"))
            ratio = [r[i]["seconds"] / r[0]["seconds"] for r in rounds]
            peak = max(r[i]["mb"] for r in rounds)
            print(f"{name:<20}{seconds:8.2f} s {cpu:8.2f} s   {np.median(ratio):5.2f} "
                  f"({min(ratio):.2f}-{max(ratio):.2f})   {peak:6.0f} MB   {rounds[0][i]['found']}",
                  flush=True)  # fmt: skip


def classes(folder: Path, rows: int = 50_000, K: int = 1000) -> None:
    """Time every class of a wide log: nanoseconds of processor for each probability."""
    import time  # noqa: PLC0415

    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.parquet as pq  # noqa: PLC0415

    from ogive.engines import local  # noqa: PLC0415

    path = folder / f"classes-{rows}-{K}.parquet"
    if not path.exists():
        rng = np.random.default_rng(0)
        logits = rng.normal(0, 3, (rows, K)).astype(np.float32)
        labels = np.where(rng.random(rows) < 0.7, logits.argmax(1), rng.integers(0, K, rows))
        lists = pa.FixedSizeListArray.from_arrays(pa.array(logits.ravel()), K)
        pq.write_table(pa.table({"label": labels, "logits": lists}), path, row_group_size=10_000)
    for view in ("top-1", "class-wise"):
        start, cpu = time.perf_counter(), time.process_time()
        reading = local.read_log(path, view, one_pass=True)
        wall, used = time.perf_counter() - start, time.process_time() - cpu
        size = sum(curve.summary().size for curve in reading.curves.values())
        print(f"{rows:,} x {K}, {view}: {wall:.2f} s, {used / rows / K * 1e9:.1f} ns of processor "
              f"for each number, {size:,} rows of summaries")  # fmt: skip


if __name__ == "__main__":
    where, *words = sys.argv[1:] or [str(Path(tempfile.gettempdir()) / "ogive-scale")]
    if words == ["classes"]:
        classes(Path(where))
    else:
        main(Path(where), [int(float(word)) for word in words] or [10**7, 10**8])
