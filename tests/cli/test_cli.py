import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest

import ogive
from ogive.cli import main
from ogive.readers import table
from tests.bundled import DEMO
from tests.cli import schemas
from tests.readers.bad_files import BAD_FILES

#: The source of a table that is not text: text is then written with commas.
ANY = Path("source.parquet")


def test_measure(run_json):
    result = run_json(schemas.MEASURE, "measure", DEMO)
    assert result["view"] == "top-1"
    assert result["n"] == 10_000  # the test part
    assert result["ks"] == pytest.approx(0.05635, abs=1e-4)
    assert result["accuracy"] == pytest.approx(0.9093)
    assert result["nll_vector"] > 0
    assert run_json(schemas.MEASURE, "measure", DEMO, "--part", "cal")["n"] == 5000
    assert run_json(schemas.MEASURE, "measure", DEMO, "--view", "class-3")["view"] == "class-3"


def test_measure_with_bootstrap_intervals(run_json, scores):
    result = run_json(schemas.MEASURE, "measure", scores, "--resamples", "50")
    assert result["brier_low"] < result["brier"] < result["brier_high"]
    assert result == run_json(schemas.MEASURE, "measure", scores, "--resamples", "50")
    other = run_json(schemas.MEASURE, "measure", scores, "--resamples", "50", "--seed", "1")
    assert other["brier_low"] != result["brier_low"]


def test_measure_all_views(run_json):
    views = run_json(schemas.MEASURE_ALL, "measure", DEMO, "--view", "all")["views"]
    names = [view["view"] for view in views]
    assert names[:5] == ["top-1", "top-2", "top-3", "within-top-2", "within-top-3"]


def test_the_command_and_the_function_say_the_same(run_json):
    result = run_json(schemas.MEASURE, "measure", DEMO)
    cal, test = (ogive.read(DEMO, part=part) for part in ("cal", "test"))
    assert result == ogive.studies.measure.measure(test, cal=cal).to_dict()
    assert result["decision"] == "calibrate"
    compared = run_json(schemas.COMPARE, "compare", DEMO, "--methods", "none,platt")
    again = ogive.compare(
        ogive.read(DEMO, part="cal"), ogive.read(DEMO, part="test"), ["none", "platt"]
    ).to_dict()
    for row in (*compared["methods"], *again["methods"]):
        row.pop("fit_seconds")
    assert compared == again


def test_fit_apply_measure(run, run_json, tmp_path):
    cal, out = tmp_path / "cal.json", tmp_path / "out.npz"
    fitted = run_json(schemas.FIT, "fit", DEMO, "-o", cal)
    head = {"method": "spline", "view": "vector", "n": 5000, "artifact": str(cal)}
    assert fitted | head == fitted
    assert fitted["ks_after"] < 0.3 * fitted["ks_before"]
    assert fitted["log_loss_after"] < fitted["log_loss_before"]
    assert run_json(schemas.APPLY, "apply", cal, DEMO, "-o", out) == {"n": 15_000, "out": str(out)}
    before = run_json(schemas.MEASURE, "measure", DEMO)
    after = run_json(schemas.MEASURE, "measure", out)
    assert after["ks"] < 0.3 * before["ks"]
    assert after["accuracy"] == before["accuracy"]
    code, text, _ = run("fit", DEMO, "-o", cal, "--method", "paper-spline", "--view", "top-2")
    assert code == 0
    assert "paper-spline of top-2, fitted on 5,000 rows" in text


@pytest.mark.filterwarnings("always::ogive.errors.OgiveWarning")
def test_scores_that_were_calibrated_already_are_noticed(run, tmp_path):
    cal, once, twice = (tmp_path / name for name in ("cal.json", "once.npz", "twice.npz"))
    assert run("fit", DEMO, "-o", cal, "--method", "platt", "--view", "top-1")[0] == 0
    assert "warning" not in run("apply", cal, DEMO, "-o", once)[2]
    code, _, err = run("apply", cal, once, "-o", twice)
    assert code == 0
    assert "warning" in err
    assert "was fitted on logits" in err
    assert "calibrated already?" in err


