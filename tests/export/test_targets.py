"""Every method, in every target that can express it, gives the artifact's numbers."""

import importlib.util
import os

import numpy as np
import pytest

from ogive.calibrators import MULTICLASS
from ogive.calibrators.multiclass.compose import fit_multiclass
from ogive.errors import (
    DoesNotApply,
    ExportError,
    InvalidInput,
    InvalidType,
    MissingExtra,
    UnknownName,
)
from ogive.export import to_python, to_sql
from ogive.export.check import batch, compare, expected
from ogive.export.targets import TARGETS, export
from ogive.rows.predictions import Predictions
from tests.export.calibrators import CURVE_NAMES, NAMES, SQL_NAMES, fitted, predictions, shifted

NEEDS = {"onnx": ["onnx", "onnxruntime"], "torch": ["torch"], "python": [], "sql": []}
BOUNDS = {"onnx": 2e-6, "torch": 2e-6, "python": 1e-9, "sql": 1e-9}


def kinds(name, target):
    """What a calibrator is given: one column or a matrix, logits or probabilities."""
    of_a_score = TARGETS[target].arrays is False and name in CURVE_NAMES
    if target == "sql" or of_a_score:
        return [None]
    return ["logits", "probs"]


#: Each method in each target once, and in all ways among the long tests.
CASES = [
    pytest.param(name, target, kind, marks=[pytest.mark.thorough] * bool(at))
    for name in NAMES
    for target in TARGETS
    for at, kind in enumerate(kinds(name, target))
    if target in {"onnx", "torch"} or name in {"sql": SQL_NAMES, "python": CURVE_NAMES}[target]
]


@pytest.mark.parametrize("asked", [2000, pytest.param(None, marks=pytest.mark.thorough)])
@pytest.mark.parametrize(("name", "target", "kind"), CASES)
def test_the_export_gives_the_artifacts_numbers(name, target, kind, asked, tmp_path):
    for package in NEEDS[target]:
        pytest.importorskip(package)
    out = tmp_path / "out"
    points = asked or int(os.environ.get("OGIVE_EXPORT_POINTS", "100000"))
    gamma = fitted(name)
    done = export(gamma, target, out, kind=kind, points=points, dtype="float64")
    assert done.out == str(out)
    assert out.stat().st_size > 100
    assert done.max_abs_difference <= BOUNDS[target]
    assert done.points >= 0.999 * points / (1 if name in CURVE_NAMES and "score" in name else 4)
    # In float64 the three points that the check puts at a step are within rounding of it.
    steps = getattr(gamma, "edge_tail", np.zeros(0)).size
    assert done.at_jumps <= 0.002 * done.points + 3 * steps


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in NAMES if "shifted" not in name])
def test_every_method_at_another_base_rate_in_every_target(name, tmp_path):
    """With few rows and few numbers: what a shift adds to a form is the same for all."""
    gamma = fitted(name, rows=200)
    if not name.endswith((".score", ".vector", ".class-1", *MULTICLASS)):
        with pytest.raises(DoesNotApply, match="base rate"):  # views that have none of their own
            shifted(gamma)
        return
    gamma = shifted(gamma)
    for target in TARGETS:
        if name not in {"sql": SQL_NAMES, "python": CURVE_NAMES}.get(target, NAMES):
            continue
        if all(importlib.util.find_spec(package) for package in NEEDS[target]):
            kind = kinds(name, target)[0]
            done = export(gamma, target, tmp_path / target, kind=kind, points=400, dtype="float64")
            assert done.max_abs_difference <= BOUNDS[target]


@pytest.mark.parametrize("target", ["onnx", "torch"])
@pytest.mark.parametrize("name", ["spline.score", "isotonic.keep", "temperature.vector"])
def test_inputs_may_be_double(target, name, tmp_path):
    for package in NEEDS[target]:
        pytest.importorskip(package)
    done = export(fitted(name), target, tmp_path / "out", dtype="float64", points=5000)
    assert done.max_abs_difference <= 1e-9


