from pathlib import Path

import numpy as np
import pytest

import ogive
from ogive.errors import FileFormatError, InvalidInput, UnknownName
from ogive.studies.arena.files import find_experiments
from tests.conftest import ARENA
from tests.studies.arena.experiments import METRICS, save_matrix, save_scores

QUICK = ["none", "platt", "spline"]


def test_numbers_are_those_of_compare(folder):
    result = ogive.arena(folder, QUICK, n_jobs=1)
    assert result.view == "score"
    for one in result.experiments:
        path = folder / f"{one.name}.npz"
        cal, test = (ogive.read(path, part) for part in ("cal", "test"))
        rows = {row.method: row for row in ogive.compare(cal, test, QUICK).methods}
        assert one.n_cal == one.n_test == 240
        for name in QUICK:
            for metric in METRICS:
                assert one.scores[name][metric] == getattr(rows[name], metric)
        assert one.best == min(QUICK, key=lambda name: rows[name].nll)
        gamma = ogive.score_rows(test)
        assert one.noise_floor == rows[one.best].ks_expected
        assert rows["none"].ks_expected == pytest.approx(
            np.sqrt(np.pi / 2 * np.sum(gamma.score * (1 - gamma.score))) / 240
        )
    assert result.noise_floor == np.mean([one.noise_floor for one in result.experiments])
    assert "Arena of score: 3 experiments in 3 families" in repr(result)
    assert "<td>spline" in result._repr_html_() or ">spline<" in result._repr_html_()


def test_whatever_the_number_of_processes(folder):
    one, two = (ogive.arena(folder, QUICK, n_jobs=jobs).to_dict() for jobs in (1, 2))
    for result in (one, two):
        for row in result["methods"]:
            row.pop("seconds")
        for experiment in result["by_experiment"]:
            for numbers in experiment["scores"].values():
                numbers.pop("seconds")
    assert one == two


def test_processes_started_elsewhere_find_the_files(tmp_path, rng, monkeypatch):
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        monkeypatch.chdir(tmp_path / name)
        for file in ("a.npz", "b.npz"):
            save_scores(file, rng, n=60)
        assert len(ogive.arena(".", ["none", "platt"], n_jobs=2).experiments) == 2


def test_files_without_both_parts_are_named_and_skipped(folder, rng):
    np.savez(folder / "half.npz", scores=[0.1, 0.9], outcomes=[0, 1])
    np.savez(folder / "cal_only.npz", cal_scores=[0.1, 0.9], cal_outcomes=[0, 1])
    (folder / "cut.npz").write_bytes(b"PK\x03\x04")
    (folder / "notes.txt").write_text("not a file of predictions")
    (folder / ".hidden.npz").write_bytes(b"")
    result = ogive.arena(folder, ["none", "platt"], n_jobs=1)
    assert len(result.experiments) == 3
    assert sorted(result.skipped) == ["cal_only", "cut", "half"]
    assert "has no parts cal and test" in result.skipped["half"]
    assert "has no test part" in result.skipped["cal_only"]
    assert "cut short" in result.skipped["cut"]


def test_folders_inside_and_equal_stems_are_told_apart(folder, rng):
    (folder / "sub").mkdir()
    save_scores(folder / "sub" / "a.npz", rng)
    (folder / "a.csv").write_text("score,outcome,part\n0.2,0,cal\n0.8,1,cal\n0.3,0,test\n")
    found, _ = find_experiments(folder)
    assert [one.name for one in found] == ["a.csv", "a.npz", "b", "c", "sub/a"]


def test_default_methods_are_those_that_every_experiment_can_do(folder, rng):
    save_matrix(folder / "matrix.npz", rng)
    result = ogive.arena(folder, n_jobs=1)
    assert "temperature" not in [row.method for row in result.standings]
    assert "3 of 4 experiments have scores: name it" in result.left_out["temperature"]
    assert result.left_out["ms-odir"] == "it is slow: name it to run it"
    assert result.view == "score or top-1"
    named = ogive.arena(folder, ["temperature", "spline"], n_jobs=1)
    assert [one.name for one in named.experiments] == ["matrix"]
    assert "temperature needs a column for each class" in named.skipped["a"]
    assert "temperature" in [row.method for row in named.standings]


def test_a_method_that_fails_somewhere_is_left_out_or_asked_for(folder):
    np.savez(folder / "flat.npz", cal_scores=[0.4, 0.6] * 30, cal_outcomes=[0, 1] * 30,
             test_scores=[0.4, 0.6], test_outcomes=[0, 1])  # fmt: skip
    result = ogive.arena(folder, n_jobs=1)
    assert result.left_out["paper-spline"].startswith("1 of 4 experiments: ")
    assert len(result.experiments) == 4
    named = ogive.arena(folder, ["none", "paper-spline"], n_jobs=1)
    assert [one.name for one in named.experiments] == ["a", "b", "c"]
    assert named.skipped["flat"].startswith("paper-spline: ")


