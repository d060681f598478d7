"""Spark: the same curve bit for bit as the local engine."""

import json
import os
import shutil
import signal
import subprocess
import sys
from dataclasses import replace

import pyarrow as pa
import pyarrow.csv
import pytest

from ogive.engines import local
from ogive.engines.files import open_log
from ogive.errors import FileFormatError, InvalidInput, InvalidType, OgiveError, UnknownName
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

sql = pytest.importorskip("pyspark.sql")
if shutil.which("java") is None:
    pytest.skip("Spark needs Java", allow_module_level=True)

from ogive.engines import spark as engine  # noqa: E402

# py4j leaves it to the interpreter to close its sockets; Spark still uses what pandas will drop.
pytestmark = pytest.mark.filterwarnings(
    "ignore::ResourceWarning", "ignore::DeprecationWarning", "ignore::FutureWarning"
)


@pytest.fixture(scope="module")
def session():
    with engine.session_of("local[2,4]") as spark:
        spark.conf.set("spark.sql.shuffle.partitions", "2")
        yield spark


@pytest.fixture(scope="module")
def table():
    return rows_of()


@pytest.fixture(scope="module")
def cluster(session):
    return engine, {"session": session}


class TestAsLocal(AsLocal):
    """The same curves as the local engine's."""


def test_spark_adds_up_what_the_driver_would(session, table, tmp_path, monkeypatch):
    monkeypatch.setattr("ogive.engines.formats.PIECE", 500)  # several pieces in a file
    monkeypatch.setattr(engine, "_MAX_TABLES_ADDED_BY_DRIVER", 0)
    log = write_log(tmp_path / "log", table.select(PLAIN), 1, 100)
    found = engine.curve(log, bits=7, one_pass=True, session=session)
    assert found == local.curve(log, bits=7, one_pass=True)


def test_weights_of_files_of_which_one_is_empty(session, table, tmp_path):
    log = write_log(tmp_path / "log", table, 2)
    write_log(tmp_path / "log" / "more", table.slice(0, 0), 1)
    reading = engine.read_log(log, session=session)
    assert reading.rows == 6000
    assert reading.curve.n == pytest.approx(sum(table["weight"].to_pylist()), rel=1e-12)


@pytest.mark.parametrize("few", [0, 64])
def test_views_of_logits_in_several_formats_with_vectors(session, tmp_path, few, monkeypatch):
    monkeypatch.setattr(engine, "_MAX_TABLES_ADDED_BY_DRIVER", few)
    (tmp_path / "log").mkdir()
    pa.parquet.write_table(logits_table(2000), tmp_path / "log" / "a.parquet", row_group_size=300)
    pa.csv.write_csv(logits_table(1000, seed=1), tmp_path / "log" / "b.csv")
    options = dict(view=("top-1", "class-wise"), bits=8, vectors=True)
    found = engine.read_log(tmp_path / "log", session=session, **options)
    want = local.read_log(tmp_path / "log", **options)
    assert found.rows == want.rows == 3000
    assert found.vectors == want.vectors
    assert list(found.curves) == list(want.curves)
    for name, mine in found.curves.items():
        assert mine == want.curves[name]


def test_another_fault_keeps_its_kind(session, table, tmp_path):
    log = write_log(tmp_path / "log", table.select(PLAIN), 2)
    file = log / "part-001.parquet"
    raw = bytearray(file.read_bytes())
    raw[4:2000] = bytes(1996)  # the footer is whole, so that only a task finds it
    file.write_bytes(raw)
    with pytest.raises(FileFormatError, match=r"part-001\.parquet cannot be read as parquet"):
        engine.curve(log, session=session)


def test_what_spark_cannot_finish_is_said_in_a_line(session, table, tmp_path):
    log = write_log(tmp_path / "log", table.select(PLAIN), 2)
    opened = open_log(log)
    assert opened.pieces
    plan = opened.plan()
    with pytest.raises(OgiveError, match="Spark could not finish the work: TypeError"):
        engine._Job(opened, None, session, None).run(replace(plan, views=None))
    (log / "part-001.parquet").unlink()  # gone after the log was opened
    with pytest.raises(FileFormatError, match=r"part-001\.parquet does not exist"):
        engine._Job(opened, None, session, None).run(plan)


