"""What Windows lacks or refuses is taken away, and the library still does its work.

No Windows was at hand. A process of its own runs without the calls that Windows does not have,
cannot rename over or delete open files, prints to a console of 191 letters, starts processes anew
(spawn), and may not open a text file without naming its encoding.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from ogive._files import replacing

pytestmark = pytest.mark.thorough

ROOT = Path(__file__).resolve().parents[1]
#: Of other libraries: they have their own code for Windows, which is not on test here.
FOREIGN = (
    "click, h5py, jinja2, joblib, matplotlib.pyplot, numpy, pyarrow.csv, pyarrow.dataset, "
    "pyarrow.parquet, rich.console, rich.progress, scipy.optimize, scipy.special, sklearn.base, "
    "sklearn.linear_model, multiprocessing, subprocess, tempfile, shutil, threadpoolctl"
)
WINDOWS = """
import errno, os, signal, sys, warnings
def open_files():
    for handle in os.listdir("/proc/self/fd"):
        try:
            yield os.stat("/proc/self/fd/" + handle)
        except OSError:
            pass
def refuse_if_open(call):
    def instead(path, *rest, **named):
        last = rest[0] if rest else path
        if os.path.exists(last) and any(os.path.samestat(os.stat(last), s) for s in open_files()):
            raise PermissionError(errno.EACCES, "The process cannot access the file", str(last))
        return call(path, *rest, **named)
    return instead
def fsync(handle, call=os.fsync, flags=__import__("fcntl").fcntl):
    if flags(handle, 3) & os.O_ACCMODE == os.O_RDONLY:  # 3: F_GETFL
        raise OSError(errno.EBADF, "Bad file descriptor")
    call(handle)
def open_(path, *rest, call=os.open, **named):
    if not isinstance(path, int) and os.path.isdir(path):
        raise PermissionError(errno.EACCES, "Permission denied", str(path))
    return call(path, *rest, **named)
def kill(*_):
    raise AssertionError("on Windows, signal 0 is Ctrl-C")
os.replace, os.unlink = refuse_if_open(os.replace), refuse_if_open(os.unlink)
os.fsync, os.open, os.kill = fsync, open_, kill
for name in ("fcntl", "resource", "pwd", "grp", "termios"):
    sys.modules[name] = None
for name in ("fork", "geteuid", "getuid", "chown", "set_blocking", "sched_getaffinity", "sysconf",
             "O_NOFOLLOW", "register_at_fork", "setsid", "killpg", "pread", "uname"):
    delattr(os, name)
for name in ("pthread_sigmask", "SIGKILL", "SIGPIPE", "SIGHUP", "SIGALRM", "alarm", "sigwait"):
    delattr(signal, name)
signal.set_wakeup_fd = lambda handle, **_: None  # Linux wants a handle that does not block
import multiprocessing, shutil
shutil._use_fd_functions = False
multiprocessing.set_start_method("spawn", force=True)
warnings.filterwarnings("ignore", category=EncodingWarning)
warnings.filterwarnings("error", category=EncodingWarning, module="ogive")
"""
WORK = """
import numpy, pathlib, tests.smoke
from ogive.cli import interrupt, main
folder = pathlib.Path.cwd()
tests.smoke.check(folder)
scores = numpy.linspace(0.01, 0.99, 400)
outcomes = numpy.random.default_rng(0).random(400) < scores
(folder / "experiments").mkdir()
for name in "ab":
    parts = {f"{p}_{k}": v for p in ("cal", "test")
             for k, v in (("scores", scores), ("outcomes", outcomes))}
    numpy.savez(folder / "experiments" / f"{name}.npz", **parts)
days = [f"{s},{int(y)},2026-01-0{1 + i % 3}"
        for i, (s, y) in enumerate(zip(scores.tolist(), outcomes.tolist()))]
(folder / "log").mkdir()
text = "\\n".join(["score,outcome,day", *days])
(folder / "log" / "days.csv").write_text(text, encoding="utf-8")
for words in (
    "fit log -o cal2.json",
    "apply cal2.json log -o out",
    "arena experiments --methods none,platt --jobs 1",
    "watch log --time day --state state.json",
    "watch log --time day --state state.json",
    "export cal2.json --to sql -o cal.sql",
):
    assert main(words.split()) == 0, words
interrupt.watch()
print("done: \\u2026 \\u2260")
"""


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="Linux plays Windows")
def test_without_what_windows_lacks(tmp_path):
    env = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])}
    env |= {"PYTHONIOENCODING": "cp1252:backslashreplace", "PYTHONUTF8": "0", "MPLBACKEND": "agg"}
    code = f"import {FOREIGN}\n{WINDOWS}\n{WORK}"
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-X", "warn_default_encoding", "-c", code],
        capture_output=True, cwd=tmp_path, env=env, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr.decode("cp1252")[-3000:]
    assert done.stdout.decode("cp1252").rstrip().endswith("done: … \\u2260")


def test_a_file_that_is_open_elsewhere_is_named(tmp_path, monkeypatch):
    def refuse(*_):
        raise PermissionError(13, "it is open in another program")

    target = tmp_path / "out.csv"
    target.write_text("before", encoding="utf-8")
    monkeypatch.setattr(Path, "replace", refuse)
    with (
        pytest.raises(PermissionError, match=r"out\.csv cannot be written: it is open in another"),
        replacing(target) as beside,
    ):
        beside.write_text("after", encoding="utf-8")
    assert [path.name for path in tmp_path.iterdir()] == ["out.csv"]
    assert target.read_text(encoding="utf-8") == "before"
