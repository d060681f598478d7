"""Equal scores are one group: in every view, whatever the order, the shift or the type."""

from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ogive
from ogive import Curve, Predictions
from ogive._numerics import double_double, softmax_tails
from ogive.curve.classes import class_keys
from ogive.curve.packing import keys_of_view
from ogive.rows.views import parse_view, score_rows
from tests import naive

pytestmark = pytest.mark.filterwarnings("ignore::ogive.errors.LooksLikeProbabilities")


def views(K):
    names = [f"class-{k}" for k in range(K)] + [f"top-{r + 1}" for r in range(K)]
    return names + [f"within-top-{r}" for r in range(1, K)]


def cells(values, view, kind):
    """What a curve groups rows by, (n,)."""
    preds = Predictions(values, np.zeros(len(values), dtype=int), kind=kind)
    return (keys_of_view(preds, parse_view(view)) >> np.uint64(1)).tolist()


def check_groups(values, view, kind):
    """Equal exact scores have one cell, in order; scores apart by more than the bound have two."""
    found = cells(values, view, kind)
    groups = naive.exact_groups(view, values, kind)
    order = []
    for _, rows in groups:
        (cell,) = {found[i] for i in rows}
        order.append(cell)
    assert order == sorted(order)
    bound = Fraction(1, 2 ** (31 if kind == "logits" else 52))
    for (one, _), (other, _), a, b in zip(groups, groups[1:], order, order[1:], strict=False):
        tail = max(one[1], other[1], Fraction(2) ** -900)
        apart = abs(one[1] - other[1]) if one[0] == other[0] else 1 - one[1] - other[1]
        assert a < b or apart <= bound * tail


def vote_shares(rng, trees, n, K, dtype):
    votes = rng.multinomial(trees, rng.dirichlet(np.ones(K)), size=n)
    return (votes / trees).astype(dtype)


def test_a_given_score_keeps_its_number():
    P = np.array([[0.7, 0.2, 0.1]] * 500 + [[0.7, 0.3, 0.0]] * 500)
    y = [0] * 500 + [0] * 200 + [1] * 300
    curve = Curve.from_predictions(Predictions(P, y, kind="probs"))
    assert curve.score.tolist() == [0.7]
    assert ogive.ks_error(curve) < 1e-15
    assert curve == Curve.from_scores(P[:, 0], np.array(y) == 0, view="top-1")


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("trees", [10, 20, 100])
def test_vote_shares_tie_where_their_votes_do(rng, trees, dtype):
    P = vote_shares(rng, trees, 150, 5, dtype)
    for view in views(5):
        check_groups(P, view, "probs")


@pytest.mark.parametrize("trees", [10, 20, 100])
def test_ks_of_vote_shares_is_that_of_the_given_scores(rng, trees):
    P = vote_shares(rng, trees, 2000, 4, np.float64)
    y = rng.integers(0, 4, 2000)
    preds = Predictions(P, y, kind="probs")
    assert preds.renormalised == 0
    want = ogive.ks_error(Curve.from_scores(P.max(axis=1), P.argmax(axis=1) == y))
    assert ogive.ks_error(Curve.from_predictions(preds)) == want


@pytest.mark.parametrize("view", views(4))
def test_rows_that_are_renormalised_have_exact_quotients(rng, view):
    P = np.round(rng.dirichlet(np.ones(4), size=300), 2)
    P[:, 3] += 0.999 - P.sum(axis=1)
    P = np.concatenate([P[P.min(axis=1) >= 0], np.tile([0.333, 0.333, 0.333, 0.0], (3, 1))])
    P = np.concatenate([P, P[:, [2, 0, 3, 1]], P * 0.5 + 0.5 * P[:, ::-1]])
    preds = Predictions(P, kind="probs")
    assert preds.renormalised == len(P)
    check_groups(P, view, "probs")
    for row, tail, high in zip(P, *_tails(P, view), strict=True):
        side, exact = naive.exact_tail(view, row, "probs")
        assert tail == exact.numerator / exact.denominator  # rounded correctly
        assert high == side or tail == 0.5


def _tails(values, view):
    rows = ogive.score_rows(Predictions(values, kind="probs"), view)
    return rows.tail, rows.high


def test_which_rows_are_renormalised():
    rounding = (3 / 2 + 1) * 2.0**-23
    P = np.array([
        [0.5, 0.25, 0.25],
        [0.5, 0.25, 0.25 + rounding],
        [0.5, 0.25, 0.25 + rounding + 2.0**-50],
        [0.333, 0.333, 0.333],
        np.float16([1 / 3, 1 / 3, 1 / 3]),
        np.float32([1 / 3, 1 / 3, 1 / 3]),
    ])  # fmt: skip
    preds = Predictions(P, kind="probs")
    assert preds.renormalised_rows(slice(0, 6)).tolist() == [2, 3]
    assert "2 renormalised" in repr(preds)
    assert "renormalised" not in repr(Predictions(P[:2], kind="probs"))
    for dtype in (np.float16, np.float32):
        assert Predictions(P[4:].astype(dtype), kind="probs").renormalised == 0
    again = preds.probabilities()
    np.testing.assert_array_equal(again[[0, 1, 4, 5]], P[[0, 1, 4, 5]])
    np.testing.assert_allclose(again[[2, 3]].sum(axis=1), 1.0, rtol=1e-15)


