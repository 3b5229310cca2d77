"""Batch normalisation: kernels and op against loops in float64, running statistics, gradients twice over."""

from __future__ import annotations

import numpy as np
import pytest

import gpugrad as gg
from gpugrad import kernels, nn
from gpugrad.nn import functional as F


def batch_norm(x, gamma, beta, eps):
    """float64, in loops over the channels."""
    y, means, variances = np.empty(x.shape), [], []
    for c in range(x.shape[1]):
        values = x[:, c].astype(np.float64)
        mean = values.sum() / values.size
        variance = ((values - mean) ** 2).sum() / values.size
        y[:, c] = (values - mean) / np.sqrt(variance + eps) * gamma[c] + beta[c]
        means.append(mean)
        variances.append(variance)
    return y, np.array(means), np.array(variances)


@pytest.mark.parametrize("shape", [(5, 3), (4, 3, 7), (2, 3, 5, 7), (2, 1, 3, 1), (3, 2, 2, 3, 2)])
def test_batch_norm_normalises_each_channel(device, rng, shape):
    c = shape[1]
    x = (rng.standard_normal(shape) * 3 + 1).astype(np.float32)
    gamma, beta = rng.standard_normal(c).astype(np.float32), rng.standard_normal(c).astype(np.float32)
    running_mean, running_var = gg.full((c,), 0.5), gg.full((c,), 2.0)
    y = F.batch_norm(
        gg.tensor(x),
        running_mean,
        running_var,
        gg.tensor(gamma),
        gg.tensor(beta),
        training=True,
        momentum=0.25,
        eps=1e-3,
    )
    expected, mean, variance = batch_norm(x, gamma, beta, 1e-3)
    # A mean and a variance of up to 70 numbers near 3.
    np.testing.assert_allclose(y.numpy(), expected, rtol=2e-5, atol=2e-5)
    n = x.size // c
    np.testing.assert_allclose(running_mean.numpy(), 0.75 * 0.5 + 0.25 * mean, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(running_var.numpy(), 0.75 * 2 + 0.25 * variance * n / (n - 1), rtol=1e-5)


def test_batch_norm_keeps_its_digits_far_from_zero(device, rng):
    x = (rng.standard_normal((64, 2, 8, 8)) + 1000).astype(np.float32)
    y = F.batch_norm(gg.tensor(x), None, None, training=True)
    expected, _, _ = batch_norm(x, np.ones(2), np.zeros(2), 1e-5)
    # Numbers near 1000 have steps of 6e-5, and their mean is a few off; E[x^2] - E[x]^2 would be off by 0.1 and more.
    np.testing.assert_allclose(y.numpy(), expected, rtol=0, atol=1e-3)


def test_batch_norm_in_eval_uses_the_running_statistics_and_leaves_them(device, rng):
    layer = nn.BatchNorm2d(3)
    for _ in range(3):
        layer(gg.tensor(rng.standard_normal((4, 3, 2, 2)).astype(np.float32) + 5))
    before = {n: b.numpy() for n, b in layer.named_buffers()}
    assert before["num_batches_tracked"] == 3
    x = rng.standard_normal((1, 3, 1, 1)).astype(np.float32)
    y = layer.eval()(gg.tensor(x)).detach().numpy()
    mean, var = (before[n].reshape(1, 3, 1, 1) for n in ("running_mean", "running_var"))
    np.testing.assert_allclose(y, (x - mean) / np.sqrt(var + 1e-5), rtol=1e-5, atol=1e-6)
    assert all((b.numpy() == before[n]).all() for n, b in layer.named_buffers())


def test_batch_norm_without_momentum_keeps_the_plain_average(device, rng):
    layer = nn.BatchNorm2d(2, momentum=None)
    batches = rng.standard_normal((4, 5, 2, 3, 3)).astype(np.float32)
    for batch in batches:
        layer(gg.tensor(batch))
    np.testing.assert_allclose(layer.running_mean.numpy(), batches.mean((0, 1, 3, 4)), rtol=1e-5, atol=1e-6)
    variances = batches.transpose(0, 2, 1, 3, 4).reshape(4, 2, -1).var(2, ddof=1).mean(0)
    np.testing.assert_allclose(layer.running_var.numpy(), variances, rtol=1e-5)


@pytest.mark.parametrize("shape", [(3, 2), (2, 3, 5), (3, 2, 3, 1)])
@pytest.mark.parametrize("affine", [True, False])
def test_batch_norm_differentiates_twice(device, rng, shape, affine):
    def vector():
        return gg.tensor(rng.standard_normal(shape[1]), requires_grad=True)

    x = gg.tensor(rng.standard_normal(shape), requires_grad=True)
    args = [x, vector(), vector()] if affine else [x]

    def f(x, *affine):
        return F.batch_norm(x, None, None, *affine, training=True, eps=0.1)

    assert gg.gradcheck(f, args)
    assert gg.gradgradcheck(f, args)


def test_batch_norm_differentiates_twice_in_eval(device, rng):
    mean, var = gg.tensor(rng.standard_normal(2)), gg.tensor(rng.random(2) + 0.5)

    def f(x, weight, bias):
        return F.batch_norm(x, mean.to(x.dtype), var.to(x.dtype), weight, bias)

    args = [gg.tensor(rng.standard_normal(s), requires_grad=True) for s in ((3, 2, 2), (2,), (2,))]
    assert gg.gradcheck(f, args)
    assert gg.gradgradcheck(f, args)


def test_a_batch_in_training_does_not_change_the_gradient_of_one_in_eval_before_it(device, rng):
    layer = nn.BatchNorm2d(2)
    x = gg.tensor(rng.standard_normal((3, 2, 2, 2)).astype(np.float32), requires_grad=True)
    layer.running_var.copy_(gg.tensor([4.0, 9.0]))
    y = layer.eval()(x)
    layer.train()(gg.tensor(rng.standard_normal((3, 2, 2, 2)).astype(np.float32) * 5))
    y.sum().backward()
    want = np.broadcast_to((1 / np.sqrt(np.array([4, 9]) + 1e-5)).reshape(1, 2, 1, 1), x.shape)
    np.testing.assert_allclose(x.grad.numpy(), want, rtol=1e-6)  # a root and a quotient
    # weight is 1 and bias 0, so y is what weight is multiplied by; sums of 12 numbers of about 1
    np.testing.assert_allclose(layer.weight.grad.numpy(), y.detach().numpy().sum((0, 2, 3)), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("create_graph", [False, True])
def test_no_channels_have_a_gradient_too(device, create_graph):
    x, w = gg.ones(3, 0, 2, 2, requires_grad=True), gg.ones(0, requires_grad=True)
    y = F.batch_norm(x, None, None, w, training=True)
    g_x, g_w = gg.grad(y.sum(), [x, w], create_graph=create_graph)
    assert g_x.shape == x.shape and g_w.shape == (0,)


def test_running_statistics_are_no_part_of_the_graph(device, rng):
    layer = nn.BatchNorm2d(2)
    for _ in range(2):
        layer(gg.tensor(rng.standard_normal((3, 2, 2, 2)).astype(np.float32), requires_grad=True)).sum().backward()
    assert not layer.running_mean.requires_grad and layer.running_mean.grad_fn is None


def test_batch_norm_of_an_empty_batch_is_empty_and_changes_no_statistics(device):
    layer = nn.BatchNorm2d(3)
    x = gg.zeros(0, 3, 2, 2, requires_grad=True)
    y = layer(x)
    y.sum().backward()
    assert y.shape == x.grad.shape == (0, 3, 2, 2)
    assert layer.running_var.tolist() == [1, 1, 1]
    assert layer.weight.grad.tolist() == layer.bias.grad.tolist() == [0, 0, 0]  # sums over nothing


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda x: F.batch_norm(x, None, None), ValueError, "needs running_mean and running_var"),
        (lambda x: F.batch_norm(x, gg.zeros(2), gg.ones(3)), ValueError, "running_mean has shape"),
        (lambda x: F.batch_norm(x, None, None, gg.ones(3, 1), training=True), ValueError, "weight has shape"),
        (lambda x: F.batch_norm(gg.ones(3), None, None, training=True), ValueError, "must be"),
        (lambda x: F.batch_norm(gg.ones(1, 3), None, None, training=True), ValueError, "one value a channel"),
        (lambda x: F.batch_norm(x.to(gg.int32), None, None, training=True), TypeError, "int32"),
        (lambda x: F.batch_norm(3, None, None), TypeError, "must be a tensor"),
        (lambda x: nn.BatchNorm2d(3)(gg.ones(2, 3)), ValueError, r"\(N, 3, H, W\)"),
        (lambda x: nn.BatchNorm2d(2)(x), ValueError, "channels"),
        (lambda x: nn.BatchNorm2d(0), ValueError, "num_features"),
    ],
)
def test_wrong_batch_norms_are_refused(device, call, error, message):
    with pytest.raises(error, match=message):
        call(gg.ones(2, 3, 4, 4))


