"""Convolution, transposed convolution, unfold and fold as differentiable operations."""

import numpy as np
import pytest
import windows
from windows import LOPSIDED, Geometry, whole

import gpugrad as gg
from gpugrad.autograd import ops
from gpugrad.autograd.gradcheck import gradcheck, gradgradcheck
from gpugrad.program import on_launch


def tensors(rng, *shapes, dtype=np.float64):
    return [gg.tensor(rng.standard_normal(s).astype(dtype), requires_grad=True) for s in shapes]


CONVOLUTIONS = {
    "plain": ((2, 2, 4, 3), (3, 2, 3, 2), {}),
    "strided, padded, dilated": ((1, 2, 4, 5), (2, 2, 3, 2), {"stride": (2, 3), "padding": (1, 2), "dilation": (2, 3)}),
    "groups": ((1, 4, 2, 3), (2, 2, 2, 3), {"padding": (0, 1), "groups": 2}),
    "depthwise": ((1, 2, 4, 3), (4, 1, 3, 3), {"stride": 2, "padding": 1, "groups": 2}),
    "1 x 1": ((2, 3, 2, 1), (2, 3, 1, 1), {}),
    "same, even kernel": ((1, 1, 3, 4), (2, 1, 2, 4), {"padding": "same", "dilation": (1, 3)}),
    "valid": ((1, 1, 4, 5), (2, 1, 3, 4), {"padding": "valid"}),
    "more padding than kernel": ((1, 1, 2, 1), (2, 1, 2, 2), {"padding": (2, 3)}),
    "no batch": ((2, 4, 3), (2, 2, 3, 2), {"padding": 1}),
}

TRANSPOSED = {
    "plain": ((2, 2, 3, 2), (2, 2, 3, 2), {}),
    "strided, padded, dilated": (
        (1, 2, 2, 3), (2, 1, 3, 2), {"stride": (2, 3), "padding": (1, 2), "dilation": (2, 3), "output_padding": (1, 2)},
    ),
    "groups": ((1, 4, 1, 2), (4, 2, 2, 3), {"stride": 2, "groups": 2}),
    "output padding beyond the stride": ((1, 1, 2, 3), (1, 2, 2, 2), {"dilation": 3, "output_padding": (2, 1)}),
    "no batch": ((2, 3, 2), (2, 1, 3, 2), {"stride": 2, "padding": 1, "output_padding": 1}),
}  # fmt: skip


@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_conv2d_gradients(device, rng, name):
    shape, weight, options = CONVOLUTIONS[name]
    operands = tensors(rng, shape, weight, weight[:1])
    assert gradcheck(lambda x, w, b: ops.conv2d(x, w, b, **options), operands)
    assert gradgradcheck(lambda x, w, b: ops.conv2d(x, w, b, **options), operands)


@pytest.mark.parametrize("name", TRANSPOSED)
def test_conv_transpose2d_gradients(device, rng, name):
    shape, weight, options = TRANSPOSED[name]
    operands = tensors(rng, shape, weight, (weight[1] * options.get("groups", 1),))
    assert gradcheck(lambda x, w, b: ops.conv_transpose2d(x, w, b, **options), operands)
    assert gradgradcheck(lambda x, w, b: ops.conv_transpose2d(x, w, b, **options), operands)


@pytest.mark.parametrize("shape", [(1, 2, 4, 5), (1, 4, 5)])
def test_unfold_and_fold_gradients(device, rng, shape):
    window = {"kernel_size": (3, 2), "dilation": (2, 1), "padding": (1, 2), "stride": (1, 3)}
    (x,) = tensors(rng, shape)
    assert gradcheck(lambda x: ops.unfold(x, **window), x)
    assert gradgradcheck(lambda x: ops.unfold(x, **window), x)
    (col,) = tensors(rng, ops.unfold(x, **window).shape)
    assert gradcheck(lambda col: ops.fold(col, (4, 5), **window), col)
    assert gradgradcheck(lambda col: ops.fold(col, (4, 5), **window), col)


