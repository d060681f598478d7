import sys

import numpy as np
import pytest

import ogive
from ogive import Curve, Predictions
from ogive.diagrams import (
    BeforeAfter,
    BinnedReliability,
    ClassHeat,
    CostLines,
    CumulativeDifference,
    DecisionCurve,
    Differences,
    FourPanel,
    GroupErrors,
    Ranks,
    Reliability,
)
from ogive.errors import InvalidInput, InvalidType
from ogive.plotting import draw, figure, save_figure
from ogive.plotting.figures import panels_of
from ogive.plotting.marks import Label, Line, axis
from tests.simulate import overconfident

matplotlib = pytest.importorskip("matplotlib")


@pytest.fixture
def curve(rng):
    scores, hits, _ = overconfident(rng, 2000)
    return Curve.from_scores(scores, hits)


@pytest.fixture
def diagrams(curve, rng):
    preds = Predictions(rng.standard_normal((300, 70)), rng.integers(0, 70, 300), kind="logits")
    before = CumulativeDifference.from_curve(curve, label="before")
    pairs = ((curve,), (curve, curve.summarised(8)))
    return [
        before,
        BeforeAfter(before, CumulativeDifference.from_curve(curve, fitted_on=500)),
        Reliability.from_curve(curve),
        Reliability.from_curve(curve, "platt"),
        BinnedReliability.from_curve(curve),
        Ranks.from_values(["a", "b", "c", "d"], {"KS": [1, 2, 3, 4], "NLL": [2, 1, 4, 3]}),
        Differences(("a", "b", "none"), np.array([0.0, 0.1, 9.0]), np.array([0.0, 0.1, 0.2])),
        ClassHeat.from_predictions(preds),
        *(kind.from_curves(*of) for kind in (DecisionCurve, CostLines) for of in pairs),
    ]


@pytest.fixture
def timeline(rng):
    from ogive import Watch
    from ogive.studies.graphs import timeline_of

    watch = Watch()
    for day in range(12):
        scores = rng.random(800)
        hits = rng.random(800) < scores ** (1.0 if day < 6 else 1.8)
        watch = watch.update(Curve.from_scores(scores, hits), f"2026-05-{day + 1:02d}")
    return timeline_of(watch)


def test_a_timeline_marks_the_change_and_the_level_of_the_alarm(timeline):
    evidence, ks, means = panels_of(timeline)
    words = [mark.text for mark in evidence.marks if isinstance(mark, Label)]
    assert words == ["change: 2026-05-07", "alarm from 3 on"]
    assert "The change is marked at 2026-05-07" in evidence.alt
    assert [len([m for m in p.marks if isinstance(m, Line)]) for p in (evidence, ks, means)] == [
        1, 1, 2]  # fmt: skip
    assert [text for _, text in ks.x.ticks][::5] == ["2026-05-01", "2026-05-12"]
    line = next(mark for mark in evidence.marks if isinstance(mark, Line))
    assert line.y.max() == 6 * timeline.limit  # what lies far beyond is cut off
    assert f"log e = {timeline.evidence[-1]:.4g} on the last day" in evidence.title
    assert len(draw(timeline, new_axes(3))) > 8
    assert len(figure(timeline).axes) == 3


def test_a_timeline_of_one_day(timeline):
    from dataclasses import replace

    names = ("times", "evidence", "base_rate", "mean_score", "ks", "ks_low", "ks_high")
    one = {name: getattr(timeline, name)[:1] for name in names}
    short = replace(timeline, **one, change=None, alarm=None)
    panels = panels_of(short)
    assert len(panels) == 3
    assert "There is no alarm." in panels[0].alt
    assert len(figure(short).axes) == 3


def new_axes(n=1):
    from matplotlib.figure import Figure

    return Figure().subplots(1, n)


def test_every_diagram_is_drawn_and_nothing_else_is_changed(diagrams):
    before = dict(matplotlib.rcParams)
    for diagram in diagrams:
        ax = new_axes()
        artists = draw(diagram, ax)
        assert artists
        assert all(artist.axes is ax for artist in artists)
        ax.figure.canvas.draw()
    assert dict(matplotlib.rcParams) == before
    assert (
        "matplotlib.pyplot" not in sys.modules or not sys.modules["matplotlib.pyplot"].get_fignums()
    )


def test_the_drawing_holds_the_numbers(curve):
    ax = new_axes()
    draw(CumulativeDifference.from_curve(curve), ax)
    ks = f"KS {100 * ogive.measure(curve).ks:.2f} %"
    assert ax.get_title(loc="left").startswith(ks)
    assert any(text.get_text() == ks for text in ax.texts)
    drawn = max((line.get_ydata() for line in ax.lines), key=len)
    assert np.abs(drawn).max() == ogive.ks_error(curve)


def test_four_panels_need_four_axes(curve):
    shown = FourPanel.from_curve(curve, method="platt")
    axes = new_axes(4)
    assert len(draw(shown, axes)) > 20
    assert [ax.get_title(loc="left")[0] for ax in axes] == ["a", "b", "c", "d"]
    with pytest.raises(InvalidInput, match="must be 4 Axes for this diagram, not 2"):
        draw(shown, new_axes(2))


