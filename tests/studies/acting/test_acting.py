"""When to act: thresholds, costs before and after, and limits."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit

import ogive
from ogive import Curve, Predictions, decide, expected_cost
from ogive.calibrators.identity import IdentityMap
from ogive.errors import DoesNotApply, InvalidInput, InvalidType, NotEnoughData, OgiveWarning
from ogive.metrics.decisions import Cells
from ogive.studies.acting.events import Costs, by_folds, by_map, judge
from tests import naive, strategies
from tests.simulate import rare

NONE = IdentityMap(view="score", n=1)
WORDS = ("none", "as given")


def test_the_threshold_is_the_closed_form_and_costs_are_those_of_the_rows(rng):
    scores, outcomes = rare(rng)
    other, seen = rare(rng)
    gamma = ogive.fit_spline(Curve.from_scores(other, seen))
    found = decide(scores, outcomes, miss=20, alarm=1, calibrator=gamma)
    assert found.threshold == 1 / 21
    costs = {"miss": 20, "alarm": 1}
    for s, acting in ((scores, found.before), (gamma(scores), found.after)):
        exact = naive.expected_cost(s, outcomes, 1 / 21, 20, 1)
        assert acting.cost == pytest.approx(exact)
        whole = expected_cost(s, outcomes, **costs)
        assert (acting.low, acting.high) == pytest.approx((whole.low, whole.high))
    assert found.saved == pytest.approx(found.cost_before - found.cost_after)
    assert found.low < found.saved < found.high
    assert found.saved > 0.05
    assert found.to_dict()["cost_after"] == found.cost_after
    # On raw scores it is the same decision.
    assert ((scores >= found.raw_threshold) == (gamma(scores) >= 1 / 21)).all()


def test_cross_validated_costs_are_near_those_of_new_rows(rng):
    scores, outcomes = rare(rng)
    found = decide(scores, outcomes, miss=20, alarm=1)
    gamma = ogive.fit_spline(Curve.from_scores(scores, outcomes))
    new, fresh = rare(rng, 200_000)
    truth = decide(new, fresh, miss=20, alarm=1, calibrator=gamma)
    assert found.how == "cross-validated (5 folds)"
    assert found.after.low < truth.cost_after < found.after.high
    assert found.low < truth.saved < found.high
    assert found.raw_threshold == pytest.approx(truth.raw_threshold)


def test_what_is_saved_is_paired(rng):
    """Costs before and after are of the same rows: the difference is known better than either."""
    scores, outcomes = rare(rng, power=1.1)
    found = decide(scores, outcomes, miss=20, alarm=1)
    both = np.hypot(*(x.high - x.low for x in (found.before, found.after)))
    assert found.high - found.low < 0.7 * both


def test_a_map_that_changes_nothing_saves_nothing_for_certain(rng):
    scores, outcomes = rare(rng)
    found = decide(scores, outcomes, miss=20, alarm=1, calibrator=NONE)
    assert (found.saved, found.low, found.high) == (0.0, 0.0, 0.0)
    assert "changes no decision" in found.verdict
    assert found.raw_threshold == pytest.approx(1 / 21)


def test_a_capacity_that_decides_leaves_nothing_to_save(rng):
    scores, outcomes = rare(rng, 4000, power=1.5)
    for capacity in range(150, 210, 10):  # the variance of five equal costs may round
        found = decide(scores, outcomes, miss=20, alarm=1, capacity=capacity)
        assert (found.saved, found.low, found.high) == (0.0, 0.0, 0.0)


def test_that_no_row_changes_is_not_certainty():
    scores, outcomes = [0.1, 0.9] * 20, [0, 1] * 20
    gamma = ogive.fit_platt(Curve.from_scores([0.2, 0.4, 0.6, 0.8] * 9, [0, 1, 1, 1] * 9))
    found = decide(scores, outcomes, miss=1, alarm=1, calibrator=gamma)
    assert found.saved == 0.0
    assert found.low < 0.0 < found.high
    assert "do not show" in found.verdict


@pytest.mark.parametrize("kind", ["repetition", "sampling"])
def test_weights_and_the_order_of_rows(rng, kind):
    scores, outcomes = rare(rng, 800)
    w = rng.integers(1, 4, 800)
    other = ogive.fit_platt(Curve.from_scores(*rare(rng)))
    how = {"miss": 9, "alarm": 1, "calibrator": other}
    found = decide(scores, outcomes, sample_weight=w, weight_kind=kind, **how).to_dict()
    order = rng.permutation(800)
    again = decide(
        scores[order], outcomes[order], sample_weight=w[order], weight_kind=kind, **how
    ).to_dict()
    assert found == pytest.approx(again) if kind == "sampling" else found == again
    if kind == "repetition":
        twice = decide(np.repeat(scores, w), np.repeat(outcomes, w), **how).to_dict()
        assert {k: v for k, v in found.items() if isinstance(v, float)} == pytest.approx(
            {k: v for k, v in twice.items() if isinstance(v, float)}
        )


def test_curves_merged_curves_and_predictions_give_the_same(rng):
    scores, outcomes = rare(rng, 900)
    gamma = ogive.fit_platt(Curve.from_scores(*rare(rng)))
    how = {"miss": 9, "alarm": 1, "calibrator": gamma}
    whole = decide(scores, outcomes, **how)
    parts = [Curve.from_scores(scores[at], outcomes[at]) for at in (slice(400), slice(400, 900))]
    assert decide(parts[0].merge(parts[1]), **how) == whole
    preds = Predictions(np.stack([1 - scores, scores], 1), outcomes.astype(int), kind="probs")
    two = decide(preds, miss=9, alarm=1, method="platt")
    assert two.view == "class-1"
    assert two.saved == pytest.approx(
        decide(scores, outcomes, miss=9, alarm=1, method="platt").saved
    )
    small = decide(Curve.from_scores(scores, outcomes).summarised(10), **how)
    assert small.cost_after == pytest.approx(whole.cost_after, rel=0.02)


def test_calibrators_of_whole_vectors(rng):
    p = rng.beta(1, 5, 2000)
    labels = (rng.random(2000) < p).astype(int)
    preds = Predictions(np.stack([1 - p, p], 1), labels, kind="probs")
    gamma = ogive.fit_multiclass(preds.take(slice(1000)), "platt", multiclass="ovr")
    found = decide(preds.take(slice(1000, None)), miss=5, alarm=1, calibrator=gamma)
    plain = ogive.fit_platt(Curve.from_predictions(preds.take(slice(1000)), "class-1"))
    same = decide(preds.take(slice(1000, None)), miss=5, alarm=1, calibrator=plain)
    assert found.cost_after == pytest.approx(same.cost_after)
    assert found.raw_threshold == pytest.approx(same.raw_threshold)
    assert (found.low, found.high) == pytest.approx((same.low, same.high))
    other = decide(preds, miss=5, alarm=1, calibrator=gamma, view="class-0")
    assert other.raw_threshold is None


@settings(max_examples=60, deadline=None)
@given(
    strategies.scored(min_size=4, max_size=25),
    st.sampled_from([0.1, 0.3, 0.5]),
    st.integers(1, 8),
    st.sampled_from([None, 0.2, 0.5, 0.9]),
)
def test_limits_equal_their_definition(rows, share, capacity, precision):
    scores, hits = rows[0].astype(float), rows[1]
    miss, alarm = 1 - share, share
    costs = Costs(miss, alarm, float(capacity), precision)
    expected = naive.limited_threshold(scores, hits, miss, alarm, capacity, precision)
    judged = by_map(Curve.from_scores(scores, hits), NONE)
    if expected is None:
        with pytest.raises(InvalidInput, match="no threshold reaches a precision"):
            judge(judged, costs, NONE, "score", WORDS)
        return
    found = judge(judged, costs, NONE, "score", WORDS)
    assert np.flatnonzero(scores >= found.threshold).tolist() == expected
    assert found.after.acted == pytest.approx(len(expected) / scores.size)


def test_a_capacity_that_binds_leaves_nothing_to_save(rng):
    scores, outcomes = rare(rng)
    found = decide(scores, outcomes, miss=20, alarm=1, capacity=100)
    assert found.after.acted <= 100 / 3000
    assert found.threshold > 1 / 21
    assert (found.saved, found.low, found.high) == (0.0, 0.0, 0.0)
    free = decide(scores, outcomes, miss=20, alarm=1)
    loose = decide(scores, outcomes, miss=20, alarm=1, capacity=3000)
    assert (free.saved, free.threshold) == (loose.saved, loose.threshold)


def test_precision_is_reached_on_calibrated_scores(rng):
    scores, outcomes = rare(rng)
    found = decide(scores, outcomes, miss=20, alarm=1, precision=0.3)
    assert found.threshold > 1 / 21
    assert found.after.precision > 0.27  # cross-validated
    assert found.before.precision > 0.35  # raw scores are too low


@pytest.mark.parametrize(
    ("asked", "error", "message"),
    [
        ({"miss": 1}, InvalidInput, "are both needed"),
        ({"miss": -1, "alarm": 1}, InvalidInput, "`miss` must be a cost of 0"),
        ({"miss": 0, "alarm": 0}, InvalidInput, "both 0"),
        ({"miss": 1, "alarm": 1, "capacity": 0}, InvalidInput, "`capacity` must be at least 1"),
        ({"miss": 1, "alarm": 1, "capacity": 41}, InvalidInput, "number of rows, 40, not 41"),
        ({"miss": 1, "alarm": 1, "capacity": np.nan}, InvalidInput, "`capacity` must be"),
        ({"miss": 1, "alarm": 1, "precision": 0}, InvalidInput, "`precision` must be a share"),
        ({"miss": 1, "alarm": 1, "capacity": "all"}, InvalidType, "`capacity` must be a number"),
        ({"miss": 1, "alarm": 1, "precision": "high"}, InvalidType, "`precision` must be a number"),
        ({"miss": 1, "alarm": 1, "cv": 1}, InvalidInput, "`cv` must be"),
        ({"miss": 1, "alarm": 1, "cv": 41}, NotEnoughData, "40 rows are too few for 41 folds"),
        ({"costs": [[0, 1], [1, 0]], "actions": ["a", "a"]}, InvalidInput, "also called 'a'"),
        ({"miss": 1, "alarm": 1, "calibrator": "cal.json"}, InvalidType, "not str"),
        ({"miss": 1, "alarm": 1, "method": "temperature"}, InvalidInput, "whole matrices"),
        ({"costs": [[0, 1], [1, 0]], "miss": 1}, DoesNotApply, "`miss` does not go with"),
        ({"costs": [[0, 1, 2], [1, 0, 2]]}, InvalidInput, "each of the 2 classes"),
        ({"costs": [[0, 1]]}, InvalidInput, "at least 2"),
        ({"costs": [[0, -1], [1, 0]]}, InvalidInput, r"1 of 2 rows, the first at row 0 \(-1\)"),
        ({"costs": [[0, np.nan], [1, 0]]}, InvalidInput, "finite and >= 0"),
        ({"costs": [[1, 2], [1, 2]]}, InvalidInput, "nothing to decide"),
        ({"costs": [[0, 1], [1, 0]], "actions": ["a"]}, InvalidInput, "name the 2 rows"),
    ],
)
def test_bad_input_is_refused(asked, error, message):
    with pytest.raises(error, match=message):
        decide([0.2, 0.4, 0.6, 0.8] * 10, [0, 1, 0, 1] * 10, **asked)


def test_a_handful_of_cases_is_warned_of():
    with pytest.warns(OgiveWarning, match="only 4 rows have the rarer outcome"):
        decide([0.2, 0.4, 0.6, 0.8] * 10, [0] * 36 + [1] * 4, miss=1, alarm=1, method="platt")


def test_rows_that_cannot_be_decided_on():
    with pytest.raises(InvalidInput, match="all 3 outcomes are 1"):
        decide([0.2, 0.4, 0.6], [1, 1, 1], miss=1, alarm=1)
    with pytest.raises(InvalidType, match="`scores` must be a list or an array"):
        decide(0.2, 1, miss=1, alarm=1)
    with pytest.raises(InvalidInput, match="has no labels"):
        decide(Predictions([0.2, 0.4], kind="probs"), miss=1, alarm=1)
    three = Predictions(np.full((4, 3), 1 / 3), [0, 1, 2, 0], kind="probs")
    with pytest.raises(DoesNotApply, match="with 3 classes, say what is acted on"):
        decide(three, miss=1, alarm=1)
    with pytest.raises(InvalidInput, match="of one class"):
        decide(np.full((3, 2), 0.5), [1, 1, 1], kind="probs", costs=[[0, 1], [1, 0]])
    curve = Curve.from_scores([0.2, 0.4], [0, 1], view="top-1")
    with pytest.raises(DoesNotApply, match="the curve is of the view 'top-1'"):
        decide(curve, miss=1, alarm=1, calibrator=NONE)


def test_a_rank_by_all_columns_is_decided_with_its_rows():
    rng = np.random.default_rng(0)
    z = 2 * rng.normal(size=(900, 4))
    labels = (z - [0, 2, 0, 0] + rng.gumbel(size=z.shape)).argmax(axis=1)
    preds = ogive.Predictions(z, labels, kind="logits")
    gamma = ogive.fit_view(preds.take(slice(0, 500)))
    found = ogive.decide(preds.take(slice(500, 900)), miss=5, alarm=1, calibrator=gamma)
    assert found.view == "top-1"
    with pytest.raises(DoesNotApply, match="--view top-1 --score-only"):
        curve = ogive.Curve.from_predictions(preds)
        ogive.decide(curve, miss=5, alarm=1, calibrator=gamma)
    with pytest.raises(DoesNotApply, match="fit one of whole vectors"):
        ogive.decide(preds, costs=np.eye(4), calibrator=gamma)


@pytest.mark.parametrize("costs", [{"miss": 20, "alarm": 1}, {"costs": [[0, 20], [1, 0]]}])
def test_copies_of_a_row_in_a_cluster_are_worth_one_row(rng, costs):
    scores, outcomes = rare(rng, 400)
    alone = decide(scores, outcomes, calibrator=NONE, **costs)
    copies = [np.repeat(x, 10) for x in (scores, outcomes, np.arange(400))]
    many = decide(*copies[:2], calibrator=NONE, clusters=copies[2], **costs)
    fewer = decide(*copies[:2], calibrator=NONE, **costs)
    assert many.cost_before == pytest.approx(alone.cost_before)
    for one, other in ((many.before, alone.before), (many.after, alone.after)):
        assert 0.97 * other.low <= one.low <= other.low  # ends allow for what clusters do not show
        assert other.high <= one.high <= 1.08 * other.high
    assert fewer.before.high - fewer.before.low < 0.4 * (many.before.high - many.before.low)


def test_clusters_of_one_row_change_little_and_folds_keep_clusters_whole(rng):
    scores, outcomes = rare(rng, 1000)
    alone = decide(scores, outcomes, miss=20, alarm=1)
    each = decide(scores, outcomes, miss=20, alarm=1, clusters=rng.permutation(1000))
    assert 0.98 * alone.before.low <= each.before.low <= alone.before.low
    assert alone.before.high <= each.before.high <= 1.06 * alone.before.high
    # The same through predictions of two columns, in another order of the rows.
    order, code = rng.permutation(1000), np.arange(1000) // 10
    both = np.stack([1.0 - scores, scores], axis=1)
    wide = Predictions(both[order], outcomes[order], kind="probs", clusters=code[order])
    one = decide(scores, outcomes, miss=20, alarm=1, clusters=code)
    assert decide(wide, miss=20, alarm=1).before.low == pytest.approx(one.before.low)


def test_the_cost_after_allows_for_folds_without_the_events_they_are_judged_on():
    """The lower end is halfway to that of the calibrator of all rows on its own rows."""
    rng = np.random.default_rng(9)
    eta = rng.normal(-5.0, 1.5, 200)
    curve = Curve.from_scores(expit(2 * eta), rng.random(200) < expit(eta))
    assert 1 <= curve.total_hits <= 6
    costs = Costs(100.0, 1.0)
    rows, final = by_folds(curve, "spline", 5, 0)
    found = judge(rows, costs, None, "score", ("", "")).after
    noise = 4 * np.var([cost_of(rows, q, costs) for q in rows.by_each])
    both = []
    for q, extra in ((rows.calibrated, noise), (final(rows.score), 0.0)):
        act = q >= costs.threshold
        cells = rows.of(act, hit=True), rows.of(act, hit=False), rows.of(~act, hit=True)
        both.append(Cells(*cells, 200.0, 200.0).cost(100.0, 1.0, extra))
    crossed, fitted = both
    assert fitted.low < crossed.low
    assert found.low == pytest.approx(float(crossed.low + fitted.low) / 2)
    assert found.high == pytest.approx(float(crossed.high))


def cost_of(rows, q, costs):
    act = q >= costs.threshold
    hit, miss = costs.miss * rows.hits, costs.alarm * (rows.count - rows.hits)
    return np.where(act, miss, hit).sum() / rows.count.sum()


def test_a_calibrator_of_groups_decides_with_the_group_of_each_row(rng):
    scores, outcomes = rare(rng)
    group = np.where(rng.random(3000) < 0.5, "a", "b")
    curves = {g: Curve.from_scores(scores[group == g], outcomes[group == g]) for g in "ab"}
    gamma = ogive.fit_groups(curves, by="place")
    found = decide(scores, outcomes, miss=20, alarm=1, calibrator=gamma, groups=group)
    exact = naive.expected_cost(gamma(scores, group), outcomes, 1 / 21, 20, 1)
    assert found.cost_after == pytest.approx(exact)
    assert found.raw_threshold is None
    assert found.method == "groups"
    with pytest.raises(InvalidInput, match="needs the group of each row"):
        decide(scores, outcomes, miss=20, alarm=1, calibrator=gamma)
    with pytest.raises(DoesNotApply, match="calibrator of groups"):
        decide(scores, outcomes, miss=20, alarm=1, groups=group)
    with pytest.raises(DoesNotApply, match="needs the rows"):
        decide(Curve.from_scores(scores, outcomes), miss=20, alarm=1, calibrator=gamma)


def test_a_precision_that_the_scores_miss_is_no_advice_against_calibrating(rng):
    """Acting on scores that are too high is cheaper here only because it misses the precision."""
    truth = rng.beta(1, 9, 4000)
    y = rng.random(4000) < truth
    found = decide(truth**0.5, y, miss=20, alarm=1, precision=0.4)
    assert found.before.precision < 0.4 <= found.after.precision
    assert found.high < 0
    assert found.verdict.startswith("Keeping the precision costs ")
    assert "below the 40 % asked for." in found.verdict
    assert "do not calibrate" not in found.verdict


def test_where_whole_rows_are_calibrated_unchanged_rows_are_not_certain(rng):
    p = rng.dirichlet([1, 1, 1], 200)
    labels = (p.cumsum(axis=1) < rng.random((200, 1))).sum(axis=1)
    gamma = ogive.fit_temperature(Predictions(p, labels, kind="probs"))
    asked = {"miss": 1e6, "alarm": 1, "view": "class-2", "calibrator": gamma}
    found = decide(Predictions(p, labels, kind="probs"), **asked)
    assert found.saved == 0.0
    assert found.low < 0.0 < found.high