def test_third_derivatives(device, rng):
    """Each gradient is made of operations that have gradients, without end."""
    x, w = tensors(rng, (1, 1, 4, 4), (1, 1, 2, 2))

    def second(x, w):
        (first,) = gg.grad((ops.conv2d(x, w) ** 3).sum(), w, create_graph=True)
        return gg.grad((first**2).sum(), x, create_graph=True)[0]

    assert gradcheck(second, (x, w))


# Values, against the definition


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_conv2d_is_the_definition(device, rng, dtype):
    x, w, b = whole(rng, 2, 4, *LOPSIDED.size), whole(rng, 6, 2, *LOPSIDED.kernel), whole(rng, 6)
    got = ops.conv2d(
        *(gg.tensor(a.astype(dtype)) for a in (x, w, b)), LOPSIDED.stride, LOPSIDED.padding, LOPSIDED.dilation, 2
    )
    assert got.dtype == dtype
    np.testing.assert_array_equal(got.numpy(), windows.conv2d(x, w, LOPSIDED, 2) + b[:, None, None])


def test_conv_transpose2d_spreads_each_element_over_a_window(device, rng):
    g = Geometry((9, 8), (3, 2), (2, 3), (1, 0))  # of the convolution whose adjoint it is
    x, w, b = whole(rng, 2, 4, *g.output), whole(rng, 4, 3, *g.kernel), whole(rng, 6)
    extra = tuple((n + 2 * p - k) % s for n, k, s, p in zip(g.size, g.kernel, g.stride, g.padding))
    got = ops.conv_transpose2d(*map(gg.tensor, (x, w, b)), g.stride, g.padding, extra, groups=2)
    expected = windows.conv2d_backward_input((2, 6, *g.size), w, x, g, 2) + b[:, None, None]
    np.testing.assert_array_equal(got.numpy(), expected)


def test_unfold_and_fold_take_pytorchs_order_of_arguments(device, rng):
    g = LOPSIDED
    x = whole(rng, 2, 3, *g.size)
    col = ops.unfold(gg.tensor(x), g.kernel, g.dilation, g.padding, g.stride)
    np.testing.assert_array_equal(col.numpy(), windows.im2col(x, g))
    back = ops.fold(col, g.size, g.kernel, g.dilation, g.padding, g.stride)
    np.testing.assert_array_equal(back.numpy(), windows.col2im(windows.im2col(x, g), g))


def test_same_padding_keeps_the_size(device):
    for kernel in ((1, 2), (4, 5), (3, 6)):
        for dilation in (1, 2, 3):
            y = ops.conv2d(gg.zeros(1, 1, 11, 12), gg.zeros(1, 1, *kernel), padding="same", dilation=dilation)
            assert y.shape == (1, 1, 11, 12)


def test_a_batch_of_none_has_zero_gradients(device):
    x, w, b = (gg.zeros(*s, requires_grad=True) for s in ((0, 3, 5, 5), (4, 3, 3, 3), (4,)))
    y = ops.conv2d(x, w, b)
    assert y.shape == (0, 4, 3, 3)
    y.sum().backward()
    assert x.grad.shape == x.shape and not w.grad.numpy().any() and not b.grad.numpy().any()
    t = ops.conv_transpose2d(x, gg.zeros(3, 2, 3, 3))
    assert t.shape == (0, 2, 7, 7)


# What runs, and what is kept


def launches(run):
    names = []
    handle = on_launch(lambda launch: names.append(launch.kernel.name))
    try:
        run()
    finally:
        handle.remove()
    return names


def test_gradients_nobody_needs_are_not_computed(device, rng):
    x, w, b = tensors(rng, (2, 3, 8, 8), (4, 3, 3, 3), (4,), dtype=np.float32)
    y = ops.conv2d(x, w, b)
    for_all = launches(lambda: gg.grad(y.sum(), (x, w, b), retain_graph=True))
    for_two = launches(lambda: gg.grad(y.sum(), (w, b), retain_graph=True))
    for_one = launches(lambda: gg.grad(y.sum(), b, retain_graph=True))
    assert len(for_all) > len(for_two) > len(for_one)
    first_layer = ops.conv2d(x.detach(), w, b)
    assert launches(lambda: gg.grad(first_layer.sum(), (w, b))) == for_two


