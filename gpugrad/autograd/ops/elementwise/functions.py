"""exp, log, sqrt, sin and cos; clamp; copies and casts."""

from __future__ import annotations

from typing import Any

import numpy as np

from .... import kernels as K
from ....array import Array
from ....device import Device
from ....dtypes import as_dtype, float32
from ....kernels.elementwise import unary
from ...function import Function
from ...tensor import Tensor
from .operands import check_tensor, floating


class Exp(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        out = Tensor._wrap(unary("exp", x.array))
        ctx.save_for_backward(out)
        return out

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Tensor:
        (out,) = ctx.saved_tensors
        return g * out


class Log(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return Tensor._wrap(unary("log", x.array))

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        return g / x


class Sqrt(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        out = Tensor._wrap(unary("sqrt", x.array))
        ctx.save_for_backward(out)
        return out

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Tensor:
        (out,) = ctx.saved_tensors
        return g / (out * 2.0)


class Sin(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return Tensor._wrap(unary("sin", x.array))

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        return g * cos(x)


class Cos(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return Tensor._wrap(unary("cos", x.array))

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        return g * -sin(x)


class Clamp(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, low: Any, high: Any) -> Tensor:
        ctx.bounds = low, high
        ctx.save_for_backward(x)
        return Tensor._wrap(K.clamp(x.array, low, high))

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        (x,) = ctx.saved_tensors
        return ClampBackward.apply(g, x, *ctx.bounds), None, None


class ClampBackward(Function):
    """g where x is within the bounds, else 0: linear in g, and flat in x."""

    @staticmethod
    def forward(ctx: Any, g: Tensor, x: Tensor, low: Any, high: Any) -> Tensor:
        ctx.bounds = low, high
        ctx.save_for_backward(x)
        return Tensor._wrap(K.clamp_backward(g.array, x.array, low, high))

    @staticmethod
    def backward(ctx: Any, gg: Tensor) -> Any:
        (x,) = ctx.saved_tensors
        return ClampBackward.apply(gg, x, *ctx.bounds), None, None, None


class Clone(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return Tensor._wrap(unary("copy", x.array))

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Tensor:
        return g


class To(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, dtype: np.dtype) -> Tensor:
        ctx.dtype = x.dtype
        return Tensor._wrap(K.cast(x.array, dtype))

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        return to(g, ctx.dtype), None


class Move(Function):
    """To another device, by way of the host."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, device: Device) -> Tensor:
        ctx.device = x.device
        return Tensor._wrap(Array.from_numpy(x.array.numpy(), device=device))

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        return to(g, ctx.device), None


def exp(input: Tensor) -> Tensor:
    """e ** input"""
    return Exp.apply(floating("exp", input))


def log(input: Tensor) -> Tensor:
    """The natural logarithm: -inf at 0, NaN below."""
    return Log.apply(floating("log", input))


def sqrt(input: Tensor) -> Tensor:
    """The square root: NaN below 0; the gradient at 0 is inf."""
    return Sqrt.apply(floating("sqrt", input))


def sin(input: Tensor) -> Tensor:
    """The sine of an angle in radians."""
    return Sin.apply(floating("sin", input))


def cos(input: Tensor) -> Tensor:
    """The cosine of an angle in radians."""
    return Cos.apply(floating("cos", input))


def clamp(input: Tensor, min: float | None = None, max: float | None = None) -> Tensor:
    """`input` brought into min..max (numbers; None for no bound). The gradient is 0 outside; NaN stays."""
    check_tensor("clamp", input)
    for name, bound in (("min", min), ("max", max)):
        if isinstance(bound, Tensor):
            raise TypeError(f"clamp: {name} is a tensor; it must be a number, or use gpugrad.maximum and minimum")
    if input.dtype.kind != "f" and (isinstance(min, float) or isinstance(max, float)):
        input = to(input, float32)
    return Clamp.apply(input, min, max)


def clone(input: Tensor) -> Tensor:
    """A copy in memory of its own; gradients go through it."""
    return Clone.apply(check_tensor("clone", input))


def to(input: Tensor, dtype: Any) -> Tensor:
    """`input` converted to `dtype`, or moved to a Device that is given instead; `input` itself if nothing changes.

    A tensor in the place of dtype stands for its dtype and its device.
    """
    check_tensor("to", input)
    if isinstance(dtype, Tensor):
        return to(to(input, dtype.device), dtype.dtype)
    if isinstance(dtype, Device):
        return input if input.device is dtype else Move.apply(input, dtype)
    dtype = as_dtype(dtype)
    return input if input.dtype == dtype else To.apply(input, dtype)
