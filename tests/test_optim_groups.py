"""Which parameters an optimiser updates: groups, late ones, those without a gradient, and what a step leaves behind."""

from __future__ import annotations

import numpy as np
import pytest
from optimising import adam, numbers, tensors

import gpugrad as gg
from gpugrad import optim


def test_parameters_without_a_gradient_stay_and_count_no_step(device, rng):
    parameters, gradients = numbers(rng)
    ps = tensors(parameters)
    optimizer = optim.Adam(ps, lr=0.1)
    expected = [p.astype(np.float64) for p in parameters]
    given = [[step[i] for t, step in enumerate(gradients) if (i + t) % 3] for i in range(len(ps))]
    for t, step in enumerate(gradients):
        for i, (p, g) in enumerate(zip(ps, step)):
            p.grad = gg.tensor(g) if (i + t) % 3 else None
        optimizer.step()
    for p, start, grads in zip(ps, expected, given):
        np.testing.assert_allclose(p.detach().numpy(), adam(start, grads, 0.1), rtol=0, atol=1e-4)
    counts = [optimizer.state[p]["step"] for p in ps]
    assert counts == [len(g) for g in given]


def test_neighbours_in_memory_are_left_alone(device):
    # A parameter's share of the launch must end with it: a 3-element one lies before another in m and v.
    a, b = tensors([np.ones(3, np.float32), np.ones(1030, np.float32)])
    optimizer = optim.SGD([a, b], lr=0.5, momentum=0.9)
    a.grad, b.grad = gg.ones(3), gg.ones(1030)
    optimizer.step()
    a.grad, b.grad = gg.full((3,), float("nan")), None
    optimizer.step()
    assert (b.detach().numpy() == 0.5).all()
    assert (optimizer.state[b]["momentum_buffer"].numpy() == 1).all()
    assert np.isnan(a.detach().numpy()).all()


def test_groups_have_settings_of_their_own(device):
    a, b = tensors([np.ones(4, np.float32)] * 2)
    optimizer = optim.SGD([{"params": [a], "lr": 0.5}, {"params": b}], lr=0.25)
    a.grad = b.grad = gg.ones(4)
    optimizer.step()
    assert (a.detach().numpy() == 0.5).all() and (b.detach().numpy() == 0.75).all()
    optimizer.param_groups[1]["lr"] = 0.5
    a.grad = None
    optimizer.step()
    assert (a.detach().numpy() == 0.5).all() and (b.detach().numpy() == 0.25).all()


def test_groups_can_be_added_later(device):
    a, b = tensors([np.ones(4, np.float32)] * 2)
    optimizer = optim.SGD([a], lr=0.5)
    optimizer.add_param_group({"params": [b], "lr": 1.0})
    a.grad = b.grad = gg.ones(4)
    optimizer.step()
    assert (a.detach().numpy() == 0.5).all() and (b.detach().numpy() == 0).all()


@pytest.mark.parametrize(("rule", "given"), [("SGD", {"momentum": 0.9}), ("Adam", {"lr": 0.1}), ("AdamW", {"lr": 0.1})])
@pytest.mark.parametrize("how", ["appended", "new group"])
def test_a_parameter_that_comes_after_the_first_step_is_trained_as_in_pytorch(device, rng, rule, given, how):
    torch = pytest.importorskip("torch", reason="parity with PyTorch needs PyTorch")
    start, slopes = rng.standard_normal((2, 7)).astype(np.float32), rng.standard_normal((5, 2, 7)).astype(np.float32)

    def trained(library, make, as_tensor):
        a, b = (make(v) for v in start)
        optimizer = getattr(library, rule)([a], **given)
        for i, (ga, gb) in enumerate(slopes):
            if i == 2 and how == "appended":
                optimizer.param_groups[0]["params"].append(b)
            elif i == 2:
                optimizer.add_param_group({"params": [b], "lr": 0.05})
            a.grad, b.grad = as_tensor(ga), as_tensor(gb)
            optimizer.step()
        return a.detach().numpy(), b.detach().numpy()

    ours = trained(optim, lambda v: gg.tensor(v, requires_grad=True), gg.tensor)
    theirs = trained(torch.optim, lambda v: torch.tensor(v, requires_grad=True), torch.tensor)
    for mine, other, before in zip(ours, theirs, start):
        assert not np.array_equal(mine, before)
        np.testing.assert_allclose(mine, other, rtol=1e-5, atol=1e-6)  # five steps' roundings


def test_a_parameter_that_leaves_its_group_is_forgotten_and_the_others_go_on(device):
    a, b, c = tensors([np.zeros(3, np.float32)] * 3)
    optimizer = optim.SGD([a, b, c], lr=1.0, momentum=0.5)
    a.grad = b.grad = c.grad = gg.ones(3)
    optimizer.step()
    optimizer.param_groups[0]["params"].pop(1)
    assert set(optimizer.state_dict()["state"]) == {0, 1}
    optimizer.step()
    assert (b.detach().numpy() == -1).all()
    for p in (a, c):
        assert (p.detach().numpy() == -1 - 1.5).all()


