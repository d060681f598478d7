"""The command watch: an answer, an exit code, and a state that goes on."""

import json
import multiprocessing
import os
import signal
import time

import jsonschema
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ogive import Curve, Watch, fit_spline, save
from tests.cli import schemas

DAYS = [f"2026-05-{day:02d}" for day in range(1, 13)]


def write_day(folder, day, *, power=1.0, rows=400, seed=None):
    rng = np.random.default_rng(DAYS.index(day) if seed is None else seed)
    scores = rng.random(rows)
    table = {"score": scores, "outcome": (rng.random(rows) < scores**power).astype(int),
             "day": [day] * rows}  # fmt: skip
    pq.write_table(pa.table(table), folder / f"{day}-{seed}.parquet")
    return Curve.from_scores(table["score"], table["outcome"])


@pytest.fixture
def log(tmp_path):
    folder = tmp_path / "log"
    folder.mkdir()
    return folder


def watched(run, *words):
    code, out, err = run("watch", *words, "--json")
    found = json.loads(out)
    jsonschema.validate(found, schemas.WATCH)
    return code, found, err


def test_a_quiet_log_ends_with_0_and_a_changed_one_with_3(run, log):
    wanted = Watch()
    for day in DAYS[:6]:
        wanted = wanted.update(write_day(log, day), day)
    code, found, err = watched(run, log, "--time", "day")
    assert (code, found["alarm"], found["since"], err) == (0, False, None, "")
    assert found["log_e"] == pytest.approx(wanted.log_e, abs=1e-9)
    for day in DAYS[6:]:
        write_day(log, day, power=1.6)
    code, found, _ = watched(run, log, "--time", "day")
    assert (code, found["alarm"]) == (3, True)
    assert found["since_low"] <= "2026-05-07" <= found["since_high"]
    assert [day["time"] for day in found["days"]] == DAYS
    code, out, err = run("watch", log, "--time", "day")
    assert code == 3
    assert "Calibrated until 2026-05-0" in out.replace("\n", " ")
    assert err == ""


def test_nightly_runs_give_the_numbers_of_one_run(run, log, tmp_path):
    state = tmp_path / "state.json"
    for day in DAYS[:5]:
        write_day(log, day, power=1.2)
        _, nightly, err = watched(run, log, "--time", "day", "--state", state)
    assert "4 days were counted before, with the same rows" in err
    _, whole, _ = watched(run, log, "--time", "day")
    assert nightly == whole
    before = state.read_bytes()
    _, again, err = watched(run, log, "--time", "day", "--state", state)
    assert again == whole
    assert "5 days were counted before" in err
    assert state.read_bytes() == before
    assert sorted(p.name for p in tmp_path.iterdir()) == ["log", "state.json"]


def test_late_rows_are_refused_with_their_number_or_left_out(run, log, tmp_path):
    state = tmp_path / "state.json"
    for day in DAYS[1:4]:
        write_day(log, day)
    _, found, _ = watched(run, log, "--time", "day", "--state", state)
    before = state.read_bytes()
    write_day(log, DAYS[2], rows=12, seed=99)  # twelve more of a day that was counted
    write_day(log, DAYS[0], rows=30)  # a day before the first
    write_day(log, DAYS[4])
    code, out, err = run("watch", log, "--time", "day", "--state", state)
    assert (code, out) == (1, "")
    assert "42 rows came late: 30 of 2026-05-01 (and 1 more days)" in err
    assert state.read_bytes() == before
    code, more, err = watched(run, log, "--time", "day", "--state", state, "--skip-late")
    assert "42 rows came late and were left out." in err
    assert [day["time"] for day in more["days"]] == DAYS[1:5]
    assert more["days"][:3] == found["days"]


def test_the_rule_of_a_state_cannot_change(run, log, tmp_path):
    state = tmp_path / "state.json"
    write_day(log, DAYS[0])
    run("watch", log, "--time", "day", "--state", state, "--alpha", 0.01)
    code, _, err = run("watch", log, "--time", "day", "--state", state)
    assert code == 2
    assert "was begun with --alpha 0.01" in err
    assert run("watch", log, "--time", "day", "--run-length", 1000)[0] == 0


