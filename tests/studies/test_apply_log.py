"""Applying to a log: every row once, whatever happened to the first run."""

import os
import signal
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import ogive
from ogive import Curve
from ogive._files import only_writer
from ogive.engines.files import open_log
from ogive.errors import FileFormatError, InvalidInput, OutputRefused
from ogive.readers import provenance
from ogive.readers.source import Columns
from ogive.studies.apply_log import FileJob, apply_log, targets
from tests.engines.tables import logits_table, scores_table, store


@pytest.fixture
def log(tmp_path):
    for i, name in enumerate(["a.parquet", "country=DE/b.csv", "country=FR/c.jsonl"]):
        table = scores_table(1000, seed=i, id=np.arange(1000 * i, 1000 * i + 1000))
        store(table, tmp_path / "log" / name)
    return tmp_path / "log"


@pytest.fixture
def cal(tmp_path):
    ogive.save(ogive.fit_platt(Curve.from_scores([0.1, 0.4, 0.6, 0.9] * 9, [0, 1, 0, 1] * 9)),
               tmp_path / "cal.json")  # fmt: skip
    return tmp_path / "cal.json"


def rows_of(folder):
    tables = [pq.read_table(file, partitioning=None) for file in open_log(folder).files]
    chosen = [table.select(["score", "outcome", "id"]) for table in tables]
    chosen = [table.set_column(2, "id", table["id"].cast(pa.int64())) for table in chosen]
    return pa.concat_tables(chosen, promote_options="permissive")


def test_every_row_is_calibrated_once(log, cal, tmp_path):
    done = apply_log(cal, log, tmp_path / "out")
    assert (done.n, done.written, done.kept) == (3000, 3, 0)
    found = rows_of(tmp_path / "out").sort_by("id")
    gamma = ogive.load(cal)
    want = np.concatenate([gamma(scores_table(1000, seed=i)["score"].to_numpy()) for i in range(3)])
    np.testing.assert_array_equal(found["id"], np.arange(3000))
    np.testing.assert_array_equal(found["score"], want)
    assert (tmp_path / "out" / "country=DE" / "b.csv.parquet").exists()


def test_a_second_run_keeps_what_is_finished_and_mends_the_rest(log, cal, tmp_path):
    out = tmp_path / "out"
    apply_log(cal, log, out)
    before = {file: file.stat().st_mtime_ns for file in open_log(out).files}
    assert apply_log(cal, log, out).kept == 3
    files = list(before)
    files[0].unlink()
    files[1].write_bytes(files[1].read_bytes()[:100])
    (out / ".a.parquet.xyz.parquet").write_bytes(b"left by a killed run of an older version")
    (out / ".b.parquet.xyz.parquet").write_bytes(b"of nobody here")
    done = apply_log(cal, log, out)
    assert (done.n, done.written, done.kept) == (3000, 2, 1)
    assert [path.name for path in out.glob(".*")] == [".b.parquet.xyz.parquet"]
    assert files[2].stat().st_mtime_ns == before[files[2]]
    assert rows_of(out).num_rows == 3000


def test_other_rows_or_another_map_are_written_again(log, cal, tmp_path):
    out = tmp_path / "out"
    apply_log(cal, log, out)
    store(scores_table(500, id=np.arange(500)), log / "a.parquet")
    assert (apply_log(cal, log, out).written, rows_of(out).num_rows) == (1, 2500)
    ogive.save(ogive.fit_platt(Curve.from_scores([0.1, 0.9] * 9, [0, 1] * 9)), cal)
    assert apply_log(cal, log, out).written == 3


def test_a_matrix_becomes_scores_of_the_view_or_vectors(tmp_path):
    store(logits_table(500), tmp_path / "log" / "a.parquet")
    table = logits_table(500)
    values = np.stack([table[f"logit_{k}"].to_numpy() for k in range(4)], axis=1)
    preds = ogive.Predictions(values, table["label"], kind="logits")
    ogive.save(ogive.fit_platt(Curve.from_predictions(preds)), tmp_path / "cal.json")
    apply_log(tmp_path / "cal.json", tmp_path / "log", tmp_path / "out")
    assert pq.read_schema(tmp_path / "out" / "a.parquet").names == ["label", "score", "outcome"]
    ogive.save(ogive.fit_temperature(preds), tmp_path / "cal.json")
    apply_log(tmp_path / "cal.json", tmp_path / "log", tmp_path / "out")
    assert "prob_3" in pq.read_schema(tmp_path / "out" / "a.parquet").names


