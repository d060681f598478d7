"""The soak command counts what goes wrong: an error, a crash, a case that never ends."""

import os
import signal
import time

import pytest

from tests import soak

pytestmark = pytest.mark.thorough


def works(seed):
    return seed


def raises_at_two(seed):
    assert seed != 2, "two is wrong"


def dies(seed):
    os.kill(os.getpid(), signal.SIGKILL)


def sleeps(seed):
    time.sleep(60)


@pytest.mark.parametrize(
    ("name", "failed", "what"),
    [
        ("works", 0, ""),
        ("raises_at_two", 1, "two is wrong"),
        ("dies", 1, "ended with -9"),
        ("sleeps", 1, "no answer after 1 s"),
    ],
)
def test_failures_are_counted_with_their_seed(monkeypatch, capsys, tmp_path, name, failed, what):
    kind = f"{__name__}:{name}"
    seconds = 1.0 if name == "sleeps" else 120.0  # a busy machine takes longer to do nothing
    monkeypatch.setitem(soak.KINDS, kind, soak.Kind(__name__, name, seconds=seconds))
    tally = soak.Tally()
    soak.run_batch(kind, tally, tmp_path, until=time.monotonic() + 600.0)
    assert len(tally.failures) == failed
    code = soak.report(tally, [kind])
    assert code == min(failed, 1)
    if failed:
        assert what in str(tally.failures[0]["what"])
        assert f"--seed {tally.failures[0]['seed']}" in capsys.readouterr().out
    else:
        assert tally.runs[kind] == soak.CASES_PER_WORKER
