"""Copies between strided regions of Arrays: permute, expand, flip, cat, stack, and the core that slicing uses.

Every one of them is the same kernel with other strides: how far apart neighbours along each axis lie in the source
and in the target.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from ..array import Array, Shape
from ..device import Device
from ..program import Define, Kernel
from .checks import axes, axis, check_array, check_out, check_same, integer
from .transpose import transpose
from .tuning import tuned

_COPY = Kernel("strided.cl", "copy_region", x="in", out="out")
# The same where the region is a part of out, and the rest keeps what it holds.
_COPY_PART = Kernel("strided.cl", "copy_region", x="in", out="partial")
_FILL_PART = Kernel("strided.cl", "fill_region", out="partial")

Strides = tuple[int, ...]


class Region(NamedTuple):
    """Elements of an array: the one with coordinates i lies at offset + sum(i * strides)."""

    sizes: Shape
    strides: Strides
    offset: int = 0


@lru_cache(4096)
def whole(shape: Shape) -> Region:
    """All of a contiguous array, in order."""
    strides, step = [], 1
    for n in reversed(shape):
        strides.append(step)
        step *= n
    return Region(shape, tuple(reversed(strides)))


@lru_cache(4096)
def broadcast(shape: Shape, sizes: Shape) -> Region:
    """An array of `shape` seen as one of `sizes`: repeated axes have stride 0."""
    missing = len(sizes) - len(shape)
    strides = (0,) * missing + whole(shape).strides
    return Region(sizes, tuple(0 if i < missing or shape[i - missing] == 1 else s for i, s in enumerate(strides)))


class _Plan(NamedTuple):
    """A copy as launches: the sizes and both strides of four axes, and offsets of each launch."""

    sizes: Shape
    source: Strides
    target: Strides
    offsets: tuple[tuple[int, int], ...]


@lru_cache(4096)
def _plan(sizes: Shape, source: Strides, target: Strides) -> _Plan:
    """Neighbouring axes that are one in both regions become one; what is more than four axes is launched in turn.

    The axes that are looped over on the host are the shortest ones, so there are few launches.
    """
    merged: list[list[int]] = []
    for n, s, t in zip(sizes, source, target, strict=True):
        if n == 1:
            continue
        if merged and merged[-1][1] == n * s and merged[-1][2] == n * t:
            merged[-1] = [merged[-1][0] * n, s, t]
        else:
            merged.append([n, s, t])
    shortest = sorted(range(len(merged)), key=lambda i: merged[i][0])[: max(0, len(merged) - 4)]
    looped = [merged[i] for i in shortest]
    kept = [[1, 0, 0]] * (4 - len(merged)) + [m for i, m in enumerate(merged) if i not in shortest]
    offsets = [(0, 0)]
    for n, s, t in looped:
        offsets = [(so + i * s, to + i * t) for so, to in offsets for i in range(n)]
    sizes, source, target = (tuple(m[k] for m in kept) for k in range(3))
    return _Plan(sizes, source, target, tuple(offsets))


def geometry(device: Device, sizes: Shape) -> tuple[tuple[Define, ...], Shape, Shape]:
    """Macros, global and local size of a kernel whose work-items move runs along the last of four axes."""
    run, group, short = tuned("copy run", device), tuned("copy group", device), tuned("copy group, short rows", device)
    D0, D1, D2, D3 = sizes
    local = (group, 1, 1) if group * run <= 2 * D3 else short
    return (("RUN", str(run)),), (-(-D3 // run), D2, D0 * D1), local


def move(x: Array, source: Region, out: Array, target: Region) -> None:
    """Copy a region of `x` to a region of `out` of the same sizes; the two arrays do not overlap."""
    if 0 in source.sizes:
        return
    plan = _plan(source.sizes, source.strides, target.strides)
    defines, global_size, local_size = geometry(x.device, plan.sizes)
    kernel = _COPY if len(plan.offsets) == 1 and target == whole(out.shape) else _COPY_PART
    for s, t in plan.offsets:
        kernel.launch(
            x.dtype, global_size, local_size, x, out, *plan.sizes[1:], source.offset + s, *plan.source,
            target.offset + t, *plan.target, defines=defines,
        )  # fmt: skip


def fill_part(value: float | int | bool, out: Array, target: Region) -> None:
    """Set a region of `out` to a number."""
    if 0 in target.sizes:
        return
    plan = _plan(target.sizes, target.strides, target.strides)
    defines, global_size, local_size = geometry(out.device, plan.sizes)
    for _, t in plan.offsets:
        _FILL_PART.launch(
            out.dtype, global_size, local_size, value, out, *plan.sizes[1:], target.offset + t, *plan.target,
            defines=defines,
        )  # fmt: skip


# Operations


def permute(x: Array, dims: Sequence[int], *, out: Array | None = None) -> Array:
    """The axes of `x` in another order: axis `i` of the result is axis `dims[i]` of `x`."""
    check_array("permute", "x", x)
    dims = permutation("permute", dims, x.ndim)
    out = check_out("permute", out, tuple([x.shape[d] for d in dims]), x.dtype, x.device, x)
    swapped = _as_transpose(x.shape, dims)
    if swapped is not None:
        N, R, C = swapped
        transpose(x.reshape(N, R, C), out=out.reshape(N, C, R))
        return out
    strides = whole(x.shape).strides
    move(x, Region(out.shape, tuple([strides[d] for d in dims])), out, whole(out.shape))
    return out


@lru_cache(4096)
def _as_transpose(shape: Shape, dims: tuple[int, ...]) -> tuple[int, int, int] | None:
    """(N, R, C), where permuting `shape` is nothing but the transpose of N matrices of R x C."""
    strides = whole(shape).strides
    sizes = tuple(shape[d] for d in dims)
    if 0 in sizes:
        return None
    (D0, N, C, R), source, _, _ = _plan(sizes, tuple(strides[d] for d in dims), whole(sizes).strides)
    is_swap = D0 == 1 and R > 1 and source[2:] == (1, C) and (N == 1 or source[1] == R * C)
    return (N, R, C) if is_swap else None


def permutation(function: str, dims: Sequence[int], ndim: int) -> tuple[int, ...]:
    """`dims` counted from the front, checked to name each of `ndim` axes once."""
    if isinstance(dims, (str, bytes)) or not hasattr(dims, "__iter__"):
        raise TypeError(f"{function}: dims is {dims!r}; give one integer for each axis")
    found = tuple([axis(function, d, ndim) for d in dims])
    if sorted(found) != list(range(ndim)):
        raise ValueError(f"{function}: dims is {tuple(dims)}; it must name each of the {ndim} axes once")
    return found


def expand(x: Array, shape: Sequence[int], *, out: Array | None = None) -> Array:
    """`x` repeated along axes of size 1, and along new axes in front, to `shape`; -1 keeps an axis as it is."""
    check_array("expand", "x", x)
    shape = expanded_shape("expand", x.shape, shape)
    out = check_out("expand", out, shape, x.dtype, x.device, x)
    move(x, broadcast(x.shape, shape), out, whole(shape))
    return out


def expanded_shape(function: str, old: Shape, shape: Sequence[int]) -> Shape:
    """`shape` with each -1 filled in, checked to be what `old` can be repeated to."""
    if not isinstance(shape, Sequence) or isinstance(shape, str):
        raise TypeError(f"{function}: size is {shape!r}; it must be integers, or a tuple of them")
    new = [integer(function, "size", n, -1) for n in shape]
    missing = len(new) - len(old)
    if missing < 0:
        raise ValueError(f"{function}: {old} has more dimensions than {tuple(new)}; give a size for each of them")
    for i, n in enumerate(new):
        have = old[i - missing] if i >= missing else None
        if n == -1 and have is None:
            raise ValueError(f"{function}: size {i} of {tuple(new)} is -1, and {old} has no such axis; give its size")
        if n == -1 and have is not None:
            new[i] = have
        elif have not in (1, n, None):
            raise ValueError(
                f"{function}: {old} cannot be repeated to {tuple(new)}: size {i} is {n}, and the axis has {have} "
                "elements; only an axis of 1 can be repeated"
            )
    return tuple(new)


def flip(x: Array, dims: int | Sequence[int], *, out: Array | None = None) -> Array:
    """`x` with the order of elements reversed along `dims` (one axis, or several)."""
    check_array("flip", "x", x)
    dims = axes("flip", dims, x.ndim) if not isinstance(dims, Sequence) or len(dims) else ()
    out = check_out("flip", out, x.shape, x.dtype, x.device, x)
    if x.size:
        strides = list(whole(x.shape).strides)
        offset = 0
        for d in dims:
            if x.ndim:
                offset += (x.shape[d] - 1) * strides[d]
                strides[d] = -strides[d]
        move(x, Region(x.shape, tuple(strides), offset), out, whole(out.shape))
    return out


def cat(arrays: Sequence[Array], dim: int = 0, *, out: Array | None = None) -> Array:
    """Arrays joined along the existing axis `dim`; all other sizes are equal. One launch for each array."""
    shapes = _check_several("cat", arrays)
    ndim = len(shapes[0])
    if ndim == 0:
        raise ValueError("cat: the arrays are 0-d; they have no axis to join along. Use stack")
    d = axis("cat", dim, ndim)
    for i, shape in enumerate(shapes):
        if len(shape) != ndim or shape[:d] + shape[d + 1 :] != shapes[0][:d] + shapes[0][d + 1 :]:
            raise ValueError(
                f"cat: arrays 0 and {i} have shapes {shapes[0]} and {shape}; only their sizes along dim {d} may differ"
            )
    total = sum(shape[d] for shape in shapes)
    shape = shapes[0][:d] + (total,) + shapes[0][d + 1 :]
    out = check_out("cat", out, shape, arrays[0].dtype, arrays[0].device, *arrays)
    _join(arrays, d, out)
    return out


def stack(arrays: Sequence[Array], dim: int = 0, *, out: Array | None = None) -> Array:
    """Arrays of one shape joined along a new axis `dim`. One launch for each array."""
    shapes = _check_several("stack", arrays)
    d = axis("stack", dim, len(shapes[0]) + 1)
    for i, shape in enumerate(shapes):
        if shape != shapes[0]:
            raise ValueError(f"stack: arrays 0 and {i} have shapes {shapes[0]} and {shape}; they must be equal")
    shape = shapes[0][:d] + (len(arrays),) + shapes[0][d:]
    out = check_out("stack", out, shape, arrays[0].dtype, arrays[0].device, *arrays)
    _join([a.reshape(a.shape[:d] + (1,) + a.shape[d:]) for a in arrays], d, out)
    return out


def _join(arrays: Sequence[Array], d: int, out: Array) -> None:
    """Write arrays one behind the other along axis d of out."""
    strides, start = whole(out.shape).strides, 0
    for a in arrays:
        move(a, whole(a.shape), out, Region(a.shape, strides, start * strides[d]))
        start += a.shape[d]


def _check_several(function: str, arrays: Sequence[Array]) -> list[Shape]:
    if isinstance(arrays, Array) or not isinstance(arrays, Sequence) or isinstance(arrays, str):
        raise TypeError(f"{function}: arrays is {type(arrays).__name__}; give a list or tuple of them")
    if not arrays:
        raise ValueError(f"{function}: arrays is empty; there is nothing to join")
    named: dict[str, Any] = {f"arrays[{i}]": check_array(function, f"arrays[{i}]", a) for i, a in enumerate(arrays)}
    check_same(function, **named)
    return [a.shape for a in arrays]
