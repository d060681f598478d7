"""Temperature scaling elsewhere: equal where it is right, and beaten where it is not."""

import warnings

import numpy as np
import pytest
from scipy.special import log_softmax, softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.frozen import FrozenEstimator

from ogive import Predictions, fit_temperature
from tests.bundled import DEMO


class Logits(ClassifierMixin, BaseEstimator):
    """A model whose decision function is its input."""

    def fit(self, X, y):
        self.classes_ = np.arange(X.shape[1])
        return self

    def decision_function(self, X):
        return X

    def predict(self, X):
        return X.argmax(axis=1)


class Probs(Logits):
    """A model whose probabilities are its input."""

    decision_function = None

    def predict_proba(self, X):
        return X


def of_scikit_learn(values, labels, model=Logits, new=None):
    """The calibrated probabilities of scikit-learn's temperature scaling, on the same rows."""
    pytest.importorskip("sklearn", minversion="1.8")
    frozen = FrozenEstimator(model().fit(values, labels))
    calibrated = CalibratedClassifierCV(frozen, method="temperature").fit(values, labels)
    return calibrated.predict_proba(values if new is None else new)


def of_netcal(probs, labels):
    scaling = pytest.importorskip("netcal.scaling")
    method = scaling.TemperatureScaling()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it uses deprecated parts of what it is built on
        method.fit(probs, labels)
        out = method.transform(probs)
    return np.stack([1 - out, out], axis=1) if out.ndim == 1 else out


def loss(p, labels):
    p = np.asarray(p, dtype=float)
    return -np.log(np.maximum(p[np.arange(labels.size), labels], 1e-300)).mean()


def sample(rng, n, K, T):
    logits = 2.0 * T * rng.normal(size=(n, K))
    return logits, (logits / T + rng.gumbel(size=(n, K))).argmax(axis=1)


@pytest.mark.parametrize("T", [0.1, 1.0, 5.0, 30.0])
@pytest.mark.parametrize("K", [3, 20])
def test_scikit_learn_finds_the_same_from_logits(rng, T, K):
    logits, labels = sample(rng, 2000, K, T)
    ours = fit_temperature(Predictions(logits, labels, kind="logits"))
    theirs = of_scikit_learn(logits, labels)
    p = softmax(ours.factor * logits, axis=1)
    np.testing.assert_allclose(p, theirs, atol=2e-4)
    assert loss(p, labels) <= loss(theirs, labels) + 1e-12


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_few_digits_lose_to_scikit_learn_nowhere(rng, dtype):
    logits, labels = sample(rng, 3000, 10, 30.0)
    logits = logits.astype(dtype)
    ours = fit_temperature(Predictions(logits, labels, kind="logits"))
    z = logits.astype(float)
    theirs = of_scikit_learn(logits.astype(np.float32), labels)
    assert loss(softmax(ours.factor * z, axis=1), labels) <= loss(theirs, labels) + 1e-7


def test_logits_near_572(rng):
    logits, labels = sample(rng, 2000, 10, 3.0)
    far = (logits + 572.0).astype(np.float32)
    ours = fit_temperature(Predictions(far, labels, kind="logits"))
    p = softmax(ours.factor * far.astype(float), axis=1)
    assert loss(p, labels) <= loss(of_scikit_learn(far, labels), labels) + 1e-7
    near = fit_temperature(Predictions(logits, labels, kind="logits"))
    assert ours.factor == pytest.approx(near.factor, rel=1e-4)


def test_55403_exact_zeros(arena):
    file = arena("cleanlab_20news")
    cal, test = (
        Predictions(file[f"{part}_probs"], file[f"{part}_labels"].astype(int), kind="probs")
        for part in ("cal", "test")
    )
    assert (test.values == 0).sum() == 55_403
    gamma = fit_temperature(cal)
    for part in (cal, test):
        theirs = of_scikit_learn(cal.values, cal.labels, Probs, part.values)
        assert loss(gamma(part), part.labels) < loss(theirs, part.labels) - 0.01


def test_exact_zeros_of_half_precision():
    with np.load(DEMO) as file:
        z, labels = file["test_logits"].astype(float), file["test_labels"]
    probs = softmax(z, axis=1).astype(np.float16).astype(float)
    probs /= probs.sum(axis=1, keepdims=True)
    assert (probs == 0).mean() > 0.1
    ours = fit_temperature(Predictions(probs, labels, kind="probs"))
    theirs = of_scikit_learn(probs, labels, Probs)
    assert loss(ours(Predictions(probs, kind="probs")), labels) < loss(theirs, labels) - 0.001


@pytest.mark.parametrize("K", [2, 10])
def test_netcal_finds_the_same_from_probabilities_that_do_not_saturate(rng, K):
    logits, labels = sample(rng, 3000, K, 1.5)
    probs = softmax(logits, axis=1)
    theirs = of_netcal(probs[:, 1] if K == 2 else probs, labels)
    preds = Predictions(probs, labels, kind="probs")
    ours = fit_temperature(preds)(preds)
    assert loss(ours, labels) <= loss(theirs, labels) + 1e-7
    np.testing.assert_allclose(ours, theirs, atol=0.01)


def test_netcal_loses_what_probabilities_round_away_and_logits_keep(rng):
    logits, labels = sample(rng, 3000, 10, 30.0)
    probs = softmax(logits, axis=1).astype(np.float32)
    theirs = of_netcal(probs, labels)
    ours = fit_temperature(Predictions(logits, labels, kind="logits"))
    p = softmax(ours.factor * logits, axis=1)
    best = -log_softmax(logits / 30.0, axis=1)[np.arange(3000), labels].mean()
    assert loss(p, labels) <= best
    assert loss(theirs, labels) > best + 0.05
