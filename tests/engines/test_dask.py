"""Dask: the same curve bit for bit as the local engine, also when a worker is killed."""

import json
import os
import signal
import subprocess
import sys

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import ogive
from ogive import ks_error
from ogive.engines import local
from ogive.errors import InvalidInput, InvalidType, OgiveError, UnknownName
from ogive.studies.apply_log import apply_log
from tests.engines.contract import PLAIN, AsLocal
from tests.engines.logs import (
    check_apply,
    check_commands,
    check_examples,
    rows_of,
    spoiled,
    write_log,
)
from tests.engines.tables import logits_table

distributed = pytest.importorskip("distributed")
dask = pytest.importorskip("dask")
dd = pytest.importorskip("dask.dataframe")

from ogive.engines import dask as engine  # noqa: E402

# Dask leaves it to the interpreter to close some of its sockets.
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning")


@pytest.fixture(scope="module")
def client():
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address="127.0.0.1:0"
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def table():
    return rows_of()


@pytest.fixture(scope="module")
def cluster(client):
    return engine, {"scheduler": client}


class TestAsLocal(AsLocal):
    """The same curves as the local engine's."""


@pytest.mark.parametrize("view", ["top-1", "class-3", "class-wise"])
def test_views_of_logits_in_several_formats(client, tmp_path, view):
    (tmp_path / "log").mkdir()
    pa.parquet.write_table(logits_table(2000), tmp_path / "log" / "a.parquet", row_group_size=300)
    pa.csv.write_csv(logits_table(1000, seed=1), tmp_path / "log" / "b.csv")
    found = engine.read_log(tmp_path / "log", view, bits=8, scheduler=client)
    want = local.read_log(tmp_path / "log", view, bits=8)
    assert found.rows == want.rows == 3000
    assert list(found.curves) == list(want.curves)
    for name, mine in found.curves.items():
        assert mine == want.curves[name]


@pytest.mark.parametrize("count", [1, 2])
def test_killed_workers_lose_no_rows_and_double_none(client, table, tmp_path, count, monkeypatch):
    """Of two workers, one or both: with both, all that was counted so far is lost, and the plan."""
    monkeypatch.setattr("ogive.engines.cluster.TASKS_PER_CORE", 60)  # many tasks
    log = write_log(tmp_path / "log", table.select(PLAIN), 120)
    client.wait_for_workers(2, timeout=120)  # a test before this may have killed one
    pids, killed = client.run(os.getpid), []
    assert len(pids) == 2

    def kill(what, done, total):
        if done >= 30 and not killed:
            killed.append((what, done, total))
            for pid in list(pids.values())[:count]:
                os.kill(pid, signal.SIGKILL)

    found = engine.read_log(log, bits=6, scheduler=client, progress=kill)
    ((what, done, total),) = killed
    assert (what, total) == ("reading", 120)
    assert done < total
    assert found.rows == 6000
    want = local.read_log(log, bits=6)
    assert found.curve == want.curve
    assert ks_error(found.curve) == ks_error(want.curve)
    gone = list(pids)[:count]
    assert not set(gone) & set(client.run(os.getpid))  # they were really gone


def test_progress_counts_tasks(client, table, tmp_path):
    told = []
    log = write_log(tmp_path / "log", table.select(PLAIN), 6)
    engine.curve(log, bits=4, scheduler=client, progress=lambda *step: told.append(step))
    assert told[0] == ("reading", 1, 6)
    assert told[5] == ("reading", 6, 6)
    assert told[-1] == ("reading again (2)", 6, 6)


@pytest.mark.parametrize("partitions", [1, 2, 9])
def test_a_data_frame(client, table, tmp_path, partitions):
    log = write_log(tmp_path / "log", table.select(PLAIN))
    frame = dd.from_pandas(table.select(PLAIN).to_pandas(), npartitions=partitions)
    found = engine.group_curves(frame, "country", bits=7, scheduler=client)
    want = local.group_curves(log, "country", bits=7)
    assert list(found) == list(want)
    for name, mine in found.items():
        assert mine == want[name]


def test_a_data_frame_from_files_uses_the_client_at_hand(client, table, tmp_path):
    log = write_log(tmp_path / "log", table.select(PLAIN))
    with client.as_current():
        found = engine.curve(dd.read_parquet(log), bits=9)
    assert found == local.curve(log, bits=9)


def test_a_data_frame_of_lists(client, tmp_path):
    log = write_log(tmp_path / "log", logits_table(lists=True))
    found = engine.curve(dd.read_parquet(log), "top-2", scheduler=client)
    assert found == local.curve(log, "top-2", bits=12)


