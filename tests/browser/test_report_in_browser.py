"""The report in real Chromium, where the playwright package and Chromium are at hand.

CHROMIUM names another executable.
"""

import csv
import os
import shutil

import numpy as np
import pytest

import ogive
from ogive.report import build_report, write_html
from ogive.report.watch import build_watch_report
from tests.bundled import DEMO

playwright = pytest.importorskip("playwright.sync_api")
CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium")
if CHROMIUM is None:
    pytest.skip("no Chromium", allow_module_level=True)

SECTIONS = ["curve", "numbers", "methods", "decisions", "per-class", "next", "how"]
EVIL = "<script>document.title='hacked'</script>"
CLOSING = "</script><img src=x onerror=\"document.title='hacked'\">"


@pytest.fixture(scope="module")
def browser():
    with playwright.sync_playwright() as p:
        flags = ["--no-sandbox", "--disable-gpu"]
        browser = p.chromium.launch(executable_path=CHROMIUM, args=flags)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """A report of real data whose class names try to be markup."""
    path = tmp_path_factory.mktemp("report") / "report.html"
    names = [EVIL, "a & b", CLOSING, "=1+1", *(f"class {k}" for k in range(4, 10))]
    with np.load(DEMO) as arrays:
        parts = [
            ogive.Predictions(
                arrays[f"{part}_logits"],
                np.array(names)[arrays[f"{part}_labels"]],
                kind="logits",
                classes=names,
            )
            for part in ("test", "cal")
        ]
    methods = ["none", "platt", "spline"]
    write_html(build_report(*parts, methods=methods, source=f"{EVIL}.npz"), path)
    return path


@pytest.fixture(scope="module")
def wide(tmp_path_factory):
    """A report of 1,000 classes."""
    path = tmp_path_factory.mktemp("wide") / "wide.html"
    rng = np.random.default_rng(0)
    names = np.array([f"breed {k}" for k in range(1000)])
    logits = 3.0 * rng.standard_normal((300, 1000))
    labels = np.where(rng.random(300) < 0.5, logits.argmax(axis=1), rng.integers(0, 1000, 300))
    preds = ogive.Predictions(logits, names[labels], kind="logits", classes=names)
    write_html(build_report(preds, method="platt"), path)
    return path


@pytest.fixture(scope="module")
def watch(tmp_path_factory):
    """The page of a watch with groups, one of which changed and tries to be markup."""
    path = tmp_path_factory.mktemp("watch") / "watch.html"
    rng = np.random.default_rng(0)
    found = ogive.GroupWatch()
    for day in range(14):
        curves = {}
        for name, power in (("a & b", 1.0), (EVIL, 1.0 if day < 8 else 1.8)):
            scores = rng.random(500)
            curves[name] = ogive.Curve.from_scores(scores, rng.random(500) < scores**power)
        found = found.update(curves, f"2026-05-{day + 1:02d}")
    write_html(build_watch_report(found, source=f"{EVIL}.json"), path)
    return path


@pytest.fixture
def visit(browser, report):
    """Open the report, or another page; whatever it logs or asks for is kept."""
    opened = []

    def visit(path=report, **options):
        page = browser.new_page(**options)
        page.seen = []
        page.on("console", lambda message: page.seen.append(message.text))
        page.on("pageerror", lambda error: page.seen.append(str(error)))
        page.on("request", lambda request: page.seen.append(request.url))
        page.goto(path.as_uri())
        opened.append(page)
        return page

    yield visit
    for page in opened:
        page.close()


def silent(page, path):
    """Return whether a page logged nothing, and asked for nothing but itself."""
    return [one for one in page.seen if not one.startswith("blob:")] == [path.as_uri()]


def numbers_of(page, row=0):
    """Return the counts at the threshold, of one line."""
    cells = page.locator("#threshold tbody tr").nth(row).locator("td").all_inner_texts()
    return [
        float(text.replace(",", "").removesuffix(" %").replace("none", "nan")) for text in cells
    ]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 768, 1280])
