"""Everything that speaks of a file says the same, and what its tables show."""

import json

import numpy as np
import pytest
from scipy.special import expit

import ogive
from ogive import Curve, Predictions, SplineCalibrator, nll, nll_vector
from ogive.cli import main
from ogive.report import build_report
from ogive.studies.compare import compare
from ogive.studies.deciding import choose, judge_fit
from ogive.studies.fitted_on import fitted_on
from ogive.studies.fitting import apply, default_view, fit
from ogive.studies.measure import measure

pytestmark = pytest.mark.filterwarnings("ignore::ogive.errors.OgiveWarning")
METHODS = ["none", "spline", "platt", "isotonic"]


def scored(n, truth, mean=0.0, spread=1.5, heavy=0.0):
    """Scores with log-odds e, and outcomes with the log-odds truth(e); some are nearly certain."""

    def make(rng):
        e = rng.normal(mean, spread, n)
        y = rng.random(n) < expit(truth(e))
        p = expit(e)
        certain = rng.random(n) < heavy
        p[certain] = np.where(rng.random(certain.sum()) < 0.5, 1e-9, 1.0 - 1e-9)
        return {"scores": p, "outcomes": y.astype(int)}

    return make


def matrix(n, factor, classes=4):
    def make(rng):
        z = 1.5 * rng.normal(size=(n, classes))
        p = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
        labels = (rng.random((n, 1)) > p.cumsum(axis=1)).sum(axis=1).clip(0, classes - 1)
        return {"logits": factor * z, "labels": labels}

    return make


SETS = {
    "few rows": scored(15, lambda e: e),
    "few rows, far off": scored(15, lambda e: -e, spread=3.0),
    "rare class": scored(1500, lambda e: e - 1.0, mean=-4.0),
    "calibrated": scored(800, lambda e: e),
    "calibrated, rare": scored(1000, lambda e: e, mean=-6.0, spread=1.0),
    "nearly all are 1": scored(1000, lambda e: e, mean=6.0, spread=1.0),
    "calibrated, few": scored(100, lambda e: e),
    "overconfident": scored(800, lambda e: e / 2),
    "underconfident": scored(800, lambda e: 1.8 * e),
    "slightly off": scored(600, lambda e: e - 0.15),
    "heavy tails": scored(400, lambda e: e, heavy=0.03),
    "separable": scored(300, lambda e: 1e3 * e),
    "matrix, overconfident": matrix(600, 2.0),
    "matrix, calibrated": matrix(600, 1.0),
    "two columns": matrix(400, 2.5, classes=2),
}


def predictions(arrays):
    kind = "logits" if "logits" in arrays else "probs"
    return Predictions(*arrays.values(), kind=kind)


@pytest.mark.parametrize("name", SETS)
def test_all_verdicts_agree_with_each_other_and_with_their_table(name, tmp_path):
    rng = np.random.default_rng([len(name), 7])
    parts = [SETS[name](rng) for _ in range(2)]
    cal, test = map(predictions, parts)
    compared = compare(cal, test, METHODS)
    decision = compared.decision
    agrees_with_table(compared)

    report = build_report(test, cal, methods=METHODS)
    assert report.verdict.decision == decision
    assert report.calibrated.method == (decision.method or "spline")
    assert report.verdict.sentence in f"{compared.verdict} "
    fits = [command for command, _ in report.commands if command.startswith("ogive fit")]
    assert bool(fits) == bool(decision.calibrate)  # the next step is what the verdict says
    for command in fits:
        assert ("--method" in command) == (decision.method != "spline")
        assert decision.method in (command if "--method" in command else "spline")
    assert compared.to_dict()["recommended"] == (decision.method or "none")

    method = decision.method or "spline"
    gamma = fit(cal, method, default_view(cal))
    fitted = judge_fit(cal, gamma, fitted_on(cal, gamma, method), test)
    same = ("calibrate", "miscalibrated", "pvalue", "too_few_rows", "rows_needed", "direction")
    for key in (*same, "method", "log_loss_before", "log_loss_after", "basis"):
        assert getattr(fitted, key) == getattr(decision, key), key

    measured = measure(test, cal=cal)
    same_decision(measured, decision)
    agrees_with_measures(measured)


