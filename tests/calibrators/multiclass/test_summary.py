"""Summaries describe the map that is applied."""

import pickle

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.naive_bayes import GaussianNB

from ogive import CalibratedClassifier, SplineCalibrator


def sample(rng, scale, n=2000):
    z = scale * rng.normal(size=(n, 4))
    return z, (z / scale + rng.gumbel(size=z.shape)).argmax(axis=1)


@pytest.mark.parametrize("way", ["keep", "free", "ranks", "ovr", "every-rank"])
def test_what_is_told_is_what_is_applied(way, rng):
    z, y = sample(rng, 4.0)
    cal = SplineCalibrator(multiclass=way)
    told = cal.fit(z, y).summary()
    top = z.argmax(axis=1)
    p = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
    change = (cal.predict_proba(z) - p)[np.arange(top.size), top]
    assert told.shift == pytest.approx(change.mean(), abs=1e-12)
    assert told.moved == pytest.approx(np.abs(change).mean(), abs=1e-12)
    assert told.direction == "overconfident"
    assert told.leave_alone is False
    assert ": calibrate." in repr(told)


@pytest.mark.parametrize("way", ["keep", "free"])
def test_calibrated_models_are_left_alone(way, rng):
    told = SplineCalibrator(multiclass=way).fit(*sample(rng, 1.0)).summary()
    assert told.leave_alone is True
    assert "Leave it alone" in repr(told)


def test_a_classifier_has_a_summary():
    X, y = make_classification(600, random_state=0)
    two = CalibratedClassifier(GaussianNB()).fit(X, y)
    told = two.summary()
    assert told.gain == two.maps_[0].maps[0].summary().gain
    assert told.decision == "calibrate"
    assert told.gain.verdict.removeprefix("Cross-validated log loss") in told.verdict
    platt = CalibratedClassifier(GaussianNB(), method="platt").fit(X, y).summary()
    assert platt.leave_alone is False
    assert "Cross-validated log loss of whole vectors falls" in repr(platt)
    assert len(CalibratedClassifier(GaussianNB(), ensemble=True, cv=3).fit(X, y).summaries()) == 3
    X, y = make_classification(600, n_informative=5, n_classes=3, random_state=0)
    three = CalibratedClassifier(GaussianNB()).fit(X, y).summary()
    assert three.view == "vector"
    assert three.log_loss_after < three.log_loss_before


def test_a_calibrated_model_with_few_rows_is_not_said_to_lose_what_it_gains(rng):
    # A correction by degrees of freedom took 0.03 too much off the gain of these rows.
    z, y = sample(rng, 1.6, n=400)
    told = SplineCalibrator().fit(z, y).summary()
    new, labels = sample(rng, 1.6, n=20_000)
    p = np.exp(new) / np.exp(new).sum(axis=1, keepdims=True)
    q = SplineCalibrator().fit(z, y).predict_proba(new)
    at = (np.arange(labels.size), labels)
    true = np.log(q[at] / p[at]).mean()
    assert true > 0.01
    assert told.log_loss_before - told.log_loss_after == pytest.approx(true, abs=0.025)
    assert told.decision == "calibrate"


def test_rows_are_not_pickled_and_a_verdict_is(rng):
    cal = SplineCalibrator().fit(*sample(rng, 3.0))
    early = pickle.dumps(cal)
    assert len(early) < 100_000  # the rows are 64 kB and more each way
    assert pickle.loads(early).summary().decision is None  # noqa: S301
    told = cal.summary()
    assert told.decision == "calibrate"
    assert pickle.loads(pickle.dumps(cal)).summary() == told  # noqa: S301
