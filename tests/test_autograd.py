"""The backward engine: order, accumulation, graphs freed and kept, higher derivatives, memory, threads."""

import contextvars
import gc
import threading
import time
import weakref

import numpy as np
import pytest
from samples import Launches

import gpugrad as gg
from gpugrad.memory import pool


def leaf(a, dtype=np.float32):
    return gg.tensor(np.asarray(a, dtype), requires_grad=True)


# Accumulation


def test_a_tensor_used_several_times_gets_the_sum(device):
    x = leaf([2.0, 3.0])
    y = x * x
    (y * x + y + x).sum().backward()  # x^3 + x^2 + x
    assert x.grad.tolist() == [17, 34]


def test_backward_adds_to_grad_and_a_second_backward_adds_again(device):
    x = leaf([1.0, 2.0])
    (x * 3).sum().backward()
    kept = x.grad
    (x * 4).sum().backward()
    assert x.grad is kept and x.grad.tolist() == [7, 7]
    assert not x.grad.requires_grad


def test_two_leaves_of_one_sum_do_not_share_their_grad(device):
    x, b = leaf([1.0, 2.0]), leaf([3.0, 4.0])
    g = gg.tensor([1.0, 1.0])
    (x + b).backward(g)
    x.grad.add_(5)
    assert b.grad.tolist() == [1, 1] and g.tolist() == [1, 1]
    x.grad = b.grad = None
    (x.reshape(2) + x.clone() + b).backward(g)
    b.grad.zero_()
    assert x.grad.tolist() == [2, 2] and g.tolist() == [1, 1]


def test_grad_does_not_share_memory_with_what_the_graph_saved(device):
    x, w = leaf([1.0, 2.0]), gg.tensor([3.0, 4.0])
    (x * w).backward(gg.tensor([1.0, 1.0]))
    x.grad.zero_()
    assert w.tolist() == [3, 4]


def test_a_leaf_is_its_own_gradient_when_it_is_the_root(device):
    x = leaf(3.0)
    x.backward()
    assert x.grad.item() == 1


def test_gradients_meet_before_they_go_on(device):
    x = leaf([1.0, 2.0])
    calls = []

    class Probe(gg.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, g):
            calls.append(g.tolist())
            return g

    y = Probe.apply(x)
    z = y * 2
    ((z + y) * z + y).sum().backward()
    assert len(calls) == 1 and calls[0] == x.grad.tolist()


# What backward refuses


def test_backward_of_more_than_a_scalar_needs_a_gradient(device):
    x = leaf([1.0, 2.0])
    y = x * 2
    with pytest.raises(gg.AutogradError, match=r"shape \(2,\); only a scalar .*\.sum\(\).*gradient="):
        y.backward()
    with pytest.raises(ValueError, match=r"gradient is float32\(3,\); it must be like the tensor, float32\(2,\)"):
        y.backward(gg.ones(3))
    with pytest.raises(ValueError, match="float64"):
        y.backward(gg.ones(2, dtype=gg.float64))
    with pytest.raises(TypeError, match="gradient is list"):
        y.backward([1.0, 1.0])
    y.backward(gg.tensor([1.0, 10.0]))
    assert x.grad.tolist() == [2, 20]


def test_backward_without_anything_to_differentiate(device):
    x = gg.tensor([1.0])
    with pytest.raises(gg.AutogradError, match="requires_grad=True"):
        (x * 2).sum().backward()
    with gg.no_grad():
        y = leaf([1.0]) * 2
    assert not y.requires_grad
    with pytest.raises(gg.AutogradError, match="no_grad"):
        y.backward()


def test_a_freed_graph_says_so_and_retain_graph_keeps_it(device):
    x = leaf([1.0, 2.0])
    y = (x * x).sum()
    y.backward()
    with pytest.raises(gg.AutogradError, match=r"freed by an earlier backward.*retain_graph=True"):
        y.backward()
    y = (x * x).sum()
    x.grad = None
    y.backward(retain_graph=True)
    y.backward()
    assert x.grad.tolist() == [4, 8]


def test_saved_tensors_are_gone_after_backward(device):
    x = leaf(np.ones(1000))
    y = x * x.exp()
    (middle,) = [n for n, _ in (e for e in y.grad_fn.edges if isinstance(e, tuple))]
    saved = weakref.ref(middle._saved[0].array)
    y.sum().backward()
    assert saved() is None