@pytest.mark.parametrize("score_only", [False, True])
@pytest.mark.parametrize("view", ["top-1", "within-top-2"])
@pytest.mark.parametrize("name", ["matrix, overconfident", "matrix, calibrated"])
def test_a_rank_of_a_matrix_is_judged_in_one_way(name, view, score_only):
    rng = np.random.default_rng([len(name), 9])
    cal, test = (predictions(SETS[name](rng)) for _ in range(2))
    compared = compare(cal, test, ["none", "spline"], view, score_only=score_only)
    decision = compared.decision
    report = build_report(test, cal, view=view, methods=["none", "spline"], score_only=score_only)
    assert report.verdict.decision == decision
    assert report.calibrated.nll_vector is None  # a view was asked for
    method = decision.method or "spline"
    gamma = fit(cal, method, view, score_only=score_only)
    fitted = judge_fit(cal, gamma, fitted_on(cal, gamma, method), test)
    for key in ("calibrate", "pvalue", "method", "log_loss_before", "log_loss_after", "basis"):
        assert getattr(fitted, key) == getattr(decision, key), key
    row = next(row for row in compared.methods if row.method == "spline")
    used = fit(cal, "spline", view, score_only=score_only)
    assert row.nll == pytest.approx(nll(Curve.from_scores(*rows_of(used, test))), rel=1e-12)
    if not score_only:
        same_decision(measure(test, view, cal=cal), decision)
        measured = measure(cal, view).decision
        gamma = fit(cal, view=view)
        alone = judge_fit(cal, gamma, fitted_on(cal, gamma, "spline"))
        assert measured == alone
        assert measured.basis in {"5 folds", None}


def rows_of(calibrator, preds):
    rows = apply(calibrator, preds)
    return rows.score, rows.hit


def same_decision(measured, decision):
    """What measure says of a test set with its calibration set, beside what compare says."""
    found = measured.decision
    assert found.too_few_rows == decision.too_few_rows
    if decision.method in {None, "spline"}:
        assert found.calibrate == decision.calibrate
        assert found.log_loss_after == decision.log_loss_after
    if measured.view in {"score", "top-1"} and not measured.also:
        for key in ("miscalibrated", "pvalue", "direction"):
            assert getattr(found, key) == getattr(decision, key), key


def agrees_with_measures(measured):
    """The verdict of a measurement has the numbers and words of its own table."""
    told, verdict = measured.decision, measured.verdict
    if told.too_few_rows:
        assert "Too few rows to say" in verdict
        return
    assert f"{100 * measured.ks:.2f} %" in verdict
    assert told.miscalibrated == (told.pvalue < 0.05) == ("Miscalibrated" in verdict)
    if told.direction in {"too high", "too low"}:
        assert told.direction == (
            "too high" if measured.mean_score > measured.base_rate else "too low"
        )
        rate = "accuracy" if measured.view == "top-1" else "base rate"
        assert f"{rate} {100 * measured.base_rate:.2f} %" in verdict
    if measured.view != "top-1":
        assert "confident" not in verdict
        assert "accuracy" not in verdict


def agrees_with_table(compared):
    rows = {row.method: row for row in compared.methods}
    decision, none = compared.decision, rows["none"]
    if decision.too_few_rows:
        assert decision.calibrate is None
        assert decision.rows_needed > 15
        assert "Too few rows to say" in compared.verdict
        assert "calibrate." not in compared.verdict
    elif decision.calibrate:
        assert rows[decision.method].nll < none.nll
        assert decision.log_loss_after < decision.log_loss_before
        assert compared.verdict.startswith(f"Use {decision.method}. Log loss")
        assert choose(compared.methods).method == decision.method
    else:
        assert compared.verdict.startswith("Leave it alone")
    for row in compared.methods:
        assert row.nll_diff >= 0.0
        if row.tied_with_best and row is not compared.best:
            assert row.nll <= none.nll
        if row.nll > none.nll:  # worse than leaving the scores alone: never listed as equal
            for words in compared.verdict.split(". "):
                assert not (words.startswith("Not significantly") and f" {row.method}" in words)
        if row.too_few_rows_to_tell and not decision.too_few_rows:
            listed = compared.verdict.partition("Too few rows to tell")[2].partition(".")[0]
            names = listed.partition(": ")[2].partition(" (")[0].split(", ")
            assert (row.method in names) == (row.method not in {decision.method, "spline"})
    assert json.dumps(decision.to_dict(), allow_nan=False)


@pytest.mark.parametrize("name", SETS)
def test_measure_fit_and_summary_decide_alike_for_the_same_rows(name):
    arrays = SETS[name](np.random.default_rng([len(name), 8]))
    preds = predictions(arrays)
    measured = measure(preds).decision
    gamma = fit(preds, view=default_view(preds))
    fitted = judge_fit(preds, gamma, fitted_on(preds, gamma, "spline"))
    same = ("calibrate", "too_few_rows", "rows_needed", "log_loss_before", "log_loss_after")
    for key in same:
        assert getattr(measured, key) == getattr(fitted, key), key
    values, labels = arrays.values()
    way = "ovr" if preds.K == 2 else "keep"  # two columns: the map of class 1, as `ogive fit`
    told = SplineCalibrator(kind=preds.kind, multiclass=way).fit(values, labels).summary()
    assert told.decision == fitted.word
    assert told.leave_alone == (None if fitted.too_few_rows else not fitted.calibrate)
    if name != "two columns":  # whose table is that of top-1
        assert measured == fitted
    assert told.verdict == str(fitted)
    assert str(fitted) in repr(told)


