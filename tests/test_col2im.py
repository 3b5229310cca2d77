"""col2im against the definition, in every variant; and as the adjoint of im2col."""

import numpy as np
import pytest
from hypothesis import given
from windows import GEOMETRIES, LOPSIDED, Geometry, examples, geometries, whole
from windows import col2im as reference

import gpugrad as gg
from gpugrad.array import Array
from gpugrad.custom import kernel
from gpugrad.kernels.col2im import col2im, col2im_scratch_bytes
from gpugrad.kernels.im2col import im2col
from gpugrad.kernels.ladder import use_kernels, variants

VARIANTS = variants("col2im")
DTYPES = [np.float32, np.float64]


def columns(rng, N, C, g):
    return rng.standard_normal((N, C * g.kernel[0] * g.kernel[1], g.output[0] * g.output[1]))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("g", GEOMETRIES, ids=str)
def test_adds_every_column_up_where_it_came_from(device, rng, g, variant, dtype):
    col = columns(rng, 2, 3, g).astype(dtype)
    got = col2im(Array.from_numpy(col), g.size, *g.window, variant=variant).numpy()
    assert got.dtype == dtype
    # A pixel sums at most KH*KW numbers, so it is off by that many roundings of the sum of their sizes. The
    # scatter adds in float32 whatever the type.
    eps = np.finfo(np.float32 if variant == "scatter" else dtype).eps
    bound = g.kernel[0] * g.kernel[1] * eps * reference(np.abs(col.astype(np.float64)), g)
    assert (np.abs(got - reference(col.astype(np.float64), g)) <= bound).all()


@examples
@given(g=geometries())
def test_the_exact_adjoint_of_im2col(device, g):
    """<im2col x, y> = <x, col2im y>, to the last bit: with small integers every sum is exact."""
    rng = np.random.default_rng(2)
    x = whole(rng, 2, 2, *g.size).astype(np.float32)
    col = im2col(Array.from_numpy(x), *g.window)
    y = whole(rng, *col.shape).astype(np.float32)
    for variant in VARIANTS:
        back = col2im(Array.from_numpy(y), g.size, *g.window, variant=variant).numpy()
        np.testing.assert_array_equal(back, reference(y, g), err_msg=variant)
        assert np.vdot(col.numpy().astype(int), y.astype(int)) == np.vdot(x.astype(int), back.astype(int)), variant


def test_the_deterministic_variants_agree_to_the_last_bit(device, rng):
    g = Geometry((13, 14), (5, 3), (1, 1), (2, 1))
    col = Array.from_numpy(columns(rng, 2, 3, g).astype(np.float32))
    one, other = (col2im(col, g.size, *g.window, variant=v).numpy() for v in ("gather", "planes"))
    np.testing.assert_array_equal(one, other)


@pytest.mark.large  # when it is recorded
def test_a_window_wider_than_a_strip_of_pixels_adds_nothing_outside_of_the_strip(device, rng):
    g = Geometry((2, 90), (1, 2), dilation=(1, 70))
    col = whole(rng, 1, 2, g.output[0] * g.output[1]).astype(np.float32)
    with gg.sanitizer():
        got = col2im(Array.from_numpy(col), g.size, *g.window, variant="planes").numpy()
    np.testing.assert_array_equal(got, reference(col, g))


@pytest.mark.parametrize("variant", VARIANTS)
def test_pixels_that_no_window_sees_are_zero(device, variant):
    col = Array.from_numpy(np.ones((1, 1, 4), np.float32))
    got = col2im(col, (4, 4), 1, 2, variant=variant).numpy()[0, 0]
    np.testing.assert_array_equal(got, [[1, 0, 1, 0], [0, 0, 0, 0], [1, 0, 1, 0], [0, 0, 0, 0]])


