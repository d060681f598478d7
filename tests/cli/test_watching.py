"""The command watch: an answer, an exit code, and a state that goes on."""

import io
import json
import multiprocessing
import os
import shlex
import signal
import sys
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
    assert "4 files were counted before and have not changed: not read again." in err
    _, whole, _ = watched(run, log, "--time", "day")
    assert nightly == whole
    before = state.read_bytes()
    _, again, err = watched(run, log, "--time", "day", "--state", state)
    assert again == whole
    assert "5 files were counted before" in err
    assert state.read_bytes() == before
    next(log.iterdir()).touch()  # a file that may have changed: all are read again
    _, again, err = watched(run, log, "--time", "day", "--state", state)
    assert again == whole
    assert "5 days were counted before, with the same rows: not counted again." in err
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
    assert "was begun with --alpha 0.01, and this run is with --alpha 0.05" in err
    code, _, err = run("watch", log, "--time", "day", "--run-length", 1000)
    assert code == 2
    assert "--run-length is gone: say how often an alarm may be false with --alpha" in err


def test_a_log_of_other_classes_than_those_of_the_calibrator_is_refused(run, tmp_path, rng):
    logits, names = rng.normal(size=(400, 3)), np.array(["cat", "dog", "owl"])
    labels = names[rng.integers(3, size=400)]
    np.savez(tmp_path / "m.npz", logits=logits, labels=labels, classes=names)
    words = ["--view", "class-1", "--score-only", "--folds", 0]
    assert run("fit", tmp_path / "m.npz", "-o", tmp_path / "cal.json", *words)[0] == 0
    head = ["logit_dog", "logit_cat", "logit_owl", "label", "day"]
    rows = [[*row, label, "2026-05-01"] for row, label in zip(logits, labels, strict=True)]
    lines = [",".join(map(str, row)) for row in [head, *rows]]
    (tmp_path / "log.csv").write_text("\n".join(lines))
    words = ["--time", "day", "--view", "class-1", "--calibrator", tmp_path / "cal.json"]
    code, _, err = run("watch", tmp_path / "log.csv", *words)
    assert code == 1
    assert "fitted on columns of the classes cat, dog, owl" in " ".join(err.split())


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


@pytest.mark.parametrize("by", [None, "land of origin"])
def test_the_command_of_the_answer_runs_on_the_rows_since(run, tmp_path, monkeypatch, by):
    rng = np.random.default_rng(3)
    day = np.repeat(DAYS, 400)
    p = rng.random(day.size)
    group = np.where(rng.random(day.size) < 0.5, "a", "b")
    off = (day >= DAYS[6]) & (group == "a" if by else True)
    outcome = rng.random(day.size) < np.where(off, p**2.0, p)
    table = {"p": p, "hit": outcome.astype(int), "when": day, "land of origin": group}
    pq.write_table(pa.table(table), tmp_path / "my log.parquet")
    monkeypatch.chdir(tmp_path)
    words = ["my log.parquet", "--time", "when", "--score", "p", "--outcome", "hit"]
    code, found, _ = watched(run, *words, *(["--by", by] if by else []))
    assert code == 3
    command = found["verdict"].partition("on: ogive ")[2]
    assert f"--since {found['since']} -o cal.json" in command
    code, out, err = run(*shlex.split(command), "--json")
    assert (code, err) == (0, "")
    assert json.loads(out)["n"] == (day >= found["since"]).sum()


def test_since_needs_a_time_and_rows(run, log):
    write_day(log, DAYS[0])
    code, _, err = run("fit", log, "--since", DAYS[0], "-o", log.parent / "cal.json")
    assert code == 2
    assert "--since and --time go together" in err
    words = ["fit", log, "--time", "day", "-o", log.parent / "cal.json"]
    code, _, err = run(*words, "--since", DAYS[3])
    assert code == 1
    assert f"no rows are of {DAYS[3]} or later; the last are of {DAYS[0]}" in err


