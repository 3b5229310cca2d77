"""Optimisers, schedules and scalers saved, copied, pickled, and given states and settings that are wrong."""

import copy
import math
import pickle

import numpy as np
import pytest
from optimising import RULES, numbers, run, tensors

import gpugrad as gg
from gpugrad import nn, optim
from gpugrad.errors import ScalerError
from gpugrad.optim import lr_scheduler

OPTIMISERS = {
    "SGD": lambda params: optim.SGD(params, lr=0.1),
    "momentum": lambda params: optim.SGD(params, lr=0.1, momentum=0.9),
    "Adam": lambda params: optim.Adam(params, lr=0.1),
}


def stepped(rule="Adam", dtype=gg.float32, steps=2):
    """A parameter of three numbers and its optimiser, after some steps."""
    p = nn.Parameter(gg.ones(3, dtype=dtype))
    optimizer = OPTIMISERS[rule]([p])
    for _ in range(steps):
        step(p, optimizer)
    return p, optimizer


def step(p, optimizer):
    p.grad = gg.tensor([1.0, -2.0, 0.5], dtype=p.dtype)
    optimizer.step()
    return p.detach().tolist()


@pytest.mark.parametrize("twin", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))], ids=["deepcopy", "pickle"])
@pytest.mark.parametrize("dtype", [gg.float32, gg.float16], ids=str)
@pytest.mark.parametrize("rule", OPTIMISERS)
def test_a_copy_goes_on_as_the_original_would_and_apart_from_it(device, rule, dtype, twin):
    p, optimizer = stepped(rule, dtype)
    schedule = lr_scheduler.StepLR(optimizer, 1)
    p2, optimizer2, schedule2 = twin((p, optimizer, schedule))
    assert optimizer2.param_groups[0]["params"][0] is p2
    assert schedule2.optimizer is optimizer2
    before = p.detach().tolist()
    schedule2.step()
    after = step(p2, optimizer2)
    assert p.detach().tolist() == before
    schedule.step()
    assert step(p, optimizer) == after


def test_a_scaler_is_copied_between_steps_only(device):
    scaler = optim.GradScaler(8.0)
    assert pickle.loads(pickle.dumps(scaler)).get_scale() == copy.deepcopy(scaler).get_scale() == 8
    p, optimizer = stepped()
    scaler.scale((p * 2).sum()).backward()
    scaler.unscale_(optimizer)
    with pytest.raises(ScalerError, match="in the middle of a step"):
        copy.deepcopy(scaler)


WRONG_STATES = {
    "no list of groups": (lambda s: s.update(param_groups=None), TypeError, "'param_groups' must be a list of dicts"),
    "a group without params": (lambda s: s["param_groups"][0].pop("params"), TypeError, "each with a list 'params'"),
    "no dict of states": (lambda s: s.update(state=[1]), TypeError, "'state' must be a dict"),
    "a state that is a number": (lambda s: s["state"].update({0: 5}), TypeError, "with a dict for each parameter"),
    "a parameter by name": (lambda s: s["state"].update(x={}), ValueError, "state for parameter 'x'"),
    "text": (lambda s: s["state"][0].update(exp_avg=np.array(["a"] * 3)), TypeError, "exp_avg in the state: data of"),
    "a list": (lambda s: s["state"][0].update(exp_avg=[1, 2, 3]), TypeError, "exp_avg in the state is list"),
    "complex": (lambda s: s["state"][0].update(exp_avg=np.ones(3) * 1j), TypeError, "exp_avg in the state: data of"),
    "another shape": (lambda s: s["state"][0].update(exp_avg=np.ones(4)), ValueError, r"has shape \(3,\), and its"),
    "a step that is text": (lambda s: s["state"][0].update(step="x"), ValueError, "step in the state is 'x'"),
    "no step": (lambda s: s["state"][0].pop("step"), ValueError, "its step in the state is None"),
    "a step that is NaN": (lambda s: s["state"][0].update(step=math.nan), ValueError, "must be a count of updates"),
    "a step below 0": (lambda s: s["state"][0].update(step=-1), ValueError, "must be a count of updates"),
    "half a step": (lambda s: s["state"][0].update(step=1.5), ValueError, "must be a count of updates"),
    "a rate that is text": (lambda s: s["param_groups"][0].update(lr="x"), TypeError, "lr is 'x'"),
}


