"""Clusters in the studies: measure, gate, compare, fit, gain and the decision to calibrate."""

import numpy as np
import pytest
from scipy.stats import skew

import ogive
from ogive import Curve, Predictions
from ogive.calibrators import METHODS
from ogive.errors import InvalidInput
from ogive.studies.fitted_on import fitted_on
from ogive.studies.fitting import fit
from ogive.studies.gate import gate
from ogive.studies.losses import hall_t
from tests import naive


def predictions(seed=0, **how):
    s, y, c = naive.clustered(seed, **how)
    return Predictions(s, y.astype(int), kind="probs", clusters=c)


def test_measure_says_how_many_clusters_and_what_they_are_worth():
    s, y, c = naive.clustered(0, clusters=60, rows=20)
    one = ogive.measure(s, y, clusters=c, resamples=50)
    alone = ogive.measure(s, y, resamples=50)
    found = one.to_dict()
    assert found["clusters"] == 60
    assert found["design_effect"] == pytest.approx(
        naive.design_effect(s, y.astype(float), c), rel=1e-9
    )
    assert f"design effect {found['design_effect']:.2f}" in repr(one)
    assert "1,200 rows in 60 clusters are worth about" in repr(one)
    assert "clusters" not in alone.to_dict()
    for key in ("ks", "kuiper", "ece", "mce", "brier", "nll", "kde_ece", "smooth_ece", "mcb"):
        assert found[key] == alone.to_dict()[key]  # clusters change no value, only its noise
    for key in ("accuracy", "mean_score", "brier", "nll"):
        wide, narrow = (x.intervals[key][1] - x.intervals[key][0] for x in (one, alone))
        assert wide > narrow
    assert "5 folds" in one.verdict


def test_the_numbers_of_other_fields_have_wider_intervals():
    s, y, c = naive.clustered(12, clusters=60, rows=20, icc=0.5, factor=1.3)
    one, alone = (ogive.measure(s, y, clusters=k, more=True).numbers for k in (c, None))
    for mine, other in zip(one, alone, strict=True):
        if mine.key in {"oe_ratio", "intercept", "slope"}:
            assert mine.value == other.value
        if mine.key not in {"e50", "e90", "emax"}:  # which have no interval
            assert mine.high - mine.low > 1.1 * (other.high - other.low), mine.key
    curve = Curve.from_scores(s, y, clusters=c)
    alike = curve.as_independent()
    assert alike.clusters is None
    assert alike.effective_n == pytest.approx(curve.independent_n)


def test_every_row_its_own_cluster_is_the_ordinary_answer():
    s, y, _ = naive.clustered(1, clusters=60, rows=20)
    one, alone = ogive.measure(s, y, clusters=np.arange(s.size)), ogive.measure(s, y)
    assert one.design_effect == pytest.approx(1.0, abs=0.01)
    assert one.ks_test.pvalue == pytest.approx(alone.ks_test.pvalue, abs=0.04)
    assert one.ks_test.high == pytest.approx(alone.ks_test.high, rel=0.05)
    assert one.decision.pvalue == pytest.approx(alone.decision.pvalue, abs=0.06)


def test_clusters_that_only_look_miscalibrated_are_left_alone():
    """Scores are right, but whole clusters share their luck."""
    decided = []
    for seed in range(10):
        s, y, c = naive.clustered(seed, clusters=25, rows=40, icc=0.5)
        pair = ogive.measure(s, y), ogive.measure(s, y, clusters=c)
        decided.append([bool(one.decision.calibrate) for one in pair])
    alone, clustered = np.sum(decided, axis=0)
    assert alone >= 8
    assert clustered <= 4


def test_the_gate_needs_more_rows_where_they_are_alike():
    s, y, c = naive.clustered(3, clusters=60, rows=30, icc=0.5)
    limits = {"max_ks": 0.05, "max_ece": 0.08, "max_log_loss_gain": 0.02}
    alone = gate(Curve.from_scores(s, y), **limits)
    clustered = gate(Curve.from_scores(s, y, clusters=c), **limits)
    for a, b in zip(alone.limits, clustered.limits, strict=True):
        assert b.interval[0] <= a.interval[0]
        if a.measure != "log_loss_gain":  # what rows that are alike seem to gain is less
            assert b.value == a.value
            assert b.interval[1] > 1.2 * a.interval[1]
    assert clustered.limits[2].value < alone.limits[2].value
    ks = ogive.ks_test(Curve.from_scores(s, y, clusters=c))
    assert clustered.limits[0].interval == pytest.approx((ks.low, ks.high))


@pytest.mark.parametrize("weighted", [False, True])
def test_standard_errors_of_differences(weighted, rng):
    s, _, c = naive.clustered(4)
    d = rng.normal(size=s.size) + rng.normal(size=12)[c]
    w = rng.uniform(0.5, 2.0, s.size) if weighted else np.ones(s.size)
    mean, error, t = hall_t(d, w / w.sum(), c)
    assert mean == pytest.approx(np.average(d, weights=w))
    assert error == pytest.approx(naive.clustered_error(d, c, w))
    assert abs(t) <= abs(mean / error) + 1.0
    single = hall_t(d, w / w.sum(), np.arange(s.size))
    assert single[:2] == pytest.approx(hall_t(d, w / w.sum())[:2], rel=0.02)