@pytest.mark.parametrize(
    "op", [lambda y: y * y, lambda y: y.exp(), lambda y: 1 / y, lambda y: y.relu(), lambda y: y @ y]
)
def test_a_changed_saved_tensor_is_noticed(device, op):
    x = leaf([1.0, 2.0])
    y = x * 1
    z = op(y)
    with gg.no_grad():
        y.add_(1)  # some save what goes in
        z.add_(1)  # and some what comes out
    with pytest.raises(gg.AutogradError, match=r"changed in place after it was used \(version 2, saved at 1\)"):
        z.sum().backward()


def test_an_optimiser_step_between_forward_and_backward_is_noticed(device):
    w = leaf([1.0, 2.0])
    w.grad = gg.ones(2)
    loss = (w * w).sum()
    gg.optim.SGD([w], lr=0.1).step()
    with pytest.raises(gg.AutogradError, match="changed in place"):
        loss.backward()


# gg.grad


def test_grad_gives_gradients_and_touches_no_leaf(device):
    x, w = leaf([1.0, 2.0]), leaf([3.0, 4.0])
    y = (x * w).sum()
    g_w, g_x = gg.grad(y, [w, x])
    assert g_x.tolist() == [3, 4] and g_w.tolist() == [1, 2]
    assert x.grad is None and w.grad is None


def test_grad_with_respect_to_a_result_on_the_way(device):
    x = leaf([1.0, 2.0])
    y = x * 3
    z = (y * y).sum()
    g_y, g_x = gg.grad(z, [y, x])
    assert g_y.tolist() == [6, 12] and g_x.tolist() == [18, 36]


def test_grad_runs_only_what_leads_to_its_inputs(device):
    x, w = leaf([1.0, 2.0]), leaf([3.0, 4.0])
    y = (x.exp() * w).sum()
    with Launches() as launches:
        gg.grad(y, w)
    assert len(launches) <= 3  # ones, their expansion, and the product with exp(x): nothing for x


def test_several_outputs_add_up_with_their_cotangents(device):
    x = leaf([1.0, 2.0])
    (g,) = gg.grad([x * 2, (x * x).sum()], x, [gg.tensor([1.0, 10.0]), None])
    assert g.tolist() == [2 + 2, 20 + 4]


def test_an_unused_input(device):
    x, w = leaf([1.0]), leaf([1.0])
    with pytest.raises(gg.AutogradError, match=r"do not depend on inputs\[1\]; pass allow_unused=True"):
        gg.grad((x * 2).sum(), [x, w])
    g_x, g_w = gg.grad((x * 2).sum(), [x, w], allow_unused=True)
    assert g_x.tolist() == [2] and g_w is None


def test_mistakes_in_grad(device):
    x = leaf([1.0, 2.0])
    y = x * 2
    cases = [
        (gg.AutogradError, "only a scalar", lambda: gg.grad(y, x)),
        (gg.AutogradError, r"inputs\[0\] does not require a gradient", lambda: gg.grad(y.sum(), gg.zeros(2))),
        (ValueError, "2 grad_outputs for 1 outputs", lambda: gg.grad(y, x, [y, y])),
        (TypeError, "inputs is int", lambda: gg.grad(y.sum(), 1)),
        (TypeError, r"outputs\[0\] is float", lambda: gg.grad([1.0], x)),
    ]
    for error, match, call in cases:
        with pytest.raises(error, match=match):
            call()


# Higher derivatives


def test_create_graph_gives_every_higher_derivative_of_a_power(device):
    x = leaf([1.5, -2.0], np.float64)
    y = x**5
    want = [5, 20, 60, 120, 120, 0]
    for order, factor in enumerate(want, 1):
        (y,) = gg.grad(y.sum(), x, create_graph=True)
        np.testing.assert_allclose(y.detach().numpy(), factor * np.array([1.5, -2.0]) ** max(5 - order, 0), atol=1e-9)
        if not y.requires_grad:
            break


def network(x, w, b):
    """Broadcasting, a product, indexing, reductions and activations in one scalar function."""
    h = ((x @ w + b).tanh() * 1.5).sigmoid()
    h = gg.where(h > 0.5, h * h, -h)[:, 1:] / (1 + h[:, :-1].exp())
    h = gg.maximum(h, 0.1 * h.sqrt().mean(0, keepdim=True)) - h.permute(1, 0).reshape(h.shape)
    return (h * h + 1).log().mean()


