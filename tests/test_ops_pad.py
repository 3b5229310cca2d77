"""Padding tensors: values and both derivatives against NumPy."""

import numpy as np
import pytest
from samples import Launches, check_linear, same, sample

import gpugrad as gg
from gpugrad.autograd import ops

PADS = {
    "nothing": (),
    "the last axis": (1, 2),
    "two axes": (0, 3, 2, 1),
    "all axes": (1, 1, 2, 0, 0, 2),
    "a cut": (-1, -2),
    "both": (2, -1, -1, 3),
}


def padded(x, pad, value=0.0):
    """np.pad for what is put on, a slice for what is cut off."""
    pairs = [(0, 0)] * (x.ndim - len(pad) // 2) + [(pad[i], pad[i + 1]) for i in range(0, len(pad), 2)][::-1]
    cut = tuple(slice(max(0, -b), n - max(0, -a)) for n, (b, a) in zip(x.shape, pairs))
    return np.pad(x[cut], [(max(0, b), max(0, a)) for b, a in pairs], constant_values=value)


@pytest.mark.parametrize("value", [0, -2.5])
@pytest.mark.parametrize("name", PADS)
def test_value_gradient_and_second_gradient(device, name, value):
    pad = PADS[name]
    check_linear(lambda x: ops.pad(x, pad, value=value), lambda x: padded(x, pad, value), (2, 3, 5))


@pytest.mark.parametrize("name", PADS)
def test_gradcheck_and_gradgradcheck(device, name):
    x = gg.tensor(sample((2, 3, 5), np.float64), requires_grad=True)
    assert gg.gradcheck(lambda x: ops.pad(x, PADS[name], value=1.5), (x,))
    assert gg.gradgradcheck(lambda x: ops.pad(x, PADS[name], value=1.5), (x,))


def test_padding_and_its_gradient_are_one_launch_each(device):
    x = gg.tensor(sample((2, 3, 5, 5)), requires_grad=True)
    with Launches() as launches:
        y = ops.pad(x, (1, 1, 2, 2))
    assert [launch.kernel.name for launch in launches] == ["pad"]
    with Launches() as launches:
        gg.grad(y, x, y.detach())
    assert [launch.kernel.name for launch in launches] == ["copy_region"]


def test_a_zero_size_batch(device):
    x = gg.tensor(sample((0, 3)), requires_grad=True)
    y = ops.pad(x, (1, 1))
    assert y.shape == (0, 5)
    y.sum().backward()
    assert x.grad.shape == (0, 3)


@pytest.mark.parametrize("mode", ["reflect", "replicate", "circular"])
def test_other_modes_are_refused_by_name(device, mode):
    with pytest.raises(ValueError, match=f"pad: mode is '{mode}'; gpugrad has 'constant'"):
        ops.pad(gg.zeros(3), (1, 1), mode)


def test_bad_arguments(device):
    with pytest.raises(TypeError, match="pad: input is list; it must be a tensor"):
        ops.pad([1.0], (1, 1))
    with pytest.raises(ValueError, match="pad has 3 numbers"):
        ops.pad(gg.zeros(3), (1, 1, 1))
    with pytest.raises(ValueError, match="takes 2 and 2 elements off"):
        ops.pad(gg.zeros(3), (-2, -2))


@pytest.mark.parametrize("pad", [(1, 2), (-1, 3), (2, -2, 0, 1), (1, 1, 1, 1, 1, 1), (-2, 0, -1, 0), (-5, 0)])
def test_parity_with_pytorch(device, rng, pad):
    torch = pytest.importorskip("torch", reason="PyTorch is what results are compared with")
    x = rng.standard_normal((2, 3, 5)).astype(np.float32)
    ours, theirs = gg.tensor(x, requires_grad=True), torch.tensor(x, requires_grad=True)
    a, b = ops.pad(ours, pad, value=3), torch.nn.functional.pad(theirs, pad, value=3)
    same(a.detach(), b.detach().numpy())
    w = rng.standard_normal(a.shape).astype(np.float32)
    (a * gg.tensor(w)).sum().backward()
    (b * torch.tensor(w)).sum().backward()
    same(ours.grad, theirs.grad.numpy())