def test_only_operands_of_wanted_gradients_are_kept(device, rng):
    x, w = tensors(rng, (2, 3, 8, 8), (4, 3, 3, 3), dtype=np.float32)
    kept = [t is not None for t in ops.conv2d(x.detach(), w).grad_fn.saved_tensors]
    assert kept == [True, False]  # x for the weight's gradient; w would be for x's
    kept = [t is not None for t in ops.conv2d(x, w.detach()).grad_fn.saved_tensors]
    assert kept == [False, True]


def test_double_backward_costs_the_first_nothing(device, rng):
    x, w, b = tensors(rng, (2, 3, 8, 8), (4, 3, 3, 3), (4,), dtype=np.float32)
    plain = launches(lambda: gg.grad(ops.conv2d(x, w, b).sum(), (x, w, b)))
    again = launches(lambda: gg.grad(ops.conv2d(x, w, b).sum(), (x, w, b), create_graph=True))
    assert plain == again


# Against PyTorch


def compare(name, ours, theirs, operands):
    torch = pytest.importorskip("torch", reason="PyTorch is what this test compares with")
    mine = [gg.tensor(a, requires_grad=True) for a in operands]
    other = [torch.tensor(a, requires_grad=True) for a in operands]
    y, z = ours(*mine), theirs(torch.nn.functional)(*other)
    np.testing.assert_allclose(y.detach().numpy(), z.detach().numpy(), rtol=1e-12, atol=1e-12, err_msg=name)
    (y * y).sum().backward()
    (z * z).sum().backward()
    for a, b in zip(mine, other):
        np.testing.assert_allclose(a.grad.numpy(), b.grad.numpy(), rtol=1e-11, atol=1e-11, err_msg=name)


@pytest.mark.filterwarnings("ignore:Using padding='same'")
@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_conv2d_like_pytorch(device, rng, name):
    shape, weight, options = CONVOLUTIONS[name]
    operands = [rng.standard_normal(s) for s in (shape, weight, weight[:1])]
    compare(name, lambda *a: ops.conv2d(*a, **options), lambda F: lambda *a: F.conv2d(*a, **options), operands)


@pytest.mark.parametrize("name", TRANSPOSED)
def test_conv_transpose2d_like_pytorch(device, rng, name):
    shape, weight, options = TRANSPOSED[name]
    operands = [rng.standard_normal(s) for s in (shape, weight, (weight[1] * options.get("groups", 1),))]
    compare(
        name,
        lambda *a: ops.conv_transpose2d(*a, **options),
        lambda F: lambda *a: F.conv_transpose2d(*a, **options),
        operands,
    )


@pytest.mark.parametrize("shape", [(2, 3, 7, 8), (3, 7, 8)])
def test_unfold_and_fold_like_pytorch(device, rng, shape):
    args = ((3, 2), (2, 1), (1, 2), (1, 3))
    x = rng.standard_normal(shape)
    compare("unfold", lambda a: ops.unfold(a, *args), lambda F: lambda a: F.unfold(a, *args), [x])
    col = rng.standard_normal(ops.unfold(gg.tensor(x), *args).shape)
    compare("fold", lambda a: ops.fold(a, (7, 8), *args), lambda F: lambda a: F.fold(a, (7, 8), *args), [col])


# Wrong arguments


