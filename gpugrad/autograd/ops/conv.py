"""Convolution, its transpose, and sliding windows (unfold, fold), each with its gradients.

A convolution is linear in its input and in its weight. Three Functions, the convolution and its gradients with
respect to either, are closed under differentiation: the backward of each is made of the other two, and so they can
be differentiated again and again. Likewise fold is the gradient of unfold, and unfold that of fold.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...array import Shape
from ...kernels import conv as K
from ...kernels.checks import check_float, check_same, pair
from ...kernels.col2im import check_columns, col2im
from ...kernels.geometry import Pair, groups_of, same_padding, transposed_size, window, windows_in
from ...kernels.im2col import im2col
from ..function import Function
from ..tensor import Tensor
from .elementwise import check_tensor

Settings = tuple[Any, Any, Any, Any]  # stride, padding, dilation, groups


class Conv2d(Function):
    """x convolved with w, plus bias."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, w: Tensor, bias: Tensor | None, settings: Settings) -> Tensor:
        _save(ctx, x, w, settings)
        return Tensor._wrap(K.conv2d(x.array, w.array, None if bias is None else bias.array, *settings))

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        from . import sum as sum_of

        x, w = ctx.saved_tensors
        need_x, need_w, need_bias, _ = ctx.needs_input_grad
        return (
            Conv2dInput.apply(w, g, ctx.shapes[0], ctx.settings) if need_x else None,
            Conv2dWeight.apply(x, g, ctx.shapes[1], ctx.settings) if need_w else None,
            sum_of(g, (0, 2, 3)) if need_bias else None,
            None,
        )


class Conv2dInput(Function):
    """The gradient of a convolution's input, given that of its result, dy: linear in w and in dy."""

    @staticmethod
    def forward(ctx: Any, w: Tensor, dy: Tensor, input_size: Shape, settings: Settings) -> Tensor:
        _save(ctx, w, dy, settings)
        return Tensor._wrap(K.conv2d_backward_input(input_size, w.array, dy.array, *settings))

    @staticmethod
    def backward(ctx: Any, h: Tensor) -> Any:
        w, dy = ctx.saved_tensors
        need_w, need_dy, _, _ = ctx.needs_input_grad
        return (
            Conv2dWeight.apply(h, dy, ctx.shapes[0], ctx.settings) if need_w else None,
            Conv2d.apply(h, w, None, ctx.settings) if need_dy else None,
            None,
            None,
        )


class Conv2dWeight(Function):
    """The gradient of a convolution's weight, given that of its result, dy: linear in x and in dy."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, dy: Tensor, weight_size: Shape, settings: Settings) -> Tensor:
        _save(ctx, x, dy, settings)
        return Tensor._wrap(K.conv2d_backward_weight(x.array, weight_size, dy.array, *settings))

    @staticmethod
    def backward(ctx: Any, h: Tensor) -> Any:
        x, dy = ctx.saved_tensors
        need_x, need_dy, _, _ = ctx.needs_input_grad
        return (
            Conv2dInput.apply(h, dy, ctx.shapes[0], ctx.settings) if need_x else None,
            Conv2d.apply(x, h, None, ctx.settings) if need_dy else None,
            None,
            None,
        )


def _save(ctx: Any, a: Tensor, b: Tensor, settings: Settings) -> None:
    """Keep what backward needs: an operand only where the other one's gradient is wanted."""
    ctx.settings, ctx.shapes = settings, (a.shape, b.shape)
    ctx.save_for_backward(a if ctx.needs_input_grad[1] else None, b if ctx.needs_input_grad[0] else None)


class Unfold(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, windows: Any) -> Tensor:
        ctx.size, ctx.windows = x.shape[2:], windows
        return Tensor._wrap(im2col(x.array, *windows))

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        return Fold.apply(g, ctx.size, ctx.windows), None


class Fold(Function):
    @staticmethod
    def forward(ctx: Any, col: Tensor, size: Pair, windows: Any) -> Tensor:
        ctx.windows = windows
        return Tensor._wrap(col2im(col.array, size, *windows))

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        return Unfold.apply(g, ctx.windows), None, None


def conv2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: int | Pair = 1,
    padding: int | Pair | str = 0,
    dilation: int | Pair = 1,
    groups: int = 1,
) -> Tensor:
    """`input` (N, C, H, W) convolved with `weight` (CO, C/groups, KH, KW), plus `bias` (CO): (N, CO, OH, OW).

    As in every deep-learning library, a cross-correlation. input may lack N; the result does then. stride, padding and
    dilation: an int or (height, width). padding "valid" is 0; "same" is as much as gives OH = H and OW = W at stride 1
    (where that is odd, bottom and right get the extra one). OH = (H + 2*padding - dilation*(KH - 1) - 1) / stride + 1,
    rounded down.

    All tensors of one float dtype. ValueError for shapes that don't fit; error bound, and what infinity does beside
    padding: see `kernels.conv2d`.
    """
    _check("conv2d", input, weight, bias)
    if isinstance(padding, str):
        input, padding = _named_padding(input, weight, stride, padding, dilation)
    settings = (stride, padding, dilation, groups)
    return _batched("conv2d", input, 4, lambda x: Conv2d.apply(x, weight, bias, settings))