def test_a_bad_row_of_a_data_frame(client, table):
    bad = spoiled(table.select(PLAIN)).to_pandas()
    frame = dd.from_pandas(bad, npartitions=3)
    words = r"partition 2 of the data frame: row 321: `score`"
    with pytest.raises(InvalidInput, match=words):
        engine.curve(frame, scheduler=client)


def test_what_is_wrong_is_said_before_any_work(client, table, tmp_path):
    frame = dd.from_pandas(table.to_pandas(), npartitions=1)
    with pytest.raises(UnknownName, match="column of the data frame: 'land'"):
        engine.group_curves(frame, "land", scheduler=client)
    with pytest.raises(InvalidType, match="must be a Dask data frame or paths, not DataFrame"):
        engine.curve(table.to_pandas(), scheduler=client)
    log = write_log(tmp_path / "log", table)
    with pytest.raises(UnknownName, match="unknown view"):
        engine.curve(log, "tpo-1", scheduler=client)


def test_no_rows_are_an_error(client, table, tmp_path):
    log = write_log(tmp_path / "log", table.slice(0, 0), 1)
    with pytest.raises(InvalidInput, match="no rows to measure"):
        engine.curve(log, scheduler=client)


def test_no_scheduler_at_an_address():
    quick = dask.config.set({"distributed.comm.timeouts.connect": "1s"})
    words = "no Dask scheduler answers at tcp://127.0.0.1:9"
    with quick, pytest.raises(OgiveError, match=words), engine.client_of("tcp://127.0.0.1:9"):
        pass


def test_a_piece_that_ends_its_workers_is_told_with_the_way_out():
    error = engine._worded(distributed, distributed.KilledWorker("count", None, 3))
    assert isinstance(error, OgiveError)
    assert "4 workers were lost over one task, probably for lack of memory" in str(error)


def test_a_cluster_of_our_own_is_closed_again(table, tmp_path, monkeypatch):
    monkeypatch.setenv("MALLOC_TRIM_THRESHOLD_", "65536")
    before = dict(os.environ)
    log = write_log(tmp_path / "log", table.select(PLAIN))
    assert engine.curve(log, bits=9, n_jobs=1) == local.curve(log, bits=9)
    with engine.client_of(None, 1) as client:
        (pid,) = client.run(os.getpid).values()
        (environment,) = client.run(lambda: dict(os.environ)).values()
    assert "MALLOC_TRIM_THRESHOLD_" not in environment
    assert dict(os.environ) == before
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_a_cluster_by_its_address(client, table, tmp_path):
    log = write_log(tmp_path / "log", table.select(PLAIN))
    address = client.scheduler.address
    assert engine.curve(log, bits=9, scheduler=address) == local.curve(log, bits=9)


def test_apply_is_resumed_after_a_failure(client, tmp_path):
    check_apply(tmp_path, engine="dask", scheduler=client)


def test_apply_with_a_worker_killed_writes_each_row_once(client, table, tmp_path):
    log = write_log(tmp_path / "log", table.select(PLAIN), 40)
    ogive.save(ogive.fit_platt(local.curve(log)), tmp_path / "cal.json")
    client.wait_for_workers(2, timeout=120)
    killed = []

    def kill_one(what, done, total):
        if done >= 5 and not killed:
            killed.append(next(iter(client.run(os.getpid).values())))
            os.kill(killed[0], signal.SIGKILL)

    out = tmp_path / "out"
    done = apply_log(
        tmp_path / "cal.json", log, out, engine="dask", scheduler=client, progress=kill_one
    )
    assert killed
    assert done.n == 6000
    assert pq.read_table(out).num_rows == 6000
    assert len(list(out.glob("*.parquet"))) == 40


def test_commands(client, run, run_json, tmp_path):
    address = client.scheduler.address
    check_commands(run_json, run, tmp_path, "--engine", "dask", "--scheduler", address)


def test_examples_of_the_docs(client, run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    check_examples(run, tmp_path, "dask", client.scheduler.address)


def test_a_command_starts_a_cluster_of_its_own(table, tmp_path):
    log = write_log(tmp_path / "log", spoiled(table.select(PLAIN)))
    command = [sys.executable, "-m", "ogive.cli", "measure", log, "--engine", "dask", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.count("\n") == 1
    assert "part-002.parquet: row 321: `score` must be a number" in done.stderr
    done = subprocess.run(  # noqa: S603
        [*command, "--skip-bad"], capture_output=True, text=True, check=True
    )
    assert json.loads(done.stdout)["n"] == 5999
    assert done.stderr == ""