def test_create_graph_works_through_a_network(device, rng):
    inputs = [leaf(rng.uniform(0.2, 1, s), np.float64) for s in ((3, 4), (4, 5), (5,))]
    assert gg.gradcheck(network, inputs)
    assert gg.gradgradcheck(network, inputs)


def test_a_gradient_penalty_trains(device, rng):
    """backward() through gradients that grad() gave with create_graph: the use that people have for it."""
    x, w = gg.tensor(rng.normal(size=(4, 3)).astype(np.float32)), leaf(rng.normal(size=(3, 1)))
    x.requires_grad_()
    (g,) = gg.grad(((x @ w) ** 2).sum(), x, create_graph=True)  # 2 (x w) w^T
    (g * g).sum().backward()
    W, X = w.detach().numpy().astype(np.float64), x.detach().numpy().astype(np.float64)
    # sum 4 (x w)^2 |w|^2, differentiated by w
    want = 8 * X.T @ (X @ W) * (W**2).sum() + 8 * W * ((X @ W) ** 2).sum()
    np.testing.assert_allclose(w.grad.numpy(), want, rtol=1e-4)


def test_backward_with_create_graph_leaves_a_grad_with_a_history(device):
    x = leaf([2.0])
    (x**3).sum().backward(create_graph=True)
    assert x.grad.requires_grad and x.grad.tolist() == [12]
    (second,) = gg.grad(x.grad.sum(), x)
    assert second.tolist() == [12]


def test_a_first_order_backward_records_nothing_and_launches_the_same(device):
    x, w = leaf(np.ones((4, 3))), leaf(np.ones((3, 2)))

    def loss():
        return ((x @ w).tanh() ** 2).sum()

    with Launches() as plain:
        gg.grad(loss(), [x, w])
    with Launches() as recorded:
        gg.grad(loss(), [x, w], create_graph=True)
    assert [n.kernel.name for n in plain] == [n.kernel.name for n in recorded]
    (g,) = gg.grad(loss(), [x])
    assert g.grad_fn is None and not g.requires_grad


# Modes


def test_no_grad_as_block_decorator_and_nested(device):
    x = leaf([1.0])

    @gg.no_grad()
    def quietly():
        return x * 2

    @gg.no_grad
    def too():
        return x * 2

    assert not quietly().requires_grad and not too().requires_grad

    @gg.enable_grad
    def aloud():
        return x * 2

    with gg.no_grad():
        with gg.enable_grad():
            assert (x * 2).requires_grad
        assert aloud().requires_grad and gg.enable_grad()(aloud)().requires_grad
        assert not gg.is_grad_enabled()
    assert gg.is_grad_enabled() and (x * 2).requires_grad
    with pytest.raises(ZeroDivisionError), gg.no_grad():
        1 / 0  # noqa: B018
    assert gg.is_grad_enabled()


@pytest.mark.parametrize("decorate", [gg.no_grad(), gg.no_grad, lambda f: gg.set_grad_enabled(False)(f)])
def test_a_decorated_generator_does_not_record_and_whoever_takes_its_values_does(decorate):
    seen = []

    @decorate
    def parts():
        try:
            while True:
                got = yield gg.is_grad_enabled()
                seen.append((got, gg.is_grad_enabled()))
                if got == "end":
                    return "result"
        except ValueError:
            yield gg.is_grad_enabled()
        finally:
            seen.append(gg.is_grad_enabled())

    g = parts()
    assert next(g) is False and gg.is_grad_enabled()
    assert g.send(1) is False and gg.is_grad_enabled()
    assert g.throw(ValueError) is False and gg.is_grad_enabled()
    g.close()
    g = parts()
    next(g)
    with pytest.raises(StopIteration) as end:
        g.send("end")
    assert end.value.value == "result"
    g = parts()
    next(g)
    with pytest.raises(KeyError):
        g.throw(KeyError)
    assert seen == [(1, False), False, ("end", False), False, False]
    assert gg.is_grad_enabled() and parts.__name__ == "parts"


def test_a_block_can_end_in_another_context_than_it_began_in():
    block = gg.no_grad()
    contextvars.copy_context().run(block.__enter__)
    block.__exit__(None, None, None)
    assert gg.is_grad_enabled()


