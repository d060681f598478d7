"""Full vectors by class structure: free, and keeping the decision."""

import copy
import pickle
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ogive import Predictions, SplineCalibrator
from ogive.calibrators.multiclass.free import fit_free, fit_kept
from ogive.calibrators.multiclass.top_class import kept_log_odds, masses_of, split_top
from ogive.errors import FallbackWarning, InvalidInput, OgiveWarning
from tests import naive

FITS = [fit_free, fit_kept]


def softmax(z):
    e = np.exp(z - z.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def nll(q, labels):
    return -np.log(q[np.arange(labels.size), labels]).mean()


def sample(rng, n=2000, K=5, shift=0.0, factor=1.0):
    """Logits of a model that knows something, and labels of a truth with other class shares."""
    z = 1.5 * rng.normal(size=(n, K))
    z[np.arange(n), rng.integers(0, K, n)] += 4.0
    truth = z + shift * np.linspace(-1, 1, K)
    labels = (truth + rng.gumbel(size=z.shape)).argmax(axis=1)
    return factor * z, labels, softmax(truth)


@pytest.mark.parametrize("fit", FITS)
def test_shares_of_classes_are_learnt(fit, rng):
    z, y, _ = sample(rng, n=5000, shift=1.0, factor=2.0)
    test, labels, truth = sample(rng, n=5000, shift=1.0, factor=2.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OgiveWarning)  # the decision of "keep" is poor here
        gamma = fit(Predictions(z, y, kind="logits"))
    q = gamma(Predictions(test, kind="logits"))
    excess = nll(q, labels) - nll(truth, labels)
    assert excess < (0.01 if fit is fit_free else 0.04)
    assert nll(softmax(test / 2.0), labels) - nll(truth, labels) > 0.08


@pytest.mark.parametrize("fit", FITS)
@pytest.mark.parametrize(("n", "limit"), [(1000, 0.008), (5000, 0.002)])
def test_calibrated_vectors_are_nearly_left_alone(fit, n, limit):
    excess = []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        z, y, _ = sample(rng, n=n, K=10)
        test, labels, truth = sample(rng, n=4000, K=10)
        q = fit(Predictions(z, y, kind="logits"))(Predictions(test, kind="logits"))
        excess.append(nll(q, labels) - nll(truth, labels))
    assert np.mean(excess) < limit


def test_a_poor_decision_is_said(rng):
    z, y, _ = sample(rng, shift=2.0)
    preds = Predictions(z, y, kind="logits")
    with pytest.warns(OgiveWarning, match=r"right \d+\.\d % more often.*multiclass='free'"):
        gamma = fit_kept(preds)
    assert gamma.held > 0.05
    assert gamma.lost > 0.01
    assert "held=" in repr(gamma)
    free = fit_free(preds)
    hits = free(preds).argmax(axis=1) == y
    assert hits.mean() - (z.argmax(axis=1) == y).mean() > 0.01
    assert free.changed == pytest.approx(gamma.held, abs=0.02)


def test_a_good_decision_is_not_complained_of(rng):
    z, y, _ = sample(rng)
    assert fit_kept(Predictions(z, y, kind="logits")).held < 0.1  # warnings are errors here


@pytest.mark.parametrize("fit", FITS)
def test_the_decision_survives_float32(fit, rng):
    z, y, _ = sample(rng, K=4, factor=0.3)
    z[::7, :2] = z[::7, :2].max(axis=1, keepdims=True)  # ties go to the lowest index
    preds = Predictions(z, y, kind="logits")
    q = fit(preds)(preds)
    assert (q.astype(np.float32).argmax(axis=1) == q.argmax(axis=1)).all()
    if fit is fit_kept:
        assert (q.argmax(axis=1) == z.argmax(axis=1)).all()
    np.testing.assert_allclose(q.sum(axis=1), 1.0, atol=1e-12)
    assert (q > 0).all()


@pytest.mark.parametrize("fit", FITS)
def test_minus_infinity_and_a_class_never_seen(fit, rng):
    z, y, _ = sample(rng, K=6)
    z[rng.random(z.shape) < 0.2] = -np.inf
    z[np.arange(2000), y] = np.where(np.isfinite(z[np.arange(2000), y]), z[np.arange(2000), y], 0.0)
    y = np.where(y == 5, 0, y)
    preds = Predictions(z, y, kind="logits")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OgiveWarning)
        q = fit(preds)(preds)
    assert np.isfinite(q).all()
    np.testing.assert_allclose(q.sum(axis=1), 1.0, atol=1e-12)
    if fit is fit_free:
        assert q[:, 5].mean() < 0.02


@pytest.mark.parametrize("fit", FITS)
@pytest.mark.parametrize("K", [2, 3])
def test_perfect_and_one_hot_rows(fit, K, rng):
    labels = rng.integers(0, K, 500)
    for preds in (
        Predictions(20.0 * np.eye(K)[labels], labels, kind="logits"),
        Predictions(np.eye(K)[labels], labels, kind="probs"),
    ):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FallbackWarning)  # two distinct scores
            q = fit(preds)(preds)
        assert q[np.arange(500), labels].min() > 0.98
        np.testing.assert_allclose(q.sum(axis=1), 1.0, atol=1e-12)


