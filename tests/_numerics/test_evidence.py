"""Laplace's evidence against sums over a fine grid, where the model is small enough."""

import numpy as np
import pytest

from ogive._numerics.evidence import (
    DROP,
    LARGEST_ROUGHER,
    LINE,
    Prior,
    constrained_coefficients,
    posterior,
)
from tests import naive
from tests._numerics.trials import problem


def test_the_average_is_that_of_a_fine_grid(rng):
    like, x, hits = problem(rng)
    sizes, weights = np.array([0.0, 0.5, 2.0]), np.array([0.4, 0.3, 0.3])
    prior = Prior(np.zeros(1), np.ones(1), sizes, weights, 2.0)
    found = posterior(like, prior)
    a, d = np.meshgrid(np.linspace(-2, 2, 201), np.linspace(-2, 2, 201), indexing="ij")
    logit = x + a[..., None] + d[..., None] * x
    log_like = (hits * logit - np.logaddexp(0, logit)).sum(axis=-1)
    cell = (4 / 200) ** 2
    top = log_like.max()
    evidence = [np.exp((hits * x - np.logaddexp(0, x)).sum() - top)]
    means = [np.zeros(2)]
    for o in sizes[1:]:
        density = np.exp(log_like - top - (a**2 + d**2) / (2 * o**2)) / (2 * np.pi * o**2) * cell
        evidence.append(density.sum())
        means.append(np.array([(density * a).sum(), (density * d).sum()]) / density.sum())
    share = weights * evidence / (weights @ evidence)
    np.testing.assert_allclose(found.weight[0], share, atol=0.01)
    np.testing.assert_allclose(found.mean, share @ np.array(means), atol=0.01)


def corrected(like, at, nodes):
    """Move each log evidence that counts by the likelihood at its mean minus the quadratic."""
    done = set()
    while True:
        top = max(node[0] for node in nodes)
        now = [k for k, node in enumerate(nodes) if k not in done and node[0] > top - DROP]
        if not now:
            return
        for k in now:
            step = nodes[k][1] - at.coef
            quadratic = at.value + step @ at.score - 0.5 * step @ at.info @ step
            nodes[k][0] += like.value(nodes[k][1])[0] - quadratic
            done.add(k)


@pytest.mark.parametrize(("columns", "bends"), [(2, 1), (3, 1), (3, 4), (7, 4)])
def test_the_mixture_is_that_of_full_matrices(columns, bends, rng):
    like, _, _ = problem(rng, columns=columns)
    s, o = np.array([0.0, 0.1, 0.4, 1.5])[:bends], np.array([0.0, 0.3, 2.0])
    prior = Prior(s, np.linspace(1, 2, bends), o, np.array([0.5, 0.3, 0.2]), 1.0)
    found = posterior(like, prior)

    at, nodes, bend = like.point(np.zeros(columns)), [], []
    for s_j, s_weight in zip(s, prior.bend_weight, strict=True):
        stiff = 1e12 if s_j == 0 else s_j**-2
        at = like.ascend(at, np.r_[np.ones(LINE), np.full(columns - LINE, stiff)])
        for o_k, o_weight in zip(o, prior.shift_weight, strict=True):
            sizes = np.r_[np.full(LINE, o_k), np.full(columns - LINE, s_j)]
            precision = 1 / np.where(sizes > 0, sizes, 1) ** 2
            log_z, *rest = naive.laplace(at, np.flatnonzero(sizes), precision)
            nodes.append([log_z + np.log(s_weight * o_weight), *rest])
            bend.append(0.0 if o_k == 0 else s_j**2 if bends > 1 else 1.0)
        corrected(like, at, nodes[-o.size :])
    log_z, means, covariances, degrees = zip(*nodes, strict=True)
    weight = np.exp(np.array(log_z) - max(log_z))
    weight /= weight.sum()
    mean, spread = naive.mixture(weight, means, covariances)
    np.testing.assert_allclose(found.weight.ravel(), weight, rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(found.mean, mean, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(found.spread, spread, rtol=1e-7, atol=1e-10)
    assert found.edf == pytest.approx(weight @ degrees, rel=1e-8)
    # Without the atoms, each s with its square, about the same mean.
    free = bend * weight
    other, without = naive.mixture(free, means, covariances)
    apart = np.outer(other - mean, other - mean)
    np.testing.assert_allclose(found.covariance, without + apart, rtol=1e-7, atol=1e-10)
    # The rougher one: two to three steps of s above the average, without the atom of o.
    k = np.arange(bends)
    average = free.reshape(bends, -1).sum(axis=1) @ k / free.sum()
    most = min(average + 3, np.interp(LARGEST_ROUGHER, s, k))
    at = np.maximum(0, 1 - abs(k - min(max(average + 2, most), bends - 1)))
    one = weight.reshape(bends, -1) * (o > 0)
    one *= (at / one.sum(axis=1))[:, None]
    rougher, variance = naive.mixture(one.ravel(), means, covariances)
    np.testing.assert_allclose(found.rougher.mean, rougher, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(found.rougher.covariance, variance, rtol=1e-7, atol=1e-10)


def test_constraints_are_obeyed_and_the_likelihood_kept_high(rng):
    like, _, _ = problem(rng, columns=3)
    prior = Prior(np.array([0.0, 1.0]), np.ones(2) / 2, np.array([0.0, 1.0]), np.ones(2) / 2, 1.0)
    found = posterior(like, prior)
    G, g = np.array([[0.0, 1.0, 0.0]]), np.array([found.mean[1] + 0.2])
    coef = constrained_coefficients(like, found, prior, G, g)
    assert coef[1] == pytest.approx(g[0], abs=1e-8)
    best = max(
        like.value(np.array([a, g[0], c]))[0] - (a**2 + g[0] ** 2 + c**2) / 2
        for a in np.linspace(-1, 1, 81)
        for c in np.linspace(-1, 1, 81)
    )
    assert like.value(coef)[0] - coef @ coef / 2 > best - 0.01