def test_detach_shares_memory_and_leaves_the_history(device):
    x = leaf([1.0, 2.0])
    y = (x * 2).detach()
    assert y.is_leaf and not y.requires_grad
    (x * y).sum().backward()
    assert x.grad.tolist() == [2, 4]


# Function


class Scale(gg.Function):
    """x * factor, with PyTorch's signature"""

    @staticmethod
    def forward(ctx, x, factor):
        ctx.factor = factor
        ctx.save_for_backward(x)
        return x * factor

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        assert ctx.needs_input_grad == (True, False)
        return g * ctx.factor + x * 0, None


def test_a_function_of_your_own(device):
    x = leaf([1.0, 2.0])
    y = Scale.apply(x, 3.0)
    assert y.tolist() == [3, 6] and repr(y.grad_fn) == "<ScaleBackward>"
    assert gg.gradcheck(lambda x: Scale.apply(x, 3.0), x)
    assert gg.gradgradcheck(lambda x: Scale.apply(x, 3.0), x)


def test_a_function_with_two_outputs_and_one_that_is_not_differentiable(device):
    class Both(gg.Function):
        @staticmethod
        def forward(ctx, x):
            big = x > 1
            ctx.mark_non_differentiable(big)
            return x * 2, x * 3, big

        @staticmethod
        def backward(ctx, g2, g3, g_big):
            return g2 * 2 + g3 * 3

    x = leaf([1.0, 2.0])
    double, triple, big = Both.apply(x)
    assert not big.requires_grad and big.tolist() == [False, True]
    gg.grad(double.sum(), x)  # the gradient of triple is zeros then
    (double + triple).sum().backward()
    assert x.grad.tolist() == [5, 5]


@pytest.mark.parametrize("recorded", [True, False])
@pytest.mark.parametrize(
    ("result", "match"),
    [
        (lambda x: [x * 2], "Odd.forward returned list; it returns a tensor or a tuple of tensors"),
        (lambda x: 3.0, "Odd.forward returned float"),
        (lambda x: None, "Odd.forward returned NoneType"),
        (lambda x: (x * 2, 3), "Odd.forward returned a tuple with int at place 1"),
    ],
)
def test_a_forward_that_returns_no_tensor_is_named(device, result, match, recorded):
    class Odd(gg.Function):
        @staticmethod
        def forward(ctx, x):
            return result(x)

    with pytest.raises(TypeError, match=match):
        Odd.apply(leaf([1.0, 2.0]) if recorded else gg.ones(2))