@pytest.mark.parametrize("change", WRONG_STATES)
def test_a_wrong_state_is_refused_and_nothing_is_forgotten(device, change):
    spoil, error, message = WRONG_STATES[change]
    p, optimizer = stepped()
    expected = step(*copy.deepcopy((p, optimizer)))
    state = copy.deepcopy(optimizer.state_dict())
    spoil(state)
    with pytest.raises(error, match=message):
        optimizer.load_state_dict(state)
    assert step(p, optimizer) == expected


def test_a_state_of_another_byte_order_or_with_the_count_in_a_tensor_is_taken(device):
    p, optimizer = stepped()
    expected = step(*copy.deepcopy((p, optimizer)))
    state = optimizer.state_dict()
    state["state"][0]["exp_avg"] = state["state"][0]["exp_avg"].numpy().astype(">f8")
    state["state"][0]["step"] = np.array(2.0)
    optimizer.load_state_dict(state)
    assert step(p, optimizer) == expected


@pytest.mark.parametrize("rule", ["SGD", "Adam", "AdamW"])
def test_a_state_of_pytorch_is_gone_on_from(device, rule):
    torch = pytest.importorskip("torch", reason="the state is PyTorch's")
    p, q = nn.Parameter(gg.ones(3)), torch.nn.Parameter(torch.ones(3))
    settings = {"lr": 0.1, "weight_decay": 0.1, **({"momentum": 0.9} if rule == "SGD" else {})}
    ours, theirs = getattr(optim, rule)([p], **settings), getattr(torch.optim, rule)([q], **settings)
    for _ in range(2):
        q.grad = torch.tensor([1.0, -2.0, 0.5])
        theirs.step()
    with gg.no_grad():
        p.copy_(gg.tensor(q.detach().numpy()))
    ours.load_state_dict(theirs.state_dict())
    theirs.step()
    np.testing.assert_allclose(step(p, ours), q.detach().numpy(), rtol=1e-5)  # a few roundings of float32


def test_adam_does_not_go_on_from_pytorchs_adamw_nor_the_other_way_round(device):
    torch = pytest.importorskip("torch", reason="the states are PyTorch's")
    q = [torch.nn.Parameter(torch.ones(3))]
    for ours, theirs in ((optim.Adam, torch.optim.AdamW), (optim.AdamW, torch.optim.Adam)):
        state = theirs(q).state_dict()
        if "decoupled_weight_decay" in state["param_groups"][0]:  # older ones do not say what they are
            with pytest.raises(ValueError, match="a saved group has decoupled_weight_decay"):
                ours([nn.Parameter(gg.ones(3))]).load_state_dict(state)


@pytest.mark.parametrize(
    ("value", "error", "message"),
    [
        ("x", TypeError, "lr is 'x'; it must be a number"),
        (None, TypeError, "lr is None; it must be a number"),
        (math.nan, ValueError, "lr is nan; it must be finite"),
        (-math.inf, ValueError, "lr is -inf; it must be finite"),
        (10**400, ValueError, "lr has 401 digits"),
    ],
)
@pytest.mark.parametrize("rule", OPTIMISERS)
def test_a_rate_that_is_none_is_refused_at_the_step_before_anything_moves(device, rule, value, error, message):
    p, optimizer = stepped(rule)
    before = p.detach().tolist()
    optimizer.param_groups[0]["lr"] = value
    with pytest.raises(error, match=message):
        step(p, optimizer)
    assert p.detach().tolist() == before


def test_a_rate_may_be_made_negative_as_in_pytorch(device):
    p, optimizer = stepped("SGD", steps=0)
    optimizer.param_groups[0]["lr"] = -0.5
    assert step(p, optimizer) == [1.5, 0.0, 1.25]


