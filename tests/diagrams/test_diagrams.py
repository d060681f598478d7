import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ogive
from ogive import Curve, Predictions
from ogive.diagrams import (
    BinnedReliability,
    ClassHeat,
    CumulativeDifference,
    FourPanel,
    Ranks,
    Reliability,
    summarise,
)
from ogive.diagrams.graphs import wilson, wilson_of
from ogive.diagrams.trace import CELLS
from ogive.errors import InvalidInput
from ogive.metrics.classwise import classwise
from tests.simulate import overconfident


def test_a_band_around_outcomes_that_are_all_alike_is_not_the_whole_axis(rng):
    scores = rng.uniform(0.3, 1.0, 500)
    hits = (scores > 0.45) | (rng.random(500) < 0.9)
    r = Reliability.from_curve(Curve.from_scores(scores, hits))
    some = r.score > 0.6
    assert r.low[some].min() > 0.85  # 50 rows below each are all right
    assert ((r.low <= r.probability) & (r.probability <= r.high)).all()


def test_narrowed_bands_still_cover(rng):
    at, inside = np.linspace(0.1, 0.9, 9), np.zeros(9)
    for _ in range(40):
        scores = rng.uniform(0.05, 0.95, 400)
        curve = Curve.from_scores(scores, rng.random(400) < scores)
        r = Reliability.from_curve(curve, grid=at)
        inside += (r.low <= r.score) & (r.score <= r.high)
    assert inside.mean() >= 0.9 * 40


@pytest.fixture
def curve(rng):
    scores, hits, _ = overconfident(rng, 3000)
    return Curve.from_scores(scores, hits, view="top-1")


@given(
    st.lists(
        st.tuples(st.sampled_from([0.0, 0.1, 0.25, 0.5, 0.7, 0.9, 1.0]), st.booleans()),
        min_size=1,
        max_size=40,
    )
)
def test_few_rows_are_drawn_one_by_one(rows):
    scores, hits = zip(*rows, strict=True)
    curve = Curve.from_scores(scores, hits)
    trace = summarise(curve).trace
    np.testing.assert_array_equal(trace.fractile, [0.0, *curve.fractile])
    np.testing.assert_allclose(trace.gap, [0.0, *curve.gap], atol=1e-15)
    np.testing.assert_array_equal(trace.score[1:], curve.score)
    order = np.argsort(scores, kind="stable")
    total = np.cumsum(np.array(scores)[order]) / len(scores)
    assert trace.cumulative_score[-1] == pytest.approx(total[-1])
    assert trace.cumulative_hits[-1] == pytest.approx(np.mean(hits))


@pytest.mark.parametrize("weights", [None, "repetition", "sampling"])
def test_the_numbers_of_a_graph_are_those_of_measure(rng, weights):
    scores, hits, _ = overconfident(rng, 5000)
    w = None if weights is None else rng.integers(1, 4, 5000).astype(float)
    curve = Curve.from_scores(
        scores.round(3), hits, sample_weight=w, weight_kind=weights or "repetition"
    )
    measured, shown = ogive.measure(curve), CumulativeDifference.from_curve(curve)
    assert shown.summary.ks == measured.ks_test
    assert shown.summary.accuracy == measured.accuracy
    assert shown.summary.mean_score == measured.mean_score
    assert abs(shown.summary.trace.gap).max() == measured.ks  # to the last bit
    assert f"KS {100 * measured.ks:.2f} %" in shown.title


def test_thinning_keeps_the_extremes(rng):
    scores, hits, _ = overconfident(rng, 300_000)
    curve = Curve.from_scores(scores, hits)
    summary = summarise(curve)
    trace = summary.trace
    assert 1000 < len(trace) < 5 * CELLS
    assert trace.gap[trace.peak] == pytest.approx(summary.ks.signed, abs=1e-14)
    assert trace.fractile[trace.peak] == summary.ks.fractile
    assert trace.gap.max() - trace.gap.min() == pytest.approx(ogive.kuiper_error(curve), abs=1e-15)
    assert (np.diff(trace.fractile) > 0).all()
    # Every point drawn is a point of the curve.
    where = np.searchsorted(curve.fractile, trace.fractile[1:])
    np.testing.assert_allclose(curve.gap[where], trace.gap[1:], atol=1e-12)


def test_the_order_of_rows_does_not_matter(rng):
    scores, hits, _ = overconfident(rng, 2000)
    order = rng.permutation(2000)
    a = summarise(Curve.from_scores(scores, hits))
    b = summarise(Curve.from_scores(scores[order], hits[order]))
    np.testing.assert_array_equal(a.trace.gap, b.trace.gap)
    np.testing.assert_array_equal(a.density.count, b.density.count)


def test_the_band(curve):
    shown = CumulativeDifference.from_curve(curve)
    p = curve.score
    sigma = np.sqrt(np.sum(curve.count * p * (1 - p)))
    assert shown.half_width == pytest.approx(2.2414027 * sigma / curve.n)
    after = CumulativeDifference.from_curve(curve, fitted_on=1000)
    assert after.half_width == pytest.approx(shown.half_width * np.sqrt(1 + 3000 / 1000))
    assert CumulativeDifference.from_curve(curve, in_sample=True).half_width is None


