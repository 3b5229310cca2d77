"""The element-wise kernels against NumPy in float64: values, broadcasting, dtypes, NaN, and what is refused."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from gpugrad import kernels as K
from gpugrad.array import Array
from gpugrad.kernels.operations import BINARY, COMPARE, OPERATIONS, UNARY

FLOATS = ["float32", "float64"]
SIZES = [0, 1, 17, 256, 4099]  # below, at and above what a work-item and a group take; primes


@pytest.fixture(params=FLOATS)
def dtype(request, device):
    if request.param == "float64" and not device.has_float64:
        pytest.skip(f"{device} has no float64")
    return np.dtype(request.param)


def erf(x):
    return np.vectorize(math.erf, otypes=[np.float64])(x)


def ulps(got, want):
    """The error of each element in units of the last place of its dtype."""
    want = np.asarray(want, np.longdouble)
    rounded = want.astype(got.dtype)
    np.testing.assert_array_equal(np.isnan(got), np.isnan(rounded))
    np.testing.assert_array_equal(np.isinf(got), np.isinf(rounded))
    finite = np.isfinite(rounded)
    # Below the smallest normal number a device may flush to 0: there the unit is that number.
    unit = np.maximum(np.spacing(np.abs(rounded[finite])), np.finfo(got.dtype).tiny)
    return np.abs(got[finite].astype(np.longdouble) - want[finite]) / unit


def run(op, *operands, out=None):
    arrays = [Array.from_numpy(a) if isinstance(a, np.ndarray) else a for a in operands]
    return K.elementwise(op, *arrays, out=out).numpy()


# op: (reference in wide precision, what to draw from, the bound in ulp that OpenCL or the formula gives)
UNARY_CASES = {
    "copy": (lambda x: x, (-1e3, 1e3), 0),
    "neg": (lambda x: -x, (-1e3, 1e3), 0),
    "abs": (np.abs, (-1e3, 1e3), 0),
    "sign": (np.sign, (-2, 2), 0),
    "square": (lambda x: x * x, (-1e3, 1e3), 0.5),
    "cube": (lambda x: x * x * x, (-1e3, 1e3), 1.5),  # two roundings
    "reciprocal": (lambda x: 1 / x, (0.1, 1e3), 2.5),  # OpenCL allows a division 2.5
    "exp": (np.exp, (-80, 80), 3),
    "log": (np.log, (1e-20, 1e3), 3),
    "sqrt": (np.sqrt, (0, 1e9), 3),
    "rsqrt": (lambda x: 1 / np.sqrt(x), (0.1, 1e9), 5),  # a root of 3, a division of 2.5 less what the root halves
    "sin": (np.sin, (-50, 50), 4),
    "cos": (np.cos, (-50, 50), 4),
    "relu": (lambda x: np.where(x > 0, x, 0), (-2, 2), 0),
    "sigmoid": (lambda x: 1 / (1 + np.exp(-x)), (-80, 80), 6),  # exp 3, a sum and a division
    "tanh": (np.tanh, (-12, 12), 5),
}


@pytest.mark.parametrize("op", UNARY_CASES)
def test_a_function_is_within_its_bound_of_the_wide_result(dtype, rng, op):
    reference, (low, high), bound = UNARY_CASES[op]
    for n in SIZES:
        x = rng.uniform(low, high, n).astype(dtype)
        if low < 0:
            x[: n // 3] /= 100  # more of the part where curves bend
        got = run(op, x)
        assert got.dtype == dtype and got.shape == (n,)
        assert (ulps(got, reference(x.astype(np.longdouble))) <= bound).all()


def test_every_operation_is_tested():
    tested = {*UNARY_CASES, "gelu", "gelu_slope", "logical_not"}
    assert tested == set(UNARY)
    assert {*BINARY_CASES, "pow", *COMPARE_CASES} == {*BINARY, *COMPARE}


def test_gelu_and_its_slope_err_by_a_few_units_of_their_operand(dtype, rng):
    x = rng.normal(0, 3, 4099).astype(dtype)
    wide = x.astype(np.float64)
    P, p = 0.5 * (1 + erf(wide / math.sqrt(2))), np.exp(-0.5 * wide**2) / math.sqrt(2 * math.pi)
    # 1 + erf cancels on the far left, so the error is relative to x, as PyTorch's is: 16 ulp of erf, halved.
    eps = np.finfo(dtype).eps
    assert (np.abs(run("gelu", x) - wide * P) <= 8 * eps * np.abs(wide)).all()
    assert (np.abs(run("gelu_slope", x) - (P + wide * p)) <= 16 * eps).all()


BINARY_CASES = {
    "add": (lambda a, b: a + b, 0.5),
    "sub": (lambda a, b: a - b, 0.5),
    "mul": (lambda a, b: a * b, 0.5),
    "div": (lambda a, b: a / b, 2.5),
    "maximum": (np.maximum, 0),
    "minimum": (np.minimum, 0),
    "maximum_share": (lambda a, b: np.where(a == b, 0.5, a > b), 0),
    "minimum_share": (lambda a, b: np.where(a == b, 0.5, a < b), 0),
    "leaky_relu": (lambda a, b: np.where(a > 0, a, a * b), 0.5),
    "leaky_relu_slope": (lambda a, b: np.where(a > 0, 1, b), 0),
    "add_relu": (lambda a, b: np.maximum(a + b, 0), 0.5),
    "add_sigmoid": (lambda a, b: 1 / (1 + np.exp(-(a + b))), 12),  # the sum's rounding, times |a + b|
    "add_tanh": (lambda a, b: np.tanh(a + b), 6),
    "relu_backward": (lambda a, b: np.where(b > 0, a, 0), 0),
    "sigmoid_backward": (lambda a, b: a * b * (1 - b), 8),
    "tanh_backward": (lambda a, b: a * (1 - b * b), 8),
}


@pytest.mark.parametrize("op", BINARY_CASES)
def test_an_operation_of_two_is_within_its_bound(dtype, rng, op):
    reference, bound = BINARY_CASES[op]
    for n in SIZES:
        a, b = rng.normal(0, 3, (2, n)).astype(dtype)
        if op.endswith("_backward"):
            b = rng.uniform(-0.7, 0.7, n).astype(dtype)  # what sigmoid and tanh give, away from cancellation
        b[::5] = a[::5]  # ties
        with np.errstate(all="ignore"):
            want = reference(a.astype(np.longdouble), b.astype(np.longdouble))
        if op in ("sigmoid_backward", "tanh_backward"):
            b[::5] = 0.5
            want = reference(a.astype(np.longdouble), b.astype(np.longdouble))
        assert (ulps(run(op, a, b), want) <= bound).all()


@pytest.mark.parametrize("op", ["add", "sub", "div", "pow", "leaky_relu"])
def test_a_number_stands_on_either_side(dtype, rng, op):
    x = rng.uniform(0.5, 3, 1013).astype(dtype)
    reference = {**{k: v[0] for k, v in BINARY_CASES.items()}, "pow": np.power}[op]
    wide = x.astype(np.longdouble)
    number = np.longdouble(dtype.type(1.7))
    assert (ulps(run(op, x, 1.7), reference(wide, number)) <= 16).all()
    assert (ulps(run(op, 1.7, x), reference(number, wide)) <= 16).all()


def test_pow_is_within_16_ulp_and_has_the_edges_of_C(dtype, rng):
    a, b = rng.uniform(0, 20, 4099).astype(dtype), rng.uniform(-8, 8, 4099).astype(dtype)
    want = a.astype(np.longdouble) ** b.astype(np.longdouble)
    assert (ulps(run("pow", a, b), want) <= 16).all()  # what OpenCL allows it
    edges = [0.0, -0.0, 1.0, -1.0, 2.0, -2.0, 0.5, -0.5, 3.0, -3.0, math.inf, -math.inf, math.nan]
    a, b = np.array(list(itertools.product(edges, edges)), dtype).T.copy()
    with np.errstate(all="ignore"):
        want = np.power(a.astype(np.float64), b.astype(np.float64))
    np.testing.assert_allclose(run("pow", a, b), want, rtol=1e-6)


def compare_references():
    both = lambda f: lambda a, b: f(a != 0, b != 0)  # noqa: E731
    return {
        "eq": np.equal,
        "ne": np.not_equal,
        "lt": np.less,
        "le": np.less_equal,
        "gt": np.greater,
        "ge": np.greater_equal,
        "logical_and": both(np.logical_and),
        "logical_or": both(np.logical_or),
        "logical_xor": both(np.logical_xor),
    }


COMPARE_CASES = compare_references()


@pytest.mark.parametrize("op", COMPARE_CASES)
@pytest.mark.parametrize("kind", ["float32", "float64", "int32", "uint8", "bool"])
def test_comparisons_give_bool_and_hold_for_nan(device, rng, op, kind):
    if kind == "float64" and not device.has_float64:
        pytest.skip(f"{device} has no float64")
    a, b = rng.integers(0, 3, (2, 501)).astype(kind)
    if kind.startswith("float"):
        a[::7], b[::11], b[::13] = np.nan, np.nan, -np.inf
    got = run(op, a, b)
    assert got.dtype == np.bool_
    np.testing.assert_array_equal(got, COMPARE_CASES[op](a, b))


def test_logical_not_of_every_dtype(device):
    for kind in ("float32", "int32", "uint8", "bool"):
        x = np.array([0, 1, 3, 0, 255]).astype(kind)
        np.testing.assert_array_equal(run("logical_not", x), x == 0)
    np.testing.assert_array_equal(run("logical_not", np.float32([np.nan, -0.0])), [False, True])


# Integers and booleans


def test_integers_wrap_around_and_have_powers(device):
    a = np.array([2**31 - 1, -5, 7, 3, -3, 1, -1, 0, 2], np.int32)
    b = np.array([1, 3, -2, 4, 3, -7, -7, 0, 31], np.int32)
    with np.errstate(over="ignore"):
        for op in ("add", "sub", "mul", "maximum", "minimum"):
            f = {"sub": np.subtract, "mul": np.multiply}.get(op) or getattr(np, op)
            np.testing.assert_array_equal(run(op, a, b), f(a, b))
        np.testing.assert_array_equal(run("square", a), a * a)
        np.testing.assert_array_equal(run("cube", a), a * a * a)
    np.testing.assert_array_equal(run("pow", a, b), [2**31 - 1, -125, 0, 81, -27, 1, -1, 1, -(2**31)])
    np.testing.assert_array_equal(run("abs", a), np.abs(a))
    np.testing.assert_array_equal(run("sign", a), np.sign(a))
    np.testing.assert_array_equal(run("relu", a), np.maximum(a, 0))
    np.testing.assert_array_equal(run("add", np.array([250, 3], np.uint8), 10), [4, 13])
    np.testing.assert_array_equal(run("neg", np.array([1, 0], np.uint8)), [255, 0])


def test_a_negative_power_of_an_integer_is_0_but_of_1_and_minus_1(device):
    b = np.array([-1, -2, -3, -4, -6, -7, -(2**31)], np.int32)
    for a, want in ((-1, [-1, 1, -1, 1, 1, -1, 1]), (1, np.ones(7)), (2, np.zeros(7)), (-2, np.zeros(7))):
        np.testing.assert_array_equal(run("pow", np.full(7, a, np.int32), b), want)


def test_booleans_add_to_or_and_multiply_to_and(device):
    a, b = np.array([0, 0, 1, 1], bool), np.array([0, 1, 0, 1], bool)
    for op, want in (("add", a | b), ("mul", a & b), ("maximum", a | b), ("minimum", a & b)):
        got = run(op, a, b)
        np.testing.assert_array_equal(got.view(np.uint8), want.view(np.uint8))  # 0 and 1, nothing else
    np.testing.assert_array_equal(run("eq", a, True), a)


# NaN and infinity


def test_nan_wins_in_maximum_minimum_relu_and_clamp(dtype):
    nan, inf = math.nan, math.inf
    a, b = np.array([nan, 1, nan, inf, -inf], dtype), np.array([1, nan, nan, nan, 2], dtype)
    for op, last in (("maximum", 2), ("minimum", -inf)):
        np.testing.assert_array_equal(run(op, a, b), np.array([nan] * 4 + [last], dtype))
        np.testing.assert_array_equal(run(op + "_share", a, b)[:4], [1, 1, 1, 1])
    np.testing.assert_array_equal(run("relu", a), np.array([nan, 1, nan, inf, 0], dtype))
    np.testing.assert_array_equal(K.clamp(Array.from_numpy(a), -1, 1).numpy(), np.array([nan, 1, nan, 1, -1], dtype))


def test_relu_gives_no_gradient_at_0_and_lets_it_pass_at_nan(dtype):
    out = np.array([0.0, -0.0, 1.5, np.nan], dtype)
    np.testing.assert_array_equal(run("relu_backward", np.full(4, 7, dtype), out), np.array([0, 0, 7, 7], dtype))


def test_the_slope_of_leaky_relu_at_0_is_the_negative_sides(dtype):
    x = np.array([-1, -0.0, 0, 1], dtype)
    np.testing.assert_array_equal(run("leaky_relu_slope", x, 0.25), np.array([0.25, 0.25, 0.25, 1], dtype))


def test_functions_at_the_ends(dtype):
    inf, nan = math.inf, math.nan
    x = np.array([-inf, -1e4, 0.0, 1e4, inf, nan], dtype)
    np.testing.assert_array_equal(run("sigmoid", x), np.array([0, 0, 0.5, 1, 1, nan], dtype))
    assert (ulps(run("tanh", x), np.array([-1, -1, 0, 1, 1, nan])) <= 5).all()  # PoCL's ends 1 ulp short of 1
    np.testing.assert_array_equal(run("exp", x), np.array([0, 0, 1, inf, inf, nan], dtype))
    np.testing.assert_array_equal(run("log", x), np.array([nan, nan, -inf, np.log(1e4), inf, nan], dtype))
    np.testing.assert_array_equal(run("sign", x), np.array([-1, -1, 0, 1, 1, 0], dtype))
    assert not np.signbit(run("abs", np.array([-0.0], dtype)))[0]


# Casts


@pytest.mark.parametrize("source", ["float32", "float64", "int32", "uint8", "bool"])
@pytest.mark.parametrize("target", ["float32", "float64", "int32", "uint8", "bool"])
def test_a_cast_agrees_with_numpy(device, rng, source, target):
    if "float64" in (source, target) and not device.has_float64:
        pytest.skip(f"{device} has no float64")
    x = rng.uniform(0, 250, 4099)
    if source != "uint8" and target != "uint8":
        x -= 100
    x[::3] = 0
    x = x.astype(source)
    got = K.cast(Array.from_numpy(x), target).numpy()
    assert got.dtype == target
    np.testing.assert_array_equal(got, x.astype(target))


def test_a_cast_of_what_does_not_fit_has_a_stated_result(dtype):
    x = np.array([np.nan, 3e9, -3e9, np.inf, -np.inf, 2.9, -2.9, 300, -1], dtype)
    top, bottom = 2**31 - 1, -(2**31)
    want = np.array([0, top, bottom, top, bottom, 2, -2, 300, -1])
    np.testing.assert_array_equal(K.cast(Array.from_numpy(x), "int32").numpy(), want)
    np.testing.assert_array_equal(K.cast(Array.from_numpy(x), "uint8").numpy(), want % 256)
    np.testing.assert_array_equal(K.cast(Array.from_numpy(x), bool).numpy(), True)
    wide = np.array([257, -1, 256], np.int32)
    np.testing.assert_array_equal(K.cast(Array.from_numpy(wide), "uint8").numpy(), [1, 255, 0])
    np.testing.assert_array_equal(K.cast(Array.from_numpy(wide), bool).numpy().view(np.uint8), [1, 1, 1])


# Clamp, fill, copy, bias


@pytest.mark.parametrize("low, high", [(-0.5, 0.75), (None, 0.25), (0.25, None), (1.0, -1.0)])
def test_clamp_and_its_gradient(dtype, rng, low, high):
    x, g = rng.normal(size=(2, 1013)).astype(dtype)
    x[:3] = [-0.5, 0.75, 0.25]  # on the bounds the gradient still passes
    lowest, highest = -np.inf if low is None else low, np.inf if high is None else high
    got = K.clamp(Array.from_numpy(x), low, high).numpy()
    np.testing.assert_array_equal(got, np.minimum(np.maximum(x, dtype.type(lowest)), dtype.type(highest)))
    got = K.clamp_backward(Array.from_numpy(g), Array.from_numpy(x), low, high).numpy()
    np.testing.assert_array_equal(got, np.where((x >= lowest) & (x <= highest), g, 0))


def test_clamp_leaves_what_is_on_a_bound_bit_for_bit(dtype):
    """0 and -0 are equal, so neither is beyond the other."""
    x = np.array([0.0, -0.0], dtype)
    for low, high in ((0.0, 1.0), (-0.0, 1.0), (-1.0, 0.0), (-1.0, -0.0)):
        assert K.clamp(Array.from_numpy(x), low, high).numpy().tobytes() == x.tobytes()


def test_clamp_of_integers(device):
    x = np.array([-7, 0, 3, 9], np.int32)
    np.testing.assert_array_equal(K.clamp(Array.from_numpy(x), min=1, max=4).numpy(), [1, 1, 3, 4])
    np.testing.assert_array_equal(K.clamp(Array.from_numpy(x), max=4).numpy(), [-7, 0, 3, 4])


@pytest.mark.parametrize("kind", ["float32", "float64", "int32", "uint8", "bool"])
def test_fill_and_copy(device, kind):
    if kind == "float64" and not device.has_float64:
        pytest.skip(f"{device} has no float64")
    for n in SIZES:
        out = Array.empty((n,), kind)
        assert K.fill(out, 1) is out
        np.testing.assert_array_equal(out.numpy(), np.ones(n, kind))
        twin = K.copy(out)
        K.fill(out, 0)
        np.testing.assert_array_equal(twin.numpy(), np.ones(n, kind))


def test_fill_takes_nan_and_infinity(dtype):
    out = Array.empty((3,), dtype)
    assert np.isnan(K.fill(out, math.nan).numpy()).all()
    np.testing.assert_array_equal(K.fill(out, -math.inf).numpy(), -np.inf)


@pytest.mark.parametrize("shape", [(5, 7), (3, 5, 11), (2, 13, 5, 7), (0, 3, 2, 2), (4, 300)])
@pytest.mark.parametrize("activation", ["none", "relu", "sigmoid", "tanh"])
def test_bias_and_activation_in_one_pass(dtype, rng, shape, activation):
    x, bias = rng.normal(0, 2, shape).astype(dtype), rng.normal(0, 2, shape[1]).astype(dtype)
    z = x.astype(np.float64) + bias.astype(np.float64).reshape((-1,) + (1,) * (len(shape) - 2))
    want = {"none": z, "relu": np.maximum(z, 0), "sigmoid": 1 / (1 + np.exp(-z)), "tanh": np.tanh(z)}[activation]
    array = Array.from_numpy(x)
    # The sum is rounded once, which an activation of slope 1 or less passes on; then 6 ulp of the function's own.
    bound = np.finfo(dtype).eps * (np.abs(z) + 6 * np.abs(want))
    assert (np.abs(K.bias_activation(array, Array.from_numpy(bias), activation).numpy() - want) <= bound).all()
    K.bias_activation(array, Array.from_numpy(bias), activation, out=array)  # in place
    assert (np.abs(array.numpy() - want) <= bound).all()


# out=


def test_out_takes_the_result_and_may_be_an_operand(device, rng):
    x, y = rng.normal(size=(2, 1013)).astype(np.float32)
    a, b = Array.from_numpy(x), Array.from_numpy(y)
    out = Array.empty((1013,), np.float32)
    assert K.elementwise("sub", a, b, out=out) is out
    np.testing.assert_array_equal(out.numpy(), x - y)
    K.elementwise("sub", a, b, out=a)
    np.testing.assert_array_equal(a.numpy(), x - y)
    K.elementwise("neg", a, out=a)
    np.testing.assert_array_equal(a.numpy(), y - x)


def test_an_operand_that_is_repeated_cannot_be_out(device):
    row = Array.from_numpy(np.ones(4, np.float32))
    with pytest.raises(ValueError, match=r"out is float32\(4,\); the result is float32\(3, 4\)"):
        K.elementwise("add", row, Array.from_numpy(np.ones((3, 4), np.float32)), out=row)
    square = Array.from_numpy(np.ones((4, 1), np.float32))
    with pytest.raises(ValueError, match="shares memory"):
        K.elementwise("add", square, Array.from_numpy(np.ones((1, 1, 1), np.float32)), out=square.reshape(1, 4, 1))


# What is refused


def test_mistakes_are_told_in_sentences(device):
    x = Array.from_numpy(np.ones(3, np.float32))
    i = Array.from_numpy(np.ones(3, np.int32))
    cases = [
        (ValueError, "op is 'ad'; there is copy, neg", lambda: K.elementwise("ad", x, x)),
        (TypeError, "add takes 2 operands, got 1", lambda: K.elementwise("add", x)),
        (TypeError, "neg takes 1 operand, got 2", lambda: K.elementwise("neg", x, x)),
        (TypeError, "no operand is an Array", lambda: K.elementwise("add", 1, 2)),
        (TypeError, "operand 2 is a ndarray; it must be an Array", lambda: K.elementwise("add", x, x.numpy())),
        (TypeError, "operand 2 is int32, operand 1 is float32", lambda: K.elementwise("add", x, i)),
        (TypeError, "exp: the operand is int32; it must be floating point", lambda: K.elementwise("exp", i)),
        (TypeError, "the number is 0.5, the Array is int32", lambda: K.elementwise("add", i, 0.5)),
        (ValueError, "must fit in int32", lambda: K.elementwise("add", i, 2**31)),
        (TypeError, r"op is \['add'\]", lambda: K.elementwise(["add"], x, x)),
        (ValueError, r"out is float32\(3,\); the result is bool", lambda: K.elementwise("lt", x, x, out=x)),
        (TypeError, "condition is float32; it must be bool", lambda: K.where(x, x, x)),
        (TypeError, "y is int32, x is float32", lambda: K.where(K.elementwise("lt", x, 2), x, i)),
        (TypeError, "value is a list", lambda: K.fill(x, [1])),
        (ValueError, "uint8 holds 0 to 255", lambda: K.fill(Array.empty((2,), "uint8"), 256)),
        (ValueError, "min and max are None", lambda: K.clamp(x)),
        (ValueError, "NaN bounds nothing", lambda: K.clamp(x, math.nan)),
        (ValueError, "max is -3; uint8 holds 0 to 255", lambda: K.clamp(Array.empty((2,), "uint8"), 2, -3)),
        (ValueError, "min is 256", lambda: K.clamp(Array.empty((2,), "uint8"), 256)),
        (TypeError, "min is 'a'", lambda: K.clamp(x, "a")),
        (TypeError, "x is bool", lambda: K.clamp(K.elementwise("lt", x, 2), 0, 1)),
        (TypeError, "gpugrad has float16", lambda: K.cast(x, "complex64")),
        (ValueError, "activation is 'gelu'", lambda: K.bias_activation(x.reshape(1, 3), x, "gelu")),
        (ValueError, r"x must be \(N, 3, ...\)", lambda: K.bias_activation(x, x)),
        (ValueError, "bias has shape", lambda: K.bias_activation(x.reshape(1, 3), x.reshape(1, 3))),
        (ValueError, "do not broadcast", lambda: K.elementwise("add", x, Array.from_numpy(np.ones(4, np.float32)))),
    ]
    for error, match, call in cases:
        with pytest.raises(error, match=match):
            call()


def test_an_operation_refuses_the_dtypes_it_has_no_meaning_for(device):
    for op, operation in OPERATIONS.items():
        for kind, dtype in (("f", "float32"), ("i", "int32"), ("b", "bool")):
            args = [Array.from_numpy(np.ones(3, dtype))] * (1 if op in UNARY else 2)
            if operation.text(kind) is None:
                with pytest.raises(TypeError, match=f"{op}: the operand is {dtype}; it must be"):
                    K.elementwise(op, *args)
            else:
                assert K.elementwise(op, *args).shape == (3,)