@pytest.mark.parametrize("partitions", [1, 7])
def test_a_data_frame(session, table, tmp_path, partitions):
    log = write_log(tmp_path / "log", table.select(PLAIN))
    frame = session.read.parquet(str(log)).repartition(partitions)
    found = engine.group_curves(frame, "country", bits=7, one_pass=True)
    want = local.group_curves(log, "country", bits=7, one_pass=True)
    assert list(found) == list(want)
    for name, mine in found.items():
        assert mine == want[name]


def test_a_data_frame_of_lists(session, tmp_path):
    log = write_log(tmp_path / "log", logits_table(lists=True))
    found = engine.curve(session.read.parquet(str(log)), "top-2")
    assert found == local.curve(log, "top-2", bits=12)


def test_a_bad_row_of_a_data_frame(session, table, tmp_path):
    log = write_log(tmp_path / "log", spoiled(table.select(PLAIN)), 1)
    words = r"partition 0 of the data frame: row 4,321: `score`"
    with pytest.raises(InvalidInput, match=words):
        engine.curve(session.read.parquet(str(log)).coalesce(1))


def test_what_is_wrong_is_said_before_any_work(session, table):
    frame = session.range(3)
    with pytest.raises(FileFormatError, match="the data frame has no known columns"):
        engine.curve(frame)
    frame = session.createDataFrame([(0.5, 1)], "score double, outcome int")
    with pytest.raises(UnknownName, match="column of the data frame: 'land'"):
        engine.group_curves(frame, "land")
    with pytest.raises(InvalidType, match="must be a Spark data frame or paths, not Table"):
        engine.curve(table)


def test_no_rows_are_an_error(session, table, tmp_path):
    log = write_log(tmp_path / "log", table.slice(0, 0), 1)
    with pytest.raises(InvalidInput, match="no rows to measure"):
        engine.curve(log, session=session)


def test_progress_says_which_readings_are_done(session, table, tmp_path):
    told = []
    log = write_log(tmp_path / "log", table.select(PLAIN), 30)
    engine.curve(log, one_pass=True, progress=lambda *step: told.append(step))
    assert told == [("reading", 1, 1)]


def test_tasks_run_in_this_python(session):
    assert session.sparkContext.pythonExec == sys.executable


def test_the_environment_is_left_as_it_was(session, monkeypatch):
    monkeypatch.delenv("PYSPARK_PYTHON", raising=False)
    with engine.session_of("local[2,4]"):
        pass
    assert "PYSPARK_PYTHON" not in os.environ
    assert session.range(1).count() == 1


def test_another_place_than_that_of_the_session_in_use(session):
    words = r"in use at local\[2,4\]: stop it before one is started at local\[7\]"
    with pytest.raises(OgiveError, match=words), engine.session_of("local[7]"):
        pass
    with engine.session_of("local[2,4]") as same:
        assert same.version
    assert session.range(1).count() == 1  # still there


def test_apply_is_resumed_after_a_failure(session, tmp_path):
    check_apply(tmp_path, engine="spark", session=session)


def test_a_killed_worker_loses_no_task(session, tmp_path):
    flag = tmp_path / "killed"

    def work(item):
        if item == 3 and not flag.exists():
            flag.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return 10 * item

    assert engine.mapped(work, range(6), session=session) == [0, 10, 20, 30, 40, 50]
    assert flag.exists()


def test_commands(session, run, run_json, tmp_path):
    check_commands(run_json, run, tmp_path, "--engine", "spark")


def test_examples_of_the_docs(session, run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    check_examples(run, tmp_path, "spark", "local[2,4]")


def test_a_command_starts_a_session_of_its_own(table, tmp_path):
    log = write_log(tmp_path / "log", table.select(PLAIN))
    place = ["--engine", "spark", "--master", "local[2]", "--json"]
    command = [sys.executable, "-m", "ogive.cli", "measure", str(log), *place]
    done = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603
    assert json.loads(done.stdout)["n"] == 6000


def test_without_java_the_way_out_is_said(table, tmp_path):
    log = write_log(tmp_path / "log", table.select(PLAIN))
    command = [sys.executable, "-m", "ogive.cli", "measure", str(log), "--engine", "spark"]
    environment = os.environ | {"JAVA_HOME": str(tmp_path)}
    done = subprocess.run(  # noqa: S603
        command, capture_output=True, text=True, check=False, env=environment
    )
    assert (done.returncode, done.stdout) == (1, "")
    last = done.stderr.splitlines()[-1]
    assert last.startswith("ogive: Spark could not start at local[*,4]")
    assert last.endswith("It needs Java 17.")
