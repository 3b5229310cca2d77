"""Tensors of other shapes, orders and repetitions: values and both derivatives against NumPy; who shares memory."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from samples import DTYPES, Launches, check_linear, examples, same, sample, shapes

import gpugrad as gg
from gpugrad import kernels as K
from gpugrad.autograd import ops

CASES = {
    "reshape": (lambda x: x.reshape(4, -1), lambda x: x.reshape(4, -1), (2, 3, 2, 2)),
    "view": (lambda x: x.view((6, 4)), lambda x: x.reshape(6, 4), (2, 3, 4)),
    "flatten": (lambda x: x.flatten(1), lambda x: x.reshape(2, 12), (2, 3, 4)),
    "squeeze": (lambda x: x.squeeze(), np.squeeze, (1, 3, 1, 4)),
    "unsqueeze": (lambda x: x.unsqueeze(-1), lambda x: x[..., None], (2, 3)),
    "permute": (lambda x: x.permute(2, 0, 1), lambda x: x.transpose(2, 0, 1), (2, 3, 4)),
    "permute of 5 axes": (
        lambda x: x.permute(4, 3, 2, 1, 0),
        lambda x: x.transpose(4, 3, 2, 1, 0),
        (2, 3, 2, 3, 2),
    ),
    "transpose": (lambda x: x.transpose(0, -1), lambda x: np.swapaxes(x, 0, -1), (2, 3, 4)),
    "T": (lambda x: x.T, lambda x: x.T, (5, 3)),
    "T of 3 axes": (lambda x: x.T, lambda x: x.T, (2, 3, 4)),
    "expand": (lambda x: x.expand(2, -1, 4, 5), lambda x: np.broadcast_to(x, (2, 3, 4, 5)), (3, 1, 5)),
    "expand of a number": (lambda x: x.expand(2, 3), lambda x: np.broadcast_to(x, (2, 3)), ()),
    "flip": (lambda x: x.flip(0, 2), lambda x: np.flip(x, (0, 2)), (2, 3, 4)),
}


@pytest.mark.parametrize("name", CASES)
def test_value_gradient_and_second_gradient(device, name):
    op, reference, shape = CASES[name]
    check_linear(op, reference, shape)


@pytest.mark.parametrize("name", CASES)
def test_gradcheck_and_gradgradcheck(device, name):
    op, _, shape = CASES[name]
    x = gg.tensor(sample(shape, np.float64), requires_grad=True)
    assert gg.gradcheck(op, (x,))
    assert gg.gradgradcheck(op, (x,))


@pytest.mark.parametrize("dim", [0, 1, -1])
def test_cat_value_gradient_and_second_gradient(device, dim):
    shapes = [(2, 3, 4)] * 3
    check_linear(lambda *t: ops.cat(t, dim), lambda *a: np.concatenate(a, dim), *shapes)


def test_cat_of_different_sizes(device):
    check_linear(lambda *t: ops.cat(t, 1), lambda *a: np.concatenate(a, 1), (2, 3), (2, 0), (2, 5))


@pytest.mark.parametrize("dim", [0, 1, 2, -1, -3])
def test_stack_value_gradient_and_second_gradient(device, dim):
    check_linear(lambda *t: ops.stack(t, dim), lambda *a: np.stack(a, dim), (2, 3), (2, 3))


@pytest.mark.parametrize("join", [ops.cat, ops.stack])
def test_joining_passes_gradcheck(device, join):
    tensors = [gg.tensor(sample((2, 3), np.float64, seed), requires_grad=True) for seed in range(3)]
    assert gg.gradcheck(lambda *t: join(t, 1), tensors)
    assert gg.gradgradcheck(lambda *t: join(t, 1), tensors)


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype_moves(device, dtype):
    x = sample((2, 3, 4), dtype)
    t = gg.tensor(x)
    same(t.permute(2, 0, 1), x.transpose(2, 0, 1))
    same(t.reshape(-1), x.reshape(-1))
    same(t[:, :1].expand(2, 3, 4), np.broadcast_to(x[:, :1], (2, 3, 4)))
    same(ops.cat([t, t]), np.concatenate([x, x]))


@examples
@given(shape=shapes(0, 6), data=st.data())
def test_a_zero_size_moves_like_any_other(device, shape, data):
    dims = data.draw(st.permutations(range(len(shape))))
    x = gg.tensor(sample(shape), requires_grad=True)
    y = x.permute(dims)
    assert y.shape == tuple(shape[d] for d in dims)
    y.sum().backward()
    same(x.grad, np.ones(shape, np.float32))


# Memory


@pytest.mark.parametrize("name", ["reshape", "view", "flatten", "squeeze", "unsqueeze"])
def test_it_shares_memory_and_launches_nothing(device, name):
    op, _, shape = CASES[name]
    x = gg.tensor(sample(shape), requires_grad=True)
    with Launches() as launches:
        y = op(x)
        gg.grad(y, x, gg.tensor(y.detach().numpy()))
    assert y.array.block is x.array.block and not launches


@pytest.mark.parametrize("name", ["permute", "transpose", "T", "expand", "flip"])
def test_it_copies_in_one_launch(device, name):
    op, _, shape = CASES[name]
    x = gg.tensor(sample(shape))
    with Launches() as launches:
        y = op(x)
    assert y.array.block is not x.array.block and len(launches) == 1


def test_a_change_shows_in_every_look_at_the_memory(device):
    x = gg.zeros(2, 3)
    y = x.reshape(3, 2).unsqueeze(0)
    x[1, 0] = 5
    same(y, np.array([[[0, 0], [0, 5], [0, 0]]], np.float32))


@pytest.mark.parametrize("name", ["permute", "transpose", "T", "expand"])
def test_a_change_in_place_of_a_copy_is_refused_with_the_remedy(device, name):
    op, _, shape = CASES[name]
    y = op(gg.tensor(sample(shape)))
    for z in (y, y.reshape(-1), y.flatten().unsqueeze(0)):
        with pytest.raises(gg.AutogradError, match=rf"came from {name}, which copies .*x\[i\] = v.*\.clone\(\)"):
            z[0] = 1
    z = y.clone()
    z[...] = 1
    same(z, np.ones(y.shape, np.float32))


def test_flip_gives_a_tensor_of_its_own_as_in_pytorch(device):
    y = gg.tensor(sample((3,))).flip(0)
    y[0] = 7
    assert y[0].item() == 7


def test_a_gradient_that_a_permutation_gave_can_be_changed(device):
    x = gg.tensor(sample((2, 3)), requires_grad=True)
    for _ in range(2):
        (x.T * gg.tensor(sample((3, 2)))).sum().backward()
    x.grad[0] = 0
    same(x.grad, np.concatenate([np.zeros((1, 3), np.float32), 2 * sample((3, 2)).T[1:]]))


# Kinds of arguments, as in PyTorch


def test_sizes_come_one_by_one_or_as_a_sequence(device):
    x = gg.tensor(sample((2, 3)))
    for y in (x.reshape(3, 2), x.reshape((3, 2)), x.reshape([3, 2]), x.view(3, -1), x.reshape(np.int64(3), 2)):
        same(y, sample((2, 3)).reshape(3, 2))
    same(x.reshape(-1), sample((2, 3)).reshape(-1))
    same(x.permute((1, 0)), sample((2, 3)).T)
    same(x[:1].expand((4, 3)), np.broadcast_to(sample((2, 3))[:1], (4, 3)))


def test_squeeze_takes_out_only_axes_of_one(device):
    x = gg.zeros(1, 2, 1, 3, 1)
    assert x.squeeze().shape == (2, 3)
    assert x.squeeze(0).shape == (2, 1, 3, 1)
    assert x.squeeze(1).shape == (1, 2, 1, 3, 1)
    assert x.squeeze((0, -1)).shape == (2, 1, 3)
    assert x.squeeze(()).shape == (1, 2, 1, 3, 1)


def test_flatten_of_a_number_and_of_some_axes(device):
    assert gg.tensor(1.0).flatten().shape == (1,)
    x = gg.zeros(2, 3, 4, 5)
    assert x.flatten().shape == (120,)
    assert x.flatten(1, 2).shape == (2, 12, 5)
    assert x.flatten(-2).shape == (2, 3, 20)
    assert gg.zeros(0, 3).flatten().shape == (0,)


def test_joining_promotes_and_passes_each_its_own_type_of_gradient(device):
    a = gg.tensor(sample((2,), np.float64), requires_grad=True)
    b = gg.tensor(sample((3,), np.float32), requires_grad=True)
    c = gg.tensor(sample((1,), np.int32))
    y = ops.cat([a, b, c])
    assert y.dtype == gg.float64
    y.sum().backward()
    assert a.grad.dtype == gg.float64 and b.grad.dtype == gg.float32 and c.grad is None


def test_cat_leaves_out_the_empty_tensor_that_collecting_starts_with(device):
    assert ops.cat([gg.zeros(0), gg.zeros(2, 3)]).shape == (2, 3)


def test_only_wanted_gradients_are_computed(device):
    x, y = gg.tensor(sample((2, 3)), requires_grad=True), gg.tensor(sample((2, 3)))
    z = ops.cat([x, y])
    g = gg.tensor(sample((4, 3)))
    with Launches() as launches:
        gg.grad(z, x, g)
    assert len(launches) == 1


@pytest.mark.parametrize(
    "call, error, message",
    [
        (lambda x: x.reshape(4, 2), ValueError, r"reshape: \(2, 3\) has 6 elements and \(4, 2\) has 8"),
        (lambda x: x.reshape(-1, -1), ValueError, "one size may be -1"),
        (lambda x: x.reshape(-1, 4), ValueError, "no -1 makes"),
        (lambda x: x.reshape(-2, 3), ValueError, "one size may be -1"),
        (lambda x: x.reshape(2.0, 3), TypeError, "sizes are integers"),
        (lambda x: x.view("6"), TypeError, "sizes are integers"),
        (lambda x: x.view(7), ValueError, "view: "),
        (lambda x: x.flatten(1, 0), ValueError, "flatten: start_dim is 1, which comes after end_dim 0"),
        (lambda x: x.flatten(2), IndexError, "flatten: dim is 2"),
        (lambda x: x.squeeze(2), IndexError, "squeeze: dim is 2"),
        (lambda x: x.unsqueeze(3), IndexError, "unsqueeze: dim is 3"),
        (lambda x: x.unsqueeze(0.5), TypeError, "unsqueeze: dim is 0.5"),
        (lambda x: x.permute(0), ValueError, "permute: dims is .* each of the 2 axes once"),
        (lambda x: x.transpose(0, 2), IndexError, "transpose: dim is 2"),
        (lambda x: x.expand(3, 3), ValueError, "expand: .* cannot be repeated"),
        (lambda x: x.flip(0, 0), ValueError, "names an axis twice"),
        (lambda x: ops.cat(x), TypeError, "cat: tensors is Tensor; give a list"),
        (lambda x: ops.cat([]), ValueError, "cat: tensors is empty"),
        (lambda x: ops.cat([x.sum(), x.sum()]), ValueError, r"cat: the arrays are 0-d; .* Use stack"),
        (lambda x: ops.cat([x, 1]), TypeError, r"cat: tensors\[1\] is int"),
        (lambda x: ops.cat([x, x.flatten()]), ValueError, "cat: arrays 0 and 1 have shapes"),
        (lambda x: ops.stack([x, x.T]), ValueError, "stack: arrays 0 and 1 have shapes"),
        (lambda x: ops.reshape(1, (1,)), TypeError, "reshape: input is int; it must be a tensor"),
    ],
)
def test_what_is_refused(device, call, error, message):
    with pytest.raises(error, match=message):
        call(gg.zeros(2, 3))


def test_tensors_of_other_devices_do_not_mix():
    listed = gg.devices()
    if len(listed) < 2:
        pytest.skip("needs two devices")
    a, b = (gg.zeros(2, device=d) for d in listed[:2])
    with pytest.raises(ValueError, match="put both on one"):
        ops.cat([a, b])


def test_parity_with_pytorch(device, rng):
    torch = pytest.importorskip("torch", reason="PyTorch is what results are compared with")
    x = rng.standard_normal((2, 3, 1, 4)).astype(np.float32)
    chain = [
        lambda t: t.permute(3, 0, 2, 1).reshape(4, -1).flip(1),
        lambda t: t.expand(2, 3, 5, 4).flatten(1, 2).transpose(1, 2),
        lambda t: t.squeeze(2).unsqueeze(0).squeeze().view(6, 4),
    ]
    for f in chain:
        ours, theirs = gg.tensor(x, requires_grad=True), torch.tensor(x, requires_grad=True)
        a, b = f(ours), f(theirs)
        same(a.detach(), b.detach().numpy())
        w = rng.standard_normal(a.shape).astype(np.float32)
        (a * gg.tensor(w)).sum().backward()
        (b * torch.tensor(w)).sum().backward()
        # expand sums 5 numbers; 5 roundings of sums below 10
        np.testing.assert_allclose(ours.grad.numpy(), theirs.grad.numpy(), rtol=0, atol=5 * 10 * 2**-24)


def test_the_family_of_a_permutation_can_be_swapped_under_a_tensor(device):
    x = gg.tensor(sample((5, 3)))
    with K.use_kernels(transpose="tiled"), Launches() as launches:
        same(x.T, sample((5, 3)).T)
    assert [launch.kernel.name for launch in launches] == ["transpose_tiled"]


def test_the_size_of_an_axis_that_is_not_there_is_told_in_a_sentence(device):
    x = ops.zeros(2, 3)
    assert (x.size(0), x.size(-1)) == (2, 3)
    with pytest.raises(IndexError, match="size: dim is 2; an input of 2 dimensions has dim -2 to 1"):
        x.size(2)
    with pytest.raises(IndexError, match="size: dim is 0, and the tensor is 0-d; it has no axes"):
        ops.zeros().size(0)
    with pytest.raises(TypeError, match=r"size: dim is 1\.0; it must be an integer"):
        x.size(1.0)
