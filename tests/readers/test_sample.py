"""Folders and globs for what needs rows: all of them, or a random sample, and it says which."""

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

import ogive
from ogive.errors import FileFormatError, InvalidInput
from ogive.readers.sample import open_sampled
from ogive.readers.source import Columns


@pytest.fixture
def log(tmp_path, rng):
    folder = tmp_path / "log"
    folder.mkdir()
    truth = rng.random(900)
    table = pa.table(
        {
            "score": truth**0.5,
            "outcome": (rng.random(900) < truth).astype(int),
            "part": np.where(np.arange(900) % 3, "cal", "test"),
        }
    )
    for k in range(3):
        pa.parquet.write_table(table.slice(300 * k, 300), folder / f"{k}.parquet")
    pa.parquet.write_table(table, tmp_path / "whole.parquet")
    return folder


def test_compare_plot_and_report_read_folders_and_globs(log, tmp_path, run):
    whole = run("compare", tmp_path / "whole.parquet", "--methods", "none,platt", "--json")
    expected = json.loads(whole[1])
    for path in (log, Path(f"{log}/*.parquet")):
        code, out, err = run("compare", path, "--methods", "none,platt", "--json")
        assert code == 0, err
        assert "3 files, 900 rows; all of them are used" in err
        found = json.loads(out)
        for one, other in zip(found["methods"], expected["methods"], strict=True):
            assert one["nll"] == pytest.approx(other["nll"], rel=1e-12)
    pytest.importorskip("jinja2")
    code, _, err = run("report", log, "-o", tmp_path / "r.html", "--methods", "none,platt")
    assert code == 0, err
    assert "all of them are used" in err
    pytest.importorskip("matplotlib")
    code, _, err = run("plot", log, "-o", tmp_path / "f.svg", "--graph", "difference")
    assert code == 0, err
    assert "all of them are used" in err


def test_a_sample_is_drawn_from_all_files_and_said(log):
    notes = []
    source = open_sampled(log, max_rows=120, note=notes.append)
    assert notes == [f"{log}: 3 files, 900 rows; a random sample of 240 is used."]
    assert {name: part.values.size for name, part in source.parts.items()} == {
        "test": 120,
        "cal": 120,
    }
    again = open_sampled(log, max_rows=120)
    other = open_sampled(log, max_rows=120, random_state=1)
    np.testing.assert_array_equal(source.parts["cal"].values, again.parts["cal"].values)
    assert not np.array_equal(source.parts["cal"].values, other.parts["cal"].values)
    every = ogive.read(log.parent / "whole.parquet", part="cal").values
    counts = np.zeros(3)  # how many rows of each file, over many seeds
    place = {value: i // 200 for i, value in enumerate(every.tolist())}
    for seed in range(30):
        part = open_sampled(log, max_rows=60, random_state=seed).parts["cal"]
        for value in part.values.tolist():
            counts[place[value]] += 1
    np.testing.assert_allclose(counts / 1800, 1 / 3, atol=0.05)


def test_labels_mean_the_same_columns_whatever_rows_are_kept(tmp_path, rng):
    folder = tmp_path / "one-based"
    folder.mkdir()
    y = np.r_[np.ones(200, int), np.full(200, 2), 3]  # a single row of the last class
    z = rng.normal(size=(401, 3)) + 4.0 * np.eye(3)[y - 1]
    columns = {f"logit_{k}": z[:, k] for k in range(3)}
    pa.parquet.write_table(pa.table({**columns, "label": y}), folder / "a.parquet")
    with pytest.raises(InvalidInput, match="cannot match the labels 1, 2, 3"):
        open_sampled(folder, max_rows=20)
    source = open_sampled(folder, Columns(classes=("1", "2", "3")), max_rows=20)
    assert source.predictions().classes.tolist() == [1, 2, 3]


def test_files_that_differ_are_refused(log, tmp_path):
    pa.parquet.write_table(
        pa.table({"prob_0": [0.5], "prob_1": [0.5], "label": [0], "part": ["cal"]}),
        log / "x.parquet",
    )
    with pytest.raises(FileFormatError, match="must hold the same kind of predictions"):
        open_sampled(log)