@pytest.mark.parametrize("fit", FITS)
def test_few_rows_get_a_temperature(fit, rng):
    z, y, _ = sample(rng, n=30)
    preds = Predictions(z, y, kind="logits")
    with pytest.warns(FallbackWarning, match="30 rows are too few to learn class effects"):
        gamma = fit(preds)
    assert not gamma.structure.to_logs.any()
    assert (gamma.structure.logs == 1.0).all()


@pytest.mark.parametrize("fit", FITS)
def test_sampling_weights_have_no_scale(fit, rng):
    z, y, _ = sample(rng, n=600)
    weights = rng.uniform(0.2, 3.0, 600)

    def fitted(scale):
        kind = "sampling"
        return fit(
            Predictions(z, y, kind="logits", sample_weight=scale * weights, weight_kind=kind)
        )

    fresh = Predictions(z, kind="logits")
    np.testing.assert_allclose(fitted(1.0)(fresh), fitted(1000.0)(fresh), atol=1e-9)


@pytest.mark.parametrize("fit", FITS)
def test_the_same_again_and_in_any_order(fit, rng):
    z, y, _ = sample(rng, n=700, K=6)
    order = rng.permutation(700)
    gamma = fit(Predictions(z, y, kind="logits"))
    assert fit(Predictions(z, y, kind="logits")) == gamma
    again = fit(Predictions(z[order], y[order], kind="logits"))
    fresh = Predictions(z, kind="logits")
    np.testing.assert_allclose(again(fresh), gamma(fresh), atol=1e-9)
    assert pickle.loads(pickle.dumps(gamma)) == gamma  # noqa: S301 - our own
    np.testing.assert_array_equal(copy.deepcopy(gamma)(fresh), gamma(fresh))


@pytest.mark.parametrize("fit", FITS)
def test_many_classes_in_float32_agree_with_float64(fit, rng):
    z, y, _ = sample(rng, n=1500, K=40)
    gamma = fit(Predictions(z, y, kind="logits"))
    wide, narrow = (
        gamma(Predictions(z.astype(t), kind="logits")) for t in (np.float64, np.float32)
    )
    np.testing.assert_allclose(narrow, wide, atol=2e-5)


@given(st.integers(2, 6), st.integers(0, 199))
def test_pooling_equals_the_slow_definition(K, seed):
    rng = np.random.default_rng(seed)
    scores = 2.0 * rng.normal(size=(20, K))
    top = rng.integers(0, K, 20)
    p = softmax(scores)
    masses = np.empty(scores.shape)
    masses_of(scores.copy(), masses)
    own, rest = split_top(masses, top)
    log_odds, pooled = kept_log_odds(own, masses, rest)
    for row, a, eta, moved in zip(p, top, log_odds, pooled, strict=True):
        level = naive.pooled(row, a)[a]
        assert 1.0 / (1.0 + np.exp(-eta)) == pytest.approx(level, rel=1e-10)
        assert moved == (row[a] < row.max())
        assert naive.pooled(row, a).sum() == pytest.approx(1.0)


def test_what_cannot_be_is_refused(rng):
    z, y, _ = sample(rng, n=100)
    preds = Predictions(z, y, kind="logits")
    for fit in FITS:
        with pytest.raises(InvalidInput, match="is for method='spline', not 'platt'"):
            fit(preds, "platt")
        with pytest.raises(InvalidInput, match="has no labels"):
            fit(Predictions(z, kind="logits"))
        with pytest.raises(InvalidInput, match="one column"):
            fit(Predictions(z[:, 0], y > 0, kind="logits"))
        with pytest.raises(InvalidInput, match="3 classes, but the calibrator was fitted on 5"):
            fit(preds)(Predictions(z[:, :3], kind="logits"))


def test_the_estimator_knows_the_ways(rng):
    z, y, _ = sample(rng, n=300)
    for vector, name in (("keep", "KeptMap"), ("free", "FreeMap"), ("ranks", "RanksMap")):
        cal = SplineCalibrator(multiclass=vector).fit(z, y)
        assert type(cal.map_).__name__ == name
        assert cal.predict_proba(z).shape == z.shape


@pytest.mark.parametrize("fit", FITS)
def test_a_few_rows_that_are_all_right_do_no_harm(fit):
    rng = np.random.default_rng(44)

    def draw(n):
        z = 20 * rng.normal(size=(n, 3))  # the true logits
        return z, (z + rng.gumbel(size=z.shape)).argmax(axis=1)

    z, y = draw(100)
    test, labels = draw(20_000)
    assert (z.argmax(axis=1) == y).all()
    q = fit(Predictions(z, y, kind="logits"))(Predictions(test, kind="logits"))
    assert q[np.arange(labels.size), labels].min() > 0
    assert nll(q, labels) < nll(softmax(test), labels) + 0.15


