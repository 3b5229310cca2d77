"""The rung of gemm for CPUs: which operands are packed, which way round, in how many parts."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from ..array import Array
from ..dtypes import computed_in, float16, float64
from ..program import Define, Kernel
from .gemm_product import Product, Split, Strides, in_parts, role_of_c, split

_PACKED = {
    role: Kernel("gemm_packed.cl", "gemm_packed", a="in", b="in", c=f"{role} batch M N") for role in ("out", "inout")
}
_PACK = Kernel("gemm_packed.cl", "gemm_pack", x="in", panels="out batch panel K row")

_ROWS, _DEPTH = 6, 256  # as in gemm_packed.cl

# Where to pack, on 2 x86-64 cores under PoCL 3.0, GFLOP/s of float32 with and without: op(B) of 64 x 1568 x 128 at
# K = 1568 122 and 105, at K = 128 116 and 141; op(A) transposed at 1024^3 122 and 30, at 400 x 196 x 32 90 and 95.
_PACK_B_FROM_K = 256
_PACK_A_FROM_K = 128
_PACK_FROM_USES = 64  # rows or columns of C that use what is packed
# PoCL deals work-groups out by 32 or more: with fewer than 48, one of two cores gets them all.
_GROUPS_PER_UNIT = 32
_LEAST_DEPTH = 512  # of a part of a sum that is split


class _Plan(NamedTuple):
    transposed: bool  # compute C^T
    pack_a: bool
    pack_b: bool
    split: Split


@lru_cache(4096)
def _plan(p: Product, columns: int, units: int, half: bool = False) -> _Plan:
    """How to compute `p` with tiles of 6 x `columns` on a CPU of `units` cores.

    `half` operands are always packed: panels hold what is computed in.
    """
    along_k, along_n = p.a.column == 1, p.b.column == 1
    # op(B) needs its columns side by side. If it lacks them, C^T may be cheaper: it packs op(A)'s transpose instead.
    transposed = not along_n and (not along_k or p.M < p.N)
    if transposed:
        p = p.transposed
        along_k, along_n = p.a.column == 1, p.b.column == 1
    uses_a, uses_b = (n * _sharing(p, s) for n, s in ((p.N, p.a), (p.M, p.b)))
    pack_a = half or (not along_k and p.K >= _PACK_A_FROM_K and uses_a >= _PACK_FROM_USES)
    pack_b = half or not along_n or columns > p.N or (p.K >= _PACK_B_FROM_K and uses_b >= _PACK_FROM_USES)

    groups = -(-p.M // _ROWS) * -(-p.N // columns) * p.results
    return _Plan(transposed, pack_a, pack_b, split(p, -(-_GROUPS_PER_UNIT * units // groups), _LEAST_DEPTH))


def _sharing(p: Product, s: Strides) -> int:
    """How many products use one matrix."""
    return (p.outer if s.outer == 0 else 1) * (p.inner if s.inner == 0 else 1)


def packed(kernel: Any, p: Product, a: Array, b: Array, c: Array, alpha: float, beta: float) -> None:
    columns = 8 if c.dtype == float64 else 16
    plan = _plan(p, columns, c.device.cl_device.max_compute_units, a.dtype == float16)
    c_m, c_n = p.N, 1
    if plan.transposed:
        p, a, b, c_m, c_n = p.transposed, b, a, 1, p.N
    a_at, a_panel = p.a, _ROWS * p.a.row
    if plan.pack_a:
        a, a_at, a_panel = _pack(a, p.a, p.M, p.K, _ROWS)
    b_at, b_panel, last_n = p.b.transposed, columns, p.N - columns  # rows of op(B)^T lie side by side
    if plan.pack_b:
        b, b_at, b_panel = _pack(b, b_at, p.N, p.K, columns)
        last_n = p.N

    parts, inner, summed, K, last_K, _ = plan.split
    a_at, b_at = plan.split.strides(a_at, a_at.column), plan.split.strides(b_at, b_at.column)
    size = (-(-p.M // _ROWS), -(-p.N // columns), p.results * parts)

    def launch(to: Array, alpha: float, beta: float) -> None:
        _PACKED[role_of_c(beta)].launch(
            to.dtype, size, (1, 1, 1), a, b, to, p.M, p.N, K, last_K, inner, summed,
            a_at.outer, a_at.inner, a_panel, a_at.row, a_at.column,
            b_at.outer, b_at.inner, b_panel, b_at.column, last_n,
            c_m, c_n, alpha, beta, defines=_vectors(c.dtype),
        )  # fmt: skip

    in_parts(p, parts, launch, c, alpha, beta)


def _pack(x: Array, at: Strides, rows: int, K: int, width: int) -> tuple[Array, Strides, int]:
    """x's matrices, each rows x K, in panels of `width` rows; strides of the result, and from panel to panel."""
    number, panels = x.size // (rows * K), -(-rows // width)
    packed = Array.empty((number, panels, K, width), computed_in(x.dtype), x.device)
    span = 8 if width % 8 == 0 else width
    size = (-(-K // _DEPTH), panels * (width // span), number)
    defines = (("WIDTH", str(width)), *_vectors(x.dtype))
    _PACK.launch(x.dtype, size, (1, 1, 1), x, packed, rows, K, rows * K, at.row, at.column, defines=defines)
    each = panels * K * width
    outer, inner = (s // (rows * K) * each for s in (at.outer, at.inner))
    return packed, Strides(outer, inner, 1, width), K * width


def _vectors(dtype: np.dtype) -> tuple[Define, ...]:
    """A row of a tile: 64 bytes."""
    return (("V", "double8"), ("VECTORS", "1")) if dtype == float64 else (("V", "float8"), ("VECTORS", "2"))
