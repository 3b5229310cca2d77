"""float16 through the whole surface: stored as half, computed and accumulated in float32, rounded once.

The bound is half's own rounding of the true result, and float32's error before it:

    |error| <= 2^-11 |result| + 2^-25 + c 2^-24 magnitude

2^-11 is half a unit in half's last place, 2^-25 half of its smallest number, 2^-24 half a unit in float32's last place;
c counts float32's roundings, at the size of what is added up (`magnitude`).
"""

import math

import numpy as np
import pytest
from sampling import FULL

import gpugrad as gg
from gpugrad import Array, kernels
from gpugrad.kernels.tuning import TUNING
from gpugrad.nn import functional as F

HALF, SMALLEST, SINGLE = 2.0**-11, 2.0**-25, 2.0**-24


def normal(rng, *shape):
    return rng.standard_normal(shape).astype(np.float16)


def positive(rng, *shape):
    return (0.1 + rng.random(shape)).astype(np.float16)


def close(got, expected, single=0.0):
    """`got` is `expected`, rounded to half, up to `single` (a number or an array) before that."""
    assert got.dtype == np.float16 and got.shape == expected.shape
    error = np.abs(got.astype(np.float64) - expected)
    bound = HALF * np.abs(expected) + SMALLEST + single * (1 + HALF)
    assert (error <= bound).all(), f"{(error / bound).max()} times the bound"


def softmax(x, axis):
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def erf(x):
    return np.vectorize(math.erf)(x)


