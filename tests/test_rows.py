"""The operations of the two sources that gpugrad grew from, one test for each; their mistakes are in test_traps.py.

The old OpenCL ops are those of a small autograd library with its kernels in strings; the convolution notes describe
a convolution through im2col, GEMM and col2im. References are NumPy in float64, and gradients are central differences
of those.
"""

import numpy as np
import pytest
from samples import Launches, same
from windows import Geometry, whole
from windows import conv2d as conv_reference
from windows import conv2d_backward_input as input_reference
from windows import conv2d_backward_weight as weight_reference

import gpugrad as gg
from gpugrad import kernels as K
from gpugrad.nn import functional as F

A = gg.Array.from_numpy
DTYPES = [np.float32, np.float64]


def slopes(reference, arrays, weights, step=1e-5):
    """The gradients of sum(reference(*arrays) * weights), by central differences."""
    gradients = [np.zeros_like(a) for a in arrays]
    for a, gradient in zip(arrays, gradients):
        for index in np.ndindex(a.shape):
            centre = a[index]
            a[index] = centre + step
            above = (reference(*arrays) * weights).sum()
            a[index] = centre - step
            gradient[index] = (above - (reference(*arrays) * weights).sum()) / (2 * step)
            a[index] = centre
    return gradients


def check(op, reference, *arrays):
    """`op` on tensors has the values of `reference` and the slopes of it, in both types."""
    arrays = [np.asarray(a, np.float64) for a in arrays]
    expected = np.asarray(reference(*arrays))
    weights = np.random.default_rng(3).uniform(0.5, 1.5, expected.shape)
    steep = slopes(reference, arrays, weights)
    for dtype in DTYPES:
        # float32: some 30 roundings of numbers of the result's size. float64: step^2 times a third derivative, and
        # the rounding of sums of some 100 divided by the step, both below 1e-8.
        tolerance = 2e-6 if dtype is np.float32 else 1e-7
        tensors = [gg.tensor(a.astype(dtype), requires_grad=True) for a in arrays]
        out = op(*tensors)
        assert out.shape == expected.shape and out.dtype == dtype
        scale = 1 + np.abs(expected).max(initial=0)
        np.testing.assert_allclose(out.detach().numpy(), expected, rtol=0, atol=tolerance * scale)
        (out * gg.tensor(weights.astype(dtype))).sum().backward()
        for t, gradient in zip(tensors, steep):
            assert t.grad.shape == gradient.shape
            scale = 1 + np.abs(gradient).max(initial=0)
            np.testing.assert_allclose(t.grad.numpy(), gradient, rtol=0, atol=tolerance * scale)


# The old OpenCL ops

SHAPES = [((3, 5), (3, 5)), ((2, 3, 5), (5,)), ((3, 1), (1, 5)), ((), (2, 3))]


@pytest.mark.parametrize("shapes", SHAPES)
def test_add(device, rng, shapes):
    check(lambda x, y: x + y, np.add, *(rng.standard_normal(s) for s in shapes))


@pytest.mark.parametrize("shapes", SHAPES)
def test_sub(device, rng, shapes):
    check(lambda x, y: x - y, np.subtract, *(rng.standard_normal(s) for s in shapes))


@pytest.mark.parametrize("shapes", SHAPES)
def test_mul(device, rng, shapes):
    check(lambda x, y: x * y, np.multiply, *(rng.standard_normal(s) for s in shapes))


@pytest.mark.parametrize("shapes", SHAPES)
def test_pow(device, rng, shapes):
    check(lambda x, y: x**y, np.power, *(rng.uniform(0.5, 2, s) for s in shapes))


def test_sum(device, rng):
    check(lambda x: x.sum(), np.sum, rng.standard_normal((3, 4, 5)))
    check(lambda x: x.sum(dim=1), lambda x: x.sum(1), rng.standard_normal((3, 4, 5)))


def test_dot_as_matmul(device, rng):
    check(lambda x, w: x @ w, np.matmul, rng.standard_normal((3, 5)), rng.standard_normal((5, 4)))


