"""`ogive shift`."""

import json

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv
from pyarrow import parquet as pq

from ogive import load
from ogive.errors import InvalidInput, OgiveWarning
from ogive.studies.base_rate import BaseRate
from ogive.studies.shifting import _check_estimate
from tests.cli import schemas


@pytest.fixture
def cal(run, tmp_path, rng):
    p = rng.random(900)
    np.savez(tmp_path / "s.npz", scores=p, outcomes=rng.random(900) < p)
    path = tmp_path / "cal.json"
    assert run("fit", tmp_path / "s.npz", "-o", path, "--method", "platt", "--folds", 0)[0] == 0
    return path


def test_a_known_rate(run, run_json, tmp_path, cal):
    out = tmp_path / "new.json"
    rates = ["--base-rate", 0.003, "--trained-at", 0.5]
    found = run_json(schemas.SHIFT, "shift", cal, *rates, "-o", out)
    assert found == {"from": 0.5, "to": 0.003, "out": str(out)}
    q, moved = load(cal)(0.7), load(out)(0.7)
    assert moved / (1 - moved) == pytest.approx(q / (1 - q) * 0.003 / 0.997)
    assert json.loads(out.read_text())["map"]["date"] is None
    code, text, _ = run("shift", cal, *rates, "-o", out, "--date", "today")
    assert code == 0
    assert "Base rate 50 % before, 0.3 % now." in text
    assert json.loads(out.read_text())["map"]["date"] == "today"
    assert run("apply", out, tmp_path / "s.npz", "-o", tmp_path / "after.npz")[0] == 0


def test_the_rate_of_the_fit_is_the_default(run_json, tmp_path, cal):
    base = json.loads(cal.read_text())["fitted_on"]["base_rate"]
    found = run_json(schemas.SHIFT, "shift", cal, "--base-rate", 0.1, "-o", tmp_path / "n.json")
    assert found["from"] == base
    share = run_json(
        schemas.SHIFT, "shift", cal, "--kept-negatives", 0.01, "-o", tmp_path / "k.json"
    )
    odds = base / (1 - base) * 0.01
    assert share["to"] == pytest.approx(odds / (1 + odds))


def test_classes(run_json, run, tmp_path, rng):
    logits = rng.normal(size=(400, 3))
    np.savez(tmp_path / "m.npz", logits=logits, labels=rng.integers(3, size=400))
    cal, out = tmp_path / "cal.json", tmp_path / "new.json"
    assert (
        run("fit", tmp_path / "m.npz", "-o", cal, "--method", "temperature", "--folds", 0)[0] == 0
    )
    found = run_json(schemas.SHIFT, "shift", cal, "--base-rate", "0.1,0.2,0.7", "-o", out)
    assert found["to"] == [0.1, 0.2, 0.7]
    text = run("shift", cal, "--base-rate", "0.1,0.2,0.7", "-o", out)[1]
    assert "before, 70 % now." in text
    assert sum(found["from"]) == pytest.approx(1)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--base-rate", 0, "--trained-at", 0.5], "must be above 0 and below 1"),
        (["--base-rate", 1], "must be above 0 and below 1"),
        (["--base-rate", 3.5], "3.5 % is 0.035"),
        (["--base-rate", "0.2,0.3,0.5"], "Give the share of class 1"),
        (["--kept-negatives", 2], "not in the range 0<x<=1"),
        (["--base-rate", "many"], "shares are needed"),
        (["--base-rate", 0.1, "--trained-at", 1], "`trained_at` must be above 0"),
        ([], "give one of --base-rate R"),
        (["--base-rate", 0.1, "--kept-negatives", 0.1], "and only one"),
    ],
)
def test_nothing_is_written_where_the_rates_cannot_be(run, tmp_path, cal, words, message):
    code, _, err = run("shift", cal, *words, "-o", tmp_path / "new.json")
    assert code == 2
    assert message in " ".join(err.split())
    assert not (tmp_path / "new.json").exists()


