import numpy as np
import pytest

import ogive
from ogive import Predictions, measure_groups
from ogive.errors import InvalidInput, UnknownName
from ogive.plotting.figures import figure, panels_of, save_figure
from ogive.plotting.marks import Label, Line
from ogive.studies.graphs import diagrams_of, group_diagram
from tests.bundled import DEMO


def test_what_plot_draws():
    cal, test = (ogive.read(DEMO, part=part) for part in ("cal", "test"))
    kinds = {
        graph: [type(d).__name__ for d in diagrams_of(graph, test, cal, method="platt")]
        for graph in ("panels", "difference", "reliability", "bins", "before-after", "classes",
                      "decision", "cost")
    }  # fmt: skip
    assert kinds["panels"] == ["FourPanel"] * 3
    assert kinds["before-after"] == ["BeforeAfter"]
    left, right = panels_of(diagrams_of("before-after", test, cal, method="platt")[0])
    words = [mark.text for mark in left.marks if isinstance(mark, Label)]
    assert words[:2] == ["— before calibration", "— after"]
    assert (left.x.low, left.x.high) == (0.3, 1.0)  # no axis where there are no rows
    assert right.title == "line falls: scores too high; line rises: too low"
    assert "within noise (95 %)" in [m.text for m in right.marks if isinstance(m, Label)]
    assert kinds["classes"] == ["ClassHeat"]
    assert kinds["decision"] + kinds["cost"] == ["DecisionCurve", "CostLines"]
    assert diagrams_of("cost", test)[0].after is None
    assert len(diagrams_of("panels", test, method="platt")) == 1
    with pytest.raises(InvalidInput, match="'before-after' needs rows to fit on"):
        diagrams_of("before-after", test)
    with pytest.raises(UnknownName, match="Did you mean 'panels'"):
        diagrams_of("panel", test)


def test_a_decision_curve_ends_where_it_leaves_the_panel():
    rng = np.random.default_rng(0)
    scores = rng.random(3000)
    test = Predictions(scores, rng.random(3000) < 0.1 * scores, kind="probs")  # far too high
    (panel,) = panels_of(diagrams_of("decision", test)[0])
    all_rows, act = (mark for mark in panel.marks if isinstance(mark, Line))
    for line in (all_rows, act):
        assert line.y[-1] == pytest.approx(panel.y.low)
        assert (line.y[:-1] > panel.y.low).all()
        assert line.x[-1] < 0.5 * panel.x.high
    with pytest.raises(InvalidInput, match="all 3,000 outcomes are 0"):
        diagrams_of("decision", Predictions(scores, np.zeros(3000), kind="probs"))


def test_groups_are_sorted_by_what_is_sure_of_their_error(tmp_path):
    rng = np.random.default_rng(0)
    scores, names = rng.random(6000), rng.integers(0, 40, 6000)
    hits = rng.random(6000) < np.where(names < 3, scores**2, scores)
    found = measure_groups(Predictions(scores, hits, kind="probs"), {"site": names})
    shown = group_diagram(found)
    assert (shown.by, len(shown.names), shown.more) == ("site", 30, 10)
    assert set(shown.names[:3]) == {"0", "1", "2"}
    assert list(shown.low) == sorted(shown.low, reverse=True)
    assert shown.off.sum() == len(found.off)
    save_figure(figure(shown), tmp_path / "groups.svg")
    text = (tmp_path / "groups.svg").read_text()
    assert "KS error by site" in text
    assert "10 more groups are not shown" in panels_of(shown)[0].alt
    with pytest.raises(InvalidInput, match="needs groups"):
        diagrams_of("groups", Predictions(scores, hits, kind="probs"))