def test_every_section_is_seen_at_every_width(visit, report, scheme, width):
    page = visit(color_scheme=scheme, viewport={"width": width, "height": 800})
    page.wait_for_timeout(100)
    assert silent(page, report)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    for name in SECTIONS:
        assert page.locator(f"section#{name}").bounding_box()["height"] > 60
    colour = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (sum(map(int, colour[4:-1].split(","))) / 3 > 200) == (scheme == "light")
    verdict = page.locator(".verdict .word")
    assert verdict.bounding_box()["y"] < 200
    assert page.locator(".plain p").first.bounding_box()["y"] < 400
    for graph in page.locator("svg.graph:visible").all():
        box = graph.bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= width
    # Text that is cut would be wider than its box, unless the box scrolls.
    cut = page.evaluate(
        "[...document.querySelectorAll('p, li, h1, h2, h3, dd, figcaption, .says span, button')]"
        ".filter(e => e.scrollWidth > e.clientWidth + 1 && e.clientWidth > 0"
        " && getComputedStyle(e).display !== 'inline').map(e => e.textContent.slice(0, 60))"
    )
    assert cut == []
    if width != 768:  # which is neither the narrow nor the wide form
        assert found_by_axe(page) == []


def found_by_axe(page):
    """Return the violations that axe finds, with all that is collapsed opened."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright")
    page.evaluate("document.querySelectorAll('details').forEach(e => { e.open = true; })")
    found = axe.Axe().run(page).response["violations"]
    return [(one["id"], one["nodes"][0]["html"][:120]) for one in found]


def test_it_is_complete_without_script(visit, report):
    page = visit(java_script_enabled=False)
    for name in [*SECTIONS, "graphs"]:
        assert page.locator(f"section#{name}").bounding_box()["height"] > 60
    assert page.locator("svg[role=img]").count() > 15
    assert page.locator("#calibration svg path.line.before").count() >= 1
    assert page.locator("#calibration svg path.line.after").count() >= 1
    assert page.locator("#threshold *").count() == 0
    assert page.locator("#decisions table").first.locator("tbody tr").count() == 18
    assert page.locator("button").count() == 0


def test_lines_have_the_colour_of_their_role(visit):
    seen = {}
    for scheme in ("light", "dark"):
        line = visit(color_scheme=scheme).locator("#calibration path.line.before").first
        seen[scheme] = line.evaluate("e => getComputedStyle(e).stroke")
    assert seen["light"] == "rgb(213, 94, 0)"
    assert seen["dark"] != seen["light"]


def test_names_are_text_and_nothing_else_runs(visit, report):
    page = visit()
    assert page.title() == f"Calibration of {EVIL}.npz"
    assert page.locator("script").count() == 2
    assert page.locator("img").count() == 0
    assert EVIL in page.locator("#per-class").inner_text()
    page.locator("#choices select").select_option(label=CLOSING)
    assert CLOSING in page.locator("#threshold output").inner_text()
    assert page.locator("img").count() == 0
    page.evaluate(
        "() => { const s = document.createElement('script'); s.textContent = 'document.title = 1';"
        " document.body.append(s); const a = document.createElement('a');"
        " a.setAttribute('onclick', 'document.title = 2'); document.body.append(a); a.click();"
        " document.body.setAttribute('style', 'margin: 77px'); }"
    )
    assert page.title() == f"Calibration of {EVIL}.npz"
    assert page.evaluate("getComputedStyle(document.body).marginTop") == "0px"
    refused = [text for text in page.seen if "Content Security Policy" in text]
    assert len(refused) == 3
    assert page.evaluate("fetch('data:,x').then(() => 'came', () => 'refused')") == "refused"


def test_hover_and_tap_show_numbers(visit):
    page = visit(has_touch=True)
    said = page.locator("#calibration .says").first
    graph = page.locator("#calibration svg.live").first
    graph.scroll_into_view_if_needed()
    box = graph.bounding_box()
    page.mouse.move(box["x"] + 0.7 * box["width"], box["y"] + 50)
    hovered = said.inner_text()
    assert "before: the outcome is 1 in" in hovered
    assert "95 % interval" in hovered
    assert "rows with scores from" in hovered
    assert page.locator("#calibration .cursor").count() == 1
    page.touchscreen.tap(box["x"] + 0.9 * box["width"], box["y"] + 50)
    assert said.inner_text() != hovered
    gap = page.locator("#calibration svg.live").nth(1)
    gap.hover()
    text = page.locator("#calibration .says").nth(1).inner_text()
    assert "outcomes minus scores so far" in text


def test_lines_views_and_axes_are_chosen(visit):
    page = visit()
    lines = page.locator("#calibration svg.live").first.locator("path.line")
    many = lines.count()
    page.get_by_label("after (spline)", exact=False).first.uncheck()
    assert lines.count() < many
    page.get_by_label("platt", exact=False).first.check()
    assert page.locator("#calibration path.line.other").count() == 2
    ticks = page.locator("#calibration svg.live").first.locator("text.tick")
    assert "99.9 %" not in ticks.all_text_contents()
    page.get_by_label("log-odds axis", exact=False).check()
    assert "99.9 %" in ticks.all_text_contents()
    page.locator("#choices select").select_option(label="within-top-2")
    name = page.locator("#calibration svg.live").first.get_attribute("aria-label")
    assert "within-top-2: before, after (spline)" in name


def test_a_threshold_counts_rows(visit):
    page = visit()
    slider = page.get_by_label("Threshold", exact=True)
    slider.fill("93")  # of the grid: 90 %
    with np.load(DEMO) as arrays:
        z, y = arrays["test_logits"].astype(float), arrays["test_labels"]
    p = np.exp(z - z.max(axis=1, keepdims=True))
    score, hit = p.max(axis=1) / p.sum(axis=1), z.argmax(axis=1) == y
    acted = score >= 0.9
    tp, fp, fn = (acted & hit).sum(), (acted & ~hit).sum(), (~acted & hit).sum()
    found = numbers_of(page)
    assert found[:4] == [tp, fp, fn, (~acted & ~hit).sum()]
    assert found[4] == pytest.approx(100 * tp / (tp + fp), abs=0.051)
    assert found[5] == pytest.approx(100 * tp / hit.sum(), abs=0.051)
    assert found[6] == pytest.approx((fp + fn) / y.size, abs=1e-4)
    page.get_by_label("Cost of a false positive").fill("9")
    assert numbers_of(page)[6] == pytest.approx((9 * fp + fn) / y.size, abs=1e-4)
    slider.fill("10")
    page.get_by_text("Set the threshold for these costs").click()
    assert numbers_of(page)[:2] == [tp, fp]


def test_tables_are_sorted_and_searched(visit):
    page = visit()
    table = page.locator("#per-class table")
    errors = [
        abs(float(text.replace("\u2212", "-").removesuffix(" %")))
        for text in table.locator("tbody td:nth-child(6)").all_inner_texts()
    ]
    assert errors == sorted(errors, reverse=True)
    head = table.locator("thead th").first
    head.get_by_role("button").click()
    assert head.get_attribute("aria-sort") == "ascending"
    names = table.locator("tbody th").all_inner_texts()
    assert names[-1] == "class 9"
    head.get_by_role("button").click()
    assert head.get_attribute("aria-sort") == "descending"
    assert table.locator("tbody th").all_inner_texts() == names[::-1]
    page.locator("#decisions summary").first.click()
    page.locator("#decisions input[type=search]").first.fill("70 %")
    shown = page.locator("#decisions details").first.locator("tbody tr:visible")
    assert shown.count() == 2
    assert "2 of 18" in page.locator("#decisions details").first.inner_text()


def test_numbers_and_graphs_are_saved(visit, tmp_path):
    page = visit()
    with page.expect_download() as found:
        page.get_by_label("Save Classes, the largest error first as CSV").click()
    found.value.save_as(tmp_path / "classes.csv")
    with (tmp_path / "classes.csv").open(newline="", encoding="utf-8") as file:
        head, *rows = csv.reader(file)
    assert head[:3] == ["class", "rows", "base rate"]
    names = [row[0] for row in rows]
    assert {EVIL, CLOSING, "'=1+1"} <= set(names)  # no formula for a spreadsheet
    assert all(float(row[2]) == pytest.approx(0.1) for row in rows)
    with page.expect_download() as found:
        page.get_by_label("Save the lines shown as CSV").click()
    found.value.save_as(tmp_path / "lines.csv")
    with (tmp_path / "lines.csv").open(newline="", encoding="utf-8") as file:
        lines = list(csv.DictReader(file))
    assert {row["method"] for row in lines} == {"before", "after (spline)"}
    assert {row["what"] for row in lines} == {"share of 1s", "cumulative gap"}
    for kind, start in (("SVG", b"<svg"), ("PNG", b"\x89PNG")):
        with page.expect_download() as found:
            page.get_by_label(f"Save classes as {kind}").click()
        found.value.save_as(tmp_path / "graph")
        data = (tmp_path / "graph").read_bytes()
        assert data.startswith(start)
        assert len(data) > 3000
    assert not [text for text in page.seen if "Policy" in text]


def test_it_works_by_keyboard_alone(visit):
    page = visit()
    page.locator("#choices select").focus()
    page.keyboard.press("ArrowDown")
    assert page.locator("#threshold output").inner_text().endswith(", top-2")
    page.keyboard.press("Tab")
    page.keyboard.press("Space")  # the log-odds axis
    assert page.get_by_label("log-odds axis", exact=False).is_checked()
    page.keyboard.press("Tab")
    page.keyboard.press("Space")  # the line before calibration
    shown = page.locator("#calibration svg.live").first
    assert "before" not in shown.get_attribute("aria-label")
    reader = page.get_by_label("Read off at score", exact=True)
    reader.focus()
    said = page.locator("#calibration .says").first.inner_text()
    for _ in range(30):
        page.keyboard.press("ArrowLeft")
    assert page.locator("#calibration .says").first.inner_text() != said
    assert reader.get_attribute("aria-valuetext").endswith(" %")
    page.get_by_label("Threshold", exact=True).focus()
    counted = numbers_of(page)
    page.keyboard.press("PageUp")
    assert numbers_of(page) != counted
    head = page.locator("#per-class th", has_text="rows").get_by_role("button")
    head.focus()
    page.keyboard.press("Enter")
    assert page.locator("#per-class th", has_text="rows").get_attribute("aria-sort") == "ascending"
    name = page.locator("#per-class tbody th button").first
    chosen = name.inner_text()
    name.focus()
    page.keyboard.press("Enter")
    assert chosen in page.locator("#threshold output").inner_text()
    focused = page.evaluate("document.activeElement.tagName")
    assert focused == "SELECT"
    summary = page.locator("#graphs summary").first
    summary.focus()
    page.keyboard.press("Enter")
    assert page.locator("#bins svg").is_visible()


def test_it_prints(visit):
    page = visit(color_scheme="dark")
    page.emulate_media(media="print")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    for hidden in ("#choices .choices", "#threshold", ".tools >> nth=0", "nav"):
        assert not page.locator(hidden).is_visible()
    assert page.evaluate(
        "[...document.querySelectorAll('.scroll:not(.long) table')]"
        ".every(e => getComputedStyle(e).breakInside === 'avoid')"
    )
    assert len(page.pdf()) > 20_000


def test_many_classes_are_searched(visit, wide):
    page = visit(wide, viewport={"width": 390, "height": 800})
    assert wide.stat().st_size < 5_000_000
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.locator("#per-class summary").click()
    field = page.locator("#per-class input[type=search]")
    field.fill("breed 77")
    rows = page.locator("#per-class tbody tr:visible")
    assert rows.count() == 11  # 77, and 770 to 779
    assert "11 of 1,000" in page.locator("#per-class .tools").last.inner_text()
    rows.first.get_by_role("button").click()
    assert "breed 77" in page.locator("#threshold output").inner_text()
    assert silent(page, wide)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_of_a_watch(visit, watch, scheme):
    page = visit(watch, color_scheme=scheme)
    page.wait_for_timeout(100)
    assert silent(page, watch)
    assert page.title() == f"Watch of {EVIL}.json"
    assert page.locator("script").count() == 1
    head = page.locator("#days th", has_text="rows").get_by_role("button")
    head.click()
    assert page.locator("#days th", has_text="rows").get_attribute("aria-sort") == "ascending"
    verdict = page.locator(".verdict").inner_text()
    assert verdict.startswith(f"Group {EVIL}: Calibrated until 2026-05-0")
    for name in ("over-time", "groups", "days", "how"):
        assert page.locator(f"section#{name}").bounding_box()["height"] > 60
    graphs = page.locator("svg[role=img]").all()
    assert len(graphs) == 3
    assert all(graph.bounding_box()["width"] > 400 for graph in graphs)
    assert page.locator("svg text", has_text="change: 2026-05-09").is_visible()
    assert page.locator("svg path.area.hits").count() == 1
    assert page.locator("#days tbody tr").count() == 14


def test_the_page_of_a_watch_fits_a_phone(visit, watch):
    page = visit(watch, viewport={"width": 360, "height": 740})
    assert page.evaluate("document.documentElement.scrollWidth") <= 360


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_of_a_watch_is_accessible(visit, watch, scheme):
    assert found_by_axe(visit(watch, color_scheme=scheme)) == []