@pytest.fixture
def spread(run, tmp_path, rng):
    """A calibrator, and scores and outcomes of new rows with another base rate."""

    def drawn(n, rate):
        y = rng.random(n) < rate
        return 1 / (1 + np.exp(-rng.normal(3.0 * y - 1.5, 1.7))), y

    s, y = drawn(4000, 0.3)
    np.savez(tmp_path / "cal.npz", scores=s, outcomes=y)
    words = ["-o", tmp_path / "cal.json", "--method", "platt", "--folds", 0]
    assert run("fit", tmp_path / "cal.npz", *words)[0] == 0
    return tmp_path / "cal.json", *drawn(3000, 0.05)


def test_a_rate_that_is_estimated(run_json, tmp_path, spread):
    cal, s, y = spread
    (tmp_path / "log").mkdir()
    for name, part in (("a", s[:1000]), ("b", s[1000:])):
        np.savetxt(tmp_path / "log" / f"{name}.csv", part, header="score", comments="")
    np.savez(tmp_path / "new.npz", scores=s)
    out = tmp_path / "new.json"
    found = run_json(schemas.SHIFT_LIKE, "shift", cal, "--like", tmp_path / "log", "-o", out)
    assert found["low"] < y.mean() < found["high"]
    assert found["misfit_pvalue"] > 0.01
    assert json.loads(out.read_text())["map"]["how"] == "estimated"
    assert load(out).base_rate == pytest.approx(found["base_rate"])
    again = run_json(schemas.SHIFT_LIKE, "shift", cal, "--like", tmp_path / "new.npz", "-o", out)
    assert again["base_rate"] == pytest.approx(found["base_rate"], rel=1e-6)
    moved = run_json(schemas.SHIFT_LIKE, "shift", out, "--like", tmp_path / "log", "-o", cal)
    assert moved["base_rate"] == pytest.approx(found["base_rate"], rel=1e-6)  # not shifted twice


def widths(found):
    return np.array([found[f"{key}_high"] - found[f"{key}_low"] for key in ("accuracy", "auc")])


@pytest.mark.parametrize("suffix", [".npz", ".csv", ".parquet"])
def test_what_is_expected_allows_for_the_estimate(run, run_json, tmp_path, spread, suffix):
    cal, s, _ = spread
    new, file = tmp_path / "new.npz", tmp_path / f"s{suffix}"
    np.savez(new, scores=s)
    if suffix == ".parquet":
        pq.write_table(pa.table({"score": s}), file)
    elif suffix == ".csv":
        np.savetxt(file, s, header="score", comments="")
    else:
        np.savez(file, scores=s)
    known, out = tmp_path / "known.json", tmp_path / "out.json"
    rate = run_json(schemas.SHIFT_LIKE, "shift", cal, "--like", new, "-o", out)["base_rate"]
    run_json(schemas.SHIFT, "shift", cal, "--base-rate", rate, "-o", known)
    estimated, exact = (
        run_json(schemas.EXPECT, "expect", file, "--calibrator", one) for one in (out, known)
    )
    assert estimated["accuracy"] == pytest.approx(exact["accuracy"])
    assert widths(estimated)[0] > 1.5 * widths(exact)[0]
    assert widths(estimated)[1] > widths(exact)[1]
    for calibrator in (known, out):
        applied = tmp_path / f"by-{calibrator.stem}{suffix}"
        assert run("apply", calibrator, file, "-o", applied)[0] == 0
        found = run_json(schemas.EXPECT, "expect", applied)
        assert found["accuracy"] == pytest.approx(exact["accuracy"], abs=1e-6)
        assert ("no_intervals" in found) == (found["accuracy_low"] is None) == (calibrator == out)
    code, text, _ = run("expect", applied)
    assert code == 0
    assert "No intervals: the scores were calibrated for a base rate that was estimated" in text


