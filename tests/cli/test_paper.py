import json
import pickle

import pytest

from ogive.cli import main
from ogive.studies.paper.study import METHODS
from tests.studies.paper.pickles import NAME, outputs, shrink_grid, write

pytestmark = pytest.mark.filterwarnings("ignore::ogive.errors.FallbackWarning")


def test_paper_prints_the_tables_and_resumes(tmp_path, rng, capsys):
    write(tmp_path / NAME, outputs(rng))
    words = ["paper", str(tmp_path), "--resume", str(tmp_path / "r.json")]
    words += ["--methods", "uncalibrated,temperature,spline"]
    assert main(words) == 0
    text = capsys.readouterr().out
    assert "KS error, top-1 (%): paper / here" in text
    assert "probs_lenet5_c10_logits.p" in text
    assert main([*words, "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert {cell["method"] for cell in result["tables"]} == {
        "uncalibrated",
        "temperature",
        "spline",
    }
    promised = {"metric", "dataset", "model", "method", "paper", "here"}
    assert all(promised <= cell.keys() for cell in result["tables"])


def test_every_column_of_the_row(tmp_path, rng, monkeypatch, capsys):
    shrink_grid(monkeypatch)
    write(tmp_path / NAME, outputs(rng))
    assert main(["paper", str(tmp_path), "--json"]) == 0
    cells = json.loads(capsys.readouterr().out)["tables"]
    for metric in ("ks-top1", "ks-top2", "ks-within-top2", "ece25-top1", "accuracy"):
        assert {c["method"] for c in cells if c["metric"] == metric} == set(METHODS)


def test_a_folder_without_them_says_where_they_are(tmp_path, capsys):
    assert main(["paper", str(tmp_path)]) == 1
    assert "github.com/markus93/NN_calibration" in capsys.readouterr().err
    (tmp_path / NAME).write_bytes(pickle.dumps(print))
    assert main(["paper", str(tmp_path)]) == 1
    assert "only NumPy arrays" in capsys.readouterr().err
