"""The HTML forms of notebooks."""

from html.parser import HTMLParser

import numpy as np
import pytest

import ogive
from ogive import Curve, Predictions
from tests import results

EVIL = "<script>alert(1)</script>"


class Tags(HTMLParser):
    def __init__(self, page):
        super().__init__()
        self.tags = []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)


@pytest.fixture
def curve(rng):
    p = rng.random(600)
    return Curve.from_scores(p**0.5, rng.random(600) < p, view=EVIL)


@pytest.fixture
def preds(rng):
    p = rng.random(600)
    return Predictions(p**0.5, rng.random(600) < p, kind="probs")


def test_a_curve(curve):
    page = curve._repr_html_()
    assert "600" in page
    assert EVIL not in page
    assert "&lt;script&gt;" in page
    assert repr(curve).startswith("Curve(view=")


@pytest.mark.parametrize("fit", [ogive.fit_platt, ogive.fit_spline, ogive.fit_paper_spline])
def test_maps_draw_themselves(curve, fit):
    gamma = fit(curve)
    page = gamma._repr_html_()
    assert "<svg" in page
    assert f"{float(gamma([0.5])[0]):.4f}" in page
    assert EVIL not in page
    assert "600" in repr(gamma)


def test_matrix_maps(rng):
    preds = Predictions(rng.standard_normal((300, 3)), rng.integers(0, 3, 300), kind="logits")
    assert "300" in ogive.fit_temperature(preds)._repr_html_()


def test_results(preds, rng):
    one = ogive.measure(preds)
    assert f"{100 * one.ks:.2f} %" in one._repr_html_()
    assert one.verdict in repr(one)
    compared = ogive.compare(preds, preds, ["none", "platt"])
    page = compared._repr_html_()
    assert "platt" in page
    assert compared.verdict.split(":")[0] in page
    matrix = Predictions(rng.standard_normal((200, 3)), rng.integers(0, 3, 200), kind="logits")
    every = ogive.measure_all(matrix)
    assert "within-top-2" in every._repr_html_()
    for shown in (one, compared, every):
        assert not {"script", "style"} & set(Tags(shown._repr_html_()).tags)


def test_evil_class_names_stay_text(rng):
    names = np.array([EVIL, "b"])
    labels = names[rng.integers(0, 2, 50)]
    preds = Predictions(rng.standard_normal((50, 2)), labels, kind="logits", classes=names)
    assert EVIL not in ogive.measure_all(preds)._repr_html_()


def test_every_public_name_has_a_result_or_is_plain():
    made_elsewhere = {"arena"}  # tests/studies/arena shows its result
    estimators = {name for name in ogive.__all__ if name.endswith(("Calibrator", "Classifier"))}
    shown = set(results.MAKERS)
    assert shown | results.PLAIN | made_elsewhere | estimators == set(ogive.__all__)
    assert not shown & results.PLAIN


@pytest.mark.parametrize("name", results.MAKERS)
def test_every_result_has_a_form_for_notebooks(name):
    shown = results.result(name)
    if name == "CurveDisplay":  # a picture
        assert shown._repr_png_().startswith(b"\x89PNG")
        return
    page = shown._repr_html_()
    assert EVIL not in page
    tags = Tags(page).tags
    assert not {"script", "style", "link"} & set(tags)
    assert len(page) > 100
    if tags[0] != "iframe":  # a page of its own
        assert tags[:3] == ["div", "div", "strong"]
