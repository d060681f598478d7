import numpy as np
import pytest

from ogive._numerics import class_evidence, class_validation
from ogive._numerics.best_share import P_HOLDS, Change, mean_share
from ogive._numerics.blas import one_blas_thread
from ogive._numerics.class_evidence import Pull, default_precision, fit_at, shrink
from ogive._numerics.class_regression import ClassRegression
from ogive._numerics.dense_curvature import DenseCurvature
from ogive._numerics.splits import halves, row_hashes
from tests import naive


def problem(rng, n=60, K=4, r=4, weights=None, dtype=np.float64):
    """Rows whose classes are too seldom or too often, as a ClassRegression and plain arrays."""
    logs = 2.0 * rng.normal(size=(n, K))
    logs -= np.log(np.exp(logs).sum(axis=1, keepdims=True))
    labels = (logs + np.linspace(-1, 1, K) + rng.gumbel(size=(n, K))).argmax(axis=1)
    bases = tuple(np.linalg.qr(rng.normal(size=(K, K)))[0][:, :r] for _ in range(2))
    columns = np.ascontiguousarray(logs.T.astype(dtype))
    return ClassRegression(columns, labels, weights, bases), logs, labels, bases


@pytest.mark.parametrize("r", [2, 4])
def test_scores_and_loss_equal_the_slow_definition(rng, r):
    weights = rng.uniform(0.5, 2.0, 60)
    rows, logs, labels, bases = problem(rng, r=r, weights=weights)
    theta = 0.3 * rng.normal(size=rows.shape)
    slow = np.array([naive.class_scores(a, theta, *bases) for a in logs])
    np.testing.assert_allclose(rows.scores(theta).T, slow, atol=1e-12)
    loss = sum(
        w * (np.log(np.exp(s).sum()) - s[y]) for w, s, y in zip(weights, slow, labels, strict=True)
    )
    assert rows.state(theta).loss == pytest.approx(loss, rel=1e-12)


@pytest.mark.parametrize("r", [2, 4])
def test_derivatives_equal_differences(rng, r):
    rows, *_ = problem(rng, r=r, weights=rng.uniform(0.5, 2.0, 60))
    theta, z = (0.3 * rng.normal(size=rows.shape) for _ in range(2))
    state, step = rows.state(theta), 1e-5
    up, down = rows.state(theta + step * z), rows.state(theta - step * z)
    slope = (up.loss - down.loss) / (2 * step)
    assert (state.gradient * z).sum() == pytest.approx(slope, rel=1e-7)
    bend = (up.gradient - down.gradient) / (2 * step)
    np.testing.assert_allclose(rows.curve(state, z), bend, atol=1e-6)
    units = np.eye(z.size).reshape(-1, *z.shape)
    whole = [(rows.curve(state, unit) * unit).sum() for unit in units]
    np.testing.assert_allclose(rows.diagonal(state).ravel(), whole, atol=1e-10)
    alike = np.zeros((2, *z.shape))
    alike[0, :, 0] = alike[1, :, 1] = 1.0
    shared = [[(rows.curve(state, a) * b).sum() for a in alike] for b in alike]
    np.testing.assert_allclose(rows.shared(state), shared, atol=1e-10)


@pytest.mark.parametrize("r", [2, 4])
def test_the_hessian_in_full_has_the_products_of_curve(rng, r):
    rows, *_ = problem(rng, r=r, weights=rng.uniform(0.0, 2.0, 60))
    state = rows.state(0.3 * rng.normal(size=rows.shape))
    np.testing.assert_allclose(rows.hessian(state), whole_hessian(rows, state), atol=1e-11)


def whole_hessian(rows, state):
    units = np.eye(np.prod(rows.shape)).reshape(-1, *rows.shape)
    return np.array([rows.curve(state, unit).ravel() for unit in units])


def by_conjugate_gradients(monkeypatch):
    monkeypatch.setattr(class_evidence, "is_small", lambda dtype, shape: False)