@pytest.mark.parametrize(
    "result, error, match",
    [
        (lambda g: (g, g), gg.AutogradError, "returned 2 gradients; forward took 1"),
        (lambda g: g.sum(), gg.AutogradError, r"returned a gradient of shape \(\) for an input of shape \(2,\)"),
        (lambda g: g.to(gg.float64), gg.AutogradError, "returned a float64 gradient for a float32 input"),
        (lambda g: 1.0, TypeError, "returned float; a gradient is a tensor or None"),
    ],
)
def test_a_backward_that_returns_the_wrong_thing_is_named(device, result, error, match):
    class Wrong(gg.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return result(g)

    with pytest.raises(error, match=f"Wrong.backward {match}"):
        Wrong.apply(leaf([1.0, 2.0])).sum().backward()


def test_an_input_handed_through_keeps_its_gradient(device):
    class Through(gg.Function):
        @staticmethod
        def forward(ctx, x):
            return x

        @staticmethod
        def backward(ctx, g):
            return g * 10

    x = leaf([1.0])
    y = Through.apply(x)
    assert y is not x
    y.sum().backward()
    assert x.grad.tolist() == [10]


# Size


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


def test_a_graph_10000_deep_can_be_differentiated_again(device):
    x = leaf([1.0], np.float64)
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


def test_two_threads_differentiate_at_once(device, rng):
    a = rng.normal(size=(16, 16))
    want = None
    failures = []

    def work(seed):
        try:
            for i in range(40):
                x = leaf(a, np.float64)
                with gg.no_grad() if (seed + i) % 2 else gg.enable_grad():
                    recorded = (x * 2).requires_grad
                assert recorded == (not (seed + i) % 2)
                y = ((x @ x).tanh() * x.exp()).sum()
                y.backward()
                np.testing.assert_array_equal(x.grad.numpy(), want)
        except BaseException as error:
            failures.append(error)

    x = leaf(a, np.float64)
    ((x @ x).tanh() * x.exp()).sum().backward()
    want = x.grad.numpy()
    threads = [threading.Thread(target=work, args=(i,)) for i in range(2)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not failures, failures[0]


def test_a_function_decorated_with_no_grad_runs_in_two_threads_at_once():
    both, states = threading.Barrier(2), []

    @gg.no_grad()
    def work():
        both.wait()
        states.append(gg.is_grad_enabled())
        both.wait()

    threads = [threading.Thread(target=work) for _ in range(2)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert states == [False, False]
    assert gg.is_grad_enabled()


def test_set_grad_enabled_acts_at_once_in_a_block_and_as_a_decorator():
    gg.set_grad_enabled(False)
    try:
        assert not gg.is_grad_enabled()
    finally:
        gg.set_grad_enabled(True)
    with gg.set_grad_enabled(False):
        assert not gg.is_grad_enabled()
    assert gg.is_grad_enabled()

    @gg.set_grad_enabled(False)
    def state():
        return gg.is_grad_enabled()

    assert gg.is_grad_enabled()
    assert not state()
    assert gg.is_grad_enabled()


def test_a_gradient_that_a_users_function_still_holds_is_copied():
    class Held(gg.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return held

    held = gg.ones(3)
    x = gg.ones(3, requires_grad=True)
    for _ in range(2):
        Held.apply(x).sum().backward()
    assert held.tolist() == [1, 1, 1]
    assert x.grad.tolist() == [2, 2, 2]


def test_the_callers_gradient_is_left_alone():
    x = gg.ones(2, 2, requires_grad=True)
    v = gg.tensor([[1.0, 2.0], [3.0, 4.0]]).T
    (x + 0.0).backward(v, create_graph=True)
    with gg.no_grad():
        x.grad.zero_()
    assert v.tolist() == [[1, 3], [2, 4]]
    with pytest.raises(gg.AutogradError, match="came from T"):
        v.add_(1)


# Threads that meet


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


def test_a_saved_output_keeps_its_history_where_fewer_gradients_are_wanted(device):
    class Power(gg.Function):
        """y = a^b; its derivative by a is b y / a"""

        @staticmethod
        def forward(ctx, a, b):
            y = a**b
            ctx.save_for_backward(a, b, y)
            return y

        @staticmethod
        def backward(ctx, g):
            a, b, y = ctx.saved_tensors
            assert ctx.needs_input_grad == (True, False)
            return g * b * y / a, None

    a, b = leaf([2.0, 3.0]), leaf([4.0, 4.0])
    y = Power.apply(a, b)
    (first,) = gg.grad(y.sum(), a, create_graph=True)
    (second,) = gg.grad(first.sum(), a)
    np.testing.assert_allclose(second.numpy(), [12 * 4, 12 * 9], rtol=1e-5)


def test_gradients_of_several_threads_meet_in_one_leaf(device):
    w, one = leaf([1.0]), gg.ones(1)
    handle = gg.on_launch(lambda launch: time.sleep(0.01))  # others get their turn while a gradient is being added
    try:
        together(*[lambda: w.backward(one)] * 4)
    finally:
        handle.remove()
    assert w.grad.tolist() == [4]


# Leaves that change between forward and backward


def test_an_in_place_change_is_noticed_where_the_module_was_converted_meanwhile(device):
    layer = gg.nn.Linear(1, 1, bias=False)
    x = leaf([[1.0]])
    y = layer(x).sum()
    layer.to(gg.float64)
    layer.to(gg.float32)
    with gg.no_grad():
        layer.weight.mul_(10)
    with pytest.raises(gg.AutogradError, match=r"changed in place after it was used: it has other memory now"):
        y.backward()


# Arguments


def test_grad_takes_any_iterable(device):
    layer = gg.nn.Linear(2, 1)
    weight, bias = gg.grad(layer(gg.ones(1, 2)).sum(), layer.parameters())
    assert weight.tolist() == [[1, 1]] and bias.tolist() == [1]


def test_a_second_gradient_is_added_to_one_with_a_history(device):
    x = leaf([2.0])
    (x**3).sum().backward(create_graph=True)
    (x * 5).sum().backward()
    assert x.grad.tolist() == [17] and x.grad.requires_grad
    (second,) = gg.grad(x.grad.sum(), x)
    assert second.tolist() == [12]
