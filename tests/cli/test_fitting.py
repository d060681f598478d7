"""`ogive fit` says whether calibrating pays."""

import numpy as np
import pytest


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
    assert "of whole vectors (cross-validated, 5 folds; lower is better)" in text
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
