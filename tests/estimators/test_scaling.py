import pickle
import warnings

import numpy as np
import pytest
from sklearn.base import clone

import ogive
from ogive import (
    DirichletCalibrator,
    MatrixCalibrator,
    Predictions,
    TemperatureCalibrator,
    VectorCalibrator,
)

GRID = dict(strengths=[0.01, 1.0], offset_strengths=[0.1])
ALL = [
    TemperatureCalibrator(),
    VectorCalibrator(),
    MatrixCalibrator(**GRID),
    DirichletCalibrator(**GRID),
]


def sample(rng, n=300, K=3):
    logits = 3.0 * rng.normal(size=(n, K))
    return logits, (logits / 2 + [0.0, 0.5, 0.0] + rng.gumbel(size=(n, K))).argmax(axis=1)


@pytest.mark.parametrize("estimator", ALL, ids=lambda e: type(e).__name__)
def test_fit_predict_save_and_load(rng, tmp_path, estimator):
    logits, labels = sample(rng)
    names = np.array(["bird", "cat", "dog"])[labels]
    cal = clone(estimator).fit(logits, names)
    p = cal.predict_proba(logits)
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    assert (cal.predict(logits) == cal.classes_[p.argmax(axis=1)]).all()
    assert list(cal.classes_) == ["bird", "cat", "dog"]
    assert (pickle.loads(pickle.dumps(cal)).predict_proba(logits) == p).all()  # noqa: S301
    ogive.save(cal.map_, tmp_path / "cal.json")
    loaded = ogive.load(tmp_path / "cal.json")
    assert (loaded(Predictions(logits, kind="logits")) == p).all()


@pytest.mark.parametrize("estimator", ALL, ids=lambda e: type(e).__name__)
def test_it_lowers_the_loss_on_fresh_rows(rng, estimator):
    logits, labels = sample(rng, n=2000)
    cal = clone(estimator).fit(logits[:1000], labels[:1000])
    fresh, true = logits[1000:], labels[1000:]
    plain = Predictions(fresh, kind="logits").probabilities()
    loss = [-np.log(p[np.arange(1000), true]).mean() for p in (cal.predict_proba(fresh), plain)]
    assert loss[0] < loss[1]


def test_each_uses_its_own_method(rng):
    logits, labels = sample(rng)
    methods = [clone(e).fit(logits, labels).map_.method for e in ALL]
    assert methods == ["temperature", "vector", "ms-odir", "dir-odir"]


def test_the_temperature_is_public_and_keeps_the_decision(rng):
    logits, labels = sample(rng)
    cal = TemperatureCalibrator().fit(logits, labels)
    assert cal.temperature_ == cal.map_.temperature
    assert (cal.predict(logits) == logits.argmax(axis=1)).all()


def test_random_state_takes_all_of_scikit_learns_kinds(rng):
    logits, labels = sample(rng)

    def fitted(state):
        return MatrixCalibrator(**GRID, random_state=state).fit(logits, labels).map_

    assert fitted(3) == fitted(np.int64(3))
    assert fitted(np.random.RandomState(3)) == fitted(np.random.RandomState(3))
    assert fitted(3) != fitted(4)
    assert fitted(None).n == 300


def test_verbose_writes_to_stderr(rng, capsys):
    logits, labels = sample(rng)
    MatrixCalibrator(**GRID, verbose=1).fit(logits, labels)
    seen = capsys.readouterr()
    assert seen.out == ""
    assert "[MatrixCalibrator] fits of the grid: 0 of 15, 0 s\n" in seen.err
    assert "[MatrixCalibrator] fits of the grid: 15 of 15," in seen.err


def test_probabilities_and_weights(rng):
    logits, labels = sample(rng)
    probs = Predictions(logits, kind="logits").probabilities()
    a = TemperatureCalibrator(kind="probs").fit(probs, labels, sample_weight=np.full(300, 2.0))
    b = TemperatureCalibrator().fit(logits, labels)
    assert a.temperature_ == pytest.approx(b.temperature_, rel=1e-9)
    assert a.map_.n == 600


def test_cv_takes_all_of_scikit_learns_kinds(rng):
    from sklearn.model_selection import KFold

    logits, labels = sample(rng)
    splitter = KFold(5, shuffle=True, random_state=15)
    pairs = list(splitter.split(logits))
    number, kfold, listed = (
        MatrixCalibrator(**GRID, cv=cv).fit(logits, labels).map_ for cv in (5, splitter, pairs)
    )
    assert number == kfold == listed


@pytest.mark.parametrize("estimator", ALL, ids=lambda e: type(e).__name__)
def test_scikit_learns_checks_pass_where_their_data_has_a_column_for_each_class(estimator):
    from sklearn.utils.estimator_checks import check_estimator

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = check_estimator(clone(estimator), on_fail=None)
    failed = [r for r in results if r["status"] == "failed"]
    # Some checks give features, more or fewer than there are classes: that is refused.
    other = [r for r in failed if "`labels`" not in str(r["exception"])]
    assert not other, [(r["check_name"], r["exception"]) for r in other]
