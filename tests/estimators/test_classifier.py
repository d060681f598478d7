import numpy as np
import pytest
import sklearn
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, GroupKFold, StratifiedKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import LinearSVC

from ogive import CalibratedClassifier, SplineCalibrator
from ogive.errors import FallbackWarning, InvalidInput, InvalidType, OgiveWarning, UnknownName


def data(n=1200, K=2, seed=0):
    return make_classification(
        n, n_features=12, n_informative=6, n_redundant=4, n_classes=K, flip_y=0.1, random_state=seed
    )


def log_loss(q, y):
    return -np.log(np.maximum(q[np.arange(len(y)), y], 1e-7)).mean()


@pytest.mark.parametrize("K", [2, 4])
@pytest.mark.parametrize("ensemble", [False, True])
@pytest.mark.parametrize(
    "model", [GaussianNB(), LinearSVC(), RandomForestClassifier(30, random_state=0)]
)
def test_probabilities_improve(K, ensemble, model):
    X, y = data(K=K)
    cal = CalibratedClassifier(model, method="platt", ensemble=ensemble).fit(X[:800], y[:800])
    q = cal.predict_proba(X[800:])
    np.testing.assert_allclose(q.sum(axis=1), 1.0, atol=1e-12)
    assert q.shape == (400, K)
    assert len(cal.models_) == len(cal.maps_) == (5 if ensemble else 1)
    if hasattr(model, "predict_proba"):
        raw = clone(model).fit(X[:800], y[:800]).predict_proba(X[800:])
        assert log_loss(q, y[800:]) < log_loss(raw, y[800:]) + 0.01
    assert log_loss(q, y[800:]) < 0.85 * np.log(K)


def test_the_decision_of_many_classes_is_that_of_the_model():
    X, y = data(K=4)
    cal = CalibratedClassifier(LogisticRegression(), method="platt").fit(X, y)
    plain = LogisticRegression().fit(X, y)
    np.testing.assert_array_equal(cal.predict(X), plain.predict(X))


def test_a_fitted_model_is_left_as_it_is():
    X, y = data(K=3)
    model = LogisticRegression().fit(X[:600], y[:600])
    before = model.coef_.copy()
    frozen = CalibratedClassifier(FrozenEstimator(model), method="beta").fit(X[600:], y[600:])
    prefit = CalibratedClassifier(model, method="beta", cv="prefit").fit(X[600:], y[600:])
    np.testing.assert_array_equal(model.coef_, before)
    np.testing.assert_array_equal(frozen.predict_proba(X), prefit.predict_proba(X))
    with pytest.raises(InvalidInput, match="does not know: 7"):
        CalibratedClassifier(model, method="beta", cv="prefit").fit(X, np.where(y == 1, 7, y))
    with pytest.raises(NotFittedError):
        CalibratedClassifier(LogisticRegression(), method="beta", cv="prefit").fit(X, y)


def test_one_calibrator_sees_every_row_out_of_fold():
    X, y = data(n=500)
    cal = CalibratedClassifier(GaussianNB(), method="platt").fit(X, y)
    assert cal.maps_[0].n == 500
    per_fold = CalibratedClassifier(GaussianNB(), method="platt", ensemble=True).fit(X, y)
    assert sum(gamma.n for gamma in per_fold.maps_) == 500


def test_a_model_that_learns_by_heart_is_not_trusted():
    # One neighbour is always right on its own training rows; labels are coins.
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(600, 3)), rng.integers(0, 2, 600)
    cal = CalibratedClassifier(KNeighborsClassifier(1), method="platt").fit(X, y)
    assert np.abs(cal.predict_proba(X) - 0.5).max() < 0.15


def test_order_and_repetition_do_not_matter(rng):
    X, y = data(n=300, K=3)
    w = rng.integers(0, 4, 300)
    weighted = CalibratedClassifier(GaussianNB(), method="platt").fit(X, y, sample_weight=w)
    rows = rng.permutation(np.repeat(np.arange(300), w))
    repeated = CalibratedClassifier(GaussianNB(), method="platt").fit(X[rows], y[rows])
    np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), atol=1e-7)


def test_other_folds_can_be_given():
    X, y = data(n=400)
    splitter = StratifiedKFold(3, shuffle=True, random_state=1)
    a = CalibratedClassifier(GaussianNB(), method="platt", cv=splitter, ensemble=True).fit(X, y)
    b = CalibratedClassifier(
        GaussianNB(), method="platt", cv=list(splitter.split(X, y)), ensemble=True
    )
    np.testing.assert_array_equal(a.predict_proba(X), b.fit(X, y).predict_proba(X))
    assert len(a.models_) == 3


def test_text_goes_through_to_a_model_that_reads_it():
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.pipeline import make_pipeline

    texts = ["good film", "bad film", "good day", "bad day", "very good", "very bad"] * 10
    y = ["pos", "neg"] * 30
    cal = CalibratedClassifier(
        make_pipeline(CountVectorizer(), LogisticRegression()), method="platt"
    )
    cal.fit(texts, y)
    assert cal.predict(["good good"])[0] == "pos"
    assert cal.classes_.tolist() == ["neg", "pos"]


