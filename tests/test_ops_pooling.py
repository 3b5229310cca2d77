"""Pooling of tensors: values, first and second derivatives, PyTorch's word."""

import numpy as np
import pytest
from samples import Launches

import gpugrad as gg
from gpugrad.autograd import ops
from gpugrad.nn import functional as F

MAX = {
    "2 x 2": {"kernel_size": 2},
    "overlapping, padded": {"kernel_size": 3, "stride": 2, "padding": 1},
    "dilated, lopsided": {"kernel_size": (2, 3), "stride": (1, 2), "padding": (1, 0), "dilation": (2, 1)},
    "cut off at the end": {"kernel_size": 3, "stride": 3, "padding": 1, "ceil_mode": True},
}
AVG = {
    "2 x 2": {"kernel_size": 2},
    "overlapping, padded": {"kernel_size": 3, "stride": 2, "padding": 1},
    "padding not counted": {"kernel_size": (3, 2), "stride": 2, "padding": 1, "count_include_pad": False},
    "cut off at the end": {"kernel_size": 3, "stride": 2, "ceil_mode": True},
    "divided by 5": {"kernel_size": 2, "stride": 1, "divisor_override": 5},
}
CASES = [(ops.max_pool2d, o) for o in MAX.values()] + [(ops.avg_pool2d, o) for o in AVG.values()]
IDS = [f"max: {name}" for name in MAX] + [f"avg: {name}" for name in AVG]


def distinct(rng, shape):
    """Numbers no two of which are near each other: a difference of 1e-6 does not change which is the largest."""
    return rng.permutation(np.prod(shape)).reshape(shape) + rng.uniform(0, 0.5, shape)


@pytest.mark.parametrize(("pool", "options"), CASES, ids=IDS)
def test_gradcheck_and_gradgradcheck(device, rng, pool, options):
    x = gg.tensor(distinct(rng, (1, 1, 5, 6)), requires_grad=True)
    # Squared, so that the second derivative is not 0 throughout.
    for op in (lambda x: pool(x, **options), lambda x: pool(x * x / 10, **options)):
        assert gg.gradcheck(op, (x,))
        assert gg.gradgradcheck(op, (x,))


@pytest.mark.parametrize(("pool", "options"), CASES, ids=IDS)
def test_third_derivatives_too(device, rng, pool, options):
    x = gg.tensor(distinct(rng, (1, 4, 4)) / 8, requires_grad=True)

    def gradient(x):
        (g,) = gg.grad((pool(x, **options) ** 3).sum(), x, create_graph=True)
        return g

    assert gg.gradgradcheck(gradient, (x,))


def test_indices_are_integers_in_the_input_plane(device):
    x = gg.tensor([[[[1.0, 5.0, 5.0, 0.0], [2.0, 5.0, 6.0, 7.0]]]], requires_grad=True)
    values, indices = ops.max_pool2d(x, 2, return_indices=True)
    assert values.tolist() == [[[[5, 7]]]] and indices.tolist() == [[[[1, 7]]]]
    assert indices.dtype == gg.int32 and not indices.requires_grad
    values.sum().backward()
    assert x.grad.tolist() == [[[[0, 1, 0, 0], [0, 0, 0, 1]]]]


def test_an_element_that_wins_several_windows_gets_all_their_gradients(device):
    x = np.zeros((1, 1, 3, 3), np.float32)
    x[0, 0, 1, 1] = 1
    x = gg.tensor(x, requires_grad=True)
    (ops.max_pool2d(x, 2, 1) * gg.tensor([[1.0, 2.0], [3.0, 4.0]])).sum().backward()
    assert x.grad.numpy()[0, 0, 1, 1] == 10 and x.grad.numpy().sum() == 10


@pytest.mark.parametrize("pool", [ops.max_pool2d, ops.avg_pool2d])
def test_one_image_and_a_batch_of_none(device, rng, pool):
    x = gg.tensor(rng.standard_normal((3, 6, 6)), requires_grad=True)
    pool(x, 2).sum().backward()
    assert pool(x, 2).shape == (3, 3, 3) and x.grad.shape == (3, 6, 6)
    none = gg.zeros(0, 3, 6, 6, requires_grad=True)
    pool(none, 2).sum().backward()
    assert none.grad.shape == (0, 3, 6, 6)


def test_max_pooling_keeps_indices_only_and_average_pooling_nothing(device, rng):
    x = gg.tensor(rng.standard_normal((1, 1, 4, 4)), requires_grad=True)
    (indices,) = ops.max_pool2d(x, 2).grad_fn.saved_tensors
    assert indices.dtype == gg.int32 and ops.avg_pool2d(x, 2).grad_fn.saved_tensors == ()


def test_the_backward_of_a_maximum_is_one_launch(device, rng):
    """Its indices have no gradient, and nobody fills memory with zeros for one."""
    x = gg.tensor(rng.standard_normal((2, 3, 4, 4)), requires_grad=True)
    for y in (ops.max_pool2d(x, 2), x.max(1).values):
        g = gg.ones(*y.shape, dtype=y.dtype)
        with Launches() as launches:
            gg.grad(y, x, g)
        assert len(launches) == 1


def test_functional_has_them():
    assert F.max_pool2d is ops.max_pool2d and F.avg_pool2d is ops.avg_pool2d


BAD = [
    (
        lambda x: ops.max_pool2d(x[0, 0], 2),
        ValueError,
        r"max_pool2d: input has shape \(4, 4\); it must be \(N, C, H, W\)",
    ),
    (lambda x: ops.avg_pool2d(x.to(gg.int32), 2), TypeError, "avg_pool2d: input is int32; it must be floating point"),
    (lambda x: ops.max_pool2d(x.numpy(), 2), TypeError, "max_pool2d: input is ndarray; it must be a tensor"),
    (lambda x: ops.max_pool2d(x, 2, padding=2), ValueError, "at most half of kernel_size"),
    (lambda x: ops.avg_pool2d(x, 5), ValueError, "an input of 4 x 4 .* is smaller than the kernel"),
]


@pytest.mark.parametrize(("call", "error", "message"), BAD)
def test_bad_arguments_are_told_in_a_sentence(device, call, error, message):
    with pytest.raises(error, match=message):
        call(gg.zeros(1, 1, 4, 4))


@pytest.mark.parametrize("size", [(7, 9), (8, 8), (28, 28)], ids=str)
@pytest.mark.parametrize(("pool", "options"), CASES, ids=IDS)
def test_agrees_with_pytorch(device, rng, pool, options, size):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    theirs_of = getattr(torch.nn.functional, pool.__name__)
    x = rng.integers(-3, 4, (2, 3, *size)).astype(np.float32)  # with ties
    if pool is ops.max_pool2d:
        x[0, 0, 2, 3] = np.nan
    ours, theirs = gg.tensor(x, requires_grad=True), torch.tensor(x, requires_grad=True)
    a, b = pool(ours, **options), theirs_of(theirs, **options)
    np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=1e-6)
    g = rng.integers(-3, 4, a.shape).astype(np.float32)
    a.backward(gg.tensor(g))
    b.backward(torch.tensor(g))
    np.testing.assert_allclose(ours.grad.numpy(), theirs.grad.numpy(), atol=1e-6)
    if pool is ops.max_pool2d:
        indices = pool(ours, **options, return_indices=True)[1].numpy()
        np.testing.assert_array_equal(indices, theirs_of(theirs, **options, return_indices=True)[1].numpy())
