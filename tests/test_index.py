"""Picking by index against NumPy, the sums that are its gradient, and one_hot."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from samples import DTYPES, examples, same, sample, shapes

from gpugrad import kernels as K
from gpugrad.array import Array
from gpugrad.custom import kernel
from gpugrad.kernels.index import sorted_positions

VARIANTS = K.variants("index_select_backward")
A = Array.from_numpy


def sums(g, d, index, size):
    """The gradient of picking, by its definition, in float64."""
    out = np.zeros(g.shape[:d] + (size,) + g.shape[d + 1 :])
    for j, k in enumerate(index):
        here = (slice(None),) * d
        out[(*here, k)] += g[(*here, j)]
    return out


@pytest.mark.parametrize("dtype", DTYPES)
def test_picking_from_every_dtype(device, rng, dtype):
    x, index = sample((3, 7, 70), dtype), rng.integers(0, 7, 20)
    same(K.index_select(A(x), 1, A(index)), x[:, index])


@examples
@given(shape=shapes(1, 5, 6), data=st.data())
def test_picking_along_any_axis(device, shape, data):
    d = data.draw(st.integers(-len(shape), len(shape) - 1))
    count = data.draw(st.integers(0, 9)) if shape[d] else 0
    index = np.array([data.draw(st.integers(0, shape[d] - 1)) for _ in range(count)], np.int32)
    x = sample(shape)
    same(K.index_select(A(x), d, A(index)), np.take(x, index, d))


def test_an_index_of_bytes_is_fine(device):
    x = sample((300, 2))
    same(K.index_select(A(x), 0, A(np.array([255, 0], np.uint8))), x[[255, 0]])


@pytest.mark.parametrize("bad", [-1, 5, 2**31 - 1, -(2**31)])
def test_a_bad_index_raises_at_the_next_read_and_names_itself(device, bad):
    index = A(np.array([0, 4, bad, 1]))
    out = K.index_select(A(sample((5, 3))), 0, index)
    with pytest.raises(IndexError, match=f"index {bad} at position 2 is not in 0..4; x is \\(5, 3\\), dim 0"):
        out.numpy()
    expected = sample((5, 3))[[0, 4, 0, 1]]
    expected[2] = 0
    same(out, expected)  # once told, the rest can be read


def test_any_index_into_nothing_is_bad(device):
    out = K.index_select(A(np.zeros((0, 3), np.float32)), 0, A(np.array([0])))
    with pytest.raises(IndexError, match="index 0 at position 0"):
        out.numpy()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("J", [0, 1, 31, 32, 33, 64, 65, 257, 1000])
def test_the_gradient_sums_what_was_picked_several_times(device, rng, J, variant, dtype):
    g, index = rng.standard_normal((2, J, 3)).astype(dtype), rng.integers(0, 17, J)
    got = K.index_select_backward(A(g), 1, A(index), 17, variant=variant).numpy()
    assert got.dtype == dtype
    # a sum of J numbers in order: J roundings, each of eps times a partial sum
    bound = np.finfo(dtype).eps * J * sums(np.abs(g), 1, index, 17)
    assert (np.abs(got - sums(g, 1, index, 17)) <= bound).all()


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("inner", [1, 63, 64, 65, 200])
def test_the_gradient_of_rows_of_any_length(device, rng, inner, variant):
    g, index = rng.integers(-9, 9, (40, inner)).astype(np.float32), rng.integers(0, 5, 40)
    got = K.index_select_backward(A(g), 0, A(index), 5, variant=variant)
    same(got, sums(g, 0, index, 5).astype(np.float32))  # small integers: exact


def test_every_variant_adds_in_the_order_of_the_index(device, rng):
    g = (rng.standard_normal(500) * 10.0 ** rng.integers(-6, 6, 500)).astype(np.float32)
    index = rng.integers(0, 3, 500)
    expected = np.zeros(3, np.float32)
    for j, k in enumerate(index):
        expected[k] += g[j]
    for variant in VARIANTS:
        for _ in range(3):
            same(K.index_select_backward(A(g), 0, A(index), 3, variant=variant), expected)


def test_indices_out_of_range_add_nothing(device):
    g, index = np.ones(5, np.float32), np.array([-1, 0, 2, 3, 2**31 - 1], np.int32)
    for variant in VARIANTS:
        same(K.index_select_backward(A(g), 0, A(index), 3, variant=variant), np.array([1, 0, 1], np.float32))


def test_sums_over_nothing_are_zero(device):
    for variant in VARIANTS:
        out = K.index_select_backward(A(np.zeros((0, 2), np.float32)), 0, A(np.zeros(0, np.int32)), 3, variant=variant)
        same(out, np.zeros((3, 2), np.float32))


def test_picking_and_summing_are_adjoint(device, rng):
    x, g, index = rng.standard_normal((4, 9, 3)), rng.standard_normal((4, 20, 3)), rng.integers(0, 9, 20)
    picked = K.index_select(A(x), 1, A(index)).numpy()
    summed = K.index_select_backward(A(g), 1, A(index), 9).numpy()
    np.testing.assert_allclose((picked * g).sum(), (x * summed).sum(), rtol=1e-12)  # float64, 240 terms


def test_a_kernel_of_your_own_stands_in_for_the_naive_one(device, rng):
    mine = kernel("""
        __kernel void mine(__global const float *g, __global const int *index, __global float *out,
                           int D, int J, int inner) {
          int i = get_global_id(0), d = get_global_id(1), o = get_global_id(2);
          if (i < inner && d < D) out[(o * D + d) * inner + i] = J;
        }""")
    g, index = sample((2, 6, 5)), rng.integers(0, 3, 6)
    with K.use_kernels(index_select_backward=mine):
        same(K.index_select_backward(A(g), 1, A(index), 3), np.full((2, 3, 5), 6, np.float32))


@pytest.mark.parametrize("J", [0, 1, 2, 31, 32, 33, 63, 64, 65, 96, 97, 1000])
def test_sorting_keeps_the_order_of_equals(device, rng, J):
    index = rng.integers(-4, 5, J).astype(np.int32)
    key, position = sorted_positions(A(index))
    same(key, np.sort(index))
    same(position, np.argsort(index, kind="stable").astype(np.int32))


def test_sorting_reaches_the_ends_of_int(device):
    index = np.array([0, 2**31 - 1, -(2**31), 2**31 - 1, -1] * 20, np.int32)
    same(sorted_positions(A(index))[1], np.argsort(index, kind="stable").astype(np.int32))


@pytest.mark.parametrize(
    "x, dim, index, error, message",
    [
        (sample((3, 4)), 2, np.array([0]), IndexError, "dim is 2"),
        (sample((3, 4)), 0, np.array([[0]]), ValueError, "index has shape \\(1, 1\\); it must have 1 dimension"),
        (sample((3, 4)), 0, np.array([0.0]), TypeError, "index is float64"),
        (sample((3, 4)), 0, np.array([True]), TypeError, "index is bool"),
        (sample(()), 0, np.array([0]), ValueError, "0-d"),
    ],
)
def test_index_select_refuses(device, x, dim, index, error, message):
    with pytest.raises(error, match=f"index_select: .*{message}"):
        K.index_select(A(x), dim, A(index))


def test_the_gradient_refuses_what_does_not_fit(device):
    index = A(np.array([0, 1]))
    with pytest.raises(ValueError, match="must have as many elements as index, 2"):
        K.index_select_backward(A(sample((3, 4))), 0, index, 5)
    with pytest.raises(TypeError, match="grad_output is int32; it must be floating point"):
        K.index_select_backward(A(sample((2,), np.int32)), 0, index, 5)
    with pytest.raises(ValueError, match="size is -1"):
        K.index_select_backward(A(sample((2,))), 0, index, -1)
    with pytest.raises(ValueError, match="variant is 'fast'; there is naive, sorted"):
        K.index_select_backward(A(sample((2,))), 0, index, 5, variant="fast")


# one_hot


@pytest.mark.parametrize("shape", [(), (1,), (70,), (0,), (3, 0), (5, 7)])
def test_one_hot(device, rng, shape):
    label = rng.integers(0, 11, shape).astype(np.int32)
    same(K.one_hot(A(label), 11), np.eye(11, dtype=np.int32)[label])


@pytest.mark.parametrize("bad", [-1, 3])
def test_a_bad_label_raises_at_the_next_read(device, bad):
    out = K.one_hot(A(np.array([0, 1, bad])), 3)
    with pytest.raises(IndexError, match=f"one_hot: label {bad} at position 2 is not in 0..2"):
        out.numpy()


def test_a_wrong_label_that_one_work_item_alone_sees_is_named(device):
    out = K.one_hot(A(np.array([0, 5, 0])), 1)
    with pytest.raises(IndexError, match=r"one_hot: label 5 at position 1 is not in 0\.\.0"):
        out.numpy()


def test_one_hot_refuses(device):
    with pytest.raises(TypeError, match="one_hot: label is float32; labels are integers"):
        K.one_hot(A(sample((3,))), 3)
    with pytest.raises(ValueError, match="one_hot: num_classes is 0; it must be 1 or more"):
        K.one_hot(A(np.array([0])), 0)