@pytest.mark.parametrize(("small", "left"), [(True, 1e-10), (False, 1e-4)])
def test_the_parameters_are_where_the_penalised_gradient_vanishes(small, left, rng, monkeypatch):
    if not small:
        by_conjugate_gradients(monkeypatch)
        monkeypatch.setitem(class_evidence.LAST_GAIN, np.float64, 1e-14)  # as far as it goes
    rows, *_ = problem(rng, n=400)
    precision = default_precision(rows.K)
    theta = fit_at(rows, precision)
    gradient = rows.state(theta).gradient + Pull(precision, rows.group)(theta)
    assert np.abs(gradient).max() < left


def test_a_poor_guide_costs_steps_but_no_digits(rng):
    rows, *_ = problem(rng, n=400)
    other, *_ = problem(rng, n=40)
    precision = default_precision(rows.K)
    guide = DenseCurvature(other, other.state(rng.normal(size=rows.shape)))
    start = rng.normal(size=rows.shape)
    found = fit_at(rows, precision, start, near=guide)
    np.testing.assert_allclose(found, fit_at(rows, precision), atol=1e-12)


def effective(rows, found):
    state, pull = rows.state(found.theta), Pull(found.precision, rows.group)
    H = whole_hessian(rows, state)
    share = np.diag(np.linalg.solve(H + pull.matrix(rows.shape), H))
    return np.bincount(rows.group, weights=share.reshape(rows.shape).sum(axis=0)), state, pull


def test_effective_numbers_are_those_of_the_whole_hessian(rng):
    rows, *_ = problem(rng, n=400)
    found = shrink(rows)
    exact, state, pull = effective(rows, found)
    # λ moves after the last traces.
    np.testing.assert_allclose(found.edf, exact, rtol=0.02, atol=0.35)
    curvature = DenseCurvature(rows, state).under(pull)
    np.testing.assert_allclose(curvature.effective(), exact, rtol=1e-9)