@pytest.mark.filterwarnings("default::ogive.errors.OgiveWarning")
def test_rows_that_are_not_valid_can_be_left_out(run, tmp_path, spread):
    cal, s, _ = spread
    path, out = tmp_path / "new.csv", tmp_path / "new.json"
    path.write_text("\n".join(["score", *map(str, s), "nan"]) + "\n")
    code, _, err = run("shift", cal, "--like", path, "-o", out)
    assert (code, out.exists()) == (1, False)
    assert "--skip-bad" in err
    code, _, err = run("shift", cal, "--like", path, "-o", out, "--skip-bad")
    assert (code, out.exists()) == (0, True)
    assert "not valid and were left out: 1." in " ".join(err.split())
    np.savez(tmp_path / "new.npz", scores=s)
    code, _, err = run("shift", cal, "--like", tmp_path / "new.npz", "-o", out, "--skip-bad")
    assert code == 2
    assert "--skip-bad does not apply" in err


@pytest.mark.filterwarnings("default::ogive.errors.OgiveWarning")
def test_of_data_with_parts_the_test_part_is_new(run_json, tmp_path, spread):
    cal, s, _ = spread
    out, old = tmp_path / "new.json", np.full(500, 0.999)
    np.savez(tmp_path / "alone.npz", scores=s)
    np.savez(tmp_path / "parts.npz", cal_scores=old, test_scores=s)
    (tmp_path / "log").mkdir()
    lines = [f"{x!r},cal" for x in old.tolist()] + [f"{x!r},test" for x in s.tolist()]
    (tmp_path / "log" / "a.csv").write_text("score,part\n" + "\n".join(lines) + "\n")
    rates = [
        run_json(schemas.SHIFT_LIKE, "shift", cal, "--like", tmp_path / name, "-o", out)[
            "base_rate"
        ]
        for name in ("alone.npz", "parts.npz", "log")
    ]
    assert rates == pytest.approx([rates[0]] * 3, rel=1e-6)
    words = ["shift", cal, "--like", tmp_path / "parts.npz", "--part", "all", "-o", out]
    assert run_json(schemas.SHIFT_LIKE, *words)["base_rate"] > 2 * rates[0]


def test_outcomes_are_refused_unless_they_are_to_be_ignored(run, run_json, tmp_path, spread):
    cal, s, y = spread
    table = np.c_[s, y]
    path, out = tmp_path / "new.csv", tmp_path / "new.json"
    np.savetxt(path, table, header="score,outcome", comments="", delimiter=",")
    code, _, err = run("shift", cal, "--like", path, "-o", out)
    assert code == 1
    assert "has outcomes" in err
    assert not out.exists()
    run_json(schemas.SHIFT_LIKE, "shift", cal, "--like", path, "-o", out, "--ignore-outcomes")


@pytest.mark.filterwarnings("always::ogive.errors.OgiveWarning")
def test_a_change_that_is_no_base_rate_is_warned_of(run, tmp_path, spread):
    cal, s, _ = spread
    np.savez(tmp_path / "new.npz", scores=np.sqrt(s))
    code, _, err = run("shift", cal, "--like", tmp_path / "new.npz", "-o", tmp_path / "new.json")
    assert code == 0
    assert "does not explain the new scores" in " ".join(err.split())


def test_scores_of_one_class_are_refused(run, tmp_path, spread):
    cal = spread[0]
    np.savez(tmp_path / "new.npz", scores=np.full(500, 0.01))
    out = tmp_path / "new.json"
    code, _, err = run("shift", cal, "--like", tmp_path / "new.npz", "-o", out)
    assert code == 1
    assert "nothing was written, since another base rate does not explain" in " ".join(err.split())
    assert not out.exists()
    with pytest.raises(InvalidInput, match="show a single class, and nothing was written"):
        _check_estimate(BaseRate(0.0, 0.0, 0.04, 0.5))


@pytest.mark.filterwarnings("ignore::ogive.errors.FallbackWarning")
def test_a_fit_to_one_class_has_no_base_rate(run, tmp_path, rng):
    np.savez(tmp_path / "s.npz", scores=rng.random(50), outcomes=np.zeros(50))
    cal, out = tmp_path / "cal.json", tmp_path / "new.json"
    assert run("fit", tmp_path / "s.npz", "-o", cal, "--method", "platt", "--folds", 0)[0] == 0
    code, _, err = run("shift", cal, "--base-rate", 0.1, "-o", out)
    assert code == 1
    assert "without one of the classes" in " ".join(err.split())
    assert not out.exists()


