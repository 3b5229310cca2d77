"""Indexing: x[key] with integers, slices, None and '...', assignment to it, and index_select.

x[key] is a copy. Its gradient is zero outside the key's region, and that operation's own gradient is x[key] again.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...array import Array
from ...kernels import index as I
from ...kernels import slicing as K
from ...kernels.checks import axis, integer, number_for
from ...kernels.elementwise import copy
from ...kernels.strided import Region
from .. import inplace
from ..function import Function
from ..tensor import Tensor
from . import elementwise as E
from .elementwise import check_tensor


class GetItem(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, region: Region) -> Tensor:
        ctx.shape, ctx.region = x.shape, region
        return Tensor._wrap(K.read(x.array, region, Array.empty(region.sizes, x.dtype, x.device)))

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        return Spread.apply(g, ctx.region, ctx.shape), None


class Spread(Function):
    """Zeros of a shape, with x in a region: the gradient of x[key]."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, region: Region, shape: tuple[int, ...]) -> Tensor:
        ctx.region = region
        return Tensor._wrap(K.spread(x.array, region, Array.empty(shape, x.dtype, x.device)))

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        return GetItem.apply(g, ctx.region), None, None


class SetItem(Function):
    """x with a region overwritten by a value, in x's own memory.

    What was overwritten has no gradient any more; the value gets what its region gets.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, value: Any, region: Region) -> Tensor:
        ctx.region = region
        ctx.value_shape = value.shape if isinstance(value, Tensor) else None
        return Tensor._wrap(K.write(x.array, region, value.array if isinstance(value, Tensor) else value))

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        need_x, need_value, _ = ctx.needs_input_grad
        g_x = Cleared.apply(g, ctx.region) if need_x else None
        g_value = None
        if need_value:
            part, shape = GetItem.apply(g, ctx.region), ctx.value_shape
            extra = max(0, len(shape) - part.ndim)
            g_value = E.sum_to(part, shape[extra:]).reshape(shape)
        return g_x, g_value, None


class Cleared(Function):
    """A copy of x with zeros in a region; it is its own gradient."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, region: Region) -> Tensor:
        ctx.region = region
        return Tensor._wrap(K.write(copy(x.array), region, 0))

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        return Cleared.apply(g, ctx.region), None


class IndexSelect(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, dim: int, index: Tensor) -> Tensor:
        picked = I.index_select(x.array, dim, index.array)
        ctx.dim, ctx.size = dim, x.shape[dim]
        ctx.save_for_backward(index)
        return Tensor._wrap(picked)

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        (index,) = ctx.saved_tensors
        return IndexSum.apply(g, ctx.dim, index, ctx.size), None, None


class IndexSum(Function):
    """The gradient of index_select: sums of what was picked several times."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, dim: int, index: Tensor, size: int) -> Tensor:
        ctx.dim = dim
        ctx.save_for_backward(index)
        return Tensor._wrap(I.index_select_backward(x.array, dim, index.array, size))

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        (index,) = ctx.saved_tensors
        return IndexSelect.apply(g, ctx.dim, index), None, None, None


def getitem(input: Tensor, key: Any) -> Tensor:
    """input[key], a copy: integers drop an axis, slices (step 1 or more) keep it, None adds one, '...' fills up.

    IndexError for an integer outside its axis; masks and lists of indices are refused (where, index_select).
    """
    region = K.region_of("indexing", check_tensor("indexing", input).shape, key)
    out = GetItem.apply(input, region)
    out._copied_by = "indexing"
    return out


def setitem(input: Tensor, key: Any, value: Any, *, name: str = "assignment") -> None:
    """input[key] = value: a number, a tensor, or data for one, repeated to the region and cast to input's dtype."""
    check_tensor(name, input)
    region = K.region_of(name, input.shape, key)
    if isinstance(value, (np.ndarray, list, tuple)):
        value = Tensor._wrap(Array.from_numpy(value, input.dtype, input.device))
    if not isinstance(value, Tensor):
        value = number_for(name, "value", value, input.dtype)
    else:
        if value.device is not input.device:
            raise ValueError(f"{name}: value is on {value.device}, the tensor on {input.device}; put both on one")
        K.check_fits(name, value.shape, region.sizes)
        value = E.to(value, input.dtype)
    inplace.change(name, SetItem, input, value, region)


def index_select(input: Tensor, dim: int, index: Any) -> Tensor:
    """The elements of `input` along `dim` whose numbers stand in `index`: a 1-d tensor of integers, or data for one.

    Negative numbers don't count from the end. Data on the host is checked at once; a tensor's numbers are checked
    on the device, and IndexError comes with the next read by the host.
    """
    check_tensor("index_select", input)
    d = axis("index_select", dim, input.ndim)
    if not isinstance(index, Tensor):
        index = _on_device(index, input, d)
    return IndexSelect.apply(input, d, index)


def one_hot(input: Tensor, num_classes: int = -1) -> Tensor:
    """int32 of input's shape and one more axis of `num_classes`: 1 at the label, 0 elsewhere.

    With -1 the largest label decides, which waits for the device. A label outside 0..num_classes-1 raises IndexError
    when the host next reads something.
    """
    labels = check_tensor("one_hot", input).array
    C = integer("one_hot", "num_classes", num_classes)
    if C == -1:
        if labels.size == 0:
            raise ValueError(f"one_hot: input has shape {input.shape} and no labels to count; give num_classes")
        C = max(1, int(labels.numpy().max()) + 1)
    return Tensor._wrap(I.one_hot(labels, C))


def _on_device(index: Any, input: Tensor, d: int) -> Tensor:
    """Indices from the host as a tensor, after a look at each of them."""
    host = np.asarray(index)
    if host.size == 0:
        host = host.astype(np.int32)
    if host.dtype.kind not in "iu":
        raise TypeError(f"index_select: index holds {host.dtype}; indices are integers")
    size = input.shape[d] if input.ndim else 1
    bad = np.flatnonzero((host < 0) | (host >= size))
    if bad.size:
        raise IndexError(
            f"index_select: index {host.flat[bad[0]]} at position {bad[0]} is not in 0..{size - 1}; input is "
            f"{input.shape}, dim {d}"
        )
    return Tensor._wrap(Array.from_numpy(host, device=input.device))