def test_seconds_since_1970_are_no_days(run, log):
    table = {"score": [0.2, 0.7], "outcome": [0, 1], "day": [1767225600, 1767229200]}
    pq.write_table(pa.table(table), log / "log.parquet")
    code, _, err = run("watch", log, "--time", "day")
    assert code == 1
    assert "looks like seconds since 1970" in err
    assert run("watch", log, "--time", "day", "--every", "batch")[0] == 0


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
    words, _, command = whole.pop("verdict").partition(": ogive fit ")
    assert command.endswith("-o cal.json")
    assert found.pop("verdict") == f"{words}."  # curves have no column of times to refit by
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


#: Events of the interpreter that come before a write: a file is opened, renamed or removed.
WRITES = ("open", "os.rename", "os.remove", "os.chmod")


def run_and_die(folder, words, at):
    """In a process of its own, run a command that is killed before its write number `at`."""
    seen = 0

    def hook(event, args):
        nonlocal seen
        if event not in WRITES or str(folder) not in str(args[0]) or ".curve" in str(args[0]):
            return
        if event == "open" and not (args[2] or 0) & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
            return
        if seen == at:
            os.kill(os.getpid(), signal.SIGKILL)
        seen += 1

    from ogive.cli import main

    sys.stdout = sys.stderr = io.StringIO()
    sys.addaudithook(hook)
    os._exit(main(words))


@pytest.mark.thorough
@pytest.mark.skipif(not hasattr(os, "fork"), reason="a process that begins as this one")
def test_a_run_that_is_killed_between_any_two_writes_changes_nothing(run, tmp_path):
    rng = np.random.default_rng(0)
    files = []
    for day in DAYS[:5]:
        scores = rng.random(300)
        files.append(tmp_path / f"{day}.curve")
        save(Curve.from_scores(scores, rng.random(300) < scores**1.2), files[-1])
    _, whole, _ = watched(run, *files)
    folder = tmp_path / "state"
    folder.mkdir()
    state = folder / "watch.json"
    run("watch", *files[:3], "--state", state)
    first = state.read_bytes()
    context = multiprocessing.get_context("fork")
    words = ["watch", *map(str, files), "--state", str(state)]
    kills = 0
    for at in range(20):
        state.write_bytes(first)
        process = context.Process(target=run_and_die, args=(folder, words, at))
        process.start()
        process.join(60)
        if process.exitcode in {0, 3}:
            break
        assert process.exitcode == -signal.SIGKILL
        kills += 1
        _, found, _ = watched(run, *files, "--state", state)
        assert found == whole
        assert [path.name for path in folder.iterdir()] == ["watch.json"]
    assert kills >= 4  # the lock, the file beside, its contents, its new name


def hold(path, ready):
    from ogive._files import only_writer

    with only_writer(path.parent, f".{path.name}.ogive-lock"):
        ready.set()
        time.sleep(600)  # it is killed before


@pytest.mark.thorough
def test_of_two_runs_at_once_one_is_refused_and_a_killed_one_leaves_no_lock(run, log, tmp_path):
    state = tmp_path / "state.json"
    write_day(log, DAYS[0])
    context = multiprocessing.get_context("spawn")
    ready = context.Event()
    other = context.Process(target=hold, args=(state, ready), daemon=True)
    other.start()
    assert ready.wait(120)
    code, _, err = run("watch", log, "--time", "day", "--state", state)
    assert code == 2
    assert "another run writes into" in err
    assert not state.exists()
    os.kill(other.pid, signal.SIGKILL)
    other.join()
    assert run("watch", log, "--time", "day", "--state", state)[0] == 0


def write_groups(folder, day, powers, rows=500):
    rng = np.random.default_rng(DAYS.index(day))
    tables = []
    for name, power in powers.items():
        scores = rng.random(rows)
        hits = (rng.random(rows) < scores**power).astype(int)
        tables.append(pa.table({"score": scores, "outcome": hits, "day": [day] * rows,
                                "country": [name] * rows}))  # fmt: skip
    pq.write_table(pa.concat_tables(tables), folder / f"{day}.parquet")


