"""Max-pooling, with the place of each maximum, and its gradients."""

from __future__ import annotations

import math
from typing import Any

from ..array import Array, Shape, as_shape
from ..dtypes import int32
from ..program import Kernel
from .checks import boolean, check_array, check_float, check_out
from .elementwise import summing
from .geometry import Pair, Window, pooled_in, window
from .ladder import launch_first, resolve, variant
from .tuning import tuned

_FORWARD = {"x": "in (N C) H W", "out": "out (N C) OH OW", "indices": "out (N C) OH OW"}
_WINDOW = Kernel("max_pool.cl", "max_pool_window", **_FORWARD)
_ROWS = Kernel("max_pool.cl", "max_pool_rows", **_FORWARD)
_2X2 = Kernel("max_pool.cl", "max_pool_2x2", **_FORWARD)
_BACKWARD = {"g": "in (N C) OH OW", "indices": "in (N C) OH OW", "gx": "out (N C) H W"}
_GATHER = Kernel("max_pool.cl", "max_pool_backward_gather", **_BACKWARD)
_PLANES = Kernel("max_pool.cl", "max_pool_backward_planes", **_BACKWARD)
_PICK = Kernel("max_pool.cl", "max_pool_pick", x="in (N C) (H W)", indices="in (N C) (OH OW)", out="out (N C) (OH OW)")


def max_pool2d(
    x: Array,
    kernel_size: int | Pair,
    stride: int | Pair | None = None,
    padding: int | Pair = 0,
    dilation: int | Pair = 1,
    ceil_mode: bool = False,
    *,
    variant: str | None = None,
    out: Array | None = None,
) -> tuple[Array, Array]:
    """(out, indices): the largest element of every window of x, (N, C, H, W) or (C, H, W), and where it is.

    indices (int32) are h * W + w in the input plane. Padding never wins, a NaN does, and of equals the first.
    `stride` None is kernel_size. A window of padding only, which dilation allows, gives -infinity and index -1.
    """
    w, shape = _geometry("max_pool2d", "x", x, kernel_size, stride, padding, dilation, ceil_mode)
    out = check_out("max_pool2d", out, shape, x.dtype, x.device, x)
    indices = Array.empty(shape, int32, x.device)
    default = tuned("max_pool2d", x.device)
    if default == "2x2" and not _fits_2x2(x.shape, shape, w):
        default = "rows"
    run, custom = resolve("max_pool2d", variant, default)
    run(custom, x, out, indices, w)
    return out, indices


@variant("max_pool2d", "window")
def _window(kernel: Any, x: Array, out: Array, indices: Array, w: Window) -> None:
    """One work-item for each window. A kernel of your own gets (x, out, indices, H, W, KH, ..., DW, OH, OW, total)."""
    args = (x, out, indices, *x.shape[-2:], *w, *out.shape[-2:], out.size)
    launch_first(_WINDOW, kernel, x.dtype, (out.size,), (64,), *args)


@variant("max_pool2d", "rows")
def _rows(kernel: Any, x: Array, out: Array, indices: Array, w: Window) -> None:
    """One work-item for each row of windows."""
    rows = math.prod(out.shape[:-1])
    _ROWS.launch(x.dtype, (rows,), (4,), x, out, indices, *x.shape[-2:], *w, *out.shape[-2:], rows)


@variant("max_pool2d", "2x2")
def _2x2(kernel: Any, x: Array, out: Array, indices: Array, w: Window) -> None:
    """Rows of 2 x 2 windows side by side, four at a time."""
    if not _fits_2x2(x.shape, out.shape, w):
        raise ValueError(
            "max_pool2d: the variant '2x2' needs kernel_size 2, stride 2, no padding, dilation 1, whole windows and at "
            "least 4 of them in a row; use 'rows'"
        )
    rows = math.prod(out.shape[:-1])
    _2X2.launch(x.dtype, (rows,), (4,), x, out, indices, *x.shape[-2:], *out.shape[-2:], rows)


def _fits_2x2(shape: Shape, out_shape: Shape, w: Window) -> bool:
    whole = 2 * out_shape[-2] <= shape[-2] and 2 * out_shape[-1] <= shape[-1]
    return w == (2, 2, 2, 2, 0, 0, 1, 1) and whole and out_shape[-1] >= 4


