import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ogive import Curve, Predictions, fit_paper_spline, ks_error
from ogive.calibrators import find_method
from ogive.calibrators.paper_spline import MAX_NODES
from ogive.errors import InvalidInput, InvalidType, NotEnoughData, UnknownName
from ogive.rows.views import parse_view, score_block
from tests import naive, simulate, strategies


def calibrated_ks(gamma, preds, view):
    """KS in percent of a map applied to a view of predictions, without rounding the scores."""
    rows = score_block(preds, parse_view(view), slice(0, preds.n))
    eta = np.log(rows.tail) - np.log1p(-rows.tail)
    scores = gamma.from_log_odds(np.where(rows.high, -eta, eta))
    return 100 * ks_error(Curve.from_scores(scores, rows.hit))


@pytest.mark.parametrize(
    ("view", "knots", "target", "percent", "within"),
    [
        ("top-1", 6, "residual", 0.65, 0.02),
        ("top-2", 6, "residual", 0.30, 0.06),
        ("within-top-2", 14, "residual", 0.30, 0.06),
        ("within-top-2", 6, "residual", 0.742, 0.01),
        ("top-1", 6, "cumulative", 1.83, 0.03),
    ],
)
def test_the_paper_s_numbers(arena, view, knots, target, percent, within):
    data = arena("paper_resnet110_c10")
    cal, test = (
        Predictions(data[f"{part}_logits"], data[f"{part}_labels"], kind="logits")
        for part in ("cal", "test")
    )
    gamma = fit_paper_spline(Curve.from_predictions(cal, view), knots=knots, target=target)
    assert calibrated_ks(gamma, test, view) == pytest.approx(percent, abs=within)


@pytest.mark.parametrize("target", ["residual", "cumulative"])
@pytest.mark.parametrize("runout", ["natural", "parabolic", "cubic"])
def test_it_equals_the_dense_fit_and_the_chords_of_its_spline(rng, target, runout):
    scores = rng.integers(0, 60, 900) / 60  # ties everywhere
    hits = rng.random(900) < scores**2
    curve = Curve.from_scores(scores, hits)
    gamma = fit_paper_spline(curve, knots=7, runout=runout, target=target)
    t = np.concatenate([[0.0], curve.fractile])
    cumulative = np.concatenate([[0.0], np.cumsum(curve.hits) / 900])
    h = np.concatenate([[0.0], curve.gap]) if target == "residual" else cumulative
    dense = naive.dense_spline_fit(np.linspace(0, 1, 7), runout, t, h)
    np.testing.assert_allclose(gamma.spline.values, dense, atol=1e-10)
    chord = np.diff(gamma.spline(t)) / np.diff(t)
    expected = chord + (curve.score if target == "residual" else 0.0)
    np.testing.assert_allclose(gamma(curve.score), np.clip(expected, 0, 1), atol=1e-9)


@given(strategies.scored(min_size=8), st.sampled_from([None, "unit", "monotone", "both"]))
def test_the_map_stays_in_the_unit_interval(data, constraint):
    scores, hits = data
    curve = Curve.from_scores(scores, hits)
    if curve.score.size < 4:
        return
    rules = ("unit", "monotone") if constraint == "both" else constraint
    grid = np.concatenate([[0.0, 1.0, 0.5, 5e-324, 1 - 2**-53], np.linspace(0, 1, 201)])
    for target in ("residual", "cumulative"):
        gamma = fit_paper_spline(curve, knots=4, target=target, constraint=rules)
        values = gamma(grid)
        assert ((values >= 0) & (values <= 1)).all()
        if constraint in ("monotone", "both") and gamma.at_one is None:
            assert (np.diff(gamma(np.sort(grid))) >= -1e-12).all()


@pytest.mark.parametrize("target", ["residual", "cumulative"])
@pytest.mark.parametrize("rules", [("unit",), ("monotone",), ("unit", "monotone")])
def test_constraints_hold_between_the_knots_before_any_clipping(rng, target, rules):
    # Hits that dip and jump, so that the free fit leaves [0, 1] and falls.
    scores = rng.random(3000)
    truth = np.where(scores < 0.5, 0.02, 0.98) - 0.5 * ((scores > 0.6) & (scores < 0.7))
    curve = Curve.from_scores(scores, rng.random(3000) < truth)
    t = np.linspace(0, 1, 5001)
    middle = (t[1:] + t[:-1]) / 2

    def probability(gamma):
        place = np.interp(middle, curve.fractile, curve.score) if target == "residual" else 0.0
        return place + gamma.spline.derivative(middle)

    free = probability(fit_paper_spline(curve, knots=14, target=target))
    assert free.max() > 1.001 or free.min() < -0.001
    assert np.diff(free).min() < -1e-4
    bound = probability(fit_paper_spline(curve, knots=14, target=target, constraint=rules))
    if "unit" in rules:
        assert bound.min() > -2e-3
        assert bound.max() < 1 + 2e-3
    if "monotone" in rules:
        assert np.diff(bound).min() > -1e-3


