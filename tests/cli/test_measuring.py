"""`ogive measure`: the numbers of the library."""

import numpy as np
import pyarrow as pa
import pytest

import ogive
from tests import naive
from tests.bundled import DEMO
from tests.cli import schemas
from tests.engines.tables import store


def test_measure(run_json):
    result = run_json(schemas.MEASURE, "measure", DEMO)
    assert result["view"] == "top-1"
    assert result["n"] == 10_000  # the test part
    assert result["ks"] == pytest.approx(0.05635, abs=1e-4)
    assert result["accuracy"] == pytest.approx(0.9093)
    assert result["nll_vector"] > 0
    assert run_json(schemas.MEASURE, "measure", DEMO, "--part", "cal")["n"] == 5000
    assert run_json(schemas.MEASURE, "measure", DEMO, "--view", "class-3")["view"] == "class-3"


def test_measure_with_bootstrap_intervals(run_json, scores):
    result = run_json(schemas.MEASURE, "measure", scores, "--resamples", "50")
    assert result["brier_low"] < result["brier"] < result["brier_high"]
    assert result == run_json(schemas.MEASURE, "measure", scores, "--resamples", "50")
    other = run_json(schemas.MEASURE, "measure", scores, "--resamples", "50", "--seed", "1")
    assert other["ece_low"] != result["ece_low"]
    assert other["brier_low"] == result["brier_low"]  # the interval of a mean counts rows


def test_measure_more(run_json, run, scores):
    result = run_json(schemas.MEASURE_MORE, "measure", scores, "--more")
    plain = run_json(schemas.MEASURE, "measure", scores)
    assert {key: result[key] for key in plain} == plain
    for key in ("oe_ratio", "intercept", "slope", "ici", "refinement"):
        assert result[f"{key}_low"] <= result[key] <= result[f"{key}_high"]
    for key in ("e50", "e90", "emax"):
        assert result[key] > 0.0
        assert result[f"{key}_low"] is result[f"{key}_high"] is None
    data = np.load(scores)
    test = data["test_scores"], data["test_outcomes"]
    assert result["slope"] == ogive.calibration_slope(*test).value
    code, shown, _ = run("measure", scores, "--more")
    assert code == 0
    assert "Cox's calibration slope" in shown
    run_json(schemas.MEASURE_MORE, "measure", DEMO, "--more", "--view", "class-1")
    views = run_json(schemas.MEASURE_ALL, "measure", scores, "--more", "--view", "all")["views"]
    assert views[0]["slope"] == result["slope"]


def test_measure_more_of_a_log_and_of_its_summary(run_json, run, tmp_path, rng):
    table = tmp_path / "log" / "a.csv"
    table.parent.mkdir()
    s = rng.random(500)
    columns = zip(s.tolist(), rng.random(500) < s, "xy" * 250, strict=True)
    rows = [f"{a!r},{int(b)},{c}" for a, b, c in columns]
    table.write_text("score,outcome,country\n" + "\n".join(rows))
    found = run_json(schemas.MEASURE_MORE, "measure", table.parent, "--more")
    saved = tmp_path / "curve.json"
    run("measure", table.parent, "--save-curve", saved)
    again = run_json(schemas.MEASURE_MORE, "measure", saved, "--more")
    assert again["slope"] == pytest.approx(found["slope"], abs=1e-3)
    code, _, err = run("measure", table.parent, "--by", "country", "--more")
    assert code == 2
    assert "--more does not apply" in err


def test_measure_all_views(run_json):
    views = run_json(schemas.MEASURE_ALL, "measure", DEMO, "--view", "all")["views"]
    names = [view["view"] for view in views]
    assert names[:5] == ["top-1", "top-2", "top-3", "within-top-2", "within-top-3"]


def test_the_command_and_the_function_say_the_same(run_json):
    result = run_json(schemas.MEASURE, "measure", DEMO)
    cal, test = (ogive.read(DEMO, part=part) for part in ("cal", "test"))
    assert result == ogive.studies.measure.measure(test, cal=cal).to_dict()
    assert result["decision"] == "calibrate"
    compared = run_json(schemas.COMPARE, "compare", DEMO, "--methods", "none,platt")
    again = ogive.compare(
        ogive.read(DEMO, part="cal"), ogive.read(DEMO, part="test"), ["none", "platt"]
    ).to_dict()
    for row in (*compared["methods"], *again["methods"]):
        row.pop("fit_seconds")
    assert compared == again