def test_a_calibrated_model_leaves_the_band_once_in_twenty_times(rng):
    left = 0
    for _ in range(400):
        p = rng.random(500)
        shown = CumulativeDifference.from_curve(Curve.from_scores(p, rng.random(500) < p))
        left += shown.summary.ks.value > shown.half_width
    assert 4 <= left <= 34  # 20 are expected; the walk has steps, so fewer


def test_the_map_and_its_band(curve):
    shown = Reliability.from_curve(curve)
    assert shown.method == "spline"
    assert shown.score[0] == curve.score[0]
    assert shown.score[-1] == curve.score[-1]
    np.testing.assert_array_equal(shown.probability, ogive.fit_spline(curve)(shown.score))
    assert (shown.low <= shown.probability).all()
    assert (shown.probability <= shown.high).all()
    assert shown.density.count.sum() == curve.n
    plain = Reliability.from_curve(curve, "platt")
    assert plain.low is None
    assert plain.high is None


def test_four_panels(curve):
    shown = FourPanel.from_curve(curve, label="test part")
    trace = shown.difference.summary.trace
    assert shown.probability.shape == trace.gap.shape
    assert ((shown.low <= shown.probability) & (shown.probability <= shown.high)).all()
    assert shown.difference.title.startswith("test part: KS")
    with pytest.raises(InvalidInput, match="'temperature' calibrates whole matrices"):
        FourPanel.from_curve(curve, method="temperature")


def test_one_score_and_one_row():
    for scores, hits in (([0.5], [1]), ([0.7] * 30, [1, 0] * 15)):
        shown = FourPanel.from_curve(Curve.from_scores(scores, hits), method="none")
        assert shown.reliability.score.size == 1
        assert len(shown.difference.summary.trace) == 2


def test_bins(curve):
    shown = BinnedReliability.from_curve(curve, 10)
    assert shown.count.sum() == curve.n
    assert (shown.count @ abs(shown.share - shown.score)) / curve.n == pytest.approx(
        ogive.ece(curve, 10)
    )


@pytest.mark.parametrize(("hits", "n"), [(0, 10), (3, 10), (10, 10), (450, 1000)])
def test_wilson_is_scipys(hits, n):
    from scipy.stats import binomtest

    expected = binomtest(hits, n).proportion_ci(method="wilson")
    assert wilson_of(hits, n) == pytest.approx((expected.low, expected.high), abs=1e-12)
    low, high = wilson(np.array([hits / n]), np.array([float(n)]))
    assert (low[0], high[0]) == pytest.approx(wilson_of(hits, n))


def test_ranks():
    values = {"ks": [[3, 1, 2], [3, 2, 1]], "nll": [[3, 1, np.nan], [1, 1, 2]]}
    ranks = Ranks.from_values(["a", "b", "c"], values)
    assert ranks.experiments == 2
    assert ranks.methods[0] == "b"
    a = ranks.methods.index("a")
    assert ranks.rank[a].tolist() == [3.0, 1.75]
    with pytest.raises(InvalidInput, match="a column for each of 3 methods"):
        Ranks.from_values(["a", "b", "c"], {"ks": [1, 2]})


def test_classes_are_those_of_the_measures(rng):
    logits = 3 * rng.standard_normal((800, 5))
    preds = Predictions(logits, rng.integers(0, 5, 800), kind="logits")
    heat, measured = ClassHeat.from_predictions(preds), classwise(preds)
    np.testing.assert_array_equal(abs(heat.signed), measured.ks)
    np.testing.assert_array_equal(heat.pvalue, measured.pvalue)
    np.testing.assert_array_equal(heat.off, measured.off)
    one = ogive.measure(preds, "class-3")
    assert heat.signed[3] == pytest.approx(one.ks_test.signed, abs=1e-12)
    assert heat.count.sum() == 800
    with pytest.raises(InvalidInput, match="no labels"):
        ClassHeat.from_predictions(Predictions(logits, kind="logits"))


def test_diagrams_are_frozen(curve):
    shown = CumulativeDifference.from_curve(curve)
    with pytest.raises(AttributeError):
        shown.label = "other"
    with pytest.raises(ValueError, match="read-only"):
        shown.summary.trace.gap[0] = 1.0


def test_no_drawing_library_is_needed():
    code = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "from ogive import Curve\nfrom ogive.diagrams import *\n"
        "c = Curve.from_scores([.1, .4, .6, .9] * 9, [0, 1, 0, 1] * 9)\n"
        "FourPanel.from_curve(c, method='platt'); BinnedReliability.from_curve(c)\n"
        "from ogive.plotting.figures import panels_of\n"
        "print(panels_of(CumulativeDifference.from_curve(c))[0].title)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)  # noqa: S603
    assert done.stdout.startswith("KS ")