@pytest.mark.parametrize("variant", VARIANTS)
def test_nan_reaches_the_pixels_it_belongs_to_and_no_others(device, variant):
    g = Geometry((4, 4), (2, 2))
    col = np.ones((1, 4, 9), np.float32)
    col[0, 3, 4] = np.nan
    got = col2im(Array.from_numpy(col), g.size, *g.window, variant=variant).numpy()
    np.testing.assert_array_equal(got, reference(col, g))


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_batch_of_none(device, variant):
    assert col2im(Array.empty((0, 27, 9)), (5, 5), 3, variant=variant).numpy().shape == (0, 3, 5, 5)


def test_out_takes_the_result_and_one_number_is_both_sides(device, rng):
    col = Array.from_numpy(rng.standard_normal((1, 4, 9)).astype(np.float32))
    out = Array.empty((1, 1, 4, 4))
    assert col2im(col, 4, 2, out=out) is out
    np.testing.assert_array_equal(out.numpy(), col2im(col, (4, 4), (2, 2)).numpy())


def test_a_kernel_of_your_own_takes_the_place_of_the_first(device):
    count = kernel("""
        __kernel void count(__global const float *col, __global float *x, int C, int H, int W, int KH, int KW,
                            int SH, int SW, int PH, int PW, int DH, int DW, int OH, int OW) {
          int i = get_global_id(0), c = get_global_id(1), n = get_global_id(2);
          if (i < H * W) x[(n * C + c) * H * W + i] = i;
        }""")
    with use_kernels(col2im=count):
        got = col2im(Array.empty((2, 12, 36)), (7, 7), 2).numpy()
    np.testing.assert_array_equal(got, np.broadcast_to(np.arange(49).reshape(7, 7), (2, 3, 7, 7)))


def test_scratch_bytes_are_four_for_each_pixel():
    assert col2im_scratch_bytes((3, 5, 11, 13)) == 4 * 3 * 5 * 11 * 13


@pytest.mark.parametrize(
    ("shape", "args", "message"),
    [
        ((1, 8, 4), ((3, 3), 4), r"col2im: an input of 3 x 3 with padding \(0, 0\) is smaller than the kernel"),
        ((1, 9, 4), ((3, 3), 2), "col2im: col has 9 rows; a kernel of 2 x 2 needs a multiple of 4"),
        ((1, 8, 5), ((3, 3), 2), "col2im: col has 5 columns; an output of 3 x 3 has 2 x 2 = 4 windows"),
        ((8, 4), ((3, 3), 2), r"col2im: col has shape \(8, 4\); it must have 3 dimensions"),
        ((1, 8, 4), ((3, 0), 2), "col2im: output_size is 0; it must be 1 or more"),
        ((1, 8, 4), ((3, 3), 2, (1, 0)), "col2im: stride is 0; it must be 1 or more"),
    ],
)
def test_wrong_sizes_are_refused_in_a_sentence(device, shape, args, message):
    with pytest.raises(ValueError, match=message):
        col2im(Array.empty(shape), *args)


def test_other_wrong_arguments(device):
    with pytest.raises(TypeError, match="col2im: col is a list; it must be an Array"):
        col2im([1], (3, 3), 2)
    with pytest.raises(TypeError, match="col2im: col is int32; it must be floating point"):
        col2im(Array.empty((1, 4, 4), np.int32), (3, 3), 2)
    with pytest.raises(ValueError, match="col2im: variant is 'atomic'; there is gather, scatter, planes"):
        col2im(Array.empty((1, 4, 4)), (3, 3), 2, variant="atomic")
    with pytest.raises(ValueError, match=r"col2im: out is float32\(1, 2, 3, 3\); the result is float32\(1, 1, 3, 3\)"):
        col2im(Array.empty((1, 4, 4)), (3, 3), 2, out=Array.empty((1, 2, 3, 3)))


def test_the_lopsided_geometry_tells_height_from_width():
    turned = Geometry(*(tuple(reversed(side)) for side in LOPSIDED))
    assert turned.output == tuple(reversed(LOPSIDED.output)) and LOPSIDED.output[0] != LOPSIDED.output[1]
