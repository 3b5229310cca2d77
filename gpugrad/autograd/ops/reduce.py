"""Sums, means, extrema and variances over any axes, with their gradients."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ...array import Shape
from ...dtypes import computed_in, is_float
from ...kernels.argmax import extremum
from ...kernels.checks import axes, axis, boolean, real
from ...kernels.reduce import reduce, reduce_axes
from ..function import Function
from ..tensor import Tensor
from . import elementwise as E
from . import shape as S
from .pick import Place

Dim = int | Sequence[int] | None


def _kept(shape: Shape, dims: tuple[int, ...]) -> Shape:
    """The shape of a reduction over `dims` with keepdim."""
    return tuple([1 if d in dims else n for d, n in enumerate(shape)])


def _spread(g: Tensor, shape: Shape, dims: tuple[int, ...]) -> Tensor:
    """The gradient of a sum, repeated along the axes that were summed."""
    return S.expand(S.reshape(g, _kept(shape, dims)), shape)


class Sum(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, dims: tuple[int, ...], keepdim: bool) -> Tensor:
        ctx.shape, ctx.dims = x.shape, dims
        return Tensor._wrap(reduce_axes("sum", x.array, dims, keepdim))

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        return _spread(g, ctx.shape, ctx.dims), None, None


class Mean(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, dims: tuple[int, ...], keepdim: bool) -> Tensor:
        ctx.shape, ctx.dims = x.shape, dims
        return Tensor._wrap(reduce_axes("mean", x.array, dims, keepdim))

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        count = _count(ctx.shape, ctx.dims)
        # Of no elements there is no gradient to divide.
        return _spread(E.div(g, count) if count else g, ctx.shape, ctx.dims), None, None


class Extreme(Function):
    """The maximum or minimum over several axes; elements that share it share its gradient.

    `nan`: whether a NaN, which is the maximum then, gets that gradient (as in PyTorch's max()), or the gradient is NaN
    (as in amax).
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, op: str, dims: tuple[int, ...], keepdim: bool, nan: bool) -> Tensor:
        ctx.dims, ctx.nan = dims, nan
        result = Tensor._wrap(reduce_axes(op, x.array, dims, keepdim))
        ctx.save_for_backward(x, result)
        return result

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        x, result = ctx.saved_tensors
        kept = _kept(x.shape, ctx.dims)
        chosen = E.eq(x, S.reshape(result, kept))
        if ctx.nan:
            chosen = E.logical_or(chosen, E.ne(x, x))
        # Booleans are counted exactly; half could not hold how many there are.
        count = E.to(Tensor._wrap(reduce_axes("sum", chosen.array, ctx.dims, True)), computed_in(x.dtype))
        share = E.to(E.div(E.to(S.reshape(g, kept), count.dtype), count), x.dtype)
        return E.mul(E.to(chosen, x.dtype), share), None, None, None, None


