"""Optimisers: update rules against a float64 reference and PyTorch, and what they remember."""

from __future__ import annotations

import math

import numpy as np
import pytest

import gpugrad as gg
from gpugrad import kernels, nn, optim
from gpugrad.kernels.optim import Packed
from gpugrad.kernels.tuning import TUNING

# More than eight, so that launches for eight at once need two; sizes beside multiples of a work-group's share.
SHAPES = [(3, 5), (7,), (), (1025,), (0,), (31, 33), (1024,), (2, 3, 5), (1,), (1023,), (13,)]
STEPS = 5


def numbers(rng, dtype=np.float32):
    parameters = [rng.standard_normal(s).astype(dtype) for s in SHAPES]
    gradients = [[rng.standard_normal(s).astype(dtype) for s in SHAPES] for _ in range(STEPS)]
    return parameters, gradients


def tensors(parameters):
    return [gg.tensor(p, requires_grad=True) for p in parameters]


def run(make, parameters, gradients):
    """The parameters after a step with each list of gradients."""
    ps = tensors(parameters)
    optimizer = make(ps)
    for step in gradients:
        for p, g in zip(ps, step):
            p.grad = gg.tensor(g)
        optimizer.step()
    return [p.detach().numpy() for p in ps], optimizer


def sgd(p, grads, lr, momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False):
    m = None
    for g in grads:
        g = g + weight_decay * p
        if momentum:
            m = g if m is None else momentum * m + (1 - dampening) * g
            g = g + momentum * m if nesterov else m
        p = p - lr * g
    return p


def adam(p, grads, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0, decoupled=False):
    m = v = np.zeros_like(p)
    for t, g in enumerate(grads, 1):
        if decoupled:
            p = p - lr * weight_decay * p
        else:
            g = g + weight_decay * p
        m = betas[0] * m + (1 - betas[0]) * g
        v = betas[1] * v + (1 - betas[1]) * g * g
        p = p - lr * (m / (1 - betas[0] ** t)) / (np.sqrt(v / (1 - betas[1] ** t)) + eps)
    return p


RULES = {
    "plain": (optim.SGD, sgd, {"lr": 0.1}),
    "weight decay": (optim.SGD, sgd, {"lr": 0.1, "weight_decay": 0.3}),
    "momentum": (optim.SGD, sgd, {"lr": 0.1, "momentum": 0.9}),
    "dampening": (optim.SGD, sgd, {"lr": 0.1, "momentum": 0.8, "dampening": 0.4, "weight_decay": 0.1}),
    "nesterov": (optim.SGD, sgd, {"lr": 0.1, "momentum": 0.9, "nesterov": True, "weight_decay": 0.1}),
    "adam": (optim.Adam, adam, {"lr": 0.05}),
    "adam, all settings": (
        optim.Adam,
        adam,
        {"lr": 0.05, "betas": (0.7, 0.95), "eps": 1e-3, "weight_decay": 0.2},
    ),
    "adamw": (optim.AdamW, adam, {"lr": 0.05, "weight_decay": 0.1}),
}


def reference(rule, parameters, gradients, settings):
    _, formula, _ = RULES[rule]
    extra = {"decoupled": True} if rule == "adamw" else {}
    return [
        formula(p.astype(np.float64), [step[i].astype(np.float64) for step in gradients], **settings, **extra)
        for i, p in enumerate(parameters)
    ]


