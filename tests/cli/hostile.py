"""One hostile command line: drawn from a table, run, and held to what every command promises.

Exit code 0 to 4, no traceback, a few printable lines on stderr, one JSON object on stdout where
that was asked for, inputs as they were, and nothing written but the output.
"""

import contextlib
import hashlib
import io
import json
import os
import pickle
import random
import resource
import shutil
import stat
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path

import numpy as np

SECONDS = 20
ADDRESS_SPACE = 6 << 30  # libraries reserve far more than they use
MOST_LINES = 8  # of stderr: warnings and one error
CODES = {0, 1, 2, 3, 4}
TABLES = ("s.csv", "s.parquet", "m.parquet", "S.CSV", "S.PARQUET")
FILES = (*TABLES, "s.npz", "m.npz", "m.p", "m.h5", "s.curve", "cal.json", "vector.json", "log",
         "watch.json")  # fmt: skip
ODD_NAMES = (
    "[red]x[bold].csv",
    "\x1b[2J\x1b]0;title\x07.csv",
    "two\nlines.npz",
    "\u202egpj.csv",
    ":smile:.csv",
    os.fsdecode(b"\xff\xfe.csv"),
    "*?[x].csv",
    "--json.csv",
    "x" * 200 + ".csv",
)
WORDS = ("", " ", "\x1b[31mred", "[bold]x", "nonexistent", "\u202e", os.fsdecode(b"\xff"), "-1",
         "nan", "1e999", "0", "1", "2", "99999999999999999999", "score", "x" * 300)  # fmt: skip
# The values of each option: mostly bad ones, and none that takes long.
VALUES = {
    "--part": ("cal", "test", "all", "tests"),
    "--view": ("top-1", "all", "vector", "top-99", "class-7", "top-0", "within-top-2", "score"),
    "--method": ("platt", "isotonic", "temperature", "splin", "platt:ovr", "none", ":"),
    "--methods": ("none,platt", ",", "platt,,none", "plat", "none"),
    "--memory": ("100MB", "lots", "-1GB", "1B", "9" * 400),
    "--engine": ("local", "sprak"),
    "--scheduler": ("there",),
    "--master": ("there",),
    "--bins": ("5", "-3"),
    "--resamples": ("3", "-3"),
    "--folds": ("3", "-1"),
    "--seed": ("5", "-5"),
    "--split": ("0.5", "-0.5", "inf"),
    "--jobs": ("1", "-1"),
    "--graph": ("bins", "classes", "reliability", "difference", "methods", "grap"),
    "--to": ("python", "sql", "onxx"),
    "--kind": ("probs", "logits"),
    "--dtype": ("float64", "float16"),
    "--miss": ("20", "1", "0", "-1", "inf"),
    "--alarm": ("1", "0", "-1", "1e308"),
    "--capacity": ("5", "0", "-1", "1e9"),
    "--precision": ("0.5", "0", "1.5"),
    "--time": ("day", "day", "day", "part", "g", "score"),
    "--label-time": ("day", "part", "day,g"),
    "--by": ("g", "part", "day", "g,part"),
    "--every": ("day", "week", "batch", "hour"),
    "--alpha": ("0.05", "0.9999", "0", "1", "5 %"),
}
_COLUMNS = ("--score", "--outcome", "--label", "--weight", "--experiment")
_ROWS = (*_COLUMNS, "--cluster")
_LOGS = ("--memory", "--engine", "--scheduler", "--master")
COMMANDS = {
    "measure": (("file",), (*_ROWS, *_LOGS, "--part", "--view", "--bins", "--resamples",
                "--seed", "--by", "--save-curve", "--skip-bad", "--one-pass")),
    "fit": (("file", "-o"), (*_ROWS, *_LOGS, "--part", "--method", "--view", "--folds",
            "--date", "--tag", "--skip-bad", "--one-pass")),
    "apply": (("cal", "file", "-o"), (*_COLUMNS, "--engine", "--scheduler", "--force")),
    "export": (("cal", "--to", "-o"), ("--kind", "--dtype", "--column")),
    "compare": (("file",), (*_ROWS, "--methods", "--split", "--seed", "--view")),
    "plot": (("file", "-o"), (*_ROWS, "--graph", "--view", "--method", "--split", "--seed")),
    "report": (("file", "-o"), (*_ROWS, "--methods", "--view", "--method", "--split")),
    "watch": (("file", "--time"), (*_COLUMNS, *_LOGS, "--view", "--part", "--by", "--label-time",
              "--every", "--alpha", "--calibrator", "--state", "--skip-bad",
              "--skip-late")),
    "arena": (("file",), ("--methods", "--view", "--peers", "--families", "--jobs",
              "--seed", "--output")),
    "paper": (("file", "--methods"), ()),
    "decide": (("file", "--miss", "--alarm"), (*_COLUMNS, *_LOGS, "--part", "--view", "--method",
               "--capacity", "--precision", "--calibrator", "--costs", "--seed", "--skip-bad")),
}  # fmt: skip
_FILES_IN = {"--peers", "--families", "--calibrator", "--costs"}
FLAGS = {"--skip-bad", "--one-pass", "--force", "--skip-late"}
SUFFIXES = (".json", ".csv", ".parquet", ".npz", ".html", ".png", ".svg", ".py", ".sql", ".PARQUET",
            ".curve", "", ".pdf")  # fmt: skip


