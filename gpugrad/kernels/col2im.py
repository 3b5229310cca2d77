"""col2im: the adjoint of im2col; each column goes back to the window it came from, and overlaps add up."""

from __future__ import annotations

from typing import Any

from ..array import Array
from ..dtypes import float32
from ..program import Kernel
from .checks import check_array, check_float, check_out, pair
from .elementwise import cast, fill
from .geometry import Pair, Window, image_size, window, windows_in
from .ladder import launch_first, resolve, variant
from .tuning import tuned

_GATHER = Kernel("col2im.cl", "col2im_gather", col="in N (C KH KW) (OH OW)", x="out N C H W")
_SCATTER = Kernel("col2im.cl", "col2im_scatter", col="in N (C KH KW) (OH OW)", sums="inout N C H W")
_PLANES = Kernel("col2im.cl", "col2im_planes", col="in N (C KH KW) (OH OW)", x="out N C H W")


def col2im(
    col: Array,
    output_size: int | Pair,
    kernel_size: int | Pair,
    stride: int | Pair = 1,
    padding: int | Pair = 0,
    dilation: int | Pair = 1,
    *,
    variant: str | None = None,
    out: Array | None = None,
) -> Array:
    """The columns of `col` added up where they came from: (N, C*KH*KW, OH*OW) to (N, C, H, W).

    `output_size` is (H, W), or one int for both; the other arguments are im2col's, of which this is the adjoint:
    <im2col(x), y> = <x, col2im(y)>. ValueError where `col` does not have the shape that im2col gives for them.

    "scatter" adds by float atomics, in whatever order the device likes, and in float32 whatever col is; its
    accumulator takes `col2im_scratch_bytes`. The other variants sum in a fixed order and in col's type.
    """
    check_array("col2im", "col", col, 3)
    check_float("col2im", "col", col)
    H, W = pair("col2im", "output_size", output_size, 1)
    w = window("col2im", kernel_size, stride, padding, dilation)
    output = check_columns("col2im", col, (H, W), w)
    shape = (col.shape[0], col.shape[1] // (w.KH * w.KW), H, W)
    out = check_out("col2im", out, shape, col.dtype, col.device, col)
    run, custom = resolve("col2im", variant, tuned("col2im", col.device))
    run(custom, col, out, w, output)
    return out


def col2im_scratch_bytes(input_size: tuple[int, int, int, int]) -> int:
    """Bytes of the scatter's float32 accumulator for a result of shape (N, C, H, W): 4 * N*C*H*W."""
    N, C, H, W = image_size("col2im_scratch_bytes", "input_size", input_size)
    return 4 * N * C * H * W


def check_columns(function: str, col: Any, size: Pair, w: Window) -> Pair:
    """(OH, OW) of an image of `size`, for which `col` (with .shape) must have the rows and columns."""
    OH, OW = windows_in(function, size, w)
    if col.shape[1] % (w.KH * w.KW):
        raise ValueError(
            f"{function}: col has {col.shape[1]} rows; a kernel of {w.KH} x {w.KW} needs a multiple of {w.KH * w.KW}"
        )
    if col.shape[2] != OH * OW:
        raise ValueError(
            f"{function}: col has {col.shape[2]} columns; an output of {size[0]} x {size[1]} has {OH} x {OW} = "
            f"{OH * OW} windows with this kernel, stride, padding and dilation"
        )
    return OH, OW


@variant("col2im", "gather")
def _gather(kernel: Any, col: Array, x: Array, w: Window, output: Pair) -> None:
    """A kernel of your own gets (col, x, C, H, W, KH, KW, SH, SW, PH, PW, DH, DW, OH, OW).

    Its work-items: get_global_id(0) is the pixel h * W + w, padded to a multiple of 64; (1) the channel; (2) the image.
    """
    N, C, H, W = x.shape
    launch_first(_GATHER, kernel, x.dtype, (H * W, C, N), (64, 1, 1), col, x, C, H, W, *w, *output)


@variant("col2im", "scatter")
def _scatter(kernel: Any, col: Array, x: Array, w: Window, output: Pair) -> None:
    N, C, H, W = x.shape
    sums = x if x.dtype == float32 else Array.empty(x.shape, float32, x.device)
    fill(sums, 0)
    _SCATTER.launch(col.dtype, (col.shape[2], col.shape[1], N), (64, 1, 1), col, sums, C, H, W, *w, *output)
    if sums is not x:
        cast(sums, x.dtype, out=x)


@variant("col2im", "planes")
def _planes(kernel: Any, col: Array, x: Array, w: Window, output: Pair) -> None:
    N, C, H, W = x.shape
    _PLANES.launch(col.dtype, (C, N), (1, 1), col, x, C, H, W, *w, *output)