# The kernels by themselves

SHAPES = [(5, 3), (4, 3, 7), (2, 3, 5, 7), (3, 2, 67), (2, 1, 300), (0, 3, 2, 2), (2, 3, 0)]


def arrays(rng, shape, dtype):
    """x, g, mean, var, weight, bias: in NumPy and on the device."""
    c = (shape[1],)
    host = [rng.standard_normal(s).astype(dtype) for s in (shape, shape, c, c, c, c)]
    host[3] = np.abs(host[3]) + dtype(0.1)
    return host, [gg.Array.from_numpy(a) for a in host]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", SHAPES)
def test_values_for_any_statistics(device, rng, shape, dtype):
    if dtype == np.float64 and not device.has_float64:
        pytest.skip("the device has no float64")
    host, (x, _, mean, var, weight, bias) = arrays(rng, shape, dtype)
    hx, _, hm, hv, hw, hb = (a.astype(np.float64) for a in host)
    column = (1, -1) + (1,) * (len(shape) - 2)
    plain = (hx - hm.reshape(column)) / np.sqrt(hv + 0.01).reshape(column)
    # A handful of roundings of numbers up to 50.
    tolerance = 200 * np.finfo(dtype).eps
    for w in (None, weight):
        for b in (None, bias):
            expected = plain * (1 if w is None else hw.reshape(column)) + (0 if b is None else hb.reshape(column))
            found = kernels.batch_norm(x, mean, var, w, b, 0.01).numpy()
            np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [s for s in SHAPES if 0 not in s])
