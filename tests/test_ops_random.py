"""Random tensors, and dropout with its gradient."""

from __future__ import annotations

import math

import numpy as np
import pytest

import gpugrad as gg


def test_rand_and_randn_take_sizes_or_a_tuple(device):
    assert gg.rand(2, 3).shape == gg.rand((2, 3)).shape == gg.randn([2, 3]).shape == (2, 3)
    assert gg.rand().shape == () and gg.randn(0, 4).shape == (0, 4)
    assert gg.randn(2, requires_grad=True).requires_grad and gg.rand(2).dtype == np.float32
    like = gg.zeros(3, 1)
    assert gg.rand_like(like).shape == gg.randn_like(like).shape == (3, 1)


def test_a_generator_of_its_own_leaves_the_default_one_alone(device):
    gg.manual_seed(1)
    before = gg.default_generator.get_state()
    for draw in (gg.rand, gg.randn, gg.randperm):
        draw(3, generator=gg.Generator(5))
    assert gg.default_generator.get_state() == before


# Dropout


@pytest.mark.large
def test_dropout_zeroes_a_fraction_p_and_keeps_the_mean(device):
    gg.manual_seed(1)
    y = gg.autograd.ops.dropout(gg.ones(100_000), 0.2).numpy()
    assert set(np.unique(y)) == {0, np.float32(1.25)}
    assert abs((y == 0).mean() - 0.2) < 5 * math.sqrt(0.2 * 0.8 / 100_000)


def test_dropout_draws_another_mask_each_time(device):
    x = gg.ones(1000)
    dropout = gg.autograd.ops.dropout
    assert (dropout(x).numpy() != dropout(x).numpy()).any()


@pytest.mark.parametrize("kwargs", [{"training": False}, {"p": 0.0}])
def test_dropout_that_drops_nothing_gives_its_input_and_draws_nothing(device, kwargs):
    x = gg.ones(10)
    before = gg.default_generator.get_state()
    assert gg.autograd.ops.dropout(x, **kwargs) is x
    assert gg.default_generator.get_state() == before


@pytest.mark.parametrize("p", [0.4, 1.0])
def test_the_gradient_of_dropout_goes_through_the_same_mask(device, rng, p):
    x = gg.ones(37, 3, requires_grad=True)
    y = gg.autograd.ops.dropout(x, p)
    g = gg.tensor(rng.standard_normal((37, 3)).astype(np.float32))
    y.backward(g)
    np.testing.assert_allclose(x.grad.numpy(), y.detach().numpy() * g.numpy(), rtol=2e-7)  # two roundings each


def test_dropout_differentiates_twice(device):
    x = gg.ones(50, requires_grad=True)
    w = gg.ones(50, requires_grad=True)
    y = gg.autograd.ops.dropout(x * w, 0.5)
    (gx,) = gg.grad(y, x, gg.ones(50), create_graph=True)
    (gw,) = gg.grad(gx, w, gg.ones(50))
    assert (gw.numpy() == y.detach().numpy()).all()


def test_dropout_passes_gradcheck_and_gradgradcheck(device, rng):
    x = gg.tensor(rng.standard_normal((3, 7)), requires_grad=True)

    def f(x):
        gg.manual_seed(1)  # the same mask at each call
        return gg.autograd.ops.dropout(x * x, 0.4)

    assert gg.gradcheck(f, x)
    assert gg.gradgradcheck(f, x)
