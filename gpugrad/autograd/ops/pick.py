"""Picking one element for each position along an axis, and its adjoint, as a pair of Functions."""

from __future__ import annotations

from typing import Any

from ...array import Shape
from ...kernels.pick import pick, place
from ..function import Function
from ..tensor import Tensor
from . import shape as S


class Pick(Function):
    """x[..., indices, ...] along the axis `dim`, which is gone from the result; 0 where an index is out of range."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, indices: Tensor, dim: int) -> Tensor:
        ctx.dim, ctx.shape = dim, x.shape
        ctx.save_for_backward(indices)
        return Tensor._wrap(pick(x.array, indices.array, dim))

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        (indices,) = ctx.saved_tensors
        return Place.apply(g, indices, ctx.dim, ctx.shape), None, None


class Place(Function):
    """Zeros of `shape` with g at `indices` along the axis `dim`. g may have that axis too, with size 1."""

    @staticmethod
    def forward(ctx: Any, g: Tensor, indices: Tensor, dim: int, shape: Shape) -> Tensor:
        ctx.dim, ctx.shape = dim, g.shape
        ctx.save_for_backward(indices)
        return Tensor._wrap(place(g.array, indices.array, dim, shape))

    @staticmethod
    def backward(ctx: Any, h: Tensor) -> Any:
        (indices,) = ctx.saved_tensors
        return S.reshape(Pick.apply(h, indices, ctx.dim), ctx.shape), None, None, None
