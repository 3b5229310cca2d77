"""Layers: each against its formula in NumPy and against PyTorch, with gradients; whole networks that learn."""

from __future__ import annotations

import concurrent.futures
import math

import numpy as np
import pytest

import gpugrad as gg
from gpugrad import nn, optim
from gpugrad.models import course_cnn
from gpugrad.nn import functional as F

LAYERS = {
    "Linear": (lambda nn: nn.Linear(5, 7), (3, 5)),
    "Linear, 3-D": (lambda nn: nn.Linear(5, 7, bias=False), (2, 3, 5)),
    "Conv2d": (lambda nn: nn.Conv2d(3, 4, 3, padding=1), (2, 3, 7, 5)),
    "Conv2d, all settings": (
        lambda nn: nn.Conv2d(4, 6, (3, 2), stride=(2, 1), padding=(1, 0), dilation=(1, 2), groups=2, bias=False),
        (2, 4, 9, 8),
    ),
    "Conv2d, same": (lambda nn: nn.Conv2d(2, 3, 3, padding="same", dilation=2), (1, 2, 6, 7)),
    "ConvTranspose2d": (
        lambda nn: nn.ConvTranspose2d(4, 6, 3, stride=2, padding=1, output_padding=1, groups=2, dilation=2),
        (2, 4, 3, 5),
    ),
    "MaxPool2d": (lambda nn: nn.MaxPool2d(3, 2, padding=1, ceil_mode=True), (2, 3, 8, 7)),
    "AvgPool2d": (lambda nn: nn.AvgPool2d(2, padding=1, count_include_pad=False), (2, 3, 5, 7)),
    "BatchNorm2d": (lambda nn: nn.BatchNorm2d(3), (4, 3, 5, 2)),
    "BatchNorm2d, plain": (lambda nn: nn.BatchNorm2d(3, affine=False, track_running_stats=False), (4, 3, 5, 2)),
    "Flatten": (lambda nn: nn.Flatten(), (2, 3, 4)),
    "Flatten, some": (lambda nn: nn.Flatten(2), (2, 3, 4, 5)),
    "Unfold": (lambda nn: nn.Unfold((2, 3), dilation=2, padding=1, stride=2), (2, 3, 7, 9)),
    "Fold": (lambda nn: nn.Fold((4, 5), (2, 3), padding=1, stride=(1, 2)), (2, 12, 15)),
    "ReLU": (lambda nn: nn.ReLU(), (3, 5)),
    "LeakyReLU": (lambda nn: nn.LeakyReLU(0.2), (3, 5)),
    "GELU": (lambda nn: nn.GELU(), (3, 5)),
    "GELU, tanh": (lambda nn: nn.GELU(approximate="tanh"), (3, 5)),
    "Sigmoid": (lambda nn: nn.Sigmoid(), (3, 5)),
    "Tanh": (lambda nn: nn.Tanh(), (3, 5)),
    "Softmax": (lambda nn: nn.Softmax(dim=1), (3, 5)),
    "LogSoftmax": (lambda nn: nn.LogSoftmax(dim=0), (3, 5)),
    "Identity": (lambda nn: nn.Identity(), (3, 5)),
    "Dropout in eval": (lambda nn: nn.Dropout(0.5).eval(), (3, 5)),
    "BatchNorm2d in eval": (lambda nn: nn.BatchNorm2d(3).eval(), (4, 3, 5, 2)),
}


