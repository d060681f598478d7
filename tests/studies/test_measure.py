import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings

import ogive
from ogive import Curve, Predictions, measure, measure_all
from ogive.errors import InvalidInput, InvalidType, UnknownName
from ogive.metrics import MEASURES
from tests import simulate, strategies
from tests.bundled import DEMO
from tests.conftest import ARENA

KEYS = {"view", "n", "accuracy", "mean_score", "ks", "ks_low", "ks_high", "ks_pvalue"}
KEYS |= {"ks_expected", "kuiper", "kuiper_pvalue", "ece", "mce", "kde_ece", "smooth_ece"}
KEYS |= {"brier", "nll", "verdict"}


@settings(max_examples=25)
@given(strategies.scored(weights=True))
def test_it_gives_what_each_measure_gives_alone(data):
    scores, hits, w = data
    for weights in (None, w):
        curve = Curve.from_scores(scores, hits, sample_weight=weights)
        result = measure(curve).to_dict()
        for key, of in MEASURES.items():
            alone = of(curve)
            if np.isfinite(alone):
                assert result[key] == pytest.approx(alone, abs=1e-12), key
            else:
                assert result[key] is None
        json.dumps(result, allow_nan=False)


def test_the_keys_of_the_command_line(rng):
    scores, hits, _ = simulate.overconfident(rng, 300)
    result = measure(Curve.from_scores(scores, hits)).to_dict()
    assert set(result) >= KEYS
    assert "brier_vector" not in result
    assert {type(value) for value in result.values()} <= {str, int, float, type(None)}
    preds = Predictions(*simulate.saturated_logits(rng, 300)[:2], kind="logits")
    result = measure(preds).to_dict()
    assert (result["view"], result["n"]) == ("top-1", 300)
    assert {"brier_vector", "nll_vector"} <= set(result)


def test_all_views(rng):
    logits, labels, _ = simulate.saturated_logits(rng, 200)
    preds = Predictions(logits, labels, kind="logits")
    result = measure_all(preds)
    views = result.to_dict()["views"]
    names = ["top-1", "top-2", "top-3", "within-top-2", "within-top-3", "class-wise"]
    assert [view["view"] for view in views] == names
    assert all(set(view) >= KEYS for view in views)
    summary = views[-1]
    per_class = [
        ogive.ks_error(
            Curve.from_predictions(Predictions(logits, labels, kind="logits"), f"class-{k}")
        )
        for k in range(4)
    ]
    assert summary["ks"] == pytest.approx(np.mean(per_class))
    assert summary["ks_max"] == pytest.approx(max(per_class))
    assert summary["ks_max_class"] == str(np.argmax(per_class))
    assert 0 <= summary["classes_off"] <= summary["classes"] == 4
    json.dumps(views, allow_nan=False)
    assert "class-wise" in repr(result)
    starts = [line.split()[0] for line in repr(result).splitlines() if line.strip()]
    assert [word for word in starts if word in names] == names  # one line for each


@pytest.mark.parametrize(
    ("K", "names"),
    [
        (2, ["top-1", "top-2", "class-wise"]),
        (3, ["top-1", "top-2", "top-3", "within-top-2", "class-wise"]),
    ],
)
def test_all_views_of_few_classes(rng, K, names):
    preds = Predictions(rng.normal(size=(30, K)), rng.integers(0, K, 30), kind="logits")
    assert [v["view"] for v in measure_all(preds).to_dict()["views"]] == names


def test_one_column_and_curves_have_one_view(rng):
    scores, hits, _ = simulate.overconfident(rng, 50)
    preds = Predictions(scores, hits.astype(int), kind="probs")
    one, curve = measure_all(preds), Curve.from_scores(scores, hits)
    assert [v["view"] for v in one.to_dict()["views"]] == ["score"]
    assert measure_all(curve).to_dict() == one.to_dict()
    assert measure(preds, "score").to_dict() == measure(curve).to_dict()