def test_the_scores_after_a_calibrator_are_watched(run, log, tmp_path):
    past = [write_day(log, day, power=1.7) for day in DAYS]
    every = past[0]
    for curve in past[1:]:
        every = every.merge(curve)
    save(fit_spline(every), tmp_path / "cal.json")
    assert watched(run, log, "--time", "day")[0] == 3
    code, found, _ = watched(run, log, "--time", "day", "--calibrator", tmp_path / "cal.json")
    assert code == 0
    day = found["days"][0]
    assert abs(day["mean_score"] - day["base_rate"]) < 0.1
    code, _, err = run("watch", log, "--time", "day", "--calibrator", log)
    assert (code, err.count("\n")) == (1, 1)


def test_rows_without_a_time_and_odd_times_are_refused(run, log):
    table = {"score": [0.2, 0.7, 0.4], "outcome": [0, 1, 1], "at": ["2026-05-01", None, None]}
    pq.write_table(pa.table(table), log / "a.parquet")
    code, _, err = run("watch", log, "--time", "at")
    assert code == 1
    assert "2 rows have no time" in err
    pq.write_table(pa.table(table | {"at": ["03/05/2026"] * 3}), log / "a.parquet")
    code, _, err = run("watch", log, "--time", "at")
    assert code == 1
    assert "'03/05/2026' is not a date in ISO 8601" in err
    assert watched(run, log, "--time", "at", "--every", "batch")[1]["days"][0]["n"] == 3
    code, _, err = run("watch", log, "--time", "when")
    assert code == 2
    assert "when" in err


def test_a_state_is_no_input(run, log):
    write_day(log, DAYS[0])
    file = next(log.iterdir())
    code, _, err = run("watch", log, "--time", "day", "--state", file)
    assert code == 2
    assert file.name in err


def test_saved_curves_named_by_their_day_are_a_log(run, log, tmp_path):
    files = [tmp_path / f"{day}.curve" for day in DAYS[:4]]
    for day, file in zip(DAYS, files, strict=False):
        save(write_day(log, day, power=1.3), file)
    _, whole, _ = watched(run, log, "--time", "day")
    _, found, _ = watched(run, *reversed(files))
    assert found == whole
    week = watched(run, *files, "--every", "week")[1]["days"]
    assert [(day["time"], day["n"]) for day in week] == [("2026-04-27", 1200), ("2026-05-04", 400)]
    code, _, err = run("watch", *files, "--time", "day")
    assert (code, "--time does not apply: saved curves have the time in their name" in err) == (
        2,
        True,
    )
    code, _, err = run("watch", log)
    assert (code, "--time is missing" in err) == (2, True)


def test_a_row_counts_on_the_day_its_label_arrives(run, log):
    table = {"score": [0.2, 0.7, 0.4], "outcome": [0, 1, 1], "at": ["2026-05-01"] * 3,
             "known": ["2026-05-02", "2026-05-02", "2026-05-09"]}  # fmt: skip
    pq.write_table(pa.table(table), log / "a.parquet")
    _, found, _ = watched(run, log, "--time", "at", "--label-time", "known")
    assert [(day["time"], day["n"]) for day in found["days"]] == [
        ("2026-05-02", 2), ("2026-05-09", 1)]  # fmt: skip


@pytest.mark.parametrize("step", ["replace", "write_text"])
def test_a_run_that_is_cut_short_changes_nothing(run, log, tmp_path, monkeypatch, step):
    state = tmp_path / "state.json"
    write_day(log, DAYS[0])
    run("watch", log, "--time", "day", "--state", state)
    before = state.read_bytes()
    write_day(log, DAYS[1])

    def killed(*_, **__):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("pathlib.Path." + step, killed)
        assert run("watch", log, "--time", "day", "--state", state)[0] not in {0, 3}
    assert state.read_bytes() == before
    _, found, _ = watched(run, log, "--time", "day", "--state", state)
    assert found == watched(run, log, "--time", "day")[1]


def hold(path, ready):
    from ogive._files import only_writer

    with only_writer(path.parent, f".{path.name}.ogive-lock"):
        ready.set()
        time.sleep(60)


def test_of_two_runs_at_once_one_is_refused_and_a_killed_one_leaves_no_lock(run, log, tmp_path):
    state = tmp_path / "state.json"
    write_day(log, DAYS[0])
    context = multiprocessing.get_context("spawn")
    ready = context.Event()
    other = context.Process(target=hold, args=(state, ready))
    other.start()
    assert ready.wait(30)
    code, _, err = run("watch", log, "--time", "day", "--state", state)
    assert code == 2
    assert "another run writes into" in err
    assert not state.exists()
    os.kill(other.pid, signal.SIGKILL)
    other.join()
    assert run("watch", log, "--time", "day", "--state", state)[0] == 0
