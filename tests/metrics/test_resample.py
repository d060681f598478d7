import numpy as np
import pytest
from hypothesis import given, settings

from ogive import Curve, bootstrap, ks_error
from ogive._numerics.mean_interval import ByCluster, Part, mean_interval
from ogive.errors import InvalidInput, InvalidType, UnknownName
from ogive.metrics import MEASURES
from ogive.metrics.resample import mean_ends, resampled
from tests import simulate, strategies

#: Of probabilities of Beta(½, 49½): the mean of 20 million rows.
RARE_LOG_LOSS = 0.04872


@settings(max_examples=20)
@given(strategies.scored(weights=True))
def test_resamples_are_curves_of_the_same_scores(data):
    scores, hits, w = data
    cases = ((None, "repetition"), (w, "repetition"), (w, "sampling"), (w / 3, "repetition"))
    for weights, kind in cases:
        curve = Curve.from_scores(scores, hits, sample_weight=weights, weight_kind=kind)
        for sample in resampled(curve, 3):
            assert set(sample.score) <= set(curve.score)
            assert (np.diff(sample.score) >= 0).all()
            assert (sample.count > 0).all()
            assert (sample.hits <= sample.count).all()
            assert 0.0 <= ks_error(sample) <= 1.0
            if kind == "repetition" and (weights is None or weights is w):
                assert sample.n == curve.n


def test_the_spread_is_the_standard_error(rng):
    scores, hits, _ = simulate.overconfident(rng, 4000)
    loss = (scores - hits) ** 2
    result = bootstrap(Curve.from_scores(scores, hits), "brier", resamples=2000)
    assert result.values.std() == pytest.approx(loss.std() / np.sqrt(4000), rel=0.06)
    assert not result.corrected


def test_the_spread_with_sampling_weights(rng):
    scores, hits, _ = simulate.overconfident(rng, 4000)
    w = rng.exponential(size=4000)
    loss = (scores - hits) ** 2
    error = np.sqrt(np.sum(w**2 * (loss - np.average(loss, weights=w)) ** 2)) / w.sum()
    curve = Curve.from_scores(scores, hits, sample_weight=w, weight_kind="sampling")
    assert bootstrap(curve, "brier", resamples=2000).values.std() == pytest.approx(error, rel=0.06)


@pytest.mark.parametrize("name", MEASURES)
def test_every_measure_can_be_resampled(name, rng):
    scores, hits, _ = simulate.overconfident(rng, 200)
    result = bootstrap(Curve.from_scores(scores, hits), name, resamples=20)
    assert result.low <= result.high
    assert result.value == MEASURES[name](Curve.from_scores(scores, hits))


def test_seed_progress_and_functions(rng):
    scores, hits, _ = simulate.overconfident(rng, 100)
    curve = Curve.from_scores(scores, hits)
    seen = []
    a = bootstrap(
        curve, ks_error, resamples=5, random_state=4, progress=lambda *at: seen.append(at)
    )
    assert seen == [("resampling", i, 5) for i in range(1, 6)]
    assert a.values.tolist() == bootstrap(curve, "ks", resamples=5, random_state=4).values.tolist()
    assert a.values.tolist() != bootstrap(curve, "ks", resamples=5, random_state=5).values.tolist()


def test_what_is_refused():
    curve = Curve.from_scores([0.5], [1])
    with pytest.raises(UnknownName, match="Did you mean 'kuiper'"):
        bootstrap(curve, "kuipers")
    with pytest.raises(InvalidInput, match="`resamples` must be"):
        bootstrap(curve, "ks", resamples=0)
    with pytest.raises(InvalidInput, match="95 % is 0"):
        bootstrap(curve, "ks", level=95)
    with pytest.raises(InvalidType, match="build it with"):
        bootstrap([0.5], "ks")


@pytest.mark.parametrize("clustered", [False, True])
@pytest.mark.parametrize("measure", ["accuracy", "mean_score", "brier", "nll"])
def test_the_interval_of_a_mean_counts_rows(rng, measure, clustered):
    """The slow definition: what outcomes 1 and outcomes 0 add, row by row."""
    s, y, code = rng.random(90).round(2), rng.random(90) < 0.4, np.repeat(np.arange(15), 6)
    s = np.clip(s, 0.01, 0.99)
    curve = Curve.from_scores(s, y, clusters=code if clustered else None)
    loss = {
        "accuracy": (np.ones(90), np.zeros(90)),
        "mean_score": (s, s),
        "brier": ((1 - s) ** 2, s**2),
        "nll": (-np.log(s), -np.log(1 - s)),
    }[measure]
    parts = [
        (1.0, Part(x[rows].sum(), (x[rows] ** 2).sum(), x.mean()))
        for x, rows in zip(loss, (y, ~y), strict=True)
    ]
    sums = np.where(y, *loss).reshape(15, 6).sum(axis=1)
    clusters = ByCluster(sums, np.full(15, 6.0)) if clustered else None
    for level in (0.95, 0.8):
        value, low, high = mean_interval(parts, 90, 90, clusters=clusters, level=level)
        found = bootstrap(curve, measure, resamples=20, level=level)
        assert (found.value, found.low, found.high) == pytest.approx((value, low, high))


def test_the_interval_of_a_rare_outcome_holds_what_two_of_them_may_mean():
    """Of 200 rows with a base rate of 1 %; percentile intervals held the log loss in 82 %."""
    rng, held = np.random.default_rng(0), []
    for _ in range(300):
        p = rng.beta(0.5, 49.5, 200)
        curve = Curve.from_scores(np.clip(p, 1e-4, 1.0), rng.random(200) < p)
        low, high = mean_ends(curve, "nll")
        held.append(low <= RARE_LOG_LOSS <= high)
    assert 0.93 <= np.mean(held) <= 0.99


@pytest.mark.filterwarnings("ignore::ogive.errors.FewClusters")
def test_the_interval_of_a_mean_stays_within_its_bounds():
    curve = Curve.from_scores([0.9, 0.99] * 10, [1] * 20, clusters=np.repeat(range(4), 5))
    assert mean_ends(curve, "accuracy")[1] == 1.0
    assert mean_ends(curve, "brier")[0] >= 0.0
    assert mean_ends(curve, "ks") is None
