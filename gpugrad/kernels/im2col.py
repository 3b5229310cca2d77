"""im2col: the windows of an image as the columns of a matrix."""

from __future__ import annotations

from typing import Any

from ..array import Array
from ..dtypes import as_dtype
from ..program import Kernel
from .checks import check_array, check_float, check_out
from .geometry import Pair, Window, image_size, window, windows_in
from .ladder import launch_first, resolve, variant
from .tuning import tuned

_BUFFERS = {"x": "in N C H W", "col": "out N (C KH KW) (OH OW)"}
_NAIVE = Kernel("im2col.cl", "im2col_naive", **_BUFFERS)
_ROWS = Kernel("im2col.cl", "im2col_rows", **_BUFFERS)
_WINDOW = Kernel("im2col.cl", "im2col_window", **_BUFFERS)


def im2col(
    x: Array,
    kernel_size: int | Pair,
    stride: int | Pair = 1,
    padding: int | Pair = 0,
    dilation: int | Pair = 1,
    *,
    variant: str | None = None,
    out: Array | None = None,
) -> Array:
    """The windows of `x` as columns: (N, C, H, W) to (N, C*KH*KW, OH*OW), in x's dtype (a float type).

    Row (c, kh, kw) and column (oh, ow) of image n hold x[n, c, oh*SH - PH + kh*DH, ow*SW - PW + kw*DW], or 0 in the
    padding; see `geometry` for OH and OW. `kernel_size`, `stride`, `padding`, `dilation`: an int or (height, width).
    ValueError when the kernel is larger than the padded input. Chellapilla et al., 2006, "High performance
    convolutional neural networks for document processing".
    """
    check_array("im2col", "x", x, 4)
    check_float("im2col", "x", x)
    w = window("im2col", kernel_size, stride, padding, dilation)
    N, C, H, W = x.shape
    OH, OW = windows_in("im2col", (H, W), w)
    out = check_out("im2col", out, (N, C * w.KH * w.KW, OH * OW), x.dtype, x.device, x)
    run, custom = resolve("im2col", variant, tuned("im2col", x.device))
    run(custom, x, out, w, (OH, OW))
    return out


def im2col_scratch_bytes(
    input_size: tuple[int, int, int, int],
    kernel_size: int | Pair,
    stride: int | Pair = 1,
    padding: int | Pair = 0,
    dilation: int | Pair = 1,
    dtype: Any = "float32",
) -> int:
    """Bytes of im2col's result for an input of shape (N, C, H, W): N * C*KH*KW * OH*OW * itemsize."""
    N, C, H, W = image_size("im2col_scratch_bytes", "input_size", input_size)
    w = window("im2col_scratch_bytes", kernel_size, stride, padding, dilation)
    OH, OW = windows_in("im2col_scratch_bytes", (H, W), w)
    return N * C * w.KH * w.KW * OH * OW * as_dtype(dtype).itemsize


@variant("im2col", "naive")
def _naive(kernel: Any, x: Array, col: Array, w: Window, output: Pair) -> None:
    """A kernel of your own gets (x, col, C, H, W, KH, KW, SH, SW, PH, PW, DH, DW, OH, OW).

    Its work-items: get_global_id(0) is the column, padded to a multiple of 64; (1) the row; (2) the image.
    """
    N, C, H, W = x.shape
    size = (col.shape[2], col.shape[1], N)
    launch_first(_NAIVE, kernel, x.dtype, size, (64, 1, 1), x, col, C, H, W, *w, *output)


@variant("im2col", "window")
def _window(kernel: Any, x: Array, col: Array, w: Window, output: Pair) -> None:
    N, C, H, W = x.shape
    _WINDOW.launch(x.dtype, (col.shape[2], C, N), (64, 1, 1), x, col, C, H, W, *w, *output)


@variant("im2col", "rows")
def _rows(kernel: Any, x: Array, col: Array, w: Window, output: Pair) -> None:
    N, C, H, W = x.shape
    _ROWS.launch(x.dtype, (col.shape[1], N), (1, 1), x, col, C, H, W, *w, *output)
