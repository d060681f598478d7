"""The report in real Chromium, where the playwright package and Chromium are at hand.

CHROMIUM names another executable.
"""

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
EVIL = "<script>document.title='hacked'</script>"


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
    names = [EVIL, "a & b", *(f"class {k}" for k in range(2, 10))]
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


def test_it_opens_in_silence_and_asks_for_nothing(visit, report):
    page = visit()
    page.wait_for_timeout(200)
    assert page.seen == [report.as_uri()]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_section_is_seen(visit, scheme):
    page = visit(color_scheme=scheme)
    for name in SECTIONS:
        section = page.locator(f"section#{name}")
        assert section.is_visible()
        assert section.bounding_box()["height"] > 60
    colour = page.evaluate("getComputedStyle(document.body).backgroundColor")
    bright = sum(map(int, colour[4:-1].split(","))) / 3
    assert (bright > 200) == (scheme == "light")
    assert page.locator("svg[role=img]").count() > 15
    for graph in page.locator("svg[role=img]").all():
        box = graph.bounding_box()
        assert box["width"] > 250
        assert box["height"] > 40


def test_lines_have_the_colour_of_their_role(visit):
    seen = {}
    for scheme in ("light", "dark"):
        line = visit(color_scheme=scheme).locator("svg path.line.hits").first
        seen[scheme] = line.evaluate("e => getComputedStyle(e).stroke")
    assert seen["light"] == "rgb(213, 94, 0)"
    assert seen["dark"] != seen["light"]


def test_names_are_text(visit):
    page = visit()
    assert page.title() == f"Calibration of {EVIL}.npz"
    assert page.locator("script").count() == 0
    assert EVIL in page.locator("#per-class").inner_text()


def test_it_fits_a_phone(visit):
    page = visit(viewport={"width": 360, "height": 740})
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    size = page.locator(".verdict p").evaluate("e => parseFloat(getComputedStyle(e).fontSize)")
    assert size >= 16


def test_tables_open(visit):
    page = visit()
    details = page.locator("details").first
    assert not details.locator("table").is_visible()
    details.locator("summary").click()
    assert details.locator("table").is_visible()


def test_it_prints(visit):
    page = visit(color_scheme="dark")
    page.emulate_media(media="print")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert len(page.pdf()) > 20_000


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_serious_for_accessibility(visit, scheme):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright")
    result = axe.Axe().run(visit(color_scheme=scheme))
    serious = [
        (found["id"], found["nodes"][0]["html"][:120])
        for found in result.response["violations"]
        if found["impact"] in {"serious", "critical"}
    ]
    assert serious == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_of_a_watch(visit, watch, scheme):
    page = visit(watch, color_scheme=scheme)
    page.wait_for_timeout(200)
    assert page.seen == [watch.as_uri()]
    assert page.title() == f"Watch of {EVIL}.json"
    assert page.locator("script").count() == 0
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
    axe = pytest.importorskip("axe_playwright_python.sync_playwright")
    result = axe.Axe().run(visit(watch, color_scheme=scheme))
    serious = [
        (found["id"], found["nodes"][0]["html"][:120])
        for found in result.response["violations"]
        if found["impact"] in {"serious", "critical"}
    ]
    assert serious == []
