"""`ogive compare` and `ogive demo`."""

import numpy as np

from tests.cli import schemas


def test_compare(run, run_json, scores):
    result = run_json(schemas.COMPARE, "compare", scores)
    names = [row["method"] for row in result["methods"]]
    curve_methods = {"none", "spline", "paper-spline", "platt", "isotonic", "beta", "histogram"}
    curve_methods |= {"venn-abers"}
    assert set(names) == curve_methods
    losses = [row["nll"] for row in result["methods"]]
    assert losses == sorted(losses)
    assert result["methods"][0]["tied_with_best"]
    assert result["methods"][0]["nll_diff"] == 0
    # A bin whose rate is 0 or 1 costs 36 nats where it is wrong: `histogram` may be the last.
    assert names.index("none") > max(map(names.index, ("spline", "platt", "beta")))
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


def test_options_of_a_method_and_bins(run, run_json, scores, tmp_path):
    words = ["compare", scores, "--methods", "none,paper-spline:knots=14,paper-spline"]
    few, many = (run_json(schemas.COMPARE, *words, *more) for more in ([], ["--bins", "25"]))
    rows = [{row["method"]: row for row in result["methods"]} for result in (few, many)]
    assert rows[0]["paper-spline:knots=14"]["nll"] != rows[0]["paper-spline"]["nll"]
    assert rows[0]["none"]["ece"] != rows[1]["none"]["ece"]
    assert rows[0]["none"]["nll"] == rows[1]["none"]["nll"]
    assert "paper-spline:knots=14" in run(*words)[1]
    for command in (["fit", scores, "-o", tmp_path / "c.json", "--method"], words[:3]):
        code, _, err = run(*command, "paper-spline:knots=2")
        assert code == 2
        assert "knots must be a whole number >= 3" in err
    assert "runout=natural|parabolic|cubic" in run("fit", "--help")[1]