def test_a_given_one_takes_no_order_from_its_other_columns():
    P = [[1.0, 1e-30, 2e-30], [1.0, 0.0, 0.0], [1.0, 1e-20, 0.0]]
    rows = ogive.score_rows(Predictions(P, kind="probs"), "top-1")
    assert rows.tail.tolist() == [0.0] * 3
    assert rows.score.tolist() == [1.0] * 3
    second = ogive.score_rows(Predictions(P, kind="probs"), "class-1")
    assert second.tail.tolist() == [1e-30, 0.0, 1e-20]


GRIDS = st.sampled_from([0.1, 0.25, 0.5, 1.0, 1 / 3, 7.0, 150.0])


@settings(max_examples=60, deadline=None)
@given(st.integers(2, 5), GRIDS, st.integers(0, 2**32 - 1), st.data())
def test_logits_on_a_grid_tie_exactly_where_softmax_does(K, step, seed, choose):
    rng = np.random.default_rng(seed)
    z = np.round(rng.normal(size=(12, K)) * 2) * step
    z[rng.random(z.shape) < 0.05] = -np.inf
    z[:, 0] = np.where(np.isfinite(z).any(axis=1), z[:, 0], 0.0)
    z = np.concatenate([z, rng.permuted(z, axis=1), z + 8.0])
    view = choose.draw(st.sampled_from(views(K)))
    dtype = choose.draw(st.sampled_from([np.float16, np.float32, np.float64]))
    check_groups(z.astype(dtype), view, "logits")


@settings(max_examples=60, deadline=None)
@given(st.integers(2, 6), st.integers(0, 2**32 - 1), st.data())
def test_probabilities_tie_exactly_where_their_sums_do(K, seed, choose):
    rng = np.random.default_rng(seed)
    P = rng.dirichlet(np.full(K, 0.4), size=8)
    P = P / P.sum(axis=1, keepdims=True) * rng.choice([1.0, 0.9995, 1.0009], size=(8, 1))
    P = np.concatenate([P, rng.permuted(P, axis=1), np.round(P, 2)])
    P = P[np.abs(P.sum(axis=1) - 1) < 0.999e-3]
    view = choose.draw(st.sampled_from(views(K)))
    dtype = choose.draw(st.sampled_from([np.float16, np.float32, np.float64]))
    P = P.astype(dtype)
    check_groups(P[np.abs(P.sum(axis=1, dtype=np.float64) - 1) < 0.999e-3], view, "probs")


def test_different_sets_of_masses_can_have_one_score():
    # (1 + e^-½) / (e^-1 + e^-1½) is e, and so is 2 / 2 e^-1: no common multiset, one score
    z = np.array([[0.0, -0.5, -1.0, -1.5], [0.0, 0.0, -1.0, -1.0], [0.0, 0.0, -1.0, -1.0 + 1e-8]])
    a, b, c = cells(z, "within-top-2", "logits")
    assert a == b
    assert c < b


def test_the_order_of_columns_a_shift_and_the_type_change_nothing(rng):
    z = np.round(rng.normal(size=(400, 30)) * 3, 1).astype(np.float32)
    y = rng.integers(0, 30, 400)
    order = rng.permutation(30)
    shifted = z.astype(np.float64) + 64.0  # exact in float64
    for view in ("top-1", "top-3", "within-top-4"):
        curve = Curve.from_predictions(Predictions(z, y, kind="logits"), view)
        moved = Predictions(z[:, order], np.argsort(order)[y], kind="logits")
        if view == "top-1":  # hits of tied classes go by index
            assert Curve.from_predictions(moved, view).score.tolist() == curve.score.tolist()
        for other in (z.astype(np.float64), shifted, np.asfortranarray(z)):
            assert Curve.from_predictions(Predictions(other, y, kind="logits"), view) == curve
        one_by_one = ogive.CurveStream(view, kind="logits", bits=52)
        for i in range(0, 400, 37):
            one_by_one.update(z[i : i + 37], y[i : i + 37])
        assert one_by_one.curve().summary() == curve.summary()


@pytest.mark.parametrize("kind", ["logits", "probs"])
@pytest.mark.parametrize("K", [2, 5, 40])
def test_classes_at_once_are_the_views_of_each(rng, kind, K):
    z = np.round(rng.normal(size=(3000, K)) * 4, 1)
    if kind == "probs":
        z = np.exp(z - z.max(axis=1, keepdims=True))
        z = (z / z.sum(axis=1, keepdims=True)).round(3)
        z = z[np.abs(z.sum(axis=1) - 1) < 1.01e-3]
    preds = Predictions(z, rng.integers(0, K, len(z)), kind=kind)
    assert (preds.renormalised > 0) == (kind == "probs" and K > 2)  # sums of 0.999 and 1.001
    for k, keys in class_keys(preds):
        np.testing.assert_array_equal(keys, keys_of_view(preds, parse_view(f"class-{k}")))
    errors = [ogive.ks_error(Curve.from_predictions(preds, f"class-{k}")) for k in range(K)]
    assert ogive.classwise_ks(preds).tolist() == errors


