"""float16 in the kernel families that add up, copy windows, and are recorded: float32 between load and store."""

import math

import numpy as np
import pytest
from halves import SINGLE, close, normal
from windows import Geometry, conv2d, conv2d_backward_input, conv2d_backward_weight, im2col

import gpugrad as gg
from gpugrad import Array, kernels
from gpugrad.kernels.tuning import TUNING
from gpugrad.nn import functional as F


@pytest.mark.parametrize("variant", kernels.variants("gemm"))
@pytest.mark.parametrize("shape", [(7, 13, 31), (33, 5, 2), (5, 9, 2100)])
@pytest.mark.parametrize("transposed", [False, True])
def test_products_are_accumulated_in_float32(device, rng, variant, shape, transposed):
    M, N, K = shape
    a, b, c = normal(rng, M, K), normal(rng, K, N), normal(rng, M, N)
    operands = (a.T, b.T) if transposed else (a, b)
    arrays = [Array.from_numpy(np.ascontiguousarray(x)) for x in operands]
    turned = {"transpose_a": transposed, "transpose_b": transposed, "variant": variant}
    wide = [x.astype(np.float64) for x in (a, b, c)]
    true, size = wide[0] @ wide[1], np.abs(wide[0]) @ np.abs(wide[1])
    single = 2 * 2 * SINGLE * math.sqrt(K) * size
    close(kernels.gemm(*arrays, **turned).numpy(), true, single)
    out = Array.from_numpy(c)
    kernels.gemm(*arrays, alpha=0.1, beta=0.3, out=out, **turned)
    close(out.numpy(), 0.1 * true + 0.3 * wide[2], single + 4 * SINGLE * np.abs(wide[2]))
    # The sum may go on in float32.
    out = Array.from_numpy(c.astype(np.float32))
    kernels.gemm(*arrays, beta=1, out=out, **turned)
    assert (np.abs(out.numpy() - (true + wide[2])) <= single + 4 * SINGLE * np.abs(wide[2])).all()


@pytest.mark.parametrize("variant", kernels.variants("gemm"))
def test_batches_of_products_add_up_in_float32(device, rng, variant):
    a, b = normal(rng, 9, 2, 5, 4), normal(rng, 9, 2, 4, 6)
    got = kernels.gemm_sum(Array.from_numpy(a), Array.from_numpy(b), variant=variant).numpy()
    wide = [x.astype(np.float64) for x in (a, b)]
    size = (np.abs(wide[0]) @ np.abs(wide[1])).sum(0)
    close(got, (wide[0] @ wide[1]).sum(0), 4 * SINGLE * 6 * size)


CONVOLUTIONS = {
    "the course's": ((4, 8, 12, 12), (16, 8, 5, 5), 1, 2, 1),
    "with a stride": ((3, 4, 11, 9), (6, 4, 3, 3), 2, 1, 1),
    "in groups": ((5, 6, 8, 7), (9, 2, 3, 2), 1, 0, 3),
    "of single pixels": ((3, 5, 6, 5), (7, 5, 1, 1), 1, 0, 1),
}


def scaled_error(got, true):
    """The root of the mean square of the error, in units of that of the true values."""
    assert got.dtype == np.float16 and got.shape == true.shape
    return math.sqrt(((got - true) ** 2).mean() / (true**2).mean())


@pytest.mark.parametrize("case", CONVOLUTIONS)
@pytest.mark.parametrize("variant", kernels.variants("conv2d"))
def test_convolutions_and_their_gradients_err_by_less_than_a_thousandth(device, rng, case, variant):
    """Forward, bias, input gradient and weight gradient, against float64, with batches of more than one image."""
    x_shape, w_shape, stride, padding, groups = CONVOLUTIONS[case]
    x, w, bias = normal(rng, *x_shape), normal(rng, *w_shape), normal(rng, w_shape[0])
    wide_x, wide_w = x.astype(np.float64), w.astype(np.float64)
    geometry = Geometry(x_shape[2:], w_shape[2:], (stride,) * 2, (padding,) * 2)
    settings = (stride, padding, 1, groups)
    true = conv2d(wide_x, wide_w, geometry, groups)
    ax, aw = Array.from_numpy(x), Array.from_numpy(w)
    y = kernels.conv2d(ax, aw, Array.from_numpy(bias), *settings, variant=variant).numpy()
    assert scaled_error(y, true + bias.astype(np.float64).reshape(-1, 1, 1)) < 1e-3

    g = normal(rng, *true.shape)
    wide_g, ag = g.astype(np.float64), Array.from_numpy(g)
    got = kernels.conv2d_backward_input(x_shape, aw, ag, *settings, variant=variant).numpy()
    assert scaled_error(got, conv2d_backward_input(x_shape, wide_w, wide_g, geometry, groups)) < 1e-3
    got = kernels.conv2d_backward_weight(ax, w_shape, ag, *settings, variant=variant).numpy()
    assert scaled_error(got, conv2d_backward_weight(wide_x, w_shape, wide_g, geometry, groups)) < 1e-3
    got = kernels.reduce("sum", ag, (0, 2, 3)).numpy()
    assert scaled_error(got, wide_g.sum((0, 2, 3))) < 1e-3


