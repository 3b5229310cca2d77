"""Element-wise ops on tensors: values against NumPy, both derivatives, broadcasting, promotion, and PyTorch's word."""

import itertools
import math

import numpy as np
import pytest
from samples import Launches

import gpugrad as gg
from gpugrad.autograd import ops
from gpugrad.dtypes import result_type


def leaf(a, dtype=np.float64):
    return gg.tensor(np.asarray(a, dtype), requires_grad=True)


# name: (op, reference, what to draw inputs from: a range for each input). Kinks lie outside of the ranges.
CASES = {
    "add": (lambda x, y: x + y, np.add, [(-2, 2), (-2, 2)]),
    "sub": (lambda x, y: x - y, np.subtract, [(-2, 2), (-2, 2)]),
    "mul": (lambda x, y: x * y, np.multiply, [(-2, 2), (-2, 2)]),
    "div": (lambda x, y: x / y, np.divide, [(-2, 2), (0.5, 2)]),
    "pow": (lambda x, y: x**y, np.power, [(0.5, 2), (-2, 2)]),
    "maximum": (gg.maximum, np.maximum, [(-2, 2), (-2, 2)]),
    "minimum": (gg.minimum, np.minimum, [(-2, 2), (-2, 2)]),
    "number + x": (lambda x: 1.5 + x, lambda x: 1.5 + x, [(-2, 2)]),
    "x - number": (lambda x: x - 1.5, lambda x: x - 1.5, [(-2, 2)]),
    "number - x": (lambda x: 1.5 - x, lambda x: 1.5 - x, [(-2, 2)]),
    "x * number": (lambda x: x * -1.5, lambda x: x * -1.5, [(-2, 2)]),
    "x / number": (lambda x: x / 3, lambda x: x / 3, [(-2, 2)]),
    "number / x": (lambda x: 3 / x, lambda x: 3 / x, [(0.5, 2)]),
    "number ** x": (lambda x: 2.5**x, lambda x: 2.5**x, [(-2, 2)]),
    "x ** 0": (lambda x: x**0, lambda x: x**0, [(-2, 2)]),
    "x ** 1": (lambda x: x**1, lambda x: x, [(-2, 2)]),
    "x ** 2": (lambda x: x**2, lambda x: x**2, [(-2, 2)]),
    "x ** 3": (lambda x: x**3, lambda x: x**3, [(-2, 2)]),
    "x ** 5": (lambda x: x**5, lambda x: x**5, [(-2, 2)]),
    "x ** -1": (lambda x: x**-1, lambda x: 1 / x, [(0.5, 2)]),
    "x ** 0.5": (lambda x: x**0.5, np.sqrt, [(0.5, 2)]),
    "x ** -1.5": (lambda x: x**-1.5, lambda x: x**-1.5, [(0.5, 2)]),
    "maximum with a number": (lambda x: gg.maximum(x, 0.3), lambda x: np.maximum(x, 0.3), [(-2, 2)]),
    "minimum with a number": (lambda x: gg.minimum(0.3, x), lambda x: np.minimum(x, 0.3), [(-2, 2)]),
    "neg": (lambda x: -x, np.negative, [(-2, 2)]),
    "abs": (abs, np.abs, [(-2, 2)]),
    "exp": (gg.exp, np.exp, [(-2, 2)]),
    "log": (gg.log, np.log, [(0.5, 2)]),
    "sqrt": (gg.sqrt, np.sqrt, [(0.5, 2)]),
    "sin": (gg.sin, np.sin, [(-2, 2)]),
    "cos": (gg.cos, np.cos, [(-2, 2)]),
    "relu": (gg.relu, lambda x: np.where(x > 0, x, 0), [(-2, 2)]),
    "leaky_relu": (ops.leaky_relu, lambda x: np.where(x > 0, x, 0.01 * x), [(-2, 2)]),
    "leaky_relu(0.2)": (lambda x: ops.leaky_relu(x, 0.2), lambda x: np.where(x > 0, x, 0.2 * x), [(-2, 2)]),
    "gelu": (ops.gelu, lambda x: 0.5 * x * (1 + np.vectorize(math.erf, otypes=[float])(x / math.sqrt(2))), [(-2, 2)]),
    "gelu(tanh)": (
        lambda x: ops.gelu(x, approximate="tanh"),
        lambda x: 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))),
        [(-2, 2)],
    ),
    "sigmoid": (gg.sigmoid, lambda x: 1 / (1 + np.exp(-x)), [(-2, 2)]),
    "tanh": (gg.tanh, np.tanh, [(-2, 2)]),
    "clamp": (lambda x: x.clamp(-0.5, 1), lambda x: np.clip(x, -0.5, 1), [(-2, 2)]),
    "clone": (gg.clone, np.copy, [(-2, 2)]),
}


