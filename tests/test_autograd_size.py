"""Graphs of ten thousand nodes, and the memory that a thousand steps of training take."""

import gc
import weakref

import numpy as np
import pytest
from samples import leaf

import gpugrad as gg
from gpugrad.memory import pool


def test_a_graph_10000_deep_goes_backward_and_away_without_recursion(device):
    x = leaf([1.0])
    y = x
    for _ in range(10_000):
        y = y + 1
    y.backward()
    assert x.grad.tolist() == [1] and y.item() == 10_001
    z = x
    for _ in range(10_000):
        z = z * 1.0  # never run backward: freed by del alone
    node = weakref.ref(z.grad_fn)
    del z
    assert node() is None


@pytest.mark.deep
def test_a_graph_10000_deep_can_be_differentiated_again(device):
    x = leaf([1.0])
    y = x
    for _ in range(10_000):
        y = y * 1.0
    (g,) = gg.grad((y * y).sum(), x, create_graph=True)
    (gg_,) = gg.grad(g.sum(), x)
    assert gg_.tolist() == [2]


def test_graphs_hold_no_reference_cycle(device):
    gc.collect()
    gc.disable()
    try:
        x = leaf(np.ones(100))
        y = (x.exp() * x.tanh().sigmoid()).sum()
        nodes = [weakref.ref(y.grad_fn), weakref.ref(y)]
        del y
        assert [r() for r in nodes] == [None, None]
        z = (x.exp() * x).sum()
        (g,) = gg.grad(z, x, create_graph=True)
        nodes = [weakref.ref(z.grad_fn), weakref.ref(g.grad_fn)]
        del z, g
        assert [r() for r in nodes] == [None, None]
    finally:
        gc.enable()


@pytest.mark.deep
def test_1000_training_steps_hold_device_memory_flat_without_the_garbage_collector(device, rng):
    x, target = gg.tensor(rng.normal(size=(8, 5)).astype("f")), gg.tensor(rng.normal(size=(8, 2)).astype("f"))
    w, b = leaf(rng.normal(size=(5, 2))), leaf(np.zeros(2))
    optimiser = gg.optim.SGD([w, b], lr=0.05, momentum=0.9)

    def step():
        optimiser.zero_grad()
        loss = (((x @ w + b).tanh() - target) ** 2).mean()
        loss.backward()
        optimiser.step()
        return loss

    first = step().item()
    for _ in range(9):
        step()
    used, allocated = pool(device).used, pool(device).allocated
    gc.collect()
    gc.disable()
    try:
        for _ in range(1000):
            step()
        last = step().item()
    finally:
        gc.enable()
    assert pool(device).used == used and pool(device).allocated == allocated
    assert last < first