def test_moments_sums_and_the_gradient_of_x(device, rng, shape, dtype):
    if dtype == np.float64 and not device.has_float64:
        pytest.skip("the device has no float64")
    host, (x, g, _, _, weight, _) = arrays(rng, shape, dtype)
    hx, hg, _, _, hw, _ = (a.astype(np.float64) for a in host)
    mean, var = kernels.batch_norm_moments(x)
    n = x.size // shape[1]
    expected = np.empty(shape)
    sums = np.empty((3, shape[1]))
    for c in range(shape[1]):
        xc = hx[:, c] - hx[:, c].mean()
        variance = (xc**2).mean()
        sums[:, c] = hx[:, c].mean(), variance, (hg[:, c] * xc).sum()
        away, along = hg[:, c].sum() / n, sums[2, c] / (n * (variance + 0.01))
        expected[:, c] = (hg[:, c] - away - xc * along) / np.sqrt(variance + 0.01)
    # Sums of up to 600 numbers near 1.
    tolerance = 600 * np.finfo(dtype).eps
    np.testing.assert_allclose(mean.numpy(), sums[0], rtol=0, atol=tolerance)
    np.testing.assert_allclose(var.numpy(), sums[1], rtol=tolerance)
    sum_gx = kernels.batch_norm_product_sum(g, x, mean)
    np.testing.assert_allclose(sum_gx.numpy(), sums[2], rtol=0, atol=10 * tolerance)
    sum_g = kernels.reduce("sum", g, (0, *range(2, len(shape))))
    column = (1, -1) + (1,) * (len(shape) - 2)
    for w in (None, weight):
        found = kernels.batch_norm_backward_input(g, x, mean, var, sum_g, sum_gx, w, 0.01).numpy()
        wanted = expected * (1 if w is None else hw.reshape(column))
        np.testing.assert_allclose(found, wanted, rtol=0, atol=10 * tolerance)


@pytest.mark.parametrize("channels", [1, 70])
def test_running_statistics_move_towards_the_batchs(device, rng, channels):
    host = [rng.random(channels).astype(np.float32) for _ in range(4)]
    running_mean, running_var, mean, var = (gg.Array.from_numpy(a) for a in host)
    kernels.batch_norm_follow(running_mean, running_var, mean, var, 0.3, 5)
    np.testing.assert_allclose(running_mean.numpy(), 0.7 * host[0] + 0.3 * host[2], rtol=1e-6)
    np.testing.assert_allclose(running_var.numpy(), 0.7 * host[1] + 0.3 * 5 / 4 * host[3], rtol=1e-6)


