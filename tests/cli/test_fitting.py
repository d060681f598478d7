"""`ogive fit` says whether calibrating pays."""

import json

import numpy as np
import pytest

import ogive


@pytest.fixture
def calibrated(tmp_path, rng):
    p = rng.random(1500)
    path = tmp_path / "fine.npz"
    np.savez(path, scores=p, outcomes=rng.random(1500) < p)
    return path


@pytest.mark.parametrize("method", ["spline", "platt"])
def test_it_says_so(run, tmp_path, calibrated, scores, method):
    words = ["-o", tmp_path / "cal.json", "--method", method]
    code, text, _ = run("fit", calibrated, *words)
    assert code == 0
    assert "Leave it alone: " in text
    assert "log loss" in text
    code, text, _ = run("fit", scores, *words)
    assert code == 0
    assert ": calibrate." in text


def test_where_it_is_not_known_nothing_is_said(run, tmp_path, calibrated, rng):
    words = ["-o", tmp_path / "cal.json"]
    for more in (["--method", "none"], ["--method", "platt", "--folds", 0]):
        code, text, _ = run("fit", calibrated, *words, *more)
        assert code == 0
        assert "Leave it alone" not in text
        assert ": calibrate." not in text
    np.savez(tmp_path / "m.npz", logits=rng.normal(size=(60, 3)), labels=np.arange(60) % 3)
    code, text, _ = run("fit", tmp_path / "m.npz", *words, "--method", "temperature")
    assert code == 0
    assert (
        "Too few rows to say" in text or "Cross-validated log loss of whole vectors falls" in text
    )
    assert "of whole vectors (cross-validated; lower is better)" in text
    assert "On the calibration set" not in text  # there is no test set


@pytest.mark.filterwarnings("ignore::ogive.errors.FallbackWarning")
def test_one_row_is_too_few_to_say(run, tmp_path):
    np.savez(tmp_path / "one.npz", scores=[0.7], outcomes=[1])
    code, text, _ = run("fit", tmp_path / "one.npz", "-o", tmp_path / "c.json", "--method", "platt")
    assert code == 0
    assert ": calibrate." not in text
    assert "before calibration." in text


@pytest.mark.filterwarnings("ignore::ogive.errors.FallbackWarning")
def test_rows_too_few_for_the_default_folds_are_fitted_and_it_says_so(run, tmp_path):
    np.savez(tmp_path / "few.npz", scores=[0.1, 0.9, 0.4, 0.6], outcomes=[0, 1, 1, 0])
    words = ["fit", tmp_path / "few.npz", "-o", tmp_path / "few.json"]
    code, _, err = run(*words)
    assert code == 0
    assert "4 rows are too few to cross-validate spline in 5 folds" in err
    code, out, err = run(*words, "--folds", 2)
    assert code == 0
    assert "too few to cross-validate" not in err
    assert "2 folds" in out


@pytest.fixture
def matrix(tmp_path, rng):
    """A model that is too sure of its class 1, in a file with parts."""
    arrays = {}
    for part, n in (("cal", 800), ("test", 600)):
        z = 2.0 * rng.normal(size=(n, 4))
        arrays[f"{part}_logits"] = z
        arrays[f"{part}_labels"] = (z - [0, 2, 0, 0] + rng.gumbel(size=(n, 4))).argmax(axis=1)
    path = tmp_path / "matrix.npz"
    np.savez(path, **arrays)
    return path


def losses(path):
    with np.load(path) as found:
        q, hit = found["test_scores"], found["test_outcomes"].astype(bool)
    return -np.log(np.where(hit, q, 1.0 - q)).mean()


def test_a_rank_of_a_matrix_reads_all_columns_unless_asked_not_to(run, tmp_path, matrix):
    found = {}
    for name, more in (("all", []), ("one", ["--score-only"])):
        cal, out = tmp_path / f"{name}.json", tmp_path / f"{name}.npz"
        code, text, _ = run("fit", matrix, "-o", cal, "--view", "top-1", *more, "--json")
        assert code == 0
        fitted = json.loads(text)
        assert (fitted["method"], fitted["view"]) == ("spline", "top-1")
        assert fitted["score_only"] is (name == "one")
        assert ogive.load(cal).method == ("spline" if name == "one" else "class-view")
        assert run("apply", cal, matrix, "-o", out)[0] == 0
        found[name] = fitted, out
    assert found["all"][0]["log_loss_after"] < found["one"][0]["log_loss_after"]
    assert losses(found["all"][1]) < losses(found["one"][1]) - 0.02
    preds = ogive.read(matrix, part="cal")
    old = ogive.fit_spline(ogive.Curve.from_predictions(preds, "top-1"))
    assert ogive.load(tmp_path / "one.json") == old  # the paper's one-dimensional map
    code, text, _ = run("compare", matrix, "--view", "top-1", "--json")
    rows = {row["method"]: row["nll"] for row in json.loads(text)["methods"]}
    assert rows["spline"] == pytest.approx(losses(found["all"][1]))
    assert rows["spline:score-only"] == pytest.approx(losses(found["one"][1]))
    code, text, _ = run("compare", matrix, "--view", "top-1", "--score-only", "--json")
    again = {row["method"]: row["nll"] for row in json.loads(text)["methods"]}
    assert again["spline"] == rows["spline:score-only"]
    assert "spline:score-only" not in again


def test_score_only_is_refused_where_there_is_no_one_score(run, tmp_path, matrix):
    for words in (
        ("fit", matrix, "-o", tmp_path / "c.json"),  # whole vectors
        ("fit", matrix, "-o", tmp_path / "c.json", "--view", "top-1", "--method", "temperature"),
        ("compare", matrix, "--view", "vector"),
        ("arena", tmp_path, "--view", "vector"),
    ):
        code, _, err = run(*words, "--score-only")
        assert code == 2
        assert "--score-only does not apply: " in err
    assert not (tmp_path / "c.json").exists()


def test_the_calibrator_says_what_it_reads(run, tmp_path, matrix):
    code, text, _ = run("fit", matrix, "-o", tmp_path / "c.json", "--view", "top-2")
    assert code == 0
    assert "It reads all columns of a row" in text
    code, text, _ = run("fit", matrix, "-o", tmp_path / "c.json", "--view", "top-2", "--score-only")
    assert code == 0
    assert "all columns" not in text


def test_a_log_of_matrices_is_fitted_by_the_score_and_it_says_so(run, tmp_path, matrix):
    with np.load(matrix) as found:
        z, y = found["cal_logits"], found["cal_labels"]
    folder = tmp_path / "log"
    folder.mkdir()
    head = ",".join(["label", *(f"logit_{k}" for k in range(4))])
    for name, at in (("a", slice(0, 400)), ("b", slice(400, 800))):
        table = np.column_stack([y[at], z[at]])
        np.savetxt(folder / f"{name}.csv", table, delimiter=",", header=head, comments="",
                   fmt=["%d", *["%.17g"] * 4])  # fmt: skip
    cal = tmp_path / "log.json"
    code, text, err = run("fit", folder, "-o", cal, "--view", "top-1", "--json")
    assert code == 0
    assert json.loads(text)["score_only"] is True
    assert "the calibrator reads the score alone" in err
    code, _, err = run("fit", folder, "-o", cal, "--view", "top-1", "--score-only")
    assert code == 0
    assert "score alone" not in err
    code, _, err = run("fit", folder / "a.csv", "-o", cal, "--view", "top-1")  # one file: its rows
    assert code == 0
    assert ogive.load(cal).method == "class-view"
    assert run("apply", cal, folder, "-o", tmp_path / "out")[0] == 0  # and it calibrates logs
