"""What both kinds of pooling share: ladders, batches, strides, kernels of one's own, enormous windows, mistakes."""

import numpy as np
import pytest
from pools import AVG, AVG_BACK, MAX, MAX_BACK

from gpugrad import kernels as K
from gpugrad.array import Array
from gpugrad.custom import kernel


def test_the_ladders_start_with_the_one_to_read():
    assert MAX == ["window", "rows", "2x2"] and AVG == ["window", "rows"]
    assert MAX_BACK == AVG_BACK == ["gather", "planes"]


def pools():
    for variant in [*MAX, None]:
        yield f"max {variant}", lambda x, *a, v=variant, **k: K.max_pool2d(x, *a, variant=v, **k)[0]
    for variant in [*AVG, None]:
        yield f"avg {variant}", lambda x, *a, v=variant, **k: K.avg_pool2d(x, *a, variant=v, **k)


POOLS = dict(pools())


@pytest.mark.parametrize("name", POOLS)
def test_one_image_without_a_batch_and_a_batch_of_none(device, rng, name):
    x = rng.standard_normal((3, 8, 8)).astype(np.float32)
    one, batch = POOLS[name](Array.from_numpy(x), 2), POOLS[name](Array.from_numpy(x[None]), 2)
    assert one.shape == (3, 4, 4)
    np.testing.assert_array_equal(one.numpy(), batch.numpy()[0])
    assert POOLS[name](Array.empty((0, 3, 8, 8)), 2).numpy().shape == (0, 3, 4, 4)


def test_gradients_of_one_image_and_of_no_batch(device, rng):
    x = Array.from_numpy(rng.standard_normal((3, 8, 8)).astype(np.float32))
    out, indices = K.max_pool2d(x, 2)
    for variant in MAX_BACK:
        assert K.max_pool2d_backward(out, indices, x.shape, 2, variant=variant).numpy().shape == x.shape
        none = Array.empty((0, 3, 4, 4)), Array.empty((0, 3, 4, 4), np.int32)
        assert K.max_pool2d_backward(*none, (0, 3, 8, 8), 2, variant=variant).numpy().shape == (0, 3, 8, 8)
    for variant in AVG_BACK:
        assert K.avg_pool2d_backward(out, x.shape, 2, variant=variant).numpy().shape == x.shape
    assert K.max_pool2d_pick(x, indices).numpy().shape == (3, 4, 4)


@pytest.mark.parametrize("variant", ["gather", "planes"])
def test_gradients_write_nothing_beyond_their_end(device, variant):
    """Beyond the end lie ordinary numbers here: a NaN there is copied onto a NaN, which nobody sees."""

    def part_of_many(shape, value, dtype=np.float32):
        flat = Array.from_numpy(np.full(200, value, dtype))
        return flat, flat._view(shape, 0)

    size = (1, 3, 3, 3)
    _, g = part_of_many((1, 3, 1, 1), 1)
    _, indices = part_of_many((1, 3, 1, 1), 0, np.int32)
    for backward in (K.max_pool2d_backward, K.avg_pool2d_backward):
        flat, out = part_of_many(size, 7)
        given = (g, indices) if backward is K.max_pool2d_backward else (g,)
        backward(*given, size, 2, out=out, variant=variant)
        assert (flat.numpy()[out.size :] == 7).all() and not (out.numpy() == 7).any()


@pytest.mark.parametrize("name", POOLS)
def test_the_stride_is_the_window_unless_given_and_out_takes_the_result(device, rng, name):
    x = Array.from_numpy(rng.standard_normal((2, 2, 8, 8)).astype(np.float32))
    out = Array.empty((2, 2, 4, 4))
    assert POOLS[name](x, 2, out=out) is out
    np.testing.assert_array_equal(out.numpy(), POOLS[name](x, (2, 2), (2, 2)).numpy())


@pytest.mark.parametrize(("family", "pool"), [("max_pool2d", K.max_pool2d), ("avg_pool2d", K.avg_pool2d)])
def test_a_kernel_of_your_own_takes_the_place_of_the_first(device, family, pool):
    indices = "__global int *indices, " if family == "max_pool2d" else ""
    sizes = "int H, int W, int KH, int KW, int SH, int SW, int PH, int PW, "
    rest = "int DH, int DW, int OH, int OW, " if indices else "int OH, int OW, int pads, int divisor, "
    mine = kernel(f"""
        __kernel void corner(__global const float *x, __global float *out, {indices}{sizes}{rest}int total) {{
          int k = get_global_id(0);
          if (k < total) out[k] = x[(k / OW / OH * H + k / OW % OH * SH) * W + k % OW * SW];
        }}""")
    x = np.arange(2 * 36, dtype=np.float32).reshape(1, 2, 6, 6)
    with K.use_kernels(**{family: mine}):
        got = pool(Array.from_numpy(x), 2, 3)
    got = got[0] if indices else got
    np.testing.assert_array_equal(got.numpy(), x[:, :, ::3, ::3])


