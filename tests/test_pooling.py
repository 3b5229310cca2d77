"""Pooling against plain loops in float64: every variant, any geometry; the gradients as adjoints."""

import math
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from samples import examples

import gpugrad as gg
from gpugrad import kernels as K
from gpugrad.array import Array
from gpugrad.custom import kernel

FLOATS = [np.float32, np.float64]
MAX, MAX_BACK = K.variants("max_pool2d"), K.variants("max_pool2d_backward")
AVG, AVG_BACK = K.variants("avg_pool2d"), K.variants("avg_pool2d_backward")


class Case(NamedTuple):
    size: tuple
    kernel: tuple
    stride: tuple
    padding: tuple = (0, 0)
    dilation: tuple = (1, 1)
    ceil: bool = False

    @property
    def max_args(self):
        return self.kernel, self.stride, self.padding, self.dilation, self.ceil

    @property
    def avg_args(self):
        return self.kernel, self.stride, self.padding, self.ceil

    @property
    def starts(self):
        """Where the windows start along each axis: counted, not computed. With `ceil`, where the last one leaves a
        rest, also one that is cut off, unless it would start beyond the image and the padding before it."""
        found = []
        for n, k, s, p, d in zip(self.size, self.kernel, self.stride, self.padding, self.dilation):
            reach = (k - 1) * d + 1
            here = [a for a in range(-p, n + p, s) if a + reach <= n + p]
            after = -p + len(here) * s
            if self.ceil and after < n and after - s + reach < n + p:
                here.append(after)
            found.append(here)
        return found

    @property
    def is_2x2(self):
        columns = self.starts[1]
        whole = all((a[-1] + 2) <= n for a, n in zip(self.starts, self.size))
        plain = self.kernel == self.stride == (2, 2) and self.padding == (0, 0) and self.dilation == (1, 1)
        return plain and whole and len(columns) >= 4


CASES = [
    Case((28, 28), (2, 2), (2, 2)),
    Case((14, 14), (2, 2), (2, 2)),
    Case((7, 13), (2, 2), (2, 2)),
    Case((7, 13), (2, 2), (2, 2), ceil=True),
    Case((5, 8), (2, 2), (2, 2)),
    Case((2, 2), (2, 2), (2, 2)),
    Case((9, 8), (3, 3), (2, 2), (1, 1)),  # overlapping
    Case((7, 6), (3, 2), (1, 1)),
    Case((8, 7), (2, 3), (3, 1), (1, 1)),
    Case((11, 16), (3, 2), (2, 3), (1, 1), (2, 3)),
    Case((10, 7), (3, 4), (3, 2), (1, 2), (1, 1), True),
    Case((5, 6), (1, 1), (2, 3)),  # elements that no window sees
    Case((5, 6), (1, 3), (1, 1), (0, 1), (1, 2)),
    Case((3, 70), (2, 2), (1, 1)),  # rows longer than a strip
    Case((3, 140), (2, 3), (2, 2), (1, 1), (1, 3)),
    Case((4, 200), (1, 5), (1, 3), (0, 2)),
    Case((3, 5), (1, 6), (1, 4), (0, 3)),  # a place in the window that only the last windows of a row see
    Case((1, 1), (1, 1), (1, 1)),
    Case((1, 3), (3, 3), (3, 3), (1, 1), (1, 1), True),
    Case((1, 4), (2, 2), (3, 2), (1, 0), (4, 1), True),  # a row of windows that see padding only
]


