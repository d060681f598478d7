"""One writer: no command replaces a file of others, and a file leaves whole or not at all."""

import json
import os
import signal
import subprocess
import sys
import warnings

import numpy as np
import pytest

from ogive._files import KINDS, Output, replacing
from ogive.cli.commands import ogive as group
from ogive.errors import OgiveWarning, OutputRefused

OGIVE = [sys.executable, "-m", "ogive.cli"]


@pytest.fixture
def scores(tmp_path, rng):
    s = rng.random(200)
    lines = [f"{a!r},{int(rng.random() < a)}" for a in s.tolist()]
    path = tmp_path / "s.csv"
    path.write_text("\n".join(["score,outcome", *lines, ""]))
    return path


@pytest.fixture
def calibrator(tmp_path, scores, run):
    path = tmp_path / "cal.json"
    assert run("fit", scores, "-o", path)[0] == 0
    return path


COMMANDS = {
    "fit": ("fit", "{scores}", "-o", "{out}.json"),
    "shift": ("shift", "{cal}", "--base-rate", "0.2", "-o", "{out}.json"),
    "export python": ("export", "{cal}", "--to", "python", "-o", "{out}.py"),
    "export sql": ("export", "{cal}", "--to", "sql", "-o", "{out}.sql"),
    "report": ("report", "{scores}", "-o", "{out}.html"),
    "measure": ("measure", "{log}", "--save-curve", "{out}.curve"),
    "demo": ("demo", "--save", "{out}.npz"),
    "apply": ("apply", "{cal}", "{scores}", "-o", "{out}.csv"),
}


@pytest.fixture
def call(tmp_path, scores, calibrator, run):
    log = tmp_path / "log"
    log.mkdir()
    (log / "a.csv").write_bytes(scores.read_bytes())

    def called(name, *more):
        names = dict(scores=scores, cal=calibrator, log=log, out=tmp_path / "out")
        words = [str(word).format(**names) for word in COMMANDS[name]]
        path = next(word for word in words if word.startswith(str(tmp_path / "out")))
        return type(tmp_path)(path), lambda: run(*words, *more)

    return called


@pytest.mark.parametrize("name", COMMANDS)
def test_a_file_of_others_is_kept_without_force(name, call):
    path, again = call(name)
    path.write_text("mine, and of nobody else\n")
    code, out, err = again()
    assert code == 2, err
    assert "exists already" in err
    assert "--force" in err
    assert out == ""
    assert path.read_text() == "mine, and of nobody else\n"
    code, _, err = call(name, "--force")[1]()
    assert code == 0, err
    assert not path.read_bytes().startswith(b"mine")


@pytest.mark.parametrize("name", COMMANDS)
def test_its_own_file_of_that_kind_is_replaced(name, call):
    path, again = call(name)
    assert again()[0] == 0
    before = path.stat().st_ino
    code, _, err = again()
    assert code == (2 if name == "apply" else 0), err
    assert (path.stat().st_ino == before) == (name == "apply")


def test_every_command_that_writes_has_the_option():
    """State of a watch is read and goes on; the paper's tables are printed."""
    outputs = {"output", "save", "save_curve"}
    for name in group.list_commands(None):
        command = group.get_command(None, name)
        names = {param.name for param in command.params}
        assert not names & outputs or "force" in names, name


def test_one_kind_is_not_replaced_by_another(calibrator, scores, run, tmp_path):
    (tmp_path / "page.html").write_bytes(calibrator.read_bytes())
    code, _, err = run("report", scores, "-o", tmp_path / "page.html")
    assert code == 2
    assert "is no report that ogive wrote" in err


def test_graphs_of_before_are_replaced_with_a_warning(tmp_path):
    path = Output(tmp_path / "a.png")
    path.write_bytes(b"\x89PNG of somebody")
    with pytest.warns(OgiveWarning, match="next release refuses"):
        path.claim([], "figure", force=False)
    path.write_bytes(b"\x89PNG tEXtSoftware\0ogive")
    path.claim([], "figure", force=False)


