"""Optimisers: update rules against a float64 reference and PyTorch, and the settings and arrays that they refuse."""

from __future__ import annotations

import math

import numpy as np
import pytest
from optimising import RULES, SHAPES, STEPS, numbers, reference, run, tensors

import gpugrad as gg
from gpugrad import kernels, nn, optim
from gpugrad.kernels.optim import Packed
from gpugrad.kernels.tuning import TUNING


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
    for step, message in ((0, "step is 0; it must be 1 or more"), (10**400, "step has 401 digits")):
        with pytest.raises(ValueError, match=message):
            kernels.adam(p, p, right, right, step=step, lr=0.1, beta1=0.9, beta2=0.99, eps=1e-8)
    with pytest.raises(ValueError, match=r"beta1 is 1.0; it must be from 0 to below 1"):
        kernels.adam(p, p, right, right, step=1, lr=0.1, beta1=1.0, beta2=0.99, eps=1e-8)
    with pytest.raises(ValueError, match="variant is 'two'"):
        kernels.sgd(p, p, lr=0.1, variant="two")


def test_packed_parts_do_not_overlap_and_start_at_zero(device):
    packed = Packed(SHAPES, np.dtype(np.float32), device)
    for i, part in enumerate(packed.parts):
        assert part.shape == SHAPES[i] and (part.numpy() == 0).all()
        part.write(np.full(part.shape, i + 1, np.float32))
    for i, part in enumerate(packed.parts):
        assert (part.numpy() == i + 1).all()