def test_a_rank_has_no_base_rate_and_none_is_asked_for(run, tmp_path, rng):
    file, cal = tmp_path / "m.npz", tmp_path / "cal.json"
    np.savez(file, logits=rng.normal(size=(90, 3)), labels=rng.integers(3, size=90))
    options = ("--method", "platt", "--view", "top-1", "--folds", 0)
    assert run("fit", file, "-o", cal, *options)[0] == 0
    for asked in (("--base-rate", 0.1), ("--like", tmp_path / "not_read.csv")):
        code, _, err = run("shift", cal, *asked, "-o", tmp_path / "new.json")
        assert code == 2
        assert "that is an accuracy, not a base rate" in err


@pytest.fixture
def three(run, tmp_path, rng):
    """A calibrator of three classes, and new rows with other shares."""

    def rows(n, shares):
        y = rng.choice(3, n, p=shares)
        logits = rng.normal(size=(n, 3)) * 1.4
        logits[np.arange(n), y] += 2.0
        return logits, y

    logits, y = rows(4000, [0.4, 0.3, 0.3])
    np.savez(tmp_path / "fit.npz", logits=logits, labels=y)
    cal = tmp_path / "cal3.json"
    assert run("fit", tmp_path / "fit.npz", "-o", cal, "--method", "vector", "--folds", 0)[0] == 0
    new, labels = rows(3000, [0.1, 0.2, 0.7])
    return cal, new, np.bincount(labels) / 3000


def test_the_shares_of_three_classes(run, run_json, tmp_path, three):
    cal, new, shares = three
    out = tmp_path / "new.json"
    np.savez(tmp_path / "new.npz", logits=new)
    found = run_json(schemas.SHIFT_LIKE, "shift", cal, "--like", tmp_path / "new.npz", "-o", out)
    assert len(found["base_rate"]) == 3
    assert sum(found["base_rate"]) == pytest.approx(1.0)
    np.testing.assert_allclose(found["base_rate"], shares, atol=0.05)
    assert found["low"] is found["high"] is found["misfit_pvalue"] is None
    np.testing.assert_allclose(load(out).base_rate, found["base_rate"])
    code, text, _ = run("shift", cal, "--like", tmp_path / "new.npz", "-o", out)
    assert code == 0
    assert "Class 2: base rate " in text
    assert "now (estimated)." in text
    np.savez(tmp_path / "new.npz", logits=new, labels=np.zeros(3000, dtype=int))
    code, _, err = run("shift", cal, "--like", tmp_path / "new.npz", "-o", out)
    assert code == 1
    assert "has outcomes" in err


def test_estimated_shares_of_three_classes_give_no_intervals(run, run_json, tmp_path, three):
    cal, new, _ = three
    out, applied = tmp_path / "new.json", tmp_path / "applied.npz"
    np.savez(tmp_path / "new.npz", logits=new)
    run_json(schemas.SHIFT_LIKE, "shift", cal, "--like", tmp_path / "new.npz", "-o", out)
    assert run("apply", out, tmp_path / "new.npz", "-o", applied)[0] == 0
    for view in ([], ["--view", "class-1"]):
        found = run_json(schemas.EXPECT, "expect", applied, *view)
        assert found["accuracy"] > 0.5
        assert found["accuracy_low"] is None
        assert "count the shares" in found["no_intervals"]