def test_wrong_arguments_are_refused_in_a_sentence(device):
    x, w, b = gg.zeros(2, 4, 6, 5), gg.zeros(8, 4, 3, 3), gg.zeros(8)
    with pytest.raises(ValueError, match=r"conv2d: weight has 3 input channels, but input has 4 channels in 1 group; "
                                         r"weight must be \(C_out, 4, KH, KW\)"):  # fmt: skip
        ops.conv2d(x, gg.zeros(8, 3, 3, 3))
    with pytest.raises(ValueError, match=r"conv2d: input has shape \(5,\); it must have 4 axes"):
        ops.conv2d(gg.zeros(5), w)
    with pytest.raises(ValueError, match="conv2d: padding is 'reflect'; it must be a number, a pair, 'same'"):
        ops.conv2d(x, w, padding="reflect")
    with pytest.raises(ValueError, match=r"conv2d: padding='same' needs stride 1, got \(2, 2\)"):
        ops.conv2d(x, w, stride=2, padding="same")
    with pytest.raises(TypeError, match="conv2d: weight is ndarray; it must be a tensor"):
        ops.conv2d(x, np.zeros((8, 4, 3, 3), np.float32))
    with pytest.raises(TypeError, match="conv2d: weight is NoneType; it must be a tensor"):
        ops.conv2d(x, None)
    with pytest.raises(TypeError, match="conv2d: weight is float64, input is float32"):
        ops.conv2d(x, gg.zeros(8, 4, 3, 3, dtype=gg.float64))
    with pytest.raises(TypeError, match="conv2d: input is int32; it must be floating point"):
        ops.conv2d(gg.zeros(2, 4, 6, 5, dtype=gg.int32), gg.zeros(8, 4, 3, 3, dtype=gg.int32))
    with pytest.raises(ValueError, match=r"bias has shape \(4,\); with weight \(8, 4, 3, 3\) it must be \(8,\)"):
        ops.conv2d(x, w, gg.zeros(4))
    with pytest.raises(ValueError, match="conv2d: an input of 6 x 5"):
        ops.conv2d(x, gg.zeros(8, 4, 7, 7))
    assert ops.conv2d(x, w, b).shape == (2, 8, 4, 3)


def test_wrong_arguments_of_the_transpose(device):
    x, w = gg.zeros(2, 4, 6, 5), gg.zeros(4, 3, 3, 3)
    with pytest.raises(ValueError, match=r"weight has shape \(3, 4, 3, 3\), but input has 4 channels"):
        ops.conv_transpose2d(x, gg.zeros(3, 4, 3, 3))
    with pytest.raises(ValueError, match="conv_transpose2d: input has 4 channels, which 3 groups do not divide"):
        ops.conv_transpose2d(x, w, groups=3)
    with pytest.raises(ValueError, match=r"bias has shape \(3,\); with weight .* in 2 groups it must be \(6,\)"):
        ops.conv_transpose2d(x, w, gg.zeros(3), groups=2)
    with pytest.raises(ValueError, match=r"output_padding is \(1, 1\); it must be smaller than stride \(1, 1\)"):
        ops.conv_transpose2d(x, w, output_padding=1)
    with pytest.raises(ValueError, match="conv_transpose2d: the result would be 0 x -1; use less padding"):
        ops.conv_transpose2d(x, w, padding=4)
    with pytest.raises(TypeError, match="conv_transpose2d: padding is 'same'; it must be an integer"):
        ops.conv_transpose2d(x, w, padding="same")


def test_wrong_arguments_of_unfold_and_fold(device):
    with pytest.raises(ValueError, match="unfold: an input of 6 x 5"):
        ops.unfold(gg.zeros(2, 4, 6, 5), 7)
    with pytest.raises(ValueError, match=r"unfold: input has shape \(5, 5\); it must have 4 axes"):
        ops.unfold(gg.zeros(5, 5), 2)
    with pytest.raises(ValueError, match="fold: col has 9 rows; a kernel of 2 x 2 needs a multiple of 4"):
        ops.fold(gg.zeros(1, 9, 4), (3, 3), 2)
    with pytest.raises(ValueError, match="fold: col has 5 columns; an output of 3 x 3 has 2 x 2 = 4 windows"):
        ops.fold(gg.zeros(1, 8, 5), (3, 3), 2)
    with pytest.raises(ValueError, match=r"fold: input has shape \(4,\); it must have 3 axes"):
        ops.fold(gg.zeros(4), (3, 3), 2)
    with pytest.raises(TypeError, match="fold: input is list; it must be a tensor"):
        ops.fold([1], (3, 3), 2)