def test_a_constraint_is_the_best_fit_among_those_that_obey(rng):
    scores, hits, _ = simulate.overconfident(rng, 2000)
    curve = Curve.from_scores(scores, hits)
    free, bound = (fit_paper_spline(curve, constraint=rule) for rule in (None, "unit"))
    t = np.concatenate([[0.0], curve.fractile])
    gap = np.concatenate([[0.0], curve.gap])

    def distance(gamma):
        return np.mean((gamma.spline(t) - gap) ** 2)

    assert distance(free) <= distance(bound) < 3 * distance(free)


@given(strategies.scored(min_size=8, weights=True))
def test_weights_shards_and_repeats_give_the_same_spline(data):
    scores, hits, weights = data
    weights = weights + 1
    whole = Curve.from_scores(scores, hits, sample_weight=weights)
    if whole.score.size < 3:
        return
    repeated = Curve.from_scores(np.repeat(scores, weights), np.repeat(hits, weights))
    half = scores.size // 2
    merged = Curve.from_scores(scores[half:], hits[half:], sample_weight=weights[half:]).merge(
        Curve.from_scores(scores[:half], hits[:half], sample_weight=weights[:half])
    )
    scaled = Curve.from_scores(scores, hits, sample_weight=weights * 0.5)
    first = fit_paper_spline(whole, knots=3)
    for other in (repeated, merged, scaled):
        again = fit_paper_spline(other, knots=3)
        np.testing.assert_allclose(again.spline.values, first.spline.values, atol=1e-12)
        np.testing.assert_allclose(again.value, first.value, atol=1e-10)


def test_it_recovers_a_known_truth(rng):
    scores, hits, truth = simulate.overconfident(rng, 20_000)
    gamma = fit_paper_spline(Curve.from_scores(scores, hits), knots=8)
    assert np.mean(np.abs(gamma(scores) - truth)) < 0.012
    assert np.mean(np.abs(scores - truth)) > 0.09


def test_logits_beyond_one_are_told_apart_and_that_is_better(rng):
    logits, labels, truth = simulate.saturated_logits(rng, 20_000)
    preds = Predictions(logits, labels, kind="logits")
    sharp = fit_paper_spline(Curve.from_predictions(preds))
    top = preds.probabilities().max(axis=1)
    rounded = fit_paper_spline(Curve.from_scores(top, logits.argmax(axis=1) == labels))
    gap = logits.max(axis=1) - np.log(3.0)  # log-odds of the top class against three zeros
    sharp_error = np.abs(sharp.from_log_odds(gap) - truth).mean()
    rounded_error = np.abs(rounded(top) - truth).mean()
    assert sharp_error < 0.7 * rounded_error
    # A score that is 1.0 in float64 stands for all of those rows.
    ones = top == 1.0
    assert sharp(1.0) == pytest.approx(truth[ones].mean(), abs=0.02)
    assert rounded(1.0) == pytest.approx(truth[ones].mean(), abs=0.02)


def test_ties_get_their_chord(rng):
    # Two thirds of the scores are exactly 1; a slope at the group's end would be far off.
    scores = np.where(rng.random(6000) < 0.64, 1.0, rng.random(6000))
    hits = rng.random(6000) < 0.5 + 0.4 * scores
    gamma = fit_paper_spline(Curve.from_scores(scores, hits))
    assert gamma(1.0) == pytest.approx(hits[scores == 1.0].mean(), abs=0.02)


def test_thinning_keeps_its_promise(rng):
    scores = rng.random(60_000) ** 0.2
    hits = rng.random(60_000) < scores**2
    curve = Curve.from_scores(scores, hits)
    gamma = fit_paper_spline(curve, knots=20)
    assert gamma.tail.size <= MAX_NODES
    t = np.concatenate([[0.0], curve.fractile])
    exact = np.clip(curve.score + gamma.spline.chord(t[:-1], t[1:]), 0, 1)
    assert 0 < np.abs(gamma(curve.score) - exact).max() <= gamma.thinning_error < 1e-3


def test_it_is_defined_outside_what_it_saw_and_between(rng):
    scores = 0.3 + 0.4 * rng.random(500)
    gamma = fit_paper_spline(Curve.from_scores(scores, rng.random(500) < scores))
    assert gamma(0.0) == gamma(scores.min())
    assert gamma(1.0) == gamma(scores.max())
    ends = np.sort(scores)[[100, 101]]
    middle = gamma(ends.mean())
    assert min(gamma(ends)) <= middle <= max(gamma(ends))
    np.testing.assert_allclose(middle, gamma(ends).mean(), atol=1e-12)  # straight between


