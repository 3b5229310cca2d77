"""Basic indexing of Arrays against NumPy: x[key], x[key] = value, and the gradient of x[key]."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from samples import DTYPES, Launches, examples, keys, same, sample, shapes

from gpugrad import kernels as K
from gpugrad.array import Array

A = Array.from_numpy


@pytest.mark.parametrize("dtype", DTYPES)
def test_reading_every_dtype(device, dtype):
    x = sample((4, 70, 3), dtype)
    same(K.get_slice(A(x), np.s_[1:, ::3, -1]), x[1:, ::3, -1])


@examples
@given(shape=shapes(0, 6), data=st.data())
def test_reading_any_key(device, shape, data):
    key = data.draw(keys(shape))
    x = sample(shape)
    same(K.get_slice(A(x), key), np.asarray(x[key]))


@examples
@given(shape=shapes(0, 6), data=st.data())
def test_writing_an_array_that_is_repeated_to_any_key(device, shape, data):
    key = data.draw(keys(shape))
    x = sample(shape)
    target = np.shape(x[key])
    kept = target[data.draw(st.integers(0, len(target))) :]
    value = sample([1 if data.draw(st.booleans()) else n for n in kept], seed=1)
    a = A(x)
    assert K.set_slice(a, key, A(value)) is a
    x[key] = value
    same(a, x)


@examples
@given(shape=shapes(0, 6), data=st.data(), dtype=st.sampled_from(DTYPES))
def test_writing_a_number_to_any_key(device, shape, data, dtype):
    key = data.draw(keys(shape))
    x = sample(shape, dtype)
    a = K.set_slice(A(x), key, 1)
    x[key] = 1
    same(a, x)


@examples
@given(shape=shapes(0, 6), data=st.data())
def test_the_gradient_of_any_key_is_zero_outside_it(device, shape, data):
    key = data.draw(keys(shape))
    expected = np.zeros(shape, np.float32)
    g = sample(np.shape(expected[key]))
    expected[key] = g
    same(K.slice_backward(A(g), key, shape), expected)


def test_a_slice_with_no_gap_inside_is_one_flat_copy(device):
    x = sample((8, 5, 7))
    with Launches() as launches:
        same(K.get_slice(A(x), np.s_[2:6]), x[2:6])
    (launch,) = launches
    sizes = [launch.named_args()[name] for name in ("D1", "D2", "D3")]
    assert sizes == [1, 1, 4 * 5 * 7]


def test_six_strided_axes_are_copied_in_several_launches(device):
    x = sample((5, 4, 5, 4, 5, 4))
    key = (slice(None, None, 2),) * 6
    same(K.get_slice(A(x), key), x[key])
    y = x.copy()
    y[key] = 7
    same(K.set_slice(A(x), key, 7), y)


def test_a_value_may_have_further_axes_of_1_in_front(device):
    x = sample((3, 4))
    same(K.set_slice(A(x), 0, A(np.ones((1, 1, 4), np.float32))), np.concatenate([np.ones((1, 4), np.float32), x[1:]]))


def test_an_index_may_be_anything_python_counts_with(device):
    x = sample((3, 4))
    same(K.get_slice(A(x), (np.int64(-1), slice(np.uint8(1), None))), x[-1, 1:])


def test_out_takes_the_result(device):
    x, out = sample((3, 4)), Array.empty((3,))
    assert K.get_slice(A(x), np.s_[:, 1], out=out) is out
    same(out, x[:, 1])


@pytest.mark.parametrize(
    "key, error, message",
    [
        (3, IndexError, "index 3 is outside axis 0, which has 3 elements"),
        ((0, -5), IndexError, "index -5 is outside axis 1, which has 4 elements"),
        ((0, 0, 0), IndexError, "3 indices; an array of shape \\(3, 4\\) has 2 axes"),
        ((..., ...), IndexError, "more than one '...'"),
        (slice(None, None, -1), ValueError, "step -1; steps are 1 or more. .* use flip"),
        (slice(None, None, 0), ValueError, "step 0"),
        (slice(0.5, None), TypeError, "start is 0.5"),
        (slice(None, True), TypeError, "stop is True"),
        (True, TypeError, "holds a bool"),
        (np.True_, TypeError, "holds a mask"),
        (np.ones((3, 4), bool), TypeError, "holds a mask.* where"),
        ([0, 1], TypeError, "holds list of indices; x.index_select"),
        ((slice(None), (0, 1)), TypeError, "holds tuple of indices"),
        (np.array([0, 1]), TypeError, "holds ndarray of indices"),
        (1.0, TypeError, "holds 1.0; it takes integers"),
        (np.float32(1), TypeError, "it takes integers"),
        ("a", TypeError, "holds 'a'"),
    ],
)
def test_keys_that_are_refused(device, key, error, message):
    x = A(sample((3, 4)))
    with pytest.raises(error, match=f"get_slice: .*{message}"):
        K.get_slice(x, key)
    with pytest.raises(error, match=f"set_slice: .*{message}"):
        K.set_slice(x, key, 0)


@pytest.mark.parametrize(
    "value, error, message",
    [
        (np.zeros((2,), np.float32), ValueError, "shape \\(2,\\), which cannot be repeated to the region's \\(4,\\)"),
        (np.zeros((2, 4), np.float32), ValueError, "shape \\(2, 4\\)"),
        (np.zeros((4,), np.int32), TypeError, "value is int32, x is float32"),
        ("1", TypeError, "value is a str"),
        (None, TypeError, "value is None"),
        (1j, TypeError, "value is a complex"),
    ],
)
def test_values_that_are_refused(device, value, error, message):
    x = A(sample((3, 4)))
    value = A(value) if isinstance(value, np.ndarray) else value
    with pytest.raises(error, match=f"set_slice: .*{message}"):
        K.set_slice(x, 0, value)
    same(x, sample((3, 4)))


def test_numbers_fit_the_dtype_or_are_refused(device):
    x = A(np.zeros(3, np.int32))
    same(K.set_slice(x, 0, -2.7), np.array([-2, 0, 0], np.int32))  # towards zero, as in PyTorch
    for value in (2**31, float("nan"), float("inf")):
        with pytest.raises(ValueError, match="int32 holds -2147483648 to 2147483647"):
            K.set_slice(x, 0, value)
    with pytest.raises(ValueError, match="uint8 holds 0 to 255"):
        K.set_slice(A(np.zeros(3, np.uint8)), 0, -1)
    same(K.set_slice(A(np.zeros(2, np.bool_)), 0, 5), np.array([True, False]))
    same(K.set_slice(A(np.zeros(2, np.float32)), 0, 1e40), np.array([np.inf, 0], np.float32))
    with pytest.raises(ValueError, match="digits"):
        K.set_slice(A(np.zeros(2, np.float32)), 0, 10**400)


def test_the_gradient_refuses_a_shape_that_the_key_does_not_give(device):
    with pytest.raises(ValueError, match="slice_backward: grad_output has shape \\(3,\\); x\\[key\\] has \\(2,\\)"):
        K.slice_backward(A(sample((3,))), np.s_[:2], (5,))


def test_out_must_not_share_memory_with_what_is_read(device):
    x, index = A(sample((3, 3))), A(np.array([0, 1, 2]))
    for call in (
        lambda out: K.get_slice(x, slice(None), out=out),
        lambda out: K.slice_backward(x, ..., (3, 3), out=out),
        lambda out: K.permute(x, (1, 0), out=out),
        lambda out: K.transpose(x, out=out),
        lambda out: K.expand(x, (3, 3), out=out),
        lambda out: K.flip(x, 0, out=out),
        lambda out: K.cat([x], out=out),
        lambda out: K.stack([x], out=out.reshape(1, 3, 3)),
        lambda out: K.pad(x, (1, -1), out=out),
        lambda out: K.index_select(x, 0, index, out=out),
        lambda out: K.index_select_backward(x, 0, index, 3, out=out),
    ):
        with pytest.raises(ValueError, match="out shares memory with an input"):
            call(x.reshape(3, 3))
