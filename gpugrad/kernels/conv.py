"""Convolution and its two gradients: directly, and as matrix products through im2col.

The gradient of the bias is `reduce("sum", grad_output, (0, 2, 3))`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ..array import Array
from ..program import Kernel
from .checks import check_array, check_float, check_out, check_same
from .conv_blocked import blocked, blocked_input, blocked_weight
from .conv_im2col import add_bias, im2col_forward, im2col_input, im2col_weight
from .conv_plan import Plan, plan
from .geometry import Pair, image_size
from .ladder import launch_first, resolve, swapped
from .ladder import variant as rung
from .tuning import tuned

_FORWARD = Kernel("conv.cl", "conv2d_direct", x="in N C H W", weight="in CO CG KH KW", y="out N CO OH OW")
_INPUT = Kernel("conv.cl", "conv2d_direct_input", weight="in CO CG KH KW", dy="in N CO OH OW", dx="out N C H W")
_WEIGHT = Kernel("conv.cl", "conv2d_direct_weight", x="in N C H W", dy="in N CO OH OW", dweight="out CO (CG KH KW)")


def conv2d(
    x: Array,
    weight: Array,
    bias: Array | None = None,
    stride: int | Pair = 1,
    padding: int | Pair = 0,
    dilation: int | Pair = 1,
    groups: int = 1,
    *,
    variant: str | None = None,
    scratch: Array | None = None,
    out: Array | None = None,
) -> Array:
    """x (N, C, H, W) convolved with weight (CO, C/groups, KH, KW), plus bias (CO): (N, CO, OH, OW). See conv.cl.

    All of one float dtype, computed and accumulated in it. |error| <= 2 * eps * sqrt(K) * (|x| convolved with |weight|)
    for K = C/groups*KH*KW, of data whose roundings don't all go one way (see `gemm`); small integers give exact
    results. All but the direct variant multiply by the zeros of the padding: beside it an infinite weight gives NaN, as
    in PyTorch's im2col. ValueError for shapes that don't fit.

    scratch: memory for im2col's result, of `im2col_scratch_bytes` or more; what it holds is lost. Given, it makes
    "im2col" the default variant. Without it that variant works through the batch in a block of bounded size.
    """
    _check("conv2d", x=x, weight=weight, bias=bias)
    check_array("conv2d", "x", x, 4)
    p = plan("conv2d", x.shape, weight.shape, stride, padding, dilation, groups)
    if bias is not None and bias.shape != (p.CO,):
        raise ValueError(f"conv2d: bias has shape {bias.shape}; with weight {p.weight} it must be ({p.CO},)")
    others = (x, weight) if bias is None else (x, weight, bias)
    out = check_out("conv2d", out, p.output, x.dtype, x.device, *others)
    scratch = _check_scratch("conv2d", scratch, p, out, *others)
    run, custom = resolve("conv2d", variant, _default("conv2d", p, x, scratch, ("im2col", "gemm")))
    run(custom, p, x, weight, bias, out, scratch)
    return out


def conv2d_backward_input(
    input_size: Sequence[int],
    weight: Array,
    grad_output: Array,
    stride: int | Pair = 1,
    padding: int | Pair = 0,
    dilation: int | Pair = 1,
    groups: int = 1,
    *,
    variant: str | None = None,
    scratch: Array | None = None,
    out: Array | None = None,
) -> Array:
    """The gradient of conv2d's x, whose shape (N, C, H, W) is `input_size`: weight^T @ grad_output, then col2im.

    grad_output is the gradient of conv2d's result, (N, CO, OH, OW). `scratch` and the rest as for conv2d.
    """
    function = "conv2d_backward_input"
    _check(function, weight=weight, grad_output=grad_output)
    shape = image_size(function, "input_size", input_size)
    p = plan(function, shape, weight.shape, stride, padding, dilation, groups)
    p.check_grad(function, grad_output)
    out = check_out(function, out, shape, weight.dtype, weight.device, weight, grad_output)
    scratch = _check_scratch(function, scratch, p, out, weight, grad_output)
    run, custom = resolve(function, variant, _default(function, p, weight, scratch, ("gemm", "col2im")))
    run(custom, p, weight, grad_output, out, scratch)
    return out


def conv2d_backward_weight(
    input: Array,
    weight_size: Sequence[int],
    grad_output: Array,
    stride: int | Pair = 1,
    padding: int | Pair = 0,
    dilation: int | Pair = 1,
    groups: int = 1,
    *,
    col: Array | None = None,
    variant: str | None = None,
    scratch: Array | None = None,
    out: Array | None = None,
) -> Array:
    """The gradient of conv2d's weight, whose shape (CO, C/groups, KH, KW) is `weight_size`.

    It is the sum over the batch of grad_output @ col^T, where col is im2col of the input: computed again, unless a
    finished one is handed over as `col` (which makes "im2col" the default variant). The rest as for conv2d.
    """
    function = "conv2d_backward_weight"
    _check(function, input=input, grad_output=grad_output)
    check_array(function, "input", input, 4)
    p = plan(function, input.shape, tuple(weight_size), stride, padding, dilation, groups, "weight_size")
    p.check_grad(function, grad_output)
    if col is not None:
        check_array(function, "col", col)
        check_same(function, input=input, col=col)
        if col.shape != p.col:
            raise ValueError(f"{function}: col has shape {col.shape}; im2col of this input gives {p.col}")
    read = (input, grad_output) if col is None else (input, grad_output, col)
    out = check_out(function, out, p.weight, input.dtype, input.device, *read)
    scratch = _check_scratch(function, scratch, p, out, *read)
    default = "im2col" if col is not None else _default(function, p, input, scratch, ("im2col", "gemm"))
    run, custom = resolve(function, variant, default)
    run(custom, p, input, grad_output, out, scratch, col)
    return out


def _default(function: str, p: Plan, a: Array, scratch: Array | None, inner: tuple[str, ...]) -> str:
    """Scratch is im2col's, and so are kernels of your own for what it is made of; else what the table says."""
    if scratch is not None or swapped(*inner):
        return "im2col"
    key = "conv depthwise" if p.CG == 1 or p.COG == 1 else "conv"
    choice: str = tuned(key, a.device)[function]
    return choice