def test_scores_and_log_odds_agree(rng):
    scores, hits, _ = simulate.overconfident(rng, 3000)
    gamma = fit_paper_spline(Curve.from_scores(scores, hits))
    s = rng.random(500)
    np.testing.assert_allclose(gamma.from_log_odds(np.log(s) - np.log1p(-s)), gamma(s), atol=1e-9)
    assert np.isfinite(gamma.from_log_odds([-np.inf, np.inf])).all()


def test_shapes_and_types(rng):
    gamma = fit_paper_spline(Curve.from_scores(rng.random(50), rng.random(50) < 0.5), knots=3)
    assert isinstance(float(gamma(0.3)), float)
    assert np.ndim(gamma(0.3)) == 0
    assert gamma(np.full((2, 3), 0.3, np.float32)).shape == (2, 3)
    assert gamma([]).shape == gamma.from_log_odds(np.empty((0, 3)))[:, 0].shape == (0,)
    for bad, message in ((1.5, "must lie in"), (np.nan, "must lie in")):
        with pytest.raises(InvalidInput, match=message):
            gamma(bad)
    with pytest.raises(InvalidInput, match="`log_odds` must not be NaN"):
        gamma.from_log_odds([np.nan])


def test_a_map_pickles_and_serves_threads(rng):
    gamma = fit_paper_spline(Curve.from_scores(rng.random(99), rng.random(99) < 0.5))
    again = pickle.loads(pickle.dumps(gamma))  # noqa: S301
    assert again == gamma
    s = rng.random((8, 1000))
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(gamma, s))
    np.testing.assert_array_equal(np.stack(results), gamma(s))
    with pytest.raises(ValueError, match="read-only"):
        gamma.value[0] = 0.5
    with pytest.raises(AttributeError):
        gamma.at_one = 0.5


def test_one_class_and_knots_given(rng):
    scores = rng.random(300)
    gamma = fit_paper_spline(Curve.from_scores(scores, np.ones(300)), knots=[0, 0.1, 0.5, 1])
    assert ((gamma(scores) >= 0) & (gamma(scores) <= 1)).all()
    assert gamma.spline.knots.tolist() == [0, 0.1, 0.5, 1]


def test_knots_evenly_spaced_or_given_are_the_same(rng):
    curve = Curve.from_scores(rng.random(300), rng.random(300) < 0.5)
    assert fit_paper_spline(curve, knots=5) == fit_paper_spline(curve, knots=np.linspace(0, 1, 5))


BAD = [
    (dict(knots=2), InvalidInput, "number >= 3"),
    (dict(knots=4.5), InvalidInput, "must be 1-D"),
    (dict(knots="six"), InvalidType, "`knots` must be numbers"),
    (dict(knots=None), InvalidType, "`knots`"),
    (dict(knots=[0, 0.5, 0.5, 1]), InvalidInput, "rising from 0 to 1"),
    (dict(knots=[0.1, 0.5, 1]), InvalidInput, "rising from 0 to 1"),
    (dict(runout="quadratic"), UnknownName, "runout 'quadratic'"),
    (dict(target="resid"), UnknownName, "Did you mean 'residual'"),
    (dict(constraint="monoton"), UnknownName, "Did you mean 'monotone'"),
    (dict(knots=9), NotEnoughData, "4 distinct scores, fewer than the 9 knots"),
]


@pytest.mark.parametrize(("arguments", "error", "message"), BAD)
def test_wrong_options_are_refused(arguments, error, message):
    curve = Curve.from_scores([0.1, 0.4, 0.6, 0.9], [0, 1, 0, 1])
    with pytest.raises(error, match=message):
        fit_paper_spline(curve, **arguments)


def test_anything_but_a_curve_is_refused():
    with pytest.raises(InvalidType, match="build it with"):
        fit_paper_spline([0.1, 0.4])


def test_rows_of_weight_one_are_the_same_nodes(rng):
    for n in (25, 4000):
        s, hits = rng.random(n), rng.random(n) < 0.5
        plain, weighted = (Curve.from_scores(s, hits, sample_weight=w) for w in (None, np.ones(n)))
        first, second = fit_paper_spline(plain), fit_paper_spline(weighted)
        assert first.tail.size == n
        np.testing.assert_array_equal(first.tail, second.tail)
        np.testing.assert_allclose(first.value, second.value, atol=1e-12)


def test_the_table_knows_it():
    assert find_method("paper-spline").fit is fit_paper_spline
    with pytest.raises(UnknownName, match="Did you mean 'paper-spline'"):
        find_method("paperspline")


def test_nodes_whose_slope_overflows_are_a_jump_and_not_a_way_out_of_order():
    scores, hits = [0.0] * 5 + [0.5, 0.75, 2e-323], [0, 1, 1, 1, 1, 1, 1, 1]
    curve = Curve.from_scores(scores, hits)
    gamma = fit_paper_spline(curve, knots=4, target="cumulative", constraint="monotone")
    values = gamma([0.0, 5e-324, 1e-323, 2e-323, 0.1])
    assert (np.diff(values) >= 0.0).all()
