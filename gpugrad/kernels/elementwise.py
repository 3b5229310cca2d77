"""Element-wise operations on Arrays."""

from __future__ import annotations

import numpy as np

from ..array import Array
from ..dtypes import C_NAME
from ..program import Kernel

_UNARY = Kernel("elementwise.cl", "unary", x="in", out="out")
_BINARY = Kernel("elementwise.cl", "binary", x="in", y="in", out="out")

_LOCAL = (64,)


def add(x: Array, y: Array, out: Array | None = None) -> Array:
    if out is None:
        out = Array.empty(x.shape, x.dtype, x.device)
    _BINARY.launch(
        x.dtype, (x.size,), _LOCAL, x, y, out, x.size, defines=(("BINARY(a, b)", "((a) + (b))"), ("R", C_NAME[x.dtype]))
    )
    return out
