import base64
import hashlib
import html
import json
import re
from datetime import date
from html.parser import HTMLParser

import numpy as np
import pytest

import ogive
from ogive import Curve, Predictions
from ogive.cli import main
from ogive.diagrams import CumulativeDifference
from ogive.errors import InvalidInput, UnknownName
from ogive.plotting.marks import Line
from ogive.report import build_report, render_html
from ogive.report.contents import key_numbers, vector_number
from ogive.report.figure import main_graph
from ogive.report.headline import plain_words
from ogive.report.series import enough_rows, fitted_line, series_of
from ogive.rows.views import score_rows
from ogive.studies.compare_groups import GroupsOf
from ogive.studies.fitting import fit
from tests.bundled import DEMO

SECTIONS = ["curve", "numbers", "methods", "decisions", "per-class", "graphs", "next", "how"]
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


def without_script(page):
    """Return a page with its data and without its script."""
    return page[: page.rindex("<script>")]


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


def test_one_script_runs_and_nothing_is_loaded(page):
    tags = Outline(page).tags
    assert not {"link", "img", "iframe", "object", "embed", "base"} & set(tags)
    assert tags.count("script") == 2
    assert "http:" not in page.replace("http://www.w3.org/2000/svg", "")  # a name, no address
    assert "https:" not in page
    assert "url(" not in page
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)[1]
    policy = policy.replace("&#39;", "'")
    style = re.search(r"<style>(.*?)</style>", page, re.DOTALL)[1]
    data, script = re.findall(r"<script([^>]*)>(.*?)</script>", page, re.DOTALL)
    assert data[0] == ' type="application/json" id="data"'
    assert script[0] == ""
    for kind, text in (("style", style), ("script", script[1])):
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}';" in policy
    assert policy.startswith("default-src 'none'")
    assert "unsafe" not in policy
    assert "style=" not in page  # the policy would not let it work
    assert not {"innerHTML", "eval(", "Function(", "fetch("} & set(re.findall(r"\w+\(?", script[1]))


def test_the_script_has_the_numbers_of_the_page(page, report, sample):
    data = json.loads(re.search(r'id="data">(.*?)</script>', page, re.DOTALL)[1])
    main, *others = data["subjects"]
    assert main["name"] == "top-1"
    assert [one["m"] for one in main["series"]] == ["none", "spline", "platt"]
    before, after = main["series"][:2]
    assert abs(before["ks"]) == pytest.approx(report.before.ks, abs=1e-6)
    assert abs(after["ks"]) == pytest.approx(report.calibrated.after.ks, abs=1e-6)
    assert before["half"] == pytest.approx(2.2414 * report.before.ks_test.sigma / 10_000, rel=1e-3)
    assert after["half"] == pytest.approx(report.calibrated.allowed, rel=1e-3)
    rows = score_rows(sample[1], "top-1")
    for at, threshold in enumerate(data["grid"]):
        acted = rows.score >= threshold
        assert before["above"][at] == acted.sum()
        assert before["hits"][at] == (acted & rows.hit).sum()
    kinds = [one["kind"] for one in others]
    assert kinds == ["view"] * 4 + ["class"] * 10
    errors = [abs(one["series"][0]["ks"]) for one in others[4:]]
    assert errors == sorted(errors, reverse=True)


def test_the_numbers_are_those_of_measure(page, report, sample):
    measured = ogive.measure(sample[1])
    assert report.before.ks == measured.ks
    assert f"{100 * measured.ks:.2f} %" in page
    assert f"{100 * measured.ks_test.low:.2f} % to {100 * measured.ks_test.high:.2f} %" in page
    assert report.cards[1][:2] == ("KS error", f"{100 * measured.ks:.2f} %")
    compared = {row.method: row for row in report.calibrated.comparison.methods}
    assert report.calibrated.after.ks == pytest.approx(compared["spline"].ks, abs=1e-12)
    numbers = {number.name: number for number in report.numbers}
    assert numbers["log loss"].before == f"{measured.nll:.4f}"
    assert numbers["Brier score"].before == f"{measured.brier:.4f}"
    vectors = numbers["log loss, whole vectors"]
    decision = report.calibrated.comparison.decision
    assert vectors.before == f"{measured.nll_vector:.4f}" == f"{decision.log_loss_before:.4f}"
    assert vectors.after == f"{decision.log_loss_after:.4f}" < vectors.before


