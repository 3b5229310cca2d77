"""Optimiser updates on Arrays, in place; see optim.cl for the formulas.

Each rule has two rungs: "one" launches for each parameter, "eight" for up to eight parameters at once.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ..array import MAX_ELEMENTS, Array, Shape
from ..device import Device
from ..program import Kernel
from .checks import as_float, boolean, check_array, check_float, check_same, integer, real
from .geometry import round_up
from .ladder import launch_first, resolve, variant
from .tuning import tuned

FLOAT32_MOST = float(np.finfo(np.float32).max)
_LOCAL = (64,)  # of the kernels for one parameter
_SPAN = 1024  # elements that a work-group of the kernels for eight parameters takes
_DEFINES = (("SPAN", str(_SPAN)),)
_EIGHT = {f"p{j}": "inout" for j in range(8)} | {f"g{j}": "in" for j in range(8)}

_SGD = Kernel("optim.cl", "sgd", p="inout", g="in")
_SGD_EIGHT = Kernel("optim.cl", "sgd_eight", **_EIGHT)
_MOMENTUM = Kernel("optim.cl", "sgd_momentum", p="inout", g="in", m="inout")
_MOMENTUM_EIGHT = Kernel("optim.cl", "sgd_momentum_eight", m="partial", **_EIGHT)
_ADAM = Kernel("optim.cl", "adam", p="inout", g="in", m="inout", v="inout")
_ADAM_EIGHT = Kernel("optim.cl", "adam_eight", m="partial", v="partial", **_EIGHT)


class Packed:
    """Zeros in the shapes of some parameters, one behind another in one block.

    Attributes: `flat` (the whole, 1-D), `parts` (one Array for each parameter, on the same memory), `firsts` (where
    each starts in `flat`, in elements: multiples of what a work-group takes, at which a device can start a buffer).
    """

    def __init__(self, shapes: Sequence[Shape], dtype: np.dtype, device: Device):
        unit = math.lcm(_SPAN, device.alignment // math.gcd(device.alignment, dtype.itemsize))
        self.firsts, end = [], 0
        for shape in shapes:
            self.firsts.append(end)
            end += round_up(math.prod(shape), unit)
        # A part of no elements may start at the end, where there is no byte to start a buffer at.
        self.flat = Array.from_numpy(np.zeros(end + unit, dtype), device=device)
        self.parts = [
            self.flat._view(tuple(shape), first * dtype.itemsize) for shape, first in zip(shapes, self.firsts)
        ]


def sgd(
    parameters: Sequence[Array],
    gradients: Sequence[Array | None],
    *,
    lr: float,
    weight_decay: float = 0.0,
    variant: str | None = None,
) -> None:
    """p -= lr (g + weight_decay p) for each parameter that has a gradient."""
    wanted = _wanted("sgd", parameters, gradients)
    rule = _rule("sgd", lr=lr, weight_decay=weight_decay)
    run, custom = resolve("sgd", variant, "eight")
    run(custom, parameters, gradients, wanted, *rule)


@variant("sgd", "one")
def _sgd_one(custom: Any, parameters: Any, gradients: Any, wanted: list[int], *rule: float) -> None:
    for i in wanted:
        p = parameters[i]
        launch_first(_SGD, custom, p.dtype, (p.size,), _LOCAL, p, gradients[i], p.size, *rule, defines=_DEFINES)


@variant("sgd", "eight")
def _sgd_eight(_: Any, parameters: Any, gradients: Any, wanted: list[int], *rule: float) -> None:
    for eight in _eights(wanted):
        firsts, end = [], 0
        for i in eight:
            firsts.append(end)
            end += round_up(parameters[i].size, _SPAN)
        if end > MAX_ELEMENTS:  # more than the kernel can number through
            _sgd_one(None, parameters, gradients, eight, *rule)
            continue
        _launch_eight(_SGD_EIGHT, parameters[eight[0]], end, *_places(eight, parameters, gradients, firsts), *rule)


def sgd_momentum(
    parameters: Sequence[Array],
    gradients: Sequence[Array | None],
    buffers: Packed,
    *,
    lr: float,
    momentum: float,
    dampening: float = 0.0,
    weight_decay: float = 0.0,
    nesterov: bool = False,
    first_step: bool = False,
    variant: str | None = None,
) -> None:
    """m = momentum m + (1 - dampening) g, p -= lr m (`nesterov`: p -= lr (g + momentum m)).

    At the `first_step` m = g. `buffers` holds m for all parameters, also those without a gradient now.
    """
    wanted = _wanted("sgd_momentum", parameters, gradients, buffers)
    run, custom = resolve("sgd_momentum", variant, "eight")
    rule = _rule("sgd_momentum", lr=lr, weight_decay=weight_decay, momentum=momentum, dampening=dampening)
    flags = [boolean("sgd_momentum", n, f) for n, f in (("nesterov", nesterov), ("first_step", first_step))]
    rule += tuple(map(int, flags))
    run(custom, parameters, gradients, (buffers,), wanted, rule)


@variant("sgd_momentum", "one")
def _momentum_one(custom: Any, *call: Any) -> None:
    _one_by_one(_MOMENTUM, custom, *call)


@variant("sgd_momentum", "eight")
def _momentum_eight(_: Any, *call: Any) -> None:
    _by_eights(_MOMENTUM_EIGHT, *call)


def adam(
    parameters: Sequence[Array],
    gradients: Sequence[Array | None],
    exp_avg: Packed,
    exp_avg_sq: Packed,
    *,
    step: int,
    lr: float,
    beta1: float,
    beta2: float,
    eps: float,
    weight_decay: float = 0.0,
    decoupled: bool = False,
    variant: str | None = None,
) -> None:
    """Adam's update number `step` (from 1) for each parameter that has a gradient; `decoupled` makes it AdamW's."""
    wanted = _wanted("adam", parameters, gradients, exp_avg, exp_avg_sq)
    updates = as_float("adam", "step", integer("adam", "step", step, 1))
    lr, eps, weight_decay = _rule("adam", lr=lr, eps=eps, weight_decay=weight_decay)
    beta1, beta2 = (real("adam", n, b, 0, below=1) for n, b in (("beta1", beta1), ("beta2", beta2)))
    decoupled = boolean("adam", "decoupled", decoupled)
    run, custom = resolve("adam", variant, "eight")
    shrink = 1 - lr * weight_decay if decoupled else 1.0
    root = math.sqrt(1 - beta2**updates)
    step_size, decay = lr / (1 - beta1**updates), 0.0 if decoupled else weight_decay
    rule = (step_size, 1 - beta1, beta2, 1 - beta2, eps, decay, shrink, root)
    run(custom, parameters, gradients, (exp_avg, exp_avg_sq), wanted, rule)


@variant("adam", "one")
def _adam_one(custom: Any, *call: Any) -> None:
    _one_by_one(_ADAM, custom, *call)


@variant("adam", "eight")
def _adam_eight(_: Any, *call: Any) -> None:
    _by_eights(_ADAM_EIGHT, *call)


def _one_by_one(
    kernel: Kernel, custom: Any, parameters: Any, gradients: Any, memory: Any, wanted: list[int], rule: Any
) -> None:
    for i in wanted:
        p = parameters[i]
        args = (p, gradients[i], *(packed.parts[i] for packed in memory), p.size, *rule)
        launch_first(kernel, custom, p.dtype, (p.size,), _LOCAL, *args, defines=_DEFINES)


def _by_eights(kernel: Kernel, parameters: Any, gradients: Any, memory: Any, wanted: list[int], rule: Any) -> None:
    firsts = memory[0].firsts
    flats = [packed.flat for packed in memory]
    for eight in _eights(wanted):
        start, last = firsts[eight[0]], eight[-1]
        end = firsts[last] + parameters[last].size
        places = _places(eight, parameters, gradients, [firsts[i] for i in eight])
        _launch_eight(kernel, flats[0], end - start, *places, *flats, start, *rule)


def _launch_eight(kernel: Kernel, like: Array, elements: int, *args: Any) -> None:
    group = tuned("optim group", like.device)
    kernel.launch(like.dtype, (-(-elements // _SPAN) * group,), (group,), *args, defines=_DEFINES)


def _eights(wanted: list[int]) -> Iterator[list[int]]:
    return (wanted[i : i + 8] for i in range(0, len(wanted), 8))


def _places(eight: list[int], parameters: Any, gradients: Any, firsts: list[int]) -> list[Any]:
    """The arguments p, g, first, n of the eight places."""
    args: list[Any] = []
    for i, first in zip(eight, firsts):
        p = parameters[i]
        args += (p, gradients[i], first, p.size)
    # An unused place starts where no work-group comes.
    p, g = args[0], args[1]
    return args + [p, g, 2**31 - 1, 0] * (8 - len(eight))


def held(function: str, name: str, value: Any, low: float = -math.inf) -> float:
    """`value` as a number, from `low`, that float32 holds, in which most parameters are updated."""
    number = real(function, name, value, low)
    if abs(number) > FLOAT32_MOST:
        raise ValueError(f"{function}: {name} is {number}; float32 holds no more than {FLOAT32_MOST:.2g}")
    return number


def _rule(function: str, **numbers: Any) -> tuple[float, ...]:
    return tuple([held(function, name, value) for name, value in numbers.items()])


def _wanted(function: str, parameters: Any, gradients: Any, *memory: Packed) -> list[int]:
    """Which parameters have a gradient and an element; everything is checked here."""
    if len(gradients) != len(parameters):
        raise ValueError(
            f"{function}: {len(parameters)} parameters and {len(gradients)} gradients; give one (or None) each"
        )
    wanted = []
    for i, (p, g) in enumerate(zip(parameters, gradients)):
        # Sentences are made only where they are needed: this runs in every step.
        if not (_alike(p, parameters[0]) and (g is None or (_alike(g, p) and g.shape == p.shape))):
            _refuse(function, i, p, g, parameters[0])
        for packed in memory:
            part = packed.parts[i]
            if part.shape != p.shape or not _alike(part, p):
                raise ValueError(
                    f"{function}: parameters[{i}] is {p.dtype}{p.shape} on {p.device}, and what the optimiser "
                    f"remembers of it is {part.dtype}{part.shape} on {part.device}; make a new optimiser after "
                    "changing a parameter"
                )
        if g is not None and p.size:
            wanted.append(i)
    return wanted


def _alike(a: Any, b: Any) -> bool:
    return isinstance(a, Array) and a.dtype.kind == "f" and a.dtype == b.dtype and a.device is b.device


def _refuse(function: str, i: int, p: Any, g: Any, first: Any) -> None:
    """Raise what is wrong with a parameter or its gradient."""
    for name, a in (("parameters[0]", first), (f"parameters[{i}]", p), (f"gradients[{i}]", g)):
        if a is not None:
            check_array(function, name, a)
            check_float(function, name, a)
    check_same(function, **{"parameters[0]": first, f"parameters[{i}]": p, f"gradients[{i}]": g})
    raise ValueError(f"{function}: gradients[{i}] has shape {g.shape}; parameters[{i}] has {p.shape}")
