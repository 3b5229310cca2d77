"""First values of parameters, written in place, from `gpugrad.manual_seed`'s generator."""

from __future__ import annotations

import math
from typing import Any

from ..autograd.inplace import refuse_copy
from ..autograd.tensor import Tensor
from ..generator import Generator
from ..kernels import fill, normal, uniform
from ..kernels.checks import real


def uniform_(tensor: Tensor, a: float = 0.0, b: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Numbers uniform between a and b."""
    array = _check("uniform_", tensor).array
    uniform(array.shape, array.dtype, low=a, high=b, generator=generator, out=array)
    return tensor


def normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Normally distributed numbers."""
    array = _check("normal_", tensor).array
    normal(array.shape, array.dtype, mean=mean, std=std, generator=generator, out=array)
    return tensor


def constant_(tensor: Tensor, val: float) -> Tensor:
    """The same number everywhere."""
    fill(_check("constant_", tensor).array, val)
    return tensor


def zeros_(tensor: Tensor) -> Tensor:
    """Zeros."""
    fill(_check("zeros_", tensor).array, 0.0)
    return tensor


def ones_(tensor: Tensor) -> Tensor:
    """Ones."""
    fill(_check("ones_", tensor).array, 1.0)
    return tensor


def xavier_uniform_(tensor: Tensor, gain: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Uniform within gain * sqrt(6 / (fan_in + fan_out)): signals keep their variance, forwards and backwards.

    Glorot and Bengio, "Understanding the difficulty of training deep feedforward neural networks" (2010).
    """
    bound = real("xavier_uniform_", "gain", gain, 0) * math.sqrt(6.0 / sum(fans("xavier_uniform_", tensor)))
    return uniform_(tensor, -bound, bound, generator)


def xavier_normal_(tensor: Tensor, gain: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Normal with standard deviation gain * sqrt(2 / (fan_in + fan_out))."""
    gain = real("xavier_normal_", "gain", gain, 0)
    return normal_(tensor, 0.0, gain * math.sqrt(2.0 / sum(fans("xavier_normal_", tensor))), generator)


def kaiming_uniform_(
    tensor: Tensor,
    a: float = 0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Generator | None = None,
) -> Tensor:
    """Uniform within gain * sqrt(3 / fan): signals keep their variance through ReLUs.

    `a`: the negative slope of leaky_relu. `mode`: "fan_in" keeps it forwards, "fan_out" backwards. He et al., "Delving
    deep into rectifiers" (2015).
    """
    bound = math.sqrt(3.0) * _kaiming("kaiming_uniform_", tensor, a, mode, nonlinearity)
    return uniform_(tensor, -bound, bound, generator)


def kaiming_normal_(
    tensor: Tensor,
    a: float = 0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Generator | None = None,
) -> Tensor:
    """Normal with standard deviation gain / sqrt(fan); see `kaiming_uniform_`."""
    return normal_(tensor, 0.0, _kaiming("kaiming_normal_", tensor, a, mode, nonlinearity), generator)


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """How much a non-linearity shrinks a signal: what its weights must make up for. `param`: leaky_relu's slope."""
    if nonlinearity == "leaky_relu":
        slope = real("calculate_gain", "param", 0.01 if param is None else param)
        return math.sqrt(2.0 / (1 + slope * slope))
    if not isinstance(nonlinearity, str) or nonlinearity not in _GAINS:
        raise ValueError(f"calculate_gain: nonlinearity is {nonlinearity!r}; there is leaky_relu, {', '.join(_GAINS)}")
    return _GAINS[nonlinearity]


_GAINS = {
    "linear": 1.0,
    "conv2d": 1.0,
    "conv_transpose2d": 1.0,
    "sigmoid": 1.0,
    "tanh": 5.0 / 3,
    "relu": math.sqrt(2.0),
}


def fans(function: str, tensor: Any) -> tuple[int, int]:
    """(fan_in, fan_out) of a weight (out, in, ...): how many inputs reach an output, and outputs an input."""
    shape = _check(function, tensor).shape
    if len(shape) < 2:
        raise ValueError(f"{function}: tensor has shape {shape}; a fan needs 2 dimensions or more: (out, in, ...)")
    if 0 in shape:
        raise ValueError(f"{function}: tensor has shape {shape}; a weight without elements has no fan")
    window = math.prod(shape[2:])
    return shape[1] * window, shape[0] * window


def _kaiming(function: str, tensor: Tensor, a: float, mode: str, nonlinearity: str) -> float:
    if mode not in ("fan_in", "fan_out"):
        raise ValueError(f"{function}: mode is {mode!r}; it must be 'fan_in' or 'fan_out'")
    fan = fans(function, tensor)[mode == "fan_out"]
    return calculate_gain(nonlinearity, a) / math.sqrt(fan)


def _check(function: str, tensor: Any) -> Tensor:
    if not isinstance(tensor, Tensor):
        raise TypeError(f"{function}: tensor is {type(tensor).__name__}; it must be a tensor")
    refuse_copy(function, tensor)
    return tensor
