import io
import json
import re

import numpy as np
import pytest
from rich.console import Console

from ogive.cli import paper, terminal
from ogive.studies.paper.study import paper_tables
from tests.bundled import DEMO
from tests.studies.paper.pickles import outputs

pytestmark = pytest.mark.filterwarnings("ignore::ogive.errors.FallbackWarning")
WORDS = ("paper", DEMO, "--methods", "none,temperature,paper-spline")


def test_paper_prints_its_tables(run):
    code, text, _ = run(*WORDS)
    assert code == 0
    assert "KS error, within top-2 (%)" in text
    assert "KS errors: how often the lowest" in text
    assert "of the paper's spline below 1 % on 1 of 1 files" in text
    code, text, _ = run(*WORDS, "--json")
    result = json.loads(text)
    assert {cell["method"] for cell in result["tables"]} == {"none", "temperature", "paper-spline"}
    promised = {"metric", "dataset", "model", "method", "paper", "here"}
    assert all(promised <= cell.keys() for cell in result["tables"])


@pytest.mark.parametrize("width", [200, 60])
def test_the_best_is_bold_and_the_second_best_underlined_on_a_terminal(width, monkeypatch):
    lines = io.StringIO()
    how = {"file": lines, "force_terminal": True, "color_system": "standard", "width": width}
    monkeypatch.setattr(terminal, "console", lambda: Console(**how))
    tables = paper_tables([DEMO], ["none", "temperature", "platt"])
    paper._show(tables)
    cells = {c.method: f"{100 * c.here:.3f}" for c in tables.cells if c.metric == "ks-top1"}
    text = lines.getvalue()
    assert f"\x1b[1m{cells['platt']}\x1b[0m" in text
    assert f"\x1b[4m{cells['temperature']}\x1b[0m" in text
    assert f"\x1b[1m{cells['none']}" not in text


def test_a_page_and_markdown(run, tmp_path):
    for name, best, second in (("a.html", "<b>", "<u>"), ("a.md", "**", "<u>")):
        code, text, _ = run(*WORDS, "-o", tmp_path / name)
        assert code == 0
        assert "Written: " in text
        page = (tmp_path / name).read_text(encoding="utf-8")
        for words in (best, second, "KS error, top-1 (%)", "paper-spline:knots=14"):
            assert words in page
    html = (tmp_path / "a.html").read_text(encoding="utf-8")
    assert not re.findall(r"(?:src|href)=.(?!#)", html)  # it loads nothing
    code, _, err = run(*WORDS, "-o", tmp_path / "a.csv")
    assert code == 2
    assert ".csv is for files of predictions" in err
    assert run(*WORDS, "-o", tmp_path / "a.txt")[0] == 2


def test_a_name_in_the_data_is_text_on_the_page(run, tmp_path, rng):
    np.savez(tmp_path / "<b>x.npz", **outputs(rng))
    words = ("paper", tmp_path / "<b>x.npz", "--methods", "none", "-o", tmp_path / "a.html")
    assert run(*words)[0] == 0
    page = (tmp_path / "a.html").read_text(encoding="utf-8")
    assert "&lt;b&gt;x" in page
    assert "<b>x" not in page


def test_figures(run, tmp_path, rng):
    np.savez(tmp_path / "a.npz", **outputs(rng))
    (tmp_path / "b.csv").write_text("score,outcome\n0.5,1\n")
    words = ("paper", tmp_path, "--methods", "none", "--figures", tmp_path / "drawn")
    assert run(*words)[0] == 0
    views = ("top-1", "top-2", "top-3", "within-top-2", "within-top-3")
    assert {path.name for path in (tmp_path / "drawn").iterdir()} == {f"a-{v}.png" for v in views}


def test_a_folder_without_parts_says_why(run, tmp_path):
    np.savez(tmp_path / "a.npz", logits=np.eye(3), labels=[0, 1, 2])
    code, _, err = run("paper", tmp_path)
    assert code == 1
    assert "has no parts cal and test" in err