@pytest.mark.parametrize("fit", FITS)
def test_rounding_and_shifted_logits_change_nothing(fit, rng):
    z, y, _ = sample(rng, n=600, shift=0.7)
    test = Predictions(z[:50], kind="logits")
    first = fit(Predictions(z, y, kind="logits"))(test)
    for other in (z + 0.1, z * (1 + 1e-15)):
        np.testing.assert_allclose(
            fit(Predictions(other, y, kind="logits"))(test), first, atol=1e-6
        )


@pytest.mark.parametrize("fit", FITS)
@pytest.mark.parametrize("n", [1, 2, 10, 30, 100, 400])
def test_rows_that_are_all_right_are_not_mistrusted(fit, n, rng):
    z = 2.0 * rng.normal(size=(n, 3))
    z[np.arange(n), rng.integers(0, 3, n)] += 5.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FallbackWarning)
        q = fit(Predictions(z, z.argmax(axis=1), kind="logits"))(Predictions(z, kind="logits"))
    top = q.max(axis=1)
    assert 1.0 - 1.5 / (n + 1) < top.mean() < 1.0 - 0.05 / (n + 1)


@pytest.mark.parametrize("n", [1, 2, 10, 30, 100, 400])
def test_rows_that_are_all_wrong_are_not_trusted(n, rng):
    z = 2.0 * rng.normal(size=(n, 3))
    y = (z.argmax(axis=1) + rng.integers(1, 3, n)) % 3
    preds, test = Predictions(z, y, kind="logits"), Predictions(z, kind="logits")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OgiveWarning)
        kept, free = fit_kept(preds)(test), fit_free(preds)(test)
    assert kept.max(axis=1).mean() < 0.45 + 0.4 / n  # no less than 1/3
    assert nll(free, y) < nll(softmax(z), y)
    assert nll(kept, y) < nll(softmax(z), y)


@pytest.mark.parametrize("fit", FITS)
@pytest.mark.parametrize("n", [1, 3, 20, 60, 500])
@pytest.mark.parametrize("K", [2, 3, 7])
def test_order_of_classes_and_rows_and_scale_of_logits_do_not_matter(fit, n, K, rng):
    z, y, _ = sample(rng, n=n, K=K, shift=0.5)
    test, _, _ = sample(rng, n=200, K=K)

    def fitted(z, y, test, **more):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", OgiveWarning)
            gamma = fit(Predictions(z, y, kind="logits", **more))
        return gamma(Predictions(test, kind="logits"))

    first = fitted(z, y, test)
    columns, rows = rng.permutation(K), rng.permutation(n)
    swapped = fitted(z[:, columns], np.argsort(columns)[y], test[:, columns])
    np.testing.assert_allclose(swapped, first[:, columns], atol=1e-9)
    np.testing.assert_allclose(fitted(z[rows], y[rows], test), first, atol=1e-9)
    for scale in (1e-6, 1e-3, 1e3, 1e6):
        np.testing.assert_allclose(fitted(scale * z, y, scale * test), first, atol=1e-9)
    twice = np.repeat(np.arange(n), 2)
    doubled = fitted(z, y, test, sample_weight=np.full(n, 2))
    np.testing.assert_allclose(fitted(z[twice], y[twice], test), doubled, atol=1e-9)


@pytest.mark.parametrize("fit", FITS)
def test_votes_of_few_trees_in_any_order_of_classes(fit, rng):
    truth = rng.dirichlet(np.full(4, 0.5), 400)
    votes = np.array([rng.multinomial(10, p) for p in truth]) / 10
    labels = np.array([rng.choice(4, p=p) for p in truth])
    test = rng.dirichlet(np.ones(4), 100)  # no ties: they go to the first class
    first = fit(Predictions(votes, labels, kind="probs"))(Predictions(test, kind="probs"))
    for columns in ([3, 2, 1, 0], [1, 2, 3, 0]):
        preds = Predictions(votes[:, columns], np.argsort(columns)[labels], kind="probs")
        again = fit(preds)(Predictions(test[:, columns], kind="probs"))
        np.testing.assert_allclose(again, first[:, columns], atol=1e-9)


@pytest.mark.parametrize(("n", "K"), [(400, 20), (1500, 120)])  # in float64; copies in float32
def test_weight_2_of_many_classes_is_the_row_twice_to_the_last_digit(n, K):
    rng = np.random.default_rng(3)
    z = 2.0 * rng.normal(size=(n, K))
    y = (z / 2 + 0.5 * rng.normal(size=K) + rng.gumbel(size=z.shape)).argmax(axis=1)
    fresh = Predictions(2.0 * rng.normal(size=(100, K)), kind="logits")
    times = rng.integers(0, 4, n)
    weighted = fit_free(Predictions(z, y, kind="logits", sample_weight=times))
    at = rng.permutation(np.repeat(np.arange(n), times))
    twice = fit_free(Predictions(z[at], y[at], kind="logits"))
    np.testing.assert_allclose(weighted(fresh), twice(fresh), atol=1e-12)