def _check(function: str, **arrays: Any) -> None:
    for name, a in arrays.items():
        if name != "bias" or a is not None:
            check_array(function, name, a)
            check_float(function, name, a)
    check_same(function, **arrays)


def _check_scratch(function: str, scratch: Array | None, p: Plan, *others: Array) -> Array | None:
    if scratch is None:
        return None
    check_array(function, "scratch", scratch)
    needed = math.prod(p.col) * others[0].dtype.itemsize
    if scratch.nbytes < needed:
        raise ValueError(
            f"{function}: scratch has {scratch.nbytes} bytes; it needs im2col_scratch_bytes = N * C*KH*KW * OH*OW * "
            f"itemsize = {p.N} * {p.C}*{p.w.KH}*{p.w.KW} * {p.OH}*{p.OW} * {others[0].dtype.itemsize} = {needed}"
        )
    if scratch.device is not others[0].device:
        raise ValueError(f"{function}: scratch is on {scratch.device}, the rest on {others[0].device}; put both on one")
    if any(scratch.state is a.state for a in others):
        raise ValueError(f"{function}: scratch shares memory with another argument, which would be overwritten")
    return scratch


# Directly: one work-item for each element of the result.


@rung("conv2d", "direct")
def _direct(
    kernel: Any, p: Plan, x: Array, weight: Array, bias: Array | None, out: Array, scratch: Array | None
) -> None:
    """A kernel of your own gets the arguments of conv2d_direct; the bias is added after it.

    Its work-items: get_global_id(0) is the place oh * OW + ow, padded to a multiple of 64; (1) the output channel; (2)
    the image.
    """
    _launch(_FORWARD, kernel, (p.OH * p.OW, p.CO, p.N), x, weight, out, *p.args)
    add_bias(out, bias)


@rung("conv2d_backward_input", "direct")
def _direct_input(kernel: Any, p: Plan, weight: Array, dy: Array, out: Array, scratch: Array | None) -> None:
    _launch(_INPUT, kernel, (p.H * p.W, p.C, p.N), weight, dy, out, *p.args)


@rung("conv2d_backward_weight", "direct")
def _direct_weight(
    kernel: Any, p: Plan, x: Array, dy: Array, out: Array, scratch: Array | None, col: Array | None
) -> None:
    _launch(_WEIGHT, kernel, (p.K, p.CO), x, dy, out, p.N, *p.args)


def _launch(own: Kernel, kernel: Any, size: tuple[int, ...], *args: Any) -> None:
    launch_first(own, kernel, args[0].dtype, size, (64, *(1 for _ in size[1:])), *args)


rung("conv2d", "im2col")(im2col_forward)
rung("conv2d", "blocked")(blocked)
rung("conv2d_backward_input", "im2col")(im2col_input)
rung("conv2d_backward_input", "blocked")(blocked_input)
rung("conv2d_backward_weight", "im2col")(im2col_weight)
rung("conv2d_backward_weight", "blocked")(blocked_weight)
