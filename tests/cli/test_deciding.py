"""`ogive decide`."""

import json

import numpy as np
import pytest

from tests.cli import schemas

COSTS = ("--miss", 20, "--alarm", 1)


@pytest.fixture
def rows(rng):
    truth = rng.beta(1, 9, 2000)
    return truth**1.5, (rng.random(2000) < truth).astype(int)


@pytest.fixture
def table(tmp_path, rows):
    path = tmp_path / "s.csv"
    lines = [f"{s},{y}" for s, y in zip(*rows, strict=True)]
    path.write_text("\n".join(["score,outcome", *lines]) + "\n")
    return path


def test_the_contract(run, run_json, table):
    found = run_json(schemas.DECIDE, "decide", table, *COSTS)
    assert found["threshold"] == pytest.approx(1 / 21)
    assert found["saved"] == pytest.approx(found["cost_before"] - found["cost_after"])
    assert found["low"] < found["saved"] < found["high"]
    code, text, _ = run("decide", table, *COSTS)
    assert code == 0
    assert "Act on a case when its calibrated probability is at least 4.76 %" in text
    assert "Calibrating saves" in text
    assert "cross-validated (5 folds)" in " ".join(text.split())


def test_a_log_is_read_once_and_gives_the_same(run_json, tmp_path, table):
    whole = run_json(schemas.DECIDE, "decide", table, *COSTS)
    folder = tmp_path / "log"
    folder.mkdir()
    head, *lines = table.read_text().splitlines()
    for k in range(3):
        (folder / f"{k}.csv").write_text("\n".join([head, *lines[k::3]]) + "\n")
    assert run_json(schemas.DECIDE, "decide", folder, *COSTS) == whole


@pytest.mark.filterwarnings("always::ogive.errors.OgiveWarning")
def test_a_log_with_bad_rows_and_one_that_fitted(run, run_json, tmp_path, table):
    folder, cal = tmp_path / "log", tmp_path / "cal.json"
    folder.mkdir()
    (folder / "a.csv").write_text(table.read_text() + "nan,1\n")
    code, out, err = run("decide", folder, *COSTS, "--skip-bad", "--json")
    assert (code, json.loads(out)["n"]) == (0, 2000)
    assert "1 rows were not valid" in err
    (folder / "a.csv").write_text(table.read_text())
    assert run("fit", folder, "-o", cal, "--folds", 0, "--method", "platt")[0] == 0
    _, _, err = run("decide", folder, *COSTS, "--calibrator", cal)
    assert "was fitted to these very rows" in " ".join(err.split())
    (folder / "a.csv").write_text(table.read_text() + "0.5,1\n")
    found = run_json(schemas.DECIDE, "decide", folder, *COSTS, "--calibrator", cal)
    assert found["how"] == "on rows that it was not fitted to"
    curve = tmp_path / "s.curve"
    assert run("measure", folder, "--save-curve", curve)[0] == 0
    assert run_json(schemas.DECIDE, "decide", curve, *COSTS, "--calibrator", cal) == found


@pytest.mark.filterwarnings("always::ogive.errors.OgiveWarning")
def test_parts_and_calibrators(run, run_json, tmp_path, rows):
    s, y = rows
    both = {"cal_scores": s[:1000], "cal_outcomes": y[:1000]}
    path, cal = tmp_path / "p.npz", tmp_path / "cal.json"
    np.savez(path, **both, test_scores=s[1000:], test_outcomes=y[1000:])
    found = run_json(schemas.DECIDE, "decide", path, *COSTS)
    assert found["n"] == 1000
    assert found["how"] == "fitted to the 1,000 rows of the cal part"
    assert run("fit", path, "-o", cal, "--folds", 0)[0] == 0
    given = run_json(schemas.DECIDE, "decide", path, *COSTS, "--calibrator", cal)
    assert {k: v for k, v in given.items() if k != "how"} == {
        k: v for k, v in found.items() if k != "how"
    }
    code, _, err = run("decide", path, *COSTS, "--calibrator", cal, "--part", "cal")
    assert code == 0
    assert "was fitted to these very rows" in " ".join(err.split())