def test_groups_are_watched_and_named(run, log, tmp_path):
    state = tmp_path / "state.json"
    for i, day in enumerate(DAYS[:9]):
        write_groups(log, day, {"DE": 1.0, "FR": 1.8 if i >= 5 else 1.0})
        _, nightly, _ = watched(run, log, "--time", "day", "--by", "country", "--state", state)
    code, found, _ = watched(run, log, "--time", "day", "--by", "country")
    assert nightly == found
    assert (code, found["kind"]) == (3, "one group")
    assert found["since_low"] <= "2026-05-06" <= found["since_high"]
    assert [(one["group"], one["named"]) for one in found["groups"]] == [
        ("DE", False), ("FR", True)]  # fmt: skip
    code, out, _ = run("watch", log, "--time", "day", "--by", "country")
    assert code == 3
    assert "Group FR: Calibrated until" in out.replace("\n", " ")
    code, _, err = run("watch", log, "--time", "day", "--state", state)
    assert code == 2
    assert "was begun with --by country, and this run is without --by" in err
    assert run("watch", log, "--time", "day", "--by", "county")[0] == 2


def test_a_state_goes_on_only_as_it_began(run, log, tmp_path):
    state, cal = tmp_path / "state.json", tmp_path / "cal.json"
    save(fit_spline(write_day(log, DAYS[0], power=1.5)), cal)
    words = ("watch", log, "--time", "day", "--state", state)
    assert run(*words, "--every", "week", "--calibrator", cal)[0] == 0
    before = state.read_bytes()
    for other, why in (
        (("--calibrator", cal), "was begun with --every week, and this run is with --every day"),
        (("--every", "week"), "was begun with --calibrator sha256:"),
        (("--every", "week", "--calibrator", cal, "--view", "top-1"), "with --view score"),
        (("--every", "week", "--calibrator", cal, "--score", "day"), "begun without --score"),
    ):
        code, _, err = run(*words, *other)
        assert code == 2
        assert why in " ".join(err.split())
    save(fit_spline(write_day(log, DAYS[0], power=1.6)), cal)
    code, _, err = run(*words, "--every", "week", "--calibrator", cal)
    assert (code, "and this run is with --calibrator sha256:" in err) == (2, True)
    assert state.read_bytes() == before


def test_only_files_that_are_new_or_changed_are_read(run, log, tmp_path, monkeypatch):
    from ogive.studies import logs

    opened = []

    def seen(files, *args, _read=logs.read_log, **options):
        opened.append(sorted(file.name[:10] for file in files))
        return _read(files, *args, **options)

    monkeypatch.setattr(logs, "read_log", seen)
    state = tmp_path / "state.json"
    words = (log, "--time", "day", "--state", state)
    for day in DAYS[:3]:
        write_day(log, day)
        watched(run, *words)
    assert opened == [[day] for day in DAYS[:3]]
    watched(run, *words)
    assert len(opened) == 3  # nothing is new
    # A file of a counted day under another name: the same rows are noticed, and not counted.
    copy = log / f"{DAYS[1]}-copy.parquet"
    copy.write_bytes((log / f"{DAYS[1]}-None.parquet").read_bytes())
    _, found, err = watched(run, *words)
    assert opened.pop() == [DAYS[1]]
    assert "1 days were counted before, with the same rows: not counted again." in err
    assert [day["n"] for day in found["days"]] == [400, 400, 400]
    # Old days that are deleted are not missed; a file that moved is no late rows.
    (log / f"{DAYS[0]}-None.parquet").unlink()
    copy.unlink()
    (log / f"{DAYS[2]}-None.parquet").rename(log / f"{DAYS[2]}-moved.parquet")
    _, again, err = watched(run, *words)
    assert again == found
    assert opened[-2:] == [[DAYS[2]], DAYS[1:3]]
    assert "2 days were counted before" in err


def test_a_day_that_lost_rows_is_refused(run, log, tmp_path):
    state = tmp_path / "state.json"
    words = (log, "--time", "day", "--state", state)
    for day in DAYS[:2]:
        write_day(log, day)
    watched(run, *words)
    write_day(log, DAYS[0], rows=388)
    code, _, err = run("watch", *words)
    assert code == 1
    assert "the rows of 2026-05-01 changed after they were counted: 388 now, 400 before" in err
    assert watched(run, *words, "--skip-late")[1]["days"][0]["n"] == 400


