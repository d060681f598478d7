"""The command report: what it takes, what it refuses, and that inputs stay whole."""

import hashlib

import numpy as np
import pytest

from ogive import Curve, save
from tests.bundled import DEMO
from tests.cli import schemas
from tests.engines.tables import scores_table, store

QUICK = ("--method", "platt")


def other(path, scores):
    """Write a second model of the same rows: its scores are pushed apart."""
    with np.load(scores) as arrays:
        np.savez(path, **{k: v**3 if k.endswith("scores") else v for k, v in arrays.items()})
    return path


def test_several_files_are_compared(run, run_json, tmp_path, scores):
    second, out = other(tmp_path / "<b>.npz", scores), tmp_path / "cmp.html"
    code, text, err = run("report", scores, second, "-o", out, *QUICK, "--title", "Both & <more>")
    assert code == 0, err
    assert text.startswith("Lowest log loss: ")
    page = out.read_text(encoding="utf-8")
    assert "<h1>Both &amp; &lt;more&gt;</h1>" in page
    assert "<b>.npz" not in page
    assert "&lt;b&gt;.npz" in page
    assert run_json(schemas.OUT, "report", scores, second, "-o", out, *QUICK) == {"out": str(out)}


def test_names_of_files_tell_them_apart(run, tmp_path, scores):
    folders = [tmp_path / "monday", tmp_path / "tuesday"]
    files = []
    for folder in folders:
        folder.mkdir()
        files.append(other(folder / "s.npz", scores))
    code, _, err = run("report", *files, "-o", tmp_path / "cmp.html", *QUICK)
    assert code == 0, err
    page = (tmp_path / "cmp.html").read_text(encoding="utf-8")
    assert "monday/s.npz" in page
    assert "tuesday/s.npz" in page


def test_a_folder_and_a_summary_have_pages(run, tmp_path, monkeypatch):
    log = tmp_path / "log"
    log.mkdir()
    for day in range(2):
        store(scores_table(300, seed=day), log / f"{day}.csv")
    out = tmp_path / "log.html"
    code, _, err = run("report", log, "-o", out)
    assert code == 0, err
    assert "2 files, 600 rows; all of them are used." in out.read_text(encoding="utf-8")
    curve = tmp_path / "log.curve"
    monkeypatch.setattr("ogive.engines.files.MAX_ROWS_WITH_OWN_BUCKETS", 0)
    monkeypatch.setattr("ogive.engines.plan.BITS", 5)
    assert run("measure", log, "--save-curve", curve)[0] == 0
    before = hashlib.sha256(curve.read_bytes()).hexdigest()
    code, _, err = run("report", curve, "-o", out)
    assert code == 0, err
    assert "Computed from a summary of the log." in out.read_text(encoding="utf-8")
    code, _, err = run("report", log, curve, "-o", out)
    assert code == 0, err
    assert "log.curve (from a summary)" in out.read_text(encoding="utf-8")
    for words, message in (
        ((curve, "--method", "platt"), "--method does not apply"),
        ((curve, "--by", "x"), "--by does not apply"),
        ((curve, curve), "is given twice"),
    ):
        code, _, err = run("report", *words, "-o", out)
        assert code == 2
        assert message in err
    assert hashlib.sha256(curve.read_bytes()).hexdigest() == before


def test_a_folder_with_something_else_in_it(run, tmp_path):
    log = tmp_path / "log"
    log.mkdir()
    store(scores_table(300), log / "a.csv")
    (log / "README.txt").write_text("not a table")
    (log / "broken.parquet").write_bytes(b"not parquet")
    out = tmp_path / "log.html"
    code, _, err = run("report", log, "-o", out)
    assert code == 1
    assert "broken.parquet" in err
    assert "Traceback" not in err
    assert not out.exists()
    (log / "broken.parquet").unlink()
    assert run("report", log, "-o", out)[0] == 0


def test_inputs_stay_whole(run, tmp_path, scores):
    curve = tmp_path / "curve.html"  # a summary may have any name
    save(Curve.from_scores([0.1, 0.4, 0.6, 0.9] * 30, [0, 1, 0, 1] * 30), curve)
    second = other(tmp_path / "b.npz", scores)
    kept = {file: file.read_bytes() for file in (curve, scores, second)}
    page = tmp_path / "x.html"
    for words in (
        (curve, "-o", curve),
        (scores, curve, "-o", curve),
        (scores, "-o", scores),
    ):
        assert run("report", *words)[0] == 2
    assert kept == {file: file.read_bytes() for file in kept}
    assert not page.exists()


def test_several_files_have_fewer_options(run, tmp_path, scores):
    second, out = other(tmp_path / "b.npz", scores), tmp_path / "cmp.html"
    for words, message in (
        (("--methods", "none"), "--methods does not apply"),
        (("--by", "x"), "--by does not apply"),
        (("--note", "x" * 1001), "at most 1,000 characters"),
        (("--title", "a\nb"), "one printable line"),
    ):
        code, _, err = run("report", scores, second, "-o", out, *words)
        assert code == 2
        assert message in err
    code, _, err = run("report", scores, DEMO, "-o", out, *QUICK)
    assert code == 1
    assert "which cannot be compared" in err
    assert not out.exists()


@pytest.mark.parametrize("more", [(), ("--pdf", "b.pdf")])
def test_a_pdf_is_printed_from_the_page(run, tmp_path, scores, more):
    out = tmp_path / ("a.html" if more else "a.pdf")
    code, _, err = run("report", scores, "-o", out, *more)
    assert code == 2
    assert "in a browser and print it" in " ".join(err.split())
    assert not out.exists()