def draw(name, shapes=((3, 5), (3, 5))):
    rng = np.random.default_rng(list(name.encode()))
    return [rng.uniform(low, high, shape) for (low, high), shape in zip(CASES[name][2], shapes)]


@pytest.mark.parametrize("name", CASES)
def test_values_agree_with_numpy(device, name):
    op, reference, _ = CASES[name]
    for n in (0, 1, 1013):
        hosts = draw(name, ((n,), (n,)))
        for dtype, tolerance in ((np.float64, 1e-14), (np.float32, 2e-6)):  # some ulp, and cancellation in gelu
            hosts = [h.astype(dtype) for h in hosts]
            got = op(*[gg.tensor(h) for h in hosts]).numpy()
            assert got.dtype == dtype
            np.testing.assert_allclose(got, reference(*[h.astype(np.float64) for h in hosts]), tolerance, tolerance)


@pytest.mark.parametrize("name", CASES)
def test_gradcheck_and_gradgradcheck(device, name):
    inputs = [leaf(h) for h in draw(name)]
    assert gg.gradcheck(CASES[name][0], inputs)
    assert gg.gradgradcheck(CASES[name][0], inputs)


# Un-broadcasting

SHAPES = [((3, 5), (5,)), ((3, 5), ()), ((3, 1), (1, 5)), ((2, 1, 3), (4, 1)), ((1, 1), (3, 2)), ((3,), (1, 1, 3))]


@pytest.mark.parametrize("shapes", SHAPES, ids=str)
@pytest.mark.parametrize("name", ["add", "sub", "mul", "div", "pow", "maximum"])
def test_gradients_are_summed_over_what_was_repeated(device, name, shapes):
    inputs = [leaf(h) for h in draw(name, shapes)]
    assert gg.gradcheck(CASES[name][0], inputs)
    assert gg.gradgradcheck(CASES[name][0], inputs)
    op = CASES[name][0]
    op(*inputs).backward(gg.ones(np.broadcast_shapes(*shapes), dtype=gg.float64))
    assert [t.grad.shape for t in inputs] == list(shapes)


def test_where_gives_each_side_the_gradient_of_its_elements(device, rng):
    condition = gg.tensor(rng.random((3, 5)) < 0.5)
    x, y = leaf(rng.normal(size=(3, 5))), leaf(rng.normal(size=5))
    assert gg.gradcheck(lambda x, y: gg.where(condition, x, y), (x, y))
    assert gg.gradgradcheck(lambda x, y: gg.where(condition, x, y * y), (x, y))
    assert gg.gradcheck(lambda x: gg.where(condition, x, -1.0), (x,))
    assert gg.gradcheck(lambda y: gg.where(condition, 2, y), (y,))
    np.testing.assert_array_equal(gg.where(condition, 1, 2).numpy(), np.where(condition.numpy(), 1, 2))