@pytest.mark.parametrize("kind", KINDS)
def test_a_mark_counts_at_the_beginning_and_at_the_end(kind, tmp_path):
    path = Output(tmp_path / "a")
    for mark in KINDS[kind].marks:
        for content in (mark + b"\0" * 5_000_000, b"\0" * 5_000_000 + mark):
            path.write_bytes(content)
            path.claim([], kind, force=False)


def test_a_file_that_appears_meanwhile_stays(tmp_path):
    path = Output(tmp_path / "a.csv")
    path.claim([], None, force=False)
    with pytest.raises(OutputRefused, match="by another run"), replacing(path) as beside:
        beside.write_text("late")
        (tmp_path / "a.csv").write_text("first")
    assert (tmp_path / "a.csv").read_text() == "first"
    assert [one.name for one in tmp_path.iterdir()] == ["a.csv"]


def test_a_file_that_is_changed_meanwhile_stays(tmp_path):
    path = Output(tmp_path / "a.json")
    path.write_bytes(KINDS["calibrator"].marks[0])
    path.claim([], "calibrator", force=False)
    with pytest.raises(OutputRefused, match="by another run"), replacing(path) as beside:
        beside.write_text("late")
        (tmp_path / "a.json").write_text("other, and longer than it was before")
    assert (tmp_path / "a.json").read_text().startswith("other")


def test_a_file_system_without_links(tmp_path, monkeypatch):
    def no_links(*_):
        raise OSError

    monkeypatch.setattr(os, "link", no_links)
    path = Output(tmp_path / "a.csv")
    path.claim([], None, force=False)
    with replacing(path) as beside:
        beside.write_text("whole")
    assert path.read_text() == "whole"


def test_of_several_runs_one_is_first(tmp_path, calibrator, scores):
    out = tmp_path / "four.csv"
    command = [*OGIVE, "apply", calibrator, scores, "-o", out]
    runs = [subprocess.Popen(command, stderr=subprocess.PIPE) for _ in range(4)]  # noqa: S603
    errors = [one.communicate()[1].decode() for one in runs]
    assert sorted(one.returncode for one in runs) == [0, 2, 2, 2], errors
    assert len(out.read_text().splitlines()) == 201


def test_the_name_beside_an_output_may_be_an_input(tmp_path, calibrator, scores, run):
    hidden = tmp_path / "q.csv.ogive.json"
    hidden.write_bytes(calibrator.read_bytes())
    code, _, err = run("apply", hidden, scores, "-o", tmp_path / "q.csv")
    assert code == 2
    assert "is an input" in err
    assert hidden.read_bytes() == calibrator.read_bytes()
    code, _, err = run("apply", calibrator, scores, "-o", tmp_path / "q.csv")
    assert code == 2
    assert "is no note of ogive" in err
    assert not (tmp_path / "q.csv").exists()


def test_a_note_of_another_content_is_ignored_and_said(tmp_path, calibrator, scores, run):
    out = tmp_path / "out.csv"
    assert run("apply", calibrator, scores, "-o", out)[0] == 0
    out.write_text(out.read_text() + "0.5,1\n")
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        code, _, err = run("measure", out)
    assert code == 0
    assert "is of another content of out.csv, and is ignored" in err


def nights(folder, days, rng):
    for day in days:
        (folder / day).mkdir(parents=True)
        s = rng.random(100)
        lines = [f"{a!r},{int(rng.random() < a)}" for a in s.tolist()]
        (folder / day / "rows.csv").write_text("\n".join(["score,outcome", *lines, ""]))


def parquet_rows(folder):
    from ogive.readers.arrow import parquet

    return sum(parquet.read_metadata(path).num_rows for path in folder.rglob("*.parquet"))