class Along(Function):
    """The maximum or minimum along one axis and its index; the gradient goes to that one element."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, op: str, dim: int, keepdim: bool) -> tuple[Tensor, Tensor]:
        ctx.dim, ctx.shape = dim, x.shape
        values, indices = (Tensor._wrap(a) for a in extremum(op, x.array, dim, keepdim))
        ctx.mark_non_differentiable(indices)
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(indices)
        return values, indices

    @staticmethod
    def backward(ctx: Any, g: Tensor, _: Tensor) -> Any:
        (indices,) = ctx.saved_tensors
        return Place.apply(g, indices, ctx.dim, ctx.shape), None, None, None


class ValuesIndices(NamedTuple):
    """What `max` and `min` along one axis give."""

    values: Tensor
    indices: Tensor


def sum(input: Tensor, dim: Dim = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """The sum over `dim`: one axis, several, or None for all; `keepdim` leaves those axes with size 1.

    Integers and booleans give int32, which wraps around beyond 2^31. `dtype` converts first. Error bound: see
    `gpugrad.kernels.reduce`.
    """
    input = _checked("sum", input, dtype)
    return Sum.apply(input, axes("sum", dim, input.ndim), boolean("sum", "keepdim", keepdim))


def mean(input: Tensor, dim: Dim = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """The mean over `dim` (as in `sum`) of a floating-point tensor; NaN over no elements."""
    input = _checked("mean", input, dtype)
    if not is_float(input.dtype):
        raise TypeError(f"mean: input is {input.dtype}; a mean is a fraction, so pass dtype=gpugrad.float32")
    return Mean.apply(input, axes("mean", dim, input.ndim), boolean("mean", "keepdim", keepdim))


def amax(input: Tensor, dim: Dim = None, keepdim: bool = False) -> Tensor:
    """The maximum over `dim` (as in `sum`). A NaN wins; elements that tie share the gradient."""
    return _extreme("amax", "max", input, dim, keepdim, nan=False)


def amin(input: Tensor, dim: Dim = None, keepdim: bool = False) -> Tensor:
    """The minimum over `dim` (as in `sum`). A NaN wins; elements that tie share the gradient."""
    return _extreme("amin", "min", input, dim, keepdim, nan=False)


def max(input: Tensor, dim: int | Tensor | None = None, keepdim: bool = False) -> Any:
    """The maximum of all elements; or along `dim`, as a named tuple (values, indices); of two tensors, `maximum`.

    A NaN wins. Along an axis the first of equals wins, and gets the gradient; over all, equals share it.
    """
    return _max_or_min("max", input, dim, keepdim)


def min(input: Tensor, dim: int | Tensor | None = None, keepdim: bool = False) -> Any:
    """The minimum of all elements; or along `dim`, as a named tuple (values, indices). See `max`."""
    return _max_or_min("min", input, dim, keepdim)


def argmax(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Tensor:
    """The index (int32) of the maximum along `dim`, or in the flattened tensor. Of equals the first; a NaN wins."""
    return _index("argmax", input, dim, keepdim)


def argmin(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Tensor:
    """The index (int32) of the minimum along `dim`, or in the flattened tensor. Of equals the first; a NaN wins."""
    return _index("argmin", input, dim, keepdim)


def var(input: Tensor, dim: Dim = None, keepdim: bool = False, *, correction: float = 1) -> Tensor:
    """The variance over `dim` (as in `sum`): the sum of squared distances from the mean, over n - correction.

    correction 1 estimates the variance of what the elements were drawn from; 0 is the elements' own. (PyTorch's older
    `unbiased` has no place here: by position, what follows dim is keepdim.)
    """
    E.check_tensor("var", input)
    if not is_float(input.dtype):
        raise TypeError(f"var: input is {input.dtype}; convert it with .to(gpugrad.float32) first")
    correction = real("var", "correction", correction)
    keepdim, dims = boolean("var", "keepdim", keepdim), axes("var", dim, input.ndim)
    x = E.to(input, computed_in(input.dtype))
    distance = E.sub(x, mean(x, dims, keepdim=True))
    freedom = _count(input.shape, dims) - correction
    return E.to(E.div(sum(E.mul(distance, distance), dims, keepdim), freedom if freedom > 0 else 0.0), input.dtype)


def _checked(name: str, input: Tensor, dtype: Any) -> Tensor:
    E.check_tensor(name, input)
    return input if dtype is None else E.to(input, dtype)


def _count(shape: Shape, dims: tuple[int, ...]) -> int:
    """How many elements go into one result."""
    n = 1
    for d in dims:
        n *= shape[d]
    return n


def _needs_elements(name: str, input: Tensor, dims: tuple[int, ...]) -> None:
    if _count(input.shape, dims) == 0 and 0 not in _kept(input.shape, dims):
        raise ValueError(f"{name}: input has shape {input.shape} and nothing to choose from; it needs an element")


def _extreme(name: str, op: str, input: Tensor, dim: Dim, keepdim: bool, nan: bool) -> Tensor:
    E.check_tensor(name, input)
    keepdim, dims = boolean(name, "keepdim", keepdim), axes(name, dim, input.ndim)
    _needs_elements(name, input, dims)
    return Extreme.apply(input, op, dims, keepdim, nan)


def _max_or_min(op: str, input: Tensor, dim: Any, keepdim: bool) -> Any:
    E.check_tensor(op, input)
    if isinstance(dim, Tensor):  # the other one, in the place of dim
        if keepdim is not False:
            raise TypeError(f"{op}: keepdim is {keepdim!r}; of two tensors no axis goes away")
        return (E.maximum if op == "max" else E.minimum)(input, dim)
    if dim is None:
        return _extreme(op, op, input, None, keepdim, nan=True)
    keepdim, d = boolean(op, "keepdim", keepdim), axis(op, dim, input.ndim)
    if input.ndim == 0:
        return ValuesIndices(*Along.apply(S.reshape(input, (1,)), op, d, False))
    _needs_elements(op, input, (d,))
    return ValuesIndices(*Along.apply(input, op, d, keepdim))


def _index(name: str, input: Tensor, dim: int | None, keepdim: bool) -> Tensor:
    E.check_tensor(name, input)
    _needs_elements(name, input, axes(name, dim, input.ndim))
    return Tensor._wrap(reduce(name, input.array, dim, keepdim))