@st.composite
def cases(draw, dilated):
    sides = []
    for _ in "HW":
        kernel = draw(st.integers(1, 4))
        dilation = draw(st.integers(1, 3)) if dilated else 1
        padding = draw(st.integers(0, kernel // 2))
        smallest = max(1, (kernel - 1) * dilation + 1 - 2 * padding)
        sides.append((draw(st.integers(smallest, smallest + 7)), kernel, draw(st.integers(1, 4)), padding, dilation))
    return Case(*zip(*sides), draw(st.booleans()))


def max_reference(x, c):
    """(values, indices), one window after another; -1 where a window sees padding only."""
    rows, columns = c.starts
    values = np.full((*x.shape[:-2], len(rows), len(columns)), -np.inf)
    indices = np.full(values.shape, -1)
    for plane in np.ndindex(x.shape[:-2]):
        for i, top in enumerate(rows):
            for j, left in enumerate(columns):
                for kh in range(c.kernel[0]):
                    for kw in range(c.kernel[1]):
                        h, w = top + kh * c.dilation[0], left + kw * c.dilation[1]
                        if 0 <= h < c.size[0] and 0 <= w < c.size[1]:
                            a, at = x[plane][h, w], (*plane, i, j)
                            nan_wins = math.isnan(a) and not math.isnan(values[at])
                            if indices[at] < 0 or a > values[at] or nan_wins:
                                values[at], indices[at] = a, h * c.size[1] + w
    return values, indices


def avg_windows(c, include_pad, divisor):
    """For each window: its place, the elements it sees, and what their sum is divided by."""
    (H, W), (KH, KW), (PH, PW) = c.size, c.kernel, c.padding
    for i, top in enumerate(c.starts[0]):
        for j, left in enumerate(c.starts[1]):
            rows = range(max(top, 0), min(top + KH, H))
            columns = range(max(left, 0), min(left + KW, W))
            padded = (min(top + KH, H + PH) - top) * (min(left + KW, W + PW) - left)
            yield i, j, rows, columns, divisor or (padded if include_pad else len(rows) * len(columns))


def avg_reference(x, c, include_pad, divisor):
    out = np.zeros((*x.shape[:-2], *map(len, c.starts)))
    for i, j, rows, columns, n in avg_windows(c, include_pad, divisor):
        out[..., i, j] = sum(x[..., h, w].astype(np.float64) for h in rows for w in columns) / n
    return out


def avg_gradient(g, c, include_pad, divisor):
    gx = np.zeros((*g.shape[:-2], *c.size))
    for i, j, rows, columns, n in avg_windows(c, include_pad, divisor):
        for h in rows:
            for w in columns:
                gx[..., h, w] += g[..., i, j].astype(np.float64) / n
    return gx


def max_gradient(g, indices, c):
    gx = np.zeros((*g.shape[:-2], *c.size))
    for at in np.ndindex(g.shape):
        if indices[at] >= 0:
            gx[at[:-2]].flat[indices[at]] += g[at]
    return gx


def fits(variant, c):
    return variant != "2x2" or c.is_2x2


def test_the_ladders_start_with_the_one_to_read():
    assert MAX == ["window", "rows", "2x2"] and AVG == ["window", "rows"]
    assert MAX_BACK == AVG_BACK == ["gather", "planes"]


# Max


def check_max(x, c, variant):
    values, indices = max_reference(x, c)
    got, places = K.max_pool2d(Array.from_numpy(x), *c.max_args, variant=variant)
    assert got.dtype == x.dtype and places.dtype == np.int32
    np.testing.assert_array_equal(got.numpy(), values, err_msg=f"{variant} {c}")
    np.testing.assert_array_equal(places.numpy(), indices, err_msg=f"{variant} {c}")


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("variant", [*MAX, None])
@pytest.mark.parametrize("c", CASES, ids=str)
def test_max_of_every_window_and_its_place(device, rng, c, variant, dtype):
    if fits(variant, c):
        # Few different values: many windows have several largest elements. All are far below 0.
        check_max(rng.integers(-9, 3, (2, 3, *c.size)).astype(dtype) - 1000, c, variant)


@examples
@given(c=cases(dilated=True))
def test_max_in_any_geometry(device, c):
    x = np.random.default_rng(5).integers(-3, 4, (1, 2, *c.size)).astype(np.float32)
    for variant in filter(lambda v: fits(v, c), MAX):
        check_max(x, c, variant)


@pytest.mark.parametrize("variant", MAX)
@pytest.mark.parametrize("c", [CASES[2], CASES[6], CASES[13]], ids=str)
def test_a_nan_is_the_maximum_and_the_first_one_counts(device, rng, c, variant):
    if fits(variant, c):
        x = rng.standard_normal((2, 2, *c.size)).astype(np.float32)
        x[rng.random(x.shape) < 0.2] = np.nan
        x[rng.random(x.shape) < 0.2] = np.inf
        check_max(x, c, variant)


@pytest.mark.parametrize("variant", MAX)
@pytest.mark.parametrize("c", [CASES[2], CASES[6], CASES[13]], ids=str)
def test_of_minus_infinities_the_first_in_the_image_counts_and_padding_never(device, c, variant):
    if fits(variant, c):
        check_max(np.full((1, 2, *c.size), -np.inf, np.float32), c, variant)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("variant", [*MAX_BACK, None])
@pytest.mark.parametrize("c", CASES, ids=str)
def test_the_gradient_of_max_goes_to_the_winners(device, rng, c, variant, dtype):
    x = rng.integers(-9, 3, (2, 3, *c.size)).astype(dtype)
    out, indices = K.max_pool2d(Array.from_numpy(x), *c.max_args)
    g = rng.integers(-9, 10, out.shape).astype(dtype)  # whose sums are exact
    got = K.max_pool2d_backward(Array.from_numpy(g), indices, x.shape, *c.max_args, variant=variant)
    assert got.dtype == dtype
    np.testing.assert_array_equal(got.numpy(), max_gradient(g, indices.numpy(), c))


@examples
@given(c=cases(dilated=True))
def test_the_gradient_of_max_in_any_geometry(device, c):
    rng = np.random.default_rng(6)
    x = Array.from_numpy(rng.integers(-3, 4, (1, 2, *c.size)).astype(np.float32))
    out, indices = K.max_pool2d(x, *c.max_args)
    g = rng.integers(-9, 10, out.shape).astype(np.float32)
    for variant in MAX_BACK:
        got = K.max_pool2d_backward(Array.from_numpy(g), indices, x.shape, *c.max_args, variant=variant).numpy()
        np.testing.assert_array_equal(got, max_gradient(g, indices.numpy(), c), err_msg=variant)


@pytest.mark.large  # when it is recorded
def test_an_element_asks_the_windows_that_see_it_and_no_others_whether_it_won(device, rng):
    c = CASES[6]
    x = Array.from_numpy(rng.standard_normal((1, 1, *c.size)).astype(np.float32))
    out, indices = K.max_pool2d(x, *c.max_args)
    with gg.trace() as t:
        K.max_pool2d_backward(out, indices, x.shape, *c.max_args, variant="gather")
    asked = t.launches[0].select(kind="load", buffer="indices")["work_item"]
    rows, columns = (
        [sum(0 <= i - start < k for start in starts) for i in range(n)]
        for n, k, starts in zip(c.size, c.kernel, c.starts)
    )
    np.testing.assert_array_equal(np.bincount(asked), np.outer(rows, columns).ravel())


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("c", CASES, ids=str)
def test_picking_the_maxima_of_another_array(device, rng, c, dtype):
    x, h = (Array.from_numpy(rng.standard_normal((2, 3, *c.size)).astype(dtype)) for _ in range(2))
    out, indices = K.max_pool2d(x, *c.max_args)
    places = indices.numpy()
    expected = np.zeros(out.shape, dtype)
    for at in np.ndindex(out.shape):
        if places[at] >= 0:
            expected[at] = h.numpy()[at[:2]].flat[places[at]]
    np.testing.assert_array_equal(K.max_pool2d_pick(h, indices).numpy(), expected)


@pytest.mark.parametrize("variant", MAX_BACK)
def test_indices_out_of_the_plane_reach_nowhere(device, variant):
    g = Array.from_numpy(np.ones((1, 2, 1, 2), np.float32))
    indices = Array.from_numpy(np.array([[[[-1, 16]], [[3, 99]]]], np.int32))
    got = K.max_pool2d_backward(g, indices, (1, 2, 2, 8), 2, (2, 4), variant=variant).numpy()
    assert (got[0, 0] == 0).all() and got.sum() <= 1
    x = Array.from_numpy(np.full((1, 2, 2, 8), 5, np.float32))
    np.testing.assert_array_equal(K.max_pool2d_pick(x, indices).numpy(), [[[[0, 0]], [[5, 0]]]])


# Average


@pytest.mark.parametrize("include_pad", [True, False])
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("variant", [*AVG, None])
@pytest.mark.parametrize("c", [c for c in CASES if c.dilation == (1, 1)], ids=str)
def test_average_of_every_window(device, rng, c, variant, dtype, include_pad):
    x = rng.standard_normal((2, 3, *c.size)).astype(dtype)
    for divisor in (None, 7, -2):
        got = K.avg_pool2d(Array.from_numpy(x), *c.avg_args, include_pad, divisor, variant=variant).numpy()
        assert got.dtype == dtype
        # at most 12 additions of numbers up to 4, and a division
        tolerance = 60 * np.finfo(dtype).eps
        np.testing.assert_allclose(got, avg_reference(x, c, include_pad, divisor), rtol=0, atol=tolerance)


@pytest.mark.parametrize("include_pad", [True, False])
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("variant", [*AVG_BACK, None])
@pytest.mark.parametrize("c", [c for c in CASES if c.dilation == (1, 1)], ids=str)
def test_the_gradient_of_an_average_is_shared_out(device, rng, c, variant, dtype, include_pad):
    shape = (2, 3, *map(len, c.starts))
    g = rng.standard_normal(shape).astype(dtype)
    for divisor in (None, 7, -2):
        args = (2, 3, *c.size), *c.avg_args, include_pad, divisor
        got = K.avg_pool2d_backward(Array.from_numpy(g), *args, variant=variant).numpy()
        tolerance = 60 * np.finfo(dtype).eps  # as above
        np.testing.assert_allclose(got, avg_gradient(g, c, include_pad, divisor), rtol=0, atol=tolerance)


@examples
@given(c=cases(dilated=False), include_pad=st.booleans(), divisor=st.sampled_from([None, 3]))
def test_average_and_its_gradient_in_any_geometry(device, c, include_pad, divisor):
    rng = np.random.default_rng(7)
    x = rng.standard_normal((1, 2, *c.size))
    expected = avg_reference(x, c, include_pad, divisor)
    g = rng.standard_normal(expected.shape)
    options = *c.avg_args, include_pad, divisor
    for variant in AVG:
        got = K.avg_pool2d(Array.from_numpy(x), *options, variant=variant).numpy()
        np.testing.assert_allclose(got, expected, rtol=0, atol=1e-14, err_msg=variant)
    for variant in AVG_BACK:
        got = K.avg_pool2d_backward(Array.from_numpy(g), x.shape, *options, variant=variant).numpy()
        np.testing.assert_allclose(got, avg_gradient(g, c, include_pad, divisor), rtol=0, atol=1e-14, err_msg=variant)
        # adjoint: <avg x, g> = <x, backward g>
        assert abs((expected * g).sum() - (x * got).sum()) < 1e-12


@pytest.mark.parametrize("variant", AVG)
def test_a_nan_spoils_the_averages_of_its_windows_only(device, variant):
    x = np.zeros((1, 1, 6, 6), np.float32)
    x[0, 0, 2, 3] = np.nan
    got = K.avg_pool2d(Array.from_numpy(x), 2, variant=variant).numpy()
    assert np.isnan(got[0, 0, 1, 1]) and np.isnan(got).sum() == 1


# Both


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