def test_compare_uses_the_clusters_of_the_test_set():
    cal, test = predictions(6, clusters=40), predictions(7, clusters=40)
    row = next(r for r in ogive.compare(cal, test, ["none", "platt"]).methods if r.nll_diff > 0)
    p = np.clip([fit(cal, m)(test.values) for m in ("none", "platt")], 2.0**-52, 1 - 2.0**-52)
    loss = -np.log(np.where(test.labels == 1, p, 1 - p))
    assert row.nll_diff_se == pytest.approx(naive.clustered_error(loss[0] - loss[1], test.clusters))
    with pytest.raises(InvalidInput, match="`clusters` are of one set"):
        ogive.compare(cal, test, clusters=test.clusters)


def test_a_split_never_cuts_a_cluster(monkeypatch):
    parts = []
    monkeypatch.setattr(
        "ogive.studies.compare.compare", lambda cal, test, *_, **__: parts.extend([cal, test])
    )
    s, y, c = naive.clustered(8, clusters=21)
    ogive.compare(s, y, clusters=c, split=0.4)
    cal, test = (set(one.clusters.tolist()) for one in parts)
    assert not cal & test
    assert len(cal | test) == 21
    assert parts[0].n == pytest.approx(0.4 * s.size, abs=8)


@pytest.mark.parametrize("method", ["spline", "platt"])
def test_the_cross_fitted_gain_leaves_out_whole_clusters(method):
    s, y, c = naive.clustered(9, clusters=24, rows=15, icc=0.5, factor=1.5)
    curve = Curve.from_scores(s, y, clusters=c)
    found = ogive.cross_fitted_gain(curve, method, cv=24)  # a fold for each cluster
    gains = np.empty(s.size)
    for name in range(24):
        out = c == name
        gamma = METHODS[method].fit(Curve.from_scores(s[~out], y[~out], clusters=c[~out]))
        p, q = (np.clip(x, 2.0**-52, 1 - 2.0**-52) for x in (s[out], gamma(s[out])))
        gains[out] = np.where(y[out], np.log(q / p), np.log((1 - q) / (1 - p)))
    assert found.value == pytest.approx(gains.mean(), abs=1e-9)
    assert found.error == pytest.approx(naive.clustered_error(gains, c))
    assert found.folds == 24
    assert ogive.cross_fitted_gain(curve, method, cv=100).folds == 24


def test_a_fit_counts_clusters_as_the_rows_they_are_worth():
    s, y, c = naive.clustered(10, clusters=40, rows=25, icc=0.5, factor=1.5)
    alone = fit(Curve.from_scores(s, y), "spline")
    clustered = fit(Curve.from_scores(s, y, clusters=c), "spline")
    at = np.linspace(0.1, 0.9, 9)
    wide, narrow = (np.subtract(*gamma.band(at)[::-1]) for gamma in (clustered, alone))
    assert wide.mean() > 1.4 * narrow.mean()  # 1,000 rows are worth far fewer; single places vary
    assert wide.mean() > 1.5 * narrow.mean()
    assert clustered.expected_total < alone.expected_total
    assert clustered.n == alone.n


def test_fitted_on_cross_validates_whole_clusters_whatever_their_names(rng):
    preds = predictions(11, clusters=30, rows=10, factor=1.5)
    info = fitted_on(preds, fit(preds, "platt"))
    order = rng.permutation(preds.n)
    renamed = [f"c{(7 * k + 3) % 31}" for k in preds.clusters[order]]
    other = Predictions(preds.values[order], preds.labels[order], kind="probs", clusters=renamed)
    again = fitted_on(other, fit(other, "platt"))
    assert again.log_loss_after == pytest.approx(info.log_loss_after)
    assert info.folds == 5
    few = preds.take(preds.clusters < 3)
    assert fitted_on(few, fit(few, "platt")).folds is None


def test_matrices_are_decided_with_clusters(rng):
    n, K = 600, 3
    code = np.repeat(np.arange(40), 15)
    z = rng.normal(size=(n, K)) * 2
    p = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
    labels = (rng.random((n, 1)) > p.cumsum(axis=1)).sum(axis=1).clip(0, K - 1)
    one = ogive.measure(2 * z, labels, kind="logits", clusters=code)
    assert one.clusters == 40
    assert one.decision.calibrate
    two = ogive.measure(2 * z[:, :2], (labels == 1).astype(int), kind="logits", clusters=code)
    assert two.also[0].clusters == 40
    assert "5 folds" in two.verdict


def test_t_is_halls(rng):
    x = rng.exponential(size=50) - 0.8
    mean, error, t = hall_t(x, np.full(50, 0.02))
    plain, g = mean / error, skew(x) / np.sqrt(50)
    assert (mean, error) == pytest.approx((x.mean(), x.std() / np.sqrt(50)))
    assert t == pytest.approx(plain + g / 6 * (2 * plain**2 + 1) + g**2 * plain**3 / 27)
