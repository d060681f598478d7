"""The ONNX graph: what it says of itself, and batches of any size."""

import numpy as np
import pytest

import ogive
from ogive.export import to_onnx
from ogive.export.check import expected
from tests.export.calibrators import fitted, predictions

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")


def shape(value):
    dims = value.type.tensor_type.shape.dim
    return [dim.dim_param or dim.dim_value for dim in dims]


def test_names_shapes_and_the_operator_set():
    cases = [
        ("spline.score", "probs", "scores", ["batch"], "score", ["batch"]),
        ("spline.score", "logits", "log_odds", ["batch"], "score", ["batch"]),
        ("spline.top-1", "logits", "logits", ["batch", "classes"], "score", ["batch"]),
        ("spline.keep", "logits", "logits", ["batch", 4], "probabilities", ["batch", 4]),
        ("vector.vector", "probs", "probs", ["batch", 4], "probabilities", ["batch", 4]),
    ]
    for name, kind, given, given_shape, out, out_shape in cases:
        model = to_onnx.model(fitted(name), kind=kind)
        (entry,), (result,) = model.graph.input, model.graph.output
        assert (entry.name, shape(entry)) == (given, given_shape)
        assert (result.name, shape(result)) == (out, out_shape)
        assert entry.type.tensor_type.elem_type == onnx.TensorProto.DOUBLE
        assert result.type.tensor_type.elem_type == onnx.TensorProto.DOUBLE
        assert [(o.domain, o.version) for o in model.opset_import] == [("", 17)]


@pytest.mark.parametrize("name", ["spline.keep", "spline.free", "beta.ovr", "histogram.every-rank"])
def test_any_batch(name):
    gamma = fitted(name)
    contents = to_onnx.write(gamma)
    for rows in (1, 3, 1000):
        z = predictions(rows=rows, seed=rows).values.astype(np.float32)
        found = to_onnx.run(contents, z)
        wanted = expected(gamma, z, "logits", from_scores=False)
        np.testing.assert_allclose(found, wanted, rtol=0, atol=2e-6)
        np.testing.assert_allclose(found.sum(axis=1), 1.0, atol=1e-12)
        np.testing.assert_array_equal(found.argmax(axis=1), wanted.argmax(axis=1))
    if name.endswith("keep"):
        np.testing.assert_array_equal(found.argmax(axis=1), z.argmax(axis=1))


def test_a_map_of_a_view_takes_any_number_of_classes():
    gamma = fitted("spline.within-top-2")
    contents = to_onnx.write(gamma)
    for K in (3, 10, 200):
        z = predictions(rows=50, K=K).values.astype(np.float32)
        wanted = expected(gamma, z, "logits", from_scores=False)
        np.testing.assert_allclose(to_onnx.run(contents, z), wanted, rtol=0, atol=2e-6)


@pytest.mark.parametrize("view", ["top-1", "class-2", "top-2"])
def test_given_probabilities_fall_on_the_artifacts_side_of_every_step(rng, view):
    P = rng.multinomial(10, [0.5, 0.3, 0.2], size=500) / 10  # all scores are edges of the bins
    preds = ogive.Predictions(P, rng.integers(0, 3, 500), kind="probs")
    curve = ogive.Curve.from_predictions(preds, view)
    gamma = ogive.fit_histogram(curve, bins=10, spacing="width")
    contents = to_onnx.write(gamma, kind="probs", dtype="float64")
    wanted = expected(gamma, P, "probs", from_scores=False)
    np.testing.assert_array_equal(to_onnx.run(contents, P, "float64").reshape(-1), wanted)


@pytest.mark.parametrize("view", ["class-1", "score"])
def test_steep_maps_of_logits_stay_within_the_bound(view, rng):
    """The library rounds tails from logits to 32 bits and the graph does not: a slope shows it."""
    eta = 5e-4 * rng.normal(size=2000)
    y = (rng.random(2000) < 1 / (1 + np.exp(-4000 * eta))).astype(int)
    values = (eta if view == "score" else np.stack([0 * eta, eta], axis=1)).astype(np.float32)
    gamma = ogive.fit_platt(
        ogive.Curve.from_predictions(ogive.Predictions(values, y, kind="logits"), view)
    )
    found = to_onnx.run(to_onnx.write(gamma, kind="logits"), values)
    wanted = expected(gamma, values, "logits", from_scores=False)
    assert np.ptp(wanted) > 0.9
    assert np.abs(found - wanted).max() < 2e-6
