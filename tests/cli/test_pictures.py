import numpy as np
import pytest

from ogive.cli import main
from tests.bundled import DEMO
from tests.cli import schemas
from tests.engines.tables import scores_table, store


@pytest.mark.parametrize("name", ["a.png", "a.svg", "a.pdf"])
def test_plot(run_json, tmp_path, name):
    out = tmp_path / name
    words = ("plot", DEMO, "-o", out, "--graph", "difference")
    assert run_json(schemas.OUT, *words) == {"out": str(out)}
    assert out.stat().st_size > 2000


@pytest.mark.parametrize(
    "graph", ["panels", "reliability", "bins", "before-after", "methods", "classes"]
)
def test_every_graph(run, tmp_path, scores, graph):
    file = DEMO if graph == "classes" else scores
    out = tmp_path / "a.png"
    method = () if graph in {"bins", "methods", "classes"} else ("--method", "platt")
    code, text, err = run("plot", file, "-o", out, "--graph", graph, *method)
    assert (code, text) == (0, f"Written: {out}\n"), err
    assert out.read_bytes().startswith(b"\x89PNG")


def test_a_part_is_shown_as_it_is(run, tmp_path, monkeypatch):
    """All rows of a file that was never fitted, as in a paper's figure; not a part to fit on."""
    from ogive.plotting import figures

    drawn = []
    monkeypatch.setattr(figures, "figure", lambda *shown: drawn.append(shown) or _Empty())
    for part, n in (("all", 15_000), ("cal", 5000), ("test", 10_000)):
        code, _, err = run(
            "plot", DEMO, "-o", tmp_path / f"{part}.png", "--part", part, "--method", "platt"
        )
        assert code == 0, err
        (panels,) = drawn.pop()
        assert panels.difference.summary.n == n
    for words in (("--graph", "methods"), ("--split", "0.5")):
        code, _, err = run("plot", DEMO, "-o", tmp_path / "b.png", "--part", "all", *words)
        assert code == 2
        assert "does not apply" in err
    assert not (tmp_path / "b.png").exists()


class _Empty:
    def savefig(self, file, **options):
        file.write_bytes(b"")


def test_report(run, run_json, tmp_path, scores):
    out = tmp_path / "report.html"
    result = run_json(schemas.OUT, "report", scores, "-o", out, "--method", "platt")
    assert result == {"out": str(out)}
    page = out.read_text(encoding="utf-8")
    assert "Calibration of scores.npz" in page
    code, text, _ = run("report", scores, "-o", out, "--methods", "none,platt")
    assert code == 0
    assert text.startswith("Use platt. Log loss falls")


def test_without_parts(run, run_json, tmp_path, rng):
    p = rng.random(300)
    file, out = tmp_path / "one.npz", tmp_path / "one.html"
    np.savez(file, scores=p, outcomes=rng.random(300) < p)
    run_json(schemas.OUT, "report", file, "-o", out)
    assert ">Before and after calibration<" not in out.read_text(encoding="utf-8")
    run_json(schemas.OUT, "report", file, "-o", out, "--split", "0.5", "--methods", "none")
    assert ">Before and after calibration<" in out.read_text(encoding="utf-8")
    code, _, err = run("plot", file, "-o", tmp_path / "a.png", "--graph", "methods")
    assert code == 1
    assert "needs rows to fit on: a cal part, or --split 0.5" in err


def test_errors_leave_files_alone(run, tmp_path):
    out = tmp_path / "a.jpg"
    code, _, err = run("plot", DEMO, "-o", out)
    assert code == 2
    assert "must end in .png, .svg, .pdf" in err
    code, _, err = run("report", DEMO, "-o", tmp_path / "a.pdf")
    assert code == 2
    assert "print it as PDF" in err
    old = tmp_path / "old.html"
    old.write_text("kept")
    code, _, err = run("report", DEMO, "-o", old, "--view", "class-99", "--force")
    assert code == 2
    assert "class-k needs k in [0, 10)" in err
    assert old.read_text() == "kept"
    assert [p.name for p in tmp_path.iterdir()] == ["old.html"]
    assert main(["plot", DEMO, "-o", "a.png", "--graph", "nonsense"]) == 2


def test_groups_are_drawn_from_a_log(run, run_json, tmp_path, scores):
    rng = np.random.default_rng(0)
    table = scores_table(2000, site=rng.choice(["a", "b", "c"], 2000), kind=rng.choice(["x"], 2000))
    log, out = store(table, tmp_path / "log.csv"), tmp_path / "groups.png"
    words = ("plot", log, "-o", out, "--graph", "groups")
    assert run_json(schemas.OUT, *words, "--by", "site,kind") == {"out": str(out)}
    assert out.read_bytes()[:4] == b"\x89PNG"
    for options, message in (
        ((), "needs columns that name them: --by"),
        (("--by", "site", "--method", "platt"), "--method does not apply"),
        (("--by", "site", "--depth", 2), "has fewer columns to combine"),
    ):
        code, _, err = run(*words, *options)
        assert code == 2
        assert message in err
    code, _, err = run("plot", scores, "-o", out, "--by", "site")
    assert code == 2
    assert "only the graph groups shows groups" in err
