"""Padding with a constant, and cutting off; each is the other's gradient."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ..array import Array, Shape
from ..program import Kernel
from .checks import check_array, check_out, integer, number_for
from .elementwise import copy
from .strided import Region, geometry, move, whole

_PAD = Kernel("pad.cl", "pad", x="in N H W", out="out N OH OW")

Pads = tuple[tuple[int, int], ...]


def pad(
    x: Array, pad: Sequence[int], mode: str = "constant", value: float | None = 0, *, out: Array | None = None
) -> Array:
    """`x` with `value` put around it.

    pad: how many elements before and after, for the last axis first, as in PyTorch: (left, right), or (left, right,
    top, bottom) ... A negative number cuts elements off. Modes other than "constant" raise ValueError.
    """
    check_array("pad", "x", x)
    check_mode(mode)
    pads = pairs("pad", pad, x.shape)
    fill_with = number_for("pad", "value", 0 if value is None else value, x.dtype)
    return pad_axes(x, pads, fill_with, out)


def pad_axes(x: Array, pads: Pads, value: float | int | bool, out: Array | None = None) -> Array:
    """`x` with pads[i] = (before, after) elements around axis i. Arguments have been checked."""
    shape = tuple([n + before + after for n, (before, after) in zip(x.shape, pads, strict=True)])
    out = check_out("pad", out, shape, x.dtype, x.device, x)
    padded = [i for i, p in enumerate(pads) if p != (0, 0)]
    if not padded:
        return copy(x, out)
    if all(before <= 0 and after <= 0 for before, after in pads):
        return _cut(x, pads, out)
    # The kernel pads two axes: the last two that need it, then the two before, and so on.
    while len(padded) > 2:
        last = set(padded[-2:])
        now = tuple([p if i in last else (0, 0) for i, p in enumerate(pads)])
        x = pad_axes(x, now, value)
        pads = tuple([(0, 0) if i in last else p for i, p in enumerate(pads)])
        padded = padded[:-2]
    if out.size:
        _launch(x, out, value, padded, pads)
    return out


def _cut(x: Array, pads: Pads, out: Array) -> Array:
    """Only cutting off is reading a slice, however many axes there are."""
    strides = whole(x.shape).strides
    offset = sum(-before * s for (before, _), s in zip(pads, strides, strict=True))
    move(x, Region(out.shape, strides, offset), out, whole(out.shape))
    return out


def _launch(x: Array, out: Array, value: float | int | bool, padded: list[int], pads: Pads) -> None:
    """One launch for at most two padded axes.

    Axes behind a padded one become part of it: padding 3 rows of 5 by one row is padding 15 elements by 5.
    """
    row = padded[0] if len(padded) == 2 else None
    column = padded[-1]
    N = math.prod(x.shape[: padded[0]])
    H = OH = 1
    top = 0
    if row is not None:
        unit = math.prod(x.shape[row + 1 : column])
        H, OH, top = x.shape[row] * unit, out.shape[row] * unit, pads[row][0] * unit
    unit = math.prod(x.shape[column + 1 :])
    W, OW, left = x.shape[column] * unit, out.shape[column] * unit, pads[column][0] * unit
    defines, size, local = geometry(x.device, (1, N, OH, OW))
    _PAD.launch(x.dtype, size, local, x, out, value, H, W, OH, OW, top, left, defines=defines)


def check_mode(mode: Any) -> None:
    if mode != "constant":
        raise ValueError(f"pad: mode is {mode!r}; gpugrad has 'constant' (and no reflect, replicate or circular)")


def pairs(function: str, pad: Any, shape: Shape) -> Pads:
    """PyTorch's flat list, last axis first, as (before, after) for each axis of `shape`, checked."""
    if not isinstance(pad, Sequence) or isinstance(pad, str):
        raise TypeError(f"{function}: pad is {pad!r}; give a sequence such as (left, right, top, bottom)")
    flat = [integer(function, f"pad[{i}]", n) for i, n in enumerate(pad)]
    if len(flat) % 2 or len(flat) > 2 * len(shape):
        raise ValueError(
            f"{function}: pad has {len(flat)} numbers; it takes two for each axis, up to {2 * len(shape)} for an "
            f"input of shape {shape}"
        )
    named = [(flat[2 * i], flat[2 * i + 1]) for i in range(len(flat) // 2)]
    pads = ((0, 0),) * (len(shape) - len(named)) + tuple(reversed(named))
    for d, (n, (before, after)) in enumerate(zip(shape, pads, strict=True)):
        if n + min(before, 0) + min(after, 0) < 0:
            raise ValueError(
                f"{function}: pad takes {-min(before, 0)} and {-min(after, 0)} elements off the two ends of axis {d}, "
                f"which has {n}"
            )
    return pads
