"""float16 through the whole surface: stored as half, computed and accumulated in float32, rounded once (halves.py)."""

import math

import numpy as np
import pytest
from halves import HALF, SINGLE, close, normal, positive
from sampling import FULL
from windows import Geometry, conv2d, im2col

import gpugrad as gg
from gpugrad import Array, kernels
from gpugrad.nn import functional as F


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
    "conv2d": (lambda x, w: F.conv2d(x, w, padding=1),
               lambda x, w: conv2d(x, w, Geometry((7, 6), (3, 3), padding=(1, 1))),
               [(N, 2, 3, 7, 6), (N, 5, 3, 3, 3)], 80),
    "unfold": (lambda x: F.unfold(x, 3), lambda x: im2col(x, Geometry((5, 6), (3, 3))), [(N, 2, 3, 5, 6)], 0),
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


def test_more_elements_than_half_can_count_share_the_gradient_of_their_maximum(device):
    for largest in (lambda x: x.max(), lambda x: x.amax(0)):
        x = gg.zeros(70_000, dtype=gg.float16, requires_grad=True)
        largest(x).backward()
        assert (x.grad.numpy() == np.float16(1 / 70_000)).all()


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


def test_half_is_saved_and_loaded(device, rng, tmp_path):
    x = normal(rng, 3, 4)
    gg.save({"x": gg.tensor(x)}, tmp_path / "x.safetensors")
    found = gg.load(tmp_path / "x.safetensors")["x"]
    assert found.dtype == gg.float16
    np.testing.assert_array_equal(found.numpy(), x)