@pytest.mark.parametrize("name", LAYERS)
def test_layers_compute_what_pytorchs_do(device, rng, name):
    torch = pytest.importorskip("torch", reason="parity with PyTorch needs PyTorch")
    make, shape = LAYERS[name]
    ours, theirs = make(nn), make(torch.nn)
    theirs.load_state_dict({n: torch.tensor(t.numpy()) for n, t in ours.state_dict().items()})
    host = rng.standard_normal(shape).astype(np.float32)
    x, tx = gg.tensor(host, requires_grad=True), torch.tensor(host, requires_grad=True)
    y, ty = ours(x), theirs(tx)
    cotangent = rng.standard_normal(y.shape).astype(np.float32)
    y.backward(gg.tensor(cotangent))
    ty.backward(torch.tensor(cotangent))
    # Sums of up to 100 products of numbers near 1, in another order.
    np.testing.assert_allclose(y.detach().numpy(), ty.detach().numpy(), rtol=2e-5, atol=2e-5)
    np.testing.assert_allclose(x.grad.numpy(), tx.grad.numpy(), rtol=1e-4, atol=5e-5)
    for (n, p), q in zip(ours.named_parameters(), theirs.parameters()):
        np.testing.assert_allclose(p.grad.numpy(), q.grad.numpy(), rtol=1e-4, atol=1e-4, err_msg=n)
    for (n, b), c in zip(ours.named_buffers(), theirs.buffers()):
        np.testing.assert_allclose(b.numpy(), c.numpy(), rtol=1e-5, atol=1e-6, err_msg=n)


LOSSES = {
    "CrossEntropyLoss": (lambda nn, w: nn.CrossEntropyLoss(), False),
    "CrossEntropyLoss, all settings": (
        lambda nn, w: nn.CrossEntropyLoss(weight=w, ignore_index=2, reduction="sum", label_smoothing=0.1),
        False,
    ),
    "NLLLoss": (lambda nn, w: nn.NLLLoss(weight=w, reduction="none"), False),
    "MSELoss": (lambda nn, w: nn.MSELoss(), True),
    "MSELoss, sum": (lambda nn, w: nn.MSELoss(reduction="sum"), True),
}


@pytest.mark.parametrize("name", LOSSES)
def test_losses_are_pytorchs(device, rng, name):
    torch = pytest.importorskip("torch", reason="parity with PyTorch needs PyTorch")
    make, regression = LOSSES[name]
    weight = rng.random(5).astype(np.float32)
    host = rng.standard_normal((7, 5)).astype(np.float32)
    target = rng.standard_normal((7, 5)).astype(np.float32) if regression else rng.integers(0, 5, 7)
    x, tx = gg.tensor(host, requires_grad=True), torch.tensor(host, requires_grad=True)
    loss = make(nn, gg.tensor(weight))(x, gg.tensor(target))
    expected = make(torch.nn, torch.tensor(weight))(tx, torch.tensor(target))
    np.testing.assert_allclose(loss.detach().numpy(), expected.detach().numpy(), rtol=1e-5)
    loss.sum().backward()
    expected.sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), tx.grad.numpy(), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("kind", [nn.MSELoss, nn.NLLLoss, nn.CrossEntropyLoss])
def test_a_reduction_there_is_none_of_is_refused(kind):
    with pytest.raises(ValueError, match="reduction is 'max'"):
        kind(reduction="max")


def test_two_threads_train_at_once_and_each_ends_where_it_would_alone(device, rng):
    if device.is_simulator:
        pytest.skip("Oclgrind itself is not thread-safe")

    def network():
        return nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(36, 3))

    states = [{k: v.numpy() for k, v in network().state_dict().items()} for _ in range(2)]
    images, labels = rng.random((2, 12, 5, 1, 8, 8), np.float32), rng.integers(0, 3, (2, 12, 5))

    def train(which):
        model = network()
        model.load_state_dict(states[which])
        adam = optim.Adam(model.parameters(), lr=1e-2)
        for x, y in zip(images[which], labels[which]):
            adam.zero_grad()
            F.cross_entropy(model(gg.tensor(x)), gg.tensor(y)).backward()
            adam.step()
        return [p.detach().numpy() for p in model.parameters()]

    alone = [train(0), train(1)]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        together = list(pool.map(train, [0, 1]))
    for mine, expected, start in zip(together, alone, states):
        for a, b, before in zip(mine, expected, start.values()):
            np.testing.assert_array_equal(a, b)
            assert not np.array_equal(a, before)