@pytest.mark.filterwarnings("always::ogive.errors.OgiveWarning")
def test_two_columns_and_three(run, run_json, tmp_path, rows):
    s, y = rows
    np.savez(tmp_path / "two.npz", probs=np.stack([1 - s, s], 1), labels=y)
    found = run_json(schemas.DECIDE, "decide", tmp_path / "two.npz", *COSTS)
    assert found["view"] == "class-1"
    cal = tmp_path / "cal.json"
    assert run("fit", tmp_path / "two.npz", "-o", cal, "--folds", 0)[0] == 0
    code, text, _ = run("decide", tmp_path / "two.npz", *COSTS, "--calibrator", cal, "--json")
    assert code == 0
    assert 0 < json.loads(text)["raw_threshold"] < 1
    three = np.stack([1 - s, s / 2, s / 2], 1)
    np.savez(tmp_path / "three.npz", probs=three, labels=y)
    code, _, err = run("decide", tmp_path / "three.npz", *COSTS)
    assert code == 2
    assert "say what is acted on" in err


def test_a_matrix_of_costs(run, run_json, tmp_path, rng):
    z = rng.normal(size=(600, 3))
    p = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
    labels = (rng.random((600, 1)) > p.cumsum(axis=1)).sum(axis=1)
    path, costs = tmp_path / "m.npz", tmp_path / "costs.csv"
    np.savez(path, logits=2 * z, labels=labels)
    costs.write_text("do,2,0,1\ntreat,5,0,10\nwait,1,1,0\n")
    how = ("--method", "temperature")
    found = run_json(schemas.DECIDE, "decide", path, "--costs", costs, *how)
    assert found["threshold"] is None
    assert [action["name"] for action in found["actions"]] == ["treat", "wait"]
    costs.write_text("0;1;2\n0;10;5\n1;0;1\n")
    plain = run_json(schemas.DECIDE, "decide", path, "--costs", costs, *how)
    assert plain["cost_after"] == found["cost_after"]
    (tmp_path / "costs.jsonl").write_text('{"1": 10, "0": 0, "2": 5}\n{"1": 0, "0": 1, "2": 1}\n')
    lines = run_json(schemas.DECIDE, "decide", path, "--costs", tmp_path / "costs.jsonl", *how)
    assert lines == plain
    assert "share of action 0" in run("decide", path, "--costs", costs, *how)[1]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0,1,2\n0,1,x\n1,0,1\n", "must be finite and >= 0"),
        ("0,1,2\n1,0\n", "cannot be read as csv"),
        ("", "has no rows: it is empty"),
        ("a,x,y,z\nb,1,2,0\nc,0,0,1\n", "Begin it with the line action,0,1,2."),
        ("0,10,5\n1,0,1\n", "Begin it with the line action,0,1,2."),
        ("act,0,1\na,1,2\nb,0,1\n", "Begin it with the line act,0,1,2."),
        ("0,1,2\n0,1,3\n-1,0,0\n", "must be finite and >= 0"),
        ("0,1,2\n0,nan,2\n-1,0,0\n", "must be finite and >= 0"),
        ("0;1;2\n1;0;1\n", "at least 2"),
        ("action,0,1,2\nwait,0,1,2\nwait,1,0,1\n", "row 1 of the costs is also called 'wait'"),
        ("action,0,1,2\nwait,0,1,2\n,1,0,1\n", "row 1 of the costs has no name"),
    ],
)
def test_costs_that_are_no_matrix(run, tmp_path, rng, text, message):
    np.savez(tmp_path / "m.npz", logits=rng.normal(size=(60, 3)), labels=rng.integers(3, size=60))
    (tmp_path / "c.csv").write_text(text)
    code, out, err = run("decide", tmp_path / "m.npz", "--costs", tmp_path / "c.csv")
    assert (code, out) == (1, "")
    assert message in " ".join(err.split())


def test_costs_in_another_kind_of_file(run, tmp_path, rng):
    path = tmp_path / "m.npz"
    np.savez(path, logits=rng.normal(size=(60, 3)), labels=rng.integers(3, size=60))
    code, _, err = run("decide", path, "--costs", path)
    assert code == 1
    assert (
        "m.npz is not a table of costs, such as a .csv file that begins with the line action,0,1,2"
        in " ".join(err.split())
    )


