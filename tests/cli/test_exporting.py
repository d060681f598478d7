import numpy as np
import pytest

import ogive
from tests.bundled import DEMO
from tests.cli import schemas


def test_fit_writes_what_it_was_fitted_on(run_json, scores, tmp_path):
    from ogive.export.artifact import load_fitted_on

    out = tmp_path / "cal.json"
    words = ["fit", scores, "-o", out, "--method", "platt", "--date", "2026-01-31", "--tag", "v7"]
    run_json(schemas.FIT, *words)
    info = load_fitted_on(out)
    assert (info.n, info.view, info.method, info.kind) == (500, "score", "platt", "probs")
    assert (info.date, info.tag, info.folds) == ("2026-01-31", "v7", 5)
    assert 0 < info.ks_after < info.ks_before
    run_json(schemas.FIT, *words, "--folds", "0")
    assert load_fitted_on(out).ks_after is None


@pytest.mark.parametrize("to", ["python", "sql", "onnx", "torch"])
def test_export(run, run_json, scores, tmp_path, to):
    if to in {"onnx", "torch"}:
        pytest.importorskip(to)
        if to == "onnx":
            pytest.importorskip("onnxruntime")
    cal, out = tmp_path / "cal.json", tmp_path / "out"
    run_json(schemas.FIT, "fit", scores, "-o", cal, "--method", "platt")
    result = run_json(schemas.EXPORT, "export", cal, "--to", to, "-o", out)
    assert result["out"] == str(out)
    assert result["max_abs_difference"] <= (1e-7 if to == "torch" else 1e-9)  # float32 rounds
    assert out.exists()
    code, text, _ = run("export", cal, "--to", to, "-o", out)
    assert code == 0
    assert "checked at 100,000 points, the largest difference is" in text


def test_export_refuses_in_one_line(run, scores, tmp_path):
    cal, out = tmp_path / "cal.json", tmp_path / "out"
    run("fit", scores, "-o", cal, "--method", "platt")
    for words, want, message in (
        (("--to", "onxx"), 2, "unknown target 'onxx'. Did you mean 'onnx'?"),
        (("--to", "sql", "--kind", "logits"), 1, "`kind` must be 'probs'"),
        (("--to", "python", "--column", "p"), 2, "--column does not apply: python has no columns"),
        (("--to", "sql", "--dtype", "float64"), 2, "--dtype does not apply: sql computes"),
        (("--to", "onnx", "--dtype", "float16"), 2, "unknown dtype 'float16'"),
    ):
        code, text, err = run("export", cal, *words, "-o", out)
        assert (code, text) == (want, "")
        assert message in err
        assert err.count("\n") == 1
        assert not out.exists()
    cal.write_text(cal.read_text().replace('"slope"', '"slop"'))
    code, _, err = run("export", cal, "--to", "python", "-o", out)
    assert code == 1
    assert "altered" in err


def test_export_takes_what_the_calibrator_was_fitted_to(run_json, tmp_path):
    onnxruntime = pytest.importorskip("onnxruntime")
    cal, out = tmp_path / "cal.json", tmp_path / "cal.onnx"
    run_json(schemas.FIT, "fit", DEMO, "-o", cal, "--method", "temperature", "--view", "vector",
             "--folds", "0")  # fmt: skip
    run_json(schemas.EXPORT, "export", cal, "--to", "onnx", "-o", out)
    preds = ogive.read(DEMO, part="test")
    rows = preds.values[:20].astype(float)
    found = onnxruntime.InferenceSession(str(out)).run(None, {"logits": rows})[0]
    np.testing.assert_allclose(found, ogive.load(cal)(preds)[:20], atol=1e-6)


def test_plain_python_of_whole_rows_is_refused_with_a_line_that_runs(run, tmp_path):
    cal, out = tmp_path / "cal.json", tmp_path / "cal.py"
    assert run("fit", DEMO, "-o", cal, "--method", "temperature", "--folds", "0")[0] == 0
    code, _, err = run("export", cal, "--to", "python", "-o", out)
    assert code == 1
    assert "ogive export CAL.json --to onnx -o cal.onnx" in err
    assert not out.exists()
    pytest.importorskip("onnxruntime")
    assert run("export", cal, "--to", "onnx", "-o", tmp_path / "cal.onnx")[0] == 0
