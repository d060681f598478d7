import numpy as np
import pytest

from ogive import Curve, ks_error
from ogive.metrics.null import Null, _FewSurprises, _ManySteps
from tests import naive

DRAWS = 1000


def agree(a, b):
    """The two samples have the same distribution, as far as 1,000 draws can tell."""
    from scipy.stats import ks_2samp

    return ks_2samp(a.round(9) + 0.0, b.round(9) + 0.0).pvalue > 1e-4  # equal sums may round apart


CASES = {
    "rare": lambda rng: rng.uniform(0.0, 0.05, 60),
    "saturated": lambda rng: 1.0 - rng.exponential(0.02, 60).clip(0, 1),
    "both sides": lambda rng: rng.choice([0.02, 0.04, 0.5, 0.9, 0.97], 60),
    "with certain scores": lambda rng: rng.choice([0.0, 0.1, 0.8, 1.0], 40),
}


@pytest.mark.parametrize("case", CASES)
def test_few_surprises_are_drawn_exactly(case, rng):
    scores = CASES[case](rng)
    walk = _FewSurprises(Null(Curve.from_scores(scores, np.zeros(scores.size))))
    fast, slow = walk.draw(rng, DRAWS), naive.null_extremes(scores, rng, DRAWS)
    assert agree(fast.low, slow[:, 0])
    assert agree(fast.high, slow[:, 1])
    assert agree(fast.statistic(kuiper=True), slow[:, 1] - slow[:, 0])
    assert fast.low.mean() == pytest.approx(slow[:, 0].mean(), abs=0.15)


@pytest.mark.parametrize("digits", [1, 2])
def test_many_steps_agree_with_rows_one_by_one(digits, rng):
    scores = rng.random(600).round(digits)
    walk = _ManySteps(Null(Curve.from_scores(scores, np.zeros(600))))
    fast, slow = walk.draw(rng, DRAWS), naive.null_extremes(scores, rng, DRAWS)
    for kuiper, values in ((False, np.abs(slow).max(axis=1)), (True, slow[:, 1] - slow[:, 0])):
        found = fast.statistic(kuiper=kuiper)
        assert np.quantile(found, [0.5, 0.95]) == pytest.approx(
            np.quantile(values, [0.5, 0.95]), rel=0.1
        )


def test_the_way_follows_the_number_of_surprises(rng):
    rare, many = rng.uniform(0, 1e-4, 5000), rng.random(5000)
    assert isinstance(Null(Curve.from_scores(rare, rare > 1)).walk, _FewSurprises)
    assert isinstance(Null(Curve.from_scores(many, many > 1)).walk, _ManySteps)


def test_a_row_of_sampling_weight_jumps_by_its_weight(rng):
    scores, weights = np.array([0.01, 0.02]), np.array([3.0, 5.0])
    curve = Curve.from_scores(scores, [0, 0], sample_weight=weights, weight_kind="sampling")
    high = _FewSurprises(Null(curve)).draw(rng, DRAWS).high
    assert set(high.round(3)) <= {0.0, 2.97, 4.87, 7.87}
    assert np.mean(high > 4) == pytest.approx(0.02, abs=0.01)


def test_the_bound_is_one(rng):
    scores = rng.uniform(0, 0.2, 80)
    null = Null(Curve.from_scores(scores, np.zeros(80)))
    draws = null.walk.draw(rng, DRAWS).statistic(kuiper=False)
    for x in (2.0, 5.0, 8.0):
        assert np.mean(draws >= x) <= null.bound(x) + 0.02


def test_it_stops_early_where_the_answer_is_clear(rng):
    scores = rng.random(100).round(1)
    curve = Curve.from_scores(scores, rng.random(100) < scores)
    null = Null(curve)
    likely, mean = null.pvalue(0.0, kuiper=False, random_state=0)
    assert likely == 1.0
    assert mean > 0.0
    unlikely, _ = null.pvalue(1e9, kuiper=False, random_state=0, most=800)
    assert 1 / 2000 < unlikely < 1 / 800
    assert null.pvalue(ks_error(curve) * 100, kuiper=False, random_state=1)[0] > 0.01


