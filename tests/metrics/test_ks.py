import numpy as np
import pytest
from hypothesis import given

from ogive import Curve, Predictions, ks_error, largest_gap
from ogive.errors import InvalidType
from ogive.studies.paper.study import read_rows
from tests import naive, strategies


@given(strategies.scored())
def test_it_equals_its_definition(data):
    scores, hits = data
    assert ks_error(Curve.from_scores(scores, hits)) == pytest.approx(
        naive.ks(scores.astype(float), hits), abs=1e-14
    )


@given(strategies.scored(weights=True))
def test_it_equals_its_definition_with_weights(data):
    scores, hits, weights = data
    for kind in ("repetition", "sampling"):
        curve = Curve.from_scores(scores, hits, sample_weight=weights / 3, weight_kind=kind)
        expected = naive.ks(
            scores.astype(float)[weights > 0], hits[weights > 0], weights[weights > 0]
        )
        assert ks_error(curve) == pytest.approx(expected, abs=1e-14)


@given(strategies.scored())
def test_it_lies_between_the_mean_gap_and_the_l1_gap(data):
    scores, hits = data
    s = scores.astype(float)
    ks = ks_error(Curve.from_scores(s, hits))
    assert abs(np.mean(hits - s)) <= ks + 1e-14
    assert ks <= naive.l1_gap(s, hits) + 1e-14
    assert 0.0 <= ks <= 1.0


@given(strategies.scored())
def test_the_place_is_where_the_gap_is_that_large(data):
    scores, hits = data
    s = scores.astype(float)
    gap = largest_gap(Curve.from_scores(s, hits))
    assert gap.value == abs(gap.signed)
    if gap.value > 1e-12:
        assert gap.score in s
        assert gap.fractile == pytest.approx(np.mean(s <= gap.score))
        assert gap.signed == pytest.approx(naive.gap_at(gap.score, s, hits), abs=1e-14)
        assert gap.direction == ("too high" if gap.signed < 0 else "too low")


def test_order_inside_ties_does_not_matter():
    # All scores 0.7 and 70 % hits: a running sum over labels that come sorted would show 0.21.
    hits = np.arange(1000) >= 300
    assert ks_error(Curve.from_scores(np.full(1000, 0.7), hits)) == pytest.approx(0.0, abs=1e-13)


@pytest.mark.parametrize(
    ("score", "hit", "direction"),
    [(1.0, 0, "too high"), (0.0, 1, "too low"), (1.0, 1, "none"), (0.0, 0, "none")],
)
def test_one_row(score, hit, direction):
    gap = largest_gap(Curve.from_scores([score], [hit]))
    assert gap.direction == direction
    assert gap.value == abs(score - hit)


def test_anything_but_a_curve_is_refused():
    with pytest.raises(InvalidType, match="build it with"):
        ks_error([0.5, 0.7])


@pytest.mark.parametrize(
    ("view", "percent"), [("top-1", 4.750), ("top-2", 3.011), ("within-top-2", 1.805)]
)
def test_the_paper_s_uncalibrated_resnet(arena, view, percent):
    data = arena("paper_resnet110_c10")
    preds = Predictions(data["test_logits"], data["test_labels"], kind="logits")
    assert 100 * ks_error(Curve.from_predictions(preds, view)) == pytest.approx(percent, abs=0.003)


PAPER = {
    "paper_top1_densenet40_c10": ("CIFAR-10", "DenseNet-40"),
    "paper_top1_densenet40_c100": ("CIFAR-100", "DenseNet-40"),
    "paper_top1_resnet110_c100": ("CIFAR-100", "Resnet-110"),
}


@pytest.mark.parametrize("name", PAPER)
def test_the_paper_s_other_nets(arena, name):
    data = arena(name)
    scores, outcomes = (
        np.concatenate([data[f"cal_{key}"], data[f"test_{key}"]]) for key in ("scores", "outcomes")
    )
    rows = {
        (row["dataset"], row["model"]): float(row["value"])
        for row in read_rows("paper_tables.csv")  # bundled: the paper's own numbers
        if row["metric"] == "ks-top1-percent"
        and row["method"] == "uncalibrated"
        and row["status"] == "published"
    }
    found = 100 * ks_error(Curve.from_scores(scores, outcomes, view="top-1"))
    assert found == pytest.approx(rows[PAPER[name]], abs=0.003)