def test_the_verdict_is_on_top_in_plain_words(page, report):
    head = page[: page.index("<h2")]
    for words in (report.verdict.word, report.verdict.advice, *report.verdict.plain):
        assert words in head
    assert report.verdict.word == "Miscalibrated; calibration corrects it"
    assert report.verdict.plain[0] == "Of 100 answers given with 96 %, 75 were right."
    assert re.fullmatch(
        r"After calibration: of 100 answers given with 9\d %, 9\d were right.",
        report.verdict.plain[1],
    )
    said = report.verdict.sentence
    assert said.startswith("Use spline. Log loss of whole vectors falls from 0.429 to 0.2")
    assert said.endswith(": calibrate.")
    assert page.index(said) < page.index("<h2")
    assert report.verdict.tone == "calibrated"
    assert "no larger than sampling noise for 5,000 calibration rows" in report.verdict.detail
    assert report.calibrated.method == report.calibrated.comparison.decision.method == "spline"


def test_graphs_have_words_and_numbers_behind_them(page, report):
    graphs = re.findall(r"<svg .*?</svg>", page, re.DOTALL)
    after = report.calibrated
    shown = [report.figure, report.bins, *report.panels, *report.decisions, report.classes.graph]
    shown += [*after.panels, *after.comparison_graphs]
    sign, *graphs = graphs
    assert 'aria-hidden="true"' in sign
    assert len(graphs) == sum(len(graph.panels) for graph in shown)
    for graph in graphs:
        assert 'role="img"' in graph
        assert re.search(r"<desc id=\"[^\"]+\">[^<]{40,}</desc>", graph)
    tables = [graph for graph in shown if graph.table is not None]
    assert page.count("The numbers behind this graph") == len(tables)


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
    assert outline.tags.count("script") == 2
    assert any(EVIL in text for text in outline.text)
    assert "ogive fit &#39;&lt;script&gt;" in page  # quoted for the shell as well


def test_without_rows_to_fit_on(sample):
    made = build_report(sample[1], source="x.npz")
    assert made.calibrated is None
    outline = Outline(render_html(made))
    assert [i for i in outline.ids if i in SECTIONS] == [
        "curve", "numbers", "decisions", "per-class", "graphs", "next", "how",
    ]  # fmt: skip
    assert "--split 0.5" in made.commands[0][0]


def test_one_column_and_calibrated(rng):
    p = rng.random(2000)
    preds = Predictions(p, rng.random(2000) < p, kind="probs")
    made = build_report(preds, preds, methods=["none"], method="platt")
    assert made.verdict.tone == "fine"
    assert made.verdict.sentence.startswith("Leave it alone")
    assert "No miscalibration found" in made.verdict.detail
    assert made.classes is None
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
    assert "nan" not in without_script(render_html(made)).lower().replace("finance", "")


def test_weights_and_many_classes(rng):
    logits = rng.standard_normal((600, 80))
    preds = Predictions(
        logits, rng.integers(0, 80, 600), kind="logits", sample_weight=rng.random(600),
        weight_kind="sampling",
    )  # fmt: skip
    made = build_report(preds, method="platt")
    assert len(made.classes.table.rows) == 80
    assert "The first 20 of 80" in made.classes.graph.caption
    errors = [abs(one.series[0].signed) for one in made.subjects if one.kind == "class"]
    assert errors == sorted(errors, reverse=True)


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
    assert made.classes is None
    assert made.verdict.word == "No verdict"
    assert made.subjects[0].series[0].half is None
    page = render_html(made)
    page = without_script(page)
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
    heads = [f"signed KS {one}" for one in ("before", "one map", "by group")[: 3 if fits else 1]]
    assert [h for h in made.groups.table.head if h.startswith("signed KS")] == heads
    lines = [one for one in made.subjects if one.kind == "group"]
    assert [one.name for one in lines] == [row[0] for row in made.groups.table.rows]
    own = np.array([name == "BR" for name in groups.test])
    br = next(one for one in lines if one.name == "BR").series[0]
    curve = ogive.Curve.from_scores(scores[1500:][own], outcomes[1500:][own])
    assert abs(br.signed) == pytest.approx(ogive.ks_error(curve), abs=1e-12)
    counts = sum(float(row[1].replace(",", "")) for row in made.groups.table.rows)
    assert counts == 1500
    assert ("One map for all rows raises the log loss of" in text) == fits
    assert (
        "groups" not in render_html(build_report(test)).partition("<nav")[2].partition("</nav")[0]
    )