def walked(curve, rng, draws=DRAWS):
    return Null(curve).walk.draw(rng, draws)


@pytest.mark.parametrize(
    ("heavy", "weight", "tail"), [(3, 1000.0, None), (60, 100.0, 0.01), (400, 60.0, 0.001)]
)
def test_heavy_rows_are_drawn_by_their_outcomes(heavy, weight, tail, rng):
    scores, weights = rng.uniform(0.05, 0.95, 2500), np.ones(2500)
    weights[:heavy] = weight
    if tail is not None:
        scores[:heavy] = tail * rng.uniform(0.5, 1.5, heavy)
    curve = Curve.from_scores(scores, scores > 0.5, sample_weight=weights, weight_kind="sampling")
    found = walked(curve, rng, 4000)
    slow = naive.null_extremes(scores, rng, DRAWS, weights)
    for kuiper, values in ((False, np.abs(slow).max(axis=1)), (True, slow[:, 1] - slow[:, 0])):
        fast = found.statistic(kuiper=kuiper)
        shares = [0.5, 0.9, 0.95]
        places = np.quantile(values, shares)
        got = [np.mean(fast <= place) for place in places]  # as a share: the law has atoms
        assert got == pytest.approx(shares, abs=0.06)


STRATA = {"300 of 100": np.full(300, 100.0), "50 to 150": np.linspace(50, 150, 300)}


@pytest.mark.parametrize("weights", STRATA.values(), ids=STRATA)
@pytest.mark.parametrize("way", ["whole", "merged", "summarised"])
def test_a_stratum_of_heavy_rows_of_one_score_has_its_law(way, weights, rng):
    scores, w = np.repeat([0.01, 0.5], [300, 2000]), np.append(weights, np.ones(2000))
    outcomes, how = rng.random(2300) < scores, {"weight_kind": "sampling"}
    one, two = (
        Curve.from_scores(scores[i::2], outcomes[i::2], sample_weight=w[i::2], **how)
        for i in (0, 1)
    )
    curve = Curve.from_scores(scores, outcomes, sample_weight=w, **how)
    curve = {"whole": curve, "merged": one.merge(two), "summarised": curve.summarised()}[way]
    fast, slow = walked(curve, rng), naive.null_extremes(scores, rng, DRAWS, w)
    values = np.abs(slow).max(axis=1)
    found = fast.statistic(kuiper=False)
    for share in (0.5, 0.9, 0.95):
        assert np.mean(found <= np.quantile(values, share)) == pytest.approx(share, abs=0.06)


@pytest.mark.parametrize("hits", [1, 0])
def test_rows_of_one_score_keep_total_and_variance_whatever_the_outcomes(hits):
    scores, weights = np.full(101, 0.3), np.ones(101)
    weights[0] = 1000.0
    outcomes = np.arange(101) % 3 == 0
    outcomes[0] = hits
    null = Null(Curve.from_scores(scores, outcomes, sample_weight=weights, weight_kind="sampling"))
    assert null.unit == pytest.approx([1000100.0 / 1100.0])
    assert null.variance == pytest.approx([(1000.0**2 + 100) * 0.21])
    assert null.unit * null.rows == pytest.approx([1100.0])


def test_rows_of_equal_sampling_weight_stay_as_they_are(rng):
    scores = rng.random(500).round(1)
    a, b = (
        Null(Curve.from_scores(scores, rng.random(500) < scores, sample_weight=w, weight_kind=kind))
        for w, kind in ((np.full(500, 2.5), "sampling"), (np.full(500, 1.0), "repetition"))
    )
    assert a.unit == pytest.approx(2.5)
    assert a.rows == pytest.approx(b.rows)
    assert a.effective == pytest.approx(b.effective)
