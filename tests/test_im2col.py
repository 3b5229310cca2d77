"""im2col against the definition, in every variant."""

import numpy as np
import pytest
from hypothesis import given
from windows import GEOMETRIES, LOPSIDED, Geometry, examples, geometries
from windows import im2col as reference

from gpugrad.array import Array
from gpugrad.custom import kernel
from gpugrad.kernels.im2col import im2col, im2col_scratch_bytes
from gpugrad.kernels.ladder import use_kernels, variants

VARIANTS = variants("im2col")
DTYPES = [np.float32, np.float64]


def test_the_ladder_starts_with_the_one_to_read():
    assert VARIANTS[0] == "naive"


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("g", GEOMETRIES, ids=str)
def test_copies_every_window_into_its_column(device, rng, g, variant, dtype):
    x = rng.standard_normal((2, 3, *g.size)).astype(dtype)
    got = im2col(Array.from_numpy(x), *g.window, variant=variant).numpy()
    assert got.dtype == dtype
    np.testing.assert_array_equal(got, reference(x, g))  # a copy is exact


@examples
@given(g=geometries())
def test_any_geometry_in_any_variant(device, g):
    x = np.random.default_rng(1).standard_normal((2, 2, *g.size)).astype(np.float32)
    for variant in VARIANTS:
        got = im2col(Array.from_numpy(x), *g.window, variant=variant).numpy()
        np.testing.assert_array_equal(got, reference(x, g), err_msg=variant)


def test_one_number_stands_for_height_and_width(device, rng):
    x = Array.from_numpy(rng.standard_normal((1, 2, 9, 8)).astype(np.float32))
    one, pairs = im2col(x, 3, 2, 1, 2), im2col(x, (3, 3), (2, 2), (1, 1), (2, 2))
    np.testing.assert_array_equal(one.numpy(), pairs.numpy())


@pytest.mark.parametrize("variant", VARIANTS)
def test_nan_and_infinity_are_copied(device, variant):
    x = np.full((1, 1, 3, 3), np.nan, np.float32)
    x[0, 0, 1, 1] = np.inf
    got = im2col(Array.from_numpy(x), 2, 1, 1, variant=variant).numpy()
    np.testing.assert_array_equal(got, reference(x, Geometry((3, 3), (2, 2), (1, 1), (1, 1))))


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_batch_of_none(device, variant):
    assert im2col(Array.empty((0, 3, 5, 5)), 3, variant=variant).numpy().shape == (0, 27, 9)


def test_out_takes_the_result(device, rng):
    x = Array.from_numpy(rng.standard_normal((1, 1, 4, 4)).astype(np.float32))
    out = Array.empty((1, 4, 9))
    assert im2col(x, 2, out=out) is out
    np.testing.assert_array_equal(out.numpy(), im2col(x, 2).numpy())


def test_a_kernel_of_your_own_takes_the_place_of_the_first(device):
    ones = kernel("""
        __kernel void ones(__global const float *x, __global float *col, int C, int H, int W, int KH, int KW,
                           int SH, int SW, int PH, int PW, int DH, int DW, int OH, int OW) {
          int l = get_global_id(0), k = get_global_id(1), n = get_global_id(2);
          if (l < OH * OW) col[(n * C * KH * KW + k) * OH * OW + l] = 1;
        }""")
    with use_kernels(im2col=ones):
        got = im2col(Array.from_numpy(np.zeros((2, 3, 7, 7), np.float32)), 2).numpy()
    np.testing.assert_array_equal(got, np.ones((2, 12, 36)))


def test_scratch_bytes_are_those_of_the_result(device):
    x = Array.empty((3, 5, *LOPSIDED.size), np.float64)
    assert im2col_scratch_bytes(x.shape, *LOPSIDED.window, dtype=x.dtype) == im2col(x, *LOPSIDED.window).nbytes
    N, C, (KH, KW), (OH, OW) = 3, 5, LOPSIDED.kernel, LOPSIDED.output
    assert im2col_scratch_bytes(x.shape, *LOPSIDED.window) == N * C * KH * KW * OH * OW * 4


X = (1, 2, 6, 5)


@pytest.mark.parametrize(
    ("shape", "args", "message"),
    [
        (X, (7,), r"im2col: an input of 6 x 5 with padding \(0, 0\) is smaller than the kernel, which spans 7 x 7"),
        (X, (3, 1, 0, 3), "which spans 7 x 7; use a larger input, more padding or a smaller kernel"),
        (X, ((1, 2, 3),), r"im2col: kernel_size is \(1, 2, 3\); give one integer or a pair"),
        (X, (0,), "im2col: kernel_size is 0; it must be 1 or more"),
        (X, (2, 0), "im2col: stride is 0; it must be 1 or more"),
        (X, (2, 1, (0, -1)), "im2col: padding is -1; it must be 0 or more"),
        (X, (2, 1, 0, (1, 0)), "im2col: dilation is 0; it must be 1 or more"),
        (X, (2, 2**40), r"im2col: stride is \(\d+, \d+\); kernels index with 32-bit int"),
        ((2, 6, 5), (2,), r"im2col: x has shape \(2, 6, 5\); it must have 4 dimensions"),
    ],
)
def test_wrong_sizes_are_refused_in_a_sentence(device, shape, args, message):
    with pytest.raises(ValueError, match=message):
        im2col(Array.empty(shape), *args)


@pytest.mark.parametrize("bad", [2.0, "3", True, None, (2, 1.5)])
def test_sizes_are_integers(device, bad):
    with pytest.raises(TypeError, match=r"im2col: kernel_size is .*; it must be an integer"):
        im2col(Array.empty(X), bad)


def test_other_wrong_arguments(device):
    with pytest.raises(TypeError, match="im2col: x is a ndarray; it must be an Array"):
        im2col(np.zeros(X, np.float32), 2)
    with pytest.raises(TypeError, match="im2col: x is int32; it must be floating point"):
        im2col(Array.empty(X, np.int32), 2)
    with pytest.raises(ValueError, match="im2col: variant is 'fast'; there is naive, window, rows"):
        im2col(Array.empty(X), 2, variant="fast")
    with pytest.raises(ValueError, match=r"im2col: out is float32\(1, 8, 5\); the result is float32\(1, 8, 20\)"):
        im2col(Array.empty(X), 2, out=Array.empty((1, 8, 5)))


def test_a_result_too_large_to_index_is_refused(device):
    with pytest.raises(ValueError, match="2,147,483,647 is the most"):
        im2col(Array.empty((1, 1, 1, 1)), 1, 1, 30_000)
