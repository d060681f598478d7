"""The log loss that is shown, through every door, is scikit-learn's of a float64 copy."""

import json

import numpy as np
import pytest
from scipy.special import expit, softmax

import ogive
from ogive import Curve, Predictions, SplineCalibrator, compare, measure, nll, nll_vector
from ogive.cli import main
from ogive.metrics.bracket import brackets
from ogive.metrics.resample import bootstrap
from ogive.report import build_report
from tests import naive

log_loss = pytest.importorskip("sklearn.metrics").log_loss
pytestmark = pytest.mark.filterwarnings("ignore::ogive.errors.OgiveWarning")


def forest(rng, n=900, dtype=np.float64):
    """Scores of a hundred trees: some are exactly 0 or 1, and a few of these are wrong."""
    p = expit(rng.normal(0.0, 2.5, n))
    scores = (rng.binomial(100, p) / 100).astype(dtype)
    y = rng.random(n) < p
    y[np.flatnonzero(scores == 0)[:2]] = True
    y[np.flatnonzero(scores == 1)[:3]] = False
    return scores, y.astype(int)


def saturated(rng, n=3000):
    """Distinct scores up to the last digit of float64, more than the fit keeps apart."""
    tail = np.exp(-rng.uniform(0.7, 45.0, n))
    tail[:20] = 0.0
    scores = np.where(rng.random(n) < 0.5, tail, 1.0 - tail)
    y = rng.random(n) < np.where(scores > 0.5, 0.97, 0.03)
    return scores, y.astype(int)


MAKERS = {"forest": forest, "saturated": saturated}


@pytest.fixture(params=MAKERS)
def rows(request):
    return MAKERS[request.param](np.random.default_rng(5))


def test_functions(rows):
    scores, y = rows
    w = np.random.default_rng(1).integers(1, 4, y.size).astype(float)
    for weights in (None, w):
        expected = log_loss(y, scores, sample_weight=weights)
        assert nll(scores, y, sample_weight=weights) == pytest.approx(expected, abs=1e-12)
        assert naive.nll(scores, y, weights) == pytest.approx(expected, abs=1e-12)
    curve = Curve.from_scores(scores, y)
    expected = log_loss(y, scores)
    for bits in (8, 52):
        low, high = brackets(curve.summarised(bits))["nll"]
        assert low - 1e-12 <= expected <= high + 1e-12
    found = bootstrap(curve, "nll", resamples=20)
    assert found.value == pytest.approx(expected, abs=1e-12)
    assert found.low < expected < found.high
    preds = Predictions(np.column_stack([1.0 - scores, scores]), y, kind="probs")
    assert nll_vector(preds) == pytest.approx(expected, abs=1e-12)


def test_float32_is_read_as_it_is():
    scores, y = forest(np.random.default_rng(3), dtype=np.float32)
    expected = log_loss(y, scores.astype(np.float64))
    assert nll(scores, y) == pytest.approx(expected, abs=1e-12)
    assert nll(scores, y) > log_loss(y, scores) + 0.05


def test_what_a_fit_says_of_the_rows_as_they_are(rows):
    scores, y = rows
    expected = log_loss(y, scores)
    gamma = ogive.fit_spline(Curve.from_scores(scores, y))
    assert gamma.log_loss == pytest.approx(expected, abs=1e-12)
    summary = SplineCalibrator(kind="probs").fit(scores, y).summary()
    assert summary.gain.before == pytest.approx(expected, abs=1e-12)


def test_the_gain_of_rows_left_out_charges_exact_scores_in_full(rows):
    """By its definition, with the map of all rows where one row hardly moves it."""
    scores, y = rows
    gamma = ogive.fit_spline(Curve.from_scores(scores, y))
    before = -np.log(np.maximum(np.where(y == 1, scores, 1.0 - scores), 2.0**-52))
    q = gamma(scores)
    saved = before + np.log(np.where(y == 1, q, 1.0 - q))
    assert gamma.gain == pytest.approx(saved.mean(), abs=0.02 * saved.std())
    assert gamma.gain_error == pytest.approx(saved.std() / np.sqrt(y.size), rel=0.03)


def test_files_logs_commands_reports_and_comparisons(rows, tmp_path, capsys):
    scores, y = rows
    half = y.size // 2
    expected = log_loss(y[half:], scores[half:])
    cal, test = (
        Predictions(scores[at], y[at], kind="probs") for at in (slice(half), slice(half, None))
    )
    close = pytest.approx(expected, abs=1e-12)
    assert measure(test).nll == close
    compared = compare(cal, test, ["none", "spline"])
    assert next(row for row in compared.methods if row.method == "none").nll == close
    assert compared.decision.log_loss_before == close
    assert build_report(test, cal, methods=["none", "spline"]).verdict.decision.log_loss_before == (
        close
    )
    file = tmp_path / "a.npz"
    np.savez(file, scores=scores[half:], outcomes=y[half:])
    folder = tmp_path / "log"
    folder.mkdir()
    text = "\n".join(f"{s!r},{t}" for s, t in zip(scores[half:].tolist(), y[half:], strict=True))
    (folder / "a.csv").write_text(f"score,outcome\n{text}\n")
    for source in (file, folder):
        assert main(["measure", str(source), "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["nll"] == close
    assert main(["fit", str(file), "-o", str(tmp_path / "c.json"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["log_loss_before"] == close


def test_logits_have_the_tails_that_float64_probabilities_lose():
    """1 − p would be rounded: the loss of a row that is wrong is that of its logits."""
    rng = np.random.default_rng(2)
    z = rng.normal(0.0, 12.0, (2000, 3))
    y = (softmax(z / 3, axis=1).cumsum(axis=1) < rng.random((2000, 1))).sum(axis=1).clip(max=2)
    preds = Predictions(z, y, kind="logits")
    p = softmax(z, axis=1)
    assert nll_vector(preds) == pytest.approx(log_loss(y, p), abs=1e-12)
    top = p.argmax(axis=1)
    others = np.where(np.arange(3) == top[:, None], 0.0, p).sum(axis=1)
    happened = np.where(top == y, 1.0 - others, others)
    expected = -np.log(np.maximum(happened, 2.0**-52)).mean()
    assert nll(Curve.from_predictions(preds)) == pytest.approx(expected, abs=1e-9)
    none = compare(preds, preds.take(np.arange(1000, 2000)), ["none"], "top-1").methods[0]
    part = Curve.from_predictions(preds.take(np.arange(1000, 2000)))
    assert none.nll == pytest.approx(nll(part), abs=1e-12)