@pytest.mark.parametrize("name", sorted(set(NAMES) - SQL_NAMES))
def test_what_has_no_sql_form_says_so(name, tmp_path):
    with pytest.raises(ExportError, match=r"cannot be exported as one SQL expression.*onnx"):
        export(fitted(name), "sql", tmp_path / "out.sql")
    assert os.listdir(tmp_path) == []


@pytest.fixture
def wrong(monkeypatch):
    """Make the Python form lie by a little."""

    def lie(by):
        run = to_python.run
        monkeypatch.setattr(to_python, "run", lambda text, x: run(text, x) + by(x))

    return lie


def test_an_export_that_differs_is_refused_and_nothing_is_written(wrong, tmp_path):
    wrong(lambda x: np.where(x == 1.0, 3e-9, 0.0))
    (tmp_path / "cal.py").write_text("old")
    with pytest.raises(ExportError, match=r"differs from the artifact by 3e-09 at 1\.0.*nothing"):
        export(fitted("platt.score"), "python", tmp_path / "cal.py", points=1000)
    assert (tmp_path / "cal.py").read_text() == "old"
    assert os.listdir(tmp_path) == ["cal.py"]


def test_nan_is_a_difference(wrong, tmp_path):
    wrong(lambda x: np.where(x == 0.0, np.nan, 0.0))
    with pytest.raises(ExportError, match="differs from the artifact"):
        export(fitted("platt.score"), "python", tmp_path / "cal.py", points=1000)


def test_a_difference_below_the_bound_is_reported(wrong, tmp_path):
    wrong(lambda x: np.where(x == 0.0, 5e-10, 0.0))
    done = export(fitted("beta.score"), "python", tmp_path / "cal.py", points=1000)
    assert done.max_abs_difference == pytest.approx(5e-10, rel=1e-3)


def test_points_within_rounding_of_a_jump_are_counted_apart():
    gamma = fitted("histogram.score")
    values = batch(gamma, "probs", from_scores=True, points=2000, random_state=0)
    edges = np.where(gamma.edge_high, 1.0 - gamma.edge_tail, gamma.edge_tail)
    at_edge = np.isin(values, edges)
    assert at_edge.sum() >= edges.size
    found = gamma(values)
    found[at_edge] = gamma(np.nextafter(values[at_edge], 1.0))  # the bin on the other side
    checked = compare(gamma, values, found, "probs", from_scores=True, bound=1e-9)
    assert checked.at_jumps == (np.abs(found - gamma(values)) > 1e-9).sum() > 5
    assert checked.max_abs_difference == 0.0
    two = np.nextafter(np.nextafter(edges, 0.0), 0.0)  # two steps away is no excuse
    wrong = gamma(np.nextafter(edges, 1.0))
    with pytest.raises(ExportError, match="differs"):
        compare(gamma, two, wrong, "probs", from_scores=True, bound=1e-9)


def test_vectors_that_do_not_sum_or_decide_alike_are_refused():
    gamma = fitted("temperature.vector")
    values = batch(gamma, "logits", from_scores=False, points=2000, random_state=0)
    right = expected(gamma, values, "logits", from_scores=False)
    with pytest.raises(ExportError, match="do not sum to 1"):
        compare(gamma, values, right * 1.001, "logits", from_scores=False, bound=1.0)
    with pytest.raises(ExportError, match="another most probable class"):
        compare(gamma, values, right[:, ::-1], "logits", from_scores=False, bound=1.0)
    with pytest.raises(ExportError, match="shape"):
        compare(gamma, values, right[:, :2], "logits", from_scores=False, bound=1.0)


def test_the_grid_holds_what_it_should():
    gamma = fitted("isotonic.score")
    values = batch(gamma, "probs", from_scores=True, points=100_000, random_state=1)
    assert values.size == 100_000
    knots = np.where(gamma.high, 1.0 - gamma.tail, gamma.tail)
    for wanted in ([0.0, 1.0, 0.5, 5e-324, 1 - 2.0**-53], knots, np.nextafter(knots[1:], 0)):
        assert np.isin(wanted, values).all()
    assert ((values >= 0) & (values <= 1)).all()
    logits = batch(fitted("temperature.vector"), "logits", from_scores=False,
                   points=4000, random_state=1)  # fmt: skip
    assert (logits == -np.inf).any()
    assert (logits > 700).any()


