"""`ogive apply`: files stay what they are, with calibrated scores."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import ogive
from ogive.cli import main
from ogive.readers import table
from tests.bundled import DEMO
from tests.cli import schemas

ANY = Path("source.parquet")  # the source of a table that is not text: written with commas


def test_fit_apply_measure(run, run_json, tmp_path):
    cal, out = tmp_path / "cal.json", tmp_path / "out.npz"
    fitted = run_json(schemas.FIT, "fit", DEMO, "-o", cal)
    head = {"method": "spline", "view": "vector", "n": 5000, "artifact": str(cal)}
    assert fitted | head == fitted
    assert fitted["ks_after"] < 0.3 * fitted["ks_before"]
    assert fitted["log_loss_after"] < fitted["log_loss_before"]
    assert run_json(schemas.APPLY, "apply", cal, DEMO, "-o", out) == {"n": 15_000, "out": str(out)}
    before = run_json(schemas.MEASURE, "measure", DEMO)
    after = run_json(schemas.MEASURE, "measure", out)
    assert after["ks"] < 0.3 * before["ks"]
    assert after["accuracy"] == before["accuracy"]
    code, text, _ = run("fit", DEMO, "-o", cal, "--method", "paper-spline", "--view", "top-2")
    assert code == 0
    assert "paper-spline (top-2), fitted on 5,000 rows" in text
    assert "\nOn the calibration set: KS error " in text
    assert "\nOn the test set: " in text


@pytest.mark.filterwarnings("always::ogive.errors.OgiveWarning")
def test_scores_that_were_calibrated_already_are_noticed(run, tmp_path):
    cal, once, twice = (tmp_path / name for name in ("cal.json", "once.npz", "twice.npz"))
    assert run("fit", DEMO, "-o", cal, "--method", "platt", "--view", "top-1")[0] == 0
    assert "warning" not in run("apply", cal, DEMO, "-o", once)[2]
    code, _, err = run("apply", cal, once, "-o", twice)
    assert code == 0
    assert "warning" in err
    assert "was fitted on logits" in err
    assert "calibrated already?" in err


@pytest.mark.filterwarnings("always::ogive.errors.OgiveWarning")
def test_a_calibrator_of_names_needs_names_and_one_of_numbers_takes_them(run, tmp_path, rng):
    probs = rng.dirichlet(np.ones(3), 60)
    labels = np.arange(60) % 3
    names = np.array(["a", "b", "c"])
    named, plain = tmp_path / "named.json", tmp_path / "plain.json"
    np.savez(tmp_path / "names.npz", probs=probs, labels=names[labels], classes=names)
    np.savez(tmp_path / "0.npz", probs=probs, labels=labels)
    assert run("fit", tmp_path / "names.npz", "-o", named)[0] == 0
    assert run("fit", tmp_path / "0.npz", "-o", plain)[0] == 0
    code, _, err = run("apply", named, tmp_path / "0.npz", "-o", tmp_path / "x.npz")
    assert code == 1
    assert "does not say which column is which class" in err
    assert "--classes a,b,c" in err
    code, _, err = run("apply", plain, tmp_path / "names.npz", "-o", tmp_path / "y.npz")
    assert code == 0
    assert "names.npz has a, b, c: taken for the same, in this order." in err
    unlabelled = tmp_path / "new.npz"
    np.savez(unlabelled, probs=probs)
    how = ("--classes", "a,b,c", "-o", tmp_path / "z.npz")
    assert run("apply", named, unlabelled, *how)[0] == 0


def test_apply_to_a_file_without_labels(run_json, tmp_path, scores):
    run_json(schemas.FIT, "fit", scores, "-o", tmp_path / "cal.json", "--method", "platt")
    np.savez(tmp_path / "new.npz", scores=[0.1, 0.9], id=[7, 8])
    run_json(schemas.APPLY, "apply", tmp_path / "cal.json", tmp_path / "new.npz", "-o",
             tmp_path / "done.npz")  # fmt: skip
    with np.load(tmp_path / "done.npz") as arrays:
        assert sorted(arrays) == ["id", "ogive_calibrated", "scores"]
        assert arrays["scores"][0] < 0.1


def load(path):
    return pa.csv.read_csv(path) if path.suffix == ".csv" else table.load(path)


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_tables_of_a_view_hold_the_outcomes_of_the_view(suffix, run_json, tmp_path, rng):
    s = rng.random(3000)
    columns = {"id": np.arange(3000), "score": s, "more": s > 0.2, "outcome": rng.random(3000) < s}
    path, cal, out = (tmp_path / name for name in (f"b{suffix}", "cal.json", f"out{suffix}"))
    table._store(pa.table(columns), path, suffix, ANY)
    run_json(schemas.FIT, "fit", path, "-o", cal, "--view", "top-1")
    run_json(schemas.APPLY, "apply", cal, path, "-o", out)
    done = load(out)
    assert done.column_names == list(columns)
    if suffix == ".parquet":
        assert done.schema.field("outcome").type == pa.bool_()
    np.testing.assert_array_equal(done["outcome"], columns["outcome"] == (s > 0.5))
    assert run_json(schemas.MEASURE, "measure", out)["ks"] < 0.03


def test_other_columns_of_the_same_name_are_kept_apart(run_json, tmp_path, rng):
    z = rng.normal(size=(500, 3))
    columns = {f"logit_{k}": z[:, k] for k in range(3)}
    columns |= {"label": rng.integers(3, size=500), "outcome": ["paid"] * 500, "score": [7] * 500}
    path, cal, out = (tmp_path / name for name in ("m.parquet", "cal.json", "out.parquet"))
    table._store(pa.table(columns), path, ".parquet", ANY)
    run_json(schemas.FIT, "fit", path, "-o", cal, "--view", "top-1")
    run_json(schemas.APPLY, "apply", cal, path, "-o", out)
    done = load(out)
    assert done.column_names == ["score", "outcome", "label", "outcome_before", "score_before"]
    assert set(done["outcome_before"].to_pylist()) == {"paid"}
    np.testing.assert_array_equal(done["outcome"], z.argmax(axis=1) == columns["label"])


def matrix_file(path, rng, K=3, kind="logit", n=400, names=None):
    """Write a table or an archive of a matrix that is twice too sure; return its values."""
    z = 3 * rng.normal(size=(n, K))
    labels = (z / 2 + rng.gumbel(size=z.shape)).argmax(axis=1)
    values = z if kind.startswith("logit") else np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
    truth = labels if names is None else np.array(names)[labels]
    if path.suffix == ".npz":
        np.savez(path, **{kind: values}, labels=truth, score=np.arange(n), id=np.arange(n))
        return values
    columns = {f"{kind}_{k}": values[:, k] for k in range(K)}
    if kind in {"logits", "probs"}:
        columns = {kind: list(values)}
    columns |= {"label": truth, "score": np.arange(n), "id": np.arange(n)}
    table._store(pa.table(columns), path, path.suffix, ANY)
    return values


@pytest.mark.parametrize(
    ("name", "kind"),
    [("a.csv", "prob"), ("a.parquet", "logits"), ("a.jsonl", "logit"), ("a.parquet", "probs")],
)
def test_matrices_of_tables_stay_matrices(name, kind, run_json, tmp_path, rng):
    path, cal, out = tmp_path / name, tmp_path / "cal.json", tmp_path / f"out{name[1:]}"
    values = matrix_file(path, rng, kind=kind)
    assert run_json(schemas.FIT, "fit", path, "-o", cal)["view"] == "vector"
    run_json(schemas.APPLY, "apply", cal, path, "-o", out)
    done = load(out)
    wide = ["probs"] if kind in {"logits", "probs"} else ["prob_0", "prob_1", "prob_2"]
    assert done.column_names == [*wide, "prediction", "score", "label", "score_before", "id"]
    preds = ogive.read(out)
    assert preds.K == 3
    assert preds.kind == "probs"
    top = values.argmax(axis=1)
    np.testing.assert_array_equal(preds.values.argmax(axis=1), top)
    np.testing.assert_array_equal(done["prediction"], top)
    np.testing.assert_allclose(done["score"], preds.values.max(axis=1))
    np.testing.assert_array_equal(done["score_before"], np.arange(400))
    assert run_json(schemas.MEASURE, "measure", out)["view"] == "top-1"


def test_matrices_of_archives_stay_matrices(run_json, tmp_path, rng):
    path, cal, out = (tmp_path / name for name in ("a.npz", "cal.json", "out.npz"))
    matrix_file(path, rng, kind="logits", names=["cat", "dog", "owl"])
    with np.load(path) as arrays:
        np.savez(path, **arrays, classes=["cat", "dog", "owl"])
    run_json(schemas.FIT, "fit", path, "-o", cal)
    run_json(schemas.APPLY, "apply", cal, path, "-o", out)
    with np.load(out) as arrays:
        expected = {"probs", "labels", "prediction", "score", "score_before", "id"}
        assert set(arrays) >= expected
        assert "logits" not in arrays
        assert set(arrays["prediction"]) <= {"cat", "dog", "owl"}
        np.testing.assert_array_equal(arrays["score_before"], np.arange(400))
    assert ogive.read(out).values.shape == (400, 3)


def test_two_columns_are_the_map_of_class_1(run, run_json, tmp_path, rng):
    path, cal, out = (tmp_path / name for name in ("a.parquet", "cal.json", "out.parquet"))
    values = matrix_file(path, rng, K=2, kind="prob")
    code, text, _ = run("fit", path, "-o", cal)
    assert code == 0
    assert "the decision may move" in text
    assert json.loads(cal.read_text())["method"] == "ovr"
    assert json.loads(cal.read_text())["fitted_on"]["method"] == "spline"
    assert "the decision may move" in run("apply", cal, path, "-o", out)[1]
    labels = load(path)["label"].to_numpy()
    gamma = ogive.fit_spline(ogive.Curve.from_scores(values[:, 1], labels == 1))
    np.testing.assert_allclose(load(out)["prob_1"], gamma(values[:, 1]), atol=1e-9)
    measured = run_json(schemas.MEASURE, "measure", out)
    assert (measured["view"], measured["also"][0]["view"]) == ("top-1", "class-1")
    code, text, _ = run("measure", out)
    assert "class-1" in text


def test_one_column_stays_a_score_under_matrix_methods(run_json, tmp_path, scores):
    cal, out = tmp_path / "cal.json", tmp_path / "out.npz"
    run_json(schemas.FIT, "fit", scores, "-o", cal, "--method", "temperature")
    run_json(schemas.APPLY, "apply", cal, scores, "-o", out)
    with np.load(out) as arrays:
        assert "cal_scores" in arrays or "scores" in arrays
        assert not any("probs" in name for name in arrays)


def test_full_vectors(run_json, tmp_path):
    cal, out = tmp_path / "cal.json", tmp_path / "out.npz"
    words = ("fit", DEMO, "-o", cal, "--view", "vector", "--method", "platt")
    assert run_json(schemas.FIT, *words)["method"] == "platt"
    run_json(schemas.APPLY, "apply", cal, DEMO, "-o", out)
    with np.load(out) as arrays, np.load(DEMO) as original:
        probs = arrays["test_probs"]
        assert (probs.argmax(axis=1) == original["test_logits"].argmax(axis=1)).all()
    np.testing.assert_allclose(probs.sum(axis=1), 1.0, atol=1e-12)


@pytest.mark.thorough
def test_a_kill_in_the_middle_of_apply_leaves_no_half_file(tmp_path, scores):
    cal, out = tmp_path / "cal.json", tmp_path / "out.npz"
    assert main(["fit", str(scores), "-o", str(cal), "--method", "platt"]) == 0
    out.write_bytes(b"old")
    # The rename waits for the flush to disk: hold that, and kill the process while it waits.
    script = (
        "import os, time; os.fsync = lambda fd: time.sleep(60);"
        "from ogive.cli import main;"
        f"main(['apply', {str(cal)!r}, {str(scores)!r}, '-o', {str(out)!r}, '--force'])"
    )
    process = subprocess.Popen([sys.executable, "-c", script])  # noqa: S603
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        beside = [n for n in os.listdir(tmp_path) if n.startswith(".out.npz")]
        if beside and (tmp_path / beside[0]).stat().st_size > 1000:
            break
        time.sleep(0.02)
    else:
        pytest.fail("the file beside never appeared")
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert out.read_bytes() == b"old"
    assert main(["apply", str(cal), str(scores), "-o", str(out), "--force"]) == 0
    assert [name for name in os.listdir(tmp_path) if name.startswith(".")] == []
    assert ogive.read(out, part="all").n == 800


def _loaded(path):
    return pyarrow.csv.read_csv(path) if path.suffix == ".csv" else table.load(path)


def _with_band(path):
    """Return the score and the band that `apply` wrote."""
    if path.suffix == ".npz":
        with np.load(path) as file:
            key = "scores" if "scores" in file else "score"
            return [file[name] for name in (key, "low", "high")]
    made = _loaded(path)
    return [made[name].to_numpy() for name in ("score", "low", "high")]


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".jsonl", ".npz"])
def test_apply_with_a_band(run, run_json, tmp_path, rng, suffix):
    s = rng.random(400)
    y = (rng.random(400) < s**2).astype(int)
    file, cal, out = (tmp_path / name for name in (f"in{suffix}", "cal.json", f"out{suffix}"))
    if suffix == ".npz":
        np.savez(file, scores=s, outcomes=y)
    else:
        columns = {"low": ["mine"] * 400, "score": s, "outcome": y}
        table._store(pa.table(columns), file, suffix, ANY)
    run_json(schemas.FIT, "fit", file, "-o", cal)
    assert run("apply", cal, file, "-o", out, "--band")[0] == 0
    score, low, high = _with_band(out)
    gamma = ogive.load(cal)
    np.testing.assert_allclose(score, gamma(s), atol=1e-12)
    np.testing.assert_allclose((low, high), gamma.band(s), atol=1e-12)
    assert run("apply", cal, file, "-o", out, "--band", "--simultaneous", "--force")[0] == 0
    lower, inside = _with_band(out)[1], low > 1e-15  # below, the band is cut at sigmoid(-36)
    assert (lower[inside] < low[inside]).all()
    assert inside.sum() > 390
    if suffix != ".npz":  # a column of that name that was there keeps its contents
        assert _loaded(out)["low_before"].to_pylist() == ["mine"] * 400


def test_apply_to_a_log_with_a_band(run_json, tmp_path, rng):
    s = rng.random(300)
    (tmp_path / "log").mkdir()
    data = pa.table({"score": s, "outcome": (rng.random(300) < s).astype(int)})
    table._store(data, tmp_path / "log" / "a.parquet", ".parquet", ANY)
    cal, out = tmp_path / "cal.json", tmp_path / "out"
    run_json(schemas.FIT, "fit", tmp_path / "log", "-o", cal, "--method", "venn-abers")
    done = [
        run_json(schemas.APPLY, "apply", cal, tmp_path / "log", "-o", out, *options)
        for options in ([], ["--band"], ["--band"])
    ]
    assert [one["written"] for one in done] == [1, 1, 0]  # without the band it was another output
    made = table.load(out / "a.parquet")
    low, high = ogive.load(cal).band(s)
    np.testing.assert_allclose(made["low"].to_numpy(), low)
    np.testing.assert_allclose(made["high"].to_numpy(), high)


def test_the_band_of_a_matrix_is_that_of_the_most_probable_class(run_json, tmp_path, rng):
    logits = rng.normal(size=(600, 3)) * 2
    labels = (0.5 * logits + rng.gumbel(size=(600, 3))).argmax(axis=1)
    file, cal, out = (tmp_path / name for name in ("in.npz", "cal.json", "out.npz"))
    np.savez(file, logits=logits, labels=labels)
    run_json(schemas.FIT, "fit", file, "-o", cal)
    run_json(schemas.APPLY, "apply", cal, file, "-o", out, "--band")
    score, low, high = _with_band(out)
    assert ((low <= score) & (score <= high)).all()


def test_the_interval_of_groups(run, run_json, tmp_path, rng):
    s, group = rng.random(900), rng.choice(["a", "b"], 900)
    table = pa.table({"score": s, "outcome": rng.random(900) < s**2, "group": group})
    file, cal = tmp_path / "in.parquet", tmp_path / "cal.json"
    pq.write_table(table, file)
    run_json(schemas.FIT, "fit", file, "-o", cal, "--by", "group")
    for given, out in ((file, tmp_path / "out.parquet"), (tmp_path / "log", tmp_path / "out")):
        if given != file:
            given.mkdir()
            pq.write_table(table, given / "0.parquet")
        run_json(schemas.APPLY, "apply", cal, given, "-o", out, "--band")
        written = pq.read_table(out).to_pydict()
        expected = ogive.load(cal).band(s, group)
        np.testing.assert_allclose((written["low"], written["high"]), expected, atol=1e-12)
        code, _, err = run("apply", cal, given, "-o", out, "--band", "--simultaneous", "--force")
        assert code == 2
        assert "pointwise" in err


def test_a_band_that_there_is_not(run, tmp_path, rng):
    s = rng.random(300)
    file, cal, out = (tmp_path / name for name in ("in.npz", "cal.json", "out.npz"))
    np.savez(file, scores=s, outcomes=rng.random(300) < s)
    assert run("fit", file, "-o", cal, "--method", "platt")[0] == 0
    code, _, err = run("apply", cal, file, "-o", out, "--band")
    assert code == 2
    assert "'platt' has no band: fit the method 'spline', or 'venn-abers'." in err
    code, _, err = run("apply", cal, file, "-o", out, "--simultaneous")
    assert code == 2
    assert "--band" in err
    np.save(tmp_path / "a.npy", s)
    assert run("fit", file, "-o", cal)[0] == 0
    code, _, err = run("apply", cal, tmp_path / "a.npy", "-o", tmp_path / "b.npy", "--band")
    assert code == 2
    assert "Save the scores that are to be calibrated as .npz" in err
    assert not out.exists()
    assert not (tmp_path / "b.npy").exists()