@pytest.mark.parametrize("kind", ["logits", "probs"])
def test_both_classes_of_one_column_are_those_of_two(rng, kind):
    x = rng.normal(size=500) * 5
    x = x if kind == "logits" else 1 / (1 + np.exp(-x))
    first = np.zeros(500) if kind == "logits" else 1.0 - x
    labels = rng.integers(0, 2, 500)
    one = Predictions(x, labels, kind=kind)
    two = Predictions(np.stack([first, x], axis=1), labels, kind=kind)
    np.testing.assert_allclose(ogive.classwise_ks(one), ogive.classwise_ks(two), rtol=1e-12)


def test_one_column_is_the_second_of_two(rng):
    x = rng.normal(size=500) * 5
    two = Predictions(np.stack([np.zeros(500), x], axis=1), kind="logits")
    one = Predictions(x, kind="logits")
    for first, second in (("score", "class-1"), ("class-0",) * 2, ("top-1",) * 2, ("top-2",) * 2):
        a, b = ogive.score_rows(one, first), ogive.score_rows(two, second)
        np.testing.assert_array_equal(a.tail, b.tail)
        np.testing.assert_array_equal(a.high, b.high)


def test_softmax_is_rounded_correctly(rng):
    z = rng.normal(size=(300, 6)) * np.array([1, 5, 30])[:, None].repeat(100, 0).reshape(300, 1)
    for view in ("top-1", "top-2", "within-top-3", "class-4"):
        rows = ogive.score_rows(Predictions(z, kind="logits"), view)
        for row, tail, high in zip(z, rows.tail, rows.high, strict=True):
            side, exact = naive.exact_tail(view, row, "logits")
            assert high == side
            assert abs(Fraction(float(tail)) / exact - 1) <= Fraction(1, 2**32)
            assert tail.view(np.int64) & ((1 << 21) - 1) == 0


def test_exponentials_have_sixty_bits(rng):
    d = -np.concatenate([rng.exponential(9.0, 300), rng.uniform(0, 690, 100), [0.0, 5e-324]])
    rest = np.spacing(d) * rng.uniform(-0.5, 0.5, d.size)
    for h, low, x, r in zip(*double_double.exponentials(d, rest), d, rest, strict=True):
        with localcontext() as context:
            context.prec = 60
            exact = (Decimal(float(x)) + Decimal(float(r))).exp()
            assert abs((Decimal(float(h)) + Decimal(float(low))) / exact - 1) < Decimal(2) ** -60


def test_decimals_decide_where_pairs_cannot():
    boundary = (1.0 + 2.0**-32) / 4  # half-way between two numbers of 32 bits
    below, above = (boundary * (1 - 2**-70 * s) for s in (1, -1))
    assert below == boundary == above
    for sign in (-1, 1):
        pair = np.array([boundary]), np.array([sign * 2.0**-70])
        exact = [Fraction(boundary) + Fraction(sign, 2**90)]

        def digits(i, precision, exact=exact):
            with localcontext() as context:
                context.prec = precision
                return Decimal(exact[i].numerator) / Decimal(exact[i].denominator)

        (found,) = softmax_tails._decided(pair, digits)
        assert found == (0.25 if sign < 0 else 0.25 + 2.0**-33)


def test_every_tail_near_a_boundary_is_found(rng):
    K, units = 10, np.arange(-1_100, 1_101)
    for exponent in (-1, -20, -500, -899, -901):
        boundary = np.float64(1.5 * 2.0**exponent).view(np.int64) + (1 << 20)
        tail = (boundary + rng.permutation(units)).view(np.float64)
        off = np.abs(tail.view(np.int64) - boundary)
        near = off <= softmax_tails._slack(K) - exponent
        wanted = np.flatnonzero(near & (tail >= softmax_tails.LEAST))
        np.testing.assert_array_equal(softmax_tails.near_boundary(tail, K), wanted)


@pytest.mark.parametrize("top", [-800.0, -41.0, -40.0, 0.0, 599.0, 600.0, 601.0, 1e5])
def test_scores_do_not_depend_on_the_unit_of_the_masses(rng, top):
    # Sums of quarters are exact. Distances reach from equal to masses that underflow.
    far = rng.choice([4.0, 40.0, 700.0, 1400.0], size=(300, 1))
    z = -np.floor(4.0 * far * rng.random((300, 7))) / 4.0
    z[np.arange(300), rng.integers(0, 7, 300)] = 0.0
    at_zero = score_rows(Predictions(z, kind="logits"), "top-1")
    moved = score_rows(Predictions(z + top, kind="logits"), "top-1")
    np.testing.assert_array_equal(moved.high, at_zero.high)
    np.testing.assert_array_equal(moved.tail, at_zero.tail)
