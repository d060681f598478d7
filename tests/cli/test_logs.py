"""Logs on the command line."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ogive import Curve, ks_error
from tests.cli import schemas
from tests.engines.tables import exact, logits_table, scores_table, store


@pytest.fixture
def log(tmp_path):
    country = np.random.default_rng(0).choice(["DE", "FR", "IT"], 3000)
    table = scores_table(3000, country=country)
    for i, name in enumerate(["a.parquet", "b.csv", "c.jsonl"]):
        store(table.slice(1000 * i, 1000), tmp_path / "log" / name)
    return tmp_path / "log"


def test_a_folder_is_measured_as_one(run_json, log):
    result = run_json(schemas.MEASURE_LOG, "measure", log)
    assert result["n"] == 3000
    assert result["skipped"] == 0
    assert result["ks"] == pytest.approx(ks_error(exact(scores_table(3000))), abs=1e-12)
    assert result["approximate"] == []
    again = run_json(schemas.MEASURE_LOG, "measure", log / "a.parquet", log / "b.csv", log / "c.*")
    assert again == result


@pytest.fixture
def coarse(monkeypatch):
    """Short logs are summarised as long ones are."""
    monkeypatch.setattr("ogive.engines.files.MAX_ROWS_WITH_OWN_BUCKETS", 0)
    monkeypatch.setattr("ogive.engines.plan.BITS", 6)


@pytest.mark.usefixtures("coarse")
def test_one_pass_gives_a_bracket_and_two_the_number(run_json, log):
    once = run_json(schemas.MEASURE_LOG, "measure", log, "--one-pass")
    twice = run_json(schemas.MEASURE_LOG, "measure", log)
    want = ks_error(exact(scores_table(3000)))
    low, high = once["ks_bracket"]
    assert low <= want <= high
    assert high - low > 1e-6
    assert twice["ks"] == pytest.approx(want, abs=1e-12)
    assert np.diff(twice["ks_bracket"])[0] < 1e-12
    assert "mce" in twice["approximate"]


def test_a_folder_that_is_not_there_is_named(run, tmp_path):
    code, out, err = run("measure", tmp_path / "nowhere")
    assert (code, out) == (1, "")
    assert err.endswith("nowhere does not exist. Check the path.\n")
    assert err.count("\n") == 1


@pytest.mark.usefixtures("coarse")
def test_the_table_says_what_is_certain(run, log):
    code, out, _ = run("measure", log, "--one-pass")
    assert code == 0
    assert "Computed from a summary of the log. The KS error lies between" in out


def test_bad_rows_are_named_or_skipped(run, run_json, log):
    store(pa.table({"score": [0.5, 3.0], "outcome": [1, 0]}), log / "d.parquet")
    code, out, err = run("measure", log)
    assert (code, out) == (1, "")
    assert "d.parquet: row 1: `score` must be a number in [0, 1] (3.0)" in err
    assert err.count("\n") == 1
    result = run_json(schemas.MEASURE_LOG, "measure", log, "--skip-bad")
    assert (result["n"], result["skipped"]) == (3001, 1)
    assert "1 rows were not valid and were left out" in run("measure", log, "--skip-bad")[1]


def test_groups(run, run_json, log):
    result = run_json(schemas.MEASURE_BY, "measure", log, "--by", "country")
    assert {one["group"] for one in result["groups"]} == {"DE", "FR", "IT"}
    assert sum(one["n"] for one in result["groups"]) == 3000
    code, out, _ = run("measure", log, "--by", "country")
    assert code == 0
    assert "of 3 groups (KS tests" in out
    assert "base rate" in out
    assert all(one["base_rate"] == one["accuracy"] for one in result["groups"])
    code, _, err = run("measure", log, "--by", "contry")
    assert code == 2
    assert "Did you mean 'country'" in err


def test_groups_of_several_columns(run, run_json, tmp_path):
    rng = np.random.default_rng(0)
    some = {"country": rng.choice(["DE", "FR"], 3000), "device": rng.choice(["tv", "pc"], 3000)}
    table = scores_table(3000, **{name: pa.array(column) for name, column in some.items()})
    log = store(table, tmp_path / "log.parquet")
    both = run_json(schemas.MEASURE_BY, "measure", log, "--by", "country,device")
    assert (both["depth"], both["overall"]["n"], len(both["groups"])) == (2, 3000, 8)
    alone = run_json(schemas.MEASURE_BY, "measure", log, "--by", "country,device", "--depth", 1)
    assert {one["group"] for one in alone["groups"]} == {"DE | *", "FR | *", "* | tv", "* | pc"}
    whole = run_json(schemas.MEASURE_BY, "measure", log, "--by", "country")
    ks = {one["where"]["country"]: one["ks"] for one in whole["groups"]}
    for one in both["groups"]:
        if list(one["where"]) == ["country"]:
            assert one["ks"] == pytest.approx(ks[one["where"]["country"]], abs=1e-12)
    code, out, _ = run("measure", log, "--by", "country,device")
    assert code == 0
    assert "Benjamini-Hochberg within each of 3 choices of columns" in " ".join(out.split())
    assert "Multicalibration error:" in out
    assert "(all rows)" in out


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--depth", 2), "--depth does not apply: columns are combined with --by A,B"),
        (("--by", "country", "--depth", 2), "--by country has fewer columns to combine"),
        (("--by", "score"), "the column 'score' has 2,704 different values"),
        (("--by", "country,score"), "the column 'score' has 2,704 different values"),
    ],
)
def test_groups_that_are_refused(run, log, options, words):
    code, out, err = run("measure", log, *options)
    assert code in {1, 2}
    assert out == ""
    assert words in " ".join(err.split())


def test_saved_curves_add_up(run, run_json, log, tmp_path):
    for name in ("a.parquet", "b.csv", "c.jsonl"):
        target = tmp_path / f"{name}.curve"
        assert run("measure", log / name, "--save-curve", target)[0] == 0
    curves = sorted(tmp_path.glob("*.curve"))
    result = run_json(schemas.MEASURE_LOG, "measure", *curves)
    whole = run_json(schemas.MEASURE_LOG, "measure", log, "--one-pass")
    assert result == whole
    both = run_json(schemas.MEASURE_LOG, "measure", curves[0], log / "b.csv")
    assert both["n"] == 2000
    code, _, err = run("measure", log, "--by", "country", "--save-curve", tmp_path / "x.curve")
    assert code == 2
    assert "saves one curve" in err


def test_all_views_of_a_log_of_matrices(run, run_json, tmp_path):
    for i in range(2):
        store(logits_table(1500, seed=i), tmp_path / "log" / f"{i}.parquet")
    table = pa.concat_tables(logits_table(1500, seed=i) for i in range(2))
    store(table, tmp_path / "whole.parquet")
    many = run_json(schemas.MEASURE_ALL, "measure", tmp_path / "log", "--view", "all")
    one = run_json(schemas.MEASURE_ALL, "measure", tmp_path / "whole.parquet", "--view", "all")
    assert [v["view"] for v in many["views"]] == [v["view"] for v in one["views"]]
    for a, b in zip(many["views"], one["views"], strict=True):
        for key in ("n", "ks", "ece", "brier", "brier_vector", "nll_vector", "classes_off"):
            assert a.get(key) == pytest.approx(b.get(key), abs=1e-9), (a["view"], key)
    code, _, err = run("measure", tmp_path / "log", "--view", "vector")
    assert code == 1
    assert "whole vectors of a log" in err


def test_fit_from_a_log(run_json, run, log, tmp_path):
    out = tmp_path / "cal.json"
    result = run_json(schemas.FIT, "fit", log, "-o", out)
    assert (result["n"], result["view"]) == (3000, "score")
    assert json.loads(out.read_text())["fitted_on"]["ks_before"] > 0
    code, _, err = run("fit", log, "-o", out, "--method", "temperature")
    assert code == 1
    assert "needs all rows in memory" in err


def matrix_log(folder, K=3, files=3):
    for i in range(files):
        store(logits_table(400, K, seed=i), folder / f"{i}.parquet")
    return folder


def test_a_log_of_matrices_stays_one(run_json, run, tmp_path):
    log, cal, out = matrix_log(tmp_path / "log"), tmp_path / "cal.json", tmp_path / "out"
    result = run_json(schemas.FIT, "fit", log, "-o", cal)
    assert (result["n"], result["view"]) == (1200, "vector")
    assert result["log_loss_after"] > 0
    run_json(schemas.APPLY, "apply", cal, log, "-o", out)
    done = pq.read_table(out / "0.parquet")
    assert {"prob_0", "prob_2", "prediction", "score"} <= set(done.column_names)
    assert run_json(schemas.MEASURE_LOG, "measure", out)["view"] == "top-1"
    assert run_json(schemas.FIT, "fit", log, "-o", cal, "--view", "top-1")["view"] == "top-1"
    for words in (["--one-pass"], ["--engine", "local"]):
        code, _, err = run("fit", log, "-o", cal, *words)
        assert code == 1
        assert f"{words[0]} reads it in pieces" in err
        assert "--view top-1" in err


def test_a_log_of_matrices_too_long_for_memory(run, tmp_path, monkeypatch):
    log = matrix_log(tmp_path / "log")
    monkeypatch.setattr("ogive.studies.logs.table_bytes", lambda *_, **__: 10**15)
    code, _, err = run("fit", log, "-o", tmp_path / "cal.json")
    assert code == 1
    assert "more than the limit of 1 GB" in err
    assert "--view top-1" in err
    assert run("fit", log, "-o", tmp_path / "cal.json", "--view", "top-1")[0] == 0


def test_two_columns_of_a_log_have_two_views(run_json, tmp_path):
    log = matrix_log(tmp_path / "log", K=2)
    result = run_json(schemas.MEASURE_LOG, "measure", log)
    assert (result["view"], result["also"][0]["view"]) == ("top-1", "class-1")


def test_apply_to_a_folder_can_be_repeated(run_json, run, log, tmp_path):
    run("fit", log, "-o", tmp_path / "cal.json", "--method", "platt")
    result = run_json(schemas.APPLY, "apply", tmp_path / "cal.json", log, "-o", tmp_path / "out")
    assert (result["n"], result["written"], result["kept"]) == (3000, 3, 0)
    code, out, _ = run("apply", tmp_path / "cal.json", log, "-o", tmp_path / "out")
    assert code == 0
    assert "3,000 rows calibrated in 3 files (3 were finished before)" in out
    after = run_json(schemas.MEASURE_LOG, "measure", tmp_path / "out")
    assert after["n"] == 3000


def test_a_long_file_goes_through_the_engine(run_json, log, monkeypatch):
    monkeypatch.setattr("ogive.studies.logs.table_bytes", lambda *_, **__: 10**15)
    result = run_json(schemas.MEASURE_LOG, "measure", log / "a.parquet")
    assert result["n"] == 1000
    monkeypatch.undo()
    assert "skipped" not in run_json(schemas.MEASURE, "measure", log / "a.parquet")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--memory", "lots"], "`memory` must be a size such as 1GB"),
        (["--engine", "sprak"], "unknown engine 'sprak'. Did you mean 'spark'"),
        (["--view", "top-9"], "'top-9' is not a view"),
    ],
)
def test_wrong_options(run, log, words, message):
    code, out, err = run("measure", log, *words)
    assert (code, out) == (2, "")
    assert message in err


def test_an_empty_folder(run, tmp_path):
    code, _, err = run("measure", tmp_path)
    assert code == 1
    assert "holds no files of" in err


def test_a_folder_of_archives_is_read_as_before(run_json, tmp_path):
    rng = np.random.default_rng(0)
    scores = rng.random((2, 100))
    for i in range(2):
        np.savez(tmp_path / f"{i}.npz", scores=scores[i], outcomes=scores[i] > 0.4)
    result = run_json(schemas.MEASURE, "measure", tmp_path)
    curve = Curve.from_scores(scores.ravel(), scores.ravel() > 0.4)
    assert result["ks"] == pytest.approx(ks_error(curve))


def test_apply_to_a_long_file_streams(run, run_json, log, tmp_path, monkeypatch):
    run("fit", log, "-o", tmp_path / "cal.json", "--method", "platt")
    words = ("apply", tmp_path / "cal.json", log / "b.csv", "-o")
    assert run(*words, tmp_path / "b.csv")[0] == 0
    monkeypatch.setattr("ogive.studies.logs.table_bytes", lambda *_, **__: 10**15)
    result = run_json(schemas.APPLY, *words, tmp_path / "b.parquet")
    assert result == {"n": 1000, "out": str(tmp_path / "b.parquet")}
    a, b = (
        run_json(schemas.MEASURE, "measure", tmp_path / f"b.{end}") for end in ("csv", "parquet")
    )
    assert a["ks"] == pytest.approx(b["ks"], abs=1e-12)


@pytest.mark.parametrize(("option", "engine"), [("--scheduler", "dask"), ("--master", "spark")])
def test_options_of_other_engines(run, log, option, engine):
    code, _, err = run("measure", log, option, "there")
    assert code == 2
    assert f"{option} is for --engine {engine}." in err


def test_a_gate_of_groups_says_which_group_decides(run, log):
    code, out, _ = run("measure", log, "--by", "country", "--max-ks", 0.9, "--max-ece", 0.9)
    assert code == 0
    assert "Gate: pass." in out
    code, out, _ = run("measure", log, "--by", "country", "--max-ks", 0.001, "--json")
    gate = json.loads(out)["gate"]
    assert code == {"fail": 3, "undecided": 4}[gate["verdict"]]
    assert gate["group"] in {"DE", "FR", "IT"}
    assert len(gate["limits"]) == 3
    assert run("measure", log, "--max-ks", 0.9)[0] == 0


@pytest.mark.parametrize("kind", ["repetition", "sampling"])
def test_folds_of_groups_hold_every_weight_once(run, tmp_path, kind):
    rng = np.random.default_rng(0)
    table = scores_table(300, group=rng.choice(["a", "b"], 300), w=rng.integers(1, 9, 300) / 4)
    store(table, tmp_path / "log" / "a.parquet")
    words = ("--by", "group", "--weight", "w", "--weight-kind", kind, "--json")
    code, out, err = run("fit", tmp_path / "log", "-o", tmp_path / "cal.json", *words)
    assert code == 0, err
    score, outcome, w = (table[name].to_numpy() for name in ("score", "outcome", "w"))
    loss = -np.average(np.log(np.where(outcome == 1, score, 1 - score)), weights=w)
    assert json.loads(out)["log_loss_before"] == pytest.approx(loss, rel=1e-6)  # counted in buckets