@pytest.mark.parametrize("family", ["max_pool2d_backward", "avg_pool2d_backward"])
def test_a_gradient_of_your_own_takes_the_place_of_the_first(device, family):
    indices = "__global const int *indices, " if family == "max_pool2d_backward" else ""
    sizes = ", ".join(f"int a{i}" for i in range(12))
    mine = kernel(f"""
        __kernel void ones(__global const float *g, {indices}__global float *gx, {sizes}, int total) {{
          int k = get_global_id(0);
          if (k < total) gx[k] = 1;
        }}""")
    x = Array.from_numpy(np.zeros((1, 2, 6, 6), np.float32))
    out, places = K.max_pool2d(x, 2)
    with K.use_kernels(**{family: mine}):
        if indices:
            got = K.max_pool2d_backward(out, places, x.shape, 2)
        else:
            got = K.avg_pool2d_backward(out, x.shape, 2)
    np.testing.assert_array_equal(got.numpy(), np.ones(x.shape))


def test_enormous_windows_end(device):
    """Loops go over what a window sees of the image, not over what it could see."""
    x = Array.from_numpy(np.ones((1, 1, 2, 2), np.float32))
    big = 2**28
    for variant in ("window", "rows"):
        assert K.max_pool2d(x, big, big, big // 2, variant=variant)[0].numpy().ravel().tolist() == [1.0]
        assert K.avg_pool2d(x, big, big, big // 2, False, False, variant=variant).numpy().ravel().tolist() == [1.0]


@pytest.mark.parametrize("side", [50_000, 65_536])  # their squares are negative and 0 as int32
def test_an_average_over_more_than_an_int_counts(device, side):
    x, g = Array.from_numpy(np.full((1, 1, 1, 1), 4, np.float32)), Array.from_numpy(np.ones((1, 1, 1, 1), np.float32))
    for variant in K.variants("avg_pool2d"):
        got = K.avg_pool2d(x, side, 1, side // 2, variant=variant).numpy()
        assert got.ravel()[0] == np.float32(4 / side**2)
    for variant in K.variants("avg_pool2d_backward"):
        g = Array.from_numpy(np.ones(got.shape, np.float32))
        gx = K.avg_pool2d_backward(g, x.shape, side, 1, side // 2, variant=variant).numpy()
        np.testing.assert_allclose(gx, got.size / side**2, rtol=1e-6)  # 1 or 4 equal shares


X = np.zeros((1, 2, 5, 6), np.float32)
BAD = [
    ((X[0, 0], 2), {}, ValueError, r"x has shape \(5, 6\); it must be \(N, C, H, W\) or \(C, H, W\)"),
    ((X.astype(np.int32), 2), {}, TypeError, "x is int32; it must be floating point"),
    (([1.0], 2), {}, TypeError, "x is a list; it must be an Array"),
    ((X, 0), {}, ValueError, "kernel_size is 0; it must be 1 or more"),
    ((X, (2, 2, 2)), {}, ValueError, "kernel_size is .* a pair"),
    ((X, 2.0), {}, TypeError, "kernel_size is 2.0; it must be an integer"),
    ((X, 2, 0), {}, ValueError, "stride is 0; it must be 1 or more"),
    ((X, 2, 2, -1), {}, ValueError, "padding is -1; it must be 0 or more"),
    ((X, 2, 2, 2), {}, ValueError, r"padding is \(2, 2\); it must be at most half of kernel_size \(2, 2\)"),
    ((X, 7), {}, ValueError, "an input of 5 x 6 with padding .* is smaller than the kernel, which spans 7 x 7"),
    ((X, 9, 2), {"ceil_mode": True}, ValueError, "an input of 5 x 6 with padding .* spans 9 x 9"),
    ((X, 2), {"variant": "best"}, ValueError, "variant is 'best'; there is window"),
    ((X, 2), {"out": (1, 2, 2, 2)}, ValueError, r"out is float32\(1, 2, 2, 2\); the result is float32\(1, 2, 2, 3\)"),
]


@pytest.mark.parametrize("pool", [K.max_pool2d, K.avg_pool2d])
@pytest.mark.parametrize(("args", "options", "error", "message"), BAD)
def test_bad_arguments_are_told_in_a_sentence(device, pool, args, options, error, message):
    args = [Array.from_numpy(a) if isinstance(a, np.ndarray) else a for a in args]
    if "out" in options:
        options = {"out": Array.empty(options["out"])}
    with pytest.raises(error, match=f"{pool.__name__}: {message}"):
        pool(*args, **options)


def test_what_only_one_of_them_refuses(device):
    x = Array.from_numpy(X)
    with pytest.raises(ValueError, match="max_pool2d: dilation is 0; it must be 1 or more"):
        K.max_pool2d(x, 2, dilation=0)
    with pytest.raises(ValueError, match=r"the variant '2x2' needs kernel_size 2.*use 'rows'"):
        K.max_pool2d(x, 3, variant="2x2")
    with pytest.raises(ValueError, match="avg_pool2d: divisor_override is 0"):
        K.avg_pool2d(x, 2, divisor_override=0)
    with pytest.raises(ValueError, match="divisor_override is 1099511627776; it must fit in int32"):
        K.avg_pool2d(x, 2, divisor_override=2**40)
    out, indices = K.max_pool2d(x, 2)
    with pytest.raises(ValueError, match=r"max_pool2d_backward: grad_output has shape .* it must be \(1, 2, 1, 2\)"):
        K.max_pool2d_backward(out, indices, x.shape, 3)
    with pytest.raises(ValueError, match=r"indices is float32\(1, 2, 2, 3\); it must be int32"):
        K.max_pool2d_backward(out, out, x.shape, 2)
    with pytest.raises(ValueError, match=r"avg_pool2d_backward: input_size has shape \(5, 6\)"):
        K.avg_pool2d_backward(out, (5, 6), 2)