def test_a_class_that_a_fold_has_not_seen():
    X, y = data(n=300, K=3)
    y = y.copy()
    y[np.flatnonzero(y == 2)[1:]] = 0  # one row of class 2 is left
    cal = CalibratedClassifier(GaussianNB(), method="platt").fit(X, y)
    assert cal.predict_proba(X).shape == (300, 3)
    X, y = data(n=100)
    y = np.zeros(100, dtype=int)
    y[3] = 1
    with pytest.raises(InvalidInput, match="fewer than two classes to train on: the class 1"):
        CalibratedClassifier(GaussianNB(), method="platt").fit(X, y)


class NoWeights(ClassifierMixin, BaseEstimator):
    """A model whose fit takes no weights."""

    def fit(self, X, y):
        self.model_ = GaussianNB().fit(X, y)
        self.classes_ = self.model_.classes_
        return self

    def predict_proba(self, X):
        return self.model_.predict_proba(X)

    def predict(self, X):
        return self.model_.predict(X)


def test_weights_reach_the_model_or_a_warning_is_given(rng):
    X, y = data(n=300)
    w = rng.integers(1, 3, 300)
    with pytest.warns(OgiveWarning, match="NoWeights takes no sample_weight"):
        CalibratedClassifier(NoWeights(), method="platt").fit(X, y, sample_weight=w)
    cal = CalibratedClassifier(GaussianNB(), method="platt").fit(X, y, sample_weight=w)
    assert cal.models_[0].class_count_.sum() == w.sum()


def test_metadata_is_routed(rng):
    X, y = data(n=300)
    w, groups = rng.integers(1, 3, 300), rng.integers(0, 30, 300)
    with sklearn.config_context(enable_metadata_routing=True):
        model = GaussianNB().set_fit_request(sample_weight=True)
        cal = CalibratedClassifier(model, method="platt", cv=GroupKFold(4), ensemble=True)
        cal.set_fit_request(sample_weight=True)
        cal.fit(X, y, sample_weight=w, groups=groups)
        assert len(cal.models_) == 4
        assert sum(m.class_count_.sum() for m in cal.models_) == 3 * w.sum()


def of_patients(rng, patients=40, visits=15):
    """Features that tell the patient, and outcomes that visits of one patient share."""
    code = np.repeat(np.arange(patients), visits)
    X = rng.normal(size=(patients, 3))[code] + 0.1 * rng.normal(size=(code.size, 3))
    draw = np.where(rng.random(code.size) < 0.8, rng.random(patients)[code], rng.random(code.size))
    return X, draw < 1 / (1 + np.exp(-X[:, 0])), code


def test_clusters_are_never_split(rng):
    X, y, patient = of_patients(rng)
    forest = RandomForestClassifier(20, random_state=0)
    alone = CalibratedClassifier(forest).fit(X, y)
    found = CalibratedClassifier(forest).fit(X, y, clusters=patient)
    new = rng.normal(size=(200, 3))
    # A copy that saw other visits of a patient knows the outcome, and new patients are not so easy.
    spread = [model.predict_proba(new)[:, 1].std() for model in (alone, found)]
    assert spread[1] < 0.7 * spread[0]


def test_clusters_reach_the_calibrator(rng):
    X, y, patient = of_patients(rng)
    model = LogisticRegression().fit(X, y)
    cal, eta = CalibratedClassifier(FrozenEstimator(model)), model.decision_function(X)
    found = cal.fit(X, y, clusters=patient).predict_interval(X)
    expected = SplineCalibrator().fit(eta, y, clusters=patient).predict_interval(eta)
    np.testing.assert_allclose(found, expected, atol=1e-9)
    assert np.abs(found - cal.fit(X, y).predict_interval(X)).max() > 0.05


def test_with_clusters_order_names_and_copies_make_no_difference(rng):
    X, y, patient = of_patients(rng, visits=4)
    w = rng.integers(0, 3, y.size)
    order = rng.permutation(np.repeat(np.arange(y.size), w))
    cal = CalibratedClassifier(GaussianNB(), "platt", cv=4)
    one = cal.fit(X, y, sample_weight=w, clusters=patient).predict_proba(X)
    names = np.array([f"p{97 * k % 101}" for k in patient])
    two = cal.fit(X[order], y[order], clusters=names[order]).predict_proba(X)
    np.testing.assert_allclose(one, two, atol=1e-7)


