"""Clusters of a curve: what they hold, and that their names and order do not matter."""

import numpy as np
import pytest

import ogive
from ogive import Curve, Predictions
from ogive.curve.folds import folds
from ogive.errors import FewClusters, InvalidInput, InvalidType
from tests import naive

FIELDS = ("row", "code", "count", "hits", "square", "square_hits", "surplus", "score")


def columns(curve):
    return [getattr(curve.clusters, name) for name in FIELDS]


def equal(a, b):
    return all(np.array_equal(x, y) for x, y in zip(columns(a), columns(b), strict=True))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("kind", ["repetition", "sampling"])
def test_the_entries_add_up_to_the_curve_and_the_design_effect_to_its_definition(seed, kind):
    s, y, c = naive.clustered(seed, clusters=30)
    s = s.round(2)
    w = np.random.default_rng(seed).integers(0, 4, s.size) if seed else None
    curve = Curve.from_scores(s, y, sample_weight=w, weight_kind=kind, clusters=c)
    ones = np.ones(curve.clusters.size)
    for mine, whole in zip(
        curve.clusters.drawn(ones),
        (curve.count, curve.hits, curve.square, curve.square_hits),
        strict=True,
    ):
        assert mine == pytest.approx(whole)
    some = np.ones(s.size, dtype=bool) if w is None else w > 0
    expected = naive.design_effect(
        s[some], y[some].astype(float), c[some], None if w is None else w[some], kind
    )
    assert curve.clusters.design_effect == pytest.approx(expected)
    assert curve.independent_n == pytest.approx(curve.effective_n / expected)


def test_permuting_rows_and_renaming_clusters_changes_nothing(rng):
    s, y, c = naive.clustered(1)
    curve = Curve.from_scores(s, y, clusters=c)
    order = rng.permutation(s.size)
    renamed = np.array([f"patient {97 * k % 101}" for k in c])
    other = Curve.from_scores(s[order], y[order], clusters=renamed[order])
    assert equal(curve, other)
    assert ogive.ks_test(curve) == ogive.ks_test(other)
    assert ogive.calibration_test(curve) == ogive.calibration_test(other)


def test_weight_2_is_the_row_twice_in_its_cluster():
    s, y, c = naive.clustered(2)
    w = np.where(np.arange(s.size) % 3 == 0, 2, 1)
    once = Curve.from_scores(s, y, sample_weight=w, clusters=c)
    twice = Curve.from_scores(*(np.repeat(x, w) for x in (s, y)), clusters=np.repeat(c, w))
    assert equal(once, twice)
    assert ogive.ks_test(once).pvalue == ogive.ks_test(twice).pvalue
    one, two = (ogive.cross_fitted_gain(curve, "platt") for curve in (once, twice))
    assert (one.value, one.error) == pytest.approx((two.value, two.error))


def test_rows_of_weight_0_do_not_count():
    s, y, c = naive.clustered(3)
    w = (c != 5).astype(float)
    part = c != 5
    assert equal(
        Curve.from_scores(s, y, sample_weight=w, clusters=c),
        Curve.from_scores(s[part], y[part], clusters=c[part]),
    )


def test_folds_hold_whole_clusters():
    s, y, c = naive.clustered(4, clusters=23)
    curve = Curve.from_scores(s, y, clusters=c)
    seen = 0
    for rest, part in folds(curve, 5):
        assert rest.clusters.size + part.clusters.size == 23
        assert rest.n + part.n == curve.n
        assert part.n == pytest.approx(curve.n / 5, abs=8)
        assert part.clusters.sums(np.ones(part.score.size), np.ones(part.score.size)).min() == 8
        seen += part.n
    assert seen == curve.n


def test_views_of_predictions_have_their_clusters():
    s, y, c = naive.clustered(5)
    values = np.stack([1 - s, s], axis=1)
    preds = Predictions(values, y.astype(int), kind="probs", clusters=c)
    assert "12 clusters" in repr(preds)
    assert Curve.from_predictions(preds, "class-1").clusters.size == 12
    assert np.unique(preds.take(slice(0, 20)).clusters).size == 3


def test_a_curve_with_clusters_is_not_merged_or_summarised():
    s, y, c = naive.clustered(6)
    curve = Curve.from_scores(s, y, clusters=c)
    for change in (lambda: curve.merge(Curve.from_scores(s, y)), curve.summarised):
        with pytest.raises(InvalidInput, match="a curve with clusters cannot be"):
            change()
    assert curve.with_view("top-1").clusters is curve.clusters


BAD = [
    (lambda c: c[:-1], "`clusters` must have one entry per row of `scores`: 96"),
    (lambda c: np.stack([c, c], axis=1), "`clusters` must have one entry per row"),
    (lambda c: np.zeros(c.size), "`clusters` are all the same"),
    (lambda c: np.where(c == 3, np.nan, c), "8 of 96 rows, the first at row 24"),
    (lambda c: np.where(c == 3, "", c.astype(str)), "8 of 96 rows, the first at row 24"),
    (lambda c: [None if k == 3 else str(k) for k in c], "no value"),
    (lambda c: np.where(c == 3, np.datetime64("NaT"), np.datetime64("2024-01-01")), "missing"),
]


@pytest.mark.parametrize(("change", "words"), BAD)
def test_bad_clusters_are_refused(change, words):
    s, y, c = naive.clustered(7)
    with pytest.raises((InvalidInput, InvalidType), match=words):
        Curve.from_scores(s, y, clusters=change(c))


def test_clusters_that_weigh_nothing_do_not_count_as_two():
    with pytest.raises(InvalidInput, match="all the same"):
        Curve.from_scores([0.2, 0.8, 0.5], [0, 1, 1], sample_weight=[1, 1, 0], clusters=[1, 1, 2])


def test_few_clusters_warn_in_plain_words():
    s, y, c = naive.clustered(8)
    with pytest.warns(FewClusters, match="4 clusters are few: p-values and intervals"):
        curve = Curve.from_scores(s, y, clusters=c // 3)
    assert curve.clusters.size == 4
    with pytest.raises(InvalidInput, match="`clusters` belongs to scores"):
        ogive.ks_test(curve, clusters=c)


def test_one_score_may_fill_several_ranges_of_the_design_effect():
    _, y, c = naive.clustered(0, clusters=60)
    scores = np.where(np.arange(y.size) % 10, 0.6, 0.3)
    curve = Curve.from_scores(scores, y, clusters=c)
    assert curve.clusters.design_effect == pytest.approx(naive.design_effect(scores, y, c))
