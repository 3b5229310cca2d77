"""The rung of convolution for CPUs: how inputs and weights are laid out for conv_blocked.cl, and in what portions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..array import Array
from ..dtypes import float16, float32, float64, int32
from ..program import Define, Kernel
from .conv_im2col import im2col_input
from .conv_plan import Plan
from .elementwise import fill
from .geometry import Window, round_up
from .tuning import tuned

_PAD = Kernel("conv_blocked.cl", "conv_pad", x="in N C H W", padded="out N C phases HP WP")
_PACK = Kernel("conv_blocked.cl", "conv_pack", weight="in", panels="out G blocks K ROWS", taps="out K")
# y is written whole where the batch is worked through in one portion.
_BLOCKED = {
    role: Kernel(
        "conv_blocked.cl",
        "conv_blocked",
        padded="in N C phases HP WP",
        panels="in G blocks K ROWS",
        taps="in K",
        bias="in CO",
        y=f"{role} N CO OH OW",
    )
    for role in ("out", "partial")
}
_PACK_GRAD = Kernel("conv_blocked.cl", "conv_pack_grad", dy="in N CO L", columns="out N G blocks L COLUMNS")
_WEIGHT = {
    role: Kernel(
        "conv_blocked.cl",
        "conv_weight_blocked",
        padded="in N C phases HP WP",
        columns="in N G blocks L COLUMNS",
        parts=f"{role} parts CO K",
    )
    for role in ("out", "inout")
}
_SUM = Kernel("conv_blocked.cl", "conv_weight_sum", parts="in parts CO K", dweight="out CO K")

_ROWS, _TAPS = 4, 6  # as in conv_blocked.cl
_VECTOR: dict[np.dtype, tuple[str, int]] = {float32: ("float8", 8), float64: ("double4", 4)}
_MACROS: dict[tuple[np.dtype, int], tuple[Define, ...]] = {
    (dtype, vectors): (("V", name), ("LANES", str(lanes)), ("VECTORS", str(vectors)))
    for dtype, (name, lanes) in _VECTOR.items()
    for vectors in (1, 2)
}

# Measured on 2 x86-64 cores under PoCL 3.0; see tuning.py for how much is padded at once.
_PART_BYTES = 1 << 19  # of images that go into one part of a weight gradient: what the nearest cache holds
_PARTS_BYTES = 1 << 23  # of all parts, which are then added up
_GROUPS_PER_UNIT = 8  # work-groups that keep a core busy to the end, where their number can be chosen


def blocked(
    kernel: Any, p: Plan, x: Array, weight: Array, bias: Array | None, out: Array, scratch: Array | None
) -> None:
    _correlate(x, weight, bias, out, p.G, p.w, flip=False)


def blocked_input(kernel: Any, p: Plan, weight: Array, dy: Array, out: Array, scratch: Array | None) -> None:
    """The gradient is a convolution of dy with the kernel turned round: where stride is 1. Otherwise im2col's way."""
    w = p.w
    if (w.SH, w.SW) == (1, 1):
        PH, PW = (w.KH - 1) * w.DH - w.PH, (w.KW - 1) * w.DW - w.PW
        _correlate(dy, weight, None, out, p.G, w._replace(PH=PH, PW=PW), flip=True)
    else:
        im2col_input(kernel, p, weight, dy, out, scratch)


