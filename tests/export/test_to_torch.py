"""The torch module: exported, differentiated, moved."""

import copy
import io

import numpy as np
import pytest

from ogive.export import to_torch
from ogive.export.check import expected
from tests.export.calibrators import fitted, predictions

torch = pytest.importorskip("torch")


@pytest.mark.parametrize(
    "name", ["spline.score", "platt.score", "beta.score", "paper-spline.score", "none.score"]
)
def test_gradients_of_scores_are_the_slopes_of_the_map(name):
    module = to_torch.module(fitted(name), kind="probs")
    s = torch.tensor([0.03, 0.2, 0.47, 0.61, 0.9], dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(module, (s,), eps=1e-7, atol=1e-5)


@pytest.mark.parametrize("name", ["temperature.vector", "vector.vector", "ms-odir.vector",
                                  "dir-odir.vector", "spline.keep", "spline.ovr"])  # fmt: skip
def test_gradients_of_vectors_are_right(name):
    module = to_torch.module(fitted(name))
    z = torch.tensor(predictions(rows=4, seed=8).values, requires_grad=True)
    assert torch.autograd.gradcheck(module, (z,), eps=1e-7, atol=1e-5)


@pytest.mark.parametrize(
    "name", ["spline.keep", "spline.free", "spline.top-1", "platt.ovr", "isotonic.keep"]
)
def test_gradients_stay_finite_where_scores_saturate(name):
    module = to_torch.module(fitted(name))
    z = torch.tensor([[1000.0, 0, 0, 0], [40.0, 0, 0, -1], [0, 0, 0, 0]], requires_grad=True)
    result = module(z)
    (result if result.ndim == 1 else result[:, 0]).sum().backward()
    assert torch.isfinite(z.grad).all()


@pytest.mark.parametrize("name", ["spline.keep", "paper-spline.keep", "isotonic.keep"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_vectors_that_keep_the_decision_keep_it_here_too(name, dtype):
    z = torch.tensor(predictions(rows=3000, seed=9).values, dtype=dtype)
    q = to_torch.module(fitted(name))(z)
    assert torch.equal(q.argmax(1), z.argmax(1))
    assert torch.allclose(q.sum(1), torch.ones(3000, dtype=q.dtype), atol=1e-12)


def test_the_file_needs_torch_alone_and_takes_any_batch():
    gamma = fitted("spline.keep")
    program = torch.export.load(io.BytesIO(to_torch.write(gamma))).module()
    for rows in (1, 2, 7, 1000):
        z = predictions(rows=rows, seed=rows).values.astype(np.float32)
        wanted = expected(gamma, z, "logits", from_scores=False)
        np.testing.assert_allclose(program(torch.tensor(z)).numpy(), wanted, atol=2e-6)


def test_a_map_of_a_view_takes_any_number_of_classes():
    gamma = fitted("spline.top-2")
    program = torch.export.load(io.BytesIO(to_torch.write(gamma))).module()
    for K in (2, 3, 10):
        z = predictions(rows=50, K=K).values.astype(np.float32)
        wanted = expected(gamma, z, "logits", from_scores=False)
        np.testing.assert_allclose(program(torch.tensor(z)).numpy(), wanted, atol=2e-6)


def test_it_sits_behind_a_classifier_and_stays_double():
    gamma = fitted("spline.keep")
    net = torch.nn.Sequential(torch.nn.Linear(5, 4), to_torch.module(gamma))
    net = copy.deepcopy(net).to(torch.float32).eval()  # a usual cast leaves the tables alone
    x = torch.randn(6, 5)
    q = net(x)
    assert q.dtype == torch.float64
    logits = net[0](x).detach().numpy()
    wanted = expected(gamma, logits, "logits", from_scores=False)
    np.testing.assert_allclose(q.detach().numpy(), wanted, atol=1e-12)
    exported = torch.export.export(net, (x,))
    np.testing.assert_allclose(exported.module()(x).detach().numpy(), wanted, atol=1e-9)