@pytest.mark.parametrize("folder", [False, True])
def test_a_calibrator_of_other_columns_is_refused(run, tmp_path, rng, folder):
    cal, rows = tmp_path / "cal.json", tmp_path / "rows.csv"
    _named(rows, rng, "cat", "dog")
    assert run("fit", rows, "-o", cal, "--view", "class-0", "--score-only")[0] == 0
    if folder:
        (tmp_path / "log").mkdir()
    swapped = tmp_path / "log" if folder else tmp_path / "swapped.csv"
    _named(swapped / "a.csv" if folder else swapped, rng, "dog", "cat")
    code, out, err = run("decide", swapped, *COSTS, "--calibrator", cal)
    assert (code, out) == (1, "")
    assert "was fitted on columns of the classes cat, dog, in this order" in " ".join(err.split())


def _named(path, rng, *names):
    logits, label = rng.normal(size=(200, 2)), rng.integers(2, size=200)
    head = ",".join(["label", *(f"logit_{name}" for name in names)])
    rows = [f"{names[k]},{a},{b}" for k, (a, b) in zip(label, logits, strict=True)]
    path.write_text("\n".join([head, *rows]) + "\n")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--miss", 1], "give both costs"),
        (["--miss", -1, "--alarm", 1], "not in the range x>=0"),
        (["--miss", "nan", "--alarm", 1], "not a number"),
        (["--miss", 0, "--alarm", 0], "both 0"),
        ([*COSTS, "--capacity", 0], "`capacity` must be at least 1"),
        ([*COSTS, "--capacity", 0.1], "For that share of them give 200."),
        ([*COSTS, "--capacity", 3000], "at most the number of rows, 2,000"),
        ([*COSTS, "--precision", 0.99], "no threshold reaches a precision of 0.99"),
        ([*COSTS, "--calibrator", "cal.json", "--method", "platt"], "--method does not apply"),
        ([*COSTS, "--costs", "s.csv"], "--miss does not apply: --costs has all costs"),
    ],
)
def test_bad_options(run, table, words, message):
    words = [table if word == "s.csv" else word for word in words]
    code, out, err = run("decide", table, *words)
    assert code in {1, 2}
    assert out == ""
    assert message in " ".join(err.split())


def test_rows_without_outcomes_or_of_one(run, tmp_path):
    np.savez(tmp_path / "s.npz", scores=[0.1, 0.2, 0.3])
    code, _, err = run("decide", tmp_path / "s.npz", *COSTS)
    assert code == 1
    assert "outcomes" in err
    np.savez(tmp_path / "s.npz", scores=[0.1, 0.2, 0.3], outcomes=[0, 0, 0])
    code, _, err = run("decide", tmp_path / "s.npz", *COSTS)
    assert code == 1
    assert "all 3 outcomes are 0" in err


def test_clusters_and_groups_are_read_from_columns(run, run_json, tmp_path, rows, table):
    path, cal = tmp_path / "g.csv", tmp_path / "groups.json"
    lines = [f"{s},{y},{'ab'[i % 2]},{i // 20}" for i, (s, y) in enumerate(zip(*rows, strict=True))]
    path.write_text("\n".join(["score,outcome,place,day", *lines]) + "\n")
    alone = run_json(schemas.DECIDE, "decide", table, *COSTS)
    found = run_json(schemas.DECIDE, "decide", path, *COSTS, "--cluster", "day")
    assert found["cost_before"] == pytest.approx(alone["cost_before"])
    assert found["cost_before_high"] != alone["cost_before_high"]
    assert found["clusters"] == 100
    assert "n = 2,000 in 100 clusters" in run("decide", path, *COSTS, "--cluster", "day")[1]
    assert run("fit", path, "--by", "place", "-o", cal, "--folds", 0)[0] == 0
    both = tmp_path / "other.csv"
    both.write_text(path.read_text())
    by_group = run_json(
        schemas.DECIDE, "decide", both, *COSTS, "--calibrator", cal, "--cluster", "day"
    )
    assert by_group["method"] == "groups"
    code, _, err = run("decide", table, *COSTS, "--calibrator", cal)
    assert code != 0
    assert "has no column `place`" in " ".join(err.split())
