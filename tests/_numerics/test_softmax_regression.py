import numpy as np
import pytest
from scipy.optimize import check_grad, minimize

from ogive._numerics import softmax_regression
from ogive._numerics.softmax_regression import LinearSoftmax, cross_entropy, softmax_columns
from ogive._numerics.whitening import minimise, polished
from tests import naive


def problem(rng, n=60, K=4, weights=False):
    x = rng.normal(size=(n, K)) * [1.0, 3.0, 0.2, 10.0][:K] + 5.0
    labels = rng.integers(0, K, n)
    w = rng.uniform(0.5, 2.0, n) if weights else None
    return x, labels, w, LinearSoftmax(np.hstack([x, np.ones((n, 1))]), labels, w, K)


def penalty(K=4, strength=0.3, offset_strength=0.1):
    R = np.full((K, K + 1), strength)
    np.fill_diagonal(R, 0.0)
    R[:, -1] = offset_strength
    return R


def test_softmax_of_columns_survives_large_scores(rng):
    scores = rng.normal(size=(3, 5)) * 500
    want = naive.softmax(scores.T).astype(float)
    np.testing.assert_allclose(softmax_columns(scores.copy()).T, want, atol=1e-15)


def test_cross_entropy_leaves_the_gradient_behind(rng):
    labels, weights = rng.integers(0, 3, 5), rng.random(5)
    scores = rng.normal(size=(3, 5))

    def loss(flat):
        return cross_entropy(flat.reshape(3, 5).copy(), labels, weights)

    def gradient(flat):
        left = flat.reshape(3, 5).copy()
        cross_entropy(left, labels, weights)
        return left.ravel()

    assert check_grad(loss, gradient, scores.ravel()) < 1e-6


@pytest.mark.parametrize("weights", [False, True])
def test_the_loss_equals_the_slow_definition(rng, weights, monkeypatch):
    monkeypatch.setattr(softmax_regression, "_NUMBERS_PER_BLOCK", 40)  # several blocks
    x, labels, w, regression = problem(rng, weights=weights)
    theta = rng.normal(size=(4, 5)) * 0.1
    loss, gradient = regression.penalised(penalty())(theta)
    slow = naive.matrix_loss(theta[:, :4], theta[:, 4], x, labels, 0.3, 0.1, w)
    assert loss == pytest.approx(slow)
    assert regression.loss(theta) == pytest.approx(
        naive.matrix_loss(theta[:, :4], theta[:, 4], x, labels, 0.0, 0.0, w)
    )
    step = 1e-6
    for k, j in np.ndindex(4, 5):
        moved = theta.copy()
        moved[k, j] += step
        up = naive.matrix_loss(moved[:, :4], moved[:, 4], x, labels, 0.3, 0.1, w)
        assert (up - slow) / step == pytest.approx(gradient[k, j], abs=1e-3)


def test_the_curvature_is_the_hessian(rng):
    _, _, _, regression = problem(rng)
    theta = rng.normal(size=(4, 5)) * 0.1
    H = regression.curvature(theta)
    objective = regression.penalised(np.zeros((4, 5)))
    step = 1e-5
    for column, unit in zip(H.T, np.eye(20).reshape(20, 4, 5), strict=True):
        change = objective(theta + step * unit)[1] - objective(theta - step * unit)[1]
        np.testing.assert_allclose(column, change.ravel() / (2 * step), rtol=1e-4, atol=1e-6)


