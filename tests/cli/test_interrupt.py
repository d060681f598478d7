"""Ctrl-C ends every command within two seconds, with one line; long work shows that it goes on."""

import os
import pty
import re
import select
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from ogive import Predictions, save
from ogive.calibrators.scaling.temperature import fit_temperature
from ogive.cli import interrupt

pytestmark = pytest.mark.thorough

#: Much longer than what is waited for, also on a busy machine: nothing here ends by itself.
FOR_EVER = 120.0
#: Runs ogive, and once the bar shows a step with these words the work goes on for ever.
ENDLESS = """
import numpy
from ogive.cli import entry
from ogive.cli.bar import Bar
step = Bar.step
def endless(self, what, *rest):
    step(self, what, *rest)
    while {words!r} in what:
        numpy.linalg.eigvalsh(numpy.ones((60, 60)))
Bar.step = endless
entry()
"""


class Started:
    """A command on a terminal of its own: what it writes, and how it ends."""

    def __init__(self, words, script="from ogive.cli import entry; entry()", **env):
        leader, follower = pty.openpty()
        env |= {"TERM": "xterm-256color", "COLUMNS": "100", "NO_COLOR": "1"}
        self.process = subprocess.Popen(  # noqa: S603
            [sys.executable, "-c", script, *map(str, words)],
            stdin=subprocess.DEVNULL,
            stdout=follower,
            stderr=follower,
            env=os.environ | env,
            start_new_session=True,  # Ctrl-C goes to all processes of a terminal's session
        )
        os.close(follower)
        self.text, self.leader = "", leader
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self):
        while True:
            select.select([self.leader], [], [])
            try:
                piece = os.read(self.leader, 65536)
            except OSError:
                return
            if not piece:
                return
            self.text += piece.decode(errors="replace")

    def wait_for(self, words):
        deadline = time.monotonic() + FOR_EVER
        while words not in self.text:
            assert self.process.poll() is None, self.text
            assert time.monotonic() < deadline, self.text
            time.sleep(0.02)

    def interrupt(self):
        """Press Ctrl-C; return the exit code and the lines that follow."""
        before = len(self.text)
        os.killpg(self.process.pid, signal.SIGINT)
        try:
            code = self.process.wait(timeout=FOR_EVER)
        finally:
            if self.process.poll() is None:
                os.killpg(self.process.pid, signal.SIGKILL)
        self.reader.join(timeout=FOR_EVER)
        plain = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", self.text[before:])
        lines = [line.rsplit("\r", 1)[-1] for line in plain.replace("\r\n", "\n").split("\n")]
        words = ("ogive", "Error", "Traceback", "Interrupt", ", line ")
        return code, [line.strip() for line in lines if any(word in line for word in words)]


@pytest.fixture(scope="module")
def matrix(tmp_path_factory):
    """A file of logits and labels."""
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(500, 12))
    labels = (logits + rng.gumbel(size=logits.shape)).argmax(axis=1)
    path = tmp_path_factory.mktemp("matrix") / "matrix.npz"
    arrays = {f"{part}_logits": logits for part in ("cal", "test")}
    np.savez(path, **arrays, cal_labels=labels, test_labels=labels)
    return path


@pytest.fixture
def log(tmp_path):
    """A log of scores."""
    rng = np.random.default_rng(0)
    scores = rng.random(4000)
    rows = (f"{p:.6f},{int(u < p)}" for p, u in zip(scores, rng.random(4000), strict=True))
    (tmp_path / "log").mkdir()
    (tmp_path / "log" / "a.csv").write_text("score,outcome\n" + "\n".join(rows))
    return tmp_path / "log"


def check(started):
    code, lines = started.interrupt()
    assert code == 130
    assert lines == ["ogive: interrupted"]


def check_in(words, step):
    """Interrupt a command in the middle of a step."""
    started = Started(words, ENDLESS.format(words=step))
    started.wait_for(step)
    check(started)


def test_the_moment_to_tidy_up_is_shorter_than_what_people_are_told():
    assert interrupt.GRACE_SECONDS < 2.0  # docs/cli.md; a busy machine may need longer to end it


def test_measuring_a_log(log):
    check_in(["measure", log, "--resamples", 100], "resampling")


def test_fitting_a_matrix(matrix, tmp_path):
    words = ["fit", matrix, "-o", tmp_path / "cal.json", "--view", "vector", "--method", "spline"]
    check_in(words, "classes")
    assert os.listdir(tmp_path) == []


def test_comparing(matrix):
    check_in(["compare", matrix, "--view", "vector", "--methods", "spline,vector"], "spline: ")


def test_an_arena_with_its_workers(matrix, tmp_path):
    for name in "abcd":
        (tmp_path / f"{name}.npz").symlink_to(matrix)
    (tmp_path / "endless.py").write_text(
        "import numpy\n"
        "def work(*_):\n"
        "    while True:\n"
        "        numpy.linalg.eigvalsh(numpy.ones((60, 60)))\n"
        "SCORES = {'endless': work}\n"
    )
    words = ["arena", tmp_path, "--methods", "none", "--peers", "module:endless", "--jobs", 2]
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    started = Started(words, PYTHONPATH=path)
    started.wait_for(": none")  # a first cell is done, and others never will be
    check(started)
    deadline = time.monotonic() + FOR_EVER
    while time.monotonic() < deadline:
        try:
            os.killpg(started.process.pid, 0)
        except ProcessLookupError:
            return  # no worker is left
        time.sleep(0.1)
    pytest.fail("workers are still running")


#: Stands in for a read, a sort or a factorisation that Python cannot interrupt.
UNINTERRUPTIBLE = """
import hashlib
from concurrent.futures import ThreadPoolExecutor
def busy(*_):
    hashlib.pbkdf2_hmac("sha256", b"", b"", 2**31 - 1)
def in_threads(*_, **__):
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(busy, range(4)))
"""
PATCHED = """
import {room}
{room}.{name} = {function}
from ogive.cli import entry
entry()
"""


@pytest.mark.parametrize("function", ["busy", "in_threads"])
def test_applying_while_threads_and_the_main_thread_are_busy(tmp_path, log, function):
    rng = np.random.default_rng(0)
    preds = Predictions(rng.normal(size=(50, 3)), rng.integers(3, size=50), kind="logits")
    save(fit_temperature(preds), tmp_path / "cal.json")
    np.savez(tmp_path / "m.npz", logits=preds.values)
    patch = PATCHED.format(room="ogive.studies.apply_file", name="calibrated", function=function)
    words = ["apply", tmp_path / "cal.json", tmp_path / "m.npz", "-o", tmp_path / "out.npz"]
    started = Started(words, UNINTERRUPTIBLE + patch)
    started.wait_for("calibrating")
    check(started)
    assert sorted(os.listdir(tmp_path)) == ["cal.json", "log", "m.npz"]
