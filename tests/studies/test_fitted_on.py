import numpy as np
import pytest

from ogive import Curve, Predictions, ks_error, save
from ogive.export.artifact import FittedOn, load_fitted_on
from ogive.studies.fitted_on import fitted_on
from ogive.studies.fitting import apply, fit


@pytest.fixture
def preds(rng):
    logits = rng.normal(size=(900, 3)) * 3
    labels = (0.4 * logits + rng.gumbel(size=(900, 3))).argmax(axis=1)
    return Predictions(logits, labels, kind="logits")


def test_it_says_what_was_measured(preds, tmp_path):
    gamma = fit(preds, "platt")
    info = fitted_on(preds, gamma, date="2026-01-31", tag="v7")
    assert (info.n, info.view, info.method, info.kind) == (900, "top-1", "platt", "logits")
    assert (info.date, info.tag, info.folds) == ("2026-01-31", "v7", 5)
    assert info.ks_before == ks_error(Curve.from_predictions(preds))
    assert 0 < info.ks_after < info.ks_before / 3
    save(gamma, tmp_path / "cal.json", info)
    assert load_fitted_on(tmp_path / "cal.json") == info


def test_the_error_after_is_of_rows_that_the_maps_had_not_seen(preds):
    from ogive._numerics.splits import content_folds, pairs

    fold = content_folds(preds.values, preds.labels, 5, together=False)
    score, hit = np.empty(preds.n), np.empty(preds.n, dtype=bool)
    for train, held_out in pairs(fold):
        rows = apply(fit(preds.take(train), "isotonic", "top-1"), preds.take(held_out))
        score[held_out], hit[held_out] = rows.score, rows.hit
    wanted = ks_error(Curve.from_scores(score, hit))
    gamma = fit(preds, "isotonic")
    assert fitted_on(preds, gamma).ks_after == wanted
    rows = apply(gamma, preds)
    assert ks_error(Curve.from_scores(rows.score, rows.hit)) < wanted  # in-sample flatters


def test_equal_scores_are_dealt_to_all_folds(rng):
    scores = rng.integers(1, 10, 3000) / 10
    preds = Predictions(scores, rng.random(3000) < scores, kind="probs")
    info = fitted_on(preds, fit(preds, "isotonic"))
    assert info.ks_after < 0.03  # holding out whole scores would cost more


def test_the_order_of_the_rows_does_not_matter(preds, rng):
    order = rng.permutation(preds.n)
    a, b = (fitted_on(p, fit(p, "beta")).ks_after for p in (preds, preds.take(order)))
    assert a == pytest.approx(b, abs=1e-9)


def test_full_vectors_matrix_methods_and_one_column(preds, rng):
    gamma = fit(preds, "spline", "vector")
    info = fitted_on(preds, gamma)
    assert (info.method, info.view) == ("spline", "vector")
    assert 0 < info.ks_after < info.ks_before
    assert fitted_on(preds, fit(preds, "temperature", "vector")).ks_after < info.ks_before
    s = rng.random(500)
    column = Predictions(s, rng.random(500) < s**2, kind="probs")
    assert fitted_on(column, fit(column, "platt")).kind == "probs"


@pytest.mark.parametrize("bits", [None, 12])
def test_a_curve_is_dealt_to_folds(preds, bits):
    curve = Curve.from_predictions(preds)
    if bits is not None:
        curve = curve.summarised(bits)
    info = fitted_on(curve, fit(curve, "platt"))
    rows = fitted_on(preds, fit(preds, "platt"))
    assert info.folds == 5
    assert 0 < info.ks_after < info.ks_before
    assert info.ks_after == pytest.approx(rows.ks_after, abs=0.02)  # other folds


def test_what_is_not_known_is_none(preds):
    gamma = fit(preds, "platt")
    assert fitted_on(preds, gamma, cv=0).ks_after is None
    curve = Curve.from_predictions(preds)
    info = fitted_on(curve, gamma, cv=0)
    assert info.ks_after is None
    assert info.ks_before == ks_error(curve)
    weighted = Curve.from_scores([0.2, 0.7], [0, 1], sample_weight=[1, 2.5], weight_kind="sampling")
    assert fitted_on(weighted, gamma).ks_after is None
    assert fitted_on(Curve.from_scores([0.2, 0.7], [0, 1]), gamma).ks_after is None
    few = preds.take(np.arange(8))
    info = fitted_on(few, fit(preds, "paper-spline"), "paper-spline")
    assert info.ks_after is None
    assert info.folds is None


def test_without_information_an_artifact_says_what_the_map_knows(preds, tmp_path):
    gamma = fit(preds, "platt")
    save(gamma, tmp_path / "cal.json")
    known = FittedOn(n=900, view="top-1", method="platt")
    assert load_fitted_on(tmp_path / "cal.json") == known