def pooled(x, op):
    """2 x 2 windows of (N, C, H, W), stride 2."""
    N, C, H, W = x.shape
    x = x[:, :, : H // 2 * 2, : W // 2 * 2].reshape(N, C, H // 2, 2, W // 2, 2)
    return op(x, (3, 5))


def convolved(x, w, stride=1, padding=0, groups=1):
    """conv2d in float64, window by window."""
    CO, CG, KH, KW = w.shape
    x = np.pad(x, ((0, 0), (0, 0), (padding,) * 2, (padding,) * 2))
    OH, OW = (x.shape[2] - KH) // stride + 1, (x.shape[3] - KW) // stride + 1
    out = np.zeros((len(x), CO, OH, OW))
    for co in range(CO):
        first = co // (CO // groups) * CG
        for oh in range(OH):
            for ow in range(OW):
                seen = x[:, first : first + CG, oh * stride : oh * stride + KH, ow * stride : ow * stride + KW]
                out[:, co, oh, ow] = (seen * w[co]).sum((1, 2, 3))
    return out


def unfolded(x, k):
    N, C, H, W = x.shape
    windows = [x[:, :, i : i + H - k + 1, j : j + W - k + 1].reshape(N, C, 1, -1) for i in range(k) for j in range(k)]
    return np.concatenate(windows, 2).reshape(N, C * k * k, -1)


LABELS = np.array([0, 3, 1, 2, 4, 4, 0])


def cross_entropy(x):
    p = np.log(softmax(x, 1))
    return -p[np.arange(len(LABELS)), LABELS].mean()


def normalised(x, w, b):
    mean, var = x.mean((0, 2, 3), keepdims=True), x.var((0, 2, 3), keepdims=True)
    return (x - mean) / np.sqrt(var + 1e-5) * w.reshape(1, -1, 1, 1) + b.reshape(1, -1, 1, 1)


# name: (operation on tensors, the same in float64, shapes or arrays of its operands, float32's roundings c)
N, P = "normal", "positive"
OPERATIONS = {
    "neg": (lambda x: -x, lambda x: -x, [(N, 5, 7)], 0),
    "abs": (gg.abs, np.abs, [(N, 35)], 0),
    "exp": (gg.exp, np.exp, [(N, 35)], 8),
    "log": (gg.log, np.log, [(P, 35)], 8),
    "sqrt": (gg.sqrt, np.sqrt, [(P, 35)], 8),
    "sin": (gg.sin, np.sin, [(N, 35)], 8),
    "cos": (gg.cos, np.cos, [(N, 35)], 8),
    "tanh": (gg.tanh, np.tanh, [(N, 35)], 8),
    "relu": (gg.relu, lambda x: np.maximum(x, 0), [(N, 35)], 0),
    "sigmoid": (gg.sigmoid, lambda x: 1 / (1 + np.exp(-x)), [(N, 35)], 8),
    "leaky_relu": (F.leaky_relu, lambda x: np.where(x > 0, x, x * 0.01), [(N, 35)], 2),
    "gelu": (F.gelu, lambda x: 0.5 * x * (1 + erf(x / math.sqrt(2))), [(N, 35)], 16),
    "clamp": (lambda x: x.clamp(-0.5, 1), lambda x: np.clip(x, -0.5, 1), [(N, 35)], 0),
    "add": (gg.add, np.add, [(N, 3, 1, 5), (N, 4, 1)], 1),
    "sub": (gg.sub, np.subtract, [(N, 35), (N, 35)], 1),
    "mul": (gg.mul, np.multiply, [(N, 35), (N, 35)], 1),
    "div": (gg.div, np.divide, [(N, 35), (P, 35)], 4),
    "pow": (gg.pow, np.power, [(P, 35), (N, 35)], 16),
    "maximum": (gg.maximum, np.maximum, [(N, 35), (N, 35)], 0),
    "minimum": (gg.minimum, np.minimum, [(N, 35), (N, 35)], 0),
    "a number on the right": (lambda x: x * 0.1, lambda x: x * 0.1, [(N, 35)], 2),
    "a number on the left": (lambda x: 1.7 - x, lambda x: 1.7 - x, [(N, 35)], 2),
    "a power": (lambda x: x**3, lambda x: x**3, [(N, 35)], 4),
    "where": (lambda x, y: gg.where(x > 0, x, y), lambda x, y: np.where(x > 0, x, y), [(N, 35), (N, 35)], 0),
    "sum": (lambda x: x.sum(1), lambda x: x.sum(1), [(N, 3, 1000)], 40),
    "sum of a long axis": (lambda x: x.sum(), np.sum, [(P, 9001)], 300),
    "mean": (lambda x: x.mean((0, 2)), lambda x: x.mean((0, 2)), [(N, 7, 3, 9)], 20),
    "amax": (lambda x: x.amax(0), lambda x: x.max(0), [(N, 33, 5)], 0),
    "min": (lambda x: x.min(1).values, lambda x: x.min(1), [(N, 5, 33)], 0),
    "var": (lambda x: x.var(1), lambda x: x.var(1, ddof=1), [(N, 5, 33)], 40),
    "softmax": (lambda x: F.softmax(x, 1), lambda x: softmax(x, 1), [(N, 5, 11)], 20),
    "log_softmax": (lambda x: F.log_softmax(x, 0), lambda x: np.log(softmax(x, 0)), [(N, 5, 11)], 20),
    "cross_entropy": (lambda x: F.cross_entropy(x, LABELS), cross_entropy, [(N, 7, 5)], 40),
    "nll_loss": (lambda x: F.nll_loss(x, LABELS), lambda x: -x[np.arange(7), LABELS].mean(), [(N, 7, 5)], 10),
    "mse_loss": (F.mse_loss, lambda x, y: ((x - y) ** 2).mean(), [(N, 7, 5), (N, 7, 5)], 10),
    "matmul": (gg.matmul, np.matmul, [(N, 2, 5, 19), (N, 19, 7)], 80),
    "dot": (lambda x, y: x.dot(y), np.dot, [(N, 33), (N, 33)], 80),
    "linear": (F.linear, lambda x, w: x @ w.T, [(N, 5, 19), (N, 7, 19)], 80),
    "conv2d": (lambda x, w: F.conv2d(x, w, padding=1), lambda x, w: convolved(x, w, padding=1),
               [(N, 2, 3, 7, 6), (N, 5, 3, 3, 3)], 80),
    "unfold": (lambda x: F.unfold(x, 3), lambda x: unfolded(x, 3), [(N, 2, 3, 5, 6)], 0),
    "max_pool2d": (lambda x: F.max_pool2d(x, 2), lambda x: pooled(x, np.max), [(N, 2, 3, 9, 8)], 0),
    "avg_pool2d": (lambda x: F.avg_pool2d(x, 2), lambda x: pooled(x, np.mean), [(N, 2, 3, 9, 8)], 4),
    "batch_norm": (lambda x, w, b: F.batch_norm(x, None, None, w, b, training=True), normalised,
                   [(N, 4, 3, 5, 5), (P, 3), (N, 3)], 40),
    "pad": (lambda x: F.pad(x, (1, 2, 3, 0), value=0.5),
            lambda x: np.pad(x, ((0, 0), (3, 0), (1, 2)), constant_values=0.5), [(N, 2, 3, 5)], 0),
    "permute": (lambda x: x.permute(2, 0, 1), lambda x: x.transpose(2, 0, 1), [(N, 3, 4, 5)], 0),
    "transpose": (lambda x: x.T, lambda x: x.T, [(N, 13, 70)], 0),
    "slices": (lambda x: x[1:, ::2], lambda x: x[1:, ::2], [(N, 5, 9)], 0),
    "expand": (lambda x: x.expand(4, 5), lambda x: np.broadcast_to(x, (4, 5)), [(N, 1, 5)], 0),
    "cat": (lambda x, y: gg.cat([x, y], 1), lambda x, y: np.concatenate([x, y], 1), [(N, 3, 4), (N, 3, 2)], 0),
    "stack": (lambda x, y: gg.stack([x, y]), lambda x, y: np.stack([x, y]), [(N, 3, 4), (N, 3, 4)], 0),
    "flip": (lambda x: x.flip(1), lambda x: x[:, ::-1], [(N, 3, 4)], 0),
    "index_select": (lambda x: x.index_select(0, gg.tensor([2, 0, 2])), lambda x: x[[2, 0, 2]], [(N, 3, 4)], 0),
}  # fmt: skip


# These are much like the others.
ALIKE = {"neg", "abs", "log", "sin", "cos", "tanh", "relu", "leaky_relu", "clamp", "sub", "maximum", "minimum",
         "a number on the right", "a power", "sum of a long axis", "amax", "dot", "slices", "expand", "stack", "flip",
         "transpose", "where", "nll_loss", "log_softmax", "pow", "unfold", "sigmoid", "gelu", "min", "var"}  # fmt: skip
QUICK = [pytest.param(n, marks=FULL if n in ALIKE else []) for n in OPERATIONS]


def operands(rng, shapes):
    return [(normal if kind == N else positive)(rng, *shape) for kind, *shape in shapes]


@pytest.mark.parametrize("name", QUICK)
def test_values_are_the_true_ones_rounded_once(device, rng, name):
    operation, reference, shapes, roundings = OPERATIONS[name]
    given = operands(rng, shapes)
    wide = [x.astype(np.float64) for x in given]
    expected = np.asarray(reference(*wide))
    # What is added up is no larger than this.
    magnitude = max([np.abs(expected).max(), 1.0, *(np.abs(x).max() for x in wide)])
    if name.startswith("sum"):
        magnitude = np.abs(wide[0]).sum(-1).max() / 32  # added up in 32 lanes or more
    close(operation(*map(gg.tensor, given)).numpy(), expected, roundings * SINGLE * magnitude)


@pytest.mark.parametrize("name", QUICK)
def test_gradients_are_those_of_float64_but_for_a_few_roundings(device, rng, name):
    if not device.has_float64:
        pytest.skip("the reference is the same operation in float64, which test_gradcheck checks")
    operation, _, shapes, _ = OPERATIONS[name]
    given = operands(rng, shapes)
    found, seed = {}, None
    for dtype in (gg.float16, gg.float64):
        xs = [gg.tensor(x.astype(dtype), requires_grad=True) for x in given]
        y = operation(*xs)
        seed = normal(rng, *y.shape) if seed is None else seed
        y.backward(gg.tensor(seed.astype(dtype)))
        found[dtype] = [x.grad.numpy() for x in xs]
    for half, true in zip(found[gg.float16], found[gg.float64]):
        assert half.dtype == np.float16
        # A gradient goes through values that were rounded, and through two or three ops that round again.
        assert np.abs(half - true).max() <= 8 * HALF * max(np.abs(true).max(), 1)


def test_every_half_and_every_rounding_to_half_is_right(device, rng):
    every = np.arange(65536, dtype=np.uint16).view(np.float16)
    wide = kernels.cast(Array.from_numpy(every), gg.float32).numpy()
    np.testing.assert_array_equal(wide, every.astype(np.float32))
    back = kernels.cast(Array.from_numpy(wide), gg.float16).numpy()
    number = ~np.isnan(every)  # the sign of a NaN means nothing, and not every device keeps it
    assert (np.signbit(wide) == np.signbit(every))[number].all()
    np.testing.assert_array_equal(back[number].view(np.uint16), every[number].view(np.uint16))
    assert np.isnan(back[~number]).all()
    # Between two neighbours: the middle itself, and a little to both sides of it.
    finite = np.sort(every[np.isfinite(every)].astype(np.float32))
    middle = (finite[1:] + finite[:-1]) / 2
    edges = np.float32([65519.99, 65520, 1e38, np.inf, -65520, -np.inf, 2.0**-25, 3e-8, 1e-45])
    x = np.concatenate([np.nextafter(middle, -np.inf), middle, np.nextafter(middle, np.inf), edges])
    with np.errstate(over="ignore"):
        expected = x.astype(np.float16)
    rounded = kernels.cast(Array.from_numpy(x), gg.float16).numpy()
    np.testing.assert_array_equal(rounded.view(np.uint16), expected.view(np.uint16))


@pytest.mark.parametrize("dtype", [np.float64, np.int32, np.uint8, np.bool_])
def test_half_is_cast_to_other_types_and_back(device, dtype):
    if dtype == np.float64 and not device.has_float64:
        pytest.skip("no float64")
    half = np.array([0, 1, 2.5, 200, 0.1, 255], np.float16)
    there = kernels.cast(Array.from_numpy(half), dtype).numpy()
    np.testing.assert_array_equal(there, half.astype(dtype))
    back = kernels.cast(Array.from_numpy(there), gg.float16).numpy()
    np.testing.assert_array_equal(back, there.astype(np.float16))


@pytest.mark.parametrize("op", ["eq", "ne", "lt", "le", "gt", "ge"])
def test_comparisons_give_booleans(device, rng, op):
    x, y = (rng.integers(-2, 3, 40).astype(np.float16) for _ in range(2))
    compared = {"eq": x == y, "ne": x != y, "lt": x < y, "le": x <= y, "gt": x > y, "ge": x >= y}[op]
    np.testing.assert_array_equal(getattr(gg, op)(gg.tensor(x), gg.tensor(y)).numpy(), compared)


@pytest.mark.parametrize("op", ["eq", "ne", "lt", "le", "gt", "ge"])
def test_a_number_is_rounded_to_half_before_it_is_compared(device, op):
    """0.1 and 1/3 lie above and below their halves; 70000 is infinite as a half."""
    for number in (0.1, 1 / 3, 70000.0):
        with np.errstate(over="ignore"):
            x = np.array([number, 0, 1], np.float16)
        compare = getattr(np, {"eq": "equal", "ne": "not_equal", "lt": "less", "le": "less_equal", "gt": "greater",
                               "ge": "greater_equal"}[op])  # fmt: skip
        np.testing.assert_array_equal(getattr(gg, op)(gg.tensor(x), number).numpy(), compare(x, x[0]))
        np.testing.assert_array_equal(getattr(gg, op)(number, gg.tensor(x)).numpy(), compare(x[0], x))
        np.testing.assert_array_equal(kernels.elementwise(op, Array.from_numpy(x), number).numpy(), compare(x, x[0]))


def test_an_element_at_the_bound_of_a_clamp_keeps_its_gradient(device):
    for bounds in ({"min": 1 / 3}, {"max": 0.1}):
        x = gg.tensor(list(bounds.values()), dtype=gg.float16, requires_grad=True)
        y = x.clamp(**bounds)
        y.backward(gg.ones(1, dtype=gg.float16))
        assert y.detach().tolist() == x.detach().tolist() and x.grad.tolist() == [1]


def test_the_largest_element_is_found_and_a_nan_wins(device):
    x = np.array([[1, 65504, -3], [2, np.nan, 7]], np.float16)
    values, indices = gg.tensor(x).max(1)
    np.testing.assert_array_equal(values.numpy(), np.float16([65504, np.nan]))
    np.testing.assert_array_equal(indices.numpy(), [1, 1])


def test_types_are_promoted_as_in_pytorch(device):
    half = gg.ones(2, dtype=gg.float16)
    for other, result in ((gg.float32, gg.float32), (gg.int32, gg.float16), (gg.uint8, gg.float16),
                          (gg.bool, gg.float16)):  # fmt: skip
        assert (half + gg.ones(2, dtype=other)).dtype == result
    assert (half * 2).dtype == (2.5 - half).dtype == (half / 3).dtype == gg.float16
    assert (half + gg.tensor(1.0)).dtype == gg.float16  # a 0-d tensor of the same kind counts for nothing
    assert half.sum().dtype == half.mean().dtype == gg.float16


def test_sums_may_pass_what_half_can_hold(device):
    """Every step in between is float32: the sums here are 4.2 million, and 65504 is half's largest number."""
    x = np.full((2, 70_000), 60, np.float16)
    np.testing.assert_array_equal(gg.tensor(x).mean(1).numpy(), np.float16([60, 60]))
    np.testing.assert_array_equal(gg.tensor(x[:, :3000] * np.float16(20)).var(1).numpy(), np.float16([0, 0]))
    x[:, ::2] = -60
    assert gg.tensor(x).sum().item() == 0
    far = np.float16([[-500, 500]])
    assert F.mse_loss(gg.tensor(far), gg.tensor(far * 0.9)).item() == pytest.approx(2500, rel=1e-3)
    scores = gg.tensor(np.zeros((70_000, 2), np.float16))
    loss = F.cross_entropy(scores, np.zeros(70_000, np.int32))
    assert loss.item() == np.float16(math.log(2))


@pytest.mark.parametrize("variant", kernels.variants("gemm"))
@pytest.mark.parametrize("shape", [(7, 13, 31), (33, 5, 2), (5, 9, 2100)])
@pytest.mark.parametrize("transposed", [False, True])
def test_products_are_accumulated_in_float32(device, rng, variant, shape, transposed):
    M, N, K = shape
    a, b, c = normal(rng, M, K), normal(rng, K, N), normal(rng, M, N)
    operands = (a.T, b.T) if transposed else (a, b)
    arrays = [Array.from_numpy(np.ascontiguousarray(x)) for x in operands]
    turned = {"transpose_a": transposed, "transpose_b": transposed, "variant": variant}
    wide = [x.astype(np.float64) for x in (a, b, c)]
    true, size = wide[0] @ wide[1], np.abs(wide[0]) @ np.abs(wide[1])
    single = 2 * 2 * SINGLE * math.sqrt(K) * size
    close(kernels.gemm(*arrays, **turned).numpy(), true, single)
    out = Array.from_numpy(c)
    kernels.gemm(*arrays, alpha=0.1, beta=0.3, out=out, **turned)
    close(out.numpy(), 0.1 * true + 0.3 * wide[2], single + 4 * SINGLE * np.abs(wide[2]))
    # The sum may go on in float32.
    out = Array.from_numpy(c.astype(np.float32))
    kernels.gemm(*arrays, beta=1, out=out, **turned)
    assert (np.abs(out.numpy() - (true + wide[2])) <= single + 4 * SINGLE * np.abs(wide[2])).all()


@pytest.mark.parametrize("variant", kernels.variants("gemm"))
def test_batches_of_products_add_up_in_float32(device, rng, variant):
    a, b = normal(rng, 9, 2, 5, 4), normal(rng, 9, 2, 4, 6)
    got = kernels.gemm_sum(Array.from_numpy(a), Array.from_numpy(b), variant=variant).numpy()
    wide = [x.astype(np.float64) for x in (a, b)]
    size = (np.abs(wide[0]) @ np.abs(wide[1])).sum(0)
    close(got, (wide[0] @ wide[1]).sum(0), 4 * SINGLE * 6 * size)


CONVOLUTIONS = {
    "the course's": ((4, 8, 12, 12), (16, 8, 5, 5), 1, 2, 1),
    "with a stride": ((3, 4, 11, 9), (6, 4, 3, 3), 2, 1, 1),
    "in groups": ((5, 6, 8, 7), (9, 2, 3, 2), 1, 0, 3),
    "of single pixels": ((3, 5, 6, 5), (7, 5, 1, 1), 1, 0, 1),
}


def scaled_error(got, true):
    """The root of the mean square of the error, in units of that of the true values."""
    assert got.dtype == np.float16 and got.shape == true.shape
    return math.sqrt(((got - true) ** 2).mean() / (true**2).mean())


@pytest.mark.parametrize("case", CONVOLUTIONS)
@pytest.mark.parametrize("variant", kernels.variants("conv2d"))
def test_convolutions_and_their_gradients_err_by_less_than_a_thousandth(device, rng, case, variant):
    """Forward, bias, input gradient and weight gradient, against float64, with batches of more than one image."""
    x_shape, w_shape, stride, padding, groups = CONVOLUTIONS[case]
    x, w, bias = normal(rng, *x_shape), normal(rng, *w_shape), normal(rng, w_shape[0])
    wide_x, wide_w = x.astype(np.float64), w.astype(np.float64)
    settings = (stride, padding, 1, groups)
    true = convolved(wide_x, wide_w, stride, padding, groups)
    ax, aw = Array.from_numpy(x), Array.from_numpy(w)
    y = kernels.conv2d(ax, aw, Array.from_numpy(bias), *settings, variant=variant).numpy()
    assert scaled_error(y, true + bias.astype(np.float64).reshape(-1, 1, 1)) < 1e-3

    g = normal(rng, *true.shape)
    wide_g, ag = g.astype(np.float64), Array.from_numpy(g)
    # A convolution is linear in x and in w: its gradients are sums over its windows.
    padded = np.pad(wide_x, ((0, 0), (0, 0), (padding,) * 2, (padding,) * 2))
    dx, dw = np.zeros(padded.shape), np.zeros(w_shape)
    KH, KW = w_shape[2:]
    for co in range(w_shape[0]):
        first = co // (w_shape[0] // groups) * w_shape[1]
        channels = slice(first, first + w_shape[1])
        for oh in range(true.shape[2]):
            for ow in range(true.shape[3]):
                top, left = oh * stride, ow * stride
                window = (slice(None), channels, slice(top, top + KH), slice(left, left + KW))
                each = wide_g[:, co, oh, ow].reshape(-1, 1, 1, 1)
                dx[window] += each * wide_w[co]
                dw[co] += (each * padded[window]).sum(0)
    dx = dx[:, :, padding : padding + x_shape[2], padding : padding + x_shape[3]]
    got = kernels.conv2d_backward_input(x_shape, aw, ag, *settings, variant=variant).numpy()
    assert scaled_error(got, dx) < 1e-3
    got = kernels.conv2d_backward_weight(ax, w_shape, ag, *settings, variant=variant).numpy()
    assert scaled_error(got, dw) < 1e-3
    got = kernels.reduce("sum", ag, (0, 2, 3)).numpy()
    assert scaled_error(got, wide_g.sum((0, 2, 3))) < 1e-3


def test_a_weight_gradient_adds_portions_of_the_batch_in_float32(device, monkeypatch):
    """2048 from the first image, 1/128 from each of the others: half would stay at 2048, portion after portion."""
    for key in ("im2col bytes", "conv bytes"):
        monkeypatch.setitem(TUNING, key, {"cpu": 1, "gpu": 1})
    N = 3 * device.alignment // 2  # three portions, each of whole units of alignment
    x, g = np.full((N, 1, 3, 3), 0.25, np.float16), np.full((N, 1, 1, 1), 1 / 32, np.float16)
    g[0] = 2048 * 4
    for variant in kernels.variants("conv2d_backward_weight"):
        got = kernels.conv2d_backward_weight(
            Array.from_numpy(x), (1, 1, 3, 3), Array.from_numpy(g), variant=variant
        ).numpy()
        np.testing.assert_array_equal(got, np.full((1, 1, 3, 3), np.float16(2048 + (N - 1) / 128)))
    assert np.float16(2048 + (N - 1) / 128) > 2048


@pytest.mark.parametrize("variant", kernels.variants("col2im"))
def test_overlapping_columns_are_added_up_in_float32(device, variant):
    """A pixel that nine windows see, of 2048 from one and 1/2 from the others: half alone would stay at 2048."""
    col = np.full((2, 9, 9), 0.5, np.float16)
    col[:, 0, 8] = 2048  # window (2, 2) has its element (0, 0) at the pixel (2, 2)
    got = kernels.col2im(Array.from_numpy(col), (5, 5), 3, variant=variant).numpy()
    assert (got[:, 0, 2, 2] == 2052).all()


@pytest.mark.parametrize("variant", kernels.variants("max_pool2d_backward"))
def test_pooling_adds_up_overlapping_gradients_in_float32(device, variant):
    x = np.zeros((1, 1, 5, 5), np.float16)
    x[0, 0, 2, 2] = 1
    _, indices = kernels.max_pool2d(Array.from_numpy(x), 3, 1)
    g = np.full((1, 1, 3, 3), 0.5, np.float16)
    g[0, 0, 0, 0] = 2048
    got = kernels.max_pool2d_backward(Array.from_numpy(g), indices, x.shape, 3, 1, variant=variant).numpy()
    assert got[0, 0, 2, 2] == 2052
    got = kernels.avg_pool2d_backward(Array.from_numpy(g * 9), x.shape, 3, 1, variant=variant).numpy()
    assert got[0, 0, 2, 2] == 2052


@pytest.mark.parametrize("variant", kernels.variants("im2col"))
def test_im2col_moves_halves_as_they_are(device, rng, variant):
    x = normal(rng, 2, 3, 5, 6)
    np.testing.assert_array_equal(kernels.im2col(Array.from_numpy(x), 3, variant=variant).numpy(), unfolded(x, 3))


def test_scratch_is_counted_in_bytes(device, rng):
    size = (4, 3, 8, 7)
    assert kernels.im2col_scratch_bytes(size, 3, padding=1, dtype=gg.float16) == 4 * 3 * 9 * 8 * 7 * 2
    assert kernels.col2im_scratch_bytes(size) == 4 * (4 * 3 * 8 * 7)  # the scatter always adds up in float32
    x, w = Array.from_numpy(normal(rng, *size)), Array.from_numpy(normal(rng, 5, 3, 3, 3))
    exact = Array.empty((kernels.im2col_scratch_bytes(size, 3, padding=1, dtype="float16") // 2,), gg.float16)
    y = kernels.conv2d(x, w, padding=1, scratch=exact)
    np.testing.assert_array_equal(y.numpy(), kernels.conv2d(x, w, padding=1, variant="im2col").numpy())
    with pytest.raises(ValueError, match=r"scratch has \d+ bytes; it needs im2col_scratch_bytes = .* \* 2 = "):
        kernels.conv2d(x, w, padding=1, scratch=exact._view((exact.size - 1,), 0))


def test_random_halves_are_those_of_float32_rounded(device):
    gg.manual_seed(7)
    half = gg.randn(1001, dtype=gg.float16).numpy()
    gg.manual_seed(7)
    np.testing.assert_array_equal(half, gg.randn(1001).numpy().astype(np.float16))
    uniform = gg.rand(4001, dtype=gg.float16).numpy()
    assert uniform.dtype == np.float16 and uniform.min() >= 0 and uniform.max() < 1
    np.testing.assert_array_equal(uniform * 2048, np.round(uniform * 2048))  # multiples of 2^-11: all exact
    kept = F.dropout(gg.ones(4000, dtype=gg.float16), 0.25).numpy()
    assert set(np.unique(kept)) == {np.float16(0), np.float16(1 / 0.75)}


def test_values_are_set_in_place(device, rng):
    x = normal(rng, 4, 5)
    t = gg.tensor(x)
    t[1:3, ::2] = 0.1
    t.mul_(2).add_(gg.tensor(x))
    expected = x.copy()
    expected[1:3, ::2] = 0.1
    expected = (expected.astype("f4") * 2).astype("f2")
    np.testing.assert_array_equal(t.numpy(), (expected.astype("f4") + x).astype(np.float16))
    assert gg.full((2,), 1e6, dtype=gg.float16).tolist() == [math.inf, math.inf]
    assert gg.zeros(3, dtype=gg.float16).fill_(0.1).numpy()[0] == np.float16(0.1)


def test_empty_tensors_stay_empty(device):
    x = gg.zeros(0, 3, dtype=gg.float16, requires_grad=True)
    y = F.relu(x @ gg.ones(3, 4, dtype=gg.float16)).sum()
    y.backward()
    assert y.item() == 0 and x.grad.shape == (0, 3) and x.grad.dtype == gg.float16


def test_statistics_of_batch_norm_are_kept_in_the_type_of_the_layer(device, rng):
    """Squared distances here are up to 10^6: they stay in float32. The running statistics may be half or float32."""
    x = (normal(rng, 6, 3, 4, 4).astype("f4") * 300 + 500).astype(np.float16)
    wide = x.astype(np.float64)
    var = wide.var((0, 2, 3), ddof=1)
    for dtype in (gg.float16, gg.float32):
        layer = gg.nn.BatchNorm2d(3).to(dtype)
        y = layer(gg.tensor(x)).detach()
        close(y.numpy(), normalised(wide, np.ones(3), np.zeros(3)), 1e-5)
        assert layer.running_var.dtype == dtype
        np.testing.assert_allclose(layer.running_var.numpy(), 0.9 + 0.1 * var, rtol=2e-3)
        layer.eval()
        assert layer(gg.tensor(x)).dtype == gg.float16


def test_gradients_of_gradients_exist_in_half(device, rng):
    x = gg.tensor(normal(rng, 7, 5), requires_grad=True)
    (g,) = gg.grad(F.cross_entropy(x, LABELS), [x], create_graph=True)
    (h,) = gg.grad((g * g).sum(), [x])
    true = gg.tensor(x.detach().to(gg.float32).numpy(), requires_grad=True)
    (g,) = gg.grad(F.cross_entropy(true, LABELS), [true], create_graph=True)
    (expected,) = gg.grad((g * g).sum(), [true])
    assert h.dtype == gg.float16
    h, expected = h.detach(), expected.detach()
    np.testing.assert_allclose(h.numpy(), expected.numpy(), atol=4 * HALF * np.abs(expected.numpy()).max())


def test_gradcheck_checks_half_tensors_in_a_type_that_has_the_digits(device, rng):
    passed = gg.gradcheck(lambda x: gg.tanh(x).sum(), gg.tensor(normal(rng, 3), requires_grad=True))
    assert passed.dtype == (gg.float64 if device.has_float64 else gg.float32)
    with pytest.raises(TypeError, match="dtype is float16; differences need float64 or float32"):
        gg.gradcheck(gg.tanh, gg.tensor(normal(rng, 3), requires_grad=True), dtype=gg.float16)


@pytest.mark.deep
def test_half_is_recorded_bit_for_bit(device, rng):
    """The recorded kernel gives the plain one's results, and its events hold what memory held."""
    x, w = gg.tensor(normal(rng, 2, 3, 6, 5)), gg.tensor(normal(rng, 4, 3, 3, 3))

    def run():
        y = F.max_pool2d(F.relu(F.conv2d(x, w, padding=1)), 2)
        return F.softmax(y.reshape(2, -1) @ gg.ones(24, 3, dtype=gg.float16), 1).numpy()

    plain = run()
    with gg.trace() as t:
        recorded = run()
    assert recorded.tobytes() == plain.tobytes() and not t.skipped
    for launch in t.launches:
        assert launch.report().ok, str(launch.report())
    relu = next(launch for launch in t.launches if launch.kernel == "unary")
    stored = relu.events[relu.events["kind"] == "store"]
    np.testing.assert_array_equal(np.sort(stored["value"]), np.sort(relu.replay("out").ravel().astype(float)))


def test_a_kernel_of_your_own_may_store_half(device, rng):
    text = """
__kernel void twice(__global const half *x, __global half *out, int n) {
  int i = get_global_id(0);
  if (i < n) out[i] = 2 * x[i];
}
"""
    twice, x = gg.kernel(text), normal(rng, 10)
    out = Array.empty((10,), gg.float16)
    twice(Array.from_numpy(x), out, 10, global_size=16)
    np.testing.assert_array_equal(out.numpy(), x * 2)
    with pytest.raises(gg.KernelArgumentError, match=r"half\* x, points to half; got an array of float32"):
        twice(Array.from_numpy(x.astype("f4")), out, 10, global_size=16)
    with pytest.raises(gg.KernelBuildError, match=r"line 4: use of undeclared identifier 'y'\n +if \(i < n\)"):
        gg.kernel(text.replace("x[i]", "y[i]"))
    with pytest.raises(gg.KernelBuildError, match="line 4"):
        gg.kernel(text.replace("n) out", "n out"))


def test_half_is_saved_and_loaded(device, rng, tmp_path):
    x = normal(rng, 3, 4)
    gg.save({"x": gg.tensor(x)}, tmp_path / "x.safetensors")
    found = gg.load(tmp_path / "x.safetensors")["x"]
    assert found.dtype == gg.float16
    np.testing.assert_array_equal(found.numpy(), x)