def test_the_curvature_of_many_parameters_is_the_hessians_blocks(rng, monkeypatch):
    monkeypatch.setattr(softmax_regression, "MOST_PARAMETERS", 0)
    _, _, _, regression = problem(rng)
    theta = rng.normal(size=(4, 5)) * 0.1
    blocks = regression.curvature(theta)
    step = 1e-5
    objective = regression.penalised(np.zeros((4, 5)))
    for k, j in np.ndindex(4, 5):
        up, down = theta.copy(), theta.copy()
        up[k, j] += step
        down[k, j] -= step
        column = (objective(up)[1] - objective(down)[1])[k] / (2 * step)
        np.testing.assert_allclose(blocks[k, :, j], column, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize(
    ("parameters", "curvature"),
    [(256, 0), (0, 1 << 24), (0, 0)],
    ids=["whole", "blocks", "diagonals"],
)
def test_the_minimum_is_that_of_a_plain_optimiser(rng, monkeypatch, parameters, curvature):
    monkeypatch.setattr(softmax_regression, "MOST_PARAMETERS", parameters)
    monkeypatch.setattr(softmax_regression, "MOST_CURVATURE", curvature)
    _, _, _, regression = problem(rng, n=200)
    R = penalty()
    objective = regression.penalised(R)
    start = np.eye(4, 5)
    found = minimise(objective, start, regression.curvature(start), R, tolerance=1e-14)

    def flat(theta):
        loss, gradient = objective(theta.reshape(4, 5))
        return loss, gradient.ravel()

    plain = minimize(flat, start.ravel(), jac=True, method="BFGS", options={"gtol": 1e-9})
    assert objective(found)[0] == pytest.approx(plain.fun, abs=1e-9)
    assert np.abs(objective(found)[1]).max() < 1e-5


def test_the_curvature_of_very_many_parameters_is_the_hessians_diagonal(rng, monkeypatch):
    _, _, _, regression = problem(rng)
    theta = rng.normal(size=(4, 5)) * 0.1
    H = regression.curvature(theta)
    monkeypatch.setattr(softmax_regression, "MOST_PARAMETERS", 0)
    monkeypatch.setattr(softmax_regression, "MOST_CURVATURE", 0)
    np.testing.assert_allclose(regression.curvature(theta).ravel(), np.diagonal(H), rtol=1e-9)


def test_a_class_that_is_never_seen_does_not_run_away(rng):
    x = rng.normal(size=(50, 3))
    regression = LinearSoftmax(x, rng.integers(0, 2, 50), None, 3)
    start, free = np.zeros((3, 3)), np.zeros((3, 3))
    found = minimise(regression.penalised(free), start, regression.curvature(start), free)
    assert np.isfinite(found).all()
    assert regression.loss(found) < regression.loss(start)


@pytest.mark.parametrize("parameters", [256, 0], ids=["whole", "blocks"])
def test_rows_that_are_all_certain_can_still_be_fitted(rng, monkeypatch, parameters):
    monkeypatch.setattr(softmax_regression, "MOST_PARAMETERS", parameters)
    x = np.repeat(np.eye(3) * 500.0, 20, axis=0) + rng.normal(size=(60, 3))
    labels = np.repeat(np.arange(3), 20)
    regression = LinearSoftmax(np.hstack([x, np.ones((60, 1))]), labels, None, 3)
    start, R = np.eye(3, 4), penalty(3, 0.01, 0.1)
    found = minimise(regression.penalised(R), start, regression.curvature(start), R)
    assert np.isfinite(found).all()
    assert regression.penalised(R)(found)[0] <= regression.penalised(R)(start)[0]


def test_polishing_ends_at_the_minimum_though_the_loss_is_flat(rng):
    x = np.repeat(np.eye(3) * 4.0, 5, axis=0) + 0.1 * rng.normal(size=(15, 3))
    regression = LinearSoftmax(
        np.hstack([x, np.ones((15, 1))]), np.repeat(np.arange(3), 5), None, 3
    )
    R, start = np.full((3, 4), 1e-9), np.eye(3, 4)
    objective = regression.penalised(R)
    rough = minimise(objective, start, regression.curvature(start), R)
    found = polished(objective, rough, regression.curvature, R)
    assert objective(found)[0] <= objective(rough)[0]
    assert np.abs(objective(found)[1]).max() < 1e-13
    assert np.abs(objective(rough)[1]).max() > 1e-13
