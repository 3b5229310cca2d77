"""Average-pooling and its gradient."""

from __future__ import annotations

import math
from typing import Any

from ..array import Array, Shape, as_shape
from ..program import Kernel
from .checks import boolean, check_array, check_float, check_out, integer
from .elementwise import summing
from .geometry import Pair, Window, pooled_in, window
from .ladder import launch_first, resolve, variant
from .tuning import tuned

_FORWARD = {"x": "in (N C) H W", "out": "out (N C) OH OW"}
_WINDOW = Kernel("avg_pool.cl", "avg_pool_window", **_FORWARD)
_ROWS = Kernel("avg_pool.cl", "avg_pool_rows", **_FORWARD)
_BACKWARD = {"g": "in (N C) OH OW", "gx": "out (N C) H W"}
_GATHER = Kernel("avg_pool.cl", "avg_pool_backward_gather", **_BACKWARD)
_PLANES = Kernel("avg_pool.cl", "avg_pool_backward_planes", **_BACKWARD)

Sizes = tuple[int, ...]


def avg_pool2d(
    x: Array,
    kernel_size: int | Pair,
    stride: int | Pair | None = None,
    padding: int | Pair = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
    *,
    variant: str | None = None,
    out: Array | None = None,
) -> Array:
    """The average of every window of x, (N, C, H, W) or (C, H, W). `stride` None is kernel_size.

    Padding counts as zeros, or not at all without `count_include_pad`; what a window of `ceil_mode` has beyond the
    padding never counts. `divisor_override` is divided by instead of the number of elements. Error: at most
    KH*KW eps/2 times the average of the magnitudes.
    """
    check_array("avg_pool2d", "x", x)
    check_float("avg_pool2d", "x", x)
    sizes, shape = _plan(
        "avg_pool2d", "x", x.shape, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override
    )
    out = check_out("avg_pool2d", out, shape, x.dtype, x.device, x)
    run, custom = resolve("avg_pool2d", variant, tuned("avg_pool2d", x.device))
    run(custom, x, out, sizes)
    return out


@variant("avg_pool2d", "window")
def _window(kernel: Any, x: Array, out: Array, sizes: Sizes) -> None:
    """One work-item for each window.

    A kernel of your own gets (x, out, H, W, KH, KW, SH, SW, PH, PW, OH, OW, pads, divisor, total).
    """
    launch_first(_WINDOW, kernel, x.dtype, (out.size,), (64,), x, out, *sizes, out.size)


@variant("avg_pool2d", "rows")
def _rows(kernel: Any, x: Array, out: Array, sizes: Sizes) -> None:
    """One work-item for each row of windows."""
    rows = math.prod(out.shape[:-1])
    _ROWS.launch(x.dtype, (rows,), (4,), x, out, *sizes, rows)


def avg_pool2d_backward(
    grad_output: Array,
    input_size: Shape,
    kernel_size: int | Pair,
    stride: int | Pair | None = None,
    padding: int | Pair = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
    *,
    variant: str | None = None,
    out: Array | None = None,
) -> Array:
    """The gradient of avg_pool2d with respect to its input, of shape `input_size`: its adjoint."""
    name = "avg_pool2d_backward"
    check_array(name, "grad_output", grad_output)
    check_float(name, "grad_output", grad_output)
    input_size = as_shape(name, input_size, "input_size")
    sizes, shape = _plan(
        name,
        "input_size",
        input_size,
        kernel_size,
        stride,
        padding,
        ceil_mode,
        count_include_pad,
        divisor_override,
    )
    if grad_output.shape != shape:
        raise ValueError(f"{name}: grad_output has shape {grad_output.shape}; for this input_size it must be {shape}")
    out = check_out(name, out, input_size, grad_output.dtype, grad_output.device, grad_output)
    run, custom = resolve("avg_pool2d_backward", variant, tuned("avg_pool2d_backward", out.device))
    run(custom, grad_output, out, sizes)
    return out


@variant("avg_pool2d_backward", "gather")
def _gather(kernel: Any, g: Array, gx: Array, sizes: Sizes) -> None:
    """One work-item for each element of gx. A kernel of your own gets (g, gx, H, W, KH, ..., divisor, total)."""
    launch_first(_GATHER, kernel, g.dtype, (gx.size,), (64,), g, gx, *sizes, gx.size)


@variant("avg_pool2d_backward", "planes")
def _planes(kernel: Any, g: Array, gx: Array, sizes: Sizes) -> None:
    """One work-item for each plane of gx."""
    planes = math.prod(gx.shape[:-2])
    with summing(gx) as sums:
        _PLANES.launch(g.dtype, (planes,), (4,), g, sums, *sizes, planes)


def _plan(
    function: str,
    name: str,
    shape: Shape,
    kernel_size: Any,
    stride: Any,
    padding: Any,
    ceil_mode: bool,
    count_include_pad: bool,
    divisor_override: Any,
) -> tuple[Sizes, Shape]:
    """The kernels' sizes (H, W, KH, KW, SH, SW, PH, PW, OH, OW, pads, divisor), and the output's shape."""
    if len(shape) not in (3, 4):
        raise ValueError(f"{function}: {name} has shape {shape}; it must be (N, C, H, W) or (C, H, W)")
    w: Window = window(function, kernel_size, kernel_size if stride is None else stride, padding, 1)
    H, W = shape[-2:]
    OH, OW = pooled_in(function, (H, W), w, boolean(function, "ceil_mode", ceil_mode))
    divisor = 0 if divisor_override is None else integer(function, "divisor_override", divisor_override)
    if not -(2**31) <= divisor < 2**31:
        raise ValueError(f"{function}: divisor_override is {divisor}; it must fit in int32")
    if divisor == 0 and divisor_override is not None:
        raise ValueError(f"{function}: divisor_override is 0; the sums are divided by it, so give another number")
    pads = int(boolean(function, "count_include_pad", count_include_pad))
    return (H, W, *w[:6], OH, OW, pads, divisor), (*shape[:-2], OH, OW)
