"""Basic indexing on Arrays: reading x[key], writing x[key] = value, and the gradient of reading.

A key is what stands between the brackets: integers, slices with positive steps, None for a new axis and one
Ellipsis. It picks a region of the array, which the strided copy then reads or writes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..array import Array, Shape
from .checks import check_array, check_out, check_same, integer, number_for
from .elementwise import fill
from .strided import Region, broadcast, fill_part, move, whole


def get_slice(x: Array, key: Any, *, out: Array | None = None) -> Array:
    """x[key], as a copy.

    IndexError for an integer outside the axis or too many of them; ValueError for a step below 1; TypeError for
    masks and arrays of indices, which index_select and where are for.
    """
    check_array("get_slice", "x", x)
    region = region_of("get_slice", x.shape, key)
    return read(x, region, check_out("get_slice", out, region.sizes, x.dtype, x.device, x))


def set_slice(x: Array, key: Any, value: Array | float | int | bool) -> Array:
    """x[key] = value; an Array is repeated to the region's shape (NumPy's rule), a number fills it. Gives x."""
    check_array("set_slice", "x", x)
    region = region_of("set_slice", x.shape, key)
    if isinstance(value, Array):
        check_same("set_slice", x=x, value=value)
        check_fits("set_slice", value.shape, region.sizes)
    else:
        value = number_for("set_slice", "value", value, x.dtype)
    return write(x, region, value)


def slice_backward(grad_output: Array, key: Any, input_size: Sequence[int], *, out: Array | None = None) -> Array:
    """The gradient of x[key] for an x of shape `input_size`: grad_output in the key's region, 0 elsewhere."""
    check_array("slice_backward", "grad_output", grad_output)
    size = tuple([integer("slice_backward", "input_size", n, 0) for n in input_size])
    region = region_of("slice_backward", size, key)
    if grad_output.shape != region.sizes:
        raise ValueError(f"slice_backward: grad_output has shape {grad_output.shape}; x[key] has {region.sizes}")
    return spread(
        grad_output, region, check_out("slice_backward", out, size, grad_output.dtype, grad_output.device, grad_output)
    )


# What the three do with a region; arguments are checked before.


def read(x: Array, region: Region, out: Array) -> Array:
    """The region of `x` as an array of its own."""
    move(x, region, out, whole(out.shape))
    return out


def write(x: Array, region: Region, value: Array | float | int | bool) -> Array:
    """Overwrite a region of `x`."""
    if isinstance(value, Array):
        extra = max(0, value.ndim - len(region.sizes))  # leading axes of size 1
        move(value, broadcast(value.shape[extra:], region.sizes), x, region)
    else:
        fill_part(value, x, region)
    return x


def spread(values: Array, region: Region, out: Array) -> Array:
    """Zeros with `values` in a region."""
    return write(fill(out, 0), region, values)


def check_fits(function: str, shape: Shape, sizes: Shape) -> None:
    """Can a value of `shape` be repeated to `sizes`? Further leading axes of size 1 don't count, as in NumPy."""
    core = shape[max(0, len(shape) - len(sizes)) :]
    extra = shape[: len(shape) - len(core)]
    aligned = sizes[len(sizes) - len(core) :]
    if any(n != 1 for n in extra) or any(n not in (1, m) for n, m in zip(core, aligned, strict=True)):
        raise ValueError(f"{function}: value has shape {shape}, which cannot be repeated to the region's {sizes}")


# From a key to a region


def region_of(function: str, shape: Shape, key: Any) -> Region:
    """The elements of an array of `shape` that `key` picks; the region's sizes are the result's shape."""
    entries = list(key) if isinstance(key, tuple) else [key]
    for entry in entries:
        _refuse(function, entry)
    named = sum(1 for entry in entries if entry is not None and entry is not Ellipsis)
    if named > len(shape):
        raise IndexError(f"{function}: the key has {named} indices; an array of shape {shape} has {len(shape)} axes")
    dots = [i for i, entry in enumerate(entries) if entry is Ellipsis]
    if len(dots) > 1:
        raise IndexError(f"{function}: the key has more than one '...'")
    place = dots[0] if dots else len(entries)
    entries[place : place + 1] = [slice(None)] * (len(shape) - named)

    sizes, strides, offset, axis = [], [], 0, 0
    for entry in entries:
        if entry is None:
            sizes.append(1)
            strides.append(0)
            continue
        n, stride = shape[axis], whole(shape).strides[axis]
        if isinstance(entry, slice):
            start, count, step = _bounds(function, entry, n)
            sizes.append(count)
            strides.append(step * stride)
            offset += start * stride
        else:
            i = entry.__index__()
            if not -n <= i < n:
                raise IndexError(f"{function}: index {i} is outside axis {axis}, which has {n} elements")
            offset += i % n * stride
        axis += 1
    return Region(tuple(sizes), tuple(strides), offset)


def _bounds(function: str, entry: slice, n: int) -> tuple[int, int, int]:
    """Where a slice of an axis of n elements starts, how many elements it has, and its step."""
    for name, value in (("start", entry.start), ("stop", entry.stop), ("step", entry.step)):
        if value is not None and (not hasattr(value, "__index__") or isinstance(value, bool)):
            raise TypeError(f"{function}: a slice's {name} is {value!r}; it must be an integer")
    if entry.step is not None and entry.step.__index__() < 1:
        raise ValueError(
            f"{function}: a slice has step {entry.step.__index__()}; steps are 1 or more. "
            "For the reverse order use flip(dim)"
        )
    start, stop, step = entry.indices(n)
    return start, max(0, -(-(stop - start) // step)), step


def _refuse(function: str, entry: Any) -> None:
    """TypeError for what is not basic indexing, naming what does it instead."""
    if entry is None or entry is Ellipsis or isinstance(entry, slice):
        return
    dtype = getattr(entry, "dtype", None)
    if isinstance(entry, bool) or dtype == np.bool_:
        raise TypeError(
            f"{function}: the key holds a {'mask' if dtype is not None else 'bool'}, which would give a result of "
            "unknown size; where(mask, x, other) chooses by a mask"
        )
    if isinstance(entry, (list, tuple, range)) or getattr(entry, "shape", ()) != ():
        raise TypeError(
            f"{function}: the key holds {type(entry).__name__} of indices; x.index_select(dim, index) takes elements "
            "by index"
        )
    if not hasattr(entry, "__index__") or (dtype is not None and dtype.kind not in "iu"):
        raise TypeError(f"{function}: the key holds {entry!r}; it takes integers, slices, None and '...'")