@pytest.mark.parametrize("shape", [(3, 4), (2, 4, 5), (2, 4, 3, 2)])
@pytest.mark.parametrize("activation", ["none", "relu", "sigmoid", "tanh"])
def test_bias_and_activation_have_both_derivatives(device, rng, shape, activation):
    x, bias = leaf(rng.normal(size=shape)), leaf(rng.normal(size=4))
    op = lambda x, bias: ops.bias_activation(x, bias, activation)  # noqa: E731
    assert gg.gradcheck(op, (x, bias))
    assert gg.gradgradcheck(op, (x, bias))


def test_a_cast_gives_its_gradient_back_in_the_dtype_it_came_from(device):
    x = gg.tensor([1.0, 2.0], requires_grad=True)
    y = x.to(gg.float64)
    assert y.dtype == gg.float64
    (y * y).sum().backward()
    assert x.grad.dtype == gg.float32
    np.testing.assert_array_equal(x.grad.numpy(), [2, 4])
    assert x.to(gg.float32) is x
    assert not x.to(gg.int32).requires_grad


def test_a_chain_of_moves_between_devices_keeps_its_gradient(device):
    others = [d for d in gg.devices() if d is not device]
    if not others:
        pytest.skip("needs two devices")
    x = gg.tensor([1.0, 2.0], requires_grad=True)
    y = x.to(others[0])
    assert y.device is others[0]
    (y * 3).sum().backward()
    assert x.grad.device is device
    np.testing.assert_array_equal(x.grad.numpy(), [3, 3])


# Points where a formula alone would go wrong


def gradient(op, *hosts, dtype=np.float32):
    leaves = [leaf(h, dtype) for h in hosts]
    out = op(*leaves)
    out.backward(gg.ones_like(out))
    return [t.grad.numpy() for t in leaves]


def test_the_gradient_of_relu_at_0_is_0_and_nan_passes(device):
    (g,) = gradient(gg.relu, [-1.0, 0.0, -0.0, 2.0, math.nan])
    np.testing.assert_array_equal(g, [0, 0, 0, 1, 1])


def test_the_gradient_of_abs_at_0_is_0(device):
    (g,) = gradient(gg.abs, [-2.0, 0.0, 3.0])
    np.testing.assert_array_equal(g, [-1, 0, 1])


def test_a_tie_of_maximum_shares_its_gradient(device):
    for op in (gg.maximum, gg.minimum):
        a, b = gradient(op, [1.0, 2.0, math.nan], [1.0, 3.0, 1.0])
        np.testing.assert_array_equal(a + b, [1, 1, 2])
        assert a[0] == b[0] == 0.5


def test_pow_of_a_negative_base_has_a_gradient_to_the_base(device):
    x, y = [-2.0, -3.0, 0.0, 0.0, 0.0], [2.0, 3.0, 2.0, 0.0, 1.0]
    g_x, g_y = gradient(lambda x, y: x**y, x, y)
    np.testing.assert_allclose(g_x, [-4, 27, 0, 0, 1])
    # A negative base has no logarithm; a base of 0 is flat in the exponent.
    np.testing.assert_array_equal(g_y, [math.nan, math.nan, 0, 0, 0])


def test_the_exponents_gradient_is_not_computed_where_nobody_needs_it(device):
    x, y = leaf([-2.0, 0.0, 3.0], np.float32), gg.tensor([2.0, 0.0, -1.0])
    with Launches() as launches:
        (x**y).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), [-4, 0, -1 / 9], rtol=1e-6)
    assert not any("log(a)" in text for launch in launches for _, text in launch.kernel.defines)


def test_x_to_the_0_is_flat_even_at_0_and_infinity(device):
    (g,) = gradient(lambda x: x**0, [0.0, math.inf, 2.0])
    np.testing.assert_array_equal(g, [0, 0, 0])


@pytest.mark.parametrize(("dtype", "tiny"), [(gg.float16, 1e-5), (gg.float32, 1e-40), (gg.float64, 1e-310)])
def test_the_gradient_of_0_by_a_tiny_number_is_0_to_that_number(device, dtype, tiny):
    """1 / tiny is infinite, and 0 times that is NaN."""
    x, y = gg.zeros(3, dtype=dtype, requires_grad=True), gg.full((3,), tiny, dtype=dtype, requires_grad=True)
    (x / y).backward(gg.ones(3, dtype=dtype))
    assert y.grad.tolist() == [0, 0, 0]