@pytest.mark.parametrize("suffix", [".npz", ".csv"])
def test_what_weights_mean_is_an_option(tmp_path, run_json, suffix, rng):
    s, w = rng.random(400), rng.exponential(size=400) * 3
    y = (rng.random(400) < s).astype(int)
    file = tmp_path / f"w{suffix}"
    if suffix == ".npz":
        np.savez(file, scores=s, outcomes=y, weights=w)
    else:
        columns = zip(s.tolist(), y, w.tolist(), strict=True)
        rows = "".join(f"{a!r},{b},{c!r}\n" for a, b, c in columns)
        file.write_text("score,outcome,weight\n" + rows)
    curve = ogive.Curve.from_scores(s, y, sample_weight=w, weight_kind="sampling")
    log = () if suffix == ".npz" else ("--engine", "local")
    for more in ((), log):
        found = run_json(schemas.MEASURE, "measure", file, "--weight-kind", "sampling", *more)
        assert found["ks_pvalue"] == pytest.approx(ogive.ks_test(curve).pvalue, rel=1e-6)
    assert run_json(schemas.MEASURE, "measure", file)["ks_pvalue"] < found["ks_pvalue"]


def write_clusters(folder, suffix, s, y, c):
    """A file of scores, outcomes and the patient of each row."""
    file = folder / f"visits{suffix}"
    if suffix == ".npz":
        np.savez(file, scores=s, outcomes=y.astype(int), patient=c)
    elif suffix == ".csv":
        rows = "".join(
            f"{a!r},{int(b)},{k:03d}\n" for a, b, k in zip(s.tolist(), y, c, strict=True)
        )
        file.write_text("score,outcome,patient\n" + rows)
    else:
        columns = {"score": s, "outcome": y.astype(int), "patient": c}
        store(pa.table(columns), file)
    return file


@pytest.mark.parametrize("suffix", [".npz", ".csv", ".parquet"])
def test_rows_of_one_cluster(tmp_path, run_json, suffix):
    s, y, c = naive.clustered(0, clusters=40, rows=10)
    file = write_clusters(tmp_path, suffix, s, y, c)
    found = run_json(schemas.MEASURE, "measure", file, "--cluster", "patient", "--resamples", "20")
    expected = ogive.measure(s, y, clusters=c, resamples=20).to_dict()
    assert found == expected
    assert found["clusters"] == 40
    assert found["ks_method"] == "clusters"
    compared = run_json(schemas.COMPARE, "compare", file, "--split", "0.5", "--cluster", "patient",
                        "--methods", "none,platt")  # fmt: skip
    assert compared["n_cal"] % 10 == 0
    fitted = run_json(schemas.FIT, "fit", file, "--cluster", "patient", "-o", tmp_path / "c.json")
    assert fitted["folds"] == 5
    gated = run_json(schemas.MEASURE, "measure", file, "--cluster", "patient", "--max-ks", "0.9")
    assert gated["gate"]["interval"] == pytest.approx([found["ks_low"], found["ks_high"]])


def test_a_folder_is_read_whole_for_its_clusters(tmp_path, run_json):
    s, y, c = naive.clustered(1, clusters=40, rows=10)
    log = tmp_path / "log"
    log.mkdir()
    for part, at in (("a", slice(0, 150)), ("b", slice(150, 400))):
        store(pa.table({"score": s[at], "outcome": y[at], "day": c[at]}), log / f"{part}.parquet")
    found = run_json(schemas.MEASURE, "measure", log, "--cluster", "day")
    assert found == ogive.measure(s, y, clusters=c).to_dict()


@pytest.mark.filterwarnings("default::ogive.errors.FewClusters")
def test_few_clusters_are_told(run, tmp_path):
    s, y, c = naive.clustered(2, clusters=4, rows=30)
    file = write_clusters(tmp_path, ".csv", s, y, c)
    code, out, err = run("measure", file, "--cluster", "patient")
    assert code == 0
    assert err.count("4 clusters are few") == 1
    assert "120 rows in 4 clusters are worth about" in out