def test_apply_to_a_file_without_labels(run_json, tmp_path, scores):
    run_json(schemas.FIT, "fit", scores, "-o", tmp_path / "cal.json", "--method", "platt")
    np.savez(tmp_path / "new.npz", scores=[0.1, 0.9], id=[7, 8])
    run_json(schemas.APPLY, "apply", tmp_path / "cal.json", tmp_path / "new.npz", "-o",
             tmp_path / "done.npz")  # fmt: skip
    with np.load(tmp_path / "done.npz") as arrays:
        assert sorted(arrays) == ["id", "ogive_calibrated", "scores"]
        assert arrays["scores"][0] < 0.1


def load(path):
    return pa.csv.read_csv(path) if path.suffix == ".csv" else table.load(path)


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_tables_of_a_view_hold_the_outcomes_of_the_view(suffix, run_json, tmp_path, rng):
    s = rng.random(3000)
    columns = {"id": np.arange(3000), "score": s, "more": s > 0.2, "outcome": rng.random(3000) < s}
    path, cal, out = (tmp_path / name for name in (f"b{suffix}", "cal.json", f"out{suffix}"))
    table._store(pa.table(columns), path, suffix, ANY)
    run_json(schemas.FIT, "fit", path, "-o", cal, "--view", "top-1")
    run_json(schemas.APPLY, "apply", cal, path, "-o", out)
    done = load(out)
    assert done.column_names == list(columns)
    if suffix == ".parquet":
        assert done.schema.field("outcome").type == pa.bool_()
    np.testing.assert_array_equal(done["outcome"], columns["outcome"] == (s > 0.5))
    assert run_json(schemas.MEASURE, "measure", out)["ks"] < 0.03


def test_other_columns_of_the_same_name_are_kept_apart(run_json, tmp_path, rng):
    z = rng.normal(size=(500, 3))
    columns = {f"logit_{k}": z[:, k] for k in range(3)}
    columns |= {"label": rng.integers(3, size=500), "outcome": ["paid"] * 500, "score": [7] * 500}
    path, cal, out = (tmp_path / name for name in ("m.parquet", "cal.json", "out.parquet"))
    table._store(pa.table(columns), path, ".parquet", ANY)
    run_json(schemas.FIT, "fit", path, "-o", cal, "--view", "top-1")
    run_json(schemas.APPLY, "apply", cal, path, "-o", out)
    done = load(out)
    assert done.column_names == ["score", "outcome", "label", "outcome_before", "score_before"]
    assert set(done["outcome_before"].to_pylist()) == {"paid"}
    np.testing.assert_array_equal(done["outcome"], z.argmax(axis=1) == columns["label"])


def matrix_file(path, rng, K=3, kind="logit", n=400, names=None):
    """Write a table or an archive of a matrix that is twice too sure; return its values."""
    z = 3 * rng.normal(size=(n, K))
    labels = (z / 2 + rng.gumbel(size=z.shape)).argmax(axis=1)
    values = z if kind.startswith("logit") else np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
    truth = labels if names is None else np.array(names)[labels]
    if path.suffix == ".npz":
        np.savez(path, **{kind: values}, labels=truth, score=np.arange(n), id=np.arange(n))
        return values
    columns = {f"{kind}_{k}": values[:, k] for k in range(K)}
    if kind in {"logits", "probs"}:
        columns = {kind: list(values)}
    columns |= {"label": truth, "score": np.arange(n), "id": np.arange(n)}
    table._store(pa.table(columns), path, path.suffix, ANY)
    return values