def test_sigmoid_and_tanh_are_finite_far_out(device):
    for op in (gg.sigmoid, gg.tanh, ops.gelu):
        (g,) = gradient(op, [-1e4, 1e4])
        assert np.isfinite(g).all()


@pytest.mark.parametrize("dtype", [gg.float16, gg.float32])
def test_gelu_by_its_formula_is_flat_or_a_line_far_out(device, dtype):
    x = gg.tensor([-300.0, -50.0, 50.0, 300.0], dtype=dtype, requires_grad=True)
    y = ops.gelu(x, approximate="tanh")
    y.sum().backward()
    assert y.dtype is dtype
    assert y.tolist() == [0, 0, 50, 300]
    assert x.grad.tolist() == [0, 0, 1, 1]


def test_clamp_passes_the_gradient_at_its_bounds(device):
    (g,) = gradient(lambda x: x.clamp(0, 1), [-1.0, 0.0, 0.5, 1.0, 2.0])
    np.testing.assert_array_equal(g, [0, 1, 1, 1, 0])


# Promotion

DTYPES = ["bool", "uint8", "int32", "float32", "float64"]
ALL_DTYPES = [*DTYPES, "float16"]


@pytest.mark.parametrize("a", DTYPES)
@pytest.mark.parametrize("b", DTYPES)
def test_two_tensors_are_promoted_to_the_wider(device, a, b):
    x, y = gg.tensor(np.ones(3, a)), gg.tensor(np.ones(3, b))
    wider = max(a, b, key=DTYPES.index)
    assert (x * y).dtype == wider
    assert gg.where(x == y, x, y).dtype == wider
    assert (x / y).dtype == (wider if wider.startswith("float") else "float32")
    assert (x < y).dtype == gg.bool


@pytest.mark.parametrize("b", ALL_DTYPES)
@pytest.mark.parametrize("a", ALL_DTYPES)
def test_a_0d_tensor_beside_another_is_promoted_as_in_pytorch(a, b):
    torch = pytest.importorskip("torch", reason="parity with PyTorch needs PyTorch")
    for a_ndim, b_ndim in itertools.product((0, 1, 2), repeat=2):
        theirs = [torch.ones((2,) * n, dtype=getattr(torch, t)) for t, n in ((a, a_ndim), (b, b_ndim))]
        expected = str(torch.result_type(*theirs)).removeprefix("torch.")
        assert result_type(np.dtype(a), np.dtype(b), a_ndim, b_ndim) == expected, (a_ndim, b_ndim)


@pytest.mark.parametrize(
    ("main", "number", "expected"),
    [
        ("float32", "float64", "float32"),
        ("int32", "float64", "float64"),
        ("int32", "float32", "float32"),
        ("uint8", "int32", "uint8"),
        ("bool", "uint8", "uint8"),
        ("float64", "float32", "float64"),
    ],
)
def test_ops_take_a_0d_tensor_for_a_number_of_its_category(device, main, number, expected):
    if "float64" in (main, number) and not device.has_float64:
        pytest.skip("the device has no float64")
    x, n = gg.tensor(np.ones(3, main)), gg.tensor(np.ones((), number))
    assert (x * n).dtype == (n * x).dtype == gg.maximum(x, n).dtype == gg.where(x == n, n, x).dtype == expected
    if main == expected:
        x.mul_(n)  # fits
    else:
        with pytest.raises(TypeError, match=f"the result is {expected}"):
            x.mul_(n)