# Wrong layers, dropout


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: nn.Linear(0, 3), ValueError, "in_features is 0"),
        (lambda: nn.Linear(2.5, 3), TypeError, "in_features is 2.5"),
        (lambda: nn.Conv2d(3, 4, 0), ValueError, "kernel_size is 0"),
        (lambda: nn.Conv2d(3, 4, 3, groups=2), ValueError, "multiple of groups"),
        (lambda: nn.Conv2d(4, 3, 3, groups=2), ValueError, "out_channels is 3"),
        (lambda: nn.Conv2d(3, 4, 3, padding="full"), ValueError, "padding is 'full'"),
        (lambda: nn.Conv2d(3, 4, 3, padding_mode="reflect"), ValueError, "padding_mode is 'reflect'"),
        (lambda: nn.Conv2d(3, 4, (1, 2, 3)), ValueError, "kernel_size is"),
        (lambda: nn.ConvTranspose2d(3, 4, 3, padding="same"), TypeError, "padding is 'same'"),
        (lambda: nn.Conv2d(3, 4, 3, stride=2, padding="same"), ValueError, "'same' needs a stride of 1"),
        (lambda: nn.MaxPool2d(0), ValueError, "MaxPool2d: kernel_size is 0"),
        (lambda: nn.MaxPool2d(2, stride=(1, 0)), ValueError, "MaxPool2d: stride is 0"),
        (lambda: nn.AvgPool2d("2"), TypeError, "AvgPool2d: kernel_size is '2'"),
        (lambda: nn.AvgPool2d(2, padding=-1), ValueError, "AvgPool2d: padding is -1"),
        (lambda: nn.Unfold(3, dilation=0), ValueError, "Unfold: dilation is 0"),
        (lambda: nn.Fold(3, 0), ValueError, "Fold: kernel_size is 0"),
        (lambda: nn.Fold(0, 3), ValueError, "Fold: output_size is 0"),
        (lambda: nn.Dropout(1.5), ValueError, "p is 1.5"),
        (lambda: nn.Dropout("a"), TypeError, "p is 'a'"),
        (lambda: nn.Linear(3, 2)(gg.ones(2, 4)), ValueError, "linear"),
    ],
)
def test_wrong_layers_are_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_dropout_drops_only_in_training(device):
    layer = nn.Dropout(0.5)
    x = gg.ones(1000)
    assert 300 < (layer(x).numpy() == 0).sum() < 700
    assert layer.eval()(x) is x


# Clipping


@pytest.mark.parametrize("norm_type", [2.0, 1.0, 3, math.inf])
@pytest.mark.parametrize("max_norm", [0.1, 1000.0])
def test_gradients_are_clipped_together_as_in_pytorch(device, rng, norm_type, max_norm):
    torch = pytest.importorskip("torch", reason="parity with PyTorch needs PyTorch")
    grads = [rng.standard_normal(s).astype(np.float32) for s in ((3, 5), (), (7,))]
    ours = [gg.zeros(*g.shape, requires_grad=True) for g in grads] + [gg.zeros(2, requires_grad=True)]
    theirs = [torch.zeros(g.shape, requires_grad=True) for g in grads] + [torch.zeros(2, requires_grad=True)]
    for p, q, g in zip(ours, theirs, grads):
        p.grad, q.grad = gg.tensor(g), torch.tensor(g)
    norm = nn.utils.clip_grad_norm_(ours, max_norm, norm_type)
    expected = torch.nn.utils.clip_grad_norm_(theirs, max_norm, norm_type)
    assert norm.item() == pytest.approx(float(expected), rel=1e-6)
    for p, q in zip(ours[:-1], theirs):
        np.testing.assert_allclose(p.grad.numpy(), q.grad.numpy(), rtol=1e-5)
    assert ours[-1].grad is None


def test_wrong_clipping_is_refused(device):
    p = gg.zeros(2, requires_grad=True)
    assert nn.utils.clip_grad_norm_([p], 1.0).item() == 0  # nothing to clip
    p.grad = gg.ones(2)
    with pytest.raises(ValueError, match="max_norm is -1"):
        nn.utils.clip_grad_norm_(p, -1)
    with pytest.raises(ValueError, match="norm_type is 0"):
        nn.utils.clip_grad_norm_(p, 1, 0)
    with pytest.raises(ValueError, match="max_norm is nan"):
        nn.utils.clip_grad_norm_(p, math.nan)
    for parameters, max_norm, norm_type, match in (
        (nn.Linear(2, 2), 1, 2, r"parameters is Linear; it must be tensors; pass its \.parameters\(\)"),
        (None, 1, 2, "parameters is NoneType; it must be tensors"),
        ([p, "p"], 1, 2, r"parameters\[1\] is str; it must be a tensor"),
        (p, "1", 2, "max_norm is a str; it must be a number"),
        (p, 1, "inf", "norm_type is a str; it must be a number"),
    ):
        with pytest.raises(TypeError, match=f"clip_grad_norm_: {match}"):
            nn.utils.clip_grad_norm_(parameters, max_norm, norm_type)
    assert p.grad.tolist() == [1, 1]