@pytest.mark.parametrize(
    ("name", "kind"),
    [("a.csv", "prob"), ("a.parquet", "logits"), ("a.arrow", "logit"), ("a.parquet", "probs")],
)
def test_matrices_of_tables_stay_matrices(name, kind, run_json, tmp_path, rng):
    path, cal, out = tmp_path / name, tmp_path / "cal.json", tmp_path / f"out{name[1:]}"
    values = matrix_file(path, rng, kind=kind)
    assert run_json(schemas.FIT, "fit", path, "-o", cal)["view"] == "vector"
    run_json(schemas.APPLY, "apply", cal, path, "-o", out)
    done = load(out)
    wide = ["probs"] if kind in {"logits", "probs"} else ["prob_0", "prob_1", "prob_2"]
    assert done.column_names == [*wide, "prediction", "score", "label", "score_before", "id"]
    preds = ogive.read(out)
    assert preds.K == 3
    assert preds.kind == "probs"
    top = values.argmax(axis=1)
    np.testing.assert_array_equal(preds.values.argmax(axis=1), top)
    np.testing.assert_array_equal(done["prediction"], top)
    np.testing.assert_allclose(done["score"], preds.values.max(axis=1))
    np.testing.assert_array_equal(done["score_before"], np.arange(400))
    assert run_json(schemas.MEASURE, "measure", out)["view"] == "top-1"


def test_matrices_of_archives_stay_matrices(run_json, tmp_path, rng):
    path, cal, out = (tmp_path / name for name in ("a.npz", "cal.json", "out.npz"))
    matrix_file(path, rng, kind="logits", names=["cat", "dog", "owl"])
    with np.load(path) as arrays:
        np.savez(path, **arrays, classes=["cat", "dog", "owl"])
    run_json(schemas.FIT, "fit", path, "-o", cal)
    run_json(schemas.APPLY, "apply", cal, path, "-o", out)
    with np.load(out) as arrays:
        expected = {"probs", "labels", "prediction", "score", "score_before", "id"}
        assert set(arrays) >= expected
        assert "logits" not in arrays
        assert set(arrays["prediction"]) <= {"cat", "dog", "owl"}
        np.testing.assert_array_equal(arrays["score_before"], np.arange(400))
    assert ogive.read(out).values.shape == (400, 3)


def test_two_columns_are_the_map_of_class_1(run, run_json, tmp_path, rng):
    path, cal, out = (tmp_path / name for name in ("a.parquet", "cal.json", "out.parquet"))
    values = matrix_file(path, rng, K=2, kind="prob")
    code, text, _ = run("fit", path, "-o", cal)
    assert code == 0
    assert "the decision may move" in text
    assert json.loads(cal.read_text())["method"] == "ovr"
    assert json.loads(cal.read_text())["fitted_on"]["method"] == "spline"
    assert "the decision may move" in run("apply", cal, path, "-o", out)[1]
    labels = load(path)["label"].to_numpy()
    gamma = ogive.fit_spline(ogive.Curve.from_scores(values[:, 1], labels == 1))
    np.testing.assert_allclose(load(out)["prob_1"], gamma(values[:, 1]), atol=1e-9)
    measured = run_json(schemas.MEASURE, "measure", out)
    assert (measured["view"], measured["also"][0]["view"]) == ("top-1", "class-1")
    code, text, _ = run("measure", out)
    assert "class-1" in text


def test_one_column_stays_a_score_under_matrix_methods(run_json, tmp_path, scores):
    cal, out = tmp_path / "cal.json", tmp_path / "out.npz"
    run_json(schemas.FIT, "fit", scores, "-o", cal, "--method", "temperature")
    run_json(schemas.APPLY, "apply", cal, scores, "-o", out)
    with np.load(out) as arrays:
        assert "cal_scores" in arrays or "scores" in arrays
        assert not any("probs" in name for name in arrays)


def test_a_part_that_is_missing_is_told(run, tmp_path):
    np.savez(tmp_path / "x.npz", test_scores=[0.2, 0.8], test_outcomes=[0, 1])
    code, _, err = run("fit", tmp_path / "x.npz", "-o", tmp_path / "cal.json")
    assert code == 1
    assert "has no cal part, only test. Say which one: --part test" in err


def test_files_of_several_kinds_are_told(run, tmp_path):
    np.savez(tmp_path / "a.npz", scores=[0.2, 0.8], outcomes=[0, 1])
    np.savez(tmp_path / "b.npz", logits=np.zeros((2, 5)), labels=[0, 1])
    code, _, err = run("measure", tmp_path / "a.npz", tmp_path / "b.npz")
    assert code == 1
    assert f"{tmp_path / 'a.npz'} has scores and {tmp_path / 'b.npz'} has logits" in err