@pytest.mark.parametrize("variant", ["one", "eight"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("rule", RULES)
def test_steps_follow_the_formula(device, rng, rule, dtype, variant):
    if dtype == np.float64 and not device.has_float64:
        pytest.skip("the device has no float64")
    kind, _, settings = RULES[rule]
    parameters, gradients = numbers(rng, dtype)
    with kernels.use_kernels(sgd=variant, sgd_momentum=variant, adam=variant):
        found, _ = run(lambda ps: kind(ps, **settings), parameters, gradients)
    for a, b in zip(found, reference(rule, parameters, gradients, settings)):
        assert a.dtype == dtype
        # A dozen roundings a step, the largest of numbers up to 4, whose last place is 2 eps.
        np.testing.assert_allclose(a, b, rtol=0, atol=STEPS * 4 * np.finfo(dtype).eps)


@pytest.mark.parametrize("rule", RULES)
def test_steps_are_those_of_pytorch(device, rng, rule):
    torch = pytest.importorskip("torch", reason="parity with PyTorch needs PyTorch")
    kind, _, settings = RULES[rule]
    parameters, gradients = numbers(rng)
    found, _ = run(lambda ps: kind(ps, **settings), parameters, gradients)
    theirs = [torch.tensor(p, requires_grad=True) for p in parameters]
    optimizer = getattr(torch.optim, kind.__name__)(theirs, **settings)
    for step in gradients:
        for p, g in zip(theirs, step):
            p.grad = torch.tensor(g)
        optimizer.step()
    for a, b in zip(found, theirs):
        # Both round a dozen times a step, in different places.
        np.testing.assert_allclose(a, b.detach().numpy(), rtol=0, atol=STEPS * 6 * np.finfo(np.float32).eps)


def test_defaults_are_those_of_pytorch():
    torch = pytest.importorskip("torch", reason="parity with PyTorch needs PyTorch")
    for kind in (optim.SGD, optim.Adam, optim.AdamW):
        ours = kind([gg.ones(1, requires_grad=True)]).defaults
        theirs = getattr(torch.optim, kind.__name__)([torch.ones(1, requires_grad=True)]).defaults
        assert ours == {key: theirs[key] for key in ours}


def test_the_rungs_agree(device, rng):
    parameters, gradients = numbers(rng)
    for kind, _, settings in RULES.values():
        results = []
        for variant in ("one", "eight"):
            with kernels.use_kernels(sgd=variant, sgd_momentum=variant, adam=variant):
                results.append(run(lambda ps, k=kind, s=settings: k(ps, **s), parameters, gradients)[0])
        for a, b in zip(*results):
            # Compilers may contract differently in the two kernels.
            np.testing.assert_allclose(a, b, rtol=0, atol=STEPS * 4 * np.finfo(np.float32).eps)


@pytest.mark.parametrize("rule", ["weight decay", "nesterov", "adam"])
def test_the_work_items_of_a_group_share_its_elements(device, rng, rule, monkeypatch):
    monkeypatch.setitem(TUNING, "optim group", {"cpu": 64, "gpu": 64})
    kind, _, settings = RULES[rule]
    parameters, gradients = numbers(rng)
    found, _ = run(lambda ps: kind(ps, **settings), parameters, gradients)
    for a, b in zip(found, reference(rule, parameters, gradients, settings)):
        np.testing.assert_allclose(a, b, rtol=0, atol=STEPS * 4 * np.finfo(np.float32).eps)  # as above


@pytest.mark.parametrize("rule", ["plain", "momentum", "adam"])
def test_without_weight_decay_a_parameter_at_infinity_stays_there(device, rule):
    """0 * infinity would be NaN."""
    kind, _, settings = RULES[rule]
    found, _ = run(lambda ps: kind(ps, **settings), [np.full(3, np.inf, np.float32)], [[np.ones(3, np.float32)]])
    assert (found[0] == np.inf).all()


def test_one_launch_updates_eight_parameters(device):
    parameters = tensors([np.ones(5, np.float32)] * 8)
    for p in parameters:
        p.grad = gg.ones(5)
    launches = []
    optimizer = optim.Adam(parameters)
    optimizer.step()
    handle = gg.on_launch(lambda launch: launches.append(launch.kernel.name))
    optimizer.step()
    handle.remove()
    assert launches == ["adam_eight"]


def test_a_kernel_of_ones_own_takes_the_place_of_the_first_rung(device):
    mine = gg.kernel(
        "__kernel void mine(__global float *p, __global const float *g, int n, float lr, float weight_decay)"
        " { int i = get_global_id(0); if (i < n) p[i] -= 2 * lr * g[i]; }"
    )
    p = gg.ones(70, requires_grad=True)
    p.grad = gg.ones(70)
    with kernels.use_kernels(sgd=mine):
        optim.SGD([p], lr=0.25).step()
    assert (p.detach().numpy() == 0.5).all()


# What is updated, and what is not


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


# Saving


@pytest.mark.parametrize("rule", RULES)
def test_a_saved_state_goes_on_exactly(device, rng, rule, tmp_path):
    kind, _, settings = RULES[rule]
    parameters, gradients = numbers(rng)
    whole, _ = run(lambda ps: kind(ps, **settings), parameters, gradients)
    half, optimizer = run(lambda ps: kind(ps, **settings), parameters, gradients[:2])
    gg.save(optimizer.state_dict(), tmp_path / "state.safetensors")

    def resumed(ps):
        other = kind(ps, lr=123.0)
        other.load_state_dict(gg.load(tmp_path / "state.safetensors"))
        return other

    found, _ = run(resumed, half, gradients[2:])
    for a, b in zip(found, whole):
        assert (a == b).all()


def test_a_state_dict_is_laid_out_as_in_pytorch(device):
    a, b = tensors([np.ones(3, np.float32), np.ones(2, np.float32)])
    optimizer = optim.Adam([{"params": [a]}, {"params": [b], "lr": 0.5}])
    b.grad = gg.ones(2)
    optimizer.step()
    state = optimizer.state_dict()
    assert list(state["state"]) == [1]
    assert set(state["state"][1]) == {"step", "exp_avg", "exp_avg_sq"}
    assert [g["params"] for g in state["param_groups"]] == [[0], [1]]
    assert state["param_groups"][1]["lr"] == 0.5


def test_a_state_with_settings_of_another_optimiser_is_refused_and_those_that_are_off_are_left_out(device):
    p = gg.ones(1, requires_grad=True)
    sgd, adam = optim.SGD([p], lr=0.5, momentum=0.9), optim.Adam([p])
    with pytest.raises(ValueError, match=r"Adam.load_state_dict: a saved group has momentum 0.9; Adam has lr, betas"):
        adam.load_state_dict(sgd.state_dict())
    assert adam.param_groups[0]["lr"] == 1e-3
    state = adam.state_dict()
    state["param_groups"][0].update(amsgrad=False, foreach=None, lr=0.25)
    adam.load_state_dict(state)
    assert adam.param_groups[0]["lr"] == 0.25 and "amsgrad" not in adam.param_groups[0]


def test_a_state_of_other_parameters_is_refused_and_changes_nothing(device):
    (a,) = tensors([np.ones(3, np.float32)])
    a.grad = gg.ones(3)
    optimizer = optim.Adam([a], lr=0.1)
    optimizer.step()
    before = optimizer.state_dict()
    two = optim.Adam(tensors([np.ones(3, np.float32)] * 2))
    other = optim.Adam(tensors([np.ones(4, np.float32)]), lr=0.7)
    other.param_groups[0]["params"][0].grad = gg.ones(4)
    other.step()
    wrong = {**before, "param_groups": [{**before["param_groups"][0], "lr": -1.0}]}
    for state, error in (
        (two.state_dict(), "saved groups"),
        (other.state_dict(), "has shape"),
        (wrong, "lr is -1"),
        ({**before, "state": {5: before["state"][0]}}, "parameter 5"),
        ({**before, "state": {0: {"step": 1}}}, "no exp_avg in the state"),
    ):
        with pytest.raises(ValueError, match=error):
            optimizer.load_state_dict(state)
    with pytest.raises(TypeError, match="state_dict"):
        optimizer.load_state_dict({"state": {}})
    assert optimizer.param_groups[0]["lr"] == 0.1
    assert optimizer.state[a]["step"] == 1 and (optimizer.state[a]["exp_avg"].numpy() > 0).all()


# Wrong input


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda p: optim.SGD([]), ValueError, "params is empty"),
        (lambda p: optim.SGD(p), TypeError, "params is Tensor"),
        (lambda p: optim.SGD([p, 3]), TypeError, r"params\[1\] is int"),
        (lambda p: optim.SGD([p, p]), ValueError, "given twice"),
        (lambda p: optim.SGD([p * 2]), ValueError, "was computed"),
        (lambda p: optim.SGD([{"lr": 1}]), TypeError, "dict with 'params'"),
        (lambda p: optim.SGD([{"params": [p], "rate": 1}]), ValueError, "sets rate"),
        (lambda p: optim.SGD([p], lr=-1), ValueError, "lr is -1"),
        (lambda p: optim.SGD([p], lr=math.nan), ValueError, "lr is nan"),
        (lambda p: optim.SGD([p], lr="x"), TypeError, "lr is 'x'"),
        (lambda p: optim.SGD([p], momentum=-0.1), ValueError, "momentum is -0.1"),
        (lambda p: optim.SGD([p], nesterov=True), ValueError, "nesterov needs a momentum"),
        (lambda p: optim.SGD([p], momentum=0.9, dampening=0.1, nesterov=True), ValueError, "nesterov"),
        (lambda p: optim.Adam([p], betas=(0.9, 1.0)), ValueError, r"betas\[1\] is 1.0"),
        (lambda p: optim.Adam([p], betas=0.9), TypeError, "betas is 0.9"),
        (lambda p: optim.Adam([p], eps=-1), ValueError, "eps is -1"),
        (lambda p: optim.Adam([p], amsgrad=True), ValueError, "amsgrad"),
        (lambda p: optim.AdamW([p], weight_decay=-1), ValueError, "weight_decay is -1"),
    ],
)
def test_wrong_settings_are_refused(call, error, message):
    with pytest.raises(error, match=message):
        call(gg.ones(2, requires_grad=True))


