"""Calibrated files say what calibrated them, and which rows fitted that."""

import json

import numpy as np
import pyarrow as pa
import pytest

import ogive
from ogive._wording import WITHHELD
from ogive.errors import OgiveWarning
from ogive.readers import table
from ogive.readers.provenance import Provenance, parse, provenance_of, rows_checksum
from ogive.report.model import build_report


@pytest.fixture
def files(tmp_path, rng):
    """Scores whose square is right, as one file of every kind."""
    s = rng.random(2000)
    columns = {"score": s, "outcome": (rng.random(2000) < s**2).astype(int)}
    for suffix in (".csv", ".parquet"):
        table._store(pa.table(columns), tmp_path / f"a{suffix}", suffix)
    np.savez(tmp_path / "a.npz", scores=s, outcomes=columns["outcome"])
    return tmp_path


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".npz"])
def test_rows_of_the_fit_have_no_p_value(files, run, suffix):
    path, cal, out = files / f"a{suffix}", files / "cal.json", files / f"out{suffix}"
    assert run("fit", path, "-o", cal)[0] == 0
    assert run("apply", cal, path, "-o", out)[0] == 0
    origin = provenance_of(out)
    assert (origin.method, origin.view, origin.n) == ("spline", "score", 2000)
    assert origin.fitted_parts == ("",)
    found = ogive.measure(ogive.read(out))
    assert found.verdict.endswith(WITHHELD)
    said = found.to_dict()
    assert said["ks_pvalue"] is said["ks_low"] is said["kuiper_pvalue"] is None
    assert said["spiegelhalter_pvalue"] is None
    assert said["fitted_rows"] is True
    code, text, _ = run("measure", out)
    assert code == 0
    assert "No miscalibration found" not in text
    assert "fitted on these rows" in text
    code, _, err = run("measure", out, "--max-ks", "0.02")
    assert code == 2
    assert "A gate cannot judge them." in err


def test_other_rows_are_judged(files, run, rng):
    s = rng.random(2000)
    np.savez(files / "new.npz", scores=s, outcomes=rng.random(2000) < s**2)
    run("fit", files / "a.npz", "-o", files / "cal.json")
    run("apply", files / "cal.json", files / "new.npz", "-o", files / "out.npz")
    found = ogive.measure(ogive.read(files / "out.npz"))
    assert found.ks_test.pvalue > 0.001
    assert "fitted on 2,000 other rows." in found.verdict
    assert found.to_dict()["fitted_rows"] is False


REMAINS = "is no larger than sampling noise for 1,000 calibration rows (up to "


def test_test_rows_are_judged_by_the_noise_of_the_fit(tmp_path, run):
    """Measure (a file and a log), compare and report allow for what a map on 1,000 rows leaves."""
    rng = np.random.default_rng(1)
    s = rng.random(31_000)
    y = rng.random(31_000) < s**1.5
    np.savez(tmp_path / "p.npz", cal_scores=s[:1000], cal_outcomes=y[:1000],
             test_scores=s[1000:], test_outcomes=y[1000:])  # fmt: skip
    (tmp_path / "log").mkdir()
    rows = pa.table({"score": s[1000:], "outcome": y[1000:].astype(int)})
    table._store(rows, tmp_path / "log" / "a.parquet", ".parquet")
    run("fit", tmp_path / "p.npz", "-o", tmp_path / "cal.json")
    for name, out in (("p.npz", "out.npz"), ("log", "out")):
        assert run("apply", tmp_path / "cal.json", tmp_path / name, "-o", tmp_path / out)[0] == 0
    assert ogive.measure(ogive.read(tmp_path / "out.npz", "test")).ks_test.pvalue < 0.05
    for name in ("out.npz", "out"):
        said = json.loads(run("measure", tmp_path / name, "--json")[1])
        assert REMAINS in said["verdict"]
        assert said["calibration_pvalue"] >= 0.05
    compared = run("compare", tmp_path / "out.npz", "--methods", "none,platt", "--json")[1]
    assert REMAINS in json.loads(compared)["verdict"]
    preds = {part: ogive.read(tmp_path / "out.npz", part) for part in ("cal", "test")}
    assert REMAINS in build_report(preds["test"], source="out.npz").verdict.sentence
    assert build_report(preds["cal"], source="out.npz").verdict.sentence.endswith(WITHHELD)


def test_a_map_that_changes_nothing_has_no_noise():
    assert Provenance("a", "none", "score", 900).other_rows(None) is None
    assert Provenance("a", "spline", "score", 900, ("cal",)).other_rows("cal") is None
    assert Provenance("a", "spline", "score", 900, ("cal",)).other_rows("test") == 900


def test_the_same_rows_in_another_file_are_recognised(files, run):
    run("fit", files / "a.npz", "-o", files / "cal.json")
    run("apply", files / "cal.json", files / "a.parquet", "-o", files / "out.parquet")
    assert provenance_of(files / "out.parquet").fitted_parts == ("",)


