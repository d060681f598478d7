"""Clusters whose rows share draws: what rare outcomes may show though the scores are right."""

import warnings

import numpy as np
import pytest

import ogive
from ogive import Curve
from ogive.errors import FewClusters
from ogive.metrics.clustered import noise_of
from ogive.metrics.shared_draws import SHARES, SharedDraws, warn_if_few_decide
from tests import naive


def rare(seed, clusters=30, shift=0.0):
    """Outcomes of 3 % of which no cluster has its many: fewer than the scores say."""
    rng = np.random.default_rng(seed)
    code = np.repeat(np.arange(clusters), rng.geometric(0.05, clusters))
    p = 1 / (1 + np.exp(-rng.normal(-4.0, 1.0, code.size)))
    return p, rng.random(code.size) < p / (1 + np.exp(shift)), code


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_the_likelihood_is_that_of_all_draws(share):
    s, y, c = naive.clustered(3, clusters=12, rows=5)
    curve = Curve.from_scores(s, y, clusters=c)
    entries = SharedDraws(curve.clusters, np.arange(curve.count.size))
    assert entries.log_likelihood(share) == pytest.approx(
        naive.shared_draw_likelihood(s, y, c, share), rel=1e-9
    )


@pytest.mark.parametrize("share", [0.2, 0.8])
def test_draws_have_the_moments_of_the_model(share, monkeypatch):
    s, _, c = rare(1)
    monkeypatch.setattr("ogive.metrics.shared_draws.SHARES", np.array([share]))
    curve = Curve.from_scores(s, np.zeros(s.size), clusters=c)
    steps = SharedDraws(curve.clusters, np.arange(curve.count.size)).draw(
        np.random.default_rng(0), 20_000
    )
    total = steps.sum(axis=1)
    variance, third = 0.0, 0.0
    for name in set(c):  # of rows with one draw, each pair has the covariance min − product
        p = s[c == name]
        pairs = np.minimum.outer(p, p) - np.outer(p, p)
        variance += share**2 * pairs.sum() + (1 - share**2) * (p * (1 - p)).sum()
        # E Σ (1[u < p_i] − p_i)³ by the pieces between the scores, where it is constant
        ends = np.concatenate([[0.0], np.sort(p), [1.0]])
        sums = [(p > u).sum() - p.sum() for u in (ends[:-1] + ends[1:]) / 2]
        third += share**3 * np.diff(ends) @ np.power(sums, 3)
    assert total.mean() == pytest.approx(0.0, abs=4 * np.sqrt(variance / 20_000))
    assert total.var() == pytest.approx(variance, rel=0.05)
    assert np.mean(total**3) == pytest.approx(third, rel=0.25)


@pytest.mark.filterwarnings("ignore::ogive.errors.FewClusters")
def test_too_few_rare_outcomes_may_only_mean_that_no_cluster_had_many():
    s, y, c = rare(2, shift=0.5)
    y &= np.arange(s.size) % 2 == 0  # half as many as the scores say
    curve = Curve.from_scores(s, y, clusters=c)
    seen = noise_of(curve).seen(0, kuiper=False)
    assert (seen.flips >= seen.observed).mean() < 0.05
    assert ogive.ks_test(curve).pvalue > 0.05


def test_few_clusters_that_can_have_the_outcome_are_told():
    s, y, c = rare(3)
    with pytest.warns(FewClusters, match="few clusters can have it"):
        ogive.ks_test(s, y, clusters=c)
    with pytest.warns(FewClusters, match="few clusters can have it"):
        ogive.bootstrap(s, y, "nll", clusters=c, resamples=10)


def test_rows_that_are_their_own_clusters_share_nothing():
    """Then every share of draws is as likely, and the draws are those of independent rows."""
    rng = np.random.default_rng(4)
    s = rng.random(400) * 0.1
    curve = Curve.from_scores(s, rng.random(400) < s, clusters=np.arange(400))
    entries = SharedDraws(curve.clusters, np.arange(curve.count.size))
    likelihoods = [entries.log_likelihood(share) for share in SHARES]
    assert np.ptp(likelihoods) < 1e-9
    total = entries.draw(rng, 20_000).sum(axis=1)
    assert total.var() == pytest.approx(np.sum(s * (1 - s)), rel=0.05)


@pytest.mark.parametrize(("clusters", "warned"), [(150, True), (300, False)])
def test_two_clusters_that_can_be_expected_to_have_the_outcome_are_enough(clusters, warned):
    """Of 150 clusters with a chance of 1 % each 1.5 are, of 300 three."""
    p, code = np.full(10 * clusters, 0.01), np.repeat(np.arange(clusters), 10)
    found = Curve.from_scores(p, code < 2, clusters=code).clusters
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        warn_if_few_decide(found)
    assert bool(seen) == warned


@pytest.mark.parametrize(("clusters", "drawn"), [(100, 999), (2000, 0)])
def test_draws_are_shared_unless_the_sum_is_hardly_skewed(clusters, drawn, rng):
    """The skewness is 0.27 of 100 clusters with a chance of 10 % each, and 0.06 of 2,000."""
    p, code = np.full(2 * clusters, 0.1), np.repeat(np.arange(clusters), 2)
    noise = noise_of(Curve.from_scores(p, rng.random(p.size) < p, clusters=code))
    assert noise.shared(rng, 999).shape[0] == drawn
