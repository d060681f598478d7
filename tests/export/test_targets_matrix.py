"""Every method of every view in every target: the artifact's numbers, or a word why not."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from ogive.calibrators import METHODS, MULTICLASS
from ogive.calibrators.multiclass.compose import fit_multiclass
from ogive.errors import ExportError
from ogive.export import to_onnx, to_python, to_sql, to_torch
from ogive.export.check import batch, compare, expected
from ogive.export.targets import export
from ogive.rows.predictions import Predictions
from ogive.studies.fitting import fit
from tests.export.calibrators import CURVES, MATRICES, predictions

K = 3
VIEWS = ["score", "class-0", "class-2", "top-1", "top-2", "top-3", "within-top-1", "within-top-2"]
WAYS = [f"{method}:{way}" for way in MULTICLASS for method in CURVES if way != "free"]
METHODS_AND_VIEWS = (
    [(method, view) for method in METHODS for view in VIEWS]
    + [(method, "vector") for method in MATRICES]
    + [(method, "vector") for method in [*WAYS, "spline:free"]]
    + [(f"{method}:ovr", "score") for method in CURVES]
)
KINDS = ("logits", "probs")


@cache
def fitted(method, view):
    rows = predictions(rows=150, K=K, seed=1)
    if view == "score":
        z = rows.values
        rows = Predictions(z[:, 1] - z[:, 0], rows.labels == 1, kind="logits")
    if ":" in method:
        name, way = method.split(":")
        return replace(fit_multiclass(rows, name, multiclass=way), view=view)
    if "odir" in method:
        one = METHODS[method].fit(rows, strengths=[0.1], offset_strengths=[0.1], cv=2)
        return replace(one, view=view)
    return fit(rows, method, view)


def targets(gamma):
    """Yield the targets, the kinds they take, and whether they read scores."""
    of_a_score = not hasattr(gamma, "K")
    for target, bound in ((to_python, 1e-9), (to_sql, 1e-9), (to_onnx, 2e-6), (to_torch, 2e-6)):
        text = target in {to_python, to_sql}
        if target is to_python and not of_a_score:
            continue
        for kind in ("probs",) if text and of_a_score else KINDS:
            yield target, kind, text and of_a_score, bound


@pytest.mark.thorough  # test_targets.py has each method once
@pytest.mark.with_parts
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("method", "view"), METHODS_AND_VIEWS)
def test_every_method_of_every_view_in_every_target(method, view, tmp_path):
    gamma = fitted(method, view)
    assert gamma.view == view
    for target, kind, from_scores, bound in targets(gamma):
        values = batch(gamma, kind, from_scores=from_scores, points=300, random_state=0)
        values = values[:: max(1, values.shape[0] // 400)]
        found = run(target, gamma, kind, values)
        if found is None:
            continue
        options = {"from_scores": from_scores, "bound": bound, "one_number": target is to_sql}
        checked = compare(gamma, values, found, kind, **options)
        # Venn-Abers steps at every score of the fit, and many points are put beside steps.
        share = 0.3 if method.startswith("venn-abers") else 0.05
        assert checked.at_jumps <= share * checked.points
        assert ((found >= 0.0) & (found <= 1.0)).all()
        if target is to_sql and view not in {"vector", "score"}:
            assert found.ndim == 1


def run(target, gamma, kind, values):
    """Return what a target gives; None where it says why it has no form, or is not installed."""
    if target is to_sql:
        forms = {"temperature", "vector", "class-view"}
        has_form = not hasattr(gamma, "K") or gamma.method in forms
        if not has_form or (hasattr(gamma, "K") and kind == "probs"):
            with pytest.raises(ExportError, match=r"cannot be exported as one|columns of logits"):
                target.write(gamma, kind=kind)
            return None
        return target.run(target.write(gamma), values, target.default_column(gamma))
    if target is to_python:
        return target.run(target.write(gamma, kind=kind), values)
    try:
        if target is to_torch:  # the module; test_targets has the file of torch.export
            import torch

            with torch.no_grad():
                return target.module(gamma, kind=kind)(torch.tensor(values)).numpy()
        return target.run(target.write(gamma, kind=kind, dtype="float64"), values, dtype="float64")
    except ImportError:
        return None


@pytest.mark.parametrize("method", CURVES)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_log_odds_of_infinity_are_scores_of_0_and_1(method, dtype):
    gamma = fitted(method, "score")
    eta = np.array([np.inf, -np.inf, 1000.0, -1000.0, 0.0], dtype=dtype)
    far = gamma.from_tails(np.array([True, False]), np.zeros(2))  # as scores: they round to 1
    wanted = [gamma(1.0), gamma(0.0), *far, gamma(0.5)]
    np.testing.assert_allclose(expected(gamma, eta, "logits", from_scores=False), wanted)
    torch = pytest.importorskip("torch")
    given = torch.tensor(eta, requires_grad=True)
    found = to_torch.module(gamma, kind="logits")(given)
    np.testing.assert_allclose(found.detach().numpy(), wanted, rtol=0, atol=2e-6)
    found.sum().backward()
    assert not torch.isnan(given.grad).any()
    pytest.importorskip("onnxruntime")
    contents = to_onnx.write(gamma, kind="logits", dtype=dtype)
    np.testing.assert_allclose(to_onnx.run(contents, eta, dtype), wanted, rtol=0, atol=2e-6)


@pytest.mark.parametrize("method", ["temperature", "vector"])
@pytest.mark.parametrize("view", VIEWS)
def test_a_matrix_method_of_a_view_is_exported_to_sql(method, view, tmp_path):
    done = export(fitted(method, view), "sql", tmp_path / "out.sql", points=2000)
    assert done.max_abs_difference <= 1e-9


@pytest.mark.parametrize("multiclass", ["keep", "free"])
def test_confusions_of_many_classes_are_exported_as_narrow_matrices(tmp_path, rng, multiclass):
    pytest.importorskip("onnxruntime")
    z = rng.normal(size=(800, 4)) * 2
    labels = (z + rng.gumbel(size=z.shape)).argmax(axis=1)
    preds = Predictions(z * 2, labels, kind="logits")
    gamma = fit_multiclass(preds, multiclass=multiclass)
    whole, unit = gamma.structure, np.eye(4)
    wide = replace(gamma, structure=replace(whole, of_logs=unit, of_probs=unit))
    np.testing.assert_allclose(wide(preds), gamma(preds), rtol=1e-12)  # V = 1
    M, V = rng.normal(size=(2, 4, 2)) * 0.3
    narrow = replace(
        gamma,
        structure=replace(whole, to_logs=M, to_probs=-M, of_logs=V, of_probs=2.0 * V),
    )
    assert np.abs(narrow(preds) - gamma(preds)).max() > 0.01
    done = export(narrow, "onnx", tmp_path / "cal.onnx", kind="logits", dtype="float64")
    assert done.max_abs_difference < 1e-6  # held against the library before it is written
