"""What Dask and Spark cost beside the local engine, on one machine.

``python -m benchmarks.cluster FOLDER [N]`` (default 2e7 rows) times, in interleaved rounds and
processes of their own: the local engine on two threads, and Dask and Spark with two workers, each
starting, reading once cold, and reading once again warm. Printed: medians in seconds, and
nanoseconds for each row and worker of the warm reading.

``python -m benchmarks.cluster FOLDER pieces`` gives the processor time of a piece of the same log:
as a task of its own, in a task of eight, and of sending and adding its tally; without and with the
setting of malloc under which Dask starts workers.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from benchmarks.scale import make

ROUNDS = 3
WORKERS = 2
MALLOC = "MALLOC_TRIM_THRESHOLD_"
OPENED = {
    "local": "nullcontext(2)",
    "dask": f"engine.client_of(None, {WORKERS})",
    "spark": f'engine.session_of("local[{WORKERS}]")',
}
OPTION = {"local": "n_jobs", "dask": "scheduler", "spark": "session"}
SCRIPT = """
import json, sys, time
from contextlib import nullcontext
import pyarrow.compute, pyarrow.parquet
from ogive.engines import {name} as engine

if __name__ == "__main__":
    times = [time.perf_counter()]
    with {opened} as place:
        times.append(time.perf_counter())
        for _ in range(3):
            reading = engine.read_log(sys.argv[1], one_pass=True, {option}=place)
            times.append(time.perf_counter())
    n = reading.curve.n
    print(json.dumps({{"n": int(n), "seconds": [b - a for a, b in zip(times, times[1:])]}}))
"""


def once(name: str, log: Path, folder: Path) -> list[float]:
    """Return the seconds of starting, of the first reading, and of the last."""
    script = folder / f"run-{name}.py"  # a file: Dask's workers import the script again
    script.write_text(SCRIPT.format(name=name, opened=OPENED[name], option=OPTION[name]))
    command = [sys.executable, str(script), str(log)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603
    start, cold, _, warm = json.loads(done.stdout)["seconds"]
    return [start, cold, warm]


def main(folder: Path, n: int) -> None:
    log = make(folder, n)
    rounds = [{name: once(name, log, folder) for name in OPENED} for _ in range(ROUNDS)]
    print(f"N = {n:,}, {WORKERS} workers, one pass, {ROUNDS} rounds: medians")
    for name in OPENED:
        start, cold, warm = np.median([r[name] for r in rounds], axis=0)
        each = warm / n * WORKERS * 1e9
        ratio = np.median([r[name][2] / r["local"][2] for r in rounds])
        print(f"{name:<6} start {start:6.2f} s   first {cold:6.2f} s   warm {warm:6.2f} s   "
              f"{each:5.0f} ns a row and worker   {ratio:.2f} of local", flush=True)  # fmt: skip


PIECES = """
import pickle, sys, time
import numpy as np
import pyarrow.compute, pyarrow.parquet
from ogive.engines.cluster import count_share
from ogive.engines.files import open_log
from ogive.engines.tally import added_tallies

log = open_log(sys.argv[1])
plan, pieces = log.plan(), log.pieces[:8]

def timed(work):
    start = time.process_time()
    return work(), time.process_time() - start

count_share(pieces[:2], plan)  # imports, and the first pages
rounds = []
for _ in range(5):
    tallies, own = timed(lambda: [count_share((piece,), plan) for piece in pieces])
    _, together = timed(lambda: count_share(pieces, plan))
    _, sent = timed(lambda: [pickle.loads(pickle.dumps(tally, 5)) for tally in tallies])
    _, added = timed(lambda: added_tallies(tallies, plan))
    rounds.append(np.array([own, together, sent, added]) / 8e-3)
print("ms a piece: alone {:.0f}, in eight {:.0f}, sent {:.0f}, added {:.0f}".format(
    *np.median(rounds, axis=0)))
"""


def cost_of_pieces(folder: Path, n: int) -> None:
    """Print what a piece costs, in processes of their own."""
    log = make(folder, n)
    plain = {key: value for key, value in os.environ.items() if key != MALLOC}
    for name, more in (("malloc as it is", {}), ("as Dask sets it", {MALLOC: "65536"})) * 2:
        command = [sys.executable, "-c", PIECES, str(log)]
        done = subprocess.run(  # noqa: S603
            command, capture_output=True, text=True, check=True, env=plain | more
        )
        print(f"{name:<16} {done.stdout.strip()}", flush=True)


if __name__ == "__main__":
    where, *words = sys.argv[1:] or [str(Path(tempfile.gettempdir()) / "ogive-scale")]
    if words == ["pieces"]:
        cost_of_pieces(Path(where), 20_000_000)
    else:
        main(Path(where), int(float(words[0])) if words else 20_000_000)
