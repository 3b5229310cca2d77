"""Pooling with its gradients. Given the places of the maxima, each of these Functions is linear in its tensor, so
the backward of one is another: max-pooling's scatters, and the backward of that picks again."""

from __future__ import annotations

from typing import Any

from ...array import Shape
from ...kernels import avg_pool as A
from ...kernels import max_pool as M
from ...kernels.checks import boolean, check_float
from ...kernels.geometry import Pair
from ..function import Function
from ..tensor import Tensor
from .elementwise import check_tensor


class MaxPool2d(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, window: tuple[Any, ...]) -> tuple[Tensor, Tensor]:
        ctx.shape, ctx.window = x.shape, window
        out, indices = (Tensor._wrap(a) for a in M.max_pool2d(x.array, *window))
        ctx.mark_non_differentiable(indices)
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(indices)
        return out, indices

    @staticmethod
    def backward(ctx: Any, g: Tensor, _: Tensor) -> Any:
        (indices,) = ctx.saved_tensors
        return MaxPool2dBackward.apply(g, indices, ctx.shape, ctx.window), None


class MaxPool2dBackward(Function):
    """Each window's gradient at the place of its maximum."""

    @staticmethod
    def forward(ctx: Any, g: Tensor, indices: Tensor, shape: Shape, window: tuple[Any, ...]) -> Tensor:
        ctx.window = window
        ctx.save_for_backward(indices)
        return Tensor._wrap(M.max_pool2d_backward(g.array, indices.array, shape, *window))

    @staticmethod
    def backward(ctx: Any, h: Tensor) -> Any:
        (indices,) = ctx.saved_tensors
        return MaxPool2dPick.apply(h, indices, ctx.window), None, None, None


class MaxPool2dPick(Function):
    """The elements at the places of the maxima of another tensor."""

    @staticmethod
    def forward(ctx: Any, h: Tensor, indices: Tensor, window: tuple[Any, ...]) -> Tensor:
        ctx.shape, ctx.window = h.shape, window
        ctx.save_for_backward(indices)
        return Tensor._wrap(M.max_pool2d_pick(h.array, indices.array))

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        (indices,) = ctx.saved_tensors
        return MaxPool2dBackward.apply(g, indices, ctx.shape, ctx.window), None, None


class AvgPool2d(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, window: tuple[Any, ...]) -> Tensor:
        ctx.shape, ctx.window = x.shape, window
        return Tensor._wrap(A.avg_pool2d(x.array, *window))

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        return AvgPool2dBackward.apply(g, ctx.shape, ctx.window), None


class AvgPool2dBackward(Function):
    """Each window's gradient, shared out among the elements it averages."""

    @staticmethod
    def forward(ctx: Any, g: Tensor, shape: Shape, window: tuple[Any, ...]) -> Tensor:
        ctx.window = window
        return Tensor._wrap(A.avg_pool2d_backward(g.array, shape, *window))

    @staticmethod
    def backward(ctx: Any, h: Tensor) -> Any:
        return AvgPool2d.apply(h, ctx.window), None, None


def max_pool2d(
    input: Tensor,
    kernel_size: int | Pair,
    stride: int | Pair | None = None,
    padding: int | Pair = 0,
    dilation: int | Pair = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """The largest element of every window: (N, C, H, W) to (N, C, OH, OW), or the same without N.

    `stride` None is kernel_size. OH = (H + 2*padding - dilation*(kernel_size - 1) - 1) / stride + 1, rounded down, or
    up with `ceil_mode`; then a window may be cut off, but starts inside the input or its left padding. Padding never
    wins, a NaN does, and of equals the first, which gets the gradient. With `return_indices` also the place
    (int32, h * W + w) of every maximum.
    """
    _check_images("max_pool2d", input)
    return_indices = boolean("max_pool2d", "return_indices", return_indices)
    out, indices = MaxPool2d.apply(input, (kernel_size, stride, padding, dilation, ceil_mode))
    return (out, indices) if return_indices else out


def avg_pool2d(
    input: Tensor,
    kernel_size: int | Pair,
    stride: int | Pair | None = None,
    padding: int | Pair = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Tensor:
    """The average of every window: (N, C, H, W) to (N, C, OH, OW), or the same without N; see max_pool2d for OH.

    Padding counts as zeros, or not at all without `count_include_pad`. `divisor_override` is divided by instead of the
    number of elements.
    """
    _check_images("avg_pool2d", input)
    return AvgPool2d.apply(input, (kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override))


def _check_images(function: str, input: Tensor) -> None:
    check_tensor(function, input)
    check_float(function, "input", input)
    if input.ndim not in (3, 4):
        raise ValueError(f"{function}: input has shape {input.shape}; it must be (N, C, H, W) or (C, H, W)")