def test_a_label_that_has_not_arrived_is_left_out(run, log):
    table = {"score": [0.2, 0.7, 0.4], "outcome": [0, 1, 1], "at": ["2026-05-01"] * 3,
             "known": ["2026-05-02", None, None]}  # fmt: skip
    pq.write_table(pa.table(table), log / "a.parquet")
    _, found, err = watched(run, log, "--time", "at", "--label-time", "known")
    assert [(day["time"], day["n"]) for day in found["days"]] == [("2026-05-02", 1)]
    assert "2 rows have no label time and were left out." in err


def test_a_state_becomes_a_timeline_and_a_page(run, log, tmp_path):
    state = tmp_path / "watch.json"
    for i, day in enumerate(DAYS[:8]):
        write_day(log, day, power=1.0 if i < 4 else 2.0)
    run("watch", log, "--time", "day", "--state", state)
    for words in (("plot", state), ("plot", state, "--graph", "timeline")):
        code, out, _ = run(*words, "-o", tmp_path / "t.svg", "--json")
        assert (code, json.loads(out)) == (0, {"out": str(tmp_path / "t.svg")})
    assert (tmp_path / "t.svg").stat().st_size > 5000
    code, out, _ = run("report", state, "-o", tmp_path / "t.html")
    assert code == 0
    assert "Calibrated until 2026-05-0" in out
    page = (tmp_path / "t.html").read_text()
    assert "<title>Watch of watch.json</title>" in page
    assert page.count('<svg role="img"') == 3
    for words, why in (
        (("plot", state, "--graph", "bins", "-o", "t.svg"), "its graph is --graph timeline"),
        (("plot", log, "--graph", "timeline", "-o", "t.svg"), "--graph timeline is of a watch"),
        (("plot", state, "--view", "score", "-o", "t.svg"), "--view does not apply"),
        (("report", state, "--method", "platt", "-o", "t.html"), "--method does not apply"),
    ):
        code, _, err = run(*words)
        assert (code, why in err) == (2, True)
    Watch().save(state)
    code, _, err = run("plot", state, "-o", tmp_path / "t.svg")
    assert (code, "the watch has no days yet" in err) == (1, True)
    code, _, err = run("report", state, "-o", tmp_path / "t.html")
    assert (code, "the watch has no days yet" in err) == (1, True)


def test_clusters_count_as_one_row_each_and_need_a_name(run, log, tmp_path):
    rng, wanted = np.random.default_rng(0), Watch()
    for day in DAYS[:5]:
        shop = np.repeat(np.arange(40), 10)
        scores = rng.random(400).round(3)
        outcomes = np.where(rng.random(400) < 0.8, rng.random(40)[shop], rng.random(400)) < scores
        columns = {"score": scores, "outcome": outcomes.astype(int), "day": [day] * 400,
                   "shop": [f"s{one}" for one in shop]}  # fmt: skip
        pq.write_table(pa.table(columns), log / f"{day}.parquet")
        wanted = wanted.update(Curve.from_scores(scores, outcomes, clusters=shop), day)
    words = (log, "--time", "day", "--cluster", "shop")
    state = tmp_path / "state.json"
    _, found, _ = watched(run, *words, "--state", state)
    assert found["log_e"] == pytest.approx(wanted.log_e, abs=1e-9)
    assert [day["n"] for day in found["days"]] == [400] * 5
    code, _, err = run("watch", log, "--time", "day", "--state", state)
    assert code == 2
    assert "with --cluster shop" in err
    assert "--cluster does not apply" in run("watch", *words, "--by", "shop")[2]
    one = {name: values[:9] for name, values in columns.items()} | {"day": [DAYS[6]] * 9}
    pq.write_table(pa.table(one), log / "one-shop.parquet")
    _, found, _ = watched(run, *words, "--state", state)
    assert found["days"][-1]["n"] == 9
    columns["shop"][3] = None
    pq.write_table(pa.table(columns), log / "2026-05-05.parquet")
    code, _, err = run("watch", *words)
    assert code == 1
    assert "1 rows have no cluster" in err