def test_many_groups_are_all_in_the_table(rng):
    scores, group = rng.random(1200), rng.integers(0, 80, 1200)
    test = Predictions(scores, rng.random(1200) < scores, kind="probs")
    made = build_report(test, groups=GroupsOf(None, group, "client"))
    assert len(made.groups.table.rows) == 80
    assert made.groups.table.note == ""


def test_words_of_every_view():
    said = {
        view: plain_words(
            Curve.from_scores([0.62] * 200, [1] * 90 + [0] * 110, view=view), None, "cat"
        )
        for view in ("top-1", "top-2", "within-top-3", "class-4", "score")
    }
    assert said["top-1"] == ("Of 100 answers given with 62 %, 45 were right.",)
    assert said["class-4"] == ("Of 100 rows given 62 % for class cat, 45 were of that class.",)
    assert said["score"] == ("Of 100 rows with a score of 62 %, 45 had outcome 1.",)
    assert "rank 2" in said["top-2"][0]
    assert "first 3 classes" in said["within-top-3"][0]
    assert plain_words(Curve.from_scores([0.7], [1]), None, "") == ()
    (few,) = plain_words(Curve.from_scores([0.62] * 20, [1] * 20), None, "")
    assert few == "Of 20 rows with a score of 62 % on average, 20 had outcome 1."  # not 100 of 100
    (few,) = plain_words(Curve.from_scores([0.00005] * 1000, [1] * 3 + [0] * 997), None, "")
    assert few == "Of 1,000 rows with a score of 0.005 % on average, 3 had outcome 1."
    rare = Curve.from_scores([0.004] * 1000, [1] * 9 + [0] * 991)
    assert plain_words(rare, None, "") == ("Of 1,000 rows with a score of 0.4 %, 9 had outcome 1.",)


def test_calibrated_scores_are_not_judged_by_their_worst_tenth(rng):
    p = rng.random(3000)
    curve = Curve.from_scores(p, rng.random(3000) < p)
    (said,) = plain_words(curve, curve, "", off=False)
    share = round(100 * curve.total_hits / 3000)
    mean = round(100 * p.mean())
    assert said == f"Of 100 rows with a score of {mean} % on average, {share} had outcome 1."


def test_the_words_of_tables_are_explained(report, page):
    words = report.words
    for name in ("KS", "signed KS", "ECE", "Brier", "log loss", "p", "precision", "recall"):
        assert f"<dt>{name}</dt>" in page
        assert words[name]
    assert "mean score</span><b>" in page
    assert "of score<" not in page


def test_an_mce_that_rises_is_explained(rng):
    p = rng.uniform(0.0, 0.3, 4000)
    hits = rng.random(4000) < 1.5 * p
    few, test = (
        Predictions(p[at], hits[at], kind="probs") for at in (slice(0, 60), slice(60, None))
    )
    made = build_report(test, few, methods=["none", "histogram"], method="histogram")
    row = next(one for one in made.numbers if one.name == "MCE")
    rises = made.calibrated.after.mce > made.before.mce
    assert ("after calibration that of a bin with" in row.meaning) == rises
    assert rises


@pytest.mark.parametrize("weighted", [False, True])
def test_a_line_of_bins_is_that_of_its_rows(weighted, rng):
    score = rng.random(500).round(2)
    hit = rng.random(500) < score
    weights = rng.random(500) if weighted else None
    curve = Curve.from_scores(score, hit, sample_weight=weights, weight_kind="sampling")
    one = series_of(curve)
    w = np.ones(500) if weights is None else weights
    order = np.argsort(score, kind="stable")
    gap = np.cumsum((w * (hit - score))[order]) / w.sum()
    last = np.append(np.diff(score[order]) > 0, True)
    assert abs(one.signed) == pytest.approx(np.abs(gap[last]).max(), abs=1e-12)
    assert one.above[7] == pytest.approx(w[score >= 0.04].sum())
    centre, share, low, high = one.line
    assert (np.diff(centre) > 0).all()
    assert ((low <= share) & (share <= high)).all()


