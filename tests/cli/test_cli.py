import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest

import ogive
from ogive.readers import table
from tests.bundled import DEMO
from tests.readers.bad_files import BAD_FILES


def test_a_part_that_is_missing_is_told(run, tmp_path):
    np.savez(tmp_path / "x.npz", test_scores=[0.2, 0.8], test_outcomes=[0, 1])
    code, _, err = run("fit", tmp_path / "x.npz", "-o", tmp_path / "cal.json")
    assert code == 1
    assert "has no cal part, only test. Say which one: --part test" in err


def test_files_of_several_kinds_are_told(run, tmp_path):
    np.savez(tmp_path / "a.npz", scores=[0.2, 0.8], outcomes=[0, 1])
    np.savez(tmp_path / "b.npz", logits=np.zeros((2, 5)), labels=[0, 1])
    code, _, err = run("measure", tmp_path / "a.npz", tmp_path / "b.npz")
    assert code == 1
    assert f"{tmp_path / 'a.npz'} has scores and {tmp_path / 'b.npz'} has logits" in err


@pytest.mark.parametrize(("name", "write", "message"), BAD_FILES, ids=[b[0] for b in BAD_FILES])
def test_bad_files_fail_in_one_line_and_touch_nothing(run, tmp_path, name, write, message):
    path, existing = tmp_path / name, tmp_path / "cal.json"
    write(path)
    existing.write_text("precious")
    for words in (("measure", path), ("measure", path, "--json"), ("fit", path, "-o", existing)):
        code, out, err = run(*words)
        assert code in {1, 2}
        assert out == ""
        assert err.startswith("ogive: ")
        assert err.count("\n") == 1
        assert "Traceback" not in err
    assert existing.read_text() == "precious"
    assert not (tmp_path / "proof-that-it-ran").exists()
    assert sorted(os.listdir(tmp_path)) == sorted({"cal.json", name} - {"missing.npz"})


ANY = Path("source.parquet")  # the source of a table that is not text: written with commas
USAGE = [
    (("measure",), 2, "Missing argument"),
    (("mesure", "x"), 2, "No such command 'mesure'"),
    (("compare", DEMO, "--methods", "plat"), 2, "Did you mean 'platt'"),
    (("fit", DEMO, "-o", "x.json", "--method", "splin"), 2, "Did you mean 'spline'"),
    (("measure", DEMO, "--view", "top1"), 2, "Did you mean 'top-1'"),
    (("measure", DEMO, "--part", "tests"), 2, "Did you mean 'test'"),
    (("measure", DEMO, "--view", "top-11"), 2, "top-r needs r in [1, 10]"),
    (("measure", DEMO, "--view", "class-99"), 2, "class-k needs k in [0, 10)"),
    (("measure", DEMO, "--view", "within-top-10"), 2, "within-top-r needs r in [1, 10)"),
    (("measure", DEMO, "--view", "score"), 2, "'score' is for one-column predictions"),
    (("fit", DEMO, "-o", "x.json", "--view", "class-10"), 2, "class-k needs k in [0, 10)"),
    (("compare", DEMO, "--view", "top-11"), 2, "top-r needs r in [1, 10]"),
    (("compare", DEMO, "--split", "0.5"), 2, "has parts already: cal and test. Leave out --split"),
    (("plot", DEMO, "-o", "x.png", "--view", "top-11"), 2, "top-r needs r in [1, 10]"),
    (("report", DEMO, "-o", "x.html", "--view", "class-10"), 2, "class-k needs k in [0, 10)"),
    (("fit", DEMO, "-o", "x.json", "--method", "none", "--folds", 3), 2, "--folds does not apply"),
    (("apply", DEMO, DEMO, "-o", "x.npz"), 1, "is not a saved calibrator"),
    (("fit", DEMO), 2, "Missing option"),
]


