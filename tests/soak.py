"""Random tests for hours: ``python -m tests.soak --hours 1``.

Each *kind* of test is a function that takes a seed, makes one random case from it and raises if
something is wrong. Cases run in worker processes with a memory limit and a time limit, so a crash,
a hang or a process that eats all memory is a counted failure and not the end of the run. The run
prints how many cases of each kind there were and what failed; every failure can be repeated:

    python -m tests.soak --only invariants --seed 1234
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import queue
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback
import warnings
from collections import Counter
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

MEMORY_LIMIT = 6 << 30  # bytes of address space for a worker; NumPy's threads reserve some of it
CASES_PER_WORKER = 2000  # then a new process: what one case leaks cannot reach all others
SECONDS_PER_TURN = 60.0  # a kind's turn, so that all kinds get their share of a short run
SECONDS_PER_CASE = 20.0  # a case that takes longer is a hang
SECONDS_PER_FIT = 300.0  # cases that fit many calibrators to 5,000 rows
SECONDS_TO_START = 120.0  # imports, and the corpus of files, on a busy machine
SHOWN_FAILURES = 20


@dataclass(frozen=True)
class Kind:
    """A kind of random case: ``module.function(seed, *arguments)``, and its time limit."""

    module: str
    function: str
    arguments: tuple[str, ...] = ()
    seconds: float = SECONDS_PER_CASE

    def load(self) -> Callable[[int], object]:
        """Return the function of a seed."""
        check = getattr(import_module(self.module), self.function)
        return lambda seed: check(seed, *self.arguments)


FORMATS = ("npz", "parquet", "arrow", "csv", "pkl", "h5", "tsv", "csv.gz", "jsonl", "npy")
KINDS = {
    "invariants": Kind("tests.invariants", "check_once", seconds=SECONDS_PER_FIT),
    "artifact": Kind("tests.export.mutants", "check_artifact_once"),
    "curve": Kind("tests.export.mutants", "check_curve_once"),
    "watch": Kind("tests.studies.watch.mutants", "check_state_once"),
    "export": Kind("tests.export.mutants", "check_export_once", seconds=60.0),
    "cli": Kind("tests.cli.hostile", "check_cli_once", seconds=60.0),
    **{name: Kind("tests.readers.mutants", "check_reader_once", (name,)) for name in FORMATS},
}


def find(name: str) -> Kind:
    """Return the kind of a name of the table, or of ``module:function``."""
    return KINDS[name] if name in KINDS else Kind(*name.split(":"), seconds=SECONDS_PER_CASE)


@dataclass
class Tally:
    """What was seen so far."""

    runs: Counter[str] = field(default_factory=Counter)
    failures: list[dict[str, str | int]] = field(default_factory=list)
    next_seed: Counter[str] = field(default_factory=Counter)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def claim(self, kind: str) -> int:
        """Return the first of a batch of seeds that no other worker has."""
        with self.lock:
            first = self.next_seed[kind]
            self.next_seed[kind] += CASES_PER_WORKER
        return first

    def count(self, kind: str) -> None:
        with self.lock:
            self.runs[kind] += 1

    def fail(self, kind: str, seed: int, what: str) -> None:
        with self.lock:
            self.failures.append({"kind": kind, "seed": seed, "what": what})
        print(f"FAILED {kind} --seed {seed}: {what}", flush=True)


def work(kind: str, first: int, count: int) -> None:
    """Run a batch of cases in this process; one JSON line on stdout before and after each."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_LIMIT, MEMORY_LIMIT))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what a case prints is not an answer
    check = find(kind).load()
    for seed in range(first, first + count):
        print(json.dumps({"seed": seed}), file=out, flush=True)
        answer: dict[str, str | int] = {"seed": seed, "what": ""}
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                check(seed)
        except BaseException as error:  # noqa: BLE001 - whatever it is, it is the finding
            where = traceback.extract_tb(error.__traceback__)[-1]
            text = " ".join(str(error).split())[:600]
            answer["what"] = f"{type(error).__name__}: {text} ({where.name}:{where.lineno})"
        print(json.dumps(answer), file=out, flush=True)