def test_the_second_panel_is_against_the_cumulative_score(curve):
    panel = panels_of(FourPanel.from_curve(curve, method="platt"))[1]
    score = next(m for m in panel.marks if isinstance(m, Line) and m.role == "score")
    np.testing.assert_array_equal(score.y, score.x)
    assert panel.x.name == "cumulative score"
    assert panel.x.high == score.x[-1]
    assert len(panel.x.ticks) >= 4


def covered(ax):
    """Say which words of an Axes lie on one of its lines, as drawn."""
    ax.figure.canvas.draw()
    found = []
    for text in ax.texts:
        box = text.get_window_extent()
        for line in ax.lines:
            path = line.get_path().transformed(line.get_transform())
            if path.intersects_bbox(box, filled=False):
                found.append(text.get_text())
    return found


@pytest.mark.parametrize("power", [0.05, 0.3, 1.0, 3.0])
def test_names_lie_on_no_line(rng, power):
    """Of rare events the gap ran through the names; its size lay on the title."""
    scores = rng.random(3000) ** 4 * 0.5
    rare = Curve.from_scores(scores, rng.random(3000) < scores**power * 0.5)
    shown = FourPanel.from_curve(rare, method="platt")
    made = [figure(one) for one in (shown, DecisionCurve.from_curves(rare))]
    assert [found for one in made for ax in one.axes for found in covered(ax)] == []


def test_a_band_is_named_where_it_is_drawn(curve):
    for method, banded in (("spline", True), ("isotonic", False)):
        line = Reliability.from_curve(curve, method)
        gap = CumulativeDifference.from_curve(curve)
        panel = panels_of(BeforeAfter(gap, gap, (line, line)))[0]
        named = [m.text for m in panel.marks if isinstance(m, Label) and "band" in m.text]
        assert (line.low is not None) == banded
        assert len(named) == 2 * banded


def test_side_by_side_has_the_same_scales(curve, rng):
    p = rng.random(500)
    other = Curve.from_scores(p, rng.random(500) < p)
    both = [CumulativeDifference.from_curve(c) for c in (curve, other)]
    limits = {ax.get_ylim() for ax in figure(*both).axes}
    assert len(limits) == 1
    rows = [FourPanel.from_curve(c, method="platt") for c in (curve, other)]
    axes = figure(*rows).axes
    assert len(axes) == 8
    assert axes[3].get_ylim() == axes[7].get_ylim()
    assert axes[2].get_ylim() == axes[3].get_ylim()


def test_many_rows_draw_as_few_points(rng):
    scores, hits, _ = overconfident(rng, 400_000)
    panels = panels_of(FourPanel.from_curve(Curve.from_scores(scores, hits), method="platt"))
    assert max(m.x.size for p in panels for m in p.marks if isinstance(m, Line)) < 5000


def test_labels_stay_in_the_panel(diagrams):
    for diagram in diagrams:
        for panel in panels_of(diagram):
            assert len(panel.alt) > 40
            for mark in panel.marks:
                if isinstance(mark, Label):
                    assert panel.x.low <= mark.x <= panel.x.high
                    assert panel.y.low <= mark.y <= panel.y.high + 1


@pytest.mark.parametrize("suffix", [".png", ".svg", ".pdf"])
def test_saving(tmp_path, diagrams, suffix):
    path = tmp_path / f"figure{suffix}"
    save_figure(figure(diagrams[0]), path)
    start = {".png": b"\x89PNG", ".svg": b"<?xml", ".pdf": b"%PDF"}[suffix]
    assert path.read_bytes().startswith(start)
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


def test_errors(tmp_path, diagrams):
    with pytest.raises(InvalidInput, match=r"must end in .png, .svg, .pdf, but is 'a.jpg'"):
        save_figure(figure(diagrams[0]), "a.jpg")
    with pytest.raises(InvalidInput, match="`diagrams` is empty"):
        figure()
    with pytest.raises(InvalidType, match=r"must be one of ogive\.diagrams, not int"):
        panels_of(3)


def test_ticks_are_round():
    assert [t for _, t in axis("x", 0.0, 0.35).ticks] == ["0", "0.1", "0.2", "0.3"]
    for low, high in ((0.0, 1e-6), (-2.0, 7.0), (0.31, 0.32)):
        ticks = axis("x", low, high).ticks
        assert 3 <= len(ticks) <= 7
        assert all(low - 1e-9 <= place <= high + 1e-9 for place, _ in ticks)


def test_names_are_drawn_as_they_are(tmp_path):
    """Dollar signs are no formulas, and a name stays on its line."""
    names = ("$\\frac{a$", "a\nb", "x" * 50)
    errors = np.array([0.3, 0.2, 0.1])
    off = np.array([True, False, False])
    shown = GroupErrors("pay in $, or in $", names, errors, errors / 2, 2 * errors, errors, off)
    save_figure(figure(shown), tmp_path / "a.png")
    assert [name for _, name in panels_of(shown)[0].y.ticks] == [
        "$\\frac{a$", "a b", "x" * 27 + "…",
    ]  # fmt: skip
