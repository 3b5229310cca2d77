"""Mistakes of the two sources that gpugrad grew from, one test for each: none of them may come back."""

import math

import numpy as np
import pytest
from samples import Launches, same
from windows import Geometry, whole
from windows import col2im as col2im_reference
from windows import conv2d as conv_reference
from windows import conv2d_backward_input as input_reference
from windows import conv2d_backward_weight as weight_reference
from windows import im2col as im2col_reference

import gpugrad as gg
from gpugrad import kernels as K
from gpugrad.device import Device
from gpugrad.nn import functional as F

A = gg.Array.from_numpy


def softmax_reference(x, axis):
    e = np.exp(np.float64(x) - np.float64(x).max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def test_softmax_subtracts_the_maximum(device):
    x = np.array([[1000, 1001, 999], [-1000, -1001, -1e30], [88, 89, 90]], np.float32)
    exact = softmax_reference(x, 1)
    t = gg.tensor(x, requires_grad=True)
    # the exponents are exact here, so a few roundings of exp, sum and division remain
    np.testing.assert_allclose(F.softmax(t, 1).detach().numpy(), exact, rtol=4 * 2**-23)
    logs = F.log_softmax(t, 1)
    expected = (
        np.float64(x)
        - x.max(1, keepdims=True)
        - np.log(np.exp(np.float64(x) - x.max(1, keepdims=True)).sum(1))[:, None]
    )
    np.testing.assert_allclose(logs.detach().numpy(), expected, rtol=4 * 2**-23)
    F.cross_entropy(t, gg.tensor([1, 0, 2])).backward()
    expected = (exact - np.eye(3)[[1, 0, 2]]) / 3
    np.testing.assert_allclose(t.grad.numpy(), expected, rtol=0, atol=4 * 2**-23)


def test_the_gradient_of_relu_at_zero_is_zero(device):
    x = gg.tensor([-1.0, -0.0, 0.0, 1e-45, 1.0], requires_grad=True)
    F.relu(x).sum().backward()
    same(x.grad, np.array([0, 0, 0, 1, 1], np.float32))


def test_a_maximum_is_not_seeded_with_a_finite_number(device):
    lowest = np.finfo(np.float32).min
    for value in (-math.inf, lowest, math.nan):
        x = np.full((1, 1, 4, 4), value, np.float32)
        same(F.max_pool2d(gg.tensor(x), 2), x[..., ::2, ::2])
        same(F.max_pool2d(gg.tensor(x), 3, padding=1), x[..., :2, :2])
        same(gg.tensor(x).amax((2, 3)), x[..., 0, 0])
        same(gg.tensor(x).max(), x[0, 0, 0, 0])
        same(K.reduce("max", A(x), 1), x[0])
    for variant in K.variants("reduce"):
        for op, value in (("max", -math.inf), ("min", math.inf)):
            x = np.full((3, 70), value, np.float32)
            same(K.reduce(op, A(x), 1, variant=variant), x[:, 0])


def test_pooling_indices_are_integers(device, rng):
    x = rng.permutation(2 * 3 * 6 * 4).reshape(2, 3, 6, 4).astype(np.float32)
    out, index = F.max_pool2d(gg.tensor(x), 2, return_indices=True)
    assert index.dtype == gg.int32
    picked = np.take_along_axis(x.reshape(2, 3, 24), index.numpy().reshape(2, 3, 6), 2)
    same(out, picked.reshape(2, 3, 3, 2))


@pytest.mark.large
def test_pooling_indices_stay_exact_where_floats_skip_integers(device):
    """Beyond 2^24 a float32 holds even integers only."""
    x = np.zeros((1, 1, 2, 2**23 + 8), np.float32)
    x[0, 0, 1, -3] = 1
    t = gg.tensor(x, requires_grad=True)
    out, index = F.max_pool2d(t, (2, 8), return_indices=True)
    assert index.numpy().max() == 2 * (2**23 + 8) - 3 and out.detach().numpy().max() == 1
    out.sum().backward()
    assert t.grad.numpy()[0, 0, 1, -3] == 1


@pytest.mark.large
def test_a_long_sum_is_not_serial(device):
    """One after another, ones in float32 stop counting at 2^24."""
    n = 2**24 + 4098
    x = K.fill(gg.Array.empty((n,)), 1)
    with Launches() as launches:
        total = K.reduce("sum", x)
    assert total.numpy() == np.float32(n)
    assert math.prod(launches[0].global_size) > 64
    assert all("serial" not in launch.kernel.name for launch in launches)


def test_the_input_gradient_of_one_image_is_shared_among_work_items(device, rng):
    w, dy = A(rng.standard_normal((8, 1, 5, 5))), A(rng.standard_normal((1, 8, 60, 60)))
    with Launches() as launches:
        out = K.conv2d_backward_input((1, 1, 64, 64), w, dy)
    writes = [launch for launch in launches if any(a is out for a in launch.args)]
    assert writes and all(math.prod(launch.global_size) >= 16 for launch in writes)


def test_work_happens_on_the_device_of_the_tensors(device, rng):
    """Not on the first device there is, nor on the current one: here, a second context on the same hardware."""
    other = Device(device.number, device.cl_device)
    shapes = (2, 3, 8, 8), (4, 3, 3, 3), (64, 5)
    x, w, v = (gg.tensor(rng.standard_normal(s), device=other, requires_grad=True) for s in shapes)
    with Launches() as launches:
        out = F.log_softmax(F.max_pool2d(F.relu(F.conv2d(x, w, padding=1)), 2).flatten(1) @ v, 1)
        (out * out).sum().backward()
    assert {launch.kernel.device for launch in launches} == {other}
    assert x.grad.device is other and out.device is other
    with pytest.raises(ValueError, match=r"input is on .* other on"):
        x + gg.zeros(8, 8)


def test_devices_are_chosen_by_kind_name_or_number(device):
    for which in (device.kind, device.name[:6], str(device.number), device.number):
        with gg.use_device(which) as chosen:
            assert gg.zeros(1).device is chosen
            assert chosen.kind == device.kind or which != device.kind


@pytest.mark.parametrize("op", [gg.add, gg.sub, gg.mul, gg.div, gg.pow])
@pytest.mark.parametrize("shapes", [((4,), (2, 3, 4)), ((2, 3, 4), (3, 1)), ((), (2, 3)), ((2, 1), (3, 1, 5))])
def test_gradients_of_shapes_with_different_numbers_of_dimensions(device, rng, op, shapes):
    x, y = (gg.tensor(rng.uniform(1, 2, s), requires_grad=True) for s in shapes)
    out = op(x, y)
    assert out.shape == np.broadcast_shapes(*shapes)
    assert gg.gradcheck(op, (x, y))


def test_powers_of_negative_numbers_have_a_gradient(device):
    x = gg.tensor([-2.0, -1.0, 0.0, 3.0], requires_grad=True)
    for exponent in (3.0, gg.tensor([3.0, 3.0, 3.0, 3.0])):
        x.grad = None
        (x**exponent).sum().backward()
        same(x.grad, np.array([12, 3, 0, 27], np.float32))
    y = gg.tensor([2.0, 2.0, 2.0, 2.0], requires_grad=True)
    (x.detach() ** y).sum().backward()
    got = y.grad.numpy()
    # x^y log x: there is none below 0, and at 0 the limit is 0
    assert np.isnan(got[:2]).all() and got[2] == 0
    np.testing.assert_allclose(got[3], 9 * math.log(3), rtol=4 * 2**-23)  # pow, log and a product, rounded
    x.grad = None
    (x**2.0 + 1.0).sum().backward()
    assert np.isfinite(x.grad.numpy()).all()  # the exponent's NaN is not x's


def test_beta_zero_does_not_read_the_result(device, rng):
    for M, N, Kdim in ((3, 5, 7), (64, 64, 64), (65, 33, 17), (2, 3, 0)):
        a, b = whole(rng, M, Kdim).astype(np.float32), whole(rng, Kdim, N).astype(np.float32)
        for variant in (None, *K.variants("gemm")):
            out = A(np.full((M, N), np.nan, np.float32))
            same(K.gemm(A(a), A(b), beta=0, variant=variant, out=out), a @ b)


def test_what_an_index_cannot_reach_is_refused_by_name(device):
    with pytest.raises(ValueError, match=r"2,147,483,648 elements; kernels index with 32-bit int"):
        gg.Array.empty((2**16, 2**15), np.uint8)
    with pytest.raises(ValueError, match="32-bit int"):
        gg.zeros(1, dtype=gg.uint8).expand(2**31)
    with pytest.raises(ValueError, match="32-bit int"):
        F.pad(gg.zeros(1, 1, dtype=gg.uint8), (0, 2**16 - 1, 0, 2**15 - 1))
    with pytest.raises(ValueError, match="32-bit int"):
        K.im2col(gg.Array.empty((1, 1, 2**12, 2**12)), 13, 1, 6)


@pytest.mark.deep
@pytest.mark.large
def test_the_last_elements_of_the_largest_array_are_reached(device, monkeypatch):
    """Work-items times elements for each, rounded up, pass 2^31 here."""
    monkeypatch.undo()  # the poison behind each block would make this one larger than devices allow
    n = 2**31 - 1
    if n > min(device.cl_device.max_mem_alloc_size, device.global_memory // 2):
        pytest.skip(f"{device} cannot hold {n} bytes")
    x = K.fill(gg.Array.empty((n,), np.uint8), 3)
    K.set_slice(x, slice(n - 3, None), 7)
    same(K.get_slice(x, slice(n - 5, None)), np.array([3, 3, 7, 7, 7], np.uint8))
    K.set_slice(x, slice(1, None), 9)
    same(K.get_slice(x, slice(0, None, n - 1)), np.array([3, 9], np.uint8))


# Every number that has a height and a width, different in the two
LOPSIDED = Geometry((11, 8), (2, 3), (3, 1), (1, 2), (3, 2))


def test_height_and_width_are_not_swapped(device, rng):
    kernel, stride, padding, dilation = LOPSIDED.window
    OH, OW = LOPSIDED.output
    arguments = {"stride": stride, "padding": padding, "dilation": dilation}
    x, w, dy = whole(rng, 2, 3, 11, 8), whole(rng, 4, 3, 2, 3), whole(rng, 2, 4, OH, OW)
    col = whole(rng, 2, 3 * 2 * 3, OH * OW)
    assert OH != OW
    for variant in K.variants("im2col"):
        same(K.im2col(A(x), kernel, variant=variant, **arguments), im2col_reference(x, LOPSIDED))
    for variant in K.variants("col2im"):
        same(K.col2im(A(col), (11, 8), kernel, variant=variant, **arguments), col2im_reference(col, LOPSIDED))
    tx, tw = gg.tensor(x, requires_grad=True), gg.tensor(w, requires_grad=True)
    out = F.conv2d(tx, tw, **arguments)
    same(out.detach(), conv_reference(x, w, LOPSIDED))
    out.backward(gg.tensor(dy))
    same(tx.grad, input_reference(x.shape, w, dy, LOPSIDED))
    same(tw.grad, weight_reference(x, w.shape, dy, LOPSIDED))
    same(F.unfold(gg.tensor(x), kernel, **arguments), im2col_reference(x, LOPSIDED))
    same(F.fold(gg.tensor(col), (11, 8), kernel, **arguments), col2im_reference(col, LOPSIDED))
    down = F.conv_transpose2d(gg.tensor(dy), gg.tensor(w), output_padding=(1, 0), **arguments)
    same(down, input_reference((2, 3, *down.shape[2:]), w, dy, Geometry(down.shape[2:], *LOPSIDED.window)))


def test_pooling_windows_are_not_swapped(device, rng):
    x = whole(rng, 2, 3, 11, 8)
    padded = np.full((2, 3, 13, 10), -np.inf)
    padded[:, :, 1:12, 1:9] = x
    # dilation (2, 1): a window of 3 x 4 places spans 5 x 4
    tops, lefts = range(0, 9, 2), range(0, 7, 3)
    expected = [padded[:, :, h : h + 5 : 2, w : w + 4].max((2, 3)) for h in tops for w in lefts]
    same(F.max_pool2d(gg.tensor(x), (3, 4), (2, 3), 1, (2, 1)), np.stack(expected, -1).reshape(2, 3, 5, 3))
    tops, lefts = range(0, 9, 2), range(0, 5, 3)
    expected = [x[:, :, h : h + 3, w : w + 4].sum((2, 3)) for h in tops for w in lefts]
    same(F.avg_pool2d(gg.tensor(x), (3, 4), (2, 3), divisor_override=1), np.stack(expected, -1).reshape(2, 3, 5, 2))


def test_scratch_sizes_are_for_the_type_at_hand(device):
    """The notes quote two bytes an element, for half; here a size follows the dtype, and is what is really used."""
    x, kernel = gg.Array.empty((2, 3, 8, 9), np.float64), (3, 2)
    for dtype in ("float16", "float32", "float64"):
        size = 2 * (3 * 3 * 2) * (6 * 8) * np.dtype(dtype).itemsize
        assert K.im2col_scratch_bytes(x.shape, kernel, dtype=dtype) == size
    assert K.im2col_scratch_bytes(x.shape, kernel, dtype=x.dtype) == K.im2col(x, kernel).nbytes
    assert K.col2im_scratch_bytes(x.shape) == 4 * x.size  # the accumulator is float32 whatever is summed