@pytest.mark.filterwarnings("default::ogive.errors.OgiveWarning")
@pytest.mark.parametrize("suffix", [".parquet", ".csv"])
def test_a_log_of_three_classes_is_read_in_one_pass(run, run_json, tmp_path, three, suffix):
    """All rows where they fit; else a random sample."""
    cal, new, shares = three
    out, log = tmp_path / "new.json", tmp_path / "log"
    np.savez(tmp_path / "new.npz", logits=new)
    log.mkdir()
    for k, rows in enumerate(np.array_split(new, 3)):
        table = pa.table({f"logit_{j}": rows[:, j] for j in range(3)})
        table = table.append_column("part", pa.array(["test"] * len(rows)))
        if k == 0:  # rows of the other part are not new
            other = table.set_column(3, "part", pa.array(["cal"] * len(rows)))
            table = pa.concat_tables([table, other])
        (pq.write_table if suffix == ".parquet" else csv.write_csv)(table, log / f"{k}{suffix}")
    whole = run_json(schemas.SHIFT_LIKE, "shift", cal, "--like", tmp_path / "new.npz", "-o", out)
    found = run_json(schemas.SHIFT_LIKE, "shift", cal, "--like", log, "-o", out)
    np.testing.assert_allclose(found["base_rate"], whole["base_rate"], rtol=1e-9)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("ogive.engines.row_sample.MAX_ROWS", 750)
        code, text, err = run("shift", cal, "--like", log, "-o", out, "--json")
    assert code == 0
    assert "a random sample of 750 of them" in " ".join(err.split())
    some = json.loads(text)
    assert some["base_rate"] != whole["base_rate"]
    np.testing.assert_allclose(some["base_rate"], shares, atol=0.1)
    table = pa.table({"logit_0": [1.0], "logit_1": [0.0], "logit_2": [0.0], "label": [0]})
    pq.write_table(table, tmp_path / "labels.parquet")
    code, _, err = run("shift", cal, "--like", tmp_path / "labels.parquet", "-o", out)
    assert code == 1
    assert "has outcomes" in err


def test_a_class_that_new_rows_do_not_show(run, tmp_path, three):
    cal = three[0]
    np.savez(tmp_path / "new.npz", logits=np.tile([9.0, 0.0, 0.0], (400, 1)))
    out = tmp_path / "none.json"
    code, _, err = run("shift", cal, "--like", tmp_path / "new.npz", "-o", out)
    assert code == 1
    assert "nothing was written" in " ".join(err.split())
    assert not out.exists()


@pytest.mark.filterwarnings("ignore::ogive.errors.OgiveWarning")
def test_sampling_weights_count_as_the_rows_they_are_worth(run_json, tmp_path, spread):
    cal, s, _ = spread
    out = tmp_path / "new.json"
    weights = np.where(np.arange(s.size) % 2, 0.1, 5.0)
    np.savez(tmp_path / "new.npz", scores=s, weights=weights)
    lines = [f"{a!r},{b!r}" for a, b in zip(s.tolist(), weights.tolist(), strict=True)]
    (tmp_path / "new.csv").write_text("score,weight\n" + "\n".join(lines) + "\n")
    widths = []
    for kind in ("repetition", "sampling"):
        both = [
            run_json(
                schemas.SHIFT_LIKE, "shift", cal, "--like", file, "--weight-kind", kind, "-o", out
            )
            for file in (tmp_path / "new.npz", tmp_path / "new.csv")
        ]
        assert both[0]["low"] == pytest.approx(both[1]["low"], rel=1e-6)
        widths.append(both[1]["high"] - both[1]["low"])
    assert widths[1] > 1.2 * widths[0]


@pytest.mark.parametrize("view", ["vector", "class-1"])
@pytest.mark.parametrize("kind", ["table", "folder", "arrays"])
def test_columns_of_other_classes_are_refused(run, tmp_path, rng, view, kind):
    logits = rng.normal(size=(400, 3))
    names = np.array(["cat", "dog", "owl"])
    rows = {"logits": logits, "labels": names[rng.integers(3, size=400)], "classes": names}
    np.savez(tmp_path / "m.npz", **rows)
    cal, out = tmp_path / "cal.json", tmp_path / "new.json"
    words = ["--method", "vector"] if view == "vector" else ["--view", view, "--score-only"]
    assert run("fit", tmp_path / "m.npz", "-o", cal, "--folds", 0, *words)[0] == 0
    new = tmp_path / {"table": "new.csv", "folder": "log", "arrays": "new.npz"}[kind]
    swapped = names[[1, 0, 2]]
    if kind == "arrays":
        np.savez(new, logits=logits, classes=swapped)
    else:
        if kind == "folder":
            new.mkdir()
        head = ",".join(f"logit_{name}" for name in swapped)
        where = new / "a.csv" if kind == "folder" else new
        np.savetxt(where, logits, header=head, comments="", delimiter=",")
    commands = [["shift", cal, "--like", new, "-o", out]]
    if view != "vector":
        commands.append(["expect", new, "--calibrator", cal])
    for command in commands:
        code, _, err = run(*command)
        assert code == 1
        assert "fitted on columns of the classes cat, dog, owl, in this order, but" in " ".join(
            err.split()
        )
    assert not out.exists()


