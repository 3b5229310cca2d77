"""Padding against its definition, element by element."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from samples import DTYPES, Launches, examples, same, sample, shapes

from gpugrad import kernels as K
from gpugrad.array import Array

A = Array.from_numpy


def padded(x, pad, value):
    """out[i] = x[i - before] where that is inside x, else value."""
    pairs = [(pad[i], pad[i + 1]) for i in range(0, len(pad), 2)][::-1]
    pairs = [(0, 0)] * (x.ndim - len(pairs)) + pairs
    out = np.full([n + b + a for n, (b, a) in zip(x.shape, pairs)], value, x.dtype)
    for index in itertools.product(*map(range, out.shape)):
        source = tuple(i - b for i, (b, _) in zip(index, pairs))
        if all(0 <= i < n for i, n in zip(source, x.shape)):
            out[index] = x[source]
    return out


@st.composite
def geometries(draw):
    """A shape, and numbers that pad or cut each axis but take no more off than there is."""
    shape = draw(shapes(1, 5, 4))
    pad = []
    for n in shape[::-1][: draw(st.integers(0, len(shape)))]:
        before = draw(st.integers(-n, 3))
        pad += [before, draw(st.integers(-n - min(before, 0), 3))]
    return shape, pad


@pytest.mark.parametrize("dtype", DTYPES)
def test_padding_of_every_dtype(device, dtype):
    x = sample((2, 3, 5), dtype)
    same(K.pad(A(x), (1, 2, 3, 0), value=1), padded(x, (1, 2, 3, 0), 1))


@examples
@given(geometry=geometries())
def test_padding_and_cutting_of_any_axes(device, geometry):
    shape, pad = geometry
    x = sample(shape)
    same(K.pad(A(x), pad, value=7.5), padded(x, pad, 7.5))


@pytest.mark.parametrize("width", [1, 62, 63, 64, 65, 1030])
def test_rows_of_every_length_reach_their_last_element(device, width):
    x = sample((3, width))
    same(K.pad(A(x), (1, 1, 1, 1)), padded(x, (1, 1, 1, 1), 0))


def test_two_axes_take_one_launch_and_five_take_three(device):
    x = sample((2, 3, 2, 3, 2))
    with Launches() as launches:
        same(K.pad(A(x), (1, 1, 0, 0, 2, 0)), padded(x, (1, 1, 0, 0, 2, 0), 0))
    assert len(launches) == 1
    with Launches() as launches:
        same(K.pad(A(x), (1,) * 10, value=-1), padded(x, (1,) * 10, -1))
    assert len(launches) == 3


def test_padding_by_nothing_is_a_copy(device):
    x = A(sample((2, 3)))
    for pad in ((), (0, 0), [0, 0, 0, 0]):
        out = K.pad(x, pad)
        same(out, sample((2, 3)))
        assert out.block is not x.block


def test_a_batch_of_none_and_an_empty_axis(device):
    same(K.pad(A(sample((0, 3))), (1, 1)), np.zeros((0, 5), np.float32))
    same(K.pad(A(sample((3, 0))), (1, 1), value=4), np.full((3, 2), 4, np.float32))
    same(K.pad(A(sample((3, 4))), (-2, -2)), np.zeros((3, 0), np.float32))


def test_nan_and_infinity_pad_and_are_copied(device):
    x = np.array([np.nan, np.inf], np.float32)
    same(K.pad(A(x), (1, 0), value=float("-inf")), np.array([-np.inf, np.nan, np.inf], np.float32))
    same(K.pad(A(x), (0, 1), value=float("nan")), np.array([np.nan, np.inf, np.nan], np.float32))


def test_a_value_of_none_is_zero(device):
    same(K.pad(A(sample((2,))), (1, 0), "constant", None), padded(sample((2,)), (1, 0), 0))


@examples
@given(geometry=geometries())
def test_padding_by_the_negative_numbers_is_the_adjoint(device, geometry):
    shape, pad = geometry
    x = sample(shape, np.float64)
    out = K.pad(A(x), pad).numpy()
    g = sample(out.shape, np.float64, seed=1)
    back = K.pad(A(g), [-n for n in pad]).numpy()
    assert back.shape == x.shape
    np.testing.assert_allclose((out * g).sum(), (x * back).sum(), rtol=1e-11, atol=1e-11)  # up to 1000 terms near 1


@pytest.mark.parametrize("mode", ["reflect", "replicate", "circular", "zeros", None])
def test_other_modes_are_refused_by_name(device, mode):
    with pytest.raises(ValueError, match=f"pad: mode is {mode!r}; gpugrad has 'constant'"):
        K.pad(A(sample((3,))), (1, 1), mode)


@pytest.mark.parametrize(
    "pad, error, message",
    [
        ((1,), ValueError, "pad has 1 numbers; it takes two for each axis"),
        ((1,) * 6, ValueError, "pad has 6 numbers; .* up to 4 for an input of shape \\(2, 3\\)"),
        (1, TypeError, "pad is 1; give a sequence"),
        ("11", TypeError, "give a sequence"),
        ((1, 1.5), TypeError, r"pad\[1\] is 1.5; it must be an integer"),
        ((True, 1), TypeError, r"pad\[0\] is True"),
        ((-2, -2), ValueError, "takes 2 and 2 elements off the two ends of axis 1, which has 3"),
        ((-4, 5), ValueError, "takes 4 and 0 elements off"),
        ((0, 0, 5, -3), ValueError, "takes 0 and 3 elements off the two ends of axis 0, which has 2"),
    ],
)
def test_pads_that_are_refused(device, pad, error, message):
    with pytest.raises(error, match=f"pad: .*{message}"):
        K.pad(A(sample((2, 3))), pad)


def test_values_and_arrays_that_are_refused(device):
    with pytest.raises(TypeError, match="pad: value is a str"):
        K.pad(A(sample((3,))), (1, 1), value="0")
    with pytest.raises(ValueError, match="pad: value is nan; int32 holds"):
        K.pad(A(sample((3,), np.int32)), (1, 1), value=float("nan"))
    with pytest.raises(TypeError, match="pad: x is a ndarray; it must be an Array"):
        K.pad(sample((3,)), (1, 1))
    with pytest.raises(ValueError, match="pad: out is float32\\(4,\\); the result is float32\\(5,\\)"):
        K.pad(A(sample((3,))), (1, 1), out=Array.empty((4,)))
