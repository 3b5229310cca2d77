"""The rung of convolution through im2col: a matrix product for each image and group."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from ..array import Array, Shape
from .col2im import col2im
from .conv_plan import Plan
from .elementwise import elementwise, fill, summing
from .gemm import gemm, gemm_sum
from .im2col import im2col
from .slicing import get_slice, set_slice
from .tuning import tuned


def im2col_forward(
    kernel: Any, p: Plan, x: Array, weight: Array, bias: Array | None, out: Array, scratch: Array | None
) -> None:
    """out = weight @ im2col(x)"""
    weight = weight.reshape(p.G, p.COG, p.K)
    for first, n, block in _blocks(p, x, out, scratch):
        columns = _columns(p, _images(x, first, n), block).reshape(n, p.G, p.K, p.L)
        with _written(out, first, n) as y:
            gemm(weight, columns, out=y.reshape(n, p.G, p.COG, p.L))
    add_bias(out, bias)


def im2col_input(kernel: Any, p: Plan, weight: Array, dy: Array, out: Array, scratch: Array | None) -> None:
    """out = col2im(weight^T @ dy)"""
    weight = weight.reshape(p.G, p.COG, p.K)
    for first, n, block in _blocks(p, out, dy, scratch):
        grad = _images(dy, first, n).reshape(n, p.G, p.COG, p.L)
        with _written(out, first, n) as dx:
            columns = dx if block is None else block
            gemm(weight, grad, transpose_a=True, out=columns.reshape(n, p.G, p.K, p.L))
            if block is not None:
                col2im(block, (p.H, p.W), *p.w.pairs, out=dx)


def im2col_weight(
    kernel: Any, p: Plan, x: Array, dy: Array, out: Array, scratch: Array | None, col: Array | None
) -> None:
    """out = the sum over the batch of dy @ im2col(x)^T"""
    if p.N == 0:
        fill(out, 0)
        return
    with summing(out.reshape(p.G, p.COG, p.K)) as sums:
        _weight_sums(p, x, dy, sums, scratch, col)


def _weight_sums(p: Plan, x: Array, dy: Array, out: Array, scratch: Array | None, col: Array | None) -> None:
    blocks: Iterable[tuple[int, int, Array | None]] = _blocks(p, x, dy, scratch) if col is None else [(0, p.N, None)]
    for first, n, block in blocks:
        columns = _columns(p, _images(x, first, n), block) if col is None else col
        grad = _images(dy, first, n).reshape(n, p.G, p.COG, p.L)
        gemm_sum(grad, columns.reshape(n, p.G, p.K, p.L), transpose_b=True, beta=int(first > 0), out=out)


def add_bias(out: Array, bias: Array | None) -> None:
    if bias is not None:
        elementwise("add", out, bias.reshape(-1, 1, 1), out=out)


def _columns(p: Plan, x: Array, block: Array | None) -> Array:
    """im2col of some images. Where a window is a single pixel, images are their own columns."""
    return x if block is None else im2col(x, *p.w.pairs, out=block)


def _blocks(p: Plan, x: Array, y: Array, scratch: Array | None) -> Iterator[tuple[int, int, Array | None]]:
    """(first image, number of images, memory for their columns) until all had their turn, in bounded memory.

    A block ends where both x and y may be cut, if one so long fits; then their images are seen in place. No memory is
    needed where a window is a single pixel.
    """
    if p.w.is_pixel or p.N == 0:
        yield from [(0, p.N, None)] * (p.N > 0)
        return
    _, rows, L = p.col
    unit, itemsize = p.whole_images(x, y), x.dtype.itemsize
    n = p.N if scratch is not None else tuned("im2col bytes", x.device) // max(rows * L * itemsize, 1)
    n = min(max(n // unit * unit or n, 1), p.N)
    if scratch is None:
        scratch = Array.empty((n, rows, L), x.dtype, x.device)
    for first in range(0, p.N, n):
        count = min(n, p.N - first)
        yield first, count, _as(scratch, (count, rows, L), x.dtype)


def _images(a: Array, first: int, n: int) -> Array:
    """Images `first` to `first + n` of a, to read."""
    seen = _in_place(a, first, n)
    return get_slice(a, slice(first, first + n)) if seen is None else seen


@contextlib.contextmanager
def _written(a: Array, first: int, n: int) -> Iterator[Array]:
    """Images `first` to `first + n` of a, for the block to write all of them."""
    seen = _in_place(a, first, n)
    images = Array.empty((n, *a.shape[1:]), a.dtype, a.device) if seen is None else seen
    yield images
    if seen is None:
        set_slice(a, slice(first, first + n), images)


def _in_place(a: Array, first: int, n: int) -> Array | None:
    """Images `first` to `first + n` of a in the same memory, or None where that may not be cut."""
    offset = first * math.prod(a.shape[1:]) * a.dtype.itemsize
    if offset % a.device.alignment:
        return None
    return a._view((n, *a.shape[1:]), a.offset + offset)


def _as(scratch: Array, shape: Shape, dtype: np.dtype) -> Array:
    """The beginning of `scratch` as an Array of another shape and dtype."""
    size = math.prod(shape)
    return Array(scratch.block, scratch.offset, shape, dtype, size, scratch.device, scratch.state)