def check_cli_once(seed: int, *, inside: bool = False) -> str:
    """Run one hostile command line; return what it was and how it ended, or raise AssertionError.

    `inside` runs it in this process, which is quick but has no limits.
    """
    rng = random.Random(seed)  # noqa: S311 - a test
    root = Path(tempfile.mkdtemp(prefix="ogive-hostile-"))
    try:
        os.chdir(root) if inside else None
        _fill(root, rng)
        words, inputs, outputs = _command_line(root, rng)
        out = {Path(os.path.realpath(root / name)) for name in outputs if name}
        out -= {Path(os.path.realpath(path)) for path in out if _is_input(path, root, inputs)}
        before = _state(root)
        run = _inside if inside else _outside
        code, stdout, stderr = run(words, root)
        what = f"seed {seed}: ogive {words!a} ended with {code}"
        _check(what, words, code, stdout, stderr)
        _check_files(what, before, _state(root), out)
        return f"{words[0]} {code}"
    finally:
        if inside:
            os.chdir(tempfile.gettempdir())
        shutil.rmtree(root, ignore_errors=True)


def _is_input(path, root, inputs):
    """Whether a path is one of the inputs or of the tables in them, whatever its name."""
    every = [root / name for name in inputs if name]
    every += [inner for place in every if place.is_dir() for inner in place.rglob("*.*")]
    with contextlib.suppress(OSError):
        return any(path.samefile(one) for one in every if one.exists())
    return False


def _check(what, words, code, stdout, stderr):
    assert code in CODES, f"{what}\n{stderr}"
    assert "Traceback" not in stderr, f"{what}\n{stderr}"
    assert "(unexpected" not in stderr, f"{what}\n{stderr}"
    assert stderr.count("\n") <= MOST_LINES, f"{what}\n{stderr}"
    answered = code in {0, 3, 4}
    assert answered or stderr.splitlines()[-1].startswith("ogive: "), f"{what}\n{stderr}"
    for text in (stdout, stderr):
        bad = {letter for letter in text if not letter.isprintable()} - {"\n", "\u2800"}
        assert not bad, f"{what} printed {bad!a}"
    if code in {1, 2}:
        assert stdout == "", f"{what} printed {stdout!a}"
    elif "--json" in words and "--help" not in words:
        assert stdout.count("\n") == 1, f"{what} printed {stdout!a}"
        assert isinstance(json.loads(stdout, parse_constant=_no_constant), dict), what


def _no_constant(word):
    raise AssertionError(f"{word} is not JSON")


def _check_files(what, before, after, outputs):
    """Inputs are as they were; what is new is an output, lies in it, or says what made it."""
    beside = {place.with_name(f"{place.name}.ogive.json") for place in outputs}
    for path, state in before.items():
        if path not in outputs:
            assert after.get(path) == state, f"{what}: {path!a} changed"
    for path in after.keys() - before.keys():
        # A new folder for a log's output is made with the folders above it.
        inside = path in beside or any(
            p == path or p in path.parents or (path.is_dir() and path in p.parents) for p in outputs
        )
        assert inside, f"{what}: {path!a} was written"
        assert not path.name.startswith("."), f"{what}: {path!a} was left"