def two_halves(rng, n=400):
    rows, logs, labels, bases = problem(rng, n=n)
    pair = [
        ClassRegression(np.ascontiguousarray(logs[at].T), labels[at], None, bases)
        for at in (slice(n // 2), slice(n // 2, n))
    ]
    return rows, pair


def held_out_loss(pair, log_precision):
    """The slow definition: both halves fitted to the last digits, each scored on the other."""
    one, two = (fit_at(half, np.exp(log_precision)) for half in pair)
    away = log_precision - np.log(default_precision(pair[0].K))
    prior = 0.5 * (away**2).sum() / class_validation.DEVIATION**2
    return pair[1].state(one).loss + pair[0].state(two).loss + prior


def test_the_held_out_loss_has_these_derivatives(rng, monkeypatch):
    for name, value in (("_RESIDUAL", 1e-10), ("_MAX_STEPS", 20), ("_LEAST_GAIN_OF_STEP", 1e-20)):
        monkeypatch.setattr(class_validation, name, value)
    _, pair = two_halves(rng)
    at = np.log(default_precision(4)) + rng.normal(size=5)
    found = class_validation._evaluate(tuple(pair), at, None)
    assert found.value == pytest.approx(held_out_loss(pair, at), rel=1e-9)
    step = 1e-4 * np.eye(5)
    slow = [(held_out_loss(pair, at + h) - held_out_loss(pair, at - h)) / 2e-4 for h in step]
    np.testing.assert_allclose(found.gradient, slow, atol=1e-5)


def test_the_sizes_are_where_the_held_out_loss_is_least(rng, monkeypatch):
    rows, pair = two_halves(rng)
    found = class_validation.validate(*pair)
    default = held_out_loss(pair, np.log(default_precision(4)))
    best = held_out_loss(pair, np.log(found.precision))
    monkeypatch.setattr(class_validation, "LEAST_GAIN", 1e-12)
    monkeypatch.setattr(class_validation, "MAX_ROUNDS", 200)
    least = held_out_loss(pair, np.log(class_validation.validate(*pair).precision))
    assert least <= best + 1e-9 < default  # there is something to learn
    assert best - least < 0.5 * (default - least)
    exact, *_ = effective(rows, found)
    assert found.edf.sum() > exact.sum()


@pytest.mark.parametrize("r", [2, 4])
def test_the_preconditioner_s_blocks_are_of_the_whole_hessian(rng, r):
    rows, *_ = problem(rng, r=r, weights=rng.uniform(0.0, 2.0, 60))
    state = rows.state(0.3 * rng.normal(size=rows.shape))
    H = whole_hessian(rows, state).reshape(*rows.shape, *rows.shape)
    at = [0, 1, 2, 3, 4, 3 + r, 4 + r]
    slow = [H[k, :, k][np.ix_(at, at)] for k in range(rows.K)]
    np.testing.assert_allclose(rows.leading(state, 2), slow, atol=1e-11)


def test_the_order_of_rows_changes_no_digit_of_the_sizes(rng):
    rows, logs, labels, bases = problem(rng, n=400)
    at = rng.permutation(400)
    again = ClassRegression(np.ascontiguousarray(logs[at].T), labels[at], None, bases)
    one, two = (shrink(each) for each in (rows, again))
    np.testing.assert_allclose(two.precision, one.precision, rtol=1e-11)
    np.testing.assert_allclose(two.theta, one.theta, atol=1e-12)


@pytest.mark.parametrize("n", [5, 50, 2000])
@pytest.mark.parametrize("size", [-1.0, 0.1, 1.0, 20.0])
def test_the_share_is_the_mean_given_the_labels(rng, n, size):
    base, d = rng.normal(size=(2, 3, n))
    labels = (base + 0.4 * d + rng.gumbel(size=base.shape)).argmax(axis=0)
    share = mean_share([Change(base, base + size * d, labels, np.ones(n))])

    def loss(share):
        s = base + share * size * d
        return (np.log(np.exp(s).sum(axis=0)) - s[labels, np.arange(n)]).sum()

    grid = np.linspace(0.0, 1.0, 4001)
    values = np.array([loss(a) for a in grid])
    density = P_HOLDS * np.exp(values.min() - values)
    nothing = (1.0 - P_HOLDS) * np.exp(values.min() - values[0])
    mean = np.trapezoid(grid * density, grid) / (nothing + np.trapezoid(density, grid))
    assert share == pytest.approx(mean, abs=1e-4)


def test_the_share_of_noise_is_small(rng):
    shares = []
    for _ in range(40):
        base, d = rng.normal(size=(2, 3, 300))
        labels = (base + rng.gumbel(size=base.shape)).argmax(axis=0)
        shares.append(mean_share([Change(base, base + 0.2 * d, labels, np.ones(300))]))
    assert np.mean(shares) < 0.15  # that of the least loss: 0.27


def test_halves_depend_on_what_rows_hold(rng):
    values, labels = rng.normal(size=(500, 3)), rng.integers(0, 3, 500)
    order = rng.permutation(500)
    share = halves(row_hashes(values, labels), np.ones(500), whole=True)
    again = halves(row_hashes(values[order], labels[order]), np.ones(500), whole=True)
    np.testing.assert_array_equal(share[order], again)
    assert set(share) == {0.0, 1.0}
    assert share.mean() == 0.5
    narrow = row_hashes(values.astype(np.float16), labels)
    np.testing.assert_array_equal(
        narrow, row_hashes(values.astype(np.float16).astype(np.float64), labels)
    )


def test_halves_are_not_stratified(rng):
    """Else what one half learns of a class by chance would hold in the other."""
    labels = np.arange(400) % 100
    share = halves(row_hashes(rng.normal(size=(400, 3)), labels), np.ones(400), whole=True)
    in_first = np.bincount(labels, weights=share)
    assert 0.6 < in_first.var() < 1.5  # of four rows each, by chance: 1


def test_copies_are_dealt_to_both_halves():
    hashes = np.array([7, 7, 7, 7, 9], dtype=np.uint64)
    np.testing.assert_allclose(halves(hashes, np.ones(5), whole=True)[:4], 0.5)
    weighted = halves(hashes[3:], np.array([4.0, 1.0]), whole=True)
    np.testing.assert_allclose(weighted, [0.5, 1.0])
    by_row = halves(hashes, np.ones(5), whole=False)
    assert by_row[:4].sum() == 2


def test_blas_has_its_threads_back():
    from threadpoolctl import threadpool_info

    def count():
        return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]

    before = count()
    with one_blas_thread(), one_blas_thread():
        assert set(count()) <= {1}
    assert count() == before