def conv_transpose2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: int | Pair = 1,
    padding: int | Pair = 0,
    output_padding: int | Pair = 0,
    groups: int = 1,
    dilation: int | Pair = 1,
) -> Tensor:
    """What conv2d's backward does for its input, as a layer: each element spreads over a window of the result.

    input (N, C, H, W), or without N; weight (C, CO/groups, KH, KW); bias (CO); the result (N, CO, OH, OW), with
    OH = (H - 1)*stride - 2*padding + dilation*(KH - 1) + 1 + output_padding. output_padding is smaller than stride or
    dilation. Dumoulin and Visin, 2016, "A guide to convolution arithmetic for deep learning".
    """
    _check("conv_transpose2d", input, weight, bias)

    def batched(x: Tensor) -> Tensor:
        from . import add, pad, reshape

        N, C, H, W = x.shape
        G = groups_of("conv_transpose2d", groups, input=C)
        if weight.ndim != 4 or weight.shape[0] != C:
            raise ValueError(
                f"conv_transpose2d: weight has shape {weight.shape}, but input has {C} channels; weight must be "
                f"({C}, C_out / groups, KH, KW)"
            )
        CO = weight.shape[1] * G
        if bias is not None and bias.shape != (CO,):
            raise ValueError(
                f"conv_transpose2d: bias has shape {bias.shape}; with weight {weight.shape} in {G} "
                f"group{'s' * (G > 1)} it must be ({CO},)"
            )
        w = window("conv_transpose2d", weight.shape[2:], stride, padding, dilation)
        size = transposed_size("conv_transpose2d", (H, W), w, output_padding)
        # Dilation allows an output_padding of a stride or more: windows of their own, with nothing in them.
        OH, OW = windows_in("conv_transpose2d", size, w)
        if (OH, OW) != (H, W):
            x = pad(x, (0, OW - W, 0, OH - H))
        y: Tensor = Conv2dInput.apply(weight, x, (N, CO, *size), (stride, padding, dilation, groups))
        return y if bias is None else add(y, reshape(bias, (CO, 1, 1)))

    return _batched("conv_transpose2d", input, 4, batched)


def unfold(
    input: Tensor,
    kernel_size: int | Pair,
    dilation: int | Pair = 1,
    padding: int | Pair = 0,
    stride: int | Pair = 1,
) -> Tensor:
    """im2col: the windows of `input` as columns, (N, C, H, W) to (N, C*KH*KW, OH*OW); without N, so is the result.

    Mind the order of the arguments, which is PyTorch's. OH and OW are conv2d's.
    """
    _check("unfold", input)

    def batched(x: Tensor) -> Tensor:
        _, _, H, W = x.shape
        windows_in("unfold", (H, W), window("unfold", kernel_size, stride, padding, dilation))
        return Unfold.apply(x, (kernel_size, stride, padding, dilation))

    return _batched("unfold", input, 4, batched)


def fold(
    input: Tensor,
    output_size: int | Pair,
    kernel_size: int | Pair,
    dilation: int | Pair = 1,
    padding: int | Pair = 0,
    stride: int | Pair = 1,
) -> Tensor:
    """col2im: columns added up where their windows lie, (N, C*KH*KW, OH*OW) to (N, C, H, W), with output_size (H, W).

    Overlaps add up, so fold(unfold(x)) counts each element as often as windows see it. input may lack N.
    """
    _check("fold", input)

    def batched(col: Tensor) -> Tensor:
        size = pair("fold", "output_size", output_size, 1)
        check_columns("fold", col, size, window("fold", kernel_size, stride, padding, dilation))
        return Fold.apply(col, size, (kernel_size, stride, padding, dilation))

    return _batched("fold", input, 3, batched)


def _check(function: str, input: Any, weight: Any = None, bias: Any = None) -> None:
    check_tensor(function, input)
    if weight is not None or function.startswith("conv"):
        check_tensor(function, weight, "weight")
    if bias is not None:
        check_tensor(function, bias, "bias")
    check_same(function, input=input, weight=weight, bias=bias)
    check_float(function, "input", input)


def _batched(function: str, input: Tensor, ndim: int, run: Callable[[Tensor], Tensor]) -> Tensor:
    """`run(input)`, where input may lack the batch axis of `ndim`: it and the result then do without."""
    if input.ndim == ndim:
        return run(input)
    if input.ndim != ndim - 1:
        raise ValueError(f"{function}: input has shape {input.shape}; it must have {ndim} axes, or one less, no batch")
    from . import squeeze, unsqueeze

    return squeeze(run(unsqueeze(input, 0)), 0)


def _named_padding(input: Tensor, weight: Tensor, stride: Any, padding: str, dilation: Any) -> tuple[Tensor, Any]:
    """The input and the padding that "same" or "valid" stand for."""
    if padding == "valid":
        return input, 0
    if padding != "same":
        raise ValueError(f"conv2d: padding is {padding!r}; it must be a number, a pair, 'same' or 'valid'")
    (top, bottom), (left, right) = same_padding("conv2d", window("conv2d", weight.shape[2:], stride, 0, dilation))
    if bottom > top or right > left:
        from . import pad

        input = pad(input, (0, right - left, 0, bottom - top))
    return input, (top, left)
