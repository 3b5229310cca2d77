"""Every argument that is True or False takes nothing else: "no" would count as true, and a number may be misplaced."""

import inspect

import numpy as np
import pytest

import gpugrad as gg
from gpugrad import data, kernels, models, nn, optim
from gpugrad.nn import functional as F


def image():
    return gg.zeros(1, 1, 4, 4)


def array(*shape):
    return image().array.reshape(*shape) if shape else image().array


def weight():
    return gg.zeros(2, requires_grad=True)


def packed():
    return kernels.optim.Packed([(2,)], gg.float32, gg.zeros(1).device)


REDUCTIONS = ("sum", "mean", "max", "min", "amax", "amin", "argmax", "argmin", "var")
CREATORS = {
    "tensor": lambda **given: gg.tensor([1.0], **given),
    "full": lambda **given: gg.full((2,), 1.0, **given),
    "full_like": lambda **given: gg.full_like(gg.zeros(2), 1.0, **given),
    "arange": lambda **given: gg.arange(3.0, **given),
} | {name: lambda name=name, **given: getattr(gg, name)(2, **given) for name in ("zeros", "ones", "rand", "randn")}
CREATORS |= {
    f"{name}_like": lambda name=name, **given: getattr(gg, f"{name}_like")(gg.zeros(2), **given)
    for name in ("zeros", "ones", "rand", "randn")
}

# (function, argument) -> a call that is right but for what is given
CALLS = {}
for name in REDUCTIONS:
    CALLS[name, "keepdim"] = lambda name=name, **given: getattr(gg, name)(gg.ones(2, 2), 1, **given)
    CALLS[f"Tensor.{name}", "keepdim"] = lambda name=name, **given: getattr(gg.ones(2, 2), name)(1, **given)
for name, call in CREATORS.items():
    CALLS[name, "requires_grad"] = call
for flag in ("retain_graph", "create_graph"):
    CALLS["Tensor.backward", flag] = lambda **given: weight().sum().backward(**given)
for flag in ("retain_graph", "create_graph", "allow_unused"):
    CALLS["grad", flag] = lambda **given: gg.grad((w := weight()).sum(), w, **given)
for flag in ("ceil_mode", "count_include_pad"):
    CALLS["avg_pool2d", flag] = lambda **given: F.avg_pool2d(image(), 2, **given)
    CALLS["AvgPool2d", flag] = lambda **given: nn.AvgPool2d(2, **given)
    CALLS["kernels.avg_pool2d", flag] = lambda **given: kernels.avg_pool2d(array(), 2, **given)
    CALLS["kernels.avg_pool2d_backward", flag] = lambda **given: kernels.avg_pool2d_backward(
        gg.zeros(1, 1, 2, 2).array, (1, 1, 4, 4), 2, **given
    )
CALLS["GradScaler", "enabled"] = lambda **given: gg.GradScaler(**given)
for flag in ("ceil_mode", "return_indices"):
    CALLS["max_pool2d", flag] = lambda **given: F.max_pool2d(image(), 2, **given)
    CALLS["MaxPool2d", flag] = lambda **given: nn.MaxPool2d(2, **given)
for flag in ("transpose_a", "transpose_b"):
    CALLS["kernels.gemm", flag] = lambda **given: kernels.gemm(array(4, 4), array(4, 4), **given)
    CALLS["kernels.gemm_sum", flag] = lambda **given: kernels.gemm_sum(array(1, 4, 4), array(1, 4, 4), **given)
for flag in ("affine", "track_running_stats"):
    CALLS["BatchNorm2d", flag] = lambda **given: nn.BatchNorm2d(2, **given)
for flag in ("shuffle", "drop_last"):
    CALLS["DataLoader", flag] = lambda **given: data.DataLoader([1, 2], **given)
for name in ("named_parameters", "parameters", "named_buffers", "buffers"):
    CALLS[f"Module.{name}", "recurse"] = lambda name=name, **given: getattr(nn.Linear(1, 1), name)(**given)
for name in ("gradcheck", "gradgradcheck"):
    CALLS[name, "raise_exception"] = lambda name=name, **given: getattr(gg, name)(lambda x: x * x, weight(), **given)
for name in ("nesterov", "first_step"):
    CALLS["kernels.sgd_momentum", name] = lambda **given: kernels.sgd_momentum(
        [weight().array], [gg.zeros(2).array], packed(), lr=0.1, momentum=0.1, **given
    )