def test_clusters_that_do_not_fit_are_refused(rng):
    X, y, patient = of_patients(rng, patients=12)
    cal = CalibratedClassifier(GaussianNB(), "platt", cv=8)
    cal.fit(X, y, clusters=patient)
    with pytest.raises(InvalidInput, match="cv=8 with ensemble=True needs 16 clusters"):
        clone(cal).set_params(ensemble=True).fit(X, y, clusters=patient)
    with pytest.raises(InvalidInput, match=r"cv=13 needs 13 clusters.* 12. Use fewer folds.$"):
        clone(cal).set_params(cv=13).fit(X, y, clusters=patient)
    with pytest.raises(InvalidInput, match="`sample_groups` do not go together"):
        cal.fit(X, y, sample_groups=patient % 2, clusters=patient)
    with pytest.raises(InvalidInput, match="`clusters`"):
        cal.fit(X, y, clusters=patient[1:])
    with pytest.raises(InvalidInput, match="cv=13 needs"):
        cal.set_params(cv=13).fit(X, y, clusters=patient)
    assert cal.summary().n == y.size  # of the fit before; none of the refused rows are kept
    assert {name for name in vars(cal) if name.startswith("_")} == {"_judged"}


def test_groups_stay_together_with_a_splitter_that_keeps_them(rng):
    X, y = data(n=300)
    groups = rng.integers(0, 30, 300)
    cal = CalibratedClassifier(GaussianNB(), method="platt", cv=GroupKFold(5)).fit(
        X, y, groups=groups
    )
    splits = list(GroupKFold(5).split(X, y, groups))
    again = CalibratedClassifier(GaussianNB(), method="platt", cv=splits).fit(X, y)
    assert cal.maps_ == again.maps_
    with pytest.raises(InvalidInput, match=r"`groups` needs a splitter.*cv=5.*GroupKFold"):
        CalibratedClassifier(GaussianNB(), cv=5).fit(X, y, groups=groups)


@pytest.mark.parametrize(
    ("word", "method"),
    [("sigmoid", "platt"), ("Platt", "platt"), ("temperature_scaling", "temperature"),
     ("dirichlet", "dir-odir"), ("isotonic_regression", "isotonic"), ("identity", "none")],
)  # fmt: skip
def test_names_of_other_libraries_are_understood(word, method):
    X, y = data(n=60)
    with pytest.raises(UnknownName, match=f"Did you mean '{method}'"):
        CalibratedClassifier(GaussianNB(), method=word).fit(X, y)


def test_in_a_search_and_with_jobs():
    X, y = data(n=400, K=3)
    search = GridSearchCV(
        CalibratedClassifier(GaussianNB(), method="platt"),
        {"method": ["platt", "isotonic"], "estimator__var_smoothing": [1e-9, 1e-3]},
        scoring="neg_log_loss",
        cv=3,
        error_score="raise",
    ).fit(X, y)
    assert search.best_estimator_.predict_proba(X).shape == (400, 3)
    one, two = (
        CalibratedClassifier(GaussianNB(), method="beta", n_jobs=j).fit(X, y) for j in (1, 2)
    )
    assert one.maps_ == two.maps_


def test_wrong_input_is_refused():
    X, y = data(n=60)
    with pytest.raises(UnknownName, match="Did you mean 'platt'"):
        CalibratedClassifier(GaussianNB(), method="plat").fit(X, y)
    with pytest.raises(InvalidInput, match="one class only"):
        CalibratedClassifier(GaussianNB(), method="platt").fit(X, np.zeros(60))
    with pytest.raises(InvalidType, match="neither"):
        CalibratedClassifier(sklearn.cluster.KMeans(2), method="platt").fit(X, y)
    with pytest.raises(NotFittedError):
        CalibratedClassifier(GaussianNB()).predict(X)


def test_more_folds_than_different_rows_are_refused(rng):
    X, y = rng.normal(size=(9, 1)), np.array([0, 1] * 4 + [0])
    with pytest.raises(InvalidInput, match=r"cv=6 needs a class with 6 different rows.*cv=5"):
        CalibratedClassifier(GaussianNB(), method="platt", cv=6).fit(X, y)
    with pytest.warns(FallbackWarning, match=r"cv=5 needs .* has 4: there are fewer folds"):
        CalibratedClassifier(GaussianNB(), method="platt").fit(X[:8], y[:8])


def test_intervals_of_a_calibrated_classifier():
    X, y = make_classification(400, random_state=0)
    for ensemble in (False, True):
        model = CalibratedClassifier(GaussianNB(), ensemble=ensemble).fit(X, y)
        low, high = model.predict_interval(X).T
        q = model.predict_proba(X)[:, 1]
        assert ((low < q) & (q < high)).all()
    X, y = make_classification(400, n_classes=3, n_informative=4, random_state=0)
    model = CalibratedClassifier(GaussianNB()).fit(X, y)
    low, high = model.predict_interval(X).T
    top = model.predict_proba(X).max(axis=1)
    assert ((low <= top) & (top <= high)).all()
    with pytest.raises(InvalidInput, match="ensemble=False"):
        CalibratedClassifier(GaussianNB(), ensemble=True).fit(X, y).predict_interval(X)
