"""One element along an axis by its index, and the adjoint: what max, nll_loss and their gradients share."""

from __future__ import annotations

import math

from ..array import Array, Shape
from ..program import Kernel

_PICK = Kernel("pick.cl", "pick", x="in outer n inner", indices="in outer inner", out="out outer inner")
_PLACE = Kernel("pick.cl", "place", g="in outer inner", indices="in outer inner", x="out outer n inner")

_LOCAL = (64,)


def pick(x: Array, indices: Array, dim: int) -> Array:
    """x[..., indices, ...] along the axis `dim`: of x's shape without it. An index out of range gives 0."""
    out = Array.empty(x.shape[:dim] + x.shape[dim + 1 :], x.dtype, x.device)
    inner = math.prod(x.shape[dim + 1 :])
    _PICK.launch(x.dtype, (out.size,), _LOCAL, x, indices, out, x.shape[dim], inner, out.size)
    return out


def place(g: Array, indices: Array, dim: int, shape: Shape) -> Array:
    """Zeros of `shape` with g at `indices` along the axis `dim`: the adjoint of `pick`."""
    x = Array.empty(shape, g.dtype, g.device)
    inner = math.prod(shape[dim + 1 :])
    _PLACE.launch(g.dtype, (x.size,), _LOCAL, g, indices, x, shape[dim], inner, x.size)
    return x