@pytest.mark.parametrize(("words", "code", "message"), USAGE)
def test_wrong_usage_says_the_way_out(run, words, code, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    got, _, err = run(*words)
    assert got == code
    assert message in err
    assert err.count("\n") == 1
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_names_of_columns_that_would_not_be_read_are_refused(run, tmp_path, suffix):
    scores, matrix = tmp_path / f"s{suffix}", tmp_path / f"m{suffix}"
    truth = {"label": [0, 1] * 20, "outcome": [0, 1] * 20}
    table._store(pa.table({"score": [0.2, 0.8] * 20, **truth}), scores, suffix, ANY)
    probs = {"prob_0": [0.8, 0.3] * 20, "prob_1": [0.2, 0.7] * 20}
    table._store(pa.table({**probs, **truth}), matrix, suffix, ANY)
    cal = tmp_path / "cal.json"
    for path, option, way_out in (
        (scores, "label", "--outcome label"),
        (matrix, "outcome", "--label outcome"),
    ):
        for words in (("measure", path), ("fit", path, "-o", cal), ("measure", path, "--one-pass"),
                      ("compare", path, "--split", "0.5")):  # fmt: skip
            code, out, err = run(*words, f"--{option}", option)
            assert (code, out) == (2, ""), err
            assert f"--{option} does not apply" in err
            assert way_out in err
    assert not cal.exists()
    assert run("measure", matrix, "--label", "label")[0] == 0
    assert run("measure", scores, "--outcome", "label")[0] == 0


def test_parts_that_a_file_does_not_have_are_refused(run, tmp_path):
    path = tmp_path / "s.csv"
    path.write_text("score,outcome\n" + "0.2,0\n0.8,1\n" * 20)
    np.savez(tmp_path / "s.npz", scores=[0.2, 0.8], outcomes=[0, 1])
    for words in (
        ("measure", path),
        ("measure", path, "--one-pass"),
        ("measure", tmp_path / "s.npz"),
        ("fit", path, "-o", tmp_path / "cal.json"),
    ):
        code, out, err = run(*words, "--part", "cal")
        assert (code, out) == (2, ""), err
        assert "there is no part 'cal'. Leave the part out." in err
    path.write_text("score,outcome,part\n" + "0.2,0,test\n0.8,1,test\n" * 20)
    for more in ((), ("--one-pass",)):
        code, _, err = run("measure", path, "--part", "tests", *more)
        assert code == 2
        assert "Did you mean 'test'?" in err
    assert run("measure", path, "--part", "cal")[0] == 2


def test_help_and_version(run):
    code, out, _ = run("--help")
    assert code == 0
    for command in ("measure", "fit", "apply", "compare", "demo"):
        assert command in out
    code, out, _ = run("--version")
    assert code == 0
    assert ogive.__version__ in out


def test_help_loads_nothing_heavy():
    code = (
        "import sys; from ogive.cli import main; main(['--help']); "
        "print([m for m in ('numpy', 'scipy', 'rich.table', 'pyarrow') if m in sys.modules], "
        "file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)  # noqa: S603
    assert done.stderr.strip() == "[]"


def test_completion_is_offered():
    env = {**os.environ, "_OGIVE_COMPLETE": "bash_source"}
    words = [sys.executable, "-c", "from ogive.cli import entry; entry()"]
    done = subprocess.run(words, capture_output=True, text=True, env=env, check=False)  # noqa: S603
    assert "_ogive_completion" in done.stdout


def test_a_reader_that_goes_away_is_no_failure():
    script = "from ogive.cli import entry; entry()"
    command = f"{sys.executable} -c '{script}' --help | head -1"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, check=True)  # noqa: S602
    assert done.stderr == ""


def test_colour_on_a_terminal_only_and_not_with_no_color():
    import pty

    def in_terminal(**env):
        leader, follower = pty.openpty()
        words = [sys.executable, "-m", "ogive.cli", "compare", DEMO, "--methods", "none,platt"]
        full = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "120", **env}
        full.pop("NO_COLOR", None) if "NO_COLOR" not in env else None
        subprocess.run(words, stdout=follower, stderr=follower, env=full, check=True)  # noqa: S603
        os.close(follower)
        text = b""
        while True:
            try:
                piece = os.read(leader, 65536)
            except OSError:
                break
            if not piece:
                break
            text += piece
        os.close(leader)
        return text.decode()

    assert "\x1b[32m" in in_terminal()
    assert "\x1b[32m" not in in_terminal(NO_COLOR="1")