@pytest.mark.parametrize("kind", DTYPES)
def test_a_number_takes_the_tensors_dtype(device, kind):
    x = gg.tensor(np.ones(3, kind))
    floating = kind.startswith("float")
    assert (x * 2).dtype == (2 * x).dtype == ("int32" if kind == "bool" else kind)
    assert (x * 0.5).dtype == (0.5 * x).dtype == (kind if floating else "float32")
    assert (x * True).dtype == kind
    assert (x * np.float64(0.5)).dtype == (kind if floating else "float32")
    assert (np.float64(0.5) * x).dtype == (kind if floating else "float32")
    assert (x / 2).dtype == (kind if floating else "float32")
    np.testing.assert_array_equal((x * 2.5).numpy(), 2.5)


def test_a_python_float_keeps_its_digits_beside_float64(device):
    np.testing.assert_array_equal((gg.tensor(np.zeros(2)) + 0.1).numpy(), 0.1)


def test_functions_of_integers_are_float32(device):
    x = gg.tensor([1, 4])
    for f, reference in ((gg.exp, np.exp), (gg.sqrt, np.sqrt), (gg.sigmoid, lambda v: 1 / (1 + np.exp(-v)))):
        got = f(x)
        assert got.dtype == gg.float32
        np.testing.assert_allclose(got.numpy(), reference(np.array([1.0, 4.0])), rtol=1e-6)


# One launch


def test_a_small_operation_is_one_launch_forwards_and_few_backwards(device):
    x, y = gg.tensor([1.0, 2.0], requires_grad=True), gg.tensor([3.0, 4.0], requires_grad=True)
    one = gg.tensor([1.0, 1.0])
    for op, backwards in ((gg.add, 0), (gg.mul, 2), (gg.div, 4), (gg.maximum, 4)):
        with Launches() as launches:
            out = op(x, y)
        assert len(launches) == 1
        with Launches() as launches:
            gg.grad(out, [x, y], [one])
        assert len(launches) == backwards, op
    for op in (gg.relu, gg.sigmoid, gg.tanh, gg.exp, gg.log, lambda x: x.clamp(0, 1)):
        out = op(x)
        with Launches() as launches:
            gg.grad(out, [x], [one])
        assert len(launches) == 1


def test_backward_computes_no_gradient_that_nobody_needs(device):
    x, y = gg.tensor([1.0, 2.0], requires_grad=True), gg.tensor([3.0, 4.0])
    one = gg.tensor([1.0, 1.0])
    for op, backwards in ((gg.mul, 1), (gg.div, 1), (gg.sub, 0), (gg.maximum, 2)):
        out = op(x, y)
        with Launches() as launches:
            gg.grad(out, [x], [one])
        assert len(launches) == backwards, op


# Mistakes