def test_a_log_by_night_has_every_row_once(tmp_path, calibrator, run, rng):
    log, out = tmp_path / "log", tmp_path / "calibrated"
    nights(log, ["2026-05-01"], rng)
    assert run("apply", calibrator, log, "-o", out)[0] == 0
    nights(log, ["2026-05-02"], rng)
    assert run("apply", calibrator, log, "-o", out)[0] == 0
    assert parquet_rows(out) == 200
    for path in (log / "2026-05-01").iterdir():  # a log that drops old days
        path.unlink()
    nights(log, ["2026-05-03"], rng)
    assert run("apply", calibrator, log, "-o", out)[0] == 0
    assert parquet_rows(out) == 300
    nights(tmp_path / "other", ["2026-06-01"], rng)  # many inputs into one folder
    assert run("apply", calibrator, tmp_path / "other", "-o", out)[0] == 0
    assert parquet_rows(out) == 400


def test_rows_under_another_name_are_not_written_twice(tmp_path, calibrator, run, rng):
    log, out = tmp_path / "log", tmp_path / "calibrated"
    nights(log, ["day"], rng)
    assert run("apply", calibrator, log / "day", "-o", out)[0] == 0  # rows.csv.parquet
    code, _, err = run("apply", calibrator, log, "-o", out)  # day/rows.csv.parquet
    assert code == 2
    assert "they would be there twice" in err
    assert parquet_rows(out) == 100


@pytest.mark.skipif(os.name != "posix", reason="no such form of closing")
@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&-", ">&- 2>&- <&-"])
def test_closed_streams(closed, tmp_path, scores):
    line = f"'{sys.executable}' -m ogive.cli fit s.csv -o cal.json {closed}"
    done = subprocess.run(line, shell=True, cwd=tmp_path, capture_output=True, check=False)  # noqa: S602
    assert (done.returncode, done.stderr) == (0, b"")
    assert json.loads((tmp_path / "cal.json").read_text())["method"] == "spline"


@pytest.mark.skipif(os.name != "posix", reason="no such form of signals")
def test_a_signal_while_modules_are_loaded(tmp_path):
    """The process tells itself to end as soon as the command line has begun to load."""
    (tmp_path / "rich.py").write_text(
        f"import os\nos.kill(os.getpid(), {int(signal.SIGTERM)})\nimport time\ntime.sleep(60)\n"
    )
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])}
    done = subprocess.run(  # noqa: S603
        [*OGIVE, "--version"], env=env, capture_output=True, check=False, text=True
    )
    assert (done.returncode, done.stderr) == (143, "ogive: terminated\n")


@pytest.mark.skipif(sys.platform != "linux", reason="no such form of names")
def test_names_that_are_not_utf8(tmp_path, scores, run):
    odd = tmp_path / os.fsdecode(b"\xff\xfe.npz")
    assert run("demo", "--save", odd)[0] == 0
    cal = odd.with_suffix(".json")
    for words in (
        ("measure", odd),
        ("fit", odd, "-o", cal, "--view", "top-1"),
        ("apply", cal, odd, "-o", odd.with_suffix(".out.npz")),
        ("plot", odd, "-o", odd.with_suffix(".svg")),
    ):
        for more in ((), ("--json",) if words[0] == "measure" else ("--json", "--force")):
            code, _, err = run(*words, *more)
            assert code == 0, err
    (tmp_path / os.fsdecode(b"\xff.csv")).write_bytes(scores.read_bytes())
    code, _, err = run("measure", tmp_path / os.fsdecode(b"\xff.csv"))
    assert (code, len(err.splitlines())) == (1, 1)
    assert "Rename the file" in err


def test_data_hidden_by_numpy_is_not_touched(tmp_path, run):
    path = tmp_path / "demo.npz"
    np.savez(path, logits=np.zeros((2, 2)))
    assert run("demo", "--save", path)[0] == 2
    assert np.load(path)["logits"].shape == (2, 2)
