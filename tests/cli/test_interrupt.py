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

#: What people are told is two seconds; a busy machine needs some more to end a process.
SECONDS = 4.0
#: Much longer than what is waited for: nothing in these tests ends by itself.
FOR_EVER = 120.0


class Started:
    """A command on a terminal of its own: what it writes, and how it ends."""

    def __init__(self, words, script="from ogive.cli import entry; entry()"):
        leader, follower = pty.openpty()
        env = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "100", "NO_COLOR": "1"}
        self.process = subprocess.Popen(  # noqa: S603
            [sys.executable, "-c", script, *map(str, words)],
            stdin=subprocess.DEVNULL,
            stdout=follower,
            stderr=follower,
            env=env,
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
        deadline = time.monotonic() + 60
        while words not in self.text:
            assert self.process.poll() is None, self.text
            assert time.monotonic() < deadline, self.text
            time.sleep(0.02)

    def interrupt(self):
        """Press Ctrl-C; return the exit code, the seconds it took, and the lines that follow."""
        before, start = len(self.text), time.monotonic()
        os.killpg(self.process.pid, signal.SIGINT)
        try:
            code = self.process.wait(timeout=FOR_EVER)
        finally:
            if self.process.poll() is None:
                os.killpg(self.process.pid, signal.SIGKILL)
        took = time.monotonic() - start
        self.reader.join(timeout=5)
        plain = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", self.text[before:])
        lines = [line.rsplit("\r", 1)[-1] for line in plain.replace("\r\n", "\n").split("\n")]
        words = ("ogive", "Error", "Traceback", "Interrupt", ", line ")
        return code, took, [line.strip() for line in lines if any(word in line for word in words)]


@pytest.fixture(scope="module")
def wide(tmp_path_factory):
    """A matrix of 1,000 classes, whose fit takes long."""
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(2500, 1000)).astype(np.float32)
    labels = (logits + rng.gumbel(size=logits.shape)).argmax(axis=1)
    path = tmp_path_factory.mktemp("wide") / "wide.npz"
    arrays = {f"{part}_logits": logits for part in ("cal", "test")}
    np.savez(path, **arrays, cal_labels=labels, test_labels=labels)
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Experiments on which a slow method is asked for."""
    rng = np.random.default_rng(0)
    path = tmp_path_factory.mktemp("experiments")
    for number in range(24):
        logits = rng.normal(size=(2000, 20))
        labels = (logits + rng.gumbel(size=logits.shape)).argmax(axis=1)
        arrays = {f"{part}_logits": logits for part in ("cal", "test")}
        np.savez(path / f"{number}.npz", **arrays, cal_labels=labels, test_labels=labels)
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
    code, took, lines = started.interrupt()
    assert code == 130
    assert lines == ["ogive: interrupted"]
    assert took < SECONDS


def test_measuring_a_log(log):
    started = Started(["measure", log, "--resamples", 1_000_000])
    started.wait_for("resampling")
    check(started)


def test_fitting_a_large_matrix(wide, tmp_path):
    started = Started(["fit", wide, "-o", tmp_path / "cal.json", "--view", "vector"])
    started.wait_for("classes")
    check(started)
    assert os.listdir(tmp_path) == []


def test_comparing(wide):
    started = Started(["compare", wide, "--view", "vector", "--methods", "spline,vector"])
    started.wait_for("spline: ")
    check(started)


def test_an_arena_with_its_workers(folder):
    started = Started(["arena", folder, "--methods", "ms-odir", "--jobs", 2])
    started.wait_for(": ms-odir")  # a first cell is done, and many are not
    check(started)
    deadline = time.monotonic() + 10
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
    hashlib.pbkdf2_hmac("sha256", b"", b"", 200_000_000)
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