def test_few_rows_are_only_hinted_at(rng):
    score = np.append(rng.uniform(0.9, 1.0, 3000), 0.2)
    curve = Curve.from_scores(score, rng.random(3001) < score)
    enough = enough_rows(series_of(curve, line=fitted_line(curve)))
    where = fitted_line(curve).score
    assert not enough[(where > 0.3) & (where < 0.8)].any()
    assert enough[where > 0.92].all()


def test_the_scores_of_a_forest_have_no_gaps(rng):
    score = rng.integers(8, 21, 1000) / 20  # of 20 trees: steps of 5 %
    curve = Curve.from_scores(score, rng.random(1000) < score)
    assert enough_rows(series_of(curve, line=fitted_line(curve))).all()


def test_no_line_is_drawn_along_the_edge_of_the_graph(rng):
    score = np.append(rng.uniform(0.97, 1.0, 2000), [0.75] * 5)
    curve = Curve.from_scores(score, np.append(rng.random(2000) < 0.9, [0] * 5))
    line = series_of(curve, line=fitted_line(curve))
    panel = main_graph(CumulativeDifference.from_curve(curve), None, [line]).panels[0]
    drawn = [mark for mark in panel.marks if isinstance(mark, Line)]
    assert drawn
    for mark in drawn:
        assert mark.y.min() >= panel.y.low
        assert mark.x.min() >= panel.x.low


def test_the_ks_error_of_another_score_is_named(rng):
    p = rng.random(4000)
    probs = np.stack([1.0 - p, p], axis=1)
    hits = (rng.random(4000) < p**2).astype(int)
    parts = [
        Predictions(probs[at], hits[at], kind="probs") for at in (slice(2000), slice(2000, None))
    ]
    made = build_report(*parts, methods=["none", "platt"])
    assert "KS error of class-1 " in made.verdict.detail
    shown = next(card for card in made.cards if card.name == "KS error")
    assert f"KS error {shown.before}" not in made.verdict.detail
    made = build_report(*parts, methods=["none", "platt"], view="class-1")
    assert "class-1" not in made.verdict.detail


def test_names_cannot_turn_our_sentences_around(rng):
    names = ["\u202eevil", "\\u2066", "c\u2067"]
    logits = rng.standard_normal((300, 3))
    labels = np.array(names)[rng.integers(0, 3, 300)]
    page = render_html(build_report(Predictions(logits, labels, kind="logits", classes=names)))
    assert not re.search(r"[\u202a-\u202e\u2066-\u2069]", page)
    data = re.search(r'<script type="application/json"[^>]*>(.*?)</script>', page, re.DOTALL)[1]
    assert "\ufffdevil" in json.dumps(json.loads(data), ensure_ascii=False)


def test_rows_of_a_file_without_parts_are_no_test_part(rng):
    p = rng.random(50)
    page = render_html(build_report(Predictions(p, rng.random(50) < p, kind="probs")))
    assert "50 rows, score." in page
    assert "test part" not in page.partition('id="graphs"')[0]


def test_a_thousand_classes_stay_small(rng):
    logits = 3.0 * rng.standard_normal((400, 1000))
    labels = np.where(rng.random(400) < 0.5, logits.argmax(axis=1), rng.integers(0, 1000, 400))
    made = build_report(Predictions(logits, labels, kind="logits"), method="platt")
    page = render_html(made)
    assert len(page) < 2_500_000  # there is no second line of each class here
    assert len(made.classes.table.rows) == 1000


def test_rows_of_one_cluster_widen_the_intervals(rng):
    scores = rng.beta(3, 2, 60).round(3)
    outcomes, cluster = rng.random(60) < scores**1.5, np.repeat(np.arange(60), 25)

    def widths(clusters):
        preds = Predictions(
            np.repeat(scores, 25), np.repeat(outcomes, 25), kind="probs", clusters=clusters
        )
        curve = ogive.Curve.from_predictions(preds)
        found = {one.name: one.interval for one in key_numbers(curve, ogive.measure(curve), None)}
        ends = (
            re.findall(r"\d+\.\d+", found[name])
            for name in ("base rate", "Brier score", "log loss")
        )
        return np.array([float(high) - float(low) for low, high in ends])

    assert (widths(cluster) > 4 * widths(None)).all()  # 25 rows count as one: 5 times as wide
