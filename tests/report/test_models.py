"""The page that compares several models or days."""

import re
from datetime import date

import numpy as np
import pytest

import ogive
from ogive import Curve, Predictions
from ogive.errors import InvalidInput
from ogive.report.models import MAX_CURVES_DRAWN, Subject, build_models_report
from ogive.report.render import render_html
from tests import naive

EVIL = "<script>alert(1)</script>"


def models(n=600, seed=0):
    """Return a good, an overconfident and a noisy model of the same rows, cal and test."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=2 * n)
    y = (rng.random(2 * n) < 1 / (1 + np.exp(-2 * x))).astype(int)
    found = []
    for name, slope, noise in (("good", 2, 0), ("bold", 4, 0), (EVIL, 2, 0.7)):
        p = 1 / (1 + np.exp(-slope * (x + noise * rng.normal(size=2 * n))))
        cal, test = (Predictions(p[at], y[at], kind="probs") for at in (slice(n), slice(n, None)))
        found.append(Subject(name, test, cal))
    return found


@pytest.fixture(scope="module")
def page():
    return build_models_report(models(), method="platt", today=date(2026, 5, 1))


def column(table, name):
    """Return a column by its heading."""
    at = table.head.index(name)
    return [row[at] for row in table.rows]


def test_the_lowest_log_loss_is_named_and_the_others_are_compared_row_by_row(page):
    assert page.sentence.startswith("Lowest log loss: good, 0.")
    assert "Not significantly different" not in page.sentence
    off = sum(ogive.measure(model.test).decision.miscalibrated for model in models())
    assert page.sentence.endswith(f" {off} of 3 are miscalibrated.")
    good, bold, _ = models()
    rows = [ogive.score_rows(model.test) for model in (bold, good)]
    losses = [
        np.array([naive.nll([s], [y]) for s, y in zip(r.score, r.hit, strict=True)]) for r in rows
    ]
    off = losses[0] - losses[1]
    expected = f"{off.mean():+.4f} ± {off.std() / np.sqrt(off.size):.4f}"
    assert column(page.log_loss, "above the best")[:2] == ["best", expected]
    assert column(page.log_loss, "log loss")[1] == f"{losses[0].mean():.4f}"


def test_each_is_as_a_report_of_its_own_says(page):
    for subject, row in zip(models(), page.calibration.rows, strict=True):
        one = ogive.measure(subject.test)
        assert row[0] == subject.name
        assert f"{100 * one.ks:.2f} %" in row
        assert f"{100 * one.ece:.2f} %" in row
    for (name, words), subject in zip(page.verdicts, models(), strict=True):
        assert name == subject.name
        assert words.startswith(("Miscalibrated", "No miscalibration found"))
    after = ogive.report(
        models()[1].test, cal=models()[1].cal, method="platt", methods=["none", "platt"]
    )
    assert column(page.log_loss, "KS after platt")[1] == f"{100 * after.calibrated.after.ks:.2f} %"


def test_two_equal_models_are_not_told_apart():
    good = models()[0]
    page = build_models_report([good, good._replace(name="copy")], method="platt")
    assert "Not significantly different: copy." in page.sentence
    assert column(page.log_loss, "above the best") == ["best", "best"]


def test_days_are_not_ranked():
    days = [models(seed=k)[0]._replace(name=f"day {k}", cal=None) for k in range(3)]
    page = build_models_report(days)
    assert page.losses is None
    assert "Lowest" not in page.sentence
    assert "above the best" not in page.log_loss.head
    assert "none is called the best" in " ".join(page.how)


def test_summaries_are_marked():
    good, bold, _ = models()
    curve = Curve.from_predictions(bold.test).summarised(4)
    page = build_models_report([good, Subject("bold", curve)], method="platt")
    assert [row[0] for row in page.calibration.rows] == ["good", "bold (from a summary)"]
    assert "Computed from a summary of the log." in page.verdicts[1][1]
    assert "from a summary" not in page.verdicts[0][1]
    assert "log loss after platt" in page.log_loss.head
    assert page.log_loss.rows[1][-1] == "\N{EN DASH}"


def test_what_cannot_be_compared_is_refused():
    good, bold, _ = models()
    matrix = Predictions([[0.2, 0.3, 0.5]] * 50, [0, 1, 2, 1, 2] * 10, kind="probs")
    with pytest.raises(InvalidInput, match="good is measured as score and m as top-1"):
        build_models_report([good, Subject("m", matrix)])
    with pytest.raises(InvalidInput, match="two or more"):
        build_models_report([good])
    with pytest.raises(InvalidInput, match="good is there twice"):
        build_models_report([good, bold._replace(name="good")])


def test_matrices_are_compared_by_whole_vectors(rng):
    logits = rng.normal(size=(400, 3)) * 2
    labels = np.array([rng.choice(3, p=np.exp(z) / np.exp(z).sum()) for z in logits])
    sharp, fair = (Predictions(k * logits, labels, kind="logits") for k in (3, 1))
    page = build_models_report([Subject("sharp", sharp), Subject("fair", fair)])
    assert page.view == "top-1"
    assert page.sentence.startswith(f"Lowest log loss: fair, {ogive.nll_vector(fair):.4f}.")
    assert "whole vectors" in " ".join(page.how)


def test_many_days_stay_readable():
    days = [models(n=60, seed=k)[0]._replace(name=f"day {k}", cal=None) for k in range(20)]
    page = build_models_report(days)
    assert len(page.curves) == MAX_CURVES_DRAWN
    assert page.curves_note == "The 12 with the largest KS errors, of 20."
    assert len(page.calibration.rows) == 20
    names = [f"day {k}" for k in range(20)]
    assert [graph.title for graph in page.curves] == [
        name for name in names if name in {graph.title for graph in page.curves}
    ]


def test_names_are_text(page):
    text = render_html(page)
    assert EVIL not in text
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in text
    assert not re.search(r"https?://(?!www\.w3\.org)", text)