def test_bad_arguments(tmp_path, monkeypatch):
    gamma = fitted("platt.score")
    out = tmp_path / "out"
    with pytest.raises(UnknownName, match=r"unknown target 'onx'. Did you mean 'onnx'"):
        export(gamma, "onx", out)
    with pytest.raises(InvalidType, match="fitted calibrator"):
        export({"a": 1}, "python", out)
    with pytest.raises((UnknownName, InvalidInput), match="kind"):
        export(gamma, "python", out, kind="logit")
    with pytest.raises(ExportError, match="`kind` must be 'probs'"):
        export(gamma, "python", out, kind="logits")
    with pytest.raises((UnknownName, InvalidInput), match="dtype"):
        export(gamma, "onnx", out, dtype="float16")
    with pytest.raises(InvalidInput, match="is for sql only"):
        export(gamma, "python", out, column="p")
    with pytest.raises(InvalidInput, match="`column`"):
        export(gamma, "sql", out, column="a\nb")
    with pytest.raises(ExportError, match="columns of logits"):
        export(fitted("vector.vector"), "sql", out, kind="probs")
    monkeypatch.setattr(to_sql, "MAX_PIECES", 3)
    with pytest.raises(ExportError, match="pieces"):
        export(fitted("isotonic.score"), "sql", out)
    monkeypatch.setattr(to_sql, "MAX_CLASSES", 3)
    with pytest.raises(ExportError, match="4 classes are too many"):
        export(fitted("vector.vector"), "sql", out)
    assert os.listdir(tmp_path) == []