def test_a_matrix_for_a_calibrator_of_scores_is_refused(run, tmp_path, rng, spread):
    np.savez(tmp_path / "m.npz", logits=rng.normal(size=(40, 3)))
    for command in (
        ["shift", spread[0], "--like", tmp_path / "m.npz", "-o", tmp_path / "new.json"],
        ["apply", spread[0], tmp_path / "m.npz", "-o", tmp_path / "new.npz"],
        ["expect", tmp_path / "m.npz", "--calibrator", spread[0]],
    ):
        code, _, err = run(*command)
        assert code == 1
        assert "was fitted on scores, and" in " ".join(err.split())
        assert "has 3 classes" in " ".join(err.split())


@pytest.mark.filterwarnings("always::ogive.errors.OgiveWarning")
def test_scores_that_were_calibrated_already_are_warned_of(run, tmp_path, spread):
    cal, s, _ = spread
    np.savez(tmp_path / "new.npz", scores=s)
    assert run("apply", cal, tmp_path / "new.npz", "-o", tmp_path / "q.npz")[0] == 0
    for command in (
        ["shift", cal, "--like", tmp_path / "q.npz", "-o", tmp_path / "new.json"],
        ["expect", tmp_path / "q.npz", "--calibrator", cal],
    ):
        _, _, err = run(*command)
        assert "q.npz was calibrated already" in " ".join(err.split())


def test_the_rate_of_the_fit_that_a_shift_was_told_is_kept(run, run_json, tmp_path, spread):
    cal, s, _ = spread
    np.savez(tmp_path / "new.npz", scores=s)
    like = ["--like", tmp_path / "new.npz", "-o", tmp_path / "new.json"]
    told = ["--trained-at", 0.3]
    direct = run_json(schemas.SHIFT_LIKE, "shift", cal, *like, *told)["base_rate"]
    first = tmp_path / "first.json"
    assert run("shift", cal, "--base-rate", 0.1, *told, "-o", first)[0] == 0
    again = run_json(schemas.SHIFT_LIKE, "shift", first, *like)["base_rate"]
    assert again == pytest.approx(direct, rel=1e-6)


def test_a_calibrator_that_cannot_be_moved_is_not_asked_for_a_rate(run, tmp_path, rng):
    np.savez(tmp_path / "m.npz", logits=rng.normal(size=(90, 3)), labels=rng.integers(3, size=90))
    cal = tmp_path / "cal.json"
    assert run("fit", tmp_path / "m.npz", "-o", cal, "--view", "top-1", "--folds", 0)[0] == 0
    _, _, err = run("shift", cal, "--base-rate", 0.1, "-o", tmp_path / "new.json")
    assert "that is an accuracy, not a base rate" in " ".join(err.split())


@pytest.mark.parametrize("command", ["shift", "expect"])
@pytest.mark.parametrize("lines", ["", "0.5,0\n0.2,0\n"])
def test_new_data_without_rows(run, tmp_path, spread, command, lines):
    file, out = tmp_path / "empty.csv", tmp_path / "new.json"
    file.write_text("score,weight\n" + lines)
    words = (
        ["shift", spread[0], "--like", file, "-o", out] if command == "shift" else ["expect", file]
    )
    code, _, err = run(*words)
    assert code == 1
    assert "empty.csv has no rows" in " ".join(err.split())
    assert not out.exists()


def test_a_misfit_is_warned_of_below_one_percent(recwarn):
    _check_estimate(BaseRate(0.2, 0.1, 0.3, 0.011))
    assert not recwarn.list
    with pytest.warns(
        OgiveWarning, match=r"does not explain the new scores \(misfit test: p = 0.009"
    ):
        _check_estimate(BaseRate(0.2, 0.1, 0.3, 0.009))
