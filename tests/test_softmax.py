"""softmax and log-softmax against plain loops in float64, in every variant, and their gradients' kernels."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from samples import examples

from gpugrad import kernels as K
from gpugrad.array import Array
from gpugrad.custom import kernel

VARIANTS = K.variants("softmax")
FLOATS = [np.float32, np.float64]

#: (shape, axis): around the work-groups' 64 and 16 work-items, lines of one, one line, several axes behind.
CASES = [
    ((1,), 0),
    ((10,), 0),
    ((5, 1), 1),
    ((7, 10), 1),
    ((7, 10), 0),
    ((3, 4, 5), 1),
    ((2, 3, 4, 5), -3),
    ((2, 63), 1),
    ((2, 65), 1),
    ((17, 3), 1),
    ((2, 1000), -1),
]
#: 8 roundings of up to eps besides those of the sum, and exp's own: up to 4 eps, above and below the line.
ROUNDINGS = 16


def in_parts(n):
    """The roundings that an element goes through in a sum of n, of 256 at a time."""
    return min(n, 256) + n / 256


def lines(x, dim):
    """Every line of x along `dim`, with where it stands."""
    moved = np.moveaxis(x, dim, -1)
    for index in np.ndindex(moved.shape[:-1]):
        yield index, moved[index]


def reference(name, x, dim):
    out = np.empty(x.shape, np.float64)
    moved = np.moveaxis(out, dim, -1)
    for index, line in lines(x.astype(np.float64), dim):
        m = max(line)
        s = math.fsum(math.exp(a - m) for a in line)
        for i, a in enumerate(line):
            moved[index][i] = math.exp(a - m) / s if name == "softmax" else a - m - math.log(s)
    return out


def close(name, got, x, dim):
    expected, n, eps = reference(name, x, dim), x.shape[dim], np.finfo(x.dtype).eps
    assert got.dtype == x.dtype and got.shape == x.shape
    # x - max is rounded; exp makes a relative error of that
    far = np.abs(x.astype(np.float64) - x.astype(np.float64).max(dim, keepdims=True)).max(dim, keepdims=True)
    tolerance = (in_parts(n) + ROUNDINGS + 2 * far) * eps * (expected if name == "softmax" else 1)
    assert (np.abs(got - expected) <= tolerance).all()


def test_the_ladder_starts_with_the_one_to_read():
    assert VARIANTS == ["naive", "stable", "online", "lanes"]


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("variant", [*VARIANTS, None])
@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
@pytest.mark.parametrize(("shape", "dim"), CASES, ids=str)
def test_agrees_with_the_definition(device, rng, shape, dim, name, variant, dtype):
    x = (3 * rng.standard_normal(shape)).astype(dtype)
    close(name, getattr(K, name)(Array.from_numpy(x), dim, variant=variant).numpy(), x, dim)


@examples
@given(shape=st.lists(st.integers(0, 7), min_size=1, max_size=4).map(tuple), data=st.data())
def test_any_shape_and_axis(device, shape, data):
    dim = data.draw(st.integers(-len(shape), len(shape) - 1))
    x = np.random.default_rng(1).standard_normal(shape).astype(np.float32)
    for name in ("softmax", "log_softmax"):
        for variant in VARIANTS:
            got = getattr(K, name)(Array.from_numpy(x), dim, variant=variant).numpy()
            assert got.shape == x.shape
            if x.size:
                close(name, got, x, dim)


@pytest.mark.large
@pytest.mark.parametrize("variant", VARIANTS[1:])
@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_a_long_line_of_equal_numbers_keeps_its_digits(device, name, variant):
    """Each addition to a long sum of equal terms rounds the same way: a plain loop is 3000 eps off."""
    x = np.full((1, 200_003), -0.1, np.float32)
    x[0, 7] = 0
    close(name, getattr(K, name)(Array.from_numpy(x), 1, variant=variant).numpy(), x, 1)


@pytest.mark.large
@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_the_gradient_of_a_long_line_keeps_its_digits(device, name):
    n = 200_003
    g = np.full((1, n), 0.1, np.float32)
    g[0, 0] = 0
    y = np.full((1, n), 1 / n if name == "softmax" else -math.log(n), np.float32)
    got = K.softmax_backward(name, Array.from_numpy(g), Array.from_numpy(y), 1).numpy()
    wide_g, wide_y = g.astype(np.float64), y.astype(np.float64)
    total = (wide_g * wide_y).sum() if name == "softmax" else wide_g.sum()
    expected = wide_y * (wide_g - total) if name == "softmax" else wide_g - np.exp(wide_y) * total
    # the sum's error, the product's, and where the two almost cancel the rounding of both
    size = np.abs(wide_y) * 0.1 if name == "softmax" else 0.1
    assert (np.abs(got - expected) <= (in_parts(n) + ROUNDINGS) * np.finfo(np.float32).eps * size).all()


@pytest.mark.parametrize("variant", VARIANTS[1:])
@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_huge_numbers_do_not_overflow(device, name, variant):
    x = np.array([[1e4, 1e4 - 1, -1e4], [2e38, 0, -1e38], [-2e38, -2e38, -3e38], [100, 99, 98]], np.float32)
    close(name, getattr(K, name)(Array.from_numpy(x), 1, variant=variant).numpy(), x, 1)


def test_the_naive_variant_overflows_where_the_others_do_not(device):
    x = Array.from_numpy(np.array([[100.0, 99.0]], np.float32))
    assert np.isnan(K.softmax(x, 1, variant="naive").numpy()).any()


@pytest.mark.parametrize("variant", VARIANTS)
def test_minus_infinity_has_probability_0_wherever_it_stands(device, variant):
    for n in (3, 70, 200):
        for at in ([0], [n - 1], [0, 1], list(range(1, n))):
            x = np.linspace(-1, 1, n, dtype=np.float32)[None]
            x[0, at] = -np.inf
            finite = np.delete(x, at, 1)
            p = K.softmax(Array.from_numpy(x), 1, variant=variant).numpy()
            assert (p[0, at] == 0).all()
            close("softmax", np.delete(p, at, 1), finite, 1)
            log_p = K.log_softmax(Array.from_numpy(x), 1, variant=variant).numpy()
            assert (log_p[0, at] == -np.inf).all()
            close("log_softmax", np.delete(log_p, at, 1), finite, 1)


@pytest.mark.parametrize("variant", VARIANTS[1:])
@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
@pytest.mark.parametrize("n", [3, 140])
@pytest.mark.parametrize(
    "line", [[-np.inf], [np.inf, 0], [0, 1, np.inf], [np.nan, 0], [1, 0, np.nan], [-np.inf, np.nan]]
)
def test_a_line_without_a_finite_answer_is_nan_and_no_other_is(device, line, n, name, variant):
    x = np.zeros((3, n), np.float32)
    x[1] = line[0]
    x[1, : len(line)] = line
    got = getattr(K, name)(Array.from_numpy(x), 1, variant=variant).numpy()
    assert np.isnan(got[1]).all() and not np.isnan(got[[0, 2]]).any()


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(("shape", "dim"), [*CASES, ((0, 4), 1), ((4, 0), 1)], ids=str)
@pytest.mark.parametrize("variant", VARIANTS[1:])
def test_the_gradients_agree_with_their_formulas(device, rng, shape, dim, variant, dtype, monkeypatch):
    shortest = 1 if variant == "online" else 1 << 31  # line that a work-group shares
    monkeypatch.setitem(K.tuning.TUNING, "softmax shared", {"cpu": shortest, "gpu": shortest})
    monkeypatch.setitem(K.tuning.TUNING, "softmax", {"cpu": variant, "gpu": variant})
    g = rng.standard_normal(shape).astype(dtype)
    y = rng.standard_normal(shape).astype(dtype)
    g64, y64 = g.astype(np.float64), y.astype(np.float64)
    expected = {
        "softmax": y64 * (g64 - (g64 * y64).sum(dim, keepdims=True)),
        "log_softmax": g64 - np.exp(y64) * g64.sum(dim, keepdims=True),
    }
    for name, value in expected.items():
        got = K.softmax_backward(name, Array.from_numpy(g), Array.from_numpy(y), dim).numpy()
        # n additions of numbers around 1, times exp(y) of up to about 30
        np.testing.assert_allclose(got, value, rtol=0, atol=60 * (shape[dim] + 8) * np.finfo(dtype).eps)


def test_out_takes_the_result(device, rng):
    x = Array.from_numpy(rng.standard_normal((3, 4)).astype(np.float32))
    out = Array.empty((3, 4))
    assert K.softmax(x, 0, out=out) is out
    np.testing.assert_array_equal(out.numpy(), K.softmax(x, 0).numpy())


def test_a_kernel_of_your_own_takes_over_softmax(device, rng):
    source = """
        __kernel void equal(__global const float *x, __global float *out, int outer, int n, int inner) {
          int k = get_global_id(0);
          if (k < outer * inner)
            for (int i = 0; i < n; i++) out[(k / inner * n + i) * inner + k % inner] = 1.0f / n;
        }"""
    x = rng.standard_normal((3, 4, 5)).astype(np.float32)
    with K.use_kernels(softmax=kernel(source)):
        np.testing.assert_array_equal(K.softmax(Array.from_numpy(x), 1).numpy(), np.full(x.shape, 0.25))
        close("log_softmax", K.log_softmax(Array.from_numpy(x), 1).numpy(), x, 1)


BAD = [
    (lambda x: K.softmax(x, 2), IndexError, "softmax: dim is 2; an input of 2 dimensions has dim -2 to 1"),
    (lambda x: K.log_softmax(x, None), TypeError, "log_softmax: dim is None; it must be an integer"),
    (lambda x: K.softmax(x.numpy(), 1), TypeError, "softmax: x is a ndarray; it must be an Array"),
    (lambda x: K.softmax(Array.empty((2, 3), np.int32), 1), TypeError, "softmax: x is int32; it must be floating"),
    (lambda x: K.softmax(x, 1, out=x), ValueError, "softmax: out shares memory with an input"),
    (lambda x: K.softmax(x, 1, variant="quick"), ValueError, "variant is 'quick'; there is naive, stable, online"),
    (lambda x: K.softmax_backward("softmin", x, x, 1), ValueError, "name is 'softmin'"),
    (lambda x: K.softmax_backward("softmax", x.reshape(3, 2), x, 1), ValueError, r"g has shape \(3, 2\)"),
]


@pytest.mark.parametrize(("call", "error", "message"), BAD)
def test_bad_arguments_are_told_in_a_sentence(device, call, error, message):
    with pytest.raises(error, match=message):
        call(Array.from_numpy(np.zeros((2, 3), np.float32)))