def test_a_first_backward_launches_only_what_is_wanted(device):
    def launches(wanted):
        x = gg.ones(2, 3, 4, requires_grad="x" in wanted)
        weight, bias = gg.ones(3, requires_grad="weight" in wanted), gg.ones(3, requires_grad="bias" in wanted)
        y = F.batch_norm(x, None, None, weight, bias, training=True)
        names = []
        handle = gg.on_launch(lambda launch: names.append(launch.kernel.name))
        y.backward(gg.ones(2, 3, 4))
        handle.remove()
        return set(names)

    assert "batch_norm_backward" in launches(["x"])
    assert "batch_norm_backward" not in launches(["weight", "bias"])
    assert not {"batch_norm_product", "batch_norm_backward"} & launches(["bias"])


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda x, v: kernels.batch_norm(x, v, gg.Array.empty((4,))), ValueError, "var has shape"),
        (lambda x, v: kernels.batch_norm(x, v, v, gg.Array.empty((1, 3))), ValueError, "weight has shape"),
        (lambda x, v: kernels.batch_norm(x, v, v, v, gg.Array.empty((3,), gg.int32)), TypeError, "bias is int32"),
        (lambda x, v: kernels.batch_norm(v, v, v), ValueError, r"\(N, C, ...\)"),
        (lambda x, v: kernels.batch_norm(x, v, v, out=v), ValueError, "out is"),
        (lambda x, v: kernels.batch_norm_moments(np.ones((2, 3))), TypeError, "must be an Array"),
        (lambda x, v: kernels.batch_norm_moments(gg.Array.empty((2, 3), gg.int32)), TypeError, "int32"),
        (lambda x, v: kernels.batch_norm_product_sum(v, x, v), ValueError, "grad_output has shape"),
        (lambda x, v: kernels.batch_norm_follow(v, v, v, v, 0.1, 1), ValueError, "count is 1"),
        (lambda x, v: kernels.batch_norm_follow(v, gg.Array.empty((2,)), v, v, 0.1, 3), ValueError, "running_var"),
        (lambda x, v: F.batch_norm(gg.ones(2, 3), gg.ones(3), None), ValueError, "go together"),
        (lambda x, v: F.batch_norm(gg.ones(2, 3), None, None, 3.0, training=True), TypeError, "weight is float"),
        (lambda x, v: F.batch_norm(gg.ones(2, 3), None, None, training=True, momentum="x"), TypeError, "momentum"),
        (
            lambda x, v: F.batch_norm(gg.ones(2, 3), None, None, training=True, eps=10**400),
            ValueError,
            "eps has 401 dig",
        ),
    ],
)
def test_wrong_arguments_are_refused(device, call, error, message):
    with pytest.raises(error, match=message):
        call(gg.Array.empty((2, 3, 4)), gg.Array.empty((3,)))


@pytest.mark.parametrize("momentum", [0.1, None])
@pytest.mark.parametrize("wrong", [lambda: gg.ones(2, 4, 5, 5), lambda: gg.ones(1, 3, 1, 1), lambda: gg.ones(2, 3)])
def test_a_batch_that_is_refused_is_not_counted(device, wrong, momentum):
    layer = gg.nn.BatchNorm2d(3, momentum=momentum)
    with pytest.raises(ValueError):
        layer(wrong())
    assert layer.num_batches_tracked.item() == 0
    layer(gg.ones(2, 3, 4, 4))
    assert layer.num_batches_tracked.item() == 1


@pytest.mark.parametrize(
    ("settings", "error"),
    [({"eps": float("nan")}, ValueError), ({"eps": -5.0}, ValueError), ({"momentum": float("inf")}, ValueError),
     ({"eps": "small"}, TypeError)],
)  # fmt: skip
def test_settings_that_make_no_sense_are_refused(settings, error):
    with pytest.raises(error, match=next(iter(settings))):
        F.batch_norm(gg.ones(3, 2), gg.zeros(2), gg.ones(2), training=True, **settings)
