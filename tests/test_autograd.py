"""The backward engine: what adds up in which order, graphs freed and kept, `gg.grad`, higher derivatives."""

import weakref

import numpy as np
import pytest
from samples import Launches, leaf

import gpugrad as gg

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


def test_detach_shares_memory_and_leaves_the_history(device):
    x = leaf([1.0, 2.0])
    y = (x * 2).detach()
    assert y.is_leaf and not y.requires_grad
    (x * y).sum().backward()
    assert x.grad.tolist() == [2, 4]


def test_the_callers_gradient_is_left_alone():
    x = gg.ones(2, 2, requires_grad=True)
    v = gg.tensor([[1.0, 2.0], [3.0, 4.0]]).T
    (x + 0.0).backward(v, create_graph=True)
    with gg.no_grad():
        x.grad.zero_()
    assert v.tolist() == [[1, 3], [2, 4]]
    with pytest.raises(gg.AutogradError, match="came from T"):
        v.add_(1)


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


def test_grad_takes_any_iterable(device):
    layer = gg.nn.Linear(2, 1)
    weight, bias = gg.grad(layer(gg.ones(1, 2)).sum(), layer.parameters())
    assert weight.tolist() == [[1, 1]] and bias.tolist() == [1]


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


def test_a_second_gradient_is_added_to_one_with_a_history(device):
    x = leaf([2.0])
    (x**3).sum().backward(create_graph=True)
    (x * 5).sum().backward()
    assert x.grad.tolist() == [17] and x.grad.requires_grad
    (second,) = gg.grad(x.grad.sum(), x)
    assert second.tolist() == [12]
