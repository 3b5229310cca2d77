"""softmax and log-softmax, with first derivatives in one kernel and second ones composed of other operations."""

from __future__ import annotations

from typing import Any

from ...kernels.checks import axis, check_float
from ...kernels.softmax import log_softmax as log_softmax_kernel
from ...kernels.softmax import softmax as softmax_kernel
from ...kernels.softmax import softmax_backward
from ..function import Function
from ..tensor import Tensor
from . import elementwise as E
from . import reduce as R


class Softmax(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, dim: int) -> Tensor:
        ctx.dim = dim
        y = Tensor._wrap(softmax_kernel(x.array, dim))
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        (y,) = ctx.saved_tensors
        return SoftmaxBackward.apply(g, y, ctx.dim), None


class SoftmaxBackward(Function):
    """y * (g - sum(g * y))"""

    @staticmethod
    def forward(ctx: Any, g: Tensor, y: Tensor, dim: int) -> Tensor:
        ctx.dim = dim
        ctx.save_for_backward(g, y)
        return Tensor._wrap(softmax_backward("softmax", g.array, y.array, dim))

    @staticmethod
    def backward(ctx: Any, h: Tensor) -> Any:
        g, y = ctx.saved_tensors
        need_g, need_y, _ = ctx.needs_input_grad
        for_g = SoftmaxBackward.apply(h, y, ctx.dim) if need_g else None
        if not need_y:
            return for_g, None, None
        gy, hy = R.sum(E.mul(g, y), ctx.dim, True), R.sum(E.mul(h, y), ctx.dim, True)
        return for_g, E.sub(E.mul(h, E.sub(g, gy)), E.mul(g, hy)), None


class LogSoftmax(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, dim: int) -> Tensor:
        ctx.dim = dim
        y = Tensor._wrap(log_softmax_kernel(x.array, dim))
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        (y,) = ctx.saved_tensors
        return LogSoftmaxBackward.apply(g, y, ctx.dim), None


class LogSoftmaxBackward(Function):
    """g - exp(y) * sum(g)"""

    @staticmethod
    def forward(ctx: Any, g: Tensor, y: Tensor, dim: int) -> Tensor:
        ctx.dim = dim
        ctx.save_for_backward(g, y)
        return Tensor._wrap(softmax_backward("log_softmax", g.array, y.array, dim))

    @staticmethod
    def backward(ctx: Any, h: Tensor) -> Any:
        g, y = ctx.saved_tensors
        need_g, need_y, _ = ctx.needs_input_grad
        hp = E.mul(h, E.exp(y))
        for_g = E.sub(h, R.sum(hp, ctx.dim, True)) if need_g else None
        for_y = E.neg(E.mul(hp, R.sum(g, ctx.dim, True))) if need_y else None
        return for_g, for_y, None


def softmax(input: Tensor, dim: int) -> Tensor:
    """exp(input) / sum(exp(input)) along `dim`: positive numbers that add up to 1.

    Stable for any size of numbers; a line of -infinity only is NaN, as in PyTorch. Error bound: see
    `gpugrad.kernels.softmax`.
    """
    return Softmax.apply(input, _checked("softmax", input, dim))


def log_softmax(input: Tensor, dim: int) -> Tensor:
    """The logarithm of softmax along `dim`, computed without taking a logarithm of something tiny."""
    return LogSoftmax.apply(input, _checked("log_softmax", input, dim))


def _checked(name: str, input: Tensor, dim: int) -> int:
    E.check_tensor(name, input)
    check_float(name, "input", input)
    return axis(name, dim, input.ndim)
