"""Full vectors against scikit-learn's CalibratedClassifierCV, on the same model and rows."""

import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import make_classification
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold

from ogive import CalibratedClassifier, Curve, Predictions, SplineCalibrator, fit_multiclass


def fitted(K):
    X, y = make_classification(3000, n_features=10, n_informative=6, n_classes=K, random_state=1)
    return LogisticRegression().fit(X[:500], y[:500]), X[500:], y[500:]


@pytest.mark.parametrize(
    ("ours", "theirs", "within"), [("platt", "sigmoid", 1e-3), ("isotonic", "isotonic", 1e-6)]
)
def test_two_classes(ours, theirs, within):
    model, X, y = fitted(2)
    cv = StratifiedKFold(2)
    a = CalibratedClassifier(FrozenEstimator(model), method=ours).fit(X, y)
    b = CalibratedClassifierCV(FrozenEstimator(model), method=theirs, cv=cv, ensemble=False).fit(
        X, y
    )
    # Between rows isotonic is straight in the score here and in the decision value there, but at
    # the rows themselves they are equal, up to the 32 bits that a tail from logits has.
    np.testing.assert_allclose(a.predict_proba(X), b.predict_proba(X), atol=within)


@pytest.mark.parametrize(
    ("ours", "theirs", "within"),
    # scikit-learn's sigmoid aims at (n+1)/(n+2) and 1/(n+2), as Platt did, not at 1 and 0.
    [("isotonic", "isotonic", 1e-6), ("platt", "sigmoid", 2e-3)],
)
def test_one_against_the_rest(ours, theirs, within):
    # scikit-learn calibrates each column of the decision function as it is; here a column is the
    # log-odds of its class against all others, so give a model whose columns are such already.
    model, X, y = fitted(3)
    z = model.decision_function(X)
    eta = np.stack([z[:, k] - np.logaddexp(z[:, k - 1], z[:, k - 2]) for k in range(3)], axis=1)

    class LogOdds(LogisticRegression):
        def decision_function(self, X):
            return eta

    other = LogOdds().fit(X, y)
    b = CalibratedClassifierCV(
        FrozenEstimator(other), method=theirs, cv=[(np.arange(len(y)),) * 2], ensemble=True
    ).fit(X, y)
    preds = Predictions(z, y, kind="logits")
    a = fit_multiclass(preds, ours, multiclass="ovr", rescale=False)(preds)
    np.testing.assert_allclose(a, b.predict_proba(X), atol=within)


def test_tensors_and_frames_of_other_libraries_go_in():
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(300, 3)) * 3
    labels = (logits / 2 + rng.gumbel(size=(300, 3))).argmax(axis=1)
    plain = SplineCalibrator(multiclass="ranks").fit(logits, labels).predict_proba(logits)
    torch = pytest.importorskip("torch")
    polars = pytest.importorskip("polars")
    others = [
        (torch.from_numpy(logits), torch.from_numpy(labels)),
        (polars.DataFrame(logits, schema=["z0", "z1", "z2"]), polars.Series(labels)),
    ]
    for X, y in others:
        found = SplineCalibrator(multiclass="ranks").fit(X, y).predict_proba(X)
        assert isinstance(found, np.ndarray)
        np.testing.assert_array_equal(found, plain)
        np.testing.assert_array_equal(
            np.asarray(Curve.from_predictions(Predictions(X, y, kind="logits")).score),
            Curve.from_predictions(Predictions(logits, labels, kind="logits")).score,
        )
