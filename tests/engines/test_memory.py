"""The memory limit holds, under a limit that the system enforces."""

import inspect
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

pytest.importorskip("resource")

pytestmark = pytest.mark.thorough

# The address space of the libraries is not counted; what the limit allows comes on top of it.
LIMITED = """
import resource, sys, numpy, pyarrow.csv, pyarrow.parquet, pyarrow.compute
import ogive, ogive.cli.commands, ogive.engines.local, ogive.studies.measure, ogive.studies.logs
from ogive.cli import main
import scipy.special, scipy.optimize, scipy.stats, rich.console
pages = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
room = pages + int(sys.argv[1]) * 10**6
resource.setrlimit(resource.RLIMIT_AS, (room, room))
sys.exit(main(sys.argv[2:]))
"""


def limited(megabytes, *words):
    """Run a command with so much more address space than the libraries have."""
    done = subprocess.run(  # noqa: S603 - our own code
        [sys.executable, "-c", LIMITED, str(megabytes), *map(str, words)],
        capture_output=True,
        text=True,
        check=False,
        timeout=200,
        env={"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "PYTHONPATH": ":".join(sys.path),
             "ARROW_DEFAULT_MEMORY_POOL": "system", "MALLOC_ARENA_MAX": "2", "PATH": ""},
    )  # fmt: skip
    assert "Traceback" not in done.stderr, done.stderr
    assert "unexpected" not in done.stderr, done.stderr
    return done


@pytest.fixture(scope="module")
def long_parquet(tmp_path_factory):
    """Many rows in few bytes: each number is there once, and how often."""
    path = tmp_path_factory.mktemp("long") / "a.parquet"
    n = 5_000_000
    table = pa.table({"score": np.full(n, 0.25), "outcome": np.zeros(n, np.int8)})
    with pq.ParquetWriter(path, table.schema) as writer:
        for _ in range(6):
            writer.write_table(table, row_group_size=n)
    assert path.stat().st_size < 300_000
    return path


@pytest.mark.parametrize("words", [(), ("--one-pass",)])
def test_a_parquet_of_many_rows_in_few_bytes(long_parquet, words):
    done = limited(300, "measure", long_parquet, "--memory", "200MB", "--json", *words)
    assert done.returncode == 0, done.stderr
    assert '"n": 30000000' in done.stdout


def test_files_too_large_are_refused_before_they_are_read(tmp_path):
    zeros = np.zeros(40_000_000, np.float32)
    np.savez_compressed(tmp_path / "a.npz", scores=zeros, outcomes=zeros[:10])
    done = limited(150, "measure", tmp_path / "a.npz", "--memory", "200MB")
    assert done.returncode == 1
    assert "a.npz needs about 1.22 GB of memory when it is read" in done.stderr


def test_a_huge_row_group_of_a_parquet_is_refused_before_it_is_unpacked(tmp_path):
    n = 30_000_000
    table = pa.table({"score": np.arange(n) / n, "outcome": np.zeros(n, np.int8)})
    one_page = {"data_page_size": 1 << 30, "max_rows_per_page": n}  # older writers know the first
    known = inspect.signature(pq.write_table).parameters
    pq.write_table(
        table, tmp_path / "a.parquet", row_group_size=n, use_dictionary=False, compression="zstd",
        **{name: value for name, value in one_page.items() if name in known},
    )  # fmt: skip
    done = limited(150, "measure", tmp_path / "a.parquet", "--memory", "200MB", "--one-pass")
    assert done.returncode == 1, done.stdout
    assert "a.parquet needs about 370 MB of memory when it is read" in done.stderr
    assert "write it with smaller row groups" in done.stderr


def test_groups_are_refused_early_or_fit(tmp_path):
    rng = np.random.default_rng(0)
    n = 400_000
    table = pa.table({"score": rng.random(n), "outcome": rng.random(n) < 0.5,
                      "who": rng.integers(0, 200_000, n)})  # fmt: skip
    pq.write_table(table, tmp_path / "a.parquet", row_group_size=n)
    done = limited(350, "measure", tmp_path / "a.parquet", "--by", "who", "--memory", "250MB")
    assert done.returncode == 1
    assert "do not fit into the memory limit of 250 MB" in done.stderr
    assert "GB is enough" in done.stderr