def test_dot_in_the_three_layouts_of_a_layer(device, rng):
    """Forward x @ w, dy @ w^T for x, x^T @ dy for w: as products of what is there, with nothing transposed first."""
    x, w, dy = (whole(rng, *shape).astype(np.float32) for shape in ((7, 5), (5, 3), (7, 3)))
    same(K.gemm(A(x), A(w)), x @ w)
    same(K.gemm(A(dy), A(w), transpose_b=True), dy @ w.T)
    same(K.gemm(A(x), A(dy), transpose_a=True), x.T @ dy)

    tx, tw = gg.tensor(x, requires_grad=True), gg.tensor(w, requires_grad=True)
    with Launches() as launches:
        (tx @ tw).backward(gg.tensor(dy))
    same(tx.grad, dy @ w.T)
    same(tw.grad, x.T @ dy)
    names = {launch.kernel.name for launch in launches}
    assert not [n for n in names if "transpose" in n or "copy" in n], names


def test_pad2d(device, rng):
    """Around the last two axes, by (left, right, top, bottom); the gradient is the middle."""
    check(
        lambda x: F.pad(x, (1, 2, 3, 0)),
        lambda x: np.pad(x, ((0, 0), (0, 0), (3, 0), (1, 2))),
        rng.standard_normal((2, 2, 3, 4)),
    )


def test_reshape_with_minus_one(device, rng):
    check(lambda x: x.reshape(4, -1), lambda x: x.reshape(4, 6), rng.standard_normal((2, 3, 4)))
    check(lambda x: x.reshape(-1), np.ravel, rng.standard_normal((2, 3, 4)))


def test_relu(device, rng):
    x = rng.standard_normal((5, 7))
    x[np.abs(x) < 0.01] = 0.5  # a difference across the corner at 0 is no slope
    check(F.relu, lambda x: np.maximum(x, 0), x)


def test_sigmoid(device, rng):
    check(F.sigmoid, lambda x: 1 / (1 + np.exp(-x)), 3 * rng.standard_normal((5, 7)))


