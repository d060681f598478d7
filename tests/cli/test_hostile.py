"""Command lines that nobody would mean to type, and names that try to speak to the terminal."""

import os
import shutil
import subprocess
import sys
import time

import numpy as np
import pyarrow as pa
import pytest
from rich.console import Console

from ogive.cli import main, tables, terminal
from ogive.cli.values import INPUT
from tests.cli.hostile import check_cli_once
from tests.engines.tables import store


@pytest.mark.thorough
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("first", range(0, 60, 15))
def test_hostile_command_lines(first, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    for seed in range(first, first + 15):
        check_cli_once(seed, inside=True)


@pytest.mark.thorough
def test_hostile_command_lines_in_processes_with_limits():
    for seed in range(3):
        check_cli_once(seed)


BAD_VALUES = [
    ("measure", "", "a name is needed"),
    ("measure FILE --resamples -3", None, "--resamples"),
    ("measure FILE --bits 9", None, "--bits is gone: leave it out"),
    ("measure FILE --bins 0", None, "--bins"),
    ("measure FILE --seed -1", None, "--seed"),
    ("measure FILE --memory 9kB", None, "at least 64MB"),
    ("measure FILE --engine sprak", None, "Did you mean 'spark'"),
    ("measure FILE --part", "", "a name is needed"),
    ("measure FILE --view", "", "a name is needed"),
    ("measure FILE --score nonexistent", None, "--score does not apply: FILE has arrays"),
    ("measure FILE --experiment a/b", None, "--experiment does not apply"),
    ("measure FILE --by g", None, "--by does not apply: FILE cannot be read as a log"),
    ("measure FILE --one-pass", None, "--one-pass does not apply"),
    ("measure CURVE --view top-1", None, "--view does not apply: saved curves"),
    ("measure TABLE --by g --resamples 5", None, "--resamples does not apply: groups"),
    ("measure FILE --cluster", "", "a name is needed"),
    ("measure FILE --cluster g", None, "unknown array of FILE: 'g'"),
    ("measure TABLE --cluster nope", None, "unknown column of TABLE: 'nope'"),
    ("measure TABLE --cluster score", None, "--cluster score is the column of the scores"),
    ("measure TABLE --cluster g --by g", None, "--by does not apply: it reads rows piece by"),
    ("measure CURVE --cluster g", None, "--cluster does not apply: a saved curve does not know"),
    ("fit TABLE -o x.json --cluster g --one-pass", None, "--one-pass does not apply: it reads"),
    ("apply CAL TABLE -o x.csv --cluster g", None, "--cluster"),
    ("fit FILE -o x.json --folds 1", None, "give 0 to skip, or at least 2"),
    ("fit FILE -o x.json --folds -1", None, "--folds"),
    ("fit TABLE -o x.json --folds 10", None, "which has 9. Give at most 9, or 0 to skip"),
    (
        "fit TABLE -o x.json --folds 10 --one-pass --method platt",
        None,
        "which has 9. Give at most 9",
    ),
    ("fit FILE -o x.json --tag", "two\nlines", "one printable line"),
    ("fit FILE -o x.npz", None, ".npz is for files of predictions"),
    ("fit FILE -o", "", "a name is needed"),
    ("fit FILE -o -", None, "results go to a file"),
    ("compare FILE --split nan", None, "not a number"),
    ("compare FILE --split 1.5", None, "--split"),
    ("compare FILE --seed 3", None, "--seed does not apply: nothing is drawn"),
    ("compare FILE --methods none,,platt", None, "one is empty"),
    ("plot FILE -o x.png --graph bin", None, "Did you mean 'bins'"),
    ("plot FILE -o x.png --graph classes --view top-1", None, "--view does not apply"),
    ("plot FILE -o x.html", None, "must end in .png, .svg, .pdf"),
    ("report FILE -o x.pdf", None, "open it in a browser and print it"),
    ("apply CAL FILE -o x.csv", None, "must end in one of: .npz"),
    ("demo --save x.csv", None, "call it .npz"),
    ("arena . --jobs 0", None, "--jobs"),
    ("arena . --seed -1", None, "--seed"),
    ("measure /dev/zero", None, "is a device, which may never end"),
    ("measure PIPE", None, "is a pipe"),
    ("apply PIPE FILE -o x.npz", None, "is a pipe"),
    ("fit FILE -o pipe.json", None, "is a pipe and is not replaced"),
    ("fit FILE -o /dev/stdout", None, "is where this process reads or prints"),
    ("fit FILE -o /dev/null", None, "is a device and is not replaced"),
    ("arena . -o pipe.json", None, "is a pipe and is not replaced"),
]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A curve and a calibrator, made once."""
    folder, rng = tmp_path_factory.mktemp("made"), np.random.default_rng(0)
    table = pa.table({"score": [0.2, 0.8] * 9, "outcome": [0, 1] * 9, "g": ["a"] * 18})
    store(table, folder / "t.csv")
    s = rng.random(800)
    np.savez(folder / "s.npz", scores=s, outcomes=rng.random(800) < s)
    for line in ("measure t.csv --save-curve t.curve",
                 "fit s.npz -o cal.json --method platt --folds 0"):  # fmt: skip
        done = subprocess.run(  # noqa: S603
            [sys.executable, "-m", "ogive.cli", *line.split()], cwd=folder, check=False
        )
        assert done.returncode == 0
    return folder


@pytest.fixture
def words(made, scores, tmp_path, monkeypatch):
    """Turn a line into words, with FILE, TABLE, CURVE, CAL and PIPE for the paths of such."""
    monkeypatch.chdir(tmp_path)
    for name in ("t.csv", "t.curve", "cal.json"):
        shutil.copy(made / name, name)
    os.mkfifo("p.csv")
    os.mkfifo("pipe.json")
    names = {"FILE": "scores.npz", "TABLE": "t.csv", "CURVE": "t.curve", "CAL": "cal.json",
             "PIPE": "p.csv"}  # fmt: skip

    def turned(line, *more):
        for name, path in names.items():
            line = line.replace(name, path)
        return [*line.split(), *more]

    return turned


@pytest.mark.parametrize(("line", "last", "message"), BAD_VALUES)
def test_bad_values_and_options_that_do_not_apply_are_wrong_usage(
    run, words, line, last, message, tmp_path
):
    before = sorted(os.listdir(tmp_path))
    code, out, err = run(*words(line, *([] if last is None else [last])))
    assert (code, out) == (2, ""), err
    assert " ".join(words(message)) in err
    assert err.count("\n") == 1
    assert sorted(os.listdir(tmp_path)) == before


INPUTS = [
    "fit FILE -o FILE",
    "fit FILE -o hard.json",
    "fit TABLE -o soft.json",
    "report FILE -o hard.html",
    "plot FILE -o hard.png",
    "export CAL --to python -o CAL",
    "export CAL --to python -o cal.py",
    "measure TABLE --save-curve TABLE",
    "measure CURVE --save-curve CURVE",
    "measure sub --save-curve sub/new.npz",
    "apply CAL FILE -o FILE --force",
    "apply CAL FILE -o hard.npz --force",
    "apply CAL FILE -o soft.npz --force",
    "apply CAL sub -o sub --force",
    "apply CAL sub -o sub/out --force",
    "apply CAL sub/a.csv -o sub/a.csv --force",
    "arena . --families CAL -o CAL",
]


@pytest.mark.parametrize("line", INPUTS)
def test_an_input_is_never_the_output(run, words, line, tmp_path):
    turned = words(line)
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "a.csv").write_bytes((tmp_path / "t.csv").read_bytes())
    for name in ("hard.json", "hard.html", "hard.png", "hard.npz"):
        (tmp_path / name).hardlink_to(tmp_path / "scores.npz")
    (tmp_path / "cal.py").hardlink_to(tmp_path / "cal.json")
    (tmp_path / "soft.json").symlink_to("t.csv")
    (tmp_path / "soft.npz").symlink_to("scores.npz")
    before = {p: p.read_bytes() for p in tmp_path.rglob("*.*") if p.is_file()}
    code, out, err = run(*turned)
    assert (code, out) == (2, ""), err
    assert "input" in err or "files of predictions" in err
    assert {p: p.read_bytes() for p in tmp_path.rglob("*.*") if p.is_file()} == before


def test_apply_replaces_an_output_only_by_force_and_others_as_before(run, words, tmp_path):
    line = words("apply CAL FILE -o out.npz")
    assert run(*line)[0] == 0
    first = (tmp_path / "out.npz").read_bytes()
    (tmp_path / "out.npz").write_bytes(b"mine")
    code, _, err = run(*line)
    assert code == 2
    assert "exists already. Give another name, or --force" in err
    assert (tmp_path / "out.npz").read_bytes() == b"mine"
    assert run(*line, "--force")[0] == 0
    assert (tmp_path / "out.npz").read_bytes() == first
    for again in ("fit FILE -o c.json --folds 0", "export CAL --to sql -o c.sql",
                  "plot FILE -o c.svg --graph bins"):  # fmt: skip
        for _ in range(2):
            assert run(*words(again))[0] == 0


@pytest.mark.parametrize("suffix", [".CSV", ".PARQUET"])
def test_suffixes_in_capitals_are_the_same_kinds(run, words, suffix, tmp_path):
    table = pa.table({"score": [0.2, 0.8] * 9, "outcome": [0, 1] * 9})
    store(table, tmp_path / f"a{suffix.lower()}")
    (tmp_path / f"a{suffix.lower()}").rename(tmp_path / f"b{suffix}")
    assert run(*words(f"apply CAL b{suffix} -o out{suffix}"))[0] == 0
    start = {".CSV": b"score", ".PARQUET": b"PAR1"}[suffix]
    assert (tmp_path / f"out{suffix}").read_bytes().startswith(start)
    assert run("measure", f"out{suffix}")[0] == 0


EVIL = "\x1b[2J[red]\u202e:smile:\x9b1m\r\n"
SAFE = r"\x1b[2J[red]\u202e:smile:\x9b1m\r\n"


def test_names_are_printed_as_they_are_and_obeyed_by_no_terminal(run, tmp_path, rng):
    s = rng.random(300)
    groups = [f"{EVIL}{i % 3}" for i in range(300)]
    table = pa.table({"score": s, "outcome": (rng.random(300) < s).astype(int), EVIL: groups})
    store(table, tmp_path / "a.parquet")
    code, out, err = run("measure", tmp_path / "a.parquet", "--by", EVIL)
    assert (code, err) == (0, "")
    assert SAFE in out
    code, _, err = run("measure", tmp_path / f"{EVIL}.csv")
    assert code == 1
    for text in (out, err):
        assert all(letter.isprintable() or letter == "\n" for letter in text)
    np.savez(tmp_path / os.fsdecode(b"\xff[b].npz"), scores=s, outcomes=rng.random(300) < s)
    code, out, _ = run("fit", tmp_path / os.fsdecode(b"\xff[b].npz"), "-o",
                       tmp_path / os.fsdecode(b"\xfe[b].json"), "--folds", "0")  # fmt: skip
    assert code == 0
    assert r"\udcfe[b].json" in out


def test_a_table_on_a_real_terminal_shows_markup_as_text():
    console = Console(force_terminal=True, color_system="standard", width=80, file=None)
    with console.capture() as captured:
        rows = [(["[red]name[/]", "1"], "")]
        tables.show_table(console, "[bold]title[/]", ("[red]x[/]", "y"), rows)
    for text in ("[red]name[/]", "[bold]title[/]", "[red]x[/]"):
        assert text in captured.get()


def test_a_bar_shows_names_as_text(monkeypatch, capsys):
    monkeypatch.setattr(terminal, "_PATIENCE", 0.0)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    text, deadline = "", time.monotonic() + 60
    with terminal.progress("reading") as step:
        step("[red]file\x1b[2J", 1, 3)
        while r"[red]file\x1b[2J" not in text and time.monotonic() < deadline:
            time.sleep(0.02)  # a thread of its own draws it
            text += capsys.readouterr().err
    assert r"[red]file\x1b[2J" in text


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (KeyError("x"), "scores.npz: measure failed (KeyError: 'x'). Is the file whole"),
        (RecursionError("deep"), "measure failed (RecursionError: deep)"),
        (MemoryError(), "not enough memory"),
        (RuntimeError("odd"), "measure failed (RuntimeError: odd)"),
        (OSError(28, "No space left on device", "x.json"), "x.json: No space left on device"),
    ],
)
def test_errors_of_other_libraries_become_ours(run, scores, monkeypatch, error, message):
    def fail(*_, **__):
        raise error

    monkeypatch.setattr("ogive.readers.multi_file.read_together", fail)
    code, out, err = run("measure", scores)
    assert (code, out) == (1, "")
    assert message in err
    assert "unexpected" not in err
    assert err.count("\n") == 1
    monkeypatch.setenv("OGIVE_DEBUG", "1")
    if not isinstance(error, OSError):
        with pytest.raises(Exception, match=r"failed|memory"):
            main(["measure", str(scores)])


def test_a_full_disk_behind_stdout_is_one_line():
    with open("/dev/full", "w") as full:  # noqa: PTH123
        words = [sys.executable, "-m", "ogive.cli", "--help"]
        done = subprocess.run(words, stdout=full, stderr=subprocess.PIPE, text=True, check=False)  # noqa: S603
    assert done.returncode == 1
    assert done.stderr == "ogive: reading or printing failed: No space left on device\n"


def test_paths_complete_in_the_shell():
    assert INPUT.shell_complete(None, None, "x")[0].type == "file"


@pytest.mark.thorough
def test_a_run_that_is_asked_to_end_leaves_nothing(words, tmp_path):
    script = (
        "import os, sys, time; sys.argv = sys.argv[1:]; os.fsync = lambda fd: time.sleep(60);"
        "from ogive.cli import entry; entry()"
    )
    line = ["-", *words("apply CAL FILE -o out.npz")]
    run = subprocess.Popen([sys.executable, "-c", script, *line], stderr=subprocess.PIPE)  # noqa: S603
    deadline = time.monotonic() + 120
    while not list(tmp_path.glob(".out.npz.*")) and time.monotonic() < deadline:
        time.sleep(0.02)
    run.terminate()
    _, err = run.communicate(timeout=120)
    assert (run.returncode, err) == (143, b"ogive: terminated\n")
    assert not list(tmp_path.glob("*out.npz*"))
