"""Shapes: the same elements under another shape, in another order, repeated, joined.

reshape, view, flatten, squeeze and unsqueeze look at the memory of their input. permute, transpose, expand and flip
copy, so that every tensor is contiguous; in-place operations on such a copy raise and say so, because in PyTorch
they would change the original.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...array import infer_shape
from ...dtypes import promote
from ...kernels import strided as K
from ...kernels.checks import axes, axis
from ..function import Function
from ..sharing import share
from ..tensor import Tensor
from . import elementwise as E
from .elementwise import check_tensor


class Reshape(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, shape: tuple[int, ...]) -> Tensor:
        ctx.shape = x.shape
        out = Tensor._wrap(x.array.reshape(shape))
        share(x, out)
        return out

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        return Reshape.apply(g, ctx.shape), None


class Permute(Function):
    """out's axis i is x's axis dims[i]; backwards, axes go where they came from."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, dims: tuple[int, ...]) -> Tensor:
        ctx.dims = dims
        return Tensor._wrap(K.permute(x.array, dims))

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        inverse = sorted(range(len(ctx.dims)), key=ctx.dims.__getitem__)
        return Permute.apply(g, tuple(inverse)), None


class Expand(Function):
    """Elements are repeated; their gradients are summed."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, shape: tuple[int, ...]) -> Tensor:
        ctx.shape = x.shape
        return Tensor._wrap(K.expand(x.array, shape))

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        return E.sum_to(g, ctx.shape), None


class Flip(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, dims: tuple[int, ...]) -> Tensor:
        ctx.dims = dims
        return Tensor._wrap(K.flip(x.array, dims))

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        return Flip.apply(g, ctx.dims), None


class Cat(Function):
    """Tensors one behind the other along dim; each gets its part of the gradient."""

    @staticmethod
    def forward(ctx: Any, dim: int, *tensors: Tensor) -> Tensor:
        out = Tensor._wrap(K.cat([t.array for t in tensors], dim))
        ctx.dim, ctx.sizes = dim, [t.shape[dim] for t in tensors]
        return out

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        gradients: list[Any] = [None]
        start = 0
        for size, need in zip(ctx.sizes, ctx.needs_input_grad[1:], strict=True):
            key = (slice(None),) * ctx.dim + (slice(start, start + size),)
            gradients.append(g[key] if need else None)
            start += size
        return tuple(gradients)


class Stack(Function):
    """Tensors side by side along a new axis dim; each gets its part of the gradient."""

    @staticmethod
    def forward(ctx: Any, dim: int, *tensors: Tensor) -> Tensor:
        ctx.dim = dim
        return Tensor._wrap(K.stack([t.array for t in tensors], dim))

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        before = (slice(None),) * ctx.dim
        needs = ctx.needs_input_grad[1:]
        return (None, *[g[(*before, i)] if need else None for i, need in enumerate(needs)])


# Sharing memory


def reshape(input: Tensor, shape: Sequence[int]) -> Tensor:
    """The same elements in the same order under another shape; one size may be -1. Shares memory with `input`."""
    return _reshape("reshape", input, shape)


def view(input: Tensor, shape: Sequence[int]) -> Tensor:
    """What reshape is: tensors are always contiguous, so every reshape is a view."""
    return _reshape("view", input, shape)


def flatten(input: Tensor, start_dim: int = 0, end_dim: int = -1) -> Tensor:
    """Axes start_dim to end_dim (both included) as one; a 0-d tensor becomes 1-d. Shares memory with `input`."""
    shape = check_tensor("flatten", input).shape
    first, last = axis("flatten", start_dim, len(shape)), axis("flatten", end_dim, len(shape))
    if first > last:
        raise ValueError(f"flatten: start_dim is {start_dim}, which comes after end_dim {end_dim}")
    size = 1
    for n in shape[first : last + 1]:
        size *= n
    return _look(input, shape[:first] + (size,) + shape[last + 1 :])


def squeeze(input: Tensor, dim: int | Sequence[int] | None = None) -> Tensor:
    """Without the axes of size 1: all of them, or those of `dim` that have it. Shares memory with `input`."""
    shape = check_tensor("squeeze", input).shape
    chosen = axes("squeeze", dim, len(shape)) if dim != () else ()
    return _look(input, tuple([n for i, n in enumerate(shape) if n != 1 or i not in chosen]))


def unsqueeze(input: Tensor, dim: int) -> Tensor:
    """With an axis of size 1 put in at `dim`. Shares memory with `input`."""
    shape = check_tensor("unsqueeze", input).shape
    d = axis("unsqueeze", dim, len(shape) + 1)
    return _look(input, shape[:d] + (1,) + shape[d:])


def _reshape(name: str, input: Tensor, shape: Any) -> Tensor:
    check_tensor(name, input)
    if not isinstance(shape, Sequence) or isinstance(shape, str):
        shape = (shape,)
    return _look(input, infer_shape(input.shape, input.array.size, shape, name))


def _look(input: Tensor, shape: tuple[int, ...]) -> Tensor:
    out = Reshape.apply(input, shape)
    out._copied_by = input._copied_by  # a look at a copy is no look at the original either
    return out


# Copying


def permute(input: Tensor, dims: Sequence[int]) -> Tensor:
    """The axes of `input` in the order `dims`; a copy."""
    dims = K.permutation("permute", dims, check_tensor("permute", input).ndim)
    return _copied("permute", Permute.apply(input, dims))


def transpose(input: Tensor, dim0: int, dim1: int) -> Tensor:
    """`input` with two axes swapped; a copy."""
    ndim = check_tensor("transpose", input).ndim
    a, b = axis("transpose", dim0, ndim), axis("transpose", dim1, ndim)
    return _copied("transpose", _swapped(input, a, b))


def reverse_axes(input: Tensor) -> Tensor:
    """`input.T`: all axes in reverse order; a copy."""
    check_tensor("T", input)
    return _copied("T", Permute.apply(input, tuple(range(input.ndim))[::-1]))


def _swapped(input: Tensor, a: int, b: int) -> Tensor:
    dims = list(range(input.ndim))
    if dims:
        dims[a], dims[b] = b, a
    return Permute.apply(input, tuple(dims))


def expand(input: Tensor, sizes: Sequence[int]) -> Tensor:
    """`input` repeated along axes of size 1, and along new axes in front, to `sizes`; -1 keeps a size. A copy."""
    shape = K.expanded_shape("expand", check_tensor("expand", input).shape, sizes)
    return _copied("expand", Expand.apply(input, shape))


def flip(input: Tensor, dims: int | Sequence[int]) -> Tensor:
    """`input` with the order of elements reversed along `dims`; a copy, as in PyTorch."""
    check_tensor("flip", input)
    none = isinstance(dims, Sequence) and len(dims) == 0
    return Flip.apply(input, () if none else axes("flip", dims, input.ndim))


def _copied(name: str, out: Tensor) -> Tensor:
    out._copied_by = name
    return out


def cat(tensors: Sequence[Tensor], dim: int = 0) -> Tensor:
    """Tensors joined along the existing axis `dim`; all other sizes are equal. Types are promoted.

    A tensor of shape (0,) is left out beside tensors of other dimensions, as in PyTorch.
    """
    if isinstance(tensors, Sequence) and any(getattr(t, "ndim", 1) != 1 for t in tensors):
        tensors = [t for t in tensors if getattr(t, "shape", None) != (0,)]
    return _join("cat", Cat, tensors, dim, 0)


def stack(tensors: Sequence[Tensor], dim: int = 0) -> Tensor:
    """Tensors of one shape joined along a new axis `dim`. Types are promoted."""
    return _join("stack", Stack, tensors, dim, 1)


def _join(name: str, function: type[Function], tensors: Any, dim: int, new_axes: int) -> Tensor:
    if isinstance(tensors, Tensor) or not isinstance(tensors, Sequence) or isinstance(tensors, str):
        raise TypeError(f"{name}: tensors is {type(tensors).__name__}; give a list or tuple of tensors")
    if not tensors:
        raise ValueError(f"{name}: tensors is empty; there is nothing to join")
    dtype = check_tensor(name, tensors[0], "tensors[0]").dtype
    for i, t in enumerate(tensors):
        dtype = promote(dtype, check_tensor(name, t, f"tensors[{i}]").dtype)
    d = axis(name, dim, tensors[0].ndim + new_axes)
    return function.apply(d, *[E.to(t, dtype) for t in tensors])
