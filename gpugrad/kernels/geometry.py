"""The arithmetic of sliding windows, once for im2col, col2im, convolution and pooling.

Names are the same in every kernel: N batch, C channels, H W input, KH KW kernel, OH OW output, SH SW stride,
PH PW padding, DH DW dilation. Along the height, kernel element kh of the window at output row oh lies on
input row

    h = oh * SH - PH + kh * DH

and is padding where h falls outside 0 .. H-1. The width works alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from .checks import integer, pair

Pair = tuple[int, int]


class Window(NamedTuple):
    """A window and how it moves, in the order in which kernels take it."""

    KH: int
    KW: int
    SH: int
    SW: int
    PH: int
    PW: int
    DH: int
    DW: int

    @property
    def pairs(self) -> tuple[Pair, Pair, Pair, Pair]:
        """Kernel size, stride, padding and dilation."""
        return (self.KH, self.KW), (self.SH, self.SW), (self.PH, self.PW), (self.DH, self.DW)

    @property
    def is_pixel(self) -> bool:
        """Does each window see one pixel, its own? Then im2col changes nothing."""
        return self.KH == self.KW == self.SH == self.SW == 1 and self.PH == self.PW == 0


def window(function: str, kernel_size: Any, stride: Any, padding: Any, dilation: Any) -> Window:
    """The four arguments, each an int or a pair (height, width), checked."""
    found: list[int] = []
    for name, value, minimum in (
        ("kernel_size", kernel_size, 1),
        ("stride", stride, 1),
        ("padding", padding, 0),
        ("dilation", dilation, 1),
    ):
        both = pair(function, name, value, minimum)
        if max(both) >= 2**30:
            raise ValueError(f"{function}: {name} is {both}; kernels index with 32-bit int, so 2^30 is too large")
        found += both
    return Window(*found)


def windows_in(function: str, size: Pair, w: Window, beyond: Pair = (0, 0)) -> Pair:
    """(OH, OW): how many windows fit into an input of `size` (H, W); ValueError where none does.

    Windows may reach `beyond` the padding at the end by so many rows and columns.
    """
    H, W = size
    if H + 2 * w.PH >= 2**31 or W + 2 * w.PW >= 2**31:
        raise ValueError(f"{function}: an input of {H} x {W} with its padding has a side of 2^31 or more")
    OH = (H + 2 * w.PH + beyond[0] - (w.KH - 1) * w.DH - 1) // w.SH + 1
    OW = (W + 2 * w.PW + beyond[1] - (w.KW - 1) * w.DW - 1) // w.SW + 1
    if OH < 1 or OW < 1:
        raise ValueError(
            f"{function}: an input of {H} x {W} with padding ({w.PH}, {w.PW}) is smaller than the kernel, which spans "
            f"{(w.KH - 1) * w.DH + 1} x {(w.KW - 1) * w.DW + 1}; use a larger input, more padding or a smaller kernel"
        )
    return OH, OW


def pooled_in(function: str, size: Pair, w: Window, ceil_mode: bool) -> Pair:
    """(OH, OW) of pooling, which may also keep a last window that is cut off at the end (`ceil_mode`).

    No window starts beyond the input and the padding before it: it would see nothing. Padding is at most half of the
    kernel, so that windows see the input.
    """
    if 2 * w.PH > w.KH or 2 * w.PW > w.KW:
        raise ValueError(
            f"{function}: padding is ({w.PH}, {w.PW}); it must be at most half of kernel_size ({w.KH}, {w.KW})"
        )
    if not ceil_mode:
        return windows_in(function, size, w)
    H, W = size
    OH, OW = windows_in(function, size, w, (w.SH - 1, w.SW - 1))
    last_h, last_w = (OH - 1) * w.SH - w.PH, (OW - 1) * w.SW - w.PW
    return OH - (last_h >= H), OW - (last_w >= W)


def image_size(function: str, name: str, size: Any) -> tuple[int, int, int, int]:
    """The shape (N, C, H, W) of images; from an Array too, whose shape it is then."""
    size = getattr(size, "shape", size)
    if not isinstance(size, Sequence) or isinstance(size, str) or len(size) != 4:
        raise ValueError(f"{function}: {name} is {size!r}; it must be a shape (N, C, H, W)")
    N, C, H, W = (integer(function, name, n, 0) for n in size)
    return N, C, H, W


def transposed_size(function: str, size: Pair, w: Window, output_padding: Any) -> Pair:
    """The (H, W) of a transposed convolution's result: an input of `size` is what a convolution would give.

    Several sizes give the same number of windows; `output_padding` picks one of them, so it is smaller than the
    stride or the dilation.
    """
    extra_h, extra_w = pair(function, "output_padding", output_padding, 0)
    if extra_h >= max(w.SH, w.DH) or extra_w >= max(w.SW, w.DW):
        raise ValueError(
            f"{function}: output_padding is ({extra_h}, {extra_w}); it must be smaller than stride ({w.SH}, {w.SW}) or "
            f"dilation ({w.DH}, {w.DW})"
        )
    H = (size[0] - 1) * w.SH - 2 * w.PH + (w.KH - 1) * w.DH + 1 + extra_h
    W = (size[1] - 1) * w.SW - 2 * w.PW + (w.KW - 1) * w.DW + 1 + extra_w
    if H < 1 or W < 1:
        raise ValueError(f"{function}: the result would be {H} x {W}; use less padding or a larger input")
    return H, W


def same_padding(function: str, w: Window) -> tuple[Pair, Pair]:
    """((top, bottom), (left, right)) with which a window of stride 1 gives as many outputs as there are inputs.

    Where their sum is odd, bottom and right get the extra one, as in PyTorch.
    """
    if w.SH != 1 or w.SW != 1:
        raise ValueError(f"{function}: padding='same' needs stride 1, got ({w.SH}, {w.SW}); give it as numbers")
    tall, wide = (w.KH - 1) * w.DH, (w.KW - 1) * w.DW
    return (tall // 2, tall - tall // 2), (wide // 2, wide - wide // 2)


def groups_of(function: str, groups: Any, **channels: int) -> int:
    """`groups`, checked to divide each of `channels`."""
    G = integer(function, "groups", groups, 1)
    for name, n in channels.items():
        if n % G:
            raise ValueError(f"{function}: {name} has {n} channels, which {G} groups do not divide evenly")
    return G


def round_up(n: int, unit: int) -> int:
    """The least multiple of `unit` that is not below n: what tiles and spans of that size cover."""
    return -(-n // unit) * unit
