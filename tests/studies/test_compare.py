import numpy as np
import pytest

import ogive
from ogive import Predictions, compare
from ogive.errors import InvalidInput, InvalidType, UnknownName
from ogive.studies.fitting import apply, fit
from tests import simulate


@pytest.fixture
def parts(rng):
    made = []
    for n in (2000, 3000):
        scores, hits, _ = simulate.overconfident(rng, n)
        made.append(Predictions(scores, hits, kind="probs"))
    return made


@pytest.fixture
def matrices(rng):
    made = []
    for n in (800, 900):
        z = 3 * rng.normal(size=(n, 4))
        p = np.exp(z / 2) / np.exp(z / 2).sum(axis=1, keepdims=True)
        labels = (rng.random((n, 1)) > p.cumsum(axis=1)).sum(axis=1).clip(0, 3)
        made.append(Predictions(z, labels, kind="logits"))
    return made


def test_every_number_is_that_of_the_calibrated_rows(parts):
    cal, test = parts
    result = compare(cal, test, ["platt", "none"])
    assert result.best.method == "platt"
    gamma = fit(cal, "platt")
    p = gamma(test.values)
    curve = ogive.Curve.from_scores(p, test.labels)
    row = result.best
    assert row.ks == ogive.ks_error(curve)
    loss = -np.log(np.where(test.labels, p, 1 - p))
    assert row.nll == pytest.approx(loss.mean(), rel=1e-12)
    assert row.brier == pytest.approx(np.mean((p - test.labels) ** 2), rel=1e-12)
    none = result.methods[1]
    worse = -np.log(np.where(test.labels, test.values, 1 - test.values)) - loss
    assert none.nll_diff == pytest.approx(worse.mean(), rel=1e-9)
    assert none.nll_diff_se == pytest.approx(worse.std() / np.sqrt(test.n), rel=1e-9)
    assert not none.tied_with_best
    assert result.decision.method == "platt"
    assert result.verdict.startswith("Use platt. Log loss falls from ")


def test_weights_count_as_repeats(parts, rng):
    cal, test = parts
    w = rng.integers(1, 3, test.n)
    weighted = Predictions(test.values, test.labels, kind="probs", sample_weight=w)
    repeated = Predictions(np.repeat(test.values, w), np.repeat(test.labels, w), kind="probs")
    a, b = (compare(cal, t, ["none", "platt"]).best for t in (weighted, repeated))
    assert a.nll == pytest.approx(b.nll, rel=1e-12)
    assert a.ks == pytest.approx(b.ks, abs=1e-12)


def test_every_view_and_whole_vectors(matrices):
    cal, test = matrices
    for view in ("top-1", "top-2", "within-top-2", "class-1", "vector"):
        result = compare(cal, test, ["none", "platt"], view)
        assert result.view == view
        assert result.best.method == "platt"
    assert result.best.accuracy == result.methods[1].accuracy  # the decision is kept
    assert result.methods[1].nll == pytest.approx(
        -np.log(test.probabilities()[np.arange(test.n), test.labels]).mean(), rel=1e-9
    )


def test_a_result_reads_well(parts):
    text = repr(compare(*parts, ["none", "platt"]))
    assert "fitted on 2,000 rows" in text
    assert "platt" in text.splitlines()[2]
    assert "\nUse platt. Log loss falls from " in text


def test_progress_is_told(parts):
    seen = []
    compare(*parts, ["none", "platt"], progress=lambda *step: seen.append(step))
    assert seen[0] == ("fitting none", 0, 2)
    assert seen[-1][1:] == (2, 2)


def test_what_cannot_be_compared(parts, matrices):
    cal, test = parts
    with pytest.raises(UnknownName, match="Did you mean 'platt'"):
        compare(cal, test, ["plat"])
    with pytest.raises(InvalidInput, match="`test` has no labels"):
        compare(cal, Predictions(test.values, kind="probs"))
    with pytest.raises(InvalidInput, match="2 classes and `test` 4"):
        compare(cal, matrices[1])
    with pytest.raises(InvalidType, match="must be Predictions or a Curve"):
        fit([0.5], "platt")
    gamma = fit(matrices[0], "platt", "top-1")
    with pytest.raises(InvalidInput, match="is of the view 'top-1'"):
        apply(gamma, matrices[1], "top-2")


def test_progress_goes_on_inside_a_fit(rng):
    logits = rng.normal(size=(400, 4))
    labels = (logits + rng.gumbel(size=logits.shape)).argmax(axis=1)
    preds = Predictions(logits, labels, kind="logits")
    seen = []
    compare(preds, preds, ["none", "spline"], "vector", progress=lambda *at: seen.append(at))
    inside = [at for at in seen if at[0].startswith("spline: ")]
    assert inside
    assert all(1 <= done < 2 and total == 2 for _, done, total in inside)


def test_the_class_structure_is_fitted_once(rng, monkeypatch):
    from ogive.calibrators.multiclass import shared_fits

    calls = []
    real = shared_fits.fit_classes
    monkeypatch.setattr(
        shared_fits, "fit_classes", lambda preds, **how: calls.append(preds) or real(preds, **how)
    )
    z = 2 * rng.normal(size=(600, 5))
    y = (z / 2 + rng.gumbel(size=z.shape)).argmax(axis=1)
    cal, test = (Predictions(z[at], y[at], kind="logits") for at in (slice(300), slice(300, 600)))
    found = compare(cal, test, ["spline:free", "spline", "none"], "vector")
    assert calls == [cal]
    alone = compare(cal, test, ["spline", "none"], "vector")
    assert len(calls) == 2
    nll = {row.method: row.nll for row in found.methods}
    assert nll["spline"] == next(row.nll for row in alone.methods if row.method == "spline")
    assert min(row.fit_seconds for row in found.methods if row.method != "none") > 0
