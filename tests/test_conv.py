"""Convolution and its gradients against the definition, in every variant."""

import numpy as np
import pytest
import windows
from hypothesis import given
from hypothesis import strategies as st
from windows import GEOMETRIES, LOPSIDED, Geometry, examples, geometries, whole

from gpugrad.array import Array
from gpugrad.custom import kernel
from gpugrad.kernels.conv import conv2d, conv2d_backward_input, conv2d_backward_weight
from gpugrad.kernels.im2col import im2col, im2col_scratch_bytes
from gpugrad.kernels.ladder import use_kernels, variants
from gpugrad.kernels.tuning import TUNING
from gpugrad.program import on_launch

VARIANTS = variants("conv2d")
DTYPES = [np.float32, np.float64]
FUNCTIONS = ["conv2d", "conv2d_backward_input", "conv2d_backward_weight"]

# Batch, channels in, channels out, groups: odd ones, full and half vectors, depthwise with one and three outputs each.
CHANNELS = [(2, 3, 5, 1), (3, 4, 6, 2), (1, 5, 17, 1), (2, 16, 33, 1), (2, 3, 3, 3), (2, 3, 9, 3)]


def test_the_ladders_start_with_the_textbook():
    for family in FUNCTIONS:
        assert variants(family) == ["direct", "im2col", "blocked"]


