"""The comparison page and results in a notebook, in real Chromium."""

import os
import shutil

import numpy as np
import pytest

import ogive
from ogive.report.models import Subject, build_models_report
from ogive.report.page import About
from tests import results

playwright = pytest.importorskip("playwright.sync_api")
CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium")
if CHROMIUM is None:
    pytest.skip("no Chromium", allow_module_level=True)

EVIL = "<script>document.title='hacked'</script>"


@pytest.fixture(scope="module")
def browser():
    with playwright.sync_playwright() as p:
        flags = ["--no-sandbox", "--disable-gpu"]
        browser = p.chromium.launch(executable_path=CHROMIUM, args=flags)
        yield browser
        browser.close()


def subjects(count=3, n=400):
    """Return models of the same rows; the first name tries to be markup."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=2 * n)
    y = (rng.random(2 * n) < 1 / (1 + np.exp(-2 * x))).astype(int)
    found = []
    for k in range(count):
        p = 1 / (1 + np.exp(-(1 + k) * x))
        cal, test = (
            ogive.Predictions(p[at], y[at], kind="probs") for at in (slice(n), slice(n, None))
        )
        found.append(Subject(EVIL if k == 0 else f"a-model-with-a-rather-long-name-{k}", test, cal))
    return found


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    path = tmp_path_factory.mktemp("models") / "models.html"
    about = About(title=EVIL, author="A & B", tags=("x", EVIL), note="one\ntwo")
    build_models_report(subjects(), method="platt").described(about).save(path)
    return path


@pytest.fixture
def visit(browser):
    """Open a page that must be silent, and remember what it asks for."""
    opened = []

    def visit(path, **options):
        page = browser.new_page(**options)
        page.seen, page.said = [], []
        page.on("console", lambda message: page.said.append(message.text))
        page.on("pageerror", lambda error: page.said.append(str(error)))
        page.on("request", lambda request: page.seen.append(request.url))
        page.goto(path.as_uri())
        opened.append(page)
        return page

    yield visit
    for page in opened:
        page.close()


@pytest.mark.parametrize("width", [390, 768, 1280])
def test_the_comparison_fits_its_window_in_silence(visit, models, width):
    page = visit(models, viewport={"width": width, "height": 800})
    page.wait_for_timeout(150)
    assert page.seen == [models.as_uri()]
    assert page.said == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.title() == EVIL
    assert page.locator("h1").inner_text() == EVIL
    assert page.locator("#calibration tbody th").first.inner_text() == EVIL
    for name in ("calibration", "log-loss", "curves", "verdicts", "how"):
        assert page.locator(f"section#{name}").bounding_box()["height"] > 60
    for graph in page.locator("svg[role=img]").all():
        assert graph.bounding_box()["width"] > 250


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_comparison_is_accessible(visit, models, scheme):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright")
    found = axe.Axe().run(visit(models, color_scheme=scheme)).response["violations"]
    assert [(one["id"], one["nodes"][0]["html"][:120]) for one in found] == []


def test_no_result_runs_into_its_caption(browser, tmp_path):
    """Each form is shown alone, as in a notebook: caption first, what follows below it."""
    forms = {
        name: results.result(name)._repr_html_()
        for name in results.MAKERS
        if name not in {"CurveDisplay", "report"}
    }
    cells = "".join(f'<section id="{name}">{form}</section>' for name, form in forms.items())
    path = tmp_path / "notebook.html"
    path.write_text(f'<meta charset="utf-8"><title>n</title>{cells}', encoding="utf-8")
    page = browser.new_page(viewport={"width": 700, "height": 800})
    page.goto(path.as_uri())
    off = page.evaluate(
        """() => [...document.querySelectorAll("section")].filter(cell => {
            const [caption, ...rest] = cell.firstElementChild.children;
            const end = caption.getBoundingClientRect().bottom;
            return rest.some(one => one.getBoundingClientRect().top < end - 0.5)
                || caption.getBoundingClientRect().height < 10;
        }).map(cell => cell.id)"""
    )
    page.close()
    assert off == []
    assert page.is_closed()