@pytest.mark.parametrize(
    ("wrong", "error", "message"),
    [
        (lambda p: 3, TypeError, r"params\[1\] is int"),
        (lambda p: p * 2, ValueError, "was computed"),
        (lambda p: p, ValueError, "given twice"),
    ],
)
def test_what_is_appended_is_checked_at_the_next_step(device, wrong, error, message):
    (p,) = tensors([np.zeros(3, np.float32)])
    optimizer = optim.SGD([p], lr=1.0)
    p.grad = gg.ones(3)
    optimizer.step()
    optimizer.param_groups[0]["params"].append(wrong(p))
    with pytest.raises(error, match=message):
        optimizer.step()
    assert (p.detach().numpy() == -1).all()


def test_a_group_that_is_refused_or_does_not_fit_keeps_the_others_where_they_were(device, monkeypatch):
    a, b = tensors([np.ones(3, np.float32), np.ones((300, 300), np.float32)])
    optimizer = optim.Adam([{"params": [a]}, {"params": [b]}])
    a.grad, b.grad = gg.ones(3), gg.ones(300, 300)
    pool = gg.memory.pool(device)
    pool.release_cached()
    with monkeypatch.context() as short:
        short.setattr(pool, "limit", pool.allocated + 300_000)
        with pytest.raises(gg.OutOfDeviceMemory):
            optimizer.step()
    assert a.detach().tolist() == [1, 1, 1]
    optimizer.step()
    assert (a.detach().numpy() < 1).all() and optimizer.state[a]["step"] == 1


def test_a_closure_that_cannot_be_called_is_refused(device):
    with pytest.raises(TypeError, match=r"SGD\.step: closure is 3"):
        optim.SGD(tensors([np.zeros(3, np.float32)])).step(3)


def test_parameters_of_two_dtypes(device):
    if not device.has_float64:
        pytest.skip("the device has no float64")
    a, b = gg.ones(3, requires_grad=True), gg.ones(3, dtype=gg.float64, requires_grad=True)
    a.grad, b.grad = gg.ones(3), gg.ones(3, dtype=gg.float64)
    optim.Adam([a, b], lr=0.5).step()
    np.testing.assert_allclose(a.detach().numpy(), 0.5, atol=1e-6)
    np.testing.assert_allclose(b.detach().numpy(), 0.5, atol=1e-7)  # 1e-8 of it is eps


def test_momentum_can_be_turned_on_later(device):
    (p,) = tensors([np.zeros(2, np.float32)])
    optimizer = optim.SGD([p], lr=1.0)
    p.grad = gg.ones(2)
    optimizer.step()
    optimizer.param_groups[0]["momentum"] = 0.5
    optimizer.step()
    optimizer.step()
    assert (p.detach().numpy() == -1 - 1 - 1.5).all()


def test_a_step_leaves_the_tensor_the_same_object_and_makes_a_stale_graph_fail(device):
    (w,) = tensors([np.ones(3, np.float32)])
    x = gg.ones(3, requires_grad=True)
    memory = w.array
    w.grad = gg.ones(3)
    for make in (lambda: optim.SGD([w], lr=0.1, momentum=0.5), lambda: optim.Adam([w])):
        loss = (w * x).sum()
        make().step()
        assert w.array is memory
        with pytest.raises(gg.AutogradError, match="changed in place"):
            loss.backward()


def test_zero_grad_drops_or_zeroes(device):
    (p,) = tensors([np.ones(3, np.float32)])
    optimizer = optim.SGD([p])
    p.grad = gg.ones(3)
    optimizer.zero_grad(set_to_none=False)
    assert (p.grad.numpy() == 0).all()
    optimizer.zero_grad()
    assert p.grad is None
    optimizer.zero_grad(set_to_none=False)
    assert p.grad is None


def test_step_returns_the_loss_of_a_closure(device):
    (p,) = tensors([np.full(3, 2, np.float32)])
    optimizer = optim.SGD([p], lr=0.25)

    def closure():
        optimizer.zero_grad()
        loss = (p * p).sum()
        loss.backward()
        return loss

    with gg.no_grad():
        loss = optimizer.step(closure)
    assert loss.item() == 12
    assert (p.detach().numpy() == 1).all()


@pytest.mark.large
def test_training_descends(device):
    gg.manual_seed(0)
    x = gg.randn(64, 5)
    truth = gg.tensor([[1.0], [-2.0], [0.5], [3.0], [0.0]])
    y = x @ truth
    for make in (lambda p: optim.SGD(p, lr=0.1, momentum=0.5), lambda p: optim.AdamW(p, lr=0.1, weight_decay=0.0)):
        w = gg.zeros(5, 1, requires_grad=True)
        optimizer = make([w])
        for _ in range(150):
            optimizer.zero_grad()
            error = x @ w - y
            (error * error).mean().backward()
            optimizer.step()
        np.testing.assert_allclose(w.detach().numpy(), truth.numpy(), atol=0.02)