def test_full_vectors(run_json, tmp_path):
    cal, out = tmp_path / "cal.json", tmp_path / "out.npz"
    words = ("fit", DEMO, "-o", cal, "--view", "vector", "--method", "platt")
    assert run_json(schemas.FIT, *words)["method"] == "platt"
    run_json(schemas.APPLY, "apply", cal, DEMO, "-o", out)
    with np.load(out) as arrays, np.load(DEMO) as original:
        probs = arrays["test_probs"]
        assert (probs.argmax(axis=1) == original["test_logits"].argmax(axis=1)).all()
    np.testing.assert_allclose(probs.sum(axis=1), 1.0, atol=1e-12)


def test_compare(run, run_json, scores):
    result = run_json(schemas.COMPARE, "compare", scores)
    names = [row["method"] for row in result["methods"]]
    curve_methods = {"none", "spline", "paper-spline", "platt", "isotonic", "beta", "histogram"}
    assert set(names) == curve_methods
    losses = [row["nll"] for row in result["methods"]]
    assert losses == sorted(losses)
    assert result["methods"][0]["tied_with_best"]
    assert result["methods"][0]["nll_diff"] == 0
    assert names[-1] == "none"
    code, text, _ = run("compare", scores, "--methods", "none,platt")
    assert code == 0
    assert "noise" not in text.split("none")[1].split("\n")[0]
    assert "Use platt" in text


def test_compare_leaves_a_calibrated_model_alone(run_json, tmp_path, rng):
    p = rng.random(3000)
    np.savez(tmp_path / "a.npz", scores=p, outcomes=rng.random(3000) < p)
    result = run_json(schemas.COMPARE, "compare", tmp_path / "a.npz", "--split", "0.5",
                      "--methods", "none,platt,isotonic")  # fmt: skip
    assert result["verdict"].startswith("Leave it alone")


def test_demo(run, run_json):
    result = run_json(schemas.COMPARE, "demo")
    assert result["view"] == "top-1"
    code, text, err = run("demo")
    assert code == 0
    assert err == ""
    for part in ("LeNet-5", "KS", "spline", "ogive measure", "⠀"):
        assert part in text
    assert "\x1b" not in text  # no colour off a terminal


@pytest.mark.parametrize(("name", "write", "message"), BAD_FILES, ids=[b[0] for b in BAD_FILES])
def test_bad_files_fail_in_one_line_and_touch_nothing(run, tmp_path, name, write, message):
    path, existing = tmp_path / name, tmp_path / "cal.json"
    write(path)
    existing.write_text("precious")
    for words in (("measure", path), ("measure", path, "--json"), ("fit", path, "-o", existing)):
        code, out, err = run(*words)
        assert code in {1, 2}
        assert out == ""
        assert err.startswith("ogive: ")
        assert err.count("\n") == 1
        assert "Traceback" not in err
    assert existing.read_text() == "precious"
    assert not (tmp_path / "proof-that-it-ran").exists()
    assert sorted(os.listdir(tmp_path)) == sorted({"cal.json", name} - {"missing.npz"})


USAGE = [
    (("measure",), 2, "Missing argument"),
    (("mesure", "x"), 2, "No such command 'mesure'"),
    (("compare", DEMO, "--methods", "plat"), 2, "Did you mean 'platt'"),
    (("fit", DEMO, "-o", "x.json", "--method", "splin"), 2, "Did you mean 'spline'"),
    (("measure", DEMO, "--view", "top1"), 2, "Did you mean 'top-1'"),
    (("measure", DEMO, "--part", "tests"), 2, "Did you mean 'test'"),
    (("measure", DEMO, "--view", "top-11"), 2, "top-r needs r in [1, 10]"),
    (("measure", DEMO, "--view", "class-99"), 2, "class-k needs k in [0, 10)"),
    (("measure", DEMO, "--view", "within-top-10"), 2, "within-top-r needs r in [1, 10)"),
    (("measure", DEMO, "--view", "score"), 2, "'score' is for one-column predictions"),
    (("fit", DEMO, "-o", "x.json", "--view", "class-10"), 2, "class-k needs k in [0, 10)"),
    (("compare", DEMO, "--view", "top-11"), 2, "top-r needs r in [1, 10]"),
    (("compare", DEMO, "--split", "0.5"), 2, "has parts already: cal and test. Leave out --split"),
    (("plot", DEMO, "-o", "x.png", "--view", "top-11"), 2, "top-r needs r in [1, 10]"),
    (("report", DEMO, "-o", "x.html", "--view", "class-10"), 2, "class-k needs k in [0, 10)"),
    (("fit", DEMO, "-o", "x.json", "--method", "none", "--folds", 3), 2, "--folds does not apply"),
    (("apply", DEMO, DEMO, "-o", "x.npz"), 1, "is not JSON of a calibrator"),
    (("fit", DEMO), 2, "Missing option"),
]


