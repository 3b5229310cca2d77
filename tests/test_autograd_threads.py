"""Several threads in one graph, and in one leaf."""

import threading
import time

import numpy as np
from samples import leaf

import gpugrad as gg


def together(*calls):
    """What each call returns, each in a thread of its own, all of them begun at once."""
    start, found = threading.Barrier(len(calls)), [None] * len(calls)

    def work(i, call):
        start.wait()
        found[i] = call()

    threads = [threading.Thread(target=work, args=item) for item in enumerate(calls)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    return found


def test_two_threads_differentiate_at_once(device, rng):
    a = rng.normal(size=(16, 16))
    want = None
    failures = []

    def work(seed):
        try:
            for i in range(40):
                x = leaf(a)
                with gg.no_grad() if (seed + i) % 2 else gg.enable_grad():
                    recorded = (x * 2).requires_grad
                assert recorded == (not (seed + i) % 2)
                y = ((x @ x).tanh() * x.exp()).sum()
                y.backward()
                np.testing.assert_array_equal(x.grad.numpy(), want)
        except BaseException as error:
            failures.append(error)

    x = leaf(a)
    ((x @ x).tanh() * x.exp()).sum().backward()
    want = x.grad.numpy()
    threads = [threading.Thread(target=work, args=(i,)) for i in range(2)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not failures, failures[0]


def test_two_threads_want_different_gradients_of_one_graph(device):
    inside = threading.Barrier(2, timeout=30)

    class Product(gg.Function):
        @staticmethod
        def forward(ctx, a, b):
            ctx.save_for_backward(a, b)
            return a * b

        @staticmethod
        def backward(ctx, g):
            inside.wait()  # now both threads are in the backward of this node
            needs = ctx.needs_input_grad
            inside.wait()
            assert ctx.needs_input_grad == needs and sum(needs) == 1
            a, b = ctx.saved_tensors
            return g * b if needs[0] else None, g * a if needs[1] else None

    a, b = leaf([2.0, 3.0]), leaf([5.0, 7.0])
    y = Product.apply(a, b).sum()
    grads = together(lambda: gg.grad(y, a, retain_graph=True), lambda: gg.grad(y, b, retain_graph=True))
    assert [g.tolist() for (g,) in grads] == [[5, 7], [2, 3]]
    inside.reset()


def test_gradients_of_several_threads_meet_in_one_leaf(device):
    w, one = leaf([1.0]), gg.ones(1)
    handle = gg.on_launch(lambda launch: time.sleep(0.01))  # others get their turn while a gradient is being added
    try:
        together(*[lambda: w.backward(one)] * 4)
    finally:
        handle.remove()
    assert w.grad.tolist() == [4]