def test_other_columns_are_written_again(cal, tmp_path):
    log, out = tmp_path / "log", tmp_path / "out"
    table = scores_table(100)
    table = table.append_column("p2", pa.array(table["score"].to_numpy() / 2))
    store(table, log / "a.parquet")
    apply_log(cal, log, out)
    assert apply_log(cal, log, out, Columns(score="p2")).written == 1
    want = ogive.load(cal)(table["p2"].to_numpy())
    np.testing.assert_array_equal(pq.read_table(out / "a.parquet")["p2"], want)
    assert apply_log(cal, log, out, Columns(score="p2")).kept == 1


def test_a_source_that_changed_behind_size_and_time_is_written_again(log, cal, tmp_path):
    out, source = tmp_path / "out", log / "country=DE" / "b.csv"
    apply_log(cal, log, out)
    before = source.stat()
    text = source.read_bytes()
    source.write_bytes(text.replace(b"0.5", b"0.6"))
    os.utime(source, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert source.stat().st_size == before.st_size
    assert apply_log(cal, log, out).written == 1


def test_a_long_source_is_recognised_by_blocks_with_both_ends(tmp_path, monkeypatch):
    monkeypatch.setattr(provenance, "WHOLE_CHECKSUM_BYTES", 100)
    monkeypatch.setattr(provenance, "CHECKSUM_BLOCK_BYTES", 10)
    path, seen = tmp_path / "x", set()
    for changed in (None, 0, 9, 500, 990, 999):
        content = bytearray(1000)
        if changed is not None:
            content[changed] = 1
        path.write_bytes(content)
        seen.add(provenance.file_checksum(path))
    assert len(seen) == 6


def test_a_source_that_changes_while_it_is_read_leaves_no_output(log, cal, tmp_path, monkeypatch):
    honest = FileJob._calibrated

    def change(self, gamma, chunk, first, harm):
        with self.file.open("ab") as file:
            file.write(b" ")
        return honest(self, gamma, chunk, first, harm)

    monkeypatch.setattr(FileJob, "_calibrated", change)
    with pytest.raises(FileFormatError, match="changed while it was read"):
        apply_log(cal, log / "a.parquet", tmp_path / "out")
    assert os.listdir(tmp_path / "out") == []


def test_names_that_would_collide_are_told_apart(cal, tmp_path):
    log, out = tmp_path / "log", tmp_path / "out"
    for i, name in enumerate(["a.csv", "a.csv.parquet", "a.csv.2.parquet", "b.csv", "c.parquet"]):
        store(scores_table(100, seed=i, id=np.arange(100 * i, 100 * i + 100)), log / name)
    assert apply_log(cal, log, out).n == 500
    assert sorted(rows_of(out)["id"].to_pylist()) == list(range(500))
    want = ["a.csv.2.parquet", "a.csv.3.parquet", "a.csv.parquet", "b.csv.parquet", "c.parquet"]
    assert sorted(os.listdir(out)) == want
    assert apply_log(cal, log, out).kept == 5


def test_files_under_relative_and_absolute_paths_have_one_root(cal, tmp_path, monkeypatch):
    for name in ("log/x/a.parquet", "log/y/a.parquet"):
        store(scores_table(100), tmp_path / name)
    monkeypatch.chdir(tmp_path)
    done = apply_log(cal, ["log/x/a.parquet", tmp_path / "log" / "y"], "out")
    assert (done.n, done.written) == (200, 2)
    assert sorted(os.listdir("out")) == ["x", "y"]


@pytest.mark.parametrize(
    ("given", "folder", "message"),
    [
        ("log/*.parquet", "log", "holds the input"),
        ("log", "log", "is an input"),
        ("log", "log/new/out", "lies inside the input folder"),
        ("log", "link/out", "lies inside the input folder"),
        ("link", "log/out", "lies inside the input folder"),
        ("log/**/*.parquet", "log/out", "lies inside the input folder"),
        ("log/a.parquet", "log/a.parquet", "is an input"),
        ("log/a.parquet", "hard.parquet", "is an input"),
        ("log/a.parquet", "log", "holds the input"),
        ("log", ".", "holds the input"),
        ("log", "cal.json", "is a file, and the output needs a folder"),
    ],
)
def test_outputs_that_are_inputs_are_refused(
    log, cal, tmp_path, monkeypatch, given, folder, message
):
    (tmp_path / "link").symlink_to(log)
    (tmp_path / "hard.parquet").hardlink_to(log / "a.parquet")
    monkeypatch.chdir(tmp_path)
    before = tree(tmp_path)
    with pytest.raises(OutputRefused, match=message):
        apply_log(cal, given, folder, force=True)
    assert tree(tmp_path) == before


def tree(folder):
    return {p: p.read_bytes() if p.is_file() else None for p in folder.rglob("*")}


def test_a_target_that_links_to_an_input_is_refused(log, cal, tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    (out / "a.parquet").hardlink_to(log / "country=DE" / "b.csv")
    with pytest.raises(OutputRefused, match="is an input"):
        apply_log(cal, log, out, force=True)


def test_files_of_others_are_replaced_only_by_force(log, cal, tmp_path):
    out = tmp_path / "out"
    store(scores_table(7), out / "a.parquet")
    before = (out / "a.parquet").read_bytes()
    with pytest.raises(OutputRefused, match="was not written by `apply`"):
        apply_log(cal, log, out)
    assert tree(out) == {out / "a.parquet": before}
    assert apply_log(cal, log, out, force=True).written == 3


def test_two_runs_at_once_are_refused(log, cal, tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    with only_writer(out), pytest.raises(OutputRefused, match=f"process {os.getpid()} on"):
        apply_log(cal, log, out)
    (out / ".ogive-lock").write_text("left by a run that was killed")
    assert apply_log(cal, log, out).written == 3
    assert not list(out.glob(".*"))


def test_a_row_that_breaks_a_rule_stops_its_file(log, cal, tmp_path):
    store(pa.table({"score": [0.5, 2.0], "outcome": [1, 0]}), log / "d.parquet")
    with pytest.raises(InvalidInput, match=r"d\.parquet: `score` must lie in \[0, 1\]"):
        apply_log(cal, log, tmp_path / "out")
    assert not (tmp_path / "out" / "d.parquet").exists()


def test_targets_keep_the_tree(log, tmp_path):
    pairs = dict(targets(open_log(log / "country=DE").files, tmp_path / "out", [log]))
    assert list(pairs.values()) == [tmp_path / "out" / "country=DE" / "b.csv.parquet"]


#: Works off two files and a part of the third, says so, and goes no further.
KILLED = """
import itertools, sys, time
import ogive.studies.apply_log as room
calibrated, calls = room.FileJob._calibrated, itertools.count()
def stop(*words):
    if next(calls) == 12:
        print("in the middle", flush=True)
        time.sleep(600)
    return calibrated(*words)
room.FileJob._calibrated = stop
room._CELLS = 100
room.apply_log(sys.argv[1], sys.argv[2], sys.argv[3], n_jobs=1)
"""


@pytest.mark.thorough
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs kill -9")
def test_kill_9_and_run_again(cal, tmp_path):
    log, out = tmp_path / "log", tmp_path / "out"
    for i in range(6):
        store(scores_table(500, seed=i, id=np.arange(500 * i, 500 * i + 500)), log / f"{i}.parquet")
    command = [sys.executable, "-c", KILLED, str(cal), str(log), str(out)]
    run = subprocess.Popen(command, stdout=subprocess.PIPE, env=os.environ)  # noqa: S603
    assert run.stdout.readline() == b"in the middle\n"
    os.kill(run.pid, signal.SIGKILL)
    run.wait()
    run.stdout.close()
    assert {path.name for path in out.glob("[0-9]*")} == {"0.parquet", "1.parquet"}
    done = apply_log(cal, log, out)
    assert done.n == 3000
    assert done.kept == 2
    assert sorted(rows_of(out)["id"].to_pylist()) == list(range(3000))
    assert not list(out.glob(".*"))  # nothing half is left
