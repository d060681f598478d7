"""`ogive expect`: scores without outcomes."""

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet as pq

import ogive
from tests.cli import schemas


@pytest.fixture
def unlabelled(tmp_path, rng):
    path = tmp_path / "new.csv"
    path.write_text("score\n" + "\n".join(map(repr, rng.random(500).tolist())))
    return path


def test_expect(run, run_json, unlabelled):
    result = run_json(schemas.EXPECT, "expect", unlabelled)
    found = ogive.expected_performance(np.loadtxt(unlabelled, skiprows=1))
    assert result["accuracy"] == pytest.approx(found.accuracy.value, abs=1e-4)
    assert result["auc"] == pytest.approx(found.auc.value, abs=1e-4)
    assert result["n"] == 500
    assert run_json(schemas.EXPECT, "expect", unlabelled, "--threshold", "1")["precision"] is None
    code, out, _ = run("expect", unlabelled)
    assert code == 0
    assert "if the scores are calibrated" in out


def test_a_calibrator_is_applied_first(run, run_json, scores, unlabelled, tmp_path):
    calibrator = tmp_path / "cal.json"
    assert run("fit", scores, "-o", calibrator)[0] == 0
    plain = run_json(schemas.EXPECT, "expect", unlabelled)
    found = run_json(schemas.EXPECT, "expect", unlabelled, "--calibrator", calibrator)
    assert found["accuracy"] != plain["accuracy"]
    assert found["accuracy_high"] - found["accuracy_low"] > 0
    code, _, err = run("expect", unlabelled, "--calibrator", calibrator, "--view", "score")
    assert code == 2
    assert "--view does not apply" in err


def test_matrices_and_arrays(run_json, tmp_path, rng):
    p = rng.dirichlet([1, 1, 1], 200)
    np.savez(tmp_path / "p.npz", probs=p)
    found = run_json(schemas.EXPECT, "expect", tmp_path / "p.npz")
    assert found["accuracy"] == pytest.approx(p.max(axis=1).mean())
    assert found["auc"] is None
    of_class = run_json(schemas.EXPECT, "expect", tmp_path / "p.npz", "--view", "class-0")
    assert of_class["auc"] is not None


def test_a_threshold_of_the_predicted_class_is_refused(run, tmp_path, rng):
    np.savez(tmp_path / "p.npz", probs=rng.dirichlet([1, 1, 1], 200))
    code, out, err = run("expect", tmp_path / "p.npz", "--threshold", 0.4)
    assert (code, out) == (2, "")
    assert "--threshold does not apply: the predicted class has none (--view class-k has)" in (
        " ".join(err.split())
    )


def test_a_calibrator_of_whole_rows_is_named(run, tmp_path, rng):
    np.savez(tmp_path / "m.npz", logits=rng.normal(size=(90, 3)), labels=rng.integers(3, size=90))
    cal = tmp_path / "cal.json"
    assert run("fit", tmp_path / "m.npz", "-o", cal, "--view", "top-1", "--folds", 0)[0] == 0
    code, _, err = run("expect", tmp_path / "m.npz", "--ignore-outcomes", "--calibrator", cal)
    assert code == 2
    assert "a calibrator of the kind 'class-view' reads more than a score" in " ".join(err.split())


def test_outcomes_are_refused_unless_left_unread(run, run_json, scores):
    code, out, err = run("expect", scores)
    assert code == 1
    assert out == ""
    assert "has outcomes" in err
    assert "--ignore-outcomes" in err
    run_json(schemas.EXPECT, "expect", scores, "--ignore-outcomes")


def test_a_threshold_outside_the_scores_is_refused(run, unlabelled):
    assert run("expect", unlabelled, "--threshold", "1.5")[0] == 2


def test_of_a_log_of_two_classes_the_event_is_class_1(run_json, tmp_path, rng):
    p = rng.random(60)
    (tmp_path / "log").mkdir()
    for k in (0, 1):
        table = pa.table({"prob_0": 1 - p[k::2], "prob_1": p[k::2]})
        pq.write_table(table, tmp_path / "log" / f"{k}.parquet")
    found = run_json(schemas.EXPECT, "expect", tmp_path / "log")
    assert found["view"] == "class-1"
    assert found["precision"] == pytest.approx(p[p >= 0.5].mean())
