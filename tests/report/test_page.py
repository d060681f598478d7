"""What all pages share: title and author, saving, notebooks."""

import html
import re

import numpy as np
import pytest

import ogive
from ogive.errors import InvalidInput
from ogive.report import render_html
from ogive.report.page import MAX_CHARACTERS, About

EVIL = '"><script>alert(1)</script>'
P = np.linspace(0.02, 0.98, 200)
Y = (np.arange(200) * 7919 % 200 / 200 < P).astype(int)


@pytest.fixture(scope="module")
def page():
    return ogive.report(
        P, Y, title=EVIL, model="m & n", author=EVIL, tags=("a", EVIL), note=f"two\nlines {EVIL}"
    )


def test_what_people_say_is_recorded_as_text(page):
    text = render_html(page)
    assert EVIL not in text
    safe = html.escape(EVIL).replace("&quot;", "&#34;")
    assert f"<title>{safe}</title>" in text
    assert f"<h1>{safe}</h1>" in text
    assert f'<meta name="author" content="{safe}">' in text
    assert f'<meta name="keywords" content="a, {safe}">' in text
    for name, value in (("Model", "m &amp; n"), ("Author", safe), ("Note", f"two\nlines {safe}")):
        assert f"<dt>{name}</dt><dd>{value}</dd>" in text
    assert "<dt>Data</dt><dd>predictions</dd>" in text


def test_nothing_is_said_where_nothing_was_given():
    text = render_html(ogive.report(P, Y))
    assert "<dl class" not in text
    assert "<title>Calibration of predictions</title>" in text


@pytest.mark.parametrize("bad", ["\x00", "\x1b[31m", "x" * (MAX_CHARACTERS + 1), 3])
def test_what_cannot_be_shown_is_refused(bad):
    for said in ({"title": bad}, {"tags": ("fine", bad)}):
        with pytest.raises(InvalidInput, match=f"`{next(iter(said))}` must be"):
            About(**said)
    assert ogive.report(P, Y, tags="one").about.tags == ("one",)


def test_save_chooses_by_suffix(page, tmp_path):
    page.save(tmp_path / "a.html")
    assert (tmp_path / "a.html").read_text(encoding="utf-8") == render_html(page)
    with pytest.raises(InvalidInput, match=r"must end in \.html, \.htm, but is"):
        page.save(tmp_path / "a.txt")
    with pytest.raises(InvalidInput, match=r"Write .*a\.html, open it in a browser and print it"):
        page.save(tmp_path / "a.pdf")
    assert [p.name for p in tmp_path.iterdir()] == ["a.html"]


def test_a_notebook_shows_the_whole_page_in_a_frame(page):
    shown = page._repr_html_()
    assert shown.count("<") == 2  # the frame and its end: all else is escaped
    inside = re.search(r'srcdoc="([^"]*)"', shown).group(1)
    assert html.unescape(inside) == render_html(page)
    assert 'sandbox="allow-scripts allow-downloads"' in shown
    assert len(repr(page)) < 100


def test_several_models_in_one_call(tmp_path):
    both = {"a": (P, Y), "b <i>": ogive.Predictions(P**2, Y, kind="probs")}
    page = ogive.report(both, title="Two", output=tmp_path / "two.html")
    text = (tmp_path / "two.html").read_text(encoding="utf-8")
    assert "<title>Two</title>" in text
    assert "b &lt;i&gt;" in text
    assert "Lowest log loss: a" in page.sentence
    page = ogive.report({"a": (P, Y), "b": (P**2, Y)}, cal={"a": (P, Y)}, method="platt")
    assert "log loss after platt" in page.log_loss.head
    for wrong, message in (
        ({"cal": (P, Y)}, "`cal` must map"),
        ({"cal": {"c": (P, Y)}}, "`cal` has 'c'"),
        ({"methods": ["platt"]}, "`methods`"),
        ({"outcomes": Y}, "`outcomes`"),
    ):
        with pytest.raises(InvalidInput, match=message):
            ogive.report({"a": (P, Y), "b": (P, Y)}, **wrong)


def test_a_summary_has_a_page_that_says_so():
    curve = ogive.Curve.from_scores(P, Y).summarised(4)
    page = ogive.report(curve)
    assert any(note.startswith("Computed from a summary of the log.") for note in page.notes)
    text = render_html(page)
    assert "Computed from a summary of the log." in text
    assert page.calibrated is None
    with pytest.raises(InvalidInput, match="no rows"):
        ogive.report(curve, cal=(P, Y))