@pytest.mark.parametrize(("words", "code", "message"), USAGE)
def test_wrong_usage_says_the_way_out(run, words, code, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    got, _, err = run(*words)
    assert got == code
    assert message in err
    assert err.count("\n") == 1
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_names_of_columns_that_would_not_be_read_are_refused(run, tmp_path, suffix):
    scores, matrix = tmp_path / f"s{suffix}", tmp_path / f"m{suffix}"
    truth = {"label": [0, 1] * 20, "outcome": [0, 1] * 20}
    table._store(pa.table({"score": [0.2, 0.8] * 20, **truth}), scores, suffix, ANY)
    probs = {"prob_0": [0.8, 0.3] * 20, "prob_1": [0.2, 0.7] * 20}
    table._store(pa.table({**probs, **truth}), matrix, suffix, ANY)
    cal = tmp_path / "cal.json"
    for path, option, way_out in (
        (scores, "label", "--outcome label"),
        (matrix, "outcome", "--label outcome"),
    ):
        for words in (("measure", path), ("fit", path, "-o", cal), ("measure", path, "--one-pass"),
                      ("compare", path, "--split", "0.5")):  # fmt: skip
            code, out, err = run(*words, f"--{option}", option)
            assert (code, out) == (2, ""), err
            assert f"--{option} does not apply" in err
            assert way_out in err
    assert not cal.exists()
    assert run("measure", matrix, "--label", "label")[0] == 0
    assert run("measure", scores, "--outcome", "label")[0] == 0


def test_parts_that_a_file_does_not_have_are_refused(run, tmp_path):
    path = tmp_path / "s.csv"
    path.write_text("score,outcome\n" + "0.2,0\n0.8,1\n" * 20)
    np.savez(tmp_path / "s.npz", scores=[0.2, 0.8], outcomes=[0, 1])
    for words in (
        ("measure", path),
        ("measure", path, "--one-pass"),
        ("measure", tmp_path / "s.npz"),
        ("fit", path, "-o", tmp_path / "cal.json"),
    ):
        code, out, err = run(*words, "--part", "cal")
        assert (code, out) == (2, ""), err
        assert "there is no part 'cal'. Leave the part out." in err
    path.write_text("score,outcome,part\n" + "0.2,0,test\n0.8,1,test\n" * 20)
    for more in ((), ("--one-pass",)):
        code, _, err = run("measure", path, "--part", "tests", *more)
        assert code == 2
        assert "Did you mean 'test'?" in err
    assert run("measure", path, "--part", "cal")[0] == 2


def test_help_and_version(run):
    code, out, _ = run("--help")
    assert code == 0
    for command in ("measure", "fit", "apply", "compare", "demo"):
        assert command in out
    code, out, _ = run("--version")
    assert code == 0
    assert ogive.__version__ in out


def test_help_loads_nothing_heavy():
    code = (
        "import sys; from ogive.cli import main; main(['--help']); "
        "print([m for m in ('numpy', 'scipy', 'rich.table', 'pyarrow') if m in sys.modules], "
        "file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)  # noqa: S603
    assert done.stderr.strip() == "[]"


def test_completion_is_offered():
    env = {**os.environ, "_OGIVE_COMPLETE": "bash_source"}
    words = [sys.executable, "-c", "from ogive.cli import entry; entry()"]
    done = subprocess.run(words, capture_output=True, text=True, env=env, check=False)  # noqa: S603
    assert "_ogive_completion" in done.stdout


def test_a_reader_that_goes_away_is_no_failure():
    script = "from ogive.cli import entry; entry()"
    command = f"{sys.executable} -c '{script}' --help | head -1"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, check=True)  # noqa: S602
    assert done.stderr == ""


def test_colour_on_a_terminal_only_and_not_with_no_color():
    import pty

    def in_terminal(**env):
        leader, follower = pty.openpty()
        words = [sys.executable, "-m", "ogive.cli", "compare", DEMO, "--methods", "none,platt"]
        full = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "120", **env}
        full.pop("NO_COLOR", None) if "NO_COLOR" not in env else None
        subprocess.run(words, stdout=follower, stderr=follower, env=full, check=True)  # noqa: S603
        os.close(follower)
        text = b""
        while True:
            try:
                piece = os.read(leader, 65536)
            except OSError:
                break
            if not piece:
                break
            text += piece
        os.close(leader)
        return text.decode()

    assert "\x1b[32m" in in_terminal()
    assert "\x1b[32m" not in in_terminal(NO_COLOR="1")