def test_mistakes_are_told_in_sentences(device):
    x, i, b = gg.tensor([1.0, 2.0, 3.0]), gg.tensor([1, 2, 3]), gg.tensor([True, False, True])
    cases = [
        (ValueError, r"add: shapes \(3,\) and \(2,\) do not broadcast", lambda: x + gg.zeros(2)),
        (TypeError, "mul: other is ndarray; it must be a tensor or a number; gpugrad.tensor", lambda: x * np.ones(3)),
        (TypeError, "mul: input is ndarray", lambda: np.ones(3) * x),
        (TypeError, "add: other is str", lambda: x + "1"),
        (TypeError, "add: other is complex", lambda: x + 1j),
        (TypeError, "one of them must be a tensor", lambda: gg.add(1, 2)),
        (TypeError, "exp: input is list; it must be a tensor", lambda: gg.exp([1.0])),
        (ValueError, "add: other is 2147483648; beside a tensor of int32", lambda: i + 2**31),
        (ValueError, "add: other has 401 digits, too many for a float", lambda: x + 10**400),
        (ValueError, "integers have no negative powers", lambda: i**-1),
        (TypeError, "sub: input is bool; it must be a number: use .to.*, or ~ for 'not'", lambda: b - b),
        (TypeError, "sub: input is bool", lambda: b - 1),
        (TypeError, "sub: other is bool", lambda: 1 - b),
        (TypeError, "sub: other is bool", lambda: x - b),
        (TypeError, "neg: the operand is bool", lambda: -b),
        (TypeError, "relu: the operand is bool", lambda: gg.relu(b)),
        (TypeError, "abs: input is bool", lambda: abs(b)),
        (TypeError, "condition is float32; it must be bool", lambda: gg.where(x, x, x)),
        (TypeError, "condition is bool; it must be a tensor", lambda: gg.where(True, x, x)),
        (TypeError, "clamp: min is a tensor", lambda: x.clamp(x)),
        (ValueError, "min and max are None", lambda: x.clamp()),
        (TypeError, "leaky_relu: negative_slope is a Tensor; it must be a number", lambda: ops.leaky_relu(x, x)),
        (TypeError, "leaky_relu: negative_slope is a str; it must be a number", lambda: ops.leaky_relu(x, "a")),
        (ValueError, "leaky_relu: negative_slope is NaN", lambda: ops.leaky_relu(x, math.nan)),
        (ValueError, "gelu: approximate is 'erf'; choose 'none' or 'tanh'", lambda: ops.gelu(x, approximate="erf")),
        (ValueError, "activation is 'gelu'", lambda: ops.bias_activation(x.reshape(1, 3), x, "gelu")),
        (TypeError, "gpugrad has float16, float32", lambda: x.to("complex64")),
        (TypeError, "dtype is None", lambda: x.to(None)),
        (TypeError, "&: the operand is float32; it must be a bool tensor", lambda: x & b),
    ]
    for error, match, call in cases:
        with pytest.raises(error, match=match):
            call()


def test_tensors_of_two_devices_do_not_mix(device):
    others = [d for d in gg.devices() if d is not device]
    if not others:
        pytest.skip("needs two devices")
    x = gg.tensor([1.0])
    with pytest.raises(ValueError, match=r"add: input is on .*, other on .*\.to\(device\)"):
        x + x.to(others[0])


# PyTorch, where it is installed


@pytest.mark.parametrize("name", CASES)
def test_values_and_gradients_agree_with_pytorch(device, name):
    torch = pytest.importorskip("torch", reason="compares with PyTorch")
    specials = np.array([-np.inf, -2.5, -1.0, -0.5, -0.0, 0.0, 0.3, 0.5, 1.0, 2.0, 3.0, np.inf, np.nan])
    count = len(CASES[name][2])
    hosts = [specials] if count == 1 else [g.ravel() for g in np.meshgrid(specials, specials)]
    theirs = [torch.tensor(h, requires_grad=True) for h in hosts]
    twins = {
        "maximum": torch.maximum,
        "minimum": torch.minimum,
        "maximum with a number": lambda x: torch.maximum(x, torch.tensor(0.3, dtype=torch.float64)),
        "minimum with a number": lambda x: torch.minimum(x, torch.tensor(0.3, dtype=torch.float64)),
        "exp": torch.exp,
        "log": torch.log,
        "sqrt": torch.sqrt,
        "sin": torch.sin,
        "cos": torch.cos,
        "relu": torch.relu,
        "leaky_relu": torch.nn.functional.leaky_relu,
        "leaky_relu(0.2)": lambda x: torch.nn.functional.leaky_relu(x, 0.2),
        "gelu": torch.nn.functional.gelu,
        "gelu(tanh)": lambda x: torch.nn.functional.gelu(x, approximate="tanh"),
        "sigmoid": torch.sigmoid,
        "tanh": torch.tanh,
        "clone": torch.clone,
    }
    expected = twins.get(name, CASES[name][0])(*theirs)
    expected.backward(torch.ones_like(expected))
    ours = [leaf(h) for h in hosts]
    got = CASES[name][0](*ours)
    got.backward(gg.ones_like(got))
    np.testing.assert_allclose(got.detach().numpy(), expected.detach().numpy(), 1e-12, 1e-14)
    for a, b in zip(ours, theirs):
        np.testing.assert_allclose(a.grad.numpy(), b.grad.numpy(), 1e-12, 1e-14)