def max_pool2d_backward(
    grad_output: Array,
    indices: Array,
    input_size: Shape,
    kernel_size: int | Pair,
    stride: int | Pair | None = None,
    padding: int | Pair = 0,
    dilation: int | Pair = 1,
    ceil_mode: bool = False,
    *,
    variant: str | None = None,
    out: Array | None = None,
) -> Array:
    """The gradient of max_pool2d with respect to its input, of shape `input_size`; windows' gradients add up.

    `indices` are what max_pool2d gave. The order of additions is fixed: same input, same result.
    """
    name = "max_pool2d_backward"
    check_array(name, "grad_output", grad_output)
    check_float(name, "grad_output", grad_output)
    _check_indices(name, grad_output.shape, indices, grad_output)
    input_size = as_shape(name, input_size, "input_size")
    w, shape = _shapes(name, "input_size", input_size, kernel_size, stride, padding, dilation, ceil_mode)
    if grad_output.shape != shape:
        raise ValueError(f"{name}: grad_output has shape {grad_output.shape}; for this input_size it must be {shape}")
    out = check_out(name, out, input_size, grad_output.dtype, grad_output.device, grad_output)
    run, custom = resolve("max_pool2d_backward", variant, tuned("max_pool2d_backward", out.device))
    run(custom, grad_output, indices, out, w)
    return out


@variant("max_pool2d_backward", "gather")
def _gather(kernel: Any, g: Array, indices: Array, gx: Array, w: Window) -> None:
    """One work-item for each element of gx. A kernel of your own gets (g, indices, gx, H, W, KH, ..., OW, total)."""
    args = (g, indices, gx, *gx.shape[-2:], *w, *g.shape[-2:], gx.size)
    launch_first(_GATHER, kernel, g.dtype, (gx.size,), (64,), *args)


@variant("max_pool2d_backward", "planes")
def _planes(kernel: Any, g: Array, indices: Array, gx: Array, w: Window) -> None:
    """One work-item for each plane of gx."""
    planes = math.prod(gx.shape[:-2])
    size, out_size = math.prod(gx.shape[-2:]), math.prod(g.shape[-2:])
    with summing(gx) as sums:
        _PLANES.launch(g.dtype, (planes,), (4,), g, indices, sums, size, out_size, planes)


def max_pool2d_pick(x: Array, indices: Array) -> Array:
    """The elements of x, (N, C, H, W) or (C, H, W), at the indices that max_pool2d gave for an array of its shape."""
    check_array("max_pool2d_pick", "x", x)
    check_array("max_pool2d_pick", "indices", indices)
    _check_indices("max_pool2d_pick", (*x.shape[:-2], *indices.shape[-2:]), indices, x)
    out = Array.empty(indices.shape, x.dtype, x.device)
    size, out_size = math.prod(x.shape[-2:]), math.prod(out.shape[-2:])
    _PICK.launch(x.dtype, (out.size,), (64,), x, indices, out, size, out_size, out.size)
    return out


def _geometry(
    function: str,
    name: str,
    x: Array,
    kernel_size: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    ceil_mode: bool,
) -> tuple[Window, Shape]:
    """The window and the output's shape, for an input of images that is checked first."""
    check_array(function, name, x)
    check_float(function, name, x)
    return _shapes(function, name, x.shape, kernel_size, stride, padding, dilation, ceil_mode)


def _shapes(
    function: str, name: str, shape: Shape, kernel_size: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool
) -> tuple[Window, Shape]:
    if len(shape) not in (3, 4):
        raise ValueError(f"{function}: {name} has shape {shape}; it must be (N, C, H, W) or (C, H, W)")
    w = window(function, kernel_size, kernel_size if stride is None else stride, padding, dilation)
    ceil_mode = boolean(function, "ceil_mode", ceil_mode)
    return w, (*shape[:-2], *pooled_in(function, (shape[-2], shape[-1]), w, ceil_mode))


def _check_indices(function: str, shape: Shape, indices: Any, other: Array) -> None:
    check_array(function, "indices", indices)
    if indices.dtype != int32 or indices.shape != shape:
        raise ValueError(f"{function}: indices is {indices.dtype}{indices.shape}; it must be int32{shape}")
    if indices.device is not other.device:
        raise ValueError(f"{function}: indices is on {indices.device}, the rest on {other.device}; put both on one")
