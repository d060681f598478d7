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