def test_a_missing_package_is_named(tmp_path, monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(MissingExtra, match=r"pip install 'ogive\[onnx\]'"):
        export(fitted("platt.score"), "onnx", tmp_path / "out")


ROWS_WITH_A_BAND = [
    *("spline.free", "structure.keep", "spline.keep", "shifted-spline.keep", "shifted-spline.free"),
    *("classes.top-1", "classes.within-top-2"),
]


@pytest.mark.parametrize("name", ROWS_WITH_A_BAND)
@pytest.mark.parametrize("target", ["onnx", "torch"])
def test_the_band_of_rows_is_exported_with_the_map(name, target, tmp_path):
    for package in NEEDS[target]:
        pytest.importorskip(package)
    how = {"band": "pointwise", "dtype": "float64", "points": 2000}
    done = export(fitted(name), target, tmp_path / "out", **how)
    assert done.max_abs_difference <= BOUNDS[target]


@pytest.mark.parametrize("name", ROWS_WITH_A_BAND)
def test_the_exported_band_of_rows_is_that_of_the_most_probable_class(name, tmp_path):
    gamma, preds = fitted(name), predictions(rows=50, seed=9)
    onnxruntime = pytest.importorskip("onnxruntime")
    out = tmp_path / "cal.onnx"
    export(gamma, "onnx", out, band="pointwise", points=500, dtype="float64")
    rows = onnxruntime.InferenceSession(str(out)).run(None, {"logits": preds.values.astype(float)})
    low, high = gamma.interval(preds)
    assert (low < high).all()
    for found, wanted in zip(rows, (gamma(preds), low, high), strict=True):
        np.testing.assert_allclose(found, wanted, atol=1e-12)


@pytest.mark.parametrize("target", ["onnx", "torch"])
@pytest.mark.parametrize("columns", [1, 2])
def test_the_band_of_two_classes_is_exported(columns, target, tmp_path):
    for package in NEEDS[target]:
        pytest.importorskip(package)
    preds = predictions(K=2)
    if columns == 1:
        preds = Predictions(preds.values[:, 1] - preds.values[:, 0], preds.labels, kind="logits")
    gamma = fit_multiclass(preds, "spline", multiclass="ovr")
    done = export(
        gamma, target, tmp_path / "out", band="simultaneous", dtype="float64", points=2000
    )
    assert done.max_abs_difference <= BOUNDS[target]


@pytest.mark.parametrize("name", ["classes.top-1", "classes.within-top-2"])
def test_the_band_of_a_rank_is_exported_to_sql(name, tmp_path):
    done = export(fitted(name), "sql", tmp_path / "out", band="pointwise", points=300)
    assert done.max_abs_difference <= BOUNDS["sql"]
    assert (tmp_path / "out").read_text().count('AS "low"') == 1


BANDS = ["spline.score", "monotone.score", "venn-abers.score", "shifted-spline.score"]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", [*BANDS, "spline.top-1", "venn-abers.class-1"])
def test_the_band_is_exported_with_the_map(name, target, tmp_path):
    for package in NEEDS[target]:
        pytest.importorskip(package)
    gamma, how = fitted(name), {"band": "pointwise", "dtype": "float64"}
    done = export(gamma, target, tmp_path / "out", points=4000, **how)
    assert done.max_abs_difference <= BOUNDS[target]
    # In float64 the three points that the check puts at a step are within rounding of it.
    steps = getattr(gamma, "edge_tail", np.zeros(0)).size
    assert done.at_jumps <= 0.002 * done.points + 3 * steps


def test_the_exported_band_is_the_artifact_s(tmp_path):
    gamma = fitted("spline.score")
    done = export(gamma, "python", tmp_path / "cal.py", band="simultaneous", points=1000)
    space = {}
    exec((tmp_path / "cal.py").read_text(), space)  # noqa: S102 - written just now
    low, high = gamma.band(0.3, simultaneous=True)
    assert space["calibrate"](0.3) == pytest.approx([float(gamma(0.3)), low, high], abs=1e-12)
    assert done.points >= 1000


def test_what_has_no_band_is_not_exported_with_one(tmp_path):
    with pytest.raises(InvalidInput, match="'platt' has no band: fit the method 'spline'"):
        export(fitted("platt.score"), "python", tmp_path / "out", band="pointwise")
    with pytest.raises(InvalidInput, match="'platt' has no band"):
        export(fitted("platt.keep"), "python", tmp_path / "out", band="pointwise")
    with pytest.raises(DoesNotApply, match="'ovr' divides the classes by their sum"):
        export(fitted("spline.ovr"), "python", tmp_path / "out", band="pointwise")
    with pytest.raises(ExportError, match="the band of a calibrator of groups is not exported"):
        export(fitted("spline.groups"), "python", tmp_path / "out", band="pointwise")
    assert os.listdir(tmp_path) == []


def test_float32_says_what_rounding_its_input_costs(tmp_path):
    pytest.importorskip("onnxruntime")
    gamma = fitted("histogram.score")
    exact = export(gamma, "onnx", tmp_path / "c.onnx", kind="probs", points=2000)
    assert (exact.rounded, exact.max_abs_difference <= 2e-6) == (0, True)
    rough = export(gamma, "onnx", tmp_path / "c.onnx", kind="probs", points=2000, dtype="float32")
    given = batch(gamma, "probs", from_scores=False, points=2000, random_state=0)
    cost = np.abs(gamma(given.astype(np.float32)) - gamma(given))
    assert rough.max_abs_difference == pytest.approx(cost.max(), abs=1e-6)
    assert rough.rounded == (cost > 2e-6).sum() > 0


@pytest.mark.parametrize("name", ["venn-abers.score", "platt.score", "vector.vector"])
def test_onnx_takes_float64_as_it_comes(name, tmp_path):
    runtime = pytest.importorskip("onnxruntime")
    gamma = fitted(name)
    out = tmp_path / "cal.onnx"
    export(gamma, "onnx", out, points=1000)
    session = runtime.InferenceSession(str(out))
    rows = np.random.default_rng(2).random((50,) if name.endswith("score") else (50, 4))
    found = session.run(None, {session.get_inputs()[0].name: rows})[0]
    kind = "logits" if rows.ndim > 1 or not name.endswith("score") else "probs"
    np.testing.assert_allclose(found, expected(gamma, rows, kind, from_scores=False), atol=2e-6)
