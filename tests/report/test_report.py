import base64
import hashlib
import html
import re
from datetime import date
from html.parser import HTMLParser

import numpy as np
import pytest

import ogive
from ogive import Predictions
from ogive.cli import main
from ogive.errors import InvalidInput, UnknownName
from ogive.report import build_report, render_html
from ogive.report.contents import vector_number
from ogive.studies.compare_groups import GroupsOf
from ogive.studies.fitting import fit
from tests.bundled import DEMO

SECTIONS = [
    "numbers",
    "before-and-after",
    "graphs",
    "methods",
    "decisions",
    "per-class",
    "next",
    "how",
]
EVIL = "<script>alert(1)</script>"
VOID = {"meta", "path", "circle", "rect"}


class Outline(HTMLParser):
    """Collects tags, ids and text, and checks that every element is closed."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.ids, self.text, self.open = [], [], [], []
        self.feed(page)
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.ids += [value for name, value in attrs if name == "id"]
        assert not any(name.startswith("on") for name, _ in attrs)
        if tag != "meta":
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


@pytest.fixture(scope="module")
def sample():
    cal, test = (ogive.read(DEMO, part=part) for part in ("cal", "test"))
    return cal, test


@pytest.fixture(scope="module")
def report(sample):
    return build_report(
        sample[1], sample[0], methods=["none", "spline", "platt"], source="demo.npz",
        today=date(2026, 1, 2),
    )  # fmt: skip


@pytest.fixture(scope="module")
def page(report):
    return render_html(report)


def test_the_numbers_of_other_fields_are_a_closed_table(report, page, sample):
    found = ogive.measure(sample[1], more=True)
    rows = report.more_numbers.rows
    assert [row[0] for row in rows] == [one.name for one in found.numbers]
    assert [row[1:3] for row in rows] == [one.shown() for one in found.numbers]
    after = report.calibrated.after.numbers
    assert [row[3] for row in rows] == [one.shown()[0] for one in after]
    shown = page[page.index("<details><summary>More numbers") :]
    assert "Cox&#39;s calibration slope" in shown[: shown.index("</details>")]


def test_every_section_is_there_once(page):
    outline = Outline(page)
    assert [i for i in outline.ids if i in SECTIONS] == SECTIONS
    assert len(set(outline.ids)) == len(outline.ids)
    assert outline.tags.count("h1") == 1


def test_nothing_runs_and_nothing_is_loaded(page):
    tags = Outline(page).tags
    assert not {"script", "link", "img", "iframe", "object", "embed", "base"} & set(tags)
    assert "http:" not in page
    assert "https:" not in page
    assert "url(" not in page
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)[1]
    style = re.search(r"<style>(.*?)</style>", page, re.DOTALL)[1]
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert policy.startswith("default-src 'none'")
    assert f"style-src 'sha256-{digest}'" in policy.replace("&#39;", "'")
    assert "style=" not in page  # the policy would not let it work


def test_the_numbers_are_those_of_measure(page, report, sample):
    measured = ogive.measure(sample[1])
    assert report.before.ks == measured.ks
    assert f"{100 * measured.ks:.2f} %" in page
    assert f"{100 * measured.ks_test.low:.2f} % to {100 * measured.ks_test.high:.2f} %" in page
    title = report.graphs[0].panels[0].title
    assert title == f"KS {100 * measured.ks:.2f} %, accuracy {100 * measured.accuracy:.2f} %"
    compared = {row.method: row for row in report.calibrated.comparison.methods}
    assert report.calibrated.after.ks == pytest.approx(compared["spline"].ks, abs=1e-12)
    numbers = {number.name: number for number in report.numbers}
    assert numbers["log loss"].before == f"{measured.nll:.4f}"
    assert numbers["Brier score"].before == f"{measured.brier:.4f}"
    vectors = numbers["log loss, whole vectors"]
    decision = report.calibrated.comparison.decision
    assert vectors.before == f"{measured.nll_vector:.4f}" == f"{decision.log_loss_before:.4f}"
    assert vectors.after == f"{decision.log_loss_after:.4f}" < vectors.before


def test_the_verdict_is_one_sentence_on_top(page, report):
    said = report.verdict.sentence
    assert said.startswith("Use spline. Log loss of whole vectors falls from 0.418 to 0.2")
    assert said.endswith(": calibrate.")
    assert page.index(said) < page.index("<h2")
    assert report.verdict.tone == "calibrated"
    assert "no larger than sampling noise for 5,000 calibration rows" in report.verdict.detail
    assert report.calibrated.method == report.calibrated.comparison.decision.method == "spline"


def test_graphs_have_words_and_numbers_behind_them(page, report):
    graphs = re.findall(r"<svg .*?</svg>", page, re.DOTALL)
    after = report.calibrated
    shown = [*report.graphs, *report.panels, *report.decisions, report.class_graph]
    shown += [after.graph, *after.panels, *after.comparison_graphs]
    assert len(graphs) == sum(len(graph.panels) for graph in shown)
    for graph in graphs:
        assert 'role="img"' in graph
        assert re.search(r"<desc id=\"[^\"]+\">[^<]{40,}</desc>", graph)
    tables = [graph for graph in shown if graph.table is not None]
    assert page.count("The numbers behind this graph") == len(tables) + 1  # and that of classes


def test_names_are_escaped(rng):
    names = [EVIL, "b&b", '"c"', "d"]
    logits = rng.standard_normal((400, 4))
    labels = np.array(names)[rng.integers(0, 4, 400)]
    parts = [
        Predictions(logits[at], labels[at], kind="logits", classes=names)
        for at in (slice(0, 200), slice(200, 400))
    ]
    made = build_report(*parts, methods=["none", "platt"], method="platt", source=f"{EVIL}.npz")
    page = render_html(made)
    assert EVIL not in page
    assert "&lt;script&gt;" in page
    outline = Outline(page)
    assert "script" not in outline.tags
    assert any(EVIL in text for text in outline.text)
    assert "ogive fit &#39;&lt;script&gt;" in page  # quoted for the shell as well


def test_without_rows_to_fit_on(sample):
    made = build_report(sample[1], source="x.npz")
    assert made.calibrated is None
    outline = Outline(render_html(made))
    assert [i for i in outline.ids if i in SECTIONS] == [
        "numbers", "graphs", "decisions", "per-class", "next", "how",
    ]  # fmt: skip
    assert "--split 0.5" in made.commands[0][0]


def test_one_column_and_calibrated(rng):
    p = rng.random(2000)
    preds = Predictions(p, rng.random(2000) < p, kind="probs")
    made = build_report(preds, preds, methods=["none"], method="platt")
    assert made.verdict.tone == "fine"
    assert made.verdict.sentence.startswith("Leave it alone")
    assert "No miscalibration found" in made.verdict.detail
    assert made.class_graph is None
    assert "per-class" not in Outline(render_html(made)).ids


def test_slightly_off_and_no_better(rng):
    p = rng.uniform(0.1, 0.9, 40_000)
    hits = rng.random(40_000) < p - 0.008
    test = Predictions(p, hits, kind="probs")
    few = Predictions(p[:60], hits[:60], kind="probs")
    made = build_report(test, few, methods=["none", "isotonic"], method="isotonic")
    assert made.verdict.tone == "slight"
    assert made.verdict.sentence.startswith("Leave it alone: log loss rises")
    assert "On average the scores are too high" in made.verdict.detail
    alone = build_report(test, few, methods=["isotonic"], method="isotonic")
    assert alone.verdict.sentence == made.verdict.sentence


def test_something_is_left(rng):
    p = rng.random(20_000)
    test = Predictions(p, rng.random(20_000) < p**3, kind="probs")
    cal = Predictions(p[:5000], rng.random(5000) < p[:5000] ** 2, kind="probs")
    made = build_report(test, cal, methods=["none", "platt"], method="platt")
    assert made.verdict.tone == "off"
    assert "larger than sampling noise for 5,000 calibration rows" in made.verdict.detail
    assert "no larger" not in made.verdict.detail


def test_certain_scores():
    preds = Predictions(np.array([0.0, 1.0, 1.0]), [0, 1, 0], kind="probs")
    made = build_report(preds, method="none")
    assert made.verdict.tone == "off"
    assert "beyond doubt" in made.verdict.sentence
    assert "nan" not in render_html(made).lower().replace("finance", "")


def test_weights_and_many_classes(rng):
    logits = rng.standard_normal((600, 80))
    preds = Predictions(
        logits, rng.integers(0, 80, 600), kind="logits", sample_weight=rng.random(600),
        weight_kind="sampling",
    )  # fmt: skip
    made = build_report(preds, method="platt")
    assert len(made.class_table.rows) == 20
    assert "of 80" in made.class_table.note


def test_a_matrix_method_is_no_repair_of_a_view(sample):
    with pytest.raises(InvalidInput, match="'temperature' calibrates whole matrices"):
        build_report(*sample, method="temperature")
    with pytest.raises(UnknownName, match="unknown method 'splin'"):
        build_report(*sample, method="splin")


def test_rows_that_fitted_the_calibrator_get_no_test(rng, tmp_path):
    scores = rng.random(300)
    labels = (rng.random(300) < scores**2).astype(int)
    np.savez(tmp_path / "a.npz", probs=np.c_[1 - scores, scores], labels=labels)
    assert main(["fit", str(tmp_path / "a.npz"), "-o", str(tmp_path / "c.json")]) == 0
    out = str(tmp_path / "b.npz")
    assert main(["apply", str(tmp_path / "c.json"), str(tmp_path / "a.npz"), "-o", out]) == 0
    made = build_report(ogive.read(out))
    assert "fitted on these rows" in made.verdict.sentence
    assert made.verdict.decision.pvalue is made.verdict.decision.calibrate is None
    assert {n.interval for n in made.numbers[2:]} <= {"withheld", ""}
    assert {row[5] for row in made.views.rows} == {"withheld"}
    assert made.class_table is None
    page = render_html(made)
    assert not re.search(r"\bp [=<] ?[0-9]", page)
    assert "nan" not in page.lower().replace("aria-label", "")


def test_whole_vectors_have_a_row_of_the_method_that_is_shown(sample):
    cal, test = (preds.take(np.arange(300)) for preds in sample)
    made = build_report(test, cal, method="platt", methods=["none"])
    row = made.numbers[-1]
    vectors = fit(cal, "platt", "vector")(test)
    assert row.after == f"{-np.log(vectors[np.arange(300), test.labels]).mean():.4f}"
    assert vector_number(test, None)[0].before == row.before
    assert vector_number(test, None)[0].after == ""
    assert vector_number(Predictions([0.2, 0.9], [0, 1], kind="probs"), None) == ()


@pytest.mark.parametrize("fits", [True, False])
def test_groups_have_a_section(fits, rng):
    evil = "<script>document.title='x'</script>"
    scores, country = rng.random(3000), rng.choice(["BR", evil, ""], 3000)
    outcomes = rng.random(3000) < np.where(country == "BR", scores**2, scores)
    parts = [slice(0, 1500), slice(1500, None)]
    cal, test = (Predictions(scores[at], outcomes[at], kind="probs") for at in parts)
    groups = GroupsOf(country[parts[0]] if fits else None, country[parts[1]], "country")
    given = (test, cal if fits else None)
    made = build_report(*given, methods=["none", "spline"] if fits else None, groups=groups)
    text = render_html(made)
    assert text.count('id="groups"') == 1
    assert evil not in text
    assert html.escape(evil) in text.replace("&#39;", "&#x27;")
    assert "(none)" in text
    heads = [*("KS before", "KS one map", "KS by group")] if fits else ["KS before"]
    assert [h for h in made.groups.table.head if h.startswith("KS")] == heads
    counts = sum(float(row[1].replace(",", "")) for row in made.groups.table.rows)
    assert counts == 1500
    assert ("One map for all rows raises the log loss of" in text) == fits
    assert (
        "groups" not in render_html(build_report(test)).partition("<nav")[2].partition("</nav")[0]
    )


def test_many_groups_are_cut(rng):
    scores, group = rng.random(1200), rng.integers(0, 80, 1200)
    test = Predictions(scores, rng.random(1200) < scores, kind="probs")
    made = build_report(test, groups=GroupsOf(None, group, "client"))
    assert len(made.groups.table.rows) == 50
    assert made.groups.table.note == "The first 50 of 80."