def test_parts_are_told_apart(tmp_path, run, rng):
    s = rng.random(3000)
    y = rng.random(3000) < s**2
    np.savez(tmp_path / "p.npz", cal_scores=s[:1500], cal_outcomes=y[:1500],
             test_scores=s[1500:], test_outcomes=y[1500:])  # fmt: skip
    run("fit", tmp_path / "p.npz", "-o", tmp_path / "cal.json")
    run("apply", tmp_path / "cal.json", tmp_path / "p.npz", "-o", tmp_path / "out.npz")
    assert provenance_of(tmp_path / "out.npz").fitted_parts == ("cal",)
    assert ogive.measure(ogive.read(tmp_path / "out.npz", "cal")).fitted_rows
    assert not ogive.measure(ogive.read(tmp_path / "out.npz", "test")).fitted_rows
    cal, test = (ogive.read(tmp_path / "out.npz", part) for part in ("cal", "test"))
    methods = ["none", "platt"]
    assert ogive.compare(test, cal, methods).verdict.startswith("No verdict: the test rows fitted")
    assert "fitted on 1,500 other rows" in ogive.compare(cal, test, methods).notes[0]


def test_a_log(tmp_path, run, rng):
    for i in range(3):
        s = rng.random(700)
        rows = pa.table({"score": s, "outcome": (rng.random(700) < s**2).astype(int)})
        (tmp_path / "log").mkdir(exist_ok=True)
        table._store(rows, tmp_path / "log" / f"{i}.csv", ".csv")
    run("fit", tmp_path / "log", "-o", tmp_path / "cal.json")
    run("apply", tmp_path / "cal.json", tmp_path / "log", "-o", tmp_path / "out")
    code, text, _ = run("measure", tmp_path / "out")
    assert code == 0
    assert "No miscalibration found" not in text
    assert "fitted on these rows" in text
    code, text, _ = run("measure", tmp_path / "out", "--json")
    assert json.loads(text)["ks_pvalue"] is None


@pytest.mark.filterwarnings("always::ogive.errors.OgiveWarning")
def test_calibrating_twice_warns(files, run):
    run("fit", files / "a.csv", "-o", files / "cal.json")
    run("apply", files / "cal.json", files / "a.csv", "-o", files / "once.csv")
    code, _, err = run("apply", files / "cal.json", files / "once.csv", "-o", files / "two.csv")
    assert code == 0
    assert "once.csv was calibrated already, by spline (score)" in err


def test_a_csv_that_was_replaced_has_no_provenance(files, run):
    run("fit", files / "a.csv", "-o", files / "cal.json")
    run("apply", files / "cal.json", files / "a.csv", "-o", files / "out.csv")
    assert provenance_of(files / "out.csv") is not None
    (files / "out.csv").write_text("score,outcome\n0.5,1\n")
    with pytest.warns(OgiveWarning, match=r"is of another content of out\.csv, and is ignored"):
        assert provenance_of(files / "out.csv") is None


@pytest.mark.parametrize("text", ["", "{}", "[1]", '{"n": 1}', '{"n": "x", "fitted_parts": []}'])
def test_what_is_damaged_says_nothing(text):
    assert parse(text) is None


def test_what_is_written_is_read():
    one = Provenance("ab", "spline", "vector", 5.0, ("cal",))
    assert parse(one.to_json()) == one
    assert one.fitted("all")
    assert not one.fitted("test")


def test_checksums_do_not_depend_on_the_order(rng):
    rows = rng.normal(size=(100, 3))
    assert rows_checksum(rows) == rows_checksum(rows[::-1])
    other = rows.copy()
    other[3, 1] += 1e-12
    assert rows_checksum(rows) != rows_checksum(other)
    assert rows_checksum(rows) != rows_checksum(rows[:, ::-1])


def test_calibrators_from_before_know_the_part_by_its_name(tmp_path, run, rng):
    s = rng.random(600)
    y = rng.random(600) < s**2
    halves = {"cal_scores": s[:300], "cal_outcomes": y[:300], "test_scores": s[300:]}
    np.savez(tmp_path / "p.npz", **halves, test_outcomes=y[300:])
    preds = ogive.Predictions(s[:300], y[:300], kind="probs")
    ogive.save(ogive.fit_spline(ogive.Curve.from_predictions(preds)), tmp_path / "cal.json")
    run("apply", tmp_path / "cal.json", tmp_path / "p.npz", "-o", tmp_path / "out.npz")
    assert provenance_of(tmp_path / "out.npz").fitted_parts == ("cal",)


def test_warning_in_python(files, run):
    from ogive.studies.apply_log import apply_log

    run("fit", files / "a.parquet", "-o", files / "cal.json")
    apply_log(files / "cal.json", files / "a.parquet", files / "once.parquet")
    with pytest.warns(OgiveWarning, match="was calibrated already"):
        apply_log(files / "cal.json", files / "once.parquet", files / "two.parquet")