def test_vector_has_the_proper_scores_of_vectors(rng):
    preds = Predictions(rng.normal(size=(60, 3)), rng.integers(0, 3, 60), kind="logits")
    top, vector = measure(preds, "top-1"), measure(preds, "vector")
    assert vector.view == "vector"
    assert (vector.brier_vector, vector.nll_vector) == (top.brier_vector, top.nll_vector)
    assert (vector.brier, vector.nll) == (top.brier, top.nll)  # of top-1, in every view
    assert vector.ks == top.ks


def test_bins_can_be_chosen(rng):
    scores, hits, _ = simulate.overconfident(rng, 300)
    curve = Curve.from_scores(scores, hits)
    assert measure(curve, bins=25).ece == ogive.ece(curve, 25)
    assert measure(curve, bins=[0, 0.9, 1]).mce == ogive.mce(curve, [0, 0.9, 1])


def test_bootstrap_intervals_on_request(rng):
    scores, hits, _ = simulate.overconfident(rng, 300)
    curve, seen = Curve.from_scores(scores, hits), []
    result = measure(curve, resamples=50, progress=lambda *at: seen.append(at), random_state=2)
    assert seen[-1] == ("resampling", 50, 50)
    alone = ogive.bootstrap(curve, "ece", resamples=50, random_state=2)
    assert result.intervals["ece"] == pytest.approx((alone.low, alone.high))
    numbers = result.to_dict()
    assert numbers["brier_low"] < numbers["brier"] < numbers["brier_high"]
    assert "by bootstrap" in repr(result)
    assert measure(curve).intervals == {}


def test_verdicts(rng):
    scores, hits, truth = simulate.overconfident(rng, 5000)
    off = measure(Curve.from_scores(scores, hits))
    assert off.verdict.startswith("Miscalibrated: KS error ")
    fine = measure(Curve.from_scores(truth, hits))
    assert fine.verdict.startswith("No miscalibration found")
    assert "would often go unseen" in fine.verdict
    certain = measure(Curve.from_scores([1.0, 0.0], [1, 0]))
    assert certain.verdict == "All scores are 0 or 1, and every outcome is what its score says."
    wrong = measure(Curve.from_scores([1.0, 0.0], [0, 0]))
    assert "beyond doubt" in wrong.verdict
    assert wrong.to_dict()["spiegelhalter"] is None


@pytest.mark.parametrize("hit", [0, 1])
@pytest.mark.parametrize("score", [0.0, 0.3, 1.0])
def test_one_row_one_class_one_score(score, hit):
    for n in (1, 5):
        result = measure(Curve.from_scores([score] * n, [hit] * n))
        assert result.accuracy == hit
        assert result.ks == pytest.approx(abs(score - hit))
        assert repr(result).endswith(result.verdict)


def test_a_measure_joins_through_the_table(rng, monkeypatch):
    monkeypatch.setitem(MEASURES, "answer", lambda curve: 42.0)
    result = measure(Curve.from_scores([0.5, 0.7], [0, 1]))
    assert result.to_dict()["answer"] == 42.0
    assert "answer" in repr(result)


def test_what_is_refused(rng):
    with pytest.raises(InvalidType, match=r"scores with their outcomes.* Only list was given"):
        measure([0.5])
    curve = Curve.from_scores([0.5], [1])
    with pytest.raises(InvalidInput, match="the curve is of 'score'"):
        measure(curve, "top-1")
    with pytest.raises(UnknownName, match="Did you mean 'top-1'"):
        measure(Predictions([[0.5, 0.5]], [0], kind="probs"), "topp-1")


REAL = sorted({Path(DEMO).stem, *(path.stem for path in ARENA.glob("*.npz"))})


@pytest.mark.parametrize("name", REAL)
def test_every_measure_is_finite_on_real_predictions(name, arena):
    data = arena(name)
    kind = "logits" if "test_logits" in data else "probs"
    if "test_scores" in data:
        result = measure(Curve.from_scores(data["test_scores"], data["test_outcomes"]))
    else:
        rows = slice(5000)  # enough to meet saturation and ties
        values, labels = data[f"test_{kind}"][rows], data["test_labels"][rows]
        result = measure(Predictions(values, labels, kind=kind))
    numbers = result.to_dict()
    assert all(value is not None for value in numbers.values()), numbers