def test_a_parameter_that_changed_its_dtype_is_refused(device):
    if not device.has_float64:
        pytest.skip("the device has no float64")
    layer = nn.Linear(2, 2)
    optimizer = optim.Adam(layer.parameters())
    for p in layer.parameters():
        p.grad = gg.ones(*p.shape)
    optimizer.step()
    layer.to(gg.float64)
    with pytest.raises(ValueError, match="new optimiser"):
        optimizer.step()


@pytest.mark.parametrize(
    ("gradients", "error", "message"),
    [
        (lambda: [gg.Array.empty((3,))], ValueError, "2 parameters and 1 gradients"),
        (lambda: [gg.Array.empty((2,)), None], ValueError, r"gradients\[0\] has shape"),
        (lambda: [gg.Array.empty((3,), gg.int32), None], TypeError, "is int32"),
        (lambda: [np.ones(3, np.float32), None], TypeError, "must be an Array"),
        (lambda: [gg.ones(3), None], TypeError, r"use its \.array"),
    ],
)
def test_the_kernels_check_gradients(gradients, error, message):
    parameters = [gg.Array.empty((3,)), gg.Array.empty((4,))]
    with pytest.raises(error, match=message):
        kernels.sgd(parameters, gradients(), lr=0.1)


def test_the_kernels_check_what_is_remembered(device):
    p = [gg.Array.empty((3,))]
    buffers = Packed([(4,)], np.dtype(np.float32), device)
    with pytest.raises(ValueError, match="remembers"):
        kernels.sgd_momentum(p, p, buffers, lr=0.1, momentum=0.9)
    right = Packed([(3,)], np.dtype(np.float32), device)
    with pytest.raises(ValueError, match="step is 0"):
        kernels.adam(p, p, right, right, step=0, lr=0.1, beta1=0.9, beta2=0.99, eps=1e-8)
    with pytest.raises(ValueError, match="variant is 'two'"):
        kernels.sgd(p, p, lr=0.1, variant="two")


def test_packed_parts_do_not_overlap_and_start_at_zero(device):
    packed = Packed(SHAPES, np.dtype(np.float32), device)
    for i, part in enumerate(packed.parts):
        assert part.shape == SHAPES[i] and (part.numpy() == 0).all()
        part.write(np.full(part.shape, i + 1, np.float32))
    for i, part in enumerate(packed.parts):
        assert (part.numpy() == i + 1).all()
