"""Strided copies against NumPy: permute, expand, flip, cat, stack."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from samples import DTYPES, Launches, examples, same, sample, shapes

from gpugrad import kernels as K
from gpugrad.array import Array
from gpugrad.kernels.strided import Region, fill_part, move, whole

A = Array.from_numpy


# permute


@pytest.mark.parametrize("dtype", DTYPES)
def test_permute_of_every_dtype(device, dtype):
    x = sample((3, 70, 2, 41), dtype)
    same(K.permute(A(x), (3, 0, 2, 1)), x.transpose(3, 0, 2, 1))


@examples
@given(shape=shapes(1, 6), data=st.data())
def test_permute_of_any_shape(device, shape, data):
    dims = data.draw(st.permutations(range(len(shape))))
    x = sample(shape)
    same(K.permute(A(x), dims), x.transpose(dims))


def test_more_than_four_axes_take_a_launch_for_each_index_of_the_shortest(device):
    x = sample((6, 7, 2, 3, 8))
    dims = (4, 3, 2, 1, 0)  # no two neighbours stay neighbours
    with Launches() as launches:
        same(K.permute(A(x), dims), x.transpose(dims))
    assert len(launches) == 2


def test_axes_that_stay_together_count_as_one(device):
    x = sample((2, 3, 4, 5, 6, 7, 2, 2))
    dims = (0, 1, 4, 5, 2, 3, 6, 7)
    with Launches() as launches:
        same(K.permute(A(x), dims), x.transpose(dims))
    assert len(launches) == 1


def test_permute_keeps_nan_payloads_and_signed_zeros(device):
    bits = np.array([[0x7FC00001, 0xFFC00002, 0x80000000], [0x7F800000, 0x00000001, 0x7FFFFFFF]], np.uint32)
    got = K.permute(A(bits.view(np.float32)), (1, 0)).numpy().view(np.uint32)
    np.testing.assert_array_equal(got, bits.T)


def test_permute_takes_negative_dims_and_out(device):
    x = sample((2, 3, 4))
    out = Array.empty((4, 2, 3))
    assert K.permute(A(x), (-1, 0, -2), out=out) is out
    same(out, x.transpose(2, 0, 1))


@pytest.mark.parametrize(
    "dims, error, message",
    [
        ((0, 1), ValueError, "each of the 3 axes once"),
        ((0, 1, 1), ValueError, "each of the 3 axes once"),
        ((0, 1, 3), IndexError, "dim is 3"),
        ((0, 1, 1.5), TypeError, "must be an integer"),
        (2, TypeError, "one integer for each axis"),
        ("012", TypeError, "one integer for each axis"),
    ],
)
def test_permute_refuses(device, dims, error, message):
    with pytest.raises(error, match=message):
        K.permute(A(sample((2, 3, 4))), dims)


# expand


@pytest.mark.parametrize("dtype", DTYPES)
def test_expand_of_every_dtype(device, dtype):
    x = sample((3, 1, 5), dtype)
    same(K.expand(A(x), (2, 3, 70, -1)), np.broadcast_to(x, (2, 3, 70, 5)))


@examples
@given(shape=shapes(0, 5, 4), data=st.data())
def test_expand_of_any_shape(device, shape, data):
    x = sample([1 if data.draw(st.booleans()) else n for n in shape])
    wide = [data.draw(st.integers(0, 3)) for _ in range(data.draw(st.integers(0, 2)))]
    wide += [data.draw(st.integers(0, 4)) if n == 1 else data.draw(st.sampled_from([n, -1])) for n in x.shape]
    new = wide[: len(wide) - x.ndim] + [o if n == -1 else n for n, o in zip(wide[len(wide) - x.ndim :], x.shape)]
    same(K.expand(A(x), wide), np.broadcast_to(x, new))


@pytest.mark.parametrize(
    "shape, message",
    [
        ((3,), "has more dimensions"),
        ((2, 4), "size 1 is 4, and the axis has 3"),
        ((-1, 2, 3), "size 0 of .* is -1"),
        ((2, -2), "size is -2"),
    ],
)
def test_expand_refuses(device, shape, message):
    with pytest.raises(ValueError, match=f"expand: .*{message}"):
        K.expand(A(sample((2, 3))), shape)


# flip


@pytest.mark.parametrize("dtype", DTYPES)
def test_flip_of_every_dtype(device, dtype):
    x = sample((3, 70, 5), dtype)
    same(K.flip(A(x), (0, -1)), x[::-1, :, ::-1])


@examples
@given(shape=shapes(0, 6, 4), data=st.data())
def test_flip_along_any_axes(device, shape, data):
    dims = [d for d in range(len(shape)) if data.draw(st.booleans())]
    x = sample(shape)
    same(K.flip(A(x), dims), np.flip(x, dims))


def test_flip_takes_one_axis_and_refuses_one_twice(device):
    x = sample((2, 3))
    same(K.flip(A(x), 1), x[:, ::-1])
    with pytest.raises(ValueError, match="flip: dim is \\(1, -1\\); it names an axis twice"):
        K.flip(A(x), (1, -1))
    with pytest.raises(IndexError, match="flip: dim is 2"):
        K.flip(A(x), 2)


# cat and stack


@pytest.mark.parametrize("dtype", DTYPES)
def test_cat_of_every_dtype(device, dtype):
    parts = [sample((3, n, 5), dtype, seed=n) for n in (1, 70, 0, 4)]
    same(K.cat([A(p) for p in parts], 1), np.concatenate(parts, 1))


@examples
@given(shape=shapes(1, 6, 4), data=st.data())
def test_cat_along_any_axis(device, shape, data):
    d = data.draw(st.integers(-len(shape), len(shape) - 1))
    parts = []
    for seed in range(data.draw(st.integers(1, 4))):
        size = list(shape)
        size[d] = data.draw(st.integers(0, 4))
        parts.append(sample(size, seed=seed))
    same(K.cat([A(p) for p in parts], d), np.concatenate(parts, d))


@examples
@given(shape=shapes(0, 5, 4), data=st.data())
def test_stack_along_any_new_axis(device, shape, data):
    d = data.draw(st.integers(-len(shape) - 1, len(shape)))
    parts = [sample(shape, seed=seed) for seed in range(data.draw(st.integers(1, 4)))]
    same(K.stack([A(p) for p in parts], d), np.stack(parts, d))


def test_cat_launches_once_for_each_array_that_has_elements(device):
    parts = [A(sample((3, n))) for n in (2, 0, 5)]
    with Launches() as launches:
        K.cat(parts, 1)
    assert len(launches) == 2


@pytest.mark.parametrize(
    "arrays, dim, error, message",
    [
        ([], 0, ValueError, "arrays is empty"),
        (sample((2, 3)), 0, TypeError, "arrays is ndarray"),
        ([sample((2, 3)), sample((2, 4))], 0, ValueError, "shapes \\(2, 3\\) and \\(2, 4\\)"),
        ([sample((2, 3)), sample((2,))], 0, ValueError, "shapes \\(2, 3\\) and \\(2,\\)"),
        ([sample((2, 3))], 2, IndexError, "dim is 2"),
        ([sample(()), sample(())], 0, ValueError, "0-d"),
        ([sample((2,)), sample((2,), np.int32)], 0, TypeError, r"arrays\[1\] is int32"),
    ],
)
def test_cat_refuses(device, arrays, dim, error, message):
    if isinstance(arrays, list):
        arrays = [A(a) for a in arrays]
    with pytest.raises(error, match=f"cat: .*{message}"):
        K.cat(arrays, dim)


def test_stack_refuses_arrays_of_different_shapes(device):
    with pytest.raises(ValueError, match="stack: arrays 0 and 1 have shapes"):
        K.stack([A(sample((2,))), A(sample((3,)))])
    with pytest.raises(IndexError, match="stack: dim is 3"):
        K.stack([A(sample((2,)))], 3)


# The core


def test_a_copy_to_a_region_leaves_the_rest_alone(device):
    out = A(np.zeros((4, 6), np.float32))
    move(A(sample((2, 3))), whole((2, 3)), out, Region((2, 3), (12, 2), 1))
    expected = np.zeros((4, 6), np.float32)
    expected[::2, 1::2] = sample((2, 3))
    same(out, expected)


@pytest.mark.parametrize("size", [1, 15, 16, 17, 1023, 1024, 1025, 4099])
def test_rows_of_every_length_reach_their_last_element(device, size):
    x = sample((3, 2 * size))
    out = Array.empty((3, size))
    move(A(x), Region((3, size), (2 * size, 1), size), out, whole((3, size)))
    same(out, x[:, size:])


@pytest.mark.parametrize("size", [1, 15, 16, 17, 1023, 1024, 1025, 4099])
def test_filling_rows_of_every_length_reaches_their_last_element(device, size):
    out = A(np.zeros((3, 2 * size), np.float32))
    fill_part(2.5, out, Region((3, size), (2 * size, 1), size - 1))
    expected = np.zeros((3, 2 * size), np.float32)
    expected[:, size - 1 : 2 * size - 1] = 2.5
    same(out, expected)


@pytest.mark.parametrize("axes", [1, 2, 3, 4, 5])
def test_filling_every_second_element_of_every_axis(device, axes):
    out = A(np.zeros((6,) * axes, np.float32))
    strides = tuple(2 * s for s in whole(out.shape).strides)
    fill_part(1, out, Region((3,) * axes, strides, whole(out.shape).strides[0]))
    expected = np.zeros((6,) * axes, np.float32)
    expected[(slice(1, None, 2), *[slice(None, None, 2)] * (axes - 1))] = 1
    same(out, expected)


def test_writes_count_as_a_new_version_of_the_target_only(device):
    x, out = A(sample((4, 5))), Array.empty((5, 4))
    before = x.state.version, out.state.version
    K.permute(x, (1, 0), out=out)
    assert (x.state.version, out.state.version) == (before[0], before[1] + 1)