def run_batch(kind: str, tally: Tally, folder: Path, until: float) -> None:
    """Start a worker for a batch of seeds and watch it; stop it when the time is up."""
    first = tally.claim(kind)
    command = [sys.executable, "-m", "tests.soak", "--worker", kind, str(first)]
    with tempfile.TemporaryDirectory(dir=folder) as temporary:
        worker = subprocess.Popen(  # noqa: S603 - our own module
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            start_new_session=True,
            env={**os.environ, "TMPDIR": temporary, "OPENBLAS_NUM_THREADS": "1"},
        )
        try:
            _watch(kind, worker, tally, until)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(worker.pid, signal.SIGKILL)
            worker.wait()


def _watch(kind: str, worker: subprocess.Popen[str], tally: Tally, until: float) -> None:
    lines, seed, limit = _lines(worker), -1, SECONDS_TO_START
    while True:
        try:
            line = lines.get(timeout=limit)
        except queue.Empty:
            tally.fail(kind, seed, f"no answer after {limit:.0f} s")
            return
        if not line:  # the worker has ended
            if code := worker.wait():
                tally.fail(kind, seed, f"the process ended with {code}")
            return
        answer = json.loads(line)
        seed, limit = answer["seed"], find(kind).seconds
        if "what" in answer:
            tally.count(kind)
            if answer["what"]:
                tally.fail(kind, seed, answer["what"])
            if time.monotonic() > until:
                return


def _lines(worker: subprocess.Popen[str]) -> queue.Queue[str]:
    """Return the lines of a worker as they come, and "" at its end."""
    lines: queue.Queue[str] = queue.Queue()

    def read() -> None:
        assert worker.stdout is not None
        with worker.stdout as stream:
            for line in stream:
                lines.put(line)
        lines.put("")

    threading.Thread(target=read).start()  # it ends with the worker
    return lines


def run(kinds: list[str], hours: float, jobs: int, least: int) -> Tally:
    """Give each kind its turns until the time is up, and then until each has `least` cases."""
    tally, end = Tally(), time.monotonic() + 3600 * hours
    turns: queue.Queue[str] = queue.Queue()
    for kind in kinds:
        turns.put(kind)
    folder = Path(tempfile.mkdtemp(prefix="ogive-soak-"))

    def take_turns() -> None:
        while True:
            kind = turns.get()
            now = time.monotonic()
            if now > end and all(tally.runs[each] >= least for each in kinds):
                turns.put(kind)
                return
            if now <= end or tally.runs[kind] < least:
                run_batch(kind, tally, folder, until=now + SECONDS_PER_TURN)
            else:
                time.sleep(1.0)
            turns.put(kind)

    n_jobs = [threading.Thread(target=take_turns) for _ in range(jobs)]
    for thread in n_jobs:
        thread.start()
    for thread in n_jobs:
        thread.join()
    shutil.rmtree(folder, ignore_errors=True)
    return tally


def report(tally: Tally, kinds: list[str]) -> int:
    """Print the counts; return the exit code."""
    failed = Counter(str(each["kind"]) for each in tally.failures)
    print(f"\n{'kind':<12}{'cases':>9}{'failed':>8}")
    for kind in kinds:
        print(f"{kind:<12}{tally.runs[kind]:>9,}{failed[kind]:>8,}")
    print(f"{'all':<12}{sum(tally.runs.values()):>9,}{len(tally.failures):>8,}")
    for each in tally.failures[:SHOWN_FAILURES]:
        case = f"--only {each['kind']} --seed {each['seed']}"
        print(f"python -m tests.soak {case}   # {each['what']}")
    return 1 if tally.failures else 0


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description=__doc__)
    parser.add_argument("--hours", type=float, default=1.0, help="How long to run.")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="Worker processes.")
    parser.add_argument("--only", default=",".join(KINDS), help="Kinds, separated by commas.")
    parser.add_argument("--least", type=int, default=0, help="Go on until each kind has this many.")
    parser.add_argument("--seed", type=int, help="Run this one case here, with its traceback.")
    parser.add_argument("--worker", nargs=2, metavar=("KIND", "SEED"), help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.worker:
        work(asked.worker[0], int(asked.worker[1]), CASES_PER_WORKER)
        return 0
    kinds = asked.only.split(",")
    if unknown := {kind for kind in kinds if kind not in KINDS and ":" not in kind}:
        parser.error(f"unknown kind {', '.join(sorted(unknown))}; known: {', '.join(KINDS)}")
    if asked.seed is not None:
        for kind in kinds:
            find(kind).load()(asked.seed)
        return 0
    return report(run(kinds, asked.hours, asked.jobs, asked.least), kinds)


if __name__ == "__main__":
    sys.exit(main())
