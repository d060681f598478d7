"""Options and ways in the name of a method: one grammar, understood by every door."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import ogive
from ogive import Curve, Predictions, fit_paper_spline
from ogive.calibrators import METHODS, MULTICLASS, read_method
from ogive.calibrators.multiclass.compose import fit_multiclass
from ogive.calibrators.multiclass.every_rank import fit_every_rank
from ogive.diagrams.graphs import Reliability
from ogive.errors import InvalidInput, UnknownName
from ogive.studies.fitted_on import fitted_on, method_of
from ogive.studies.fitting import fit
from ogive.studies.gain import cross_fitted_gain, gain_of

LONG = "paper-spline:knots=9:runout=parabolic:target=cumulative:constraint=unit+monotone"
OPTIONS = {
    "knots": 9,
    "runout": "parabolic",
    "target": "cumulative",
    "constraint": ("unit", "monotone"),
}


@pytest.fixture
def preds(rng):
    z = 3 * rng.normal(size=(900, 3))
    return Predictions(z, (z / 2 + rng.gumbel(size=z.shape)).argmax(axis=1), kind="logits")


@pytest.fixture
def curve(preds):
    return Curve.from_predictions(preds, "top-1")


def test_every_option_reaches_the_fit(preds, curve):
    expected = fit_paper_spline(curve, **OPTIONS)
    for found in (fit(curve, LONG), fit(preds, LONG, "top-1")):
        assert found.to_dict() == expected.to_dict()
    usual = fit_paper_spline(curve)
    for option, value in OPTIONS.items():
        word = "+".join(value) if option == "constraint" else value
        alone = fit(curve, f"paper-spline:{option}={word}")
        assert alone.to_dict() == fit_paper_spline(curve, **{option: value}).to_dict()
        assert alone.to_dict() != usual.to_dict()


def test_every_door_understands_them(preds, curve, tmp_path):
    knots, q = "paper-spline:knots=14", curve.log_odds
    expected = fit_paper_spline(curve, knots=14).from_log_odds(q)
    graph = Reliability.from_curve(curve, knots)
    usual = Reliability.from_curve(curve, "paper-spline")
    assert not np.array_equal(graph.probability, usual.probability)
    result = ogive.compare(preds, preds, [knots, "paper-spline"], "top-1")
    rows = {row.method: row for row in result.methods}
    np.testing.assert_allclose(rows[knots].brier, np.mean((curve.hits - expected) ** 2), rtol=1e-12)
    assert rows["paper-spline"].brier != rows[knots].brier
    page = ogive.report(preds, cal=preds, methods=["none", knots], view="top-1", method=knots)
    page.save(tmp_path / "page.html")
    assert knots in (tmp_path / "page.html").read_text()
    arrays = {"logits": preds.values, "labels": preds.labels}
    parts = {f"{part}_{key}": arrays[key] for part in ("cal", "test") for key in arrays}
    np.savez(tmp_path / "a.npz", **parts)
    found = ogive.arena(tmp_path, ["none", knots], n_jobs=1)
    assert {one.method for one in found.standings} == {"none", knots}


def test_a_way_and_its_options(preds):
    found = fit(preds, "paper-spline:every-rank:rescale=no:knots=8", "vector")
    plain = fit_every_rank(preds, "paper-spline", rescale=False, knots=8)
    np.testing.assert_array_equal(found(preds), plain(preds))
    assert not np.array_equal(found(preds), fit_every_rank(preds, "paper-spline", knots=8)(preds))
    ranks = fit_multiclass(preds, "platt:ranks:ranks=1")
    assert len(ranks.maps) == 1
    model = ogive.CalibratedClassifier(LogisticRegression(), method="isotonic:ovr", cv=2)
    assert model.fit(preds.values, preds.labels).maps_[0].method == "ovr"


def test_the_artifact_keeps_the_method_and_has_options_as_fields(preds, curve, tmp_path):
    gamma = fit(curve, LONG)
    ogive.save(gamma, tmp_path / "cal.json", fitted_on(curve, gamma, LONG))
    again = ogive.load(tmp_path / "cal.json")
    assert again.method == "paper-spline"
    assert (again.target, again.constraint) == ("cumulative", ("unit", "monotone"))
    assert method_of(again) == LONG
    assert again.spline.runout == "parabolic"
    assert method_of(fit(preds, "paper-spline:ranks:knots=4", "vector")) == "paper-spline:knots=4"


def test_what_it_gains_is_measured_with_the_same_options(curve):
    gamma = fit(curve, "paper-spline:knots=20")
    expected = cross_fitted_gain(curve, "paper-spline", knots=20)
    assert gain_of(curve, gamma).value == expected.value
    assert expected.value != cross_fitted_gain(curve, "paper-spline").value


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("paper-spline:knot=14", r"unknown option of paper-spline 'knot'. Did you mean 'knots'\?"),
        ("paper-spline:knots=2", "knots=2 of a method: knots must be a whole number >= 3"),
        ("paper-spline:knots=six", "knots must be a whole number >= 3"),
        ("paper-spline:runout=parabola", "Did you mean 'parabolic'.* Known: natural, parabolic"),
        ("paper-spline:constraint=unit+flat", "unknown constraint of a method 'flat'"),
        ("paper-spline:rescale=no", "unknown option of paper-spline 'rescale'"),
        ("paper-spline:ovr:rescale=maybe", "unknown rescale of a method 'maybe'.* Known: yes, no"),
        ("paper-spline:knots=6:knots=7", "has 'knots' twice"),
        ("paper-spline:ovr:ranks", "'ovr' is one way. Leave out ':ranks'"),
        ("platt:knots=6", "unknown option of platt 'knots'. Known: none"),
        ("platt:over", "unknown multiclass 'over'"),
        ("temperature:ovr", "temperature makes whole vectors by itself. Leave out ':ovr'"),
        ("splin:free", "Did you mean 'spline'"),
    ],
)
def test_what_is_wrong_is_refused_with_what_is_possible(preds, name, words):
    for door in (read_method, lambda one: fit(preds, one, "vector")):
        with pytest.raises(UnknownName, match=words):
            door(name)


def test_ways_are_refused_where_there_is_one_score(preds, curve):
    for door in (
        lambda name: fit(curve, name),
        lambda name: fit(preds, name, "top-1"),
        lambda name: Reliability.from_curve(curve, name),
        lambda name: cross_fitted_gain(curve, name),
    ):
        with pytest.raises(InvalidInput, match="makes whole vectors: use it with view='vector'"):
            door("spline:free")
    with pytest.raises(InvalidInput, match="Name the view, such as top-1"):
        fit(preds, "spline:score-only", "vector")


def test_every_option_is_a_parameter_of_its_function():
    from inspect import signature

    for method in (*METHODS.values(), *MULTICLASS.values()):
        assert method.options.keys() <= signature(method.fit).parameters.keys()


def test_the_papers_knots_on_its_second_view(arena):
    """0.277 in the paper with 14 knots, and 0.742 with 6."""
    file = arena("paper_resnet110_c10")
    cal, test = (
        Predictions(file[f"{part}_logits"], file[f"{part}_labels"], kind="logits")
        for part in ("cal", "test")
    )
    names = ["paper-spline:knots=14", "paper-spline"]
    found = ogive.compare(cal, test, names, "within-top-2")
    ks = {row.method: 100 * row.ks for row in found.methods}
    assert ks[names[0]] == pytest.approx(0.300, abs=5e-4)
    assert ks[names[1]] == pytest.approx(0.742, abs=5e-4)