def _state(root):
    """What each path below a folder holds."""
    found = {}
    for path in [Path(top, name) for top, dirs, names in os.walk(root) for name in dirs + names]:
        status = path.lstat()
        mode = stat.S_IFMT(status.st_mode), stat.S_IMODE(status.st_mode)
        regular = stat.S_ISREG(status.st_mode)
        content = hashlib.sha256(path.read_bytes()).hexdigest() if regular else None
        found[path] = (*mode, content)
    return found


def _outside(words, root):
    def limit():
        resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))
        resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))

    # On a busy machine a process gets its share of the time.
    seconds = SECONDS * max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))
    env = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "COLUMNS": "100"}
    env.pop("OGIVE_DEBUG", None)
    try:
        done = subprocess.run(  # noqa: S603
            [sys.executable, "-m", "ogive.cli", *words],
            cwd=root,
            env=env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=seconds,
            preexec_fn=limit,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise AssertionError(f"ogive {words!a} took more than {seconds:.0f} s") from error
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def _inside(words, root):
    from ogive.cli import main

    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(words)
    return code, out.getvalue(), err.getvalue()


def _command_line(root, rng):
    """Return the words of a command, and the paths that it may write."""
    command = rng.choice(list(COMMANDS))
    needed, options = COMMANDS[command]
    words, inputs, outputs = [command], [], []
    for name in needed:
        if rng.random() < 0.03:
            continue  # something is missing
        if name in {"file", "cal"}:
            path = _input(root, rng, calibrator=name == "cal")
            inputs.append(path)
            words.append("./" + path if path.startswith("-") else path)
        else:
            words += [name, _value(name, root, rng, words, outputs)]
    for name in rng.sample(options, min(len(options), rng.choice((0, 0, 0, 1, 1, 2)))):
        more = [] if name in FLAGS else [_value(name, root, rng, words, outputs)]
        inputs += more if name in _FILES_IN else []
        words += [name, *more]
    if rng.random() < 0.5:
        words.append("--json")
    return words, inputs, outputs


def _value(name, root, rng, words, outputs):
    if name in {"-o", "--output", "--save-curve", "--state"}:
        outputs.append(_output(rng, words))
        return outputs[-1]
    if name in _FILES_IN:
        return _input(root, rng, calibrator=True)
    usual = VALUES.get(name, ())
    return rng.choice(usual if usual and rng.random() < 0.7 else WORDS)


def _input(root, rng, *, calibrator):
    """Return a file that is what is asked for, or not."""
    good = ("cal.json", "vector.json") if calibrator else (*TABLES, "s.npz", "m.npz", "log", "m.p")
    draw = rng.random()
    if draw < 0.5:
        return rng.choice(good)
    if draw < 0.7:
        return "mutant" + rng.choice([p.suffix for p in root.glob("mutant.*")])
    if draw < 0.8:
        return rng.choice(ODD_NAMES)
    return rng.choice((*FILES, "", "missing.csv", "missing", ".", "pipe.csv", "pipe", "/dev/null",
                       "/dev/zero", "empty", "empty.csv", "log/*.csv", "nothing*", "dangling.csv",
                       "circle.csv", "folder.csv", "mutants"))  # fmt: skip


def _output(rng, words):
    """Return where a result should go."""
    if rng.random() < 0.7:
        right = {"fit": ".json", "plot": ".svg", "report": ".html", "export": ".py"}
        like = Path(words[-1]).suffix if words[0] == "apply" else right.get(words[0], ".json")
        suffix = like if rng.random() < 0.8 else rng.choice(SUFFIXES)
        return rng.choice(("new", "new", "[red]new", "new\x1b[31m", "old")) + suffix
    return rng.choice((*FILES, "", "-", ".", "log/new.parquet", "log/out", "hard.json",
                       "soft.parquet", "hard.csv", "pipe", "/dev/null", "/dev/full",
                       "nowhere/x.json", "circle.csv", "s.csv/x.json", "/proc/x.json", "link.json",
                       "sub/deep/out", "sub/out.json"))  # fmt: skip


@cache
def _corpus():
    """Return the contents of the files, by name."""
    import ogive

    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        _write_files(root, rng, ogive)
        return {p.relative_to(root): p.read_bytes() for p in root.rglob("*") if p.is_file()}


def _write_files(root, rng, ogive):
    import h5py
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet

    s = rng.random(120)
    y = (rng.random(120) < s).astype(int)
    part = np.where(np.arange(120) % 2, "cal", "test")
    names = ["[red]a[/]", "\x1b[31mb", "c\nd"]
    table = pa.table(
        {
            "score": s,
            "outcome": y,
            "part": part,
            "g": [names[i % 3] for i in range(120)],
            "day": [f"2026-05-{1 + i // 30:02d}" for i in range(120)],
        }
    )
    z = rng.normal(size=(120, 3))
    label = rng.integers(3, size=120)
    wide = pa.table({"label": label, "part": part} | {f"logit_{k}": z[:, k] for k in range(3)})
    (root / "log").mkdir()
    for name in ("s.csv", "S.CSV", "log/a.csv"):
        pa.csv.write_csv(table, root / name)
    for name, what in (("s.parquet", table), ("S.PARQUET", table), ("m.parquet", wide),
                       ("log/a.csv.parquet", table)):  # fmt: skip
        pa.parquet.write_table(what, root / name)
    np.savez(root / "s.npz", scores=s, outcomes=y)
    np.savez(root / "m.npz", cal_logits=z, cal_labels=label, test_logits=z, test_labels=label)
    (root / "m.p").write_bytes(pickle.dumps(((z, label), (z, label))))
    with h5py.File(root / "m.h5", "w") as file:
        p = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
        for part in ("cal", "test"):
            file[f"data/model/probas_{part}"], file[f"data/model/labels_{part}"] = p, label
    curve = ogive.Curve.from_scores(s, y)
    ogive.save(curve, root / "s.curve")
    ogive.save(ogive.fit_platt(curve), root / "cal.json")
    preds = ogive.Predictions(z, label, kind="logits")
    ogive.save(ogive.fit_temperature(preds), root / "vector.json")
    ogive.Watch().update(curve, "2026-05-01").save(root / "watch.json")
    for name in ("old.json", "old.csv", "old.html", "real.json"):
        (root / name).write_text("old")


def _fill(root, rng):
    """Write the corpus, mutants of it, and paths that are no files."""
    files = _corpus()
    for name, content in files.items():
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_bytes(content)
    (root / "mutants").mkdir()
    for name, content in files.items():
        if name.parent == Path() and content != b"old":
            (root / f"mutant{name.suffix}").write_bytes(_mutated(content, rng))
    (root / "mutants" / f"a{rng.choice(('.csv', '.parquet', '.npz'))}").write_bytes(
        _mutated(files[Path("s.csv")], rng)
    )
    for name in ODD_NAMES:
        source = "s.npz" if name.endswith(".npz") else "s.csv"
        (root / name).write_bytes(files[Path(source)])
    for name in ("pipe", "pipe.csv"):
        os.mkfifo(root / name)
    (root / "empty").mkdir()
    (root / "folder.csv").mkdir()
    (root / "empty.csv").touch()
    (root / "dangling.csv").symlink_to("nothing.csv")
    (root / "circle.csv").symlink_to("circle.csv")
    (root / "link.json").symlink_to("real.json")
    (root / "soft.parquet").symlink_to("s.parquet")
    (root / "hard.json").hardlink_to(root / "s.npz")
    (root / "hard.csv").hardlink_to(root / "s.csv")


def _mutated(content, rng):
    """Cut, flip, insert or repeat some bytes."""
    data = bytearray(content)
    for _ in range(rng.choice((1, 1, 2, 8))):
        at = rng.randrange(len(data) or 1)
        kind = rng.randrange(5)
        if kind == 0:
            del data[at:]
        elif kind == 1 and data:
            data[at] ^= 1 << rng.randrange(8)
        elif kind == 2:
            data[at:at] = rng.choice(
                (b'"', b"\0", b"\xff\xfe", b"\x1b[31m", b"nan", b"\n", b"1e999")
            )
        elif kind == 3:
            data[at : at + rng.randrange(64)] = b""
        else:
            data[at:at] = data[at : at + 100]
    return bytes(data)
