"""First values of parameters: seeds, the spreads that fans ask for, gains, and what is refused."""

from __future__ import annotations

import math

import numpy as np
import pytest

import gpugrad as gg
from gpugrad import nn
from gpugrad.nn import init


def test_the_same_seed_gives_the_same_weights(device):
    gg.manual_seed(5)
    first = nn.Linear(7, 3).weight.detach().numpy()
    gg.manual_seed(5)
    assert (nn.Linear(7, 3).weight.detach().numpy() == first).all()


@pytest.mark.parametrize(
    ("name", "layer", "fan_in"),
    [
        ("linear", lambda nn: nn.Linear(200, 300), 200),
        ("conv", lambda nn: nn.Conv2d(8, 60, (3, 5), groups=2), 4 * 15),
        ("transposed conv", lambda nn: nn.ConvTranspose2d(60, 8, (3, 5), groups=2), 4 * 15),
    ],
)
def test_layers_begin_uniform_within_one_over_the_root_of_fan_in_as_in_pytorch(device, name, layer, fan_in):
    gg.manual_seed(1)
    ours = layer(nn)
    bound = 1 / math.sqrt(fan_in)
    for p in ours.parameters():
        values = p.detach().numpy().astype(float)
        assert np.abs(values).max() <= bound and np.abs(values).max() > bound * (1 - 10 / values.size)
        # The standard error of a uniform number's mean is bound / sqrt(3 n), and of its variance 2 / sqrt(5 n) of it.
        assert abs(values.mean()) < 5 * bound / math.sqrt(3 * values.size)
        assert abs(values.var() / (bound**2 / 3) - 1) < 5 * 2 / math.sqrt(5 * values.size)
    torch = pytest.importorskip("torch", reason="parity with PyTorch needs PyTorch")
    for p, q in zip(ours.parameters(), layer(torch.nn).parameters()):
        assert p.shape == tuple(q.shape)
        assert q.detach().abs().max() <= bound * 1.0001


@pytest.mark.parametrize("shape", [(40, 50), (30, 20, 3, 5)])
def test_initialisers_have_the_spread_that_fans_ask_for(device, shape):
    gg.manual_seed(2)
    window = math.prod(shape[2:])
    fan_in, fan_out = shape[1] * window, shape[0] * window
    t = gg.zeros(*shape)
    n = math.prod(shape)
    for function, std, uniform in [
        (lambda: init.xavier_uniform_(t, gain=2.0), 2 * math.sqrt(2 / (fan_in + fan_out)), True),
        (lambda: init.xavier_normal_(t), math.sqrt(2 / (fan_in + fan_out)), False),
        (lambda: init.kaiming_uniform_(t), math.sqrt(2 / fan_in), True),
        (lambda: init.kaiming_uniform_(t, a=math.sqrt(5)), math.sqrt(1 / (3 * fan_in)), True),
        (lambda: init.kaiming_normal_(t, mode="fan_out", nonlinearity="relu"), math.sqrt(2 / fan_out), False),
        (lambda: init.kaiming_normal_(t, nonlinearity="tanh"), 5 / 3 / math.sqrt(fan_in), False),
        (lambda: init.uniform_(t, -0.5, 1.5), 2 / math.sqrt(12), True),
        (lambda: init.normal_(t, 1.0, 0.1), 0.1, False),
    ]:
        assert function() is t
        values = t.numpy().astype(float)
        assert abs(values.std() / std - 1) < 5 / math.sqrt(n)
        if uniform:
            assert values.max() - values.min() <= std * math.sqrt(12) * 1.000001
    assert (init.zeros_(t).numpy() == 0).all()
    assert (init.ones_(t).numpy() == 1).all()
    assert (init.constant_(t, 0.25).numpy() == 0.25).all()


@pytest.mark.parametrize(
    ("name", "param"), [("linear", None), ("relu", None), ("tanh", None), ("leaky_relu", None), ("leaky_relu", 0.3)]
)
def test_gains_are_those_of_pytorch(name, param):
    torch = pytest.importorskip("torch", reason="parity with PyTorch needs PyTorch")
    assert init.calculate_gain(name, param) == pytest.approx(torch.nn.init.calculate_gain(name, param))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: init.kaiming_uniform_(gg.zeros(3)), ValueError, "2 dimensions"),
        (lambda: init.xavier_normal_(gg.zeros(3, 0)), ValueError, "without elements"),
        (lambda: init.kaiming_normal_(gg.zeros(3, 3), mode="fan"), ValueError, "mode is 'fan'"),
        (lambda: init.kaiming_normal_(gg.zeros(3, 3), nonlinearity="swish"), ValueError, "nonlinearity is 'swish'"),
        (lambda: init.calculate_gain("leaky_relu", "x"), TypeError, "param is 'x'; it must be a number"),
        (lambda: init.calculate_gain("leaky_relu", 10**400), ValueError, "param has 401 digits"),
        (lambda: init.kaiming_normal_(gg.zeros(3, 3), a=math.inf), ValueError, "param is inf"),
        (lambda: init.xavier_uniform_(gg.zeros(3, 3), "x"), TypeError, "xavier_uniform_: gain is 'x'"),
        (lambda: init.xavier_normal_(gg.zeros(3, 3), 10**400), ValueError, "xavier_normal_: gain has 401 digits"),
        (lambda: init.xavier_normal_(gg.zeros(3, 3), -1), ValueError, "gain is -1.0; it must be 0 or more"),
        (lambda: init.uniform_(np.zeros(3)), TypeError, "must be a tensor"),
        (lambda: init.uniform_(gg.zeros(3), 1, 0), ValueError, "low"),
        (lambda: init.normal_(gg.zeros(3, dtype=gg.int32)), TypeError, "int32"),
    ],
)
def test_wrong_initialisation_is_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize("copied", [lambda t: t[1:], lambda t: t.T, lambda t: t[:1].expand(4, 4)])
@pytest.mark.parametrize("name", [n for n in dir(init) if n.endswith("_") and not n.startswith("_")])
def test_initialisation_of_a_copy_is_refused_as_it_would_go_nowhere(device, name, copied):
    weight = gg.ones(4, 4)
    with pytest.raises(gg.AutogradError, match=rf"{name}: this tensor came from .*\.clone\(\)"):
        getattr(init, name)(copied(weight), *([0.5] if name == "constant_" else []))
    assert (weight.numpy() == 1).all()