def test_a_kill_in_the_middle_of_apply_leaves_no_half_file(tmp_path, scores):
    cal, out = tmp_path / "cal.json", tmp_path / "out.npz"
    assert main(["fit", str(scores), "-o", str(cal), "--method", "platt"]) == 0
    out.write_bytes(b"old")
    # The rename waits for the flush to disk: hold that, and kill the process while it waits.
    script = (
        "import os, time; os.fsync = lambda fd: time.sleep(60);"
        "from ogive.cli import main;"
        f"main(['apply', {str(cal)!r}, {str(scores)!r}, '-o', {str(out)!r}, '--force'])"
    )
    process = subprocess.Popen([sys.executable, "-c", script])  # noqa: S603
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        beside = [n for n in os.listdir(tmp_path) if n.startswith(".out.npz")]
        if beside and (tmp_path / beside[0]).stat().st_size > 1000:
            break
        time.sleep(0.02)
    else:
        pytest.fail("the file beside never appeared")
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert out.read_bytes() == b"old"
    assert main(["apply", str(cal), str(scores), "-o", str(out), "--force"]) == 0
    assert [name for name in os.listdir(tmp_path) if name.startswith(".")] == []
    assert ogive.read(out, part="all").n == 800


def test_a_gate_ends_with_its_code_and_one_line(run, scores):
    assert run("measure", scores)[0] == 0
    for limit, code, word in ((0.9, 0, "pass"), (0.01, 3, "fail"), (0.15, 4, "undecided")):
        found, out, err = run("measure", scores, "--max-ks", limit)
        assert (found, err) == (code, "")
        assert out.splitlines()[-1].startswith(f"Gate: {word}")
    assert "rows would decide it" in out
    assert run("measure", scores, "--max-ks", 0.15, "--undecided", "pass")[0] == 0
    assert run("measure", scores, "--max-ks", 0.15, "--undecided", "fail")[0] == 3
    code, out, _ = run("measure", scores, "--max-ks", 0.15, "--max-log-loss-gain", 0.9, "--json")
    gate = json.loads(out)["gate"]
    assert (code, gate["verdict"], gate["limit"]) == (4, "undecided", 0.15)
    assert gate["rows_needed"] > 300
    assert gate["interval"][0] < 0.15 < gate["interval"][1]
    assert [one["verdict"] for one in gate["limits"]] == ["undecided", "pass"]


@pytest.mark.parametrize(
    "words", [("--undecided", "pass"), ("--max-ks", "2"), ("--max-ece", "nan"),
              ("--max-ks", "0.1", "--view", "all")]
)  # fmt: skip
def test_a_gate_without_a_meaning_is_refused(run, scores, words):
    code, out, err = run("measure", scores, *words)
    assert (code, out, err.count("\n")) == (2, "", 1)
