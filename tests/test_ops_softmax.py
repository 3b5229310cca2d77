"""softmax and log-softmax of tensors: values, first and second derivatives, PyTorch's word."""

import numpy as np
import pytest

import gpugrad as gg
from gpugrad.autograd import ops
from gpugrad.nn import functional as F

OPS = [ops.softmax, ops.log_softmax]


@pytest.mark.parametrize("dim", [0, 1, -1])
@pytest.mark.parametrize("op", OPS)
def test_gradcheck_and_gradgradcheck(device, rng, op, dim):
    x = gg.tensor(rng.standard_normal((2, 3, 2)), requires_grad=True)
    assert gg.gradcheck(lambda x: op(x, dim), (x,))
    assert gg.gradgradcheck(lambda x: op(x, dim), (x,))


@pytest.mark.parametrize("op", OPS)
def test_third_derivatives_too(device, rng, op):
    x = gg.tensor(rng.standard_normal((2, 3)), requires_grad=True)

    def gradient(x):
        (g,) = gg.grad((op(x, 1) ** 2).sum(), x, create_graph=True)
        return g

    assert gg.gradgradcheck(gradient, (x,))


def test_only_what_is_asked_for_is_computed(device, rng):
    """The gradient of a gradient with respect to the incoming one alone."""
    x = gg.tensor(rng.standard_normal((2, 3)), requires_grad=True)
    g = gg.tensor(rng.standard_normal((2, 3)), requires_grad=True)
    for op in OPS:
        (gx,) = gg.grad(op(x, 1), x, g, create_graph=True)
        v = gg.tensor(rng.standard_normal((2, 3)))
        (for_g,) = gg.grad(gx, g, v, retain_graph=True)
        # gx is linear in g: <v, J g> = <J' v, g>
        np.testing.assert_allclose((for_g * g).sum().item(), (gx * v).sum().item(), rtol=1e-12)


def test_softmax_adds_up_to_1_and_log_softmax_is_its_logarithm(device, rng):
    x = gg.tensor(rng.standard_normal((4, 6)))
    np.testing.assert_allclose(ops.softmax(x, 0).sum(0).numpy(), np.ones(6), rtol=1e-14)
    np.testing.assert_allclose(ops.log_softmax(x, 1).numpy(), np.log(ops.softmax(x, 1).numpy()), rtol=1e-13)


def test_a_number_is_a_line_of_one_and_a_batch_of_none_works(device):
    assert ops.softmax(gg.tensor(3.0), 0).item() == 1
    x = gg.zeros(0, 4, requires_grad=True)
    ops.softmax(x, 1).sum().backward()
    assert x.grad.shape == (0, 4)


def test_functional_has_them():
    assert F.softmax is ops.softmax and F.log_softmax is ops.log_softmax


BAD = [
    (lambda x: ops.softmax(x, 2), IndexError, "softmax: dim is 2; an input of 2 dimensions"),
    (lambda x: ops.log_softmax(x, (0, 1)), TypeError, r"log_softmax: dim is \(0, 1\); it must be an integer"),
    (lambda x: ops.softmax(x.to(gg.int32), 1), TypeError, "softmax: input is int32; it must be floating point"),
    (lambda x: ops.softmax(x.numpy(), 1), TypeError, "softmax: input is ndarray; it must be a tensor"),
]


@pytest.mark.parametrize(("call", "error", "message"), BAD)
def test_bad_arguments_are_told_in_a_sentence(device, call, error, message):
    with pytest.raises(error, match=message):
        call(gg.zeros(2, 3))


INF, NAN = np.inf, np.nan
LINES = [[1, 2, 3], [-INF] * 3, [-INF, 0, 1], [0, 1, -INF], [INF, 0, 1], [NAN, 0, 1], [1e4, -1e4, 0], [3e38, 1, 0]]


@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize("line", LINES, ids=str)
def test_agrees_with_pytorch_and_so_does_the_gradient(device, line, op):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    for variant in ("stable", "online", "lanes"):
        with gg.use_kernels(softmax=variant):
            x, g = np.array([line], np.float32), np.array([[1, -2, 0.5]], np.float32)
            ours, theirs = gg.tensor(x, requires_grad=True), torch.tensor(x, requires_grad=True)
            a, b = op(ours, 1), getattr(torch, op.__name__)(theirs, 1)
            a.backward(gg.tensor(g))
            b.backward(torch.tensor(g))
            np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=1e-6, atol=1e-30)
            np.testing.assert_allclose(ours.grad.numpy(), theirs.grad.numpy(), rtol=1e-5, atol=1e-6)
