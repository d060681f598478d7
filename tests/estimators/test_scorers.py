import pickle

import numpy as np
import pytest
import sklearn
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.model_selection import GridSearchCV, cross_val_score, cross_validate
from sklearn.naive_bayes import GaussianNB

import ogive
from ogive import Curve, Predictions, scorers
from ogive.errors import InvalidInput, InvalidType, UnknownName

WORDS = np.array(["no", "yes", "perhaps"])


def data(classes=2, n=600):
    X, y = make_classification(n, 8, n_informative=5, n_classes=classes, random_state=0)
    return X, WORDS[y]


@pytest.mark.parametrize("name", scorers.LOSSES)
@pytest.mark.parametrize("classes", [2, 3])
def test_every_scorer_works_in_cross_validation(name, classes):
    X, y = data(classes)
    found = cross_val_score(GaussianNB(), X, y, scoring=getattr(scorers, name), cv=3)
    assert found.shape == (3,)
    assert (found < 0).all()


def test_a_scorer_is_minus_the_measure_of_the_second_class():
    X, y = data()
    model = GaussianNB().fit(X[:300], y[:300])
    column = list(model.classes_).index("yes")
    curve = Curve.from_scores(model.predict_proba(X[300:])[:, column], y[300:] == "yes")
    for name, value in (
        ("ks", ogive.ks_error(curve)),
        ("ece", ogive.ece(curve)),
        ("ici", ogive.spline_errors(curve).ici.value),
        ("refinement", ogive.refinement(curve).value),
    ):
        assert getattr(scorers, name)(model, X[300:], y[300:]) == -value


def test_of_several_classes_the_predicted_one_is_scored():
    X, y = data(3)
    model = GaussianNB().fit(X, y)
    preds = Predictions(model.predict_proba(X), y, kind="probs", classes=model.classes_)
    assert scorers.ks(model, X, y) == -ogive.ks_error(Curve.from_predictions(preds, "top-1"))
    assert -scorers.refinement(model, X, y) == pytest.approx(ogive.nll_vector(preds), abs=0.02)


def test_refinement_selects_the_model_that_knows_more_and_ks_does_not():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 2))
    y = rng.random(3000) < 1 / (1 + np.exp(-2.5 * X[:, 0]))

    class Cubed(LogisticRegression):
        """Knows the classes well, and says it badly."""

        def predict_proba(self, X):
            p = super().predict_proba(X)[:, 1] ** 3
            return np.column_stack([1 - p, p])

    good = Cubed().fit(X[:, :1], y)
    blind = LogisticRegression().fit(X[:, 1:], y)
    assert scorers.refinement(good, X[:, :1], y) > scorers.refinement(blind, X[:, 1:], y) + 0.1
    assert scorers.ks(good, X[:, :1], y) < scorers.ks(blind, X[:, 1:], y)


def test_a_search_over_several_scorers():
    X, y = data()
    both = {"refinement": scorers.refinement, "ks": scorers.ks}
    search = GridSearchCV(
        LogisticRegression(), {"C": [1e-4, 1.0]}, scoring=both, refit="refinement", cv=2
    ).fit(X, y)
    assert search.best_params_ == {"C": 1.0}
    assert pickle.loads(pickle.dumps(scorers.ks)).loss == "ks"  # noqa: S301 - our own


def test_weights_by_keyword_and_by_metadata_routing(rng):
    X, y = data()
    model, w = GaussianNB().fit(X, y), rng.integers(1, 4, 600)
    repeated = scorers.ks(model, np.repeat(X, w, axis=0), np.repeat(y, w))
    assert scorers.ks(model, X, y, sample_weight=w) == pytest.approx(repeated, abs=1e-12)
    with sklearn.config_context(enable_metadata_routing=True):
        scorer = scorers.Scorer("ks").set_score_request(sample_weight=True)
        plain = GaussianNB().set_fit_request(sample_weight=False)
        found = cross_validate(plain, X, y, scoring=scorer, params={"sample_weight": w}, cv=3)
    assert not np.allclose(found["test_score"], cross_val_score(plain, X, y, scoring=scorer, cv=3))


def test_what_cannot_be_scored_is_refused():
    X, y = data()
    with pytest.raises(InvalidType, match="must have predict_proba"):
        scorers.ks(RidgeClassifier().fit(X, y), X, y)
    with pytest.raises(UnknownName, match="mce"):
        scorers.Scorer("mce")(GaussianNB().fit(X, y), X, y)
    with pytest.raises(InvalidInput, match="one class only"):
        scorers.ks(GaussianNB().fit(X, ["a"] * 600), X, ["a"] * 600)


def test_a_part_with_one_class_has_a_score():
    X, y = data()
    model = GaussianNB().fit(X, y)
    only = y == "yes"
    assert np.isfinite(scorers.ks(model, X[only], y[only]))
    assert np.isnan(scorers.refinement(model, X[:1], y[:1]))
