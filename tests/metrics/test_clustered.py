"""Tests and intervals of rows in clusters, beside their definitions and those of single rows."""

import numpy as np
import pytest
from scipy.stats import t as student

import ogive
from ogive import Curve
from ogive.metrics.clustered import noise_of
from tests import naive


def curves(seed=0, **how):
    s, y, c = naive.clustered(seed, **how)
    return Curve.from_scores(s, y), Curve.from_scores(s, y, clusters=c)


@pytest.mark.parametrize("seed", range(3))
def test_pvalues_are_those_of_all_signs(seed):
    s, y, c = naive.clustered(seed, clusters=10, rows=6, icc=0.6)
    _, curve = curves(seed, clusters=10, rows=6, icc=0.6)
    alone = Curve.from_scores(s, y)
    for test, kuiper in ((ogive.ks_test, False), (ogive.kuiper_test, True)):
        exact = naive.sign_flip_pvalue(s, y, c, kuiper=kuiper)
        expected = max(exact, test(alone).pvalue)
        assert test(curve).pvalue == pytest.approx(expected, abs=0.035)  # 1,999 draws


@pytest.mark.parametrize("test", [ogive.ks_test, ogive.kuiper_test])
def test_clusters_widen_the_interval_and_every_row_alone_does_not(test):
    alone, clustered = curves(1, clusters=100, rows=20, icc=0.5)
    s, y, _ = naive.clustered(1, clusters=100, rows=20, icc=0.5)
    single = Curve.from_scores(s, y, clusters=np.arange(s.size))
    a, b, c = (test(curve) for curve in (alone, clustered, single))
    assert b.value == a.value == c.value
    assert b.method == "clusters"
    assert b.sigma > 1.5 * a.sigma
    assert b.high - b.value > 1.5 * (a.high - a.value)
    assert b.pvalue > a.pvalue
    for name in ("detectable", "detectable_half"):  # what is found widens with the noise
        assert getattr(b, name) == pytest.approx(getattr(a, name) * b.sigma / a.sigma)
    assert c.pvalue == pytest.approx(a.pvalue, abs=0.04)
    assert c.high == pytest.approx(a.high, rel=0.05)
    assert c.expected == pytest.approx(a.expected, rel=0.05)


def test_the_interval_holds_0_exactly_where_the_test_does_not_reject():
    for seed in range(8):
        _, curve = curves(seed, icc=0.1, factor=[1.0, 3.0][seed % 2], clusters=20)
        for test in (ogive.ks_test(curve), ogive.kuiper_test(curve)):
            assert (test.low == 0.0) == (test.pvalue >= 0.05)


def test_the_omnibus_test_allows_for_clusters_and_still_finds_errors():
    pvalues = []
    for seed in range(12):
        alone, clustered = curves(seed, clusters=30, rows=20, icc=0.5)
        pvalues.append([ogive.calibration_test(x).pvalue for x in (alone, clustered)])
    rejected = (np.array(pvalues) < 0.05).sum(axis=0)
    assert rejected[0] >= 4
    assert rejected[1] <= 2
    _, off = curves(0, clusters=60, rows=20, icc=0.1, factor=3.0)
    found = ogive.calibration_test(off)
    assert found.pvalue < 0.01
    assert set(found.parts) == {"ks", "kuiper", "shift", "temperature", "shape", "steps"}


def test_spiegelhalter_by_cluster_sums():
    s, y, c = naive.clustered(4, icc=0.6)
    lean = (y - s) * (1 - 2 * s)
    sums = np.array([lean[c == g].sum() for g in np.unique(c)])
    alone = np.sum((1 - 2 * s) ** 2 * s * (1 - s))
    z = lean.sum() / np.sqrt(max(alone, sums @ sums))
    found = ogive.spiegelhalter(s, y, clusters=c)
    assert found.z == pytest.approx(z)
    assert found.pvalue == pytest.approx(2 * student.sf(abs(z), 11))


def test_small_clusters_are_drawn_as_normals_together(monkeypatch):
    """Only the largest clusters have signs of their own: the others give the same answer."""
    s, y, c = naive.clustered(5, clusters=300, rows=5, icc=0.4)
    with_signs = ogive.ks_test(s, y, clusters=c)
    monkeypatch.setattr("ogive.metrics.clustered.MAX_CLUSTERS_WITH_SIGNS", 20)
    found = ogive.ks_test(s, y, clusters=c)
    assert found.sigma == pytest.approx(with_signs.sigma, rel=0.06)
    assert found.high == pytest.approx(with_signs.high, rel=0.06)
    assert found.pvalue == pytest.approx(with_signs.pvalue, abs=0.05)


def test_the_bootstrap_draws_whole_clusters():
    s, y, c = naive.clustered(9, clusters=80, rows=10, icc=0.6)
    found = ogive.bootstrap(s, y, "accuracy", clusters=c, resamples=600)
    error = naive.clustered_error(y.astype(float), c)
    half = student.isf(0.025, 79) * error
    assert (found.high - found.low) / 2 == pytest.approx(half, rel=0.12)
    alone = ogive.bootstrap(s, y, "accuracy", resamples=600)
    assert found.high - found.low > 1.5 * (alone.high - alone.low)


@pytest.mark.filterwarnings("ignore::ogive.errors.FewClusters")
@pytest.mark.parametrize("most", [1000, 3])  # clusters with draws of their own
def test_the_noise_about_the_gap_has_the_covariance_of_clusters(monkeypatch, most):
    monkeypatch.setattr("ogive.metrics.clustered.MAX_CLUSTERS_WITH_SIGNS", most)
    s, y, c = naive.clustered(4, clusters=6, rows=9)
    noise = noise_of(Curve.from_scores(s, y, clusters=c))
    cell = np.searchsorted(np.unique(s), s)
    each = np.zeros((6, cell.max() + 1))
    np.add.at(each, (np.unique(c, return_inverse=True)[1], cell), y - s)
    share = np.bincount(c) / c.size
    off = each - np.outer(share, each.sum(axis=0))
    found = noise._about.T @ noise._about + noise._about_others
    np.testing.assert_allclose(found, 6 / 5 * off.T @ off, atol=1e-9)