@pytest.mark.parametrize("norm_type", [2.0, math.inf])
def test_a_gradient_without_elements_adds_nothing_to_the_norm(norm_type):
    empty, p = gg.zeros(0, requires_grad=True), gg.zeros(1, requires_grad=True)
    empty.grad, p.grad = gg.zeros(0), gg.tensor([-3.0])
    assert nn.utils.clip_grad_norm_([empty], 1.0, norm_type).item() == 0
    assert nn.utils.clip_grad_norm_([empty, p], 1.0, norm_type).item() == 3


# Networks


def test_the_course_cnn_has_its_shape(device):
    net = course_cnn()
    assert sum(p.numel() for p in net.parameters()) == 215_370
    assert net(gg.zeros(3, 1, 28, 28)).shape == (3, 10)
    assert net(gg.zeros(0, 1, 28, 28)).shape == (0, 10)


@pytest.mark.large
def test_a_small_network_learns_exclusive_or(device):
    gg.manual_seed(3)
    net = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 2))
    optimizer = optim.Adam(net.parameters(), lr=0.05)
    x, y = gg.tensor([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]), gg.tensor([0, 1, 1, 0])
    for _ in range(150):
        optimizer.zero_grad()
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
    assert loss.item() < 0.02
    assert net(x).argmax(1).tolist() == [0, 1, 1, 0]


@pytest.mark.large
def test_a_convolutional_network_follows_pytorch_step_by_step(device, rng):
    torch = pytest.importorskip("torch", reason="parity with PyTorch needs PyTorch")

    def build(nn):
        return nn.Sequential(
            nn.Conv2d(1, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(4, 6, 3, bias=False), nn.LeakyReLU(0.1), nn.AvgPool2d(2), nn.Flatten(), nn.Linear(24, 5),
        )  # fmt: skip

    ours, theirs = build(nn), build(torch.nn)
    theirs.load_state_dict({n: torch.tensor(t.numpy()) for n, t in ours.state_dict().items()})
    ours_by = optim.SGD(ours.parameters(), lr=0.1, momentum=0.9)
    theirs_by = torch.optim.SGD(theirs.parameters(), lr=0.1, momentum=0.9)
    for _ in range(5):
        x, y = rng.standard_normal((9, 1, 12, 12)).astype(np.float32), rng.integers(0, 5, 9)
        ours_by.zero_grad()
        theirs_by.zero_grad()
        loss = F.cross_entropy(ours(gg.tensor(x)), gg.tensor(y))
        expected = torch.nn.functional.cross_entropy(theirs(torch.tensor(x)), torch.tensor(y))
        assert loss.item() == pytest.approx(expected.item(), rel=1e-5)
        loss.backward()
        expected.backward()
        ours_by.step()
        theirs_by.step()
    for p, q in zip(ours.parameters(), theirs.parameters()):
        # Weights near 1, after 5 steps that each round gradients at the 7th digit.
        np.testing.assert_allclose(p.detach().numpy(), q.detach().numpy(), rtol=0, atol=1e-5)


@pytest.mark.large
def test_the_course_cnn_learns_a_few_digits_by_heart(device):
    gg.manual_seed(1)
    from gpugrad import data

    digits = data.mnist(train=True, source="subset")
    x, y = (gg.tensor(column) for column in digits.batch(np.arange(64)))
    net = course_cnn()
    optimizer = optim.Adam(net.parameters(), lr=2e-3)
    for _ in range(25):
        optimizer.zero_grad()
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
    assert loss.item() < 0.2
    assert (net(x).argmax(1).numpy() == y.numpy()).mean() > 0.95
