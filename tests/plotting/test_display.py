import numpy as np
import pytest

import ogive
from ogive import Curve, CurveDisplay
from ogive.errors import InvalidInput, InvalidType, UnknownName

Figure = pytest.importorskip("matplotlib.figure").Figure


def test_from_predictions(rng):
    p = rng.random(400)
    y = rng.random(400) < p
    display = CurveDisplay.from_predictions(y, p, name="a model")
    assert display.curve == Curve.from_scores(p, y)
    assert display.ax_.get_title(loc="left").startswith("a model: KS")
    assert display.figure_ is display.ax_.figure
    assert display._repr_png_().startswith(b"\x89PNG")
    ax = Figure().subplots()
    again = CurveDisplay.from_predictions(y, p, ax=ax, graph="bins")
    assert again.ax_ is ax
    assert again.artists_


def test_from_estimator(rng):
    from sklearn.linear_model import LogisticRegression

    X = rng.standard_normal((300, 2))
    y = np.where(X[:, 0] + rng.standard_normal(300) > 0, "yes", "no")
    model = LogisticRegression().fit(X, y)
    display = CurveDisplay.from_estimator(model, X, y, graph="reliability", method="platt")
    assert display.curve.view == "class-1"  # the positive class, as scikit-learn has it
    assert display.name == "LogisticRegression"
    expected = Curve.from_scores(model.predict_proba(X)[:, 1], y == "yes")
    assert ogive.ks_error(display.curve) == pytest.approx(ogive.ks_error(expected))
    with pytest.raises(InvalidType, match="must have predict_proba, and int has not"):
        CurveDisplay.from_estimator(3, X, y)


def test_matrices_are_drawn_by_their_top_class(rng):
    logits = rng.standard_normal((200, 4))
    display = CurveDisplay.from_predictions(rng.integers(0, 4, 200), logits, kind="logits")
    assert display.curve.view == "top-1"


def test_an_unknown_graph():
    curve = Curve.from_scores([0.2, 0.7], [0, 1])
    with pytest.raises(UnknownName, match="Did you mean 'reliability'"):
        CurveDisplay(curve, graph="reliabilty")
    with pytest.raises(InvalidInput, match="`y_prob` is a matrix of 3 columns: pass kind"):
        CurveDisplay.from_predictions([0, 1], np.full((2, 3), 1 / 3))


@pytest.fixture
def rows(rng):
    p = rng.random(500)
    return (rng.random(500) < p**2).astype(int), p


def test_bins_are_those_of_scikit_learn(rows):
    """The arguments of CalibrationDisplay give its numbers, empty bins left out."""
    from sklearn.calibration import CalibrationDisplay

    y, p = rows
    for how in ({"n_bins": 7}, {"n_bins": 4, "strategy": "quantile"}, {"strategy": "uniform"}):
        theirs = CalibrationDisplay.from_predictions(
            y, p, **{"n_bins": 15} | how, ax=Figure().subplots()
        )
        ours = CurveDisplay.from_predictions(y, p, **how, ax=Figure().subplots())
        assert ours.graph == "reliability"
        np.testing.assert_allclose(ours.prob_true, theirs.prob_true)
        np.testing.assert_allclose(ours.prob_pred, theirs.prob_pred)


def test_the_positive_label(rows):
    y, p = rows
    words = np.where(y == 1, "yes", "no")
    expected = Curve.from_scores(p, y)
    display = CurveDisplay.from_predictions(words, p, pos_label="yes")
    assert display.curve == expected
    both = np.column_stack([1 - p, p])
    display = CurveDisplay.from_predictions(words, both, kind="probs", pos_label="no")
    assert display.curve.view == "class-0"
    assert ogive.ks_error(display.curve) == pytest.approx(ogive.ks_error(1 - p, y == 0))
    for data in (p, both):
        with pytest.raises(InvalidInput, match="`pos_label` 'maybe' is no label here: 'no', 'yes'"):
            CurveDisplay.from_predictions(words, data, kind="probs", pos_label="maybe")
    with pytest.raises(InvalidInput, match="give one of them"):
        CurveDisplay.from_predictions(words, both, kind="probs", pos_label="no", view="class-1")


@pytest.mark.parametrize("graph", ["difference", "reliability", "bins"])
def test_several_models_share_an_axes(rows, graph):
    y, p = rows
    ax = Figure().subplots()
    displays = [
        CurveDisplay.from_predictions(y, q, graph=graph, method="platt", name=name, ax=ax)
        for name, q in (("$a", p), ("b", p**2), ("c", p**3))
    ]
    colours = {display.line_.get_color() for display in displays}
    assert len(colours) == 3
    names = [text.get_text() for text in ax.get_legend().get_texts()]
    assert names == ["$a", "b", "c"]
    assert not ax.get_title(loc="left")
    assert not ax.texts
    low, high = ax.get_ylim()
    for display in displays:
        height = np.asarray(display.line_.get_ydata(), float)
        assert low <= height.min()
        assert height.max() <= high
    ax.figure.canvas.draw()


def test_lines_take_the_properties_of_matplotlib(rows):
    y, p = rows
    how = {"graph": "reliability", "method": "platt", "color": "purple", "linestyle": ":"}
    line = CurveDisplay.from_predictions(y, p, **how, label="mine").line_
    assert (line.get_color(), line.get_linestyle(), line.get_label()) == ("purple", ":", "mine")


@pytest.mark.parametrize("graph", ["difference", "reliability", "bins"])
def test_the_reference_can_be_left_out(rows, graph):
    y, p = rows

    def straight(ref_line):
        display = CurveDisplay.from_predictions(y, p, graph=graph, ref_line=ref_line)
        words = [text.get_text() for text in display.ax_.texts]
        return sum(len(line.get_xdata()) == 2 for line in display.ax_.get_lines()), words

    with_it, without = straight(True), straight(False)
    assert with_it[0] > without[0] == 0
    assert "- - perfect calibration" not in without[1]


def test_what_does_not_apply_is_refused(rows):
    y, p = rows
    with pytest.raises(InvalidInput, match="do not apply to the graph 'difference'"):
        CurveDisplay.from_predictions(y, p, graph="difference", n_bins=5)
    with pytest.raises(UnknownName, match="Did you mean 'quantile'"):
        CurveDisplay.from_predictions(y, p, strategy="quantil")
