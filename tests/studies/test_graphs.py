import pytest

import ogive
from ogive.errors import InvalidInput, UnknownName
from ogive.studies.graphs import diagrams_of
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
    assert kinds["classes"] == ["ClassHeat"]
    assert kinds["decision"] + kinds["cost"] == ["DecisionCurve", "CostLines"]
    assert diagrams_of("cost", test)[0].after is None
    assert len(diagrams_of("panels", test, method="platt")) == 1
    with pytest.raises(InvalidInput, match="'before-after' needs rows to fit on"):
        diagrams_of("before-after", test)
    with pytest.raises(UnknownName, match="Did you mean 'panels'"):
        diagrams_of("panel", test)
