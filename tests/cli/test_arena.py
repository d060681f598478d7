import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import ogive
from tests.cli import schemas
from tests.studies.arena.experiments import save_scores, save_three


@pytest.fixture
def folder(tmp_path, rng):
    return save_three(tmp_path / "field", rng)


def untimed(value):
    """A result without what its fits took."""
    if isinstance(value, dict):
        return {k: untimed(v) for k, v in value.items() if k not in {"seconds", "fit_seconds"}}
    return list(map(untimed, value)) if isinstance(value, list) else value


def test_arena(run, run_json, folder, tmp_path):
    out = tmp_path / "out.json"
    words = ["arena", folder, "--methods", "none,platt,spline", "--jobs", 1]
    result = run_json(schemas.ARENA, *words, "-o", out)
    assert result["experiments"] == 3
    assert {row["method"] for row in result["methods"]} == {"none", "platt", "spline"}
    assert json.loads(out.read_text()) == result
    twin = ogive.arena(folder, ["none", "platt", "spline"], n_jobs=1)
    assert untimed(json.loads(json.dumps(twin.to_dict()))) == untimed(result)
    code, text, err = run(*words)
    assert code == 0
    assert err == ""
    assert "score: 3 experiments in 3 families" in text
    assert text.index("platt") < text.index("none")
    assert "*" in text.split("none")[0]  # the best of a column is marked without colour, too
    assert "A perfectly calibrated model: KS" in text
    assert "\x1b" not in text


def test_one_family_has_no_interval(run, run_json, folder, tmp_path):
    families = tmp_path / "families.json"
    families.write_text('{"*": "one"}')
    words = ["arena", folder, "--methods", "none,platt", "--families", families, "--jobs", 1]
    result = run_json(schemas.ARENA, *words)
    assert result["methods"][0]["rank_interval"] == {"ks": None, "nll": None, "brier": None}
    code, text, _ = run(*words)
    assert code == 0
    assert "3 experiments in 1 families" not in text
    assert "3 experiments in 1 family" in text


def test_peers_and_what_is_missing_are_named(run, folder, tmp_path):
    np.savez(folder / "half.npz", scores=[0.1, 0.9], outcomes=[0, 1])
    peers = {name: {"top-1": {"great": {"ks": 0, "nll": 0, "brier": 0}}} for name in "ab"}
    (tmp_path / "others.json").write_text(json.dumps(peers))
    code, text, _ = run("arena", folder, "--peers", tmp_path / "others.json", "--jobs", 1)
    assert code == 0
    assert "great" in text
    assert "Skipped: c: others has no numbers of it" in text
    assert "Skipped: half: " in text
    assert "Left out: ms-odir, dir-odir: it is slow" in text


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["nowhere"], 1, "does not exist. Give a folder"),
        ([".", "--methods", "plat"], 2, "Did you mean 'platt'"),
        ([".", "--jobs", "0"], 2, "--jobs"),
        ([".", "--resume", "r.jsonl"], 2, "--resume is gone: leave it out"),
        ([".", "--peers", "absent.json"], 1, "absent.json"),
        ([".", "--families", "absent.json"], 1, "absent.json"),
    ],
)
def test_wrong_words_fail_in_one_line(run, tmp_path, monkeypatch, rng, words, code, message):
    monkeypatch.chdir(tmp_path)
    save_scores(tmp_path / "a.npz", rng)
    found, out, err = run("arena", *words)
    assert found == code
    assert out == ""
    assert err.count("\n") == 1
    assert message in err


@pytest.mark.thorough
@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_no_worker_outlives_a_run_that_was_ended(tmp_path, rng, how):
    for name in ("a", "b", "c", "d"):
        save_scores(tmp_path / f"{name}.npz", rng)
    # Peers that take longer than the test: the workers are in the middle of a task.
    (tmp_path / "slow_peers.py").write_text(
        "import os, time\n"
        "def wait(*_):\n"
        "    open(f'{os.getpid()}.pid', 'w').close()\n"
        "    time.sleep(600)\n"
        "SCORES = {'slow': wait}\n"
    )
    words = [sys.executable, "-m", "ogive.cli", "arena", ".", "--methods", "none", "--jobs", "2",
             "--peers", "module:slow_peers"]  # fmt: skip
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    env = {**os.environ, "PYTHONPATH": path}
    run = subprocess.Popen(words, cwd=tmp_path, env=env, stderr=subprocess.DEVNULL)  # noqa: S603
    workers = _wait_for(lambda: [int(p.stem) for p in tmp_path.glob("*.pid")], 120)
    assert workers
    run.send_signal(how)
    run.wait(timeout=120)
    assert _wait_for(lambda: not any(_runs(pid) for pid in workers), 120)


def _wait_for(what, seconds):
    deadline = time.monotonic() + seconds
    while not what() and time.monotonic() < deadline:
        time.sleep(0.05)
    return what()


def _runs(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