def test_the_command_line_says_the_same(tmp_path, capsys):
    rng = np.random.default_rng(3)
    file = tmp_path / "a.npz"
    parts = {part: SETS["overconfident"](rng) for part in ("cal", "test")}
    np.savez(file, **{f"{part}_{k}": v for part, made in parts.items() for k, v in made.items()})
    found = {}
    for words in (["measure"], ["fit", "-o", str(tmp_path / "c.json")], ["compare"]):
        assert main([words[0], str(file), *words[1:], "--json"]) == 0
        found[words[0]] = json.loads(capsys.readouterr().out)
    assert [found[k].get("decision") for k in found] == ["calibrate"] * 3
    fitted, compared, measured = (found[k] for k in ("fit", "compare", "measure"))
    assert measured["calibration_pvalue"] == fitted["calibration_pvalue"]
    fitted, compared = fitted["reasons"], compared["reasons"]
    assert fitted["calibrate"] is compared["calibrate"] is True
    assert fitted["log_loss_after"] == pytest.approx(compared["log_loss_after"])
    assert measured["calibration_pvalue"] == fitted["pvalue"] == compared["pvalue"]
    assert found["measure"]["base_rate"] == found["measure"]["accuracy"]
    assert main(["report", str(file), "-o", str(tmp_path / "r.html")]) == 0
    assert f"Use {compared['method']}. Log loss falls" in capsys.readouterr().out


def test_fifteen_rows_are_too_few_and_it_is_said_how_many_would_do(rng):
    p = rng.random(15)
    decision = measure(Curve.from_scores(p, rng.random(15) < p)).decision
    assert (decision.calibrate, decision.miscalibrated, decision.too_few_rows) == (None, None, True)
    assert 100 < decision.rows_needed < 1000
    assert f"about {decision.rows_needed:,} rows would settle it" in str(decision)


def test_words_of_a_class_and_of_the_top_class(rng):
    z = 3 * rng.normal(size=(2000, 3))
    p = np.exp(z / 2) / np.exp(z / 2).sum(axis=1, keepdims=True)
    preds = Predictions(z, (rng.random((2000, 1)) > p.cumsum(axis=1)).sum(axis=1), kind="logits")
    top, one = measure(preds), measure(preds, "class-1")
    assert "verconfident" in top.verdict
    assert "accuracy" in repr(top)
    assert "confident" not in one.verdict
    assert "base rate" in repr(one)
    assert "accuracy" not in repr(one) + one.verdict


@pytest.mark.parametrize("law", ["calibrated, rare", "nearly all are 1"])
def test_a_handful_of_rare_events_is_no_reason_to_calibrate(law):
    """Of calibrated samples; 39 to 43 % were told to, with about four events each."""
    told = []
    for seed in range(40):
        arrays = SETS[law](np.random.default_rng([seed, 11]))
        preds = predictions(arrays)
        gamma = fit(preds)
        if not gamma.own_gain.leave_alone:  # no other verdict is to calibrate
            told.append(measure(preds).decision.calibrate)
    assert sum(map(bool, told)) <= 6


@pytest.mark.parametrize("name", ["overconfident", "slightly off", "rare class", "calibrated"])
def test_log_loss_after_and_its_gain_are_one_number_in_every_command(name, tmp_path, capsys):
    arrays = SETS[name](np.random.default_rng([len(name), 12]))
    file, out = tmp_path / "a.npz", tmp_path / "c.json"
    np.savez(file, **arrays)
    assert main(["fit", str(file), "-o", str(out), "--json"]) == 0
    fitted = json.loads(capsys.readouterr().out)
    decision = measure(predictions(arrays)).decision
    gain = ogive.fit_spline(Curve.from_scores(arrays["scores"], arrays["outcomes"])).gain
    after = pytest.approx(decision.log_loss_after, rel=1e-12)
    assert fitted["log_loss_after"] == after
    assert fitted["reasons"]["log_loss_after"] == after
    assert json.loads(out.read_text())["fitted_on"]["log_loss_after"] == after
    assert decision.log_loss_before - decision.log_loss_after == pytest.approx(gain, rel=1e-9)
    may_be_none = decision.calibrate and abs(gain) <= 2 * decision.log_loss_error
    assert ("it may be none" in str(decision)) == bool(may_be_none)
    if decision.calibrate:
        assert gain > 0.0