def windows(x, size, stride):
    """(N, C, OH, OW, elements of the window)"""
    OH, OW = ((n - k) // s + 1 for n, k, s in zip(x.shape[2:], size, stride))
    out = np.zeros((*x.shape[:2], OH, OW, size[0] * size[1]))
    for oh, ow in np.ndindex(OH, OW):
        top, left = oh * stride[0], ow * stride[1]
        out[:, :, oh, ow] = x[:, :, top : top + size[0], left : left + size[1]].reshape(*x.shape[:2], -1)
    return out


@pytest.mark.parametrize("size, stride", [((2, 2), (2, 2)), ((3, 2), (1, 2)), ((2, 3), (3, 1))])
def test_avg_pool2d(device, rng, size, stride):
    check(
        lambda x: F.avg_pool2d(x, size, stride),
        lambda x: windows(x, size, stride).mean(-1),
        rng.standard_normal((2, 2, 5, 6)),
    )


@pytest.mark.parametrize("size, stride", [((2, 2), (2, 2)), ((3, 2), (1, 2)), ((2, 3), (3, 1))])
def test_max_pool2d(device, rng, size, stride):
    x = rng.permutation(120).reshape(2, 2, 5, 6) / 10  # no two alike: a tie has no slope
    check(lambda x: F.max_pool2d(x, size, stride), lambda x: windows(x, size, stride).max(-1), x)


@pytest.mark.parametrize("dim", [0, 1, -1])
def test_log_softmax(device, rng, dim):
    def reference(x):
        e = np.exp(x - x.max(dim, keepdims=True))
        return np.log(e / e.sum(dim, keepdims=True))

    check(lambda x: F.log_softmax(x, dim), reference, rng.standard_normal((3, 4, 5)))


@pytest.mark.parametrize("stride, groups", [((1, 1), 1), ((2, 1), 1), ((1, 1), 2), ((2, 3), 4)])
def test_conv2d_with_stride_and_groups(device, rng, stride, groups):
    g = Geometry((5, 6), (3, 2), stride, (0, 0), (1, 1))
    check(
        lambda x, w: F.conv2d(x, w, stride=stride, groups=groups),
        lambda x, w: conv_reference(x, w, g, groups),
        rng.standard_normal((2, 4, 5, 6)),
        rng.standard_normal((4, 4 // groups, 3, 2)),
    )


@pytest.mark.parametrize("op", [gg.add, gg.sub, gg.mul, gg.div, gg.pow, gg.maximum])
@pytest.mark.parametrize("shape", [(), (1,), (4,), (3, 1), (1, 4), (1, 1, 1), (2, 1, 4)])
def test_gradients_are_summed_where_their_operand_was_repeated(device, rng, op, shape):
    x = gg.tensor(rng.uniform(1, 2, (2, 3, 4)), requires_grad=True)
    y = gg.tensor(rng.uniform(1, 2, shape), requires_grad=True)
    full = gg.tensor(np.broadcast_to(y.detach().numpy(), (2, 3, 4)), requires_grad=True)
    w = gg.tensor(rng.standard_normal((2, 3, 4)))
    (op(x, y) * w).sum().backward()
    (op(x.detach(), full) * w).sum().backward()
    expected = full.grad.numpy()
    for axis in reversed(range(3)):
        size = ((1,) * (3 - len(shape)) + shape)[axis]
        expected = expected.sum(axis, keepdims=True) if size == 1 else expected
    # float64, sums of up to 24 numbers below 10
    np.testing.assert_allclose(y.grad.numpy(), expected.reshape(shape), rtol=0, atol=24 * 10 * 2**-52)
    assert x.grad.shape == (2, 3, 4)


def test_kernels_are_built_once(device, rng):
    def step(N):
        x = gg.tensor(rng.standard_normal((N, 2, 6, 6)), requires_grad=True)
        w = gg.tensor(rng.standard_normal((4, 2, 3, 3)), requires_grad=True)
        F.log_softmax(F.max_pool2d(F.relu(F.conv2d(x, w)), 2).flatten(1), 1).sum().backward()

    step(2)
    built, kernels = len(device.programs), dict(device.kernels)
    step(2)
    step(3)
    assert len(device.programs) == built
    assert dict(device.kernels) == kernels


# The convolution notes: forward, both gradients, bias

CONV = Geometry((6, 7), (3, 2), (2, 1), (1, 2), (1, 2))
X, W = (3, 4, 6, 7), (6, 2, 3, 2)  # two groups
Y = (3, 6, *CONV.output)


def options(groups=2):
    _, stride, padding, dilation = CONV.window
    return {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}


def near(got, terms, reference, *arrays):
    """|error| <= c * eps * sqrt(K) * (|A| @ |B|) with c = 4; K is the number of products in a sum."""
    exact, scale = reference(*arrays), reference(*[np.abs(a) for a in arrays])
    got = got.numpy()
    assert got.shape == exact.shape
    assert (np.abs(got - exact) <= 4 * np.finfo(got.dtype).eps * np.sqrt(terms) * scale).all()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("variant", [None, *K.variants("conv2d")])
def test_conv_forward(device, rng, variant, dtype):
    x, w = (rng.standard_normal(s).astype(dtype) for s in (X, W))
    got = K.conv2d(A(x), A(w), variant=variant, **options())
    near(got, 2 * 3 * 2, lambda x, w: conv_reference(x, w, CONV, 2), x, w)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("variant", [None, *K.variants("conv2d_backward_input")])
def test_conv_input_gradient(device, rng, variant, dtype):
    w, dy = (rng.standard_normal(s).astype(dtype) for s in (W, Y))
    got = K.conv2d_backward_input(X, A(w), A(dy), variant=variant, **options())
    near(got, 3 * 3 * 2, lambda w, dy: input_reference(X, w, dy, CONV, 2), w, dy)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("variant", [None, *K.variants("conv2d_backward_weight")])
def test_conv_weight_gradient(device, rng, variant, dtype):
    x, dy = (rng.standard_normal(s).astype(dtype) for s in (X, Y))
    got = K.conv2d_backward_weight(A(x), W, A(dy), variant=variant, **options())
    near(got, 3 * Y[2] * Y[3], lambda x, dy: weight_reference(x, W, dy, CONV, 2), x, dy)


def test_conv_input_gradient_is_the_product_with_the_weight_turned_over_then_col2im(device, rng):
    """dcol = W^T dY, one product for each image; dx = col2im(dcol)."""
    kernel, stride, padding, dilation = CONV.window
    w, dy = whole(rng, 6, 4, 3, 2).astype(np.float32), whole(rng, *Y).astype(np.float32)
    dcol = K.gemm(A(w.reshape(1, 6, -1)), A(dy.reshape(3, 6, -1)), transpose_a=True)
    dx = K.col2im(dcol, CONV.size, kernel_size=kernel, stride=stride, padding=padding, dilation=dilation)
    same(dx, input_reference(X, w, dy, CONV).astype(np.float32))
    with Launches() as launches:
        same(K.conv2d_backward_input(X, A(w), A(dy), variant="im2col", **options(groups=1)), dx.numpy())
    assert any("col2im" in launch.kernel.name for launch in launches)


def test_conv_bias_and_its_gradient(device, rng):
    x, w, b, dy = (whole(rng, *s).astype(np.float32) for s in (X, W, (6,), Y))
    bias = gg.tensor(b, requires_grad=True)
    out = F.conv2d(gg.tensor(x), gg.tensor(w), bias, **options())
    same(out.detach(), (conv_reference(x, w, CONV, 2) + b[:, None, None]).astype(np.float32))
    out.backward(gg.tensor(dy))
    same(bias.grad, dy.sum((0, 2, 3)))


def test_batches_above_one_in_all_three(device, rng):
    x, w, dy = (whole(rng, *s).astype(np.float32) for s in (X, W, Y))
    images = [(A(x[n : n + 1]), A(dy[n : n + 1])) for n in range(3)]
    one_by_one = [K.conv2d(image, A(w), **options()).numpy() for image, _ in images]
    same(K.conv2d(A(x), A(w), **options()), np.concatenate(one_by_one))
    one_by_one = [K.conv2d_backward_input((1, *X[1:]), A(w), g, **options()).numpy() for _, g in images]
    same(K.conv2d_backward_input(X, A(w), A(dy), **options()), np.concatenate(one_by_one))
    one_by_one = [K.conv2d_backward_weight(image, W, g, **options()).numpy() for image, g in images]
    same(K.conv2d_backward_weight(A(x), W, A(dy), **options()), sum(one_by_one))


def test_scratch_formulas(device, rng):
    """im2col: N * C*KH*KW * OH*OW elements. col2im: N*C*H*W floats of 4 bytes, whatever is summed."""
    kernel, stride, padding, dilation = CONV.window
    OH, OW = CONV.output
    for dtype in DTYPES:
        size = 3 * 4 * 3 * 2 * OH * OW * np.dtype(dtype).itemsize
        assert K.im2col_scratch_bytes(X, kernel, stride, padding, dilation, dtype) == size
        x, w, dy = (whole(rng, *s).astype(dtype) for s in (X, W, Y))
        scratch = A(np.full(size // np.dtype(dtype).itemsize, np.nan, dtype))  # what it held does not matter
        same(K.conv2d(A(x), A(w), scratch=scratch, **options()), conv_reference(x, w, CONV, 2).astype(dtype))
        got = K.conv2d_backward_input(X, A(w), A(dy), scratch=scratch, **options())
        same(got, input_reference(X, w, dy, CONV, 2).astype(dtype))
        got = K.conv2d_backward_weight(A(x), W, A(dy), scratch=scratch, **options())
        same(got, weight_reference(x, W, dy, CONV, 2).astype(dtype))
        short = A(scratch.numpy()[1:])
        with pytest.raises(ValueError, match=f"scratch has {short.nbytes} bytes; it needs .* = {size}"):
            K.conv2d(A(x), A(w), scratch=short, **options())
    assert K.col2im_scratch_bytes(X) == 4 * 3 * 4 * 6 * 7


@pytest.mark.parametrize("dtype", DTYPES)
def test_small_integers_convolve_to_the_last_bit(device, rng, dtype):
    x, w, dy = (whole(rng, *s).astype(dtype) for s in (X, W, Y))
    for variant in K.variants("conv2d"):
        got = K.conv2d(A(x), A(w), variant=variant, **options())
        same(got, conv_reference(x, w, CONV, 2).astype(dtype))
    for variant in K.variants("conv2d_backward_input"):
        got = K.conv2d_backward_input(X, A(w), A(dy), variant=variant, **options())
        same(got, input_reference(X, w, dy, CONV, 2).astype(dtype))
    for variant in K.variants("conv2d_backward_weight"):
        got = K.conv2d_backward_weight(A(x), W, A(dy), variant=variant, **options())
        same(got, weight_reference(x, W, dy, CONV, 2).astype(dtype))
