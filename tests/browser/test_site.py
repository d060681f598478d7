"""The site of the documentation in real Chromium, read as files: no server and no network.

OGIVE_SITE names the folder that ``python -m docs build`` has written. CHROMIUM names another
executable.
"""

import os
import shutil
from pathlib import Path

import pytest

playwright = pytest.importorskip("playwright.sync_api")
CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium")
if CHROMIUM is None:
    pytest.skip("no Chromium", allow_module_level=True)
if "OGIVE_SITE" not in os.environ:
    pytest.skip("no site: `python -m docs build`, and OGIVE_SITE", allow_module_level=True)

PHONE = {"width": 390, "height": 844}
#: Pages that have what no other page has: one of each kind is looked at with axe.
KINDS = [
    "index.html",  # the README
    "start.html",  # cells and their outputs
    "learn/calibration.html",  # pictures and outputs
    "learn/ks.html",  # a formula beside pictures
    "faq.html",  # wide tables, a chart
    "glossary.html",  # definitions
    "theory/ks.html",  # mathematics
    "reference/index.html",
    "reference/measures.html",  # docstrings
    "design/index.html",
    "CHANGELOG.html",
]
#: Questions as a new user would type them, and the pages that answer them.
QUESTIONS = {
    "install": ("start.html",),
    "calibrate scikit-learn": ("guides/scikit-learn.html", "tutorials/binary.html"),
    "torch model": ("guides/pytorch.html",),
    "pytorch model": ("guides/pytorch.html", "tutorials/network.html"),
    "LLM": ("guides/llm.html", "tutorials/llm.html"),
    "language model answers": ("guides/llm.html", "tutorials/llm.html"),
    "column names": ("files.html", "cli.html"),
    "deploy": ("export.html",),
    "serve calibrator": ("export.html", "start.html"),
    "does accuracy change": ("faq.html",),
    "groups country": ("learn/groups.html", "groups.html"),
    "weights imbalanced": ("guides/imbalance.html",),
    "which method": ("faq.html",),
    "how many rows": ("faq.html",),
    "what KS error is good": ("faq.html",),
    "validation data": ("faq.html",),
    "recalibrate over time": ("learn/drift.html", "faq.html"),
    "how often refit": ("faq.html", "learn/drift.html"),
    "threshold": ("decisions.html", "guides/decisions.html"),
}
#: Results of a search that a reader sees without scrolling far.
FIRST_RESULTS = 5


@pytest.fixture(scope="module")
def site():
    return Path(os.environ["OGIVE_SITE"]).resolve()


@pytest.fixture(scope="module")
def browser():
    with playwright.sync_playwright() as p:
        browser = p.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"]
        )
        yield browser
        browser.close()


@pytest.fixture
def opened(browser):
    """Return a function that opens pages, and the lists of complaints and of outside requests."""
    contexts = []

    def new(**options):
        context = browser.new_context(**options)
        contexts.append(context)
        page = context.new_page()
        page.complaints, page.outside = [], []
        page.on("console", lambda m: m.type == "error" and page.complaints.append(m.text))
        page.on("pageerror", lambda error: page.complaints.append(str(error)))
        page.on(
            "request",
            lambda r: r.url.startswith(("file:", "data:", "blob:")) or page.outside.append(r.url),
        )
        return page

    yield new
    for context in contexts:
        context.close()


def pages(site):
    return sorted(
        p for p in site.rglob("*.html") if p.name != "404.html" and "assets" not in p.parts
    )


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_page_opens_on_a_phone_without_errors_or_a_network(site, opened, scheme):
    page = opened(viewport=PHONE, color_scheme=scheme)
    found = pages(site)
    assert len(found) > 100
    wrong = []
    for path in found if scheme == "light" else found[::8]:
        page.goto(path.as_uri(), wait_until="load")
        width = page.evaluate("document.documentElement.scrollWidth")
        missing = page.evaluate(
            "[...document.images].filter(i => i.complete && !i.naturalWidth).map(i => i.src)"
        )
        if page.complaints or page.outside or missing or width > PHONE["width"]:
            wrong.append((path.name, page.complaints[:], page.outside[:], missing, width))
        page.complaints.clear()
        page.outside.clear()
    assert not wrong


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_each_kind_of_page_passes_axe(site, opened, scheme):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    page = opened(viewport={"width": 1200, "height": 900}, color_scheme=scheme)
    wrong = {}
    for name in KINDS:
        page.goto((site / name).as_uri())
        page.wait_for_timeout(200)  # the theme wraps tables after the page loads
        found = axe.run(page, options={"preload": False}).response["violations"]
        if found:
            wrong[name] = [(one["id"], one["nodes"][0]["html"][:200]) for one in found]
    assert not wrong


def test_every_question_is_answered_by_one_search(site, opened):
    page = opened(viewport={"width": 1200, "height": 900})
    missed = {}
    for question, answers in QUESTIONS.items():
        page.goto((site / "index.html").as_uri())
        page.click("input[name=query]")  # loads the index
        page.type("input[name=query]", question)
        page.wait_for_selector(".md-search-result__item a")
        page.wait_for_timeout(300)
        links = page.eval_on_selector_all(
            ".md-search-result__item > a", "all => all.map(a => a.href)"
        )
        shown = [link.split("?")[0].split("#")[0] for link in links[:FIRST_RESULTS]]
        if not any(link.endswith("/" + answer) for link in shown for answer in answers):
            missed[question] = shown
    assert not missed
    assert not page.complaints
    assert not page.outside


def test_the_scheme_can_be_changed_and_stays(site, opened):
    page = opened(color_scheme="light")
    page.goto((site / "index.html").as_uri())
    assert page.get_attribute("body", "data-md-color-scheme") == "default"
    page.click("label.md-header__button[title=Dark]")
    assert page.get_attribute("body", "data-md-color-scheme") == "slate"
    page.goto((site / "faq.html").as_uri())
    assert page.get_attribute("body", "data-md-color-scheme") == "slate"
