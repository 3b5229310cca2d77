"""gpugrad: how deep learning runs on a GPU, by reading, running, watching and writing its OpenCL kernels.

Importing it touches no device and loads nothing but NumPy: each name is fetched from its module at its first use.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from .dtypes import bool_ as bool
from .dtypes import float16, float32, float64, int32, uint8

__version__ = "0.1.0"

if TYPE_CHECKING:
    from . import autograd, data, kernels, nn, optim
    from .array import Array
    from .autograd import Function, Tensor, enable_grad, grad, is_grad_enabled, no_grad, set_grad_enabled
    from .autograd.ops import (
        abs,
        add,
        arange,
        clone,
        div,
        eq,
        exp,
        from_numpy,
        full,
        full_like,
        ge,
        gt,
        le,
        log,
        logical_and,
        logical_not,
        logical_or,
        lt,
        maximum,
        minimum,
        mul,
        ne,
        neg,
        ones,
        ones_like,
        pow,
        rand,
        rand_like,
        randn,
        randn_like,
        randperm,
        relu,
        sigmoid,
        sqrt,
        sub,
        tanh,
        tensor,
        where,
        zeros,
        zeros_like,
    )
    from .custom import kernel
    from .device import Device, current_device, devices, use_device
    from .errors import (
        AutogradError,
        DataError,
        DeviceLost,
        GpugradError,
        KernelArgumentError,
        KernelBuildError,
        NoDeviceError,
        OutOfDeviceMemory,
    )
    from .generator import Generator, default_generator, manual_seed
    from .kernels import use_kernels
    from .program import Local, on_launch
    from .serialize import load, save

# Where each name comes from: the imports above, for the interpreter. A module's own name stands for the module.
_HOME = {
    name: module
    for module, names in {
        "array": "Array",
        "autograd": "Function Tensor enable_grad grad is_grad_enabled no_grad set_grad_enabled",
        "autograd.ops": """abs add arange clone div eq exp from_numpy full full_like ge gt le log logical_and
            logical_not logical_or lt maximum minimum mul ne neg ones ones_like pow rand rand_like randn
            randn_like randperm relu sigmoid sqrt sub tanh tensor where zeros zeros_like""",
        "custom": "kernel",
        "device": "Device current_device devices use_device",
        "errors": """AutogradError DataError DeviceLost GpugradError KernelArgumentError KernelBuildError NoDeviceError
            OutOfDeviceMemory""",
        "generator": "Generator default_generator manual_seed",
        "kernels": "use_kernels",
        "program": "Local on_launch",
        "serialize": "load save",
    }.items()
    for name in names.split()
}
_MODULES = ("autograd", "data", "kernels", "nn", "optim")


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module("." + name, __name__)
    if name not in _HOME:
        raise AttributeError(f"module 'gpugrad' has no attribute {name!r}")
    value = getattr(importlib.import_module("." + _HOME[name], __name__), name)
    globals()[name] = value  # the next use finds it without coming here
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME, *_MODULES})