def _correlate(x: Array, weight: Array, bias: Array | None, out: Array, G: int, w: Window, flip: bool) -> None:
    """out = x convolved with weight; with `flip`, weight's channels change roles and its kernel is turned round.

    w's padding may be negative then: rows and columns of x that no output sees.
    """
    N, CO, OH, OW = out.shape
    C, R, place = x.shape[1], CO // G, w.KH * w.KW
    K, blocks = C // G * place, -(-R // _ROWS)
    dtype, lanes, _, defines = _layout(x)
    tile = min(((1, 2 * lanes), (2, lanes)), key=lambda t: round_up(OH, t[0]) * round_up(OW, t[1]))
    HP, WP = _padded(w, round_up(OH, tile[0]), round_up(OW, tile[1]))

    panels = Array.empty((G, blocks, K, _ROWS), dtype, x.device)
    taps = Array.empty((K,), int32, x.device)
    strides = (place, R * place) if flip else (K, place)
    _PACK.launch(
        x.dtype, (K, blocks, G), (64, 1, 1), weight, panels, taps, R, K, *strides, int(flip),
        w.KH, w.KW, w.SW, w.DH, w.DW, HP, WP, defines=defines,
    )  # fmt: skip

    image = C * _phases(w)[0] * HP * WP
    portion = _portion(N, image * dtype.itemsize, x)
    padded = Array.empty((portion, image), dtype, x.device)
    for first in range(0, N, portion):
        n = min(portion, N - first)
        _pad(x, padded, first, n, w, HP, WP, defines)
        size = (-(-OH // tile[0]) * -(-OW // tile[1]), G * blocks, n)
        _BLOCKED["out" if n == N else "partial"].launch(
            x.dtype, size, (1, 1, 1), padded, panels, taps, weight if bias is None else bias, out,
            first, G, R, K, image // G, WP, w.SH, OH, OW, tile[0], int(bias is not None), defines=defines,
        )  # fmt: skip


def blocked_weight(
    kernel: Any, p: Plan, x: Array, dy: Array, out: Array, scratch: Array | None, col: Array | None
) -> None:
    """Sums of some images each, in parts that are then added up."""
    w, G, R = p.w, p.G, p.COG
    if p.N == 0 or out.size == 0:
        fill(out, 0)
        return
    dtype, lanes, vectors, defines = _layout(x, R)
    HP, WP = _padded(w, p.OH, p.OW)
    blocks = -(-R // (vectors * lanes))
    image, grad = p.C * _phases(w)[0] * HP * WP, G * blocks * p.L * vectors * lanes
    each = (image + grad) * dtype.itemsize
    portion = _portion(p.N, each, x)
    groups = (-(-p.K // _TAPS), G * blocks)
    images = _images_of_a_part(portion, each, out.size * dtype.itemsize, math.prod(groups), x)

    parts = Array.empty((-(-portion // images), *out.shape), dtype, x.device)
    padded = Array.empty((portion, image), dtype, x.device)
    columns = Array.empty((portion, grad), dtype, x.device)
    for first in range(0, p.N, portion):
        n = min(portion, p.N - first)
        _pad(x, padded, first, n, w, HP, WP, defines)
        _PACK_GRAD.launch(x.dtype, (G * blocks, n), (1, 1), dy, columns, first, G, R, p.L, defines=defines)
        _WEIGHT["inout" if first else "out"].launch(
            x.dtype, (*groups, parts.shape[0]), (1, 1, 1), padded, columns, parts, int(first > 0), images, n,
            G, R, p.K, w.KH, w.KW, w.SH, w.SW, w.DH, w.DW, HP, WP, image // G, p.OH, p.OW, defines=defines,
        )  # fmt: skip
    _SUM.launch(x.dtype, (out.size,), (64,), parts, out, parts.shape[0], out.size, defines=defines)


def _images_of_a_part(n: int, each: int, result: int, groups: int, x: Array) -> int:
    """How many of n images one part sums up: few enough to stay in the cache and to keep every core busy, but so many
    that all parts together stay small. `each` and `result` are bytes of an image and of a part."""
    busy = -(-_GROUPS_PER_UNIT * x.device.cl_device.max_compute_units // groups)
    wanted = max(n * each // _PART_BYTES, busy)
    most = max(_PARTS_BYTES // result, busy)
    return -(-n // min(wanted, most))


def _pad(x: Array, padded: Array, first: int, n: int, w: Window, HP: int, WP: int, defines: tuple[Define, ...]) -> None:
    C, H, W = x.shape[1:]
    args = (x, padded, first, C, H, W, w.SW, w.PH, w.PW, *_phases(w), HP, WP)
    _PAD.launch(x.dtype, (C, n), (1, 1), *args, defines=defines)


def _phases(w: Window) -> tuple[int, int]:
    """How many phases of columns outputs see, and how far apart they begin: all SW of them, or one for each kw."""
    return (w.KW, w.DW) if w.KW < w.SW else (w.SW, 1)


def _padded(w: Window, OH: int, OW: int) -> tuple[int, int]:
    """Rows and columns (of one phase) that OH x OW outputs see."""
    beyond = 0 if w.KW < w.SW else (w.KW - 1) * w.DW // w.SW
    return (OH - 1) * w.SH + (w.KH - 1) * w.DH + 1, OW + beyond


def _portion(N: int, each: int, x: Array) -> int:
    """How many of N images to take at once, where each takes `each` bytes of memory."""
    return max(min(tuned("conv bytes", x.device) // max(each, 1), N), 1)


def _layout(x: Array, channels: int | None = None) -> tuple[np.dtype, int, int, tuple[Define, ...]]:
    """The type computed in, the lanes of a vector, how many vectors hold `channels` (1 or 2), and the macros."""
    dtype = float32 if x.dtype == float16 else x.dtype
    lanes = _VECTOR[dtype][1]
    vectors = 1 if channels is not None and channels <= lanes else 2
    return dtype, lanes, vectors, _MACROS[dtype, vectors]