def test_whole_vectors(folder, rng):
    for name in ("m1", "m2"):
        save_matrix(folder / f"{name}.npz", rng)
    result = ogive.arena(folder, view="vector", n_jobs=1)
    names = [row.method for row in result.standings]
    assert {"spline:keep", "spline:ovr", "temperature", "platt", "none"} <= set(names)
    assert "spline" not in names
    assert "whole vectors need a column for each class" in result.skipped["a"]
    one = result.experiments[0]
    cal, test = (ogive.read(folder / "m1.npz", part) for part in ("cal", "test"))
    calibrated = ogive.SplineCalibrator(multiclass="ovr").fit(cal.values, cal.labels)
    probabilities = calibrated.predict_proba(test.values)
    assert one.scores["spline:ovr"]["nll"] == ogive.nll_vector(test, probabilities)
    assert one.scores["spline:ovr"]["brier"] == ogive.brier_vector(test, probabilities)
    few = ogive.arena(folder, ["platt:ovr", "none"], view="vector", n_jobs=1)
    assert {row.method for row in few.standings} == {"platt:ovr", "none"}


def test_a_view_that_some_do_not_have(folder, rng):
    save_matrix(folder / "matrix.npz", rng)
    result = ogive.arena(folder, ["none", "platt"], "class-2", n_jobs=1)
    assert result.view == "class-2"
    assert "is not a view of 2 classes" in result.skipped["a"]


def test_what_cannot_be_done_is_said(folder, tmp_path):
    with pytest.raises(UnknownName, match=r"unknown method 'plat'. Did you mean 'platt'"):
        ogive.arena(folder, ["plat"])
    with pytest.raises(UnknownName, match="unknown view 'tops'"):
        ogive.arena(folder, view="tops")
    with pytest.raises(InvalidInput, match="'platt:ovr' makes whole vectors: use it with view"):
        ogive.arena(folder, ["platt:ovr"])
    with pytest.raises(UnknownName, match="unknown multiclass 'over'"):
        ogive.arena(folder, ["platt:over"], "vector")
    with pytest.raises(UnknownName, match="temperature makes whole vectors by itself"):
        ogive.arena(folder, ["temperature:keep"], "vector")
    with pytest.raises(FileFormatError, match=r"does not exist. Give a folder"):
        ogive.arena(tmp_path / "nowhere")
    with pytest.raises(FileFormatError, match=r"is a file. Give a folder"):
        ogive.arena(folder / "a.npz")
    with pytest.raises(FileFormatError, match=r"no experiment is left to compare on .a: it has"):
        ogive.arena(folder, ["none"], "vector", n_jobs=1)
    (tmp_path / "empty").mkdir()
    with pytest.raises(FileFormatError, match="holds no files of predictions"):
        ogive.arena(tmp_path / "empty")


# HDF5, and the real thing ---------------------------------------------------------------------


def save_hdf5(path, rng, names):
    h5py = pytest.importorskip("h5py")
    with h5py.File(path, "w") as file:
        for name in names:
            group = file.create_group(name)
            for part in ("cal", "test"):
                p = rng.dirichlet([1.0, 1.0, 1.0], 200)
                group[f"probas_{part}"] = p
                group[f"labels_{part}"] = np.arange(200) % 3


def test_every_experiment_of_an_hdf5_file(tmp_path, rng):
    save_hdf5(tmp_path / "all.h5", rng, ["set/one", "set/two"])
    result = ogive.arena(tmp_path / "all.h5", ["none", "platt"], n_jobs=1)
    assert [one.name for one in result.experiments] == ["set/one", "set/two"]
    assert result.families == {"set/one": ["set/one", "set/two"]}  # the same labels
    inside = ogive.arena(tmp_path, ["none", "platt"], n_jobs=1)
    assert [one.name for one in inside.experiments] == ["all/set/one", "all/set/two"]


def test_an_hdf5_file_without_experiments(tmp_path, rng):
    save_hdf5(tmp_path / "none.h5", rng, [])
    with pytest.raises(FileFormatError, match="has no experiments"):
        ogive.arena(tmp_path / "none.h5")


def test_the_default_stands_first_among_its_peers():
    if not (ARENA / "peers.json").exists():
        pytest.skip("the arena is not beside this checkout")
    result = ogive.arena(ARENA, ["spline"], peers=Path(ARENA) / "peers.json")
    rows = {row.method: row for row in result.standings}
    ours = rows["spline"]
    assert result.standings[0] is ours
    assert ours.rank["nll"] <= 2.6
    assert ours.rank["brier"] == min(row.rank["brier"] for row in rows.values())
    assert ours.mean["ks"] <= 1.03 * rows["isotonic"].mean["ks"]
    assert ours.excess["nll"] <= 0.0005
    assert ours.worst["nll"] <= 0.005


def test_ranks_of_matrices_by_all_columns_and_by_the_score(tmp_path, rng):
    for name in ("one", "two"):
        save_matrix(tmp_path / f"{name}.npz", rng)
    both = ogive.arena(tmp_path, ["spline", "spline:score-only"], n_jobs=1)
    alone = ogive.arena(tmp_path, ["spline"], score_only=True, n_jobs=1)
    for one, other in zip(both.experiments, alone.experiments, strict=True):
        cal, test = (ogive.read(tmp_path / f"{one.name}.npz", part) for part in ("cal", "test"))
        rows = ogive.compare(cal, test, ["spline", "spline:score-only"], "top-1").methods
        for row in rows:
            assert one.scores[row.method]["nll"] == row.nll
        assert other.scores["spline"]["nll"] == one.scores["spline:score-only"]["nll"]
        assert one.scores["spline"]["nll"] != other.scores["spline"]["nll"]
    for how in ({"score_only": True}, {"methods": ["spline:score-only"]}):
        with pytest.raises(InvalidInput, match="reads one score"):
            ogive.arena(tmp_path, view="vector", **how)