def test_a_weight_gradient_adds_portions_of_the_batch_in_float32(device, monkeypatch):
    """2048 from the first image, 1/128 from each of the others: half would stay at 2048, portion after portion."""
    for key in ("im2col bytes", "conv bytes"):
        monkeypatch.setitem(TUNING, key, {"cpu": 1, "gpu": 1})
    N = 3 * device.alignment // 2  # three portions, each of whole units of alignment
    x, g = np.full((N, 1, 3, 3), 0.25, np.float16), np.full((N, 1, 1, 1), 1 / 32, np.float16)
    g[0] = 2048 * 4
    for variant in kernels.variants("conv2d_backward_weight"):
        got = kernels.conv2d_backward_weight(
            Array.from_numpy(x), (1, 1, 3, 3), Array.from_numpy(g), variant=variant
        ).numpy()
        np.testing.assert_array_equal(got, np.full((1, 1, 3, 3), np.float16(2048 + (N - 1) / 128)))
    assert np.float16(2048 + (N - 1) / 128) > 2048


@pytest.mark.parametrize("variant", kernels.variants("col2im"))
def test_overlapping_columns_are_added_up_in_float32(device, variant):
    """A pixel that nine windows see, of 2048 from one and 1/2 from the others: half alone would stay at 2048."""
    col = np.full((2, 9, 9), 0.5, np.float16)
    col[:, 0, 8] = 2048  # window (2, 2) has its element (0, 0) at the pixel (2, 2)
    got = kernels.col2im(Array.from_numpy(col), (5, 5), 3, variant=variant).numpy()
    assert (got[:, 0, 2, 2] == 2052).all()


@pytest.mark.parametrize("variant", kernels.variants("max_pool2d_backward"))
def test_pooling_adds_up_overlapping_gradients_in_float32(device, variant):
    x = np.zeros((1, 1, 5, 5), np.float16)
    x[0, 0, 2, 2] = 1
    _, indices = kernels.max_pool2d(Array.from_numpy(x), 3, 1)
    g = np.full((1, 1, 3, 3), 0.5, np.float16)
    g[0, 0, 0, 0] = 2048
    got = kernels.max_pool2d_backward(Array.from_numpy(g), indices, x.shape, 3, 1, variant=variant).numpy()
    assert got[0, 0, 2, 2] == 2052
    got = kernels.avg_pool2d_backward(Array.from_numpy(g * 9), x.shape, 3, 1, variant=variant).numpy()
    assert got[0, 0, 2, 2] == 2052


@pytest.mark.parametrize("variant", kernels.variants("im2col"))
def test_im2col_moves_halves_as_they_are(device, rng, variant):
    x = normal(rng, 2, 3, 5, 6)
    got = kernels.im2col(Array.from_numpy(x), 3, variant=variant).numpy()
    np.testing.assert_array_equal(got, im2col(x, Geometry((5, 6), (3, 3))))


def test_scratch_is_counted_in_bytes(device, rng):
    size = (4, 3, 8, 7)
    assert kernels.im2col_scratch_bytes(size, 3, padding=1, dtype=gg.float16) == 4 * 3 * 9 * 8 * 7 * 2
    assert kernels.col2im_scratch_bytes(size) == 4 * (4 * 3 * 8 * 7)  # the scatter always adds up in float32
    x, w = Array.from_numpy(normal(rng, *size)), Array.from_numpy(normal(rng, 5, 3, 3, 3))
    exact = Array.empty((kernels.im2col_scratch_bytes(size, 3, padding=1, dtype="float16") // 2,), gg.float16)
    y = kernels.conv2d(x, w, padding=1, scratch=exact)
    np.testing.assert_array_equal(y.numpy(), kernels.conv2d(x, w, padding=1, variant="im2col").numpy())
    with pytest.raises(ValueError, match=r"scratch has \d+ bytes; it needs im2col_scratch_bytes = .* \* 2 = "):
        kernels.conv2d(x, w, padding=1, scratch=exact._view((exact.size - 1,), 0))


@pytest.mark.deep
def test_half_is_recorded_bit_for_bit(device, rng):
    """The recorded kernel gives the plain one's results, and its events hold what memory held."""
    x, w = gg.tensor(normal(rng, 2, 3, 6, 5)), gg.tensor(normal(rng, 4, 3, 3, 3))

    def run():
        y = F.max_pool2d(F.relu(F.conv2d(x, w, padding=1)), 2)
        return F.softmax(y.reshape(2, -1) @ gg.ones(24, 3, dtype=gg.float16), 1).numpy()

    plain = run()
    with gg.trace() as t:
        recorded = run()
    assert recorded.tobytes() == plain.tobytes() and not t.skipped
    for launch in t.launches:
        assert launch.report().ok, str(launch.report())
    relu = next(launch for launch in t.launches if launch.kernel == "unary")
    stored = relu.events[relu.events["kind"] == "store"]
    np.testing.assert_array_equal(np.sort(stored["value"]), np.sort(relu.replay("out").ravel().astype(float)))


def test_a_kernel_of_your_own_may_store_half(device, rng):
    text = """
__kernel void twice(__global const half *x, __global half *out, int n) {
  int i = get_global_id(0);
  if (i < n) out[i] = 2 * x[i];
}
"""
    twice, x = gg.kernel(text), normal(rng, 10)
    out = Array.empty((10,), gg.float16)
    twice(Array.from_numpy(x), out, 10, global_size=16)
    np.testing.assert_array_equal(out.numpy(), x * 2)
    with pytest.raises(gg.KernelArgumentError, match=r"half\* x, points to half; got an array of float32"):
        twice(Array.from_numpy(x.astype("f4")), out, 10, global_size=16)
    with pytest.raises(gg.KernelBuildError, match=r"line 4: use of undeclared identifier 'y'\n +if \(i < n\)"):
        gg.kernel(text.replace("x[i]", "y[i]"))
    with pytest.raises(gg.KernelBuildError, match="line 4"):
        gg.kernel(text.replace("n) out", "n out"))