def test_two_columns_of_logits_gain_what_their_score_gains():
    """The map of class 1 is fitted to logits divided by their temperature: that is a gain too."""
    preds = predictions(SETS["two columns"](np.random.default_rng(4)))
    whole, score = measure(preds).decision, fit(preds, view="class-1").own_gain
    assert whole.log_loss_before == pytest.approx(nll_vector(preds), rel=1e-12)
    assert whole.log_loss_before - whole.log_loss_after == pytest.approx(score.value, rel=1e-9)
    assert whole.calibrate


def with_exact(rng, n=3000):
    """Calibrated scores, of which 30 were set to 0 and 30 to 1, whatever happened."""
    scores = rng.uniform(0.02, 0.98, n)
    outcomes = (rng.random(n) < scores).astype(int)
    scores[7:37], scores[37:67] = 0.0, 1.0
    return scores, outcomes


def test_exact_scores_that_make_the_gain_are_counted_and_left_out(rng, tmp_path, capsys):
    scores, outcomes = with_exact(rng)
    preds = Predictions(scores, outcomes, kind="probs")
    decision = measure(preds).decision
    assert decision.certain_rows == 60
    said = "60 of 3,000 rows have a score of exactly 0 or 1 (the first is row 7): without them the"
    assert said in str(decision)
    q = fit(preds)(scores)
    p = np.where(outcomes == 1, scores, 1.0 - scores)[67:]
    r = np.where(outcomes == 1, q, 1.0 - q)[67:]
    saved = (np.log(r[p > 0]) - np.log(p[p > 0])).mean()
    assert decision.gain_without_certain_rows == pytest.approx(
        saved, abs=0.004
    )  # of each row left out
    assert decision.log_loss_before - decision.log_loss_after > 0.2
    flipped = outcomes.copy()
    flipped[7:67] = scores[7:67] == 1.0  # all as their scores say: counted, and not spoken of
    fine = measure(Predictions(scores, flipped, kind="probs")).decision
    assert fine.certain_rows == 60
    assert "exactly 0 or 1" not in str(fine)

    file, folder = tmp_path / "a.npz", tmp_path / "log"
    np.savez(file, scores=scores, outcomes=outcomes)
    folder.mkdir()
    lines = [f"{s!r},{y}" for s, y in zip(scores.tolist(), outcomes, strict=True)]
    (folder / "a.csv").write_text("\n".join(["score,outcome", *lines]) + "\n")
    for words in (["measure"], ["fit", "-o", str(tmp_path / "c.json")]):
        for source in (file, folder):
            out = [*words[1:2], *[w.replace("c.json", f"{source.stem}.json") for w in words[2:]]]
            assert main([words[0], str(source), *out, "--json"]) == 0
            found = json.loads(capsys.readouterr().out)
            assert found["certain_rows"] == 60
            assert found["gain_without_certain_rows"] == pytest.approx(
                decision.gain_without_certain_rows, rel=1e-9
            )
            assert "60 of 3,000 rows have a score of exactly 0 or 1" in found["verdict"]


def test_whole_vectors_with_a_probability_of_0_are_counted(rng):
    e = rng.normal(0.0, 0.4, (2000, 3))
    p = np.exp(e) / np.exp(e).sum(axis=1, keepdims=True)
    y = (p.cumsum(axis=1) < rng.random((2000, 1))).sum(axis=1).clip(max=2)
    p[5::50, 1] = 0.0
    p /= p.sum(axis=1, keepdims=True)
    preds = Predictions(p, y, kind="probs")
    decision = measure(preds).decision
    assert decision.certain_rows == 40
    said = "40 of 2,000 rows have a probability of exactly 0 or 1 (the first is row 5): without"
    assert said in str(decision)
    gamma = fit(preds, view="vector")
    assert judge_fit(preds, gamma, fitted_on(preds, gamma, "spline")) == decision

    cal, test = (preds.take(np.arange(*at)) for at in ((0, 1000), (1000, 2000)))
    compared = compare(cal, test, ["none", "spline"]).decision
    assert compared.certain_rows == 20
    q = fit(cal, view="vector")(test)
    rest = (test.values != 0).all(axis=1)
    own = np.arange(1000), test.labels
    saved = (np.log(q[own]) - np.log(np.maximum(test.values[own], 2.0**-52)))[rest].mean()
    assert compared.gain_without_certain_rows == pytest.approx(saved, rel=1e-9)