class Case:
    """Random operands of a convolution, on the host in float64 and on the device, and the three results."""

    def __init__(self, draw, g, channels, dtype):
        N, C, CO, groups = channels
        self.g, self.groups, self.dtype = g, groups, dtype
        self.x = draw(N, C, *g.size)
        self.weight = draw(CO, C // groups, *g.kernel)
        self.dy = draw(N, CO, *g.output)
        self.args = (g.stride, g.padding, g.dilation, groups)

    def run(self, function, **kwargs):
        x, weight, dy = (Array.from_numpy(a.astype(self.dtype)) for a in (self.x, self.weight, self.dy))
        if function == "conv2d":
            return conv2d(x, weight, None, *self.args, **kwargs)
        if function == "conv2d_backward_input":
            return conv2d_backward_input(x.shape, weight, dy, *self.args, **kwargs)
        return conv2d_backward_weight(x, weight.shape, dy, *self.args, **kwargs)

    def expected(self, function, absolute=False):
        x, weight, dy = (np.abs(a) if absolute else a for a in (self.x, self.weight, self.dy))
        if function == "conv2d":
            return windows.conv2d(x, weight, self.g, self.groups)
        if function == "conv2d_backward_input":
            return windows.conv2d_backward_input(x.shape, weight, dy, self.g, self.groups)
        return windows.conv2d_backward_weight(x, weight.shape, dy, self.g, self.groups)

    def terms(self, function):
        """How many products a result sums at most."""
        CO, CG, KH, KW = self.weight.shape
        N, _, OH, OW = self.dy.shape
        return {"conv2d": CG * KH * KW, "conv2d_backward_input": CO // self.groups * KH * KW}.get(function, N * OH * OW)


def integers(rng):
    return lambda *shape: whole(rng, *shape)


def normal(rng):
    return lambda *shape: rng.standard_normal(shape)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("g", GEOMETRIES, ids=str)
def test_every_geometry_to_the_last_bit(device, rng, g, function, variant, dtype):
    case = Case(integers(rng), g, (2, 4, 6, 2), dtype)
    got = case.run(function, variant=variant).numpy()
    assert got.dtype == dtype
    np.testing.assert_array_equal(got, case.expected(function))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("channels", CHANNELS, ids=str)
@pytest.mark.parametrize("g", [Geometry((7, 9), (3, 2), (1, 1), (2, 1)), LOPSIDED], ids=str)
def test_all_channels_and_groups_to_the_last_bit(device, rng, g, channels, function, variant, dtype):
    case = Case(integers(rng), g, channels, dtype)
    np.testing.assert_array_equal(case.run(function, variant=variant).numpy(), case.expected(function))


@examples
@given(g=geometries(), channels=st.sampled_from(CHANNELS), function=st.sampled_from(FUNCTIONS))
def test_any_geometry_in_any_variant(device, g, channels, function):
    case = Case(integers(np.random.default_rng(3)), g, channels, np.float32)
    for variant in VARIANTS:
        got = case.run(function, variant=variant).numpy()
        np.testing.assert_array_equal(got, case.expected(function), err_msg=variant)


@examples
@given(g=geometries(), channels=st.sampled_from(CHANNELS))
def test_the_three_are_adjoints_of_each_other(device, g, channels):
    """<conv2d(x, w), dy> = <x, backward_input(w, dy)> = <w, backward_weight(x, dy)>, exactly for small integers."""
    case = Case(integers(np.random.default_rng(4)), g, channels, np.float64)
    y, dx, dweight = (case.run(f).numpy() for f in FUNCTIONS)
    assert np.vdot(y, case.dy) == np.vdot(case.x, dx) == np.vdot(case.weight, dweight)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("function", FUNCTIONS)
def test_rounding_stays_within_the_stated_bound(device, rng, function, variant, dtype):
    case = Case(normal(rng), Geometry((14, 15), (5, 3), (1, 1), (2, 1)), (4, 8, 6, 1), np.float64)
    case.x, case.weight, case.dy = (a.astype(dtype).astype(np.float64) for a in (case.x, case.weight, case.dy))
    case.dtype = dtype
    got = case.run(function, variant=variant).numpy()
    bound = 2 * np.finfo(dtype).eps * np.sqrt(case.terms(function)) * case.expected(function, absolute=True)
    assert (np.abs(got - case.expected(function)) <= bound).all()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("variant", VARIANTS)
def test_a_bias_is_added_to_its_channel(device, rng, variant, dtype):
    case = Case(integers(rng), LOPSIDED, (2, 4, 6, 2), dtype)
    bias = whole(rng, 6)
    x, weight, b = (Array.from_numpy(a.astype(dtype)) for a in (case.x, case.weight, bias))
    got = conv2d(x, weight, b, *case.args, variant=variant).numpy()
    np.testing.assert_array_equal(got, case.expected("conv2d") + bias[:, None, None])


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_batch_of_none(device, rng, function, variant):
    case = Case(integers(rng), LOPSIDED, (0, 4, 6, 2), np.float32)
    got = case.run(function, variant=variant).numpy()
    np.testing.assert_array_equal(got, case.expected(function))


@pytest.mark.parametrize("channels", [(2, 0, 3, 1), (2, 3, 0, 1)], ids=["none in", "none out"])
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("function", FUNCTIONS)
def test_no_channels(device, rng, function, variant, channels):
    case = Case(integers(rng), LOPSIDED, channels, np.float32)
    np.testing.assert_array_equal(case.run(function, variant=variant).numpy(), case.expected(function))


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("function", FUNCTIONS)
def test_nan_goes_where_it_was_seen_and_nowhere_else(device, rng, function, variant):
    case = Case(integers(rng), Geometry((6, 7), (3, 3), (1, 1), (1, 1)), (2, 2, 3, 1), np.float32)
    # Not at the edge, where most variants multiply it by the padding's zeros and the direct one leaves it out.
    case.x[0, 1, 2, 3] = case.dy[1, 2, 2, 5] = np.nan
    np.testing.assert_array_equal(case.run(function, variant=variant).numpy(), case.expected(function))


@pytest.mark.parametrize(("variant", "beside_padding"), [("direct", np.inf), ("im2col", np.nan), ("blocked", np.nan)])
def test_an_infinite_weight_meets_the_zeros_of_padding_as_documented(device, variant, beside_padding):
    x, weight = np.ones((1, 1, 3, 3), np.float32), np.ones((1, 1, 2, 2), np.float32)
    weight[0, 0, 1, 1] = np.inf  # of the windows, those at the bottom and at the right have it over padding
    y = conv2d(Array.from_numpy(x), Array.from_numpy(weight), padding=1, variant=variant).numpy()[0, 0]
    assert np.isposinf(y[:3, :3]).all()
    around = np.append(y[3], y[:3, 3])
    np.testing.assert_array_equal(np.isnan(around), np.isnan(beside_padding))


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("function", FUNCTIONS)
def test_out_takes_the_result(device, rng, function, variant):
    case = Case(integers(rng), LOPSIDED, (2, 4, 6, 2), np.float32)
    out = Array.empty(case.expected(function).shape)
    assert case.run(function, variant=variant, out=out) is out
    np.testing.assert_array_equal(out.numpy(), case.expected(function))


# Memory


@pytest.mark.large
@pytest.mark.parametrize("size", [1, 4000, 20_000])
@pytest.mark.parametrize("g", [Geometry((7, 8), (3, 3), (1, 1), (1, 1)), LOPSIDED], ids=str)
@pytest.mark.parametrize("variant", ["im2col", "blocked"])
@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_large_batch_is_worked_through_in_portions(device, rng, monkeypatch, function, variant, g, size):
    for key in ("im2col bytes", "conv bytes"):
        monkeypatch.setitem(TUNING, key, {"cpu": size, "gpu": size})
    # Odd sizes, so that not every image starts where memory may be cut.
    case = Case(integers(rng), g, (150, 3, 3, 1), np.float32)
    np.testing.assert_array_equal(case.run(function, variant=variant).numpy(), case.expected(function))


@pytest.mark.parametrize("size", [1, 4000, 20_000])
@pytest.mark.parametrize("function", FUNCTIONS)
def test_columns_stay_within_their_bytes_where_images_begin_at_any_address(device, rng, monkeypatch, function, size):
    """Of one image at least; the images have odd sizes, so most of them begin where no memory may be cut."""
    monkeypatch.setitem(TUNING, "im2col bytes", {"cpu": size, "gpu": size})
    case = Case(integers(rng), LOPSIDED, (13, 3, 3, 1), np.float32)
    columns = []
    handle = on_launch(lambda launch: columns.extend(a for n, a in launch.named_args().items() if n == "col"))
    got = case.run(function, variant="im2col").numpy()
    handle.remove()
    np.testing.assert_array_equal(got, case.expected(function))
    one = 3 * 3 * 2 * LOPSIDED.output[0] * LOPSIDED.output[1] * 4
    assert len(columns) > 1 and max(col.nbytes for col in columns) <= max(size, one)


def test_columns_between_far_apart_windows_are_not_padded(device, rng):
    case = Case(integers(rng), Geometry((3, 640), (1, 2), (1, 64)), (2, 3, 5, 1), np.float32)
    padded = []
    handle = on_launch(lambda launch: padded.extend(a for n, a in launch.named_args().items() if n == "padded"))
    for function in ("conv2d", "conv2d_backward_weight"):
        np.testing.assert_array_equal(case.run(function, variant="blocked").numpy(), case.expected(function))
    handle.remove()
    # 10 places of the window, made up to at most 16, two columns in each: a twentieth of the 640.
    assert len(padded) == 4 and max(a.size for a in padded) <= 2 * 3 * 4 * 2 * 16


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("function", FUNCTIONS)
def test_scratch_is_used_and_what_it_holds_does_not_matter(device, rng, function, dtype):
    case = Case(integers(rng), LOPSIDED, (3, 4, 6, 2), dtype)
    nbytes = im2col_scratch_bytes(case.x.shape, *LOPSIDED.window, dtype=dtype)
    scratch = Array.from_numpy(np.full(nbytes, 0xFF, np.uint8))
    before = scratch.state.version
    np.testing.assert_array_equal(case.run(function, scratch=scratch).numpy(), case.expected(function))
    assert scratch.state.version > before


@pytest.mark.parametrize("function", FUNCTIONS)
def test_scratch_that_is_too_small_is_refused_with_the_formula(device, rng, function):
    case = Case(integers(rng), Geometry((5, 6), (3, 2)), (2, 3, 4, 1), np.float32)
    message = (
        rf"{function}: scratch has 2156 bytes; it needs im2col_scratch_bytes = N \* C\*KH\*KW \* OH\*OW \* itemsize "
        r"= 2 \* 3\*3\*2 \* 3\*5 \* 4 = 2160"
    )
    with pytest.raises(ValueError, match=message):
        case.run(function, scratch=Array.empty((539,)))
    case.run(function, scratch=Array.empty((540,)))


@pytest.mark.parametrize("argument", ["out", "scratch"])
def test_a_column_matrix_that_is_also_something_else_is_refused(device, argument):
    x, dy, memory = Array.empty((1, 1, 3, 3)), Array.empty((1, 1, 3, 3)), Array.empty((1, 1, 9))
    col, other = memory, memory.reshape(1, 1, 3, 3) if argument == "scratch" else memory._view((1, 1, 1, 1), 0)
    with pytest.raises(ValueError, match=f"{argument} shares memory"):
        conv2d_backward_weight(x, (1, 1, 1, 1), dy, col=col, **{argument: other})


def test_scratch_is_refused_where_it_is_also_something_else(device, rng):
    x = Array.empty((1, 1, 30, 30))
    weight = Array.empty((1, 1, 1, 1))
    with pytest.raises(ValueError, match="conv2d: scratch shares memory with another argument"):
        conv2d(x, weight, scratch=x)


def test_a_finished_column_matrix_is_used(device, rng):
    case = Case(integers(rng), LOPSIDED, (3, 4, 6, 2), np.float32)
    col = im2col(Array.from_numpy(case.x.astype(np.float32)), *LOPSIDED.window)
    launched = []
    handle = on_launch(lambda launch: launched.append(launch.kernel.name))
    got = case.run("conv2d_backward_weight", col=col).numpy()
    handle.remove()
    np.testing.assert_array_equal(got, case.expected("conv2d_backward_weight"))
    assert not any("im2col" in name for name in launched)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_window_of_one_pixel_needs_no_im2col(device, rng, function):
    case = Case(integers(rng), Geometry((5, 6), (1, 1)), (3, 4, 6, 2), np.float32)
    launched = []
    handle = on_launch(lambda launch: launched.append(launch.kernel.name))
    got = case.run(function, variant="im2col").numpy()
    handle.remove()
    np.testing.assert_array_equal(got, case.expected(function))
    assert launched and all(name.startswith("gemm") for name in launched)


# Kernels of your own


def test_a_swapped_im2col_reaches_the_convolution(device, rng):
    zeros = kernel("""
        __kernel void zeros(__global const float *x, __global float *col, int C, int H, int W, int KH, int KW,
                            int SH, int SW, int PH, int PW, int DH, int DW, int OH, int OW) {
          int l = get_global_id(0), k = get_global_id(1), n = get_global_id(2);
          if (l < OH * OW) col[(n * C * KH * KW + k) * OH * OW + l] = 0;
        }""")
    case = Case(integers(rng), LOPSIDED, (2, 4, 6, 2), np.float32)
    with use_kernels(im2col=zeros):
        assert not case.run("conv2d").numpy().any()
        assert not case.run("conv2d_backward_weight").numpy().any()
    with use_kernels(im2col="naive", gemm="naive", col2im="scatter"):
        for function in FUNCTIONS:
            np.testing.assert_array_equal(case.run(function).numpy(), case.expected(function))


def test_a_kernel_of_your_own_takes_the_place_of_the_first(device, rng):
    fours = kernel("""
        __kernel void fours(__global const float *x, __global const float *weight, __global float *y,
                            int C, int H, int W, int CO, int KH, int KW, int SH, int SW,
                            int PH, int PW, int DH, int DW, int OH, int OW, int G) {
          int i = get_global_id(0), co = get_global_id(1), n = get_global_id(2);
          if (i < OH * OW) y[(n * CO + co) * OH * OW + i] = 4;
        }""")
    x, weight, bias = (Array.from_numpy(np.ones(s, np.float32)) for s in ((2, 3, 9, 9), (5, 3, 2, 2), (5,)))
    with use_kernels(conv2d=fours):
        np.testing.assert_array_equal(conv2d(x, weight, bias).numpy(), np.full((2, 5, 8, 8), 5.0))


# Wrong arguments

X, WEIGHT, BIAS = (2, 4, 6, 5), (8, 4, 3, 3), (8,)


@pytest.mark.parametrize(
    ("x", "weight", "bias", "args", "message"),
    [
        (X, (8, 3, 3, 3), None, (), r"conv2d: weight has 3 input channels, but input has 4 channels in 1 group; "
                                    r"weight must be \(C_out, 4, KH, KW\)"),
        (X, WEIGHT, None, (1, 0, 1, 2), r"weight has 4 input channels, but input has 4 channels in 2 groups; "
                                        r"weight must be \(C_out, 2, KH, KW\)"),
        (X, WEIGHT, None, (1, 0, 1, 3), "conv2d: input has 4 channels, which 3 groups do not divide evenly"),
        (X, (6, 1, 3, 3), None, (1, 0, 1, 4), "conv2d: weight has 6 channels, which 4 groups do not divide evenly"),
        (X, WEIGHT, None, (1, 0, 1, 0), "conv2d: groups is 0; it must be 1 or more"),
        (X, WEIGHT, (4,), (), r"conv2d: bias has shape \(4,\); with weight \(8, 4, 3, 3\) it must be \(8,\)"),
        (X, (8, 4, 7, 7), None, (), r"conv2d: an input of 6 x 5 with padding \(0, 0\) is smaller than the kernel"),
        (X, (8, 4, 3, 0), None, (), "conv2d: kernel_size is 0; it must be 1 or more"),
        (X, WEIGHT, None, ((1, 0),), "conv2d: stride is 0; it must be 1 or more"),
        (X, WEIGHT, None, (1, -1), "conv2d: padding is -1; it must be 0 or more"),
        (X, WEIGHT, None, (1, 0, 0), "conv2d: dilation is 0; it must be 1 or more"),
        (X, (8, 4, 3), None, (), r"conv2d: weight has shape \(8, 4, 3\); it must be \(C_out, C_in / groups, KH, KW\)"),
        (X[1:], WEIGHT, None, (), r"conv2d: x has shape \(4, 6, 5\); it must have 4 dimensions"),
    ],
)  # fmt: skip
def test_wrong_shapes_are_refused_in_a_sentence(device, x, weight, bias, args, message):
    with pytest.raises(ValueError, match=message):
        conv2d(Array.empty(x), Array.empty(weight), None if bias is None else Array.empty(bias), *args)


def test_other_wrong_arguments(device):
    x, weight = Array.empty(X), Array.empty(WEIGHT)
    with pytest.raises(TypeError, match="conv2d: weight is float64, x is float32; convert one"):
        conv2d(x, Array.empty(WEIGHT, np.float64))
    with pytest.raises(TypeError, match="conv2d: bias is float64, x is float32; convert one"):
        conv2d(x, weight, Array.empty(BIAS, np.float64))
    with pytest.raises(TypeError, match="conv2d: x is int32; it must be floating point"):
        conv2d(Array.empty(X, np.int32), weight)
    with pytest.raises(TypeError, match="conv2d: weight is a list; it must be an Array"):
        conv2d(x, [1.0])
    with pytest.raises(ValueError, match="conv2d: variant is 'winograd'; there is direct, im2col, blocked"):
        conv2d(x, weight, variant="winograd")
    with pytest.raises(ValueError, match=r"conv2d: out is float32\(2, 8, 4, 4\); the result is float32\(2, 8, 4, 3\)"):
        conv2d(x, weight, out=Array.empty((2, 8, 4, 4)))
    with pytest.raises(ValueError, match="conv2d: out shares memory with an input"):
        conv2d(x, Array.empty((4, 4, 1, 1)), out=x)
    with pytest.raises(TypeError, match=r"conv2d: groups is 1\.0; it must be an integer"):
        conv2d(x, weight, groups=1.0)


def test_gradients_refuse_what_is_not_of_that_convolution(device):
    x, weight, dy = Array.empty(X), Array.empty(WEIGHT), Array.empty((2, 8, 4, 4))
    message = r"grad_output has shape \(2, 8, 4, 4\); the convolution of \(2, 4, 6, 5\) with a weight of " + (
        r"\(8, 4, 3, 3\) gives \(2, 8, 4, 3\)"
    )
    with pytest.raises(ValueError, match="conv2d_backward_input: " + message):
        conv2d_backward_input(X, weight, dy)
    with pytest.raises(ValueError, match="conv2d_backward_weight: " + message):
        conv2d_backward_weight(x, WEIGHT, dy)
    with pytest.raises(ValueError, match=r"conv2d_backward_input: input_size is \(4, 6, 5\); it must be a shape"):
        conv2d_backward_input(X[1:], weight, dy)
    with pytest.raises(ValueError, match="conv2d_backward_weight: weight_size has 3 input channels, but input has 4"):
        conv2d_backward_weight(x, (8, 3, 3, 3), dy)
    with pytest.raises(ValueError, match=r"col has shape \(2, 36, 11\); im2col of this input gives \(2, 36, 12\)"):
        conv2d_backward_weight(x, WEIGHT, Array.empty((2, 8, 4, 3)), col=Array.empty((2, 36, 11)))