CALLS |= {
    ("Tensor.requires_grad_", "requires_grad"): lambda **given: gg.zeros(2).requires_grad_(**given),
    ("set_grad_enabled", "mode"): gg.set_grad_enabled,
    ("batch_norm", "training"): lambda **given: F.batch_norm(image(), gg.zeros(1), gg.ones(1), **given),
    ("dropout", "training"): lambda **given: F.dropout(image(), 0.5, **given),
    ("Parameter", "requires_grad"): lambda **given: nn.Parameter(gg.zeros(2), **given),
    ("Conv2d", "bias"): lambda **given: nn.Conv2d(1, 1, 1, **given),
    ("ConvTranspose2d", "bias"): lambda **given: nn.ConvTranspose2d(1, 1, 1, **given),
    ("Linear", "bias"): lambda **given: nn.Linear(1, 1, **given),
    ("Module.register_buffer", "persistent"): lambda **given: nn.Module().register_buffer("x", gg.zeros(1), **given),
    ("Module.load_state_dict", "strict"): lambda **given: nn.Module().load_state_dict({}, **given),
    ("Module.train", "mode"): lambda **given: nn.Module().train(**given),
    ("Module.requires_grad_", "requires_grad"): lambda **given: nn.Module().requires_grad_(**given),
    ("Module.zero_grad", "set_to_none"): lambda **given: nn.Module().zero_grad(**given),
    ("Optimizer.zero_grad", "set_to_none"): lambda **given: optim.SGD([weight()]).zero_grad(**given),
    ("SGD", "nesterov"): lambda **given: optim.SGD([weight()], momentum=0.5, **given),
    ("Adam", "amsgrad"): lambda **given: optim.Adam([weight()], **given),
    ("AdamW", "amsgrad"): lambda **given: optim.AdamW([weight()], **given),
    ("kernels.adam", "decoupled"): lambda **given: kernels.adam(
        [weight().array],
        [gg.zeros(2).array],
        packed(),
        packed(),
        step=1,
        lr=0.1,
        beta1=0.9,
        beta2=0.9,
        eps=0.1,
        **given,
    ),
    ("kernels.max_pool2d", "ceil_mode"): lambda **given: kernels.max_pool2d(array(), 2, **given),
    ("kernels.max_pool2d_backward", "ceil_mode"): lambda **given: kernels.max_pool2d_backward(
        gg.zeros(1, 1, 2, 2).array, kernels.max_pool2d(array(), 2)[1], (1, 1, 4, 4), 2, **given
    ),
    ("kernels.reduce", "keepdim"): lambda **given: kernels.reduce("sum", array(), **given),
    ("mnist", "train"): lambda **given: data.mnist(source="subset", **given),
    ("course_cnn", "pretrained"): models.course_cnn,
}


def public_flags():
    """(function, argument) of every public argument that is declared bool, of the engine's part of the package."""
    found = set()
    for module in (gg, F, nn, nn.init, optim, kernels, data, models):
        prefix = "kernels." if module is kernels else ""
        for name in dir(module):
            thing = getattr(module, name)
            if name.startswith("_") or not getattr(thing, "__module__", "").startswith("gpugrad."):
                continue
            if thing.__module__.startswith(("gpugrad.trace", "gpugrad.viz", "gpugrad.course", "gpugrad.profiling")):
                continue
            if inspect.isclass(thing) and issubclass(thing, Exception):
                continue
            methods = [m for n, m in inspect.getmembers(thing, inspect.isfunction) if not n.startswith("_")]
            for function in [thing, *methods] if inspect.isclass(thing) else [thing] if callable(thing) else []:
                label = function.__qualname__ if function in methods else prefix + name
                found |= {
                    (label, p.name)
                    for p in inspect.signature(function).parameters.values()
                    if str(p.annotation) in ("bool", "bool | None")
                }
    return found


def test_every_public_flag_is_in_the_table():
    assert public_flags() - {("kernel", "checked")} == set(CALLS)


@pytest.mark.parametrize("flag", CALLS, ids=lambda flag: f"{flag[0]}({flag[1]})")
def test_only_true_and_false_are_taken(device, flag):
    _, argument = flag
    for wrong in ("no", "", 1, 0, 0.5, np.array([True, False]), [True], gg.ones(1)):
        with pytest.raises(TypeError, match=f"{argument} is .*; it must be True or False"):
            CALLS[flag](**{argument: wrong})


@pytest.mark.parametrize("flag", [("sum", "keepdim"), ("kernels.gemm", "transpose_a"), ("Module.train", "mode")])
def test_booleans_of_numpy_are_booleans(device, flag):
    CALLS[flag](**{flag[1]: np.bool_(True)})