def test_a_group_appended_by_hand_must_be_whole(device):
    optimizer = stepped()[1]
    q = nn.Parameter(gg.ones(2))
    q.grad = gg.ones(2)
    optimizer.param_groups.append({"params": [q]})
    with pytest.raises(ValueError, match=r"group 1 has no lr, betas, eps, weight_decay; add_param_group fills in"):
        optimizer.step()
    optimizer.param_groups[1] = {**optimizer.param_groups[0], "params": [q]}
    optimizer.step()
    np.testing.assert_allclose(q.detach().numpy(), 0.9, rtol=1e-6)  # Adam's first step is lr; float32 keeps 7 digits


@pytest.mark.parametrize(
    ("params", "error", "message"),
    [
        ([{"params": 5}], TypeError, "a group's params is 5; give an iterable of tensors"),
        ([{"lr": 1.0}], TypeError, "a dict with 'params'; this one has only lr"),
    ],
)
def test_a_group_without_tensors_is_refused(device, params, error, message):
    with pytest.raises(error, match=message):
        optim.SGD(params)


@pytest.mark.parametrize("given", [None, "x", math.nan, math.inf])
def test_a_factor_that_is_no_finite_number_is_refused_where_it_is_given(device, given):
    with pytest.raises((TypeError, ValueError), match="LambdaLR: what lr_lambda gives is"):
        lr_scheduler.LambdaLR(stepped()[1], lambda epoch: given)


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_schedules_take_finite_numbers(device, bad):
    with pytest.raises(ValueError, match="StepLR: gamma is"):
        lr_scheduler.StepLR(stepped()[1], 1, gamma=bad)
    with pytest.raises(ValueError, match="CosineAnnealingLR: eta_min is"):
        lr_scheduler.CosineAnnealingLR(stepped()[1], 1, eta_min=bad)


@pytest.mark.parametrize(
    ("key", "value"),
    [("step_size", "x"), ("last_epoch", math.nan), ("base_lrs", 5), ("base_lrs", ["x"]), ("gamma", None)],
)
def test_a_wrong_state_of_a_schedule_is_refused(device, key, value):
    schedule = lr_scheduler.StepLR(stepped()[1], 2)
    with pytest.raises(TypeError, match=f"StepLR.load_state_dict: {key} is"):
        schedule.load_state_dict({**schedule.state_dict(), key: value})


@pytest.mark.parametrize(
    ("key", "value"), [("scale", 1e300), ("scale", 1e-300), ("growth_factor", 0.5), ("backoff_factor", 3.0)]
)
def test_a_wrong_state_of_a_scaler_is_refused_and_changes_nothing(key, value):
    scaler = optim.GradScaler()
    before = scaler.state_dict()
    with pytest.raises(ValueError, match=f"GradScaler: {key} is"):
        scaler.load_state_dict({**before, key: value})
    assert scaler.state_dict() == before


@pytest.mark.parametrize("scale", [1e300, 1e-300, 10**400])
def test_a_scale_beyond_float32_is_refused(scale):
    with pytest.raises(ValueError, match="GradScaler: init_scale "):
        optim.GradScaler(scale)


def test_tensors_on_one_memory_are_copied_onto_one_memory(device):
    x = gg.ones(2, 3)
    y, z = copy.deepcopy([x, x.reshape(6)])
    y.zero_()
    assert z.tolist() == [0] * 6
    assert x.tolist() == [[1] * 3] * 2
    p, q = copy.deepcopy((nn.Parameter(x), nn.Parameter(x)))
    with gg.no_grad():
        p.fill_(5)
    assert q.tolist() == [[5] * 3] * 2


def test_generators_arrays_and_devices_are_copied(device):
    generator = gg.Generator(3)
    generator.take(2)
    for twin in (copy.deepcopy(generator), pickle.loads(pickle.dumps(generator))):
        assert twin.get_state() == generator.get_state()
        assert (twin.words(4) == copy.copy(generator).words(4)).all()
    array = gg.Array.from_numpy(np.arange(3.0, dtype=np.float32))
    for twin in (copy.deepcopy(array), pickle.loads(pickle.dumps(array))):
        assert twin.numpy().tolist() == [0, 1, 2]
        assert twin.block is not array.block
    assert copy.copy(array).block is array.block
    assert copy.deepcopy(device) is device
    with pytest.raises(TypeError, match="a Device is this process's own"):
        pickle.dumps(device)


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
