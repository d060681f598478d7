import numpy as np
import pytest
from hypothesis import given, settings

from ogive import Curve, bootstrap, ks_error
from ogive.errors import InvalidInput, InvalidType, UnknownName
from ogive.metrics import MEASURES
from ogive.metrics.resample import resampled
from tests import simulate, strategies


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


@pytest.mark.parametrize("measure", ["accuracy", "mean_score", "brier", "nll"])
def test_the_interval_of_a_mean_over_clusters_is_studentised(rng, measure):
    """The slow definition: the standard error of every resample, from its clusters."""
    s, y, code = rng.random(90).round(2), rng.random(90) < 0.4, np.repeat(np.arange(15), 6)
    curve = Curve.from_scores(s, y, clusters=code)
    clusters = curve.clusters
    own = [
        Curve.from_scores(
            np.repeat(clusters.score[clusters.code == g], 2),
            [1, 0] * int((clusters.code == g).sum()),
            sample_weight=np.stack([clusters.hits, clusters.count - clusters.hits], 1)[
                clusters.code == g
            ].ravel(),
        )
        for g in range(15)
    ]
    mean = np.array([MEASURES[measure](one) for one in own])

    def t_of(drawn):
        m = mean[drawn].mean()
        return m, np.sqrt(((mean[drawn] - m) ** 2).sum()) / 15

    value, error = t_of(np.arange(15))
    draw = np.random.default_rng(3)
    t = [(m - value) / e for m, e in (t_of(draw.integers(0, 15, 15)) for _ in range(2000))]
    high, low = np.quantile(t, [0.025, 0.975])
    found = bootstrap(curve, measure, resamples=100, random_state=3)
    assert (found.low, found.high) == pytest.approx((value - low * error, value - high * error))
